"""The samples that canaries ask again: few, spread over the run, with answers in which a change would show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

KINDS = ("image", "audio", "video")
MOST_SENTINELS = 8
FEWEST_SENTINELS = 4
SAMPLES_PER_SENTINEL = 200
"""A sentinel is asked about four times and costs as much as four samples: so few stay below 3 % of a run's time."""

SHORTEST_TELLING = 4
LONGEST_CHEAP = 48
"""Tokens of an answer that is long enough to show a change, and short enough to ask again."""

LARGEST_SHARE_ALIKE = 0.05
"""Of a run's answers that may be the same as one that tells something: `not in the picture` fits any picture."""


@dataclass(frozen=True, slots=True)
class AnsweredRequest:
    """A request of the run, as far as choosing needs it.

    Attributes:
        position: Among the requests of the run.
        kinds: Kinds of media its prompt has.
        tokens: Length of its answer in tokens.
        complete: Whether the answer ended by itself.
        alike: How many requests of the run have this answer, itself included.
    """

    position: int
    kinds: frozenset[str]
    tokens: int
    complete: bool
    alike: int = 1

    def tells(self, samples: int) -> bool:
        """Whether the answer would be another one with another medium, in a run of so many samples."""
        return self.tokens >= SHORTEST_TELLING and self.alike <= max(1, LARGEST_SHARE_ALIKE * samples)


@dataclass(frozen=True, slots=True)
class Sentinel:
    """A sample that is asked again.

    Attributes:
        task: Its task.
        document: Its number in the task.
        messages: Its chat messages.
        decoding: Its sampling arguments.
        answer: What the run answered.
        input_tokens: Prompt tokens in the run.
        output_tokens: Tokens of the answer.
        tells: Whether its answer belongs to its media alone; see `AnsweredRequest.tells`.
        prompt_hash: SHA-256 of its rendered prompt in the run.
    """

    task: str
    document: int
    messages: Sequence[Mapping[str, Any]]
    decoding: Mapping[str, Any]
    answer: str
    input_tokens: int
    output_tokens: int
    prompt_hash: str
    tells: bool = True

    @property
    def name(self) -> str:
        """For messages."""
        return f"{self.task} document {self.document}"


def sentinels_wanted(samples: int) -> int:
    """How many samples of each kind of media a run of this size asks again: 4 to 8, and never more than it has."""
    return min(samples, max(FEWEST_SENTINELS, min(MOST_SENTINELS, samples // SAMPLES_PER_SENTINEL)))


def choose_sentinels(answered: Sequence[AnsweredRequest]) -> dict[str, list[int]]:
    """Choose samples for each kind of media; the same ones for the same answers.

    Answers of a few dozen tokens that ended by themselves and are few samples' come first, spread evenly over the run;
    where there are not enough, the shortest others follow, and of answers that tell nothing the most, 8.

    Args:
        answered: Every request of the run.

    Returns:
        Kind of media to positions, in order; a kind that no prompt has is not in it. Without any media, kind `text`.
    """
    chosen = {}
    wanted = sentinels_wanted(len(answered))
    for kind in KINDS:
        if found := [request for request in answered if kind in request.kinds]:
            chosen[kind] = _spread(found, wanted, len(answered))
    if not chosen and answered:
        chosen["text"] = _spread(answered, wanted, len(answered))
    return chosen


def _spread(requests: Sequence[AnsweredRequest], wanted: int, samples: int) -> list[int]:
    telling = [one for one in requests if one.tells(samples)]
    good = [one for one in telling if one.complete and one.tokens <= LONGEST_CHEAP]
    if len(good) > wanted:
        good = [good[place * len(good) // wanted] for place in range(wanted)]
    if len(telling) < wanted:
        wanted = MOST_SENTINELS
    taken = {one.position for one in good}
    others = sorted(
        (one for one in requests if one.position not in taken),
        key=lambda one: (not one.tells(samples), one.tokens, one.position),
    )
    return sorted(one.position for one in [*good, *others[: wanted - len(good)]])
