"""Saved fits: the law's registered name and text, every number unrounded, nothing pickled and nothing executed.

A file holds ``/`` (attributes: JSON text), ``/parameters`` (values and standard errors, for whoever opens it with
another tool) and ``/arrays`` (what a reload needs to the last bit).
"""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forecast.errors import ForecastError, ResultError, UsageError, printable
from forecast.jsontext import strict_json, to_json

if TYPE_CHECKING:
    import xarray as xr

    from forecast.fit.result import Fit
    from forecast.laws import Law

__all__ = ["is_fit", "load", "load_fit", "save"]

KIND, FORMAT = "fit", "1"


def save(fit: Fit, path: str | os.PathLike[str]) -> Path:
    """Save a fit as netCDF, whole or not at all; see `forecast.results.save`.

    Raises
    ------
    ResultError
        If the fit cannot be written.

    Examples
    --------
    >>> import tempfile, pathlib, forecast
    >>> fit = forecast.law("scaling/chinchilla").published("besiroglu2024")
    >>> path = save(fit, pathlib.Path(tempfile.mkdtemp(), "fit.nc"))
    >>> load(path).values == fit.values
    True
    """
    import xarray as xr

    from forecast import __version__, results

    arrays: dict[str, Any] = {}
    record = {
        f.name: _encode(getattr(fit, f.name), f.name, arrays)
        for f in dataclasses.fields(fit)
        if f.name != "law" and f.init
    }
    versions = {"lawcast": __version__, **{name: version(name) for name in ("numpy", "scipy", "xarray")}}
    attrs = {
        "kind": to_json(KIND),
        "format": to_json(FORMAT),
        "law": to_json(_law_record(fit.law)),
        "fit": to_json(record),
        "provenance": to_json({"versions": versions, "converged": fit.converged}),
    }
    numbers = {n: xr.Variable((), float(v)) for n, v in fit.values.items()}
    numbers |= {f"{n}_stderr": xr.Variable((), float(v)) for n, v in fit.stderr.items() if f"{n}_stderr" not in numbers}
    kept = {n: xr.Variable(tuple(f"{n}_{i}" for i in range(a.ndim)), a) for n, a in arrays.items()}
    about = {"converged": to_json(fit.converged), "verdict": to_json(fit.verdict)}
    tree = {"/": xr.Dataset(attrs=attrs), "/parameters": xr.Dataset(numbers, attrs=about), "/arrays": xr.Dataset(kept)}
    return results.save(xr.DataTree.from_dict(tree), path)


def load(path: str | os.PathLike[str]) -> Fit | xr.DataTree:
    """Load what `forecast` saved: a fit as a `Fit`, a projection as an `xarray.DataTree`.

    Raises
    ------
    ResultError
        In one line with the file's name: see `forecast.results.load`; or a fit whose law is not here.

    Examples
    --------
    >>> load("nowhere.nc")
    Traceback (most recent call last):
    forecast.errors.ResultError: nowhere.nc: no such file or directory
    """
    from forecast import results

    tree = results.load(path)
    return _fit(tree, printable(path)) if is_fit(tree) else tree


def load_fit(path: str | os.PathLike[str]) -> Fit:
    """Load a fit, and refuse another result.

    Raises
    ------
    ResultError
    """
    from forecast import results

    tree = results.load(path)
    if not is_fit(tree):
        raise ResultError(f"{printable(path)}: holds another result, not a fit")
    return _fit(tree, printable(path))


def is_fit(tree: xr.DataTree) -> bool:
    """Tell whether a loaded result is a fit."""
    return tree.attrs.get("kind") == to_json(KIND)


def _records() -> dict[str, type[Any]]:
    """Return the records that a fit may hold; no other class is ever made from a file."""
    from forecast.fit.data import Observed
    from forecast.fit.replicates import Replicates
    from forecast.fit.uncertainty import Uncertainty
    from forecast.specs import PublishedFit

    return {"Uncertainty": Uncertainty, "Replicates": Replicates, "Observed": Observed, "PublishedFit": PublishedFit}


