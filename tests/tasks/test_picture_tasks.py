"""The picture tasks and CircularEval as lmms-eval runs them, with a function in place of a model."""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from click.testing import CliRunner
from loguru import logger
from task_runs import load, manager, run_task
from tliveomni_eval.evals.circular_command import command
from tliveomni_eval.evals.metrics.circular_eval import RotationAnswer, circular_report
from tliveomni_eval.evals.metrics.circular_intervals import clustered_intervals, rate_interval
from tliveomni_eval.evals.record import Counts
from tliveomni_eval.tasks import choice_judge
from tliveomni_eval.tasks.data_location import EMBEDDED_DATA
from tliveomni_eval.tasks.manifest import check_folder
from tliveomni_eval.tasks.task_index import leaf_tasks, read_task_index

HEADLINES = {
    "live_chart": "relaxed_accuracy",
    "live_counting": "count_exact",
    "live_spatial": "accuracy",
    "live_table": "teds",
    "live_unanswerable": "balanced_accuracy",
    "mmbench_circular_mini": "circular",
}


def right(doc: dict[str, Any]) -> str:
    reference = json.loads(doc["reference"])
    return "cannot tell" if reference is None else str(reference)


@pytest.mark.parametrize("task", sorted(HEADLINES))
def test_a_right_model_gets_all_and_a_silent_one_nothing(task: str) -> None:
    loaded = load(task)
    assert read_task_index()[task].metadata["headline"] == HEADLINES[task]
    numbers, lines = run_task(loaded, right)
    assert (numbers[HEADLINES[task]], numbers["record"]) == (1, 1)
    assert run_task(loaded, lambda doc: "")[0][HEADLINES[task]] == 0
    assert json.loads(json.dumps(lines)) == lines
    content = loaded.doc_to_messages(loaded.eval_docs[0])[0]["content"]
    assert [part["type"] for part in content] == ["image", "text"]


def test_answering_always_or_never_has_half_the_balanced_accuracy_at_most() -> None:
    task = load("live_unanswerable")
    assert run_task(task, lambda doc: "cannot tell")[0]["balanced_accuracy"] == 0.5
    always = run_task(task, lambda doc: right(doc) if json.loads(doc["reference"]) else "¥12")[0]
    assert always["balanced_accuracy"] == 0.5


def sizes(task: Any) -> list[int]:
    options = {doc["cluster"]: len(json.loads(doc["context"])["options"]) for doc in task.eval_docs}
    return list(options.values())


def test_always_a_and_the_first_text_have_no_circular_accuracy() -> None:
    task = load("mmbench_circular_mini")
    for model in (lambda doc: "A", lambda doc: f"It is {json.loads(doc['context'])['options']['A']}."):
        numbers, _ = run_task(task, model)
        assert numbers["circular"] == 0
        assert numbers["vanilla"] == pytest.approx(sum(1 / size for size in sizes(task)) / len(sizes(task)), abs=0.03)
        assert numbers["vanilla_minus_circular"] == numbers["vanilla"]
        assert numbers["consistency"] == 0
        assert numbers["position_bias"] > 0.4


@pytest.mark.parametrize("p", [0.7, 0.9])
def test_right_with_probability_p_has_the_closed_form_within_its_interval(p: float) -> None:
    task, rng = load("mmbench_circular_mini"), random.Random(5)

    def model(doc: dict[str, Any]) -> str:
        wrong = [letter for letter in json.loads(doc["context"])["options"] if letter != json.loads(doc["reference"])]
        return right(doc) if rng.random() < p else rng.choice(wrong)

    numbers, _ = run_task(task, model)
    expected = sum(p**size for size in sizes(task)) / len(sizes(task))
    interval = rate_interval(Counts(round(numbers["circular"] * len(sizes(task))), len(sizes(task))), 0.999)
    assert interval is not None
    assert interval[0] < expected < interval[1]


