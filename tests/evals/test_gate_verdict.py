"""What the gate decides, from run folders to the outcome of the release."""

from __future__ import annotations

import datetime
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from run_folder_builder import (
    results_content,
    tlive_rows,
    write_lines,
    write_lm_eval_run,
    write_lmms_eval_run,
    write_tlive_run,
)
from tliveomni_eval.evals.gate.gate import gate, gate_candidates
from tliveomni_eval.evals.gate.payload_metrics import DetectionQuality
from tliveomni_eval.evals.gate.policy import Policy
from tliveomni_eval.evals.gate.policy_error import PolicyError
from tliveomni_eval.evals.gate.verdict import SliceVerdict, Verdict
from tliveomni_eval.evals.logs.run_folder import read_run
from tliveomni_eval.evals.metrics.set_payload import CategoryDetections, DetectionPayload, PooledDetections

N = 1200
TODAY = datetime.date(2026, 8, 1)


def broken(share: float, n: int = N) -> list[bool]:
    """All right but for every k-th sample."""
    every = round(1 / share) if share else n + 1
    return [(position + 1) % every != 0 for position in range(n)]


def pair(
    tmp_path: Path, candidate: Sequence[bool], baseline: Sequence[bool] | None = None, **options: Any
) -> list[Path]:
    baseline = baseline if baseline is not None else [True] * len(candidate)
    return [
        write_tlive_run(tmp_path / "bf16", baseline, **options),
        write_tlive_run(tmp_path / "w8a8", candidate, **options),
    ]


def policy(**content: Any) -> Policy:
    return Policy.model_validate(content)


def of_slice(verdict: Verdict, name: str, metric: str = "field_exact") -> SliceVerdict:
    (found,) = [item for item in verdict.slices if item.slice == name and item.metric == metric]
    return found


class TestOutcomes:
    def test_run_against_itself(self, tmp_path: Path) -> None:
        run = write_tlive_run(tmp_path / "bf16", broken(0.1))
        verdict = gate(run, run)
        assert (verdict.outcome, verdict.exit_status) == ("PASS", 0)
        assert {item.loss for item in verdict.slices} == {0.0}
        assert {item.slice for item in verdict.slices} == {"all", "lang=zh", "lang=en", "field=price", "field=name"}
        assert "stays inside the budget on every slice" in verdict.summary

    def test_few_samples_cannot_pass(self, tmp_path: Path) -> None:
        run = write_tlive_run(tmp_path / "bf16", [True] * 100)
        verdict = gate(run, run)
        assert (verdict.outcome, verdict.exit_status) == ("INCONCLUSIVE", 2)
        whole = of_slice(verdict, "all")
        assert whole.loss == 0
        assert not whole.certifiable
        assert whole.minimum_clusters is not None
        assert whole.minimum_clusters > 100
        assert "cannot PASS at this size even with nothing broken" in verdict.summary

    def test_breach(self, tmp_path: Path) -> None:
        verdict = gate(*pair(tmp_path, broken(0.1)))
        assert (verdict.outcome, verdict.exit_status) == ("BREACH", 1)
        whole = of_slice(verdict, "all")
        assert whole.loss == pytest.approx(0.1)
        assert whole.flips_worse == 120
        assert whole.flips_better == 0
        assert whole.low is not None
        assert whole.low > 0.015
        assert "must not ship" in verdict.summary

    def test_one_broken_slice_is_enough(self, tmp_path: Path) -> None:
        candidate = [not (position % 4 == 0 and position % 12 == 0) for position in range(N)]
        verdict = gate(*pair(tmp_path, candidate))
        assert verdict.outcome == "BREACH"
        assert of_slice(verdict, "lang=zh").outcome == "BREACH"
        assert of_slice(verdict, "lang=en").outcome == "PASS"

    def test_worst_first(self, tmp_path: Path) -> None:
        verdict = gate(*pair(tmp_path, broken(0.05)))
        severity = ["BREACH", "INCONCLUSIVE", "PASS"]
        order = [severity.index(item.outcome) for item in verdict.slices]
        assert order == sorted(order)

    def test_gain_passes(self, tmp_path: Path) -> None:
        verdict = gate(*pair(tmp_path, [True] * N, baseline=broken(0.1)))
        assert verdict.outcome == "PASS"
        assert of_slice(verdict, "all").loss == pytest.approx(-0.1 / 0.9)

    def test_clusters_not_samples_count(self, tmp_path: Path) -> None:
        run = write_tlive_run(tmp_path / "bf16", [True] * N, cluster_size=24)
        whole = of_slice(gate(run, run), "all")
        assert (whole.samples, whole.clusters) == (N, 50)
        assert whole.outcome == "INCONCLUSIVE"

    def test_several_candidates_and_the_worst_counts(self, tmp_path: Path) -> None:
        baseline, bad = pair(tmp_path, broken(0.1))
        report = gate_candidates(baseline, [baseline, bad, tmp_path / "none"])
        assert [verdict.outcome for verdict in report.verdicts] == ["PASS", "BREACH", "MISSING"]
        assert (report.outcome, report.exit_status) == ("MISSING", 3)

    def test_runs_that_were_read_already(self, tmp_path: Path) -> None:
        baseline, bad = pair(tmp_path, broken(0.1))
        assert gate(read_run(baseline), read_run(bad)).outcome == "BREACH"

    def test_order_of_the_log_does_not_matter(self, tmp_path: Path) -> None:
        baseline, bad = pair(tmp_path, broken(0.1))
        before = gate(baseline, bad)
        log = next(bad.rglob("*.jsonl"))
        log.write_text("".join(reversed(log.read_text().splitlines(keepends=True))))
        after = gate(baseline, bad)
        assert of_slice(after, "all").loss == of_slice(before, "all").loss
        assert after.outcome == before.outcome

    def test_overlapping_slices_are_counted(self, tmp_path: Path) -> None:
        assert gate(*pair(tmp_path, broken(0.1))).memberships == pytest.approx(2.0)


