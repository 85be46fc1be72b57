"""What a manifest line of live_selling_points and live_caption holds: read for the scorers, and checked."""

from __future__ import annotations

from typing import Any

from tliveomni_eval.evals.metrics.fact import Fact
from tliveomni_eval.tasks.manifest import Fault, Sample

FACT_TASKS = ("live_selling_points", "live_caption")
PROMPT_LANGUAGES = ("zh", "en")
EVIDENCE = ("seen", "heard", "both")


def reference_facts(reference: Any) -> tuple[Fact, ...]:
    """The facts of a reference.

    Args:
        reference: A list of texts, or of `{"text": …, "aliases": […], "kind": …, "required": […]}`; not empty.

    Raises:
        ValueError: It is not; the message names the fact, counted from 0.
    """
    if not isinstance(reference, list) or not reference:
        raise ValueError(f"must be a list of at least one fact, got {reference!r:.80}")
    return tuple(_fact(index, item) for index, item in enumerate(reference))


def _fact(index: int, item: Any) -> Fact:
    parts = {"text": item} if isinstance(item, str) else item
    if not isinstance(parts, dict) or not set(parts) <= {"text", "aliases", "kind", "required"}:
        raise ValueError(f'fact {index}: must be a text or {{"text", "aliases", "kind", "required"}}, got {item!r:.80}')
    text, kind = parts.get("text"), parts.get("kind", "")
    aliases, required = parts.get("aliases", []), parts.get("required", [])
    if not isinstance(text, str) or not isinstance(kind, str):
        raise ValueError(f"fact {index}: text and kind are texts, got {item!r:.80}")
    for name, texts in (("aliases", aliases), ("required", required)):
        if not isinstance(texts, list) or not all(isinstance(one, str) for one in texts):
            raise ValueError(f"fact {index}: {name} is a list of texts, got {texts!r:.80}")
    try:
        return Fact(text, tuple(aliases), kind, tuple(required))
    except ValueError as error:
        raise ValueError(f"fact {index}: {error}") from None


def fact_faults(sample: Sample, number: int) -> list[Fault]:
    """What is wrong in a line of live_selling_points or live_caption beyond its form.

    Args:
        sample: The line.
        number: Its line number.
    """
    faults = []
    if [media.type for media in sample.media] != ["video"]:
        kinds = ", ".join(media.type for media in sample.media) or "none"
        faults.append(Fault(number, "media", f"{sample.task} takes exactly one video, got {kinds}"))
    for key, allowed in (("lang", PROMPT_LANGUAGES), ("evidence", EVIDENCE)):
        value = sample.context.get(key, allowed[0])
        if value not in allowed:
            faults.append(Fault(number, f"context.{key}", f"must be {' or '.join(allowed)}, got {value!r:.80}"))
    try:
        reference_facts(sample.reference)
    except ValueError as error:
        faults.append(Fault(number, "reference", str(error)))
    return faults
