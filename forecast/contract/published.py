"""What others published: parameters of laws, the protocols they were fitted by, and dated forecasts. Records, as in
`specs`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from forecast.base.number_checks import is_integer
from forecast.contract.fields import (
    Checked,
    checked_field,
    date,
    flag_field,
    is_number,
    is_text,
    mapping_field,
    maybe_text,
    numbers,
    optional_field,
    read_only,
    text_field,
    text_tuple_field,
    tuple_of,
)
from forecast.errors import printable

#: What a variance may lack of 0, or a covariance of its mirror image, by the rounding of a printed table.
COVARIANCE_RTOL = 1e-9


def _maybe_date(value: object) -> bool:
    return value == "" or date(value)


def _is_finite(value: object) -> bool:
    return is_number(value) and math.isfinite(value)


@dataclass(frozen=True, kw_only=True)
class DatedForecast(Checked):
    """What somebody foretold, and what happened: `forecast.evaluation.outcomes` judges it.

    Numbers are in the unit of the claim; dates that are foretold are decimal years.

    Parameters
    ----------
    who : str
    kind : {"date", "value", "probability"}
        When something happens, how much there is on a date, or how likely something is by a date.
    published : str
        ISO date.
    target : str
        ISO date on which a value or a probability is about; none of a date.
    median, low, high : float, optional
        The forecast, and the ends of its interval or range. One of the ends may be open.
    level : float, optional
        Of the interval, such as 0.8; none for a range without a probability.
    outcome : float, optional
        What happened: a decimal year, a value, or of a probability 1 or 0.
    observed_on : str
        ISO date on which the outcome was known; of a date without an outcome, until when it had not come.
    provisional : bool
        The outcome may still change: it is not counted.
    verified : bool
        The forecast was read where it was made, or in a quotation of that; otherwise it is not judged.
    """

    who: str = text_field()
    kind: str = checked_field(lambda v: v in ("date", "value", "probability"), "date, value or probability")
    published: str = checked_field(date, "a date YYYY-MM-DD")
    target: str = checked_field(_maybe_date, "a date YYYY-MM-DD, or nothing", default="")
    median: float | None = optional_field(_is_finite, "a finite number, or None")
    low: float | None = optional_field(_is_finite, "a finite number, or None")
    high: float | None = optional_field(_is_finite, "a finite number, or None")
    level: float | None = optional_field(lambda v: is_number(v) and 0 < v < 1, "a share between 0 and 1, or None")
    outcome: float | None = optional_field(_is_finite, "a finite number, or None")
    observed_on: str = checked_field(_maybe_date, "a date YYYY-MM-DD, or nothing", default="")
    provisional: bool = flag_field(False)
    verified: bool = flag_field(True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.median is None and self.low is None and self.high is None:
            self._refuse("median", "expected a forecast: a median, or an end of an interval")
        if self.low is not None and self.high is not None and not self.low < self.high:
            self._refuse("low", f"expected less than high, {self.high:g}, got {self.low:g}")
        if self.level is not None and self.low is None and self.high is None:
            self._refuse("level", "of which interval? Expected low or high")
        if (self.kind == "date") == bool(self.target):
            self._refuse("target", "a value and a probability are about a date; a date is the forecast itself")
        if self.outcome is not None and not self.observed_on:
            self._refuse("observed_on", "expected the date on which the outcome was known")
        if self.kind == "probability" and not (
            self.median is not None and 0 <= self.median <= 1 and self.outcome in (None, 0, 1)
        ):
            self._refuse("median", "expected a probability from 0 to 1, and an outcome of 1 or 0")

    @property
    def name(self) -> str:  # type: ignore[override]
        """Who foretold it, for messages."""
        return self.who


@dataclass(frozen=True, kw_only=True)
class PublishedFit(Checked):
    """Published parameters of a law: a fit that needs no data.

    Parameters
    ----------
    name : str
        As in ``law.published(name)`` and ``LAW@name``.
    parameters : mapping of str to float
        Unrounded where the source has them so.
    reference : str
        The publication.
    stderr : mapping of str to float
        Standard errors, where published; of parameters that `covariance` does not have.
    covariance : mapping of str to mapping of str to float
        Where published: of parameters with parameters, each with each, so that they are drawn jointly.
    rounded : bool
        The source prints rounded figures: forecasts from them are biased, and every answer says so.
    note : str
        Anything a reader of an answer must know.
    """

    name: str = text_field()
    parameters: Mapping[str, float] = checked_field(numbers, "a mapping of parameter to number")
    reference: str = text_field()
    stderr: Mapping[str, float] = mapping_field(is_number, "of parameter to number")
    covariance: Mapping[str, Mapping[str, float]] = mapping_field(
        numbers, "of parameter to a mapping of parameter to number"
    )
    rounded: bool = flag_field(False)
    note: str = text_field(default="")

    def __post_init__(self) -> None:
        super().__post_init__()
        rows = read_only({a: read_only(row) for a, row in self.covariance.items()})
        object.__setattr__(self, "covariance", rows)
        for a, row in rows.items():
            if set(row) != set(rows):
                self._refuse("covariance", f"'{printable(a, 60)}': expected a number for each of {', '.join(rows)}")
            if a in self.stderr:
                self._refuse("stderr", f"'{printable(a, 60)}': it is the root of a variance in covariance; state one")
            for b, value in row.items():
                if not math.isclose(value, rows[b][a], rel_tol=COVARIANCE_RTOL):
                    self._refuse("covariance", f"{a} with {b} is {value:g}, and {b} with {a} is {rows[b][a]:g}")
        if rows and self.correlated() is None:
            self._refuse("covariance", "expected positive variances, and no combination of negative variance")

    @property
    def errors(self) -> dict[str, float]:
        """The standard errors, stated or the roots of the stated variances."""
        return {**{a: math.sqrt(row[a]) for a, row in self.covariance.items()}, **self.stderr}

    def correlated(self) -> list[list[float]] | None:
        """Return what turns independent standard normal numbers into numbers as correlated as the parameters.

        It is the lower triangle whose square is the correlation matrix of the parameters in `covariance`, in their
        order; None where that is no covariance.
        """
        names = list(self.covariance)
        if not all(0 < self.covariance[a][a] < math.inf for a in names):
            return None
        size = {a: math.sqrt(self.covariance[a][a]) for a in names}
        rows: list[list[float]] = []
        for a in names:
            row: list[float] = []
            for b, other in zip(names, rows, strict=False):
                met = sum(x * y for x, y in zip(row, other, strict=False))
                left = self.covariance[a][b] / size[a] / size[b] - met
                if not other[-1] and abs(left) > COVARIANCE_RTOL:
                    return None
                row.append(left / other[-1] if other[-1] else 0.0)
            rest = 1.0 - sum(x * x for x in row)
            if not rest > -COVARIANCE_RTOL:
                return None
            rows.append([*row, math.sqrt(rest) if rest > COVARIANCE_RTOL else 0.0])
        return rows


@dataclass(frozen=True, kw_only=True)
class ProtocolSpec(Checked):
    """A published way of fitting a law, in two parts: which rows, and how they are fitted.

    The rows are chosen only where somebody asks (``forecast.protocol(name).select(data)``); fitting by a protocol never
    drops one.

    Parameters
    ----------
    name : str
        As in ``forecast.protocol(name)`` and ``law.fit(data, protocol=name)``.
    reference, title, note : str
        The publication; one line for people; anything a reader of its results must know.
    columns : mapping of str to str
        Columns to add before rows are chosen, in order: a name, and the column of the source or a formula over columns
        it is. A name that the data have already is left as it is.
    keep : tuple of str
        Rules a row must pass to be used at all, in order. A rule is a condition over columns (``"C <= 84"``),
        ``"COLUMN is VALUE"``, ``"present COLUMN"``, or ``"drop K largest COLUMN"`` (or ``smallest``), which drops every
        row that is at least as far out as the K-th.
    train : tuple of str
        Rules of the same kind that split what is left into the training rows and the test rows.
    let, y : mapping of str to str, str
        As in ``law.fit``.
    objective : str
        The objective it minimises.
    options : mapping of str to float
        Options of the objective: ``{"delta": 1e-3}`` is Huber's threshold.
    fix : mapping of str to float
        Parameters that are not fitted.
    coordinates : mapping of str to str
        What the source solves for, where that is not the parameter itself: ``{"A": "log"}``.
    starts : mapping of str to tuple of float
        The grid of starts in those coordinates: the full product.
    bootstrap : int
        How many bootstraps the source takes; a fit takes none by default.
    """

    name: str = text_field()
    reference: str = text_field()
    title: str = text_field(default="")
    note: str = text_field(default="")
    columns: Mapping[str, str] = mapping_field(is_text, "of name to column or formula")
    keep: tuple[str, ...] = text_tuple_field("rules")
    train: tuple[str, ...] = text_tuple_field("rules")
    let: Mapping[str, str] = mapping_field(is_text, "of variable to formula")
    y: str | None = maybe_text()
    objective: str = text_field(default="least_squares")
    options: Mapping[str, float] = mapping_field(is_number, "of option to number")
    fix: Mapping[str, float] = mapping_field(is_number, "of parameter to number")
    coordinates: Mapping[str, str] = mapping_field(
        lambda v: v in ("identity", "log"), "of parameter to identity or log"
    )
    starts: Mapping[str, tuple[float, ...]] = mapping_field(tuple_of(is_number), "of parameter to a tuple of numbers")
    bootstrap: int = checked_field(lambda v: is_integer(v) and v >= 0, "an integer of at least 0", default=0)
