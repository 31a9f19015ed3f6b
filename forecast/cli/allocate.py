"""``forecast allocate``: split a compute budget between parameters and data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from forecast.cli import render
from forecast.cli.catalogue import json_option
from forecast.errors import UsageError, printable

if TYPE_CHECKING:
    import xarray as xr

    from forecast.fit.result import Fit

__all__ = ["allocate"]

COMMAND = "allocate"
COST = "6*N*D"


@click.command()
@click.argument("fit", metavar="LAW@PUBLISHED")
@click.option("--compute", type=float, required=True, help="The budget, in the unit of the cost (FLOP): 1e25.")
@click.option("--cost", default=COST, show_default=True, help="Cost of a split, a formula over the law's variables.")
@json_option
def allocate(fit: str, compute: float, cost: str, as_json: bool) -> None:
    """Find the split of a compute budget that a published law says is best.

    For instance: forecast allocate scaling/chinchilla@besiroglu2024 --compute 1e25
    """
    from forecast.registry import get_registry

    law_name, published = _parts(fit)
    record = get_registry().find("law", law_name)
    from forecast.laws import law

    found = law(record.full_name).published(published)
    best = found.allocate(compute=compute, cost=cost)
    warnings = [line for line in best.attrs["warnings"].splitlines() if line]
    render.emit(
        _answer(found, best),
        json=as_json,
        command=COMMAND,
        text=lambda: _text(found, best),
        warnings=warnings,
        provenance=render.provenance([record.plugin]),
    )


def _parts(text: str) -> tuple[str, str]:
    law_name, at, published = text.partition("@")
    said = printable(text, 80)
    if text.endswith(".nc"):
        raise UsageError(
            f"'{said}': a saved fit cannot be allocated from yet; name published parameters, LAW@PUBLISHED"
        )
    if not at or not law_name or not published:
        raise UsageError(
            f"'{said}': expected a law and its published parameters, like scaling/chinchilla@besiroglu2024"
        )
    return law_name, published


def _values(best: xr.Dataset) -> dict[str, dict[str, Any]]:
    return {str(n): {"value": float(v), "unit": v.attrs.get("unit", "")} for n, v in best.data_vars.items()}


def _answer(fit: Fit, best: xr.Dataset) -> dict[str, Any]:
    assert fit.published is not None
    return {
        "fit": best.attrs["fit"],
        "compute": best.attrs["compute"],
        "cost": best.attrs["cost"],
        **{name: found["value"] for name, found in _values(best).items()},
        "units": {name: found["unit"] for name, found in _values(best).items()},
        "interval": None,
        "no_interval": best.attrs["no_interval"],
        "parameters": dict(fit.values),
        "reference": fit.published.reference,
        "note": fit.published.note,
    }


def _number(value: float) -> str:
    return f"{value:.4g}"


def _text(fit: Fit, best: xr.Dataset) -> None:
    values = _values(best)
    variables = list(fit.law.variables)
    output = fit.law.output
    split = ", ".join(f"{n} = {_number(values[n]['value'])} {values[n]['unit']}".rstrip() for n in variables)
    budget = f"{best.attrs['compute']:g} FLOP" if best.attrs["cost"] == COST else f"a cost of {best.attrs['compute']:g}"
    render.headline(
        f"At {budget}, {best.attrs['fit']} is best at {split}: {output} "
        f"{_number(values[output]['value'])} {values[output]['unit']}; point values: {best.attrs['no_interval']}."
    )
    render.table(["quantity", "value", "unit"], [[n, _number(v["value"]), v["unit"]] for n, v in values.items()])
    assert fit.published is not None
    render.write()
    render.details({"cost": best.attrs["cost"], "parameters from": fit.published.reference, "note": fit.published.note})
