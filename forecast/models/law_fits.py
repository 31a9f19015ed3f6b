"""A law whose parameters are published, saved, or fitted to data of one's own: its variables are other quantities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from forecast.base.arrays import Array
from forecast.errors import (
    DataError,
    FitError,
    FitWarning,
    FixedParametersWarning,
    ForecastWarning,
    IndependentParametersWarning,
    RoundedConstantsWarning,
)
from forecast.models.protocol import Description, FittedModel, ModelRecord, OtherQuantity
from forecast.models.relations import FittedRelation, left_out

if TYPE_CHECKING:
    from forecast.base.streams import Streams
    from forecast.fit.fit import Fit
    from forecast.laws import Law


def fitted_law(law: Law, *, name: str, stream: str = "", shared: str = "", **settings: Any) -> LawModel:
    """Make a model of a law and a fit of it, or the data that it is fitted to.

    Parameters
    ----------
    law : forecast.Law
    name : str
    stream : str
        The name by which parameters and scatter are drawn; by default the model's.
    shared : str
        The name by which parameters are drawn that several models share: of one fit at two sizes, in one world.
    **settings
        The other parameters of `LawModel`.

    Examples
    --------
    >>> import forecast
    >>> law = forecast.law("scaling/chinchilla")
    >>> made = fitted_law(law, name="loss", parameters=law.published("besiroglu2024"))
    >>> made.unit, sorted(made.inputs)
    ('nat/token', ['D', 'N'])
    """
    inputs = {v: OtherQuantity(unit=unit) for v, unit in law.variables.items()}
    stream = stream or name
    return LawModel(
        name=name, unit=law.unit, inputs=inputs, law=law, stream=stream, shared=shared or stream, **settings
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class LawModel(ModelRecord):
    """A law with a fit of it, or with the data it is to be fitted to; made by `fitted_law`.

    Parameters
    ----------
    law, stream, shared
        See `fitted_law`.
    parameters : forecast.Fit, optional
    data, y, let, where, objective
        Without a fit: the table and how the law is fitted to it.
    file : str
        Where a saved fit was read.
    scatter : bool
        Add the scatter of one observation to the level.
    """

    law: Law
    stream: str
    shared: str
    parameters: Fit | None = None
    data: str = ""
    file: str = ""
    y: str | None = None
    let: Mapping[str, str] = field(default_factory=dict)
    where: Mapping[str, str] = field(default_factory=dict)
    objective: str | None = None
    scatter: bool = False

    def fit(self, *, as_of: float | None = None, seed: int = 0) -> FittedModel:
        """Return the law with its parameters, fitted to the data where there is no fit yet."""
        fit, note = self.parameters, ""
        if fit is None:
            fit, note = self._fit_data(as_of)
        if self.scatter and fit.residual_scale is None:
            raise FitError(f"{fit.name}: scatter: the source states no scatter of observations about the law")
        published = fit.published
        sources = (published.reference,) if published else ()
        return FittedLaw(
            name=self.name, fit=fit, note=note, sources=sources, stream=self.stream, shared=self.shared,
            scattered=self.scatter,
        )  # fmt: skip

    def _fit_data(self, as_of: float | None) -> tuple[Fit, str]:
        """Fit the law to the data; the search has one seed, so that a fit is the same in every run."""
        from forecast.tables import series
        from forecast.tables.schema import separate

        y = self.law.output if self.y is None else self.y
        rows = series.rows_as_of(self.data, where=self.where, as_of=as_of, name=self.name)
        whole = series.complete(rows, [*(self.let.get(v, v) for v in self.law.variables), y], self.name)
        separate.check_not_mixed(whole, self.name)
        fit = self.law.fit(whole, let=dict(self.let), y=y, objective=self.objective, seed=0)
        return fit, left_out(rows.rows - whole.rows)


@dataclass(frozen=True, kw_only=True)
class FittedLaw(FittedRelation):
    """A law with known parameters: joint draws, independent ones, or none, by what its source states."""

    stream: str
    shared: str
    scattered: bool = False

    @property
    def _published_errors(self) -> Mapping[str, float]:
        """The standard errors of a published fit."""
        fit = self.fit
        return fit.published.errors if fit.published is not None and fit.uncertainty is None else {}

    @property
    def _joint(self) -> bool:
        return self.fit.uncertainty is not None

    def _parameter_draws(self, streams: Streams) -> Mapping[str, Array]:

        if self._joint:
            return self.fit.drawn(replace(streams, node=self.shared))
        if self._published_errors:
            return self._draw_normal(streams)
        return {name: np.full(streams.draws, value) for name, value in self.fit.values.items()}

    def _conditional(self, draws: Mapping[str, Array]) -> Mapping[str, Array]:
        """Move correlated parameters; independent ones keep their draws."""
        return super()._conditional(draws) if self._joint else {**draws, **self.fixed}

    def _draw_normal(self, streams: Streams) -> dict[str, Array]:
        """Draw normal parameters, as joint as the source says they are."""
        from forecast.base.streams import student_t
        from forecast.fit.inference.laplace import published_draws

        uniforms = replace(streams, node=self.shared).uniforms("parameters", len(self.fit.law.parameters) + 1)
        return published_draws(self.fit, student_t(uniforms, np.inf))

    def sample(self, time: Array, inputs: Mapping[str, Array], streams: Streams, *, observed: bool = False) -> Array:
        """Return the law under draws of its variables."""
        parameters = self.posterior(streams)
        shape = (len(time), streams.draws)
        self._check_meaning({**parameters, **inputs}, shape)
        level = np.broadcast_to(self.fit.law.value(parameters, **inputs), shape)
        if lost := int(np.isnan(level).sum()):
            ends = ", ".join(f"{n} {v.min():.3g} to {v.max():.3g}" for n, v in inputs.items())
            raise DataError(f"{self.name}: the law has no value in {lost} of {level.size} cases; it was given {ends}")
        return (
            self.fit.scatter(level, replace(streams, node=self.stream)("noise"))
            if observed or self.scattered
            else level
        )

    def warnings(self, inputs: Mapping[str, Array]) -> tuple[ForecastWarning, ...]:
        """Return warnings of missing uncertainty of the parameters, and of variables far outside the data."""
        published = self.fit.solutions is None and self.fit.published
        rounded = RoundedConstantsWarning(fit=self.fit.name)
        warnings: list[ForecastWarning] = [rounded] if published and published.rounded else []
        warnings += [FitWarning(note=note) for note in self.fit.notes[len(warnings) :]]
        if self.fit.published is None or not self.fit.published.covariance:
            if self._published_errors:
                warnings.append(IndependentParametersWarning())
            elif not self._joint:
                warnings.append(FixedParametersWarning())
        return (*warnings, *super().warnings(inputs))

    def describe(self) -> Description:
        """Describe the parameters and their source."""
        if self._joint:
            return super().describe()
        fit, errors = self.fit, self._published_errors
        bounded = [n for n in errors if fit.law.bounds.get(n, (None, None)) != (None, None)]
        values_text = ", ".join(
            f"{n} = {v:.4g}" + (f" ± {errors[n]:.3g}" if errors.get(n) else "") for n, v in fit.values.items()
        )
        how = "fixed: the source states no uncertainty"
        if errors:
            how = "independent normal numbers: the source states standard errors, and not how they vary together"
            if fit.published is not None and fit.published.covariance:
                how = "joint normal numbers: the source states their covariance"
            how += f"; cut off at the bounds of {', '.join(bounded)}" if bounded else ""
        facts = {**fit.values, **{f"{n}_stderr": float(e) for n, e in errors.items()}}
        return Description(
            summary=f"{fit.name}: {values_text}",
            assumptions=(f"the parameters are {how}", *fit.notes),
            sources=self.sources,
            facts=facts,
        )
