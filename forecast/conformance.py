"""What the conformance kit asks of each kind of record; `forecast.testing` assembles and runs it.

Each function takes a record and raises: a typed error where the record breaks the requirement,
``unittest.SkipTest`` where there is nothing to check.
"""

from __future__ import annotations

import contextlib
import unittest
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forecast.errors import ForecastError, PluginContractError, printable
from forecast.registry import Record, resolve
from forecast.specs import EstimateSpec

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from forecast.models.protocol import FittedModel, Model

    Array = NDArray[np.float64]

__all__ = ["CHECKS"]

POINTS = 200
#: Relative noise on the data a law is recovered from, and how close the parameters must come.
NOISE = 1e-4
RECOVERY = 0.05


def _refuse(record: Record, reason: str) -> PluginContractError:
    return PluginContractError(f"{record.spec.kind} '{record.full_name}': {reason}")


@contextlib.contextmanager
def _guarded(record: Record, what: str) -> Iterator[None]:
    """Say in our words that code wrote into the read-only arrays it was given."""
    try:
        yield
    except (ValueError, ForecastError) as problem:
        if "read-only" in str(problem):
            raise _refuse(record, f"{what} writes into its inputs") from problem
        raise


# Laws ---------------------------------------------------------------------------------------------------------------


def _law(record: Record) -> Any:
    from forecast import laws

    return laws.law(record.full_name)


def _points(record: Record) -> tuple[dict[str, float], dict[str, Array]]:
    """Return the example parameters and read-only points spread over the domain."""
    import numpy as np

    spec: Any = record.spec
    if not spec.example or not spec.domain:
        raise unittest.SkipTest("gives no example and domain")
    for what, given, names in (
        ("example", spec.example, _law(record).parameters),
        ("domain", spec.domain, tuple(spec.variables)),
    ):
        if set(given) != set(names):
            raise _refuse(record, f"{what}: expected {', '.join(names)}; got {', '.join(given)}")
    rng = np.random.default_rng(0)
    points = {}
    for name, (low, high) in spec.domain.items():
        u = rng.random(POINTS)
        # wide positive ranges are spread over their decades
        values = low * (high / low) ** u if low > 0 and high / low > 10 else low + (high - low) * u
        values.flags.writeable = False
        points[name] = values
    return dict(spec.example), points


def _value(record: Record, parameters: Mapping[str, float], points: Mapping[str, Any]) -> Any:
    with _guarded(record, "value"), warnings.catch_warnings():
        warnings.simplefilter("error")  # a lost imaginary part is no more than a warning
        return _law(record).value(parameters, **points)


def _law_units(record: Record) -> None:
    from forecast import units

    spec: Any = record.spec
    for name, unit in spec.variables.items():
        units.unit(unit, where=f"law '{record.full_name}': variable '{printable(name, 60)}'")
    units.unit(spec.unit, where=f"law '{record.full_name}': output '{printable(spec.output, 60)}'")


def _law_text(record: Record) -> None:
    """Text → formula → text → formula is the same formula, with the same values."""
    from forecast.formula import parse

    spec: Any = record.spec
    if spec.expression is None:
        raise unittest.SkipTest("has no text form")
    names: set[str] = set()
    for text in (spec.expression, *((spec.equals,) if spec.equals is not None else ())):
        first = parse(text, where=f"law '{record.full_name}'")
        again = parse(first.text, where=f"law '{record.full_name}'")
        if again.text != first.text or again.names != first.names:
            raise _refuse(record, f"'{printable(first.text)}' comes back as '{printable(again.text)}'")
        names |= set(first.names)
    if spec.equals is not None:
        names.discard(spec.output)
    if set(_law(record).parameters) != names - set(spec.variables):
        raise _refuse(record, "its parameters are not the names in its text that are no variables")


