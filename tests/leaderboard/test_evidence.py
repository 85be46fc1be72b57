"""Measurements of checkpoints beside runs: serving figures and parity, in a report and in the store."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner
from fastapi.testclient import TestClient
from playwright.sync_api import Page, expect
from synthetic_run import samples, with_noise, write_run, write_serving_figures
from tliveomni_eval.evals.errors import UserError
from tliveomni_eval.evals.logs.run_info import read_run_info
from tliveomni_eval.evals.parity_report import (
    AblationRow,
    LayerDifference,
    MetricChange,
    ParityBackends,
    ParityGroup,
    ParityLayers,
    ParityReport,
)
from tliveomni_eval.leaderboard.report import overview_of, write_report
from tliveomni_eval.leaderboard.report_error import ReportError
from tliveomni_eval.leaderboard.server.app import create_app
from tliveomni_eval.leaderboard.store.run_store import RunStore
from tliveomni_eval.leaderboard.store.store_command import command

Opener = Callable[..., Page]
HOSTILE = "</script><img src=x onerror=alert(1)>"


def parity_report(fingerprint: str) -> ParityReport:
    change = MetricChange(
        metric="field_exact", higher_is_better=True, reference=0.9, candidate=0.89, change=-0.01,
        low=-0.03, high=0.01, confidence=0.95, clusters=32,
    )  # fmt: skip
    return ParityReport(
        created=datetime(2026, 11, 30, tzinfo=UTC),
        backends=ParityBackends(
            model="tliveomni-nano", variant="w8a8", architecture="TLiveOmni", fingerprint=fingerprint, device="cpu",
            reference_dtype="float32", candidate_dtype="float32",
        ),
        limit=32, seed=0, top_k=20, max_mean_delta=0.02,
        groups=(
            ParityGroup(kind="all", name="all", samples=32, tokens=640, mean_delta=0.0012, max_delta=0.08, same_text=1),
            ParityGroup(kind="task", name="live_ocr", samples=32, tokens=640, mean_delta=0.0012, metric=change),
            ParityGroup(kind="modality", name=HOSTILE, samples=0, tokens=0, not_compared=3, reason=HOSTILE),
        ),
        samples=(),
        layers=(
            ParityLayers(component="vision tower", compared=9, tolerance=1e-3),
            ParityLayers(
                component="audio DeepStack", level=1, compared=2, tolerance=1e-3,
                first=LayerDifference(name="audio.deepstack.1", relative=0.4, max_abs=2, sample="live_asr 3"),
            ),
        ),
        ablation=(
            AblationRow(
                switch="", tokens=640, mean_delta=0.0012, max_delta=0.08, times_all_on=1, different_prompts=0,
                by_modality={"image": 0.0012},
            ),
            AblationRow(
                switch="no_interleave", tokens=640, mean_delta=0.12, max_delta=3, times_all_on=100, different_prompts=0,
                by_modality={"image": 0.12},
            ),
        ),
    )  # fmt: skip


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs; `evidence/` beside them holds what was measured of the checkpoint of the second."""
    folder = tmp_path_factory.mktemp("measured")
    data = samples(24)
    for name in ("bf16", "w8a8"):
        write_run(folder / "runs", name, data, with_noise(0))
    (folder / "evidence").mkdir()
    of = folder / "runs" / "w8a8"
    for name, gpu, seconds in (("h200", "NVIDIA H200", 0.1), ("l20", "NVIDIA L20", 0.4)):
        file = write_serving_figures(of, seconds, 2**33, {"gpus": [gpu]}, f"{name}.json")
        file.rename(folder / "evidence" / file.name)
    fingerprint = read_run_info(of / "run.json").checkpoint.fingerprint
    text = parity_report(fingerprint).model_dump_json()
    (folder / "evidence" / "parity.json").write_text(text, encoding="utf-8")
    return folder


def test_evidence_finds_its_run_by_the_checkpoint(runs: Path) -> None:
    overview = overview_of([runs / "runs"], evidence=sorted((runs / "evidence").iterdir()))
    rows = [(row.run, row.hardware, row.seconds_per_sample, row.speed_source) for row in overview.standings]
    assert ("w8a8", "NVIDIA H200", 0.1, "bench") in rows and ("w8a8", "NVIDIA L20", 0.4, "bench") in rows
    assert [one.hardware for one in overview.recommendations] == ["cpu, 2 cores", "NVIDIA H200", "NVIDIA L20"]
    assert [table.title.split(" · ")[0] for table in overview.parity] == ["w8a8"] * 3
    assert all(len(row) == len(table.columns) for table in overview.parity for row in table.rows)


def test_a_folder_stands_for_the_evidence_in_it(runs: Path, tmp_path: Path) -> None:
    assert len(overview_of([runs / "runs"], evidence=[runs / "evidence"]).parity) == 3
    with pytest.raises(ReportError, match="holds neither"):
        overview_of([runs / "runs"], evidence=[tmp_path])


def test_evidence_in_a_run_folder_is_found(runs: Path, tmp_path: Path) -> None:
    data = samples(12)
    write_run(tmp_path, "bf16", data, with_noise(0))
    write_serving_figures(write_run(tmp_path, "w8a8", data, with_noise(0)), 0.2, 1)
    assert "bench" in {row.speed_source for row in overview_of([tmp_path]).standings}


def test_evidence_of_no_run_or_of_no_kind_is_refused(runs: Path, tmp_path: Path) -> None:
    other = json.loads((runs / "evidence" / "parity.json").read_text())
    other["backends"]["fingerprint"] = "another"
    for content, message in ((other, "none of these runs evaluated"), ({"x": 1}, "neither"), ([], "neither")):
        (tmp_path / "x.json").write_text(json.dumps(content), encoding="utf-8")
        with pytest.raises(ReportError, match=message):
            overview_of([runs / "runs"], evidence=[tmp_path / "x.json"])
    del other["groups"][0]["tokens"]
    (tmp_path / "x.json").write_text(json.dumps(other), encoding="utf-8")
    with pytest.raises(UserError, match=r"groups\.0\.tokens"):
        overview_of([runs / "runs"], evidence=[tmp_path / "x.json"])


def test_what_is_attached_to_a_store_is_shown_and_kept_once(runs: Path, tmp_path: Path) -> None:
    store = RunStore(tmp_path / "store")
    for name in ("bf16", "w8a8"):
        store.add(runs / "runs" / name)
    client = TestClient(create_app(store), base_url="http://127.0.0.1")
    assert "tliveomni-nano" not in client.get("/").text
    arguments = ["attach", *(str(path) for path in sorted((runs / "evidence").iterdir())), "--store", str(store.folder)]
    assert CliRunner().invoke(command, arguments).output.count("attached") == 3
    assert CliRunner().invoke(command, arguments).output.count("known") == 3
    page = client.get("/").text
    assert "tliveomni-nano" in page and "NVIDIA L20" in page


def test_parity_is_drawn_as_text(open_page: Opener, runs: Path, tmp_path: Path) -> None:
    evidence = sorted((runs / "evidence").iterdir())
    page = open_page(write_report([runs / "runs"], tmp_path / "page.html", evidence=evidence))
    page.get_by_role("link", name="Parity").click()
    tables = page.locator(".facts table")
    expect(tables).to_have_count(3)
    expect(page.locator(".facts").first).to_contain_text("within the tolerance of 0.02")
    expect(tables.nth(0).locator("tbody tr").nth(2)).to_contain_text(HOSTILE)
    expect(tables.nth(1).locator("td.worse")).to_have_text("▲ failed")
    expect(tables.nth(2)).to_contain_text("no_interleave")
