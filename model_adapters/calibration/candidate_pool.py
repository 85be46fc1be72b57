"""Candidates: drawn by stratum, looked at with their media, and kept where they are new and no evaluation data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice, pairwise

import numpy as np
import orjson
from numpy.typing import NDArray
from pydantic import ValidationError
from tliveomni_eval.model_adapters.calibration.calibration_report import LeakRow
from tliveomni_eval.model_adapters.calibration.evaluation_index import EvaluationIndex
from tliveomni_eval.model_adapters.calibration.manifest_scan import Scan, read_line
from tliveomni_eval.model_adapters.calibration.media_facts import MediaFacts, facts_or_fault, media_traits
from tliveomni_eval.model_adapters.calibration.near_duplicates import PictureIndex, TextIndex
from tliveomni_eval.model_adapters.calibration.quota import Stratum, allocate
from tliveomni_eval.tasks.manifest import Sample

SURPLUS = 1.5
"""Candidates for each sample that is wanted, so that media are opened for a few thousand and never for a million."""

ROUNDS = 6


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sample that may calibrate.

    Attributes:
        row: Its line in the scan.
        sample: The sample.
        facts: Of its media.
        traits: Those of its line and those of its media.
        weight: How much more of it is wanted.
    """

    row: int
    sample: Sample
    facts: tuple[MediaFacts, ...]
    traits: tuple[tuple[str, str], ...]
    weight: float


@dataclass
class CandidatePool:
    """What came of the candidates.

    Attributes:
        kept: Those that may calibrate, in the order drawn.
        looked_at: How many were looked at.
        near_duplicates: Left out because they repeat another one.
        faults: Those that cannot be used, in words.
        leaks: Those that are evaluation data.
    """

    kept: list[Candidate] = field(default_factory=list)
    looked_at: int = 0
    near_duplicates: int = 0
    faults: list[str] = field(default_factory=list)
    leaks: list[LeakRow] = field(default_factory=list)
    _pictures: PictureIndex = field(default_factory=PictureIndex)
    _texts: dict[tuple[object, ...], TextIndex] = field(default_factory=dict)

    def take(self, candidate: Candidate, folder: str, evaluation: EvaluationIndex) -> None:
        """Keep a candidate, or count why not."""
        leak = evaluation.find(candidate.sample, candidate.facts)
        sample = candidate.sample
        if leak is not None:
            place = {"folder": folder, "task": sample.task, "id": sample.id}
            found = {"kind": leak.kind, "what": leak.what, "evaluation": leak.evaluation, "distance": leak.distance}
            self.leaks.append(LeakRow.model_validate(place | found))
            return
        media = (sample.task if sample.media else "", *(self._identity(fact) for fact in candidate.facts))
        texts = self._texts.setdefault(media, TextIndex())
        text = f"{sample.prompt or ''} {sample.reference} {sample.context.get('question', '')}"
        if texts.nearest(text) is not None:
            self.near_duplicates += 1
            return
        texts.add(text, sample.id)
        self.kept.append(candidate)

    def _identity(self, fact: MediaFacts) -> object:
        """The same for copies of one picture, and for files of the same bytes."""
        if fact.picture is None:
            return fact.digest
        near = self._pictures.nearest(fact.picture)
        if near is not None:
            return near[0]
        self._pictures.add(fact.picture, fact.digest)
        return fact.digest


def draw_candidates(
    scan: Scan, wanted: int, seed: int, evaluation: EvaluationIndex, progress: Callable[[int], None] = lambda _: None
) -> CandidatePool:
    """Look at candidates until there are enough good ones, or no more lines.

    Args:
        scan: All lines.
        wanted: Samples wanted in the end.
        seed: Of the order within a stratum.
        evaluation: What may not calibrate.
        progress: Called with the number of further candidates looked at.
    """
    pool = CandidatePool()
    queues = _queues(scan, seed)
    taken = np.zeros(len(scan.strata), dtype=np.int64)
    for _ in range(ROUNDS):
        missing = wanted - len(pool.kept)
        left = [len(queue) - used for queue, used in zip(queues, taken, strict=True)]
        if missing <= 0 or not any(left):
            break
        open_strata = [number for number, count in enumerate(left) if count > 0]
        strata = [_stratum(scan, number, int(left[number])) for number in open_strata]
        rows: list[int] = []
        for number, count in zip(open_strata, allocate(int(np.ceil(SURPLUS * missing)), strata), strict=True):
            rows += queues[number][taken[number] : taken[number] + count].tolist()
            taken[number] += count
        for row, looked in zip(rows, _looked_at(scan, rows), strict=True):
            pool.looked_at += 1
            progress(1)
            if isinstance(looked, str):
                pool.faults.append(looked)
            else:
                pool.take(looked, str(scan.folders[scan.folder[row]]), evaluation)
    return pool


def _stratum(scan: Scan, number: int, available: int) -> Stratum:
    traits, weight = scan.strata[number]
    return Stratum(dict(traits)["task"], traits, weight, available)


def _queues(scan: Scan, seed: int) -> list[NDArray[np.int64]]:
    """Lines of each stratum in random order, one of each cluster before a second one of any."""
    chance = np.random.default_rng(seed).random(len(scan))
    order = np.lexsort((chance, scan.cluster, scan.stratum))
    stratum, cluster = scan.stratum[order], scan.cluster[order]
    starts = np.ones(len(order), dtype=bool)
    starts[1:] = (stratum[1:] != stratum[:-1]) | (cluster[1:] != cluster[:-1])
    first = np.maximum.accumulate(np.where(starts, np.arange(len(order)), 0))
    turn = np.empty(len(order), dtype=np.int64)
    turn[order] = np.arange(len(order)) - first
    by_turn = np.lexsort((chance, turn, scan.stratum))
    edges = np.searchsorted(scan.stratum[by_turn], np.arange(len(scan.strata) + 1))
    return [by_turn[start:end] for start, end in pairwise(edges)]


def _looked_at(scan: Scan, rows: Sequence[int]) -> Iterator[Candidate | str]:
    """Candidates in the order of the rows; files are read in threads, a bounded number ahead."""
    remaining = iter(rows)
    with ThreadPoolExecutor() as threads:
        while batch := list(islice(remaining, 256)):
            yield from threads.map(lambda row: _candidate(scan, row), batch)


def _candidate(scan: Scan, row: int) -> Candidate | str:
    folder = scan.folders[scan.folder[row]]
    try:
        sample = Sample.model_validate(orjson.loads(read_line(folder, int(scan.offset[row]))))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        return (
            f"{folder}: a sample, field {'.'.join(map(str, first['loc']))}: {first['msg']}, got {first['input']!r:.80}"
        )
    facts = facts_or_fault(folder, sample)
    if isinstance(facts, str):
        return f"{sample.task} {sample.id}: {facts}"
    traits, weight = scan.strata[scan.stratum[row]]
    return Candidate(row, sample, tuple(facts), traits + media_traits(facts), weight)
