"""What an experiment is set up with: everything that its decisions depend on besides the rewards."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypedDict

import numpy as np
import numpy.typing as npt

from mobai.engine import RARE
from mobai.engine.asks import AT_ONCE, ORDERS
from mobai.engine.engine import check_rare
from mobai.errors import ConflictError, InputError
from mobai.live.part import Part
from mobai.problem import Problem
from mobai.problem.codec import problem_json, problem_of
from mobai.problem.families import FAMILIES, Quantile, Ratio, is_number
from mobai.problem.objective import is_name
from mobai.problem.problem import check_case, noise_table
from mobai.problem.window import span_text
from mobai.rules.catalogue import parse_spec, rule_address, sampling_rule
from mobai.rules.sampling.base import SamplingRule
from mobai.rules.sampling.race import Race
from mobai.rules.stopping import GLR, Paired
from mobai.theory.confidence import check_small, resolve_log_inv_delta
from mobai.theory.thresholds import INTERVAL_SHARE
from mobai.views.data import time_text

# What a record says of an assignment beside its metrics.
# The share of delta that is kept for arms that come later, unless another is stated.
RESERVE = 0.1
RESERVED = ("id", "unit", "arm", "status", "asked_at")
# And, with items and rounds, of where it is in the common order.
RESERVED_PLACES = ("index", "item")
# The last moment that has a name: the end of the year 9999.
_LATEST = 253_402_300_799.0
# How far arms on items may run ahead of what is still to come, unless somebody says so.
MOST_AHEAD = 16
# How evidence is weighed; journals that say nothing are of the first way. Up to the second it was read as it was told.
EVIDENCE = 3


_READS_IN_ORDER = 3


@dataclass(frozen=True, eq=False)
class Settings:
    """The settings of an experiment.

    Attributes
    ----------
    problem
        Arms, objectives and known noise, as they were at the start.
    log_inv_delta
        log(1/delta), fixed at the start.
    rule
        The sampling rule.
    seed
        Fixes the rule's own choices.
    focus
        Whether sampling ignores objectives that are already decided.
    expire_after
        Seconds after which an unanswered assignment no longer counts as pending; None for never.
    reserve
        The share of delta kept for arms that are added or retired later.
    on_broken
        What happens to an arm that breaks a limit: ``bar``, it is asked for no more, or ``tell``, it only says so.
    max_samples
        How many assignments are handed out, dropped and expired ones aside; None for any number.
    max_cost
        How much may be spent, by the costs of the problem; None for any amount.
    until
        The Unix time after which none is handed out; None for never.
    order
        In which order evidence reads rewards: as they were ``asked`` for, or as they were ``told``.
    rare
        How rare an extreme may be that must not hide, of metrics whose noise is estimated; None to rule them out.
    interval_share
        The share of delta that the confidence intervals have for themselves.
    evidence
        How evidence was weighed when it was created: the number of the way.
    ahead
        On items and rounds, how many indices arms may be ahead of the first one at which something is still to come;
        None for any number.
    items_digest
        Tells a list of items from another one of the same size; None where nobody said.
    part
        Which segment of which experiment it is, if it is one.
    """

    problem: Problem
    log_inv_delta: float
    rule: SamplingRule
    seed: int = 0
    focus: bool = True
    expire_after: float | None = None
    reserve: float = RESERVE
    on_broken: str = "bar"
    max_samples: int | None = None
    until: float | None = None
    order: str = "asked"
    rare: float | None = RARE
    interval_share: float = INTERVAL_SHARE
    evidence: int = EVIDENCE
    max_cost: float | None = None
    part: Part | None = None
    ahead: int | None = None
    items_digest: str | None = None

    @property
    def rule_address(self) -> str:
        """The rule as text: its name and options, or the module and class of one of somebody's own."""
        return self.rule.address if isinstance(self.rule, MissingRule) else rule_address(self.rule)

    @property
    def stopping(self) -> GLR | Paired:
        """When objectives are decided."""
        if self.problem.design is not None:
            return Paired(self.interval_share)
        return GLR(reserve=self.reserve, interval_share=self.interval_share)


def check_beginning(settings: Settings) -> None:
    """Raise if nobody would begin an experiment like this now, though one that is there may be so."""
    check_case("objectives", settings.problem.metric_names)
    if settings.until is not None and settings.until <= time.time():
        raise InputError("until", f"must be a time that is still to come, not {time_text(settings.until)}")


def with_arm(problem: Problem, name: str, sd: npt.ArrayLike | None) -> Problem:
    """Return a problem with one more arm; its noise is that of the others unless they differ."""
    if name in problem.arms:
        raise ConflictError("arm", f"there is an arm {name!r} already")
    if not is_name(name):
        raise InputError("arm", "the name must be a non-empty string of printable characters, no space at its ends")
    known = problem.sd
    row = known[0]
    if sd is not None:
        row = np.where(np.isnan(known[0]), np.nan, noise_table(sd, (1, len(row)))[0])
    elif not (np.isnan(known) | (known == known[0])).all():
        raise InputError("sd", "must be given for the new arm: the others differ in theirs")
    return problem.with_arms([*problem.arms, name], np.vstack([known, row]))


