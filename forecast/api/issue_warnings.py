"""Warnings of Python, issued where a person asks; within the package, and on the command line, runs are silent."""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast

from forecast.api.scenario import run_scenario
from forecast.base.notebook_html import to_html
from forecast.errors import ForecastWarning
from forecast.projection import engine
from forecast.projection.result import Projection

#: A function that returns a projection; its signature is kept, also for editors that do not know of ParamSpec.
Run = TypeVar("Run", bound=Callable[..., Projection])


def issue(warnings_found: Iterable[ForecastWarning], before: Iterable[ForecastWarning] = ()) -> None:
    """Issue warnings at the line that called the package, but those of a kind and subject that were `before` before."""
    topics = set(map(_topic, before))
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "forecast":
        level, frame = level + 1, frame.f_back
    for each in warnings_found:
        if _topic(each) not in topics:
            warnings.warn(each, stacklevel=level)


def _topic(warning: ForecastWarning) -> object:
    return (type(warning), warning.subject, warning.model) if warning.subject else warning


def _with_warnings_issued(run: Run) -> Run:
    run_silently: Callable[..., Projection] = run_scenario

    @functools.wraps(run)
    def project(*args: Any, **keywords: Any) -> Projection:
        projection = run_silently(*args, **keywords)
        issue(projection.warnings)
        return projection

    project.__module__ = __name__  # where it is found again
    return cast("Run", project)


project = _with_warnings_issued(engine.project)


@to_html.register
def _projection_page(run: Projection) -> str:
    """Return a projection as HTML: here, where everyone who holds one has passed."""
    from forecast.report import notebook

    return notebook.projection(run)
