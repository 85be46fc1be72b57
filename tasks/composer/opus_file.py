"""Ogg Opus files that are the same bytes for the same samples.

FFmpeg gives each Ogg stream a random serial number; it is replaced by a fixed one, and the checksums of the pages with
it (RFC 3533: CRC-32 with polynomial 0x04c11db7, not reflected, over the page with its checksum as zeros).
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Final

import av
import numpy as np
from numpy.typing import NDArray

SAMPLE_RATE: Final = 16_000
_SERIAL: Final = (1).to_bytes(4, "little")
_HEADER: Final = 27


def _crc_table() -> list[int]:
    table = []
    for byte in range(256):
        register = byte << 24
        for _ in range(8):
            register = (register << 1) ^ (0x04C11DB7 if register & 0x80000000 else 0)
        table.append(register & 0xFFFFFFFF)
    return table


_CRC: Final = _crc_table()


def write_opus(path: Path, samples: NDArray[np.float32], bit_rate: int) -> None:
    """Write mono audio as Ogg Opus at `SAMPLE_RATE`.

    Args:
        path: File to write.
        samples: float32 in -1..1, shape (length,).
        bit_rate: Bits a second on average.
    """
    buffer = io.BytesIO()
    with av.open(buffer, "w", format="ogg", container_options={"fflags": "+bitexact"}) as container:
        stream = container.add_stream("libopus", rate=SAMPLE_RATE, layout="mono")
        stream.bit_rate = bit_rate
        stream.codec_context.format = "flt"
        frame = av.AudioFrame.from_ndarray(samples[None], format="flt", layout="mono")
        frame.sample_rate = SAMPLE_RATE
        frame.pts = 0
        container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    path.write_bytes(with_fixed_serial(buffer.getvalue()))


def with_fixed_serial(ogg: bytes) -> bytes:
    """The same Ogg stream under the serial number 1."""
    pages, position = [], 0
    while position < len(ogg):
        segments = ogg[position + _HEADER : position + _HEADER + ogg[position + 26]]
        end = position + _HEADER + len(segments) + sum(segments)
        page = ogg[position : position + 14] + _SERIAL + ogg[position + 18 : position + 22] + bytes(4)
        page += ogg[position + 26 : end]
        pages.append(page[:22] + _checksum(page).to_bytes(4, "little") + page[26:])
        position = end
    return b"".join(pages)


def _checksum(page: bytes) -> int:
    register = 0
    for byte in page:
        register = (register << 8 & 0xFFFFFFFF) ^ _CRC[register >> 24 ^ byte]
    return register
