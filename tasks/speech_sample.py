"""What a manifest line of live_asr and live_diarization holds: read for the scorers, checked for `tlive data check`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tliveomni_eval.evals.metrics.speaker_turns import Turn
from tliveomni_eval.evals.text.tokens import LANGUAGES, Language
from tliveomni_eval.tasks.manifest import Fault, Sample

DEFAULT_LANGUAGE: Language = "mixed"
_TURN_FIELDS = ("speaker", "start", "end", "text")


def speech_language(context: Mapping[str, Any]) -> Language:
    """`context.lang`; mixed where it is not given.

    Raises:
        ValueError: It is no language that is scored.
    """
    lang = context.get("lang", DEFAULT_LANGUAGE)
    for known in LANGUAGES:
        if lang == known:
            return known
    raise ValueError(f"{lang!r} is no language that is scored; use {', '.join(LANGUAGES)}")


def hotword_list(context: Mapping[str, Any]) -> tuple[str, ...]:
    """`context.hotwords`; none where it is not given.

    Raises:
        ValueError: It is no list of texts.
    """
    hotwords = context.get("hotwords", [])
    if not isinstance(hotwords, list) or not all(isinstance(word, str) and word.strip() for word in hotwords):
        raise ValueError(f'must be a list of words such as ["云沐面霜"], got {hotwords!r:.80}')
    return tuple(hotwords)


def reference_turns(reference: Any) -> tuple[Turn, ...]:
    """The turns of a diarization reference.

    Args:
        reference: A list of `{"speaker", "start", "end", "text"}`, times in seconds.

    Raises:
        ValueError: It is not; the message names the turn, counted from 0.
    """
    if not isinstance(reference, list):
        raise ValueError(f'must be a list of {{"speaker", "start", "end", "text"}}, got {reference!r:.80}')
    return tuple(_turn(index, item) for index, item in enumerate(reference))


def _turn(index: int, item: Any) -> Turn:
    if not isinstance(item, dict) or set(item) != set(_TURN_FIELDS):
        raise ValueError(f"turn {index}: needs exactly the fields {', '.join(_TURN_FIELDS)}, got {item!r:.80}")
    if not isinstance(item["speaker"], str) or not isinstance(item["text"], str):
        raise ValueError(f"turn {index}: speaker and text must be texts, got {item!r:.80}")
    if not all(isinstance(item[key], int | float) and not isinstance(item[key], bool) for key in ("start", "end")):
        raise ValueError(f"turn {index}: start and end must be numbers of seconds, got {item!r:.80}")
    try:
        return Turn(item["speaker"], float(item["start"]), float(item["end"]), item["text"])
    except ValueError as error:
        raise ValueError(f"turn {index}: {error}") from None


def speech_faults(sample: Sample, number: int) -> list[Fault]:
    """What is wrong in a line of live_asr or live_diarization beyond its form.

    Args:
        sample: The line.
        number: Its line number.
    """
    faults = []
    if [media.type for media in sample.media] != ["audio"]:
        kinds = ", ".join(media.type for media in sample.media) or "none"
        faults.append(Fault(number, "media", f"{sample.task} takes exactly one audio file, got {kinds}"))
    checks: Sequence[tuple[str, Any, Any]] = (
        ("context.lang", speech_language, sample.context),
        ("context.hotwords", hotword_list, sample.context),
        ("reference", reference_turns if sample.task == "live_diarization" else _transcript, sample.reference),
    )
    for field, check, value in checks:
        try:
            check(value)
        except ValueError as error:
            faults.append(Fault(number, field, str(error)))
    return faults


def _transcript(reference: Any) -> None:
    if not isinstance(reference, str):
        raise ValueError(f'must be the transcript as text ("" where nobody speaks), got {reference!r:.80}')
