"""The server: which tools there are, what one call may reach and take, and how a refusal is told.

It answers over standard input and output, and listens nowhere. A few calls are computed at the same time, each within
its budget. What a tool refuses is an error of that tool, in the one sentence that the command line has for it.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import signal
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.mcpserver.tools import Tool
from mcp.server.stdio import stdio_server
from mcp.types import CallToolResult, ListToolsResult, TextContent, Tool as ListedTool, ToolAnnotations

import forecast
from forecast.base import access
from forecast.base.json_text import to_json
from forecast.cli import render
from forecast.cli.agents import tools
from forecast.cli.explore.server import MAX_CONCURRENT_REQUESTS, Budget, answer_within
from forecast.errors import ForecastError, UnknownNameError, UsageError, join_lines, printable

_INSTRUCTIONS = (
    "Forecasts and scaling laws with intervals, sources and a record of past accuracy. `find` and `quantities` list "
    "what there is, by name; `ask` answers one question, `run` a scenario, `plan` plans a training run, `fit` and "
    "`extrapolate` read a table or a file below the folder of the server. Quote the sentence of an answer with its "
    "interval; an answer within the never mass has no date. What an answer leaves out it lists under left_out."
)
#: Characters of the longest answer.
MAX_ANSWER_CHARACTERS = 1_000_000


def tool_server(folder: Path, budget: Budget) -> Server[Any]:
    """Return a server of the tools.

    Parameters
    ----------
    folder : Path
        Files that a call names lie below it.
    budget : Budget
        What each call may take.
    """
    offered = {
        name: Tool.from_function(fn, name=name, description=inspect.getdoc(fn), structured_output=False)
        for name, fn in tools.TOOLS.items()
    }
    turn = asyncio.Semaphore(MAX_CONCURRENT_REQUESTS)
    # nothing is written, and nothing outside of this machine is asked
    hints = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
    listed = [
        ListedTool(name=name, description=tool.description, input_schema=tool.parameters, annotations=hints)
        for name, tool in offered.items()
    ]

    async def list_tools(*_: object) -> ListToolsResult:
        return ListToolsResult(tools=listed)

    async def call_tool(_: object, request: Any) -> CallToolResult:
        try:
            if request.name not in offered:
                raise UnknownNameError("tool", request.name, offered)
            tool = offered[request.name]
            call = partial(tool.fn, **_checked_arguments(tool, request.arguments or {}))
            async with turn:
                text = await answer_within(partial(_answer_text, request.name, call, folder), budget)
        except ForecastError as problem:
            return _error(join_lines(problem))
        except Exception as problem:
            render.traceback_of(problem)
            return _error(f"unexpected {join_lines(f'{type(problem).__name__}: {problem}')}; please report this")
        return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=json.loads(text))

    return Server(
        "lawcast", version=forecast.__version__, instructions=_INSTRUCTIONS, on_list_tools=list_tools,
        on_call_tool=call_tool,
    )  # fmt: skip


def _answer_text(name: str, call: partial[dict[str, Any]], folder: Path) -> str:
    access.use(replace(access.current(), root=folder))  # in a thread of its own
    text = to_json(call())
    if len(text) > MAX_ANSWER_CHARACTERS:
        raise UsageError(
            f"{name}: the answer has {len(text):,} characters; at most {MAX_ANSWER_CHARACTERS:,} are sent: ask for "
            "fewer sections or quantities, or keep fewer rows"
        )
    return text


def _error(text: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)


def _checked_arguments(tool: Tool, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call as its tool takes them; one that does not exist, or is of another type, raises."""
    for name in given:
        if name not in tool.parameters["properties"]:
            raise UnknownNameError("argument", name, tool.parameters["properties"], where=tool.name)
    try:
        return dict(tool.fn_metadata.validate_arguments(dict(given)))
    except ValueError as problem:  # of pydantic
        first = problem.errors()[0]  # type: ignore[attr-defined]
        where = ": ".join([tool.name, *map(str, first["loc"])])
        raise UsageError(f"{where}: {first['msg']}, got '{printable(first['input'], 60)}'") from None


def serve(folder: Path, budget: Budget) -> None:
    """Answer over standard input and output until the input ends."""

    async def answer() -> None:
        # the thread that reads the input would be waited for
        for number, code in ((signal.SIGINT, 0), (signal.SIGTERM, 143)):
            with suppress(NotImplementedError):  # on Windows
                asyncio.get_running_loop().add_signal_handler(number, os._exit, code)
        server = tool_server(folder, budget)
        async with stdio_server() as (requests, answers):
            await server.run(requests, answers, server.create_initialization_options())

    asyncio.run(answer())
