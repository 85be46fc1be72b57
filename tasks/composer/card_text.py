"""Random texts of a card: prices, SKUs, promotions, tables, names and the lines that surround them."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from tliveomni_eval.tasks.composer.catalogue import (
    Category,
    Side,
    draw_brand,
    draw_product_type,
    draw_size,
)

Language = Literal["zh", "en", "mixed"]
Script = Literal["zh", "en"]

# Without I and O, which are easily taken for digits; nor do 0 and 1 stand in one group with letters.
SKU_LETTERS: Final = "ABCDEFGHJKLMNPQRSTUVWXYZ"
DIGITS: Final = "0123456789"
DIGITS_AMONG_LETTERS: Final = "23456789"

CURRENT_PRICE_LABELS: Final = {
    "zh": ("直播价", "现价", "到手价", "秒杀价", "券后价"),
    "en": ("Now", "Live price", "Deal"),
}
ORIGINAL_PRICE_LABELS: Final = {"zh": ("原价", "日常价"), "en": ("Was", "List")}
SKU_LABELS: Final = {"zh": ("货号", "款号"), "en": ("SKU", "Item No.")}
LOT_LABELS: Final = {"zh": ("批次",), "en": ("Lot",)}
SLOGANS: Final = {
    "zh": (
        "正品保障",
        "七天无理由退换",
        "明星同款",
        "限量发售",
        "现货速发",
        "主播推荐",
        "品质之选",
        "工厂直供",
        "放心购买",
        "口碑好物",
        "今日上新",
    ),
    "en": ("Host's pick", "In stock", "New today", "Best seller", "Quality first", "Ships today"),
}
BUY_BUTTONS: Final = {"zh": ("去购买", "马上抢", "立即购买"), "en": ("Buy now", "Shop", "Add to cart")}
COMMENTS: Final = {
    "zh": (
        "主播讲得真好",
        "已下单",
        "有没有别的颜色",
        "多久发货",
        "回购第三次了",
        "质量怎么样",
        "适合送人吗",
        "求链接",
        "好用吗",
        "这个价格太划算了",
        "宝宝能用吗",
        "颜色好看",
        "我要两份",
        "刚来什么价",
        "上链接",
        "敏感肌可以吗",
        "上次买的很好",
    ),
    "en": ("Just ordered!", "Any other color?", "Love this one", "When does it ship?", "Is it good?", "Link please"),
}
HOSTS: Final = {
    "zh": ("小雨直播间", "阿杰好物", "橙子妈妈", "大山严选", "可可穿搭", "老陈茶铺"),
    "en": ("Mia Live", "Deals by Leo", "Home & Co", "Nora's Shop", "Max Tech"),
}
TABLE_TITLES: Final = {"zh": ("规格表", "价目表", "尺码表"), "en": ("Spec sheet", "Price list", "Size chart")}
COLORS: Final = {
    "zh": ("黑色", "白色", "红色", "米白", "藏青", "粉色", "浅灰", "墨绿", "天蓝", "卡其"),
    "en": ("Black", "White", "Red", "Cream", "Navy", "Pink", "Gray", "Green", "Blue", "Khaki"),
}
TABLE_HEADERS: Final = {
    "zh": {
        "size": ("规格", "型号", "款式"),
        "price": ("价格", "售价"),
        "stock": ("库存", "件数"),
        "sku": ("货号", "编号"),
        "color": ("颜色",),
    },
    "en": {
        "size": ("Size", "Model"),
        "price": ("Price", "Deal"),
        "stock": ("Stock", "Left"),
        "sku": ("SKU", "Code"),
        "color": ("Color",),
    },
}


@dataclass(frozen=True)
class Price:
    """A price as printed and as the reference states it (``¥`` or ``$``, then the digits as printed)."""

    printed: str
    reference: str
    amount: float


def draw_amount(rng: random.Random, category: Category) -> str:
    """Digits of a price in the category's range, with no, one or two decimals, never with a thousands separator."""
    low, high = category.price_range
    # Log-uniform: small prices are as common as large ones, as in a real shop.
    whole = int(low * (high / low) ** rng.random())
    kind = rng.random()
    if kind < 0.3:
        return str(whole)
    if kind < 0.6:
        return f"{whole}.{rng.randrange(1, 10)}"
    return f"{whole}.{rng.randrange(100):02d}"


def draw_price(rng: random.Random, category: Category, lang: Language) -> Price:
    """A price in the notations of its language.

    ``zh``: ¥9.9, ￥9.9 or 9.9元; ``mixed``: ¥9.9, ￥9.9 or RMB 9.9; ``en``: $9.9 or ¥9.9. The reference of the
    first two always starts with ¥, as their prompt asks for.
    """
    amount = draw_amount(rng, category)
    if lang == "en":
        sign = rng.choice("$$¥")
        return Price(f"{sign}{amount}", f"{sign}{amount}", float(amount))
    patterns = ("¥{}", "¥{}", "￥{}", "{}元") if lang == "zh" else ("¥{}", "¥{}", "￥{}", "RMB {}")
    return Price(rng.choice(patterns).format(amount), f"¥{amount}", float(amount))


def draw_higher_price(rng: random.Random, price: Price) -> str:
    """The original price beside a current one: higher, in the same notation."""
    amount = price.reference[1:]
    decimals = len(amount.partition(".")[2])
    higher = f"{price.amount * rng.uniform(1.2, 2.5) + 1:.{decimals}f}"
    return price.printed.replace(amount, higher)


