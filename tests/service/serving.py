"""Services for the tests: one in this process, or one in a process of its own."""

from __future__ import annotations

import http.client
import json
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import uvicorn
from tests.databases import free_port

from mobai.service.app import make_app
from mobai.service.server import uvicorn_config
from mobai.service.service import Service
from mobai.store.journal import Journal

API = "/api/v1/experiments"
NEW = {"name": "spring", "arms": ["A", "B"], "objectives": ["click:bernoulli", "seconds:min:unknown-variance"]}


@dataclass
class Reply:
    """What a service answered."""

    code: int
    headers: Mapping[str, str]
    data: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.data)


@dataclass
class Client:
    """Makes one request per connection, as it is told to."""

    port: int
    token: str | None = None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __call__(self, method: str, path: str, body: Any = None, **headers: str) -> Reply:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.token is not None:
            sent.setdefault("Authorization", f"Bearer {self.token}")
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        if data is not None:
            sent.setdefault("Content-Type", "application/json")
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, data, sent)
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.headers.items()}
            return Reply(answer.status, found, answer.read())
        finally:
            connection.close()

    def create(self, **changes: Any) -> None:
        made = self("POST", API, {**NEW, **changes})
        assert made.code == 201, made.data


@contextmanager
def running(storage: str | Journal, **options: Any) -> Iterator[tuple[Client, Service]]:
    """Serve a storage from a thread of this process."""
    hosts, behind_proxy = options.pop("hosts", ()), options.pop("behind_proxy", False)
    service = Service(storage, **options)
    port = free_port()
    app = make_app(service, hosts=hosts, behind_proxy=behind_proxy)
    config = uvicorn_config(app, behind_proxy=behind_proxy, port=port, timeout_graceful_shutdown=5)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield Client(port), service
    finally:
        service.end_streams()
        server.should_exit = True
        thread.join()


class Process:
    """``mobai serve`` in a process of its own."""

    def __init__(self, storage: str, *words: str) -> None:
        self.port = free_port()
        self._words = ["serve", "--storage", storage, "--port", str(self.port), *words]
        self.start()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed when it ends
        # A file that is too large is an error like a full disk, not the end of the process.
        script = "import signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); from mobai.cli import main; main()"
        self.child = subprocess.Popen([sys.executable, "-c", script, *self._words], stderr=self._said)
        client = Client(self.port)
        for _ in range(1200):
            assert self.child.poll() is None, self._ended()
            try:
                if client("GET", "/healthz").code == 200:
                    return
            except OSError:
                time.sleep(0.05)
        raise AssertionError("the service did not start")

    def end(self, how: signal.Signals = signal.SIGTERM) -> str:
        """End it; return what it said."""
        self.child.send_signal(how)
        self.child.wait(60)
        return self._ended()

    def _ended(self) -> str:
        with self._said:
            self._said.seek(0)
            return self._said.read().decode()