def test_a_limit_that_cuts_a_question_says_so_and_counts_whole_ones() -> None:
    said: list[str] = []
    sink = logger.add(lambda message: said.append(str(message)), level="WARNING")
    try:
        numbers, lines = run_task(load("mmbench_circular_mini"), right, limit=8)
    finally:
        logger.remove(sink)
    assert numbers["circular"] == 1
    assert any("1 of 4 questions lack a rotation" in text and "counts the 3 whole ones" in text for text in said)
    nothing = run_task(load("mmbench_circular_mini"), right, limit=1)[0]
    assert math.isnan(nothing["circular"])
    assert len({line["record"]["cluster"] for line in lines}) == 4


def test_groups_hold_tasks_that_exist() -> None:
    index = read_task_index()
    for group in ("release", "public_benchmarks", "release_full", "mmbench_circular"):
        leaves = leaf_tasks([group], index)
        assert len(leaves) > 1
        assert all(leaf in index and not index[leaf].members for leaf in leaves)
        assert group in manager().all_tasks
    assert all(index[leaf].embedded_samples for leaf in leaf_tasks(["release"], index))


def test_every_task_says_what_it_measures() -> None:
    for entry in read_task_index().values():
        if not entry.members:
            assert {"version", "headline", "ability", "modality", "sensitivity", "slices"} <= set(entry.metadata)
            assert entry.metadata["headline"] in entry.metrics
            assert entry.metadata["sensitivity"] in ("perception", "precision")


def answers_of(lines: list[dict[str, Any]]) -> list[RotationAnswer]:
    return [RotationAnswer(**line["consistency"]["answer"]) for line in lines]


def test_intervals_hold_their_numbers_and_say_nothing_about_nothing() -> None:
    rng = random.Random(8)
    _, lines = run_task(load("mmbench_circular_mini"), lambda doc: right(doc) if rng.random() < 0.8 else "A")
    answers = answers_of(lines)
    report, intervals = circular_report(answers), clustered_intervals(answers)
    for letter, counts in report.by_position.items():
        low, high = intervals[f"position={letter}"]
        assert 0 <= low <= counts.rate <= high <= 1  # type: ignore[operator]
    always_a = [replace(answer, chosen="A") for answer in answers]
    assert clustered_intervals(always_a)["position=A"][1] == pytest.approx(1)
    assert 0.9 < clustered_intervals(always_a)["position=A"][0] < 1
    assert clustered_intervals(answers) == intervals
    assert clustered_intervals(answers[:1]) == {}
    assert rate_interval(Counts(0, 0)) is None


def write_run(folder: Path, lines: list[dict[str, Any]]) -> Path:
    (folder / "nano").mkdir(parents=True)
    task = "mmbench_circular_mini"
    rows = [{"doc_id": n, "target": "A", "input": "q", "filtered_resps": "A", **line} for n, line in enumerate(lines)]
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (folder / "nano" / f"20260801_101500_samples_{task}.jsonl").write_text(text, encoding="utf-8")
    results = {
        "results": {task: {"circular,none": 0.5}},
        "configs": {task: {"task": task, "metadata": {"version": 1, "headline": "circular"}}},
        "versions": {task: 1},
        "higher_is_better": {task: {"circular": True}},
        "n-samples": {task: {"original": len(lines), "effective": len(lines)}},
        "config": {"model": "x"},
    }
    (folder / "nano" / "20260801_101500_results.json").write_text(json.dumps(results), encoding="utf-8")
    return folder


def test_the_report_of_a_run(tmp_path: Path) -> None:
    _, lines = run_task(load("mmbench_circular_mini"), lambda doc: "A", limit=99)
    run = write_run(tmp_path / "run", lines)
    shown = CliRunner().invoke(command, [str(run)], catch_exceptions=False, env={"COLUMNS": "120"}).output
    assert "circular accuracy" in shown
    assert "right option is A" in shown
    assert "price_comparison" in shown
    assert "Without all rotations" in shown
    printed = json.loads(CliRunner().invoke(command, [str(run), "--json"], catch_exceptions=False).output)
    report = printed["mmbench_circular_mini"]
    assert report["circular"]["num"] == 0
    assert report["by_position"]["A"]["rate"] == 1
    assert report["intervals"]["circular"][0] == 0
    (tmp_path / "empty").mkdir()
    empty = CliRunner().invoke(command, [str(tmp_path / "empty")])
    assert empty.exit_code != 0


