"""What lmms-eval logs of a sample beside its text: tokens, and what the checkpoint was given of its media."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lmms_eval.api.instance import TokenCounts


class SampleCounts(TokenCounts):  # type: ignore[misc]
    """Token counts of a sample; logged with a list `media`, which is lmms-eval's only way to log more from a model.

    Args:
        input_tokens: Of the prompt.
        output_tokens: Of the answer.
        media: What was given of each medium: size in pixels, frames, frames a second, seconds.
    """

    def __init__(self, input_tokens: int, output_tokens: int, media: Sequence[Mapping[str, Any]] = ()) -> None:
        super().__init__(input_tokens=input_tokens, output_tokens=output_tokens)
        self.media = tuple(media)

    def to_dict(self) -> dict[str, Any]:
        """As lmms-eval writes it to the log of samples."""
        counts: dict[str, Any] = super().to_dict()
        return counts | {"media": [dict(medium) for medium in self.media]} if self.media else counts
