"""A candidate whose outputs loop, fall silent, echo or switch language on one slice is named; noise is not."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from run_folder_builder import write_tlive_run
from tliveomni_eval.evals.cli import main
from tliveomni_eval.evals.output_pathology import LoggedOutput, compare_outputs, more_often, pathologies

ZH = "家人们今天云沐面霜到手价一百二十九元九"
EN = "the cream is one hundred and twenty nine today"
PROMPT = "请把主播说的话逐字写下来，不要翻译，也不要总结。"


@pytest.mark.parametrize(
    ("output", "reference", "found"),
    [
        (ZH, ZH, set()),
        (EN, EN, set()),
        ("¥129.9", "¥129.9", set()),
        ("", ZH, {"empty"}),
        (" \n\t", ZH, {"empty"}),
        ("云沐面霜" * 12, ZH, {"repetition"}),
        ("好 " * 40, "好 " * 40, set()),
        (PROMPT, ZH, {"prompt echo"}),
        (EN, ZH, {"language switch"}),
        (ZH, EN, {"language switch"}),
        ("iPhone 15", "苹果手机十五代现货", set()),
        ("ok " * 60, ZH, {"repetition", "language switch"}),
    ],
)
def test_each_pathology_is_told(output: str, reference: str, found: set[str]) -> None:
    assert pathologies(LoggedOutput(PROMPT, reference, output, {})) == found


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=200), st.text(max_size=50), st.text(max_size=50))
def test_any_output_is_judged_and_the_reference_itself_never_repeats_or_switches(
    output: str, reference: str, prompt: str
) -> None:
    pathologies(LoggedOutput(prompt, reference, output, {}))
    assert pathologies(LoggedOutput(prompt, output, output, {})) <= {"empty"}


def test_a_very_long_output_is_cut_before_it_is_looked_at() -> None:
    assert "repetition" in pathologies(LoggedOutput("", "x", "云沐" * 2_000_000, {}))


def samples(broken: set[int], count: int = 300) -> list[LoggedOutput]:
    return [
        LoggedOutput(PROMPT, ZH, "" if number in broken else ZH, {"lang": "zh" if number % 2 else "en"})
        for number in range(count)
    ]


def test_the_slice_that_fell_silent_is_named_and_the_other_is_not() -> None:
    changes = compare_outputs(zip(samples({0}), samples(set(range(1, 60, 2))), strict=True))
    named = {change.slice: change for change in more_often(changes)}
    assert set(named) == {"all", "lang=zh"}
    assert (named["lang=zh"].baseline, named["lang=zh"].candidate, named["lang=zh"].samples) == (0, 30, 150)
    assert "lang=zh: empty in 30 of 150 outputs, 0 in the baseline" in named["lang=zh"].note()


def test_noise_of_the_same_size_is_not_named() -> None:
    chance = random.Random(4)
    named = 0
    for _ in range(30):
        first, second = ({n for n in range(300) if chance.random() < 0.05} for _ in range(2))
        named += bool(more_often(compare_outputs(zip(samples(first), samples(second), strict=True))))
    assert named <= 2


def test_a_pathology_that_the_baseline_has_too_is_not_named() -> None:
    broken = set(range(200))
    assert more_often(compare_outputs(zip(samples(broken), samples(broken), strict=True))) == []


@pytest.mark.parametrize("broken", [0, 40])
def test_the_gate_names_it_beside_its_verdict(tmp_path: Path, broken: int, capsys: pytest.CaptureFixture[str]) -> None:
    runs = [write_tlive_run(tmp_path / name, [True] * 200) for name in ("bf16", "w4a16")]
    for run, silent in zip(runs, (0, broken), strict=True):
        rows = [json.loads(line) for line in samples_of(run).read_text().splitlines()]
        for place, row in enumerate(rows):
            row["filtered_resps"] = "" if place < silent else ZH
        samples_of(run).write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = ["gate", "--baseline", str(runs[0]), "--candidate", str(runs[1])]
    statuses = []
    for more in ([], ["--outputs"]):
        with pytest.raises(SystemExit) as caught:
            main([*words, *more])
        statuses.append(caught.value.code)
    output = capsys.readouterr().out
    assert statuses[0] == statuses[1]
    if broken:
        assert "live_ocr: all: empty in 40 of 200 outputs, 0 in the baseline" in output
    else:
        assert "outputs of w4a16: nothing beyond chance" in output


def samples_of(run: Path) -> Path:
    (path,) = run.rglob("*_samples_*.jsonl")
    return path
