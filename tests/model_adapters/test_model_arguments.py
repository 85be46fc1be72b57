"""Model arguments are typed, and a wrong one is an error that says what to write."""

from __future__ import annotations

import pytest
from tliveomni_eval.evals.errors import UserError
from tliveomni_eval.model_adapters.vllm_backend.decoding import decoding_from_generation_kwargs
from tliveomni_eval.model_adapters.vllm_backend.engine_settings import prepare_environment, resolve_engine_settings
from tliveomni_eval.model_adapters.vllm_backend.model_arguments import ModelArguments, split_model_args

KNOWN_ENGINE_ARGS = frozenset({"enable_prefix_caching", "max_num_batched_tokens"})


def resolve(device: str, **given: object) -> dict[str, object]:
    arguments = ModelArguments.from_mapping(given)
    settings = resolve_engine_settings(arguments, "ckpt", device, 131072, frozenset({"image"}), KNOWN_ENGINE_ARGS, {})  # type: ignore[arg-type]
    return dict(settings.engine_args)


def test_text_is_typed() -> None:
    arguments = ModelArguments.from_mapping(
        {
            "max_model_len": "4096",
            "enforce_eager": "true",
            "limit_mm_per_prompt": '{"image": 4}',
            "gpu_memory_utilization": "0.5",
        }
    )
    assert (arguments.max_model_len, arguments.enforce_eager) == (4096, True)
    assert arguments.limit_mm_per_prompt == {"image": 4}
    assert arguments.gpu_memory_utilization == 0.5


def test_what_lmms_eval_adds_is_ignored() -> None:
    assert (
        ModelArguments.from_mapping({"batch_size": 1, "device": "cuda:0", "max_batch_size": None}) == ModelArguments()
    )


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"varient": "w8a8"}, "did you mean 'variant'"),
        ({"max_model_length": 1}, "did you mean 'max_model_len'"),
        ({"tensor_parallel_size": "two"}, "tensor_parallel_size='two'"),
        ({"tensor_parallel_size": 0}, "at least 1"),
        ({"max_num_seqs": 1.5}, "whole number"),
        ({"gpu_memory_utilization": 1.5}, "at most 1"),
        ({"enforce_eager": "perhaps"}, "true or false"),
        ({"engine_args": "{"}, "JSON object"),
        ({"limit_mm_per_prompt": "3"}, "JSON object"),
    ],
)
def test_a_wrong_argument_is_quoted(given: dict[str, object], says: str) -> None:
    with pytest.raises(UserError) as caught:
        ModelArguments.from_mapping(given)
    assert says.lower() in str(caught.value).lower()


def test_commas_inside_json_do_not_split() -> None:
    text = 'variant=w8a8,engine_args={"a": [1, 2], "b": "x,y"},seed=3'
    assert split_model_args(text) == {"variant": "w8a8", "engine_args": '{"a": [1, 2], "b": "x,y"}', "seed": "3"}
    assert split_model_args("") == {}
    with pytest.raises(UserError, match="'variant' has no '='"):
        split_model_args("variant")


def test_on_a_cpu_fast_start_is_chosen_and_the_user_wins() -> None:
    assert resolve("cpu")["enforce_eager"] is True
    assert resolve("cpu")["max_model_len"] == 8192
    assert resolve("cpu", enforce_eager=False, max_model_len=131072)["enforce_eager"] is False
    assert resolve("cpu", max_model_len=131072)["max_model_len"] == 131072
    assert "enforce_eager" not in resolve("gpu")


def test_engine_args_win_and_an_unknown_one_is_named() -> None:
    assert resolve("cpu", engine_args={"enable_prefix_caching": False})["enable_prefix_caching"] is False
    with pytest.raises(UserError, match="Did you mean 'enable_prefix_caching'"):
        resolve("cpu", engine_args={"enable_prefix_cacheing": False})


def test_the_environment_of_the_user_is_kept() -> None:
    environment = {"VLLM_CPU_KVCACHE_SPACE": "7"}
    chosen = prepare_environment("cpu", environment)
    assert environment["VLLM_CPU_KVCACHE_SPACE"] == "7"
    assert "VLLM_CPU_KVCACHE_SPACE" not in chosen
    assert environment["VLLM_ENABLE_V1_MULTIPROCESSING"] == "0"
    assert prepare_environment("gpu", {}) == {}


def test_decoding_is_greedy_unless_the_task_says_otherwise() -> None:
    greedy = decoding_from_generation_kwargs({"max_new_tokens": 8, "until": ["\n\n", ""], "top_p": 0.9, "num_beams": 1})
    assert greedy.as_sampling_arguments() == {"max_tokens": 8, "temperature": 0.0, "stop": ["\n\n"]}
    sampled = decoding_from_generation_kwargs({"temperature": 0.7, "top_p": 0.9, "until": "END", "seed": 3})
    assert sampled.as_sampling_arguments() == {
        "max_tokens": 512, "temperature": 0.7, "stop": ["END"], "top_p": 0.9, "seed": 3,
    }  # fmt: skip
    assert decoding_from_generation_kwargs({"temperature": 0.7, "do_sample": False}).temperature == 0.0


@pytest.mark.parametrize("given", [{"max_tokens": 3}, {"temperature": -1}, {"max_new_tokens": -5}])
def test_unknown_or_impossible_decoding_is_refused(given: dict[str, object]) -> None:
    with pytest.raises(UserError, match="generation_kwargs"):
        decoding_from_generation_kwargs(given)
