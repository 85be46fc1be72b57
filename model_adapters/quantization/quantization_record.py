"""`quantization.json`: what a quantized checkpoint is and where it came from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field
from tliveomni_eval.model_adapters.quantization.recipe import Recipe

RECORD_FILE = "quantization.json"

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SourceCheckpoint(_Section):
    """The 16-bit checkpoint that was quantized.

    Attributes:
        name: Name of its folder.
        fingerprint: sha256 over the lines `sha256  name` of its files (as `evals.logs.checkpoint_fingerprint`).
        weights: sha256 of each weight file.
        weight_bytes: Size of its weight files.
    """

    name: str
    fingerprint: Sha256
    weights: dict[str, Sha256]
    weight_bytes: int


class CalibrationRecord(_Section):
    """The samples that calibrated.

    Attributes:
        source: As in the recipe; `folder` for one that `tlive calibrate` made.
        side: Side of the composer: `train`; `pool` for a folder, whose report says what was kept out of it.
        first_seed: Seed of the first sample; 0 for a folder.
        samples: Number of samples, with consecutive seeds.
        tokens: Tokens of all samples, those of images included.
        fingerprint: sha256 over seeds, prompts, answers and pixels.
        folder_fingerprint: `fingerprint` of the folder's `calibration.json`.
        left_out: Samples of the folder that were not used, by kind; see `calibration.folder_samples`.
    """

    source: str
    side: str
    first_seed: int
    samples: int
    tokens: int
    fingerprint: Sha256
    folder_fingerprint: Sha256 | None = None
    left_out: dict[str, int] = Field(default_factory=dict)


class MeasuredError(_Section):
    """Error on probe samples of the training side that did not calibrate; see `block_error.ProbeError`."""

    first_seed: int
    samples: int
    tokens: int
    kl_divergence: float
    top1_agreement: float
    relative_error: dict[str, float]


class QuantizationRecord(_Section):
    """Content of `quantization.json`.

    Attributes:
        variant: Name of the recipe.
        recipe: The recipe as it was executed.
        resolved_group_size: Group size in use after fitting it to the model; null without groups.
        quantized_modules: Number of linears quantized, by part of the model.
        source: The 16-bit checkpoint.
        calibration: The calibration samples; null where nothing was calibrated.
        error: Measured error; null if it was not measured.
        weight_bytes: Size of the quantized weight files.
        versions: Versions of Python and of the packages that did it.
    """

    variant: str
    recipe: Recipe
    resolved_group_size: int | None
    quantized_modules: dict[str, int]
    source: SourceCheckpoint
    calibration: CalibrationRecord | None
    error: MeasuredError | None
    weight_bytes: int
    versions: dict[str, str]

    def write(self, folder: Path) -> None:
        """Writes `quantization.json` into a checkpoint folder."""
        (folder / RECORD_FILE).write_text(self.model_dump_json(indent=2) + "\n", encoding="utf-8")


def read_quantization_record(folder: Path) -> QuantizationRecord:
    """Reads `quantization.json` of a checkpoint folder.

    Raises:
        FileNotFoundError: If there is none.
        pydantic.ValidationError: If it is not one.
    """
    return QuantizationRecord.model_validate_json((folder / RECORD_FILE).read_text(encoding="utf-8"))
