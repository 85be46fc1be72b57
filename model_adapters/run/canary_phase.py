"""The canaries of one run, after its answers and before its engine ends."""

from __future__ import annotations

import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from loguru import logger
from tliveomni_eval.evals.canaries.canary_result import CANARY_NAMES, CanaryResult
from tliveomni_eval.model_adapters.canaries.canary_file import canary_key, keep_results, known_results
from tliveomni_eval.model_adapters.canaries.canary_run import run_canaries
from tliveomni_eval.model_adapters.canaries.chosen_sentinels import chosen_sentinels
from tliveomni_eval.model_adapters.canaries.sentinels import KINDS
from tliveomni_eval.model_adapters.canaries.vllm_canary_backend import VLLMCanaryBackend

if TYPE_CHECKING:
    from tliveomni_eval.model_adapters.vllm_backend.adapter import TLiveOmniVLLM


def canaries_of_run(model: TLiveOmniVLLM, folder: Path) -> list[CanaryResult]:
    """Run the canaries, or find what an earlier run into the folder found with the same checkpoint, engine and answers.

    Args:
        model: What answered the run.
        folder: The run folder.

    Returns:
        One result a canary. Where they could not be run, each has failed and says why: the answers of the run are
        whole, but nothing vouches for them.
    """
    began = time.monotonic()
    try:
        sentinels, by_kind = chosen_sentinels(model)
        key = canary_key([model.fingerprint.fingerprint, dict(model.identity)], sentinels)
        known = known_results(folder, key)
        if known is not None:
            return known
        taken = model.checkpoint.media_kinds
        absent = {
            kind: f"checkpoint {model.checkpoint.name} takes no {kind}"
            if kind not in taken
            else f"no sample of this run has {kind}"
            for kind in KINDS
        }
        results = run_canaries(VLLMCanaryBackend(model), sentinels, by_kind, absent)
        keep_results(folder, key, results)
    except Exception as error:
        traceback.print_exc()
        summary = f"could not be run: {type(error).__name__}: {error}; run.log says more, and running again tries again"
        return [CanaryResult(name=name, status="fail", summary=summary) for name in CANARY_NAMES]
    for result in results:
        logger.info(f"canary {result.name}: {result.status}: {result.summary}")
    logger.info(f"canaries took {time.monotonic() - began:.1f} s")
    return results
