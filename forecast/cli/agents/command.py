"""``forecast mcp``: serve the tools of an agent over standard input and output."""

from __future__ import annotations

from pathlib import Path

import click

from forecast.cli.reading_options import access_options, request_options
from forecast.errors import ForecastError, UsageError


@click.command()
@request_options
@access_options
def mcp(request_seconds: float, request_memory: str | None) -> None:
    """Serve tools to an agent: ask, run, quantities, fit, extrapolate, plan and find, by the Model Context Protocol.

    A host such as an editor or a chat program starts it and speaks to it over standard input and output. Its tools read
    files below the folder it is started in, and no others; they write none, and open no connection. Ctrl-C, or the end
    of the input, ends it. Needs: pip install 'lawcast[mcp]'.

    \b
    forecast mcp
    forecast mcp --request-seconds 120 --request-memory 2GiB
    """  # noqa: D301 - click reads the \b as "do not rewrap"
    try:
        from forecast.cli.agents.tools import serve
        from forecast.cli.explore.server import Budget
    except ImportError as problem:
        name = (problem.name or "").partition(".")[0]
        raise ForecastError(f"mcp: needs {name}: pip install 'lawcast[mcp]'") from problem
    if (folder := Path.cwd()) == folder.parent:
        raise UsageError(f"mcp: started in '{folder}', below which every file is: start it in a folder of its own")
    serve(folder, Budget(request_seconds, request_memory))
