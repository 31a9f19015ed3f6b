"""The page of an extrapolation: its sentence and figure, what it rests on, how such have done. It needs no script."""

from __future__ import annotations

import os
import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np

from forecast.base.dates import from_decimal_year
from forecast.base.files import safe_output, write_atomic
from forecast.errors import printable
from forecast.projection.provenance import library_versions
from forecast.report.figures.extrapolations import plot_extrapolation
from forecast.report.page import check_format, image_address, policy, style, template_environment
from forecast.report.page.appendices import foreign
from forecast.tables.csv_format import to_csv as csv_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from forecast.evaluation.extrapolate import Extrapolation

#: Points that are listed, the last ones.
_MAX_PAGE_POINTS = 500


def write_extrapolation(
    answer: Extrapolation, path: str | os.PathLike[str], *, of: str = "", repeat: str = "", record: str = ""
) -> Path:
    """Write the page of an extrapolation.

    Parameters
    ----------
    answer : Extrapolation
    path : path-like
        Ends in ``.html``.
    of : str
        What the points are called: the name of their file.
    repeat : str
        The command that repeats it.
    record : str
        The answer as JSON.

    Returns
    -------
    pathlib.Path

    Raises
    ------
    UsageError
        For another ending.
    """
    check_format(path)
    result = (
        template_environment()
        .get_template("extrapolation.html.j2")
        .render(**_page_contents(answer, of, repeat, record))
    )
    return write_atomic(safe_output(path), result)


def _page_contents(answer: Extrapolation, of: str, repeat: str, record: str) -> dict[str, Any]:
    x, y = (printable(name, 60) for name in answer.names)
    at, known = (_point_labels(answer, values) for values in (answer.to, answer.x))
    columns = {x: at, "median": answer.median.tolist(), "lower": answer.lower.tolist(), "upper": answer.upper.tolist()}
    rows = list(zip(*columns.values(), strict=True)) if answer.threshold is None else []
    ends = f"{100 * answer.level:g} % from", "to"
    return {
        "policy": policy(),
        "style": style(),
        "title": foreign(f"{y} of {of}" if of else y),
        "file": re.sub(r"[^A-Za-z0-9]+", "-", f"{of} {y}").strip("-")[:60] or "extrapolation",
        "sentence": foreign(answer.sentence),
        "figure": image_address(partial(plot_extrapolation, answer)),
        "csv": f"data:text/csv;charset=utf-8,{quote(csv_text(columns))}",
        "columns": [x, "median", *ends],
        "value": y,
        "points": [[row[0], *(f"{each:.4g}" for each in row[1:])] for row in rows],
        "laws": [
            {"name": foreign(row["name"]), "weight": f"{100 * row['weight']:.0f} %", "says": f"{row['says']:.4g}"}
            for row in answer.laws
        ],
        "said_of": f"the reciprocal of {y}, which rises" if answer.rises else y,
        "record": [foreign(line) for line in answer.record],
        "warnings": [foreign(line) for line in (answer.read, *answer.warnings) if line],
        "known": [(each, f"{value:.5g}") for each, value in zip(known, answer.y, strict=True)][-_MAX_PAGE_POINTS:],
        "repeat": foreign(repeat),
        "record_text": record,
        "version": library_versions()["lawcast"],
    }


def _point_labels(answer: Extrapolation, values: NDArray[np.float64]) -> list[str]:
    if answer.dates:
        return [str(day) for day in from_decimal_year(values).astype("datetime64[D]")]
    return [f"{each:.6g}" for each in values]
