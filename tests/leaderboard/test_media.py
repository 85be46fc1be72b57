from __future__ import annotations

import base64
import wave
from pathlib import Path

import pytest
from PIL import Image
from tliveomni_eval.leaderboard.media_inclusion import CopiedMedia, EmbeddedMedia
from tliveomni_eval.leaderboard.media_kind import sniff
from tliveomni_eval.leaderboard.media_location import MediaLocator


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "root" / "images").mkdir(parents=True)
    Image.new("RGB", (8, 8), "blue").save(tmp_path / "root" / "images" / "a.webp")
    Image.new("RGB", (8, 8), "red").save(tmp_path / "outside.png")
    return tmp_path / "root"


@pytest.mark.parametrize(
    "suffix, mime", [("png", "image/png"), ("webp", "image/webp"), ("jpg", "image/jpeg"), ("gif", "image/gif")]
)
def test_pictures_are_known_by_their_bytes(tmp_path: Path, suffix: str, mime: str) -> None:
    path = tmp_path / f"x.{suffix}"
    Image.new("RGB", (8, 8), "blue").save(path)
    found = sniff(path.read_bytes()[:16])
    assert found is not None and found.mime == mime and found.kind == "image"


def test_recordings_are_known_by_their_bytes(tmp_path: Path) -> None:
    with wave.open(str(tmp_path / "x.wav"), "wb") as file:
        file.setparams((1, 2, 16_000, 0, "NONE", ""))
        file.writeframes(b"\0\0" * 100)
    found = sniff((tmp_path / "x.wav").read_bytes()[:16])
    assert found is not None and found.kind == "audio"


@pytest.mark.parametrize(
    "content", [b"", b"<svg xmlns='http://www.w3.org/2000/svg'><script/></svg>", b"GIF", b"root:x:0:0"]
)
def test_anything_else_is_no_medium(content: bytes) -> None:
    assert sniff(content[:16]) is None


@pytest.mark.parametrize("name", ["images/a.webp", "a.webp/../images/a.webp", "/data/elsewhere/images/a.webp"])
def test_a_medium_below_a_root_is_found(root: Path, name: str) -> None:
    found = MediaLocator([root]).find(name)
    assert found.path == root / "images" / "a.webp"


def test_absolute_paths_and_addresses_are_found(root: Path) -> None:
    path = root / "images" / "a.webp"
    assert MediaLocator([root]).find(str(path)).path == path
    assert MediaLocator([root]).find(path.as_uri()).path == path


@pytest.mark.parametrize(
    "name", ["../outside.png", "images/../../outside.png", "x\0y.png", "https://example.org/a.png", "a" * 5000]
)
def test_what_is_outside_is_not_found(root: Path, name: str) -> None:
    found = MediaLocator([root]).find(name)
    assert found.type is None and found.path is None and found.reason


def test_absolute_outside_and_links_are_not_followed(root: Path) -> None:
    (root / "link.png").symlink_to(root.parent / "outside.png")
    for name in (str(root.parent / "outside.png"), "link.png", str(root / "link.png")):
        assert MediaLocator([root]).find(name).path is None


def test_inline_media(root: Path) -> None:
    content = (root / "images" / "a.webp").read_bytes()
    encoded = base64.b64encode(content).decode()
    locator = MediaLocator([])
    assert locator.find(f"data:image/webp;base64,{encoded}").content == content
    for bad in ("data:image/png;base64,@@@", "data:image/png,abc", "data:text/html;base64,PHNjcmlwdD4="):
        assert locator.find(bad).type is None


def test_embedding_stops_at_the_limit_and_says_so(root: Path) -> None:
    medium = MediaLocator([root]).find("images/a.webp")
    inclusion = EmbeddedMedia("changed", medium.size + 1)
    first = inclusion.include(medium, important=True)
    assert base64.b64decode(first.source.partition(",")[2]) == (root / "images" / "a.webp").read_bytes()
    assert "limit" in inclusion.include(medium, important=True).reason
    assert "--media all" in inclusion.include(medium, important=False).reason


def test_copies_are_named_by_content(root: Path, tmp_path: Path) -> None:
    (root / "same.webp").write_bytes((root / "images" / "a.webp").read_bytes())
    locator = MediaLocator([root])
    inclusion = CopiedMedia("all", tmp_path / "page")
    sources = {inclusion.include(locator.find(name), important=False).source for name in ("images/a.webp", "same.webp")}
    assert len(sources) == 1
    assert len(list((tmp_path / "page" / "media").iterdir())) == 1
