import doctest
import importlib

import pytest

MODULES = ["metrics.price", *(f"text.{name}" for name in (
    "amounts", "normalizer", "simplified_chinese", "spoken_numbers", "tokens", "width", "wrapping",
))]  # fmt: skip


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_are_true(name: str) -> None:
    result = doctest.testmod(importlib.import_module(f"tliveomni_eval.evals.{name}"))
    assert result.attempted > 0
    assert result.failed == 0
