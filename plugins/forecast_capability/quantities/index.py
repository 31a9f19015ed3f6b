"""What the capability index tells of other links: the pace of algorithms, and the time horizon at an index.

Compute and date of a model explain its index, and compute is uncertain. Regressed on compute, the index makes each
order of magnitude worth too little, and algorithms too fast; compute regressed on the index errs the other way. With
errors in both, the truth lies between the two and the points do not say where (Frisch 1934): the pace is a range, and
each world draws a place in it. Models whose compute nobody disclosed stand in both regressions with it as a latent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from forecast import Input, ModelSpec
from forecast.errors import DataError
from forecast.models import Array, Description, FittedModel, Model, ModelRecord, OtherQuantity
from forecast.streams import student_t
from forecast_capability.quantities import latent
from forecast_capability.quantities.censored import tobit

if TYPE_CHECKING:
    from forecast.streams import Streams


__all__ = ["RELIABLE", "SAME", "disclosed", "horizon_at_index", "horizon_version", "pace"]

INDEX_TABLE, HORIZON_TABLE, INDEX_EDITION, VERSION = (
    "datasets/capability-editions",
    "datasets/time-horizons",
    "2026-08",
    "TH1.1",
)
RUNS_TABLE = "datasets/training-runs-2026"
#: When METR published that suite of tasks (metr.org/blog/2026-1-29-time-horizon-1-1), and the last file of the suite
#: before, in which models of 2023 and 2024 have longer horizons, by up to 1.1 doublings, and those of 2025 shorter.
VERSION_YEAR, EARLIER_VERSION = 2026.08, "TH1.0-last"
#: Minutes: METR holds horizons above 16 h unreliable, so that they say "at least".
RELIABLE = 960.0

_BELOW = (
    "undisclosed compute lies as far below the largest run of its time as the disclosed compute of models whose "
    "weights are open, or closed, alike"
)

#: Models of the table of horizons, and what the table of the index calls them where it is something else.
SAME: Mapping[str, str] = {
    "gpt-4": "gpt-4-mar-2023",
    "gpt-4-1106": "gpt-4-turbo-nov-2023",
    "gpt-4-turbo": "gpt-4-turbo-apr-2024",
    "gpt-4o": "gpt-4o-may-2024",
    "claude-3.5-sonnet-new": "claude-3.5-sonnet-october-2024",
    "claude-4-opus": "claude-opus-4",
    "claude-4.1-opus": "claude-opus-4.1",
    "claude-4.5-opus": "claude-opus-4.5",
    "claude-4.6-opus": "claude-opus-4.6",
}


def horizon_version(as_of: float | None) -> str:
    """Return the edition of time horizons that stood at a date, or the oldest that is kept.

    Examples
    --------
    >>> horizon_version(None), horizon_version(2025.0)
    ('TH1.1', 'TH1.0-last')
    """
    return VERSION if as_of is None or as_of >= VERSION_YEAR else EARLIER_VERSION


def pace(name: str, spec: ModelSpec) -> Model:
    """Build the model of the pace of algorithms between the two regressions, undisclosed compute a latent."""
    return _regression_model(name, spec, latent_too=True)


def disclosed(name: str, spec: ModelSpec) -> Model:
    """Build the same from the models whose compute is disclosed."""
    return _regression_model(name, spec, latent_too=False)


def _regression_model(name: str, spec: ModelSpec, *, latent_too: bool) -> Model:
    place = Input(
        name="place",
        unit="",
        distribution={"low": 0.0, "high": 1.0, "family": "uniform"},
        source="the points do not say how much of the scatter is error in compute",
        title="0: all error is in the index, 1: all is in compute",
    )
    return _Pace.from_spec(name, spec, inputs={"place": place}, latent_too=latent_too)


def horizon_at_index(name: str, spec: ModelSpec) -> Model:
    """Build the model of the time horizon at an index."""
    inputs = {"index": OtherQuantity(unit="", title="capability index (ECI)")}
    return _Horizon.from_spec(name, spec, inputs=inputs)


def _rows(table: str, where: dict[str, str], as_of: float | None, name: str) -> Any:
    from forecast.tables import series

    return series.rows_as_of(table, where=where, as_of=as_of, name=name, date="release_date")


@dataclass(frozen=True, kw_only=True)
class _Pace(ModelRecord):
    latent_too: bool

    def fit(self, *, as_of: float | None = None, seed: int = 0) -> FittedModel:

        from forecast import tables

        rows = _rows(INDEX_TABLE, {"edition": INDEX_EDITION}, as_of, self.name)
        used = np.isfinite(rows.numeric("eci")) & (self.latent_too | np.isfinite(rows.numeric("training_compute")))
        rows = rows.take(used)
        logs, points = np.log10(rows.numeric("training_compute")), rows.numeric("eci")
        if int(np.isfinite(logs).sum()) < 10:
            known = int(np.isfinite(logs).sum())
            raise DataError(f"{self.name}: expected ten models with compute and index, got {known}")
        years = tables.decimal_year(rows.column("release_date"))
        kind = np.array([str(each) for each in rows.column("weights")])
        hidden = latent.beside_frontier(logs, _largest(years, as_of, self.name), kind)
        years = years - years.mean()
        forward, reverse = _two_ways(hidden.middle, points, years, hidden.spread)
        # how far below the frontier the undisclosed lie is an estimate too, and one that they share
        off = _two_ways(hidden.middle + hidden.shared, points, years, hidden.spread)
        pace, back = _paces(forward, reverse)
        other, other_back = _paces(*off)
        return _FittedPace(
            model=self,
            forward=pace,
            forward_error=float(np.hypot(_ratio_error(forward.found, forward.covariance), other - pace)),
            reverse=back,
            reverse_error=float(np.hypot(np.sqrt(reverse.covariance[2, 2]), other_back - back)),
            dof=forward.rows - 3,
            models=(int((hidden.spread == 0).sum()), int((hidden.spread > 0).sum())),
        )


def _largest(years: Array, as_of: float | None, name: str) -> Array:
    """Return the logarithm of the largest training run so far at each date."""
    from forecast.tables import series

    date, record, *_ = series.read_columns(
        RUNS_TABLE, x="date", y="training_compute", records=True, as_of=as_of, name=name
    )
    return np.asarray(np.log10(record[np.maximum(np.searchsorted(date, years, side="right") - 1, 0)]))


def _two_ways(logs: Array, points: Array, years: Array, spread: Array) -> tuple[latent.Plane, latent.Plane]:
    """Return the index regressed on compute and date, and compute regressed on index and date."""
    one = np.ones_like(logs)
    forward = latent.plane(np.stack([one, logs, years], axis=1), points, spread, through=1)
    return forward, latent.plane(np.stack([one, points, years], axis=1), logs, spread)


def _paces(forward: latent.Plane, reverse: latent.Plane) -> tuple[float, float]:
    """Return the pace that each plane says: it is solved for compute at one index, which falls with the years."""
    return float(forward.found[2] / forward.found[1]), float(-reverse.found[2])


def _ratio_error(found: Array, covariance: Array) -> float:
    """Return the standard error of the year's coefficient over that of compute."""
    slope = np.array([0.0, -found[2] / found[1] ** 2, 1 / found[1]])
    return float(np.sqrt(slope @ covariance @ slope))


