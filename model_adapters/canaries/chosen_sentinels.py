"""The sentinels of a run, with what is needed to ask them again."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from tliveomni_eval.model_adapters.canaries.sentinels import AnsweredRequest, Sentinel, choose_sentinels
from tliveomni_eval.model_adapters.vllm_backend.decoding import decoding_from_generation_kwargs

if TYPE_CHECKING:
    from lmms_eval.api.instance import Instance
    from tliveomni_eval.model_adapters.vllm_backend.chat_model import ChatModel
    from tliveomni_eval.model_adapters.vllm_backend.engine_loop import Response


def chosen_sentinels(model: ChatModel) -> tuple[list[Sentinel], dict[str, list[int]]]:
    """Samples to ask again, of those that a model answered.

    Args:
        model: What answered the run.

    Returns:
        The samples; and for each kind of media, the positions of those that were chosen for it.
    """
    answered = sorted(model.answered, key=lambda one: (str(one[0].args[4]), one[0].args[3]))
    alike = Counter(response.text for _, response, _ in answered)
    requests = [
        AnsweredRequest(place, kinds, response.output_tokens, response.finish_reason == "stop", alike[response.text])
        for place, (_, response, kinds) in enumerate(answered)
    ]
    chosen = choose_sentinels(requests)
    places = sorted({place for found in chosen.values() for place in found})
    sentinels = [_sentinel(model, *answered[place][:2], tells=requests[place].tells(len(requests))) for place in places]
    return sentinels, {kind: [places.index(place) for place in found] for kind, found in chosen.items()}


def _sentinel(model: ChatModel, request: Instance, response: Response, *, tells: bool) -> Sentinel:
    _, _, generation_kwargs, document, task, _ = request.args
    return Sentinel(
        task=task,
        document=document,
        messages=model.messages(request),
        decoding=decoding_from_generation_kwargs(generation_kwargs).as_sampling_arguments(),
        answer=response.text,
        input_tokens=response.input_tokens,
        output_tokens=response.output_tokens,
        prompt_hash=model.prompt_hash(task, document),
        tells=tells,
    )
