"""A small version of the simulation, and the checks of the simulation itself."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from chart import chart
from exact_noninferiority import pass_power
from operating_characteristics import BUDGET, Cell, CellResult, grid, simulate_cell
from outcome_models import MODELS, OutcomeModel
from requirements_met import violations
from tliveomni_eval.evals.statistics.plan import plan_rates

REPETITIONS = 400
RESULTS = Path(__file__).resolve().parents[2] / "docs" / "operating_characteristics.json"


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
@pytest.mark.parametrize("flip_rate", [0.02, 0.1])
def test_populations_have_the_loss_they_claim(model: OutcomeModel, flip_rate: float) -> None:
    loss = 0.015
    if not model.possible(loss, flip_rate):
        loss = 0.005
    stack = model.draw(np.random.default_rng(8), 300, 400, loss, flip_rate)
    estimates = stack.loss("relative")
    standard_error = float(estimates.std()) / np.sqrt(len(estimates))
    assert float(estimates.mean()) == pytest.approx(loss, abs=4 * standard_error)


def small_cells(model: OutcomeModel) -> list[Cell]:
    sizes = [(50, 0.05), (200, 0.05), (500, 0.1)]
    return [Cell(model.name, n, loss, flips, REPETITIONS, 5) for n, flips in sizes for loss in (0.0, BUDGET)]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_error_rates_and_coverage_hold(model: OutcomeModel) -> None:
    assert violations([asdict(simulate_cell(cell)) for cell in small_cells(model)], [], BUDGET) == []


def test_the_paired_t_rule_fails_where_the_gate_does_not() -> None:
    """All flips are losses: the rule of the closest rival passes whenever it saw none."""
    for clusters, false_passes in ((50, 0.47), (100, 0.22)):
        result = simulate_cell(Cell("binary", clusters, BUDGET, 0.015, 2000, 1))
        assert result.paired_t_passed > 0.8 * false_passes
        assert result.passed == 0
        assert violations([asdict(result) | {"passed": result.paired_t_passed}], [], BUDGET)


@pytest.mark.parametrize(("clusters", "flip_rate"), [(500, 0.05), (1000, 0.02), (1000, 0.1)])
def test_power_to_pass_is_within_five_points_of_the_exact_test(clusters: int, flip_rate: float) -> None:
    power = pass_power(clusters, flip_rate, BUDGET, 0.95)
    assert power.expected_discordant >= 20
    assert power.exact_test - 0.05 <= power.gate <= power.exact_test + 0.01
    assert power.gate_false_pass <= 0.025


@pytest.mark.parametrize("flip_rate", [0.02, 0.05, 0.1])
def test_planned_numbers_have_the_power_they_promise(flip_rate: float) -> None:
    needed = plan_rates(0.9, flip_rate=flip_rate).needed_clusters
    assert needed is not None
    assert pass_power(needed, flip_rate, BUDGET, 0.95).gate == pytest.approx(0.8, abs=0.04)


def test_a_cell_repeats_and_the_grid_names_each_once() -> None:
    cell = Cell("ratio", 100, 0.01, 0.1, 50, 3)
    assert simulate_cell(cell) == simulate_cell(cell)
    cells = grid(1, 0)
    assert len(set(cells)) == len(cells) > 500
    assert {cell.metric for cell in cells} == {model.name for model in MODELS}


def result(**changes: Any) -> dict[str, Any]:
    fair = CellResult("binary", 200, BUDGET, 0.1, 2000, 0.02, 0.02, 0.95, 0.025, 0.025, 0.1, 0.02, 0.9, 30.0)
    return asdict(fair) | changes


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"passed": 0.09}, "falsely passed"),
        ({"breached": 0.09}, "falsely breached"),
        ({"coverage": 0.9}, "coverage 90.0%"),
        ({"coverage": 1.0}, "timid"),
    ],
)
def test_a_missed_requirement_is_named(changes: dict[str, float], word: str) -> None:
    assert violations([result()], [], BUDGET) == []
    (line,) = violations([result(**changes)], [], BUDGET)
    assert word in line and "200 clusters" in line


def test_lost_power_is_named() -> None:
    row = {"clusters": 500, "flip_rate": 0.1, "expected_discordant": 50, "exact_test": 0.5, "gate": 0.4}
    assert "less power" in violations([], [row], BUDGET)[0]
    assert violations([], [row | {"expected_discordant": 10}], BUDGET) == []


def test_the_chart_is_well_formed_and_shows_every_metric() -> None:
    cells = [result(metric=model.name, clusters=n) for model in MODELS for n in (50, 5000)]
    document = ElementTree.fromstring(chart(cells, BUDGET))
    texts = [element.text for element in document.iter("{http://www.w3.org/2000/svg}text")]
    assert all(model.name in texts for model in MODELS)


def test_the_committed_results_meet_every_requirement() -> None:
    committed = json.loads(RESULTS.read_text("utf-8"))
    assert committed["settings"]["repetitions"] == 2000
    assert violations(committed["cells"], committed["pass_power"], BUDGET) == committed["settings"]["missed"] == []
    assert len(committed["cells"]) == len(grid(1, 0))
