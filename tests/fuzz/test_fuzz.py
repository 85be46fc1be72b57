"""A small share of the fuzzing of `fuzz.py`, and its corpus: what it found, and known traps of such readers."""

from __future__ import annotations

from pathlib import Path

import pytest
from fuzz_targets import TARGETS, inputs_of, read_hostile
from hypothesis import HealthCheck, given, settings

INPUTS = sorted((Path(__file__).parent / "corpus").glob("*/*.txt"))


@pytest.mark.parametrize("name", TARGETS)
def test_hostile_text_is_read_or_refused_with_a_word(name: str) -> None:
    target = TARGETS[name]

    @settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
    @given(inputs_of(target))
    def read(text: str) -> None:
        read_hostile(target, text)

    read()


@pytest.mark.parametrize("name", TARGETS)
def test_the_seeds_are_understood(name: str) -> None:
    """Inputs made from seeds that no reader takes would only ever test the first check of each."""
    for text in TARGETS[name].seeds:
        TARGETS[name].read(text)


@pytest.mark.parametrize("path", INPUTS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_the_corpus_is_read_or_refused_with_a_word(path: Path) -> None:
    read_hostile(TARGETS[path.parent.name], path.read_bytes().decode("utf-8", "surrogatepass"))
