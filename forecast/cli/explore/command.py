"""``forecast explore``: change a scenario in the browser, and see its answer follow."""

from __future__ import annotations

import secrets
import sys
from contextlib import suppress

import click

from forecast.cli import completion, render
from forecast.cli.reading_options import MAX_REQUEST_DRAWS, access_options, request_options
from forecast.errors import UsageError


@click.command()
@click.argument("scenario", default="", shell_complete=completion.complete_names("scenario", files=True))
@click.option("--port", type=click.IntRange(0, 65535), default=8765, show_default=True, help="0 takes a free one.")
@click.option("--browser/--no-browser", default=None, help="Open a browser; by default on a terminal.")
@click.option(
    "--draws", type=click.IntRange(1, MAX_REQUEST_DRAWS), default=2048, show_default=True, metavar="N",
    help="Joint samples.",
)  # fmt: skip
@click.option("--seed", type=int, default=0, show_default=True, metavar="N", help="Equal seeds give equal bytes.")
@request_options
@access_options
def explore(
    scenario: str,
    port: int,
    browser: bool | None,
    draws: int,
    seed: int,
    request_seconds: float,
    request_memory: str | None,
) -> None:
    """Serve the page of SCENARIO on this machine, with the engine behind it: whatever is changed is answered at once.

    It prints an address with a token, and answers nobody who does not have it.

    Numbers go beyond the range that is sampled, models can be swapped, choices narrowed, a CSV file put in the place of
    a quantity, and the scenario edited. Ctrl-C ends it, with exit code 0. Needs: pip install 'lawcast[explore]'.

    \b
    forecast explore
    forecast explore brain-parity
    forecast explore mine.toml --port 0 --no-browser
    """  # noqa: D301 - click reads the \b as "do not rewrap"
    try:
        import uvicorn  # noqa: F401

        from forecast.cli.explore.server import TOKEN_PARAMETER, Budget, listen, serve
        from forecast.report.page import live  # noqa: F401 - its template needs one too
    except ImportError as problem:
        name = (problem.name or "").partition(".")[0]
        raise UsageError(f"explore: needs {name}: pip install 'lawcast[explore]'") from problem
    from forecast.cli.explore.session import Session

    with Session(scenario, draws=draws, seed=seed) as session, listen(port) as listening:
        with render.progress_bar("drawing"):
            session.run({})  # so that a scenario that cannot be drawn is refused here, and the page comes at once
        token = secrets.token_urlsafe(32)
        address = f"http://127.0.0.1:{listening.getsockname()[1]}/?{TOKEN_PARAMETER}={token}"
        render.write(address)
        sys.stdout.flush()
        render.note("Ctrl-C ends it")
        if browser or (browser is None and sys.stdout.isatty()):
            import webbrowser

            webbrowser.open(address)
        with suppress(KeyboardInterrupt):
            serve(session, listening, token, Budget(request_seconds, request_memory))
