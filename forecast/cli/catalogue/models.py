"""``forecast models``: what produces a quantity, from what, and where its numbers come from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import click

from forecast.cli import render
from forecast.cli.allowed import access_options
from forecast.cli.catalogue.listing import catalogue, json_option
from forecast.contract.registry import Record
from forecast.contract.specs import EstimateSpec, Input, MixtureSpec, ModelSpec, RelationSpec, TrendSpec

_KINDS = {TrendSpec: "trend", EstimateSpec: "estimate", MixtureSpec: "mixture", RelationSpec: "relation"}


def _spec(record: Record) -> ModelSpec:
    assert isinstance(record.spec, ModelSpec)
    return record.spec


def _kind(record: Record) -> str:
    return next((name for cls, name in _KINDS.items() if isinstance(record.spec, cls)), "model")


def _describe(record: Record) -> dict[str, Any]:
    spec = _spec(record)
    shown: dict[str, Any] = {"kind": _kind(record), "quantity": spec.quantity, "unit": spec.unit, "note": spec.note}
    if spec.target is not None:
        shown |= {"code": spec.target}
    if isinstance(spec, TrendSpec):
        shown |= {"shape": spec.shape, "table": spec.table, "x": spec.x, "y": spec.y, "since": spec.since}
        shown |= {"frontier": spec.frontier, "records": spec.records, "yearly": spec.yearly}
        # a number or a text makes no input: only an option that says more has the shape's code imported
        judged = any(isinstance(value, Mapping) for value in spec.options.values())
        shown |= {"where": dict(spec.where), "options": list(_options(spec.options))}
        shown |= {"inputs": _needs(record) if judged else []}
    elif isinstance(spec, EstimateSpec):
        shown |= {"expression": spec.expression, "inputs": _inputs(spec.inputs)}
    elif isinstance(spec, MixtureSpec):
        shown |= {"weights": dict(spec.weights), "inputs": _needs(record)}
    elif isinstance(spec, RelationSpec):
        shown |= {"law": spec.law, "table": spec.table, "y": spec.y, "let": dict(spec.let), "where": dict(spec.where)}
        shown |= {"inputs": _needs(record)}
    else:
        shown |= {"inputs": _needs(record)}
    return shown | {"qualifiers": dict(_basis(spec, record))}


def _options(options: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Walk the options of a shape: a number, a distribution with its unit and source, or a group of named records."""
    for name, value in options.items():
        if not isinstance(value, Mapping):
            yield {"name": name, "value": value}
        elif value and all(isinstance(inner, Mapping) for inner in value.values()):
            yield from ({"name": f"{name}.{key}", **inner} for key, inner in value.items())
        else:
            stated = {k: v for k, v in value.items() if k not in ("unit", "source")}
            yield {"name": name, "value": stated, "unit": value.get("unit", ""), "source": value.get("source", "")}


def _basis(spec: ModelSpec, record: Record) -> Mapping[str, str]:
    """Return what a model states beside its unit; a trend also by the rows it keeps."""
    if not isinstance(spec, TrendSpec):
        return spec.qualifiers
    from forecast.units import qualifiers

    return qualifiers.of_record(spec.where, spec.qualifiers, where=f"model '{record.full_name}'")


def _inputs(inputs: tuple[Input, ...]) -> list[dict[str, Any]]:
    return [
        {"name": i.name, "unit": i.unit, "distribution": dict(i.distribution), "source": i.source, "title": i.title}
        for i in inputs
    ]


def _needs(record: Record) -> list[dict[str, Any]]:
    """Ask the plugin's own model what it needs; only here is its code imported."""
    from forecast.models import OtherModel, model

    needs = []
    for name, need in model(record.full_name).inputs.items():
        if isinstance(need, Input):
            needs += _inputs((need,))
        elif isinstance(need, OtherModel):
            needs.append({"name": name, "unit": need.model.unit, "title": "the model of this name"})
        else:
            stated = "".join(f"; {key}: {value}" for key, value in need.qualifiers.items())
            title = (need.title or "a quantity of the scenario") + stated
            needs.append({"name": name, "unit": need.unit, "title": title})
    return needs


models = catalogue(
    "models", "model", columns={"kind": _kind, "unit": lambda r: _spec(r).unit}, describe=_describe, reads=True
)  # fmt: skip


@models.command("attribute")
@click.argument("name")
@click.option("--set", "settings", multiple=True, metavar="INPUT=NUMBER", help="Fix one of its numbers.")
@click.option(
    "--at", type=float, default=2025.0, show_default=True, metavar="YEAR", help="When, if it changes with time."
)
@click.option("--draws", type=int, default=1_000_000, show_default=True, metavar="N", help="How often to compute it.")
@click.option("--seed", type=int, default=0, show_default=True, metavar="N", help="Equal seeds give equal numbers.")
@access_options
@json_option
def attribute(name: str, settings: tuple[str, ...], at: float, draws: int, seed: int, as_json: bool) -> None:
    """Say which of an estimate's uncertain numbers its variance comes from.

    First-order and total Sobol' indices, of the logarithm where every value is positive.

    \b
    forecast models attribute brain/dettmers-2015
    forecast models attribute brain/pooled --set weight_kurzweil_2005=3 --json
    forecast models attribute brain/evidence --at 2010
    """  # noqa: D301 - click reads the \b as "do not rewrap"
    from forecast.cli.fit import asked
    from forecast.sensitivity.estimates import attribution

    shares = attribution(name, draws=draws, seed=seed, set=asked.numbers(settings, "--set"), at=at)
    rows = [
        {"name": str(key), "first": float(first), "total": float(total)}
        for key, first, total in zip(*(shares[n].values for n in ("input", "first", "total")), strict=True)
    ]
    values = {f"p{round(q * 100):02d}": float(shares["value"].sel(quantile=q)) for q in shares["quantile"].values}
    model, unit = str(shares.attrs["model"]), str(shares["value"].attrs["units"])
    result = {
        "model": model,
        "headline": _blames(model, rows, values, unit),
        "unit": unit,
        "value": values,
        "explained": shares.attrs["explained"],
        "inputs": rows,
    }

    def show() -> None:
        render.headline(result["headline"])
        if rows:
            shown = [[row["name"], f"{row['first']:.1%}", f"{row['total']:.1%}"] for row in rows]
            render.table(["input", "alone", "in total"], shown)

    render.emit(
        result, json=as_json, command="models attribute", text=show, warnings=[],
        provenance=render.provenance(seed=seed, draws=draws, computed=True),
    )  # fmt: skip


def _blames(model: str, rows: list[dict[str, Any]], values: Mapping[str, float], unit: str) -> str:
    """Say in a sentence how wide an estimate is, and whose fault it is."""
    if not rows:
        return f"{model} is {values['p50']:.3g} {unit}: none of its numbers is uncertain."
    if not any(row["total"] for row in rows):
        return f"{model} is {values['p50']:.3g} {unit} in every draw: none of its uncertain numbers moves it."
    sentence = f"{model} is {values['p05']:.3g} to {values['p95']:.3g} {unit} (90 %), median {values['p50']:.3g}"
    return f"{sentence}; {rows[0]['name']} moves it most: {rows[0]['first']:.0%} of the variance alone."
