"""A line in log value, possibly broken: the fitted shape that the exponential and the changepoint share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from forecast.models import Description, FittedShape, regressed
from forecast.streams import choice, student_t
from forecast_trends.evidence import from_record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from forecast.streams import Streams
    from forecast_trends.evidence import Evidence

    Array = NDArray[np.float64]

__all__ = ["FittedLine", "Line", "degrees_of_freedom", "design", "solve", "stretch"]

#: The coefficients of a line, in the order of `design`.
_NAMES = ("log_level", "growth", "growth_change")

#: A log value beyond this leaves what a float can hold once units are converted; such draws stay there, finite.
_LARGEST = 600.0


def design(time: Array, origin: float, breaks: float | None) -> Array:
    """Return the columns 1, t and, with a break, max(0, t − break); shape (point, column)."""
    import numpy as np

    columns = [np.ones_like(time), time - origin]
    if breaks is not None:
        columns.append(np.maximum(0.0, time - breaks))
    return np.stack(columns, axis=-1)


@dataclass(frozen=True, kw_only=True)
class Line:
    """Least squares on one design.

    Parameters
    ----------
    breaks : float or None
    coefficients : ndarray
    root : ndarray
        Such that ``root @ root.T`` is the inverse of X'X.
    residuals : ndarray
    """

    breaks: float | None
    coefficients: Array
    root: Array
    residuals: Array

    @property
    def scale(self) -> float:
        """Residual standard deviation."""
        free = len(self.residuals) - len(self.coefficients)
        return float((self.residuals @ self.residuals / max(free, 1)) ** 0.5)


def degrees_of_freedom(evidence: Evidence, parameters: int) -> float:
    """Return the degrees of freedom left, at least one: with less evidence the width is all but unbounded."""
    return max(1.0, evidence.size_of_variance - parameters)


def stretch(line: Line, evidence: Evidence) -> float:
    """Return the residual scale, stretched by how much the points repeat one another."""
    return float(line.scale * max(1.0, len(line.residuals) / evidence.size) ** 0.5)


def solve(time: Array, y: Array, origin: float, breaks: float | None) -> Line:
    """Fit the line by least squares."""
    import numpy as np

    x = design(time, origin, breaks)
    q, r = np.linalg.qr(x)
    beta = np.linalg.solve(r, q.T @ y)
    return Line(breaks=breaks, coefficients=beta, root=np.linalg.inv(r), residuals=y - x @ beta)


@dataclass(frozen=True, kw_only=True)
class FittedLine(FittedShape):
    """One or several lines with weights (a break has no certain date), the first the best.

    Parameters
    ----------
    lines : tuple of Line
    weights : ndarray
        Share of draws that take each line.
    origin : float
        The date that the intercept belongs to.
    evidence : Evidence
        The covariance is stretched by n over its size, and the draws are Student t with the degrees of freedom that its
        size for the variance leaves.
    summary : str
    assumptions : tuple of str
    facts : mapping of str to float
    """

    lines: tuple[Line, ...]
    weights: Array
    origin: float
    evidence: Evidence
    summary: str
    assumptions: tuple[str, ...]
    facts: Mapping[str, float]

    @property
    def dof(self) -> float:
        """Degrees of freedom of the residual variance."""
        return degrees_of_freedom(self.evidence, len(self.lines[0].coefficients))

    @property
    def scale(self) -> float:
        """Residual standard deviation in logs."""
        return self.lines[0].scale

    @property
    def stretch(self) -> float:
        """What turns a root of the inverse of X'X into a root of the honest covariance."""
        return stretch(self.lines[0], self.evidence)

    def posterior(self, streams: Streams) -> Mapping[str, Array]:
        """Draw intercept and growth rates (and the break), jointly."""
        import numpy as np

        k = len(self.lines[0].coefficients)
        uniforms = streams.uniforms("parameters", k + 2)
        z, pick = student_t(uniforms[:-1], self.dof), choice(self.weights, uniforms[-1])
        beta = np.stack([line.coefficients for line in self.lines])[pick].T
        roots = np.stack([line.root for line in self.lines])[pick]
        beta = beta + self.stretch * np.einsum("dij,jd->id", roots, z)
        out = dict(zip(_NAMES[:k], beta, strict=True))
        if k == 3:
            out["break"] = np.array([line.breaks for line in self.lines], dtype=float)[pick]
        return out

    def sample(self, time: Array, streams: Streams, *, observed: bool = False) -> Array:
        """Draw the line; with `observed`, one observation's scatter around it."""
        import numpy as np

        level = self.log_level(time, self.posterior(streams))
        if observed:
            level = level + self.scale * streams("noise").standard_t(self.dof, size=level.shape)
        return np.exp(np.clip(level, -_LARGEST, _LARGEST))

    @property
    def settable(self) -> Mapping[str, str]:  # type: ignore[override]
        """Level, growth and, with a break, its date and the change of growth."""
        dated = {"growth_change": "1/year", "break": ""} if len(self.lines[0].coefficients) == 3 else {}
        return {"log_level": "", "growth": "1/year", **dated}  # a date is a decimal year

    def log_level(self, time: Array, parameters: Mapping[str, Array]) -> Array:
        """Return the lines of these parameters."""
        import numpy as np

        level = parameters["log_level"] + parameters["growth"] * (time[:, None] - self.origin)
        if "break" in parameters:
            level = level + parameters["growth_change"] * np.maximum(0.0, time[:, None] - parameters["break"])
        return np.asarray(level)

    def conditional(self, drawn: Mapping[str, Array], held: Mapping[str, Array]) -> Mapping[str, Array]:
        """Return the coefficients given some of them, line by line; a date of the break that is held moves nothing."""
        import numpy as np

        names, out = _NAMES[: len(self.lines[0].coefficients)], {**drawn, **held}
        for line in self.lines:
            mine = drawn["break"] == line.breaks if "break" in drawn else np.ones_like(drawn["growth"], dtype=bool)
            part, known = ({n: each[n][mine] for n in names if n in each} for each in (drawn, held))
            for name, moved in regressed(part, known, names, line.root @ line.root.T).items():
                out[name] = np.where(mine, 0.0, out[name])
                out[name][mine] = moved
        return out

    def central(self, time: Array) -> Array:
        """Return the best line."""
        import numpy as np

        best = self.lines[0]
        return np.exp(design(np.asarray(time, dtype=float), self.origin, best.breaks) @ best.coefficients)

    def anchored(self, time: Array, record: Array) -> FittedShape:
        """Return the same from the last record on, which comes back to the line as its residuals do."""
        return from_record(self, time, record, self.lines[0].residuals)

    def describe(self) -> Description:
        """Say growth with an interval, and what it assumes."""
        return Description(summary=self.summary, assumptions=self.assumptions, facts=self.facts)
