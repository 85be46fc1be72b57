"""`tlive` answers wrong words with status 64 and the nearest right one, and imports nothing heavy for its overview."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest
from tliveomni_eval.evals import cli
from tliveomni_eval.evals.errors import UserError


def run_main(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        cli.main(words)
    code = ended.value.code
    assert isinstance(code, int)
    return code


def test_every_subcommand_is_a_command() -> None:
    for name in cli.SUBCOMMANDS:
        command = cli.tlive.get_command(click.Context(cli.tlive), name)
        assert isinstance(command, click.Command)
        assert command.name == name
        assert command.help


def test_an_unknown_subcommand_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_main("gat") == 64
    assert "Did you mean 'gate'" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words", [["--nonsense"], ["run", "--nonsense"], ["run", "--limit", "0"], ["data"], ["tasks", "extra"]]
)
def test_wrong_usage_ends_with_64(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run_main(*words) == 64
    assert capsys.readouterr().err


def test_help_ends_with_0_and_shows_every_subcommand(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_main("--help") == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in cli.SUBCOMMANDS)


def test_a_user_error_is_printed_without_traceback(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(**_: object) -> None:
        raise UserError("the file 'x' is gone; restore it", exit_status=3)

    monkeypatch.setattr(cli.tlive, "main", fail)
    assert run_main("gate") == 3
    assert capsys.readouterr().err == "error: the file 'x' is gone; restore it\n"


def test_an_interrupt_ends_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(**_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli.tlive, "main", interrupt)
    assert run_main("run") == 130


def test_the_overview_imports_nothing_heavy() -> None:
    code = (
        "import sys\nfrom tliveomni_eval.evals import cli\n"
        "try: cli.main(['--help'])\nexcept SystemExit: pass\n"
        "heavy = {'torch', 'vllm', 'lmms_eval', 'numpy', 'pandas', 'scipy', 'rich'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr


def test_a_user_error_never_ends_with_0() -> None:
    with pytest.raises(ValueError, match="exit_status"):
        UserError("x", exit_status=0)
