"""Synthetic releases, their pages, and a browser."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright
from synthetic_run import NOW, samples, with_noise, write_release, write_run, write_serving_figures
from tliveomni_eval.leaderboard.report import WrittenReport, write_report

CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@pytest.fixture(scope="session")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the runs of a release in `runs/`, a second baseline in `again/`, and their images in `media/`."""
    folder = tmp_path_factory.mktemp("release")
    (folder / "media").mkdir()
    data = samples(864, folder / "media")
    runs = write_release(folder / "runs", data)
    write_run(folder / "again", "bf16", data, with_noise(0.05), seed=1)
    for name, seconds, gib in (("bf16", 0.48, 18.2), ("w8a8", 0.31, 10.4), ("w4a16", 0.22, 7.1)):
        write_serving_figures(runs[name], seconds, int(gib * 2**30))
    return folder


@pytest.fixture(scope="session")
def single_page(release: Path, tmp_path_factory: pytest.TempPathFactory) -> WrittenReport:
    """The release as one file."""
    output = tmp_path_factory.mktemp("single") / "report.html"
    return write_report(
        [release / "runs"],
        output,
        media_roots=[release / "media"],
        title="Release 7",
        noise=release / "again" / "bf16",
        now=NOW,
    )


@pytest.fixture(scope="session")
def folder_page(release: Path, tmp_path_factory: pytest.TempPathFactory) -> WrittenReport:
    """The release as a folder."""
    output = tmp_path_factory.mktemp("folder") / "report"
    return write_report([release / "runs"], output, media_roots=[release / "media"], title="Release 7", now=NOW)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium of the system."""
    path = next((found for name in CHROMIUM_NAMES if (found := shutil.which(name))), None)
    assert path, f"the browser tests need one of {', '.join(CHROMIUM_NAMES)} on PATH (Debian: apt-get install chromium)"
    options = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
    options += [
        "--disable-component-update",
        "--disable-sync",
        "--mute-audio",
        "--autoplay-policy=no-user-gesture-required",
    ]
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=path, args=options)
        yield launched
        launched.close()


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Opens a page of a report; fails the test on a script error, a console error or a request to a network."""
    contexts: list[BrowserContext] = []
    faults: list[str] = []

    def opened(
        report: WrittenReport | Path | str, hash: str = "", *, lang: str = "en", theme: str = "light", width: int = 1280
    ) -> Page:
        context = browser.new_context(viewport={"width": width, "height": 900}, locale="en-US", reduced_motion="reduce")
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: faults.append(f"script error: {error}"))
        page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
        page.on("dialog", lambda dialog: (faults.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on(
            "request",
            lambda request: (
                None
                if request.url.startswith(("file:", "data:", "blob:", "http://127.0.0.1:"))
                else faults.append(f"network request: {request.url}")
            ),
        )
        if isinstance(report, WrittenReport):
            report = report.page
        address = report if isinstance(report, str) else report.as_uri()
        page.goto(f"{address}?lang={lang}&theme={theme}{hash}")
        page.locator("main:has(> :not(p.quiet))").wait_for()
        return page

    yield opened
    for context in contexts:
        context.close()
    assert faults == []
