"""``forecast allocate``: split a compute budget between parameters and data."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from forecast.cli import completion, render
from forecast.cli.fit.fit_options import FitOptions, NumberType, output_options, seed_option
from forecast.cli.output_files import TABLE_SUFFIXES, emit_files
from forecast.cli.reading_options import level_option

if TYPE_CHECKING:
    from forecast.fit.fit import Fit
    from forecast.planning.allocate import Allocation

__all__ = ["allocate"]

DEFAULT_COST = "6*N*D"


@click.command()
@click.argument("fit", metavar="LAW@PUBLISHED|FIT.nc", shell_complete=completion.complete_names("law", files=True))
@click.option("--compute", type=NumberType(), required=True, help="The budget, in the unit of the cost (FLOP): 1e25.")
@click.option(
    "--cost", default=DEFAULT_COST, show_default=True, help="Cost of a split, a formula over the law's variables."
)
@click.option(
    "--inference-tokens", type=NumberType(), metavar="TOKENS", help="Served over the model's life: adds 2*N*TOKENS."
)
@level_option("Of the intervals.")
@click.option("--draws", type=int, default=2048, show_default=True, metavar="N", help="Joint draws of the parameters.")
@seed_option("Equal seeds give equal intervals.")
@output_options(TABLE_SUFFIXES, "Write the split.", reads_files=False)
def allocate(fit: str, options: FitOptions, **budget: Any) -> None:
    """Find the split of a compute budget that a law says is best.

    FIT.nc is a file that 'forecast fit --out' saved. For instance:

    \b
    forecast allocate scaling/chinchilla@besiroglu2024 --compute 1e25 --plot split.svg
    forecast allocate mine.nc --compute 1e24 --inference-tokens 2e12 --out split.csv
    """  # noqa: D301 - click reads the \b as "do not rewrap"
    from forecast.cli.fit.fit_arguments import fit_of
    from forecast.planning.allocate import allocate as best_split

    options.check_outputs(fit, "FIT")
    fitted, plugins = fit_of(fit)
    budget |= {"level": options.level, "seed": options.seed}
    best = best_split(fitted, **budget)
    emit_files(
        _as_json_data(fitted, best),
        text=lambda: _print_allocation(fitted, best),
        table=lambda: _split_columns(best),
        draw=partial(_plot_allocation, fitted, budget),
        **options.files,
        warnings=[line for line in best.attrs["warnings"].splitlines() if line],
        provenance=render.provenance(plugins, computed=True, seed=options.seed),
    )


def _plot_allocation(fit: Fit, budget: dict[str, Any], path: str, width: str) -> None:
    from forecast.report.figures.plan_figure import plot_allocation

    plot_allocation(fit, path, width=width, **budget)


def _values_with_ends(best: Allocation) -> dict[str, dict[str, Any]]:
    names = [n for n in best.values if not n.endswith(("_lower", "_upper"))]
    return {
        name: {
            "value": best.values[name],
            "lower": best.values.get(f"{name}_lower"),
            "upper": best.values.get(f"{name}_upper"),
            "unit": best.units[name],
        }
        for name in names
    }


def _split_columns(best: Allocation) -> dict[str, list[Any]]:
    """Return the split as columns: a row for each quantity."""
    values = _values_with_ends(best)
    parts = ("value", "lower", "upper", "unit")
    return {"quantity": list(values), **{part: [value[part] for value in values.values()] for part in parts}}


def _as_json_data(fit: Fit, best: Allocation) -> dict[str, Any]:
    values = _values_with_ends(best)
    has_interval = "no_interval" not in best.attrs
    ends = {name: {"lower": v["lower"], "upper": v["upper"]} for name, v in values.items()}
    return {
        "fit": best.attrs["fit"],
        "compute": best.attrs["compute"],
        "cost": best.attrs["cost"],
        **{name: value["value"] for name, value in values.items()},
        "units": {name: value["unit"] for name, value in values.items()},
        "interval": {"level": best.attrs["level"], **ends} if has_interval else None,
        "no_interval": best.attrs.get("no_interval"),
        "converged": fit.converged,
        "verdict": fit.verdict,
        "parameters": dict(fit.values),
        "reference": fit.published.reference if fit.published else fit.law.reference,
        "note": fit.published.note if fit.published else "",
    }


def _format_amount(value: float) -> str:
    from forecast.report.words.number_text import written

    return written(value)


def _value_text(name: str, value: dict[str, Any]) -> str:
    between = (
        "" if value["lower"] is None else f" ({_format_amount(value['lower'])} to {_format_amount(value['upper'])})"
    )
    return f"{name} = {_format_amount(value['value'])}{between} {value['unit']}".rstrip()


def _print_allocation(fit: Fit, best: Allocation) -> None:
    values = _values_with_ends(best)
    split = ", ".join(_value_text(n, values[n]) for n in fit.law.variables)
    output = _value_text(fit.law.output, values[fit.law.output]).replace(" = ", ", ", 1)
    compute = _format_amount(best.attrs["compute"])
    budget = f"{compute} FLOP" if best.attrs["cost"] == DEFAULT_COST else f"a cost of {compute}"
    has_interval = "no_interval" not in best.attrs
    end = f"{100 * best.attrs['level']:g} % intervals" if has_interval else f"no intervals: {best.attrs['no_interval']}"
    render.write_headline(f"With {budget}, {best.attrs['fit']} reaches its best {output}, at {split} ({end}).")
    columns = ["quantity", "value", *(("lower", "upper") if has_interval else ()), "unit"]
    rows = []
    for name, value in values.items():
        ends = [_format_amount(value["lower"]), _format_amount(value["upper"])] if has_interval else []
        rows.append([name, _format_amount(value["value"]), *ends, value["unit"]])
    render.write_table(columns, rows)
    render.write()
    source = fit.published.reference if fit.published else f"{fit.n} points: {fit.verdict}"
    note = fit.published.note if fit.published else ""
    render.write_details({"cost": best.attrs["cost"], "parameters from": source, "note": note})
