"""``forecast fit``: a law, a table, and everything that can be said about how they meet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from forecast.base.lazy import xr
from forecast.cli import completion, render
from forecast.cli.fit.fit_options import FitOptions, data_options, output_options, seed_option
from forecast.cli.output_files import RESULT_SUFFIXES
from forecast.cli.reading_options import level_option
from forecast.errors import UsageError, printable

if TYPE_CHECKING:
    from forecast.contract.registry import Plugin
    from forecast.laws import Law
    from forecast.tables.columns import Columns

SCHEME_NAMES = ("pairs", "residuals", "wild", "cluster")


@click.command()
@click.argument("law", shell_complete=completion.complete_names("law"))
@data_options(
    let="A variable, or a column of --protocol, from columns.",
    y="The column, or formula, that the law explains.  [default: its output]",
    variables="The variables of a formula: x or N,D.",
)
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
    "--resample",
    type=click.Choice(SCHEME_NAMES),
    default=SCHEME_NAMES[0],
    show_default=True,
    help="What --bootstrap resamples.",
)
@click.option("--workers", type=click.IntRange(1), metavar="N", help="Processes that share the work.  [default: 1]")
@click.option("--protocol", metavar="NAME", help="Fit as a publication did.")
@click.option("--select", is_flag=True, help="Also choose the rows as --protocol did.")
@level_option("Of the intervals.")
@seed_option()
@output_options(RESULT_SUFFIXES, "Save the fit, for show, predict and allocate, or its parameters.")
@click.pass_context
def fit(ctx: click.Context, /, law: str, options: FitOptions, **keywords: Any) -> None:
    """Fit LAW, a registered name or a formula in quotes, to data.

    Prints one sentence, the parameters with their intervals, the verdict, and warnings. Exits with 1 where the fit did
    not converge; what was found is still printed.

    \b
    forecast fit scaling/chinchilla --data runs.csv --let "N = params_b*1e9" --let "D = tokens" --y loss --out fit.nc
    forecast fit "a + b*x" --variables x --data runs.csv --y score --where "x > 0" --plot fit.svg --json
    forecast fit scaling/power --data runs.csv --by family --out families.nc --plot families.svg
    """  # noqa: D301 - click reads the \b as "do not rewrap"
    from forecast.cli.fit import fit_output

    options.check_outputs()
    fitted_law, plugins, rows, source, notes = _data_of(law, options, keywords["protocol"], keywords.pop("select"))
    with render.progress_bar("refitting" if keywords["bootstrap"] else "fitting") as report:
        result = fitted_law.fit(rows, **_fit_keywords(options, **keywords), progress=report)
    title = ""
    if options.by is None and result.law.name is None and fitted_law.name is not None:
        # a protocol that fixes parameters makes a law without a name of its own
        title = f"{fitted_law.name} by {printable(keywords['protocol'], 60)}"
    good = fit_output.show_fit(
        result,
        level=options.level,
        title=title,
        notes=notes,
        provenance=render.provenance(plugins, computed=True, seed=options.seed, data=source),
        **options.files,
    )
    if not good:
        ctx.exit(1)


def _data_of(
    law_text: str, options: FitOptions, protocol: str | None, select: bool
) -> tuple[Law, list[Plugin], Columns | xr.Dataset, dict[str, str], list[str]]:
    """Return the law, the plugins behind it, the rows to fit, the hashes of the data, and notes about them."""
    from forecast.cli.fit import fit_arguments

    if select and protocol is None:
        raise UsageError("--select chooses rows as a protocol did: name it with --protocol")
    law, plugins = fit_arguments.law_of(law_text, options.variables)
    lets = options.lets
    explained = options.y or law.output
    for variable in law.variables:
        if lets.get(variable) == explained:
            raise UsageError(
                f"--let: '{printable(explained, 60)}' is what the law explains, and the variable '{variable}'"
            )
    columns, source = options.columns(law.name or "fit")
    columns = fit_arguments.with_formula_columns(columns, lets, law.variables if protocol is None else None)
    rows, note = fit_arguments.write_outputs(columns, options.where)
    notes = [note] if note else []
    if protocol is None or not select:
        return law, plugins, rows, source, notes
    from forecast.fit.protocols import protocol as protocol_of

    rule = protocol_of(protocol, law=law.name)
    if options.y is not None:
        # its rules speak of what is explained by a name of their own
        name = rule.spec.y if rule.spec.y is not None and rule.spec.y.isidentifier() else law.output
        rows = rows if name in rows else fit_arguments.with_formula_columns(rows, {name: options.y}, None)
    selected = rule.select(rows)
    notes.append(f"--select keeps {selected.attrs['rows']} of {selected.attrs['rows_given']} rows")
    return law, plugins, selected, source, notes


def _fit_keywords(options: FitOptions, **keywords: Any) -> dict[str, Any]:
    """Return the keywords of `forecast.Law.fit`."""
    from forecast.cli.fit import fit_arguments

    start, option, sigma_x = (keywords.pop(name) for name in ("start", "option", "sigma_x"))
    return {
        **keywords,
        "objective": options.objective,
        "y": options.y,
        "by": options.by,
        "seed": options.seed,
        "level": options.level,
        "start": fit_arguments.parse_numbers(start, "--start") if start else None,
        "options": fit_arguments.parse_settings(option, "--option") or None,
        "sigma_x": fit_arguments.parse_formulas(sigma_x, "--sigma-x") or None,
        "varying": fit_arguments.parse_names(keywords["varying"]),
    }
