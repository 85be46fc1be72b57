"""Nothing a log contains runs as a script or becomes markup, and no path leaves the media roots."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest
from PIL import Image
from playwright.sync_api import Page, expect
from synthetic_run import SyntheticSample, right, write_run
from tliveomni_eval.leaderboard.page_html import script_safe_json
from tliveomni_eval.leaderboard.report import WrittenReport, write_report

Opener = Callable[..., Page]

HOSTILE = [
    "<script>alert(1)</script>",
    "</script><script>alert(2)</script>",
    "<!--<script>",
    "--><img src=x onerror=alert(3)>",
    "<img src=x onerror=alert(4)>",
    '"><svg onload=alert(5)>',
    "'-alert(6)-'",
    "javascript:alert(7)",
    "data:text/html,<script>alert(8)</script>",
    "{{constructor.constructor('alert(9)')()}}",
    "${alert(10)}",
    "`${alert(11)}`",
    "__proto__",
    "constructor",
    "toString",
    "../../../../etc/passwd",
    "..\\..\\windows\\win.ini",
    "/etc/passwd",
    "%2e%2e%2f%2e%2e%2fetc%2fpasswd",
    "a/b?c#d&e=f",
    "#/sample/live_ocr/x",
    "\u2028\u2029",
    "\u202egnp.exe",
    "\ud800lone surrogate",
    "NUL\x00 and \x1b[31mred",
    "&lt;b&gt; &amp; &#x3c;",
    "]]><![CDATA[<b>",
    "<style>*{display:none}</style>",
    "<base href=//evil.invalid/><link rel=stylesheet href=//evil.invalid/x>",
    "\"',;=%=&\\",
]


def say_something_else(sample: SyntheticSample, _: random.Random) -> str:
    return HOSTILE[(HOSTILE.index(sample.reference) + 1) % len(HOSTILE)]


@pytest.fixture(scope="module", params=["single", "folder"])
def hostile(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> WrittenReport:
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "secret").mkdir()
    Image.new("RGB", (4, 4), "red").save(folder / "secret" / "private.png")
    (folder / "media").mkdir()
    Image.new("RGB", (4, 4), "blue").save(folder / "media" / "shown.png")
    (folder / "media" / "link.png").symlink_to(folder / "secret" / "private.png")
    (folder / "media" / "page.png").write_text("<script>alert('page')</script>")
    media = ["../secret/private.png", str(folder / "secret" / "private.png"), "link.png", "page.png", "shown.png"]
    data = [
        SyntheticSample(
            text, text, {"lang": "en", "word": text, text.strip() or "blank": "value"}, media=[text, *media]
        )
        for text in HOSTILE
    ]
    runs = _two_runs(folder / "runs", data)
    output = folder / ("report.html" if request.param == "single" else "report")
    return write_report(runs, output, media_roots=[folder / "media"], title="</title><script>alert(0)</script>")


def _two_runs(folder: Path, data: list[SyntheticSample]) -> list[Path]:
    first = write_run(folder, "bf16", data, right)
    second = write_run(folder, "w4", data, say_something_else)
    info = json.loads((second / "run.json").read_text())
    info["name"] = info["variant"] = "<img src=x onerror=alert('run')>"
    info["versions"]["</script><script>alert('version')</script>"] = "<b>1</b>"
    (second / "run.json").write_text(json.dumps(info))
    return [first, second]


def test_every_view_shows_hostile_text_as_text(open_page: Opener, hostile: WrittenReport) -> None:
    page = open_page(hostile)
    candidate = "<img src=x onerror=alert('run')>"
    expect(page.locator(".card h2 a")).to_have_text(candidate)
    for address in (
        f"#/task/live_ocr/{quote(candidate, safe='')}?show=all",
        "#/compare",
        *(
            f"#/slice/live_ocr/word/{quote(text, safe='', errors='surrogatepass')}/{quote(candidate, safe='')}"
            for text in HOSTILE
            if "\ud800" not in text
        ),
        *(
            f"#/sample/live_ocr/{quote(text, safe='')}?candidate={quote(candidate, safe='')}"
            for text in HOSTILE
            if "\ud800" not in text
        ),
    ):
        page.evaluate("address => { location.hash = address }", address)
        expect(page.locator("main h1").first).to_be_attached()
        expect(page.locator("h1").first).not_to_have_text("There is nothing at this address")
        for forbidden in (
            "main script",
            "main style:not(.distribution svg style)",
            "main base",
            "main link",
            "main iframe",
            "main svg[onload]",
            "[onerror]",
        ):
            assert page.locator(forbidden).count() == 0, (address, forbidden)
    assert page.title().startswith("</title>")


def test_only_media_below_the_roots_are_shown(open_page: Opener, hostile: WrittenReport) -> None:
    page = open_page(hostile, "#/sample/live_ocr/toString")
    expect(page.locator(".picture img")).to_have_count(1)
    expect(page.locator(".left-out")).to_have_count(5)
    if hostile.page.name == "index.html":
        copied = [path for path in (hostile.page.parent / "media").iterdir()]
        assert len(copied) == 1
        assert Image.open(copied[0]).getpixel((0, 0)) == (0, 0, 255)


def test_text_cannot_leave_its_data_block() -> None:
    text = script_safe_json({"texts": HOSTILE})
    assert not set(text) & set("<>&\u2028\u2029\ud800")
    assert json.loads(text)["texts"] == HOSTILE