class TestRules:
    def test_budget_of_one_slice(self, tmp_path: Path) -> None:
        runs = pair(tmp_path, broken(0.1))
        verdict = gate(
            *runs, policy(defaults={"budget": 0.3}, tasks={"live_ocr": {"slices": {"lang=en": {"budget": 0.01}}}})
        )
        assert verdict.outcome == "BREACH"
        assert of_slice(verdict, "lang=en").outcome == "BREACH"
        assert of_slice(verdict, "all").outcome == "PASS"

    def test_absolute_points_and_relative_error(self, tmp_path: Path) -> None:
        baseline = [position % 2 == 0 for position in range(N)]
        candidate = [right and position % 10 != 0 for position, right in enumerate(baseline)]
        runs = pair(tmp_path, candidate, baseline)
        losses = {
            kind: of_slice(gate(*runs, policy(defaults={"loss": kind})), "all").loss
            for kind in ("relative", "absolute", "relative_error")
        }
        assert losses == {
            "relative": pytest.approx(0.2),
            "absolute": pytest.approx(0.1),
            "relative_error": pytest.approx(0.2),
        }

    def test_small_slice_is_reported_and_not_gated(self, tmp_path: Path) -> None:
        langs = ["zh"] * 39 + ["ja"]
        baseline = write_tlive_run(tmp_path / "bf16", [True] * N, langs=langs)
        candidate = write_tlive_run(tmp_path / "w8a8", [position % 40 != 39 for position in range(N)], langs=langs)
        content: dict[str, Any] = {"defaults": {"budget": 0.1}}
        verdict = gate(baseline, candidate, policy(**content))
        small = of_slice(verdict, "lang=ja")
        assert (small.clusters, small.gated, small.counts) == (30, False, False)
        assert verdict.outcome == "PASS"
        assert verdict.slices[-1].slice == "lang=ja"
        assert "too small to gate but above the budget" in verdict.summary
        content["tasks"] = {"live_ocr": {"required_slices": ["lang=ja"]}}
        verdict = gate(baseline, candidate, policy(**content))
        assert of_slice(verdict, "lang=ja").gated
        assert verdict.outcome == "BREACH"

    def test_required_slice_that_is_absent(self, tmp_path: Path) -> None:
        run = write_tlive_run(tmp_path / "bf16", [True] * N)
        verdict = gate(run, run, policy(tasks={"live_ocr": {"required_slices": ["lang=ja"]}}))
        assert (verdict.outcome, verdict.exit_status) == ("MISSING", 3)
        assert of_slice(verdict, "lang=ja").outcome == "MISSING"
        assert "1 required slice without a sample" in verdict.summary

    def test_warning_tier_never_blocks(self, tmp_path: Path) -> None:
        candidate = [not (position % 2 == 0 and position % 24 == 0) for position in range(N)]
        runs = pair(tmp_path, candidate)
        slices = {"lang=zh": {"tier": "warning"}, "all": {"budget": 0.2}, "field=*": {"budget": 0.2}}
        verdict = gate(*runs, policy(tasks={"live_ocr": {"slices": slices}}))
        assert of_slice(verdict, "lang=zh").outcome == "BREACH"
        assert verdict.outcome == "PASS"
        assert "1 slice of tier `warning` above the budget" in verdict.summary

    @pytest.mark.parametrize(
        ("meaning", "outcome"), [("block", "INCONCLUSIVE"), ("breach", "BREACH"), ("tolerate", "PASS")]
    )
    def test_what_inconclusive_means(self, tmp_path: Path, meaning: str, outcome: str) -> None:
        langs = ["zh"] * 11 + ["ja"]
        run = write_tlive_run(tmp_path / "bf16", [True] * N, langs=langs)
        rules = policy(tasks={"live_ocr": {"slices": {"lang=ja": {"inconclusive": meaning}}}})
        verdict = gate(run, run, rules)
        assert of_slice(verdict, "lang=ja").outcome == "INCONCLUSIVE"
        assert verdict.outcome == outcome

    def test_without_evidence_nothing_passes(self, tmp_path: Path) -> None:
        run = write_tlive_run(tmp_path / "bf16", [True] * 60)
        verdict = gate(run, run, policy(defaults={"inconclusive": "tolerate"}))
        assert verdict.outcome == "INCONCLUSIVE"
        verdict = gate(run, run, policy(defaults={"tier": "warning"}))
        assert verdict.outcome == "INCONCLUSIVE"
        assert "no slice counts" in verdict.summary

    def test_estimate_alone(self, tmp_path: Path) -> None:
        runs = pair(tmp_path, [position != 0 for position in range(60)])
        rules = {"decision": "point"}
        assert gate(*runs, policy(defaults={**rules, "budget": 0.04})).outcome == "PASS"
        assert gate(*runs, policy(defaults={**rules, "budget": 0.01})).outcome == "BREACH"

    def test_attributes_and_metrics(self, tmp_path: Path) -> None:
        runs = pair(tmp_path, broken(0.1))
        rules = policy(tasks={"live_ocr": {"attributes": ["lang"], "metrics": ["cer", "field_exact"]}})
        verdict = gate(*runs, rules)
        assert {item.slice for item in verdict.slices} == {"all", "lang=zh", "lang=en"}
        cer = of_slice(verdict, "all", "cer")
        assert cer.baseline_value == pytest.approx(0)
        assert cer.candidate_value == pytest.approx(0.05)
        assert cer.loss == pytest.approx(0.05)

    def test_holm_can_be_switched_off(self, tmp_path: Path) -> None:
        langs = [f"l{number}" for number in range(20)]
        lost = {position for position in range(N) if position % 20 == 0 and position < 60 * 5}
        runs = pair(tmp_path, [position not in lost for position in range(N)], langs=langs)
        single = of_slice(gate(*runs, policy(multiplicity="none")), "lang=l0")
        family = of_slice(gate(*runs, policy(multiplicity="holm")), "lang=l0")
        assert single.p_breach == family.p_breach
        assert single.outcome == "BREACH"
        assert family.outcome in ("BREACH", "INCONCLUSIVE")

    def test_only_named_tasks(self, tmp_path: Path) -> None:
        run = write_tlive_run(tmp_path / "bf16", [True] * N)
        assert gate(run, run, tasks=["live_ocr"]).outcome == "PASS"
        verdict = gate(run, run, tasks=["live_asr"])
        assert verdict.outcome == "MISSING"
        assert "baseline has no log of this task" in verdict.problems[0].message

    def test_task_of_the_policy_that_was_not_run(self, tmp_path: Path) -> None:
        run = write_tlive_run(tmp_path / "bf16", [True] * N)
        assert gate(run, run, policy(tasks={"live_asr": {}})).outcome == "MISSING"


