"""Text to the phonemes of Kokoro-82M: Mandarin by misaki, English by espeak-ng in misaki's alphabet.

Build-time only: misaki, pypinyin, cn2an and jieba are in `requirements-compose.txt`, espeak-ng is a program.
"""

from __future__ import annotations

import re
import subprocess
from typing import Any, Final

from tliveomni_eval.evals.errors import UserError

_LATIN_RUN: Final = re.compile(r"[A-Za-z][A-Za-z0-9' -]*[A-Za-z0-9]|[A-Za-z]")
_MARKS: Final = str.maketrans({"，": ",", "。": ".", "？": "?", "！": "!", "、": ","})
# espeak-ng's IPA in the letters that Kokoro was trained with (Apache-2.0, misaki's `espeak.py`), longest first.
_FROM_ESPEAK: Final = (
    ("ʔˌn\u0329", "ʔn"), ("ʔn\u0329", "ʔn"),
    ("a^ɪ", "I"), ("a^ʊ", "W"), ("d^ʒ", "ʤ"), ("e^ɪ", "A"), ("t^ʃ", "ʧ"), ("ɔ^ɪ", "Y"), ("ə^l", "ᵊl"),
    ("ʲo", "jo"), ("ʲə", "jə"), ("ʲ", ""), ("e", "A"), ("ɚɹ", "əɹ"), ("ɚ", "əɹ"), ("r", "ɹ"), ("x", "k"), ("ç", "k"),
    ("ɐ", "ə"), ("ɬ", "l"), ("\u0303", ""),
)  # fmt: skip
_BRITISH: Final = (("e^ə", "ɛː"), ("iə", "ɪə"), ("ə^ʊ", "Q"))
_AMERICAN: Final = (("o^ʊ", "O"), ("ɜːɹ", "ɜɹ"), ("ɜː", "ɜɹ"), ("ɪə", "iə"), ("ː", ""))


def english_phonemes(text: str, british: bool) -> str:
    """Phonemes of English text, its commas and final marks kept.

    Args:
        text: English words.
        british: British instead of American pronunciation.

    Raises:
        UserError: espeak-ng is not installed.
    """
    pieces = re.split(r"([,.?!])", text.translate(_MARKS))
    return "".join(piece if piece in ",.?!" else _english_words(piece, british) for piece in pieces if piece.strip())


def _english_words(text: str, british: bool) -> str:
    voice = "en-gb" if british else "en-us"
    try:
        spoken = subprocess.run(
            ["espeak-ng", "-q", "--ipa", "--tie=^", "-v", voice, text.strip()],
            capture_output=True,
            check=True,
            text=True,
        )
    except FileNotFoundError:
        raise UserError("espeak-ng is not installed; Debian and Ubuntu: apt-get install espeak-ng") from None
    phonemes = " ".join(spoken.stdout.split())
    for old, new in (*_FROM_ESPEAK, *(_BRITISH if british else _AMERICAN)):
        phonemes = phonemes.replace(old, new)
    phonemes = re.sub("(\\S)\u0329", r"ᵊ\1", phonemes).replace("\u0329", "")
    for old, new in (("o", "ɔ"), ("ɾ", "T"), ("ʔ", "t"), ("^", "")):
        phonemes = phonemes.replace(old, new)
    return (" " if text.startswith(" ") else "") + phonemes


class MandarinPhonemes:
    """Phonemes of Mandarin text with English words in it."""

    def __init__(self) -> None:
        from misaki.zh import ZHG2P

        self._mandarin: Any = ZHG2P()

    def __call__(self, text: str) -> str:
        """Phonemes of a sentence.

        Args:
            text: Chinese characters, Chinese punctuation and Latin words; numbers in words.
        """
        phonemes, start = [], 0
        for run in _LATIN_RUN.finditer(text):
            phonemes += [self._chinese(text[start : run.start()]), english_phonemes(run.group(), british=False)]
            start = run.end()
        phonemes.append(self._chinese(text[start:]))
        return re.sub(r" ([,.?!])", r"\1", " ".join(part for part in phonemes if part))

    def _chinese(self, text: str) -> str:
        return self._mandarin(text)[0].strip() if text.strip() else ""
