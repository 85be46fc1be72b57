"""Boxes, spans, speaker turns and players, in both forms of the page."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect
from synthetic_media import write_media_release
from tliveomni_eval.leaderboard.report import WrittenReport, write_report

Opener = Callable[..., Page]


@pytest.fixture(scope="module", params=["single", "folder"])
def report(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> WrittenReport:
    folder = tmp_path_factory.mktemp("media-release")
    runs = write_media_release(folder)
    output = folder / ("page.html" if request.param == "single" else "page")
    return write_report([runs], output, media_roots=[folder / "media"])


def sample(open_page: Opener, report: WrittenReport, task: str, **options: str) -> Page:
    page = open_page(report, f"#/sample/{task}/{task}-1?candidate=w4a16", **options)
    page.locator(".media").wait_for()
    return page


def test_boxes_of_reference_and_both_runs(open_page: Opener, report: WrittenReport) -> None:
    page = sample(open_page, report, "live_localization")
    boxes = page.locator(".picture svg.boxes").first
    expect(boxes.locator("g")).to_have_count(3)
    reference = boxes.locator("g.reference rect").bounding_box()
    baseline = boxes.locator("g.baseline rect").bounding_box()
    candidate = boxes.locator("g.candidate rect").bounding_box()
    assert reference and baseline and candidate
    assert abs(reference["x"] - baseline["x"]) < 2 < candidate["x"] - baseline["x"]
    image = page.locator(".picture img").first.bounding_box()
    assert image and abs((reference["x"] - image["x"]) / image["width"] - 40 / 320) < 0.01
    page.get_by_role("button", name="Enlarge the image").click()
    expect(page.locator("dialog[open] img")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("dialog[open]")).to_have_count(0)


@pytest.mark.parametrize("task, element", [("live_diarization", "audio"), ("live_temporal_grounding", "video")])
def test_players_play_and_seek(open_page: Opener, report: WrittenReport, task: str, element: str) -> None:
    page = sample(open_page, report, task)
    player = page.locator(element)
    page.wait_for_function("name => document.querySelector(name).readyState >= 1", arg=element)
    assert player.evaluate("media => media.duration") == pytest.approx(12, abs=0.3)
    player.evaluate("media => media.play()")
    page.wait_for_function("name => document.querySelector(name).currentTime > 0.2", arg=element)
    player.evaluate("media => media.pause()")
    page.locator(".timeline .part.candidate").last.click()
    expected = 4.4 if element == "audio" else 5.5
    assert player.evaluate("media => media.currentTime") == pytest.approx(expected, abs=0.05)


def test_speaker_turns_share_one_axis_and_the_names_of_the_reference(open_page: Opener, report: WrittenReport) -> None:
    page = sample(open_page, report, "live_diarization")
    expect(page.locator(".part.reference")).to_have_count(3)
    expect(page.locator(".part.candidate")).to_have_count(3)
    names = [text.split() for text in page.locator(".lane-name").all_inner_texts() if text.strip()]
    assert names == [["Reference", "S1"], ["S2"], ["bf16", "S1"], ["S2"], ["w4a16", "S1"], ["S2"]]
    first = page.locator(".part.reference").first.bounding_box()
    moved = page.locator(".part.candidate").first.bounding_box()
    assert first and moved and moved["x"] > first["x"] + 10
    expect(page.locator(".wave path")).to_have_count(1)


def test_token_probabilities_are_shown_where_logged(open_page: Opener, report: WrittenReport) -> None:
    page = sample(open_page, report, "live_diarization")
    page.locator("summary", has_text="Token log-probabilities").first.click()
    expect(page.locator(".tokens span").first).to_have_text("大家")