class TestWaivers:
    @staticmethod
    def rules(**change: Any) -> Policy:
        waiver = {"task": "live_ocr", "slice": "lang=zh", "reason": "r", "approved_by": "me", "until": "2026-08-31"}
        slices = {"all": {"budget": 0.2}, "field=*": {"budget": 0.2}}
        return policy(tasks={"live_ocr": {"slices": slices}}, waivers=[waiver | change])

    def test_waived_slice_does_not_block(self, tmp_path: Path) -> None:
        candidate = [position % 24 != 0 for position in range(N)]
        runs = pair(tmp_path, candidate)
        assert gate(*runs, self.rules(slice="lang=en"), today=TODAY).outcome == "BREACH"
        verdict = gate(*runs, self.rules(), today=TODAY)
        assert verdict.outcome == "PASS"
        waived = of_slice(verdict, "lang=zh")
        assert waived.outcome == "BREACH"
        assert waived.waiver is not None
        assert waived.waiver.approved_by == "me"
        assert "1 slice waived" in verdict.summary

    def test_waiver_that_is_not_needed_is_named(self, tmp_path: Path) -> None:
        run = write_tlive_run(tmp_path / "bf16", [True] * N)
        assert "live_ocr lang=zh is not needed any more" in gate(run, run, self.rules(), today=TODAY).summary

    def test_expired(self, tmp_path: Path) -> None:
        run = write_tlive_run(tmp_path / "bf16", [True] * N)
        with pytest.raises(PolicyError, match="expired"):
            gate(run, run, self.rules(), today=datetime.date(2026, 9, 1))

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"slice": "lang=ch"}, "unknown slice 'lang=ch'. Did you mean 'lang=zh'"),
            ({"task": "live_orc"}, "live_ocr"),
            ({"metric": "cer"}, "unknown gated metric 'cer'"),
        ],
    )
    def test_unmatched(self, tmp_path: Path, change: dict[str, str], message: str) -> None:
        run = write_tlive_run(tmp_path / "bf16", [True] * N)
        with pytest.raises(PolicyError, match=message):
            gate(run, run, self.rules(**change), today=TODAY)


