"""Which instruction template a prompt was made from, where nobody declared it: told from the words that recur.

The frequent words of a set of lines stay and runs of rare ones become a gap, as in SLCT (Vaarandi, 2003, "A data
clustering algorithm for mining patterns from event logs").
"""

from __future__ import annotations

import heapq
import re
import zlib
from collections import Counter
from dataclasses import dataclass, field

MOST_TEMPLATES = 64
"""Of a task. A task with no more different prompts has one template a prompt."""

GAP = "…"
_SUPPORTS = (0.05, 0.1, 0.2, 0.4, 0.8)
_KEPT = 2_000
_TOKEN = re.compile(r"[A-Za-z]+|[一-鿿぀-ヿ가-힯]|\d+|[^\W\d_]+|[^\w\s]")
_HEAD, _TAIL = 240, 160
"""Characters of a long prompt that are looked at: instructions stand before and after the material."""


@dataclass
class TemplateMiner:
    """Learns the templates of each task from its prompts; the order in which they come does not matter.

    Attributes:
        kept: Task to hash and text of the different prompts with the smallest hashes, at most 2,000.
    """

    kept: dict[str, dict[int, str]] = field(default_factory=dict)
    _limits: dict[str, int] = field(default_factory=dict)

    def add(self, task: str, prompt: str) -> None:
        """Take note of a prompt."""
        number = zlib.crc32(prompt.encode(errors="replace"))
        if number > self._limits.get(task, 2**32):
            return
        prompts = self.kept.setdefault(task, {})
        prompts[number] = prompt
        if len(prompts) > 2 * _KEPT:
            self.kept[task] = {key: prompts[key] for key in heapq.nsmallest(_KEPT, prompts)}
            self._limits[task] = max(self.kept[task])

    def merge(self, other: TemplateMiner) -> None:
        """Take note of all that another one noted."""
        for task, prompts in other.kept.items():
            for prompt in prompts.values():
                self.add(task, prompt)

    def templates(self) -> Templates:
        """What was learnt."""
        words: dict[str, frozenset[str] | None] = {}
        for task, prompts in self.kept.items():
            texts = list(prompts.values())
            words[task] = None if len(texts) <= MOST_TEMPLATES else _frequent_words(texts)
        return Templates(words)


@dataclass(frozen=True, slots=True)
class Templates:
    """Tells the template of a prompt.

    Attributes:
        words: Task to the words that belong to its templates; None where each prompt is a template.
    """

    words: dict[str, frozenset[str] | None]

    def of(self, task: str, prompt: str) -> str:
        """The template of a prompt: the prompt itself, or its recurring words with gaps between them."""
        words = self.words.get(task)
        return _ends(prompt) if words is None else _masked(prompt, words)


def _ends(text: str) -> str:
    return text if len(text) <= _HEAD + _TAIL else text[:_HEAD] + text[-_TAIL:]


def _frequent_words(texts: list[str]) -> frozenset[str]:
    found = Counter(word for text in texts for word in set(_TOKEN.findall(_ends(text))))
    for support in _SUPPORTS:
        words = frozenset(word for word, count in found.items() if count >= support * len(texts))
        if len({_masked(text, words) for text in texts}) <= MOST_TEMPLATES:
            return words
    return frozenset()


def _masked(text: str, words: frozenset[str]) -> str:
    parts: list[str] = []
    for word in _TOKEN.findall(_ends(text)):
        if word in words and not word.isdigit():
            parts.append(word)
        elif not parts or parts[-1] != GAP:
            parts.append(GAP)
    return " ".join(parts)
