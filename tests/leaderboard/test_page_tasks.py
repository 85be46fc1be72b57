"""What the scorers of all tasks leave behind, on the page: boxes, spans, turns, options, hotwords, and their slices."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect
from scored_release import PLANS, write_scored_release
from tliveomni_eval.evals.metrics.group_payload import GroupPayload, count_groups
from tliveomni_eval.leaderboard.group_quality import group_counts
from tliveomni_eval.leaderboard.report import WrittenReport, write_report
from tliveomni_eval.leaderboard.slice_data import SliceDetail
from tliveomni_eval.leaderboard.store.history_query import slice_history
from tliveomni_eval.leaderboard.store.run_store import RunStore
from tliveomni_eval.leaderboard.task_page_data import HotwordCount, TaskPage

Opener = Callable[..., Page]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_scored_release(tmp_path_factory.mktemp("scored"))


@pytest.fixture(scope="module")
def report(runs: Path) -> WrittenReport:
    return write_report([runs], runs.parent / "page", media="all")


@pytest.fixture(scope="module")
def pages(report: WrittenReport) -> dict[str, TaskPage]:
    found = {}
    for path in (report.page.parent / "data").glob("task-*.js"):
        text = path.read_text(encoding="utf-8")
        page = TaskPage.model_validate_json(text[text.index("{") : text.rindex("}") + 1])
        found[page.task] = page
    return found


def whole(page: TaskPage) -> SliceDetail:
    return next(detail for detail in page.details if detail.slice is None)


def opened(open_page: Opener, report: WrittenReport, task: str, sample: str = "") -> Page:
    address = f"#/sample/{task}/{sample}?candidate=w4a16" if sample else f"#/task/{task}/w4a16"
    page: Page = open_page(report, address)
    page.locator(".sample, .panels").first.wait_for()
    return page


def texts(rows: Locator) -> list[list[str]]:
    return [row.split() for row in rows.all_inner_texts()]


def test_every_task_is_there_with_its_media_and_a_baseline_that_is_right(pages: dict[str, TaskPage]) -> None:
    assert pages.keys() == PLANS.keys()
    for page in pages.values():
        assert all(item.source for item in page.media), page.task
        assert all(sample.media for sample in page.samples), page.task
        assert whole(page).both_wrong == 0, page.task
        assert any(change is not None and change < 0 for sample in page.samples for change in sample.changes), page.task


def test_the_gate_compares_every_task(report: WrittenReport) -> None:
    assert report.outcome == "BREACH"


def test_a_question_broke_where_one_of_its_rotations_did(pages: dict[str, TaskPage]) -> None:
    detail = whole(pages["mmbench_circular_mini"])
    circular = next(metric for metric in detail.metrics if metric.metric == "circular")
    assert (circular.baseline, circular.candidate) == (1, 0)
    assert sum(change == -1 for sample in pages["mmbench_circular_mini"].samples for change in sample.changes) == 7


def test_groups_are_counted_once_and_only_whole() -> None:
    payloads = [
        *(GroupPayload("1", str(member), 2, hit).logged("x") for member, hit in enumerate((True, True))),
        *(GroupPayload("2", str(member), 4, hit).logged("x") for member, hit in enumerate((True, False, True, True))),
        GroupPayload("3", "0", 2, True).logged("x"),
        None,
    ]
    num, den = group_counts(payloads)
    counted = count_groups(("", GroupPayload.from_logged(payload)) for payload in payloads if payload)
    assert (num.sum(), den.sum()) == (counted.total.num, counted.total.den) == (1, 2)
    assert (num[:2].tolist(), den[-2:].tolist()) == ([0.5, 0.5], [0, 0])


def test_every_task_has_a_history(runs: Path, tmp_path: Path) -> None:
    store = RunStore(tmp_path / "store")
    assert all(not added.problem for added in store.add_all(sorted(runs.iterdir())))
    for task in PLANS:
        before, after = slice_history(store, task, None, None)
        assert before.points[0].quality > after.points[0].quality, task
    circular = slice_history(store, "mmbench_circular_mini", None, None)
    assert [(history.points[0].quality, history.points[0].n) for history in circular] == [(1, 3), (0, 3)]


def test_what_is_drawn_is_not_compared_by_character(pages: dict[str, TaskPage]) -> None:
    for task in ("live_localization", "live_temporal_grounding", "live_diarization", "mmbench_circular_mini"):
        assert whole(pages[task]).confusions == []
        assert all(output and output.edits == [] for sample in pages[task].samples for output in sample.outputs)
    assert whole(pages["live_asr"]).confusions


def test_offsets_are_those_of_the_damaged_answers(pages: dict[str, TaskPage]) -> None:
    for task, shift in (("live_diarization", 0.3), ("live_temporal_grounding", 1.25)):
        offsets = [histogram for histogram in whole(pages[task]).histograms if histogram.unit == "seconds"]
        assert [histogram.metric for histogram in offsets] == ["start", "end"]
        for histogram in offsets:
            width = (histogram.high - histogram.low) / len(histogram.candidate)
            middles = [histogram.low + (index + 0.5) * width for index in range(len(histogram.candidate))]
            assert sum(histogram.baseline) == histogram.baseline[len(middles) // 2] > 0, "a right answer is at zero"
            peak = middles[histogram.candidate.index(max(histogram.candidate))]
            assert peak == pytest.approx(shift, abs=width / 2 + 1e-9)


def test_iou_has_a_histogram(pages: dict[str, TaskPage]) -> None:
    for task in ("live_localization", "live_temporal_grounding"):
        assert "miou" in [histogram.metric for histogram in whole(pages[task]).histograms]


def test_hotwords_are_summed_and_the_lost_ones_come_first(pages: dict[str, TaskPage]) -> None:
    rows = whole(pages["live_asr"]).hotwords
    losses = [row.heard[0] - row.heard[1] for row in rows]
    assert losses[0] > 0
    assert losses == sorted(losses, reverse=True)
    assert all(row.heard[0] == row.said and row.invented == (0, 0) for row in rows)
    first = next(sample for sample in pages["live_asr"].samples if sample.id == "live_asr-00000")
    assert [output and output.hotwords for output in first.outputs] == [
        [HotwordCount(word="加长瑜伽垫", said=1, written=1), HotwordCount(word="月肌", said=1, written=1)],
        [HotwordCount(word="加长瑜伽垫", said=1, written=0), HotwordCount(word="月肌", said=1, written=1)],
    ]


def test_choices_on_the_sample_and_their_confusions_on_the_slice(open_page: Opener, report: WrittenReport) -> None:
    page = opened(open_page, report, "mmbench_circular_mini", "mmbench_circular_mini-00000-r0")
    expect(page.locator(".options li")).to_have_count(2)
    expect(page.locator(".options li.right")).to_contain_text("right answer")
    expect(page.locator(".options li", has_text="bf16")).to_have_class("right")
    expect(page.locator(".options li", has_text="w4a16").locator(".chooser")).to_have_class("chooser wrong")
    page = opened(open_page, report, "mmbench_circular_mini")
    expect(page.locator(".choices tbody tr").first).to_contain_text("→")
    assert {row[1] for row in texts(page.locator(".choices tr"))} == {"→"}


def test_turns_are_read_as_text_and_drawn_on_one_axis(open_page: Opener, report: WrittenReport) -> None:
    page = opened(open_page, report, "live_diarization", "live_diarization-00000")
    expect(page.locator(".expected .turns tr")).to_have_count(3)
    expect(page.locator(".answer .turns").last.locator("th").first).to_have_text("S1")
    for layer in ("reference", "baseline", "candidate"):
        expect(page.locator(f".part.{layer}")).to_have_count(3)
    page.wait_for_function("() => document.querySelector('audio').readyState >= 1")
    page.locator(".part.reference").nth(1).click()
    assert page.locator("audio").evaluate("media => media.currentTime") == pytest.approx(3.62, abs=0.05)
    expect(page.locator(".wave path")).to_have_count(1)


def test_boxes_of_the_scorer_are_drawn_where_they_are(open_page: Opener, report: WrittenReport) -> None:
    page = opened(open_page, report, "live_localization", "live_localization-00000")
    expect(page.locator(".picture svg.boxes").first.locator("g")).to_have_count(3)
    boxes = page.locator(".picture svg.boxes").first
    assert boxes.locator("g.reference rect").get_attribute("x") == "86"
    assert boxes.locator("g.candidate rect").get_attribute("x") == "95"


def test_spans_seek_in_the_video_where_the_browser_plays_it(open_page: Opener, report: WrittenReport) -> None:
    page = opened(open_page, report, "live_temporal_grounding", "live_temporal_grounding-00000-0")
    for layer in ("reference", "baseline", "candidate"):
        expect(page.locator(f".part.{layer}")).to_have_count(1)
    page.locator(".part.candidate").click()
    assert page.locator("video").evaluate("media => media.currentTime") == pytest.approx(13.05, abs=0.05)


def test_hotwords_and_offsets_have_panels(open_page: Opener, report: WrittenReport) -> None:
    page = opened(open_page, report, "live_asr")
    expect(page.locator(".hotword-table tbody tr").first.locator("td.worse")).to_have_text("0")
    page = opened(open_page, report, "live_asr", "live_asr-00000")
    expect(page.locator(".hotwords .missed")).to_contain_text("加长瑜伽垫")
    page = opened(open_page, report, "live_temporal_grounding")
    expect(page.locator(".offsets svg[role=img]")).to_have_count(2)
