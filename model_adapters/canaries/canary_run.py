"""Runs the canaries of one run: a batch of swapped and repeated requests, a few alone, and the verdicts on them."""

from __future__ import annotations

import hashlib
import random
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from tliveomni_eval.evals.canaries.batch_invariance import judge_batch_invariance
from tliveomni_eval.evals.canaries.canary_result import CanaryResult
from tliveomni_eval.evals.canaries.generation_config import judge_generation_config
from tliveomni_eval.evals.canaries.modality_use import Swap, judge_modality_use
from tliveomni_eval.evals.canaries.prompt_fidelity import PromptCheck, judge_prompt_fidelity
from tliveomni_eval.model_adapters.canaries.canary_backend import CanaryAnswer, CanaryBackend
from tliveomni_eval.model_adapters.canaries.media_exchange import ExchangePlace, find_donor, media_of
from tliveomni_eval.model_adapters.canaries.sentinels import KINDS, Sentinel
from tliveomni_eval.model_adapters.vllm_backend.chat_prompt import ChatPrompt

ALONE = "alone, prefix cache cold"
AGAIN = "shuffled among others, prefix cache warm"
_SEED = 9
MOST_TOKENS = 64
"""Of an answer to a canary: a difference shows by then, and a model that answers at length would take minutes."""


@dataclass(frozen=True, slots=True)
class _Swapped:
    """A sentinel's prompt with other media, and whether it differs from its own."""

    place: int
    kind: str
    prompt: ChatPrompt
    changed: bool


def run_canaries(
    backend: CanaryBackend,
    sentinels: Sequence[Sentinel],
    by_kind: Mapping[str, Sequence[int]],
    absent: Mapping[str, str],
) -> list[CanaryResult]:
    """Ask sentinels again and decide.

    Args:
        backend: What answered the run.
        sentinels: Samples to ask again.
        by_kind: Kind of media to the sentinels (positions) that have it.
        absent: Kind of media to why there is nothing to look at, for kinds that are not in `by_kind`.

    Returns:
        One result a canary.
    """
    prompts = [backend.prompt(sentinel.messages) for sentinel in sentinels]
    swapped = _swapped_prompts(backend, sentinels, prompts, by_kind)
    # Greedy answers alone can be compared; a sampled one differs by chance.
    greedy = [place for place, one in enumerate(sentinels) if not one.decoding.get("temperature")]
    asked: list[tuple[ChatPrompt, Mapping[str, Any]]] = [
        (prompt, _short(sentinel.decoding)) for prompt, sentinel in zip(prompts, sentinels, strict=True)
    ]
    to_ask = [one for one in swapped if one.changed]
    asked += [(one.prompt, _short(sentinels[one.place].decoding)) for one in to_ask]
    answers = _asked_in_disorder(backend, asked)
    again, of_swapped = answers[: len(sentinels)], answers[len(sentinels) :]
    alone = _alone(backend, greedy, prompts, sentinels)
    swapped_answers = {(one.place, one.kind): answer for one, answer in zip(to_ask, of_swapped, strict=True)}
    results = [
        _modality(kind, [one for one in swapped if one.kind == kind], sentinels, swapped_answers)
        if kind in by_kind
        else CanaryResult(
            name=f"modality-{kind}", status="not_applicable", summary=absent.get(kind, "no sample has one")
        )
        for kind in KINDS
    ]
    arms = {ALONE: alone, AGAIN: {place: again[place] for place in greedy}}
    pairs = {
        arm: [answer.beside(sentinels[place].answer) for place, answer in answers_of_arm.items()]
        for arm, answers_of_arm in arms.items()
    }
    results.append(judge_batch_invariance(pairs))
    checks = [
        _check(backend, sentinel, prompt, answer)
        for sentinel, prompt, answer in zip(sentinels, prompts, again, strict=True)
    ]
    results.append(judge_prompt_fidelity(checks))
    results.append(judge_generation_config(backend.decoding_taken_over()))
    return results


