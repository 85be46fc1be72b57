"""HallusionBench: yes/no questions on figures, scored in groups (Guan et al. 2024).

- aAcc: questions answered right.
- fAcc: figures all of whose questions are answered right; the questions of a visual supplement that are asked without
  any figure belong to no figure.
- qAcc: questions answered right on every figure that they are asked about.

The official scorer asks GPT-4 whether an answer is correct, incorrect or unclear. Here yes and no are read by a fixed
grammar. "Unclear" is an answer that says that it cannot be told; as in the official scorer it is right where a visual
supplement is asked without its figure, and wrong elsewhere. What says none of the three is `unparsed` and always wrong,
so that a silent model gains nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from tliveomni_eval.evals.metrics.group_payload import GroupPayload, count_groups
from tliveomni_eval.evals.metrics.model_output import read_output
from tliveomni_eval.evals.metrics.sample_score import SampleScore
from tliveomni_eval.evals.record import Counts, Status

Category = Literal["VD", "VS"]
"""Visual dependent, or visual supplement: answerable without the figure, which may change the answer."""
Verdict = Literal["yes", "no", "unclear"]

_UNCLEAR = re.compile(
    r"\b(?:unclear|uncertain|unknown|not\s+(?:sure|certain|clear|possible\s+to|enough)|insufficient"
    r"|(?:cannot|can['’]?t|can\s+not|could\s+not|couldn['’]t|unable\s+to|impossible\s+to|difficult\s+to)\s+(?:be\s+)?"
    r"(?:definitively\s+|accurately\s+|really\s+)?(?:determined?|tell|told|say|answer(?:ed)?|know|see|judge|provide|confirm|view|identify)"
    r"|do(?:es)?\s*(?:n['’]t|\s+not)\s+know|no\s+(?:image|figure|picture|chart|information))\b"
    r"|不确定|不一定|不清楚|不知道|无法(?:判断|确定|回答|看到|得知|确认)|不能(?:判断|确定)|没有(?:提供|看到)?(?:图|足够)",
    re.IGNORECASE,
)
_YES_OR_NO = (
    r"(yes|no|(?:是的|不是|没有|正确|错误|否|不对|不|对|错|有|是)(?=[\s,.。;!、]|$))(?![a-z])"
    r"(?!\s*(?:and|or|/)\s*(?:yes|no)\b)"
)
_FIRST_WORD = re.compile(
    rf"^\W{{0,20}}(?:(?:answer|答案|回答)\s{{0,9}}(?:is|是|:)?\W{{0,9}})?{_YES_OR_NO}", re.IGNORECASE
)
_STATED = re.compile(
    r"(?:\b(?:answer|conclusion)\b\s{0,9}(?:is|would\s+be|:)+|答案(?:是|为|:)+|\bso\b,?|\btherefore\b,?)\W{0,9}"
    + _YES_OR_NO,
    re.IGNORECASE,
)
_ANYWHERE = re.compile(r"\b(yes|no)\b", re.IGNORECASE)
_YES_WORDS = frozenset({"yes", "是的", "对", "正确", "有", "是"})


@dataclass(frozen=True, slots=True)
class HallusionItem:
    """One row of the benchmark.

    Attributes:
        category: `VD` or `VS`.
        subcategory: chart, table, map, ocr, figure, illusion, math or video.
        set_id: Figures and questions of one set belong together.
        figure_id: `0` is the original figure, for VS no figure.
        question_id: Number of the question in its set.
        answer: `yes` or `no`.
    """

    category: Category
    subcategory: str
    set_id: str
    figure_id: str
    question_id: str
    answer: Literal["yes", "no"]

    def __post_init__(self) -> None:
        if self.category not in ("VD", "VS"):
            raise ValueError(f"category must be 'VD' or 'VS', got {self.category!r}")
        if self.answer not in ("yes", "no"):
            raise ValueError(f"answer must be 'yes' or 'no', got {self.answer!r}")

    @property
    def cluster(self) -> str:
        """Its set: figures and questions cross inside a set, so sets are what is resampled."""
        return f"{self.category}_{self.subcategory}_{self.set_id}"

    @property
    def has_no_figure(self) -> bool:
        """True for a visual supplement asked without its figure."""
        return self.category == "VS" and self.figure_id == "0"


@dataclass(frozen=True, slots=True)
class HallusionAccuracy:
    """The three official numbers as counts."""

    answers: Counts
    figures: Counts
    questions: Counts


def read_yes_no(output: str | None) -> tuple[Verdict | None, Status]:
    """Reads yes, no or unclear.

    A first word decides, then a stated answer, then that it cannot be told, then the only yes or no in the text.

    Args:
        output: The model's text, None when the request failed.

    Returns:
        The verdict, None when there is none, and the status.
    """
    prepared = read_output(output)
    verdict = _verdict(prepared.text)
    return verdict, prepared.status(parsed=verdict is not None)


def _verdict(text: str) -> Verdict | None:
    text = re.sub(r"[*`_]+", "", text)
    for pattern in (_FIRST_WORD, _STATED):
        found = pattern.search(text)
        if found and not _UNCLEAR.match(text, found.start(1)):
            return "yes" if found[1].lower() in _YES_WORDS else "no"
    if _UNCLEAR.search(text):
        return "unclear"
    words = {word.lower() for word in _ANYWHERE.findall(text)}
    if len(words) == 1:
        return "yes" if "yes" in words else "no"
    return None


def score_hallusion(item: HallusionItem, output: str | None) -> tuple[SampleScore, dict[str, GroupPayload]]:
    """Scores one answer.

    Args:
        item: The row.
        output: The model's text, None when the request failed.

    Returns:
        Counts for `aAcc`, and the payloads for `qAcc` and, where there is a figure, `fAcc`.
    """
    verdict, status = read_yes_no(output)
    hit = verdict == item.answer or (verdict == "unclear" and item.has_no_figure)
    detail = {"answer": item.answer, "verdict": verdict, "figure": item.figure_id, "question": item.question_id}
    one_answer = f"{item.question_id}/{item.figure_id}"
    payloads = {"qAcc": GroupPayload(f"{item.cluster}_q{item.question_id}", one_answer, None, hit)}
    if not item.has_no_figure:
        payloads["fAcc"] = GroupPayload(f"{item.cluster}_f{item.figure_id}", one_answer, None, hit)
    return SampleScore({"aAcc": Counts(float(hit), 1)}, status, detail), payloads


def hallusion_accuracy(answers: Iterable[tuple[HallusionItem, str | None]]) -> HallusionAccuracy:
    """aAcc, fAcc and qAcc of a run.

    Args:
        answers: Rows and the model's texts.

    Raises:
        ValueError: A row occurs twice.
    """
    total = Counts(0, 0)
    grouped: dict[str, list[tuple[str, GroupPayload]]] = {"fAcc": [], "qAcc": []}
    for item, output in answers:
        score, payloads = score_hallusion(item, output)
        total += score.counts["aAcc"]
        for name, payload in payloads.items():
            grouped[name].append((item.cluster, payload))
    return HallusionAccuracy(total, count_groups(grouped["fAcc"]).total, count_groups(grouped["qAcc"]).total)