class TestPolicyThatMatchesNothing:
    @pytest.mark.parametrize(
        ("task_rules", "message"),
        [
            ({"slices": {"lnag=zh": {}}}, r"tasks.live_ocr.slices .*unknown slice 'lnag=zh'. Did you mean 'lang=zh'"),
            ({"slices": {"snr=*": {}}}, "unknown slice 'snr=\\*'"),
            ({"attributes": ["langs"]}, "unknown slice attribute 'langs'. Did you mean 'lang'"),
            ({"metrics": ["field_exactly"]}, "unknown metric 'field_exactly'. Did you mean 'field_exact'"),
        ],
    )
    def test_is_refused(self, tmp_path: Path, task_rules: dict[str, Any], message: str) -> None:
        run = write_tlive_run(tmp_path / "bf16", [True] * N)
        with pytest.raises(PolicyError, match=message):
            gate(run, run, policy(tasks={"live_ocr": task_rules}))


class TestStatuses:
    def test_error_samples_forbid_a_verdict(self, tmp_path: Path) -> None:
        baseline = write_tlive_run(tmp_path / "bf16", [True] * N)
        candidate = write_tlive_run(tmp_path / "w8a8", [True] * N, statuses={7: "error"})
        verdict = gate(baseline, candidate)
        assert verdict.outcome == "MISSING"
        assert verdict.problems[0].field == "errors"
        assert ".jsonl:8: 1 samples of the candidate have no output" in verdict.problems[0].message
        assert gate(baseline, candidate, policy(tasks={"live_ocr": {"max_errors": 1}})).outcome == "PASS"

    def test_unparsed_outputs_breach_even_where_the_metric_does_not(self, tmp_path: Path) -> None:
        baseline = write_tlive_run(tmp_path / "bf16", [True] * N)
        unparsed = {position: "unparsed" for position in range(0, N, 10)}
        candidate = write_tlive_run(tmp_path / "w8a8", [True] * N, statuses=unparsed)
        verdict = gate(baseline, candidate)
        assert verdict.outcome == "BREACH"
        increase = of_slice(verdict, "all", "unparsed")
        assert increase.loss == pytest.approx(0.1)
        assert increase.candidate_value == pytest.approx(0.1)
        tolerant = policy(tasks={"live_ocr": {"max_unparsed_increase": 0.2}})
        assert gate(baseline, candidate, tolerant).outcome == "PASS"


