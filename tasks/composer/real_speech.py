"""Recordings of people for `source=real`: the LibriVox clips with transcripts of Debian's pocketsphinx-testdata.

The clips are from a reading of *Sense and Sensibility*, chapter 1 (LibriVox, public domain). Unpack the package with
`dpkg-deb -x` and name the folder `usr/share/pocketsphinx/test/data/librivox`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import numpy as np
import soundfile
from scipy.signal import resample_poly
from tliveomni_eval.evals.errors import UserError
from tliveomni_eval.tasks.composer.live_asr_set import BIT_RATE, MEDIA_FOLDER, TASK, duration_slice
from tliveomni_eval.tasks.composer.opus_file import SAMPLE_RATE, write_opus

CLUSTER: Final = "librivox-sense-and-sensibility-01"
_LINE: Final = re.compile(r"<s> (?P<text>.*) </s> \((?P<name>\S+)\)")


def write_real_speech(out: Path, librivox: Path) -> list[dict[str, Any]]:
    """Write the clips as samples of live_asr.

    Args:
        out: Folder of the set.
        librivox: Folder of the package with `transcription` and one `NAME.wav` a line of it.

    Returns:
        Manifest lines; all are one cluster, because one person reads.

    Raises:
        UserError: The folder is not that one.
    """
    try:
        transcription = (librivox / "transcription").read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"{librivox}/transcription cannot be read ({error.strerror}); see the help of --real") from None
    lines = []
    for match in _LINE.finditer(transcription):
        audio, rate = soundfile.read(librivox / f"{match['name']}.wav", dtype="float32")
        samples = np.asarray(resample_poly(audio, SAMPLE_RATE, rate), dtype=np.float32)
        sample_id = f"{TASK}-real-{match['name'].rsplit('-', 1)[1]}"
        path = f"{MEDIA_FOLDER}/{sample_id}.opus"
        write_opus(out / path, samples, BIT_RATE)
        lines.append(
            {
                "id": sample_id,
                "task": TASK,
                "media": [{"type": "audio", "path": path}],
                "reference": match["text"],
                "slices": {
                    "duration_s": duration_slice(len(samples) / SAMPLE_RATE),
                    "hotwords": "none",
                    "lang": "en",
                    "source": "real",
                },
                "cluster": CLUSTER,
                "context": {"lang": "en"},
            }
        )
    return lines
