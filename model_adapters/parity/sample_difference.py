"""How far apart two sides are on one sample: log-probabilities, distributions, most probable tokens."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from tliveomni_eval.evals.parity_report import ParitySample
from tliveomni_eval.model_adapters.parity.token_scores import SideRecord, TokenScores

_LEAST_PROBABILITY = 1e-12


@dataclass(frozen=True, eq=False, slots=True)
class SampleDifference:
    """One sample, token by token.

    Attributes:
        reference: What transformers found.
        candidate: What vLLM found.
        delta: |Δ log-probability| of each token of the reference's answer, (tokens,).
        kl: KL divergence at each place, ≥ 0, (tokens,); see `top_divergence`.
        same_argmax: Whether vLLM's most probable token is the reference's, (tokens,).
    """

    reference: SideRecord
    candidate: SideRecord
    delta: NDArray[np.float64]
    kl: NDArray[np.float64]
    same_argmax: NDArray[np.bool_]

    @property
    def first_divergence(self) -> int | None:
        """Index of the first token at which vLLM's most probable one is another; None where there is none."""
        other = np.flatnonzero(~self.same_argmax)
        return int(other[0]) if other.size else None

    @property
    def same_prompt_length(self) -> bool:
        """Whether both sides counted as many tokens in the prompt."""
        return self.reference.prompt_tokens == self.candidate.prompt_tokens

    def as_sample(self, sample_id: str) -> ParitySample:
        """The sample as the report holds it.

        Args:
            sample_id: Its id in the task's data.
        """
        return ParitySample(
            task=self.reference.task,
            id=sample_id,
            document=self.reference.document,
            modality=self.reference.modality,
            prompt_tokens=self.reference.prompt_tokens,
            candidate_prompt_tokens=self.candidate.prompt_tokens,
            tokens=self.delta.size,
            mean_delta=float(self.delta.mean()),
            max_delta=float(self.delta.max()),
            max_delta_at=int(self.delta.argmax()),
            mean_kl=float(self.kl.mean()),
            max_kl=float(self.kl.max()),
            first_divergence=self.first_divergence,
            reference_text=self.reference.text,
            candidate_text=self.candidate.text,
        )


def sample_difference(reference: SideRecord, candidate: SideRecord) -> SampleDifference:
    """Compare what two sides say of the reference's answer.

    Args:
        reference: With scores of at least one token.
        candidate: Of the same sample and the same tokens.

    Raises:
        ValueError: The two are not of the same sample and tokens.
    """
    ours, theirs = reference.scores, candidate.scores
    if ours is None or theirs is None or reference.key != candidate.key or ours.tokens != theirs.tokens:
        raise ValueError(f"{reference.key} and {candidate.key} are not scores of the same tokens of one sample")
    if not ours.tokens:
        raise ValueError(f"{reference.key}: there are no tokens to compare")
    return SampleDifference(
        reference,
        candidate,
        np.abs(np.array(ours.logprobs) - np.array(theirs.logprobs)),
        np.array([top_divergence(ours, theirs, place) for place in range(len(ours.tokens))]),
        np.array([row[0][0] == token for token, row in zip(ours.tokens, theirs.top, strict=True)]),
    )


def top_divergence(reference: TokenScores, candidate: TokenScores, place: int) -> float:
    """KL divergence (nats) of the reference's distribution from the candidate's at one place, from top tokens alone.

    Tokens among the top of both, and the answer's own, are events of their own; all others are one event. Lumping
    events never raises a KL divergence (Cover and Thomas, *Elements of Information Theory*, 2.7: the log-sum
    inequality), so this is a lower bound of the divergence over the whole vocabulary.

    Args:
        reference: Log-probabilities of transformers.
        candidate: Log-probabilities of vLLM.
        place: Index in the answer.
    """
    token = reference.tokens[place]
    ours = dict(reference.top[place]) | {token: reference.logprobs[place]}
    theirs = dict(candidate.top[place]) | {token: candidate.logprobs[place]}
    shared = sorted(ours.keys() & theirs.keys())
    p, q = (_with_rest(np.exp([side[one] for one in shared])) for side in (ours, theirs))
    return max(0.0, float((p * np.log(p / q)).sum()))


def _with_rest(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    rest = max(_LEAST_PROBABILITY, 1.0 - float(probabilities.sum()))
    events = np.maximum(np.append(probabilities, rest), _LEAST_PROBABILITY)
    return np.asarray(events / events.sum())
