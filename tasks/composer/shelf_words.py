"""How products on a shelf are called, in English and Chinese."""

from typing import Final, Literal

Script = Literal["zh", "en"]

KIND_WORDS: Final[dict[Script, dict[str, str]]] = {
    "en": {
        "bottle": "bottle", "mug": "mug", "T-shirt": "T-shirt", "handbag": "handbag", "sneaker": "sneaker",
        "cap": "cap", "phone": "phone", "lipstick": "lipstick", "umbrella": "umbrella", "lamp": "lamp",
    },
    "zh": {
        "bottle": "瓶子", "mug": "杯子", "T-shirt": "短袖", "handbag": "手提包", "sneaker": "运动鞋",
        "cap": "帽子", "phone": "手机", "lipstick": "口红", "umbrella": "雨伞", "lamp": "台灯",
    },
}  # fmt: skip
COLOR_WORDS: Final[dict[Script, dict[str, str]]] = {
    "en": {color: color for color in ("red", "orange", "yellow", "green", "blue", "purple", "black", "white")},
    "zh": {
        "red": "红色", "orange": "橙色", "yellow": "黄色", "green": "绿色", "blue": "蓝色", "purple": "紫色",
        "black": "黑色", "white": "白色",
    },
}  # fmt: skip


def product_name(script: Script, color: str, kind: str) -> str:
    """Colour and kind: ``red mug`` or 红色杯子."""
    space = " " if script == "en" else ""
    return f"{COLOR_WORDS[script][color]}{space}{KIND_WORDS[script][kind]}"


def plural(kind: str) -> str:
    """The English plural of a kind."""
    word = KIND_WORDS["en"][kind]
    return {"lipstick": "lipsticks"}.get(word, word + "s")
