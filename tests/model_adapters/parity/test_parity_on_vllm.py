"""Real transformers against real vLLM on the embedded checkpoint, and a fault that was planted in a weight."""

from __future__ import annotations

import io
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from tliveomni_eval.evals.parity_report import REPORT_NAME, read_parity_report
from tliveomni_eval.model_adapters.nano.embedded_checkpoints import checkpoint_path
from tliveomni_eval.model_adapters.parity.comparison import Comparison, ComparisonRequest
from tliveomni_eval.model_adapters.parity.parity_command import EXIT_STATUS, command
from tliveomni_eval.model_adapters.parity.parity_tables import print_report
from tliveomni_eval.model_adapters.parity.sample_difference import sample_difference
from tliveomni_eval.model_adapters.parity.side_run import run_side
from tliveomni_eval.model_adapters.parity.side_specification import RECORDS_NAME, SideSpecification

SAMPLES = 2
ARGUMENTS = {"variant": "bf16", "dtype": "float32", "seed": 0}


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    request = ComparisonRequest(
        work=tmp_path_factory.mktemp("parity"),
        name="tliveomni-nano",
        variant="bf16",
        reference_args=ARGUMENTS,
        candidate_args=ARGUMENTS,
        parity=(),
        tasks=["live_ocr", "live_localization", "live_asr"],
        only_our_tasks=True,
        limit=SAMPLES,
        max_new_tokens=12,
        top_k=20,
        seed=0,
        max_mean_delta=None,
    )
    return Comparison(request, lambda *_: lambda event: None)


def test_vllm_agrees_with_transformers_to_rounding(compared: Comparison, tmp_path: Path) -> None:
    report = compared.report({})
    assert report.outcome == "WITHIN"
    assert report.overall.mean_delta is not None
    assert 0 < report.overall.mean_delta < 1e-4
    assert EXIT_STATUS[report.outcome] == 0
    ocr, asr = (next(group for group in report.groups if group.name == name) for name in ("live_ocr", "live_asr"))
    assert ocr.samples == SAMPLES
    assert ocr.mean_delta is not None
    assert ocr.mean_delta < 1e-4
    assert (ocr.same_argmax, ocr.different_prompts, ocr.diverging_samples) == (1.0, 0, 0)
    assert ocr.metric is not None
    assert ocr.metric.change == 0
    # Nano cannot hear, and silence is not compared with silence.
    assert (asr.samples, asr.not_compared, asr.reason) == (0, SAMPLES, "the checkpoint does not take audio")
    assert len({(sample.task, sample.id) for sample in report.samples}) == 2 * SAMPLES
    (tmp_path / REPORT_NAME).write_text(report.model_dump_json())
    assert read_parity_report(tmp_path) == report


def test_the_table_says_what_was_not_compared(compared: Comparison) -> None:
    from rich.console import Console

    console = Console(file=io.StringIO(), width=140)
    print_report(console, compared.report({}))
    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue()
    assert "✔ WITHIN" in shown
    assert "live_asr: 2 not compared: the checkpoint does not take audio" in shown


def test_a_perturbed_weight_is_seen(compared: Comparison, tmp_path: Path) -> None:
    import torch
    from safetensors.torch import load_file, save_file

    faulty = shutil.copytree(checkpoint_path("bf16"), tmp_path / "faulty")
    file = faulty / "model.safetensors"
    weights = load_file(file)
    name = next(name for name in sorted(weights) if name.endswith("language_model.layers.1.self_attn.q_norm.weight"))
    weights[name] = (weights[name].float() * 1.05).to(weights[name].dtype)
    save_file({key: value.contiguous() for key, value in weights.items()}, file, metadata={"format": "pt"})
    specification = SideSpecification(
        folder=tmp_path,
        side="candidate scores",
        model_args=ARGUMENTS | {"model": str(faulty), "variant": ""},
        reference_records=compared.reference.folder / RECORDS_NAME,
        tasks=["live_ocr", "live_localization"],
        only_our_tasks=True,
        limit=SAMPLES,
        max_new_tokens=12,
        top_k=20,
    )
    side = run_side(specification, lambda event: None)
    found = [sample_difference(compared.reference.records[key], record) for key, record in side.records.items()]
    right = compared.report({}).overall.mean_delta
    assert len(found) == 2 * SAMPLES
    assert right is not None
    assert sum(one.delta.mean() for one in found) / len(found) > 20 * right
    assert torch.isfinite(torch.tensor([one.kl.max() for one in found])).all()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--tasks", "live_orc"], "Did you mean 'live_ocr'?"),
        (["--tasks", ","], "names nothing"),
        (["--parity", "no_interleav"], "no_interleave"),
        (["--ablate"], "Qwen3VLForConditionalGeneration has no alignments"),
        (["--random-checkpoint", "tiny", "--variant", "fp8"], "a checkpoint of its own"),
        (["--model-args", "dtype=float32"], "--dtype"),
        (["--max-mean-delta", "-1"], "--max-mean-delta"),
    ],
)
def test_usage_errors_are_said_before_anything_starts(words: list[str], says: str) -> None:
    result = CliRunner().invoke(command, words)
    assert result.exit_code == 2  # 64 by way of `tlive`.
    assert says in result.output
