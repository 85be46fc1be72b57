"""The process behind one side of `tlive parity --layers`.

Started as `python -m tliveomni_eval.model_adapters.parity.layer_process SPECIFICATION DESCRIPTOR`.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tliveomni_eval.evals.errors import UserError
from tliveomni_eval.model_adapters.parity.layer_specification import (
    CAPTURE_NAME,
    DIFFERENCES_NAME,
    ORDER_NAME,
    LayerSample,
    LayerSpecification,
)
from tliveomni_eval.model_adapters.run.child_process import INTERRUPTED_STATUS
from tliveomni_eval.model_adapters.run.run_events import Answered, EventWriter, Failed, Loaded
from tliveomni_eval.model_adapters.vllm_backend.chat_model import ChatModel
from tliveomni_eval.model_adapters.vllm_backend.chat_prompt import ChatPrompt


def main(arguments: list[str]) -> int:
    """Run one side.

    Args:
        arguments: Path of the specification, and the write end of an event pipe.

    Returns:
        Exit status: 0 where everything is written.
    """
    specification = LayerSpecification.model_validate_json(Path(arguments[0]).read_bytes())
    events = EventWriter(int(arguments[1]) if len(arguments) > 1 else None)
    try:
        if specification.side == "reference":
            _catch_reference(specification, events)
        else:
            _compare_candidate(specification, events)
    except KeyboardInterrupt:
        return INTERRUPTED_STATUS
    except Exception as error:
        if not isinstance(error, UserError):
            import traceback

            traceback.print_exc()
        events.send(Failed(message=str(error) if isinstance(error, UserError) else f"{type(error).__name__}: {error}"))
        return 1
    return 0


def _catch_reference(specification: LayerSpecification, events: EventWriter) -> None:
    from safetensors.torch import save_file
    from tliveomni_eval.model_adapters.parity.layer_capture import LayerCapture
    from tliveomni_eval.model_adapters.transformers_backend.adapter import TLiveOmniHF

    began = time.monotonic()
    backend = TLiveOmniHF(progress=lambda *_: None, **specification.model_args)
    events.send(Loaded(kernels=[], seconds=time.monotonic() - began))
    for index, (sample, prompt) in enumerate(_prompts(backend, specification)):
        with LayerCapture(backend.reference.model) as capture:
            backend.reference.log_probabilities(backend.reference.inputs(prompt), sample.answer)
        outputs = {name: tensor.contiguous() for name, tensor in capture.outputs.items()}
        save_file(outputs, specification.folder / CAPTURE_NAME.format(index=index))
        order = json.dumps(list(outputs))
        (specification.folder / ORDER_NAME.format(index=index)).write_text(order, encoding="utf-8")
        events.send(Answered(done=index + 1, total=len(specification.samples)))


def _compare_candidate(specification: LayerSpecification, events: EventWriter) -> None:
    from tliveomni_eval.model_adapters.parity.layer_capture import LayerCapture, module_differences
    from tliveomni_eval.model_adapters.vllm_backend.adapter import TLiveOmniVLLM

    # Hooks need the model in this process, and a model that is not compiled.
    os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
    began = time.monotonic()
    arguments = specification.model_args | {"enforce_eager": True}
    backend = TLiveOmniVLLM(progress=lambda *_: None, **arguments)
    events.send(Loaded(kernels=list(backend.kernels), seconds=time.monotonic() - began))
    (model,) = backend.llm.apply_model(lambda model: model)
    assert specification.reference_folder is not None
    lines = []
    for index, (sample, prompt) in enumerate(_prompts(backend, specification)):
        with LayerCapture(model) as capture:
            _prefill(backend, prompt, sample)
        reference = _caught(specification.reference_folder, index)
        found = list(module_differences(reference, capture.outputs, sample.name))
        if not found:
            raise UserError(
                f"{sample.name}: no module of vLLM's {backend.checkpoint.architecture} has the name that transformers "
                "gives it, so no layers can be compared; leave --layers out"
            )
        lines += [difference.model_dump_json() + "\n" for difference in found]
        events.send(Answered(done=index + 1, total=len(specification.samples)))
    (specification.folder / DIFFERENCES_NAME).write_text("".join(lines), encoding="utf-8")


def _prefill(backend: Any, prompt: ChatPrompt, sample: LayerSample) -> None:
    from tliveomni_eval.model_adapters.parity.candidate_side import rendered
    from tliveomni_eval.model_adapters.vllm_backend.adapter import engine_prompt
    from vllm import SamplingParams

    engine = backend.llm.llm_engine
    entered = rendered(engine, engine_prompt(prompt))
    entered["prompt_token_ids"] = [*entered["prompt_token_ids"], *sample.answer]
    entered.pop("prompt", None)
    # Prompt log-probabilities keep vLLM from taking a part of the prompt from its prefix cache, unseen by hooks.
    engine.add_request(sample.name, entered, SamplingParams(temperature=0, max_tokens=1, prompt_logprobs=1))
    while engine.has_unfinished_requests():
        engine.step()


def _caught(folder: Path, index: int) -> dict[str, Any]:
    from safetensors.torch import load_file

    order: list[str] = json.loads((folder / ORDER_NAME.format(index=index)).read_text(encoding="utf-8"))
    tensors: Mapping[str, Any] = load_file(folder / CAPTURE_NAME.format(index=index))
    return {name: tensors[name] for name in order}


def _prompts(backend: ChatModel, specification: LayerSpecification) -> Iterator[tuple[LayerSample, ChatPrompt]]:
    """The samples with their prompts, as lmms-eval would have them asked."""
    from lmms_eval.tasks import TaskManager, get_task_dict
    from tliveomni_eval.model_adapters.registration import add_tasks_to_task_managers

    add_tasks_to_task_managers()
    manager = TaskManager(include_defaults=not specification.only_our_tasks)
    names = list(dict.fromkeys(sample.task for sample in specification.samples))
    tasks = get_task_dict(names, manager, "chat")
    for name in names:
        wanted = [sample.document for sample in specification.samples if sample.task == name]
        tasks[name].build_all_requests(limit=max(wanted) + 1, rank=0, world_size=1)
        backend.task_dict[name] = tasks[name].dataset
    for sample in specification.samples:
        request = next(one for one in tasks[sample.task].instances if one.args[3] == sample.document)
        yield sample, backend.prompt(request)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
