"""An address that takes the messages of webhooks."""

from __future__ import annotations

import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any


class Receiver:
    """Takes messages, and answers as it is told."""

    def __init__(self) -> None:
        self.codes: list[int] = []
        self.taken: list[tuple[dict[str, str], bytes]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                outer.taken.append(({name.lower(): value for name, value in self.headers.items()}, body))
                code = outer.codes.pop(0) if outer.codes else 204
                self.send_response(code)
                self.send_header("Location", "/elsewhere")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook?a=b"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def wait_for(self, count: int) -> None:
        for _ in range(300):
            if len(self.taken) >= count:
                return
            time.sleep(0.05)
        raise AssertionError(f"{len(self.taken)} messages instead of {count}")
