"""What is fuzzed: every reader of text that others wrote, with inputs near to what it expects and far from it."""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml
from hypothesis import strategies as st
from tliveomni_eval.evals.errors import UserError
from tliveomni_eval.evals.gate.policy import Policy
from tliveomni_eval.evals.gate.policy_file import read_policy
from tliveomni_eval.evals.logs.json_lines import read_json_lines
from tliveomni_eval.evals.logs.run_folder import read_run
from tliveomni_eval.evals.logs.run_info import read_run_info
from tliveomni_eval.evals.metrics.answerability import score_answerability
from tliveomni_eval.evals.metrics.asr import score_asr
from tliveomni_eval.evals.metrics.box_parser import parse_boxes
from tliveomni_eval.evals.metrics.choice_answer import read_choice
from tliveomni_eval.evals.metrics.diarization import score_diarization
from tliveomni_eval.evals.metrics.hallusionbench import read_yes_no
from tliveomni_eval.evals.metrics.model_output import read_output
from tliveomni_eval.evals.metrics.number_answer import score_chart_value, score_count
from tliveomni_eval.evals.metrics.ocr import score_ocr
from tliveomni_eval.evals.metrics.selling_points import parse_points
from tliveomni_eval.evals.metrics.speaker_turns import Turn
from tliveomni_eval.evals.metrics.table import parse_table
from tliveomni_eval.evals.metrics.temporal_span import parse_spans
from tliveomni_eval.tasks.manifest import read_lines

FRAGMENTS = (
    "", " ", "\x00", "\ud800", "🎉🧑🚀", "null", "NaN", "Infinity", "-1e999", "9" * 400, "[", "]", "{", "}", '"', "'",
    "[" * 60, '{"a":' * 30, "```json", "```", "<think>", "</think>", "<box>", "(1,2),(3,4)", "-5", "--",
    '"bbox_2d": [',
    "30 - 12", "99999999:99:99", "00:12", "12s", "从12秒到", "to", "between", "start", "end", "秒", "答案是", "A",
    "(B)", "The answer is",
    "\\boxed{", "無", "½", "١٢", "①", "\u202e", "\u0301" * 20, ",", ";", ".", ":", "\n", "\r", "\t",
    '[1,2,3,4]', '{"start": 30, "end": 12}', "¥129", "<table>", "<td colspan=99999999>", "</td>", "| a | b |", "|-|-|",
    "speaker", '"text"', "true", "&id001", "*id001", "<<:", "!!python/object:os.system", "? ", "- ", "%YAML", "---",
    "../", "\\u0000", "\\ud800", "1_000", "0x7f", "=cmd()", "一亿零三", "twenty-one hundred", "〇" * 30, "万" * 30,
)  # fmt: skip

ANSWERS = (
    "¥129.00", "The answer is (B) cup.",
    '[{"bbox_2d": [1, 2, 30, 40], "label": "cup", "score": 0.5}]', "from 00:12 to 00:30",
    '[{"speaker": "A", "start": 0.5, "end": 2.25, "text": "三百九十九块"}, {"speaker": "B", "start": 3, "end": 4}]',
    "<table><tr><th>a</th><td colspan='2'>b</td></tr></table>", "| a | b |\n|---|---|\n| 1 | 2 |",
    "- 30 小时续航\n- 只要 99 元",
    "[12.5, 30, 0.9]", "Yes, it is.", "二十三", "not shown in the image", "one hundred and five",
    "A: hello\nB: [0.0-1.5] hi",
)  # fmt: skip

