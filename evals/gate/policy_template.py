"""A first policy, written from a run: every key with its default and its meaning."""

from __future__ import annotations

import json

import numpy as np
from tliveomni_eval.evals.gate.pairing import WHOLE_TASK, pair_samples
from tliveomni_eval.evals.gate.policy import Policy, Rule
from tliveomni_eval.evals.gate.printable import printable
from tliveomni_eval.evals.gate.slice_judgement import UNPARSED, judge_task
from tliveomni_eval.evals.logs.run_folder import Run
from tliveomni_eval.evals.logs.task_log import TaskLog

_HEAD = """\
# Budget policy of `tlive gate`, written from the run {name}.
# A rule is resolved from `defaults`, then the task, then every matching entry under `slices`.
# `tlive gate schema` prints the JSON Schema for your editor.
version: 1

defaults:
  budget: {budget:g}          # largest loss allowed: 0.015 or "1.5%"
  loss: {loss}         # relative: of the baseline's quality | absolute: points | relative_error: of its error rate
  confidence: {confidence:g}       # level of the two-sided interval
  decision: {decision}     # interval: PASS or BREACH only with evidence | point: by the estimate alone
  min_clusters: {min_clusters}       # smaller slices are reported, not gated, unless required
  tier: {tier}         # blocking | warning: shown, without effect on the exit status
  inconclusive: {inconclusive}    # block: exit 2 | breach: exit 1 | tolerate: does not count

multiplicity: holm       # correct the BREACH claims for the number of slices | none

"""

_WAIVERS = """\
# A slice that may miss its budget until a date; an expired one, or one that matches nothing, is refused (exit 64).
# waivers:
#   - {task: live_ocr, slice: "lang=mixed", reason: "tracked in ticket 123", approved_by: "name", until: 2027-01-31}
waivers: []
"""


def policy_template(run: Run) -> str:
    """A policy as YAML that gates every slice of a run by the defaults and requires those that are large enough.

    Args:
        run: A run with at least one task.

    Raises:
        LogError: If the headline metric of a task cannot be used.
    """
    head = _HEAD.format(name=_comment(run.name), **Rule().model_dump())
    tasks = "".join(_task(log) for log in run.tasks.values())
    return f"{head}tasks:\n{tasks}\n{_WAIVERS}"


def _task(log: TaskLog) -> str:
    itself, _ = pair_samples(log, log)
    judged = [item for item in judge_task(itself, Policy()) if item.metric != UNPARSED]
    metadata = log.settings.get("metadata", {})
    column = log.metrics[log.headline]
    direction = {True: "higher is better", False: "lower is better", None: "direction unknown"}[column.higher_is_better]
    about = [f"{len(log):,} samples in {len(np.unique(log.clusters.codes)):,} clusters", direction]
    about += [f"{key} {metadata[key]}" for key in ("ability", "sensitivity") if isinstance(metadata.get(key), str)]
    lines = [
        f"  {_quoted(log.name)}:",
        f"    # {_comment('; '.join(about))}",
        f"    metrics: [{_quoted(log.headline)}]",
    ]
    if len(log.metrics) > 1:
        others = ", ".join(name for name in log.metrics if name != log.headline)
        lines.append(f"    # further metrics that can be gated: {_comment(others)}")
    if log.slices:
        attributes = ", ".join(_quoted(attribute) for attribute in log.slices)
        lines.append(f"    attributes: [{attributes}]")
    lines += [
        "    max_unparsed_increase: 0.015   # share of outputs without the declared format",
        "    max_errors: 0                  # samples without an output, in either run",
    ]
    required = [item for item in judged if item.gated and item.comparison.slice != WHOLE_TASK]
    if required:
        lines.append("    required_slices:")
        for item in required:
            found = item.comparison
            size = f"{found.n_clusters:,} clusters"
            if not found.certifiable:
                size += f": too few to PASS, which takes {found.minimum_clusters:,}"
            lines.append(f"      - {_quoted(found.slice)}  # {size}")
    lines += [
        "    slices: {}",
        "    # slices:",
        '    #   "field=price": {budget: 0.005}',
        '    #   "lang=*": {tier: warning}',
    ]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """A YAML scalar: JSON strings are YAML."""
    return json.dumps(text, ensure_ascii=printable(text, len(text)) != text)


def _comment(text: str) -> str:
    return printable(text, 200)
