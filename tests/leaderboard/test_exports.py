from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from lxml import etree
from synthetic_run import SyntheticSample, right, write_run
from tliveomni_eval.leaderboard.exports import as_csv
from tliveomni_eval.leaderboard.page_data import PageOverview
from tliveomni_eval.leaderboard.report import write_report


@pytest.fixture(scope="module")
def exported(release: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("exports")
    return {
        suffix: write_report([release / "runs"], folder / f"matrix.{suffix}").page.read_text()
        for suffix in ("csv", "md", "json", "svg")
    }


def test_json_is_the_overview(exported: dict[str, str]) -> None:
    overview = PageOverview.model_validate_json(exported["json"])
    assert overview.verdict == "BREACH" and len(overview.candidates) == 3


def test_csv_holds_every_cell(exported: dict[str, str]) -> None:
    overview = PageOverview.model_validate_json(exported["json"])
    lines = list(csv.DictReader(io.StringIO(exported["csv"])))
    assert len(lines) == sum(len(row.cells) for row in overview.rows)
    line = next(
        one for one in lines if (one["candidate"], one["attribute"], one["value"]) == ("w4a16", "field", "price")
    )
    column = [candidate.key for candidate in overview.candidates].index("w4a16")
    cell = next(row for row in overview.rows if (row.attribute, row.value) == ("field", "price")).cells[column]
    assert (line["verdict"], float(line["loss"]), int(line["samples"])) == ("BREACH", cell.loss, cell.n)


def test_markdown_has_one_line_a_slice(exported: dict[str, str]) -> None:
    overview = PageOverview.model_validate_json(exported["json"])
    table = [line for line in exported["md"].splitlines() if line.startswith("|")]
    assert len(table) == len(overview.rows) + 2
    assert {line.count("|") for line in table} == {len(overview.candidates) + 3}
    assert any("▲" in line and "price" in line for line in table)


def test_badge_is_well_formed_and_says_the_verdict(exported: dict[str, str]) -> None:
    root = etree.fromstring(exported["svg"].encode())
    assert "breach" in root.get("aria-label")
    assert not root.findall(".//{*}script")


def test_no_cell_of_the_csv_is_a_formula(tmp_path: Path) -> None:
    data = [SyntheticSample(f"s{index}", "x", {"lang": "en", "=cmd|'/c calc'!A0": "@SUM(1)"}) for index in range(3)]
    for name in ("bf16", "+w4"):
        write_run(tmp_path / "runs", name, data, right)
    rows = list(csv.reader(io.StringIO(write_report([tmp_path / "runs"], tmp_path / "m.csv").page.read_text())))
    assert not [cell for row in rows for cell in row if cell.startswith(("=", "+", "@"))]
    assert json.dumps(rows).count("'=cmd") == 1


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "＝", "＋", "－", "＠", "|", "%", "\t=", "\r=", "\n="])
@pytest.mark.parametrize("before", ["", " ", "\u00a0", "\u3000", "\ufeff", "\u200b"])
def test_no_sign_that_starts_a_formula_starts_a_cell(exported: dict[str, str], sign: str, before: str) -> None:
    hostile = f"{before}{sign}HYPERLINK(0)"
    overview = PageOverview.model_validate_json(exported["json"])
    row = overview.rows[0].model_copy(
        update={
            "attribute": hostile,
            "value": hostile,
            "cells": [cell.model_copy(update={"note": hostile}) for cell in overview.rows[0].cells],
        }
    )
    text = as_csv(overview.model_copy(update={"rows": [row]}))
    line = next(csv.DictReader(io.StringIO(text, newline="")))
    assert len({line["attribute"], line["value"], line["note"]}) == 1
    assert line["value"].startswith(("'" + before, before + "\\"))
    assert line["value"].endswith("HYPERLINK(0)")
    assert len(text.split("\n")) == len(row.cells) + 2 and "\r" not in text