MANIFEST = (
    '{"id": "a", "task": "live_ocr", "media": [{"type": "image", "path": "a.png"}], "prompt": "read",'
    ' "reference": "¥9", "slices": {"lang": "zh"}, "cluster": "c", "context": {"field": "price"}}\n'
)
POLICY = yaml.safe_dump(
    {
        "version": 1, "defaults": {"budget": 0.015},
        "tasks": {"live_ocr": {"metrics": ["field_exact"], "slices": {"field=price": {"budget": 0.005}}}},
        "waivers": [{"task": "live_ocr", "slice": "lang=zh", "reason": "r", "approved_by": "b", "until": "2099-01-01"}],
    }
)  # fmt: skip
RUN_INFO = json.dumps(
    {
        "schema_version": 1, "name": "a", "variant": "w8a8", "model": "m",
        "checkpoint": {"path": "p", "fingerprint": "f"},
        "start": "2026-01-01T00:00:00Z", "end": "2026-01-01T00:01:00Z", "exit_status": 0, "limit": 3, "tasks": ["t"],
    }
)  # fmt: skip
SAMPLES = "".join(
    json.dumps({
        "doc_id": number, "target": "x", "input": "read", "resps": [["y"]], "filtered_resps": ["y"], "doc_hash": "h",
        "acc": {"id": f"s{number}", "num": 1, "den": 1},
        "record": {"id": f"s{number}", "cluster": "c", "slices": {"lang": "zh"}, "status": "ok", "detail": {}},
    }) + "\n"
    for number in range(3)
)  # fmt: skip
RESULTS = json.dumps(
    {
        "results": {"t": {"alias": "t", "acc,none": 0.5}}, "group_subtasks": {"t": []}, "versions": {"t": 1},
        "configs": {"t": {"task": "t", "metric_list": [{"metric": "acc"}], "metadata": {"headline": "acc"}}},
        "n-shot": {"t": 0}, "higher_is_better": {"t": {"acc": True}},
        "n-samples": {"t": {"original": 3, "effective": 3}},
        "config": {"model": "vllm"}, "lmms_eval_version": "x", "model_name": "n", "date": "20260801_101500",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Target:
    """One reader.

    Attributes:
        read: Reads an input; what it raises, but for `UserError`, is a fault.
        seeds: Inputs it understands, which others are made from.
        share: Of all inputs, by what one costs: YAML in Python takes twenty times as long as JSON in C.
    """

    read: Callable[[str], object]
    seeds: tuple[str, ...]
    share: float


def inputs_of(target: Target) -> st.SearchStrategy[str]:
    """Random text, sequences of fragments, and seeds of a target changed in a few places."""
    pieces = st.sampled_from(FRAGMENTS)
    edit = st.tuples(st.floats(0, 1), st.integers(0, 12), st.one_of(pieces, st.text(max_size=4)))
    changed = st.builds(_changed, st.sampled_from(target.seeds), st.lists(edit, min_size=1, max_size=6))
    return st.one_of(changed, changed, st.lists(pieces, max_size=10).map("".join), st.text(max_size=40))


def random_input(chance: random.Random, target: Target) -> str:
    """The same kinds of input without hypothesis, which takes longer to think of one than a reader to read it.

    Args:
        chance: Where chance comes from.
        target: What is to read it.
    """
    kind = chance.random()
    if kind < 0.6:
        edits = [
            (
                chance.random(),
                chance.randrange(13),
                chance.choice(FRAGMENTS) if chance.random() < 0.7 else _letters(chance, 4),
            )
            for _ in range(chance.randint(1, 6))
        ]
        return _changed(chance.choice(target.seeds), edits)
    if kind < 0.85:
        return "".join(chance.choice(FRAGMENTS) for _ in range(chance.randrange(11)))
    return _letters(chance, 40)


def _letters(chance: random.Random, most: int) -> str:
    return "".join(
        chr(chance.randrange(chance.choice((128, 0x3000, 0x110000)))) for _ in range(chance.randrange(most + 1))
    )


def _changed(text: str, edits: Iterable[tuple[float, int, str]]) -> str:
    for share, length, piece in edits:
        place = int(share * len(text))
        text = text[:place] + piece + text[place + length :]
    return text


def _scores(text: str) -> None:
    options = {"A": "cup", "B": "¥9", "C": "", "D": "无"}
    turns = [Turn("A", 0, 1, "三百九十九块"), Turn("B", 1, 2, "ok go")]
    for output in (read_output(text), read_output(text, keep="end")):
        parse_boxes(output)
        parse_spans(output, "seconds", scored=True)
        parse_spans(output, "mm:ss")
    read_choice(text, options)
    read_yes_no(text)
    parse_points(text)
    parse_table(text)
    score_count("3", text)
    score_chart_value("12.5", text)
    score_answerability(None, text)
    for reference, field in (("¥129", "price"), ("AB-12", "sku"), ("春茶", "name"), ("| a |\n|-|\n| 1 |", "table")):
        score_ocr(reference, text, field)  # type: ignore[arg-type]
    score_asr("三百九十九块", text, lang="zh", hotwords=["春茶"], prompt="write down")
    score_asr("it costs two dollars", text, lang="en")
    score_diarization(turns, text)


@cache
def _folder() -> Path:
    """A folder in memory where there is one: a million files on a disk take longer than reading them."""
    memory = Path("/dev/shm")
    return Path(tempfile.mkdtemp(prefix="fuzz-", dir=memory if memory.is_dir() else None))


def _file(name: str, text: str) -> Path:
    path = _folder() / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    return path


def _manifest(text: str) -> None:
    list(read_lines(_file("manifest/manifest.jsonl", text).parent))


def _policy(text: str) -> None:
    policy = read_policy(_file("policy.yaml", text))
    assert isinstance(policy, Policy)


def _run(samples: str, results: str) -> None:
    _file("run/nano/20260801_101500_results.json", results)
    folder = _file("run/nano/20260801_101500_samples_t.jsonl", samples).parents[1]
    for log in read_run(folder).tasks.values():
        for place in range(len(log)):
            log.sample(place)


TARGETS = {
    "answers": Target(_scores, ANSWERS, 0.1),
    "manifest": Target(_manifest, (MANIFEST, MANIFEST * 2), 0.25),
    "policy": Target(_policy, (POLICY,), 0.05),
    "run_json": Target(lambda text: read_run_info(_file("run.json", text)), (RUN_INFO,), 0.25),
    "json_lines": Target(lambda text: list(read_json_lines(_file("lines.jsonl", text))), (SAMPLES, MANIFEST), 0.2),
    "sample_log": Target(lambda text: _run(text, RESULTS), (SAMPLES,), 0.1),
    "results_file": Target(lambda text: _run(SAMPLES, text), (RESULTS,), 0.05),
}


def read_hostile(target: Target, text: str) -> None:
    """Read an input; only the error a user is meant to read may come of it, and soon.

    Raises:
        Exception: Whatever else it raised.
    """
    try:
        target.read(text)
    except UserError as error:
        assert str(error), "an error without a word"
