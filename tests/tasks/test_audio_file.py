"""Audio is decoded whole, and what is wrong with a file is said with its name."""

from __future__ import annotations

import json
import wave
from pathlib import Path

import numpy as np
import pytest
import soundfile
from click.testing import CliRunner
from tliveomni_eval.tasks.audio_file import audio_seconds, read_audio
from tliveomni_eval.tasks.composer.opus_file import write_opus
from tliveomni_eval.tasks.data_command import command
from tliveomni_eval.tasks.image_file import MediaError
from tliveomni_eval.tasks.manifest import check_folder
from tliveomni_eval.tasks.media_check import damaged_media

RATE = 16_000


def tone(seconds: float = 1.0) -> np.ndarray:
    return (np.sin(np.arange(int(seconds * RATE)) * 0.2) * 0.4).astype(np.float32)


def write(path: Path, samples: np.ndarray) -> Path:
    if path.suffix == ".opus":
        write_opus(path, samples, 24_000)
    else:
        soundfile.write(path, samples, RATE)
    return path


@pytest.mark.parametrize("suffix", [".wav", ".flac", ".ogg", ".opus", ".mp3"])
def test_each_format_is_decoded_to_mono(tmp_path: Path, suffix: str) -> None:
    clip = read_audio(write(tmp_path / f"a{suffix}", tone()))
    assert (clip.samples.dtype, clip.samples.ndim, clip.sampling_rate) == (np.float32, 1, RATE)
    assert clip.seconds == pytest.approx(1, abs=0.1)
    assert audio_seconds(tmp_path / f"a{suffix}") == pytest.approx(clip.seconds, abs=0.01)
    assert np.abs(clip.samples[2000:-2000]).max() == pytest.approx(0.4, abs=0.06)


def test_channels_are_averaged(tmp_path: Path) -> None:
    write(tmp_path / "a.wav", np.stack([tone(), -tone()], axis=1))
    assert np.abs(read_audio(tmp_path / "a.wav").samples).max() < 1e-4


@pytest.mark.parametrize("suffix", [".wav", ".flac", ".ogg", ".opus"])
@pytest.mark.parametrize("share", [0.3, 0.7, 0.97])
def test_a_truncated_file_is_refused(tmp_path: Path, suffix: str, share: float) -> None:
    path = write(tmp_path / f"a{suffix}", tone(3))
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(MediaError, match="truncated") as caught:
        read_audio(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("content", "says"),
    [(b"", "0 bytes"), (b"no audio at all" * 20, "ffmpeg"), (b"OggS", "truncated"), (b"RIFF", "ffmpeg")],
)
def test_what_is_no_audio_is_refused(tmp_path: Path, content: bytes, says: str) -> None:
    (tmp_path / "a.wav").write_bytes(content)
    with pytest.raises(MediaError, match=says):
        read_audio(tmp_path / "a.wav")


