"""Who speaks: voices of Kokoro-82M, each on one side only.

All female and male Mandarin voices are used but `zf_xiaoni`, which is hard to understand. Training also blends the
voices of its own side into new ones, as three Mandarin voices are too few to learn what a speaker does not change.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from tliveomni_eval.evals.text.tokens import Language
from tliveomni_eval.tasks.composer.catalogue import Side

Gender = Literal["female", "male"]


@dataclass(frozen=True, slots=True)
class Voice:
    """A voice by its name in kokoro-js: language and gender letter, then a name (`zf_xiaoyi`).

    Attributes:
        name: Or several joined by `+`: the mean of their styles, a name that comes twice counting twice. What is said
            of the first holds for the blend.
    """

    name: str

    @property
    def blended(self) -> tuple[str, ...]:
        """Names of kokoro-js whose styles are averaged."""
        return tuple(self.name.split("+"))

    @property
    def gender(self) -> Gender:
        """Of the speaker."""
        return "female" if self.name[1] == "f" else "male"

    @property
    def british(self) -> bool:
        """Whether English is pronounced the British way."""
        return self.name[0] == "b"


def _voices(names: str) -> tuple[Voice, ...]:
    return tuple(Voice(name) for name in names.split())


_MANDARIN: Final[dict[Side, tuple[Voice, ...]]] = {
    "eval": _voices("zf_xiaoxiao zf_xiaoyi zm_yunxi zm_yunyang"),
    "train": _voices(
        "zf_xiaobei zm_yunjian zm_yunxia zf_xiaobei+zm_yunjian zf_xiaobei+zm_yunxia zm_yunjian+zm_yunxia "
        "zf_xiaobei+zf_xiaobei+af_heart zf_xiaobei+zf_xiaobei+am_michael zm_yunjian+zm_yunjian+am_fenrir "
        "zm_yunjian+zm_yunjian+af_bella zm_yunxia+zm_yunxia+af_nova zm_yunxia+zm_yunxia+bm_george"
    ),
}
_ENGLISH: Final[dict[Side, tuple[Voice, ...]]] = {
    "eval": _voices("af_kore af_sarah bf_isabella am_puck am_echo bm_fable"),
    "train": _voices(
        "af_bella af_heart af_nova am_fenrir am_michael bf_emma bm_george "
        "af_bella+am_michael af_heart+am_fenrir af_nova+bf_emma am_michael+bm_george bf_emma+bm_george"
    ),
}
VOICES: Final[dict[Side, dict[Language, tuple[Voice, ...]]]] = {
    side: {"zh": _MANDARIN[side], "mixed": _MANDARIN[side], "en": _ENGLISH[side]} for side in ("eval", "train")
}
"""Side and language to voices; mixed speech is said by Mandarin voices."""
