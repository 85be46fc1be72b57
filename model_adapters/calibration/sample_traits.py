"""What a sample is balanced by: traits told from its line, and those that need a look at its media."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tliveomni_eval.tasks.manifest import EXTENSIONS

TEXT_CHARACTERS = (64, 256, 1_024, 4_096, 16_384)
MEDIA_COUNTS = (1, 2, 4, 8)
MEGAPIXELS = (0.1, 0.5, 1.0, 2.0, 4.0)
SECONDS = (5.0, 15.0, 60.0, 300.0, 720.0)

TASK_PROMPT = "(the task's own)"
_IDEOGRAPH = re.compile(r"[㐀-鿿]")
_KANA = re.compile(r"[぀-ヿ]")
_HANGUL = re.compile(r"[가-힯]")
_LATIN_WORD = re.compile(r"[A-Za-z]{3,}")


def bucket(value: float, edges: Sequence[float]) -> str:
    """The name of the bucket of a value: `≤edge`, or above the last edge `>edge`.

    >>> bucket(64, TEXT_CHARACTERS), bucket(70, TEXT_CHARACTERS), bucket(1e9, MEDIA_COUNTS)
    ('≤64', '≤256', '>8')
    """
    return next((f"≤{edge:g}" for edge in edges if value <= edge), f">{edges[-1]:g}")


def line_traits(line: Mapping[str, Any], template: str) -> tuple[tuple[str, str], ...]:
    """Traits that a manifest line shows without its media.

    Args:
        line: The parsed line; `task` is a text, `media` a list.
        template: Its instruction template.
    """
    task = str(line["task"])
    kinds = [media_kind(item) for item in line.get("media") or ()]
    prompt, answer = line.get("prompt") or "", line.get("reference")
    answer_text = answer if isinstance(answer, str) else str(answer)
    slices, context = line.get("slices") or {}, line.get("context") or {}
    traits = [
        ("task", task),
        ("template", f"{task}: {template}"),
        ("modality", "+".join(sorted(set(kinds))) or "text"),
        ("media", bucket(len(kinds), MEDIA_COUNTS) if kinds else "0"),
        ("characters", bucket(len(prompt) + len(answer_text), TEXT_CHARACTERS)),
        ("language", str(slices.get("lang") or context.get("lang") or script_of(prompt + answer_text))),
    ]
    if "duration_s" in slices:
        traits.append(("declared duration_s", f"{task}: {slices['duration_s']}"))
    return tuple(traits)


def media_kind(item: Any) -> str:
    """Kind of an item of `media`, as the manifest types it; `unknown` where it cannot be told."""
    if isinstance(item, str):
        return EXTENSIONS.get(Path(item).suffix.lower(), "unknown")
    return str(item.get("type", "unknown")) if isinstance(item, Mapping) else "unknown"


def script_of(text: str) -> str:
    """Language by script, for lines that declare none.

    >>> script_of("现价"), script_of("price"), script_of("KX27 的 price 是多少"), script_of("12.5")
    ('zh', 'en', 'mixed', 'none')
    """
    if _KANA.search(text):
        return "ja"
    if _HANGUL.search(text):
        return "ko"
    chinese, latin = _IDEOGRAPH.search(text), _LATIN_WORD.search(text)
    return "mixed" if chinese and latin else "zh" if chinese else "en" if latin else "none"
