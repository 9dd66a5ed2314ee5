"""The README and the project links as a package index shows them: with addresses that work from anywhere.

Links of the README are relative, which is right in a checkout. In the metadata ``MOBAI_HOME``, the address of the
repository, makes them absolute, at the tag of the version. Without it the metadata name no address, and links are text.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

# An image or a link whose target is a file of the repository; targets on this page and absolute ones stay.
_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!\w+:|#)([^)\s]+)\)")


def absolute_links(text: str, home: str, tag: str) -> str:
    """Return Markdown whose relative links lead into the repository at ``home``; without one, their text alone."""

    def replaced(link: re.Match[str]) -> str:
        image, label, target = link.groups()
        if not home:
            return "" if image else label
        return f"{image}[{label}]({home}/{'raw' if image else 'blob'}/{tag}/{target})"

    return _LINK.sub(replaced, text)


def project_links(home: str, tag: str) -> dict[str, str]:
    """Return the links that a package index lists beside the README."""
    if not home:
        return {}
    return {
        "Homepage": home,
        "Documentation": f"{home}/blob/{tag}/docs/index.md",
        "Changelog": f"{home}/blob/{tag}/CHANGELOG.md",
        "Issues": f"{home}/issues",
    }


class IndexMetadata(MetadataHookInterface):
    """Fills in what depends on where the project lives."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the README and the links, in place."""
        home, tag = os.environ.get("MOBAI_HOME", "").rstrip("/"), f"v{metadata['version']}"
        if home and not re.fullmatch(r"https://[\w.-]+(:\d+)?(/[\w.~-]+)+", home):
            raise ValueError(f"MOBAI_HOME must be the https address of the repository, not {home!r}")
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": absolute_links(text, home, tag)}
        metadata["urls"] = project_links(home, tag)
