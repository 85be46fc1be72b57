"""CircularEval: a question is right only if it is answered right under every rotation of its options (MMBench).

A question with k options is asked k times. Rotation i presents the options from number i on, then those before it, and
has index `index + i · 1,000,000`, as the MMBench files and VLMEvalKit have it (OpenCompass rotates the other way, which
gives the same k requests in another order). VLMEvalKit scores a question by the rotations that it finds; here a
question that lacks a rotation is missing, never a hit.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from tliveomni_eval.evals.metrics.choice_answer import ChoiceAnswer, letters_of, read_choice
from tliveomni_eval.evals.metrics.group_payload import GroupPayload
from tliveomni_eval.evals.metrics.option_text import existing_options
from tliveomni_eval.evals.metrics.sample_score import SampleScore
from tliveomni_eval.evals.record import Counts

ROTATION_STRIDE = 1_000_000
"""Added to a question's index for each rotation."""


@dataclass(frozen=True, slots=True)
class RotatedQuestion:
    """One request of a question.

    Attributes:
        index: Question index plus rotation · `ROTATION_STRIDE`.
        options: Letter to text, as presented.
        answer: Letter of the right option, as presented.
    """

    index: int
    options: Mapping[str, str]
    answer: str


def question_of(index: int) -> int:
    """The question to which a request belongs."""
    return index % ROTATION_STRIDE


def rotation_of(index: int) -> int:
    """The number of the rotation, from 0."""
    return index // ROTATION_STRIDE


def rotations(index: int, options: Sequence[str], answer: int) -> list[RotatedQuestion]:
    """All requests of a question, one for each option.

    Args:
        index: Question index, 0 ≤ index < 1,000,000.
        options: 2 to 26 option texts in their first order.
        answer: Position of the right option.

    Returns:
        k requests; rotation 0 has the first order.

    Raises:
        ValueError: The index, the number of options or the answer is out of range, or two options are the same.
    """
    if not 0 <= index < ROTATION_STRIDE:
        raise ValueError(f"a question index must be in 0..{ROTATION_STRIDE - 1}, got {index!r}")
    if not 2 <= len(options) <= 26:
        raise ValueError(f"question {index}: 2 to 26 options are needed, got {len(options)}")
    if not 0 <= answer < len(options):
        raise ValueError(f"question {index}: the answer must be in 0..{len(options) - 1}, got {answer!r}")
    if len(set(options)) < len(options):
        raise ValueError(f"question {index}: two options have the same text, {list(options)!r}")
    requests = []
    for shift in range(len(options)):
        presented = letters_of([*options[shift:], *options[:shift]])
        letter = chr(ord("A") + (answer - shift) % len(options))
        requests.append(RotatedQuestion(index + shift * ROTATION_STRIDE, presented, letter))
    return requests


@dataclass(frozen=True, slots=True)
class RotationAnswer:
    """What came of one request; all that the report needs of a sample.

    Attributes:
        index: As in `RotatedQuestion`.
        options: Letter to text of the options that exist, as presented.
        answer: Letter of the right option.
        chosen: Letter that the output chose, None when it does not resolve.
        category: Leaf category.
        l2_category: The category above it.
    """

    index: int
    options: Mapping[str, str]
    answer: str
    chosen: str | None
    category: str = ""
    l2_category: str = ""

    @property
    def hit(self) -> bool:
        """Whether the right option was chosen."""
        return self.chosen == self.answer

    @property
    def payload(self) -> GroupPayload:
        """This request as a member of its question."""
        question, rotation = str(question_of(self.index)), str(rotation_of(self.index))
        return GroupPayload(question, rotation, len(self.options), self.hit)


def score_choice(
    index: int,
    options: Mapping[str, object],
    answer: str,
    output: str | None,
    *,
    category: str = "",
    l2_category: str = "",
) -> tuple[SampleScore, RotationAnswer]:
    """Scores one request.

    Args:
        index: Question index plus rotation · 1,000,000.
        options: Letter to text as presented; `nan` and empty ones do not exist.
        answer: Letter of the right option.
        output: The model's text, None when the request failed.
        category: Leaf category.
        l2_category: The category above it.

    Returns:
        Counts for `accuracy` (this request alone), and the answer for `circular_report`.

    Raises:
        ValueError: The answer is not the letter of an option that exists.
    """
    existing = existing_options(options)
    if answer not in existing:
        raise ValueError(f"index {index}: the answer {answer!r} is none of the options {sorted(existing)}")
    choice: ChoiceAnswer = read_choice(output, existing)
    given = RotationAnswer(index, existing, answer, choice.letter, category, l2_category)
    detail = {
        "index": index,
        "options": existing,
        "answer": answer,
        "chosen": choice.letter,
        "rule": choice.rule,
        "category": category,
        "l2_category": l2_category,
    }
    return SampleScore({"accuracy": Counts(float(given.hit), 1)}, choice.status, detail), given


