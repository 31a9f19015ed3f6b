"""``forecast allocate``: split a compute budget between parameters and data."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from forecast.cli import completion, render
from forecast.cli.fit.fit_options import FitOptions, NumberType, output_options, seed_option
from forecast.cli.output_files import TABLE_SUFFIXES, columns_of, emit_files
from forecast.cli.reading_options import level_option
from forecast.report.words.number_text import written

if TYPE_CHECKING:
    from forecast.fit.fit import Fit
    from forecast.planning.allocate import Allocation

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
    from forecast.report.figures.fit_figure import plot_allocation

    options.check_outputs(fit, "FIT")
    fitted, plugins = fit_of(fit)
    budget |= {"level": options.level, "seed": options.seed}
    best = best_split(fitted, **budget)
    emit_files(
        _as_json_data(fitted, best),
        text=lambda: _print_allocation(fitted, best),
        table=lambda: columns_of(_split_rows(best)),
        draw=partial(plot_allocation, fitted, **budget),
        **options.files,
        warnings=[line for line in best.attrs["warnings"].splitlines() if line],
        provenance=render.provenance(plugins, computed=True, seed=options.seed),
    )


def _split_rows(best: Allocation) -> list[dict[str, Any]]:
    """Return a row for each quantity of the split: its value, the ends of its interval, and its unit."""
    rows = []
    for name, value in best.values.items():
        if not name.endswith(("_lower", "_upper")):
            ends = {end: best.values.get(f"{name}_{end}") for end in ("lower", "upper")}
            rows.append({"quantity": name, "value": value, **ends, "unit": best.units[name]})
    return rows


def _as_json_data(fit: Fit, best: Allocation) -> dict[str, Any]:
    rows = _split_rows(best)
    has_interval = "no_interval" not in best.attrs
    ends = {row["quantity"]: {"lower": row["lower"], "upper": row["upper"]} for row in rows}
    return {
        "fit": best.attrs["fit"],
        "compute": best.attrs["compute"],
        "cost": best.attrs["cost"],
        **{row["quantity"]: row["value"] for row in rows},
        "units": {row["quantity"]: row["unit"] for row in rows},
        "interval": {"level": best.attrs["level"], **ends} if has_interval else None,
        "no_interval": best.attrs.get("no_interval"),
        "converged": fit.converged,
        "verdict": fit.verdict,
        "parameters": dict(fit.values),
        "reference": fit.published.reference if fit.published else fit.law.reference,
        "note": fit.published.note if fit.published else "",
    }


def _value_text(row: dict[str, Any]) -> str:
    between = "" if row["lower"] is None else f" ({written(row['lower'])} to {written(row['upper'])})"
    return f"{row['quantity']} = {written(row['value'])}{between} {row['unit']}".rstrip()


def _print_allocation(fit: Fit, best: Allocation) -> None:
    rows = _split_rows(best)
    texts = {row["quantity"]: _value_text(row) for row in rows}
    split = ", ".join(texts[name] for name in fit.law.variables)
    output = texts[fit.law.output].replace(" = ", ", ", 1)
    compute = written(best.attrs["compute"])
    budget = f"{compute} FLOP" if best.attrs["cost"] == DEFAULT_COST else f"a cost of {compute}"
    has_interval = "no_interval" not in best.attrs
    end = f"{100 * best.attrs['level']:g} % intervals" if has_interval else f"no intervals: {best.attrs['no_interval']}"
    render.write_headline(f"With {budget}, {best.attrs['fit']} reaches its best {output}, at {split} ({end}).")
    numbers = ["value", *(("lower", "upper") if has_interval else ())]
    cells = [[row["quantity"], *(written(row[number]) for number in numbers), row["unit"]] for row in rows]
    render.write_table(["quantity", *numbers, "unit"], cells)
    render.write()
    source = fit.published.reference if fit.published else f"{fit.n} points: {fit.verdict}"
    note = fit.published.note if fit.published else ""
    render.write_details({"cost": best.attrs["cost"], "parameters from": source, "note": note})
