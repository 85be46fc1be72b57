"""Quotas: met where they can be, covered first, never above what there is."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tliveomni_eval.model_adapters.calibration.quota import Stratum, allocate, shares

STRATA = st.lists(
    st.tuples(
        st.sampled_from("ab"), st.sampled_from(["image", "audio", "text"]), st.sampled_from(["zh", "en"]),
        st.floats(0.5, 8), st.integers(1, 40),
    ),
    min_size=1, max_size=12, unique_by=lambda item: item[:3],
)  # fmt: skip


def strata_of(rows):
    return [
        Stratum(task, (("task", task), ("modality", kind), ("language", lang)), weight, available)
        for task, kind, lang, weight, available in rows
    ]


@settings(max_examples=150)
@given(STRATA, st.integers(0, 400))
def test_sums_up_within_what_is_available(rows, wanted):
    strata = strata_of(rows)
    counts = allocate(wanted, strata)
    available = np.array([stratum.available for stratum in strata])
    assert counts.sum() == min(wanted, available.sum())
    assert (counts >= 0).all()
    assert (counts <= available).all()


@settings(max_examples=150)
@given(STRATA, st.integers(0, 60))
def test_every_value_occurs_where_there_is_room_for_all(rows, extra):
    strata = strata_of(rows)
    values = {value for stratum in strata for value in stratum.values}
    counts = allocate(len(values) + extra, strata)
    covered = {value for stratum, count in zip(strata, counts, strict=True) if count for value in stratum.values}
    assert covered == values


@settings(max_examples=100)
@given(STRATA)
def test_shares_are_met_within_one_where_all_have_enough(rows):
    strata = [Stratum(stratum.task, stratum.values, stratum.weight, 10**9) for stratum in strata_of(rows)]
    counts = allocate(100_000, strata)
    assert np.abs(counts - 100_000 * shares(strata)).max() <= 1.0 + 1e-6


def test_a_precision_task_gets_twice_a_perception_task_and_what_one_lacks_goes_to_the_others():
    both = [Stratum("ocr", (("task", "ocr"),), 2.0, 1000), Stratum("caption", (("task", "caption"),), 1.0, 1000)]
    assert allocate(300, both).tolist() == [200, 100]
    scarce = [Stratum("ocr", (("task", "ocr"),), 2.0, 50), both[1]]
    assert allocate(300, scarce).tolist() == [50, 250]


def test_many_strata_do_not_give_a_task_more():
    split = [Stratum("ocr", (("task", "ocr"), ("lang", str(n))), 1.0, 1000) for n in range(4)]
    whole = Stratum("caption", (("task", "caption"),), 1.0, 1000)
    counts = allocate(400, [*split, whole])
    assert counts[:4].sum() == counts[4] == 200