def _swapped_prompts(
    backend: CanaryBackend,
    sentinels: Sequence[Sentinel],
    prompts: Sequence[ChatPrompt],
    by_kind: Mapping[str, Sequence[int]],
) -> list[_Swapped]:
    swapped = []
    for kind in KINDS:
        places = by_kind.get(kind, ())
        sources = [media_of(sentinels[place].messages, kind) for place in places]
        for index, place in enumerate(places):
            if not sources[index]:
                # An audio that stands in no message is the sound of a video.
                swapped.append(_ablated(place, kind, prompts[place]))
                continue
            donor = find_donor(sources, index)
            if donor is None:
                swapped.append(_ablated(place, kind, prompts[place]))
                continue
            with tempfile.TemporaryDirectory(prefix="tlive-canary-") as folder:
                exchange = ExchangePlace(Path(folder))
                own = backend.prompt(exchange.laid(sentinels[place].messages, kind, sources[index]))
                other = backend.prompt(exchange.laid(sentinels[place].messages, kind, sources[donor]))
            changed = other.key not in (own.key, prompts[place].key)
            if changed and other.media_bytes > prompts[place].media_bytes and not backend.fits(other):
                swapped.append(_ablated(place, kind, prompts[place]))
            else:
                swapped.append(_Swapped(place, kind, other, changed))
    return swapped


def _ablated(place: int, kind: str, prompt: ChatPrompt) -> _Swapped:
    """The prompt with media that show and sound nothing; `changed` says whether it had any."""
    blank = [_blank(item) for item in prompt.media.get(kind, ())]
    key = hashlib.sha256(f"{prompt.key} without {kind}".encode()).hexdigest()
    return _Swapped(place, kind, replace(prompt, media={**prompt.media, kind: blank}, key=key), bool(blank))


def _blank(item: Any) -> Any:
    if isinstance(item, Image.Image):
        return Image.new(item.mode, item.size, "gray")
    values, about = item
    return (np.full_like(values, 128 if values.dtype == np.uint8 else 0), about)


def _asked_in_disorder(
    backend: CanaryBackend, asked: Sequence[tuple[ChatPrompt, Mapping[str, Any]]]
) -> list[CanaryAnswer]:
    order = list(range(len(asked)))
    random.Random(_SEED).shuffle(order)
    answers = dict(zip(order, backend.ask([asked[place] for place in order], None), strict=True))
    return [answers[place] for place in range(len(asked))]


def _alone(
    backend: CanaryBackend, greedy: Sequence[int], prompts: Sequence[ChatPrompt], sentinels: Sequence[Sentinel]
) -> dict[int, CanaryAnswer]:
    """The shortest half of the answers, one request at a time: alone is what takes longest."""
    shortest = sorted(greedy, key=lambda place: (sentinels[place].output_tokens, place))
    places = shortest[: (len(greedy) + 1) // 2][:4]
    backend.forget_prefixes()
    answers = backend.ask([(prompts[place], _short(sentinels[place].decoding)) for place in places], 1)
    return dict(zip(places, answers, strict=True))


def _short(decoding: Mapping[str, Any]) -> dict[str, Any]:
    return {**decoding, "max_tokens": min(MOST_TOKENS, decoding.get("max_tokens", MOST_TOKENS))}


def _modality(
    kind: str,
    swapped: Sequence[_Swapped],
    sentinels: Sequence[Sentinel],
    answers: Mapping[tuple[int, str], CanaryAnswer],
) -> CanaryResult:
    swaps = []
    for one in swapped:
        sentinel, found = sentinels[one.place], answers.get((one.place, kind))
        answer, other = found.beside(sentinel.answer) if found is not None else (sentinel.answer, None)
        swaps.append(Swap(sentinel.name, answer, other, one.changed, sentinel.tells))
    return judge_modality_use(kind, swaps)


def _check(backend: CanaryBackend, sentinel: Sentinel, prompt: ChatPrompt, answer: CanaryAnswer) -> PromptCheck:
    asked = Counter(
        part["type"]
        for message in sentinel.messages
        for part in message["content"]
        if part["type"] in backend.media_kinds
    )
    return PromptCheck(
        sample=sentinel.name,
        run_hash=sentinel.prompt_hash,
        again_hash=hashlib.sha256(prompt.text.encode()).hexdigest(),
        run_tokens=sentinel.input_tokens,
        engine_tokens=answer.prompt_tokens,
        processor_tokens=backend.processor_tokens(prompt),
        media_asked=dict(asked),
        media_given={kind: len(items) for kind, items in prompt.media.items()},
    )
