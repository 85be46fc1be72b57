"""The question of live_selling_points: which facts are asked for, and the form of the answer."""

from typing import Final

_ASKED: Final[dict[tuple[str, str], str]] = {
    ("seen", "zh"): "列出这场直播展示的全部卖点：每件商品的颜色和种类、价格牌上的品牌、价格牌上的价格。",
    ("seen", "en"): "List all selling points that this live stream shows: colour and kind of each product, "
    "each brand on a price card, each price on a price card.",
    ("heard", "zh"): "列出主播说到的全部卖点：每件商品的品牌和品名、夸奖的话、赠品、服务承诺。",
    ("heard", "en"): "List all selling points that the host says: brand and name of each product, praise, gifts, "
    "services.",
    (
        "both",
        "zh",
    ): "列出这场直播的全部卖点：主播说到的每件商品的品牌和品名、夸奖的话、赠品、服务承诺，以及价格牌上的价格。",
    ("both", "en"): "List all selling points of this live stream: brand and name of each product that the host says, "
    "praise, gifts, services, and each price on a price card.",
}
_FORM: Final = {
    "zh": '每个卖点一项，不要重复。只输出 JSON 数组，例如 ["¥59", "红色的瓶子"]。',
    "en": 'One item each, none twice. Answer only with a JSON array of texts, e.g. ["¥59", "red bottle"].',
}


def selling_points_prompt(lang: str, evidence: str = "seen") -> str:
    """The task's own prompt.

    Args:
        lang: `zh` or `en`.
        evidence: `seen`, `heard` or `both`: where the facts of the reference come from.
    """
    return _ASKED[evidence, lang] + ("" if lang == "zh" else " ") + _FORM[lang]
