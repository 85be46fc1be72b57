"""All characters and strings that prompts and references can contain: what a tokenizer for the task must cover."""

import string
from functools import cache

from tliveomni_eval.tasks.composer import card_text, catalogue, prompts

# Fixed parts of the promotion lines and of the host's pill, which card_text composes in place.
_COMPOSED_PARTS = (
    "满减每买拍一二三送件折第半价元限时领券立减前名赠品小样运费险礼盒直降下单返红包",
    "OFF Buy Get Save off for Ends in First get a gift Extra today RMB",
    "万人在看 k watching",
)


@cache
def corpus() -> tuple[str, ...]:
    """Every fixed string from which prompts, references and the other lines of a card are composed, sorted."""
    texts: set[str] = set(prompts.PROMPTS.values()) | set(_COMPOSED_PARTS)
    texts |= set(catalogue.BRAND_STARTS_EN) | set(catalogue.BRAND_ENDS_EN) | set(catalogue.BRAND_CHARACTERS_ZH)
    for category in catalogue.CATEGORIES:
        texts |= {*category.features_zh, *category.nouns_zh, *category.features_en, *category.nouns_en, *category.sizes}
    for labels in (
        card_text.CURRENT_PRICE_LABELS,
        card_text.ORIGINAL_PRICE_LABELS,
        card_text.SKU_LABELS,
        card_text.LOT_LABELS,
        card_text.SLOGANS,
        card_text.BUY_BUTTONS,
        card_text.COMMENTS,
        card_text.HOSTS,
        card_text.TABLE_TITLES,
        card_text.COLORS,
    ):
        for options in labels.values():
            texts |= set(options)
    for headers in card_text.TABLE_HEADERS.values():
        texts.update(header for options in headers.values() for header in options)
    return tuple(sorted(texts))


# Digits, Latin letters and the ASCII signs are included whole: SKUs and prices draw from all of them.
ALPHABET: str = "".join(sorted(set("".join(corpus())) | set(string.printable[:95]) | set("¥￥\n")))
