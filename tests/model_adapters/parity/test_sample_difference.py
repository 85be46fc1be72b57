"""Differences of two sides from made-up distributions, held against what follows from the whole vocabulary."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tliveomni_eval.evals.errors import UserError
from tliveomni_eval.evals.parity_report import ParityBackends, ParityReport
from tliveomni_eval.model_adapters.parity.ablation import ablation_rows
from tliveomni_eval.model_adapters.parity.group_summary import summarize
from tliveomni_eval.model_adapters.parity.sample_difference import (
    SampleDifference,
    sample_difference,
    top_divergence,
)
from tliveomni_eval.model_adapters.parity.token_scores import (
    SideRecord,
    TokenScores,
    modality_of,
    read_records,
    scores_of,
    write_records,
)

VOCABULARY = 12


def rows(seed: int, places: int, spread: float = 2.0) -> np.ndarray:
    """Log-probabilities of a vocabulary, (places, VOCABULARY)."""
    logits = spread * np.random.default_rng(seed).standard_normal((places, VOCABULARY))
    return np.asarray(logits - np.log(np.exp(logits).sum(-1, keepdims=True)))


def scores(logprobs: np.ndarray, tokens: list[int], top_k: int) -> TokenScores:
    order = np.argsort(-logprobs, axis=1)[:, :top_k]
    return TokenScores(
        tokens=tuple(tokens),
        logprobs=tuple(float(row[token]) for row, token in zip(logprobs, tokens, strict=True)),
        top=tuple(
            tuple((int(token), float(row[token])) for token in ids) for row, ids in zip(logprobs, order, strict=True)
        ),
    )


def record(given: TokenScores | None, task: str = "live_ocr", document: int = 0, **fields: object) -> SideRecord:
    return SideRecord.model_validate({"task": task, "document": document, "scores": given, **fields})


def difference(seed: int, places: int, task: str = "live_ocr", document: int = 0, noise: float = 0.1, **fields: object):
    ours = rows(seed, places)
    theirs = ours + noise * np.random.default_rng(seed + 1).standard_normal(ours.shape)
    theirs -= np.log(np.exp(theirs).sum(-1, keepdims=True))
    tokens = ours.argmax(-1).tolist()
    pair = (record(scores(one, tokens, 5), task, document, **fields) for one in (ours, theirs))
    return sample_difference(*pair)


@given(st.integers(0, 2**31), st.integers(1, VOCABULARY), st.integers(1, VOCABULARY))
@settings(max_examples=50)
def test_the_divergence_of_top_tokens_is_at_most_that_of_the_vocabulary(seed: int, k: int, other_k: int) -> None:
    ours, theirs = rows(seed, 1), rows(seed + 1, 1)
    whole = float((np.exp(ours) * (ours - theirs)).sum())
    token = int(ours.argmax())
    found = top_divergence(scores(ours, [token], k), scores(theirs, [token], other_k), 0)
    assert 0 <= found <= whole + 1e-9
    everything = top_divergence(scores(ours, [token], VOCABULARY), scores(theirs, [token], VOCABULARY), 0)
    assert everything == pytest.approx(whole, abs=1e-6)


@given(st.integers(0, 2**31), st.integers(1, 6))
@settings(max_examples=25)
def test_a_side_does_not_differ_from_itself(seed: int, places: int) -> None:
    found = difference(seed, places, noise=0.0)
    assert found.delta.max() < 1e-9
    assert found.kl.max() <= 1e-9
    assert found.first_divergence is None


def test_the_first_divergence_and_the_largest_difference_are_where_they_were_made() -> None:
    ours = rows(3, 4)
    tokens = ours.argmax(-1).tolist()
    theirs = ours.copy()
    theirs[2, tokens[2]] -= 30.0
    theirs -= np.log(np.exp(theirs).sum(-1, keepdims=True))
    found = sample_difference(record(scores(ours, tokens, 5)), record(scores(theirs, tokens, 5)))
    assert found.first_divergence == 2
    sample = found.as_sample("one")
    assert sample.max_delta_at == 2
    assert sample.max_delta == pytest.approx(30.0 + np.log1p(-np.exp(ours[2, tokens[2]])), abs=0.01)
    assert sample.mean_delta == pytest.approx(sample.max_delta / 4, abs=1e-6)


def test_scores_of_other_tokens_or_samples_are_not_compared() -> None:
    ours = rows(0, 2)
    one = record(scores(ours, [1, 2], 5))
    for other in (
        record(scores(ours, [1, 3], 5)),
        record(scores(ours, [1, 2], 5), document=1),
        record(scores(ours, [1, 2], 5), task="live_asr"),
        record(None),
    ):
        with pytest.raises(ValueError, match="not scores of the same tokens"):
            sample_difference(one, other)


@given(st.lists(st.tuples(st.sampled_from(["a", "b"]), st.integers(1, 5)), min_size=1, max_size=6))
@settings(max_examples=25)
def test_rows_are_means_over_tokens_and_tasks_add_up(shapes: list[tuple[str, int]]) -> None:
    found = [
        difference(index, places, task, index, modality="image" if index % 2 else "text")
        for index, (task, places) in enumerate(shapes)
    ]
    groups = summarize(found, [], ["a", "b"], {})
    whole = np.concatenate([one.delta for one in found])
    overall = groups[0]
    assert (overall.kind, overall.tokens) == ("all", whole.size)
    assert overall.mean_delta == pytest.approx(whole.mean())
    for kind in ("task", "modality"):
        parts = [group for group in groups if group.kind == kind]
        assert sum(group.tokens for group in parts) == whole.size
        assert sum(group.samples for group in parts) == len(found)
        assert sum(group.tokens * (group.mean_delta or 0) for group in parts) == pytest.approx(whole.sum())
        assert max(group.max_delta or 0 for group in parts) == pytest.approx(whole.max())


def test_what_was_not_compared_is_counted_with_its_reason() -> None:
    unheard = [record(None, "live_asr", index, reason="cannot hear", modality="audio") for index in range(3)]
    groups = summarize([difference(0, 2)], unheard, ["live_ocr", "live_asr"], {})
    (audio,) = [group for group in groups if group.name == "audio"]
    assert (audio.samples, audio.not_compared, audio.reason, audio.mean_delta) == (0, 3, "cannot hear", None)
    assert groups[0].not_compared == 3
    assert [group.name for group in groups] == ["all", "live_ocr", "live_asr", "audio", "text"]


def report_of(groups: tuple, tolerance: float) -> ParityReport:
    return ParityReport(
        created="2026-01-01T00:00:00Z",
        backends=ParityBackends(
            model="m", variant="", architecture="A", fingerprint="", device="cpu",
            reference_dtype="float32", candidate_dtype="float32",
        ),
        limit=1, seed=0, top_k=5, max_mean_delta=tolerance, groups=groups, samples=(),
    )  # fmt: skip


def test_the_outcome_follows_from_the_mean_and_the_prompts() -> None:
    groups = summarize([difference(0, 3)], [], ["live_ocr"], {})
    mean = groups[0].mean_delta
    assert mean is not None
    assert report_of(groups, mean * 1.01).outcome == "WITHIN"
    assert report_of(groups, mean * 0.99).outcome == "BEYOND"
    assert report_of(summarize([], [record(None, reason="x")], ["live_ocr"], {}), 1.0).outcome == "NOTHING COMPARABLE"
    one = difference(0, 3)
    longer = one.candidate.model_copy(update={"prompt_tokens": 1})
    other = SampleDifference(one.reference, longer, one.delta, one.kl, one.same_argmax)
    assert report_of(summarize([other], [], ["live_ocr"], {}), 1.0).outcome == "BEYOND"


def test_ablation_is_relative_to_all_on() -> None:
    near, far = difference(0, 4, noise=0.01), difference(0, 4, noise=0.5)
    all_on, off = ablation_rows({"": [near], "no_interleave": [far]})
    assert (all_on.switch, all_on.times_all_on) == ("", 1.0)
    assert off.times_all_on == pytest.approx(far.delta.mean() / near.delta.mean())
    assert off.by_modality == {"text": pytest.approx(far.delta.mean())}


@given(st.integers(0, 2**31), st.integers(0, 4))
@settings(max_examples=20)
def test_records_are_read_as_they_were_written(seed: int, count: int) -> None:
    import tempfile

    written = [
        record(scores(rows(seed, 2), [0, 1], 3), document=index, text="价格\n", left_out=("sound",))
        for index in range(count)
    ] + [record(None, "t", 1, reason="why")]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "records.jsonl"
        write_records(path, written)
        assert list(read_records(path)) == written


def test_records_that_were_not_written_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="ended without"):
        list(read_records(tmp_path / "records.jsonl"))


def test_scores_are_those_of_the_last_tokens_of_the_prompt() -> None:
    def place(*ranked: tuple[int, float, int]) -> dict[int, SimpleNamespace]:
        return {token: SimpleNamespace(logprob=logprob, rank=rank) for token, logprob, rank in ranked}

    # A prompt's own token comes first and may have any rank.
    prompt = [None, place((7, -0.1, 1)), place((5, -3.0, 9), (1, -0.2, 1), (2, -1.5, 2)), place((3, -0.3, 1))]
    assert scores_of(prompt, (5, 3), 2) == TokenScores(
        tokens=(5, 3), logprobs=(-3.0, -0.3), top=(((1, -0.2), (2, -1.5)), ((3, -0.3),))
    )


@pytest.mark.parametrize(
    ("kinds", "sounding", "name"),
    [((), False, "text"), (("video",), True, "video+sound"), (("video", "audio"), False, "audio + video")],
)
def test_modalities_have_names(kinds: tuple[str, ...], sounding: bool, name: str) -> None:
    assert modality_of(kinds, sounding) == name
