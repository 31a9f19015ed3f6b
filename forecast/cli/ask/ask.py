"""``forecast ask``: one question about anything that has a name, without a file."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import click

from forecast.cli import completion, render
from forecast.cli.ask.run import RUN_OPTIONS, parse_key_values, project_and_write
from forecast.cli.output_files import add_options
from forecast.cli.reading_options import reading_options, reduce_option, scale_options
from forecast.errors import UsageError, printable

_QUESTION_ARGUMENT = click.argument(
    "question", nargs=-1, required=True, shell_complete=completion.complete_names("model")
)
_SERIES_OPTIONS = (
    click.option("--x", metavar="COLUMN", help="Of FILE:COLUMN: the column of dates."),
    click.option("--where", multiple=True, metavar="CONDITION", help='Of FILE:COLUMN: rows to keep, "run is a".'),
    reduce_option,
)
_MODEL = click.option("--model", "rival", default="", metavar="RIVAL", help="A rival forecast of the quantity, alone.")
_FULL = click.option(
    "--full", is_flag=True, help="With --json: also quantities over time, limits and models behind it."
)
_COMPARE = click.option("--compare", is_flag=True, help="Put every shape of trends beside that of a series.")


@click.command()
@partial(
    add_options,
    (_QUESTION_ARGUMENT, _MODEL, _COMPARE, *_SERIES_OPTIONS, scale_options, reading_options, *RUN_OPTIONS, _FULL),
)
@click.pass_context
def ask(
    ctx: click.Context,
    /,
    question: tuple[str, ...],
    rival: str,
    compare: bool,
    at: Sequence[str],
    settings: tuple[str, ...],
    x: str | None,
    where: tuple[str, ...],
    rule: str | None,
    reading: dict[str, Any],
    bounds: dict[str, Any],
    **options: Any,
) -> None:
    """Ask a QUESTION: a name, arithmetic over names, or a level to be reached.

    A name is a quantity of the world (forecast quantities), a trend, an estimate, a quantity of a scenario
    (SCENARIO.QUANTITY), or a column of a file (FILE:COLUMN, or FILE:"A COLUMN" in quotes). A quantity of the world is
    answered by the house's forecast, with its rivals beneath; --model asks one of them alone. Numbers may have units
    and be written 1M or 70B; an operator stands between blanks. A question in words is answered where it is clear
    which line it means, which is said; where not, lines to copy are proposed. Everything else is as for 'forecast run'.

    \b
    forecast ask run-price-performance --at 2035 --level 80
    forecast ask "largest-run >= 1e29 FLOP"
    forecast ask "largest-run >= 1e29 FLOP" --model exponential
    forecast ask "run-price-performance * 1M USD >= 2.1e25 FLOP"
    forecast ask model-capability.power --at 2030
    forecast ask what will tokens cost in 2028
    """  # noqa: D301 - click reads the \b as "do not rewrap"
    from forecast.cli.fit.fit_arguments import parse_conditions
    from forecast.scenarios.question_text import check_length, in_words, read_line
    from forecast.scenarios.question_words import readings

    text = " ".join(question)
    check_length(text)
    if options["full"] and not (options["as_json"] or str(options["out"]).endswith(".json")):
        raise UsageError("--full: is of --json, or of an --out that ends in .json")
    if in_words(text):
        found = readings(text)
        if not (found and found[0].clear):
            _propose(ctx, text, [*dict.fromkeys(each.line for each in found)], as_json=options["as_json"])
            return
        text, at = found[0].text, at or ([found[0].at] if found[0].at else [])
        settings = (*filter(None, [found[0].setting]), *settings)
        options["read_as"] = f"Read as: {found[0].line}"
    reading |= {"reduce": rule} if rule else {}
    series = {"x": x, "where": parse_conditions(where), "reading": {k: _one_text(v) for k, v in reading.items()}}
    asked = read_line(
        text, at=at, until=options["until"], compare=compare, series=series | bounds, rival=rival,
        settings=parse_key_values(settings, "--set"),
    )  # fmt: skip
    options |= {"rivals": asked.rivals, "of": asked.quantity, "read_as": asked.read_as or options.get("read_as", "")}
    project_and_write(ctx, scenario=asked.scenario, at=(), settings=asked.settings, sweep={}, **options)


def _one_text(value: Any) -> Any:
    """Return the only one of several words; a scenario has one, too."""
    if isinstance(value, tuple) and len(value) > 1:
        raise UsageError("--missing: one word here; replace the others in the file")
    return value[0] if isinstance(value, tuple) else value


def _propose(ctx: click.Context, text: str, lines: list[str], *, as_json: bool) -> None:
    """Propose lines to copy for a question in words that is not clear; exit as for a usage error."""
    shown = printable(text, 80)

    def told() -> None:
        if not lines:
            render.write(f"'{shown}' is a question in words, and nothing is about them: try forecast find WORD.")
            return
        render.write(f"'{shown}' is a question in words. Nearest to it are:")
        render.write()
        for line in lines:
            render.write(f"  {line}")

    result = {"question": text, "proposals": lines}
    render.emit(result, json=as_json, text=told, warnings=[], provenance=render.provenance([]))
    ctx.exit(UsageError.exit_code)
