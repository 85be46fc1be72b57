"""A quantization record as a table for people."""

from __future__ import annotations

from rich.table import Table
from tliveomni_eval.model_adapters.quantization.quantization_record import QuantizationRecord


def quantization_table(record: QuantizationRecord) -> Table:
    """What was quantized, what it was calibrated on, and how far it is from its source.

    Args:
        record: Content of `quantization.json`.
    """
    table = Table(title=f"{record.variant} from {record.source.name}", show_header=False, title_justify="left")
    modules = ", ".join(f"{count} in {part}" for part, count in record.quantized_modules.items())
    table.add_row("linears quantized", modules)
    before, after = record.source.weight_bytes, record.weight_bytes
    table.add_row("weights", f"{before / 1e6:.1f} MB → {after / 1e6:.1f} MB ({after / before:.0%})")
    if record.resolved_group_size is not None:
        table.add_row("group size", str(record.resolved_group_size))
    if record.calibration is None:
        table.add_row("calibrated on", "nothing")
    elif record.calibration.source == "folder":
        calibration = record.calibration
        table.add_row(
            "calibrated on", f"{calibration.samples} samples of a calibration folder, {calibration.tokens} tokens"
        )
    else:
        calibration = record.calibration
        last = calibration.first_seed + calibration.samples - 1
        table.add_row(
            "calibrated on",
            f"{calibration.samples} {calibration.side}-side samples of {calibration.source}, "
            f"seeds {calibration.first_seed}–{last}, {calibration.tokens} tokens",
        )
    if record.error is not None:
        error = record.error
        worst = max(error.relative_error, key=lambda name: error.relative_error[name])
        table.add_row("KL(16 bit ‖ quantized)", f"{error.kl_divergence:.5f} nats a token over {error.tokens} tokens")
        table.add_row("same greedy token", f"{error.top1_agreement:.2%}")
        table.add_row("largest block error", f"{error.relative_error[worst]:.4f} after {worst}")
    return table