class TestNoise:
    def test_loss_inside_the_noise_is_marked(self, tmp_path: Path) -> None:
        baseline, candidate = pair(tmp_path, broken(0.02))
        again = write_tlive_run(tmp_path / "bf16-again", [position % 30 != 1 for position in range(N)])
        whole = of_slice(gate(baseline, candidate, noise=again), "all")
        assert whole.noise is not None
        assert whole.noise.inside
        assert whole.noise.flip_rate == pytest.approx(1 / 30)
        assert "inside the noise" in whole.note

    def test_loss_outside_the_noise(self, tmp_path: Path) -> None:
        baseline, candidate = pair(tmp_path, broken(0.2))
        again = write_tlive_run(tmp_path / "bf16-again", [True] * N)
        whole = of_slice(gate(baseline, candidate, noise=again), "all")
        assert whole.noise is not None
        assert not whole.noise.inside

    def test_noise_run_must_be_comparable(self, tmp_path: Path) -> None:
        baseline, candidate = pair(tmp_path, [True] * N)
        again = write_tlive_run(tmp_path / "again", [True] * N, run_info={"decoding": {"temperature": 1}})
        verdict = gate(baseline, candidate, noise=again)
        assert verdict.outcome == "MISSING"
        assert "noise run: decoding.seed differs" in verdict.problems[0].message
        assert gate(baseline, candidate, noise=again, allow=["decoding"]).outcome == "PASS"
        assert gate(baseline, candidate, noise=tmp_path / "none").problems[0].message.startswith("noise run: ")
        other = write_tlive_run(tmp_path / "other", [True] * N, task="live_asr")
        assert "noise run has no log" in gate(baseline, candidate, noise=other, tasks=["live_ocr"]).problems[-1].message


