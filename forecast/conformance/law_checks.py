"""What the conformance kit asks of a law, and what its other checks share with it."""

from __future__ import annotations

import contextlib
import unittest
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from forecast import formula, laws, units
from forecast.base.arrays import Array
from forecast.contract.registry import Record
from forecast.errors import ForecastError, PluginContractError, printable
from forecast.fit.objectives import find_objective
from forecast.fit.protocols import check_rule

N_CHECK_POINTS = 200
#: So many of them are the data a law is recovered from, the relative noise on these, and how close it must come. Fewer
#: tell less, so that what is found from these would be found from all.
N_DATA_POINTS = 60
NOISE = 1e-4
RECOVERY_RTOL = 0.05


def refuse(record: Record, reason: str) -> PluginContractError:
    """Return the error that names the record."""
    return PluginContractError(f"{record.spec.kind} '{record.full_name}': {reason}")


@contextlib.contextmanager
def reject_writes(record: Record, what: str) -> Iterator[None]:
    """Say in our words that code wrote into the read-only arrays it was given."""
    try:
        yield
    except (ValueError, ForecastError) as problem:
        if "read-only" in str(problem):
            raise refuse(record, f"{what} writes into its inputs") from problem
        raise


def _law(record: Record) -> Any:
    return laws.law(record.full_name)


def _example_points(record: Record) -> tuple[dict[str, float], dict[str, Array]]:
    """Return the example parameters and read-only points spread over the domain."""
    if not record.spec.example or not record.spec.domain:
        raise unittest.SkipTest("gives no example and domain")
    for what, given, names in (
        ("example", record.spec.example, _law(record).parameters),
        ("domain", record.spec.domain, tuple(record.spec.variables)),
    ):
        if set(given) != set(names):
            raise refuse(record, f"{what}: expected {', '.join(names)}; got {', '.join(given)}")
    rng = np.random.default_rng(0)
    points = {}
    for name, (low, high) in record.spec.domain.items():
        u = rng.random(N_CHECK_POINTS)
        # wide positive ranges are spread over their decades
        values = low * (high / low) ** u if low > 0 and high / low > 10 else low + (high - low) * u
        values.flags.writeable = False
        points[name] = values
    return dict(record.spec.example), points


def _law_value(record: Record, parameters: Mapping[str, float], points: Mapping[str, Any]) -> Any:
    with reject_writes(record, "value"), warnings.catch_warnings():
        warnings.simplefilter("error")  # a lost imaginary part is no more than a warning
        return _law(record).value(parameters, **points)


def _law_units(record: Record) -> None:
    for name, unit in record.spec.variables.items():
        units.unit(unit, where=f"law '{record.full_name}': variable '{printable(name, 60)}'")
    units.unit(record.spec.unit, where=f"law '{record.full_name}': output '{printable(record.spec.output, 60)}'")


def _law_text(record: Record) -> None:
    """Text → formula → text → formula is the same formula, with the same values."""
    if record.spec.expression is None:
        raise unittest.SkipTest("has no text form")
    names: set[str] = set()
    for text in (record.spec.expression, *((record.spec.equals,) if record.spec.equals is not None else ())):
        first = formula.parse(text, where=f"law '{record.full_name}'")
        again = formula.parse(first.text, where=f"law '{record.full_name}'")
        if again.text != first.text or again.names != first.names:
            raise refuse(record, f"'{printable(first.text)}' comes back as '{printable(again.text)}'")
        names |= set(first.names)
    if record.spec.equals is not None:
        names.discard(record.spec.output)
    if set(_law(record).parameters) != names - set(record.spec.variables):
        raise refuse(record, "its parameters are not the names in its text that are no variables")


