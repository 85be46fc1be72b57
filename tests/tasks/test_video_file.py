"""A video gives frames at the times asked for, and a file that is none gives a message that names it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tliveomni_eval.model_adapters.vllm_backend.chat_prompt import SOUND_OF_VIDEO, build_chat_prompt
from tliveomni_eval.model_adapters.vllm_backend.media_settings import MediaSettings
from tliveomni_eval.model_adapters.vllm_backend.video_frames import FrameSampling, read_video_frames
from tliveomni_eval.tasks.composer.stream.stream_file import write_stream
from tliveomni_eval.tasks.composer.stream.stream_space import FRAME_SIZE, TICKS_PER_SECOND
from tliveomni_eval.tasks.image_file import MediaError
from tliveomni_eval.tasks.manifest import EXTENSIONS
from tliveomni_eval.tasks.media_check import damaged_media
from tliveomni_eval.tasks.video_file import check_video, sample_video

SECONDS = 6


@pytest.fixture(scope="module")
def video(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six seconds; each second has its own grey level, 20 times its number."""
    path = tmp_path_factory.mktemp("video") / "grey.mp4"
    width, height = FRAME_SIZE
    frames = (
        np.full((height, width, 3), 20 * (tick // TICKS_PER_SECOND), dtype=np.uint8)
        for tick in range(SECONDS * TICKS_PER_SECOND)
    )
    write_stream(path, frames, np.zeros(16_000 * SECONDS, dtype=np.float32))
    return path


def test_frames_are_taken_at_even_distances_and_know_their_times(video: Path) -> None:
    sampled = sample_video(video, 1.0, lambda width, height: 100)
    assert sampled.times == (0.0, 1.0, 2.0, 3.0, 4.0, 5.0)
    assert sampled.frames.shape == (6, FRAME_SIZE[1], FRAME_SIZE[0], 3)
    levels = sampled.frames.mean(axis=(1, 2, 3))
    assert np.abs(levels - 20 * np.arange(6)).max() < 8
    assert sampled.duration == pytest.approx(SECONDS, abs=0.15)


@settings(max_examples=15)
@given(rate=st.floats(0.1, 40), most=st.integers(1, 50))
def test_any_rate_gives_at_least_one_frame_and_at_most_the_limit(video: Path, rate: float, most: int) -> None:
    sampled = sample_video(video, rate, lambda width, height: most)
    assert 1 <= len(sampled.frames) == len(sampled.times) <= most
    assert list(sampled.times) == sorted(set(sampled.times))


def test_frames_fit_into_the_context(video: Path) -> None:
    whole, _ = read_video_frames(video, FrameSampling(frames_a_second=2.0))
    assert len(whole.frames) == 2 * SECONDS
    # 8 x 5 tokens and a timestamp for two frames: 56 tokens; 1024 are kept for question and answer.
    short, metadata = read_video_frames(video, FrameSampling(frames_a_second=2.0, context=1024 + 3 * 56))
    assert len(short.frames) == 6
    assert metadata["frames_indices"] == [0, 10, 20, 30, 40, 50]
    assert metadata["fps"] == TICKS_PER_SECOND
    assert metadata["do_sample_frames"] is False


def test_the_sound_of_a_video_is_left_out_and_said_to_be(video: Path, tmp_path: Path) -> None:
    silent = tmp_path / "silent.mp4"
    write_stream(silent, (np.zeros((FRAME_SIZE[1], FRAME_SIZE[0], 3), dtype=np.uint8) for _ in range(20)))
    for path, ignored in ((video, {SOUND_OF_VIDEO}), (silent, set())):
        content = [{"type": "video", "url": str(path)}, {"type": "text", "text": "When?"}]
        prompt = build_chat_prompt(
            [{"role": "user", "content": content}], _Template(), MediaSettings(frozenset({"video"}))
        )
        assert prompt.ignored == ignored
        ((frames, metadata),) = prompt.media["video"]
        assert len(frames) == len(metadata["frames_indices"])


class _Template:
    def apply_chat_template(self, conversation: object, *, tokenize: bool, add_generation_prompt: bool) -> str:
        return str(conversation)


def test_a_whole_video_passes_the_check_and_a_cut_one_does_not(video: Path, tmp_path: Path) -> None:
    check_video(video)
    rng = np.random.default_rng(0)
    noisy = (rng.integers(0, 255, (FRAME_SIZE[1], FRAME_SIZE[0], 3), dtype=np.uint8) for _ in range(40))
    whole = tmp_path / "noise.mp4"
    write_stream(whole, noisy)
    cut = tmp_path / "cut.mp4"
    cut.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    check_video(whole)
    with pytest.raises(MediaError, match=r"cut\.mp4: .*(truncated|damaged)"):
        check_video(cut)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "0 bytes"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0", "Git LFS pointer"),
        (b"<!DOCTYPE html><html>", "text, not a video"),
        (b"\x89PNG\r\n\x1a\n" + bytes(40), "PNG image"),
        (bytes(range(256)) * 8, "of no container"),
    ],
)
def test_what_is_no_video_is_named(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "a.mp4"
    path.write_bytes(content)
    for read in (check_video, lambda file: sample_video(file, 1.0, lambda width, height: 8)):
        with pytest.raises(MediaError, match=says) as caught:
            read(path)
        assert str(path) in str(caught.value)
    with pytest.raises(MediaError, match="no such file"):
        check_video(tmp_path / "gone.mp4")


def test_the_data_check_decodes_videos(video: Path, tmp_path: Path) -> None:
    assert EXTENSIONS[video.suffix] == "video"
    lines = []
    for name, content in (("good", video.read_bytes()), ("bad", b"<html>")):
        (tmp_path / f"{name}.mp4").write_bytes(content)
        lines.append(f'{{"id": "{name}", "task": "t", "media": ["{name}.mp4"], "reference": []}}')
    (tmp_path / "manifest.jsonl").write_text("\n".join(lines), encoding="utf-8")
    assert [(fault.line, fault.field) for fault in damaged_media(tmp_path)] == [(2, "media.0.path")]
