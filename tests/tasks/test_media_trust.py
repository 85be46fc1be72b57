"""Data of others can do no harm: nothing is read from outside the folder or a network, and no bomb is unpacked."""

from __future__ import annotations

import json
import os
import random
import socket
import struct
import tracemalloc
import zlib
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
import soundfile
from PIL import Image
from tliveomni_eval.tasks import media_limits
from tliveomni_eval.tasks.audio_file import audio_seconds, read_audio
from tliveomni_eval.tasks.image_file import MediaError, image_size, read_image
from tliveomni_eval.tasks.manifest import MANIFEST_NAME, ManifestError, check_folder, load_samples
from tliveomni_eval.tasks.media_limits import is_address, path_refusal
from tliveomni_eval.tasks.video_file import check_video, sample_video

MOST_BYTES = 16 * 2**20
"""What refusing a hostile file may take of memory, as Python and numpy count it."""

ADDRESSES = [
    "http://example.com/a.png",
    "https://example.com/a.png",
    "HTTPS://EXAMPLE.COM/a.png",
    " http://example.com/a.png",
    "ftp://example.com/a.png",
    "http://127.0.0.1/a.png",
    "http://127.1/a.png",
    "http://2130706433/a.png",
    "http://0x7f000001/a.png",
    "http://0177.0.0.1/a.png",
    "http://0/a.png",
    "http://localhost:6379/a.png",
    "http://[::1]/a.png",
    "http://[::ffff:127.0.0.1]/a.png",
    "http://169.254.169.254/latest/meta-data/iam.png",
    "http://[fd00:ec2::254]/latest/a.png",
    "http://metadata.google.internal/computeMetadata/v1/a.png",
    "http://10.0.0.1/a.png",
    "http://172.16.0.1/a.png",
    "http://192.168.1.1/a.png",
    "http://100.64.0.1/a.png",
    "http://user:secret@127.0.0.1/a.png",
    "http://example.com@127.0.0.1/a.png",
    "http://127.0.0.1.nip.io/a.png",
    "http://①②⑦.⓪.⓪.①/a.png",
    "http:/example.com/a.png",
    "gopher://127.0.0.1:6379/_FLUSHALL.png",
    "dict://127.0.0.1:11211/a.png",
    "ldap://127.0.0.1/a.png",
    "s3://bucket/a.png",
    "hf://datasets/x/a.png",
    "smb://server/share/a.png",
    "rtsp://127.0.0.1/a.mp4",
    "file:///etc/passwd.png",
    "file:/etc/passwd.png",
    "file:a.png",
    "data:image/png;base64,AAAA.png",
    "concat:a.mp4|/etc/passwd.mp4",
    "subfile:,,start,0,end,9,,:a.mp4",
    "pipe:0.mp4",
    "cache:http://127.0.0.1/a.mp4",
    "crypto:a.mp4",
]

PATHS = [
    "/etc/passwd.png",
    "//server/share/a.png",
    "../a.png",
    "../../../../etc/passwd.png",
    "frames/../../a.png",
    "frames/..",
    "./../a.png",
    "..\\a.png",
    "frames\\..\\..\\a.png",
    "\\\\server\\share\\a.png",
    "C:\\Windows\\a.png",
    "C:a.png",
    "\\a.png",
    "~/a.png",
    "~root/a.png",
    "a\x00.png",
    "/proc/self/environ.png",
    "/dev/zero.png",
]


