"""Saved batches: all fits over a dimension in one file, by the rules of a saved fit.

The file holds the law, the data and the solutions. What follows from them (standard errors, what is identified) is
computed again when the file is read, and what stands in the file beside is compared.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from forecast.base.json_text import to_json
from forecast.errors import ResultError, printable
from forecast.fit.save import decoded, encoded, guarded, opened, packed
from forecast.fit.saved_fit_schema import VALUE_RTOL

if TYPE_CHECKING:
    import xarray as xr

    from forecast.fit.data.padded import Padded
    from forecast.fit.fits import Fits
    from forecast.fit.inference.replicates import Replicates
    from forecast.fit.problem.setting import Setting
    from forecast.laws import Law

__all__ = ["fits_of", "is_fits", "save_many"]

Array: TypeAlias = NDArray[np.float64]

KIND = "fits"
#: What a batch has for each fit or point, and of which kind: the shape by the letters B, k, n.
TABLES = {
    "labels": ("biufUM", "B"),
    "y": ("f", "Bn"),
    "weights": ("f", "Bn"),
    "points": ("b", "Bn"),
    "q": ("f", "kB"),
    "value": ("f", "B"),
    "settled": ("b", "B"),
    "converged": ("b", "B"),
    "starts": ("iu", "2B"),
    "outcome": ("U", "B"),
    "reasons": ("U", "B"),
}
#: The same of replicates, r of each fit.
REPEATED = {
    "values": ("f", "Bkr"),
    "objective": ("f", "Br"),
    "converged": ("b", "Br"),
    "there": ("b", "B"),
    "counts": ("iu", "3B"),
}
COUNTS = ("audited", "changed", "degenerate")


def save_many(fits: Fits, path: str | os.PathLike[str]) -> Path:
    """Save all fits of a batch as one netCDF file, whole or not at all; `forecast.load` reads it back.

    Raises
    ------
    ResultError
        If they cannot be written.
    """
    import xarray as xr

    made, curves, arrays = fits.made, fits.made.curves, dict[str, Any]()
    record = {
        "by": fits.by,
        "level": fits.level,
        "warnings": fits.warnings,
        "objective": made.setting.objective.name,
        "options": dict(made.setting.options),
        "scale_known": curves.scale_known,
        "given": made.given,
        "tables": {
            "labels": _labels(curves.labels),
            "y": curves.y,
            "weights": curves.weights,
            "points": curves.given,
            "q": made.q,
            "value": made.value,
            "settled": made.settled,
            "converged": made.converged,
            "starts": made.starts,
            "outcome": made.outcome.astype(str),
            "reasons": np.array(curves.reasons, dtype=str),
        },
        "variables": dict(curves.variables),
        "columns": dict(curves.options),
        "own": dict(made.options),
        "replicates": None if made.repeated is None else _stacked(made.repeated, len(made.q)),
    }
    numbers = {n: xr.Variable("fit", v) for n, v in made.natural.items()}
    numbers |= {f"{n}_stderr": xr.Variable("fit", v) for n, v in made.errors.items() if f"{n}_stderr" not in numbers}
    text = to_json(encoded(record, "fits", arrays))
    return packed(KIND, fits.law, text, arrays, xr.Dataset(numbers), path)


def _labels(labels: NDArray[Any]) -> NDArray[Any]:
    """Return labels as a file has them: text as text, dates in seconds."""
    if labels.dtype.kind == "O" and all(isinstance(v, str) for v in labels):
        return labels.astype(str)
    if labels.dtype.kind == "M" and (labels.astype("datetime64[s]") == labels).all():
        return labels.astype("datetime64[s]")
    return labels


def _stacked(repeated: tuple[Replicates | None, ...], k: int) -> dict[str, Any]:
    first = next((r for r in repeated if r is not None), None)
    size = 0 if first is None else first.converged.size
    there = np.array([r is not None for r in repeated])
    tables = {
        "values": np.full((there.size, k, size), np.nan),
        "objective": np.full((there.size, size), np.nan),
        "converged": np.zeros((there.size, size), dtype=bool),
        "there": there,
        "counts": np.zeros((3, there.size), dtype=np.int64),
    }
    for b, one in enumerate(repeated):
        if one is not None:
            for name in ("values", "objective", "converged"):
                tables[name][b] = getattr(one, name)
            tables["counts"][:, b] = [getattr(one, name) for name in COUNTS]
    return {"resample": first.resample if first else "pairs", "seed": first.seed if first else 0, "tables": tables}


def is_fits(tree: xr.DataTree) -> bool:
    """Tell whether a loaded result is a batch of fits."""
    return bool(tree.attrs.get("kind") == to_json(KIND))


def fits_of(tree: xr.DataTree, path: str | os.PathLike[str]) -> Fits:
    """Return the fits that a loaded result holds; `path` is where it was.

    Raises
    ------
    ResultError
        If they do not agree with themselves.
    """
    where = printable(path)
    return guarded(lambda: _read(tree, where), where, "batch of fits")


def _refuse(where: str, at: str, expected: str) -> None:
    raise ResultError(f"{where}: fits: {printable(at, 80)}: expected {expected}")


def _need(good: Any, where: str, at: str, expected: str) -> None:
    if not np.all(good):
        _refuse(where, at, expected)


def _read(tree: xr.DataTree, where: str) -> Fits:
    from forecast.fit.fits import Fits, Solutions
    from forecast.fit.inference.covariance import uncertainties
    from forecast.fit.inference.uncertainty import joined
    from forecast.fit.objectives.objective import check_options, find
    from forecast.fit.options import check_level
    from forecast.fit.problem.coordinates import coordinates, label
    from forecast.fit.problem.setting import Setting

    law, note, text, arrays = opened(tree, KIND, where)
    record = decoded(text, arrays, where)
    fields = {
        "by": str, "level": float, "warnings": tuple, "objective": str, "options": dict, "scale_known": bool,
        "given": bool, "tables": dict, "variables": dict, "columns": dict, "own": dict,
        "replicates": (dict, type(None)),
    }  # fmt: skip
    _need(isinstance(record, dict) and set(record) == set(fields), where, "record", ", ".join(fields))
    for name, kind in fields.items():
        _need(isinstance(record[name], kind), where, name, "a value of its type")  # type: ignore[arg-type]
    check_level(record["level"], where)
    _need(not law.levels, where, "law", "a law without groups")
    _need([isinstance(v, str) for v in record["warnings"]], where, "warnings", "texts")
    objective, name = find(record["objective"], where=where), label(law)
    options = {n: v for n, v in record["options"].items() if v is not None}
    check_options(objective, options, where)
    setting = Setting(law=law, objective=objective, options=options, coordinates=coordinates(law, name), name=name)
    k = len(setting.coordinates.free)
    size = {"k": k, "2": 2, "3": 3, **dict(zip("Bn", np.shape(record["tables"].get("y")), strict=True))}
    tables = _tables(record["tables"], TABLES, size, where)
    curves = _curves(record, tables, setting, where)
    own = record["own"]
    _need([n in ("delta", "width") for n in own], where, "own", "a threshold or a width")
    own = _tables(own, dict.fromkeys(own, ("f", "B")), size, where)
    settled, starts = tables["settled"], tables["starts"]
    _need([(column[settled] > 0) & np.isfinite(column[settled]) for column in own.values()], where, "own", "above 0")
    made = Solutions(
        setting=setting, curves=curves, q=tables["q"], value=tables["value"], settled=settled,
        known=None,  # type: ignore[arg-type]
        options=own, converged=tables["converged"], starts=starts.astype(np.int64), outcome=tables["outcome"],
        given=record["given"], repeated=_replicates(record["replicates"], size, law, setting, where),
    )  # fmt: skip
    _check_solutions(made, where)
    rows = np.flatnonzero(settled)
    part = curves.take(rows)
    known = uncertainties(
        law, made.target(rows), made.q[:, rows], setting.coordinates, lambda b: made.problem(int(rows[b])),
        scale_known=curves.scale_known,
    )  # fmt: skip
    dof = (curves.weights > 0).sum(axis=1) - k
    made = replace(made, known=joined([known] if part.reasons else [], rows, setting.coordinates.free, dof))
    _check_copies(tree, made, where)
    notes = record["warnings"] if not note or note in record["warnings"] else (*record["warnings"], note)
    return Fits(by=record["by"], level=record["level"], warnings=notes, made=made)


def _tables(
    tables: Mapping[str, Any], expected: Mapping[str, tuple[str, str]], size: dict[str, int], where: str
) -> dict[str, Any]:
    """Return arrays whose kinds and shapes are as expected; a letter that is new has its size from here on."""
    _need(set(tables) == set(expected), where, "tables", ", ".join(expected))
    for name, (kinds, letters) in expected.items():
        table = tables[name]
        good = isinstance(table, np.ndarray) and table.dtype.kind in kinds and table.ndim == len(letters)
        _need(good, where, name, f"an array of {len(letters)} dimensions")
        for letter, length in zip(letters, table.shape, strict=True):
            _need(
                size.setdefault(letter, length) == length, where, name, f"{size[letter]} along {letter}, got {length}"
            )
    return dict(tables)


def _curves(record: Mapping[str, Any], tables: Mapping[str, Any], setting: Setting, where: str) -> Padded:
    """Return the data, checked as those of a fit are."""
    from forecast.fit.data.padded import Padded

    law, objective = setting.law, setting.objective
    y, weights, points = tables["y"], tables["weights"], tables["points"]
    labels = tables["labels"]
    _need(np.unique(labels).size == labels.size, where, "labels", "each once")
    _need(list(record["variables"]) == list(law.variables), where, "variables", ", ".join(law.variables))
    for name, column in record["variables"].items():
        good = isinstance(column, np.ndarray) and column.dtype.kind == "f" and column.shape in (y.shape, y.shape[1:])
        _need(good, where, f"variables: {name}", "numbers at the points")
        _need(np.isfinite(np.broadcast_to(column, y.shape)[points]), where, f"variables: {name}", "finite numbers")
    _need(
        np.isfinite(y) & np.isfinite(weights) & (weights >= 0), where, "y, weights", "finite numbers, no weight below 0"
    )
    _need((weights == 0) | points, where, "weights", "0 where there is no point")
    _need((y > 0) | (not objective.log), where, "y", "numbers above 0, under an objective of logarithms")
    _need((y >= 0) | (objective.loss != "poisson"), where, "y", "counts")
    counted = objective.loss == "binomial"
    columns = _tables(
        record["columns"], dict.fromkeys(("trials", "chance") if counted else (), ("f", "Bn")),
        dict(zip("Bn", y.shape, strict=True)), where,
    )  # fmt: skip
    if counted:
        trials, chance = columns["trials"], columns["chance"]
        good = (trials > 0) & (y >= 0) & (y <= trials) & (chance >= 0) & (chance < 1)
        _need(good, where, "columns", "trials above 0, y of them, and chances from 0 to below 1")
    _need(record["scale_known"] or objective.scale != "known", where, "scale_known", "true, of counts")
    return Padded(
        variables=record["variables"], y=y, linked=np.log(y) if objective.log else y, weights=weights, labels=labels,
        reasons=tuple(tables["reasons"].tolist()), given=points, scale_known=record["scale_known"], options=columns,
    )  # fmt: skip


def _check_solutions(made: Any, where: str) -> None:
    """Refuse solutions that the law and the data do not give."""
    settled, q, coordinates = made.settled, made.q, made.setting.coordinates
    enough = (made.curves.weights > 0).sum(axis=1) >= len(q)
    fitted = np.array([not reason for reason in made.curves.reasons], dtype=bool)
    _need(~settled | (enough & fitted), where, "settled", "false, of what has too few points")
    _need(np.isfinite(q[:, settled]), where, "q", "finite numbers")
    _need(np.isnan(q[:, ~settled]), where, "q", "nan, of fits that failed")
    slack = VALUE_RTOL * np.maximum(np.abs(q), 1e-300)
    low, high = coordinates.lower[:, None] - slack, coordinates.upper[:, None] + slack
    _need(((q >= low) & (q <= high))[:, settled], where, "q", "numbers within the bounds")
    _need(settled | ~made.converged, where, "converged", "false, of fits that failed")
    _need((made.starts >= 0).all(axis=0) & (made.starts[0] <= made.starts[1]), where, "starts", "agreeing ones, of all")
    begins = np.where(settled, np.where(made.converged, "converged", "not converged"), "not")
    said = [text.startswith(first) for text, first in zip(made.outcome, begins, strict=True)]
    _need(said, where, "outcome", "what `converged` says")
    rows = np.flatnonzero(settled)
    if rows.size:
        target = made.target(rows)
        with np.errstate(all="ignore"):
            again = target.value(q[:, rows])
            size = np.sum(target.weights * target.objective.sizes(target.y, target.options), axis=-1)
        apart = np.abs(again - made.value[rows])
        _need(apart <= VALUE_RTOL * np.abs(again) + 1e-12 * size, where, "value", "what the law and the data give")


def _replicates(
    record: Mapping[str, Any] | None, size: dict[str, int], law: Law, setting: Setting, where: str
) -> tuple[Replicates | None, ...] | None:
    from forecast.fit.inference.replicates import Replicates
    from forecast.fit.inference.resample import SCHEMES

    if record is None:
        return None
    _need(set(record) == {"resample", "seed", "tables"}, where, "replicates", "resample, seed and tables")
    _need(record["resample"] in SCHEMES, where, "replicates: resample", f"one of {', '.join(SCHEMES)}")
    _need(type(record["seed"]) is int and record["seed"] >= 0, where, "replicates: seed", "a count")
    tables, names = _tables(record["tables"], REPEATED, size, where), setting.coordinates.free
    _need(tables["counts"] >= 0, where, "replicates: counts", "counts")
    _need(tables["counts"] <= size["r"], where, "replicates: counts", f"at most {size['r']}")
    values = np.moveaxis(tables["values"], 1, 0)
    for name, column in zip(names, values, strict=True):
        low, high = law.bounds.get(name, (-np.inf, np.inf))
        good, slack = column[tables["converged"]], VALUE_RTOL * np.abs(column[tables["converged"]])
        inside = np.isfinite(good) & (good >= low - slack) & (good <= high + slack)
        _need(inside, where, f"replicates: {name}", "finite numbers within its bounds")
    return tuple(
        Replicates(
            names=names, values=tables["values"][b], objective=tables["objective"][b], converged=tables["converged"][b],
            resample=record["resample"], seed=record["seed"],
            **dict(zip(COUNTS, tables["counts"][:, b].tolist(), strict=True)),
        )
        if there else None
        for b, there in enumerate(tables["there"])
    )  # fmt: skip


def _check_copies(tree: xr.DataTree, made: Any, where: str) -> None:
    """Refuse where what stands in the file for other programs is not what the fits say."""
    stated = tree["parameters"].to_dataset()
    own = {**made.natural, **{f"{n}_stderr": v for n, v in made.errors.items() if f"{n}_stderr" not in made.natural}}
    _need(set(map(str, stated.variables)) == set(own) and not stated.attrs, where, "/parameters", ", ".join(own))
    for name, column in own.items():
        copy, exact = stated[name], made.known.exact  # rounding, which other processors round otherwise
        good = copy.dims == ("fit",) and copy.dtype.name == "float64" and not copy.attrs and copy.shape == column.shape
        _need(good, where, f"/parameters/{name}", "one number a fit")
        with np.errstate(all="ignore"):
            close = np.isclose(copy.values, column, rtol=1e-6, atol=0, equal_nan=True) | (copy.values == column)
        _need(close | (exact & name.endswith("_stderr")), where, f"/parameters/{name}", "what the fits say")
