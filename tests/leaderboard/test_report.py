from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from synthetic_run import careless, planted_regression, right, samples, with_noise, write_run
from tliveomni_eval.evals.gate.gate import gate_candidates
from tliveomni_eval.leaderboard.page_builder import Comparison, build_overview, pair_tasks
from tliveomni_eval.leaderboard.page_data import PageOverview
from tliveomni_eval.leaderboard.report import write_report
from tliveomni_eval.leaderboard.report_command import command
from tliveomni_eval.leaderboard.report_error import ReportError
from tliveomni_eval.leaderboard.reported_runs import read_reported_runs, run_folders, split_baseline
from tliveomni_eval.leaderboard.task_page_data import TaskPage


def embedded(page: Path, name: str) -> dict:
    found = re.search(rf'<script type="application/json" id="{name}">(.*?)</script>', page.read_text())
    assert found
    return json.loads(found[1])


@pytest.fixture(scope="module")
def overview(single_page) -> PageOverview:
    return PageOverview.model_validate(embedded(single_page.page, "tlive-overview"))


@pytest.fixture(scope="module")
def task(single_page) -> TaskPage:
    return TaskPage.model_validate(embedded(single_page.page, "tlive-task-0"))


def test_the_matrix_says_what_the_gate_says(release: Path, overview: PageOverview) -> None:
    report = gate_candidates(release / "runs/bf16", [release / "runs" / name.name for name in overview.candidates])
    assert [candidate.verdict for candidate in overview.candidates] == [verdict.outcome for verdict in report.verdicts]
    for column, verdict in enumerate(report.verdicts):
        said = {
            ("all" if row.attribute is None else f"{row.attribute}={row.value}"): row.cells[column]
            for row in overview.rows
        }
        assert set(said) == {one.slice for one in verdict.slices}
        for one in verdict.slices:
            cell = said[one.slice]
            assert (cell.verdict, cell.loss, cell.low, cell.high, cell.n) == (
                one.outcome,
                one.loss,
                one.low,
                one.high,
                one.samples,
            )


def test_details_add_up_to_the_cell(overview: PageOverview, task: TaskPage) -> None:
    for detail in task.details:
        name = None if detail.slice is None else (task.slices[detail.slice].attribute, task.slices[detail.slice].value)
        row = next(
            row for row in overview.rows if (None if row.attribute is None else (row.attribute, row.value)) == name
        )
        cell = row.cells[detail.candidate]
        inside = [sample for sample in task.samples if detail.slice is None or detail.slice in sample.slices]
        assert cell.n == len(inside) == cell.broke + cell.fixed + detail.both_right + detail.both_wrong
        assert cell.broke == sum(sample.changes[detail.candidate] < 0 for sample in inside)
        assert detail.metrics[0].candidate == pytest.approx(cell.candidate_quality)
        mean = sum(sample.outputs[detail.candidate + 1].quality for sample in inside) / len(inside)
        assert mean == pytest.approx(cell.candidate_quality)


def test_the_planted_regression_stands_out(overview: PageOverview, task: TaskPage) -> None:
    column = [candidate.key for candidate in overview.candidates].index("w4a16")
    breached = {(row.attribute, row.value) for row in overview.rows if row.cells[column].verdict == "BREACH"}
    assert {("field", "price"), ("text_px", "12-16")} <= breached
    assert not breached & {("field", "name"), ("field", "sku"), ("text_px", "33-48")}
    price = next(index for index, one in enumerate(task.slices) if (one.attribute, one.value) == ("field", "price"))
    detail = next(one for one in task.details if one.slice == price and one.candidate == column)
    worst = task.slices[detail.concentration[0].slice]
    assert (worst.attribute, worst.value) == ("text_px", "12-16")
    assert (detail.confusions[0].reference, detail.confusions[0].output) == ("8", "0")


def test_samples_that_broke_carry_their_image_and_others_say_why_not(task: TaskPage) -> None:
    for sample in task.samples:
        (medium,) = (task.media[index] for index in sample.media)
        wrong = any(output.quality < 1 for output in sample.outputs)
        assert bool(medium.source) == wrong
        assert medium.source or "--media all" in medium.reason


def test_the_page_names_no_host_and_no_folder_of_this_machine(single_page, folder_page, release: Path) -> None:
    for path in (single_page.page, *folder_page.page.parent.rglob("*.js"), folder_page.page):
        text = path.read_text()
        assert str(release) not in text
        assert not re.search(r'(?:src|href)="(?:https?:)?//', text)
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', single_page.page.read_text())
    assert policy and "default-src &#x27;none&#x27;" in policy[1] and "unsafe-eval" not in policy[1]
    assert "script-src &#x27;sha256-" in policy[1]


def test_the_same_runs_give_the_same_bytes(release: Path, tmp_path: Path, single_page) -> None:
    from synthetic_run import NOW

    again = write_report(
        [release / "runs"],
        tmp_path / "x.html",
        media_roots=[release / "media"],
        title="Release 7",
        noise=release / "again" / "bf16",
        now=NOW,
    )
    assert again.page.read_bytes() == single_page.page.read_bytes()


