"""Objectives, scores and readers are called with data, as a fit, a backtest and a table call them."""

from __future__ import annotations

import inspect
import tempfile
import unittest
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from forecast.base.lazy import xr
from forecast.conformance.law_checks import refuse, reject_writes
from forecast.contract.registry import Record, import_target
from forecast.errors import PluginError, one_line, printable
from forecast.fit.objectives import find_objective

GRAMMAR = "f(forecast, observed, *, reduce_dims=None, preserve_dims=None, weights=None)"
#: What a reader is given where its record names no file.
TINY_CSV = "date,value\n2020-01-01,1\n2021-01-01,2\n"


def load_code(record: Record) -> Callable[..., Any]:
    """Return the code that a record names; an error where it is nothing to call."""
    code = import_target(record.spec.target, what=f"{record.spec.kind} '{record.full_name}'")
    if not callable(code):
        raise refuse(record, f"target: expected something to call, got {type(code).__name__}")
    return code  # type: ignore[no-any-return]


def _check_signature(record: Record, code: Callable[..., Any], grammar: str, *given: Any, **named: Any) -> None:
    """Refuse code that cannot be called so."""
    try:
        inspect.signature(code).bind(*given, **named)
    except TypeError as problem:
        raise refuse(record, f"cannot be called as {grammar}: {printable(problem, 120)}") from None
    except ValueError:  # built-in code that does not say what it takes
        pass


# Objectives -----------------------------------------------------------------------------------------------------------

#: Step of the differences that derivatives of losses are held to, and their error as a share of the largest one.
LOSS_STEP, LOSS_RTOL = 1e-5, 1e-4


def objective_derives(record: Record) -> None:
    """Its loss is finite and of its own fit alone, and both derivatives are, on the rows that it takes."""
    objective = find_objective(record.full_name)
    rng = np.random.default_rng(0)
    f, y = rng.uniform(0.1, 0.9, (3, 40)), np.round(rng.uniform(1, 9, (1, 40)))
    y[0, ::2] = f[0, ::2] + 0.01  # counts, and what lies close to the law
    options = {n: 0.5 if v is None else v for n, v in {objective.tuning: None, **objective.defaults}.items()}
    columns = {n: np.full(y.shape, 9.0 if (v := objective.defaults[n]) is None else v) for n in objective.columns}
    rules = list(objective.rules(y, columns))
    good = ~np.any([np.zeros(y.shape, dtype=bool), *(rule.bad for rule in rules)], axis=0)
    if not good.any():
        raise unittest.SkipTest(f"takes none of the numbers from 0.1 to 9: {rules[0].text((0, 0))}")
    options |= {name: column[good] for name, column in columns.items()}
    f, y = objective.linked(f[:, good[0]]), objective.linked(y[good])
    f.flags.writeable = y.flags.writeable = False

    def losses(f: Any) -> Any:
        with reject_writes(record, "pointwise"):
            return np.array(objective.losses(f, y, options))

    whole = losses(f)
    if not np.isfinite(whole).all():
        raise refuse(record, "pointwise: expected finite numbers where law and observation are good")
    if not np.array_equal(whole[:, 1:2], losses(f[1:2])):
        raise refuse(record, "pointwise: a fit among others has another loss than alone")
    slopes = (losses(f + LOSS_STEP) - losses(f - LOSS_STEP)) / (2 * LOSS_STEP)
    for which, given, slope in zip(("first", "second"), whole[1:], slopes[:2], strict=True):
        worst = np.unravel_index(np.argmax(np.abs(given - slope)), slope.shape)
        if abs(given[worst] - slope[worst]) > LOSS_RTOL * np.abs(slope).max():
            said = f"is {given[worst]:.6g} where differences are {slope[worst]:.6g}"
            raise refuse(record, f"pointwise: the {which} derivative {said}")


# Scores -------------------------------------------------------------------------------------------------------------


