"""A line in log value, possibly broken: the fitted shape that the exponential and the changepoint share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from forecast.base.arrays import Array, BoolArray
from forecast.models import Description, FittedShape, condition_draws
from forecast_trends.autoregression import Mixture, Regressions, ScatteredShape, regressions, share_going_on
from forecast_trends.evidence import from_record
from forecast_trends.student_mixture import StudentMixture

if TYPE_CHECKING:
    from forecast.streams import Streams


__all__ = ["FittedLine", "design", "regressed_lines"]

#: The coefficients of a line, in the order of `design`.
_LINE_PARAMETERS = ("log_level", "growth", "growth_change")


def design(time: Array, origin: float, breaks: Array | float | None) -> Array:
    """Return the columns 1, t and, with a break, max(0, t − break): of many breaks (break, point, column)."""
    columns = [np.ones_like(time), time - origin]
    if breaks is not None:
        columns.append(np.maximum(0.0, time - np.asarray(breaks)[..., None]))
    return np.stack(np.broadcast_arrays(*columns), axis=-1)


def regressed_lines(
    x: Array, y: Array, records: BoolArray | None, rho: Array | None = None
) -> tuple[Array, Regressions]:
    """Return the coefficients of plain least squares for each of several designs, and what weighs every ρ."""
    q, r = np.linalg.qr(x)
    along, back = np.einsum("dnk,n->dk", q, y), np.linalg.inv(r)
    rest = y - np.einsum("dnk,dk->dn", q, along)
    return np.einsum("dij,dj->di", back, along), regressions(q, rest, back, rho=rho, records=records)


@dataclass(frozen=True, kw_only=True)
class FittedLine(ScatteredShape):
    """One line or a broken one, with noise that follows itself.

    Parameters
    ----------
    lines : Mixture
    breaks : ndarray or None
        The date of each design's break.
    central_line : ndarray
        Coefficients of the central path.
    central_break : float or None
    residuals : ndarray
        Of the central path, in the order of the points.
    origin : float
        The date that the intercept belongs to.
    summary : str
    assumptions : tuple of str
    facts : mapping of str to float
    """

    lines: Mixture
    breaks: Array | None
    central_line: Array
    central_break: float | None
    residuals: Array
    origin: float
    summary: str
    assumptions: tuple[str, ...]
    facts: Mapping[str, float]

    def posterior(self, streams: Streams) -> Mapping[str, Array]:
        """Draw intercept and growth rates (and the break), and the noise: its size and autocorrelation, jointly."""
        beta, scatter, pick = self.lines.drawn(streams)
        out = dict(zip(_LINE_PARAMETERS, beta, strict=False))
        if self.breaks is not None:
            out["break"] = self.breaks[self.lines.design[pick]]
        return out | {"scatter": scatter, "autocorrelation": self.lines.rho[pick]}

    def marginals(self, time: Array, *, observed: bool = False) -> StudentMixture:
        """Return the distribution of the log level at each date, or of one observation's: that of `sample`."""
        time = np.asarray(time, dtype=float)
        columns, mixed = self._columns(time), self.lines
        centres = variances = np.zeros((len(time), len(mixed.weights)))
        if observed:
            date, value = self.last
            known = share_going_on((time - date) / self.apart, mixed.rho)
            centres, variances = known * value, (1 - known**2) * mixed.scale**2
            columns = columns - known[..., None] * self._columns(np.array([date]))
        centres = centres + np.einsum("tck,ck->tc", columns, mixed.centre)
        turned = np.einsum("tck,ckj->tcj", columns, mixed.root)
        variances = variances + np.einsum("tcj,tcj->tc", turned, turned)
        return StudentMixture(centres=centres, widths=np.sqrt(variances), dof=mixed.dof, weights=mixed.weights)

    def _straightened(self, time: Array) -> Array:
        """Return the dates at which a straight line has what this one has at these: the same, where growth lasts."""
        return np.asarray(time, dtype=float)

    def _columns(self, time: Array) -> Array:
        """Return what each coefficient is multiplied by, (date, component, coefficient)."""
        time = self._straightened(time)
        if self.breaks is None:
            return np.broadcast_to(design(time, self.origin, None)[:, None], (len(time), len(self.lines.weights), 2))
        return np.moveaxis(design(time, self.origin, self.breaks[self.lines.design]), 0, 1)

    @property
    def settable(self) -> Mapping[str, str]:  # type: ignore[override]
        """Level, growth and, with a break, its date and the change of growth."""
        dated = {} if self.central_break is None else {"growth_change": "1/year", "break": ""}
        return {"log_level": "", "growth": "1/year", **dated}  # a date is a decimal year

    def log_level(self, time: Array, parameters: Mapping[str, Array]) -> Array:
        """Return the lines of these parameters."""
        level = parameters["log_level"] + parameters["growth"] * (self._straightened(time)[:, None] - self.origin)
        if "break" in parameters:
            level = level + parameters["growth_change"] * np.maximum(0.0, time[:, None] - parameters["break"])
        return np.asarray(level)

    def conditional(self, drawn: Mapping[str, Array], fixed: Mapping[str, Array]) -> Mapping[str, Array]:
        """Return coefficients given some of them, break by break; the date of a fixed break shifts nothing."""
        names = _LINE_PARAMETERS[: len(self.central_line)]
        if self.breaks is None:
            return condition_draws(drawn, fixed, names, self.lines.covariance(0))
        out = {**drawn, **fixed}
        for which, date in enumerate(self.breaks):
            mine = drawn["break"] == date
            if not mine.any():
                continue
            part, known = ({n: each[n][mine] for n in names if n in each} for each in (drawn, fixed))
            for name, moved in condition_draws(part, known, names, self.lines.covariance(which)).items():
                out[name] = np.where(mine, 0.0, out[name])
                out[name][mine] = moved
        return out

    def central(self, time: Array) -> Array:
        """Return the central line."""
        return np.exp(design(self._straightened(time), self.origin, self.central_break) @ self.central_line)

    def anchored(self, time: Array, record: Array) -> FittedShape:
        """Return the same from the last record on, which comes back to the line as its residuals do."""
        return from_record(self, time, record, self.residuals)

    def describe(self) -> Description:
        """Say growth with an interval, and what it assumes."""
        return Description(summary=self.summary, assumptions=self.assumptions, facts=self.facts)
