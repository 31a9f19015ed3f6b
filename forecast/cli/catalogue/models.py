"""``forecast models``: what produces a quantity, from what, and where its numbers come from."""

from __future__ import annotations

import contextlib
import functools
import textwrap
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from forecast.api.catalogue_search import record_origin
from forecast.cli import completion, render
from forecast.cli.catalogue.listing import catalogue, json_option, with_record
from forecast.cli.reading_options import access_options, parse_date_option
from forecast.contract.registry import Record, get_registry
from forecast.contract.specs import EstimateSpec, FunctionSpec, Input, MixtureSpec, RelationSpec, SeriesShape, TrendSpec
from forecast.errors import UnitError, UnknownNameError, printable

if TYPE_CHECKING:
    from forecast.models.model_lookup import FoundModel

_MODEL_KINDS = {
    TrendSpec: "trend", EstimateSpec: "estimate", MixtureSpec: "mixture", RelationSpec: "relation",
    FunctionSpec: "function",
}  # fmt: skip
#: What people see at once: two screens of fifty lines, as wide as any terminal.
MAX_LISTED_LINES, MAX_LINE_WIDTH = 100, 80
#: Most columns that names and units take of a line; a longer one pushes its own line alone.
MAX_NAME_WIDTH, MAX_UNIT_WIDTH = 27, 11


def _model_kind(record: Record) -> str:
    return next((name for cls, name in _MODEL_KINDS.items() if isinstance(record.spec, cls)), "model")


def _default_shape(record: Record) -> str:
    """Return the shape that a series has where nobody names one."""
    return (record.spec.shape or "pooled") if isinstance(record.spec, TrendSpec) else ""


def _make_filter(unit: str, kind: str) -> Callable[[Record], bool]:
    """Return what tells whether a model is of this kind, and has a unit of this dimension."""
    known = [*_MODEL_KINDS.values(), "model"]
    if kind and kind not in known:
        raise UnknownNameError("kind of model", kind, known, where="--kind")
    if not unit:
        return lambda record: _model_kind(record) == kind
    from forecast import units  # pint, which a list without --unit does not load

    units.check(unit, unit, where="--unit")

    @functools.cache
    def same(other: str) -> bool:
        with contextlib.suppress(UnitError):  # a plugin's faulty unit hides its own model alone
            return units.same_dimension(unit, other)
        return False

    return lambda record: kind in ("", _model_kind(record)) and same(record.spec.unit)


def _print_models(rows: list[dict[str, Any]]) -> None:
    """Write a line for each model where that fits on two screens, else the names alone; by plugin and kind."""
    groups: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for row in rows:
        groups.setdefault(row["plugin"], {}).setdefault(row["kind"], []).append(row)
    short = len(rows) + sum(1 + len(kinds) for kinds in groups.values()) + 2 > MAX_LISTED_LINES
    for plugin, kinds in groups.items():
        render.write(f"{printable(plugin)} ({sum(map(len, kinds.values()))})")
        for kind, listed in kinds.items():
            for line in _wrapped_names(kind, listed) if short else _model_lines(kind, listed):
                render.write(f"  {line}")
    render.write()
    if short:
        render.write("What each is: forecast models list --plugin NAME; all of one: models show NAME.")
    elif any(row["shape"] for row in rows):
        render.write("After @ is the shape that a trend has of its own; any other may stand there.")


def _wrapped_names(kind: str, rows: list[dict[str, Any]]) -> Iterator[str]:
    """Walk lines that are full of names."""
    text = f"{kind}: {', '.join(printable(_bare_name(row)) for row in rows)}"
    yield from textwrap.wrap(
        text, MAX_LINE_WIDTH - 2, subsequent_indent="  ", break_on_hyphens=False, break_long_words=False
    )


def _model_lines(kind: str, rows: list[dict[str, Any]]) -> Iterator[str]:
    """Walk one line for each model, cut where it would be too wide; of a trend with the shape that it has."""
    yield f"{kind}:"
    shapes = [row["shape"].rpartition("/")[2] for row in rows]
    names = [
        printable(f"{_bare_name(row)}@{shape}" if shape else _bare_name(row))
        for row, shape in zip(rows, shapes, strict=True)
    ]
    units = [printable(row["unit"]) or "-" for row in rows]
    name_width, unit_width = (
        min(max(map(len, cells)), widest) for cells, widest in ((names, MAX_NAME_WIDTH), (units, MAX_UNIT_WIDTH))
    )
    for name, unit, row in zip(names, units, rows, strict=True):
        line = f"  {name:<{name_width}}  {unit:<{unit_width}}  {printable(row['title'], MAX_LINE_WIDTH)}".rstrip()
        yield line if len(line) <= MAX_LINE_WIDTH - 2 else line[: MAX_LINE_WIDTH - 3].rstrip() + "…"


