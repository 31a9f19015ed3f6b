"""Law + fit = relation: the law's variables come from other quantities.

So do those of a law whose parameters are published, saved, or fitted to data of one's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from forecast.base.arrays import Array
from forecast.contract.specs import RelationSpec
from forecast.errors import (
    BeyondDataWarning,
    DataError,
    FitError,
    FitWarning,
    FixedParametersWarning,
    ForecastError,
    ForecastWarning,
    IndependentParametersWarning,
    RoundedConstantsWarning,
)
from forecast.models.protocol import Description, FittedModel, Model, ModelRecord, Need, OtherQuantity
from forecast.models.shapes import condition_draws
from forecast.units import qualifiers

if TYPE_CHECKING:
    from forecast.base.streams import Streams
    from forecast.fit.fit import Fit
    from forecast.laws import Law


def from_spec(name: str, spec: RelationSpec) -> Model:
    """Build the relation a `RelationSpec` describes; its law is read now, its table when it is fitted."""
    from forecast.laws import law

    variables = law(spec.law).variables
    needs: dict[str, Need] = {v: OtherQuantity(unit=unit) for v, unit in variables.items()}
    basis: Mapping[str, str] = qualifiers.of_record(spec.where, spec.qualifiers, where=f"model '{name}'")
    if _is_shipped(spec.table):  # to say what a model measures, nothing is downloaded
        from forecast.tables import series

        basis = series.common_qualifiers(spec.table, spec.y, stated=basis, where=f"model '{name}'")
    return _Relation(name=name, unit=spec.unit, spec=spec, inputs=needs, qualifiers=basis)


def _is_shipped(table: str) -> bool:
    from forecast import tables
    from forecast.tables.schema import descriptor

    try:
        return not any(
            resource.remote for resource in descriptor.read_descriptor(tables.descriptor_of(table)).resources
        )
    except ForecastError:  # who fits it says what is wrong with it
        return False


@dataclass(frozen=True, kw_only=True)
class _Relation(ModelRecord):
    spec: RelationSpec

    def fit(self, *, as_of: float | None = None, seed: int = 0) -> FittedModel:
        from forecast.laws import law
        from forecast.tables import series
        from forecast.tables.schema import separate

        spec = self.spec
        rows = series.rows_as_of(spec.table, where=spec.where, as_of=as_of, name=self.name)
        form = law(spec.law)
        whole = series.complete(rows, [*(spec.let.get(v, v) for v in form.variables), spec.y], self.name)
        separate.check_not_mixed(whole, self.name)
        fitted = form.fit(whole, let=dict(spec.let), y=spec.y, objective=spec.objective, seed=seed)
        note = "; ".join(filter(None, [left_out(rows.rows - whole.rows), spec.note]))
        return FittedRelation(name=self.name, fit=fitted, note=note, sources=(spec.reference,))


def left_out(rows: int, what: str = "value") -> str:
    """Format the number of rows without a value."""
    return f"{rows} row{'s' if rows > 1 else ''} without a {what} left out" if rows else ""


@dataclass(frozen=True, kw_only=True)
class FittedRelation(FittedModel):
    """A law with a fit of it, handed draws of its variables."""

    name: str
    fit: Fit
    note: str
    sources: tuple[str, ...]
    fixed: Mapping[str, Array] = field(default_factory=dict)

    @property
    def settable(self) -> Mapping[str, str]:  # type: ignore[override]
        """The parameters of the law: plain numbers."""
        return dict.fromkeys(self.fit.values, "")

    def with_parameters(self, parameters: Mapping[str, Array]) -> FittedModel:
        """Return the law with some parameters fixed."""
        return replace(self, fixed=parameters)

    def posterior(self, streams: Streams) -> Mapping[str, Array]:
        """Return draws of the parameters of the law; if some are fixed, the others are conditional on them."""
        draws = self._parameter_draws(streams)
        return self._conditional(draws) if self.fixed else draws

    def _parameter_draws(self, streams: Streams) -> Mapping[str, Array]:
        return self.fit.drawn(streams)

    def _conditional(self, draws: Mapping[str, Array]) -> Mapping[str, Array]:
        """Move the draws by a regression, of the logarithms of parameters that are positive in every draw."""
        from forecast.base.streams import Streams

        reference = self._parameter_draws(Streams(0, self.name, 0))  # one block, so that every block moves alike
        every = {n: (reference[n], draws[n], self.fixed.get(n, draws[n])) for n in draws}
        in_logs = {n for n, parts in every.items() if all((part > 0).all() for part in parts)}

        def scored(values: Mapping[str, Array]) -> dict[str, Array]:
            return {n: np.log(each) if n in in_logs else each for n, each in values.items()}

        covariance = np.atleast_2d(np.cov(np.stack(list(scored(reference).values()))))
        conditional = condition_draws(scored(draws), scored(self.fixed), list(reference), covariance)
        return {**{n: np.exp(each) if n in in_logs else each for n, each in conditional.items()}, **self.fixed}

    def sample(self, time: Array, inputs: Mapping[str, Array], streams: Streams, *, observed: bool = False) -> Array:
        """Return the law under draws of its variables."""
        parameters = self.posterior(streams)
        self._check_meaning({**parameters, **inputs}, (len(time), streams.draws))
        level = self.fit.law.value(parameters, **inputs)
        return self.fit.scatter(level, streams("noise")) if observed else level

    def _check_meaning(self, values: Mapping[str, Array], shape: tuple[int, int]) -> None:
        """Raise if the law has no meaning for some draws."""
        from forecast.laws.requirements import unmet

        law = self.fit.law
        for text, _, broken in unmet(law.requires, values, shape):
            raise DataError(
                f"{self.name}: {law.requires[text]}: expected {text} > 0, got {float(broken.min()):.4g} "
                f"({int((broken <= 0).sum())} of {broken.size} values are 0 or below)"
            )

    def warnings(self, inputs: Mapping[str, Array]) -> tuple[ForecastWarning, ...]:
        """Return warnings of variables that lie, in the median draw, as far outside the data as `Fit.predict` warns."""
        from forecast.fit.predict import WARN_DECADES, extrapolation

        out: list[ForecastWarning] = []
        middle = {name: np.median(inputs[name], axis=-1) for name in self.fit.law.variables}
        inside = {name: bounds[0] for name, bounds in self.fit.ranges.items()}
        for name, data in self.fit.ranges.items():
            far = float(np.max(extrapolation(self.fit, {**inside, name: middle[name]}), initial=0.0))
            if far > WARN_DECADES:
                least, most = np.nan_to_num([middle[name].min(), middle[name].max()]).tolist()  # JSON has no infinity
                decades = far if np.isfinite(far) else None
                out.append(BeyondDataWarning(variable=name, values=(least, most), data=data, decades=decades))
        return tuple(out)

    def describe(self) -> Description:
        """Describe the parameters and their source."""
        intervals = {name: (float(v), *map(float, self.fit.interval(name, 0.9))) for name, v in self.fit.values.items()}
        text = ", ".join(f"{name} = {v:.3g} [{low:.3g}, {high:.3g}]" for name, (v, low, high) in intervals.items())
        scatter = self.fit.residual_scale
        facts: dict[str, float] = {} if scatter is None else {"scatter": float(scatter)}
        for name, three in intervals.items():
            facts |= dict(zip((name, f"{name}_p05", f"{name}_p95"), three, strict=True))
        return Description(
            summary=f"{self.fit.law.name or self.fit.law.expression} fitted to {self.fit.n} points: {text} (90 %)"
            + (f"; {self.note}" if self.note else ""),
            assumptions=tuple(self.fit.notes),
            sources=self.sources,
            facts={**facts, "n": float(self.fit.n or 0)},
        )


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
