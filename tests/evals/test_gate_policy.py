"""The policy: how rules resolve, and how faults are named."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

import pytest
from tliveomni_eval.evals.gate.policy import Policy, RuleChange, TaskPolicy
from tliveomni_eval.evals.gate.policy_error import PolicyError
from tliveomni_eval.evals.gate.policy_file import read_policy
from tliveomni_eval.evals.gate.policy_fit import check_waivers

WAIVER = {"task": "t", "slice": "lang=zh", "reason": "r", "approved_by": "me", "until": "2026-08-31"}


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "policy.yaml"
    path.write_text(text, encoding="utf-8")
    return path


class TestResolution:
    policy = Policy(
        defaults=RuleChange(budget=0.02, min_clusters=30),
        tasks={
            "ocr": TaskPolicy(
                budget=0.01,
                slices={
                    "lang=zh": RuleChange(budget=0.001),
                    "lang=*": RuleChange(budget=0.005, tier="warning"),
                    "field=*": RuleChange(decision="point"),
                },
                required_slices=["field=price"],
            )
        },
    )

    def test_task_that_is_not_named_has_the_defaults(self) -> None:
        rule = self.policy.rule("asr", "all")
        assert (rule.budget, rule.min_clusters, rule.confidence) == (0.02, 30, 0.95)

    def test_task_over_defaults(self) -> None:
        rule = self.policy.rule("ocr", "all")
        assert (rule.budget, rule.min_clusters, rule.tier) == (0.01, 30, "blocking")

    def test_pattern_over_task(self) -> None:
        assert self.policy.rule("ocr", "lang=en").budget == 0.005

    def test_full_name_over_pattern_whatever_the_order(self) -> None:
        rule = self.policy.rule("ocr", "lang=zh")
        assert (rule.budget, rule.tier) == (0.001, "warning")

    def test_required_slices(self) -> None:
        assert self.policy.rule("ocr", "field=price").required
        assert not self.policy.rule("ocr", "field=name").required

    def test_without_a_policy_everything_may_lose_one_and_a_half_percent(self) -> None:
        rule = Policy().rule("ocr", "lang=zh")
        assert (rule.budget, rule.loss, rule.confidence, rule.decision) == (0.015, "relative", 0.95, "interval")


class TestFile:
    def test_whole_policy(self, tmp_path: Path) -> None:
        policy = read_policy(
            write(
                tmp_path,
                """
                version: 1
                defaults: {budget: "1.5%", confidence: 95%}
                tasks:
                  ocr:
                    metrics: [field_exact]
                    max_unparsed_increase: 1 %
                    slices: {"lang=zh": {loss: absolute}}
                waivers:
                  - {task: ocr, slice: lang=zh, reason: "known", approved_by: "me", until: 2026-08-31}
                """,
            )
        )
        assert policy.rule("ocr", "lang=zh").budget == pytest.approx(0.015)
        assert policy.rule("ocr", "lang=zh").confidence == pytest.approx(0.95)
        assert policy.tasks["ocr"].max_unparsed_increase == pytest.approx(0.01)
        assert policy.waivers[0].until == datetime.date(2026, 8, 31)
        assert policy.waiver("ocr", "lang=zh", "cer") is policy.waivers[0]
        assert policy.waiver("ocr", "lang=en", "cer") is None

    def test_empty_file_is_the_default_policy(self, tmp_path: Path) -> None:
        assert read_policy(write(tmp_path, "# nothing\n")) == Policy()

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            (
                "tasks:\n  ocr:\n    budgett: 0.1\n",
                r"policy.yaml:3: tasks.ocr: unknown key 'budgett'. Did you mean 'budget'",
            ),
            ("default: {}\n", r"policy.yaml:1: unknown key 'default'. Did you mean 'defaults'"),
            ("defaults:\n  budget: 1.5\n", r"policy.yaml:2: .*for 1.5 % write 0.015 or '1.5%'"),
            ("defaults:\n  budget: 0\n", r"policy.yaml:2: .*above 0 and below 1, got 0$"),
            ("defaults:\n  budget: many%\n", r"policy.yaml:2: .*got 'many%'"),
            ("defaults:\n  confidence: 0.2\n", r"policy.yaml:2: .*at least 0.5 and below 1, got 0.2"),
            ("defaults:\n  tier: red\n", r"policy.yaml:2: defaults.tier: .*'blocking' or 'warning'.*got 'red'"),
            ("defaults:\n  min_clusters: 0\n", r"policy.yaml:2: defaults.min_clusters"),
            ("version: 2\n", r"policy.yaml:1: version"),
            ("waivers:\n  - {task: a}\n", r"policy.yaml:2: waivers.0: Field required"),
            ("waivers:\n  - {task: a, slice: b, reason: c, approved_by: d, until: 2026-13-01}\n", r"waivers.0.until"),
            ("a: [\n", r"policy.yaml:2: policy is not YAML"),
            ("a: 1\na: 2\n", r"policy.yaml:2: policy is not YAML: key 'a' is given twice"),
            ("- a\n", r"policy.yaml:1: policy must be a mapping, got list"),
            ("a: !!python/object:os.system {}\n", r"policy.yaml:1: policy is not YAML"),
            ("tasks: [1]\n", r"policy.yaml:1: tasks: "),
            ("tasks: {ocr: {metrics: []}}\n", r"policy.yaml:1: tasks.ocr.metrics"),
        ],
    )
    def test_faults_name_file_line_and_key(self, tmp_path: Path, text: str, message: str) -> None:
        with pytest.raises(PolicyError, match=message) as caught:
            read_policy(write(tmp_path, text))
        assert caught.value.exit_status == 64

    def test_several_faults_at_once(self, tmp_path: Path) -> None:
        with pytest.raises(PolicyError) as caught:
            read_policy(write(tmp_path, "defaults:\n  tier: red\n  loss: blue\n"))
        assert len(str(caught.value).splitlines()) == 2

    def test_two_waivers_for_one_slice(self, tmp_path: Path) -> None:
        with pytest.raises(PolicyError, match="two waivers for slice 'lang=zh'"):
            read_policy(write(tmp_path, json.dumps({"waivers": [WAIVER, WAIVER]})))

    def test_unreadable_files(self, tmp_path: Path) -> None:
        with pytest.raises(PolicyError, match="cannot be read: No such file"):
            read_policy(tmp_path / "none.yaml")
        path = write(tmp_path, "")
        path.write_bytes(b"a: \xff")
        with pytest.raises(PolicyError, match="not UTF-8"):
            read_policy(path)
        with path.open("wb") as file:
            file.truncate(2**21)
        with pytest.raises(PolicyError, match="larger than 1 MiB"):
            read_policy(path)


class TestWaivers:
    def test_holds_on_its_last_day(self) -> None:
        policy = Policy.model_validate({"waivers": [WAIVER]})
        check_waivers(policy, datetime.date(2026, 8, 31))
        with pytest.raises(PolicyError, match=r"expired on 2026-08-31 \(approved by me\)"):
            check_waivers(policy, datetime.date(2026, 9, 1))


def test_json_schema_takes_what_the_model_takes() -> None:
    schema = Policy.model_json_schema()
    budget = schema["$defs"]["RuleChange"]["properties"]["budget"]["anyOf"]
    kinds = {option.get("type") for option in budget} | {kind["type"] for o in budget for kind in o.get("anyOf", [])}
    assert kinds == {"number", "string", "null"}
    assert schema["additionalProperties"] is False
