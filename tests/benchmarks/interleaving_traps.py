"""What vLLM does with a video and its sound where the plugin's precautions are taken away: three silent failures.

    .venv/bin/python tests/benchmarks/interleaving_traps.py

Takes about a minute on two cores. |Δ logprob| is the largest against transformers, teacher-forced, in float32.
"""

from __future__ import annotations

import itertools
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

os.environ |= {"VLLM_LOGGING_LEVEL": "ERROR", "VLLM_CPU_OMP_THREADS_BIND": "nobind"}
sys.path.insert(0, str(Path(__file__).parents[1] / "model_adapters" / "tliveomni_vllm"))

STEPS = 300
"""A request that is not done after so many steps of the engine is never done: 40 are needed."""
STEP_TOKENS = 48
_NUMBERS = itertools.count()


def main() -> None:
    import torch
    from tliveomni_eval.model_adapters.tliveomni.random_checkpoint import write_random_checkpoint
    from tliveomni_eval.model_adapters.vllm_backend.engine_settings import prepare_environment

    prepare_environment("cpu")
    torch.set_num_threads(1)
    from tliveomni_eval.model_adapters.tliveomni_vllm.multimodal_processor import TLiveOmniMultiModalProcessor
    from tliveomni_eval.model_adapters.tliveomni_vllm.processing_info import TLiveOmniProcessingInfo
    from transformers_reference import Reference
    from vllm_requests import INTERLEAVED, sound, video

    with tempfile.TemporaryDirectory() as name:
        folder = write_random_checkpoint(Path(name))
        reference = Reference(folder)
        another = replace(INTERLEAVED, audios=(sound(96_000, 99),))
        ends_early = replace(INTERLEAVED, videos=(video(12),), audios=(sound(32_000),))
        cuts = {"_with_sounds": _with_ranges_cut(TLiveOmniMultiModalProcessor._with_sounds)}
        for step in (STEP_TOKENS, 100):
            for title, changed in (("as it is", {}), ("ranges of sound cut to its own tokens", cuts)):
                with _changed(TLiveOmniMultiModalProcessor, changed), _engine(folder, step) as llm:
                    print(f"steps of {step} tokens, {title}: {_outcome(llm, ends_early, reference)}")
        own = {"_with_joint_identity": lambda _self, inputs, _pairing: inputs}
        for title, changed in (("as it is", {}), ("each identified by itself", own)):
            with _changed(TLiveOmniMultiModalProcessor, changed), _engine(folder, STEP_TOKENS) as llm:
                _outcome(llm, INTERLEAVED, reference)
                print(f"the same video, another sound, {title}: {_outcome(llm, another, reference)}")
        room = {
            "get_mm_max_tokens_per_item": lambda _self, seq_len, mm_counts: dict.fromkeys(mm_counts, 80),
            "joint_token_limit": lambda _self: 10**9,
        }
        for title, changed in (("as it is", {}), ("room for 80 tokens of media, the pair has 90", room)):
            with _changed(TLiveOmniProcessingInfo, changed), _engine(folder, STEP_TOKENS) as llm:
                print(f"{title}: {_outcome(llm, INTERLEAVED, reference)}")


@contextmanager
def _changed(owner: type, attributes: dict[str, Any]) -> Iterator[None]:
    kept = {name: owner.__dict__[name] for name in attributes}
    for name, value in attributes.items():
        setattr(owner, name, value)
    yield
    for name, value in kept.items():
        setattr(owner, name, value)


@contextmanager
def _engine(folder: Path, step_tokens: int) -> Iterator[Any]:
    from vllm import LLM

    llm = LLM(
        model=str(folder),
        dtype="float32",
        enforce_eager=True,
        max_model_len=1024,
        max_num_batched_tokens=step_tokens,
        max_num_seqs=16,
        block_size=32,
        enable_prefix_caching=True,
        limit_mm_per_prompt={"image": 1, "video": 1, "audio": 1},
        skip_mm_profiling=True,
        generation_config="vllm",
    )
    yield llm
    llm.llm_engine.engine_core.shutdown()


def _outcome(llm: Any, case: Any, reference: Any) -> str:
    from vllm import SamplingParams

    sampling = SamplingParams(temperature=0, max_tokens=8, logprobs=0, ignore_eos=True)
    engine = llm.llm_engine
    engine.add_request(str(next(_NUMBERS)), llm._preprocess_cmpl([case.for_vllm()])[0], sampling)
    for _ in range(STEPS):
        finished = [output for output in engine.step() if output.finished]
        if finished:
            (answer,) = finished[0].outputs
            expected = reference.logprobs(case, answer.token_ids)
            pairs = zip(answer.token_ids, answer.logprobs, expected, strict=True)
            worst = max(abs(given[token].logprob - float(row[token])) for token, given, row in pairs)
            return f"|Δ logprob| {worst:.1e}, {finished[0].num_cached_tokens} tokens from the prefix cache"
    return f"not finished after {STEPS} steps"


def _with_ranges_cut(whole: Any) -> Any:
    def cut(self: Any, placeholders: Any, pairing: Any) -> Any:
        placed = whole(self, placeholders, pairing)
        audios = []
        for place in placed["audio"]:
            own = place.is_embed.nonzero().flatten()
            first, end = int(own[0]), int(own[-1]) + 1
            shorter = {"tokens": place.tokens[first:end], "is_embed": place.is_embed[first:end]}
            audios.append(replace(place, start_idx=place.start_idx + first, **shorter))
        return {**placed, "audio": audios}

    return cut


if __name__ == "__main__":
    main()
