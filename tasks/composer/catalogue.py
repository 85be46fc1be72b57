"""Product catalogue of the composer: invented brands and products by category, in Chinese and English.

Brands are drawn from syllables, product types from (feature, noun) pairs. A brand and a product type each belong to
exactly one side, decided by a hash of the text, so no brand and no product type of the evaluation side is ever drawn
for training, while both sides use the same characters.
"""

import random
import zlib
from dataclasses import dataclass
from typing import Final, Literal

Side = Literal["train", "eval"]
EVAL_SHARE_PERCENT: Final = 20


@dataclass(frozen=True)
class Category:
    """One product category: the parts that its names are made of, and its price range in yuan."""

    key: str
    features_zh: tuple[str, ...]
    nouns_zh: tuple[str, ...]
    features_en: tuple[str, ...]
    nouns_en: tuple[str, ...]
    sizes: tuple[str, ...]
    price_range: tuple[int, int]


BRAND_CHARACTERS_ZH: Final = (
    "云沐禾澜屿芷若星岚溪语森之初晴朗悦颜雅韵锦瑟青柚木棉南山北辰东篱西子花间小鹿大白米乐优品佳宜尚美丽诺欧莱雪肌兰芝玉泽"
    "清风明月天心海源金银铜铁鸿运来福安康宁和顺百千万亿方圆里程光影声色书香茶道竹石泉谷田园农夫牧歌羊驼熊猫虎象龙凤鹤"
)
BRAND_STARTS_EN: Final = (
    "Vel", "Nim", "Kor", "Lum", "Zan", "Ari", "Tov", "Mira", "Quil", "Bren", "Sol", "Fen", "Hux", "Jov", "Pax", "Wil",
    "Cas", "Dun", "Eld", "Gry", "Ivo", "Oka", "Ruv", "Sy", "Ula", "Yor",
)  # fmt: skip
BRAND_ENDS_EN: Final = (
    "ora", "brix", "tane", "ella", "vio", "sky", "mont", "wick", "dale", "ique", "ano", "etta", "lo", "zen", "farm",
    "gear", "kin", "pura", "ley", "now",
)  # fmt: skip