class ExperimentOptions(TypedDict, total=False):
    """Keyword arguments of :meth:`mobai.Experiment.create`."""

    delta: float
    rule: str | SamplingRule
    seed: int
    focus: bool
    expire_after: float | None
    reserve: float
    on_broken: str
    max_samples: int | None
    max_cost: float | None
    until: float | str | datetime | None
    order: str
    rare: float | None
    interval_share: float
    allow_large_delta: bool
    items_digest: str | None
    ahead: int | None
    part: Part | None


def new_settings(
    problem: Problem,
    *,
    delta: float = 0.05,
    rule: str | SamplingRule = "top-two",
    seed: int = 0,
    focus: bool = True,
    expire_after: float | None = None,
    reserve: float = RESERVE,
    on_broken: str = "bar",
    max_samples: int | None = None,
    max_cost: float | None = None,
    until: float | str | datetime | None = None,
    order: str = "asked",
    rare: float | None = RARE,
    interval_share: float = INTERVAL_SHARE,
    allow_large_delta: bool = False,
    ahead: int | None = None,
    items_digest: str | None = None,
    part: Part | Mapping[str, Any] | None = None,
) -> Settings:
    """Check what was chosen and put the settings together."""
    if not isinstance(allow_large_delta, bool):
        raise InputError("allow_large_delta", f"must be True or False, not {allow_large_delta!r}")
    if not allow_large_delta:
        check_small(delta, "allow_large_delta=True, --allow-large-delta")
    if on_broken not in ("bar", "tell"):
        raise InputError("on_broken", f"must be bar or tell, not {on_broken!r}")
    if on_broken == "tell" and problem.design is not None:
        raise InputError("on_broken", f"must be bar on {problem.design.words}: who breaks a limit is measured no more")
    check_rare(rare)
    if order not in ORDERS:
        raise InputError("order", f"must be asked or told, not {order!r}")
    if max_samples is not None and (
        isinstance(max_samples, bool) or not isinstance(max_samples, int | np.integer) or max_samples < 1
    ):
        raise InputError("max_samples", f"must be a whole number, 1 or more, or None, not {max_samples!r}")
    if max_cost is not None and not (is_number(max_cost) and max_cost > 0):
        raise InputError("max_cost", f"must be a number above 0, or None, not {max_cost!r}")
    if max_cost is not None and problem.costs is None:
        raise InputError("max_cost", "needs costs, or cost_metric: what a sample costs")
    rule, reserve, ahead = _of_design(problem, rule, reserve, order, ahead)
    sampling = sampling_rule(rule) if isinstance(rule, str) or not isinstance(rule, SamplingRule) else rule
    rule_address(sampling)
    if sampling.stopping is not None:
        raise InputError("rule", f"{sampling.name} stops by itself and is for simulations; use another one")
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise InputError("seed", f"must be a whole number, 0 or more, not {seed!r}")
    if not isinstance(focus, bool):
        raise InputError("focus", f"must be True or False, not {focus!r}")
    if expire_after is not None and not (is_number(expire_after) and expire_after > 0):
        raise InputError("expire_after", f"must be a positive number of seconds, or None, not {expire_after!r}")
    longest = max((metric.window or 0.0 for metric in problem.metrics), default=0.0)
    if expire_after is not None and expire_after < longest:
        raise InputError(
            "expire_after", f"must be at least the longest window, {span_text(longest)}, not {expire_after!r}"
        )
    GLR(reserve=reserve, interval_share=interval_share)
    for name in problem.columns:
        if name in RESERVED or (problem.design is not None and name in RESERVED_PLACES):
            raise InputError("objectives", f"{name!r} cannot be the name of a metric; it is a column of every record")
    for objective in problem.metrics:
        if type(objective.family) not in (*FAMILIES.values(), Quantile, Ratio):
            raise InputError("objectives", f"the family of {objective.name!r} cannot be read back from a journal")
    x = resolve_log_inv_delta(delta)
    patience = None if expire_after is None else float(expire_after)
    end = None if until is None else moment_of(until)
    most = None if max_samples is None else int(max_samples)
    return Settings(
        problem,
        x,
        sampling,
        int(seed),
        focus,
        patience,
        float(reserve),
        on_broken,
        most,
        end,
        order,
        None if rare is None else float(rare),
        float(interval_share),
        ahead=ahead,
        items_digest=items_digest,
        max_cost=None if max_cost is None else float(max_cost),
        part=Part.of_facts(part) if isinstance(part, Mapping) else part,
    )


