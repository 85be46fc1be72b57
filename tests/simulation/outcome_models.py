"""Populations with a known loss, from which the simulation draws paired runs.

Each model returns cluster values (baseline, candidate, size, multiplicity) of many repetitions at once, as the
comparison computes them, and holds by construction: population loss = `loss`, exactly, on the relative scale.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from tliveomni_eval.evals.statistics.average_precision_influence import average_precision_influence
from tliveomni_eval.evals.statistics.slice_stack import SliceStack

FloatArray = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int, int, float, float], SliceStack]


@dataclass(frozen=True)
class OutcomeModel:
    """A kind of metric to simulate.

    Attributes:
        name: Name in the results.
        draw: (generator, repetitions, clusters, loss, flip rate) → the repetitions as a stack of slices.
        clusters: Numbers of clusters to simulate.
        possible: (loss, flip rate) → whether the flips can produce the loss.
        few_flip_rates_from: From this many clusters on only the lowest, middle and highest flip rate are simulated.
    """

    name: str
    draw: Draw
    clusters: tuple[int, ...]
    possible: Callable[[float, float], bool]
    few_flip_rates_from: int = 10_000


BINARY_QUALITY = 0.9


def cell_probabilities(loss: float, flip_rate: float, quality: float = BINARY_QUALITY) -> FloatArray:
    """Probabilities of (both right, baseline only, candidate only, neither)."""
    worse, better = (flip_rate + loss * quality) / 2, max((flip_rate - loss * quality) / 2, 0.0)
    return np.array([quality - worse, worse, better, max(1 - quality - better, 0.0)])


def stack_of_cells(counts: FloatArray) -> SliceStack:
    """Right-or-wrong slices from their four counts, shape (repetitions, 4)."""
    shape = counts.shape
    baseline, candidate, size = (
        np.broadcast_to(np.array(row, dtype=float), shape) for row in ((1, 1, 0, 0), (1, 0, 1, 0), (1, 1, 1, 1))
    )
    alike = np.ones(shape[0], dtype=bool)
    return SliceStack.of_arrays(baseline, candidate, size, counts.astype(float), right_or_wrong=alike)


def draw_binary(
    generator: np.random.Generator, repetitions: int, clusters: int, loss: float, flip_rate: float
) -> SliceStack:
    """One right-or-wrong sample a cluster; the baseline is right in 90 %."""
    return stack_of_cells(generator.multinomial(clusters, cell_probabilities(loss, flip_rate), size=repetitions))


def draw_circular(
    generator: np.random.Generator, repetitions: int, clusters: int, loss: float, flip_rate: float
) -> SliceStack:
    """Four rotations a question, right only where all four are; a wrong question fails one to four rotations.

    The flip rate is that of questions; a rotation flips more often than it matters to its question.
    """
    cells = generator.choice(4, size=(repetitions, clusters), p=cell_probabilities(loss, flip_rate))
    both = []
    for right_cells in ((0, 1), (0, 2)):
        right = np.isin(cells, right_cells)
        wrong_rotations = np.where(right, 0, generator.integers(1, 5, size=cells.shape))
        rotation_right = np.arange(4) >= wrong_rotations[..., None]
        both.append(rotation_right.all(axis=2))
    state = 2 * (~both[0]) + (~both[1])
    return stack_of_cells(np.stack([(state == value).sum(axis=1) for value in range(4)], axis=1))


def _draw_ratio(
    generator: np.random.Generator,
    shape: tuple[int, int],
    loss: float,
    flip_rate: float,
    *,
    destroyed: float,
    length_spread: float,
    tail: bool,
) -> SliceStack:
    """Cluster qualities: length · quality · (1 − hits of this run), and for the candidate · (1 − its own loss).

    Both runs' hits have one distribution. They meet the candidate's partial losses in the same clusters, which the
    size of the partial losses allows for, so that the population loss is exact.
    """
    length = np.exp(generator.normal(0, length_spread, shape))
    quality = 1 - np.minimum(generator.gamma(0.5, 0.1, shape), 1.0)
    flipped = generator.random(shape) < flip_rate

    def hits() -> FloatArray:
        size = generator.beta(0.5, 4.5, shape) if tail else 0.1 * generator.random(shape)
        return np.where(flipped, size, 0.0)

    share = min(destroyed, loss)
    mean_hit = 0.1 if tail else 0.05
    partial = (loss - share) / (1 - share) / flip_rate * (1 - flip_rate * mean_hit) / (1 - mean_hit)
    lost = np.where(flipped, 2 * partial * generator.random(shape), 0.0)
    lost[generator.random(shape) < share] = 1.0
    baseline = length * quality * (1 - hits())
    candidate = length * quality * (1 - hits()) * (1 - lost)
    mean = length.mean(axis=1, keepdims=True)
    return SliceStack.of_arrays(
        baseline / mean, candidate / mean, length / mean, None, right_or_wrong=np.zeros(shape[0], dtype=bool)
    )


def draw_ratio(
    generator: np.random.Generator, repetitions: int, clusters: int, loss: float, flip_rate: float
) -> SliceStack:
    """Clusters of similar length whose changes are small: at most a tenth of the cluster and its share of the loss."""
    return _draw_ratio(
        generator, (repetitions, clusters), loss, flip_rate, destroyed=0.0, length_spread=0.3, tail=False
    )


def draw_heavy_ratio(
    generator: np.random.Generator, repetitions: int, clusters: int, loss: float, flip_rate: float
) -> SliceStack:
    """Very unequal lengths, heavy-tailed changes, and up to 1 % of the clusters destroyed entirely."""
    return _draw_ratio(
        generator, (repetitions, clusters), loss, flip_rate, destroyed=0.01, length_spread=0.8, tail=True
    )


def draw_average_precision(
    generator: np.random.Generator, repetitions: int, clusters: int, loss: float, flip_rate: float
) -> SliceStack:
    """Images of one to three references, each found with probability 0.9, and false positives of lower score.

    The candidate loses every detection of a share `loss` of the images (recall, hence AP, falls by exactly that
    factor) and detects afresh, no worse, in further images up to the flip rate.
    """
    values = np.empty((2, repetitions, clusters))
    for repetition in range(repetitions):
        references = generator.integers(1, 4, clusters).astype(float)
        first, second = _detections(generator, references), _detections(generator, references)
        fate = generator.random(clusters)
        destroyed, redrawn = fate < loss, (fate >= loss) & (fate < flip_rate)
        candidate = tuple(
            np.concatenate((a[~(destroyed | redrawn)[first[2]]], b[redrawn[second[2]]]))
            for a, b in zip(first, second, strict=True)
        )
        for index, (score, matched, image) in enumerate((first, candidate)):
            order = np.argsort(-score)
            area, influence = average_precision_influence(matched[order], image[order], references, np.ones(clusters))
            values[index, repetition] = area + clusters * influence
    alike = np.zeros(repetitions, dtype=bool)
    return SliceStack.of_arrays(values[0], values[1], np.ones_like(values[0]), None, right_or_wrong=alike)


def _detections(
    generator: np.random.Generator, references: FloatArray
) -> tuple[FloatArray, NDArray[np.bool_], NDArray[np.intp]]:
    """Scores, matches and images of the detections of one run."""
    of_reference = np.repeat(np.arange(references.size), references.astype(int))
    found = of_reference[generator.random(of_reference.size) < 0.9]
    false = generator.integers(0, references.size, generator.poisson(0.3 * references.size))
    score = np.concatenate((generator.beta(4, 2, found.size), generator.beta(2, 4, false.size)))
    matched = np.concatenate((np.ones(found.size, dtype=bool), np.zeros(false.size, dtype=bool)))
    return score, matched, np.concatenate((found, false))


_EVERY = (50, 100, 200, 300, 500, 1000, 2000, 5000)

MODELS = (
    OutcomeModel("binary", draw_binary, _EVERY, lambda loss, flips: loss * BINARY_QUALITY <= flips + 1e-12),
    OutcomeModel("circular", draw_circular, _EVERY, lambda loss, flips: loss * BINARY_QUALITY <= flips + 1e-12),
    OutcomeModel("ratio", draw_ratio, _EVERY, lambda loss, flips: 2 * loss <= flips, 1000),
    OutcomeModel("heavy ratio", draw_heavy_ratio, _EVERY, lambda loss, flips: 2 * (loss - 0.01) <= flips, 1000),
    OutcomeModel(
        "average precision", draw_average_precision, (50, 200, 500, 1000, 5000), lambda loss, flips: loss <= flips, 1000
    ),
)
