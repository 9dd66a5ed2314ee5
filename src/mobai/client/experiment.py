"""An experiment of a service, with the methods of a local one."""

from __future__ import annotations

import json
import math
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from mobai.client.http import Answer, HttpClient
from mobai.client.journal import HttpJournal
from mobai.client.reading import reading
from mobai.engine import Verdict
from mobai.engine.concerns import Concern
from mobai.engine.explain import Explanation
from mobai.errors import ConflictError, InputError, NotFoundError
from mobai.live import operations
from mobai.live.assigning import unit_name
from mobai.live.assignments import Assignment, assignment_of, id_of
from mobai.live.codec import explanation_of, series_of, status_of, verdict_of
from mobai.live.experiment import Experiment
from mobai.live.ledger import Ledger
from mobai.live.reports import Metrics, measured, observations_of, pair_of, reports_of
from mobai.live.settings import Settings, from_body
from mobai.live.status import Status
from mobai.live.trace import Series
from mobai.live.units import Unit
from mobai.live.verify import Verification, verify_experiment
from mobai.problem import Problem
from mobai.rows import Frame
from mobai.store.journal import Event, Handle

_MOST_ASKED = 1_000
_PAIRS_AT_A_TIME = 5_000


class RemoteExperiment(Experiment):
    """An experiment of a service. :meth:`mobai.Experiment.load` and ``create`` return it for http addresses.

    A call is made again while the service is away or busy, for some seconds, and doubles nothing: asks and records have
    keys, and reports that were told before change nothing.
    """

    def __init__(self, client: HttpClient, name: str) -> None:
        if not isinstance(name, str) or not name:
            raise NotFoundError("name", f"there is no experiment {name!r}")
        self._client, self._name = client, name
        self._about: dict[str, Any] | None = None
        self._settings: Settings | None = None

    @classmethod
    def create_at(cls, client: HttpClient, facts: Mapping[str, Any]) -> RemoteExperiment:
        """Begin an experiment, given as the API takes it."""
        answer = client.call("POST", "experiments", body=dict(facts))
        if answer.code == 200 and not answer.again:
            raise ConflictError("name", f"there is an experiment {facts['name']!r} already")
        return cls(client, facts["name"])

    @classmethod
    def load_at(cls, client: HttpClient, name: str) -> RemoteExperiment:
        """Take up an experiment that is there."""
        found = cls(client, name)
        found.settings  # noqa: B018 - it must be there
        return found

    @property
    def name(self) -> str:
        """What it is called in its storage."""
        return self._name

    @property
    def settings(self) -> Settings:
        """What it was set up with: delta, rule, seed and the rest."""
        if self._settings is None:
            with reading():
                self._settings = from_body(self._known["settings"])
        return self._settings

    @property
    def number(self) -> int:
        """A number that no other experiment in its storage has or had."""
        with reading():
            return int(self._known["number"])

    @property
    def history_id(self) -> str:
        """What tells this history from others; a service that has another one by now refuses every call."""
        with reading():
            return str(self._known["history"])

    @property
    def has_units(self) -> bool:
        """Whether some assignments were handed out for units."""
        return any("unit" in row for row in self.iterate_records())

    @property
    def _known(self) -> dict[str, Any]:
        """What never changes: the settings, and which history it is."""
        if self._about is None:
            self._about = self._client.get("experiments", self._name, "settings")
        return self._about

    @property
    def problem(self) -> Problem:
        """The arms (with retired ones), objectives and known noise."""
        return self.status().verdict.problem

    def ask(
        self,
        n: int = 1,
        *,
        if_decided: str = "go-on",
        unit: str | None = None,
        key: str | None = None,
        by: str | None = None,
    ) -> list[Assignment]:
        """Return the next assignments, as :meth:`mobai.Experiment.ask` does; a thousand per call to the service."""
        operations.ask(n, if_decided=if_decided, unit=unit, key=key, by=by)  # refuses what it cannot be
        body, unit = {"if_decided": if_decided, "by": by}, unit_name(unit)
        if unit is not None:
            return _assignments(self._call("PUT", "units", unit, body=body))
        name, found = key or _new_key(), list[Assignment]()
        while len(found) < n:
            wanted = min(int(n) - len(found), _MOST_ASKED)
            part = f"{name}+{len(found)}" if found else name
            made = _assignments(self._call("POST", "assignments", body={"n": wanted, **body}, key=part))
            found += made
            if len(made) < wanted:
                break
        return found

    def tell_all(
        self,
        reports: Iterable[tuple[Assignment | Unit | int | None, Metrics]] | Mapping[Any, Metrics] | Frame,
        *,
        ask: int = 0,
        if_decided: str = "go-on",
        key: str | None = None,
        by: str | None = None,
    ) -> list[Assignment]:
        """Report on many assignments in one transaction, as :meth:`mobai.Experiment.tell_all` does; at most 5,000."""
        reports = reports_of(reports)
        if not isinstance(reports, Iterable):
            raise InputError("reports", f"must be pairs of an assignment (or arm) and metrics, not {reports!r}")
        given = reports.items() if isinstance(reports, Mapping) else reports
        rows = [self._report(one, metrics) for one, metrics in map(pair_of, given)]
        _check_count(rows, "reports")
        operations.tell_all([], ask=ask, key=key, by=by)  # refuses what it cannot be
        body = {"reports": rows, "ask": int(ask), "if_decided": if_decided, "by": by}
        return _assignments(self._call("POST", "reports", body=body, key=(key or _new_key()) if ask else None))

    def record_all(
        self, rows: Iterable[tuple[str, Metrics]] | Frame, *, key: str | None = None, by: str | None = None
    ) -> list[Assignment]:
        """Report observations that nobody asked for, as :meth:`mobai.Experiment.record_all` does; at most 5,000."""
        rows = observations_of(rows)
        if not isinstance(rows, Iterable):
            raise InputError("rows", f"must be pairs of an arm and its metrics, not {rows!r}")
        given = [
            {"arm": _arm(arm, n), "metrics": self._plain(metrics, {"row": n})}
            for n, (arm, metrics) in enumerate(map(pair_of, rows), start=1)
        ]
        _check_count(given, "rows")
        operations.record_all([], key=key, by=by)  # refuses what it cannot be
        if not given:
            return []
        body = {"observations": given, "by": by}
        return _assignments(self._call("POST", "observations", body=body, key=key or _new_key()))

    def drop(
        self,
        assignment: Assignment | Unit | int,
        *,
        reason: str | None = None,
        refused: bool = False,
        by: str | None = None,
    ) -> None:
        """Drop an assignment that will not be told."""
        query = {"reason": reason, "refused": "true" if refused else None, "by": by}
        named = _named(assignment)
        if "unit" in named:
            self._delete("units", named["unit"], query=query)
        else:
            self._delete("assignments", str(named["assignment"]), query={"arm": named.get("arm"), **query})

    def drop_older(self, seconds: float, *, reason: str | None = None, by: str | None = None) -> int:
        """Drop every assignment that has waited for so long, or what is missing of it; return how many there were."""
        operations.drop_older(seconds, reason=reason, by=by)  # refuses what it cannot be
        answer = self._call("POST", "assignments", "drop", body={"older_than": seconds, "reason": reason, "by": by})
        return int(answer.json()["dropped"])

    def add_arm(self, arm: str, sd: npt.ArrayLike | None = None, *, by: str | None = None) -> None:
        """Add an arm."""
        given = None if sd is None else np.asarray(sd, np.float64).tolist()
        self._call("POST", "arms", body={"arm": arm, "sd": given, "by": by}, only_once=True)

    def retire_arm(self, arm: str, *, by: str | None = None) -> None:
        """Stop asking for an arm."""
        if not isinstance(arm, str) or not arm:
            raise InputError("arm", f"must be the name of an arm, not {arm!r}")
        self._delete("arms", arm, query={"by": by}, only_once=True)

    def pause(self, *, by: str | None = None) -> None:
        """Hand out nothing until :meth:`resume`."""
        operations.pause(by=by)  # refuses what it cannot be
        self._call("POST", "pause", body={"by": by})

    def resume(self, *, by: str | None = None) -> None:
        """Hand out assignments again."""
        operations.resume(by=by)  # refuses what it cannot be
        self._call("POST", "resume", body={"by": by})

    def close(self, *, as_equal: bool | Sequence[str] = False, by: str | None = None) -> None:
        """End the experiment; it can be read, not changed."""
        equal = as_equal if isinstance(as_equal, bool | str) or not isinstance(as_equal, Iterable) else list(as_equal)
        operations.close(as_equal=equal, by=by)  # refuses what it cannot be
        self._call("POST", "close", body={"by": by, "as_equal": equal or None})

    def verdict(self) -> Verdict:
        """Return what is decided at the experiment's delta."""
        with reading():
            return verdict_of(self._get(), self.settings)

    def status(self) -> Status:
        """Return where the experiment stands."""
        with reading():
            return status_of(self._get(), self.settings)

    def explain(self) -> Explanation:
        """Return why it is not decided yet, and what the rule would ask for next and why."""
        with reading():
            facts = self._get("explain", limit=_PAIRS_AT_A_TIME)
            while len(facts["pairs"]) < facts["total"]:
                more = self._get("explain", skip=len(facts["pairs"]), limit=_PAIRS_AT_A_TIME)["pairs"]
                facts["pairs"] += more
                if not more:
                    break
            return explanation_of(facts)

    def series(self) -> Series:
        """Return how it went."""
        with reading():
            return series_of(self._get("series"))

    def concerns(self) -> list[Concern]:
        """Return what looks wrong."""
        return list(self.status().concerns)

    def verify(self) -> Verification:
        """Check here what the service says: the chain of events, and what they add up to."""
        self.stamp()  # refuses another history
        ledger = self._ledger
        return verify_experiment(ledger.journal, ledger.handle)

    def iterate_records(self) -> Iterator[dict[str, Any]]:
        """Yield every assignment with what was told of it, as plain rows."""
        answer = self._client.call("GET", "experiments", self._name, "assignments.jsonl", headers=self._headers)
        return map(json.loads, answer.data.splitlines())

    def stamp(self) -> tuple[int, str]:
        """Return the number of the last event, and a text that is another one whenever the status is."""
        with reading():
            facts = self._get()
            return facts["events"], facts["stamp"]

    @property
    def _ledger(self) -> Ledger:
        return Ledger(HttpJournal(self._client, self.history_id), Handle(self._name, self.number))

    def __repr__(self) -> str:
        """Name it, and say where it is kept."""
        return f"Experiment({self._name!r}, {self._client.address!r})"

    def events(self, after: int = 0, most: int = 1000) -> Sequence[Event]:
        """Return the events after one, at most ``most`` of them."""
        ledger = self._ledger
        return ledger.journal.read(ledger.handle, after, most)

    def _get(self, *path: str, **query: int) -> Any:
        return self._client.call("GET", "experiments", self._name, *path, query=query, headers=self._headers).json()

    @property
    def _headers(self) -> dict[str, str]:
        """Which history is meant: a service that has another one by now refuses the call."""
        return {"Mobai-History": self.history_id}

    def _report(self, assignment: Any, metrics: Any) -> dict[str, Any]:
        named = _named(assignment)
        about = {key: value for key, value in named.items() if key != "arm"}
        return {**named, "metrics": self._plain(metrics, about)}

    def _plain(self, metrics: Any, about: Mapping[str, Any]) -> dict[str, float | None]:
        """Return metrics as JSON can hold them; what it cannot hold is refused here, as the service would."""
        if isinstance(metrics, Mapping) and all(isinstance(name, str) and _fits(metrics[name]) for name in metrics):
            return {name: None if value is None else float(value) for name, value in metrics.items()}
        try:
            measured(self.settings.problem, metrics)
        except InputError as error:
            raise error.within(**about) from None
        raise InputError("metrics", f"must be numbers by name, not {metrics!r}", **about)

    def _call(
        self, method: str, *path: str, body: Mapping[str, Any], key: str | None = None, only_once: bool = False
    ) -> Answer:
        sent = {name: value for name, value in body.items() if value is not None}
        headers = self._headers | ({} if key is None else {"Idempotency-Key": json.dumps(key)})
        place = ("experiments", self._name, *path)
        return self._client.call(method, *place, body=sent, headers=headers, only_once=only_once)

    def _delete(self, *path: str, query: Mapping[str, Any], only_once: bool = False) -> None:
        place = ("experiments", self._name, *path)
        self._client.call("DELETE", *place, query=query, headers=self._headers, only_once=only_once)