class TestComparability:
    @pytest.mark.parametrize(
        ("change", "field", "message"),
        [
            ({"decoding": {"temperature": 0.7, "seed": 0}}, "decoding", "decoding.temperature differs: baseline 0.0, "),
            ({"data": {"live_ocr": "data-2"}}, "data", "data.live_ocr differs: baseline 'data-1', candidate 'data-2'"),
            ({"prompts": {}}, "prompts", "prompts.live_ocr differs: baseline 'prompt-1', candidate has none"),
            ({"parsers": {"price": "2"}}, "parsers", "parsers.price differs"),
            ({"normalisers": {"ocr": "2"}}, "normalisers", "normalisers.ocr differs"),
            ({"judge": {"model": "x"}}, "judge", "judge.model differs"),
        ],
    )
    def test_run_fields(self, tmp_path: Path, change: dict[str, Any], field: str, message: str) -> None:
        baseline = write_tlive_run(tmp_path / "bf16", [True] * N)
        candidate = write_tlive_run(tmp_path / "w8a8", [True] * N, run_info=change)
        verdict = gate(baseline, candidate)
        assert verdict.outcome == "MISSING"
        assert verdict.problems[0].field == field
        assert message in verdict.problems[0].message
        assert verdict.slices == []
        allowed = gate(baseline, candidate, allow=[field])
        assert allowed.outcome == "PASS"
        assert allowed.problems[0].allowed

    def test_media_differ_where_both_runs_note_them(self, tmp_path: Path) -> None:
        heard, deaf = ({"media": {"use_audio_in_video": heard, "fps": 1.0}} for heard in (True, False))
        baseline = write_tlive_run(tmp_path / "bf16", [True] * N, run_info=heard)
        candidate = write_tlive_run(tmp_path / "w8a8", [True] * N, run_info=deaf)
        older = write_tlive_run(tmp_path / "older", [True] * N)
        (problem,) = gate(baseline, candidate).problems
        assert (problem.field, gate(baseline, candidate).outcome) == ("media", "MISSING")
        assert "media.use_audio_in_video differs: baseline True, candidate False" in problem.message
        assert gate(baseline, candidate, allow=["media"]).outcome == "PASS"
        assert gate(baseline, older).outcome == gate(older, candidate).outcome == "PASS"

    @pytest.mark.parametrize(
        ("change", "field"),
        [
            ({"versions": {"live_ocr": 2}}, "version"),
            ({"n-shot": {"live_ocr": 5}}, "num_fewshot"),
            ({"system_instruction": "Be brief."}, "prompts"),
        ],
    )
    def test_task_settings(self, tmp_path: Path, change: dict[str, Any], field: str) -> None:
        baseline = write_tlive_run(tmp_path / "bf16", [True] * N)
        candidate = write_tlive_run(tmp_path / "w8a8", [True] * N, results=change)
        verdict = gate(baseline, candidate)
        assert [problem.field for problem in verdict.problems] == [field]
        assert verdict.outcome == "MISSING"
        assert gate(baseline, candidate, allow=[field]).outcome == "PASS"

    @pytest.mark.parametrize(("key", "value", "field"), [("target", "¥0.01", "data"), ("input", "Read it.", "prompts")])
    def test_sample_with_other_content(self, tmp_path: Path, key: str, value: str, field: str) -> None:
        baseline, candidate = pair(tmp_path, [True] * N)
        rows = tlive_rows([True] * N)
        rows[3][key] = value
        write_lines(next(candidate.rglob("*.jsonl")), rows)
        (problem,) = gate(baseline, candidate).problems
        assert problem.field == field
        assert "1 of 1200 samples" in problem.message
        assert "jsonl:4 against" in problem.message

    @pytest.mark.parametrize("part", ["slices", "cluster"])
    def test_sample_in_another_slice_or_cluster(self, tmp_path: Path, part: str) -> None:
        baseline, candidate = pair(tmp_path, [True] * N)
        rows = tlive_rows([True] * N)
        rows[3]["record"][part] = {"lang": "ja", "field": "name"} if part == "slices" else "stream-x"
        write_lines(next(candidate.rglob("*.jsonl")), rows)
        (problem,) = gate(baseline, candidate).problems
        assert problem.field == "data"
        assert "'ocr-00003'" in problem.message

    def test_attribute_that_one_run_lacks(self, tmp_path: Path) -> None:
        baseline, candidate = pair(tmp_path, [True] * N)
        rows = tlive_rows([True] * N)
        for row in rows:
            del row["record"]["slices"]["lang"]
        write_lines(next(candidate.rglob("*.jsonl")), rows)
        (problem,) = gate(baseline, candidate).problems
        assert "1200 of 1200 samples have another value of slice attribute 'lang'" in problem.message

    def test_common_samples_can_be_compared_when_allowed(self, tmp_path: Path) -> None:
        baseline = write_tlive_run(tmp_path / "bf16", [True] * (N + 10))
        candidate = write_tlive_run(tmp_path / "w8a8", [True] * N)
        verdict = gate(baseline, candidate)
        assert verdict.outcome == "MISSING"
        assert "10 of 1210 samples are in the baseline only, first 'ocr-01200'" in verdict.problems[0].message
        allowed = gate(baseline, candidate, allow=["samples"])
        assert allowed.outcome == "PASS"
        assert of_slice(allowed, "all").samples == N

    def test_nothing_in_common_cannot_be_allowed(self, tmp_path: Path) -> None:
        baseline = write_lmms_eval_run(tmp_path / "a", [1] * 30)
        candidate = write_lmms_eval_run(tmp_path / "b", [1] * 30)
        log = next(candidate.rglob("*.jsonl"))
        log.write_text(log.read_text().replace("Is there", "Do you see"))
        verdict = gate(baseline, candidate, allow=["prompts", "data", "samples"])
        assert verdict.outcome == "MISSING"
        assert "other prompts" in verdict.problems[0].message


