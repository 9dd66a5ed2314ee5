"""What an agent does with mobai's MCP server: begin an experiment, measure, stop. (pip install 'mobai[mcp]').

The client is that of the MCP SDK; an agent calls the same tools by itself.
"""

from __future__ import annotations

import asyncio
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters

RIGHT = {"brief": 0.5, "careful": 0.85, "plain": 0.4}


async def call(client: Client, tool: str, **arguments: Any) -> Any:
    """Return what a tool returns."""
    found = await client.call_tool(tool, arguments)
    content = found.structured_content or {}
    return content.get("result", content)


async def run(storage: str) -> None:
    """Compare three prompts, which a generator of random numbers answers for."""
    words = ["-m", "mobai", "mcp", "--storage", storage, "--write"]
    coins = random.Random(1)
    async with Client(StdioServerParameters(command=sys.executable, args=words)) as client:
        await call(client, "create_experiment", name="prompts", arms=list(RIGHT), metrics=["right:bernoulli"])
        while given := await call(client, "ask", name="prompts", n=5):
            told = {str(one["id"]): {"right": int(coins.random() < RIGHT[one["arm"]])} for one in given}
            await call(client, "tell", name="prompts", reports=told)
        status = await call(client, "status", name="prompts")
        print(status["winners"], f"after {status['pulls']} answers")  # noqa: T201


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(run(f"sqlite:///{Path(folder) / 'agent.db'}"))