def _sample_forecasts() -> Iterator[tuple[str, xr.DataArray, xr.DataArray]]:
    """Walk forecasts of every form, each with what happened; code that writes into them is told so."""
    rng = np.random.default_rng(0)
    dims, shape = ("origin", "place"), (3, 2)
    draws, levels = np.exp(0.3 * rng.standard_normal((*shape, 24))), [0.05, 0.25, 0.5, 0.75, 0.95]
    happened = np.exp(0.3 * rng.standard_normal(shape))
    quantiles = np.moveaxis(np.quantile(draws, levels, axis=-1), 0, -1)
    for array in (draws, happened, quantiles, chances := rng.uniform(0.1, 0.9, shape)):
        array.flags.writeable = False
    observed = xr.DataArray(happened, dims=dims)
    yield "draws", xr.DataArray(draws, dims=(*dims, "draw")), observed
    yield "quantiles", xr.DataArray(quantiles, dims=(*dims, "quantile"), coords={"quantile": levels}), observed
    yield "a probability", xr.DataArray(chances, dims=dims), (observed > 1).astype(np.float64)


def score_scores(record: Record) -> None:
    """It follows the grammar of scores: what it gives, along which dimensions, and what weights do."""
    code = load_code(record)
    _check_signature(record, code, GRAMMAR, None, None, reduce_dims=None, preserve_dims=None, weights=None)
    said: list[str] = []
    for form, forecast, observed in _sample_forecasts():
        try:
            with reject_writes(record, "its code"):
                code(forecast, observed)
            break
        except PluginError:
            raise
        except Exception as problem:
            said.append(f"{form}: {one_line(problem, 120)}")
    else:
        raise refuse(record, f"scores no form of a forecast ({'; '.join(said)})")

    def scored(what: str, dims: tuple[str, ...], part: slice = slice(None), **options: Any) -> Any:
        with reject_writes(record, "its code"):
            made = xr.DataArray(code(forecast.isel(origin=part), observed.isel(origin=part), **options))
        if made.dtype.kind not in "fiu" or not np.isfinite(made).all():
            raise refuse(record, f"{what}: expected finite numbers, got {printable(made.values, 60)}")
        if set(made.dims) != set(dims):
            expected = f"the dimensions {', '.join(dims)}" if dims else "one number"
            raise refuse(record, f"{what}: expected {expected}, got {', '.join(map(str, made.dims)) or 'one number'}")
        return made.transpose(*dims).values

    whole = scored("without options", ())
    by_origin = scored("preserve_dims=['origin']", ("origin",), preserve_dims=["origin"])
    scored("reduce_dims=['origin']", ("place",), reduce_dims=["origin"])
    scored("preserve_dims of both dimensions", ("origin", "place"), preserve_dims=["origin", "place"])
    even, first = xr.DataArray(np.full(3, 2.0), dims="origin"), xr.DataArray([1.0, 0.0, 0.0], dims="origin")
    _like(record, "equal weights change it", scored("weights", (), weights=even), whole)
    alone = scored("one origin", (), slice(0, 1))
    _like(record, "preserve_dims gives another score than that part alone", by_origin[0], alone)
    _like(record, "a weight of 0 does not leave a part out", scored("weights", (), weights=first), alone)


def _like(record: Record, says: str, one: Any, other: Any) -> None:

    if not np.allclose(one, other, rtol=1e-9, atol=1e-12):
        raise refuse(record, f"{says}: {float(one):.6g} instead of {float(other):.6g}")


# Readers ------------------------------------------------------------------------------------------------------------


def reader_reads(record: Record) -> None:
    """It makes columns of one length of the file that its record names, or of a tiny CSV file."""
    from forecast.tables.file_formats import read_with

    code = load_code(record)
    _check_signature(record, code, "f(path)", Path("file"))
    if record.spec.example:
        read_with(record, Path(record.spec.example), where="its example")
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "tiny.csv")
        path.write_text(TINY_CSV, encoding="utf-8")
        try:
            code(path)
        except (TypeError, AttributeError, NameError):  # no form of a file excuses these
            raise
        except Exception as problem:
            refused = f"refuses a tiny CSV file ({one_line(problem, 80)})"
            raise unittest.SkipTest(f"{refused}: give its record a small file of its form, example=...") from None
        read_with(record, path, where="a tiny CSV file")
