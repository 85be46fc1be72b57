"""How far slices share their samples."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from tliveomni_eval.evals.statistics.paired_slices import IndexArray


def shared_with_others(slices: Mapping[str, IndexArray], n_samples: int) -> dict[str, float]:
    """Share 0..1 of each slice's samples that another slice holds too.

    Overlap does not invalidate a verdict: PASS is an intersection–union test and Holm's correction of BREACH holds
    under any dependence. It tells a reader that two verdicts may rest on the same samples.

    >>> shared_with_others({"a": np.array([0, 1]), "b": np.array([1, 2, 3, 4])}, 5)
    {'a': 0.5, 'b': 0.25}
    """
    held = np.zeros(n_samples, dtype=np.int32)
    for members in slices.values():
        held[members] += 1
    return {name: float((held[members] > 1).mean()) if members.size else 0.0 for name, members in slices.items()}
