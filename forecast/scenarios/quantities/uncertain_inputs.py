"""What a scenario does not know, beside numbers with a distribution: regimes, schedules, own draws, what is fitted to
other quantities, what moves together, and what is known besides.

::

    [quantities.kind]
    draw = { exponential = 0.45, super = 0.45, sub = 0.10 }       # one a world
    [quantities.budget]
    schedule = [[2026, 2.6], [2029, 2.0]]
    as = "rate"
    between = "log"
    [quantities.exponent]
    draws = "posterior.csv"
    column = "alpha"
    unit = ""
    [quantities.need]
    fitted = "normal"
    of = "raw"
    [[correlations]]
    of = ["need", "exponent_of_cost"]
    rho = 0.7
    [update.need]
    log_likelihood = "-8*10**(0.3*(17 - need))"
"""

from __future__ import annotations

import hashlib
import itertools
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from forecast.errors import ScenarioError, UnknownNameError, UsageError, printable
from forecast.formula import Formula

if TYPE_CHECKING:
    from forecast.scenarios.parse import ScenarioReader

Array = NDArray[np.float64]


__all__ = [
    "FORMS",
    "Correlation",
    "DrawTable",
    "MomentFit",
    "OwnDraws",
    "Regime",
    "Schedule",
    "correlations",
    "updates",
    "year",
]

#: What a label may be made of: what the CF conventions allow in ``flag_meanings``.
_LABEL = re.compile(r"[A-Za-z0-9_.+@-]{1,64}", re.ASCII)
#: Probabilities may differ from 1 in all by what writing them in decimals leaves.
ROUNDING = 1e-9
LARGEST = 1e300


@dataclass(frozen=True, kw_only=True)
class Regime:
    """One of several regimes a world, each with its probability; its value is the number of its label, from 0."""

    labels: tuple[str, ...]
    probabilities: tuple[float, ...]

    def codes(self, u: Array) -> Array:
        """Turn uniforms in (0, 1) into the numbers of labels.

        Examples
        --------
        >>> import numpy as np
        >>> Regime(labels=("low", "high"), probabilities=(0.25, 0.75)).codes(np.array([0.1, 0.3, 0.9])).tolist()
        [0.0, 1.0, 1.0]
        """
        ends = np.cumsum(self.probabilities)[:-1]
        codes: Array = np.searchsorted(ends, u, side="right").astype(np.float64)
        return codes

    def code(self, label: object, *, where: str) -> float:
        """Return the number of a label.

        Raises
        ------
        UnknownNameError
        """
        if label not in self.labels:
            raise UnknownNameError("label", label, self.labels, where=where)
        return float(self.labels.index(str(label)))


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """What is planned: levels by date, or the factors a year that hold from each date on.

    Parameters
    ----------
    points : tuple of (float, float)
        Decimal years, increasing, and what holds there. Before the first the first holds, after the last the last.
    as_ : {"level", "rate"}
        The value itself, or a factor a year: the quantity is then 1 at the first step and its logarithm the integral of
        the rate's logarithm.
    between : {"step", "linear", "log"}
        What holds from one date to the next: the earlier value, or a straight line, or one in the logarithm.
    unit : str
    qualifiers : mapping of str to str
    """

    points: tuple[tuple[float, float], ...]
    as_: Literal["level", "rate"]
    between: Literal["step", "linear", "log"] = "step"
    unit: str = ""
    qualifiers: Mapping[str, str] = field(default_factory=dict)

    def values(self, time: Array) -> Array:
        """Return the quantity at these decimal years, (time,); a rate counts from the first of them.

        Examples
        --------
        >>> import numpy as np
        >>> plan = Schedule(points=((2020.0, 2.0), (2022.0, 1.0)), as_="rate", between="step")
        >>> plan.values(np.array([2019.0, 2020.0, 2021.0, 2023.0])).round(6).tolist()
        [1.0, 2.0, 4.0, 8.0]
        """
        if self.as_ == "level":
            return self._between(time)
        total = self._integral(time)
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(total - total[:1]))

    def _between(self, time: Array) -> Array:

        dates, values = (np.array(column) for column in zip(*self.points, strict=True))
        if self.between == "step":
            return np.asarray(values[np.maximum(np.searchsorted(dates, time, side="right") - 1, 0)])
        if self.between == "linear":
            return np.asarray(np.interp(time, dates, values))
        return np.asarray(np.exp(np.interp(time, dates, np.log(values))))

    def _integral(self, time: Array) -> Array:
        """Integrate the logarithm of the rate from the first date of the schedule to each time, exactly."""
        dates, rates = (np.array(column) for column in zip(*self.points, strict=True))
        # pieces: before the first date, between dates, after the last one
        piece = np.searchsorted(dates, time, side="right") - 1
        whole = np.diff(dates) * self._mean_log(rates[:-1], rates[1:])
        upto = np.concatenate([[0.0], np.cumsum(whole)])
        inside = np.clip(piece, 0, len(dates) - 1)
        return np.asarray(upto[inside] + (time - dates[inside]) * self._mean_log(rates[inside], self._between(time)))

    def _mean_log(self, first: Array, last: Array) -> Array:
        """Return the mean of the rate's logarithm from one date to another, between which it goes as stated."""
        if self.between == "step":
            return np.asarray(np.log(first))
        if self.between == "log":
            return np.asarray(0.5 * (np.log(first) + np.log(last)))
        # linear: the mean of log(a + (b - a)*s) over s from 0 to 1 is log(a) + (1 + x)*log(1 + x)/x - 1, x = b/a - 1
        x = last / first - 1
        still = x == 0
        x = np.where(still, 1.0, x)
        return np.asarray(np.log(first) + np.where(still, 0.0, (1 + x) * np.log1p(x) / x - 1))


