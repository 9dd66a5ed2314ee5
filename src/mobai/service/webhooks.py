"""Webhooks: what happens to experiments is sent to an address, signed, at least once.

What has happened is read off the experiments (a decision, an arm that is barred, a warning), so nothing is forgotten
while the service is away. Each happening has an id that is always the same; an id that an address has taken is kept,
and the others are sent again, at growing intervals. Where several services share a storage, one of them sends.
Messages are signed as Standard Webhooks has it (https://www.standardwebhooks.com).
"""

from __future__ import annotations

import base64
import hashlib
import json
import logging
import secrets
import threading
import time
from collections.abc import Collection, Iterable, Mapping, MutableSequence
from contextlib import suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import urlsplit

from mobai import views
from mobai.errors import ConflictError, HistoryChangedError, InputError, NotFoundError
from mobai.live.experiment import Experiment
from mobai.problem.objective import is_name
from mobai.service.delivery import Attempt, check_address, deliver
from mobai.service.experiments import OpenExperiments
from mobai.service.tokens import WEBHOOK
from mobai.store.journal import RecordStore

_log = logging.getLogger(__name__)

DELIVERED, LEASE = "delivered", "lease"
FORMATS = ("standard", "slack")
_PAUSES = (5.0, 30.0, 120.0, 600.0, 3600.0, 6 * 3600.0)
_SECONDS_BETWEEN_LOOKS = 5.0
_SECONDS_OF_A_LEASE = 10.0


@dataclass
class _Progress:
    """What this process knows of a webhook: how attempts went, and when to try what has failed again."""

    last: str = "nothing was sent yet"
    failures: dict[str, int] = field(default_factory=dict)
    next_try: dict[str, float] = field(default_factory=dict)
    seen: dict[str, str] = field(default_factory=dict)  # by experiment, the stamp at which nothing was left to send
    under_way: bool = False


