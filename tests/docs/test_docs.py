"""The documentation does what it says: code runs, commands have the options shown, links lead somewhere."""

from __future__ import annotations

import doctest
import re
import shlex
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import click
import pytest

from mobai.cli.main import group

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("docs/**/*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"])
# A block after such a line is not meant to be run, for the reason it gives.
NOT_RUN = re.compile(r"<!-- not run: .+ -->\n+```")


def blocks(page: Path, language: str) -> list[str]:
    text = NOT_RUN.sub("```skipped ", page.read_text(encoding="utf-8"))
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


# The README is run by the doctests of pytest.
RUN = [page for page in PAGES if page.name != "README.md" and blocks(page, "python")]


@pytest.mark.parametrize("page", RUN, ids=name_of)
def test_python(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks of a page are one program, run in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    module = ModuleType("docs_page")
    monkeypatch.setitem(sys.modules, "docs_page", module)
    names: dict[str, Any] = vars(module)
    for number, block in enumerate(blocks(page, "python")):
        if ">>>" in block:
            test = doctest.DocTestParser().get_doctest(block, names, f"{page.name} {number}", str(page), 0)
            runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
            assert runner.run(test, out=sys.stderr.write).failed == 0
            names.update(test.globs)
        else:
            exec(compile(block, f"{page.name}, block {number + 1}", "exec"), names)


def commands(page: Path) -> list[list[str]]:
    """Return every call of mobai in the blocks of a page, without what a shell does with it."""
    found = []
    for block in blocks(page, "console"):
        for line in re.sub(r"\\\n\s*", " ", block).splitlines():
            if line.startswith("$ "):
                for part in re.split(r"&&|\||;", line[2:]):
                    words = shlex.split(part, comments=True)
                    while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
                        words.pop(0)
                    if words[:1] == ["mobai"]:
                        found.append(words[1:])
    return found


@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)], ids=name_of)
def test_commands(page: Path) -> None:
    for words in commands(page):
        command: click.Command | None = group
        context = click.Context(group)
        rest = list(words)
        while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
            command = command.get_command(context, rest.pop(0))
            assert command is not None, words
        assert command is not None
        known = {name for one in command.params for name in (*one.opts, *one.secondary_opts)} | {"--help", "-h"}
        known |= {"--version", "--debug"} if command is group else set()
        for word in rest:
            option = word.partition("=")[0]
            if re.fullmatch(r"--[a-z-]+|-[a-z]", option):
                assert option in known, f"{' '.join(words)}: there is no {option}"


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as Sphinx and forges make them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links(page: Path) -> None:
    text = re.sub(r"^```.*?^```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", link):
            assert link.startswith("https://"), link
            continue
        target, _, anchor = link.partition("#")
        file = page if not target else (page.parent / target).resolve()
        assert file.exists(), link
        if anchor and file.suffix == ".md":
            assert anchor in anchors(file), link
