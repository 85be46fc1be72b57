"""What one side says of the tokens of an answer, and how it travels from its process to the comparing one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict
from tliveomni_eval.evals.errors import UserError


class TokenScores(BaseModel):
    """Natural log-probabilities at each place of an answer, under teacher forcing.

    Attributes:
        tokens: The answer's tokens.
        logprobs: Of each of them.
        top: At each place, the most probable tokens with their log-probabilities, most probable first.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    tokens: tuple[int, ...]
    logprobs: tuple[float, ...]
    top: tuple[tuple[tuple[int, float], ...], ...]


class SideRecord(BaseModel):
    """What one side found for one sample.

    Attributes:
        task: Its task.
        document: Its document number in the task.
        modality: Kinds of media in its prompt, e.g. `image` or `video+sound`; `text` without.
        prompt_tokens: Tokens of the prompt, placeholders of media included; 0 where not compared.
        text: The side's own greedy answer.
        cut: Whether that answer ended because it was long enough, not by itself.
        scores: Of the reference's tokens; None where not compared.
        reason: Why it was not compared, in words; empty otherwise.
        left_out: Kinds of media of the sample that the prompt lacks.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    task: str
    document: int
    modality: str = "text"
    prompt_tokens: int = 0
    text: str = ""
    cut: bool = False
    scores: TokenScores | None = None
    reason: str = ""
    left_out: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, int]:
        """What names the sample on both sides."""
        return self.task, self.document


def write_records(path: Path, records: Iterable[SideRecord]) -> None:
    """Write records, one a line.

    Args:
        path: The file.
        records: What one side found.
    """
    with path.open("w", encoding="utf-8") as file:
        file.writelines(record.model_dump_json() + "\n" for record in records)


def read_records(path: Path) -> Iterator[SideRecord]:
    """Read what `write_records` wrote.

    Args:
        path: The file.

    Raises:
        UserError: The process that was to write it did not.
    """
    try:
        with path.open(encoding="utf-8") as file:
            yield from map(SideRecord.model_validate_json, file)
    except FileNotFoundError:
        raise UserError(f"{path}: the process that was to write it ended without") from None


def scores_of(prompt_logprobs: Any, answer: tuple[int, ...], top_k: int) -> TokenScores:
    """What vLLM says of the last tokens of a prompt.

    Args:
        prompt_logprobs: Of a request output: at each token of the prompt, token to its log-probability and rank.
        answer: The last tokens.
        top_k: Most probable tokens to keep.
    """
    places = [prompt_logprobs[len(prompt_logprobs) - len(answer) + index] for index in range(len(answer))]
    ranked = [sorted(((one.rank, token, one.logprob) for token, one in place.items())) for place in places]
    return TokenScores(
        tokens=answer,
        logprobs=tuple(float(place[token].logprob) for place, token in zip(places, answer, strict=True)),
        top=tuple(tuple((token, float(logprob)) for _, token, logprob in row[:top_k]) for row in ranked),
    )


def modality_of(kinds: Iterable[str], sounding_videos: bool) -> str:
    """The name of a prompt's modality.

    Args:
        kinds: Kinds of media in it; those that stand more than once count once.
        sounding_videos: Whether its videos are given with their sound, interleaved.

    >>> modality_of(["image", "image"], False), modality_of(["video", "image"], True), modality_of([], False)
    ('image', 'image + video+sound', 'text')
    """
    names = {"video+sound" if kind == "video" and sounding_videos else kind for kind in kinds}
    return " + ".join(sorted(names)) or "text"
