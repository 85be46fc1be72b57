"""Read composed frames with RapidOCR, which knows nothing of the composer, and compare with the references.

``python tests/tasks/independent_reader.py tasks/data/live_ocr`` reads a whole set and prints a table by slice.
"""

from __future__ import annotations

import sys
import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from rapidfuzz import fuzz
from rapidfuzz.distance import Levenshtein
from rapidocr_onnxruntime import RapidOCR
from tliveomni_eval.tasks.manifest import Sample, load_samples


def normalized(text: str) -> str:
    """NFKC, without case and whitespace: what a reader for other purposes cannot be held to."""
    return "".join(unicodedata.normalize("NFKC", text).casefold().split())


def found_share(wanted: str, text: str) -> float:
    """Edit similarity (0 to 1) of the wanted text and the stretch of the read text that is most like it."""
    wanted = normalized(wanted).lstrip("¥$")
    alignment = fuzz.partial_ratio_alignment(wanted, text) if text else None
    if alignment is None or not wanted:
        return float(not wanted)
    starts = range(max(0, alignment.dest_start - 2), alignment.dest_start + 3)
    ends = range(alignment.dest_end - 2, alignment.dest_end + 3)
    return max(Levenshtein.normalized_similarity(wanted, text[start:end]) for start in starts for end in ends)


def wanted_texts(sample: Sample) -> list[str]:
    """The reference, or the cells of a table."""
    reference = str(sample.reference)
    if sample.context["field"] != "table":
        return [reference]
    header, _, *body = reference.split("\n")
    return [cell.strip() for row in (header, *body) for cell in row.strip("|").split("|")]


class IndependentReader:
    """RapidOCR on whole frames."""

    def __init__(self) -> None:
        self.engine: Any = RapidOCR(det_limit_side_len=384)

    def similarity(self, frame: Image.Image, sample: Sample) -> float:
        """How much of the reference (0 to 1) RapidOCR finds anywhere in the frame."""
        lines, _ = self.engine(np.asarray(frame.convert("RGB"))[:, :, ::-1], use_cls=False)
        text = normalized("".join(line[1] for line in lines or []))
        wanted = wanted_texts(sample)
        return sum(found_share(part, text) for part in wanted) / len(wanted)


def similarities(folder: Path, samples: Iterable[Sample]) -> dict[str, float]:
    """Similarity of each sample by its id."""
    reader = IndependentReader()
    read = {}
    for sample in samples:
        with Image.open(folder / sample.media[0].path) as frame:
            read[sample.id] = reader.similarity(frame, sample)
    return read


def main(folder: Path) -> None:
    """Print the mean similarity and the number of images by slice."""
    samples = load_samples(folder, "live_ocr")
    read = similarities(folder, samples)
    by_slice = defaultdict(list)
    for sample in samples:
        for attribute, value in sample.slices.items():
            by_slice[f"{attribute}={value}"].append(read[sample.id])
    for name, values in sorted(by_slice.items()):
        print(f"{name:24} {len(values):5} {sum(values) / len(values):.3f}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
