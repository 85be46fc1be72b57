"""The screenshots of the documentation, by the clicks of a reader.

`test_screenshots.py` takes them of the synthetic release; `python tests/leaderboard/take_screenshots.py PAGE FOLDER` of
a page that `tlive report` wrote. The slice and the sample shown are the ones a reader reaches with the first clicks:
the worst slice of the first candidate in breach, and the first sample that broke in it.
"""

from __future__ import annotations

import io
import shutil
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

LARGEST_BYTES = 300_000
COLOURS = 128


def take_all(browser: Browser, address: str, folder: Path) -> list[Path]:
    """Writes one PNG a view and returns the files: noise only where the page has a second baseline."""
    folder.mkdir(parents=True, exist_ok=True)
    context = browser.new_context(viewport={"width": 1280, "height": 880}, reduced_motion="reduce")
    page = context.new_page()
    page.goto(f"{address}?lang=en&theme=light")
    page.locator("table.matrix").wait_for()
    taken = [take(page, folder / "report-matrix.png")]
    breached = page.locator("article.card.breach .worst a")
    (breached if breached.count() else page.locator("article.card .worst a")).first.click()
    page.locator(".sample-list").wait_for()
    taken.append(take(page, folder / "report-slice.png"))
    page.locator(".sample-list tbody a").first.click()
    page.locator(".answers").wait_for()
    taken.append(take(page, folder / "report-sample.png"))
    bar = page.locator(".topbar")
    bar.get_by_role("link", name="Leaderboard").click()
    page.locator(".standing").first.wait_for()
    taken.append(take(page, folder / "report-leaderboard.png"))
    if bar.get_by_role("link", name="Noise").count():
        bar.get_by_role("link", name="Noise").click()
        page.locator("table.noise").wait_for()
        taken.append(take(page, folder / "report-noise.png"))
    page.goto(f"{address}?lang=zh&theme=dark#/")
    page.locator("table.matrix").wait_for()
    taken.append(take(page, folder / "report-matrix-dark-zh.png"))
    context.close()
    return taken


def take(page: Page, path: Path) -> Path:
    """One screenshot, in few colours; it fails where the file would be too large for the repository."""
    page.wait_for_timeout(400)  # Images decode after they are attached.
    with Image.open(io.BytesIO(page.screenshot())) as image:
        image.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(path, "PNG", optimize=True)
    size = path.stat().st_size
    if size > LARGEST_BYTES:
        raise SystemExit(f"{path} has {size} bytes, more than {LARGEST_BYTES}")
    return path


def main(page_file: Path, folder: Path) -> None:
    """Takes the screenshots of a written page."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        raise SystemExit("no Chromium on PATH (Debian: apt-get install chromium)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for path in take_all(browser, page_file.resolve().as_uri(), folder):
            print(f"{path}  {path.stat().st_size / 1e3:.0f} kB")
        browser.close()


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    main(Path(sys.argv[1]), Path(sys.argv[2]))
