"""Print the oldest versions that pyproject.toml allows, as requirements: ``make test-oldest`` installs them.

Of what only tests and tools use, the newest will do.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

_OF_USERS = ("results", "plot", "postgresql", "service", "cluster")


def oldest(requirement: str) -> str:
    """Return a requirement with its lower bound as the version."""
    bare, _, marker = requirement.partition(";")
    name, bound = re.fullmatch(r"\s*([\w.\-]+(?:\[[\w,]+\])?)>=([\w.]+)(?:,.*)?\s*", bare).groups()  # type: ignore[union-attr]
    return f"{name.partition(chr(91))[0]}=={bound}" + (f" ;{marker}" if marker else "")


def main() -> None:
    """Print them, one per line."""
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    for requirement in [*project["dependencies"], *(one for extra in _OF_USERS for one in extras[extra])]:
        sys.stdout.write(oldest(requirement) + "\n")


if __name__ == "__main__":
    main()