@dataclass(frozen=True, slots=True)
class CircularReport:
    """The numbers of a run, each over whole questions only.

    Attributes:
        circular: Questions right under all rotations.
        vanilla: Questions right under rotation 0.
        consistency: Questions for which every rotation names the same option text, right or wrong.
        by_position: Letter of the right option to the requests answered right.
        position_bias: Standard deviation of the accuracies by position (RStd of Zheng et al. 2024, "Large Language
            Models Are Not Robust Multiple Choice Selectors"), taken among questions with the same number of options and
            averaged by their number; 0 is none, 0.5 the most for two options. None without a whole question.
        chosen_share: Letter to the share of requests that chose it; unresolved ones are `unparsed`.
        by_category: Leaf category to circular accuracy.
        by_l2_category: L2 category to circular accuracy.
        unparsed: Requests whose output does not resolve.
        missing: Questions that lack a rotation (a limit cut them, or a request is gone); in none of the numbers above.
    """

    circular: Counts
    vanilla: Counts
    consistency: Counts
    by_position: Mapping[str, Counts]
    position_bias: float | None
    chosen_share: Mapping[str, float]
    by_category: Mapping[str, Counts]
    by_l2_category: Mapping[str, Counts]
    unparsed: Counts
    missing: tuple[int, ...] = field(default=())

    @property
    def difference(self) -> float | None:
        """Vanilla minus circular accuracy: what luck with positions is worth."""
        if self.vanilla.rate is None or self.circular.rate is None:
            return None
        return self.vanilla.rate - self.circular.rate

    def logged(self) -> dict[str, Any]:
        """The report as JSON, rates with their counts."""

        def rate(counts: Counts) -> dict[str, float | None]:
            return {"rate": counts.rate, "num": counts.num, "den": counts.den}

        def rates(table: Mapping[str, Counts]) -> dict[str, dict[str, float | None]]:
            return {name: rate(counts) for name, counts in sorted(table.items())}

        return {
            "circular": rate(self.circular),
            "vanilla": rate(self.vanilla),
            "difference": self.difference,
            "consistency": rate(self.consistency),
            "by_position": rates(self.by_position),
            "position_bias": self.position_bias,
            "chosen_share": dict(sorted(self.chosen_share.items())),
            "by_category": rates(self.by_category),
            "by_l2_category": rates(self.by_l2_category),
            "unparsed": rate(self.unparsed),
            "missing": list(self.missing),
        }


def whole_questions(answers: Iterable[RotationAnswer]) -> tuple[list[list[RotationAnswer]], tuple[int, ...]]:
    """Groups requests by question.

    Args:
        answers: All requests of a run, in any order.

    Returns:
        The questions that have all rotations, each in the order of its rotations, and the indices of the others.

    Raises:
        ValueError: As `circular_report`.
    """
    groups: dict[int, dict[int, RotationAnswer]] = defaultdict(dict)
    for item in answers:
        rotation, question = divmod(item.index, ROTATION_STRIDE)
        if rotation in groups[question]:
            raise ValueError(f"index {item.index} occurs twice")
        groups[question][rotation] = item
    whole: list[list[RotationAnswer]] = []
    missing = []
    for question, group in groups.items():
        sizes = {len(item.options) for item in group.values()}
        if len(sizes) > 1:
            raise ValueError(f"the rotations of question {question} have {sorted(sizes)} options")
        size = sizes.pop()
        if len(group) == size and all(rotation in group for rotation in range(size)):
            whole.append([group[rotation] for rotation in range(size)])
        else:
            missing.append(question)
    return whole, tuple(sorted(missing))


def circular_report(answers: Iterable[RotationAnswer]) -> CircularReport:
    """Groups the requests by question and counts.

    Args:
        answers: All requests of a run, in any order.

    Returns:
        The report; questions with a missing rotation are listed and counted nowhere else.

    Raises:
        ValueError: A request occurs twice, or the rotations of a question disagree on the number of options.
    """
    whole, missing = whole_questions(answers)
    requests = [item for group in whole for item in group]
    right = [all(item.hit for item in group) for group in whole]
    chosen = Counter(item.chosen or "unparsed" for item in requests)
    return CircularReport(
        circular=_count(right),
        vanilla=_count(group[0].hit for group in whole),
        consistency=_count(_is_consistent(group) for group in whole),
        by_position=_counts_by((item.answer, item.hit) for item in requests),
        position_bias=_position_bias(whole),
        chosen_share={letter: count / len(requests) for letter, count in chosen.items()},
        by_category=_counts_by(zip((group[0].category for group in whole), right, strict=True)),
        by_l2_category=_counts_by(zip((group[0].l2_category for group in whole), right, strict=True)),
        unparsed=_count(item.chosen is None for item in requests),
        missing=missing,
    )


def _count(hits: Iterable[bool]) -> Counts:
    flags = list(hits)
    return Counts(sum(flags), len(flags))


def _counts_by(named_hits: Iterable[tuple[str, bool]]) -> dict[str, Counts]:
    hits: dict[str, list[bool]] = defaultdict(list)
    for name, hit in named_hits:
        hits[name].append(hit)
    return {name: _count(flags) for name, flags in hits.items()}


def _is_consistent(group: Sequence[RotationAnswer]) -> bool:
    if any(item.chosen is None for item in group):
        return False
    return len({item.options[item.chosen or ""] for item in group}) == 1


def _position_bias(whole: Sequence[Sequence[RotationAnswer]]) -> float | None:
    by_size: dict[int, list[RotationAnswer]] = defaultdict(list)
    for group in whole:
        by_size[len(group)].extend(group)
    deviations, questions = [], []
    for size, items in by_size.items():
        accuracies = [counts.rate for counts in _counts_by((item.answer, item.hit) for item in items).values()]
        deviations.append(float(np.std([rate for rate in accuracies if rate is not None])))
        questions.append(len(items) // size)
    return float(np.average(deviations, weights=questions)) if questions else None