def _law_vectorises(record: Record) -> None:
    """An array gives what its elements give one by one: real, finite, of the same shape, twice the same."""
    import numpy as np

    parameters, points = _points(record)
    whole = _value(record, parameters, points)
    _numbers(record, "value", whole, (POINTS,))
    if not np.array_equal(whole, _value(record, parameters, points)):
        raise _refuse(record, "the same call twice gives two results: it draws random numbers")
    for i in (0, POINTS // 2, POINTS - 1):
        one = _value(record, parameters, {k: float(v[i]) for k, v in points.items()})
        if not np.allclose(one, whole[i], rtol=1e-12, atol=0):
            raise _refuse(record, f"a number gives {float(one):g} where an array gives {whole[i]:g}")
    square = {k: v.reshape(2, -1) for k, v in points.items()}
    if not np.array_equal(_value(record, parameters, square), whole.reshape(2, -1)):
        raise _refuse(record, "a two-dimensional array gives other values than a flat one")


def _numbers(record: Record, what: str, found: Any, shape: tuple[int, ...]) -> None:
    import numpy as np

    if not isinstance(found, np.ndarray) or found.dtype != np.float64:
        kind = f"an array of {found.dtype}" if isinstance(found, np.ndarray) else type(found).__name__
        raise _refuse(record, f"{what}: expected an array of float64, got {kind}")
    if found.shape != shape:
        raise _refuse(record, f"{what}: expected the shape {shape}, got {found.shape}")
    if not np.isfinite(found).all():
        raise _refuse(record, f"{what}: {int((~np.isfinite(found)).sum())} of {found.size} values are not finite")


def _law_jacobian(record: Record) -> None:
    import numpy as np

    parameters, points = _points(record)
    law = _law(record)
    exact = np.asarray(law.jacobian(parameters, **points))
    _numbers(record, "jacobian", exact, (len(law.parameters), POINTS))
    for row, name in zip(exact, law.parameters, strict=True):
        step = 1e-6 * max(abs(parameters[name]), 1e-3)
        up, down = ({**parameters, name: parameters[name] + s * step} for s in (1, -1))
        near = (_value(record, up, points) - _value(record, down, points)) / (2 * step)
        # rounding of the value, divided by the step, is what finite differences cannot see below
        noise = np.abs(_value(record, parameters, points)).max() * 1e-15 / step
        if not np.allclose(row, near, rtol=1e-5, atol=10 * noise + 1e-7 * np.abs(row).max()):
            raise _refuse(record, f"jacobian: the derivative by '{name}' disagrees with finite differences")


def _law_recovers(record: Record) -> None:
    import numpy as np

    parameters, points = _points(record)
    law = _law(record)
    noise = 1 + NOISE * np.random.default_rng(1).standard_normal(POINTS)
    data = {**points, law.output: _value(record, parameters, points) * noise}
    fit = law.fit(data, seed=0)
    far = []
    for name, true in parameters.items():
        found = float(fit.params[name])
        if not abs(found - true) <= RECOVERY * max(abs(true), 1e-6):
            far.append(f"{name} = {found:g} instead of {true:g}")
    if far:
        raise _refuse(record, f"fitted to its own data it finds {', '.join(far)}; is the domain wide enough?")


def _law_published(record: Record) -> None:
    spec: Any = record.spec
    if not spec.published:
        raise unittest.SkipTest("has no published parameters")
    names = set(_law(record).parameters)
    for fit in spec.published:
        if set(fit.parameters) != names or not set(fit.stderr) <= names:
            raise _refuse(record, f"published '{fit.name}': expected parameters {', '.join(sorted(names))}")


# Models -------------------------------------------------------------------------------------------------------------


def _model_unit(record: Record) -> None:
    from forecast import units
    from forecast.formula import parse

    spec: Any = record.spec
    where = f"model '{record.full_name}'"
    units.unit(spec.unit, where=where)
    if isinstance(spec, EstimateSpec):
        formula = parse(spec.expression, where=where)
        found = units.infer(formula, {i.name: i.unit for i in spec.inputs}, where=where)
        units.check(found, spec.unit, where=where)


class _Trial:
    """A fitted model with read-only draws of everything it needs."""

    def __init__(self, record: Record) -> None:
        import numpy as np

        from forecast.models import model

        self.record = record
        self.model: Model = model(record.full_name)
        self.time = np.arange(2026.0, 2038.0)
        self.time.flags.writeable = False
        self.free = False  # needs quantities of a scenario, which are made up here
        self.inputs = self._inputs(self.model)

    def _inputs(self, model: Model) -> dict[str, Array]:
        import numpy as np

        from forecast.distributions import distribution
        from forecast.models.protocol import OtherModel
        from forecast.specs import Input
        from forecast.streams import BLOCK

        found = {}
        for index, (name, need) in enumerate(model.inputs.items()):
            u = np.random.default_rng(index).random(BLOCK)
            if isinstance(need, Input):
                draws = distribution(need.distribution, where=f"input '{printable(name, 80)}'").ppf(u)
            elif isinstance(need, OtherModel):
                draws = self._sample(need.model, need.model.fit(seed=0), self.time, self._inputs(need.model))
            else:
                self.free = True
                draws = np.broadcast_to(1 + u, (len(self.time), BLOCK)).copy()
            draws.flags.writeable = False
            found[name] = draws
        return found

    def _sample(self, model: Model, fitted: FittedModel, time: Array, inputs: Mapping[str, Array]) -> Array:
        from forecast.streams import Streams

        with _guarded(self.record, "sample"):
            return fitted.sample(time, inputs, Streams(seed=0, node=model.name, block=0))

    def sample(self, fitted: FittedModel, steps: int | None = None) -> Array:
        """Return the draws for the first steps; `inputs` that run over time are cut with it."""
        inputs = {k: v if v.ndim == 1 else v[:steps] for k, v in self.inputs.items()}
        return self._sample(self.model, fitted, self.time[:steps], inputs)


def _model_samples(record: Record) -> None:
    import numpy as np

    from forecast.streams import BLOCK

    trial = _Trial(record)
    drawn = trial.sample(trial.model.fit(seed=0))
    if trial.free and isinstance(drawn, np.ndarray):  # made-up quantities may well be outside a law's domain
        drawn = np.nan_to_num(drawn)
    _numbers(record, "sample", drawn, (len(trial.time), BLOCK))


def _model_repeats(record: Record) -> None:
    """Same seed, same draws: called again, fitted again, with other random numbers drawn in between."""
    import numpy as np

    trial = _Trial(record)
    fitted = trial.model.fit(seed=0)
    before = repr(np.random.get_state())
    first = trial.sample(fitted)
    if repr(np.random.get_state()) != before:
        raise _refuse(record, "sample draws from numpy's global random state; use the streams it is given")
    if not np.array_equal(first, trial.sample(fitted), equal_nan=True):
        raise _refuse(record, "the same seed gives other draws when sample is called again")
    if not np.array_equal(first, trial.sample(trial.model.fit(seed=0)), equal_nan=True):
        raise _refuse(record, "the same seed gives other draws after fitting again")


def _model_prefix(record: Record) -> None:
    import numpy as np

    trial = _Trial(record)
    fitted = trial.model.fit(seed=0)
    if not np.array_equal(trial.sample(fitted)[:5], trial.sample(fitted, 5), equal_nan=True):
        raise _refuse(record, "a longer horizon changes the earlier steps: draw arrays as (time, draw)")


# The others ---------------------------------------------------------------------------------------------------------


def _shape_fits(record: Record) -> None:
    import numpy as np

    from forecast.models import shape
    from forecast.streams import BLOCK, Streams

    time = np.arange(2000.0, 2020.0)
    value = 2.0 ** (time - 2000) * np.exp(0.05 * np.random.default_rng(0).standard_normal(len(time)))
    time.flags.writeable = value.flags.writeable = False
    made = shape(record.full_name)
    ahead = np.arange(2020.0, 2031.0)
    draws = []
    for _ in range(2):
        with _guarded(record, "fit or sample"):
            draws.append(made.fit(time, value, seed=0).sample(ahead, Streams(seed=0, node="check", block=0)))
    _numbers(record, "sample", draws[0], (len(ahead), BLOCK))
    if not np.array_equal(draws[0], draws[1]):
        raise _refuse(record, "the same seed gives other draws after fitting again")


def _table_described(record: Record) -> None:
    """Schema, licence, source and hash stand in the descriptor, and every unit parses."""
    from forecast import units
    from forecast.tables import descriptor

    spec: Any = record.spec
    package = descriptor.read(Path(spec.descriptor))
    for resource in package.resources:
        for field in resource.fields:
            units.unit(field.unit, where=f"table '{record.full_name}': column '{printable(field.name, 60)}'")


def _table_reads(record: Record) -> None:
    from forecast import tables
    from forecast.tables import descriptor

    spec: Any = record.spec
    if any(resource.remote for resource in descriptor.read(Path(spec.descriptor)).resources):
        raise unittest.SkipTest("is downloaded")
    tables.table(record.full_name)


def _scenario_reads(record: Record) -> None:
    from forecast.scenario import Scenario

    Scenario.load(record.full_name)


def _claim_computes(record: Record) -> None:
    from forecast import claims

    spec: Any = record.spec
    claims.evaluate(spec)


def _unit_parses(record: Record) -> None:
    from forecast import units

    units.unit(record.spec.name.replace("-", "_"), where=f"unit '{record.full_name}'")


def _target_loads(record: Record) -> None:
    spec: Any = record.spec
    found = resolve(spec.target, what=f"{spec.kind} '{record.full_name}'")
    if not callable(found):
        raise _refuse(record, f"target: expected something to call, got {type(found).__name__}")


def _command_loads(record: Record) -> None:
    import click

    spec: Any = record.spec
    found = resolve(spec.target, what=f"command '{record.full_name}'")
    if not isinstance(found, click.Command):
        raise _refuse(record, f"target: expected a click command, got {type(found).__name__}")


#: Kind of record to (label, check).
CHECKS: Mapping[str, tuple[tuple[str, Callable[[Record], None]], ...]] = {
    "law": (
        ("units parse", _law_units),
        ("round-trips through text", _law_text),
        ("vectorises and leaves its inputs alone", _law_vectorises),
        ("Jacobian agrees with finite differences", _law_jacobian),
        ("recovers known parameters", _law_recovers),
        ("published parameters are its own", _law_published),
    ),
    "model": (
        ("units parse and balance", _model_unit),
        ("samples finite numbers and leaves its inputs alone", _model_samples),
        ("same seed, same draws", _model_repeats),
        ("a longer horizon keeps the earlier steps", _model_prefix),
    ),
    "shape": (("fits, and same seed, same draws", _shape_fits),),
    "table": (("has schema, licence, source and hash", _table_described), ("reads", _table_reads)),
    "scenario": (("reads", _scenario_reads),),
    "claim": (("computes", _claim_computes),),
    "unit": (("parses", _unit_parses),),
    "score": (("its code loads", _target_loads),),
    "command": (("its code loads", _command_loads),),
}
