"""Views over whole runs: what to ship, noise, parity, and results beside environments."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from fastapi.testclient import TestClient
from playwright.sync_api import Page, expect
from synthetic_run import samples, with_noise, write_run
from tliveomni_eval.leaderboard.report import write_report
from tliveomni_eval.leaderboard.server.app import create_app
from tliveomni_eval.leaderboard.store.run_store import RunStore

Opener = Callable[..., Page]


def test_the_leaderboard_shows_what_was_measured_and_says_what_was_not(open_page: Opener, single_page) -> None:
    page = open_page(single_page, "#/standings")
    expect(page.locator(".facts li")).to_contain_text("cpu, 2 cores")
    table = page.locator(".standing table")
    expect(table.locator("thead")).to_contain_text("TTFT")
    row = table.locator("tbody tr", has_text="w4a16")
    expect(row).to_contain_text("0.220")
    expect(row).to_contain_text("73 ms")
    expect(row).to_contain_text("7.3 ms")
    expect(row).to_contain_text("7.6 GB")
    expect(table.locator("tbody tr", has_text="w4naive")).to_contain_text("not measured")


def test_noise_of_the_baseline_stands_beside_the_losses(open_page: Opener, single_page) -> None:
    page = open_page(single_page)
    page.get_by_role("link", name="Noise").click()
    expect(page.locator("h1")).to_have_text("Noise")
    expect(page.locator("main")).to_contain_text("A/A: bf16 is a second run of bf16")
    price = page.locator(".noise tbody tr", has_text="field=price")
    expect(price.locator("td").first).not_to_have_text("–")
    expect(price.locator("td.worse").first).to_contain_text("%")
    price.locator("td.worse a").first.click()
    expect(page.locator(".remarks")).to_contain_text("A/A")


def test_views_without_data_say_how_to_get_it(open_page: Opener, folder_page) -> None:
    page = open_page(folder_page, "#/noise")
    expect(page.locator("main")).to_contain_text("tlive report --noise RUN")
    expect(page.get_by_role("link", name="Noise")).to_have_count(0)
    page = open_page(folder_page, "#/parity")
    expect(page.locator("main")).to_contain_text("tlive parity")


def test_results_stand_beside_what_differs_in_the_environment(open_page: Opener, single_page) -> None:
    page = open_page(single_page, "#/compare/w4a16")
    expect(page.locator("table.environment")).to_contain_text("compressed-tensors")
    results = page.locator(".results tbody tr")
    expect(results.first).to_contain_text("live_ocr")
    expect(page.locator(".results")).to_contain_text("text_px=12-16")
    page.locator(".results td.differs a").first.click()
    expect(page.locator(".sample-list")).to_be_visible()


def test_the_sample_names_what_differs_between_the_two_runs(open_page: Opener, single_page) -> None:
    page = open_page(single_page, "#/sample/live_ocr/ocr-00032?slice=field%3Dprice&candidate=w4a16")
    page.locator(".environments summary").click()
    expect(page.locator(".environments")).to_contain_text("engine quantization")
    expect(page.locator(".environments")).to_contain_text("compressed-tensors")
    page.get_by_role("link", name="All that is known of the runs").click()
    expect(page.locator("table.environment")).to_be_visible()


def test_nothing_measured_is_said_once(open_page: Opener, tmp_path: Path) -> None:
    data = samples(24)
    for name in ("bf16", "w8a8"):
        write_run(tmp_path / "runs", name, data, with_noise(0))
    page = open_page(write_report([tmp_path / "runs"], tmp_path / "page.html"), "#/standings")
    expect(page.locator("main")).to_contain_text("TTFT, TPOT and memory are not measured; tlive bench measures them.")
    expect(page.locator(".standing thead")).not_to_contain_text("TTFT")
    expect(page.locator(".facts li")).to_contain_text("nothing yet. More samples would decide on w8a8")


def test_a_store_finds_the_second_baseline_by_itself(tmp_path: Path) -> None:
    data = samples(48)
    store = RunStore(tmp_path / "store")
    store.add(write_run(tmp_path / "first", "bf16", data, with_noise(0.1)))
    store.add(write_run(tmp_path / "second", "bf16", data, with_noise(0.1), seed=1))
    store.add(write_run(tmp_path, "w8a8", data, with_noise(0.1)))
    page = TestClient(create_app(store), base_url="http://127.0.0.1").get("/").text
    overview = json.loads(page.split('id="tlive-overview">')[1].split("</script>")[0])
    assert overview["noise_run"] == "bf16"
    assert all(row["noise"] is not None for row in overview["rows"] if row["cells"][0]["n"] == 48)