CATEGORIES: Final = (
    Category(
        "cosmetics",
        ("玻尿酸", "氨基酸", "烟酰胺", "水光", "焕亮", "紧致", "舒缓", "控油", "丝绒", "持久", "防晒", "玫瑰", "山茶花", "积雪草"),
        ("面霜", "精华液", "洁面乳", "爽肤水", "面膜", "口红", "粉底液", "眼霜", "卸妆油", "隔离霜", "护手霜", "洗发水", "沐浴露", "身体乳", "气垫", "眉笔"),
        ("Hydrating", "Gentle", "Bright", "Velvet", "Rose", "Aloe", "Matte", "Silky"),
        ("Face Cream", "Serum", "Cleanser", "Toner", "Sheet Mask", "Lipstick", "Eye Cream", "Shampoo", "Body Lotion", "Sun Milk"),
        ("30ml", "50ml", "100ml", "150ml", "200ml", "5片装", "10片装", "3.5g"),
        (29, 499),
    ),
    Category(
        "food",
        ("手工", "低糖", "原味", "香辣", "蜂蜜", "海盐", "有机", "高山", "冻干", "五香", "黑芝麻", "无添加", "现摘", "椒盐"),
        ("坚果", "酸奶", "牛肉干", "饼干", "燕麦片", "绿茶", "咖啡", "螺蛳粉", "水饺", "红枣", "蛋黄酥", "果汁", "大米", "巧克力", "鸡胸肉", "橄榄油", "火锅底料"),
        ("Organic", "Sea Salt", "Low Sugar", "Honey", "Spicy", "Roasted", "Classic", "Dark"),
        ("Oat Flakes", "Green Tea", "Coffee Beans", "Nut Mix", "Beef Jerky", "Rice Crackers", "Olive Oil", "Fruit Juice", "Chocolate"),
        ("250g", "500g", "1kg", "2.5kg", "6袋", "12包", "330ml", "24罐"),
        (9, 199),
    ),
    Category(
        "apparel",
        ("纯棉", "加绒", "高腰", "宽松", "修身", "针织", "冰丝", "复古", "百搭", "轻薄", "羊毛", "条纹", "连帽", "防水"),
        ("卫衣", "牛仔裤", "连衣裙", "衬衫", "羽绒服", "短袖", "半身裙", "风衣", "毛衣", "运动鞋", "帆布鞋", "阔腿裤", "睡衣", "围巾", "袜子", "外套"),
        ("Cotton", "Slim", "Loose", "Knit", "Striped", "Warm", "Light", "Retro"),
        ("Hoodie", "Jeans", "Dress", "Shirt", "Down Jacket", "T-Shirt", "Skirt", "Sneakers", "Scarf", "Socks"),
        ("S码", "M码", "L码", "XL码", "均码", "2件装", "5双装"),
        (39, 899),
    ),
    Category(
        "electronics",
        ("无线", "降噪", "快充", "智能", "便携", "蓝牙", "高清", "静音", "折叠", "磁吸", "超薄", "长续航", "四核", "夜视"),
        ("耳机", "充电宝", "音箱", "手表", "键盘", "鼠标", "摄像头", "数据线", "投影仪", "平板电脑", "吹风机", "电动牙刷", "台灯", "路由器", "显示器"),
        ("Wireless", "Smart", "Compact", "Fast", "Silent", "Foldable", "Magnetic", "Slim"),
        ("Earbuds", "Power Bank", "Speaker", "Watch", "Keyboard", "Mouse", "Camera", "USB Cable", "Projector", "Desk Lamp"),
        ("Pro", "Max", "Mini", "2代", "3代", "64G", "128G", "65W", "20W"),
        (49, 2999),
    ),
    Category(
        "home",
        ("不粘", "加厚", "可折叠", "抗菌", "乳胶", "实木", "日式", "北欧", "大容量", "免打孔", "珐琅", "吸水", "保温", "硅胶"),
        ("炒锅", "保鲜盒", "四件套", "枕头", "收纳箱", "毛巾", "保温杯", "置物架", "拖把", "垃圾袋", "地毯", "窗帘", "床垫", "刀具", "水壶", "抽纸"),
        ("Nonstick", "Soft", "Steel", "Glass", "Bamboo", "Large", "Thick", "Nordic"),
        ("Frying Pan", "Food Box", "Pillow", "Towel Set", "Storage Bin", "Thermos", "Rug", "Curtain", "Kettle", "Knife Set"),
        ("28cm", "32cm", "500ml", "1.5L", "3件套", "4只装", "100抽"),
        (19, 699),
    ),
    Category(
        "baby",
        ("婴儿", "儿童", "宝宝", "柔软", "超吸收", "益智", "磁力", "恒温", "防摔", "植物", "双层", "早教"),
        ("纸尿裤", "奶粉", "湿巾", "奶瓶", "积木", "绘本", "推车", "餐椅", "爬行垫", "学饮杯", "润肤露", "辅食机", "安全座椅"),
        ("Baby", "Kids", "Soft", "Wooden", "Gentle", "Safe"),
        ("Diapers", "Wet Wipes", "Bottle", "Blocks", "Picture Book", "Stroller", "Play Mat", "Sippy Cup"),
        ("S码", "L码", "80抽", "240ml", "36片", "900g", "2段", "3段"),
        (19, 1299),
    ),
    Category(
        "sports",
        ("专业", "加长", "防滑", "速干", "碳纤维", "入门", "户外", "减震", "透气", "可调节"),
        ("瑜伽垫", "跳绳", "哑铃", "帐篷", "登山包", "羽毛球拍", "篮球", "泳镜", "跑步机", "护膝", "自行车", "钓鱼竿"),
        ("Outdoor", "Trail", "Carbon", "Quick Dry", "Pro", "Grip"),
        ("Yoga Mat", "Jump Rope", "Tent", "Backpack", "Basketball", "Goggles", "Knee Pad", "Dumbbell"),
        ("10mm", "6mm", "2人", "40L", "5kg", "7号", "单只"),
        (29, 1999),
    ),
    Category(
        "pets",
        ("全价", "鲜肉", "除臭", "幼猫", "成犬", "耐咬", "自动", "豆腐", "深海鱼"),
        ("猫粮", "狗粮", "猫砂", "冻干零食", "饮水机", "猫抓板", "牵引绳", "宠物窝", "逗猫棒", "罐头"),
        ("Grain Free", "Salmon", "Fresh", "Tough", "Auto", "Cozy"),
        ("Cat Food", "Dog Food", "Cat Litter", "Chew Toy", "Pet Bed", "Leash", "Water Fountain"),
        ("1.5kg", "2kg", "6L", "10kg", "85g", "12罐"),
        (15, 599),
    ),
)  # fmt: skip


def belongs_to(text: str, side: Side) -> bool:
    """Whether a brand or product type is of the given side (a fixed hash decides, about 20 % are evaluation's)."""
    is_eval = zlib.crc32(text.encode("utf-8")) % 100 < EVAL_SHARE_PERCENT
    return is_eval == (side == "eval")


def draw_brand(rng: random.Random, side: Side, script: Literal["zh", "en"]) -> str:
    """An invented brand of two or three characters (zh) or two syllables (en) that belongs to the side."""
    while True:
        if script == "zh":
            brand = "".join(rng.sample(BRAND_CHARACTERS_ZH, rng.choice((2, 2, 3))))
        else:
            brand = rng.choice(BRAND_STARTS_EN) + rng.choice(BRAND_ENDS_EN)
        if belongs_to(brand, side):
            return brand


def draw_product_type(rng: random.Random, side: Side, category: Category, script: Literal["zh", "en"]) -> str:
    """A feature and a noun, for example 玻尿酸面霜 or ``Organic Green Tea``, that belong to the side as a pair."""
    while True:
        if script == "zh":
            text = rng.choice(category.features_zh) + rng.choice(category.nouns_zh)
        else:
            text = f"{rng.choice(category.features_en)} {rng.choice(category.nouns_en)}"
        if belongs_to(text, side):
            return text


def draw_size(rng: random.Random, category: Category, script: Literal["zh", "en"]) -> str:
    """A pack size of the category; for English names only one that has no Chinese character."""
    sizes = category.sizes if script == "zh" else tuple(size for size in category.sizes if size.isascii())
    return rng.choice(sizes or ("1kg",))
