"""What the host of a stream says: sentences of the speech bank that name a product, at exact times."""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from tliveomni_eval.tasks.composer.products.product import Kind
from tliveomni_eval.tasks.composer.speech_bank import SpeechBank, Utterance
from tliveomni_eval.tasks.composer.speech_mix import PlacedUtterance, lay_out, limited
from tliveomni_eval.tasks.composer.stream.stream_plan import Segment, StreamPlan
from tliveomni_eval.tasks.composer.stream.stream_space import TICKS_PER_SECOND, Language

SPOKEN_KINDS: Final[tuple[Kind, ...]] = ("box", "box", "bottle", "tube")
# Product types that come in a bottle or a tube; everything can come in a box.
_CONTAINERS: Final[dict[Kind, tuple[str, ...]]] = {
    "bottle": (
        *("精华液", "爽肤水", "卸妆油", "洗发水", "沐浴露", "身体乳", "果汁", "橄榄油", "水壶", "保温杯", "奶瓶"),
        *("Serum", "Toner", "Shampoo", "Body Lotion", "Olive Oil", "Fruit Juice", "Thermos", "Bottle", "Sun Milk"),
    ),
    "tube": (
        *("面霜", "洁面乳", "护手霜", "隔离霜", "眼霜", "粉底液", "润肤露"),
        *("Cleanser", "Face Cream", "Eye Cream", "Sun Milk"),
    ),
}
_PAUSE_TICKS: Final = 4


@dataclass(frozen=True)
class StreamSpeech:
    """Speech of one voice through a stream.

    Attributes:
        placed: Every sentence and where it begins.
        names: Brand and product type of each offer, as the host says them.
        spans: Of each offer, start and end in seconds of each sentence that names it.
        unspoken: A brand and product type that nobody in the stream says.
    """

    placed: tuple[PlacedUtterance, ...]
    names: tuple[str, ...]
    spans: tuple[tuple[tuple[float, float], ...], ...]
    unspoken: str

    def sound(self, bank: SpeechBank, ticks: int) -> npt.NDArray[np.float32]:
        """Mono, 16 kHz, as long as the stream."""
        return limited(lay_out(bank, self.placed, ticks / TICKS_PER_SECOND))


def draw_speech(rng: random.Random, plan: StreamPlan, bank: SpeechBank) -> StreamSpeech | None:
    """Give each segment a sentence that names its product; None where the bank has none that fit.

    Args:
        rng: Source of all decisions.
        plan: A stream whose segments are heard.
        bank: Where the sentences come from.
    """
    naming = [item for item in bank.utterances if item.lang == plan.lang and len(item.names) >= 2 and _is_naming(item)]
    voices = sorted({item.voice for item in naming})
    rng.shuffle(voices)
    for voice in voices:
        chosen = _choose(rng, plan, [item for item in naming if item.voice == voice])
        if chosen is None:
            continue
        taken = {spoken_name(item, plan.lang) for item in chosen}
        unspoken = rng.choice([name for item in naming if (name := spoken_name(item, plan.lang)) not in taken])
        placed = [_place(rng, chosen[segment.offer], segment) for segment in plan.segments]
        others = [item for item in bank.utterances if item.voice == voice and item.lang == plan.lang and not item.names]
        spans: list[list[tuple[float, float]]] = [[] for _ in plan.offers]
        for segment, item in zip(plan.segments, placed, strict=True):
            end = math.ceil(item.end * TICKS_PER_SECOND) / TICKS_PER_SECOND
            spans[segment.offer].append((item.start, end))
        return StreamSpeech(
            placed=tuple(placed + _fill_gaps(rng, plan, others)),
            names=tuple(spoken_name(item, plan.lang) for item in chosen),
            spans=tuple(tuple(of_offer) for of_offer in spans),
            unspoken=unspoken,
        )
    return None


def spoken_name(utterance: Utterance, lang: Language) -> str:
    """Brand and product type as one name."""
    return ("" if lang == "zh" else " ").join(utterance.names[:2])


def _is_naming(utterance: Utterance) -> bool:
    return all(name.lower() in utterance.text.lower() for name in utterance.names[:2])


def _choose(rng: random.Random, plan: StreamPlan, naming: Sequence[Utterance]) -> list[Utterance] | None:
    """A sentence for each offer that fits into its shortest segment and suits what is seen; no name twice."""
    chosen: list[Utterance] = []
    taken: set[str] = set()
    for number, offer in enumerate(plan.offers):
        room = min(segment.end - segment.start for segment in plan.segments if segment.offer == number)
        fitting = [
            item
            for item in naming
            if item.seconds * TICKS_PER_SECOND <= room - 2
            and not taken & set(item.names)
            and _suits(offer.product.kind, item)
        ]
        if not fitting:
            return None
        chosen.append(rng.choice(fitting))
        taken |= set(chosen[-1].names)
    return chosen


def _suits(kind: Kind, utterance: Utterance) -> bool:
    return kind not in _CONTAINERS or any(name.endswith(_CONTAINERS[kind]) for name in utterance.names)


def _place(rng: random.Random, utterance: Utterance, segment: Segment) -> PlacedUtterance:
    room = segment.end - segment.start - math.ceil(utterance.seconds * TICKS_PER_SECOND)
    return PlacedUtterance(utterance, (segment.start + rng.randint(0, room)) / TICKS_PER_SECOND)


def _fill_gaps(rng: random.Random, plan: StreamPlan, others: Sequence[Utterance]) -> list[PlacedUtterance]:
    """Sentences that name nothing, one in each stretch between segments that has room for one."""
    filled = []
    starts = [0, *(segment.end for segment in plan.segments)]
    ends = [*(segment.start for segment in plan.segments), plan.ticks]
    for start, end in zip(starts, ends, strict=True):
        room = end - start - 2 * _PAUSE_TICKS
        fitting = [item for item in others if item.seconds * TICKS_PER_SECOND <= room]
        if fitting:
            filled.append(PlacedUtterance(rng.choice(fitting), (start + _PAUSE_TICKS) / TICKS_PER_SECOND))
    return filled
