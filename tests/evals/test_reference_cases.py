"""Runs the reference values that lie beside a checkout, in `../shared/cases`, where that folder exists.

To add a file: write a function that takes a row and returns the value our scorer computes for it, in the shape of
`row["expected"]`, or `NO_SCORER` for a metric this project does not compute, or `Convention(why)` where it differs on
purpose; then add it to `CASE_SCORERS` under the file's name. A dict needs only the keys that are compared.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tliveomni_eval.evals.metrics.anls import anls
from tliveomni_eval.evals.metrics.edit_similarity import edit_similarity
from tliveomni_eval.evals.metrics.hotwords import biased_errors
from tliveomni_eval.evals.metrics.named_entity_error import match_entities
from tliveomni_eval.evals.metrics.speaker_time_errors import speaker_time_errors
from tliveomni_eval.evals.metrics.speaker_token_errors import TimedTokens, cp_errors, orc_errors, tcp_errors
from tliveomni_eval.evals.metrics.table import parse_table
from tliveomni_eval.evals.metrics.teds import teds
from tliveomni_eval.evals.metrics.token_errors import token_errors
from tliveomni_eval.evals.record import Counts
from tliveomni_eval.evals.statistics.cluster_values import loss_of
from tliveomni_eval.evals.statistics.comparison import interval_verdict
from tliveomni_eval.evals.statistics.inference import compare_slices
from tliveomni_eval.evals.statistics.paired_slices import PairedSums
from tliveomni_eval.evals.text.normalizer import normalize_transcript
from tliveomni_eval.evals.text.tokens import tokenize

CASES = Path(__file__).resolve().parents[2].parent / "shared" / "cases"


@dataclass(frozen=True)
class Convention:
    """A row whose reference value we do not share, for a reason that a docstring gives too."""

    why: str


NO_SCORER = object()
Row = dict[str, Any]


def score_ocr_row(row: Row) -> Any:
    given, metric = row["input"], row["metric"]
    if metric.startswith("ANLS"):
        return anls(given["gold"], given["pred"], given["threshold"])
    if metric.startswith("NED"):
        return {"norm_dist": 1 - edit_similarity(given["gt"], given["pred"])}
    if metric == "TEDS":
        if row.get("note") == "th content wrong":
            return Convention("the text of a th counts (metrics/table.py)")
        reference, hypothesis = parse_table(given["gt"]), parse_table(given["pred"])
        assert reference is not None
        if not isinstance(row["expected"], dict):
            return 0.0 if hypothesis is None else teds(reference, hypothesis)
        assert hypothesis is not None
        return {
            "TEDS": teds(reference, hypothesis),
            "TEDS_struct": teds(reference, hypothesis, structure_only=True),
        }
    return NO_SCORER


def score_contextual_asr_row(row: Row) -> Any:
    given, metric = row["input"], row["metric"]
    if metric in ("wer", "cer", "cer_raw_no_normalisation"):
        return jiwer_row(row, split=str.split if metric == "wer" else characters)
    if metric == "B/U error counts utt":
        reference, hypothesis = given["ref"].split(), given["hyp"].split()
        hotwords = [(word,) for word in given["biasing_words"]]
        split = biased_errors(reference, hypothesis, token_errors(reference, hypothesis), hotwords)
        expected = row["expected"]
        errors = {part: sum(expected[part][kind] for kind in ("sub", "ins", "del")) for part in "bu"}
        computed = {"b": split.biased, "u": split.unbiased}
        assert errors == {part: computed[part].num for part in "bu"}
        return {part: {"ref_words": computed[part].den} for part in "bu"}
    if metric.startswith("NE match"):
        said = {tuple(entity.split()): count for entity, count in given["ref_counts"].items()}
        matches = match_entities(given["hyp"].split(), said)
        return {
            "exact": [" ".join(span) for span in matches.exact],
            "fuzzy": [" ".join(span) for span in matches.fuzzy],
        }
    if metric == "tokenize zh":
        tokens = " ".join(tokenize(normalize_transcript(given), "zh"))
        return (
            tokens if given.isalpha() else Convention("the decimal point stays and digits are tokens (text/tokens.py)")
        )
    if metric in ("zh_tn", "zh_itn", "speechio_tn"):
        if normalize_transcript(given) == normalize_transcript(row["expected"]):
            return row["expected"]
        return Convention("dates, units, er-hua and ranges keep their written form (text/normalizer.py)")
    return NO_SCORER


def characters(text: str) -> list[str]:
    return list(text.replace(" ", "␣"))


def jiwer_row(row: Row, split: Callable[[str], list[str]]) -> Any:
    given, expected = row["input"], row["expected"]
    references = given["ref"] if isinstance(given["ref"], list) else [given["ref"]]
    hypotheses = given["hyp"] if isinstance(given["hyp"], list) else [given["hyp"]]
    errors = [token_errors(split(ref), split(hyp)) for ref, hyp in zip(references, hypotheses, strict=True)]
    pooled = sum((error.counts for error in errors), Counts(0, 0))
    kinds = {
        "insertions": sum(error.insertions for error in errors),
        "deletions": sum(error.deletions for error in errors),
    }
    if not isinstance(expected, dict):
        return pooled.rate
    computed = {kind: count for kind, count in kinds.items() if kind in expected}
    if pooled.rate is not None:
        return computed | {"wer": pooled.rate}
    return computed or Convention("the rate of an empty reference is undefined (metrics/token_errors.py)")


def score_diarization_row(row: Row) -> Any:
    given, metric, expected = row["input"], row["metric"], row["expected"]
    if metric in ("cpWER", "ORC-WER"):
        reference, hypothesis = token_streams(given["ref"]), token_streams(given["hyp"])
        cp = cp_errors(reference, hypothesis)
        counts = cp.counts if metric == "cpWER" else orc_errors(reference, hypothesis).counts
    elif metric == "tcpWER":
        counts = tcp_errors(timed_streams(given["ref"]), timed_streams(given["hyp"]), given["collar"]).counts
    else:
        return speaker_time_row(given, metric, expected)
    return {"errors": counts.num, "length": counts.den, "error_rate": counts.rate}


def speaker_time_row(given: Row, metric: str, expected: Any) -> Any:
    collar = given.get("pyannote_collar", 2 * given.get("md_eval_c", 0.0))
    reference, hypothesis = ([(who, start, end) for start, end, who in given[side]] for side in ("ref", "hyp"))
    errors = speaker_time_errors(
        reference,
        hypothesis,
        collar_s=collar,
        skip_overlap=given.get("skip_overlap", given.get("ignore_overlap", False)),
    )
    if not reference:
        return Convention("the rate of an empty reference is undefined (metrics/speaker_time_errors.py)")
    assert errors.der.rate is not None
    if metric.startswith("DER%"):
        return round(100 * errors.der.rate, 2)
    without_overlap = speaker_time_errors(reference, hypothesis, collar_s=collar, skip_overlap=True)
    computed = {
        "der": errors.der.rate,
        "jer": errors.jer.rate,
        "der_skip_overlap": without_overlap.der.rate,
        "confusion": errors.confusion,
        "false_alarm": errors.false_alarm,
        "missed": errors.missed,
        "total": errors.total,
        "mapping": errors.mapping,
    }
    return {key: value for key, value in computed.items() if key in expected}


def token_streams(streams: Any) -> list[list[str]]:
    return [text.split() for text in (streams.values() if isinstance(streams, dict) else streams)]


def timed_streams(segments: list[Any]) -> list[TimedTokens]:
    speakers = list(dict.fromkeys(speaker for speaker, *_ in segments))
    return [
        TimedTokens(
            tuple(tuple(text.split()) for speaker, text, _, _ in segments if speaker == wanted),
            tuple((start, end) for speaker, _, start, end in segments if speaker == wanted),
        )
        for wanted in speakers
    ]


def score_quant_gate_row(row: Row) -> Any:
    given, metric = row["input"], row["metric"]
    if metric == "paired binary":
        return paired_binary_row(given)
    if metric == "recovery":
        recovery = 1 - loss_of(given["base"], given["compressed"], "relative")
        return {"raw": recovery, "strict_pass": recovery >= given["threshold"] - 1e-12}
    if "damage_ci" in given:
        verdict = interval_verdict(*given["damage_ci"], given["max_drop"])
    else:
        ones = np.ones(len(given["base"]))
        paired = PairedSums.of(given["base"], ones, given["cand"], ones)
        verdict = compare_slices(paired, budget=given["max_drop"], loss_kind="absolute")[0].verdict
    return "INSUFFICIENT_EVIDENCE" if verdict == "INCONCLUSIVE" else verdict


def paired_binary_row(given: Row) -> Row:
    cells = [given["both"], given["base_only_correct"], given["cand_only_correct"]]
    cells.append(given["n"] - sum(cells))
    ones = np.ones(given["n"])
    paired = PairedSums.of(np.repeat([1.0, 1, 0, 0], cells), ones, np.repeat([1.0, 0, 1, 0], cells), ones)
    # A one-sided test at 5 % is the upper end of a two-sided interval at 90 %.
    absolute = compare_slices(paired, loss_kind="absolute", confidence=0.90)[0]
    relative = compare_slices(paired)[0]
    return {
        "delta": -absolute.loss,
        "flips": absolute.flip_rate,
        "mcnemar_exact_two_sided": absolute.mcnemar_p,
        "mcnemar_exact_one_sided_degradation": absolute.mcnemar_p_degradation,
        "lmms_paired_ttest": {
            "mean_diff": -absolute.loss,
            "t_stat": -absolute.standardised_loss * math.sqrt(given["n"] - 1),
        },
        "nemo": {
            "n_discordant": absolute.worsened + absolute.improved,
            "p_value": absolute.mcnemar_p_degradation,
            "effect_size": absolute.loss,
        },
        "noninferior_at_abs_1p5pt": absolute.verdict == "PASS",
        "recovery": 1 - relative.loss,
    }


CASE_SCORERS: dict[str, Callable[[Row], Any]] = {
    "contextual_asr.jsonl": score_contextual_asr_row,
    "diarization.jsonl": score_diarization_row,
    "ocr.jsonl": score_ocr_row,
    "quant_gate.jsonl": score_quant_gate_row,
}


def agrees(expected: Any, computed: Any, row: Row) -> bool:
    """Whether a computed value equals the reference value, to 1e-6 unless the row names a wider tolerance."""
    if isinstance(computed, dict) and isinstance(expected, dict):
        return bool(computed) and all(agrees(expected[key], value, row) for key, value in computed.items())
    if isinstance(expected, int | float) and isinstance(computed, int | float):
        relative = 0.1 if "tol 0.1 rel" in row["metric"] else 0.0
        return math.isclose(expected, computed, rel_tol=relative, abs_tol=1e-6)
    return bool(expected == computed)


def judge(rows: list[Row], scorer: Callable[[Row], Any]) -> tuple[Counter[str], list[str]]:
    """How many rows agree, and a description of each that does not."""
    tally: Counter[str] = Counter()
    different: list[str] = []
    for number, row in enumerate(rows, start=1):
        if "DO NOT imitate" in row["metric"] + row.get("note", "") + row["source"]:
            tally["defects not imitated"] += 1
            continue
        computed = scorer(row)
        if computed is NO_SCORER:
            tally["without a scorer of ours"] += 1
        elif isinstance(computed, Convention):
            tally["other by convention"] += 1
        elif agrees(row["expected"], computed, row):
            tally["agree"] += 1
        else:
            different.append(f"row {number} ({row['source']}): expected {row['expected']!r}, computed {computed!r}")
    return tally, different


@pytest.mark.parametrize("name", sorted(CASE_SCORERS))
def test_rows_agree_with_the_reference(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = CASES / name
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []
    tally, different = judge(rows, CASE_SCORERS[name])
    if rows:
        with capsys.disabled():
            counted = ", ".join(f"{count} {what}" for what, count in sorted(tally.items()))
            print(f"\n{name}: {len(rows)} rows: {counted}, {len(different)} differ")
    assert not different, "\n".join(different)


def test_a_wrong_value_is_reported() -> None:
    row = {"source": "by hand", "input": {"pred": "ab", "gold": ["ac"], "threshold": 0.5}, "metric": "ANLS"}
    tally, different = judge([row | {"expected": 0.5}, row | {"expected": 0.4}], score_ocr_row)
    assert tally == {"agree": 1}
    assert len(different) == 1 and "row 2" in different[0]
