"""Metrics in which a group of samples counts as one trial and is a hit only when every member is right.

CircularEval (all rotations of a question) and HallusionBench (all questions on a figure) are of this kind. Groups lie
inside clusters, so a cluster has a plain ratio, groups all right over groups, and resampling clusters is exact.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tliveomni_eval.evals.record import Counts

PAYLOAD_KIND = "all_right"


@dataclass(frozen=True, slots=True)
class GroupPayload:
    """What one sample contributes.

    Attributes:
        group: The samples of one group share it.
        member: Distinct within the group (the rotation, the question).
        members: How many samples the whole group has; None where that is not known.
        hit: Whether this sample is right.
    """

    group: str
    member: str
    members: int | None
    hit: bool

    def logged(self, sample_id: str) -> dict[str, Any]:
        """The JSON object that `process_results` returns to lmms-eval for an all-right metric."""
        return {
            "id": sample_id,
            "kind": PAYLOAD_KIND,
            "group": self.group,
            "member": self.member,
            "members": self.members,
            "hit": self.hit,
        }

    @classmethod
    def from_logged(cls, logged: Mapping[str, Any]) -> GroupPayload:
        """Reads what `logged` wrote.

        Raises:
            ValueError: The object is no group payload.
        """
        if logged.get("kind") != PAYLOAD_KIND:
            raise ValueError(f"expected a payload of kind {PAYLOAD_KIND!r}, got {logged.get('kind')!r}")
        return cls(str(logged["group"]), str(logged["member"]), logged["members"], bool(logged["hit"]))


@dataclass(frozen=True, slots=True)
class GroupCounts:
    """The whole groups, counted.

    Attributes:
        by_cluster: Cluster to groups all right over whole groups.
        missing: Groups that lack a member: never a hit and not in the counts, but reported.
    """

    by_cluster: Mapping[str, Counts]
    missing: tuple[str, ...]

    @property
    def total(self) -> Counts:
        """Groups all right over whole groups."""
        return sum(self.by_cluster.values(), Counts(0, 0))


def count_groups(samples: Iterable[tuple[str, GroupPayload]]) -> GroupCounts:
    """Counts each whole group once.

    Args:
        samples: Cluster and payload of each sample.

    Returns:
        Counts by cluster, and the groups with a missing member.

    Raises:
        ValueError: A member occurs twice, a group spans two clusters, or its members disagree on its size.
    """
    members: dict[str, dict[str, bool]] = defaultdict(dict)
    described: dict[str, tuple[str, int | None]] = {}
    for cluster, payload in samples:
        seen = described.setdefault(payload.group, (cluster, payload.members))
        if seen != (cluster, payload.members):
            raise ValueError(
                f"group {payload.group!r} is described as cluster {seen[0]!r} of {seen[1]} members "
                f"and as cluster {cluster!r} of {payload.members}"
            )
        if payload.member in members[payload.group]:
            raise ValueError(f"group {payload.group!r} has its member {payload.member!r} twice")
        members[payload.group][payload.member] = payload.hit
    by_cluster: dict[str, Counts] = {}
    missing = []
    for group, hits in members.items():
        cluster, size = described[group]
        if size is not None and len(hits) != size:
            missing.append(group)
            continue
        by_cluster[cluster] = by_cluster.get(cluster, Counts(0, 0)) + Counts(float(all(hits.values())), 1)
    return GroupCounts(by_cluster, tuple(missing))
