"""`tlive quantize --until-pass`: which precision is tried next, and when it ends."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tliveomni_eval.evals.errors import UserError
from tliveomni_eval.evals.gate.policy import Rule
from tliveomni_eval.evals.gate.verdict import RunSummary, SliceVerdict, Verdict
from tliveomni_eval.model_adapters.quantization.recipe import load_recipe, parse_recipe
from tliveomni_eval.model_adapters.quantization.until_pass import (
    Workshop,
    attempt_of,
    kept_counts,
    quantize_command,
    search,
)

BLOCKS = [f"model.language_model.layers.{number}" for number in range(7)]


def verdict(outcome, certifiable=True, loss=0.01):
    part = SliceVerdict(task="live_ocr", slice="field=price", metric="m", outcome=outcome, counts=True, gated=True,
                        rule=Rule(), clusters=100, loss=loss, certifiable=certifiable)  # fmt: skip
    run = RunSummary(path="p", name="n")
    return Verdict(outcome=outcome, exit_status=0, summary="said", baseline=run, candidate=run, slices=[part])


@settings(max_examples=50)
@given(st.integers(1, 80))
def test_precision_rises_from_attempt_to_attempt_and_one_block_stays_quantized(blocks):
    counts = kept_counts(blocks)
    assert counts[0] == 0
    assert counts == sorted(set(counts))
    assert counts[-1] == blocks - 1


def test_ends_with_the_first_attempt_that_passes():
    found = search(BLOCKS, lambda kept: attempt_of(kept, verdict("PASS" if len(kept) >= 2 else "BREACH")))
    assert found.result == "passed"
    assert [len(item.kept) for item in found.attempts] == [0, 1, 2]
    assert found.attempts[-1].kept == BLOCKS[:2]


def test_says_that_it_is_not_reached_after_the_last_precision():
    found = search(BLOCKS, lambda kept: attempt_of(kept, verdict("BREACH", loss=0.3)))
    assert found.result == "not_reached"
    assert len(found.attempts[-1].kept) == 6
    assert found.attempts[-1].worst == ("live_ocr field=price", 0.3)


def test_samples_that_could_never_show_it_end_the_search_at_once():
    found = search(BLOCKS, lambda kept: attempt_of(kept, verdict("INCONCLUSIVE", certifiable=False)))
    assert (found.result, len(found.attempts)) == ("too_few_samples", 1)
    assert found.attempts[0].hopeless == ["live_ocr field=price"]
    missing = search(BLOCKS, lambda kept: attempt_of(kept, verdict("MISSING")))
    assert (missing.result, len(missing.attempts)) == ("not_reached", 1)


def test_the_raised_recipe_is_one_and_leaves_just_these_blocks():
    members = {block: [f"{block}.mlp.up_proj"] for block in BLOCKS}
    shop = Workshop(Path("m"), load_recipe("w4a16"), Path("o"), Path("p"), "live_ocr", None, None, members)
    recipe = parse_recipe(shop.raised(BLOCKS[1:3]), "raised")
    assert [recipe.overrides[0].matches(f"{block}.mlp.up_proj") for block in BLOCKS] == [n in (1, 2) for n in range(7)]
    assert recipe.overrides[0].weights is None
    assert parse_recipe(shop.raised([]), "same") == load_recipe("w4a16")


def test_a_missing_environment_is_said(monkeypatch, tmp_path):
    monkeypatch.setenv("TLIVE_QUANTIZE", str(tmp_path / "tlive"))
    with pytest.raises(UserError, match="make quantize-environment"):
        quantize_command()
