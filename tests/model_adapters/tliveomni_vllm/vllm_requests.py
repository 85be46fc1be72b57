"""Requests of every kind of media, small, the same on every machine: for vLLM and for the transformers processor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

IMAGE = "<|vision_start|><|image_pad|><|vision_end|>"
VIDEO = "<|vision_start|><|video_pad|><|vision_end|>"
AUDIO = "<|audio_start|><|audio_pad|><|audio_end|>"


@dataclass(frozen=True)
class Case:
    text: str
    images: tuple[Any, ...] = ()
    videos: tuple[Any, ...] = ()
    audios: tuple[Any, ...] = ()
    use_audio_in_video: bool = False

    def for_vllm(self) -> dict[str, Any]:
        media = {
            "image": list(self.images),
            "video": [(video, _metadata(len(video)) | {"do_sample_frames": False}) for video in self.videos],
            "audio": list(self.audios),
        }
        request: dict[str, Any] = {"prompt": chat(self.text)}
        if data := {kind: items for kind, items in media.items() if items}:
            request |= {"multi_modal_data": data}
        if self.use_audio_in_video:
            request |= {"mm_processor_kwargs": {"use_audio_in_video": True}}
        return request

    def for_transformers(self) -> dict[str, Any]:
        from transformers.video_utils import VideoMetadata

        arguments: dict[str, Any] = {"text": chat(self.text), "use_audio_in_video": self.use_audio_in_video}
        if self.images:
            arguments["images"] = list(self.images)
        if self.videos:
            arguments["videos"] = list(self.videos)
            arguments["video_metadata"] = [VideoMetadata(**_metadata(len(video))) for video in self.videos]
            arguments["do_sample_frames"] = False
        if self.audios:
            arguments["audio"] = list(self.audios)
        return arguments


def chat(content: str) -> str:
    return f"<|im_start|>user\n{content}<|im_end|>\n<|im_start|>assistant\n"


def image(seed: int = 0, height: int = 64, width: int = 96) -> Any:
    from PIL import Image

    return Image.fromarray(np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8))


def video(frames: int = 6, seed: int = 1, width: int = 64) -> Any:
    return np.random.default_rng(seed).integers(0, 256, (frames, 64, width, 3), dtype=np.uint8)


def sound(samples: int, seed: int = 2) -> Any:
    return (0.1 * np.random.default_rng(seed).standard_normal(samples)).astype(np.float32)


def _metadata(frames: int) -> dict[str, Any]:
    return {
        "fps": 1.0,
        "duration": float(frames),
        "total_num_frames": frames,
        "frames_indices": list(range(frames)),
        "video_backend": "pyav",
    }


INTERLEAVED = Case(f"{VIDEO}what", videos=(video(),), audios=(sound(96_000),), use_audio_in_video=True)
"""The sound is a whole number of hops, so that padding to the hop changes nothing of it."""

CASES = {
    "text": Case("这是什么"),
    "image": Case(f"{IMAGE}这是什么", images=(image(),)),
    "audio": Case(f"{AUDIO}这是什么", audios=(sound(20_001),)),
    "image and audio": Case(f"{IMAGE}a{AUDIO}", images=(image(),), audios=(sound(17_777),)),
    "video": Case(f"{VIDEO}这是什么", videos=(video(),)),
    "V, A, V, A": INTERLEAVED,
    "several of each": Case(
        f"{AUDIO}1{VIDEO}2{IMAGE}3{AUDIO}4{VIDEO}{IMAGE}",
        images=(image(3), image(4, 96, 64)),
        videos=(video(), video(5, 5, 96)),
        audios=(sound(3_000, 3), sound(70_001), sound(12_345, 4), sound(95_000, 5)),
        use_audio_in_video=True,
    ),
}