def test_a_missing_file_and_one_without_samples_are_named(tmp_path: Path) -> None:
    with pytest.raises(MediaError, match=r"gone\.wav: there is no such file"):
        read_audio(tmp_path / "gone.wav")
    with wave.open(str(tmp_path / "none.wav"), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
    with pytest.raises(MediaError, match="holds no samples"):
        read_audio(tmp_path / "none.wav")


def test_samples_that_are_no_numbers_and_hours_of_audio_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    samples = tone()
    samples[5] = np.nan
    soundfile.write(tmp_path / "nan.wav", samples, RATE, subtype="FLOAT")
    with pytest.raises(MediaError, match="not finite"):
        read_audio(tmp_path / "nan.wav")
    monkeypatch.setattr("tliveomni_eval.tasks.media_limits.MAX_SECONDS", 0.5)
    with pytest.raises(MediaError, match="more than the limit"):
        read_audio(write(tmp_path / "long.wav", tone()))


def speech_folder(folder: Path, **changes: object) -> Path:
    line = {
        "id": "a",
        "task": "live_asr",
        "media": ["a.wav"],
        "reference": "hello",
        "slices": {"lang": "en"},
        "context": {"lang": "en", "hotwords": ["Velora"]},
    }
    write(folder / "a.wav", tone())
    (folder / "manifest.jsonl").write_text(json.dumps(line | changes) + "\n", encoding="utf-8")
    return folder


TURN = {"speaker": "S1", "start": 0, "end": 1.5, "text": "hi"}


@pytest.mark.parametrize(
    ("changes", "field", "says"),
    [
        ({"context": {"lang": "fr"}}, "context.lang", "'fr'"),
        ({"context": {"hotwords": "Velora"}}, "context.hotwords", "list of words"),
        ({"context": {"hotwords": [""]}}, "context.hotwords", "list of words"),
        ({"reference": ["hello"]}, "reference", "as text"),
        ({"media": []}, "media", "exactly one audio file, got none"),
        ({"media": ["a.wav", "a.wav"]}, "media", "audio, audio"),
        ({"task": "live_diarization"}, "reference", "must be a list"),
        ({"task": "live_diarization", "reference": [TURN, TURN | {"end": -1}]}, "reference", "turn 1"),
        ({"task": "live_diarization", "reference": [TURN | {"start": "0"}]}, "reference", "numbers of seconds"),
        ({"task": "live_diarization", "reference": [{"speaker": "S1"}]}, "reference", "exactly the fields"),
        ({"task": "live_diarization", "reference": [TURN | {"text": None}]}, "reference", "must be texts"),
        ({"task": "live_arr"}, "task", "did you mean 'live_asr'"),
    ],
)
def test_a_fault_of_a_speech_sample_names_its_field(
    tmp_path: Path, changes: dict[str, object], field: str, says: str
) -> None:
    samples, faults = check_folder(speech_folder(tmp_path, **changes), known_tasks=("live_asr", "live_diarization"))
    assert not samples
    assert [(fault.line, fault.field) for fault in faults] == [(1, field)]
    assert says in faults[0].message


def test_good_speech_samples_have_no_fault(tmp_path: Path) -> None:
    assert check_folder(speech_folder(tmp_path))[1] == []
    turns = [TURN, TURN | {"speaker": "S2", "start": 1}]
    assert check_folder(speech_folder(tmp_path, task="live_diarization", reference=turns))[1] == []


def test_damaged_audio_is_found_by_the_check(tmp_path: Path) -> None:
    folder = speech_folder(tmp_path)
    assert damaged_media(folder) == []
    (folder / "a.wav").write_bytes((folder / "a.wav").read_bytes()[:1000])
    (fault,) = damaged_media(folder)
    assert (fault.line, fault.field) == (1, "media.0.path")


def test_statistics_count_samples_clusters_slices_and_minutes(tmp_path: Path) -> None:
    folder = speech_folder(tmp_path)
    line = json.loads((folder / "manifest.jsonl").read_text())
    lines = [line | {"id": f"s{number}", "cluster": f"stream-{number // 2}"} for number in range(4)]
    (folder / "manifest.jsonl").write_text("".join(json.dumps(item) + "\n" for item in [*lines, {"id": "bad"}]))
    ran = CliRunner().invoke(command, ["stats", str(folder), "--json"])
    assert ran.exit_code == 1
    counted = json.loads(ran.output)
    (task,) = counted["tasks"]
    assert (task["task"], task["samples"], task["clusters"], task["without_prompt"]) == ("live_asr", 4, 2, 4)
    assert task["slices"] == [{"attribute": "lang", "value": "en", "samples": 4, "clusters": 2, "too_small": True}]
    assert task["media"][0] | {"megabytes": 0} == {
        "type": "audio", "files": 1, "megabytes": 0, "unreadable": 0, "unit": "s",
        "least": 1.0, "median": 1.0, "most": 1.0, "total": 1.0,
    }  # fmt: skip
    shown = CliRunner().invoke(command, ["stats", str(folder)]).output
    assert "live_asr: 4 samples, 2 clusters" in shown
    assert "under 200 clusters" in shown
