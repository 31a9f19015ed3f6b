"""``forecast scenarios``: choices, quantities and questions."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from forecast.cli import completion, render
from forecast.cli.catalogue.listing import catalogue, json_option
from forecast.cli.reading_options import access_options
from forecast.contract.registry import Record, get_registry
from forecast.errors import ForecastError, ScenarioError, UsageError, printable
from forecast.scenarios.registered import read_scenario

if TYPE_CHECKING:
    from forecast.projection.paths.run_cache import RunCache

#: That a lever moves an answer shows in so many worlds.
_LEVER_DRAWS = 64
#: A scenario that runs as it is.
_NEW_SCENARIO = """\
title = "When does the fastest supercomputer reach 1e20 FLOP/s?"
until = 2045
step = "1/12"                      # from the first month after the last row on

[quantities.speed]
data = "datasets/supercomputers"   # or a file of yours beside this one: "mine.csv"
x = "date"
y = "rmax_top1"
unit = "FLOP/s"
shape = "trends/pool"
keeps = "frontier"                 # the rows are records, below which nothing falls; of a series: "nothing"
[questions.goal]
when = "speed >= 1e20 FLOP/s"
"""


def _scenario_details(record: Record) -> dict[str, Any]:
    path = Path(record.spec.path)
    raw = read_scenario(path, path.name)
    return {
        "question": raw.get("title"),
        **_levers_and_presets(record.full_name),
        "from": raw.get("start"),
        "until": raw.get("until"),
        "choices": [{"name": name, "options": value} for name, value in _mapping_at(raw, "choices", path).items()],
        "quantities": [{"name": name, "from": value} for name, value in _mapping_at(raw, "quantities", path).items()],
        "questions": [
            {"name": name, **(value if isinstance(value, Mapping) else {"when": value})}
            for name, value in _mapping_at(raw, "questions", path).items()
        ],
    }


def _levers_and_presets(name: str) -> dict[str, Any]:
    """Return what a reader may move, and presets, as they are typed; nothing of a scenario that cannot be read."""
    from forecast.scenarios.scenario import Scenario

    try:
        scenario = Scenario.load(name)
    except ForecastError:
        return {}
    levers = [
        {"lever": each.label, "from": each.span, "set": each.command(), **({"about": each.about} if each.about else {})}
        for each in scenario.levers
    ]
    presets = [each.plain for each in scenario.presets]
    return {**({"levers": levers} if levers else {}), **({"presets": presets} if presets else {})}


def _mapping_at(raw: Mapping[str, Any], key: str, path: Path) -> Mapping[str, Any]:
    value = raw.get(key, {})
    if not isinstance(value, Mapping):
        raise ScenarioError(f"{printable(path.name)}: {key}: expected a table, got {type(value).__name__}")
    return value


scenarios = catalogue("scenarios", "scenario", columns={}, describe=_scenario_details)


@scenarios.command("check")
@click.argument("scenario", required=False, shell_complete=completion.complete_names("scenario", files=True))
@click.option("--all", "everything", is_flag=True, help="Every scenario, and every quantity of the world against each.")
@click.option("--draws", type=int, default=512, show_default=True, metavar="N", help="Joint samples.")
@click.option("--seed", type=int, default=0, show_default=True, metavar="N", help="Equal seeds give equal numbers.")
@access_options
@json_option
@click.pass_context
def check_scenario(
    ctx: click.Context, scenario: str | None, everything: bool, draws: int, seed: int, as_json: bool
) -> None:
    """Hold the answers of SCENARIO to its data and to one another; with --all, those of all to one another, too.

    A row called pooled lies between its rows; the forecast begins at the last observation; what the newest observation
    meets is so already; questions that ask for more come later; what has risen does not fall in the median; each lever
    moves an answer. Exits with 1 where a number breaks a rule. Of a rebuilt publication only the levers are held to it:
    it prints what was published.

    --all also asks each quantity of the world by every door that scenarios have to it: they tell the same numbers, in
    its bounds, not behind its last row; and what differs is a rival that says how.

    \b
    forecast scenarios check brain-parity
    forecast scenarios check --all --draws 128
    """  # noqa: D301 - click reads the \b as "do not rewrap"
    from forecast.conformance.answer_checks import DOOR_RULES, RULES, door_breaches
    from forecast.projection.paths.run_cache import SHARED_BYTES, RunCache

    if (scenario is None) is not everything:
        raise UsageError("scenarios check: expected the name of a scenario, or --all")
    registry, cache = get_registry(), RunCache(SHARED_BYTES)
    names = registry.names("scenario") if scenario is None else [scenario]
    checked = [_check_one(name, draws, seed, cache) for name in names]
    doors = registry.records("quantity") if everything else []
    found = [(each.full_name, door_breaches(each.spec, draws=draws, seed=seed)) for each in doors]
    rules = [*RULES, *(DOOR_RULES if everything else ())]
    broken = any(each["breaches"] for each in checked) or any(breaches for _, breaches in found)

    def text() -> None:
        for each in checked:
            _print_check(each, rules, quiet=everything)
        for name, breaches in found:
            for breach in breaches:
                render.write(f"{breach.rule}: {printable(name, 60)}: {printable(breach.message, 400)}")
        if everything and not broken:
            render.write(f"{len(checked)} scenarios and {len(found)} quantities hold ({', '.join(rules)}).")

    warned = [line for each in checked for line in each["failures"]]
    plain = [{k: each[k] for k in ("scenario", "exempt", "breaches", "inherited_levers")} for each in checked]
    quantities = [{"quantity": name, "breaches": [b.plain for b in breaches]} for name, breaches in found]
    render.emit(
        {"rules": rules, "scenarios": plain, "quantities": quantities} if everything else {**plain[0], "rules": rules},
        json=as_json, text=text, warnings=warned,
        provenance={**render.provenance(), **(checked[0]["provenance"] if not everything else {})},
    )  # fmt: skip
    if warned or broken:
        ctx.exit(1)


def _check_one(name: str, draws: int, seed: int, cache: RunCache) -> dict[str, Any]:
    """Return what breaks a rule in one scenario, what failed, and what it takes to repeat it, keeping fits."""
    from forecast.conformance.answer_checks import find_breaches, lever_breaches
    from forecast.projection.engine import project
    from forecast.scenarios.scenario import Scenario

    loaded = Scenario.load(name)
    exempt = "published_on" in loaded.stated
    run = None if exempt else project(loaded, draws=draws, seed=seed, cache=cache)
    raw = read_scenario(Path(name)) if name.lower().endswith(".toml") else {}
    idle = list(lever_breaches(loaded, draws=min(draws, _LEVER_DRAWS), seed=seed, cache=cache))
    # what another file offers to move is no fault of one that extends it
    inherited = [each.question for each in idle if "extends" in raw and each.question not in raw.get("levers", {})]
    own = [each for each in idle if each.question not in inherited]
    breaches = [*([] if run is None else find_breaches(run)), *own]
    return {
        "scenario": loaded.name, "exempt": exempt, "breaches": [each.plain for each in breaches],
        "inherited_levers": inherited,
        "failures": [] if run is None else run.failures, "provenance": {} if run is None else run.provenance,
    }  # fmt: skip


def _print_check(checked: Mapping[str, Any], rules: list[str], *, quiet: bool) -> None:
    """Write what was found in one scenario."""
    name, found = printable(checked["scenario"]), checked["breaches"]
    if checked["exempt"] and not quiet:
        text = "a rebuilt publication is exempt of all but its levers: it prints what was published"
        render.write(f"{name}: {text}.")
    elif not found and not quiet:
        render.write(f"{name}: holds ({', '.join(rules)}).")
    if checked["inherited_levers"]:
        named = ", ".join(printable(each, 60) for each in checked["inherited_levers"])
        render.write(f"Levers of what {name} extends that move nothing here: {named}.")
    for each in found:
        prefix = f"{name}: " if quiet else ""
        render.write(f"{prefix}{each['rule']}: {printable(each['question'], 60)}: {printable(each['message'], 400)}")


@scenarios.command("new")
@click.argument("name")
@json_option
def new(name: str, as_json: bool) -> None:
    """Write NAME.toml, a scenario of thirteen lines that runs as it is: change its data and its question.

    \b
    forecast scenarios new outlook
    """  # noqa: D301 - click reads the \b as "do not rewrap"
    from forecast.base.files import write_atomic

    path = Path(name if name.endswith(".toml") else f"{name}.toml")
    if path.exists():
        raise ScenarioError(f"{printable(path.name)}: is there already; give another name")
    write_atomic(path, _NEW_SCENARIO)

    def text() -> None:
        render.write_headline(f"Wrote {printable(path)}: a quantity with its data, and a question. It runs as it is:")
        render.write(f"  forecast run {shlex.quote(printable(path))}")

    render.emit({"file": str(path), "text": _NEW_SCENARIO}, json=as_json, text=text)
