"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def instance_argument() -> Decorator:
    """Take an instance: a file, or the name of a built-in one."""
    return click.argument("instance", metavar="INSTANCE")


def delta_option() -> Decorator:
    """Take the error probability."""
    return click.option("--delta", type=float, default=0.05, show_default=True, help="Error probability to stay below.")


def focus_option() -> Decorator:
    """Offer sampling for undecided objectives only."""
    return click.option("--focus", is_flag=True, help="Sample only for objectives that are not decided yet.")


def json_option() -> Decorator:
    """Offer machine-readable output."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