@dataclass(frozen=True, kw_only=True)
class _FittedPace(FittedModel):
    model: _Pace
    forward: float
    forward_error: float
    reverse: float
    reverse_error: float
    dof: float
    models: tuple[int, int]

    def sample(self, time: Array, inputs: Mapping[str, Array], streams: Streams, *, observed: bool = False) -> Array:

        z = student_t(streams.uniforms("parameters", 2), self.dof)[0]
        low, high = self.reverse + self.reverse_error * z, self.forward + self.forward_error * z
        drawn = high + inputs["place"] * (low - high)
        return np.broadcast_to(drawn, (len(time), streams.draws)).copy()

    def describe(self) -> Description:
        more = f" and {self.models[1]} of which it is a latent" if self.models[1] else ""
        return Description(
            summary=f"{10**self.reverse:.3g} a year (compute regressed on the index) to {10**self.forward:.3g} (the "
            f"index on compute), {self.models[0]} models with disclosed compute{more}; where between them the points "
            "do not say",
            assumptions=(
                "errors of index and compute are independent",
                "every place between the two is as likely",
                *((_BELOW,) if self.models[1] else ()),
            ),
            sources=self.model.sources,
            facts={"forward": self.forward, "reverse": self.reverse, "undisclosed": float(self.models[1])},
        )