class Webhooks:
    """The webhooks of a storage, and a thread that delivers."""

    def __init__(self, experiments: OpenExperiments, *, allow_private: bool = False) -> None:
        self._experiments, self.allow_private = experiments, allow_private
        self._progress: dict[str, _Progress] = {}
        self._me = secrets.token_hex(8)
        self._changed, self._stops = threading.Condition(), False
        self._poked = False
        self._thread = threading.Thread(target=self._run, name="mobai-webhooks", daemon=True)

    def start(self) -> None:
        """Begin to deliver."""
        self._thread.start()

    def stop(self) -> None:
        """Finish what is being sent, and end."""
        with self._changed:
            self._stops = True
            self._changed.notify()
        if self._thread.is_alive():
            self._thread.join()
            self._release()

    def poke(self, names: Collection[str]) -> None:  # noqa: ARG002
        """Say that something may have happened; from any thread."""
        with self._changed:
            self._poked = True
            self._changed.notify()

    @property
    def _journal(self) -> RecordStore:
        return self._experiments.journal

    def add(
        self,
        name: str,
        url: str,
        only: str = "*",
        events: Iterable[str] = (),
        format: str = "standard",
        private: bool = False,
    ) -> str:
        """Add a webhook for what happens from now on; return the secret that signs its messages."""
        wanted = list(events)
        if not is_name(name) or len(name) > 200:
            raise InputError("name", "must be a text of at most 200 printable characters")
        if format not in FORMATS:
            raise InputError("format", f"must be one of {', '.join(FORMATS)}, not {format!r}")
        for kind in wanted:
            if kind not in views.NOTIFICATIONS:
                raise InputError("events", f"must be among {', '.join(views.NOTIFICATIONS)}, not {kind!r}")
        check_address(url, private)
        if name in self._journal.records(WEBHOOK):
            raise ConflictError("name", f"there is a webhook {name!r} already")
        secret = "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()
        body = {"url": url, "only": only, "events": wanted, "format": format, "secret": secret, "private": private}
        for experiment in self._matching(body):
            ids = [one["id"] for one in _notifications(experiment)]
            self._journal.put_record(DELIVERED, _key(name, _origin(experiment)), {"ids": ids})
        if not self._journal.put_record(WEBHOOK, name, body, was=None):
            raise ConflictError("name", f"there is a webhook {name!r} already")
        return secret

    def remove(self, name: str) -> None:
        """Remove a webhook."""
        self._get(name)
        self._journal.put_record(WEBHOOK, name, None)
        for key in self._journal.records(DELIVERED):
            if json.loads(key)[0] == name:
                self._journal.put_record(DELIVERED, key, None)
        self._progress.pop(name, None)

    def list(self) -> list[dict[str, Any]]:
        """Return the webhooks; of their addresses, which may be secrets, the host alone."""
        return [
            {
                "name": name,
                "host": urlsplit(body["url"]).hostname,
                **{key: body[key] for key in ("only", "events", "format")},
                "last": self._progress.get(name, _Progress()).last,
            }
            for name, body in self._journal.records(WEBHOOK).items()
        ]

    def try_out(self, name: str) -> dict[str, Any]:
        """Send a message of the kind ``test`` now, and return how that went."""
        now = time.time()
        about = {"kind": "test", "at": now, "experiment": None, "text": "a test message of mobai"}
        attempt = self._send(self._get(name), {"id": f"msg_{secrets.token_hex(16)}", **about})
        return {"delivered": attempt.taken, "detail": attempt.detail}

    def _get(self, name: str) -> dict[str, Any]:
        found = self._journal.records(WEBHOOK).get(name)
        if found is None:
            raise NotFoundError("webhook", f"there is no {name!r}")
        return found

    def _matching(self, hook: Mapping[str, Any]) -> Iterable[Experiment]:
        for name in self._experiments.names():
            if fnmatchcase(name, hook["only"]):
                yield self._experiments.get(name)

    def _run(self) -> None:
        while True:
            with self._changed:
                if not self._poked and not self._stops:
                    self._changed.wait(_SECONDS_BETWEEN_LOOKS)
                self._poked = False
                if self._stops:
                    return
            try:
                self._deliver_all()
            except Exception as error:
                _log.warning("webhooks: %s: %s", type(error).__name__, error)
            with self._changed:
                if not self._stops:
                    self._changed.wait_for(lambda: self._stops, timeout=1.0)

    def _deliver_all(self) -> None:
        hooks = self._journal.records(WEBHOOK)
        if not hooks or not self._has_lease():
            return
        for name, hook in hooks.items():
            progress = self._progress.setdefault(name, _Progress())
            if not progress.under_way:  # one that is slow keeps nobody else waiting
                progress.under_way = True
                threading.Thread(target=self._deliver, args=(name, hook, progress), daemon=True).start()

    def _has_lease(self) -> bool:
        """Whether this process is the one that sends; another one takes over some time after it has ended."""
        now, was = time.time(), self._journal.records(LEASE).get("webhooks")
        if was is not None and was["by"] != self._me and now < was["until"]:
            return False
        if was is not None and was["by"] == self._me and now < was["until"] - _SECONDS_OF_A_LEASE / 2:
            return True
        mine = {"by": self._me, "until": now + _SECONDS_OF_A_LEASE}
        return self._journal.put_record(LEASE, "webhooks", mine, was=was)

    def _release(self) -> None:
        """Let another process send at once."""
        with suppress(Exception):  # it ends by itself
            was = self._journal.records(LEASE).get("webhooks")
            if was is not None and was["by"] == self._me:
                self._journal.put_record(LEASE, "webhooks", None, was=was)

    def _deliver(self, name: str, hook: Mapping[str, Any], progress: _Progress) -> None:
        try:
            there = set()
            for experiment in self._matching(hook):
                try:
                    there |= {_key(name, _origin(experiment)), _former_key(name, experiment)}
                    stamp = experiment.stamp()[1]
                    done = progress.seen.get(experiment.name) == stamp
                    if not done and self._deliver_of(name, hook, experiment, progress):
                        progress.seen[experiment.name] = stamp
                except HistoryChangedError as error:
                    self._experiments.note(experiment.name, error)
                    return  # with what is there now, in a moment
                except Exception as error:
                    self._experiments.note(experiment.name, error)
                    _log.warning("webhook %s: %s: %s", name, experiment.name, error)
            self._deliver_rest(name, hook, progress, there)
        except Exception as error:
            _log.warning("webhook %s: %s", name, error)
        finally:
            progress.under_way = False

    def _deliver_rest(self, name: str, hook: Mapping[str, Any], progress: _Progress, seen: Collection[str]) -> None:
        """Send what was noted of experiments that are no longer there."""
        for key, kept in self._journal.records(DELIVERED).items():
            if json.loads(key)[0] == name and key not in seen and kept.get("waiting"):
                self._send_waiting(name, hook, key, kept["ids"], list(kept["waiting"]), progress)

    def _deliver_of(self, name: str, hook: Mapping[str, Any], experiment: Experiment, progress: _Progress) -> bool:
        """Note what is new, and send what waits; whether nothing is left.

        What was noted once is sent, also if it is no longer so: a pause that was short, a decision that was undone.
        """
        key, records = _key(name, _origin(experiment)), self._journal.records(DELIVERED)
        kept = records.get(key) or _as_now(records.get(_former_key(name, experiment)), experiment)
        taken, waiting = list(kept.get("ids", [])), list(kept.get("waiting", []))
        known = {*taken, *(one["id"] for one in waiting)}
        new = [one for one in _notifications(experiment) if one["id"] not in known]
        waiting += [one for one in new if not hook["events"] or one["kind"] in hook["events"]]
        if waiting and new:
            self._journal.put_record(DELIVERED, key, {"ids": taken, "waiting": waiting})
        return self._send_waiting(name, hook, key, taken, waiting, progress)

    def _send_waiting(
        self,
        name: str,
        hook: Mapping[str, Any],
        key: str,
        taken: MutableSequence[str],
        waiting: MutableSequence[dict[str, Any]],
        progress: _Progress,
    ) -> bool:
        """Send what waits and is due; whether nothing is left."""
        for one in tuple(waiting):
            if self._stops or time.monotonic() < progress.next_try.get(one["id"], 0.0):
                continue
            attempt = self._send(hook, one)
            progress.last = attempt.detail
            if attempt.taken:
                taken.append(one["id"])
                waiting.remove(one)
                self._journal.put_record(DELIVERED, key, {"ids": taken, "waiting": waiting})
                continue
            count = progress.failures[one["id"]] = progress.failures.get(one["id"], 0) + 1
            progress.next_try[one["id"]] = time.monotonic() + _PAUSES[min(count, len(_PAUSES)) - 1]
            _log.warning("webhook %s: %s", name, attempt.detail)
        return not waiting

    def _send(self, hook: Mapping[str, Any], one: Mapping[str, Any]) -> Attempt:
        if hook["format"] == "slack":
            text = one["text"].replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
            body: dict[str, Any] = {"text": text}
        else:
            about = {key: value for key, value in one.items() if key not in ("id", "kind", "at")}
            body = {
                "type": f"experiment.{one['kind']}",
                "timestamp": views.time_text(one["at"] or time.time()),
                "data": about,
            }
        private = self.allow_private and bool(hook.get("private", False))
        return deliver(hook["url"], hook["secret"], one["id"], body, private)


