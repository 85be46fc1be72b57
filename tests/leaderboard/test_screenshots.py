"""The screenshots of the documentation: with TLIVE_SCREENSHOTS=docs/images in the environment they are kept there."""

from __future__ import annotations

import os
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser
from take_screenshots import take_all
from tliveomni_eval.leaderboard.report import WrittenReport


def test_every_view_is_pictured(browser: Browser, single_page: WrittenReport, tmp_path: Path) -> None:
    folder = Path(os.environ.get("TLIVE_SCREENSHOTS") or tmp_path)
    taken = take_all(browser, single_page.page.as_uri(), folder)
    assert [path.stem.removeprefix("report-") for path in taken] == [
        *("matrix", "slice", "sample", "leaderboard", "noise", "matrix-dark-zh"),
    ]
    for path in taken:
        with Image.open(path) as image:
            assert image.size == (1280, 880) and len(image.getcolors() or []) > 8, f"{path} shows nothing"
