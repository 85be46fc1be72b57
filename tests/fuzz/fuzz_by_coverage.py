"""Fuzz one reader by coverage, once atheris is installed: `python tests/fuzz/fuzz_by_coverage.py answers -runs=100000`.

Atheris instruments the readers and keeps inputs that reach new branches. It is no dependency of the project, since it
does not build everywhere. Options after the target's name are libFuzzer's.
"""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(include=["tliveomni_eval", "fuzz_targets"]):
    from fuzz_targets import TARGETS, read_hostile


def main() -> None:
    """Feed a target until libFuzzer has enough; it ends with a status other than 0 at the first fault."""
    target = TARGETS[sys.argv.pop(1)]

    def read(data: bytes) -> None:
        read_hostile(target, data.decode("utf-8", "surrogateescape"))

    atheris.Setup(sys.argv, read)
    atheris.Fuzz()


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in TARGETS:
        sys.exit(f"name a target: {', '.join(TARGETS)}")
    main()
