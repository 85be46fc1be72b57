"""The question of live_caption."""

from typing import Final

CAPTION_PROMPTS: Final = {
    "zh": "用一两句话描述这段直播：出现了什么人，依次展示了哪些商品（颜色和种类）。",
    "en": "Describe this live stream in one or two sentences: who is in it, and which products are shown "
    "(colour and kind).",
}


def caption_prompt(lang: str) -> str:
    """The task's own prompt.

    Args:
        lang: `zh` or `en`.
    """
    return CAPTION_PROMPTS[lang]
