"""``mobai report``: an experiment in one file, for mails and archives."""

from __future__ import annotations

from pathlib import Path

import click

from mobai import views
from mobai.cli import options, screen
from mobai.cli.loading import load_experiment
from mobai.errors import InputError


@click.command("report")
@options.name_argument()
@click.option("--out", required=True, metavar="FILE", help="The file to write: .html (with charts) or .md.")
@options.storage_option()
def command(name: str, out: str, storage: str) -> None:
    """Write where the experiment NAME stands into one file that opens from disk and prints well."""
    target = Path(out)
    if target.suffix.lower() not in (".html", ".md"):
        raise InputError("out", f"must end with .html or .md, not {out!r}")
    experiment = load_experiment(storage, name)
    status = experiment.status()
    page = target.suffix.lower() == ".html"
    text = views.report_html(status, experiment.series()) if page else views.report_markdown(status)
    screen.say(write_page(out, text))


def write_page(out: str, text: str) -> str:
    """Write a page to a file, and return its name."""
    try:
        Path(out).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError("out", f"{out}: {error.strerror or 'cannot be written'}") from None
    return out
