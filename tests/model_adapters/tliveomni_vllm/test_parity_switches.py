"""Switches are read from model arguments, refused where they mean nothing, and carried by the engine's arguments."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from tliveomni_eval.evals.errors import UserError
from tliveomni_eval.model_adapters.tliveomni_vllm.parity_switches import (
    SWITCHES,
    Alignments,
    alignments_of,
    engine_arguments,
    parse_parity,
)
from tliveomni_eval.model_adapters.vllm_backend.engine_settings import EngineSettings
from tliveomni_eval.model_adapters.vllm_backend.model_arguments import ModelArguments, split_model_args
from tliveomni_eval.model_adapters.vllm_backend.parity_arguments import ARCHITECTURE, with_parity


def test_everything_is_on_unless_it_is_switched_off() -> None:
    assert parse_parity("") == Alignments()
    assert alignments_of(SimpleNamespace()) == Alignments()
    everything = parse_parity(", ".join(SWITCHES))
    assert everything.switches == SWITCHES
    assert not (
        everything.interleave or everything.unpadded_audio or everything.deepstack_order or everything.norm_order
    )


@pytest.mark.parametrize("switch", SWITCHES)
def test_what_a_configuration_holds_is_what_was_switched(switch: str) -> None:
    overrides: dict[str, Any] = engine_arguments(parse_parity(switch))["hf_overrides"]
    assert alignments_of(SimpleNamespace(**overrides)).switches == (switch,)


def test_as_typed_after_model_args() -> None:
    typed = split_model_args("model=x,parity=no_norm_order+no_interleave")
    assert ModelArguments.from_mapping(typed).parity == "no_interleave+no_norm_order"
    with pytest.raises(UserError, match=r"'no_norms'.*Did you mean 'no_norm_order'"):
        ModelArguments.from_mapping({"parity": "no_norms"})


def test_the_engine_is_told_beside_what_the_user_overrides() -> None:
    settings = EngineSettings({"model": "x", "hf_overrides": {"rope": 1}}, {})
    told = with_parity(settings, "no_interleave", ARCHITECTURE)
    assert told.engine_args["hf_overrides"] == {"rope": 1, "tlive_parity": ["no_interleave"]}
    # On is recorded too.
    assert with_parity(settings, "", ARCHITECTURE).engine_args["hf_overrides"]["tlive_parity"] == []


def test_a_checkpoint_without_these_alignments_takes_no_switch() -> None:
    settings = EngineSettings({"model": "x"}, {})
    assert with_parity(settings, "", "Qwen3VLForConditionalGeneration") == settings
    with pytest.raises(UserError, match="no effect on Qwen3VLForConditionalGeneration"):
        with_parity(settings, "no_interleave", "Qwen3VLForConditionalGeneration")
