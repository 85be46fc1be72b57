"""Real vLLM on the CPU against transformers, with a tiny random checkpoint in float32; one process, two engines."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tliveomni_eval.model_adapters.tliveomni_vllm.parity_switches import (
    SWITCHES,
    Alignments,
    alignments_of,
    engine_arguments,
    parse_parity,
)
from transformers_reference import Reference
from vllm_requests import AUDIO, CASES, IMAGE, INTERLEAVED, VIDEO, Case, image, sound, video

ANSWER_TOKENS = 8
CONTEXT = 1024
BLOCK_TOKENS = 32
STEP_TOKENS = 48
"""Tokens of an engine step: less than most prompts have, so these are prefilled in parts, and media are cut."""
TOLERANCE = 1e-4
"""Of a logprob in float32; 6e-6 was measured."""

PADDED = Case(f"{AUDIO}这是什么", audios=(sound(20_001, 7),))
"""Padding to the hop makes a frame more of this length."""


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """What a tiny model computes is too little to share between threads, which on a busy machine only wait."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("VLLM_CPU_OMP_THREADS_BIND", "nobind")
        yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tliveomni_eval.model_adapters.tliveomni.random_checkpoint import write_random_checkpoint

    return write_random_checkpoint(tmp_path_factory.mktemp("tliveomni") / "tiny")


@pytest.fixture(scope="module")
def reference(folder: Path) -> Reference:
    return Reference(folder)


def arguments_of(folder: Path, parity: str) -> dict[str, Any]:
    return {
        "model": str(folder),
        "dtype": "float32",
        "enforce_eager": True,
        "max_model_len": CONTEXT,
        "max_num_seqs": 16,
        "max_num_batched_tokens": STEP_TOKENS,
        "limit_mm_per_prompt": {"image": 2, "video": 2, "audio": 4},
        "skip_mm_profiling": True,
        "generation_config": "vllm",
        "enable_prefix_caching": True,
        "block_size": BLOCK_TOKENS,
        **engine_arguments(parse_parity(parity)),
    }


def started(folder: Path, parity: str) -> Any:
    from tliveomni_eval.model_adapters.vllm_backend.engine_settings import prepare_environment

    prepare_environment("cpu")
    from vllm import LLM

    return LLM(**arguments_of(folder, parity))


@pytest.fixture(scope="module")
def engine(folder: Path) -> Iterator[Any]:
    llm = started(folder, "")
    yield llm
    llm.llm_engine.engine_core.shutdown()


@pytest.fixture(scope="module")
def unaligned(folder: Path) -> Iterator[Any]:
    llm = started(folder, "+".join(SWITCHES))
    yield llm
    llm.llm_engine.engine_core.shutdown()


def answers(llm: Any, *cases: Case) -> list[Any]:
    from vllm import SamplingParams

    sampling = SamplingParams(temperature=0, max_tokens=ANSWER_TOKENS, logprobs=0, ignore_eos=True)
    outputs: list[Any] = llm.generate([case.for_vllm() for case in cases], sampling, use_tqdm=False)
    return outputs


def differences(output: Any, case: Case, reference: Reference) -> list[float]:
    """|Δ logprob| of each token of an answer."""
    (answer,) = output.outputs
    expected = reference.logprobs(case, answer.token_ids)
    pairs = zip(answer.token_ids, answer.logprobs, expected, strict=True)
    return [abs(given[token].logprob - float(row[token])) for token, given, row in pairs]


def mean(numbers: list[float]) -> float:
    return sum(numbers) / len(numbers)


@pytest.mark.parametrize("name", CASES)
def test_agrees_with_transformers(engine: Any, reference: Reference, name: str) -> None:
    (output,) = answers(engine, CASES[name])
    assert list(output.prompt_token_ids) == reference.prompt_ids(CASES[name])
    assert max(differences(output, CASES[name], reference)) < TOLERANCE
    rows = reference.logprobs(CASES[name], output.outputs[0].token_ids)
    assert rows.argmax(-1).tolist() == list(output.outputs[0].token_ids)


def test_one_at_a_time_sixteen_at_a_time_and_again(engine: Any) -> None:
    cases = [
        *CASES.values(),
        *(Case(f"{AUDIO}{IMAGE}{n}", (image(n),), (), (sound(900 * n, n),)) for n in range(1, 10)),
    ]
    assert len(cases) == 16
    together = answers(engine, *cases)
    alone = [answers(engine, case)[0] for case in cases]
    assert [output.outputs[0].text for output in together] == [output.outputs[0].text for output in alone]
    # Each was answered before, so all its whole blocks came from the prefix cache the second time.
    for output in alone:
        assert output.num_cached_tokens == (len(output.prompt_token_ids) - 1) // BLOCK_TOKENS * BLOCK_TOKENS


@pytest.mark.parametrize("samples", [96_000, 30_000, 120_000])
def test_the_same_video_with_another_sound(engine: Any, reference: Reference, samples: int) -> None:
    answers(engine, INTERLEAVED)
    other = Case(INTERLEAVED.text, (), INTERLEAVED.videos, (sound(samples, 99),), True)
    (output,) = answers(engine, other)
    assert list(output.prompt_token_ids) == reference.prompt_ids(other)
    assert max(differences(output, other, reference)) < TOLERANCE
    silent = Case(INTERLEAVED.text, (), INTERLEAVED.videos)
    assert max(differences(answers(engine, silent)[0], silent, reference)) < TOLERANCE


