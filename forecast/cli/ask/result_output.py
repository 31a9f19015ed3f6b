"""What ``forecast run`` and ``forecast show`` print of a projection, and the files they write: one way for both."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import click

from forecast.base.lazy import xr
from forecast.cli import render
from forecast.cli.output_files import plot_width, writers
from forecast.errors import UnknownNameError

__all__ = ["NARROWING", "show_projection"]

#: What says how much of an answer is printed.
NARROWING: tuple[Callable[[Any], Any], ...] = (
    click.option("--full", is_flag=True, help="Print all of the answer, not one screen."),
    click.option(
        "--quantity",
        "shown",
        multiple=True,
        metavar="NAME",
        help="Print this quantity step by step; a table holds it alone.",
    ),
    click.option("--split", "by", metavar="CHOICE", help="Print the answer along this choice first."),
    click.option(
        "--every",
        type=click.IntRange(1),
        metavar="N",
        help="With --full or --quantity: every Nth step.  [default: as many as leave a dozen]",
    ),
)


def show_projection(
    tree: xr.DataTree,
    command: str,
    *,
    full: bool,
    shown: tuple[str, ...],
    by: str | None,
    every: int | None,
    files: Sequence[str | None],
    plots: Sequence[str],
    pages: Mapping[str, Callable[[], object]],
    as_json: bool,
) -> bool:
    """Write the answer, and every file that was asked for; tell whether something in it failed.

    Parameters
    ----------
    tree : xarray.DataTree
        A projection, new or loaded.
    command : str
        Which command answers.
    full, shown, by, every
        What `NARROWING` says.
    files, plots : sequence of str
        As `forecast.cli.output_files.writers` takes them, and figures.
    pages : mapping of str to callable
        What writes each report.
    as_json : bool
    """
    from forecast.base.netcdf import save
    from forecast.report import figures, result_data, tidy

    _check_narrowed(tree, shown, by)
    failures = result_data.attribute(tree, "failures")
    swept = "sweep" in tree.attrs
    long = full or swept or (every is not None and not shown)
    result = _result(tree, everything=as_json or swept) if as_json or long else {}
    warnings, record = [*failures, *result_data.warnings(tree)], _provenance(tree)

    def answer() -> str:
        whole = result if as_json or swept else _result(tree, everything=True)
        return render.answered(whole, command=command, warnings=warnings, provenance=record)

    render.emit(
        result,
        json=as_json,
        command=command,
        text=partial(_show, tree, result, shown=shown, by=by or "", every=every),
        warnings=warnings,
        provenance=record,
        files={
            **writers(*files, answer=answer, table=lambda: tidy.columns(tree, only=shown), save=partial(save, tree)),
            **{path: partial(figures.plot, tree, path, width=plot_width()) for path in plots},
            **pages,
        },
    )
    return bool(failures)


def _provenance(tree: xr.DataTree) -> dict[str, Any]:
    """Return what is needed to repeat the answer: as the projection has it, beside the command that was typed."""
    from forecast.report.plain_data import attribute

    asked = ("seed", "draws", "start", "until", "step", "set", "data", "scenario_hash")
    more = {key: attribute(tree, key) for key in asked}
    found = {key: attribute(tree, key) for key in ("changes", "sweep", "swap") if tree.attrs.get(key, "{}") != "{}"}
    return {
        **render.provenance(**more),
        "plugins": attribute(tree, "plugins"),
        **found,
        "versions": attribute(tree, "versions"),
    }


def _check_narrowed(tree: xr.DataTree, shown: Sequence[str], by: str | None) -> None:
    """Refuse a quantity or a choice that the answer does not have."""
    from forecast.report.plain_data import attribute
    from forecast.report.value_quantiles import ValueQuantiles

    names = ValueQuantiles(tree).names() if shown else []
    for name in shown:
        if name not in names:
            raise UnknownNameError("quantity", name, names, where="--quantity")
    choices = attribute(tree, "choices")
    if by is not None and by not in choices:
        raise UnknownNameError("choice", by, choices, where="--split")


def _result(tree: xr.DataTree, *, everything: bool) -> dict[str, Any]:
    """Return the answer as plain data; without `everything` only those quantities that are shown."""
    from forecast.models.shapes.track_record import sentence
    from forecast.report import result_data
    from forecast.report.headline import headline

    shown = result_data.attribute(tree, "show") if "show" in tree.attrs else None
    record = sentence(result_data.attribute(tree, "models"))
    return {
        "scenario": result_data.attribute(tree, "scenario"),
        "headline": headline(tree),
        "questions": result_data.questions(tree),
        **({"pooled": total} if (total := result_data.pooled(tree)) else {}),
        "drivers": result_data.drivers(tree),
        **({"rankings": ranked} if (ranked := result_data.rankings(tree)) else {}),
        **({"update": weighed} if (weighed := result_data.updates(tree)) else {}),
        **({"values": figures_asked} if (figures_asked := result_data.value_answers(tree)) else {}),
        **({"first": race} if (race := result_data.first_answers(tree)) else {}),
        **({"limits": bounds} if (bounds := result_data.limits(tree)) else {}),
        **({"regimes": drawn} if (drawn := result_data.regimes(tree)) else {}),
        **({"failing": failing} if (failing := result_data.failing(tree)) else {}),
        "quantities": result_data.quantities(tree, only=None if everything else shown),
        "models": [{"name": n, **described} for n, described in result_data.attribute(tree, "models").items()],
        **({"record": record} if record else {}),
        **({"newest": dates} if (dates := result_data.newest(tree)) else {}),
    }


def _show(
    tree: xr.DataTree,
    result: dict[str, Any],
    *,
    shown: Sequence[str],
    by: str,
    every: int | None,
) -> None:
    """Write the answer: all of it where that was asked for, else one screen; then the quantities that were named."""
    from forecast.cli.ask import full_text

    if "sweep" in tree.attrs:
        full_text.show_swept(tree, result)
    elif result:
        full_text.show(tree, result, every)
    else:
        from forecast.evaluation.ledger import dated
        from forecast.report.brief import brief

        render.screen(brief(tree, today=dated("today", "today"), by=by))
    if shown:
        from forecast.report.result_data import quantities

        render.write()
        full_text.show_quantities(quantities(tree, only=shown), shown, every)