@dataclass(frozen=True, kw_only=True)
class _Horizon(ModelRecord):
    def fit(self, *, as_of: float | None = None, seed: int = 0) -> FittedModel:

        scored = _rows(INDEX_TABLE, {"edition": INDEX_EDITION}, as_of, self.name)
        index = dict(zip(scored.column("model"), scored.numeric("eci"), strict=True))
        timed = _rows(HORIZON_TABLE, {"version": VERSION}, as_of, self.name)
        pairs = [
            (index[SAME.get(str(model), str(model))], minutes, least == "yes")
            for model, minutes, least in zip(
                timed.column("model"), timed.numeric("horizon"), timed.column("censored"), strict=True
            )
            if SAME.get(str(model), str(model)) in index and np.isfinite(minutes)
        ]
        if len(pairs) < 5:
            raise DataError(f"{self.name}: expected five models with index and horizon, got {len(pairs)}")
        return _line(self, *np.array(pairs).T)


def _line(model: _Horizon, x: Array, minutes: Array, censored: Array) -> _FittedHorizon:
    """Fit the line in the index, at the place where its level and its slope are independent."""
    at_least = censored > 0
    y = np.log2(np.where(at_least, RELIABLE, minutes))
    centre = float(x.mean())
    line = tobit(np.stack([np.ones_like(x), x - centre], axis=1), y, at_least)
    off = float(line.covariance[0, 1] / line.covariance[1, 1])
    level_variance = line.covariance[0, 0] - line.covariance[0, 1] * off
    return _FittedHorizon(
        model=model,
        middle=centre - off,
        level=float(line.found[0] - off * line.found[1]),
        slope=float(line.found[1]),
        errors=(float(np.sqrt(level_variance)), float(np.sqrt(line.covariance[1, 1]))),
        scatter=line.scatter,
        n=len(x),
        censored=int(at_least.sum()),
    )


@dataclass(frozen=True, kw_only=True)
class _FittedHorizon(FittedModel):
    model: _Horizon
    middle: float
    level: float
    slope: float
    errors: tuple[float, float]
    scatter: float
    n: int
    censored: int

    def sample(self, time: Array, inputs: Mapping[str, Array], streams: Streams, *, observed: bool = False) -> Array:

        z = student_t(streams.uniforms("parameters", 3), self.n - self.censored - 2.0)
        logs = (
            self.level + self.errors[0] * z[0] + (self.slope + self.errors[1] * z[1]) * (inputs["index"] - self.middle)
        )
        if observed:
            logs = logs + self.scatter * streams("one model").standard_normal(logs.shape)
        return np.asarray(np.exp2(np.clip(logs, -600.0, 600.0)))

    def describe(self) -> Description:
        least = f", of which {self.censored} say no more than that it is at least 16 h" if self.censored else ""
        return Description(
            summary=f"{self.n} models in both tables{least}: the horizon doubles every {1 / self.slope:.1f} points; "
            f"single models lie a factor {2**self.scatter:.2f} off",
            assumptions=("the logarithm of the horizon is a line in the index, beyond what was measured too",),
            sources=self.model.sources,
            facts={"points_per_doubling": 1 / self.slope, "n": float(self.n)},
        )
