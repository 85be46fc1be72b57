"""The history of a slice, from the catalogue alone: no sample is read."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from tliveomni_eval.leaderboard.history import History, Release, history
from tliveomni_eval.leaderboard.store.catalogue import open_catalogue, rows
from tliveomni_eval.leaderboard.store.run_store import RunStore

_QUERY = """
    SELECT runs.run_id, runs.name, coalesce(runs.variant, runs.name) AS variant, runs.model, runs.checkpoint,
           coalesce(runs.started, runs.added) AS started, runs.environment, results.num, results.den, results.n,
           results.higher_is_better
    FROM results JOIN runs USING (run_id)
    WHERE results.task = ? AND results.headline AND results.den > 0
      AND results.attribute IS NOT DISTINCT FROM ? AND results.value IS NOT DISTINCT FROM ?
    ORDER BY started, runs.name
"""


def slice_history(store: RunStore, task: str, attribute: str | None, value: str | None) -> list[History]:
    """The history of every variant on one slice, variants by name.

    Args:
        store: The store.
        task: Task name.
        attribute: Slice attribute; None for the whole task.
        value: Slice value; None for the whole task.
    """
    with open_catalogue(store.folder) as catalogue:
        found = rows(catalogue, _QUERY, [task, attribute, value])
    by_variant: dict[str, list[Release]] = defaultdict(list)
    for row in found:
        by_variant[row["variant"]].append(_release(row, task))
    return [history(variant, releases) for variant, releases in sorted(by_variant.items())]


def _release(row: Mapping[str, Any], task: str) -> Release:
    rate = row["num"] / row["den"]
    known = json.loads(row["environment"])
    facts = {f"{name}": str(version) for name, version in known.get("versions", {}).items()}
    facts |= {f"engine.{name}": str(value) for name, value in known.get("engine_args", {}).items()}
    for group in ("data", "prompts"):
        if task in known.get(group, {}):
            facts[group] = str(known[group][task])
    for name in ("model", "checkpoint"):
        if row[name] is not None:
            facts[name] = str(row[name])
    return Release(
        run_id=row["run_id"],
        name=row["name"],
        started=row["started"].isoformat(),
        quality=rate if row["higher_is_better"] else 1 - rate,
        # Questions of several rotations count once, and samples without the metric not at all.
        n=min(row["n"], max(1, round(row["den"]))),
        environment=facts,
    )
