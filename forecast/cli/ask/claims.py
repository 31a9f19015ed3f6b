"""``forecast claims``: published figures, recomputed."""

from __future__ import annotations

from typing import Any

import click

from forecast.cli import render
from forecast.cli.allowed import access_options
from forecast.cli.catalogue.listing import json_option, troubles
from forecast.errors import ForecastError, UnknownNameError

__all__ = ["claims"]

COMMAND = "claims"


@click.command()
@click.argument("identifier", metavar="[ID]", required=False)
@click.option("--group", metavar="GROUP[,GROUP...]", help="Only the claims of these groups.")
@access_options
@json_option
def claims(identifier: str | None, group: str | None, as_json: bool) -> None:
    """Recompute published figures and judge them."""
    from forecast.contract.registry import get_registry

    registry = get_registry()
    if identifier is not None:
        _one(registry.find("claim", identifier), group, as_json)
        return
    records = [r for r in registry.records("claim") if r.full_name in set(registry.names("claim"))]
    if group is not None:
        wanted = _groups(group, {g for r in records for g in _groups_of(r.spec)})
        records = [r for r in records if wanted & _groups_of(r.spec)]
    from forecast import claims as machinery

    evaluated = machinery.evaluate_all(records)

    def text() -> None:
        render.headline(machinery.headline(evaluated))
        render.table(
            ["id", "stated", "computed", "unit", "verdict", "statement"],
            [[c["id"], c["stated"], _shown(c["computed"]), c["unit"], c["verdict"], c["statement"]] for c in evaluated],
        )

    failed = troubles(registry, "claim")
    failed += [f"claim '{c['id']}' failed: {c['note']}" for c in evaluated if c["verdict"] == machinery.FAILED]
    render.emit(
        evaluated,
        json=as_json,
        command=COMMAND,
        text=text,
        warnings=failed,
        provenance=render.provenance([r.plugin for r in records]),
    )


def _groups_of(spec: Any) -> set[str]:
    return {spec.group, *spec.also}


def _groups(text: str, known: set[str], where: str = "") -> set[str]:
    """Read names joined by commas; each must be the name of a group."""
    wanted = {name.strip() for name in text.split(",")}
    for name in sorted(wanted - known):
        raise UnknownNameError("group of claims", name, known, where=where)
    return wanted


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"


def _one(record: Any, group: str | None, as_json: bool) -> None:
    from forecast import claims as machinery

    spec = record.spec
    if group is not None:
        _groups(group, _groups_of(spec), where=f"claim '{record.full_name}'")
    claim = machinery.evaluate(spec)
    warnings = []
    try:
        answer = machinery.needed(spec)
    except ForecastError as problem:
        answer = None
        warnings.append(str(problem))
    if claim["verdict"] == machinery.FAILED:
        warnings.append(f"claim '{claim['id']}' failed: {claim['note']}")
    if answer is not None:
        claim["solved"] = answer

    def text() -> None:
        stated = f"stated {claim['stated']}, " if claim["stated"] else ""
        computed = f"computed {_shown(claim['computed'])}" if claim["computed"] is not None else "nothing computed"
        render.headline(f"{claim['id']}: {claim['verdict']} ({stated}{computed})")
        if answer is not None:
            render.write(str(answer["sentence"]))
            render.write()
        shown = {k: v for k, v in claim.items() if k not in ("computed", "solved")}
        shown |= {"computed": _shown(claim["computed"]), "formula": spec.formula, "values": dict(spec.values)}
        shown |= {"facts": dict(spec.facts)} if spec.facts else {}
        if spec.answers:
            shown |= {"scenario": spec.scenario, "settings": dict(spec.settings), "answers": dict(spec.answers)}
        render.details(shown)

    render.emit(
        claim,
        json=as_json,
        command=COMMAND,
        text=text,
        warnings=warnings,
        provenance=render.provenance([record.plugin]),
    )
