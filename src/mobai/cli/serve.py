"""``mobai serve``: experiments over HTTP."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Unpack

import click

from mobai.cli import options, screen
from mobai.errors import InputError
from mobai.extras import need

if TYPE_CHECKING:
    from mobai.service.server import ServeOptions
    from mobai.store.journal import Journal


@click.command("serve")
@options.storage_option()
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="Where to listen; others than loopback need a token."
)
@click.option("--port", type=click.IntRange(0, 65535), default=8321, show_default=True, help="0 for any that is free.")
@click.option("--allowed-host", "hosts", multiple=True, metavar="NAME", help="A name it answers to; needs a token.")
@click.option("--behind-proxy", is_flag=True, help="Requests come through a proxy with TLS; needs a token.")
@click.option("--read-only", is_flag=True, help="Answer questions, change nothing.")
@click.option("--private-webhooks", is_flag=True, help="Let webhooks go to private addresses, too.")
@click.option("--access-log", is_flag=True, help="Log every request to standard error.")
@click.option("--open", "browser", is_flag=True, help="Open it in a browser.")
def command(
    storage: str,
    host: str,
    port: int,
    hosts: tuple[str, ...],
    behind_proxy: bool,
    read_only: bool,
    private_webhooks: bool,
    access_log: bool,
    browser: bool,
) -> None:
    """Serve the experiments of a storage over HTTP: pages for people, an API for any language."""
    if storage.startswith(("http://", "https://")):
        raise InputError("storage", "a service serves a database, not another service")
    serve_storage(
        storage,
        host=host,
        port=port,
        allowed_hosts=hosts,
        behind_proxy=behind_proxy,
        read_only=read_only,
        private_webhooks=private_webhooks,
        access_log=access_log,
        browser=browser,
    )


def serve_storage(
    storage: str | Journal, *, access_log: bool = False, browser: bool = False, **options: Unpack[ServeOptions]
) -> None:
    """Serve a storage until the process is told to stop; ``browser`` opens it in one."""
    need("fastapi")
    need("uvicorn")
    from mobai.service.server import serve

    with _logging_to_stderr(access_log):
        serve(
            storage,
            say=lambda line: screen.err.print(f"mobai: {line}", soft_wrap=True),
            private=sys.stderr.isatty(),
            ready=_open_browser if browser else None,
            **options,
        )


@contextmanager
def _logging_to_stderr(access_log: bool) -> Iterator[None]:
    """Show warnings, with ``access_log`` every request; never a query, which may hold a secret."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    loggers = [logging.getLogger(name) for name in ("mobai", "uvicorn")]
    for logger in loggers:
        logger.addHandler(handler)
    access = logging.getLogger("mobai.service.access")
    access.setLevel(logging.INFO if access_log else logging.WARNING)
    try:
        yield
    finally:
        access.setLevel(logging.NOTSET)
        for logger in loggers:
            logger.removeHandler(handler)


def _open_browser(address: str) -> None:
    import threading
    import webbrowser

    threading.Timer(0.5, webbrowser.open, [address]).start()
