"""Who may do what: tokens with a scope, kept in the storage as hashes, and the sessions of browsers."""

from __future__ import annotations

import hashlib
import hmac
import math
import re
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from mobai.errors import ConflictError, InputError, NotFoundError
from mobai.problem.objective import is_name
from mobai.store.journal import RecordStore
from mobai.store.sql_records import TOKEN

SCOPES = ("read", "tell", "admin")
PREFIX = "mobai_"
SESSION, WEBHOOK = "session", "webhook"
SECONDS_OF_A_SESSION = 12 * 3600
_SECONDS_KNOWN, _SECONDS_KNOWN_AT_MOST = 1.0, 5.0  # so long a token that is revoked still works
_UNITS = {"m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_LONGEST_NAME = 100


@dataclass(frozen=True)
class Caller:
    """Who makes a request: a name for the journal, what it may do, and with which experiments."""

    name: str | None
    scope: str
    only: str = "*"
    key: str | None = None  # of the record of its token

    def may(self, scope: str, name: str | None = None) -> bool:
        """Whether it may do what needs a scope, with an experiment of this name."""
        enough = SCOPES.index(self.scope) >= SCOPES.index(scope)
        return enough and (name is None or fnmatchcase(name, self.only))

    def signed(self, by: str | None) -> str | None:
        """Return who did it, for the journal: the name of the token comes first, whatever is claimed."""
        return by if self.name is None else self.name if by is None else f"{self.name}: {by}"


# On loopback, as long as there is no token.
ANYBODY = Caller(None, "admin")


def create_token(
    journal: RecordStore, name: str, scope: str, *, only: str = "*", expires: str | None = None, kind: str = TOKEN
) -> str:
    """Make a token, keep its hash, and return it: it is shown once."""
    if not is_name(name) or len(name) > _LONGEST_NAME:
        raise InputError("name", f"must be a text of at most {_LONGEST_NAME} printable characters, not {name[:100]!r}")
    if scope not in SCOPES:
        raise InputError("scope", f"must be one of {', '.join(SCOPES)}, not {scope!r}")
    if not only:
        raise InputError("only", "must be a pattern of names, such as spring*")
    secret, now = PREFIX + secrets.token_urlsafe(32), time.time()
    until = None if expires is None else now + seconds_in(expires)
    body = {"hash": _hash(secret), "scope": scope, "only": only, "created_at": now, "expires_at": until}
    was = journal.records(kind).get(name)
    if (was is not None and "hash" in was) or not journal.put_record(kind, name, body, was=was):
        raise ConflictError("name", f"there is a token {name!r} already")
    return secret


def revoke_token(journal: RecordStore, name: str) -> None:
    """Make a token invalid; whoever shows it is refused, within seconds.

    That there was one is kept: a service whose last token was revoked is closed, not open.
    """
    found = journal.records(TOKEN).get(name)
    if found is not None and "hash" in found:
        journal.put_record(TOKEN, name, {"revoked_at": time.time(), "created_at": found["created_at"]})
    elif name in journal.records(SESSION):
        journal.put_record(SESSION, name, None)
    else:
        raise NotFoundError("name", f"there is no token {name!r}")


def list_tokens(journal: RecordStore) -> list[dict[str, Any]]:
    """Return what is known of every token; not the token, which nobody has kept."""
    rows = [(kind, name, body) for kind in (TOKEN, SESSION) for name, body in journal.records(kind).items()]
    return [
        {
            "name": name,
            "kind": kind if "hash" in body else "revoked",
            **{key: body.get(key) for key in ("scope", "only", "created_at", "expires_at", "token")},
        }
        for kind, name, body in rows
    ]


def seconds_in(text: str) -> float:
    """Return a time such as ``90d``, ``12h`` or ``30m`` in seconds."""
    found = re.fullmatch(r"(\d{1,6})([mhdw])", text.strip())
    if not found or int(found.group(1)) == 0:
        raise InputError("expires", f"must be a time such as 90d, 12h or 30m, not {text!r}")
    return float(int(found.group(1)) * _UNITS[found.group(2)])


class Tokens:
    """The tokens of a storage, read again every second; and one-time codes for browsers."""

    def __init__(self, journal: Callable[[], RecordStore]) -> None:
        self._journal = journal
        self._known: dict[str, Mapping[str, Mapping[str, Any]]] = {}
        self._read_at, self._reading = -math.inf, False
        self._codes: dict[str, float] = {}
        self._had_any = False
        self._lock = threading.Lock()

    def is_stale(self) -> bool:
        """Whether :meth:`refresh` must be called before anything is checked; while one caller does, others need not."""
        age = time.monotonic() - self._read_at
        return age >= _SECONDS_KNOWN and (not self._reading or age >= _SECONDS_KNOWN_AT_MOST)

    def refresh(self) -> None:
        """Read the tokens again; blocks. Where they, or webhooks, are not what was written, nobody is let in."""
        self._reading = True
        try:
            journal = self._journal()
            journal.records(WEBHOOK)
            self._known = {kind: journal.records(kind) for kind in (TOKEN, SESSION)}
            self._had_any = self._had_any or bool(self._known[TOKEN])
            self._read_at = time.monotonic()
        finally:
            self._reading = False

    @property
    def any(self) -> bool:
        """Whether there is or was any token, as far as this process knows; browsers' sessions aside."""
        return self._had_any

    def check(self, secret: str, kind: str = TOKEN) -> Caller | None:
        """Return whose secret it is, None if nobody's or expired. Takes the same time for every wrong one."""
        given, found = _hash(secret), None
        for name, body in self._known.get(kind, {}).items():
            if hmac.compare_digest(str(body.get("hash")), given):
                found = name, body
        if found is None:
            return None
        name, body = found
        who = name if body.get("token") is None else f"{body['token']} ({name})"
        return Caller(who, body["scope"], body["only"], name) if self._is_valid(body) else None

    def _is_valid(self, body: Mapping[str, Any]) -> bool:
        """Whether a token has not expired; of a session, neither the token it was begun with."""
        if "hash" not in body or (body.get("expires_at") is not None and time.time() >= body["expires_at"]):
            return False
        if body.get("token") is None:
            return True
        # The token itself, not another one that has its name by now.
        token = self._known.get(TOKEN, {}).get(body["token"], {})
        return token.get("hash") == body.get("token_hash") and self._is_valid(token)

    def new_code(self) -> str:
        """Return a code that logs a browser in once, within ten minutes."""
        code = secrets.token_urlsafe(24)
        with self._lock:
            self._codes[_hash(code)] = time.monotonic() + 600
        return code

    def use_code(self, code: str) -> bool:
        """Whether the code is one that was not used yet; it is used then."""
        with self._lock:
            until = self._codes.pop(_hash(code), None)
        return until is not None and time.monotonic() < until

    def new_session(self, caller: Caller) -> str:
        """Return the secret of a new session, which ends with the token it is begun with; blocks."""
        name = f"browser {time.strftime('%Y-%m-%d %H:%M:%S', time.gmtime())} {secrets.token_hex(3)}"
        journal = self._journal()
        for old, body in journal.records(SESSION).items():
            if body.get("expires_at") is not None and body["expires_at"] < time.time():
                journal.put_record(SESSION, old, None)
        hours = f"{SECONDS_OF_A_SESSION // 3600}h"
        secret = create_token(journal, name, caller.scope, only=caller.only, expires=hours, kind=SESSION)
        if caller.key is not None:
            about = {"token": caller.key, "token_hash": journal.records(TOKEN).get(caller.key, {}).get("hash")}
            journal.put_record(SESSION, name, {**journal.records(SESSION)[name], **about})
        self.refresh()
        return secret

    def end_session(self, secret: str) -> None:
        """Forget a session; blocks."""
        caller = self.check(secret, SESSION)
        if caller is not None and caller.key is not None:
            self._journal().put_record(SESSION, caller.key, None)
            self.refresh()


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