def _bare_name(row: Mapping[str, Any]) -> str:
    return str(row["name"]).partition("/")[2]


def _model_details(record: Record) -> dict[str, Any]:
    spec = record.spec
    shown: dict[str, Any] = {
        "kind": _model_kind(record),
        "quantity": spec.quantity,
        "unit": spec.unit,
        "note": spec.note,
    }
    if spec.target is not None:
        shown |= {"code": spec.target}
    if isinstance(spec, EstimateSpec):
        shown |= {"expression": spec.expression}
    elif isinstance(spec, MixtureSpec):
        shown |= {"weights": dict(spec.weights)}
    elif isinstance(spec, RelationSpec):
        shown |= {"law": spec.law, "table": spec.table, "y": spec.y, "let": dict(spec.let), "where": dict(spec.where)}
    inputs = _input_rows(spec.inputs) if isinstance(spec, EstimateSpec) else _load_needs(record.full_name)
    return shown | {"inputs": inputs, "qualifiers": dict(spec.qualifiers)}


def _describe_series(entry: FoundModel, spec: TrendSpec) -> dict[str, Any]:
    """Say what a series is, and what is said of the shape beside it and of others."""
    from forecast.contract.track_record import of_shape
    from forecast.models.model_lookup import POOLED_SHAPE
    from forecast.units.qualifiers import of_record

    beside = entry.beside()
    yearly = spec.yearly if beside.yearly is None else beside.yearly
    shown: dict[str, Any] = {"kind": "trend", "quantity": spec.quantity, "unit": spec.unit}
    shown |= {"note": "; ".join(filter(None, (spec.note, beside.note, beside.refused))), "shape": entry.shape}
    shown |= {"table": spec.table, "x": spec.x, "y": spec.y, "since": spec.since, "where": dict(spec.where)}
    shown |= {"frontier": spec.frontier, "records": spec.records, "yearly": yearly}
    if entry.shape == POOLED_SHAPE:
        shown |= {"weights": {member.shape: weight for member, weight in entry.members()}}
    # a number or a text makes no input: only an option that says more has the shape's code imported
    judged = entry.shape == POOLED_SHAPE or any(isinstance(value, Mapping) for value in beside.options.values())
    shown |= {"options": list(_option_rows(beside.options)), "needs": list(beside.needs)}
    shown |= {"inputs": _load_needs(entry.name) if judged else []}
    shown |= {"shapes": [_shape_row(each) for each in spec.shapes]}
    if entry.shape in get_registry().names("shape"):  # else it is a pool, or its plugin is not there
        shown |= {"record": of_shape(entry.shape)}
    stated = of_record(spec.where, spec.qualifiers, where=f"model '{entry.name}'")
    reference = "; ".join(filter(None, (spec.reference, beside.reference)))
    return shown | {"qualifiers": dict(stated), "reference": reference}


def _shape_row(each: SeriesShape) -> dict[str, Any]:
    named = {"options": ", ".join(each.options), "needs": ", ".join(each.needs)}
    return {"name": each.name, "weight": each.weight, **named, "note": each.note, "refused": each.refused}


