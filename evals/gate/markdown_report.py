"""The verdict as Markdown: a comment on a pull request, or a step summary of GitHub Actions."""

from __future__ import annotations

from tliveomni_eval.evals.gate.printable import markdown_code, markdown_text
from tliveomni_eval.evals.gate.verdict import GateReport, Outcome, Verdict
from tliveomni_eval.evals.gate.verdict_rows import Row, noise_text, overlap_text, rows, shared_confidence

_EMOJI: dict[Outcome, str] = {
    "PASS": ":white_check_mark:",
    "BREACH": ":x:",
    "INCONCLUSIVE": ":grey_question:",
    "MISSING": ":no_entry_sign:",
}
_MOST_ROWS = 100
_LONGEST_MESSAGE = 600


def markdown_report(report: GateReport) -> str:
    """The whole report; GitHub's and GitLab's Markdown.

    Every text that a model, a data set or a path controls is inside a code span that it cannot leave.
    """
    return "\n".join(_verdict(verdict) for verdict in report.verdicts)


def _verdict(verdict: Verdict) -> str:
    lines = [
        f"### {_EMOJI[verdict.outcome]} {verdict.outcome}: {markdown_code(verdict.candidate.name)} "
        f"against {markdown_code(verdict.baseline.name)}",
        "",
        markdown_text(verdict.summary),
        "",
    ]
    for problem in verdict.problems:
        place = f"{markdown_code(problem.task)}: " if problem.task else ""
        state = "allowed: " if problem.allowed else ""
        lines.append(f"- {state}**{problem.field}** {place}{markdown_code(problem.message, _LONGEST_MESSAGE)}")
    if verdict.problems:
        lines.append("")
    all_rows = rows(verdict)
    attention = [row for row in all_rows if row.verdict.gated and row.verdict.outcome != "PASS"]
    rest = [row for row in all_rows if row not in attention]
    if attention:
        lines += [*_table(attention, verdict), ""]
    if rest:
        lines += [
            f"<details><summary>{len(rest)} other slices</summary>",
            "",
            *_table(rest, verdict),
            "",
            "</details>",
            "",
        ]
    if remark := overlap_text(verdict):
        lines += [remark, ""]
    return "\n".join(lines)


def _table(shown: list[Row], verdict: Verdict) -> list[str]:
    noise = verdict.noise_run is not None
    headings = ["verdict", "task", "slice", "metric", "baseline → candidate"]
    headings += ["loss", f"{shared_confidence(verdict.slices)} interval", "budget", "samples", "flips"]
    headings += ["flip rate \\| A/A"] if noise else []
    headings += ["clusters to decide", "note"]
    lines = [f"| {' | '.join(headings)} |", "|" + " --- |" * len(headings)]
    for row in shown[:_MOST_ROWS]:
        item = row.verdict
        cells = [f"{_EMOJI[item.outcome]} {row.word.partition(' ')[2]}"]
        cells += [markdown_code(item.task), markdown_code(item.slice), markdown_code(item.metric)]
        cells += [row.value, row.loss, row.interval, row.budget, row.size, row.flips]
        cells += [noise_text(item).replace("|", "\\|")] if noise else []
        note = item.note
        if item.waiver is not None:
            note = f"waived until {item.waiver.until} by {item.waiver.approved_by}: {item.waiver.reason}; {note}"
        cells += [row.to_decide, markdown_code(note.rstrip("; "), 200) if note else ""]
        lines.append(f"| {' | '.join(cells)} |")
    if len(shown) > _MOST_ROWS:
        lines += ["", f"{len(shown) - _MOST_ROWS} more slices are in the JSON result."]
    return lines