@dataclass(frozen=True, kw_only=True, eq=False)
class DrawTable:
    """Draws of one's own that Python holds: columns of one length, a row a world.

    Parameters
    ----------
    name : str
        Chooses the rows, as the name of a file does.
    columns : mapping of str to array

    Raises
    ------
    UsageError
        Where these are no columns of finite numbers, or not of one length.
    """

    name: str
    columns: Mapping[str, Array] = field(repr=False)

    def __post_init__(self) -> None:

        shapes = {np.shape(each) for each in self.columns.values()}
        if len(shapes) != 1 or len(next(iter(shapes))) != 1 or not next(iter(shapes))[0]:
            told = ", ".join(f"{name} {np.shape(each)}" for name, each in self.columns.items())
            raise UsageError(f"draws '{printable(self.name, 60)}': expected columns of one length, got {told}")
        for name, each in self.columns.items():
            if bad := int((~np.isfinite(each)).sum()):
                raise UsageError(
                    f"draws '{printable(self.name, 60)}': column '{printable(name, 60)}': {bad} of {len(each)} are no "
                    "finite numbers"
                )

    @property
    def hash(self) -> str:
        """A hash of the contents, as a file has one."""
        digest = hashlib.sha256()
        for name, each in self.columns.items():
            digest.update(name.encode() + np.ascontiguousarray(each, dtype=np.float64).tobytes())
        return f"sha256:{digest.hexdigest()}"


@dataclass(frozen=True, kw_only=True)
class OwnDraws:
    """A column of draws of one's own: each world reads a row, the same one in every quantity that names the file."""

    draws: str | DrawTable
    column: str
    unit: str
    qualifiers: Mapping[str, str] = field(default_factory=dict)

    @property
    def stream(self) -> str:
        """The name of the uniforms that choose rows; the folder is no part of it, so that a file may be moved."""
        return f"draws {self.source}"

    @property
    def source(self) -> str:
        """What the draws are called."""
        return Path(self.draws).name if isinstance(self.draws, str) else self.draws.name

    def values(self, *, where: str) -> Array:
        """Read the column.

        Raises
        ------
        ScenarioError
            For cells that are no finite numbers.
        """
        from forecast import tables, units

        if not isinstance(self.draws, str):
            if self.column not in self.draws.columns:
                raise UnknownNameError("column", self.column, self.draws.columns, where=f"{where}.column")
            return self.draws.columns[self.column]
        read = tables.columns(self.draws, where=where)
        if self.column not in read:
            raise UnknownNameError("column", self.column, read, where=f"{where}.column")
        values = read[self.column]
        if values.dtype.kind != "f":
            raise ScenarioError(f"{where}.column: '{printable(self.column, 60)}': expected a column of numbers")
        if bad := int((~np.isfinite(values)).sum()):
            raise ScenarioError(
                f"{where}.column: '{printable(self.column, 60)}': {bad} of {len(values)} cells are no finite numbers"
            )
        stated = read.units.get(self.column)
        if stated is None:
            return values
        return np.asarray(units.convert(values, stated, self.unit, where=f"{where}.unit"))


@dataclass(frozen=True, kw_only=True)
class MomentFit:
    """A distribution with the mean and the variance of another quantity's worlds, drawn independently of it."""

    NAMES: ClassVar = ("of",)

    fitted: Literal["normal", "lognormal"]
    of: str


