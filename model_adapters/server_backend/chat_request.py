"""From chat messages to the body of `/chat/completions`: media travel inside it, byte for byte where they are files."""

from __future__ import annotations

import base64
import io
import mimetypes
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import soundfile
from PIL import Image
from tliveomni_eval.evals.errors import UserError
from tliveomni_eval.model_adapters.vllm_backend.decoding import Decoding
from tliveomni_eval.tasks.audio_file import read_audio
from tliveomni_eval.tasks.media_limits import check_media_file


def chat_request(model: str, messages: Sequence[Mapping[str, Any]], decoding: Decoding) -> dict[str, Any]:
    """The body of a request.

    Args:
        model: Name of the model at the server.
        messages: lmms-eval chat messages: `{"role", "content": [{"type", "url" | "text"}]}`.
        decoding: How the answer is decoded.

    Raises:
        UserError: A medium cannot be read, or is given in a form that a server does not take.
    """
    sampling = dict(decoding.other) | {"temperature": decoding.temperature, "max_tokens": decoding.max_tokens}
    if decoding.stop:
        sampling["stop"] = list(decoding.stop)
    return {"model": model, "messages": [_message(message) for message in messages], **sampling}


def _message(message: Mapping[str, Any]) -> dict[str, Any]:
    return {"role": message["role"], "content": [_part(part) for part in message["content"]]}


def _part(part: Mapping[str, Any]) -> dict[str, Any]:
    kind = part["type"]
    if kind == "text":
        return {"type": "text", "text": part["text"]}
    source = part["url"]
    if kind == "image":
        return {"type": "image_url", "image_url": {"url": image_address(source)}}
    if kind == "audio":
        return {"type": "input_audio", "input_audio": {"data": _encoded(_wave(source)), "format": "wav"}}
    if kind == "video" and isinstance(source, (str, Path)):
        return {"type": "video_url", "video_url": {"url": _file_address("video", Path(source), "video/mp4")}}
    raise UserError(f"{kind} given as {type(source).__name__} cannot be sent to a server")


def image_address(source: Any) -> str:
    """A data URI of an image: the file as it is, or a decoded image as PNG, which loses nothing.

    Args:
        source: A path or a `PIL.Image.Image`.
    """
    if isinstance(source, Image.Image):
        buffer = io.BytesIO()
        source.save(buffer, "PNG", compress_level=1)
        return f"data:image/png;base64,{_encoded(buffer.getvalue())}"
    return _file_address("image", Path(source), "image/png")


def _file_address(kind: str, path: Path, default: str) -> str:
    check_media_file(kind, path)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UserError(f"{kind} {path}: cannot be read ({error.strerror})") from None
    return f"data:{mimetypes.guess_type(path.name)[0] or default};base64,{_encoded(content)}"


def _wave(source: Any) -> bytes:
    if isinstance(source, (str, Path)):
        clip = read_audio(Path(source))
        samples, rate = clip.samples, clip.sampling_rate
    elif isinstance(source, Mapping) and "array" in source:
        samples, rate = source["array"], int(source["sampling_rate"])
    else:
        raise UserError(f"audio given as {type(source).__name__} cannot be sent to a server")
    buffer = io.BytesIO()
    soundfile.write(buffer, samples, rate, format="WAV", subtype="FLOAT")
    return buffer.getvalue()


def _encoded(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")
