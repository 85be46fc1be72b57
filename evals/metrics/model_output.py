"""The raw text of a model, made ready for a parser: cut at a limit, reasoning removed, widths unified.

Only the wrapping is touched here. What the text means is up to the parser of each ability.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Literal

from tliveomni_eval.evals.record import Status

MAX_SCORED_CHARS = 20_000
"""Characters of an output that are scored. A list of 100 labelled boxes needs about 8,000."""

_PIECE = 512
_CODE_FENCE = re.compile(r"```[a-zA-Z0-9_+-]*")
_UNICODE_DASHES = str.maketrans({dash: "-" for dash in "‐‑‒–—―−﹣"})


@dataclass(frozen=True, slots=True)
class ModelOutput:
    """An output ready to be parsed.

    Attributes:
        text: NFKC-normalised text without reasoning block and code fences; at most `MAX_SCORED_CHARS` were read.
        unusable: `error` when the request failed (no output), `empty` when there is no text, else None.
        was_cut: True when the output was longer than the limit.
    """

    text: str
    unusable: Status | None
    was_cut: bool

    def status(self, parsed: bool) -> Status:
        """The sample's status, given whether the parser understood the text."""
        if self.unusable is not None:
            return self.unusable
        if self.was_cut:
            return "truncated"
        return "ok" if parsed else "unparsed"


def read_output(output: str | None, *, keep: Literal["start", "end"] = "start") -> ModelOutput:
    """Prepares an output for parsing.

    Args:
        output: The text as generated, or None when the request failed.
        keep: Which end survives the cut at `MAX_SCORED_CHARS`. Lists are read from the start; an answer that follows
            a long reasoning stands at the end.

    Returns:
        The text with full-width forms, dashes and line ends unified. Only what follows the last `</think>` is an
        answer; a reasoning block that never closes leaves no answer.
    """
    if output is None:
        return ModelOutput("", "error", False)
    was_cut = len(output) > MAX_SCORED_CHARS
    if was_cut:
        output = output[:MAX_SCORED_CHARS] if keep == "start" else output[-MAX_SCORED_CHARS:]
    text = output
    if not output.isascii():
        text = _unified(output)[:MAX_SCORED_CHARS]
    if not text or text.isspace():
        return ModelOutput("", "empty", was_cut)
    if "</think>" in text:
        text = text.rsplit("</think>", 1)[1]
    elif "<think>" in text and text.lstrip().startswith("<think>"):
        text = ""
    if "```" in text:
        text = _CODE_FENCE.sub("\n", text)
    if "\r" in text:
        text = text.replace("\r", "\n")
    return ModelOutput(text.strip(), None, was_cut)


def _unified(text: str) -> str:
    """NFKC in pieces, because its time grows with the square of a run of combining marks."""
    if len(text) <= _PIECE:
        return unicodedata.normalize("NFKC", text).translate(_UNICODE_DASHES)
    pieces = (text[start : start + _PIECE] for start in range(0, len(text), _PIECE))
    return "".join(unicodedata.normalize("NFKC", piece) for piece in pieces).translate(_UNICODE_DASHES)