class TestMetrics:
    def test_metric_that_other_samples_have(self, tmp_path: Path) -> None:
        baseline, candidate = pair(tmp_path, [True] * N)
        rows = tlive_rows([True] * N)
        del rows[5]["field_exact"]
        write_lines(next(candidate.rglob("*.jsonl")), rows)
        verdict = gate(baseline, candidate)
        assert verdict.outcome == "MISSING"
        assert "jsonl:6: sample 'ocr-00005' has no 'field_exact'" in verdict.problems[0].message

    def test_metric_of_some_samples_is_gated_on_them(self, tmp_path: Path) -> None:
        runs = pair(tmp_path, [True] * N)
        rows = tlive_rows([True] * N)
        for position in range(0, N, 4):
            rows[position]["teds"] = {"id": rows[position]["record"]["id"], "num": 1, "den": 1}
        for run in runs:
            write_lines(next(run.rglob("*.jsonl")), rows)
        rules = policy(tasks={"live_ocr": {"metrics": ["teds"], "higher_is_better": True}})
        verdict = gate(*runs, rules)
        assert of_slice(verdict, "all", "teds").samples == N / 4
        assert {item.slice for item in verdict.slices} == {"all", "lang=zh", "field=price"}

    def test_direction_must_be_known(self, tmp_path: Path) -> None:
        run = write_tlive_run(tmp_path / "bf16", [True] * N, results={"higher_is_better": {}})
        verdict = gate(run, run)
        assert verdict.outcome == "MISSING"
        assert "set `higher_is_better` for task 'live_ocr'" in verdict.problems[0].message
        assert gate(run, run, policy(tasks={"live_ocr": {"higher_is_better": True}})).outcome == "PASS"

    def test_all_correct_clusters(self, tmp_path: Path) -> None:
        runs = pair(tmp_path, [position % 8 != 0 for position in range(N)], cluster_size=4)
        rules = policy(tasks={"live_ocr": {"statistic": "all_correct", "attributes": []}})
        whole = of_slice(gate(*runs, rules), "all")
        assert whole.baseline_value == pytest.approx(1)
        assert whole.candidate_value == pytest.approx(0.5)

    @staticmethod
    def with_groups(folder: Path, hits: Sequence[bool], members: int = 4) -> Path:
        run = write_tlive_run(folder, hits, cluster_size=4)
        rows = tlive_rows(hits, cluster_size=4)
        for position, row in enumerate(rows):
            row["circular"] = {
                "id": row["record"]["id"],
                "kind": "all_right",
                "group": f"question-{position // 4}",
                "member": str(position % 4),
                "members": members,
                "hit": bool(hits[position]),
            }
        write_lines(next(run.rglob("*.jsonl")), rows)
        return run

    def test_groups_count_as_one_trial(self, tmp_path: Path) -> None:
        baseline = self.with_groups(tmp_path / "bf16", [True] * N)
        candidate = self.with_groups(tmp_path / "w8a8", [position % 12 != 0 for position in range(N)])
        task_rules = {"metrics": ["circular"], "higher_is_better": True, "attributes": []}
        whole = of_slice(gate(baseline, candidate, policy(tasks={"live_ocr": task_rules})), "all", "circular")
        assert whole.baseline_value == pytest.approx(1)
        assert whole.candidate_value == pytest.approx(2 / 3)
        assert whole.outcome == "BREACH"

    def test_group_without_a_member(self, tmp_path: Path) -> None:
        run = self.with_groups(tmp_path / "bf16", [True] * 20, members=5)
        rules = policy(tasks={"live_ocr": {"metrics": ["circular"], "higher_is_better": True}})
        verdict = gate(run, run, rules)
        assert verdict.outcome == "MISSING"
        assert "jsonl:1: group 'question-0' has 4 distinct members on 4 lines, not 5" in verdict.problems[0].message

    @staticmethod
    def with_detections(folder: Path, found: Sequence[bool]) -> Path:
        run = write_tlive_run(folder, found)
        rows = tlive_rows(found)
        for row, is_found in zip(rows, found, strict=True):
            box = {"scores": [0.9], "matched": [int(is_found)], "ignored": [0], "references": 1}
            row["ap"] = {
                "id": row["record"]["id"],
                "kind": "average_precision",
                "thresholds": 1,
                "categories": {"bag": box},
            }
        write_lines(next(run.rglob("*.jsonl")), rows)
        return run

    def test_average_precision(self, tmp_path: Path) -> None:
        n = 300
        baseline = self.with_detections(tmp_path / "bf16", [True] * n)
        candidate = self.with_detections(tmp_path / "w8a8", [position % 2 == 0 for position in range(n)])
        rules = policy(tasks={"live_ocr": {"metrics": ["ap"], "higher_is_better": True, "attributes": []}})
        whole = of_slice(gate(baseline, candidate, rules), "all", "ap")
        assert whole.baseline_value == pytest.approx(1)
        assert whole.candidate_value is not None
        assert whole.candidate_value < 0.6
        assert whole.outcome == "BREACH"

    def test_influence_on_average_precision_is_what_leaving_out_shows(self) -> None:
        generator = np.random.default_rng(7)
        payloads = [
            DetectionPayload(
                {
                    name: CategoryDetections(
                        scores=tuple(sorted(generator.random(3), reverse=True)),
                        matched=tuple(int(bits) for bits in generator.integers(0, 4, 3)),
                        ignored=(0, 0, 0),
                        references=3,
                    )
                    for name in ("bag", "shoe")
                },
                thresholds=2,
            )
            for _ in range(150)
        ]
        metric = DetectionQuality(PooledDetections(payloads, interpolation="every_point"))
        weights = np.ones(150)
        influence = metric.influence(weights)
        step = 1e-5
        for sample in range(0, 150, 10):
            moved = weights.copy()
            moved[sample] += step
            slope = (metric.weighted(moved) - metric.weighted(weights)) / step
            assert influence[sample] == pytest.approx(slope, abs=2e-5)
        assert influence.sum() == pytest.approx(0, abs=1e-9)

    @pytest.mark.parametrize(
        ("payload", "message"),
        [
            ({"kind": "average_precision", "categories": 3, "thresholds": 1}, "metric payload cannot be read"),
            ({"kind": "made_up"}, "kind 'made_up' are not known"),
            ({"kind": "all_right"}, "metric payload cannot be read: KeyError 'group'"),
        ],
    )
    def test_unreadable_payload(self, tmp_path: Path, payload: dict[str, Any], message: str) -> None:
        run = write_tlive_run(tmp_path / "bf16", [True] * 60)
        rows = tlive_rows([True] * 60)
        for row in rows:
            row["ap"] = {"id": row["record"]["id"], **payload}
        write_lines(next(run.rglob("*.jsonl")), rows)
        rules = policy(tasks={"live_ocr": {"metrics": ["ap"], "higher_is_better": True}})
        verdict = gate(run, run, rules)
        assert verdict.outcome == "MISSING"
        assert message in verdict.problems[0].message


