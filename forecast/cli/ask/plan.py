"""``forecast plan``: from money, time or a goal to a training run."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import click

from forecast.cli import render
from forecast.cli.ask.run import own_rows_option, parse_data_option, parse_key_values
from forecast.cli.catalogue.listing import json_option
from forecast.cli.output_files import add_options
from forecast.cli.reading_options import access_options, level_option
from forecast.errors import ForecastWarning
from forecast.report.words.number_text import percent

_GIVEN = (
    ("budget", "USD", "What it may cost."),
    ("compute", "FLOP", "How much is computed."),
    ("loss", "NATS", "The loss to reach."),
    ("size", "PARAMETERS", "Of the model: 70B."),
    ("tokens", "TOKENS", "To train on: 2T."),
    ("days", "DAYS", "How long it may take."),
    ("by", "DATE", "When it is to be done."),
    ("cards", "N", "Devices."),
    ("power", "MW", "Of the devices and their cooling."),
)


@click.command()
@partial(add_options, [click.option(f"--{name}", metavar=metavar, help=text) for name, metavar, text in _GIVEN])
@click.option("--device", default="", metavar="NAME", help="By default the one on which the run is cheapest.")
@click.option("--risk", type=float, default=0.2, show_default=True, metavar="SHARE",
              help="How likely the plan may exceed a budget or a number of days.")  # fmt: skip
@click.option("--scenario", default="", metavar="NAME", help="By default the one that plans.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Of the scenario: rent='2 USD/hour'.")
@own_rows_option
@click.option("--draws", type=int, default=2048, show_default=True, metavar="N", help="Joint samples.")
@click.option("--seed", type=int, default=0, show_default=True, metavar="N", help="Equal seeds give equal numbers.")
@click.option("--report", metavar="FILE.html", help="Write a page of the cheapest run.")
@level_option("Of the intervals.")
@access_options
@json_option
def plan(level: float, as_json: bool, report: str | None, settings: tuple[str, ...], rows: tuple[str, ...],
         **given: Any) -> None:  # fmt: skip
    """Plan a training run: say how much (one of --budget, --compute, --loss, --size, --tokens) and how fast.

    What is given settles what is left open: the model, the cards, the days, the cost. Side by side stand the cheapest
    device, the fastest, and a smaller model that reaches the same loss. Numbers may have units: 20M USD, 70B, 2T.

    \b
    forecast plan --budget "20M USD" --by 2027-06
    forecast plan --loss 1.9 --cards 4096
    forecast plan --size 70B --tokens 2T --days 60
    """  # noqa: D301 - click reads the \b as "do not rewrap"
    from forecast.api.training_plan import plan as make

    with warnings.catch_warnings():  # the answer has them, and they stand below it
        warnings.simplefilter("ignore", ForecastWarning)
        made = make(with_=parse_key_values(settings, "--set"), data=parse_data_option(rows), **given)

    def text() -> None:
        render.write_headline(made.sentence)
        render.write_table(["", *(each.name for each in made.plans)], made.rows(level))
        shown = f"{level:.0%}".replace("%", " %")
        moved = (f" Most sensitive to: {name.partition(':')[0]}, {percent(share)} of the variance."
                 for name, share in made.drivers.items())  # fmt: skip
        told = "rent: lowest list price, below it by cloud; own: share of a life"
        render.prose(f"Decided by: {made.binds}.{next(moved, '')} Medians ({shown}); {told}.")
        for note in made.notes:
            render.write(f"{note[:1].upper()}{note[1:]}.")

    if report is not None:
        made.report(report)
    render.emit(
        made.to_record(level), json=as_json, text=text, warnings=[str(each) for each in made.run.warnings],
        provenance={**render.provenance(), **made.run.provenance},
    )  # fmt: skip
