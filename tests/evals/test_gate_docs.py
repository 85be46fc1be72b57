"""What the documentation of the gate shows is valid: policies, pipelines and options."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from tliveomni_eval.evals.gate.comparability import ALLOWABLE_FIELDS
from tliveomni_eval.evals.gate.gate_command import command
from tliveomni_eval.evals.gate.policy import Policy, Rule, TaskPolicy
from tliveomni_eval.evals.gate.policy_file import read_policy

DOCS = Path(__file__).parents[2] / "docs"
GATE = (DOCS / "gate.md").read_text(encoding="utf-8")
CI = (DOCS / "ci.md").read_text(encoding="utf-8")


def yaml_blocks(text: str) -> list[str]:
    return re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)


def test_the_policy_shown_is_valid_and_names_every_rule(tmp_path: Path) -> None:
    (shown,) = yaml_blocks(GATE)
    path = tmp_path / "policy.yaml"
    path.write_text(shown)
    policy = read_policy(path)
    assert policy.rule("live_ocr", "field=price").budget == pytest.approx(0.005)
    assert policy.defaults.budget == Rule().budget == pytest.approx(0.015)
    for name in {*Rule.model_fields, *TaskPolicy.model_fields, *Policy.model_fields} - {"required"}:
        assert name in GATE, name


def test_every_field_and_option_is_explained() -> None:
    for field in ALLOWABLE_FIELDS:
        assert f"`{field}`" in GATE
    for parameter in command.params:
        option = parameter.opts[0]
        assert option in GATE, option


@pytest.mark.parametrize("block", yaml_blocks(CI), ids=["action", "workflow", "gitlab"])
def test_pipelines_are_yaml_and_call_the_gate_with_options_it_has(block: str) -> None:
    assert yaml.safe_load(block)
    known = {option for parameter in command.params for option in parameter.opts}
    for line in block.splitlines():
        if "tlive gate -" in line or line.strip().startswith("arguments=("):
            assert set(re.findall(r"--[a-z]+", line)) <= known
