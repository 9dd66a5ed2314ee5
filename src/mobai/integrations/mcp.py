"""Experiments for agents: a server of the Model Context Protocol over the experiments of a storage.

Needs ``mcp`` (``pip install 'mobai[mcp]'``). ``mobai mcp --storage ...`` runs it on standard input and output.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Annotated, Any

from mobai import views
from mobai.errors import InputError, StorageError, did_you_mean
from mobai.extras import need
from mobai.version import __version__

need("mcp")

from mcp.server import MCPServer  # noqa: E402
from mcp.server.mcpserver.exceptions import ResourceError, ToolError  # noqa: E402
from mcp.types import ToolAnnotations  # noqa: E402
from pydantic import Field  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mobai.live.experiment import Experiment
    from mobai.live.status import Status

_ABOUT = (
    "Live experiments that find the best variant of every metric with a proven error probability. Ask which variant "
    "is next, measure it, tell what was measured, and read in the status whether it may stop: a metric is decided once "
    "its row says so, not before, and looking often is free. A metric is written NAME, then after colons: min if less "
    "is better, and what values are: bernoulli (0 or 1), bounded=LOW..HIGH, unknown-variance, or with items and rounds "
    "wins; for example click:bernoulli, or seconds:min:bounded=0..60."
)
_READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
_ADDS = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False)
_TELLS = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
_MOST_ROWS, _MOST_DIGITS = 100_000, 15

Metrics = Annotated[list[str], Field(description="As in click:bernoulli, or seconds:min:bounded=0..60.")]
Delta = Annotated[float, Field(description="The error probability, for all metrics together.")]


class ExperimentTools:
    """What agents can do with the experiments of a storage; every call is one after the other."""

    def __init__(self, storage: Any, files: Path | None = None) -> None:
        self._storage, self._files = storage, None if files is None else files.resolve()
        self._loaded: dict[str, Experiment] = {}
        self._lock = Lock()

    @contextmanager
    def _one_at_a_time(self) -> Iterator[None]:
        """Refuse in a sentence what cannot be done."""
        with self._lock:
            try:
                yield
            except (InputError, StorageError) as error:
                raise ToolError(str(error)) from None

    def _experiment(self, name: str) -> Experiment:
        from mobai.live.experiment import Experiment

        if name not in self._loaded:
            self._loaded[name] = Experiment.load(self._storage, name)
        try:
            self._loaded[name].stamp()
        except (InputError, StorageError):  # another one has taken its name, or it is gone
            self._loaded[name] = Experiment.load(self._storage, name)
        return self._loaded[name]

    def list_experiments(self) -> list[dict[str, Any]]:
        """List the experiments: arms, metrics, how many are decided, and in which state each is."""
        from mobai.live import codec
        from mobai.live.storage import experiment_names

        with self._one_at_a_time():
            return [codec.status_summary(self._experiment(name).status()) for name in experiment_names(self._storage)]

    def status(
        self,
        name: str,
        details: Annotated[bool, Field(description="Whether to return everything there is, as JSON.")] = False,
    ) -> dict[str, Any]:
        """Say where an experiment stands: what is decided and whether it may stop, means with intervals, a forecast.

        A metric whose winner is null is open, whoever leads.
        """
        with self._one_at_a_time():
            return self._facts(self._experiment(name).status(), details)

    @staticmethod
    def _facts(status: Status, details: bool = False) -> dict[str, Any]:
        from mobai.live import codec

        verdict = status.verdict
        found = {
            "said": str(status),
            "winners": verdict.winners,
            "stopped": verdict.stopped,
            "certified": verdict.certified,
            "pulls": status.pulls,
            "pending": status.pending,
        }
        return {**found, "details": codec.status_json(status)} if details else found

    def explain(self, name: str) -> dict[str, Any]:
        """Say why an experiment is not decided yet, which pairs hold it up, and which arm would be next and why."""
        from mobai.live import codec

        with self._one_at_a_time():
            found = self._experiment(name).explain()
            return {"said": str(found), **codec.explanation_json(found)}

    def report(self, name: str) -> str:
        """Return a report of an experiment as Markdown, for people."""
        with self._one_at_a_time():
            return views.report_markdown(self._experiment(name).status())

    def plan(
        self,
        arms: list[str],
        metrics: Metrics,
        means: Annotated[list[list[float]], Field(description="A row per arm, with what you expect of every metric.")],
        sd: Annotated[
            list[list[float]] | float | None,
            Field(description="The spread of values, one for all or like means; not for bernoulli."),
        ] = None,
        delta: Delta = 0.05,
    ) -> dict[str, Any]:
        """Say before the first sample how many it will take, if the means are what you expect, and where they go."""
        from mobai.lab.plan import make_plan
        from mobai.problem import Instance
        from mobai.theory.confidence import check_small, resolve_log_inv_delta

        with self._one_at_a_time():
            check_small(delta)
            noise: Any = {} if sd is None else {"sd": sd}
            instance = Instance(means, arms=arms, objectives=metrics, **noise)
            return {"delta": delta, **make_plan(instance, resolve_log_inv_delta(delta)).facts}

    def analyse(
        self,
        metrics: Metrics,
        rows: Annotated[
            list[dict[str, Any]] | None, Field(description="A row per measurement: its arm, and a number per metric.")
        ] = None,
        file: Annotated[
            str | None,
            Field(description="In place of rows: a CSV or Parquet file of the allowed folder."),
        ] = None,
        arm: Annotated[str, Field(description="The column that names the arm.")] = "arm",
        item: Annotated[
            str | None, Field(description="The column that says what was measured, if arms share items.")
        ] = None,
        all_items: Annotated[bool, Field(description="Whether these items are all there are.")] = False,
        baseline: str | None = None,
        delta: Delta = 0.05,
    ) -> dict[str, Any]:
        """Say what measurements that are already there prove, and how many more it would take."""
        from mobai.analysis.analyse import analyse

        with self._one_at_a_time():
            if (rows is None) == (file is None):
                raise InputError("either rows or a file must be given, and not both")
            if rows is not None and len(rows) > _MOST_ROWS:
                raise InputError("rows", f"must be at most {_MOST_ROWS:,}, not {len(rows):,}; give a file")
            data: Any = rows if file is None else self._allowed(file)
            options: Any = {"arm": arm, "item": item, "all_items": all_items, "baseline": baseline, "delta": delta}
            found = analyse(data, metrics, **options)
            return {"said": str(found), **views.analysis_json(found)}

    def analyse_results(
        self,
        path: Annotated[str, Field(description="A file or folder, in the folder that was allowed.")],
        metrics: Annotated[list[str] | None, Field(description="Which metrics; all of them unless given.")] = None,
        task: str | None = None,
        all_items: Annotated[bool, Field(description="Whether these items are all there are.")] = False,
        delta: Delta = 0.05,
    ) -> list[dict[str, Any]]:
        """Say what results of Inspect, promptfoo, lm-evaluation-harness or DeepEval prove, task by task."""
        from mobai.analysis.results import analyse_results

        with self._one_at_a_time():
            options: Any = {"task": task, "delta": delta, "all_items": all_items}
            found = analyse_results(self._allowed(path, folder=True), metrics, **options)
            return [{"said": str(one), **one.facts} for one in found]

    def _allowed(self, file: str, *, folder: bool = False) -> Path:
        """Return a file in the folder that was allowed."""
        if self._files is None:
            raise InputError("file", "must be allowed by whoever runs the server: mobai mcp --files FOLDER; give rows")
        try:
            path = (self._files / file).resolve()
            known = path.is_file() or (folder and path.is_dir())
        except (OSError, ValueError, RuntimeError):
            known = False
        if not known or not path.is_relative_to(self._files):
            raise InputError("file", f"must be a file in the folder that was allowed, not {file!r}")
        return path

    def create_experiment(
        self,
        name: str,
        arms: list[str],
        metrics: Metrics,
        delta: Delta = 0.05,
        items: Annotated[
            int | list[str] | str | None,
            Field(description="What all arms are measured on: how many there are, names, or stream."),
        ] = None,
        rounds: Annotated[bool, Field(description="Whether to compare in rounds: drift cancels.")] = False,
        guardrails: Annotated[list[str] | None, Field(description="As in errors:bernoulli:at-most=0.02.")] = None,
        baseline: str | None = None,
        max_samples: int | None = None,
    ) -> dict[str, Any]:
        """Begin an experiment; it is kept in the storage."""
        from mobai.live.experiment import Experiment

        with self._one_at_a_time():
            self._loaded[name] = Experiment.create(
                self._storage,
                name,
                arms,
                metrics,
                delta=delta,
                items=items,
                rounds=rounds,
                guardrails=guardrails or (),
                baseline=baseline,
                max_samples=max_samples,
                by="mcp",
            )
            return self._facts(self._loaded[name].status())

    def ask(
        self,
        name: str,
        n: Annotated[int, Field(description="How many; fewer come if there is no room.", ge=1, le=1000)] = 1,
        key: Annotated[str | None, Field(description="A name for this call: the same key returns the same.")] = None,
    ) -> list[dict[str, Any]]:
        """Return which arms to measure next, each with an id to tell by; none once everything is decided."""
        with self._one_at_a_time():
            found = self._experiment(name).ask(n, if_decided="stop", key=key, by="mcp")
            return [
                {"id": one.id, "arm": one.arm, **({} if one.item is None else {"item": one.item, "index": one.index})}
                for one in found
            ]

    def tell(
        self,
        name: str,
        reports: Annotated[
            dict[str, dict[str, float | None]],
            Field(description='By id, a number per metric: {"7": {"click": 1}}; null for none to come.'),
        ],
    ) -> dict[str, Any]:
        """Report what was measured, all of it or nothing; the same report twice changes nothing."""
        with self._one_at_a_time():
            wrong = [one for one in reports if not one.isdecimal() or len(one) > _MOST_DIGITS]
            if wrong:
                raise InputError("reports", f"must be by id, a number that ask returned, not {wrong[0]!r}")
            experiment = self._experiment(name)
            experiment.tell_all([(int(number), metrics) for number, metrics in reports.items()], by="mcp")
            verdict = experiment.verdict()
            return {"decided": verdict.winners, "stopped": verdict.stopped, "pulls": verdict.pulls}


class StrictServer(MCPServer[Any]):
    """Refuses arguments that a tool does not have: left out without a word, they would change what is answered."""

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
        """Call a tool."""
        for tool in await self.list_tools():
            known = list(tool.input_schema.get("properties", {}))
            unknown = [one for one in arguments if tool.name == name and one not in known]
            if unknown:
                guess = did_you_mean(unknown[0], known)
                raise ToolError(f"{name} has no argument {unknown[0]!r}; it has {', '.join(known)}{guess}")
        return await super().call_tool(name, arguments, context)


def make_server(storage: Any, *, write: bool = False, files: str | Path | None = None) -> MCPServer[Any]:
    """Return a server over a storage; without ``write``, nothing can be changed.

    Parameters
    ----------
    storage
        As for :meth:`mobai.Experiment.load`.
    write
        Whether agents may begin experiments, ask and tell.
    files
        The folder in which they may have files analysed; none unless given.
    """
    folder = None if files is None else Path(files)
    if folder is not None and not folder.is_dir():
        raise InputError("files", f"must be a folder, not {str(files)!r}")
    tools = ExperimentTools(storage, folder)
    about = _ABOUT if write else f"{_ABOUT} This server was started read-only: it can look, and change nothing."
    server = StrictServer("mobai", instructions=about, version=__version__, log_level="WARNING")
    reading: list[Callable[..., Any]] = [
        tools.list_experiments, tools.status, tools.explain, tools.report, tools.plan, tools.analyse,
        tools.analyse_results,
    ]  # fmt: skip
    for tool in reading:
        server.add_tool(tool, annotations=_READS)
    if write:
        server.add_tool(tools.create_experiment, annotations=_ADDS)
        server.add_tool(tools.ask, annotations=_ADDS)
        server.add_tool(tools.tell, annotations=_TELLS)

    @server.resource("mobai://experiments/{name}/report", mime_type="text/markdown")
    def report(name: str) -> str:
        """Say where an experiment stands, for people."""
        try:
            return tools.report(name)
        except ToolError as error:
            raise ResourceError(str(error)) from None

    return server