class TestForeignLogs:
    def test_lmms_eval(self, tmp_path: Path) -> None:
        baseline = write_lmms_eval_run(tmp_path / "bf16", [1.0] * N)
        candidate = write_lmms_eval_run(tmp_path / "w4", [float(position % 10 != 0) for position in range(N)])
        verdict = gate(baseline, candidate)
        assert verdict.outcome == "BREACH"
        (whole,) = verdict.slices
        assert (whole.task, whole.slice, whole.metric, whole.samples) == ("pope", "all", "accuracy", N)
        assert whole.loss == pytest.approx(0.1)
        assert gate(baseline, baseline).outcome == "PASS"

    def test_lm_eval(self, tmp_path: Path) -> None:
        baseline = write_lm_eval_run(tmp_path / "bf16", [1.0] * N)
        candidate = write_lm_eval_run(tmp_path / "w4", [float(position % 10 != 0) for position in range(N)])
        (whole,) = gate(baseline, candidate).slices
        assert (whole.metric, whole.outcome) == ("exact_match,strict-match", "BREACH")
        both = policy(tasks={"gsm8k": {"metrics": ["exact_match,strict-match", "exact_match,flexible-extract"]}})
        assert len(gate(baseline, candidate, both).slices) == 2

    def test_formats_do_not_mix(self, tmp_path: Path) -> None:
        ours = write_tlive_run(tmp_path / "bf16", [True] * 60)
        foreign = write_lmms_eval_run(tmp_path / "out", [1] * 60, task="live_ocr")
        fields = [problem.field for problem in gate(ours, foreign).problems]
        assert "harness" in fields

    def test_other_metric_in_the_log_than_its_config_says(self, tmp_path: Path) -> None:
        run = write_lmms_eval_run(tmp_path / "out", [1] * 60)
        content = results_content("pope", 60, {"f1": True})
        next(run.rglob("*results.json")).write_text(json.dumps(content))
        verdict = gate(run, run)
        assert verdict.outcome == "MISSING"
        assert "no metric with one number a sample" in verdict.problems[0].message
