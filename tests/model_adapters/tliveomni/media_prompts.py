"""Prompts of every kind of media, small, and the same on every machine."""

from __future__ import annotations

from typing import Any

import numpy as np
from transformers.video_utils import VideoMetadata

IMAGE = "<|vision_start|><|image_pad|><|vision_end|>"
VIDEO = "<|vision_start|><|video_pad|><|vision_end|>"
AUDIO = "<|audio_start|><|audio_pad|><|audio_end|>"
KINDS = ("text", "image", "audio", "video", "image_and_audio", "video_with_audio", "everything")


def image(seed: int = 0, height: int = 64, width: int = 96) -> Any:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


def frames(count: int, seed: int = 1, height: int = 64, width: int = 96) -> Any:
    return np.random.default_rng(seed).integers(0, 256, (count, height, width, 3), dtype=np.uint8)


def sound(samples: int, seed: int = 2) -> Any:
    return (0.1 * np.random.default_rng(seed).standard_normal(samples)).astype(np.float32)


def metadata(count: int, fps: float = 1.0) -> VideoMetadata:
    return VideoMetadata(total_num_frames=count, fps=fps, duration=count / fps, frames_indices=list(range(count)))


def chat(content: str) -> str:
    return f"<|im_start|>user\n{content}<|im_end|>\n<|im_start|>assistant\n"


def inputs_of(processor: Any, kind: str) -> Any:
    video = {"videos": [frames(5)], "video_metadata": [metadata(5)], "do_sample_frames": False}
    arguments: dict[str, dict[str, Any]] = {
        "text": {"text": chat("这是什么")},
        "image": {"text": chat(f"{IMAGE}这是什么"), "images": [image()]},
        "audio": {"text": chat(f"{AUDIO}这是什么"), "audio": [sound(20_001)]},
        "video": {"text": chat(f"{VIDEO}这是什么"), **video},
        "image_and_audio": {"text": chat(f"{AUDIO}a{IMAGE}"), "images": [image()], "audio": [sound(9_000)]},
        "video_with_audio": {
            "text": chat(f"{VIDEO}这是什么"),
            **video,
            "audio": [sound(80_000)],
            "use_audio_in_video": True,
        },
        "everything": {
            "text": chat(f"{AUDIO}1{VIDEO}2{IMAGE}3{AUDIO}4"),
            **video,
            "images": [image()],
            "audio": [sound(3_000, 3), sound(70_000), sound(12_345, 4)],
            "use_audio_in_video": True,
        },
    }
    return processor(**arguments[kind], return_tensors="pt")
