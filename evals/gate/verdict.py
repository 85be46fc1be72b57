"""The result of the gate: what `gate()` returns, `--json` writes and every table shows."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field
from tliveomni_eval.evals.gate.policy import Policy, Rule, Waiver
from tliveomni_eval.evals.logs.run_info import RunInfo

Outcome = Literal["PASS", "BREACH", "INCONCLUSIVE", "MISSING"]
"""`PASS`: the loss is inside the budget, with the stated confidence. `BREACH`: it is above. `INCONCLUSIVE`: the samples
cannot tell. `MISSING`: a slice, a sample or a run is absent, or the runs cannot be compared."""

EXIT_STATUS: dict[Outcome, int] = {"PASS": 0, "BREACH": 1, "INCONCLUSIVE": 2, "MISSING": 3}
SEVERITY: dict[Outcome, int] = {"PASS": 0, "INCONCLUSIVE": 1, "BREACH": 2, "MISSING": 3}


class _Frozen(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class RunSummary(_Frozen):
    """Which run was read.

    Attributes:
        path: The folder as it was given.
        name: Short name.
        variant: Precision of the backend, where `run.json` says.
        checkpoint: Fingerprint of the checkpoint, where `run.json` says.
        run_info: All of `run.json`; None for a folder that `tlive run` did not make.
    """

    path: str
    name: str
    variant: str | None = None
    checkpoint: str | None = None
    run_info: RunInfo | None = None


class Problem(_Frozen):
    """Something absent, unreadable or different between the runs.

    Attributes:
        task: Task; None where the whole run is meant.
        field: What differs (`data`, `prompts`, `decoding`, `media`, `parsers`, `judge`, `version`, `samples`,
            `template`, `tokenizer`, `processor`, …), `canary:NAME` for a canary that failed, or `log` for a log that
            cannot be trusted; the word that `--allow` takes.
        message: What is wrong, with both values or with file and line, and what to do.
        allowed: Waived by `--allow`: recorded, and without effect on the verdict.
    """

    task: str | None
    field: str
    message: str
    allowed: bool = False


class Noise(_Frozen):
    """The same slice in a second baseline run (A/A).

    Attributes:
        loss: Loss of the second baseline run against the first.
        low: Lower end of its interval.
        high: Upper end of its interval.
        flip_rate: Share of samples whose outcome changed between the baseline runs, 0..1.
        inside: Whether the candidate's loss is no larger than `high`: explained by noise alone.
    """

    loss: float
    low: float
    high: float
    flip_rate: float
    inside: bool


class SliceVerdict(_Frozen):
    """One slice of one task under one metric.

    Attributes:
        task: Task name.
        slice: `attribute=value`, or `all`.
        metric: Metric name.
        outcome: What the evidence says, after Holm's correction where the policy asks for it.
        counts: Whether it counts for the release: gated, blocking and not waived.
        gated: False for a slice that is too small and not required.
        rule: The rule it was judged by.
        waiver: The waiver that covers it.
        samples: Paired samples.
        clusters: Independent clusters among them.
        baseline_value: The metric in the baseline run, on its own scale (an error rate for CER).
        candidate_value: The metric in the candidate run.
        loss: Loss on the scale of `rule.loss`; positive is worse.
        low: Lower end of the interval.
        high: Upper end of the interval.
        flips_worse: Samples that fell.
        flips_better: Samples that rose.
        flip_rate: Share of samples that changed, 0..1.
        p_noninferiority: p value against a loss of at least the budget.
        p_breach: p value against a loss of at most the budget, before Holm's correction.
        mcnemar_p: Exact two-sided p value of as many clusters falling as rising.
        effect_size: (worsened − improved) / (worsened + improved) over clusters, −1..1.
        further_clusters: Clusters to add for an 80 % chance of a verdict; 0 with a verdict, None where none would do.
        minimum_clusters: Fewest clusters that could PASS the budget with nothing changed.
        certifiable: Whether this many clusters could PASS at all.
        method: Name of the interval's method.
        bootstrap_low: Lower end of the cluster bootstrap's percentile interval: a cross-check that no verdict rests on.
        bootstrap_high: Upper end of the same.
        noise: The A/A comparison, with `--noise`.
        note: A remark for the reader; empty mostly.
    """

    task: str
    slice: str
    metric: str
    outcome: Outcome
    counts: bool
    gated: bool
    rule: Rule
    waiver: Waiver | None = None
    samples: int = 0
    clusters: int = 0
    baseline_value: float | None = None
    candidate_value: float | None = None
    loss: float | None = None
    low: float | None = None
    high: float | None = None
    flips_worse: int = 0
    flips_better: int = 0
    flip_rate: float | None = None
    p_noninferiority: float | None = None
    p_breach: float | None = None
    mcnemar_p: float | None = None
    effect_size: float | None = None
    further_clusters: int | None = None
    minimum_clusters: int | None = None
    certifiable: bool = False
    method: str = ""
    bootstrap_low: float | None = None
    bootstrap_high: float | None = None
    noise: Noise | None = None
    note: str = ""


class Verdict(_Frozen):
    """Baseline against one candidate.

    Attributes:
        schema_version: Version of this layout.
        outcome: The verdict of the release.
        exit_status: Exit status of `tlive gate`: 0 PASS, 1 BREACH, 2 INCONCLUSIVE, 3 MISSING.
        summary: What the verdict means and what to do, in one or two sentences.
        baseline: The run that is the measure.
        candidate: The run that is judged.
        noise_run: The second baseline run, with `--noise`.
        slices: Worst first.
        problems: Whatever is absent or differs, allowed ones included.
        memberships: Mean number of gated slices a sample lies in; above 1 the slices overlap.
        policy: The policy as it was applied.
    """

    schema_version: Literal[1] = 1
    outcome: Outcome
    exit_status: int
    summary: str
    baseline: RunSummary
    candidate: RunSummary
    noise_run: RunSummary | None = None
    slices: list[SliceVerdict] = Field(default_factory=list)
    problems: list[Problem] = Field(default_factory=list)
    memberships: float = 0.0
    policy: Policy = Field(default_factory=Policy)


class GateReport(_Frozen):
    """Every candidate of one call of `tlive gate`; the outcome is the worst one.

    Attributes:
        schema_version: Version of this layout.
        outcome: Worst outcome.
        exit_status: Its exit status.
        verdicts: One a candidate, in the order given.
    """

    schema_version: Literal[1] = 1
    outcome: Outcome
    exit_status: int
    verdicts: list[Verdict]

    @classmethod
    def of(cls, verdicts: list[Verdict]) -> GateReport:
        """The report over at least one verdict."""
        outcome = max((verdict.outcome for verdict in verdicts), key=SEVERITY.__getitem__)
        return cls(outcome=outcome, exit_status=EXIT_STATUS[outcome], verdicts=verdicts)
