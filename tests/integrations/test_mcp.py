"""MCP: agents look at experiments and run them, through the SDK's own client."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError, StdioServerParameters
from tests.integrations.aside import aside

import mobai
from mobai.integrations.mcp import make_server

Call = Callable[..., Any]
LOOKS = {"list_experiments", "status", "explain", "report", "plan", "analyse", "analyse_results"}
ACTS = {"create_experiment", "ask", "tell"}


def run(storage: str, steps: Callable[[Client], Coroutine[Any, Any, None]], **options: Any) -> None:
    async def main() -> None:
        async with Client(make_server(storage, **options)) as client:
            await steps(client)

    aside(anyio.run, main)


async def call(client: Client, tool: str, **arguments: Any) -> Any:
    """Return what a tool returned, or the text of its refusal."""
    found = await client.call_tool(tool, arguments)
    if found.is_error:
        return found.content[0].text  # type: ignore[union-attr]
    assert found.structured_content is not None
    return found.structured_content.get("result", found.structured_content)


@pytest.fixture
def storage(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'mobai.db'}"


def test_an_agent_runs_an_experiment_to_its_end(storage: str) -> None:
    async def steps(client: Client) -> None:
        arms, metrics = ["short", "long"], ["right:bernoulli", "tokens:min:bounded=0..100"]
        made = await call(client, "create_experiment", name="prompts", arms=arms, metrics=metrics)
        assert made["winners"] == {"right": None, "tokens": None}
        measured = {"short": {"right": 0, "tokens": 10}, "long": {"right": 1, "tokens": 80}}
        for _ in range(100):
            given = await call(client, "ask", name="prompts", n=4)
            if not given:
                break
            told = {str(one["id"]): measured[one["arm"]] for one in given}
            found = await call(client, "tell", name="prompts", reports=told)
            again = await call(client, "tell", name="prompts", reports=told)
            assert again == found
        assert found["decided"] == {"right": "long", "tokens": "short"}
        assert found["stopped"] is True
        status = await call(client, "status", name="prompts")
        assert "You may stop. Best for right: long" in status["said"]
        listed = await call(client, "list_experiments")
        assert [(one["name"], one["decided"]) for one in listed] == [("prompts", 2)]
        assert (await call(client, "explain", name="prompts"))["said"]

    run(storage, steps, write=True)
    # It is an experiment like any other.
    status = mobai.Experiment.load(storage, "prompts").status()
    assert status.verdict.winners == {"right": "long", "tokens": "short"}
    assert mobai.Experiment.load(storage, "prompts").verify().events > 1


def test_items_and_keys(storage: str) -> None:
    async def steps(client: Client) -> None:
        options = {"arms": ["a", "b"], "metrics": ["right:bernoulli"], "items": ["q1", "q2", "q3"]}
        await call(client, "create_experiment", name="quiz", **options)
        given = await call(client, "ask", name="quiz", n=2, key="first")
        assert {one["item"] for one in given} <= {"q1", "q2", "q3"}
        assert given == await call(client, "ask", name="quiz", n=2, key="first")

    run(storage, steps, write=True)


def test_without_write_nothing_can_be_changed(storage: str) -> None:
    mobai.Experiment.create(storage, "ads", ["a", "b"], ["click:bernoulli"])

    async def steps(client: Client) -> None:
        tools = (await client.list_tools()).tools
        assert {one.name for one in tools} == LOOKS
        assert all(one.annotations is not None and one.annotations.read_only_hint for one in tools)
        assert "nknown tool" in await call(client, "ask", name="ads")
        before = mobai.Experiment.load(storage, "ads").stamp()
        for tool in ("status", "explain", "report"):
            await call(client, tool, name="ads")
        assert mobai.Experiment.load(storage, "ads").stamp() == before

    run(storage, steps)

    async def writing(client: Client) -> None:
        assert {one.name for one in (await client.list_tools()).tools} == LOOKS | ACTS

    run(storage, writing, write=True)


def test_plans_and_analyses(storage: str, tmp_path: Path) -> None:
    rows = [{"arm": "ab"[n % 2], "click": n % 2} for n in range(60)]
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "log.csv").write_text("arm,click\n" + "\n".join(f"{r['arm']},{r['click']}" for r in rows))
    (tmp_path / "secret.csv").write_text("arm,click\na,1\nb,0\n")

    async def steps(client: Client) -> None:
        plan = await call(client, "plan", arms=["a", "b"], metrics=["click:bernoulli"], means=[[0.1], [0.3]])
        assert plan["best_arms"] == {"click": "b"}
        assert 0 < plan["samples_lower_bound"] < plan["samples_expected"]
        found = await call(client, "analyse", metrics=["click:bernoulli"], rows=rows)
        assert found["objectives"][0]["decided_arm"] == "b"
        assert found == await call(client, "analyse", metrics=["click:bernoulli"], file="log.csv")
        for path in ("../secret.csv", str(tmp_path / "secret.csv"), "missing.csv", ".", "log.csv\0", "x" * 5000):
            said = await call(client, "analyse", metrics=["click:bernoulli"], file=path)
            assert "must be a file in the folder that was allowed" in said

    run(storage, steps, files=tmp_path / "files")

    async def none_allowed(client: Client) -> None:
        said = await call(client, "analyse", metrics=["click:bernoulli"], file="log.csv")
        assert "must be allowed by whoever runs the server" in said

    run(storage, none_allowed)


def test_results_of_evaluations(storage: str, tmp_path: Path) -> None:
    for system, score in (("small", 0.0), ("large", 1.0)):
        cases = [{"input": f"q{n}", "metricsData": [{"name": "Exact", "score": score}]} for n in range(40)]
        facts = {"testCases": cases, "metricsScores": [], "identifier": system}
        (tmp_path / f"{system}.json").write_text(json.dumps(facts))

    async def steps(client: Client) -> None:
        (found,) = await call(client, "analyse_results", path=".")
        assert found["objectives"][0]["decided_arm"] == "large"
        assert found["made"] == 80
        assert "in the folder that was allowed" in await call(client, "analyse_results", path="..")

    run(storage, steps, files=tmp_path)


def test_what_is_wrong_is_one_sentence(storage: str) -> None:
    async def steps(client: Client) -> None:
        create = {"name": "x", "arms": ["a", "b"], "metrics": ["click:bernoulli"]}
        assert "creating an experiment makes it" in await call(client, "status", name="x")
        assert "delta" in await call(client, "create_experiment", **{**create, "delta": 7})
        assert "click" in await call(client, "create_experiment", **{**create, "metrics": ["click:coin"]})
        await call(client, "create_experiment", **create)
        assert "no experiment 'y'" in await call(client, "status", name="y")
        assert "there is an experiment 'x' already" in await call(client, "create_experiment", **create)
        given = await call(client, "ask", name="x")
        number = str(given[0]["id"])
        assert "click" in await call(client, "tell", name="x", reports={number: {"click": 3}})
        assert "a number that ask returned, not 'first'" in await call(
            client, "tell", name="x", reports={"first": {"click": 1}}
        )
        assert "99" in await call(client, "tell", name="x", reports={"99": {"click": 1}})
        assert "analyse has no argument 'item_column'; it has" in await call(
            client, "analyse", metrics=["click:bernoulli"], rows=[{"arm": "a", "click": 1}], item_column="i"
        )
        assert "a number that ask returned" in await call(client, "tell", name="x", reports={"9" * 5000: {"click": 1}})
        rows = [{"arm": "a", "click": 1, "i": [1]}, {"arm": "b", "click": 0, "i": [1]}]
        said = await call(client, "analyse", metrics=["click:bernoulli"], rows=rows, item="i")
        assert "item must be a text or a number, not [1]" in said
        assert "either rows or a file must be given" in await call(client, "analyse", metrics=["click:bernoulli"])
        assert (await call(client, "status", name="x"))["pulls"] == 0

    run(storage, steps, write=True)
    with pytest.raises(mobai.InputError, match="files must be a folder"):
        make_server(storage, files="/no/such/folder")


def test_reports_are_resources(storage: str) -> None:
    mobai.Experiment.create(storage, "ads", ["a", "b"], ["click:bernoulli"])

    async def steps(client: Client) -> None:
        templates = (await client.list_resource_templates()).resource_templates
        assert [one.uri_template for one in templates] == ["mobai://experiments/{name}/report"]
        found = await client.read_resource("mobai://experiments/ads/report")
        assert "# ads" in found.contents[0].text  # type: ignore[union-attr]
        with pytest.raises(MCPError, match="no experiment"):
            await client.read_resource("mobai://experiments/nothing/report")

    run(storage, steps)


def test_an_experiment_that_was_made_again_is_loaded_again(storage: str) -> None:
    mobai.Experiment.create(storage, "ads", ["a", "b"], ["click:bernoulli"])

    def arms(status: Any) -> list[str]:
        return [row["arm"] for row in status["details"]["arms"]]

    async def steps(client: Client) -> None:
        assert arms(await call(client, "status", name="ads", details=True)) == ["a", "b"]
        mobai.delete(storage, "ads")
        mobai.Experiment.create(storage, "ads", ["c", "d"], ["click:bernoulli"])
        assert arms(await call(client, "status", name="ads", details=True)) == ["c", "d"]
        other = mobai.Experiment.load(storage, "ads")
        other.tell(other.ask()[0], {"click": 1})
        assert (await call(client, "status", name="ads"))["pulls"] == 1

    run(storage, steps)


def test_over_standard_input_and_output(storage: str) -> None:
    mobai.Experiment.create(storage, "ads", ["a", "b"], ["click:bernoulli"])
    words = ["-m", "mobai", "mcp", "--storage", storage, "--write"]

    async def main() -> None:
        async with Client(StdioServerParameters(command=sys.executable, args=words)) as client:
            assert client.server_info is not None
            assert client.server_info.name == "mobai"
            assert client.instructions is not None
            given = await call(client, "ask", name="ads", n=2)
            assert {one["arm"] for one in given} <= {"a", "b"}
            await call(client, "tell", name="ads", reports={str(given[0]["id"]): {"click": 1}})

    aside(anyio.run, main)
    assert mobai.Experiment.load(storage, "ads").status().pulls == 1
