"""A video with its own sound in one sequence, ordered by time: V, A, V, A, … Pure; no torch. Both sides use it.

A video is a row of frame groups (two frames become one grid of tokens), each with the time that is written before it:
the mean of its frames' times. What is heard from one written time to the next stands between the two groups:

    <0.5 seconds> ⟨vision start⟩ V… ⟨vision end⟩ ⟨audio start⟩ A… ⟨audio end⟩ <2.5 seconds> ⟨vision start⟩ V… …

Sound before the first written time belongs to the first group, and all that is left after the last one to the last. A
group in whose time nothing is heard (the sound has ended) has no audio part at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Generic, TypeVar

from .audio_lengths import tokens_before

Token = TypeVar("Token")


@dataclass(frozen=True, slots=True)
class MediaTokens(Generic[Token]):
    """The tokens that media are written with, as ids or as text.

    Attributes:
        video: Placeholder of a video token.
        vision_start: Before the tokens of a frame group.
        vision_end: After them.
        audio: Placeholder of an audio token.
        audio_start: Before the audio tokens between two frame groups.
        audio_end: After them.
    """

    video: Token
    vision_start: Token
    vision_end: Token
    audio: Token
    audio_start: Token
    audio_end: Token


def audio_tokens_of_groups(group_seconds: Sequence[float], audio_tokens: int) -> tuple[int, ...]:
    """How many tokens of the sound stand after each frame group.

    Times are compared in whole milliseconds, so that they may have gone through single precision.

    Args:
        group_seconds: The time written before each group, in seconds from where video and sound begin, not falling.
        audio_tokens: Tokens of the whole sound, at least 0.

    Returns:
        One number a group; they add up to `audio_tokens`.

    Raises:
        ValueError: There is no group, or the times fall, or `audio_tokens` is negative.

    Example:
        >>> audio_tokens_of_groups([0.5, 2.5, 4.5], 60)
        (33, 26, 1)
    """
    if not group_seconds:
        raise ValueError("a video without frames cannot be interleaved with its sound")
    if audio_tokens < 0:
        raise ValueError(f"a sound cannot have {audio_tokens} tokens")
    for earlier, later in pairwise(group_seconds):
        if later < earlier:
            raise ValueError(f"the times of a video's frames must not fall, but {later:g} s comes after {earlier:g} s")
    ends = [min(audio_tokens, tokens_before(round(1000 * seconds))) for seconds in group_seconds[1:]]
    return tuple(end - start for start, end in pairwise([0, *ends, audio_tokens]))


def interleave(
    times: Sequence[Sequence[Token]],
    video_tokens: int,
    audio_tokens: Sequence[int],
    tokens: MediaTokens[Token],
) -> list[Token]:
    """The sequence that takes the place of a video's one placeholder.

    Args:
        times: The written time of each frame group, as tokens.
        video_tokens: Tokens of one frame group.
        audio_tokens: Audio tokens after each group, as `audio_tokens_of_groups` gives them.
        tokens: What media are written with.

    Raises:
        ValueError: `times` and `audio_tokens` differ in length.
    """
    if len(times) != len(audio_tokens):
        raise ValueError(f"{len(times)} frame groups, but audio parts for {len(audio_tokens)}")
    sequence: list[Token] = []
    for time, heard in zip(times, audio_tokens, strict=True):
        sequence += [*time, tokens.vision_start, *[tokens.video] * video_tokens, tokens.vision_end]
        if heard:
            sequence += [tokens.audio_start, *[tokens.audio] * heard, tokens.audio_end]
    return sequence


def written_time(seconds: float) -> str:
    """How the time of a frame group is written before it, as Qwen3-VL does.

    Args:
        seconds: From the beginning of the video.
    """
    return f"<{seconds:.1f} seconds>"
