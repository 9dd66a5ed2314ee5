"""Where messages may go, and how they are signed."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest
from tests.service.receiving import Receiver

from mobai import InputError
from mobai.service import delivery
from mobai.service.delivery import check_address, deliver, signature


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/",
        "http://[::1]/",
        "http://10.1.2.3/",
        "http://169.254.169.254/latest/meta-data",
        "http://192.168.0.1:80/",
        "http://[::ffff:127.0.0.1]/",
        "http://0.0.0.0/",
        "http://[fe80::1%25eth0]/",
        "http://[64:ff9b::7f00:1]/",
        "http://exam ple.org/",
        "http://[fec0::1]/",
        "http://[::ffff:8.8.8.8]/",
        "http://[fc00::1]/",
        "http://[2002:808:808::1]/",
        "http://[2001:db8::1]/",
        "http://[3fff::1]/",
        "http://[5f00::1]/",
        "http://[ff02::1]/",
        "http://[100::1]/",
        "http://192.0.0.9/",
        "http://192.88.99.1/",
        "http://198.18.0.1/",
        "http://224.0.0.1/",
        "http://255.255.255.255/",
    ],
)
def test_private_addresses(url: str) -> None:
    with pytest.raises(InputError, match=r"url: a private address|url must be"):
        check_address(url, allow_private=False)
    attempt = deliver(url, "whsec_AAAA", "msg_1", {}, allow_private=False)
    assert not attempt.taken


@pytest.mark.parametrize("url", ["https://8.8.8.8/", "http://[2606:4700::1111]/", "https://192.0.1.1/"])
def test_public_addresses(url: str) -> None:
    check_address(url, allow_private=False)


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_dripping_receiver(monkeypatch: pytest.MonkeyPatch, scheme: str) -> None:
    """It answers a byte at a time, each within any time-out."""
    monkeypatch.setattr(delivery, "SECONDS_FOR_A_MESSAGE", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as server:

        def drip() -> None:
            plain, _ = server.accept()
            with plain, suppress(OSError):
                while True:
                    plain.sendall(b"H" if scheme == "http" else bytes([22, 3, 3, 64, 0]))
                    time.sleep(0.05)

        thread = threading.Thread(target=drip)
        thread.start()
        start = time.monotonic()
        attempt = deliver(f"{scheme}://127.0.0.1:{server.getsockname()[1]}/", "whsec_AAAA", "msg_1", {}, True)
        assert time.monotonic() - start < 5
        assert not attempt.taken
        thread.join()


def test_the_signature_of_the_specification() -> None:
    """The example of the reference implementations of Standard Webhooks."""
    secret, number, at = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330
    assert signature(secret, number, at, b'{"test": 2432232314}') == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@pytest.mark.parametrize("host", ["localhost", "2130706433", "0x7f000001", "127.1", "0"])
def test_names_that_lead_to_private_addresses(host: str, receiver: Receiver) -> None:
    port = receiver.server.server_port
    attempt = deliver(f"http://{host}:{port}/", "whsec_AAAA", "msg_1", {}, allow_private=False)
    assert not attempt.taken
    assert "private address" in attempt.detail
    assert receiver.taken == []


def test_nobody_answers(tmp_path: Path) -> None:
    attempt = deliver("http://127.0.0.1:9/secret-path", "whsec_AAAA", "msg_1", {}, allow_private=True)
    assert not attempt.taken
    assert attempt.detail.startswith("127.0.0.1: ")
    assert "secret-path" not in attempt.detail
