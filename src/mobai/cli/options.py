"""Options that several commands share."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from mobai.cli import screen
from mobai.errors import InputError
from mobai.problem.families import Quantile, Ratio
from mobai.problem.window import span_text

if TYPE_CHECKING:
    from rich.console import Console

    from mobai.problem import Objective, Problem

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class Probability(click.types.FloatParamType):
    """A number, which may be given in percent."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number; what it may be is checked where it is used."""
        text = str(value).strip()
        try:
            return float(text.removesuffix("%")) / (100.0 if text.endswith("%") else 1.0)
        except ValueError:
            self.fail(f"{value!r} is not a number such as 0.05 or 5%", param, ctx)


def split_at_commas(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    """Return names given once each, or all at once with commas between them: one alone could not be enough."""
    one = len(given) == 1 and "," in given[0]
    return tuple(name.strip() for name in given[0].split(",")) if one else given


def instance_argument() -> Decorator:
    """Take an instance: a file, or the name of a built-in one."""
    return click.argument("source", metavar="INSTANCE")


def delta_option() -> Decorator:
    """Take the error probability."""
    return click.option(
        "--delta", type=Probability(), default=0.05, show_default=True, help="Largest error probability: 0.05, or 5%."
    )


def focus_option() -> Decorator:
    """Offer sampling for undecided objectives only."""
    return click.option("--focus", is_flag=True, help="Sample only for objectives that are not decided yet.")


def json_option() -> Decorator:
    """Offer machine-readable output."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")


def storage_option() -> Decorator:
    """Take the address of the storage."""
    return click.option(
        "--storage",
        envvar="MOBAI_STORAGE",
        default="sqlite:///mobai.db",
        show_default=True,
        show_envvar=True,
        metavar="URL",
        help="Where experiments are kept: sqlite:///FILE, postgresql://..., or a service, http://HOST:PORT.",
    )


def name_argument() -> Decorator:
    """Take the name of an experiment."""
    return click.argument("name", metavar="NAME")


def arms_option(required: bool = True) -> Decorator:
    """Take the names of the arms."""
    return click.option(
        "--arm",
        "--variant",
        "arms",
        multiple=True,
        required=required,
        callback=split_at_commas,
        help="An arm; once for each, or all in one, A,B,C.",
    )


def objectives_option(required: bool = True) -> Decorator:
    """Take the objectives."""
    return click.option(
        "--objective",
        "--metric",
        "objectives",
        multiple=True,
        required=required,
        metavar="TEXT",
        help="A metric, once for each: name, then after colons min, a family (bernoulli, unknown-variance, "
        "shared-variance, bounded=1..5, gaussian=20, and with items or rounds wins), eps=0.1, window=1h:otherwise=0.",
    )


def was_given(option: str) -> bool:
    """Whether an option was given on the command line; else it has its default, or what a file says."""
    source = click.get_current_context().get_parameter_source(option)
    return source is ParameterSource.COMMANDLINE


def items_option() -> Decorator:
    """Take what every arm is measured on."""
    return click.option(
        "--items",
        metavar="N|FILE|stream",
        help="Measure every arm on the same things: how many there are, a file with a row for each, or new ones "
        "without end; each assignment then says which.",
    )


def rounds_option() -> Decorator:
    """Offer rounds."""
    return click.option(
        "--rounds", is_flag=True, help="Compare arms in rounds, in a random order, so that what drifts for all cancels."
    )


def guardrails_option() -> Decorator:
    """Take limits that arms must keep."""
    return click.option(
        "--guardrail",
        "guardrails",
        multiple=True,
        metavar="TEXT",
        help="A limit, once for each: metric, its family unless it is an objective, at-most=0.02 or at-least=0.5 or "
        "within=5:of=ARM, and eps=0.005, the tolerance.",
    )


def baseline_option() -> Decorator:
    """Take the arm that all others are compared with."""
    return click.option("--baseline", metavar="ARM", help="Compare all arms with this one, metric by metric.")


def costs_options() -> Decorator:
    """Take what samples cost."""
    stated = click.option(
        "--cost",
        "costs",
        multiple=True,
        metavar="ARM=NUMBER",
        callback=_costs,
        help="What a sample of an arm costs, once for each: sampling saves money, and not samples.",
    )
    metric = click.option("--cost-metric", metavar="METRIC", help="The metric that says what a sample cost.")
    unit = click.option("--cost-unit", metavar="TEXT", help="What costs are counted in, such as USD.")
    return lambda function: stated(metric(unit(function)))


def _costs(context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]) -> dict[str, float] | None:  # noqa: ARG001
    """Return costs by arm."""
    found: dict[str, float] = {}
    for text in (part for one in texts for part in (one.split(",") if one.count("=") > 1 else [one])):
        arm, equals, number = text.strip().rpartition("=")
        try:
            cost = float(number) if equals else math.nan
        except ValueError:
            cost = math.nan
        if not math.isfinite(cost):
            raise InputError("--cost", f"must be an arm and a number, such as large=12, not {text!r}")
        if arm in found:
            raise InputError("--cost", f"is given twice for {arm!r}")
        found[arm] = cost
    return found or None


def by_option() -> Decorator:
    """Take who does it."""
    return click.option("--by", metavar="WHO", help="Who does this, for the journal.")


def arm_argument() -> Decorator:
    """Take the name of an arm."""
    return click.argument("arm", metavar="ARM")


def say_objectives(problem: Problem, console: Console = screen.out) -> None:
    """Print what was understood, a line per objective."""
    for objective in problem.metrics:
        if objective not in problem.objectives:
            console.print(f"  {objective.name}: {_rewards_of(problem, objective)}", soft_wrap=True)
            continue
        eps = f", differences up to {objective.eps:g} do not matter" if objective.eps else ""
        goal = "less is better" if objective.direction == "min" else "more is better"
        late = ""
        if objective.window is not None:
            late = f"; counts as {objective.otherwise:g} if it has not come after {span_text(objective.window)}"
        console.print(f"  {objective.name}: {goal}, {_rewards_of(problem, objective)}{eps}{late}", soft_wrap=True)
    for guardrail in problem.guardrails:
        eps = f", with a tolerance of {guardrail.eps:g}" if guardrail.eps else "; without a tolerance (eps=)"
        console.print(f"  limit: {guardrail.metric} {guardrail.words}{eps}", soft_wrap=True)
    if problem.costs is not None:
        each = zip(problem.arms, problem.costs.by_arm or (), strict=False)
        costs = ", ".join(f"{arm} {cost:g}" for arm, cost in each)
        paid = f"{costs} {problem.costs.unit}".rstrip() if costs else f"what {problem.costs.metric} says"
        console.print(f"  a sample costs {paid}; sampling saves money, and not samples", soft_wrap=True)
    if problem.baseline is not None:
        console.print(f"  all arms are compared with {problem.baseline}", soft_wrap=True)


def _rewards_of(problem: Problem, objective: Objective) -> str:
    """Say in words what the rewards of an objective are."""
    family = objective.family
    if isinstance(family, Ratio):
        above, below = objective.columns
        ranges = f"{family.low:g} to {family.high:g}, and {family.least:g} to {family.most:g}"
        return f"the total of {above} over the total of {below} ({ranges}; both are reported with every pull)"
    if isinstance(family, Quantile):
        return f"what {100 * family.level:g} in 100 values of {objective.column} stay below, {family.accepted}"
    if not objective.family.known_noise:
        words = {
            "unknown-variance": "nearly Gaussian, variance unknown",
            "shared-variance": "nearly Gaussian, equally noisy in all arms, variance unknown",
        }
        said = words.get(objective.family.word, objective.family.accepted)
        bins = f", in {objective.family.histogram_bins:,} bins" if ":bins=" in str(objective.family) else ""
        return f"rewards are {said}{bins} ({objective.family.word})"
    sd = problem.sd[:, problem.metrics.index(objective)]
    shown = f"{sd[0]:g}" if (sd == sd[0]).all() else "as stated"
    return f"rewards are {objective.family.word}, standard deviation {shown}"


def rule_option() -> Decorator:
    """Take a sampling rule."""
    return click.option(
        "--rule",
        default="top-two",
        show_default=True,
        metavar="RULE",
        help="How to choose arms, as in mo-bai:eta=0.5, or package.module:Class.",
    )


def rare_option() -> Decorator:
    """Take how rare an extreme may be that must not hide."""
    return click.option(
        "--rare",
        default="0.02",
        show_default=True,
        metavar="SHARE",
        callback=lambda _context, _parameter, text: _read_rare(text),
        help="How rare an extreme may be that must not hide in an unknown variance, or none.",
    )


def _read_rare(text: str) -> float | None:
    if text == "none":
        return None
    try:
        return float(text)
    except ValueError:
        raise InputError("--rare", f"must be a number less than 1, or none, not {text!r}") from None