def _notifications(experiment: Experiment) -> list[dict[str, Any]]:
    """Return what has happened to an experiment, each with an id that is always the same, also after a restore."""
    origin = _origin(experiment)
    found = views.notifications_json(experiment.status())
    for one in found:
        one.pop("former_mark", None)
        one["id"] = _id(f"{origin}\n{one.pop('mark')}")
    return found


def _origin(experiment: Experiment) -> str:
    """Return the hash of the first event: it stays what it is wherever the experiment is copied or restored to."""
    return experiment.events(0, 1)[0].hash


def _id(text: str) -> str:
    return "msg_" + hashlib.sha256(text.encode()).hexdigest()[:32]


def _key(name: str, origin: str) -> str:
    return json.dumps([name, origin])


def _former_key(name: str, experiment: Experiment) -> str:
    return json.dumps([name, experiment.name, experiment.number])


def _as_now(kept: Mapping[str, Any] | None, experiment: Experiment) -> dict[str, Any]:
    """Return what version 0.2 has noted as delivered, by the ids of now: nothing is sent twice under another one.

    What was still waiting then keeps the id that it may have been sent with.
    """
    if kept is None:
        return {}
    status = experiment.status()
    about, origin = f"{experiment.name}\n{experiment.number}\n{status.created_at!r}", _origin(experiment)
    noted = {*kept.get("ids", []), *(one["id"] for one in kept.get("waiting", []))}
    ids = [
        _id(f"{origin}\n{one['mark']}")
        for one in views.notifications_json(status)
        if _id(f"{about}\n{one.get('former_mark', one['mark'])}") in noted
    ]
    return {"ids": ids, "waiting": kept.get("waiting", [])}
