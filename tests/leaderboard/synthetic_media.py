"""Small images, recordings and videos with something to localize, and runs that localize it more or less well."""

from __future__ import annotations

import json
import math
import random
import wave
from pathlib import Path
from typing import Any

import av
import numpy as np
from PIL import Image, ImageDraw
from synthetic_run import SyntheticSample, right, write_run

SECONDS = 12.0
TURNS = [
    ["S1", 0.4, 3.1, "大家好，欢迎来到直播间"],
    ["S2", 3.4, 6.0, "今天这款面霜多少钱"],
    ["S1", 6.2, 11.2, "一百二十九块九"],
]
SPAN = [3.0, 7.5]
BOX = [40.0, 60.0, 140.0, 130.0]


def write_media_release(folder: Path) -> Path:
    """Runs `bf16` and `w4a16` of three tasks, whose candidate misplaces what it localizes; returns their folder."""
    media = folder / "media"
    media.mkdir(parents=True)
    _tones(media / "talk.wav")
    _scene(media / "scene.png")
    _video(media / "stream.webm")
    runs = folder / "runs"
    for name, shift in (("bf16", 0.0), ("w4a16", 1.0)):
        boxes = {
            "reference": [{"box": BOX, "label": "面霜"}],
            "predicted": [{"box": [side + 18 * shift for side in BOX], "label": "面霜", "score": 0.9}],
        }
        spans = {"reference": [SPAN], "predicted": [[side + 2.5 * shift for side in SPAN]], "scores": [None]}
        turns = {
            "turns": [
                [{"S1": "A", "S2": "B"}[speaker], start + shift, end + shift, text]
                for speaker, start, end, text in TURNS
            ],
            "mapping": {"A": "S1", "B": "S2"},
            "logprobs": [["大家", -0.01], ["好", -1.2]],
        }
        for task, target, file, detail in (
            ("live_localization", "[40, 60, 140, 130]", "scene.png", boxes),
            ("live_temporal_grounding", json.dumps([SPAN]), "stream.webm", spans),
            (
                "live_diarization",
                json.dumps([dict(zip(("speaker", "start", "end", "text"), turn, strict=True)) for turn in TURNS]),
                "talk.wav",
                turns,
            ),
        ):
            _write(runs, name, task, target, file, detail, shift)
    return runs


def _write(runs: Path, name: str, task: str, target: str, file: str, detail: dict[str, Any], shift: float) -> None:
    """One folder a task and run would be three runs; the logs of all tasks go into one folder of the run."""
    data = [
        SyntheticSample(
            f"{task}-{index}", target, {"lang": "zh"}, detail={**detail, "media": [{"type": "any", "path": file}]}
        )
        for index in range(3)
    ]
    answer = right if shift == 0 else lambda sample, _: sample.reference[:-1] + "0]"
    made = write_run(runs / "of-one-task", f"{name}-{task}", data, answer, task=task)
    _merge(made, runs / name, name)


def _merge(made: Path, run: Path, name: str) -> None:
    (run / "tliveomni_vllm").mkdir(parents=True, exist_ok=True)
    for log in sorted(made.rglob("*.jsonl")):
        log.rename(run / "tliveomni_vllm" / log.name)
    for source in made.rglob("*_results.json"):
        target = run / "tliveomni_vllm" / source.name
        results = json.loads(source.read_text())
        if target.exists():
            known = json.loads(target.read_text())
            for key, value in results.items():
                if isinstance(value, dict) and key != "config":
                    known[key].update(value)
            results = known
        target.write_text(json.dumps(results))
    info = json.loads((made / "run.json").read_text())
    if (run / "run.json").exists():
        known = json.loads((run / "run.json").read_text())
        known["tasks"] += info["tasks"]
        known["data"] |= info["data"]
        known["prompts"] |= info["prompts"]
        info = known
    info["name"] = info["variant"] = name
    (run / "run.json").write_text(json.dumps(info))
    for left in sorted(made.rglob("*"), reverse=True):
        left.unlink() if left.is_file() else left.rmdir()
    made.rmdir()
    if not any(made.parent.iterdir()):
        made.parent.rmdir()


def _tones(path: Path) -> None:
    rate = 8_000
    time = np.arange(int(rate * SECONDS)) / rate
    signal = np.zeros_like(time)
    for speaker, start, end, _ in TURNS:
        inside = (time >= start) & (time < end)
        pitch = 140 if speaker == "S1" else 210
        loud = 0.4 + 0.3 * np.sin(2 * math.pi * 2.3 * time)
        signal += inside * loud * np.sin(2 * math.pi * pitch * time)
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, rate, 0, "NONE", ""))
        file.writeframes((signal * 20_000).astype("<i2").tobytes())


def _scene(path: Path) -> None:
    image = Image.new("RGB", (320, 192), "#8fa3b0")
    draw = ImageDraw.Draw(image)
    rng = random.Random(0)
    for _ in range(6):
        x, y = rng.randint(0, 300), rng.randint(0, 170)
        draw.rounded_rectangle((x, y, x + 40, y + 30), 6, fill=f"hsl({rng.randint(0, 359)}, 30%, 55%)")
    draw.rounded_rectangle(tuple(BOX), 14, fill="#e8d9c5", outline="#7d6a55")
    image.save(path)


def _video(path: Path) -> None:
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libvpx", rate=4)
        stream.width, stream.height, stream.pix_fmt = 160, 96, "yuv420p"
        for index in range(int(SECONDS * 4)):
            shade = 200 if SPAN[0] <= index / 4 < SPAN[1] else 60
            frame = av.VideoFrame.from_ndarray(np.full((96, 160, 3), shade, dtype=np.uint8), format="rgb24")
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