def _arm(arm: Any, row: int) -> str:
    if not isinstance(arm, str):
        raise InputError("arm", f"must be a name, not {arm!r}", row=row)
    return arm


def _named(assignment: Any) -> dict[str, Any]:
    """Return how a report names its assignment."""
    if isinstance(assignment, Unit):
        return {"unit": str(assignment)}
    if isinstance(assignment, Assignment):
        return {"assignment": id_of(assignment.id), "arm": assignment.arm}
    return {"assignment": id_of(assignment)}


def _fits(value: Any) -> bool:
    """Whether JSON can hold a reward."""
    if value is None:
        return True
    try:
        return isinstance(value, Real | np.bool_) and math.isfinite(value)
    except OverflowError:  # a whole number that is too large
        return False


def _assignments(answer: Answer) -> list[Assignment]:
    with reading():
        return [assignment_of(one) for one in answer.json()["assignments"]]


def _new_key() -> str:
    return uuid.uuid4().hex


def _check_count(rows: Sized, what: str) -> None:
    """Refuse what a service would: all of one call is one transaction, and one moment."""
    most = operations.MOST_REPORTED_OVER_HTTP
    if len(rows) > most:
        count = f"{len(rows):,}; tell them in several calls"
        raise InputError(what, f"a call to a service takes at most {most:,}, not {count}")
