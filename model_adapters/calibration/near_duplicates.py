"""What counts as the same: images by perceptual hash, other media by their bytes, texts by their shingles."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field

import imagehash
import numpy as np
from numpy.typing import NDArray
from PIL import Image

HASH_SIDE = 16
NEAR_BITS = 20
"""Of 256. Copies of embedded pictures at 70 % of their size and JPEG quality 50 differ in at most 10 bits, different
pictures in at least 42."""

SHINGLE = 5
NEAR_TEXT = 0.8
"""Jaccard similarity of shingles from which on two texts are the same."""

FLAT_BITS = 24
"""A picture whose hash has fewer ones or fewer zeros shows nothing (a blank frame): all of those would be alike."""

_BREAKS = re.compile(r"[\W_]+")


def picture_hash(image: Image.Image) -> NDArray[np.uint64]:
    """Perceptual hash of an image: 256 bits of its low frequencies (imagehash's pHash), as four words."""
    bits = np.asarray(imagehash.phash(image, hash_size=HASH_SIDE).hash, dtype=bool)
    words: NDArray[np.uint64] = np.packbits(bits.ravel()).view(np.uint64)
    return words


def is_flat(words: NDArray[np.uint64]) -> bool:
    """Whether a picture has nothing to tell it by; only its bytes can then say that it is a copy."""
    ones = int(np.bitwise_count(words).sum())
    return min(ones, HASH_SIDE**2 - ones) < FLAT_BITS


@dataclass
class PictureIndex:
    """Finds pictures near a given one by comparing with each (a hundred thousand a millisecond or so).

    Attributes:
        names: What was added, in order.
    """

    names: list[Hashable] = field(default_factory=list)
    _words: NDArray[np.uint64] = field(default_factory=lambda: np.zeros((256, 4), dtype=np.uint64))

    def add(self, words: NDArray[np.uint64], name: Hashable) -> None:
        """Add a picture by its hash; a flat one is left out."""
        if is_flat(words):
            return
        if len(self.names) == len(self._words):
            self._words = np.concatenate([self._words, np.zeros_like(self._words)])
        self._words[len(self.names)] = words
        self.names.append(name)

    def nearest(self, words: NDArray[np.uint64]) -> tuple[Hashable, int] | None:
        """Name and distance in bits of the nearest picture, if it is near; None where none is."""
        if not self.names or is_flat(words):
            return None
        distances = np.bitwise_count(self._words[: len(self.names)] ^ words).sum(axis=1)
        best = int(distances.argmin())
        return (self.names[best], int(distances[best])) if distances[best] <= NEAR_BITS else None


def plain_text(text: str) -> str:
    """A text without case, width, spaces and punctuation.

    >>> plain_text("Ｐrice: ¥12.50 元")
    'price1250元'
    """
    return _BREAKS.sub("", unicodedata.normalize("NFKC", text).casefold())


def shingles(text: str) -> frozenset[str]:
    """All runs of five characters of a plain text; a shorter one is one shingle; an empty one has none."""
    plain = plain_text(text)
    if len(plain) <= SHINGLE:
        return frozenset([plain]) if plain else frozenset()
    return frozenset(plain[start : start + SHINGLE] for start in range(len(plain) - SHINGLE + 1))


@dataclass
class TextIndex:
    """Finds texts whose shingles are nearly the same, exactly: by prefix filtering (Chaudhuri et al., 2006).

    Two sets of Jaccard similarity ≥ t share at least one of the first |set| − ⌈t·|set|⌉ + 1 elements of each in any
    common order, so only those are indexed.
    """

    _entries: list[tuple[frozenset[str], Hashable]] = field(default_factory=list)
    _posting: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))

    def add(self, text: str, name: Hashable) -> None:
        """Add a text; one without letters or digits is left out."""
        found = shingles(text)
        for shingle in _prefix(found):
            self._posting[shingle].append(len(self._entries))
        if found:
            self._entries.append((found, name))

    def nearest(self, text: str) -> tuple[Hashable, float] | None:
        """Name and similarity of the most similar text, if it is near; None where none is."""
        found = shingles(text)
        candidates = {number for shingle in _prefix(found) for number in self._posting.get(shingle, ())}
        best: tuple[Hashable, float] | None = None
        for number in sorted(candidates):
            other, name = self._entries[number]
            if not NEAR_TEXT <= len(found) / len(other) <= 1 / NEAR_TEXT:
                continue
            similarity = len(found & other) / len(found | other)
            if similarity >= NEAR_TEXT and (best is None or similarity > best[1]):
                best = (name, similarity)
        return best


def _prefix(found: frozenset[str]) -> Iterable[str]:
    # Reversed text is an order in which what samples of one template share does not come first.
    ordered = sorted(found, key=lambda shingle: shingle[::-1])
    return ordered[: len(ordered) - int(np.ceil(NEAR_TEXT * len(ordered))) + 1]