@pytest.mark.parametrize("samples", [1_600, 1_759, 1_760, 15_999, 16_000, 16_161, 40_123, 479_999])
def test_as_many_audio_tokens_as_the_processor_makes(engine: Any, reference: Reference, samples: int) -> None:
    from vllm.multimodal import MULTIMODAL_REGISTRY

    case = Case(f"{AUDIO}x", audios=(sound(samples),))
    processor = MULTIMODAL_REGISTRY.create_processor(engine.llm_engine.vllm_config.model_config)
    items = processor.info.parse_mm_data({"audio": list(case.audios)})
    processed = processor(case.for_vllm()["prompt"], items)
    assert list(processed["prompt_token_ids"]) == reference.prompt_ids(case)


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("case", "says"),
    [
        (Case("长" * CONTEXT), "maximum"),
        (Case(f"{AUDIO}x", audios=(sound(16_000 * 90),)), "maximum model length|encoder cache"),
        (Case(IMAGE * 3, images=(image(), image(1), image(2))), "At most 2 image"),
        (Case("x", audios=(sound(9_000),)), "unheard"),
        (Case(f"{AUDIO}{AUDIO}", audios=(sound(9_000),)), "2 placeholder"),
        (Case(VIDEO, videos=(video(),), audios=(sound(9_000),)), "use_audio_in_video=True"),
        (Case(VIDEO, videos=(video(),), use_audio_in_video=True), "each take an audio as their sound"),
        (Case(f"{AUDIO}{VIDEO}", (), (video(),), (sound(9_000),), True), "each take an audio as their sound"),
        (Case(f"{AUDIO}x", audios=(sound(200),)), "too short"),
    ],
)
def test_a_request_that_cannot_be_answered_is_refused_before_the_engine(engine: Any, case: Case, says: str) -> None:
    from vllm.exceptions import VLLMValidationError

    with pytest.raises((ValueError, VLLMValidationError), match=says):
        answers(engine, case)
    assert not engine.llm_engine.has_unfinished_requests()
    assert len(answers(engine, CASES["text"])[0].outputs[0].token_ids) == ANSWER_TOKENS


@pytest.mark.timeout(60)
def test_a_video_with_more_sound_than_the_engine_can_hold_is_refused(
    engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tliveomni_eval.model_adapters.tliveomni_vllm.processing_info import TLiveOmniProcessingInfo

    monkeypatch.setattr(TLiveOmniProcessingInfo, "joint_token_limit", lambda _: 80)
    with pytest.raises(ValueError, match="12 tokens with a sound of 78 is more than the 80"):
        answers(engine, Case(f"{VIDEO}!", (), INTERLEAVED.videos, INTERLEAVED.audios, True))


def test_without_interleaving_embeddings_land_in_the_wrong_places(
    engine: Any, unaligned: Any, reference: Reference
) -> None:
    (right,), (wrong,) = answers(engine, INTERLEAVED), answers(unaligned, INTERLEAVED)
    # Nothing gives it away: the prompts are the same.
    assert wrong.prompt_token_ids == right.prompt_token_ids
    aligned, off = (mean(differences(output, INTERLEAVED, reference)) for output in (right, wrong))
    assert off > 0.05
    assert aligned <= off / 10


def test_padded_audio_has_another_number_of_tokens(engine: Any, unaligned: Any, reference: Reference) -> None:
    differ = Case(f"{AUDIO}这是什么", audios=(sound(16_001, 7),))
    (right,), (wrong,) = answers(engine, differ), answers(unaligned, differ)
    assert len(right.prompt_token_ids) == len(reference.prompt_ids(differ)) == len(wrong.prompt_token_ids) - 1
    aligned, off = (
        mean(differences(answers(llm, PADDED)[0], PADDED, reference) + differences(output, differ, reference))
        for llm, output in ((engine, right), (unaligned, wrong))
    )
    assert aligned <= off / 10


def test_the_switches_reach_the_model(engine: Any, unaligned: Any, folder: Path) -> None:
    from tliveomni_eval.model_adapters.tliveomni_vllm.transformers_norm import TransformersRMSNorm
    from vllm.engine.arg_utils import EngineArgs

    def norms_and_hooks(model: Any) -> tuple[Alignments, int, list[bool]]:
        norms = sum(isinstance(module, TransformersRMSNorm) for module in model.modules())
        return model.alignments, norms, [bool(layer._forward_hooks) for layer in model.language_model.model.layers]

    # Four norms a layer, Q and K among them, and the last one; three levels, for audio has one more than vision.
    assert engine.apply_model(norms_and_hooks) == [(Alignments(), 4 * 4 + 1, [True, True, True, False])]
    off = Alignments(interleave=False, unpadded_audio=False, deepstack_order=False, norm_order=False)
    assert unaligned.apply_model(norms_and_hooks) == [(off, 0, [False] * 4)]
    # What the engine's process would be sent.
    config = EngineArgs(**arguments_of(folder, "no_norm_order")).create_engine_config()
    sent = pickle.loads(pickle.dumps(config))
    assert alignments_of(sent.model_config.hf_config) == Alignments(norm_order=False)
