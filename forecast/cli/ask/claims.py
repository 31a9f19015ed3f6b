"""``forecast claims``: published figures, recomputed."""

from __future__ import annotations

from typing import Any

import click

from forecast.cli import render
from forecast.cli.allowed import access_options
from forecast.cli.catalogue.listing import json_option, troubles
from forecast.errors import ForecastError, UnknownNameError, UsageError

__all__ = ["claims"]

COMMAND = "claims"


@click.command()
@click.argument("identifier", metavar="[ID]", required=False)
@click.option("--group", metavar="GROUP[,GROUP...]", help="Only the claims of these groups.")
@click.option("--forecasts", is_flag=True, help="Only dated forecasts, and how they have done, by kind.")
@access_options
@json_option
def claims(identifier: str | None, group: str | None, forecasts: bool, as_json: bool) -> None:
    """Recompute published figures and judge them, and judge dated forecasts by what happened."""
    from forecast.contract.registry import get_registry

    registry = get_registry()
    if identifier is not None:
        if forecasts:
            raise UsageError("--forecasts: is about all of them, not about one claim")
        _one(registry.find("claim", identifier), group, as_json)
        return
    records = [r for r in registry.records("claim") if r.full_name in set(registry.names("claim"))]
    if group is not None:
        wanted = _groups(group, {g for r in records for g in _groups_of(r.spec)})
        records = [r for r in records if wanted & _groups_of(r.spec)]
    from forecast import claims as machinery
    from forecast.evaluation import outcomes

    if forecasts:
        records = [r for r in records if getattr(r.spec, "forecast", None) is not None]
    evaluated = machinery.evaluate_all(records)
    done = outcomes.summary(r.spec.forecast for r in records) if forecasts else []  # type: ignore[attr-defined]
    headline = outcomes.headline(done) if forecasts else machinery.headline(evaluated)

    def text() -> None:
        render.headline(headline)
        for row in done:
            render.write(_done(row))
        if done:
            render.write()
        render.table(
            ["id", "stated", "computed", "unit", "verdict", "statement"],
            [[c["id"], c["stated"], _shown(c["computed"]), c["unit"], c["verdict"], c["statement"]] for c in evaluated],
        )

    failed = troubles(registry, "claim")
    failed += [f"claim '{c['id']}' failed: {c['note']}" for c in evaluated if c["verdict"] == machinery.FAILED]
    render.emit(
        {"headline": headline, "kinds": done, "claims": evaluated} if forecasts else evaluated,
        json=as_json,
        command=COMMAND,
        text=text,
        warnings=failed,
        provenance=render.provenance([r.plugin for r in records]),
    )


def _done(row: dict[str, Any]) -> str:
    """Say in a line how forecasts of a kind have done."""
    counts = ", ".join(f"{count} {verdict}" for verdict, count in row["verdicts"].items())
    measures = {
        "ratio": "outcome over forecast {:.3g} in the median",
        "years": "{:+.2f} years from forecast to outcome in the median",
        "brier": "Brier score {:.3f}",
    }
    apart = [said.format(row[key]) for key, said in measures.items() if row.get(key) is not None]
    share = (
        f"{row['hits']} of {row['decided']} came true ({row['low']:.0%} to {row['high']:.0%})" if row["decided"] else ""
    )
    intervals = f"{row['held']} of {row['intervals']} intervals held" if row["intervals"] else ""
    return f"{row['kind']}: {'; '.join(filter(None, [share, *apart, intervals, counts]))}"


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
