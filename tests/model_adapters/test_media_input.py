"""What a checkpoint is given of images, audios and videos, and what is refused before any sample runs."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import soundfile
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from tliveomni_eval.evals.errors import UserError
from tliveomni_eval.model_adapters.checkpoint import LocatedCheckpoint
from tliveomni_eval.model_adapters.vllm_backend.chat_prompt import SOUND_OF_VIDEO, build_chat_prompt
from tliveomni_eval.model_adapters.vllm_backend.media_acceptance import MediaAcceptance
from tliveomni_eval.model_adapters.vllm_backend.media_input import at_rate, read_medium
from tliveomni_eval.model_adapters.vllm_backend.media_settings import MediaSettings, resolve_media_settings
from tliveomni_eval.model_adapters.vllm_backend.model_arguments import ModelArguments
from tliveomni_eval.model_adapters.vllm_backend.pixel_limits import PixelLimits
from tliveomni_eval.model_adapters.vllm_backend.sample_counts import SampleCounts
from tliveomni_eval.model_adapters.vllm_backend.video_frames import FrameSampling
from tliveomni_eval.tasks.composer.stream.stream_file import write_stream
from tliveomni_eval.tasks.composer.stream.stream_space import FRAME_SIZE, TICKS_PER_SECOND

SECONDS = 4
ALL_KINDS = frozenset({"image", "video", "audio"})


@pytest.fixture(scope="module")
def videos(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("videos")
    tone = (np.sin(np.arange(16_000 * SECONDS) / 6) / 2).astype(np.float32)
    for name, sound in (("heard", tone), ("other", tone * 0.5), ("silent", None)):
        frames = (
            np.full((FRAME_SIZE[1], FRAME_SIZE[0], 3), tick, dtype=np.uint8)
            for tick in range(SECONDS * TICKS_PER_SECOND)
        )
        write_stream(folder / f"{name}.mp4", frames, sound)
    return {name: folder / f"{name}.mp4" for name in ("heard", "other", "silent")}


class KindsTemplate:
    def apply_chat_template(self, conversation: Any, *, tokenize: bool, add_generation_prompt: bool) -> str:
        return " ".join(part["type"] for message in conversation for part in message["content"])


def _prompt(settings: MediaSettings, *media: tuple[str, Any]) -> Any:
    content = [{"type": kind, "url": str(url)} for kind, url in media]
    return build_chat_prompt([{"role": "user", "content": content}], KindsTemplate(), settings)


def test_sound_stands_among_the_audios_in_the_place_of_its_video(videos: dict[str, Path], tmp_path: Path) -> None:
    speech = np.linspace(-0.5, 0.5, 8_000, dtype=np.float32)
    soundfile.write(tmp_path / "a.wav", speech, 16_000, subtype="FLOAT")
    settings = MediaSettings(ALL_KINDS, use_audio_in_video=True, audio_rate=16_000)
    prompt = _prompt(settings, ("audio", tmp_path / "a.wav"), ("video", videos["heard"]), ("audio", tmp_path / "a.wav"))
    assert prompt.text == "audio video audio"
    first, sound, last = (samples for samples, _ in prompt.media["audio"])
    assert len(first) == len(last) == 8_000
    assert abs(len(sound) - 16_000 * SECONDS) < 2_000
    assert prompt.processor_kwargs == {"use_audio_in_video": True}
    assert prompt.ignored == frozenset()
    assert [record["type"] for record in prompt.records] == ["audio", "video", "audio"]
    assert prompt.records[1]["sound_seconds"] == pytest.approx(SECONDS, abs=0.15)
    assert prompt.media_bytes >= sum(samples.nbytes for samples, _ in prompt.media["audio"])


def test_key_of_a_prompt_depends_on_the_sound(videos: dict[str, Path]) -> None:
    hearing = MediaSettings(ALL_KINDS, use_audio_in_video=True, audio_rate=16_000)
    deaf = MediaSettings(ALL_KINDS, use_audio_in_video=False)
    heard, other = (_prompt(hearing, ("video", videos[name])) for name in ("heard", "other"))
    unheard = _prompt(deaf, ("video", videos["heard"]))
    assert np.array_equal(heard.media["video"][0][0], other.media["video"][0][0])
    assert len({heard.key, other.key, unheard.key}) == 3
    assert unheard.ignored == {SOUND_OF_VIDEO}
    assert unheard.processor_kwargs == {}
    assert "audio" not in unheard.media


def test_sound_is_given_for_all_videos_of_a_prompt_or_for_none(videos: dict[str, Path]) -> None:
    settings = MediaSettings(ALL_KINDS, use_audio_in_video=True, audio_rate=16_000)
    both = _prompt(settings, ("video", videos["heard"]), ("video", videos["other"]))
    mixed = _prompt(settings, ("video", videos["heard"]), ("video", videos["silent"]))
    silent = _prompt(settings, ("video", videos["silent"]))
    assert len(both.media["audio"]) == 2
    assert ("audio" in mixed.media, mixed.ignored) == (False, {SOUND_OF_VIDEO})
    assert ("audio" in silent.media, silent.ignored) == (False, frozenset())


def test_frames_leave_room_for_the_sound(videos: dict[str, Path]) -> None:
    # 8 x 5 tokens and a timestamp for two frames: 56; 13 tokens of sound a second take 52 or a few more.
    frames = FrameSampling(frames_a_second=4.0, context=1024 + 3 * 56)
    with_sound = MediaSettings(ALL_KINDS, use_audio_in_video=True, audio_rate=16_000, frames=frames)
    without = MediaSettings(ALL_KINDS, frames=frames)
    assert _prompt(without, ("video", videos["heard"])).records[0]["frames"] == 6
    assert _prompt(with_sound, ("video", videos["heard"])).records[0]["frames"] == 4


def test_processor_that_goes_by_a_rate_is_told_the_one_of_the_frames(videos: dict[str, Path]) -> None:
    settings = MediaSettings(ALL_KINDS, frames=FrameSampling(max_frames=6), rate_to_processor=True)
    prompt = _prompt(settings, ("video", videos["silent"]))
    assert prompt.processor_kwargs == {"fps": pytest.approx(6 / SECONDS, abs=0.05)}


def test_audio_comes_at_the_rate_of_the_checkpoint(tmp_path: Path) -> None:
    tone = np.sin(2 * np.pi * 440 * np.arange(44_100) / 44_100).astype(np.float32)
    soundfile.write(tmp_path / "a.wav", tone, 44_100, subtype="FLOAT")
    medium = read_medium("audio", tmp_path / "a.wav", MediaSettings(ALL_KINDS, audio_rate=16_000))
    samples, rate = medium.item
    assert (len(samples), rate, medium.record["seconds"]) == (16_000, 16_000, 1.0)
    expected = np.sin(2 * np.pi * 440 * np.arange(16_000) / 16_000)
    assert np.abs(samples[500:-500] - expected[500:-500]).max() < 0.01


def test_audio_at_the_rate_of_the_checkpoint_is_not_touched() -> None:
    samples = np.arange(5, dtype=np.float32)
    assert at_rate(samples, 16_000, 16_000) is samples
    assert at_rate(samples, 8_000, None) is samples


@pytest.mark.parametrize("samples", [1, 200])
def test_audio_too_short_to_hear_is_named(tmp_path: Path, samples: int) -> None:
    soundfile.write(tmp_path / "blip.wav", np.zeros(samples, dtype=np.float32), 16_000)
    with pytest.raises(UserError, match=r"blip\.wav: .* too short .*12\.5 ms"):
        read_medium("audio", str(tmp_path / "blip.wav"), MediaSettings(ALL_KINDS))


def test_medium_in_a_form_that_is_not_known_is_named() -> None:
    for kind in ("audio", "video"):
        with pytest.raises(UserError, match=f"{kind} given as int is not supported"):
            read_medium(kind, 7, MediaSettings(ALL_KINDS))


@settings(max_examples=80)
@given(
    width=st.integers(1, 5000), height=st.integers(1, 5000), most=st.integers(1024, 10**6), least=st.integers(1, 1024)
)
def test_pictures_end_up_within_the_limits_and_are_left_alone_where_they_are(
    width: int, height: int, most: int, least: int
) -> None:
    new_width, new_height = PixelLimits(least, most, 32).size(width, height)
    if least <= width * height <= most:
        assert (new_width, new_height) == (width, height)
        return
    assert new_width % 32 == new_height % 32 == 0
    # A picture so narrow that a side would vanish keeps one token's width there, whatever the limit.
    assert new_width * new_height <= most or 32 in (new_width, new_height)
    assert new_width * new_height >= least


def test_images_and_frames_are_resized_and_recorded(videos: dict[str, Path]) -> None:
    settings = MediaSettings(ALL_KINDS, pixels=PixelLimits(most=64 * 64))
    image = read_medium("image", Image.new("RGB", (400, 200)), settings)
    assert image.item.size == (64, 32)
    assert (image.record["width"], image.record["height"]) == (64, 32)
    video = read_medium("video", videos["silent"], settings)
    assert video.item[0].shape[1:] == (32, 64, 3)
    assert (video.record["width"], video.record["height"]) == (64, 32)


_PROCESSOR = SimpleNamespace(
    video_processor=SimpleNamespace(fps=1, max_frames=96, patch_size=16, merge_size=2, temporal_patch_size=2),
    feature_extractor=SimpleNamespace(sampling_rate=16_000),
)


def _settings(kinds: frozenset[str] = ALL_KINDS, architecture: str = "TLiveOmni", **given: Any) -> MediaSettings:
    return resolve_media_settings(ModelArguments.from_mapping(given), kinds, architecture, _PROCESSOR, 8192)


def test_sound_is_on_where_the_checkpoint_can_hear_a_video_and_the_user_may_turn_it_off() -> None:
    assert _settings().use_audio_in_video
    assert not _settings(use_audio_in_video="false").use_audio_in_video
    assert not _settings(frozenset({"image", "video"})).use_audio_in_video
    assert _settings().audio_rate == 16_000
    assert _settings(frozenset({"image", "video"})).audio_rate is None


def test_what_the_user_sets_goes_before_the_checkpoint() -> None:
    assert _settings().as_record() == {
        "use_audio_in_video": True, "fps": 1.0, "max_frames": 96, "min_pixels": None, "max_pixels": None
    }  # fmt: skip
    chosen = _settings(fps="0.5", max_frames="12", min_pixels=1024, max_pixels="65536", use_audio_in_video=False)
    assert chosen.as_record() == {
        "use_audio_in_video": False, "fps": 0.5, "max_frames": 12, "min_pixels": 1024, "max_pixels": 65536
    }  # fmt: skip
    assert "0.5 frames a second, at most 12" in chosen.describe()
    assert "without their sound; images and frames have 1024 to 65536 pixels" in chosen.describe()
    assert _settings(frozenset({"audio"})).describe() == ""
    assert _settings(frozenset({"audio"})).as_record() == {}


def test_only_architectures_that_go_by_a_rate_are_told_it() -> None:
    assert _settings(architecture="Qwen3OmniMoeForConditionalGeneration").rate_to_processor
    assert not _settings(architecture="Qwen3VLForConditionalGeneration").rate_to_processor


@pytest.mark.parametrize(
    ("kinds", "given", "message"),
    [
        ({"image", "video"}, {"use_audio_in_video": True}, "takes image, video, so it cannot hear a video"),
        (ALL_KINDS, {"min_pixels": 9, "max_pixels": 8}, "min_pixels=9 is more than max_pixels=8"),
        (ALL_KINDS, {"fps": 0}, "fps=0: must be above 0"),
        (ALL_KINDS, {"fps": "inf"}, "must be above 0"),
        (ALL_KINDS, {"max_frames": 0}, "max_frames=0: must be at least 1"),
        (ALL_KINDS, {"media_not_taken": "drop"}, "media_not_taken='drop': must be error or leave_out"),
    ],
)
def test_settings_that_cannot_be_are_an_error(kinds: set[str], given: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        _settings(frozenset(kinds), **given)


def _acceptance(leave_out: bool) -> MediaAcceptance:
    checkpoint = LocatedCheckpoint("my-model", "", Path("/m"), "Qwen3VL", 100, frozenset({"image", "video"}))
    return MediaAcceptance(checkpoint, leave_out)


def _request(task: str, number: int) -> Any:
    return SimpleNamespace(args=("", None, {}, number, task, "test"))


def test_media_that_are_not_taken_are_found_before_any_request_is_answered() -> None:
    documents = {
        ("live_ocr", 0): {"media": [{"type": "image", "path": "a.png"}]},
        ("live_asr", 0): {"media": [{"type": "audio", "path": "a.wav"}]},
        ("foreign", 0): {"question": "?"},
    }
    rendered: list[str] = []

    def messages_of(request: Any) -> Any:
        rendered.append(request.args[4])
        return [{"role": "user", "content": [{"type": "text", "text": "?"}, {"type": "image", "url": None}]}]

    def document_of(request: Any) -> Any:
        return documents[request.args[4], 0]

    requests = [_request("live_ocr", 0), *(_request("foreign", number) for number in range(3)), _request("live_asr", 0)]
    with pytest.raises(
        UserError, match=r"task live_asr, document 0 holds audio, .*my-model \(Qwen3VL\) takes image, v"
    ):
        _acceptance(leave_out=False).check_all(requests, document_of, messages_of)
    assert rendered == ["foreign"]
    _acceptance(leave_out=False).check_all(requests[:-1], document_of, messages_of)
    _acceptance(leave_out=True).check_all(requests, document_of, messages_of)


def test_later_document_of_a_foreign_task_ends_the_run_when_its_turn_comes() -> None:
    with pytest.raises(UserError, match="task t, document 7 holds audio"):
        _acceptance(leave_out=False).check("t", 7, {"audio"})
    # The sound of a video is no medium of its own: the video is answered without, which the log says.
    _acceptance(leave_out=False).check("t", 7, {SOUND_OF_VIDEO})


def test_nano_leaves_out_what_it_does_not_take_and_other_checkpoints_do_not() -> None:
    assert ModelArguments.from_mapping({}).leaves_media_out
    assert not ModelArguments.from_mapping({"model": "/models/a"}).leaves_media_out
    assert ModelArguments.from_mapping({"model": "/models/a", "media_not_taken": "leave_out"}).leaves_media_out
    assert not ModelArguments.from_mapping({"media_not_taken": "error"}).leaves_media_out


def test_log_of_a_sample_has_its_tokens_and_what_was_given_of_its_media() -> None:
    counts = SampleCounts(10, 2, [{"type": "image", "width": 64, "height": 32}])
    media = [{"type": "image", "width": 64, "height": 32}]
    assert counts.to_dict() == {"input_tokens": 10, "output_tokens": 2, "media": media}
    assert SampleCounts(10, 2).to_dict() == {"input_tokens": 10, "output_tokens": 2}
