"""The values that a stream can take, and the ranges behind them. A tick is a tenth of a second and one frame."""

from typing import Final, Literal

Language = Literal["zh", "en"]
Evidence = Literal["seen", "heard", "both"]

FRAME_SIZE: Final = (256, 160)
TICKS_PER_SECOND: Final = 10
# Slice value -> shortest and longest stream in seconds.
DURATIONS: Final = {
    "0-30": (14, 29),
    "30-60": (31, 59),
    "60-120": (61, 118),
    "120-300": (122, 298),
    "300-720": (305, 719),
}
# What the embedded set holds, and in which proportion.
EMBEDDED_DURATIONS: Final = {"0-30": 5, "30-60": 4, "60-120": 1}
# Slice value -> fewest and most product segments.
SEGMENTS: Final = {"2-3": (2, 3), "4-5": (4, 5), "6-8": (6, 8)}
LANGUAGES: Final[tuple[Language, ...]] = ("zh", "en")


def segment_choices(duration: str) -> tuple[str, ...]:
    """The numbers of segments that fit into a stream of the duration."""
    return tuple(SEGMENTS)[:2] if duration == "0-30" else tuple(SEGMENTS)
