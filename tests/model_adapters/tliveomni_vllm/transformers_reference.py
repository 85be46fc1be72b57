"""What transformers says of tokens that vLLM generated: the reference of parity."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from vllm_requests import Case


class Reference:
    def __init__(self, folder: Path) -> None:
        from tliveomni_eval.model_adapters.tliveomni.registration import register
        from transformers import AutoModelForImageTextToText, AutoProcessor

        register()
        self.processor = AutoProcessor.from_pretrained(folder)
        self.model = AutoModelForImageTextToText.from_pretrained(folder, dtype=torch.float32).eval()

    def prompt_ids(self, case: Case) -> list[int]:
        ids: list[int] = self.processor(**case.for_transformers(), return_tensors="pt")["input_ids"][0].tolist()
        return ids

    def logprobs(self, case: Case, answer: Sequence[int]) -> torch.Tensor:
        """Of every token of the vocabulary at each place of an answer, (answer, vocabulary)."""
        inputs = self.processor(**case.for_transformers(), return_tensors="pt")
        prompt = inputs["input_ids"].shape[1]
        answered = torch.tensor([list(answer)])
        inputs["input_ids"] = torch.cat([inputs["input_ids"], answered], dim=1)
        inputs["mm_token_type_ids"] = torch.cat([inputs["mm_token_type_ids"], torch.zeros_like(answered)], dim=1)
        inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
        with torch.inference_mode():
            logits = self.model(**inputs).logits[0, prompt - 1 : -1]
        return logits.log_softmax(-1)
