"""Which part of an omni-modal model a module belongs to, told from its name.

A recipe says which parts it quantizes; the rest stays at 16 bit. Names follow transformers:
`model.language_model.layers.0…` and `model.visual.blocks.0…` in Qwen3-VL and TLiveOmni, `thinker.model.layers.0…`,
`thinker.visual…` and `thinker.audio_tower…` in Qwen3-Omni.
"""

from __future__ import annotations

import re
from typing import Literal, get_args

Part = Literal["language_model", "vision", "vision_merger", "audio", "audio_aligner", "lm_head"]
"""`language_model`: the linears of the decoder layers. `vision`: the blocks of the vision tower. `vision_merger`: the
projections from the vision tower to the decoder, DeepStack's included. `audio` and `audio_aligner`: the same of the
audio side. `lm_head`: the output projection to the vocabulary."""

PARTS: tuple[Part, ...] = get_args(Part)

_PATTERNS: tuple[tuple[Part, re.Pattern[str]], ...] = (
    ("lm_head", re.compile(r"(^|\.)lm_head$")),
    ("vision_merger", re.compile(r"(^|\.)visual\.(merger|merger_list|deepstack_merger_list)(\.|$)")),
    ("vision", re.compile(r"(^|\.)visual\.")),
    (
        "audio_aligner",
        re.compile(r"(^|\.)audio_\w*(deepstack|aligner)|(^|\.)audio_tower\.(proj\d|conv_out|deepstack|aligner)"),
    ),
    ("audio", re.compile(r"(^|\.)audio_(tower|encoder)\.")),
    ("language_model", re.compile(r"(^|\.)(language_model|thinker\.model|model)\.layers\.\d+\.")),
)


def part_of(module_name: str) -> Part | None:
    """The part that a linear module belongs to, or None where it is in none that can be quantized.

    Args:
        module_name: Dotted name of the module in the transformers model.

    >>> part_of("model.language_model.layers.3.mlp.down_proj")
    'language_model'
    >>> part_of("model.visual.deepstack_merger_list.1.linear_fc2")
    'vision_merger'
    """
    for part, pattern in _PATTERNS:
        if pattern.search(module_name):
            return part
    return None