@dataclass(frozen=True, kw_only=True)
class Correlation:
    """Quantities that move together: a Gaussian copula with these rank correlations (Spearman's rho).

    Parameters
    ----------
    of : tuple of str
        Quantities, or inputs of models by their full name; the first keeps the draws that it has without the others.
    matrix : tuple of tuple of float
        Rank correlations.
    """

    NAMES: ClassVar = ("of",)

    of: tuple[str, ...]
    matrix: tuple[tuple[float, ...], ...]

    def rows(self, *, where: str) -> dict[str, tuple[float, ...]]:
        """Return, for each but the first, the weights of the normal scores of those up to itself.

        Raises
        ------
        ScenarioError
            Where no numbers can be correlated like this.

        Examples
        --------
        >>> pair = Correlation(of=("a", "b"), matrix=((1.0, 0.5), (0.5, 1.0)))
        >>> [round(w, 4) for w in pair.rows(where="demo")["b"]]  # 2 sin(pi/12), and what is left of 1
        [0.5176, 0.8556]
        """
        pearson = 2 * np.sin(np.pi / 6 * np.array(self.matrix))
        np.fill_diagonal(pearson, 1.0)
        try:
            factor = np.linalg.cholesky(pearson)
        except np.linalg.LinAlgError:
            raise ScenarioError(
                f"{where}: the correlations contradict each other: their matrix is not positive definite"
            ) from None
        return {name: tuple(factor[i, : i + 1].tolist()) for i, name in enumerate(self.of) if i}


# --- how they are read -----------------------------------------------------------------------------------------------


def _number(reader: ScenarioReader, value: object, key: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) <= LARGEST:
        raise reader.fail(key, f"expected a finite number, got '{printable(value, 40)}'")
    return float(value)


def _regime(reader: ScenarioReader, record: Mapping[str, Any], key: str) -> Regime:
    reader.only(record, ("draw",), key)
    at, stated = f"{key}.draw", record["draw"]
    if not isinstance(stated, Mapping) or len(stated) < 2:
        raise reader.fail(at, "expected two or more labels with their probabilities, such as {fast = 0.3, slow = 0.7}")
    for label in stated:
        if not isinstance(label, str) or not _LABEL.fullmatch(label):
            raise reader.fail(
                at, f"expected labels of letters, digits and any of _ . + @ -, got '{printable(label, 40)}'"
            )
    shares = tuple(_number(reader, value, f"{at}.{label}") for label, value in stated.items())
    for label, share in zip(stated, shares, strict=True):
        if share < 0:
            raise reader.fail(f"{at}.{label}", f"expected a probability, got {share:g}")
    if abs(math.fsum(shares) - 1) > ROUNDING:
        raise reader.fail(at, f"expected probabilities that sum to 1; their sum is {math.fsum(shares):.10g}")
    return Regime(labels=tuple(stated), probabilities=shares)


def _schedule(reader: ScenarioReader, record: Mapping[str, Any], key: str) -> Schedule:
    reader.only(record, ("schedule", "as", "between", "unit", "qualifiers"), key)
    as_, between = reader.text(record, "as", key), reader.text(record, "between", key, default="step")
    for name, value, known in (("as", as_, ("level", "rate")), ("between", between, ("linear", "log", "step"))):
        if value not in known:
            raise UnknownNameError("word", value, known, where=f"{reader.where}: {key}.{name}")
    at, stated = f"{key}.schedule", record["schedule"]
    if not isinstance(stated, (list, tuple)) or not stated:
        raise reader.fail(at, "expected dates and values, such as [[2026, 2.6], [2029, 2.0]]")
    points = []
    for pair in stated:
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            raise reader.fail(at, f"expected a date and a value, such as [2026, 2.6], got '{printable(pair, 40)}'")
        points.append((year(reader, pair[0], at), _number(reader, pair[1], at)))
    for (before, _), (after, _) in itertools.pairwise(points):
        if not before < after:
            raise reader.fail(at, f"expected dates that rise, got {after:g} after {before:g}")
    if as_ == "rate" or between == "log":
        for when, level in points:
            if level <= 0:
                what = "a rate is a factor a year" if as_ == "rate" else "a logarithm is taken"
                raise reader.fail(at, f"expected values above 0, got {level:g} in {when:g}: {what}")
    unit = reader.unit(record, key) if as_ == "level" or "unit" in record else ""
    if as_ == "rate":
        from forecast import units

        units.check(unit, "", where=f"{reader.where}: {key}.unit: a rate makes a factor that is 1 at the first step")
    return Schedule(
        points=tuple(points),
        as_=as_,  # type: ignore[arg-type]
        between=between,  # type: ignore[arg-type]
        unit=unit,
        qualifiers=reader.qualifiers(record, key),
    )