@pytest.fixture
def small(tmp_path: Path) -> Path:
    data = samples(24)
    write_run(tmp_path / "runs", "first", data, with_noise(0.1))
    write_run(tmp_path / "runs", "second", data, right)
    return tmp_path / "runs"


def test_baseline_by_name_and_by_default(small: Path, tmp_path: Path) -> None:
    runs = read_reported_runs(run_folders([small]))
    assert split_baseline(runs, None)[0].name == "first"
    assert split_baseline(runs, "second")[0].name == "second"
    assert split_baseline(runs, str(small / "second"))[0].name == "second"
    with pytest.raises(ReportError, match=r"'secnd'.*'second'"):
        split_baseline(runs, "secnd")
    write_run(small, "bf16", samples(24), right)
    assert split_baseline(read_reported_runs(run_folders([small])), None)[0].name == "bf16"


def test_a_run_that_cannot_be_read_is_shown_as_missing(small: Path, tmp_path: Path) -> None:
    write_run(small, "third", samples(24), careless(right))
    broken = small / "third" / "tliveomni_vllm"
    log = next(broken.glob("*.jsonl"))
    log.write_text(log.read_text()[:-200])
    runs = read_reported_runs(run_folders([small]))
    baseline, candidates = split_baseline(runs, "first")
    report = gate_candidates(baseline.run, [run.run or run.path for run in candidates])
    comparison = Comparison(baseline, candidates, report)
    from synthetic_run import NOW

    shown = build_overview(comparison, pair_tasks(comparison), "x", NOW)
    third = next(index for index, card in enumerate(shown.candidates) if card.name == "third")
    assert shown.candidates[third].verdict == "MISSING"
    assert log.name in shown.candidates[third].problem
    assert {row.cells[third].verdict for row in shown.rows} == {"MISSING"}


def test_a_run_without_the_task_makes_no_sample_important(release: Path, tmp_path: Path) -> None:
    write_run(tmp_path / "runs", "other", samples(4), right, task="another_task")
    runs = [release / "runs" / "bf16", release / "runs" / "w8a8", tmp_path / "runs" / "other"]
    written = write_report(runs, tmp_path / "page.html", media_roots=[release / "media"])
    page = TaskPage.model_validate(embedded(written.page, "tlive-task-0"))
    for sample in page.samples:
        wrong = any(output is not None and output.quality < 1 for output in sample.outputs)
        assert bool(page.media[sample.media[0]].source) == wrong


def test_a_candidate_without_some_samples(tmp_path: Path) -> None:
    data = samples(48)
    write_run(tmp_path, "bf16", data, right)
    write_run(tmp_path, "w8a8", data[:40], planted_regression(right))
    written = write_report([tmp_path], tmp_path / "page.html")
    assert written.outcome == "MISSING"
    page = TaskPage.model_validate(embedded(written.page, "tlive-task-0"))
    assert len(page.samples) == 48
    assert [sample.id for sample in page.samples if sample.outputs[1] is None] == [one.id for one in data[40:]]


def test_command_writes_the_page_and_says_where(small: Path, tmp_path: Path) -> None:
    result = CliRunner().invoke(command, [str(small), "-o", str(tmp_path / "out" / "page.html")])
    assert result.exit_code == 0, result.output
    assert str(tmp_path / "out" / "page.html") in result.output
    result = CliRunner().invoke(command, [str(small), "-o", str(tmp_path / "folder")])
    assert {"index.html", "page.js", "page.css", "data"} <= {path.name for path in (tmp_path / "folder").iterdir()}


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["{small}/none"], "does not exist"),
        (["{small}/first"], "only one run"),
        (["{small}", "--baseline", "bf61"], "unknown baseline 'bf61'"),
        (["{small}", "-o", "{small}/first/run.json/page.html"], "cannot write"),
        (["{empty}"], "no run can be read"),
    ],
)
def test_bad_input_is_one_message(small: Path, tmp_path: Path, arguments: list[str], message: str) -> None:
    (tmp_path / "empty").mkdir()
    given = [argument.format(small=small, empty=tmp_path / "empty") for argument in arguments]
    result = CliRunner().invoke(command, given)
    assert isinstance(result.exception, ReportError)
    assert message in str(result.exception)


def test_plain_lmms_eval_logs_of_a_foreign_task(tmp_path: Path) -> None:
    data = samples(48)
    for name, answer in (("first", right), ("second", careless(right))):
        run = write_run(tmp_path, name, data, answer, task="ocrbench")
        (run / "run.json").unlink()
        for log in run.rglob("*.jsonl"):
            lines = [json.loads(line) for line in log.read_text().splitlines()]
            for line in lines:
                del line["record"]
                for metric in ("field_exact", "edit_similarity", "anls"):
                    line[metric] = line[metric]["num"]
            log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    written = write_report([tmp_path / "first", tmp_path / "second"], tmp_path / "page.html")
    shown = PageOverview.model_validate(embedded(written.page, "tlive-overview"))
    assert [row.attribute for row in shown.rows] == [None]
    assert shown.rows[0].cells[0].verdict == "BREACH"
    page = TaskPage.model_validate(embedded(written.page, "tlive-task-0"))
    assert {sample.reference for sample in page.samples} == {one.reference for one in data}
    assert any(sample.changes[0] < 0 for sample in page.samples)
