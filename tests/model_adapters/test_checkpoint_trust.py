"""A checkpoint runs no code of its own on this machine unless the user asked for it."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest
from tliveomni_eval.evals.errors import UserError
from tliveomni_eval.model_adapters.checkpoint_trust import check_weights, remote_code_digest, untrusted_code_message
from tliveomni_eval.model_adapters.nano.embedded_checkpoints import checkpoint_path
from tliveomni_eval.model_adapters.vllm_backend.engine_settings import resolve_engine_settings
from tliveomni_eval.model_adapters.vllm_backend.model_arguments import ModelArguments


def write(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).write_bytes(pickle.dumps({}))
    return folder


@pytest.mark.parametrize(
    "name", ["pytorch_model.bin", "model-00001-of-00002.bin", "consolidated.pth", "a.PT", "a.ckpt"]
)
def test_pickled_weights_are_refused_unless_asked_for(tmp_path: Path, name: str) -> None:
    write(tmp_path, "config.json", name)
    with pytest.raises(UserError, match="allow_pickle=true") as caught:
        check_weights(tmp_path, allow_pickle=False)
    assert name in str(caught.value)
    check_weights(tmp_path, allow_pickle=True)


@pytest.mark.parametrize(
    "names",
    [
        ["model.safetensors"],
        ["model.safetensors", "pytorch_model.bin"],
        ["model.gguf"],
        ["config.json"],
        ["training_args.bin", "optimizer.pt", "scheduler.pt"],
    ],
)
def test_what_is_not_unpickled_is_not_refused(tmp_path: Path, names: list[str]) -> None:
    check_weights(write(tmp_path, *names), allow_pickle=False)


@pytest.mark.parametrize("load_format", ["pt", "npcache"])
def test_a_load_format_that_unpickles_is_refused(tmp_path: Path, load_format: str) -> None:
    write(tmp_path, "model.safetensors")
    with pytest.raises(UserError, match=f"load_format='{load_format}'"):
        check_weights(tmp_path, allow_pickle=False, load_format=load_format)
    check_weights(tmp_path, allow_pickle=False, load_format="safetensors")


def test_every_embedded_checkpoint_is_safe() -> None:
    check_weights(checkpoint_path("bf16"), allow_pickle=False)


@pytest.mark.parametrize(("given", "trusted"), [({}, False), ({"trust_remote_code": "true"}, True),
                                                ({"engine_args": {"trust_remote_code": True}}, True)])  # fmt: skip
def test_remote_code_is_off_unless_asked_for_and_always_recorded(given: dict[str, object], trusted: bool) -> None:
    settings = resolve_engine_settings(
        ModelArguments.from_mapping(given), "c", "cpu", None, frozenset(), frozenset({"trust_remote_code"}), {}
    )
    assert settings.engine_args["trust_remote_code"] is trusted


def test_code_that_runs_is_part_of_what_determines_a_response(tmp_path: Path) -> None:
    (tmp_path / "modeling.py").write_text("a = 1")
    first = remote_code_digest(tmp_path)
    assert remote_code_digest(tmp_path) == first
    (tmp_path / "modeling.py").write_text("a = 2")
    assert remote_code_digest(tmp_path) != first


def test_a_checkpoint_with_code_of_its_own_is_refused_without_running_it(tmp_path: Path) -> None:
    from transformers import AutoProcessor

    (tmp_path / "config.json").write_text(
        json.dumps({"model_type": "odd", "auto_map": {"AutoConfig": "odd.OddConfig", "AutoProcessor": "odd.Odd"}})
    )
    (tmp_path / "processor_config.json").write_text(json.dumps({"auto_map": {"AutoProcessor": "odd.Odd"}}))
    (tmp_path / "odd.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nclass Odd: pass\nclass OddConfig: pass\n")
    with pytest.raises(ValueError) as caught:
        AutoProcessor.from_pretrained(tmp_path, trust_remote_code=False)
    assert "trust_remote_code=true" in untrusted_code_message(tmp_path, caught.value)
    assert not (tmp_path / "ran").exists()
    assert untrusted_code_message(tmp_path, ValueError("no such file")) == ""