def _encode(value: Any, at: str, arrays: dict[str, Any]) -> Any:
    """Return a value as JSON; arrays go into `arrays` under a name."""
    import numpy as np

    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        number = float(value)
        return number if math.isfinite(number) else {"number": str(number)}
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufU":
        arrays[at] = value
        return {"array": at}
    if isinstance(value, (tuple, list)):
        return {"tuple": [_encode(v, f"{at}.{i}", arrays) for i, v in enumerate(value)]}
    if isinstance(value, Mapping):
        return {"map": {str(k): _encode(v, f"{at}.{k}", arrays) for k, v in value.items()}}
    if type(value).__name__ in _records() and dataclasses.is_dataclass(value):
        fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value) if f.init}
        return {
            "record": type(value).__name__,
            "fields": {n: _encode(v, f"{at}.{n}", arrays) for n, v in fields.items()},
        }
    raise ResultError(f"fit: {printable(at, 80)}: a {type(value).__name__} has no form in a file")


def _decode(value: Any, arrays: Mapping[str, Any]) -> Any:
    if not isinstance(value, dict):
        return value
    if "number" in value:
        return {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}[value["number"]]
    if "array" in value:
        return arrays[value["array"]]
    if "tuple" in value:
        return tuple(_decode(v, arrays) for v in value["tuple"])
    if "map" in value:
        return {k: _decode(v, arrays) for k, v in value["map"].items()}
    made = _records()[value["record"]]
    return made(**{n: _decode(v, arrays) for n, v in value["fields"].items()})


def _law_record(law: Law) -> dict[str, Any]:
    """Return what makes the law again: its registered name, and where it has a text form, its arguments."""
    from forecast.laws.grouped import Grouped

    form = law._form
    if isinstance(form, Grouped):
        slots = {p: tuple(f.text for f in each) for p, each in form.slots.items()}
        own = {"by": form.by, "labels": form.labels, "slots": slots}
        return {"name": law.name, "grouped": _encode(own, "law", {}), "law": _law_record(form.law)}
    try:
        arguments = {k: v for k, v in law.record().items() if k != "published"}
    except UsageError:
        return {"name": law.name, "arguments": None, "parameters": list(law.parameters)}
    return {"name": law.name, "arguments": _encode(arguments, "law", {}), "parameters": list(law.parameters)}


def _law(record: Mapping[str, Any], where: str) -> tuple[Law, str]:
    """Return the law of a saved fit, and a warning where the catalogue has another one of its name."""
    from forecast.laws import Law, law

    if "grouped" in record:
        from forecast.formula import parse
        from forecast.laws.grouped import made_of

        plain, note = _law(record["law"], where)
        own = _decode(record["grouped"], {})
        slots = {p: tuple(parse(text, where=where) for text in each) for p, each in own["slots"].items()}
        return made_of(plain, own["by"], own["labels"], slots), note
    name, own = record["name"], None if record["arguments"] is None else _decode(record["arguments"], {})
    try:
        registered = law(name) if name else None
    except ForecastError:
        registered = None
    if own is None:
        if registered is None or list(registered.parameters) != list(record["parameters"]):
            shown = printable(name or "without a name", 80)
            raise ResultError(f"{where}: its law is code, {shown}, and no plugin here brings the same one")
        return registered, ""
    made = Law(**own)
    if registered is None:
        return made, ""
    if registered.text == made.text and dict(registered.bounds) == dict(made.bounds):
        return registered, ""
    return made, f"{printable(name, 80)}: the catalogue's law is another one now; the saved one is used"


def _fit(tree: xr.DataTree, where: str) -> Fit:
    from forecast.fit.result import Fit

    try:
        read = {k: strict_json(tree.attrs[k], where=where, error=ResultError) for k in ("format", "law", "fit")}
        if read["format"] != FORMAT:
            raise ResultError(f"{where}: a fit in the format {printable(read['format'], 20)}; this reads {FORMAT}")
        arrays = {str(n): v.values for n, v in tree["arrays"].to_dataset().variables.items()}
        found, note = _law(read["law"], where)
        fields = {n: _decode(v, arrays) for n, v in read["fit"].items()}
        if note:
            fields["warnings"] = (*fields["warnings"], note)
        return Fit(law=found, **fields)
    except ResultError:
        raise
    except ForecastError as problem:
        raise ResultError(f"{where}: {problem}") from problem
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        shown = printable(f"{type(problem).__name__}: {problem}", 120)
        raise ResultError(f"{where}: not a fit of this version: {shown}") from problem
