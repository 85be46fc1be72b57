"""The questions of live_ocr: one short, exact template for each field and prompt language."""

from typing import Final, Literal

Field = Literal["price", "sku", "name", "promo", "table"]
FIELDS: Final[tuple[Field, ...]] = ("price", "sku", "name", "promo", "table")

PROMPTS: Final[dict[tuple[Field, str], str]] = {
    ("price", "zh"): "读出图中商品的现价（不是划掉的原价），只输出以 ¥ 开头的价格，例如 ¥12.50",
    ("sku", "zh"): "读出图中商品的货号（不是批次），只输出货号，例如 AB-1234",
    ("name", "zh"): "读出图中商品的完整名称，包括品牌和规格，只输出名称",
    ("promo", "zh"): "读出图中的优惠活动，照原文只输出这一句，例如 满200减30",
    ("table", "zh"): "把图中的表格转写成 Markdown 表格，第一行是表头，只输出表格",
    ("price", "en"): "Read the current price (not the crossed-out one). Answer only with the price, e.g. $12.50",
    ("sku", "en"): "Read the SKU or item number (not the lot). Answer only with the code, e.g. AB-1234",
    ("name", "en"): "Read the full product name with brand and size. Answer only with the name",
    ("promo", "en"): "Read the promotion. Answer only with that line as printed, e.g. 10% OFF",
    ("table", "en"): "Transcribe the table as a Markdown table, header row first. Answer only with the table",
}


def prompt_for(field: Field, lang: Literal["zh", "en", "mixed"]) -> str:
    """The question about a field; mixed cards are asked in Chinese."""
    return PROMPTS[field, "en" if lang == "en" else "zh"]