def _law_vectorises(record: Record) -> None:
    """An array gives what its elements give one by one: real, finite, of the same shape, twice the same."""
    parameters, points = _example_points(record)
    whole = _law_value(record, parameters, points)
    check_array(record, "value", whole, (N_CHECK_POINTS,))
    if not np.array_equal(whole, _law_value(record, parameters, points)):
        raise refuse(record, "the same call twice gives two results: it draws random numbers")
    for i in (0, N_CHECK_POINTS // 2, N_CHECK_POINTS - 1):
        one = _law_value(record, parameters, {k: float(v[i]) for k, v in points.items()})
        if not np.allclose(one, whole[i], rtol=1e-12, atol=0):
            raise refuse(record, f"a number gives {float(one):g} where an array gives {whole[i]:g}")
    square = {k: v.reshape(2, -1) for k, v in points.items()}
    if not np.array_equal(_law_value(record, parameters, square), whole.reshape(2, -1)):
        raise refuse(record, "a two-dimensional array gives other values than a flat one")


def check_array(record: Record, what: str, values: Any, shape: tuple[int, ...]) -> None:
    """Refuse what is no array of finite numbers of this shape."""
    if not isinstance(values, np.ndarray) or values.dtype != np.float64:
        kind = f"an array of {values.dtype}" if isinstance(values, np.ndarray) else type(values).__name__
        raise refuse(record, f"{what}: expected an array of float64, got {kind}")
    if values.shape != shape:
        raise refuse(record, f"{what}: expected the shape {shape}, got {values.shape}")
    if not np.isfinite(values).all():
        raise refuse(record, f"{what}: {int((~np.isfinite(values)).sum())} of {values.size} values are not finite")


def _law_jacobian(record: Record) -> None:
    parameters, points = _example_points(record)
    law = _law(record)
    exact = np.asarray(law.jacobian(parameters, **points))
    check_array(record, "jacobian", exact, (len(law.parameters), N_CHECK_POINTS))
    for row, name in zip(exact, law.parameters, strict=True):
        step = 1e-6 * max(abs(parameters[name]), 1e-3)
        up, down = ({**parameters, name: parameters[name] + s * step} for s in (1, -1))
        near = (_law_value(record, up, points) - _law_value(record, down, points)) / (2 * step)
        # rounding of the value, divided by the step, is what finite differences cannot see below
        noise = np.abs(_law_value(record, parameters, points)).max() * 1e-15 / step
        if not np.allclose(row, near, rtol=1e-5, atol=10 * noise + 1e-7 * np.abs(row).max()):
            raise refuse(record, f"jacobian: the derivative by '{name}' disagrees with finite differences")


def _law_recovers(record: Record) -> None:
    parameters, points = _example_points(record)
    law = _law(record)
    points = {name: values[:N_DATA_POINTS] for name, values in points.items()}
    noise = 1 + NOISE * np.random.default_rng(1).standard_normal(N_DATA_POINTS)
    data = {**points, law.output: _law_value(record, parameters, points) * noise}
    fit = law.fit(data, seed=0)
    if record.spec.ridge:
        apart = np.max(np.abs(law.value(fit.values, **points) / data[law.output] - 1))
        if not apart <= 10 * NOISE:
            raise refuse(record, f"fitted to its own data it misses them by {apart:.2g}; is the domain wide enough?")
        return
    far = []
    for name, true in parameters.items():
        recovered = float(fit.params[name])
        if not abs(recovered - true) <= RECOVERY_RTOL * max(abs(true), 1e-6):
            far.append(f"{name} = {recovered:g} instead of {true:g}")
    if far:
        raise refuse(record, f"fitted to its own data it finds {', '.join(far)}; is the domain wide enough?")


def _law_published(record: Record) -> None:
    if not record.spec.published:
        raise unittest.SkipTest("has no published parameters")
    names = set(_law(record).parameters)
    for fit in record.spec.published:
        if set(fit.parameters) != names or not set(fit.stderr) <= names:
            raise refuse(record, f"published '{fit.name}': expected parameters {', '.join(sorted(names))}")


def _law_protocols(record: Record) -> None:
    """A protocol speaks of the law's own variables and parameters, and its rules and objective can be read."""
    if not record.spec.protocols:
        raise unittest.SkipTest("has no protocols")
    law = _law(record)
    for protocol in record.spec.protocols:
        where = f"law '{record.full_name}': protocol '{printable(protocol.name, 60)}'"
        for rule in (*protocol.keep, *protocol.train):
            check_rule(rule, where=where)
        find_objective(protocol.objective, where=where)
        named = {*protocol.fix, *protocol.coordinates, *protocol.starts}
        if not named <= set(law.parameters) or not set(protocol.let) <= set(law.variables):
            raise refuse(record, f"protocol '{printable(protocol.name, 60)}' names what is no part of the law")
        if protocol.starts and {*protocol.starts, *protocol.fix} != set(law.parameters):
            raise refuse(record, f"protocol '{printable(protocol.name, 60)}': a start names every parameter")


def _law_requires(record: Record) -> None:
    """What a law requires (of its own names, or it is no law) is said, and holds at its example."""
    if not record.spec.requires:
        raise unittest.SkipTest("requires nothing")
    parameters, points = _example_points(record)
    for text, what in record.spec.requires.items():
        requirement = formula.parse(text, where=f"law '{record.full_name}': requires")
        if not what or not (np.asarray(requirement.evaluate({**parameters, **points})) > 0).all():
            raise refuse(
                record, f"requires '{printable(text, 60)}': does not say what it is, or fails in its own domain"
            )


#: (label, check).
LAW_CHECKS: tuple[tuple[str, Callable[[Record], None]], ...] = (
    ("units parse", _law_units),
    ("round-trips through text", _law_text),
    ("vectorises and leaves its inputs alone", _law_vectorises),
    ("Jacobian agrees with finite differences", _law_jacobian),
    ("recovers known parameters", _law_recovers),
    ("published parameters are its own", _law_published),
    ("protocols are its own", _law_protocols),
    ("requires what holds for it", _law_requires),
)
