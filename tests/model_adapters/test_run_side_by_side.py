"""Runs share a machine without sharing a core, and never more of them than it can hold."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tliveomni_eval.model_adapters.run.side_by_side import plan_waves, runs_at_a_time


@given(st.integers(1, 12), st.integers(1, 12), st.integers(0, 16))
def test_every_run_is_in_one_wave_and_no_core_is_in_two_runs(runs: int, jobs: int, cores: int) -> None:
    waves = plan_waves(runs, jobs, list(range(cores)))
    assert [wave.first + index for wave in waves for index in range(len(wave.cores))] == list(range(runs))
    for wave in waves:
        assert len(wave.cores) <= jobs
        given_out = [core for share in wave.cores for core in share]
        assert len(given_out) == len(set(given_out))
        if 1 < len(wave.cores) <= cores:
            assert all(wave.cores)
            assert sorted(given_out) == list(range(cores))


def test_five_variants_on_two_cores() -> None:
    waves = plan_waves(5, 2, [0, 1])
    assert [(wave.first, wave.cores) for wave in waves] == [(0, [[0], [1]]), (2, [[0], [1]]), (4, [[]])]


@pytest.mark.parametrize(
    ("runs", "cores", "free_gib", "checkpoint_gib", "expected"),
    [(5, 2, 20, 0, 2), (1, 8, 64, 0, 1), (5, 8, 9, 0, 2), (5, 8, 2, 0, 1), (5, 8, 64, 16, 1), (5, 0, 64, 0, 1)],
)
def test_memory_and_cores_bound_the_runs_at_a_time(
    runs: int, cores: int, free_gib: float, checkpoint_gib: float, expected: int
) -> None:
    assert runs_at_a_time(runs, cores, free_gib, checkpoint_gib) == expected


def test_a_terminated_command_ends_its_runs(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from tliveomni_eval.evals import cli\n"
        "from tliveomni_eval.model_adapters.run import child_process\n"
        "child_process._MODULE = 'fake_evaluation'\n"
        "cli.main(['run', '--variants', 'hangs', f'--checkpoint=hangs={sys.argv[1]}', '--out', sys.argv[1]])\n"
    )
    words = [sys.executable, "-c", code, str(tmp_path)]
    environment = {"PYTHONPATH": str(Path(__file__).parent), "PATH": ""}
    parent = subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    while not (tmp_path / "hangs" / "ready").exists():
        assert parent.poll() is None, parent.stderr and parent.stderr.read()
        time.sleep(0.05)
    parent.send_signal(signal.SIGTERM)
    _, errors = parent.communicate(timeout=60)
    assert parent.returncode == 130
    assert "interrupted" in errors
    assert (tmp_path / "hangs" / "interrupted").exists()
