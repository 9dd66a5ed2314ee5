"""The group of commands, and the one place where errors become one line on stderr."""

from __future__ import annotations

import codecs
import importlib
import io
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any

import click

from mobai.errors import ConvergenceError, InputError, StorageError, did_you_mean, visible
from mobai.kernels import interpret
from mobai.version import __version__

_GROUPS = {
    "Start here": {
        "demo": "Find the best advert for every metric, live.",
        "plan": "How many samples will it take, and where should they go?",
        "create": "Begin a live experiment.",
        "analyse": "What do observations that are already there prove?",
        "bench": "Which command is fastest? Timed until it is known.",
        "status": "Where does an experiment stand?",
    },
    "Run an experiment": {
        "ask": "Which arm is next?",
        "tell": "Report what was measured.",
        "drop": "Say that assignments will not be answered.",
        "run": "Measure with a command or a function until it is decided.",
        "explain": "Why this arm, and why not stopped yet?",
        "report": "Write where an experiment stands into one file.",
        "export": "Print everything an experiment has recorded.",
    },
    "Look after it": {
        "experiments": "List the experiments of a storage.",
        "segments": "Who is best in every group of visitors?",
        "show": "What was an experiment set up with?",
        "pause": "Hand out nothing for a while.",
        "resume": "Hand out assignments again.",
        "add-arm": "Let one more arm take part.",
        "retire-arm": "Stop asking for an arm.",
        "close": "End an experiment.",
        "delete": "Remove an experiment with everything it recorded.",
        "verify": "Is everything what was written?",
        "backup": "Write all experiments of a storage into a file.",
        "restore": "Bring the experiments of a backup back.",
        "copy": "Copy an experiment into another storage.",
    },
    "Serve": {
        "serve": "Serve the experiments of a storage over HTTP.",
        "token": "Make, list and revoke tokens of the service.",
        "webhook": "Have decisions and warnings sent to an address.",
        "mcp": "Let agents look at experiments, and run them.",
    },
    "Research": {
        "simulate": "Simulate rules on an instance: one run, or many trials.",
        "plot": "Draw the results of a simulation.",
        "audit": "Try to break the guarantee, and see broken rules caught.",
        "reproduce": "Run the paper's tables and figures again, and write a report.",
        "warm": "Compile all kernels ahead of time, for images and CI.",
    },
}
_COMMANDS = {name: about for commands in _GROUPS.values() for name, about in commands.items()}
# Over before compiling would pay off: their kernels run as plain Python, and numba is not even imported.
_INTERPRETED = ("demo",)


class _LateCommands(click.Group):
    """Import a command's module only when it runs, so that ``mobai --help`` stays light."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names in the order of a first visit."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Load the command ``name`` from ``mobai.cli.name``."""
        if cmd_name not in _COMMANDS:
            return None
        if cmd_name in _INTERPRETED:
            interpret()
        module = importlib.import_module(f"mobai.cli.{cmd_name.replace('-', '_')}")
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or name the nearest one."""
        if args and not args[0].startswith("-") and args[0] not in _COMMANDS:
            raise InputError("command", f"there is no {args[0]!r}{did_you_mean(args[0], _COMMANDS)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands from the table, without importing them."""
        for title, commands in _GROUPS.items():
            with formatter.section(title):
                formatter.write_dl(list(commands.items()))


@click.command(
    cls=_LateCommands,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Find the best arm of every objective, with a stated error probability, in as few samples as possible.",
)
@click.version_option(__version__, prog_name="mobai")
@click.option("--debug", is_flag=True, help="Show a full traceback when something goes wrong.")
def group(debug: bool) -> None:
    pass


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; exit code 2 for bad input, 1 for a failure, 130 for Ctrl-C."""
    words = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    warnings.showwarning = _warn
    unshown = _Unshown()
    try:
        status = group.main(args=words, prog_name="mobai", standalone_mode=False)
        sys.stdout.flush()
        unshown.tell()
    except BrokenPipeError:
        # The reader (head, less) has seen enough.
        _forget_output()
        sys.exit(0)
    except Exception as error:
        if "--debug" in words:
            raise
        line, code = _explain(_in_options(error, words))
        if isinstance(error, OSError):
            _forget_output()
        click.echo(f"mobai: {visible(line)}", err=True)
        sys.exit(code)
    sys.exit(status if isinstance(status, int) else 0)


class _Unshown:
    """Writes characters that the terminal's encoding lacks as escapes, and says so once: nothing fails half-way."""

    def __init__(self) -> None:
        self._found = False
        codecs.register_error("mobai", self._escape)
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="mobai")

    def _escape(self, error: UnicodeError) -> tuple[str | bytes, int]:
        self._found = True
        return codecs.backslashreplace_errors(error)

    def tell(self) -> None:
        """Say what to set, if something could not be shown."""
        if self._found:
            encoding = sys.stdout.encoding
            click.echo(f"mobai: output: {encoding} cannot show every character; set PYTHONIOENCODING=utf-8", err=True)


def _forget_output() -> None:
    """Send what is still buffered nowhere: it must not raise again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _warn(message: Warning | str, *_: Any, **__: Any) -> None:
    """Show a warning as one line."""
    click.echo(f"mobai: {visible(str(message))}", err=True)


def _in_options(error: Exception, words: Sequence[str]) -> Exception:
    """Return an error that names an argument of Python by the option that it came from, if the command has one."""
    name = next((word for word in words if word in _COMMANDS), None)
    command = None if name is None else group.get_command(click.Context(group), name)
    if not isinstance(error, InputError) or error.argument is None or command is None:
        return error
    options = {
        one.name: next((opt for opt in one.opts if opt.startswith("--")), one.opts[0])
        for one in command.params
        if isinstance(one, click.Option)
    }
    return error.within(argument=options.get(error.argument, error.argument))


def _explain(error: Exception) -> tuple[str, int]:
    """Return the one line that a user should read, and the exit code."""
    if isinstance(error, click.exceptions.Abort):
        return "interrupted", 130
    if isinstance(error, click.ClickException):
        text = " ".join(error.format_message().split())
        return f"{text[:1].lower()}{text[1:].rstrip('.')}", 2
    if isinstance(error, InputError):
        return str(error), 2
    if isinstance(error, ConvergenceError | StorageError):
        return str(error), 1
    if isinstance(error, OSError):
        done = "" if error.filename else "; what was to be changed before that, was"
        return f"{error.filename or 'output'}: {error.strerror or error}{done}", 1
    return f"unexpected {type(error).__name__}: {error} (run again with --debug and report it)", 1
