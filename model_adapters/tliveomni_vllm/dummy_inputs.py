"""The largest inputs, by which vLLM measures the memory it needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vllm.model_executor.models.qwen3_vl import Qwen3VLDummyInputsBuilder

_AUDIO = "<|audio_start|><|audio_pad|><|audio_end|>"


class TLiveOmniDummyInputsBuilder(Qwen3VLDummyInputsBuilder):  # type: ignore[misc]
    """Qwen3-VL's, with audio."""

    def get_dummy_text(self, mm_counts: Mapping[str, int]) -> str:
        """A text with a placeholder for each medium.

        Args:
            mm_counts: Media of each kind.
        """
        text: str = super().get_dummy_text(mm_counts)
        return text + _AUDIO * mm_counts.get("audio", 0)

    def get_dummy_mm_data(self, seq_len: int, mm_counts: Mapping[str, int], *args: Any, **kwargs: Any) -> Any:
        """Media of the largest size.

        Args:
            seq_len: Tokens there is room for.
            mm_counts: Media of each kind.
            *args: What else vLLM's version passes, the user's options among them.
            **kwargs: The same, by name.
        """
        options = next((given for given in (*args, *kwargs.values()) if isinstance(given, Mapping)), {})
        audios = self._get_dummy_audios(
            length=self.info.longest_audio_samples(seq_len),
            num_audios=mm_counts.get("audio", 0),
            overrides=options.get("audio"),
        )
        return {**super().get_dummy_mm_data(seq_len, mm_counts, *args, **kwargs), "audio": audios}
