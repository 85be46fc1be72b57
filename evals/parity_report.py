"""What `tlive parity` found: how far vLLM is from the transformers reference on the same weights and samples.

`tlive parity --output DIR` writes it as `DIR/parity.json`; `read_parity_report` reads it back. Differences are of
natural logarithms of probabilities (nats), under teacher forcing: both sides are given the prompt and the reference's
own greedy answer, and each says how probable each of its tokens is.

A page draws it from four lists: `groups` (one row a task, one a modality, one for all), `samples` (one point a sample,
for a strip or a list of the worst), `layers` (one row a component) and `ablation` (one row for all alignments on, one
for each that is off). Each of the last two is empty where it was not asked for.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, ValidationError
from tliveomni_eval.evals.errors import UserError

SCHEMA_VERSION: Final = 1
REPORT_NAME = "parity.json"

GroupKind = Literal["all", "task", "modality"]
Component = Literal[
    "vision tower",
    "vision DeepStack",
    "audio tower",
    "audio DeepStack",
    "embeddings",
    "DeepStack addition",
    "norm",
    "attention",
    "MLP",
    "language layer",
    "logits",
]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ParityBackends(_Frozen):
    """What was compared with what.

    Attributes:
        model: Name of the checkpoint, e.g. `tliveomni-nano`.
        variant: Its precision by name; may be empty.
        architecture: Its model class by name.
        fingerprint: SHA-256 over its files.
        device: `cpu` or `gpu`.
        reference_dtype: Type that transformers computed in, e.g. `float32`.
        candidate_dtype: Type that vLLM computed in.
        kernels: Linear kernels that vLLM chose for quantized layers; empty for 16 bits.
        alignments_off: Alignments of TLiveOmni that were turned off for the main comparison.
        versions: Package to version: `transformers`, `vllm`, `torch`.
    """

    model: str
    variant: str
    architecture: str
    fingerprint: str
    device: str
    reference_dtype: str
    candidate_dtype: str
    kernels: tuple[str, ...] = ()
    alignments_off: tuple[str, ...] = ()
    versions: Mapping[str, str] = {}


class MetricChange(_Frozen):
    """How a task's metric differs between the two backends' own greedy answers.

    Attributes:
        metric: Name; the task's headline where that is a ratio, else its first ratio metric.
        higher_is_better: Direction of `reference` and `candidate`.
        reference: Of the transformers answers.
        candidate: Of the vLLM answers.
        change: Candidate minus reference, on the metric's own scale.
        low: Lower end of the interval of `change`; None where nothing could be said.
        high: Upper end; None likewise.
        confidence: Level of the interval, 0..1.
        clusters: Independent clusters that it rests on.
    """

    metric: str
    higher_is_better: bool
    reference: float
    candidate: float
    change: float
    low: float | None
    high: float | None
    confidence: float
    clusters: int


class ParityGroup(_Frozen):
    """One row of the main table: all samples, or those of a task or a modality.

    Attributes:
        kind: What the samples have in common.
        name: `all`, a task, or a modality (`text`, `image`, `audio`, `video`, `video+sound`, joined by ` + ` where a
            prompt holds several).
        samples: Samples that were compared.
        tokens: Tokens of the reference's answers that were compared.
        mean_delta: Mean |Δ log-probability| of these tokens; None where nothing was compared, as all others below.
        max_delta: Largest of them.
        mean_kl: Mean KL divergence (nats, ≥ 0) of the reference's top-k distribution, all other tokens taken as one.
        max_kl: Largest of them.
        same_argmax: Share of tokens at which vLLM's most probable token is the reference's.
        diverging_samples: Samples with at least one token at which it is not.
        earliest_divergence: Smallest index (from 0) of such a token in any answer; None where there is none.
        same_text: Share of samples whose own greedy answers are the same text.
        different_prompts: Samples in which the two sides counted prompt tokens differently.
        metric: Change of the task's metric; only for a task.
        not_compared: Samples that could not be compared.
        reason: Why they could not, in words; empty where all were compared.
        note: What a reader is to know of those that were, e.g. that the sound of videos was left out; may be empty.
    """

    kind: GroupKind
    name: str
    samples: int
    tokens: int
    mean_delta: float | None = None
    max_delta: float | None = None
    mean_kl: float | None = None
    max_kl: float | None = None
    same_argmax: float | None = None
    diverging_samples: int = 0
    earliest_divergence: int | None = None
    same_text: float | None = None
    different_prompts: int = 0
    metric: MetricChange | None = None
    not_compared: int = 0
    reason: str = ""
    note: str = ""


class ParitySample(_Frozen):
    """One sample that was compared.

    Attributes:
        task: Its task.
        id: Its id in the task's data, or its document number where it has none.
        document: Its document number.
        modality: As in `ParityGroup`.
        prompt_tokens: Tokens of the prompt, placeholders of media included, as the reference counts them.
        candidate_prompt_tokens: As vLLM counts them.
        tokens: Tokens of the reference's answer that were compared.
        mean_delta: Mean |Δ log-probability| of these tokens.
        max_delta: Largest of them.
        max_delta_at: Its index in the answer, from 0.
        mean_kl: As in `ParityGroup`.
        max_kl: As in `ParityGroup`.
        first_divergence: Index of the first token at which vLLM's most probable token is another; None without.
        reference_text: The reference's greedy answer.
        candidate_text: vLLM's own greedy answer.
    """

    task: str
    id: str
    document: int
    modality: str
    prompt_tokens: int
    candidate_prompt_tokens: int
    tokens: int
    mean_delta: float
    max_delta: float
    max_delta_at: int
    mean_kl: float
    max_kl: float
    first_divergence: int | None
    reference_text: str
    candidate_text: str

    @property
    def same_text(self) -> bool:
        """Whether both greedy answers are the same text."""
        return self.reference_text == self.candidate_text


class LayerDifference(_Frozen):
    """How far the outputs of one module lie apart.

    Attributes:
        name: Of the module, as transformers names it.
        relative: Frobenius norm of the difference over that of the reference, ≥ 0; None where the shapes differ.
        max_abs: Largest absolute difference of an element; None where the shapes differ.
        sample: Task and id of the sample on which it was found.
    """

    name: str
    relative: float | None
    max_abs: float | None
    sample: str


class ParityLayers(_Frozen):
    """One component: the first of its modules, in the order of computation, that differs by more than the tolerance.

    Attributes:
        component: Which part of the model.
        level: Of DeepStack, from 0; None for other components.
        compared: Modules that were observed on both sides.
        tolerance: Largest relative difference that is taken as rounding.
        first: The first module above it; None where all are within.
        worst: The module with the largest difference; None where none was observed on both sides.
    """

    component: Component
    level: int | None = None
    compared: int
    tolerance: float
    first: LayerDifference | None = None
    worst: LayerDifference | None = None


class AblationRow(_Frozen):
    """The comparison with one alignment off, or with all on.

    Attributes:
        switch: Which one is off, e.g. `no_interleave`; empty for all on.
        tokens: Tokens that were compared.
        mean_delta: Mean |Δ log-probability|.
        max_delta: Largest of them.
        times_all_on: `mean_delta` over that of the row with all on; None where that is 0.
        different_prompts: Samples in which the two sides counted prompt tokens differently.
        by_modality: Modality to mean |Δ log-probability|.
    """

    switch: str
    tokens: int
    mean_delta: float
    max_delta: float
    times_all_on: float | None
    different_prompts: int
    by_modality: Mapping[str, float]


class ParityReport(_Frozen):
    """Everything `tlive parity` found.

    Attributes:
        schema_version: `SCHEMA_VERSION` of the writer.
        created: When, with time zone.
        command: The command line as typed.
        backends: What was compared with what.
        limit: First samples of each task; None for all.
        seed: Of both backends.
        top_k: Tokens of the top-k distribution.
        max_mean_delta: Largest mean |Δ log-probability| over all samples that is within tolerance.
        groups: All, then tasks in the order asked for, then modalities.
        samples: Compared samples, in the order of tasks and documents.
        layers: Components; empty where `--layers` was not asked for.
        ablation: All alignments on, then each off; empty where `--ablate` was not asked for.
        seconds: Wall-clock time of the whole comparison.
    """

    schema_version: Literal[1] = SCHEMA_VERSION
    created: datetime
    command: tuple[str, ...] = ()
    backends: ParityBackends
    limit: int | None
    seed: int
    top_k: int
    max_mean_delta: float
    groups: tuple[ParityGroup, ...]
    samples: tuple[ParitySample, ...]
    layers: tuple[ParityLayers, ...] = ()
    ablation: tuple[AblationRow, ...] = ()
    seconds: float = 0.0

    @property
    def overall(self) -> ParityGroup:
        """The row for all samples."""
        return next(group for group in self.groups if group.kind == "all")

    @property
    def outcome(self) -> Literal["WITHIN", "BEYOND", "NOTHING COMPARABLE"]:
        """Whether the mean over all samples is within tolerance; prompts of different length are beyond it."""
        overall = self.overall
        if overall.mean_delta is None:
            return "NOTHING COMPARABLE"
        within = overall.mean_delta <= self.max_mean_delta and overall.different_prompts == 0
        return "WITHIN" if within else "BEYOND"


def read_parity_report(path: Path) -> ParityReport:
    """Read a report.

    Args:
        path: A `parity.json`, or the folder that holds one.

    Raises:
        UserError: It cannot be read, or was written in another form.
    """
    file = path / REPORT_NAME if path.is_dir() else path
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"{file}: there is no such file; `tlive parity --output DIR` writes it") from None
    except (OSError, ValueError) as error:
        raise UserError(f"{file}: cannot be read as JSON ({error})") from None
    version = content.get("schema_version") if isinstance(content, dict) else None
    if version != SCHEMA_VERSION:
        raise UserError(
            f"{file}: schema_version is {version!r}, and this version reads {SCHEMA_VERSION}; run `tlive parity` again"
        )
    try:
        return ParityReport.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise UserError(f"{file}: {place}: {first['msg']}; run `tlive parity` again") from None
