"""``forecast fit``: a law, a table, and everything that can be said about how they meet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from forecast.cli import completion, render
from forecast.cli.access_options import access_options
from forecast.cli.catalogue.listing import json_option
from forecast.cli.output_files import FORMS, out_option, plot_option
from forecast.errors import UsageError, printable

if TYPE_CHECKING:
    from forecast.fit.fit import Fit
    from forecast.laws import Law

__all__ = ["fit"]

COMMAND = "fit"
SCHEMES = ("pairs", "residuals", "wild", "cluster")


@click.command()
@click.argument("law", shell_complete=completion.names("law"))
@click.option(
    "--data",
    required=True,
    metavar="TABLE|FILE",
    shell_complete=completion.names("table", files=True),
    help="A table's name, or a .csv or .parquet file.",
)
@click.option(
    "--let", multiple=True, metavar='"N = FORMULA"', help="A variable, or a column of --protocol, from columns."
)
@click.option("--y", metavar="COLUMN", help="The column, or formula, that the law explains.  [default: its output]")
@click.option("--variables", multiple=True, metavar="NAMES", help="The variables of a formula: x or N,D.")
@click.option("--where", multiple=True, metavar="CONDITION", help='Rows to keep: "params_b > 0.1", "kind is dense".')
@click.option("--objective", metavar="NAME", help="What is minimised.  [default: the law's own]")
@click.option("--option", multiple=True, metavar='"tau=0.9"', help="Of the objective: a number, or a column.")
@click.option("--start", multiple=True, metavar='"a=1,b=2"', help="Solve from here and nowhere else.")
@click.option("--weights", metavar="COLUMN", help="Weight of each row, a column or formula.")
@click.option("--sigma", metavar="COLUMN", help="Known standard deviation of each row, a column or formula.")
@click.option("--sigma-x", multiple=True, metavar='"N = FORMULA"', help="Known standard deviation of a variable.")
@click.option("--groups", metavar="COLUMN", help="Rows of one group (a run, a seed) are not independent.")
@click.option("--varying", multiple=True, metavar="NAMES", help="Parameters of which each group has its own: E or E,A.")
@click.option("--by", metavar="COLUMN", help="One fit for each value of a column.")
@click.option(
    "--bootstrap", type=click.IntRange(1), metavar="N", help="Refit N resamples: errors and intervals are theirs."
)
@click.option(
    "--resample", type=click.Choice(SCHEMES), default=SCHEMES[0], show_default=True, help="What --bootstrap resamples."
)
@click.option("--workers", type=click.IntRange(1), metavar="N", help="Processes that share the work.  [default: 1]")
@click.option("--protocol", metavar="NAME", help="Fit as a publication did.")
@click.option("--select", is_flag=True, help="Also choose the rows as --protocol did.")
@click.option("--level", type=float, default=0.9, show_default=True, help="Of the intervals.")
@click.option("--seed", type=int, default=0, show_default=True, metavar="N", help="Equal seeds give equal bytes.")
@out_option(FORMS, "Save the fit, for show, predict and allocate, or its parameters.")
@plot_option
@access_options
@json_option
@click.pass_context
def fit(ctx: click.Context, /, out: str | None, plots: tuple[str, ...], as_json: bool, **asked_for: Any) -> None:
    """Fit LAW, a registered name or a formula in quotes, to data.

    Prints one sentence, the parameters with their intervals, the verdict, and warnings. Exits with 1 where the fit did
    not converge; what was found is still printed.

    \b
    forecast fit scaling/chinchilla --data runs.csv --let "N = params_b*1e9" --let "D = tokens" --y loss --out fit.nc
    forecast fit "a + b*x" --variables x --data runs.csv --y score --where "x > 0" --plot fit.svg --json
    forecast fit scaling/power --data runs.csv --by family --out families.nc --plot families.svg
    """  # noqa: D301 - click reads the \b as "do not rewrap"
    from forecast.cli.fit import fit_output

    _check_targets(out, plots, asked_for)
    law, plugins, rows, source, notes = _gathered(asked_for)
    with render.progress("refitting" if asked_for["bootstrap"] else "fitting") as report:
        made = law.fit(rows, **_keywords(asked_for), progress=report)
    many = asked_for["by"] is not None
    record = render.provenance(plugins, computed=True, seed=asked_for["seed"], data=source)
    good = fit_output.show_fit(
        COMMAND,
        made,
        level=asked_for["level"],
        title="" if many else _title(law, made, asked_for["protocol"]),
        notes=notes,
        provenance=record,
        files=(out,),
        plots=plots,
        as_json=as_json,
    )
    if not good:
        ctx.exit(1)


def _title(law: Law, made: Fit, protocol: str | None) -> str:
    """Return what to call a fit: a protocol that fixes parameters makes a law without a name of its own."""
    if made.law.name is None and law.name is not None:
        return f"{law.name} by {printable(protocol, 60)}"
    return made.name


def _check_targets(out: str | None, plots: tuple[str, ...], asked_for: dict[str, Any]) -> None:
    """Refuse what cannot be written before the work."""
    from forecast.cli.fit import fit_arguments
    from forecast.report import figures

    fit_arguments.outputs([("--out", out), *(("--plot", path) for path in plots)], asked_for["data"])
    for path in plots:
        figures.check_format(path)


def _gathered(asked_for: dict[str, Any]) -> tuple[Law, list[Any], Any, dict[str, str], list[str]]:
    """Return the law, the plugins behind it, the rows to fit, the hashes of the data, and notes about them."""
    from forecast.cli.fit import fit_arguments

    protocol, select = asked_for["protocol"], asked_for["select"]
    if select and protocol is None:
        raise UsageError("--select chooses rows as a protocol did: name it with --protocol")
    law, plugins = fit_arguments.law_of(asked_for["law"], asked_for["variables"])
    lets = fit_arguments.formulas(asked_for["let"], "--let")
    explained = asked_for["y"] or law.output
    for variable in law.variables:
        if lets.get(variable) == explained:
            raise UsageError(
                f"--let: '{printable(explained, 60)}' is what the law explains, and the variable '{variable}'"
            )
    columns, source = fit_arguments.data_of(asked_for["data"], law.name or COMMAND)
    columns = fit_arguments.widened(columns, lets, law.variables if protocol is None else None)
    rows, note = fit_arguments.write_outputs(columns, asked_for["where"])
    notes = [note] if note else []
    if not select:
        return law, plugins, rows, source, notes
    from forecast.fit.protocols import protocol as protocol_of

    rule, y = protocol_of(protocol, law=law.name), asked_for["y"]
    if y is not None:
        # its rules speak of what is explained by a name of their own
        name = rule.spec.y if rule.spec.y is not None and rule.spec.y.isidentifier() else law.output
        rows = rows if name in rows else fit_arguments.widened(rows, {name: y}, None)
    chosen = rule.select(rows)
    notes.append(f"--select keeps {chosen.attrs['rows']} of {chosen.attrs['rows_given']} rows")
    return law, plugins, chosen, source, notes


def _keywords(asked_for: dict[str, Any]) -> dict[str, Any]:
    """Return the keywords of `forecast.Law.fit`."""
    from forecast.cli.fit import fit_arguments

    same = ("objective", "protocol", "y", "weights", "sigma", "groups", "by", "bootstrap", "resample", "workers")
    return {
        **{name: asked_for[name] for name in (*same, "seed", "level")},
        "start": fit_arguments.numbers(asked_for["start"], "--start") if asked_for["start"] else None,
        "options": fit_arguments.settings(asked_for["option"], "--option") or None,
        "sigma_x": fit_arguments.formulas(asked_for["sigma_x"], "--sigma-x") or None,
        "varying": fit_arguments.names(asked_for["varying"]),
    }
