"""Outputs that have gone wrong in a way no accuracy shows: loops, silence, the prompt given back, another language.

A quantized model that breaks down often does so on one slice: it repeats itself, says nothing, echoes the question or
answers in English where Chinese was asked for. Each sample of a run either shows a pathology or does not, so two runs
are compared by the samples that changed, with McNemar's exact test, slice by slice.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from tliveomni_eval.evals.statistics.exact_tests import mcnemar_exact
from tliveomni_eval.evals.text.degenerate import echoes, is_repetitive
from tliveomni_eval.evals.text.tokens import tokenize
from tliveomni_eval.evals.text.width import CJK

Pathology = Literal["empty", "repetition", "prompt echo", "language switch"]
PATHOLOGIES: tuple[Pathology, ...] = get_args(Pathology)

LONGEST_OUTPUT = 20_000
"""Characters of an output that are looked at; a loop has begun by then."""

_IDEOGRAPH = re.compile(rf"[{CJK}]")
_LATIN_WORD = re.compile(r"[A-Za-z]{2,}")
_FEWEST_UNITS = 4
_CLEAR_SHARE = 0.8


@dataclass(frozen=True, slots=True)
class LoggedOutput:
    """One sample of a log.

    Attributes:
        prompt: Text of the prompt.
        reference: What was expected, as text.
        output: What the model said.
        slices: Attribute to value.
    """

    prompt: str
    reference: str
    output: str
    slices: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class PathologyChange:
    """How often a pathology is seen on a slice in two runs.

    Attributes:
        slice: `attribute=value`, or `all`.
        pathology: Its name.
        samples: Samples of the slice in both runs.
        baseline: Samples that show it in the baseline.
        candidate: Samples that show it in the candidate.
        p: One-sided p value of McNemar's exact test, small where samples show it that did not in the baseline.
    """

    slice: str
    pathology: Pathology
    samples: int
    baseline: int
    candidate: int
    p: float

    def note(self) -> str:
        """One line for a reader."""
        return (
            f"{self.slice}: {self.pathology} in {self.candidate} of {self.samples} outputs, {self.baseline} in the "
            f"baseline (p = {self.p:.2g})"
        )


def pathologies(sample: LoggedOutput) -> frozenset[Pathology]:
    """What is wrong with an output, whatever its score.

    >>> sorted(pathologies(LoggedOutput("写出价格。", "十二元五角", "The price is twelve fifty", {})))
    ['language switch']
    """
    output = sample.output[:LONGEST_OUTPUT]
    if not output.strip():
        return frozenset({"empty"})
    reference = sample.reference[:LONGEST_OUTPUT]
    said, expected = tokenize(output.lower(), "mixed"), tokenize(reference.lower(), "mixed")
    found: set[Pathology] = set()
    if is_repetitive(expected, said):
        found.add("repetition")
    if echoes(tokenize(sample.prompt[:LONGEST_OUTPUT].lower(), "mixed"), expected, said):
        found.add("prompt echo")
    languages = _script(reference), _script(output)
    if None not in languages and languages[0] != languages[1]:
        found.add("language switch")
    return frozenset(found)


def _script(text: str) -> str | None:
    """The script that at least 80 % of a text's ideographs and Latin words belong to; None where none is clear."""
    ideographs, words = len(_IDEOGRAPH.findall(text)), len(_LATIN_WORD.findall(text))
    if ideographs + words < _FEWEST_UNITS:
        return None
    share = ideographs / (ideographs + words)
    return "ideographs" if share >= _CLEAR_SHARE else "Latin" if share <= 1 - _CLEAR_SHARE else None


def compare_outputs(pairs: Iterable[tuple[LoggedOutput, LoggedOutput]]) -> list[PathologyChange]:
    """Count each pathology on each slice in two runs.

    Args:
        pairs: The same sample in the baseline and in the candidate; slices are those of the baseline.

    Returns:
        One entry for each slice and pathology that either run shows, the smallest p value first.
    """
    # Samples; then, by pathology: seen in the baseline, in the candidate, in the baseline only, in the candidate only.
    sizes: dict[str, int] = defaultdict(int)
    seen: dict[tuple[str, Pathology], list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for first, second in pairs:
        before, after = pathologies(first), pathologies(second)
        for name in ("all", *(f"{attribute}={value}" for attribute, value in first.slices.items())):
            sizes[name] += 1
            for pathology in before | after:
                counts = seen[name, pathology]
                counts[0] += pathology in before
                counts[1] += pathology in after
                counts[2] += pathology in before - after
                counts[3] += pathology in after - before
    changes = [
        PathologyChange(name, pathology, sizes[name], baseline, candidate, mcnemar_exact(worse, better)[1])
        for (name, pathology), (baseline, candidate, better, worse) in seen.items()
    ]
    return sorted(changes, key=lambda change: (change.p, -change.candidate, change.slice, change.pathology))


def more_often(changes: list[PathologyChange], alpha: float = 0.01) -> list[PathologyChange]:
    """The changes that chance does not explain, by Holm's method over all of them.

    Args:
        changes: As `compare_outputs` returns them, smallest p value first.
        alpha: Probability of naming any where nothing changed, 0..1.
    """
    kept = []
    for place, change in enumerate(changes):
        if change.p > alpha / (len(changes) - place):
            break
        kept.append(change)
    return kept
