"""The way from the release matrix down to one sample and back, as a reader takes it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

Opener = Callable[..., Page]
FORMS = ("single_page", "folder_page")


@pytest.fixture(params=FORMS)
def report(request: pytest.FixtureRequest):
    return request.getfixturevalue(request.param)


def test_planted_regression_is_found_in_three_clicks(open_page: Opener, report) -> None:
    page = open_page(report)
    expect(page.locator("h1")).to_contain_text("w4a16")
    card = page.locator("article.card", has=page.get_by_role("link", name="w4a16", exact=True))
    clicks = 0
    worst = card.locator(".worst a")
    assert worst.inner_text() in ("field=price", "text_px=12-16")
    worst.click()
    clicks += 1
    expect(page.locator("h1")).to_contain_text("price" if "price" in page.url else "12-16")
    confusions = page.locator(".confusions tbody tr").first
    expect(confusions.locator("kbd").first).to_have_text("8")
    expect(confusions.locator("kbd").nth(1)).to_have_text("0")
    page.locator(".sample-list tbody a").first.click()
    clicks += 1
    expect(page.locator(".tags")).to_contain_text("12-16")
    expect(page.locator(".tags")).to_contain_text("price")
    broken = page.locator("article.answer.broke", has_text="w4a16")
    expect(broken.locator("ins")).to_have_count(1)
    image = page.locator(".picture img").first
    expect(image).to_be_visible()
    assert image.evaluate("image => image.complete && image.naturalWidth") == 320
    assert clicks <= 3


def test_matrix_to_sample_and_back(open_page: Opener, report) -> None:
    page = open_page(report)
    page.get_by_role("link", name="w4a16, live_ocr text_px=12-16").click()
    expect(page.locator("h1")).to_contain_text("12-16")
    where = page.locator(".panel", has_text="Where in this slice")
    expect(where.locator("th").first).to_have_text("field=price")
    where.get_by_role("link", name="field=price").click()
    expect(page.locator(".narrowed")).to_contain_text("field=price")
    shown = page.locator(".chips a[aria-current]").inner_text()
    count = int(shown.split()[-1])
    expect(page.locator(".sample-list tbody tr")).to_have_count(min(count, 40))
    page.locator(".sample-list tbody a").first.click()
    expect(page.locator(".steps")).to_contain_text(f"1 of {count}")
    page.go_back()
    expect(page.locator(".narrowed")).to_contain_text("field=price")
    page.get_by_role("navigation", name="Slice").get_by_role("link", name="Matrix").click()
    expect(page.locator("table.matrix")).to_be_visible()


def test_arrow_keys_walk_the_list_and_escape_leaves_it(open_page: Opener, report) -> None:
    page = open_page(report, "#/slice/live_ocr/field/price/w4a16")
    page.locator(".sample-list tbody a").first.click()
    expect(page.locator(".steps")).to_contain_text("1 of")
    first = page.url
    page.keyboard.press("ArrowRight")
    expect(page.locator(".steps")).to_contain_text("2 of")
    assert page.url != first
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".steps")).to_contain_text("1 of")
    assert page.url == first
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".steps")).to_contain_text("1 of")
    page.keyboard.press("Escape")
    expect(page.locator(".sample-list")).to_be_visible()


def test_a_sample_has_a_permanent_link(open_page: Opener, report) -> None:
    page = open_page(report, "#/slice/live_ocr/field/price/w4a16")
    page.locator(".sample-list tbody a").nth(2).click()
    expect(page.locator(".steps")).to_contain_text("3 of")
    text = page.locator(".answers").inner_text()
    other = open_page(report, "#" + page.url.partition("#")[2])
    expect(other.locator(".steps")).to_contain_text("3 of")
    assert other.locator(".answers").inner_text() == text


def test_unknown_addresses_lead_back(open_page: Opener, report) -> None:
    for address in (
        "#/nowhere",
        "#/slice/live_ocr/field/none/w4a16",
        "#/sample/live_ocr/none",
        "#/task/%E0%A4%A/w4a16",
    ):
        page = open_page(report, address)
        expect(page.locator("h1")).to_have_text("There is nothing at this address")
        page.get_by_role("link", name="To the matrix").click()
        expect(page.locator("table.matrix")).to_be_visible()


def test_environment_shows_what_differs(open_page: Opener, report) -> None:
    page = open_page(report)
    page.get_by_role("link", name="Runs").click()
    table = page.locator("table.environment")
    expect(table).to_contain_text("compressed-tensors")
    expect(table).not_to_contain_text("max_model_len")
    page.get_by_label("Only what differs").uncheck()
    expect(table).to_contain_text("max_model_len")
