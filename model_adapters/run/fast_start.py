"""What makes an evaluation process start and run faster without changing what it computes."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

KEEP_FREED_MEMORY = {
    "MALLOC_MMAP_THRESHOLD_": str(2**30),
    "MALLOC_TRIM_THRESHOLD_": str(2**31),
    "MALLOC_TOP_PAD_": str(2**26),
}
"""glibc gives large blocks back to the kernel at every free, and a model on a CPU pays for that in page faults at every
layer; these settings keep the blocks."""


def evaluation_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Environment of an evaluation process: that of the parent, which wins, and `KEEP_FREED_MEMORY`.

    Args:
        environment: Environment of this process.
    """
    return KEEP_FREED_MEMORY | dict(environment)


def import_lazily(name: str) -> None:
    """Let `import name` succeed at once and load the module when an attribute of it is first used.

    lmms-eval imports `evaluate` for metrics that few tasks use, which takes as long as most of its other imports.
    `importlib.util.LazyLoader` does not serve: the import statement itself looks at the module and so loads it.

    Args:
        name: A top-level module; one that is loaded or not installed is left alone.
    """
    specification = importlib.util.find_spec(name) if name not in sys.modules else None
    if specification is None:
        return
    placeholder = ModuleType(name)
    placeholder.__spec__ = specification

    def load(attribute: str) -> Any:
        # `inspect` asks every loaded module for its `__file__`, which is no use of it.
        if attribute.startswith("__"):
            raise AttributeError(f"module {name!r} is not loaded yet and has no attribute {attribute!r}")
        if sys.modules.get(name) is placeholder:
            del sys.modules[name]
        return getattr(importlib.import_module(name), attribute)

    placeholder.__getattr__ = load  # type: ignore[method-assign]
    sys.modules[name] = placeholder
