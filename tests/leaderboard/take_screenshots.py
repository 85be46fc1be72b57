"""Takes the screenshots of the documentation: `python tests/leaderboard/take_screenshots.py PAGE docs/images`.

PAGE is what `tlive report` wrote; the slice and the sample shown are the ones a reader reaches with the first clicks:
the worst slice of the first candidate in breach, and the first sample that broke in it.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

LARGEST_BYTES = 300_000


def main(page_file: Path, folder: Path) -> None:
    """Writes report-matrix, report-slice, report-sample, report-leaderboard and report-matrix-dark-zh as PNG."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        raise SystemExit("no Chromium on PATH (Debian: apt-get install chromium)")
    folder.mkdir(parents=True, exist_ok=True)
    address = page_file.resolve().as_uri()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1280, "height": 880})
        page.goto(f"{address}?lang=en&theme=light")
        page.locator("table.matrix").wait_for()
        take(page, folder / "report-matrix.png")
        breached = page.locator("article.card.breach .worst a")
        (breached if breached.count() else page.locator("article.card .worst a")).first.click()
        page.locator(".sample-list").wait_for()
        take(page, folder / "report-slice.png")
        page.locator(".sample-list tbody a").first.click()
        page.locator(".answers").wait_for()
        take(page, folder / "report-sample.png")
        page.goto(f"{address}?lang=en&theme=light#/standings")
        page.locator(".standing").first.wait_for()
        take(page, folder / "report-leaderboard.png")
        page.goto(f"{address}?lang=zh&theme=dark#/")
        page.locator("table.matrix").wait_for()
        take(page, folder / "report-matrix-dark-zh.png")
        browser.close()


def take(page: Page, path: Path) -> None:
    """One screenshot; it fails where the file would be too large for the repository."""
    page.wait_for_timeout(400)  # Images decode after they are attached.
    page.screenshot(path=path)
    size = path.stat().st_size
    print(f"{path}  {size / 1e3:.0f} kB")
    if size > LARGEST_BYTES:
        raise SystemExit(f"{path} has {size} bytes, more than {LARGEST_BYTES}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    main(Path(sys.argv[1]), Path(sys.argv[2]))