def draw_sku(rng: random.Random) -> str:
    """A stock keeping unit of 6 to 10 letters and digits, for example ``LX-20481`` or ``B7K3M-09``."""
    shape = rng.choice(("AA-00000", "A00-0000", "AA000000", "A0A0A-00", "AAA-0000", "00-A0000", "A0000", "AA0000-A"))
    groups = []
    for group in shape.split("-"):
        drawn = {"A": SKU_LETTERS, "0": DIGITS_AMONG_LETTERS if "A" in group else DIGITS}
        groups.append("".join(rng.choice(drawn[place]) for place in group))
    return "-".join(groups)


def draw_countdown(rng: random.Random) -> str:
    """A countdown ``HH:MM:SS`` under two hours."""
    return f"{rng.randrange(2):02d}:{rng.randrange(60):02d}:{rng.randrange(60):02d}"


def draw_promo(rng: random.Random, script: Script) -> str:
    """A promotion line: threshold discount, bundle, percentage, coupon, gift or a flash sale with its countdown."""
    threshold = rng.choice((50, 99, 100, 129, 150, 188, 199, 200, 299, 300, 399, 500, 888))
    discount = rng.randrange(5, max(6, threshold // 3))
    pieces, percent, coupon = rng.randrange(2, 6), 5 * rng.randrange(1, 15), rng.randrange(3, 120)
    if script == "zh":
        fold = f"{rng.randrange(3, 10)}" if rng.random() < 0.6 else f"{rng.randrange(5, 10)}.{rng.randrange(1, 10)}"
        return rng.choice(
            (
                f"满{threshold}减{discount}",
                f"每满{threshold}减{discount}",
                f"{rng.choice('买拍')}{rng.choice('一二三1234')}送{rng.choice('一二12')}",
                f"{pieces}件{fold}折",
                f"第{rng.choice('二三23')}件{rng.choice(('半价', '0元', f'{fold}折'))}",
                f"限时 {draw_countdown(rng)}",
                f"领券立减{coupon}元",
                f"前{rng.choice((50, 100, 200, 300, 500))}名送{rng.choice(('赠品', '小样', '运费险', '礼盒'))}",
                f"直降{coupon}元",
                f"下单返{coupon}红包",
            )
        )
    return rng.choice(
        (
            f"{percent}% OFF",
            f"Buy {rng.randrange(1, 4)} Get {rng.randrange(1, 3)}",
            f"Save ${coupon}",
            f"${discount} off ${threshold}",
            f"{pieces} for {percent}% off",
            f"Ends in {draw_countdown(rng)}",
            f"First {rng.choice((50, 100, 200, 500))} get a gift",
            f"Extra {percent}% off today",
        )
    )


def draw_name(rng: random.Random, side: Side, category: Category, lang: Language) -> str:
    """A product name: brand, product type, mostly a pack size; a mixed name is Chinese after an English brand."""
    script: Script = "en" if lang == "en" else "zh"
    brand = draw_brand(rng, side, "en" if lang != "zh" else "zh")
    words = [brand, draw_product_type(rng, side, category, script)]
    if rng.random() < 0.6:
        words.append(draw_size(rng, category, script))
    # Chinese packaging sets names without spaces, so that the reference has none either.
    return (" " if script == "en" else "").join(words)


def draw_short_text(rng: random.Random, lang: Language, texts: Mapping[str, tuple[str, ...]]) -> str:
    """One of the texts in the language; a mixed card takes either."""
    return rng.choice(texts[lang if lang != "mixed" else rng.choice(("zh", "en"))])


def draw_viewers(rng: random.Random, lang: Language) -> str:
    """The number of viewers in the host's pill."""
    if lang == "en":
        return f"{rng.randrange(10, 99) / 10}k watching"
    return f"{rng.randrange(10, 99) / 10}万人在看" if rng.random() < 0.5 else f"{rng.randrange(100, 9999)}人在看"


def draw_table(rng: random.Random, category: Category, lang: Language, rows: int, columns: int) -> list[list[str]]:
    """A table with its header: ``rows`` body rows of ``columns`` cells, the first column without repeats."""
    script: Script = "en" if lang == "en" else "zh"
    sizes = [size for size in category.sizes if script == "zh" or size.isascii()]
    first = "size" if len(sizes) >= rows and rng.random() < 0.6 else "sku"
    kinds = [first, *rng.sample([kind for kind in ("price", "stock", "sku", "color") if kind != first], columns - 1)]
    sign = rng.choice(("¥", "$")) if lang == "en" else "¥"
    columns_of_cells = {
        "size": lambda: rng.sample(sizes, rows),
        "sku": lambda: rng.sample([draw_sku(rng)[-5:].lstrip("-") for _ in range(3 * rows)], rows),
        "price": lambda: [f"{sign}{draw_amount(rng, category)}" for _ in range(rows)],
        "color": lambda: rng.sample(COLORS[script], rows),
        "stock": lambda: [str(rng.randrange(3, 999)) for _ in range(rows)],
    }
    cells = [columns_of_cells[kind]() for kind in kinds]
    headers = []
    for kind in kinds:
        header_script: Script = rng.choice(("zh", "en")) if lang == "mixed" else script
        headers.append(rng.choice(TABLE_HEADERS[header_script][kind]))
    return [headers, *([column[row] for column in cells] for row in range(rows))]


def table_as_markdown(table: list[list[str]]) -> str:
    """The table as GitHub-style Markdown: header, delimiter row, body rows; no trailing newline."""
    header, *body = [f"| {' | '.join(row)} |" for row in table]
    return "\n".join([header, f"| {' | '.join(['---'] * len(table[0]))} |", *body])
