"""Counts a sample for metrics in which a group of samples is one trial (CircularEval, HallusionBench)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tliveomni_eval.evals.metrics.group_payload import PAYLOAD_KIND, GroupPayload


def is_group_metric(payloads: Sequence[Any] | None) -> bool:
    """Whether what a metric logged says which group a sample belongs to."""
    return payloads is not None and any(
        isinstance(payload, Mapping) and payload.get("kind") == PAYLOAD_KIND for payload in payloads
    )


def group_counts(payloads: Sequence[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Numerator and denominator of each sample, whose sums are groups all right over whole groups.

    Args:
        payloads: What the metric logged of each sample; None where it logged nothing.

    Returns:
        A sample's share of its group (1 / members) where all members are right, else 0; and that share. Both are 0 for
        groups that lack a member, as in `count_groups`. Each of shape (n,).
    """
    members: dict[str, dict[int, GroupPayload]] = defaultdict(dict)
    for position, payload in enumerate(payloads):
        if isinstance(payload, Mapping) and payload.get("kind") == PAYLOAD_KIND:
            member = GroupPayload.from_logged(payload)
            members[member.group][position] = member
    num, den = np.zeros((2, len(payloads)))
    for group in members.values():
        size = next(iter(group.values())).members
        if size is None or size == len(group):
            positions = list(group)
            den[positions] = 1 / len(group)
            num[positions] = all(member.hit for member in group.values()) / len(group)
    return num, den
