"""The server: who may ask it, what it answers, and how it ends.

It listens on 127.0.0.1 alone, and answers nothing without its token, which stands in the address that the command
prints: neither another user of the machine nor a page of another site has it (cross-site request forgery). A request
whose ``Host`` is another name is refused as well, so that no page of another site can reach it under a name of its own
(DNS rebinding).

A few requests are computed at the same time, each in a thread of its own and within its budget: one that takes long
does not hold up the others, and one that takes too long is answered with an error.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import socket
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from functools import cache, partial
from threading import Thread
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from forecast.base import budgets
from forecast.base.json_text import strict_json, to_json
from forecast.cli.explore.session import MAX_UPLOAD_BYTES, Session
from forecast.errors import BudgetError, ForecastError, UsageError, join_lines
from forecast.report.page import Served, live

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

T = TypeVar("T")

HOST = "127.0.0.1"
#: The header that carries the token, and the parameter of an address that does.
TOKEN_HEADER, TOKEN_PARAMETER = "x-forecast-token", "token"
#: Requests that are computed at the same time, and seconds for which one over its time is waited for.
MAX_CONCURRENT_REQUESTS, _WAIT_SECONDS = 4, 2.0
#: Bytes of a question.
_MAX_REQUEST_BYTES = 2_000_000
_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
)


class Budget(NamedTuple):
    """What one request may take: seconds, and memory as text (by default what the command may take)."""

    seconds: float = 60.0
    memory: str | None = None


class Guard:
    """Lets only our own page in.

    Parameters
    ----------
    app : ASGI application
    port : int
    token : str
    """

    def __init__(self, app: ASGIApp, port: int, token: str) -> None:
        self.app, self.host, self.token = app, f"{HOST}:{port}", token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or say why not."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return

        async def headed(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *_HEADERS]
            await send(message)

        refused = self._refusal(scope)
        await (self.app if refused is None else refused)(scope, receive, headed)

    def _refusal(self, scope: Scope) -> Response | None:
        told: dict[str, list[str]] = {}
        for name, value in scope["headers"]:
            told.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
        if told.get("host") != [self.host]:
            return PlainTextResponse(f"This server is {self.host} and nothing else.\n", 421)
        if any(origin != f"http://{self.host}" for origin in told.get("origin", [])):
            return PlainTextResponse("Another page asks: refused.\n", 403)
        if any(site not in ("same-origin", "none") for site in told.get("sec-fetch-site", [])):
            return PlainTextResponse("Another site asks: refused.\n", 403)
        # an address with a token opens the page and nothing else: what asks for anything carries it in a header
        given = told.get(TOKEN_HEADER, [])
        if not given and scope["method"] in ("GET", "HEAD"):
            given = parse_qs(scope["query_string"].decode("latin-1")).get(TOKEN_PARAMETER, [])
        if len(given) != 1 or not secrets.compare_digest(given[0].encode(), self.token.encode()):
            return PlainTextResponse(
                "The token is missing or wrong: open the whole address that forecast explore printed.\n", 403
            )
        return None


def app(session: Session, port: int, token: str, budget: Budget | None = None) -> Guard:
    """Return the application that answers the page.

    Parameters
    ----------
    session : Session
    port : int
        Where it will listen: what ``Host`` must say.
    token : str
        What every request must carry.
    budget : Budget, optional
        What each request may take.
    """
    budget = budget or Budget()
    opening, turn = asyncio.Lock(), asyncio.Semaphore(MAX_CONCURRENT_REQUESTS)
    first = cache(partial(served_page, session, token))

    async def home(request: Request) -> Response:
        try:
            async with opening:  # it is made once
                result = await answer_within(first, budget)
        except ForecastError as problem:
            return PlainTextResponse(f"{join_lines(problem)}\n", _http_status(problem))
        return HTMLResponse(
            result.html, headers={"content-security-policy": f"{result.policy}; frame-ancestors 'none'"}
        )

    async def told(request: Request, most: int, make: Callable[[bytes], dict[str, Any]]) -> Response:
        """Answer with JSON, and nobody who has gone."""
        body = await _body(request, most)
        if body is None:
            return _json_response({"error": f"more than {most:,} bytes"}, 413)
        async with turn:
            if await request.is_disconnected():
                return Response(status_code=499)
            try:
                return await answer_within(lambda: _json_response(make(body)), budget)
            except ForecastError as problem:
                return _json_response({"error": join_lines(problem)}, _http_status(problem))

    async def upload(request: Request) -> Response:
        name = request.query_params.get("name", "")
        return await told(request, MAX_UPLOAD_BYTES, lambda body: session.upload(name, body))

    def asking(ask: Callable[[dict[str, Any]], dict[str, Any]]) -> Callable[[Request], Any]:
        async def answered(request: Request) -> Response:
            return await told(request, _MAX_REQUEST_BYTES, lambda body: ask(_parse_mapping(body)))

        return answered

    routes = [
        Route("/", home),
        Route("/answer", asking(session.answer), methods=["POST"]),
        Route("/about", asking(partial(session.part, "about")), methods=["POST"]),
        Route("/appendices", asking(partial(session.part, "appendices")), methods=["POST"]),
        Route("/scenario", asking(session.opened), methods=["POST"]),
        Route("/upload", upload, methods=["POST"]),
    ]
    return Guard(Starlette(routes=routes), port, token)


def _http_status(problem: ForecastError) -> int:
    return 503 if isinstance(problem, BudgetError) else 400


async def answer_within(make: Callable[[], T], budget: Budget) -> T:
    """Compute within a budget, in a thread that ends with the server: those of a pool would be waited for.

    Long loops end by themselves once their seconds are used up; what has none is no longer waited for a little later.
    """
    computed: Future[T] = Future()

    def run() -> None:
        if not computed.set_running_or_notify_cancel():  # whoever asked has gone
            return
        try:
            with budgets.of_request(budget.memory, budget.seconds):
                computed.set_result(make())
        except BaseException as problem:
            computed.set_exception(problem)

    Thread(target=copy_context().run, args=(run,), daemon=True).start()
    waiting = asyncio.wrap_future(computed)
    done, _ = await asyncio.wait([waiting], timeout=budget.seconds + _WAIT_SECONDS)
    if not done:
        waiting.add_done_callback(lambda late: late.cancelled() or late.exception())  # nobody asks what became of it
        raise BudgetError(f"the request has no answer after {budget.seconds:g} s, which --request-seconds sets")
    return waiting.result()


def _json_response(value: dict[str, Any], status: int = 200) -> Response:
    return Response(to_json(value), status, media_type="application/json")


async def _body(request: Request, most: int) -> bytes | None:
    """Read a body; None where it is too large, which is not read to its end."""
    stated = request.headers.get("content-length", "0")
    if not stated.isdigit() or int(stated) > most:
        return None
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > most:
            return None
        parts.append(part)
    return b"".join(parts)


def _parse_mapping(body: bytes) -> dict[str, Any]:
    value = strict_json(body, where="asked", error=UsageError)
    if not isinstance(value, dict):
        raise UsageError("asked: expected an object")
    return value


def served_page(session: Session, token: str) -> Served:
    """Return the page of the first scenario, with the engine behind it."""
    scenario = session.opened({})
    engine = {"token": token, "library": session.library(), "shapes": session.shapes(), "scenario": scenario}
    return live(session.run({}), engine, session.units_of({}), toml=scenario["toml"])


def listen(port: int) -> socket.socket:
    """Return a socket of this machine alone; port 0 takes a free one.

    Raises
    ------
    UsageError
        If another program listens there.
    """
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, port))
        listening.listen()  # whoever reads the address may ask before the server has begun
    except OSError as problem:
        listening.close()
        raise UsageError(
            f"--port {port}: cannot listen there: {problem.strerror}; --port 0 takes a free one"
        ) from problem
    return listening


def serve(session: Session, listening: socket.socket, token: str, budget: Budget) -> None:
    """Answer until SIGINT or SIGTERM; what is being computed then is not waited for."""
    import uvicorn

    port = listening.getsockname()[1]
    config = uvicorn.Config(
        app(session, port, token, budget),
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="off",
        timeout_graceful_shutdown=1,
        h11_max_incomplete_event_size=64 * 1024,
    )
    server = uvicorn.Server(config)
    # what is cancelled by its end is no error
    logging.getLogger("uvicorn.error").addFilter(lambda record: not server.should_exit)
    server.run(sockets=[listening])
