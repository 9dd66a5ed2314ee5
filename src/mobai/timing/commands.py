"""Commands to be timed: their texts, what is run before and after, and the process that runs them."""

from __future__ import annotations

import itertools
import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from mobai.errors import InputError
from mobai.timing.measurement import Measurement

# What a shell would do something about.
_FOR_A_SHELL = set("|&;<>()$`*?[]#~=%{}!\n")
_MOST_COMMANDS = 100
_NO_SUCH_COMMAND = 127  # the exit code of a shell


class CommandFailedError(Exception):
    """A command that could not be started, or ended with another code than 0."""


@dataclass(frozen=True)
class Command:
    """A command, what it is called, and the parameters that are written into it."""

    text: str
    name: str
    parameters: Mapping[str, str] = field(default_factory=dict)

    def filled(self, text: str) -> str:
        """Return a text with the parameters in their places."""
        names = "|".join(map(re.escape, self.parameters))
        return re.sub(rf"\{{({names})\}}", lambda found: self.parameters[found[1]], text) if names else text


def expand(texts: Sequence[str], names: Sequence[str], parameters: Mapping[str, Sequence[str]]) -> list[Command]:
    """Return a command per text and combination of parameters, each called by its own name.

    Examples
    --------
    >>> [one.text for one in expand(["sort -S {size} file"], [], {"size": ["1M", "8M"]})]
    ['sort -S 1M file', 'sort -S 8M file']
    """
    found: list[Command] = []
    for combination in itertools.product(*parameters.values()):
        filled = dict(zip(parameters, combination, strict=True))
        for place, text in enumerate(texts):
            bare = Command(text, "", filled)
            used = {name: value for name, value in filled.items() if f"{{{name}}}" in text}
            if len(parameters) and not used and any(one.text == text for one in found):
                continue  # it would be the same
            name = bare.filled(names[place]) if place < len(names) else bare.filled(text)
            found.append(Command(bare.filled(text), name, filled))
    if len(names) > len(texts):
        raise InputError("name", f"must be at most one per command, {len(texts)}, not {len(names)}")
    if len(found) > _MOST_COMMANDS:
        raise InputError("commands", f"must be at most {_MOST_COMMANDS}, not {len(found):,}")
    twice = [one.name for n, one in enumerate(found) if one.name in [other.name for other in found[:n]]]
    if twice:
        raise InputError("commands", f"two are called {twice[0]!r}; give them names (--name)")
    if any(not one.text.strip() for one in found):
        raise InputError("commands", "must not be empty")
    return found


class CommandRunner:
    """Runs commands in a small process beside this one; a context manager.

    Parameters
    ----------
    shell
        The command of a shell, to which ``-c`` and the text is given; empty for none; None for ``sh`` where the text
        has something for a shell in it.
    prepare
        What is run before every timed run: one for all, or one per command.
    """

    def __init__(
        self,
        commands: Sequence[Command],
        *,
        shell: str | None = None,
        prepare: Sequence[str] = (),
        ignore_failure: bool = False,
        show_output: bool = False,
    ) -> None:
        if len(prepare) not in (0, 1, len(commands)):
            raise InputError("prepare", f"must be given once, or once per command, {len(commands)}, not {len(prepare)}")
        self.commands = {one.name: one for one in commands}
        self._shell, self._ignore_failure, self._output = shell, ignore_failure, show_output
        if shell and shutil.which(shlex.split(shell)[0]) is None:
            raise InputError("shell", f"must be a shell that is installed, not {shell!r}")
        before = prepare if len(prepare) != 1 else [prepare[0]] * len(commands)
        self._prepare = {one.name: one.filled(text) for one, text in zip(commands, before, strict=False)}
        for one in commands:
            self._argv(one.text)  # what cannot be read is said before anything runs

    def __enter__(self) -> CommandRunner:
        """Start the process that runs them."""
        launcher = str(Path(__file__).with_name("launcher.py"))
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", launcher], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it."""
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
        self._process.wait()

    def measure(self, name: str) -> Measurement:
        """Run a command once, after what is to be run before it."""
        if name in self._prepare:
            self.run(self._prepare[name])
        return self._run(self.commands[name].text, name)

    def run(self, text: str) -> None:
        """Run a text that is not timed."""
        self._run(text, text, never_ignored=True)

    def _run(self, text: str, name: str, *, never_ignored: bool = False) -> Measurement:
        found = self._answer({"argv": self._argv(text), "output": self._output})
        if "failed" in found:
            raise CommandFailedError(f"{name!r} could not be started: {found['failed']}")
        made = Measurement(**found)
        if made.code != 0 and (never_ignored or not self._ignore_failure):
            hint = "" if never_ignored else "; ignore that with --ignore-failure, see why with --show-output"
            hint = ": there is no such command" if made.code == _NO_SUCH_COMMAND else hint
            raise CommandFailedError(f"{name!r} ended with exit code {made.code}{hint}")
        return made

    def _answer(self, wanted: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(wanted) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise CommandFailedError("the process that runs commands has died")
        found: dict[str, Any] = json.loads(line)
        return found

    def _argv(self, text: str) -> list[str]:
        """Return the words to run."""
        if self._shell or (self._shell is None and _FOR_A_SHELL & set(text)):
            return [*shlex.split(self._shell or "sh"), "-c", text]
        try:
            words = shlex.split(text)
        except ValueError as error:
            raise InputError("commands", f"{text!r} cannot be split into words: {str(error).lower()}") from None
        # What is no program may be something of the shell's own, exit or cd.
        return ["sh", "-c", text] if self._shell is None and shutil.which(words[0]) is None else words
