"""Sensitivity of an estimate: the share of its variance that each of its uncertain numbers explains.

The *first-order* index is the share that a number explains alone, the *total* index the rest if all others were known;
the two differ where numbers act together (Sobol' 2001, Mathematics and Computers in Simulation 55, 271-280; estimated
after Saltelli et al. 2010, Computer Physics Communications 181, 259-270). `scipy.stats.sobol_indices` does the work.
Where every value is positive the logarithm is explained: of a number over ten orders the plain variance is its upper
tail alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from forecast.base.arrays import Array
from forecast.base.distributions import Distribution, distribution
from forecast.base.lazy import xr
from forecast.base.number_checks import is_integer
from forecast.base.quantiles import QUANTILES
from forecast.base.streams import Streams, check_seed
from forecast.contract.plugin_calls import call_guarded
from forecast.contract.specs import Input
from forecast.errors import DataError, UnknownNameError, UsageError, printable
from forecast.models import FittedModel, Model, OtherModel, OtherQuantity, model
from forecast.models.nesting import walk_models
from forecast.models.protocol import as_model
from forecast.scenarios.settings import setting_values

#: Fewer base points than this say nothing of an index.
MIN_BASE_POINTS = 256
#: Most evaluations of the model: all are in memory at once.
MAX_ELEMENTS = 4_000_000


@dataclass(frozen=True)
class _SizedStreams(Streams):
    """Streams with a free number of draws: these models draw nothing, so that only the size matters."""

    size: int = 0

    @property
    def draws(self) -> int:
        return self.size

    def uniforms(self, part: str, count: int) -> Array:
        self(part)
        return super().uniforms(part, count)

    def __call__(self, part: str) -> np.random.Generator:
        reason = f"model '{self.node}': draws its own '{part}'; only named numbers can be told apart"
        raise UsageError(f"{reason}: forecast run says what moves the date of a question")


def sobol_indices(
    name: str | Model,
    *,
    draws: int = 1_000_000,
    seed: int = 0,
    with_: Mapping[str, float] | None = None,
    at: float = 2025.0,
) -> xr.Dataset:
    """Compute Sobol' indices of the uncertain numbers of an estimate.

    Parameters
    ----------
    name : str or Model
        A model of named numbers: an estimate, or a mixture of estimates.
    draws : int
        How often the formula is computed for the quantiles, and again, in all, for the indices.
    seed : int
    with_ : mapping of str to float
        Numbers to fix, by ``input`` or ``plugin/model.input``, as in `forecast.project`.
    at : float
        The decimal year, for an estimate that changes with time.

    Returns
    -------
    xarray.Dataset
        ``first`` and ``total`` along ``input``, the largest total first, and ``value`` along ``quantile``. What the
        first-order indices leave of 1 belongs to several numbers together.

    Raises
    ------
    UsageError
        For a model that needs other quantities or draws numbers of its own.
    UnknownNameError
        For a number that is not among its inputs.
    DataError
        Where the estimate is not finite.

    Examples
    --------
    >>> import forecast
    >>> made = forecast.estimate("a*b", unit="FLOP", inputs={
    ...     "a": {"p05": 1.0, "p95": 1e4, "unit": "FLOP"}, "b": {"p05": 1.0, "p95": 1e2, "unit": ""}})
    >>> shares = sobol_indices(made, draws=100_000)
    >>> [str(n) for n in shares["input"].values], shares["total"].round(2).values.tolist()
    (['a', 'b'], [0.8, 0.2])
    """
    from scipy import stats

    estimate = model(name) if isinstance(name, str) else as_model(name)
    check_seed(seed)
    if not (isinstance(at, int | float) and -1e4 < at < 1e5):
        raise UsageError(f"at: expected a year, got '{printable(at, 40)}'")
    numbers = dict(_named_numbers(estimate))
    settings = _check_settings(estimate, numbers, with_ or {})
    distributions = {key: distribution(number.distribution, where=key) for key, number in numbers.items()}
    free = [key for key, dist in distributions.items() if dist.family != "fixed" and key not in settings]
    fixed = {key: settings.get(key, dist.points[0][1]) for key, dist in distributions.items() if key not in free}
    base = _n_base_points(draws, len(free))
    fitted = {m.name: call_guarded(f"model '{m.name}': fit", m.fit) for m in walk_models(estimate)}

    def compute(values: Mapping[str, Array], size: int) -> Array:
        return _model_level(
            estimate, fitted, {**{k: np.broadcast_to(v, (size,)) for k, v in fixed.items()}, **values}, size, at, seed
        )

    full = {key: key if "." in key else f"{estimate.name}.{key}" for key in free}
    uniform = {key: Streams(seed, name, 0)("attribution").random(draws) for key, name in full.items()}
    level = compute({key: distributions[key].ppf(np.maximum(u, 2.0**-54)) for key, u in uniform.items()}, draws)
    if not np.isfinite(level).all():
        lost = int((~np.isfinite(level)).sum())
        reason = f"{lost} of {draws} values are not finite"
        raise DataError(f"model '{estimate.name}': {reason}: a number is set or drawn too far")
    logs = bool((level > 0).all())
    moves = bool(level.min() < level.max())
    first = total = np.full(len(free), float(moves))  # a lone number explains everything, if there is anything
    if len(free) > 1 and moves:

        def explained(points: Array) -> Array:
            values = compute(dict(zip(free, points, strict=True)), points.shape[1])
            return np.log(values) if logs else values

        rng = Streams(seed, estimate.name, 0)("sobol")
        done = stats.sobol_indices(func=explained, n=base, dists=[_Quantiles(distributions[k]) for k in free], rng=rng)
        first, total = np.asarray(done.first_order), np.asarray(done.total_order)
    order = np.argsort(-total, kind="stable")
    scale = "the logarithm" if logs else "the value"
    return xr.Dataset(
        {
            "first": ("input", first[order], {"long_name": f"share of the variance of {scale} explained alone"}),
            "total": ("input", total[order], {"long_name": f"share of the variance of {scale} with all others known"}),
            "value": ("quantile", np.quantile(level, QUANTILES), {"units": estimate.unit}),
        },
        coords={"input": [free[i] for i in order], "quantile": list(QUANTILES)},
        attrs={"model": estimate.name, "explained": scale, "draws": draws, "base": base, "seed": int(seed)},
    )


@dataclass(frozen=True)
class _Quantiles:
    """A distribution as `scipy.stats.sobol_indices` takes it."""

    distribution: Distribution

    def ppf(self, *args: Any, **kwargs: Any) -> Any:
        """Turn uniforms into values; 0 and 1, where a normal has no quantile, count as the nearest inside."""
        (u,) = args
        return self.distribution.ppf(np.clip(u, 2.0**-54, 1 - 2.0**-53))


def _n_base_points(draws: object, count: int) -> int:
    """Return how many base points: a power of two, of which as many computations as draws are made in all."""
    least = MIN_BASE_POINTS * (count + 2)
    if not is_integer(draws) or not least <= draws <= MAX_ELEMENTS:
        expected = f"draws: expected an integer from {least} to {MAX_ELEMENTS} for {count} numbers"
        raise UsageError(f"{expected}, got '{printable(draws, 40)}'")
    return int(2 ** ((draws // (count + 2)).bit_length() - 1))


def _named_numbers(model: Model) -> Iterator[tuple[str, Input]]:
    """Yield the named numbers: its own by their names, those of a model within it as ``plugin/model.number``."""
    for inner in walk_models(model):
        for name, need in inner.inputs.items():
            if isinstance(need, OtherQuantity):
                raise UsageError(
                    f"model '{model.name}': needs the quantity '{printable(name, 60)}' of a scenario; only a model of "
                    "named numbers can be told apart by itself"
                )
            if isinstance(need, Input):
                yield (name if inner is model else f"{inner.name}.{name}"), need


def _check_settings(model: Model, numbers: Mapping[str, Input], settings: Mapping[str, Any]) -> dict[str, float]:
    values: dict[str, float] = {}
    for key, value in settings.items():
        plain = key.removeprefix(f"{model.name}.") if isinstance(key, str) else key
        if plain not in numbers:
            raise UnknownNameError("input", plain, numbers, where=f"model '{model.name}': with_")
        number = numbers[plain]
        lower = setting_values.floor(distribution(number.distribution, where=plain), number.lower)
        values[plain] = setting_values.parse_set_number(key, value, lower=lower, unit=number.unit)
    return values


def _model_level(
    model: Model, fitted: Mapping[str, FittedModel], values: Mapping[str, Array], size: int, at: float, seed: int
) -> Array:
    """Compute a model at one time, (draw,)."""
    time = np.array([at])

    def sample(inner: Model) -> Array:
        needs: dict[str, Array] = {}
        for name, need in inner.inputs.items():
            if isinstance(need, OtherModel):
                needs[name] = sample(need.model)
            else:
                needs[name] = values[name if inner is model else f"{inner.name}.{name}"]
        streams = _SizedStreams(seed, inner.name, 0, size=size)
        what = f"model '{inner.name}': sample"
        draws = call_guarded(what, lambda: fitted[inner.name].sample(time, needs, streams))
        return np.asarray(np.broadcast_to(draws, (1, size)), dtype=float)

    return np.array(sample(model)[0])  # scipy subtracts the mean in place
