"""Reading a policy from YAML, with faults named by file, line and key."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError
from tliveomni_eval.evals.gate.policy import Policy
from tliveomni_eval.evals.gate.policy_error import PolicyError

_LARGEST_POLICY = 2**20


class _UniqueKeyLoader(yaml.SafeLoader):
    """A safe loader that refuses a key given twice, where YAML would quietly keep the last, and keeps dates as text."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - the name and the kind are PyYAML's
        first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            if isinstance(key_node, yaml.ScalarNode):
                if key_node.value in seen:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"key {key_node.value!r} is given twice", key_node.start_mark
                    )
                seen.add(key_node.value)
        return super().construct_mapping(node, deep)


def read_policy(path: Path) -> Policy:
    """Reads a policy file.

    Args:
        path: A YAML (or JSON) file.

    Raises:
        PolicyError: If it cannot be read, is not YAML, or holds an unknown key or a value out of range.
    """
    try:
        if path.stat().st_size > _LARGEST_POLICY:
            raise PolicyError(f"{path}: larger than 1 MiB, which no policy is")
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise PolicyError(f"{path}: policy cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise PolicyError(f"{path}: policy is not UTF-8: {error.reason} at byte {error.start}") from error
    try:
        content = yaml.load(text, _UniqueKeyLoader)
        tree = yaml.compose(text, yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise PolicyError(f"{path}:{line}: policy is not YAML: {error.problem}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise PolicyError(f"{path}: policy is not YAML: {error}") from error
    if content is None:
        content = {}
    if not isinstance(content, dict):
        raise PolicyError(f"{path}:1: policy must be a mapping, got {type(content).__name__}")
    try:
        return Policy.model_validate(content)
    except ValidationError as error:
        raise PolicyError("\n".join(_fault(path, tree, fault) for fault in error.errors())) from error


def _fault(path: Path, tree: yaml.Node | None, fault: Any) -> str:
    location = [part for part in fault["loc"] if isinstance(part, str | int)]
    line, depth = _line_of(tree, location)
    where = ".".join(str(part) for part in location[:depth])
    message = fault["msg"].removeprefix("Value error, ")
    if fault["type"] == "unknown_key":
        line, _ = _line_of(tree, [*location, fault["ctx"]["key"]])
    elif fault["type"] != "value_error":
        message += f" (got {str(fault['input'])[:60]!r})"
    return f"{path}:{line}: {where + ': ' if where else ''}{message}"


def _line_of(node: yaml.Node | None, location: list[str | int]) -> tuple[int, int]:
    """Line (from 1) of the deepest part of a location that the file holds, and how deep that is."""
    line = node.start_mark.line + 1 if node else 1
    for depth, part in enumerate(location):
        step = _child(node, part)
        if step is None:
            return line, depth
        line, node = step
    return line, len(location)


def _child(node: yaml.Node | None, part: str | int) -> tuple[int, yaml.Node] | None:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == str(part):
                return key.start_mark.line + 1, value
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
        item = node.value[part]
        return item.start_mark.line + 1, item
    return None