def _option_rows(options: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Walk the options of a shape: a number, a distribution with its unit and source, or a group of named records."""
    for name, value in options.items():
        if not isinstance(value, Mapping):
            yield {"name": name, "value": value}
        elif value and all(isinstance(inner, Mapping) for inner in value.values()):
            yield from ({"name": f"{name}.{key}", **inner} for key, inner in value.items())
        else:
            stated = {k: v for k, v in value.items() if k not in ("unit", "source")}
            yield {"name": name, "value": stated, "unit": value.get("unit", ""), "source": value.get("source", "")}


def _input_rows(inputs: tuple[Input, ...]) -> list[dict[str, Any]]:
    return [
        {"name": i.name, "unit": i.unit, "distribution": dict(i.distribution), "source": i.source, "title": i.title}
        for i in inputs
    ]


def _load_needs(full: str) -> list[dict[str, Any]]:
    """Ask the plugin's own model what it needs; only here is its code imported."""
    from forecast.models import OtherModel, model

    needs = []
    for name, need in model(full).inputs.items():
        if isinstance(need, Input):
            needs += _input_rows((need,))
        elif isinstance(need, OtherModel):
            needs.append({"name": name, "unit": need.model.unit, "title": "the model of this name"})
        else:
            stated = "".join(f"; {key}: {value}" for key, value in need.qualifiers.items())
            title = (need.title or "a quantity of the scenario") + stated
            needs.append({"name": name, "unit": need.unit, "title": title})
    return needs


models = catalogue(
    "models", "model", columns={"kind": _model_kind, "unit": lambda r: r.spec.unit, "shape": _default_shape},
    describe=_model_details, reads=True, overview=_print_models, narrowed=_make_filter,
)  # fmt: skip


@models.command("show")
@click.argument("name", shell_complete=completion.complete_names("model"))
@click.option("--shape", default="", metavar="SHAPE", help="Beside a series, where NAME is not SERIES@SHAPE.")
@access_options
@json_option
def show(name: str, shape: str, as_json: bool) -> None:
    """Show one model; a bare name works while it is unique.

    \b
    forecast models show brain/power
    forecast models show hardware/hpcg@changepoint
    forecast models show hardware/hpcg --shape trends/changepoint
    """  # noqa: D301 - click reads the \b as "do not rewrap"
    from forecast.models.model_lookup import find_model

    entry = find_model(name, shape=shape)
    spec = entry.spec
    described = _describe_series(entry, spec) if isinstance(spec, TrendSpec) else _model_details(entry.record)
    about = {"name": entry.name, "title": spec.title, "reference": spec.reference}
    result = {**about, **described, **record_origin(entry.record)}
    render.emit(
        result, json=as_json, text=lambda: with_record(result),
        provenance=render.provenance([entry.record.plugin]),
    )  # fmt: skip


@models.command("attribute")
@click.argument("name", shell_complete=completion.complete_names("model"))
@click.option("--set", "settings", multiple=True, metavar="INPUT=NUMBER", help="Fix one of its numbers.")
@click.option(
    "--at",
    default="2025",
    show_default=True,
    metavar="DATE",
    callback=parse_date_option,
    help="When, if it changes with time.",
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
    from forecast.cli.fit import fit_arguments
    from forecast.sensitivity.first_and_total import sobol_indices

    shares = sobol_indices(name, draws=draws, seed=seed, with_=fit_arguments.parse_numbers(settings, "--set"), at=at)
    rows = [
        {"name": str(key), "first": float(first), "total": float(total)}
        for key, first, total in zip(*(shares[n].values for n in ("input", "first", "total")), strict=True)
    ]
    values = {f"p{round(q * 100):02d}": float(shares["value"].sel(quantile=q)) for q in shares["quantile"].values}
    model, unit = str(shares.attrs["model"]), str(shares["value"].attrs["units"])
    result = {
        "model": model,
        "headline": _uncertainty_sentence(model, rows, values, unit),
        "unit": unit,
        "value": values,
        "explained": shares.attrs["explained"],
        "inputs": rows,
    }

    def show() -> None:
        render.write_headline(result["headline"])
        if rows:
            shown = [[row["name"], f"{row['first']:.1%}", f"{row['total']:.1%}"] for row in rows]
            render.write_table(["input", "alone", "in total"], shown)

    render.emit(
        result, json=as_json, text=show, warnings=[],
        provenance=render.provenance(seed=seed, draws=draws, computed=True),
    )  # fmt: skip


def _uncertainty_sentence(model: str, rows: list[dict[str, Any]], values: Mapping[str, float], unit: str) -> str:
    """Say in a sentence how wide an estimate is, and whose fault it is."""
    if not rows:
        return f"{model} is {values['p50']:.3g} {unit}: none of its numbers is uncertain."
    if not any(row["total"] for row in rows):
        return f"{model} is {values['p50']:.3g} {unit} in every draw: none of its uncertain numbers moves it."
    sentence = f"{model} is {values['p05']:.3g} to {values['p95']:.3g} {unit} (90 %), median {values['p50']:.3g}"
    return f"{sentence}; {rows[0]['name']} moves it most: {rows[0]['first']:.0%} of the variance alone."
