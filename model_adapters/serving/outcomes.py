"""What became of a request, and the figures over many."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

import numpy as np
from tliveomni_eval.evals.serving_figures import Estimate, LoadStep, Percentiles, Slo, TtftParts
from tliveomni_eval.evals.statistics.percentiles import percentile

MOST_ERRORS = 5


@dataclass(slots=True)
class Outcome:
    """One request; moments are seconds of one clock.

    Attributes:
        start: When it was due: planned arrival in an open loop, else when it was begun.
        first: Its first token.
        last: Its last token.
        prompt_tokens: Of the prompt.
        output_tokens: Of the answer.
        loading_s: Reading and decoding its media.
        preprocessing_s: Template, tokenizer, processor.
        queue_s: In the engine's queue.
        encoder_prefill_s: From the first step to the first token.
        error: Why it has no answer; empty where it has.
        timed_out: Whether time ran out.
        text: The answer.
    """

    start: float
    first: float = 0.0
    last: float = 0.0
    prompt_tokens: int = 0
    output_tokens: int = 0
    loading_s: float | None = None
    preprocessing_s: float | None = None
    queue_s: float | None = None
    encoder_prefill_s: float | None = None
    error: str = ""
    timed_out: bool = False
    text: str = ""

    @property
    def latency(self) -> float:
        """Seconds to the last token."""
        return self.last - self.start

    @property
    def ttft(self) -> float:
        """Seconds to the first token."""
        return self.first - self.start

    @property
    def tpot(self) -> float | None:
        """Seconds per output token after the first; None for an answer of one token."""
        return (self.last - self.first) / (self.output_tokens - 1) if self.output_tokens > 1 else None

    def meets(self, slo: Slo) -> bool:
        """Whether it is a success within every limit."""
        pairs = ((self.ttft, slo.ttft_s), (self.tpot, slo.tpot_s), (self.latency, slo.latency_s))
        within = all(limit is None or value is None or value <= limit for value, limit in pairs)
        return not self.error and within


def percentiles(values: Sequence[float]) -> Percentiles | None:
    """P50, P95 and P99; None of no values."""
    if not values:
        return None
    p50, p95, p99 = (Estimate(**percentile(values, share)._asdict()) for share in (0.5, 0.95, 0.99))
    return Percentiles(samples=len(values), p50=p50, p95=p95, p99=p99)


def times(outcomes: Sequence[Outcome], of: Callable[[Outcome], float | None]) -> list[float]:
    """A time of all successful requests that have it."""
    found = (of(outcome) for outcome in outcomes if not outcome.error)
    return [value for value in found if value is not None]


def median_of(outcomes: Sequence[Outcome], of: Callable[[Outcome], float | None]) -> float | None:
    """The median of a time; None where none has it."""
    found = times(outcomes, of)
    return median(found) if found else None


def parts_of(outcomes: Sequence[Outcome]) -> TtftParts:
    """Medians of the parts of TTFT."""
    return TtftParts(
        loading_s=median_of(outcomes, lambda outcome: outcome.loading_s),
        preprocessing_s=median_of(outcomes, lambda outcome: outcome.preprocessing_s),
        queue_s=median_of(outcomes, lambda outcome: outcome.queue_s),
        encoder_prefill_s=median_of(outcomes, lambda outcome: outcome.encoder_prefill_s),
    )


def errors_of(outcomes: Sequence[Outcome]) -> list[str]:
    """Different messages of failures, the first five."""
    return list(dict.fromkeys(outcome.error for outcome in outcomes if outcome.error))[:MOST_ERRORS]


def load_step(arrival: Literal["closed", "open"], level: float, outcomes: Sequence[Outcome], slo: Slo) -> LoadStep:
    """The figures of one step of load.

    Args:
        arrival: Closed or open loop.
        level: Concurrency or requests a second.
        outcomes: All requests of the step, at least one.
        slo: Limits for goodput.
    """
    good = [outcome for outcome in outcomes if not outcome.error]
    timed_out = sum(outcome.timed_out for outcome in outcomes)
    ends = [outcome.last for outcome in outcomes if outcome.last > 0]
    duration = max(1e-9, max(ends, default=0.0) - min(outcome.start for outcome in outcomes)) if ends else 1e-9
    limited = any(limit is not None for limit in (slo.ttft_s, slo.tpot_s, slo.latency_s))
    return LoadStep(
        arrival=arrival,
        level=level,
        requests=len(outcomes),
        succeeded=len(good),
        failed=len(outcomes) - len(good) - timed_out,
        timed_out=timed_out,
        duration_s=duration,
        requests_per_s=len(good) / duration,
        output_tokens_per_s=sum(outcome.output_tokens for outcome in good) / duration,
        latency=percentiles(times(good, lambda outcome: outcome.latency)),
        ttft=percentiles(times(good, lambda outcome: outcome.ttft)),
        tpot=percentiles(times(good, lambda outcome: outcome.tpot)),
        goodput_per_s=sum(outcome.meets(slo) for outcome in outcomes) / duration if limited else None,
        errors=errors_of(outcomes),
    )


def poisson_arrivals(rate: float, count: int, seed: int) -> list[float]:
    """Arrival times in seconds from 0 of a Poisson process.

    Args:
        rate: Requests a second, above 0.
        count: Number of arrivals.
        seed: Of the random gaps.
    """
    gaps = np.random.default_rng(seed).exponential(1 / rate, size=count)
    return [float(moment) for moment in np.cumsum(gaps) - gaps[0]] if count else []
