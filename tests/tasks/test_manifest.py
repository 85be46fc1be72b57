"""A manifest is read as it stands, and every fault of one is named with its line and field."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image, ImageFile
from tliveomni_eval.tasks.image_file import MediaError, read_image
from tliveomni_eval.tasks.manifest import ManifestError, check_folder, load_samples
from tliveomni_eval.tasks.media_check import damaged_media


def line(**changes: object) -> dict[str, object]:
    content: dict[str, object] = {
        "id": "a",
        "task": "live_ocr",
        "media": [{"type": "image", "path": "a.png"}],
        "prompt": "Read the price.",
        "reference": "¥19.90",
        "slices": {"lang": "en"},
        "context": {"field": "price"},
    }
    content.update(changes)
    return {key: value for key, value in content.items() if value is not None}


def write_folder(folder: Path, *lines: object, image: bool = True) -> Path:
    folder.mkdir(exist_ok=True)
    texts = [text if isinstance(text, str) else json.dumps(text, ensure_ascii=False) for text in lines]
    (folder / "manifest.jsonl").write_text("\n".join(texts) + "\n", encoding="utf-8")
    if image:
        Image.new("RGB", (8, 8), "red").save(folder / "a.png")
    return folder


def test_good_samples_come_back_in_order(tmp_path: Path) -> None:
    folder = write_folder(tmp_path, line(), line(id="b", cluster="stream-1"), line(id="c", task="other"))
    samples = load_samples(folder, "live_ocr")
    assert [(sample.id, sample.cluster) for sample in samples] == [("a", "a"), ("b", "stream-1")]


def test_a_bare_media_path_is_typed_by_its_extension(tmp_path: Path) -> None:
    folder = write_folder(tmp_path, line(media=["a.png"]))
    assert load_samples(folder, "live_ocr")[0].media[0].type == "image"


@pytest.mark.parametrize(
    ("broken", "place", "says"),
    [
        (line(reference=None), "line 2, field reference", "missing"),
        (line(id=None), "line 2, field id", "missing"),
        (line(id=""), "line 2, field id", "got ''"),
        ('{"id": "b"', "line 2", "not JSON"),
        ("[1, 2]", "line 2", "dictionary"),
        (line(promt="x"), "line 2, field promt", "did you mean 'prompt'"),
        (line(id="b", slices={"lang": 3}), "line 2, field slices.lang", "got 3"),
        (line(id="b", media=["a.xyz"]), "line 2", "a.xyz"),
        (line(id="b", media=["../a.png"]), "line 2, field media.0.path", "../a.png"),
        (line(id="b", media=["/etc/passwd.png"]), "line 2, field media.0.path", "/etc/passwd.png"),
        (line(id="b", media=["gone.png"]), "line 2, field media.0.path", "no file 'gone.png'"),
        (line(id="b", media=["empty.png"]), "line 2, field media.0.path", "0 bytes"),
        (line(), "line 2, field id", "also the id of line 1"),
    ],
)
def test_each_fault_names_line_and_field(tmp_path: Path, broken: object, place: str, says: str) -> None:
    folder = write_folder(tmp_path, line(), broken)
    (folder / "empty.png").touch()
    with pytest.raises(ManifestError) as caught:
        load_samples(folder, "live_ocr")
    assert place in str(caught.value)
    assert says in str(caught.value)


def test_all_faults_are_found_at_once(tmp_path: Path) -> None:
    folder = write_folder(tmp_path, line(reference=None), "{", line(id="c", media=["gone.png"]), line(id="d"))
    samples, faults = check_folder(folder)
    assert [fault.line for fault in faults] == [1, 2, 3]
    assert [sample.id for sample in samples] == ["d"]


def test_a_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    secret = tmp_path / "secret.png"
    Image.new("RGB", (8, 8)).save(secret)
    folder = write_folder(tmp_path / "data", line(media=["link.png"]))
    (folder / "link.png").symlink_to(secret)
    with pytest.raises(ManifestError, match="leads out of the data folder"):
        load_samples(folder, "live_ocr")


def test_a_line_without_end_is_refused_and_the_next_is_read(tmp_path: Path) -> None:
    folder = write_folder(tmp_path, "x" * 3_000_000, line())
    samples, faults = check_folder(folder)
    assert [sample.id for sample in samples] == ["a"]
    assert [fault.line for fault in faults] == [1]


def test_not_utf8_names_the_line(tmp_path: Path) -> None:
    folder = write_folder(tmp_path, line())
    with (folder / "manifest.jsonl").open("ab") as file:
        file.write(b'{"id": "\xff"}\n')
    _, faults = check_folder(folder)
    assert [(fault.line, "UTF-8" in fault.message) for fault in faults] == [(2, True)]


@pytest.mark.parametrize("missing", ["folder", "manifest", "task"])
def test_nothing_to_read_says_what_to_do(tmp_path: Path, missing: str) -> None:
    folder = tmp_path / "data"
    if missing != "folder":
        folder.mkdir()
    if missing == "task":
        write_folder(folder, line())
    with pytest.raises(ManifestError) as caught:
        load_samples(folder, "live_asr" if missing == "task" else "live_ocr")
    assert {"folder": "TLIVE_DATA", "manifest": "docs/data.md", "task": "live_asr"}[missing] in str(caught.value)


@pytest.mark.parametrize("lenient", [False, True])
@pytest.mark.parametrize("content", [b"", b"not an image", b"cut"])
def test_a_damaged_image_is_named_even_where_a_package_made_pillow_lenient(
    tmp_path: Path, content: bytes, lenient: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", lenient)
    path = tmp_path / "a.png"
    Image.effect_noise((64, 64), 50).save(path)
    path.write_bytes(path.read_bytes()[:200] if content == b"cut" else content)
    with pytest.raises(MediaError) as caught:
        read_image(path)
    assert str(path) in str(caught.value)


def test_a_missing_image_and_a_bomb_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(MediaError, match="no such file"):
        read_image(tmp_path / "gone.png")
    Image.new("RGB", (64, 64)).save(tmp_path / "big.png")
    monkeypatch.setattr("tliveomni_eval.tasks.media_limits.MAX_PIXELS", 1000)
    with pytest.raises(MediaError, match="64×64"):
        read_image(tmp_path / "big.png")


def test_damaged_media_lists_only_the_damaged(tmp_path: Path) -> None:
    folder = write_folder(tmp_path, line(), line(id="b", media=["bad.webp"]))
    (folder / "bad.webp").write_bytes(b"RIFF")
    assert [(fault.line, fault.field) for fault in damaged_media(folder)] == [(2, "media.0.path")]


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(content=st.binary(max_size=400) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_bytes_give_samples_or_faults_never_an_exception(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "manifest.jsonl").write_bytes(content)
    samples, faults = check_folder(tmp_path)
    assert len(samples) + len(faults) >= sum(1 for text in content.split(b"\n") if text.strip())


json_values = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=True) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.dictionaries(st.sampled_from(["id", "task", "media", "reference", "slices", "context", "x"]), json_values))
def test_any_object_gives_a_sample_or_faults(tmp_path: Path, content: dict[str, object]) -> None:
    write_folder(tmp_path, json.dumps(content), image=False)
    samples, faults = check_folder(tmp_path)
    assert samples or faults
