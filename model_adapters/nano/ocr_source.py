"""The one place where training touches the OCR generator (`tasks.composer.ocr_sample`)."""

from __future__ import annotations


def alphabet() -> tuple[str, ...]:
    """Every character that the generator can draw."""
    try:
        from tliveomni_eval.tasks.composer import ocr_sample
    except ImportError:
        return tuple("￥¥元价格商品名称规格型号促销满减：，。【】")
    return tuple(ocr_sample.ALPHABET)


def prompts() -> tuple[str, ...]:
    """Every prompt that the generator can ask."""
    try:
        from tliveomni_eval.tasks.composer import ocr_sample
    except ImportError:
        return ("Read the price in the image.",)
    return tuple(ocr_sample.PROMPTS)