def _of_design(
    problem: Problem, rule: str | SamplingRule, reserve: float, order: str, ahead: int | None
) -> tuple[str | SamplingRule, float, int | None]:
    """Return the rule, reserve and look-ahead of a problem: with items or rounds arms race, and none is added."""
    if problem.design is None:
        if ahead is not None:
            raise InputError("ahead", "is for items and rounds")
        return rule, reserve, None
    if reserve != RESERVE and reserve != 0:
        raise InputError("reserve", f"is for arms that come later, which {problem.design.words} do not take")
    if rule not in ("top-two", "race", Race()):
        raise InputError("rule", f"must be race on {problem.design.words}, or left out, not {rule!r}")
    if order != "asked":
        raise InputError(
            "order", f"must be asked on {problem.design.words}, or left out: results may come in any order"
        )
    if ahead is not None and (isinstance(ahead, bool) or not isinstance(ahead, int | np.integer) or ahead < 1):
        raise InputError("ahead", f"must be a whole number of indices, 1 or more, not {ahead!r}")
    most = None if problem.design.kind == "rounds" else MOST_AHEAD
    return Race(), 0.0, most if ahead is None else int(ahead)


def is_own_rule(address: str) -> bool:
    """Whether a rule is somebody's own, ``package.module:Class``: importing it runs code."""
    return ":" in parse_spec(address)[0]


def moment_of(until: float | str | datetime) -> float:
    """Return a Unix time, given as such, as ISO 8601 or as a datetime; without a zone, UTC."""
    found: Any = until
    try:
        moment = datetime.fromisoformat(until) if isinstance(until, str) else until
        if isinstance(moment, datetime):
            found = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        pass
    if isinstance(found, str) or not is_number(found) or not 0 <= found <= _LATEST:
        raise InputError("until", f"must be a time such as 2030-01-31T12:00, or a Unix time, not {until!r}")
    return float(found)


def to_body(settings: Settings) -> dict[str, Any]:
    """Return the settings as plain data, for the first event of the journal."""
    return {
        **problem_json(settings.problem),
        **({"ahead": settings.ahead} if settings.ahead is not None else {}),
        **({"items_digest": settings.items_digest} if settings.items_digest is not None else {}),
        "log_inv_delta": settings.log_inv_delta,
        "rule": settings.rule_address,
        "seed": settings.seed,
        "focus": settings.focus,
        "expire_after": settings.expire_after,
        "reserve": settings.reserve,
        **({"on_broken": settings.on_broken} if settings.on_broken != "bar" else {}),
        **({"max_samples": settings.max_samples} if settings.max_samples is not None else {}),
        **({"max_cost": settings.max_cost} if settings.max_cost is not None else {}),
        **({"until": settings.until} if settings.until is not None else {}),
        **({"order": settings.order} if settings.order != "asked" else {}),
        **({"rare": settings.rare} if settings.rare != RARE and settings.order != AT_ONCE else {}),
        **({"interval_share": settings.interval_share} if settings.interval_share != INTERVAL_SHARE else {}),
        **({} if settings.part is None else {"part": settings.part.facts()}),
        "evidence": settings.evidence,
    }


def from_body(body: Mapping[str, Any]) -> Settings:
    """Read the settings back."""
    return Settings(
        problem=problem_of(body),
        log_inv_delta=body["log_inv_delta"],
        rule=_rule(body["rule"]),
        seed=body["seed"],
        focus=body["focus"],
        expire_after=body["expire_after"],
        reserve=body["reserve"],
        on_broken=body.get("on_broken", "bar"),
        max_samples=body.get("max_samples"),
        max_cost=body.get("max_cost"),
        part=None if body.get("part") is None else Part.of_facts(body["part"]),
        until=body.get("until"),
        order=body.get("order", "asked" if body.get("evidence", 1) >= _READS_IN_ORDER else AT_ONCE),
        rare=body.get("rare", RARE if body.get("evidence", 1) >= _READS_IN_ORDER else None),
        interval_share=body.get("interval_share", INTERVAL_SHARE),
        evidence=body.get("evidence", 1),
        ahead=body.get("ahead"),
        items_digest=body.get("items_digest"),
    )


@dataclass(frozen=True)
class MissingRule:
    """Stands for a rule of somebody's own that is not to be found here: everything works but asking."""

    address: str
    reason: str
    stopping: None = None

    @property
    def name(self) -> str:
        """The address of the rule."""
        return self.address

    def init(self, problem: Problem) -> tuple[()]:  # noqa: ARG002
        """Return an empty memory."""
        return ()

    def choose(self, problem: Problem, memory: Any, observations: Any, rng: Any) -> tuple[int, Any]:  # noqa: ARG002
        """Say what is missing."""
        raise InputError(f"{self.reason}; set PYTHONPATH, or go where its module is")


def _rule(address: str) -> SamplingRule:
    """Return the rule at an address, or what stands for it if its module is not here."""
    try:
        return sampling_rule(address)
    except InputError as error:
        name = parse_spec(address)[0]
        if ":" not in name:
            raise
        return MissingRule(address, str(error))
