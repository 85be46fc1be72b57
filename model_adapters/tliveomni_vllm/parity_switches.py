"""The four alignments of vLLM with transformers, and the switches that turn them off.

Each alignment is on by default. A switch turns one off so that its share of a difference can be measured:

    switch               what vLLM then does
    no_interleave        places the embeddings of a video with its sound one after the other (all frames, then all
                         audio) over the placeholders, in place of each at the placeholders of its own kind
    no_unpadded_audio    pads an audio with zeros to a multiple of the hop before its features are computed
    no_deepstack_order   adds a DeepStack level to the output of a layer's MLP before the residual, (mlp + level) +
                         residual, in place of (residual + mlp) + level
    no_norm_order        normalises with vLLM's own kernels, Q and K norms too; the fused one adds the residual and
                         normalises the sum before rounding it, where transformers rounds first

In `--model_args` of `tliveomni_vllm` they are joined by `+` (a comma would begin the next argument):

    --model_args model=DIR,parity=no_interleave+no_unpadded_audio

From Python, the switches are arguments of the engine, so they reach its worker process as well as this one:

    from vllm import LLM
    from tliveomni_eval.model_adapters.tliveomni_vllm.parity_switches import engine_arguments, parse_parity

    llm = LLM(model=folder, **engine_arguments(parse_parity("no_interleave")))

`engine_arguments` gives `{"hf_overrides": {"tlive_parity": ["no_interleave"]}}`: vLLM writes it into the model's
configuration, which both the multimodal processor and the model read. All of the engine must be started anew for other
switches; nothing is global, so two engines of one process may differ.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

from tliveomni_eval.evals.errors import UserError, unknown_name_message

CONFIG_KEY = "tlive_parity"
"""Attribute of the model's configuration that holds the switches."""

_OFF = "no_"


@dataclass(frozen=True, slots=True)
class Alignments:
    """Which alignments are on.

    Attributes:
        interleave: Embeddings of video and audio go to the placeholders of their own kind.
        unpadded_audio: Audio enters feature extraction as long as it is.
        deepstack_order: DeepStack levels are added after the residual.
        norm_order: RMSNorm adds, rounds and scales in transformers' order.
    """

    interleave: bool = True
    unpadded_audio: bool = True
    deepstack_order: bool = True
    norm_order: bool = True

    @property
    def switches(self) -> tuple[str, ...]:
        """The switches that turn off what is off, in the order of the attributes."""
        return tuple(_OFF + item.name for item in fields(self) if not getattr(self, item.name))


SWITCHES = tuple(_OFF + item.name for item in fields(Alignments))
"""Every switch."""


def parse_parity(switches: str | Iterable[str]) -> Alignments:
    """Read switches.

    Args:
        switches: Names, or one text of names with `+`, `,`, `;` or blanks between them; empty leaves everything on.

    Raises:
        UserError: A name is no switch.

    >>> parse_parity("no_interleave+no_norm_order").switches
    ('no_interleave', 'no_norm_order')
    """
    names = [name for name in re.split(r"[+,;\s]+", switches) if name] if isinstance(switches, str) else list(switches)
    for name in names:
        if name not in SWITCHES:
            raise UserError("parity: " + unknown_name_message("switch", str(name), SWITCHES))
    return Alignments(**{name.removeprefix(_OFF): False for name in names})


def engine_arguments(alignments: Alignments) -> dict[str, Any]:
    """Arguments of `vllm.LLM` (and `EngineArgs`) that start a TLiveOmni engine with these alignments.

    Args:
        alignments: What is on.
    """
    return {"hf_overrides": {CONFIG_KEY: list(alignments.switches)}}


def alignments_of(config: Any) -> Alignments:
    """The alignments a model's configuration asks for.

    Args:
        config: Configuration of the model, as vLLM holds it in this process.

    Raises:
        UserError: It names a switch that does not exist.
    """
    return parse_parity(getattr(config, CONFIG_KEY, ()))