@contextmanager
def judge_server(reply: str | None, asked: list[dict[str, Any]]) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            body = json.dumps(
                {
                    "id": "1",
                    "object": "chat.completion",
                    "created": 0,
                    "model": "judge",
                    "choices": [
                        {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": reply}}
                    ],
                }
            ).encode()
            self.send_response(200 if reply is not None else 400)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(
    ("reply", "status", "chosen"),
    [("B", "ok", "B"), ("(b)", "ok", "B"), ("NONE", "unparsed", None), ("Z", "error", None), (None, "error", None)],
)
def test_a_judge_reads_what_the_grammar_cannot(
    reply: str | None, status: str, chosen: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task, asked = load("mmbench_circular_mini"), []
    doc, output = task.eval_docs[0], "the second of the two, I should think"
    assert task.process_results(doc, [output])["record"]["status"] == "unparsed"
    with judge_server(reply, asked) as url:
        monkeypatch.setenv("TLIVE_JUDGE_URL", url)
        monkeypatch.setenv("TLIVE_JUDGE_MODEL", "judge")
        monkeypatch.setenv("TLIVE_JUDGE_CACHE", str(tmp_path / "cache" / "judge.sqlite"))
        record = task.process_results(doc, [output])["record"]
        assert (record["status"], record["detail"]["chosen"], record["detail"]["rule"]) == (status, chosen, "judge")
        assert output in asked[0]["messages"][0]["content"]
        requests = len(asked)
        assert task.process_results(doc, [output])["record"] == record
        assert (len(asked) == requests) == (status != "error")
        read = task.process_results(doc, ["A"])["record"]["detail"]
        assert (read["rule"], read["chosen"]) == ("letter", "A")


def test_a_judge_without_a_model_is_refused() -> None:
    with pytest.raises(Exception, match="TLIVE_JUDGE_MODEL is not"):
        choice_judge.configured_judge({"TLIVE_JUDGE_URL": "http://127.0.0.1:1/v1"})
    assert choice_judge.configured_judge({}) is None


@pytest.mark.parametrize(
    ("task", "change", "says"),
    [
        ("live_counting", {"reference": "many"}, "field reference: the reference must be one number, got 'many'"),
        ("live_chart", {"reference": 12}, "field reference: must be a text, got 12"),
        ("live_table", {"reference": "no table"}, "field reference: .*holds no table"),
        ("live_spatial", {"reference": "green whale"}, "field reference: .*'green whale' is none of the allowed"),
        ("live_spatial", {"context": {}}, "field context.options: must be the list"),
        ("live_unanswerable", {"reference": "cheap"}, "field reference: .*'cheap'"),
        ("mmbench_circular_mini", {"reference": "E"}, "field reference: .*'E' is none of the options"),
        ("mmbench_circular_mini", {"context": {"options": {"A": "x"}}}, "field context.index: must be"),
        ("mmbench_circular_mini", {"context": {"index": 1}}, "field context.options: must be an object"),
    ],
)
def test_a_faulty_line_of_a_user_is_named(task: str, change: dict[str, Any], says: str, tmp_path: Path) -> None:
    first = json.loads((EMBEDDED_DATA / task / "manifest.jsonl").read_text(encoding="utf-8").splitlines()[0])
    (tmp_path / "manifest.jsonl").write_text(json.dumps({**first, "media": [], **change}), encoding="utf-8")
    _, faults = check_folder(tmp_path)
    assert len(faults) == 1
    assert re.search(says, str(faults[0]))