def write_manifest(folder: Path, path: str, media_type: str = "image") -> Path:
    """A folder whose second line names `path`."""
    folder.mkdir(exist_ok=True)
    lines = [
        {"id": name, "task": "live_ocr", "media": [{"type": media_type, "path": named}], "reference": "x"}
        for name, named in (("a", "good.png"), ("b", path))
    ]
    Image.new("RGB", (8, 8)).save(folder / "good.png")
    (folder / MANIFEST_NAME).write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any attempt to reach a network fails the test, a look-up of a name too."""

    def refuse(*arguments: Any, **_: Any) -> None:
        raise AssertionError(f"the network was asked for {arguments}")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def refused(folder: Path) -> str:
    with pytest.raises(ManifestError) as caught:
        load_samples(folder, "live_ocr")
    message = str(caught.value)
    assert "line 2, field media.0.path: " in message
    assert "line 1" not in message
    return message


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_is_refused_with_its_line(tmp_path: Path, address: str) -> None:
    assert "remote media are not loaded" in refused(write_manifest(tmp_path, address))


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("read", [read_image, read_audio, check_video])
def test_no_reader_opens_an_address(address: str, read: Callable[[Path], object]) -> None:
    with pytest.raises(MediaError, match="remote media are not loaded"):
        read(Path(address))


@pytest.mark.parametrize("path", PATHS)
def test_a_path_out_of_the_folder_is_refused_with_its_line(tmp_path: Path, path: str) -> None:
    Image.new("RGB", (8, 8)).save(tmp_path / "a.png")
    assert "inside the data folder" in refused(write_manifest(tmp_path / "data", path))


@pytest.mark.parametrize(
    "path", ["a.png", "frames/a.png", "take 2: 3.png", "a..b/c...png", "价格:1.png", ".hidden/a.png"]
)
def test_an_ordinary_path_is_not_refused(path: str) -> None:
    assert path_refusal(path) == ""
    assert not is_address(path)


@pytest.mark.parametrize("kind", ["file", "folder", "chain", "absolute"])
def test_a_link_out_of_the_folder_is_refused(tmp_path: Path, kind: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    Image.new("RGB", (8, 8)).save(outside / "a.png")
    folder = write_manifest(tmp_path / "data", "link/a.png" if kind == "folder" else "link.png")
    if kind == "folder":
        (folder / "link").symlink_to(outside)
    elif kind == "chain":
        (folder / "step.png").symlink_to("../outside/a.png")
        (folder / "link.png").symlink_to("step.png")
    else:
        (folder / "link.png").symlink_to(outside / "a.png" if kind == "absolute" else "../outside/a.png")
    assert "leads out of the data folder" in refused(folder)


def test_a_link_within_the_folder_is_followed(tmp_path: Path) -> None:
    folder = write_manifest(tmp_path, "link.png")
    (folder / "link.png").symlink_to("good.png")
    assert len(load_samples(folder, "live_ocr")) == 2


@pytest.mark.parametrize("kind", ["loop", "long", "pipe", "folder"])
def test_what_is_no_plain_file_is_refused_without_opening_it(tmp_path: Path, kind: str) -> None:
    name = "x" * 5000 + ".png" if kind == "long" else "odd.png"
    folder = write_manifest(tmp_path, name)
    if kind == "loop":
        (folder / name).symlink_to(name)
    elif kind == "pipe":
        os.mkfifo(folder / name)
    elif kind == "folder":
        (folder / name).mkdir()
    assert len(refused(folder)) < 1000
    if kind in ("pipe", "folder"):
        for read in (read_image, read_audio, check_video):
            with pytest.raises(MediaError, match="not a plain file"):
                read(folder / name)


def test_a_hostile_key_does_not_reach_the_terminal(tmp_path: Path) -> None:
    (tmp_path / MANIFEST_NAME).write_text(
        json.dumps({"id": "a", "task": "t", "reference": "", "slices": {"\x1b[2J\u202e": 1}}) + "\n"
    )
    _, faults = check_folder(tmp_path)
    assert faults
    assert not any(character in str(fault) for fault in faults for character in "\x1b\u202e")


@pytest.mark.parametrize("kind", ["image", "audio", "video"])
def test_a_file_beyond_the_byte_limit_is_refused_unread(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_manifest(tmp_path, "big", kind)
    with (folder / "big").open("wb") as file:
        file.truncate(media_limits.MAX_BYTES[kind] + 1)
    assert "more than the limit" in refused(folder)
    read: Callable[[Path], object] = {"image": read_image, "audio": read_audio, "video": check_video}[kind]
    assert_refused_cheaply(lambda: read(folder / "big"), "more than the limit")


def assert_refused_cheaply(act: Callable[[], object], says: str) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(MediaError, match=says):
            act()
        assert tracemalloc.get_traced_memory()[1] < MOST_BYTES
    finally:
        tracemalloc.stop()


def png_bomb(width: int, height: int) -> bytes:
    """A PNG of few bytes that unpacks to width × height pixels of one colour."""

    def chunk(name: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    packer = zlib.compressobj(9)
    packed = packer.compress(b"\0" * 2**20) + packer.flush()
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", packed) + chunk(b"IEND", b"")


def webp_header(kind: bytes, side: int) -> bytes:
    edge = (side - 1).to_bytes(3, "little")
    if kind == b"VP8X":
        body = bytes(4) + edge + edge
    elif kind == b"VP8L":
        body = b"\x2f" + ((side - 1) | (side - 1) << 14).to_bytes(4, "little") + bytes(6)
    else:
        body = b"\x30\x01\x00\x9d\x01\x2a" + struct.pack("<HH", side, side)
    content = b"WEBP" + kind + struct.pack("<I", len(body)) + body
    return b"RIFF" + struct.pack("<I", len(content)) + content


BOMBS = {
    "png": png_bomb(60_000, 60_000),
    "png just above the limit": png_bomb(8_001, 8_000),
    "gif": b"GIF89a"
    + struct.pack("<HH", 65_535, 65_535)
    + b"\xf0\0\0"
    + bytes(6)
    + b"\x2c"
    + struct.pack("<HHHHB", 0, 0, 65_535, 65_535, 0)
    + b"\x08\x02\x00\x00\x00\x3b",
    "bmp": b"BM" + struct.pack("<IHHIIiiHHIIiiII", 99, 0, 0, 54, 40, 50_000, 50_000, 1, 24, 0, 0, 1, 1, 0, 0),
    "webp": webp_header(b"VP8X", 16_000_000),
    "lossless webp": webp_header(b"VP8L", 16_383),
    "lossy webp": webp_header(b"VP8 ", 16_383),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_decompression_bomb_is_refused_by_its_header(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(BOMBS[name])
    for read in (read_image, image_size):
        assert_refused_cheaply(lambda read=read: read(path), r"more than the limit|exceeds limit")  # type: ignore[misc]


@pytest.mark.parametrize("lossless", [False, True])
def test_an_ordinary_webp_is_read(tmp_path: Path, lossless: bool) -> None:
    for mode in ("RGB", "RGBA"):
        Image.new(mode, (321, 123), "red").save(tmp_path / "a.webp", lossless=lossless)
        assert read_image(tmp_path / "a.webp").size == (321, 123)


@pytest.mark.parametrize(
    "content",
    [
        b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\n(/etc/passwd) run\n",
        b'<svg xmlns="http://www.w3.org/2000/svg"><image href="http://127.0.0.1/"/></svg>',
        b"#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nhttp://127.0.0.1/a.ts\n",
        b"#!/bin/sh\ntouch pwned\n",
        b"MM\0*\0\0\0\x08\0\0",
        b"OggS" + bytes(60),
        b"\x80\x04\x95",
    ],
)
def test_an_image_is_told_by_its_content(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.png").write_bytes(content)
    with pytest.raises(MediaError, match="are not an image"):
        read_image(tmp_path / "a.png")


@pytest.mark.parametrize(
    "content",
    [
        "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nhttp://127.0.0.1/a.ts\n#EXT-X-ENDLIST\n",
        "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nfile:{secret}\n#EXT-X-ENDLIST\n",
        "ffconcat version 1.0\nfile '{secret}'\n",
        "\n\nffconcat version 1.0\nfile '{secret}'\n",
        '<MPD xmlns="urn:mpeg:dash:schema:mpd:2011"><BaseURL>http://127.0.0.1/</BaseURL></MPD>',
        "v=0\no=- 0 0 IN IP4 127.0.0.1\nm=video 5004 RTP/AVP 96\n",
        "[playlist]\nFile1={secret}\n",
    ],
)
def test_a_playlist_does_not_open_other_files(tmp_path: Path, content: str) -> None:
    secret = tmp_path / "secret.mp4"
    write_video(secret, 1)
    (tmp_path / "a.mp4").write_text(content.format(secret=secret))
    with pytest.raises(MediaError, match=r"a\.mp4: it"):
        check_video(tmp_path / "a.mp4")
    check_video(secret)


def write_video(path: Path, seconds: float, sizes: tuple[tuple[int, int], ...] = ((64, 48),)) -> None:
    with av.open(str(path), "w") as container:
        stream: Any = container.add_stream("mpeg4", rate=4)
        stream.width, stream.height = sizes[0]
        stream.pix_fmt = "yuv420p"
        for number in range(round(seconds * 4)):
            frame = av.VideoFrame.from_ndarray(np.full((sizes[0][1], sizes[0][0], 3), 9, np.uint8), format="rgb24")
            frame.pts, frame.time_base = number, Fraction(1, 4)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())


def test_a_video_beyond_a_limit_is_refused_before_it_is_decoded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.mp4"
    write_video(path, 3)
    monkeypatch.setattr("tliveomni_eval.tasks.video_file._decoded", lambda *_: pytest.fail("it was decoded"))
    for name, value, says in (("MAX_SECONDS", 2.0, "3 s, more than"), ("MAX_PIXELS", 64 * 48 - 1, "64×48 pixels")):
        with monkeypatch.context() as changed:
            changed.setattr(media_limits, name, value)
            for act in (lambda: check_video(path), lambda: sample_video(path, 1, lambda *_: 9)):
                with pytest.raises(MediaError, match=says):
                    act()
    monkeypatch.setattr("tliveomni_eval.tasks.video_file.MAX_FRAME_BYTES", 3 * 64 * 48 * 3 - 1)
    with pytest.raises(MediaError, match="3 frames of 64×48"):
        sample_video(path, 1, lambda *_: 9)


def mutated(content: bytes, chance: random.Random) -> bytes:
    """Bytes changed, lost and added, mostly in the header."""
    changed = bytearray(content)
    reach = 120 if chance.random() < 0.6 else len(content)
    for _ in range(chance.choice([1, 1, 2, 4, 16])):
        place = chance.randrange(min(len(changed), reach))
        kind = chance.random()
        if kind < 0.6:
            changed[place] = chance.choice([0, 1, 127, 128, 255, chance.randrange(256)])
        elif kind < 0.8:
            del changed[place : place + chance.randrange(1, 20)]
        else:
            changed[place:place] = chance.randbytes(chance.randrange(1, 9))
        changed = changed or bytearray(b"x")
    return bytes(changed)


@pytest.mark.parametrize("suffix", ["png", "jpg", "webp", "gif", "bmp", "wav", "flac", "ogg", "mp3", "mp4"])
def test_a_damaged_file_is_read_or_refused_and_nothing_else(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"whole.{suffix}"
    reads: list[Callable[[Path], object]]
    if suffix == "mp4":
        write_video(path, 2)
        reads = [check_video, lambda damaged: sample_video(damaged, 2, lambda *_: 9)]
    elif suffix in ("wav", "flac", "ogg", "mp3"):
        soundfile.write(path, np.sin(np.arange(4000) / 5).astype(np.float32), 16_000)
        reads = [read_audio, audio_seconds]
    else:
        Image.effect_noise((40, 30), 50).convert("RGB").save(path)
        reads = [read_image, image_size]
    chance = random.Random(9)
    refused_ones = 0
    for _ in range(400):
        damaged = tmp_path / f"damaged.{suffix}"
        damaged.write_bytes(mutated(path.read_bytes(), chance))
        for read in reads:
            try:
                read(damaged)
            except MediaError as error:
                refused_ones += 1
                assert str(damaged) in str(error)
    assert refused_ones


def wav_header(seconds: int, rate: int, channels: int) -> bytes:
    length = seconds * rate * channels * 2
    layout = struct.pack("<HHIIHH", 1, channels, rate, rate * channels * 2, channels * 2, 16)
    return (
        b"RIFF"
        + struct.pack("<I", 36 + length)
        + b"WAVEfmt "
        + struct.pack("<I", 16)
        + layout
        + b"data"
        + struct.pack("<I", length)
    )


def flac_header(samples: int, rate: int, channels: int) -> bytes:
    """A FLAC file that is a header alone (RFC 9639, section 8.2)."""
    packed = rate << 44 | (channels - 1) << 41 | 15 << 36 | samples
    body = struct.pack(">HH", 4096, 4096) + bytes(6) + packed.to_bytes(8, "big") + bytes(16)
    return b"fLaC" + bytes([0x80]) + len(body).to_bytes(3, "big") + body


def test_ten_hours_by_the_header_are_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    header = wav_header(36_000, 8_000, 1)
    path.write_bytes(header)
    for read in (read_audio, audio_seconds):
        assert_refused_cheaply(lambda read=read: read(path), "576000000 bytes of its samples are missing")  # type: ignore[misc]
    with path.open("r+b") as file:
        file.truncate(len(header) + 576_000_000)
    for read in (read_audio, audio_seconds):
        assert_refused_cheaply(lambda read=read: read(path), "36000 s, more than the limit of 3600 s")  # type: ignore[misc]
    flac = tmp_path / "a.flac"
    flac.write_bytes(flac_header(36_000 * 16_000, 16_000, 1))
    assert_refused_cheaply(lambda: read_audio(flac), "36000 s, more than the limit of 3600 s")


def test_many_channels_of_compressed_silence_are_refused_unread(tmp_path: Path) -> None:
    flac = tmp_path / "a.flac"
    flac.write_bytes(flac_header(3_000 * 96_000, 96_000, 8))
    assert_refused_cheaply(lambda: read_audio(flac), "288000000 samples of 8 channels, more than the limit")


def test_audio_within_the_limits_is_read(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.flac", np.zeros((1600, 2), np.float32), 16_000)
    assert read_audio(tmp_path / "a.flac").seconds == 0.1
