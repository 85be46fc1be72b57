"""Examples in docstrings of calibration, quantization and percentiles are true."""

from __future__ import annotations

import doctest
import importlib

import pytest

MODULES = [
    "evals.statistics.percentiles",
    "model_adapters.calibration.near_duplicates",
    "model_adapters.calibration.sample_traits",
    "model_adapters.quantization.model_parts",
    "model_adapters.quantization.modifiers",
    "model_adapters.quantization.until_pass",
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_are_true(name: str) -> None:
    result = doctest.testmod(importlib.import_module(f"tliveomni_eval.{name}"))
    assert result.attempted > 0
    assert result.failed == 0