def year(reader: ScenarioReader, value: object, key: str) -> float:
    """Return a decimal year: a number, or a date."""
    if isinstance(value, date):
        from forecast.base.dates import decimal_year

        return float(decimal_year(np.datetime64(reader.date(value, key), "s")))
    year = _number(reader, value, key)
    if not 1 <= year < 10000:
        raise reader.fail(key, f"expected a year from 1 to 9999, got '{printable(value, 40)}'")
    return year


def _own_draws(reader: ScenarioReader, record: Mapping[str, Any], key: str) -> OwnDraws:
    reader.only(record, ("draws", "column", "unit", "qualifiers"), key)
    draws = record["draws"]
    return OwnDraws(
        draws=draws if isinstance(draws, DrawTable) else reader.source(record, "draws", key),
        column=reader.text(record, "column", key),
        unit=reader.unit(record, key),
        qualifiers=reader.qualifiers(record, key),
    )


def _fitted(reader: ScenarioReader, record: Mapping[str, Any], key: str) -> MomentFit:
    reader.only(record, ("fitted", "of"), key)
    family = reader.text(record, "fitted", key)
    if family not in ("normal", "lognormal"):
        raise UnknownNameError("family", family, ("normal", "lognormal"), where=f"{reader.where}: {key}.fitted")
    return MomentFit(fitted=family, of=reader.text(record, "of", key))  # type: ignore[arg-type]


#: The key that tells each kind from the others, and what reads it.
FORMS: Mapping[str, Callable[[ScenarioReader, Mapping[str, Any], str], Regime | Schedule | OwnDraws | MomentFit]] = {
    "draw": _regime,
    "schedule": _schedule,
    "draws": _own_draws,
    "fitted": _fitted,
}


def correlations(reader: ScenarioReader, record: Mapping[str, Any]) -> Iterator[Correlation]:
    """Read the groups of what moves together; whether those names are known is for the graph."""
    groups = record.get("correlations", ())
    if not isinstance(groups, (list, tuple)):
        raise reader.fail("correlations", "expected [[correlations]], with two brackets: there may be several")
    grouped: dict[str, int] = {}
    for number, group in enumerate(groups, 1):
        key = f"correlations[{number}]"
        reader.only(group, ("of", "rho", "matrix"), key)
        if "of" not in group:
            raise reader.fail(f"{key}.of", "is missing")
        names = reader.texts(group["of"], f"{key}.of")
        if len(names) < 2:
            raise reader.fail(f"{key}.of", "expected two or more names")
        for name in names:
            if name in grouped:
                where = "twice" if grouped[name] == number else f"in group {grouped[name]} too: put both into one"
                raise reader.fail(f"{key}.of", f"'{printable(name, 80)}' stands there {where}")
            grouped[name] = number
        if ("rho" in group) == ("matrix" in group):
            raise reader.fail(key, "expected rho, or a matrix, and not both")
        made = Correlation(of=names, matrix=_matrix(reader, group, len(names), key))
        made.rows(where=f"{printable(reader.where)}: {key}")
        yield made


def _matrix(reader: ScenarioReader, group: Mapping[str, Any], size: int, key: str) -> tuple[tuple[float, ...], ...]:
    if "rho" in group:
        rho = _number(reader, group["rho"], f"{key}.rho")
        if not -1 < rho < 1:
            raise reader.fail(f"{key}.rho", f"expected a rank correlation between -1 and 1, got {rho:g}")
        return tuple(tuple(1.0 if i == j else rho for j in range(size)) for i in range(size))
    at, rows = f"{key}.matrix", group["matrix"]
    listed = isinstance(rows, (list, tuple)) and all(isinstance(row, (list, tuple)) for row in rows)
    if not listed or len(rows) != size or any(len(row) != size for row in rows):
        raise reader.fail(at, f"expected {size} rows of {size} numbers, one for each of 'of'")
    matrix = tuple(tuple(_number(reader, value, at) for value in row) for row in rows)
    for i in range(size):
        for j in range(i + 1):
            if matrix[i][j] != matrix[j][i]:
                raise reader.fail(at, f"expected the same both ways, got {matrix[i][j]:g} and {matrix[j][i]:g}")
            if (i == j and matrix[i][j] != 1) or not -1 <= matrix[i][j] <= 1:
                raise reader.fail(
                    at, f"expected 1 on the diagonal and rank correlations beside it, got {matrix[i][j]:g}"
                )
    return matrix


def updates(reader: ScenarioReader, record: Mapping[str, Any]) -> Iterator[tuple[str, Formula]]:
    """Read by what worlds are weighed; the name says of which quantity something is known."""
    for name, stated in reader.tables(record, "update"):
        key = f"update.{name}"
        reader.only(stated, ("log_likelihood",), key)
        yield name, reader.formula(reader.text(stated, "log_likelihood", key), f"{key}.log_likelihood")
