"""Lists the licence of every installed package, as Markdown: `python .ci/licenses.py > docs/licenses.md`."""

from __future__ import annotations

import re
import sys
from importlib.metadata import Distribution, PackageMetadata, distributions

_LONGEST = 90
_OWN = "tliveomni-eval"


def licence(distribution: Distribution) -> str:
    """What a package says of its licence: its SPDX expression, else its classifiers, else its field, else its files."""
    facts = distribution.metadata
    if stated := _field(facts, "License-Expression"):
        return stated
    prefix = "License :: "
    classified = [line.rsplit(" :: ", 1)[-1] for line in facts.get_all("Classifier") or [] if line.startswith(prefix)]
    if precise := [name for name in classified if name != "OSI Approved"]:
        return "; ".join(sorted(precise))
    stated = _field(facts, "License")
    if stated and stated.upper() != "UNKNOWN":
        first = stated.splitlines()[0].strip()
        return first if len(first) <= _LONGEST else f"{first[:_LONGEST]}…"
    names = {path.name for path in distribution.files or [] if re.match(r"(?i)(licen[cs]e|copying)", path.name)}
    return f"stated in its {', '.join(sorted(names))}" if names else "not stated in its metadata"


def _field(facts: PackageMetadata, name: str) -> str:
    return (facts[name] or "").strip() if name in facts else ""


def main() -> int:
    """Write the table to standard output."""
    found = {
        re.sub(r"[-_.]+", "-", one.metadata["Name"]).lower(): (one.version, licence(one)) for one in distributions()
    }
    print("# Licences of the packages it runs with\n")
    print("As their own metadata state them, for the versions in `constraints.txt`; made by `make licenses`.\n")
    print("| package | version | licence |\n|---|---|---|")
    for name, (version, text) in sorted(found.items()):
        if name != _OWN:
            print(f"| {name} | {version} | {' '.join(text.split()).replace('|', '/')} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
