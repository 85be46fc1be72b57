"""What a run costs to serve: the figures of `bench.json` beside its logs, by modality."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from tliveomni_eval.evals.logs.log_error import LogError

SERVING_FIGURES_NAME = "bench.json"
_LARGEST = 16 * 2**20


class Workload(BaseModel):
    """Requests of one modality at batch 1; medians over them. A figure that was not measured is None.

    Attributes:
        modality: What the requests carry, as tasks name it (`image`, `audio`, `video`, `text`).
        seconds_per_sample: From sending a request to its last token, in seconds.
        ttft_s: Time to the first token, in seconds.
        tpot_s: Time per output token after the first, in seconds.
        peak_memory_bytes: Largest memory of the process, or of the accelerator where there is one.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    modality: str
    seconds_per_sample: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    ttft_s: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    tpot_s: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    peak_memory_bytes: int | None = Field(default=None, ge=0)


class ServingFigures(BaseModel):
    """The part of `bench.json` that the leaderboard shows; what else stands there is not read.

    Attributes:
        workloads: One a modality.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    workloads: list[Workload]

    def of(self, modality: str) -> Workload | None:
        """The workload of a modality; None where it was not measured."""
        return next((workload for workload in self.workloads if workload.modality == modality), None)


def read_serving_figures(run_folder: Path) -> ServingFigures | None:
    """Reads `bench.json` of a run folder; None where there is none.

    Raises:
        LogError: If the file is not what `tlive bench` writes; the message names file and field.
    """
    path = run_folder / SERVING_FIGURES_NAME
    if not path.is_file():
        return None
    try:
        if path.stat().st_size > _LARGEST:
            raise LogError(f"larger than {_LARGEST >> 20} MiB, which no {SERVING_FIGURES_NAME} is", path)
        return ServingFigures.model_validate_json(path.read_bytes())
    except OSError as error:
        raise LogError(f"cannot be read: {error.strerror}", path) from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the file"
        raise LogError(f"{where}: {first['msg']} (got {str(first['input'])[:80]!r})", path) from error
