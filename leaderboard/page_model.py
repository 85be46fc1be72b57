"""What all parts of the page's data share."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

VerdictName = Literal["PASS", "BREACH", "INCONCLUSIVE", "MISSING"]
MediaKind = Literal["image", "audio", "video"]


class PageModel(BaseModel):
    """Base of all parts: immutable, and a field that is not declared is a mistake of ours."""

    model_config = ConfigDict(extra="forbid", frozen=True)
