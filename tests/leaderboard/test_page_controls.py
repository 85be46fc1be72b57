"""Filters, order, folding, keyboard, languages, themes, print and accessibility."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, expect

Opener = Callable[..., Page]
VIEWS = {
    "matrix": "#/",
    "slice": "#/slice/live_ocr/field/price/w4a16",
    "task": "#/task/live_ocr/w4naive",
    "sample": "#/sample/live_ocr/ocr-00032?slice=field%3Dprice&candidate=w4a16",
    "runs": "#/compare",
    "standings": "#/standings",
    "noise": "#/noise",
    "parity": "#/parity",
}


def rows(page: Page) -> Locator:
    return page.locator(".matrix tbody tr:not(.group) th")


def test_search_narrows_the_matrix(open_page: Opener, single_page) -> None:
    page = open_page(single_page)
    whole = rows(page).count()
    page.get_by_role("searchbox").fill("price")
    expect(rows(page)).to_have_text(["price"])
    page.get_by_role("searchbox").fill("no such slice")
    expect(page.get_by_text("No slice matches these filters.")).to_be_visible()
    page.get_by_role("button", name="Clear filters").click()
    expect(rows(page)).to_have_count(whole)


def test_verdict_filter_keeps_rows_that_have_it(open_page: Opener, single_page) -> None:
    page = open_page(single_page)
    button = page.locator(".chips button", has_text="inconclusive")
    count = int(button.locator(".count").inner_text())
    button.click()
    expect(button).to_have_attribute("aria-pressed", "true")
    shown = page.locator(".matrix tbody tr:not(.group)")
    expect(shown).to_have_count(count)
    for index in range(count):
        expect(shown.nth(index).locator("td.inconclusive").first).to_be_visible()


def test_order_by_the_loss_of_one_candidate(open_page: Opener, single_page) -> None:
    page = open_page(single_page)
    page.get_by_role("columnheader", name="w4a16").get_by_role("button").click()
    expect(page.get_by_role("columnheader", name="w4a16")).to_have_attribute("aria-sort", "descending")
    first_two = " ".join(rows(page).all_inner_texts()[:2])
    assert "price" in first_two and "12-16" in first_two
    column = (
        page.locator(".matrix thead th")
        .all_inner_texts()
        .index(next(text for text in page.locator(".matrix thead th").all_inner_texts() if "w4a16" in text))
    )
    losses = page.locator(f".matrix tbody tr > :nth-child({column + 1}) .loss").all_inner_texts()
    numbers = [float(loss.replace("−", "-").removesuffix(" %")) for loss in losses]
    assert numbers == sorted(numbers, reverse=True) and len(numbers) > 8


def test_groups_fold(open_page: Opener, single_page) -> None:
    page = open_page(single_page)
    before = rows(page).count()
    fold = page.get_by_role("button", name="text_px")
    expect(fold).to_have_attribute("aria-expanded", "true")
    fold.click()
    expect(fold).to_have_attribute("aria-expanded", "false")
    expect(rows(page)).to_have_count(before - 4)
    page.get_by_role("button", name="Expand all").click()
    page.get_by_role("button", name="Collapse all").click()
    expect(rows(page)).to_have_text(["live_ocr"])


def test_matrix_is_usable_with_the_keyboard_alone(open_page: Opener, single_page) -> None:
    page = open_page(single_page)
    page.get_by_role("link", name="w4a16, live_ocr : ").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    focused = page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert "w4naive" in focused and "lang=" in focused
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_contain_text("lang")


def test_both_languages_cover_every_view(open_page: Opener, single_page) -> None:
    english = {"Matrix", "breach", "samples", "Reference", "Prompt", "broke", "correct", "Order", "Where in this slice"}
    for name, address in VIEWS.items():
        page = open_page(single_page, address, lang="zh")
        assert page.evaluate("document.documentElement.lang") == "zh"
        words = set(page.locator("body").inner_text().replace("\t", "\n").split("\n"))
        assert not words & english, name
        expect(page.get_by_role("link", name="发布矩阵").first).to_be_visible()
    page.get_by_role("button", name="English").click()
    expect(page.get_by_role("link", name="Matrix").first).to_be_visible()
    assert page.evaluate("document.documentElement.lang") == "en"


def test_theme_switch(open_page: Opener, single_page) -> None:
    page = open_page(single_page)
    light = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    page.get_by_label("Theme").select_option("dark")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    dark = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert light != dark


def test_sort_order_survives_a_look_at_a_slice(open_page: Opener, single_page) -> None:
    page = open_page(single_page)
    page.get_by_role("searchbox").fill("text_px")
    page.get_by_role("link", name="w4naive, live_ocr text_px=17-24").click()
    page.go_back()
    expect(page.get_by_role("searchbox")).to_have_value("text_px")
    expect(rows(page)).to_have_count(4)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("view", VIEWS)
def test_no_accessibility_finding(open_page: Opener, single_page, view: str, theme: str) -> None:
    page = open_page(single_page, VIEWS[view], theme=theme)
    found = Axe().run(page).response["violations"]
    assert [(one["id"], one["impact"], one["nodes"][0]["html"][:160]) for one in found] == []


def test_print_hides_controls_and_keeps_the_matrix(open_page: Opener, single_page) -> None:
    page = open_page(single_page)
    page.emulate_media(media="print")
    expect(page.locator(".filters")).to_be_hidden()
    expect(page.locator("table.matrix")).to_be_visible()
    assert page.pdf(format="A4").startswith(b"%PDF")


def test_narrow_window_does_not_scroll_sideways(open_page: Opener, single_page) -> None:
    for address in VIEWS.values():
        page = open_page(single_page, address, width=700)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), address
