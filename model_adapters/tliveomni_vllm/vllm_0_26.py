"""The hooks of multimodal processing as vLLM 0.26 names them; from 0.32 on they have other parameters.

0.26 is the newest vLLM for torch 2.11. What is done is the same: each hook hands on to the processor's own stages.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from vllm.multimodal.processing import BaseMultiModalProcessor


def has_hooks_of_0_26() -> bool:
    """Whether the installed vLLM passes prompt and updates to the mapping stage one by one."""
    return "mm_res" not in inspect.signature(BaseMultiModalProcessor._maybe_apply_prompt_updates).parameters


class ProcessorHooks026:
    """Put before the processor's own hooks where `has_hooks_of_0_26`."""

    def _apply_hf_processor_main(
        self: Any,
        prompt: str | list[int],
        mm_items: Any,
        hf_processor_mm_kwargs: Mapping[str, object],
        tokenization_kwargs: Mapping[str, object],
        *,
        enable_hf_prompt_update: bool,
    ) -> tuple[list[int], Any, bool]:
        # Never by the transformers processor: it would interleave by the prompt as text, which the cache does not have.
        return self._token_ids_of(prompt), self.tlive_process(mm_items, hf_processor_mm_kwargs), False

    def _process_vision(self: Any, items: Any, kwargs: Mapping[str, object]) -> Mapping[str, Any]:
        if not items:
            return {}
        processed: Mapping[str, Any] = self._apply_hf_processor_mm_only(items, kwargs, {})
        return processed

    def _maybe_apply_prompt_updates(
        self: Any,
        mm_items: Any,
        prompt_ids: list[int],
        mm_kwargs: Any,
        mm_prompt_updates: Mapping[str, Any],
        is_update_applied: bool,
    ) -> tuple[list[int], Mapping[str, list[Any]]]:
        mapped: tuple[list[int], Mapping[str, list[Any]]] = self.map_media(
            mm_items.get_all_counts(), prompt_ids, mm_kwargs, mm_prompt_updates
        )
        return mapped

    def _content_hashes(self: Any, inputs: Any) -> Mapping[str, list[str]]:
        hashes: Mapping[str, list[str]] = inputs.get_mm_hashes(self.info.model_id)
        return hashes
