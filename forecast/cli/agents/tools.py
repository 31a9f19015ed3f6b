"""The tools of ``forecast mcp``, each of which calls the Python door of the command of its name, and their server.

An answer is what ``--json`` prints, shortened: it opens with the sentence, and lists the sections that are left out,
with their sizes. The docstrings are what an agent reads.

The server answers over standard input and output, and listens nowhere. A few calls are computed at the same time, each
within its budget. What a tool refuses is an error of that tool, in the one sentence that the command line has for it.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from mcp.server.lowlevel import Server
from mcp.server.mcpserver.tools import Tool
from mcp.server.stdio import stdio_server
from mcp.types import CallToolResult, ListToolsResult, TextContent, Tool as ListedTool, ToolAnnotations

import forecast
from forecast.base import access
from forecast.base.json_text import to_json
from forecast.cli import render
from forecast.cli.ask.extrapolate import extrapolate_columns, extrapolation_data
from forecast.cli.catalogue.find import MAX_RESULTS
from forecast.cli.explore.server import MAX_CONCURRENT_REQUESTS, Budget, answer_within
from forecast.cli.fit import fit_arguments
from forecast.cli.reading_options import MAX_REQUEST_DRAWS
from forecast.errors import ForecastError, UnknownNameError, UsageError, join_lines, printable
from forecast.fit.options import check_level
from forecast.report.result_data import model_sources, projection_data
from forecast.tables.column_names import unquoted

if TYPE_CHECKING:
    from forecast.projection.result import Projection
    from forecast.tables.columns import Columns


#: Characters of an answer beyond which sections that nobody asked for are left out.
BRIEF_CHARACTERS = 20_000
Texts: TypeAlias = Sequence[str]
Dates: TypeAlias = Sequence[str | float]
Settings: TypeAlias = Mapping[str, str | float] | None
Amount: TypeAlias = str | float | None
#: The sections of an answer, beside its sentence, interval, sources and record.
Sections: TypeAlias = Sequence[Literal[
    "today", "differences", "questions", "pooled", "drivers", "rankings", "update", "values", "first", "limits",
    "regimes", "failing", "models",
]]  # fmt: skip


def answer_question(
    question: str, at: Dates = (), until: float | None = None, settings: Settings = None, x: str = "",
    where: Texts = (), level: float = 0.9, draws: int = 2048, seed: int = 0, sections: Sections = (),
    quantities: Texts = (),
) -> dict[str, Any]:  # fmt: skip
    """Answer one question about anything that has a name: when a level is reached, or a value at a date.

    question: a name, arithmetic over names, or a comparison, with units after blanks:
      "largest-run >= 1e29 FLOP"; "run-price-performance * 1M USD >= 2.1e25 FLOP"; "model-capability.power";
      "prices.csv:price <= 100" (a column of a file). Names: `quantities`, `find`.
    at: dates of a value, or by which a comparison may hold: ["2030", "2035-07-01"].
    until: the last date, a year: 2060.
    settings: other values for what is behind it: {"variant": "data-limited"}, {"goal": "5 PFLOP/s"}.
    x, where: of a column of a file: its column of dates, and rows to keep: ["run is a", "size > 3"].
    level: the probability of the interval, between 0 and 1. draws: joint samples, at most 4096. seed: equal seeds give
      equal numbers.
    sections, quantities: more of the answer: ["limits"]; the values over time of quantities by name: ["power"].

    Returns the sentence, the answer (dates ISO, quantiles p05 to p95, null within the never mass; values in its unit),
    its interval, the record of past forecasts, sources, warnings, other forecasts (rivals), and what was left out.
    """
    from forecast.scenarios.question_text import world_quantity

    _check_draws("ask", draws)
    options: dict[str, Any] = {"dates": list(at), "until": until, "with_": settings, "x": x}
    options["where"] = fit_arguments.parse_conditions(where)
    answer = forecast.ask(question, draws=draws, seed=seed, **{key: each for key, each in options.items() if each})
    rivals = () if (of := world_quantity(question)) is None else of.rivals
    told = [{"name": each.name, "differs": each.differs, "forecast": each.forecast} for each in rivals]
    return _answer(answer.run, level, sections, quantities, read=answer.run.read, rivals=told)


def run_scenario(
    scenario: str = "", toml: str = "", at: Dates = (), settings: Settings = None, what_if: Texts = (),
    preset: str = "", until: float | None = None, as_of: str = "", level: float = 0.9, draws: int = 2048,
    seed: int = 0, sections: Sections = (), quantities: Texts = (),
) -> dict[str, Any]:  # fmt: skip
    """Run a scenario and answer its questions, such as when a computer matches the brain, or which GPU to buy.

    scenario: a registered name ("brain-parity", "gpu-guide"; see `find`) or a TOML file ("mine.toml").
    toml: the text of a scenario instead, at most 1 MiB; files that it names lie below the folder of the server.
    at: dates at which its questions ask instead: ["2030"].
    settings: {"metric": "hpcg"} narrows a choice; {"brain": "1e13..1e17"} and {"goal": "5 PFLOP/s"} set a quantity,
      {"machine.growth": 0.2} a parameter, {"machine": "hardware/linpack@random-walk"} another model.
    what_if: changes from a date on: ["machine.growth*0.5 since 2028 until 2032"].
    preset: settings of the scenario by their name. until: the last date, a year.
    as_of: use only what was known before this date: "2024-01-01".
    level, draws, seed, sections, quantities: as for `ask`.

    Returns as `ask` does; where something is changed, also what that moves (differences).
    """
    from forecast.projection.engine import loaded
    from forecast.projection.paths.run_cache import SHARED_BYTES, RunCache
    from forecast.scenarios.quantities.changes import parse_change
    from forecast.scenarios.question_text import at_dates
    from forecast.scenarios.registered import parse_scenario
    from forecast.scenarios.scenario import Scenario

    _check_draws("run", draws)
    if bool(scenario) == bool(toml):
        raise UsageError('run: expected either a scenario, such as "brain-parity" or "mine.toml", or its text as toml')
    if toml:  # with a folder, so that it reads no file outside of it
        source = Scenario.from_dict(parse_scenario(toml, "toml"), where="toml", folder=Path())
    else:
        source = loaded(access.check_named(scenario) if scenario.lower().endswith(".toml") else scenario)
    source = at_dates(source, at) if at else source
    options: dict[str, Any] = {"until": until, "as_of": as_of or None, "draws": draws, "seed": seed}
    options["cache"] = RunCache(SHARED_BYTES)
    changes: dict[str, Any] = {
        "with_": settings,
        "preset": preset or None,
        "what_if": [parse_change(text) for text in what_if],
    }
    projection = forecast.project(source, ends=not quantities, **changes, **options)
    if any(changes.values()) and not projection.swept:
        projection = projection.beside(forecast.project(source, ends=True, **options))
    return _answer(projection, level, sections, quantities, read=projection.read)


def list_quantities(name: str = "") -> dict[str, Any]:
    """List the quantities of the world that can be asked for, with units; or describe one: definition, bounds, rivals.

    name: of one, such as "largest-run"; nothing lists all.
    """
    found = forecast.quantities(name)
    return found[0] if name else {"quantities": found}


def fit_law(
    law: str, data: str, let: Texts = (), y: str = "", variables: str = "", where: Texts = (), by: str = "",
    weights: str = "", groups: str = "", bootstrap: int | None = None, level: float = 0.9, seed: int = 0,
) -> dict[str, Any]:  # fmt: skip
    """Fit a law to a table or a file: parameters with intervals, and a verdict on both.

    law: a registered name ("scaling/chinchilla"; see `find`), or a formula ("a + b*x") with its `variables` ("x").
    data: a file below the folder of the server ("runs.csv"), or the name of a table.
    let: variables of the law from columns: ["N = params_b*1e9", "D = tokens"]. y: the column that the law explains.
    where: rows to keep: ["params_b > 0.1", "kind is dense"]. by: a column; one fit for each of its values.
    weights, groups: columns; rows of one group are not independent. bootstrap: refits of resamples, at most 4096.
    level, seed: as for `ask`.
    """
    from forecast.cli.fit.fit_output import fit_data, fits_data
    from forecast.fit.fit import Fit

    _check_draws("fit", bootstrap or 1, "bootstrap")
    rows, source, notes = _read(data, where)
    chosen: dict[str, Any] = {"y": y, "by": by, "weights": weights, "groups": groups, "bootstrap": bootstrap}
    chosen["let"] = fit_arguments.parse_formulas(let, "let")
    found: Any = fit_arguments.law_of(law, [variables] if variables else [])[0].fit(
        rows, level=level, seed=seed, **{key: each for key, each in chosen.items() if each}
    )
    told = fit_data(found, level, found.name) if isinstance(found, Fit) else fits_data(found, level)
    return _data_answer(told, source, seed, [*notes, *found.warnings])


def extrapolate_column(
    data: str, x: str, y: str, to: str | float = "", threshold: float | None = None, where: Texts = (),
    reduce: Literal["", "mean", "median", "min", "max", "last", "best"] = "", level: float = 0.9, seed: int = 0,
) -> dict[str, Any]:  # fmt: skip
    """Extrapolate a column of a table or a file beyond its data, with an interval and the record of such forecasts.

    data: a file below the folder of the server ("runs.csv"), or the name of a table.
    x, y: the column to go along (steps, tokens, compute, or dates), and the column to extrapolate.
    to: where to, in the unit of x: 1e9, "1e9,1e10"; a year or a date where x is dates: "2035".
    threshold: where x is dates, the level of y whose first date is asked for.
    where: rows to keep: ["run is big"]. reduce: what becomes of several rows at one place.
    level, seed: as for `ask`.
    """
    rows, source, notes = _read(data, where)
    found = extrapolate_columns(
        rows, names=(unquoted(x, rows), unquoted(y, rows)), threshold=threshold, level=level, rule=reduce,
        to=(to if isinstance(to, str) else f"{to:.17g}") or None, bounds={}, seed=seed,
    )  # fmt: skip
    told = {**extrapolation_data(found), "read": found.read}
    return _data_answer(told, source, seed, [*notes, *found.warnings])


def plan_training(
    budget: Amount = None, compute: Amount = None, loss: Amount = None, size: Amount = None, tokens: Amount = None,
    days: Amount = None, by: str | None = None, cards: Amount = None, power: Amount = None, device: str = "",
    risk: float = 0.2, settings: Settings = None, level: float = 0.9, draws: int = 2048, seed: int = 0,
) -> dict[str, Any]:  # fmt: skip
    """Plan a training run: what is given settles the model, cards, days and cost that are left open.

    How much, one of: budget [USD] ("20M USD"), compute [FLOP], loss [nat/token], size [parameters] ("70B"),
      tokens ("2T").
    How fast, one of: days, by (a date: "2027-06"), cards, power [MW].
    device: its name; by default the one on which the run is cheapest. risk: how likely the plan may exceed that.
    settings: of the scenario that plans: {"rent": "2 USD/hour"}. level, draws, seed: as for `ask`.

    Returns the sentence, and the cheapest plan, the fastest, and a smaller model of the same loss, with intervals.
    """
    given: dict[str, Any] = {name: each for name, each in locals().items() if name not in ("settings", "level")}
    _check_draws("plan", draws)
    result = forecast.plan(with_=settings, **given)
    warnings = [str(each) for each in result.run.warnings]
    return {
        **result.to_record(level), "sources": model_sources(result.run), "warnings": warnings,
        "provenance": result.run.provenance,
    }  # fmt: skip


def find_names(words: str) -> dict[str, Any]:
    """Find quantities, scenarios, models, laws and tables by words of their names, titles, units and sources.

    words: "gpu price", "FLOP/s", "dettmers". Names come first, then titles; 20 at most are listed.
    """
    rows = forecast.find(words)
    sentence = rows.headline or f"{len(rows)} match; at most {MAX_RESULTS} are listed: another word narrows them."
    return {"sentence": sentence, "found": rows[:MAX_RESULTS]}


#: The tools by the names that an agent is offered, the way to begin first.
TOOLS: dict[str, Callable[..., dict[str, Any]]] = {
    "find": find_names, "quantities": list_quantities, "ask": answer_question, "run": run_scenario,
    "plan": plan_training, "extrapolate": extrapolate_column, "fit": fit_law,
}  # fmt: skip


# --- Answers ----------------------------------------------------------------------------------------------------------


def _check_draws(tool: str, draws: int, what: str = "draws") -> None:
    if not 1 <= draws <= MAX_REQUEST_DRAWS:
        more = f"; the command line takes more: forecast {tool} … --{what} {draws}" if draws > 0 else ""
        raise UsageError(f"{tool}: {what}: expected 1 to {MAX_REQUEST_DRAWS:,} in one call, got {draws:,}{more}")


def _read(data: str, where: Texts) -> tuple[Columns, dict[str, str], list[str]]:
    """Return the rows of a file or a table that meet every condition, their hashes, and a note about the others."""
    columns, source = fit_arguments.data_of(access.check_named(data), "data")
    rows, note = fit_arguments.write_outputs(columns, where)
    return rows, source, [note] if note else []


def _answer(run: Projection, level: float, sections: Texts, quantities: Texts, **more: Any) -> dict[str, Any]:
    """Return a projection's answer, and its other sections as far as they are asked for or short."""
    for name in quantities:
        if name not in run.numeric:
            raise UnknownNameError("quantity", name, run.numeric, where="quantities")
    data = projection_data(run, only=quantities, level=check_level(level, "answer"))
    if "models" not in sections:
        data["models"] = {each["name"]: each["summary"] for each in data["models"]}
    answer = data.pop("answer", None) or {}
    quantiles = answer.get("crossing", answer)
    central = {"level": 0.9, "low": quantiles["p05"], "high": quantiles["p95"]} if "p05" in quantiles else None
    out = {
        "sentence": data.pop("headline"), "answer": answer, "interval": answer.pop("interval", central),
        "record": data.pop("record", []), "sources": model_sources(run), "newest_data": data.pop("newest", {}),
        "warnings": [*run.failures, *map(str, run.warnings)], "provenance": run.provenance, **more,
    }  # fmt: skip
    left_out, size = {}, len(to_json(out))
    for key, each in data.items():
        length = len(to_json(each)) if each else 0
        if key in (*sections, "quantities") or size + length <= BRIEF_CHARACTERS:
            out[key], size = each, size + length
        else:
            left_out[key] = length
    if left_out:
        out["left_out"] = {"characters": left_out, "ask_for": "sections=[…]; values over time: quantities=[names]"}
    return {key: each for key, each in out.items() if each or key == "warnings"}


def _data_answer(
    told: dict[str, Any], source: Mapping[str, str], seed: int, warnings: Sequence[object]
) -> dict[str, Any]:
    """Return what was computed from data, with where these come from."""
    record = {"versions": {"lawcast": forecast.__version__}, "seed": seed, "data": source}
    return {"sentence": told.pop("headline"), **told, "warnings": [*map(str, warnings)], "provenance": record}


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
        for name, fn in TOOLS.items()
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
