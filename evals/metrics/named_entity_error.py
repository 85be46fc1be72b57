"""False-negative rate of named entities (NE-FNR), exact and fuzzy.

Source: Wang et al., "ContextASR-Bench: a massive contextual speech recognition benchmark" (2025) and its code. An
entity of n tokens is found fuzzily within an edit distance of ceil(n / 2) - 1 tokens; matches are clipped to how
often the entity stands in the reference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rapidfuzz.distance import Levenshtein
from tliveomni_eval.evals.metrics.hotwords import Hotword, occurrences
from tliveomni_eval.evals.record import Counts

MAX_FUZZY_TOKENS = 5_000
"""Tokens of a hypothesis in which entities are looked for fuzzily; twelve minutes of fast speech have about 4,000."""


@dataclass(frozen=True, slots=True)
class EntityMatches:
    """The spans of a hypothesis that were taken for entities, as token tuples in the order of the entities."""

    exact: tuple[Hotword, ...]
    fuzzy: tuple[Hotword, ...]


@dataclass(frozen=True, slots=True)
class EntityMisses:
    """Occurrences of entities that are missing in a hypothesis, over those in the reference."""

    exact: Counts
    fuzzy: Counts


def fuzzy_distance(length: int) -> int:
    """The edit distance, in tokens, within which an entity of that many tokens still counts as found."""
    return max(0, -(-length // 2) - 1)


def match_entities(hypothesis: Sequence[str], said: Mapping[Hotword, int]) -> EntityMatches:
    """Find entities in a hypothesis.

    Args:
        hypothesis: Tokens of the output.
        said: Each entity and how often the reference holds it, at least once.
    """
    exact: list[Hotword] = []
    fuzzy: list[Hotword] = []
    found = occurrences(hypothesis, list(said))
    for entity, count in said.items():
        hits = min(count, found[entity])
        exact.extend([entity] * hits)
        certain = hits == count or fuzzy_distance(len(entity)) == 0
        fuzzy.extend([entity] * hits if certain else _fuzzy_spans(hypothesis[:MAX_FUZZY_TOKENS], entity, count))
    return EntityMatches(tuple(exact), tuple(fuzzy))


def entity_misses(reference: Sequence[str], hypothesis: Sequence[str], entities: Sequence[Hotword]) -> EntityMisses:
    """Count the entities of a reference that a hypothesis lacks; entities that the reference lacks do not count."""
    said = {entity: count for entity, count in occurrences(reference, entities).items() if count}
    matches = match_entities(hypothesis, said)
    total = sum(said.values())
    return EntityMisses(Counts(total - len(matches.exact), total), Counts(total - len(matches.fuzzy), total))


def _fuzzy_spans(tokens: Sequence[str], entity: Hotword, count: int) -> list[Hotword]:
    """At most `count` disjoint spans near an entity: the closest first, then the leftmost."""
    allowed = fuzzy_distance(len(entity))
    # One private character a token: windows are slices of a string, and rapidfuzz compares strings fastest.
    letters: dict[str, str] = {}
    text = "".join(letters.setdefault(token, chr(len(letters) + 1)) for token in tokens)
    wanted = "".join(letters.get(token, "\0") for token in entity)
    distance_within = Levenshtein.distance
    candidates: list[tuple[int, int, int, int]] = []
    for start in range(len(tokens)):
        for width in range(len(entity) - allowed, len(entity) + allowed + 1):
            if start + width > len(tokens):
                break
            distance = distance_within(wanted, text[start : start + width], score_cutoff=allowed)
            if distance <= allowed:
                candidates.append((distance, start, abs(width - len(entity)), width))
    spans: list[tuple[int, int]] = []
    for _, start, _, width in sorted(candidates):
        if len(spans) == count:
            break
        if all(start + width <= other or end <= start for other, end in spans):
            spans.append((start, start + width))
    return [tuple(tokens[start:end]) for start, end in sorted(spans)]
