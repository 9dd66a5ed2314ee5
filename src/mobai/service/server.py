"""The process: where it listens, what it says when it starts, and how it ends."""

from __future__ import annotations

import gc
import ipaddress
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypedDict

import uvicorn
from starlette.types import ASGIApp

from mobai.engine.warm_up import kernels_are_cold, warm_up, warm_up_following
from mobai.errors import InputError, StorageError
from mobai.lab.plan import warm_up_planning
from mobai.live.storage import open_journal
from mobai.rules.sampling.top_two import TopTwo
from mobai.service.app import make_app
from mobai.service.connections import Connections, bounded_protocol, raise_descriptor_limit
from mobai.service.demo import NAME
from mobai.service.service import Service
from mobai.store.addresses import shown_storage
from mobai.store.journal import Journal
from mobai.store.sql_records import TOKEN

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
    behind_proxy: bool
    read_only: bool
    private_webhooks: bool
    demo: bool


def serve(
    storage: str | Journal,
    *,
    host: str = "127.0.0.1",
    port: int = 8321,
    allowed_hosts: Sequence[str] = (),
    behind_proxy: bool = False,
    read_only: bool = False,
    private_webhooks: bool = False,
    demo: bool = False,
    say: Callable[[str], None] = print,
    private: bool = False,
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serve a storage until the process is told to stop.

    ``behind_proxy`` says that requests come through a proxy, which names their scheme and their sender. With ``demo``,
    simulated visitors come to a demonstration. ``say`` is given what the operator should read, with a link to log in if
    it is ``private`` (a terminal, not a log), and ``ready`` the address for a browser once requests are taken.
    """
    exposed = _exposed(host, allowed_hosts, behind_proxy)
    service = Service(storage, read_only=read_only, open_without_token=not exposed, private_webhooks=private_webhooks)
    service.begin_demo = demo
    if exposed and not _has_tokens(storage):
        raise InputError(
            f"{exposed}, so there must be a token; `mobai token create NAME --scope admin` makes one, and keeps it in "
            "the storage"
        )
    service.tokens.refresh()
    listening = _bind(host, port)
    _get_ready(say)
    app = make_app(service, hosts=[host, *allowed_hosts], behind_proxy=behind_proxy)
    server = _Server(uvicorn_config(app, behind_proxy=behind_proxy))
    server.service = service
    named = host if ":" not in host else f"[{host}]"
    address = f"http://{named}:{listening.getsockname()[1]}"
    if behind_proxy and allowed_hosts:
        address = f"https://{allowed_hosts[0]}"
    link = _announce(service, storage, address, say, private)
    if ready is not None:
        ready(f"{link}/e/{NAME}" if demo else link)
    server.run(sockets=[listening])


def _get_ready(say: Callable[[str], None]) -> None:
    """Compile or load everything that requests need."""
    if kernels_are_cold():
        say("compiling kernels, once on this machine: that takes about 40 s (`mobai warm` does it ahead)")
    warm_up(TopTwo())
    warm_up_following()
    warm_up_planning()
    # What is loaded by now stays: looking through it for garbage again and again would stop everything for 0.1 s.
    gc.collect()
    gc.freeze()


def uvicorn_config(app: ASGIApp, *, behind_proxy: bool = False, **options: Any) -> uvicorn.Config:
    """Return how the application is served; ``options`` are uvicorn's."""
    connections = Connections(raise_descriptor_limit(), per_address=not behind_proxy)
    return uvicorn.Config(
        app,
        http=bounded_protocol(connections),
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        lifespan="on",
        proxy_headers=False,
        timeout_keep_alive=75,
        backlog=2048,
        **{"timeout_graceful_shutdown": _SECONDS_TO_END, **options},
    )


def _announce(service: Service, storage: str | Journal, address: str, say: Callable[[str], None], private: bool) -> str:
    """Say what is served, and to whom; return the address for a browser. What logs in is said in private only."""
    shown = shown_storage(storage) if isinstance(storage, str) else "a demonstration"
    say(f"serving {shown} at {address}{' (read-only)' if service.read_only else ''}; Ctrl-C ends it")
    if service.tokens.any:
        link = f"{address}/login?code={service.tokens.new_code()}"
        with_token = f"log in at {address}/login with a token; `mobai token create NAME --scope admin` makes one"
        say(f"log in once, within ten minutes: {link}" if private else with_token)
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


def _exposed(host: str, allowed_hosts: Sequence[str], behind_proxy: bool) -> str | None:
    """Return why others than this machine's users may reach the service, None if they may not."""
    if not _is_loopback(host):
        return f"host: {host} can be reached by others"
    for name in allowed_hosts:
        if not _is_loopback(name):
            return f"allowed-host: whoever reaches {name} reaches the service"
    return "behind-proxy: whoever reaches the proxy reaches the service" if behind_proxy else None


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
