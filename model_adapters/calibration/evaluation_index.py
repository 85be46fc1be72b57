"""What evaluation data holds, so that none of it calibrates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from tliveomni_eval.model_adapters.calibration.media_facts import MediaFacts, facts_or_fault
from tliveomni_eval.model_adapters.calibration.near_duplicates import PictureIndex, TextIndex, plain_text
from tliveomni_eval.tasks.manifest import Media, Sample, read_lines

LONG_ANSWER = 24
"""Plain characters of an answer from which on it tells a sample by itself; shorter ones (a price, a letter) recur."""


@dataclass(frozen=True, slots=True)
class Leak:
    """A candidate that is evaluation data.

    Attributes:
        kind: `exact`: the same bytes or letters; `near`: a copy of the picture or nearly the same text.
        what: Which part: `image`, `audio`, `video`, `text`.
        evaluation: Task and id of the evaluation sample.
        distance: Bits of 256 between pictures, or 1 − Jaccard similarity of texts; 0 where exact.
    """

    kind: Literal["exact", "near"]
    what: str
    evaluation: str
    distance: float


@dataclass
class EvaluationIndex:
    """Finds evaluation samples by media and text.

    Attributes:
        samples: How many it holds.
        unreadable: Media of them that could not be read, in words: these are known by nothing.
    """

    samples: int = 0
    unreadable: list[str] = field(default_factory=list)
    _digests: dict[bytes, str] = field(default_factory=dict)
    _pictures: PictureIndex = field(default_factory=PictureIndex)
    _letters: dict[str, str] = field(default_factory=dict)
    _texts: TextIndex = field(default_factory=TextIndex)

    def add(self, sample: Sample, facts: Sequence[MediaFacts]) -> None:
        """Add a sample with the facts of those of its media that are new."""
        name = f"{sample.task} {sample.id}"
        self.samples += 1
        for fact in facts:
            if fact.digest not in self._digests:
                self._digests[fact.digest] = name
                if fact.picture is not None:
                    self._pictures.add(fact.picture, name)
        for text in _telling_texts(sample):
            if self._letters.setdefault(plain_text(text), name) == name:
                self._texts.add(text, name)

    def find(self, sample: Sample, facts: Sequence[MediaFacts]) -> Leak | None:
        """The evaluation sample that a candidate repeats; None where it repeats none."""
        for fact in facts:
            if fact.digest in self._digests:
                return Leak("exact", fact.kind, self._digests[fact.digest], 0.0)
        texts = _telling_texts(sample)
        for text in texts:
            if plain_text(text) in self._letters:
                return Leak("exact", "text", self._letters[plain_text(text)], 0.0)
        for fact in facts:
            if fact.picture is not None and (near := self._pictures.nearest(fact.picture)):
                return Leak("near", "image", str(near[0]), float(near[1]))
        for text in texts:
            if found := self._texts.nearest(text):
                return Leak("near", "text", str(found[0]), round(1.0 - found[1], 4))
        return None


def index_evaluation(folders: Sequence[Path], progress: Callable[[int], None] = lambda _: None) -> EvaluationIndex:
    """Read evaluation folders whole, each medium once.

    Args:
        folders: Data folders.
        progress: Called with the number of further samples.

    Raises:
        ManifestError: A folder has no readable manifest.
    """
    index = EvaluationIndex()
    with ThreadPoolExecutor() as pool:
        for folder in folders:
            samples = [item for _, item in read_lines(folder) if isinstance(item, Sample)]
            first_of = {media.path: (sample, media) for sample in reversed(samples) for media in sample.media}
            wanted: dict[str, list[Media]] = {}
            for path, (sample, media) in first_of.items():
                wanted.setdefault(sample.id, []).append(media)
                assert path == media.path
            trimmed = [sample.model_copy(update={"media": tuple(wanted.get(sample.id, ()))}) for sample in samples]
            found = pool.map(lambda sample, root=folder: facts_or_fault(root, sample), trimmed)
            for sample, facts in zip(samples, found, strict=True):
                if isinstance(facts, str):
                    index.unreadable.append(facts)
                index.add(sample, [] if isinstance(facts, str) else facts)
                progress(1)
    return index


def _telling_texts(sample: Sample) -> list[str]:
    """Texts that tell a sample: question and answer where there is no medium, else an answer that is long enough."""
    answer = sample.reference if isinstance(sample.reference, str) else ""
    if not sample.media:
        return [f"{sample.prompt or ''} {answer}"]
    return [answer] if len(plain_text(answer)) >= LONG_ANSWER else []
