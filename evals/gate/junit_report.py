"""The verdict as JUnit XML, which every CI system shows as a list of tests."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from tliveomni_eval.evals.gate.printable import printable
from tliveomni_eval.evals.gate.verdict import GateReport, SliceVerdict, Verdict
from tliveomni_eval.evals.gate.verdict_rows import Row

_LONGEST_MESSAGE = 600


def junit_report(report: GateReport) -> str:
    """One suite a candidate and one case a slice.

    A slice that blocks the release fails, an absent one is an error, and one that does not count is skipped.
    """
    root = ET.Element("testsuites", name="tlive gate")
    for verdict in report.verdicts:
        _add_suite(root, verdict)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=False) + "\n"


def _add_suite(root: ET.Element, verdict: Verdict) -> None:
    name = f"{printable(verdict.candidate.name)} against {printable(verdict.baseline.name)}"
    suite = ET.SubElement(root, "testsuite", name=name)
    for problem in verdict.problems:
        case = ET.SubElement(suite, "testcase", classname=printable(problem.task or "run"), name=problem.field)
        message = printable(problem.message, _LONGEST_MESSAGE)
        kind = "skipped" if problem.allowed else "error"
        ET.SubElement(case, kind, message=f"allowed: {message}" if problem.allowed else message)
    for item in verdict.slices:
        _add_case(suite, item)
    release = ET.SubElement(suite, "testcase", classname="release", name="verdict")
    summary = printable(verdict.summary, _LONGEST_MESSAGE)
    if verdict.outcome == "PASS":
        ET.SubElement(release, "system-out").text = summary
    else:
        kind = "error" if verdict.outcome == "MISSING" else "failure"
        ET.SubElement(release, kind, type=verdict.outcome, message=summary)
    for attribute, kind in (
        ("tests", "testcase"),
        ("failures", "failure"),
        ("errors", "error"),
        ("skipped", "skipped"),
    ):
        suite.set(attribute, str(len(suite.findall(f".//{kind}"))))


def _add_case(suite: ET.Element, item: SliceVerdict) -> None:
    classname = f"{printable(item.task)}.{printable(item.metric)}"
    case = ET.SubElement(suite, "testcase", classname=classname, name=printable(item.slice))
    row = Row.of(item)
    text = f"{row.word}: loss {row.loss} ({row.interval}) of {row.budget}, {row.value}, "
    text += f"{row.size} samples, flips {row.flips}"
    text = printable(f"{text}; {item.note}" if item.note else text, _LONGEST_MESSAGE)
    if item.outcome == "MISSING":
        ET.SubElement(case, "error", type=item.outcome, message=text)
    elif item.outcome == "PASS":
        ET.SubElement(case, "system-out").text = text
    elif item.counts and not (item.outcome == "INCONCLUSIVE" and item.rule.inconclusive == "tolerate"):
        ET.SubElement(case, "failure", type=item.outcome, message=text)
    else:
        ET.SubElement(case, "skipped", message=text)
