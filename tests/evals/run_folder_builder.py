"""Writes small run folders as `tlive run`, plain lmms-eval and lm-evaluation-harness leave them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tliveomni_eval.evals.logs.run_info import Checkpoint, RunInfo
from tliveomni_eval.evals.record import Counts, Record

DATE = "20260801_101500"
LM_EVAL_DATE = "2026-08-01T10-15-00.123456"


def write_lines(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def results_content(task: str, n: int, metrics: Mapping[str, bool], **metadata: Any) -> dict[str, Any]:
    return {
        "results": {task: {"alias": task, **{f"{metric},none": 0.5 for metric in metrics}}},
        "group_subtasks": {task: []},
        "configs": {
            task: {
                "task": task,
                "generation_kwargs": {"max_new_tokens": 64, "temperature": 0, "until": ["\n\n"]},
                "metric_list": [{"metric": metric} for metric in metrics],
                "metadata": {"version": 1, **metadata},
            }
        },
        "versions": {task: 1},
        "n-shot": {task: 0},
        "higher_is_better": {task: dict(metrics)},
        "n-samples": {task: {"original": n, "effective": n}},
        "config": {"model": "vllm"},
        "lmms_eval_version": "main@1a2b3c4d",
        "model_name": "nano",
        "date": DATE,
    }


def tlive_rows(
    correct: Sequence[bool | float],
    *,
    langs: Sequence[str] = ("zh", "en"),
    cluster_size: int = 1,
    statuses: Mapping[int, str] | None = None,
) -> list[dict[str, Any]]:
    rows = []
    for position, value in enumerate(correct):
        sample_id = f"ocr-{position:05d}"
        record = Record(
            sample_id,
            f"stream-{position // cluster_size}",
            {"lang": langs[position % len(langs)], "field": "price" if position % 4 < 2 else "name"},
            (statuses or {}).get(position, "ok"),  # type: ignore[arg-type]
        )
        rows.append(
            {
                "doc_id": position,
                "target": f"¥{position}",
                "input": "Read the price.",
                "filtered_resps": f"¥{position}" if value else "¥?",
                "token_counts": [{"output_tokens": 4}],
                "doc_hash": "constant",
                "field_exact": Counts(float(value), 1.0).logged(sample_id),
                "cer": Counts(2.0 * (1 - float(value)), 4.0).logged(sample_id),
                "record": record.logged(),
            }
        )
    return rows


def write_tlive_run(
    folder: Path,
    correct: Sequence[bool | float],
    *,
    task: str = "live_ocr",
    run_info: Mapping[str, Any] | None = None,
    results: Mapping[str, Any] | None = None,
    **row_options: Any,
) -> Path:
    """A run folder of ours; returns it."""
    rows = tlive_rows(correct, **row_options)
    write_lines(folder / "nano" / f"{DATE}_samples_{task}.jsonl", rows)
    content = results_content(task, len(rows), {"field_exact": True, "cer": False}, headline="field_exact")
    content.update(results or {})
    (folder / "nano" / f"{DATE}_results.json").write_text(json.dumps(content), encoding="utf-8")
    info: dict[str, Any] = {
        "name": folder.name,
        "variant": folder.name,
        "model": "tliveomni_vllm",
        "checkpoint": Checkpoint(path="nano", fingerprint="ab" * 32),
        "decoding": {"temperature": 0.0, "seed": 0},
        "data": {task: "data-1"},
        "prompts": {task: "prompt-1"},
        "parsers": {"price": "1"},
        "normalisers": {"ocr": "1"},
        "tasks": [task],
        "start": datetime(2026, 8, 1, 10, 0, tzinfo=UTC),
        "end": datetime(2026, 8, 1, 10, 15, tzinfo=UTC),
        "exit_status": 0,
    }
    RunInfo.model_validate(info | dict(run_info or {})).write(folder)
    return folder


def write_lmms_eval_run(
    folder: Path,
    values: Sequence[Any],
    *,
    task: str = "pope",
    metric: str = "accuracy",
    results: Mapping[str, Any] | None = None,
) -> Path:
    """Plain `lmms-eval --log_samples --output_path folder` of a task that is not ours; returns the folder."""
    rows = [
        {
            "doc_id": position,
            "target": "yes" if position % 2 else "no",
            "input": "Is there a person in the image?" if position % 3 else f"Is there a dog? {position}",
            "filtered_resps": "yes",
            "token_counts": [None],
            "doc_hash": "74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b",
            metric: value,
        }
        for position, value in enumerate(values)
    ]
    write_lines(folder / "llava" / f"{DATE}_samples_{task}.jsonl", rows)
    content = results_content(task, len(rows), {metric: True})
    content.update(results or {})
    (folder / "llava" / f"{DATE}_results.json").write_text(json.dumps(content), encoding="utf-8")
    return folder


def write_lm_eval_run(
    folder: Path,
    values: Sequence[float],
    *,
    task: str = "gsm8k",
    filters: Sequence[str] = ("strict-match", "flexible-extract"),
    model: str = "org__model",
) -> Path:
    """What `lm_eval --log_samples --output_path folder` writes; returns the folder."""
    rows = [
        {
            "doc_id": position,
            "doc": {"question": f"Q{position}"},
            "target": str(position),
            "arguments": {"gen_args_0": {"arg_0": f"Question: Q{position}", "arg_1": {"until": ["\n"]}}},
            "resps": [[f"A {position}"]],
            "filtered_resps": [f"{position}"],
            "filter": filter_name,
            "metrics": ["exact_match"],
            "doc_hash": f"doc{position}",
            "prompt_hash": f"prompt{position}",
            "target_hash": f"target{position}",
            "exact_match": value,
        }
        for filter_name in filters
        for position, value in enumerate(values)
    ]
    write_lines(folder / model / f"samples_{task}_{LM_EVAL_DATE}.jsonl", rows)
    content = results_content(task, len(values), {})
    content["results"] = {
        task: {f"exact_match,{name}": 0.5 for name in filters}
        | {f"exact_match_stderr,{name}": 0.01 for name in filters}
    }
    content["higher_is_better"] = {task: {"exact_match": True}}
    content["configs"][task]["filter_list"] = [{"name": name} for name in filters]
    del content["lmms_eval_version"]
    (folder / model / f"results_{LM_EVAL_DATE}.json").write_text(json.dumps(content), encoding="utf-8")
    return folder
