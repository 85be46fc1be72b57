"""`tlive run` adds what it finished to a store by itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from synthetic_run import right, samples, write_run
from tliveomni_eval.evals import cli
from tliveomni_eval.leaderboard.store.run_store import RunStore
from tliveomni_eval.model_adapters.run import child_process, side_by_side

FAKE_EVALUATION = Path(__file__).parent.parent / "model_adapters"


@pytest.fixture(autouse=True)
def finished_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A folder with the results of `own`, where evaluations end at once; it is the current one."""
    monkeypatch.setattr(child_process, "_MODULE", "fake_evaluation")
    monkeypatch.setattr(side_by_side, "has_cpu_build_of_vllm", lambda: False)
    monkeypatch.setenv("PYTHONPATH", str(FAKE_EVALUATION))
    monkeypatch.delenv("TLIVE_STORE", raising=False)
    monkeypatch.chdir(tmp_path)
    write_run(tmp_path / "runs", "own", samples(8), right)


def run(*words: str, variants: str = "own") -> int:
    checkpoints = [f"--checkpoint={name}=." for name in variants.split(",")]
    with pytest.raises(SystemExit) as ended:
        cli.main(["run", "--variants", variants, *checkpoints, *words])
    assert isinstance(ended.value.code, int)
    return ended.value.code


def stored(folder: str) -> list[str]:
    return [one.name for one in RunStore(Path(folder)).runs()]


def test_a_named_store_gets_the_runs_that_succeeded(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--store", "kept", variants="own,fails") == 1
    assert stored("kept") == ["own"]
    assert "own added to the store kept: " in capsys.readouterr().err
    assert run("--store", "kept") == 0
    assert "own is already in the store kept: " in capsys.readouterr().err


def test_the_store_of_the_folder_is_found_and_none_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run() == 0
    assert not Path("tlive-store").exists()
    RunStore(Path("tlive-store"))
    assert run("--no-store") == 0
    assert stored("tlive-store") == []
    assert run() == 0
    assert stored("tlive-store") == ["own"]
    monkeypatch.setenv("TLIVE_STORE", "elsewhere")
    assert run() == 0
    assert stored("elsewhere") == ["own"]


def test_a_store_that_cannot_be_written_does_not_fail_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    Path("file").touch()
    assert run("--store", "file") == 0
    assert "warning: own was not added to the store file: " in capsys.readouterr().err
