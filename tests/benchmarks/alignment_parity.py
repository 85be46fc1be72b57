"""How far vLLM is from transformers with every alignment on and with each switched off, in float32 and bfloat16.

    .venv/bin/python tests/benchmarks/alignment_parity.py

Takes about three minutes on two cores: ten engines of a tiny random checkpoint, one after the other. Each number is of
|Δ logprob| of the tokens vLLM answered, with transformers in the same type, teacher-forced.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

os.environ |= {"VLLM_LOGGING_LEVEL": "ERROR", "VLLM_CPU_OMP_THREADS_BIND": "nobind"}
sys.path.insert(0, str(Path(__file__).parents[1] / "model_adapters" / "tliveomni_vllm"))

ANSWER_TOKENS = 32


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--dtypes", default="float32,bfloat16")
    given = parser.parse_args()
    from tliveomni_eval.model_adapters.tliveomni.random_checkpoint import write_random_checkpoint
    from tliveomni_eval.model_adapters.tliveomni_vllm.parity_switches import SWITCHES

    with tempfile.TemporaryDirectory() as folder:
        write_random_checkpoint(Path(folder))
        rows = [
            {"dtype": dtype, "parity": switch or "all on", **differences(Path(folder), dtype, switch)}
            for dtype in given.dtypes.split(",")
            for switch in ("", *SWITCHES)
        ]
    if given.json:
        print(json.dumps(rows, indent=2))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(*rows[0])
    for row in rows:
        table.add_row(*(f"{value:.2g}" if isinstance(value, float) else str(value) for value in row.values()))
    Console().print(table)


def differences(folder: Path, dtype: str, switch: str) -> dict[str, Any]:
    """Mean and largest difference over all kinds of requests, and the mean of those that a switch is about."""
    import torch
    from tliveomni_eval.model_adapters.tliveomni_vllm.parity_switches import engine_arguments, parse_parity
    from tliveomni_eval.model_adapters.vllm_backend.engine_settings import prepare_environment
    from transformers_reference import Reference
    from vllm_requests import AUDIO, CASES, INTERLEAVED, Case, sound

    prepare_environment("cpu")
    from vllm import LLM, SamplingParams

    torch.set_num_threads(1)
    reference = Reference(folder)
    reference.model.to(getattr(torch, dtype))
    padded = [Case(f"{AUDIO}{length}", audios=(sound(length, length),)) for length in (16_001, 48_123, 81_281)]
    cases = [*CASES.values(), *padded]
    llm = LLM(
        model=str(folder),
        dtype=dtype,
        enforce_eager=True,
        max_model_len=1024,
        limit_mm_per_prompt={"image": 2, "video": 2, "audio": 4},
        skip_mm_profiling=True,
        generation_config="vllm",
        **engine_arguments(parse_parity(switch)),
    )
    sampling = SamplingParams(temperature=0, max_tokens=ANSWER_TOKENS, logprobs=0, ignore_eos=True)
    outputs = llm.generate([case.for_vllm() for case in cases], sampling, use_tqdm=False)
    llm.llm_engine.engine_core.shutdown()
    per_case = []
    for case, output in zip(cases, outputs, strict=True):
        (answer,) = output.outputs
        expected = reference.logprobs(case, answer.token_ids).float()
        pairs = zip(answer.token_ids, answer.logprobs, expected, strict=True)
        per_case.append([abs(logprobs[token].logprob - float(row[token])) for token, logprobs, row in pairs])
    every = [value for values in per_case for value in values]
    audio = [value for values in per_case[len(CASES) :] for value in values]
    interleaved = per_case[cases.index(INTERLEAVED)]
    means = {"mean": every, "V, A, V, A": interleaved, "audio, no whole hop": audio}
    return {name: sum(values) / len(values) for name, values in means.items()} | {"max": max(every)}


if __name__ == "__main__":
    main()
