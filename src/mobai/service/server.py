"""The process: where it listens, what it says when it starts, and how it ends."""

from __future__ import annotations

import gc
import ipaddress
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import TypedDict

import uvicorn
from starlette.types import ASGIApp

from mobai.engine.warm_up import kernels_are_cold, warm_up, warm_up_folding
from mobai.errors import InputError, StorageError
from mobai.lab.plan import warm_up_planning
from mobai.live.addresses import shown_storage
from mobai.live.journal import Journal
from mobai.live.storage import open_journal
from mobai.rules.sampling.top_two import TopTwo
from mobai.service.app import make_app
from mobai.service.demo import NAME
from mobai.service.service import Service
from mobai.service.tokens import TOKEN

_SECONDS_TO_END = 20


class _Server(uvicorn.Server):
    """Ends streams as soon as it is told to stop: they would never end by themselves."""

    service: Service

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop taking requests, finish those that are there, and tell watchers."""
        self.service.end_streams()
        super().handle_exit(sig, frame)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take signals, and do not raise them again at the end: being told to stop is no failure."""
        with super().capture_signals():
            yield
            self._captured_signals.clear()


class ServeOptions(TypedDict, total=False):
    """Keyword arguments of :func:`serve`."""

    host: str
    port: int
    allowed_hosts: Sequence[str]
    read_only: bool
    private_webhooks: bool
    demo: bool


def serve(
    storage: str | Journal,
    *,
    host: str = "127.0.0.1",
    port: int = 8321,
    allowed_hosts: Sequence[str] = (),
    read_only: bool = False,
    private_webhooks: bool = False,
    demo: bool = False,
    say: Callable[[str], None] = print,
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serve a storage until the process is told to stop.

    With ``demo``, simulated visitors come to a demonstration. ``say`` is given what the operator should read, and
    ``ready`` the address for a browser once requests are taken.
    """
    local = _is_loopback(host)
    service = Service(storage, read_only=read_only, open_without_token=local, private_webhooks=private_webhooks)
    service.begin_demo = demo
    if not local and not _has_tokens(storage):
        raise InputError(
            f"host: {host} can be reached by others, so there must be a token; `mobai token create NAME --scope admin` "
            "makes one"
        )
    service.tokens.refresh()
    listening = _bind(host, port)
    _get_ready(say)
    server = _Server(_config(make_app(service, hosts=[host, *allowed_hosts])))
    server.service = service
    named = host if ":" not in host else f"[{host}]"
    link = _announce(service, storage, f"http://{named}:{listening.getsockname()[1]}", say)
    if ready is not None:
        ready(f"{link}/e/{NAME}" if demo else link)
    server.run(sockets=[listening])


def _get_ready(say: Callable[[str], None]) -> None:
    """Compile or load everything that requests need."""
    if kernels_are_cold():
        say("compiling kernels, once on this machine: that takes about 40 s (`mobai warm` does it ahead)")
    warm_up(TopTwo())
    warm_up_folding()
    warm_up_planning()
    # What is loaded by now stays: looking through it for garbage again and again would stop everything for 0.1 s.
    gc.collect()
    gc.freeze()


def _config(app: ASGIApp) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        lifespan="on",
        proxy_headers=False,
        timeout_graceful_shutdown=_SECONDS_TO_END,
        timeout_keep_alive=75,
        backlog=2048,
    )


def _announce(service: Service, storage: str | Journal, address: str, say: Callable[[str], None]) -> str:
    """Say what is served, and to whom; return the address for a browser."""
    shown = shown_storage(storage) if isinstance(storage, str) else "a demonstration"
    say(f"serving {shown} at {address}{' (read-only)' if service.read_only else ''}; Ctrl-C ends it")
    if service.tokens.any:
        link = f"{address}/login?code={service.tokens.new_code()}"
        say(f"log in once, within ten minutes: {link}")
        return link
    if service.begin_demo:
        say(f"simulated visitors are arriving; open {address}/e/{NAME}")
    does = "read" if service.read_only else "do"
    say(f"there is no token: whoever can run programs on this machine can {does} everything (`mobai token create`)")
    return address


def _has_tokens(storage: str | Journal) -> bool:
    """Whether a storage has, or had, a token; one that is not there is not made."""
    try:
        return bool(open_journal(storage).records(TOKEN))
    except InputError:
        return False


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _bind(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listening = socket.socket(family, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
    except OSError as error:
        raise StorageError(f"host, port: {host}:{port} cannot be listened on: {error.strerror or error}") from None
    listening.set_inheritable(True)
    return listening
