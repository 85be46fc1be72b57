"""What `tlive bench` needs of a backend."""

from __future__ import annotations

import hashlib
import resource
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from tliveomni_eval.evals.serving_figures import Memory
from tliveomni_eval.model_adapters.serving.outcomes import Outcome
from tliveomni_eval.model_adapters.serving.workloads import BenchRequest


@dataclass(frozen=True, slots=True)
class BackendFacts:
    """What is measured; the fields are those of `BenchReport`."""

    backend: Literal["vllm", "server", "transformers"]
    model: str
    variant: str | None = None
    checkpoint_fingerprint: str | None = None
    engine_args: dict[str, Any] = field(default_factory=dict)
    kernels: tuple[str, ...] = ()
    template_sha256: str | None = None
    processor: dict[str, Any] = field(default_factory=dict)
    engine_start_s: float | None = None


class BenchBackend(Protocol):
    """Something that answers requests and notes when what happened."""

    @property
    def media_kinds(self) -> frozenset[str]:
        """Kinds of media that it takes."""
        ...

    @property
    def context(self) -> int | None:
        """Tokens that prompt and answer may take; None where not known."""
        ...

    def facts(self) -> BackendFacts:
        """What is measured."""
        ...

    def count_tokens(self, messages: Sequence[dict[str, Any]]) -> int:
        """Tokens of a prompt."""
        ...

    def run(
        self,
        requests: Sequence[BenchRequest],
        arrivals: Sequence[float] | None,
        concurrency: int | None,
        timeout_s: float,
    ) -> list[Outcome]:
        """Answer requests: at given moments, or so many at a time."""
        ...

    def reset_caches(self, *, prefix: bool = True, processor: bool = True, encoder: bool = True) -> None:
        """Empty caches.

        Raises:
            NotImplementedError: It has none that can be emptied from here.
        """
        ...

    def memory(self) -> Memory:
        """Memory by part, as far as known."""
        ...

    def close(self) -> None:
        """Give everything back."""
        ...


def process_peak_bytes() -> int:
    """Largest resident memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def template_digest(processor: Any) -> str | None:
    """SHA-256 of the chat template of a processor or tokenizer; None where it has none."""
    template = getattr(processor, "chat_template", None)
    return hashlib.sha256(str(template).encode()).hexdigest() if template else None
