"""Saved fits: the law's registered name and text, every number unrounded, nothing pickled and nothing executed.

A file holds ``/`` (attributes: JSON text), ``/parameters`` (values and standard errors, for whoever opens it with
another tool) and ``/arrays`` (what a reload needs to the last bit).
"""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from forecast.base.json_text import strict_json, to_json
from forecast.errors import ForecastError, PluginContractError, ResultError, UsageError, printable
from forecast.fit.saved_fit_schema import check_fields, check_fit, equal
from forecast.formula import check_name

if TYPE_CHECKING:
    import xarray as xr

    from forecast.fit.solution import Fit
    from forecast.laws import Law

__all__ = ["decoded", "encoded", "fit_of", "guarded", "is_fit", "load_fit", "opened", "packed", "save"]

T = TypeVar("T")

KIND, FORMAT = "fit", "1"
LONGEST_NAME = 500
_UNCHECKED = "saved without its data: errors and ranges are as the file states them"


def save(fit: Fit, path: str | os.PathLike[str]) -> Path:
    """Save a fit as netCDF, whole or not at all; see `forecast.base.netcdf.save`.

    Raises
    ------
    ResultError
        If the fit cannot be written.

    Examples
    --------
    >>> import tempfile, pathlib, forecast
    >>> fit = forecast.law("scaling/chinchilla").published("besiroglu2024")
    >>> path = save(fit, pathlib.Path(tempfile.mkdtemp(), "fit.nc"))
    >>> forecast.load(path).values == fit.values
    True
    """
    import xarray as xr

    arrays: dict[str, Any] = {}
    record = {
        f.name: encoded(getattr(fit, f.name), f.name, arrays)
        for f in dataclasses.fields(fit)
        if f.name != "law" and f.init
    }
    numbers = {n: xr.Variable((), float(v)) for n, v in fit.values.items()}
    numbers |= {f"{n}_stderr": xr.Variable((), float(v)) for n, v in fit.stderr.items() if f"{n}_stderr" not in numbers}
    about = {"converged": to_json(fit.converged), "verdict": to_json(fit.verdict)}
    stated = xr.Dataset(numbers, attrs=about)
    return packed(KIND, fit.law, to_json(record), arrays, stated, path, {"converged": fit.converged})


def packed(
    kind: str, law: Law, record: str, arrays: Mapping[str, Any], stated: xr.Dataset, path: str | os.PathLike[str],
    more: Mapping[str, Any] = MappingProxyType({}),
) -> Path:  # fmt: skip
    """Write a file of some kind: a law, a record and its arrays, and what is stated for other programs."""
    import xarray as xr

    from forecast import __version__
    from forecast.base import netcdf

    versions = {"lawcast": __version__, **{name: version(name) for name in ("numpy", "scipy", "xarray")}}
    attrs = {
        "kind": to_json(kind),
        "format": to_json(FORMAT),
        "law": to_json(_law_record(law)),
        kind: record,
        "provenance": to_json({"versions": versions, **more}),
    }
    kept = {n: xr.Variable(tuple(f"{n}_{i}" for i in range(a.ndim)), a) for n, a in arrays.items()}
    tree = {"/": xr.Dataset(attrs=attrs), "/parameters": stated, "/arrays": xr.Dataset(kept)}
    return netcdf.save(xr.DataTree.from_dict(tree), path)


def load_fit(path: str | os.PathLike[str]) -> Fit:
    """Load a fit, and refuse another result.

    Raises
    ------
    ResultError
    """
    from forecast.base import netcdf

    return fit_of(netcdf.load(path), path)


def fit_of(tree: xr.DataTree, path: str | os.PathLike[str]) -> Fit:
    """Return the fit that a loaded result holds; `path` is where it was.

    Raises
    ------
    ResultError
        If it holds another result, or a fit that does not agree with itself.
    """
    if not is_fit(tree):
        raise ResultError(f"{printable(path)}: holds another result, not a fit")
    return _fit(tree, printable(path))


def is_fit(tree: xr.DataTree) -> bool:
    """Tell whether a loaded result is a fit."""
    return tree.attrs.get("kind") == to_json(KIND)


def _records() -> dict[str, type[Any]]:
    """Return the records that a fit may hold; no other class is ever made from a file."""
    from forecast.contract.specs import PublishedFit
    from forecast.fit.data.observations import Observed
    from forecast.fit.inference.replicates import Replicates
    from forecast.fit.inference.uncertainty import Uncertainty

    return {"Uncertainty": Uncertainty, "Replicates": Replicates, "Observed": Observed, "PublishedFit": PublishedFit}


def encoded(value: Any, at: str, arrays: dict[str, Any]) -> Any:
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
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufUM":
        arrays[at] = value
        return {"array": at}
    if isinstance(value, (tuple, list)):
        return {"tuple": [encoded(v, f"{at}.{i}", arrays) for i, v in enumerate(value)]}
    if isinstance(value, Mapping):
        return {"map": {str(k): encoded(v, f"{at}.{k}", arrays) for k, v in value.items()}}
    if type(value).__name__ in _records() and dataclasses.is_dataclass(value):
        fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value) if f.init}
        return {
            "record": type(value).__name__,
            "fields": {n: encoded(v, f"{at}.{n}", arrays) for n, v in fields.items()},
        }
    raise ResultError(f"fit: {printable(at, 80)}: a {type(value).__name__} has no form in a file")


class _Decoder:
    """Makes values of JSON again; every array is used, and used once."""

    def __init__(self, arrays: Mapping[str, Any], where: str) -> None:
        self.arrays, self.where, self.used = arrays, where, set[str]()

    def value(self, value: Any, at: str) -> Any:
        if not isinstance(value, dict):
            if isinstance(value, list):
                self.refuse(at, "a list without a kind")
            return value
        kind = next(iter(value), "")
        parts = value.get(kind)
        if kind == "record" and set(value) == {"record", "fields"} and isinstance(value["fields"], dict):
            return self.record(parts, value["fields"], at)
        if len(value) != 1:
            self.refuse(at, f"an object with the keys {', '.join(value) or 'of nothing'}")
        if kind == "number" and parts in _NUMBERS:
            return _NUMBERS[parts]
        if kind == "array" and isinstance(parts, str):
            if parts not in self.arrays or parts in self.used:
                self.refuse(at, f"the array '{parts}' is {'used twice' if parts in self.used else 'not in the file'}")
            self.used.add(parts)
            return self.arrays[parts]
        if kind == "tuple" and isinstance(parts, list):
            return tuple(self.value(v, f"{at}.{i}") for i, v in enumerate(parts))
        if kind == "map" and isinstance(parts, dict):
            return {k: self.value(v, f"{at}.{k}") for k, v in parts.items()}
        self.refuse(at, f"a {kind or 'value'} of a kind that no fit holds")

    def record(self, name: Any, fields: Mapping[str, Any], at: str) -> Any:
        made = _records().get(name) if isinstance(name, str) else None
        if made is None:
            self.refuse(at, f"a record '{printable(name, 40)}', which no fit holds")
        values = {n: self.value(v, f"{at}.{n}") for n, v in fields.items()}
        check_fields(name, values, self.where)
        try:
            return made(**values)
        except PluginContractError as problem:  # fields that are well by themselves and not together
            raise ResultError(f"{self.where}: {problem}") from problem

    def refuse(self, at: str, reason: str) -> NoReturn:
        raise ResultError(f"{self.where}: {printable(at, 80)}: {printable(reason, 120)}")


_NUMBERS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def _law_record(law: Law) -> dict[str, Any]:
    """Return what makes the law again: its registered name, and where it has a text form, its arguments."""
    from forecast.laws.grouped import Grouped

    form = law._form
    if isinstance(form, Grouped):
        slots = {p: tuple(f.text for f in each) for p, each in form.slots.items()}
        own = {"by": form.by, "labels": form.labels, "slots": slots}
        return {"name": law.name, "grouped": encoded(own, "law", {}), "law": _law_record(form.law)}
    try:
        arguments = {k: v for k, v in law.record().items() if k != "published"}
    except UsageError:
        return {"name": law.name, "arguments": None, "parameters": list(law.parameters)}
    return {"name": law.name, "arguments": encoded(arguments, "law", {}), "parameters": list(law.parameters)}


#: What the law's record may hold, by its form.
_LAW_KEYS = ({"name", "arguments", "parameters"}, {"name", "grouped", "law"})


def _law(record: Any, where: str) -> tuple[Law, str]:
    """Return the law of a saved fit, and a warning where the catalogue has another one of its name."""
    if not isinstance(record, dict) or set(record) not in _LAW_KEYS:
        raise ResultError(f"{where}: law: expected a name with arguments and parameters, or with groups")
    name = record["name"]
    if not (name is None or (isinstance(name, str) and len(name) <= LONGEST_NAME)):
        raise ResultError(f"{where}: law: name: expected text or null, got {printable(name, 60)}")
    if "grouped" in record:
        return _grouped(record, where)
    names = record["parameters"]
    if not isinstance(names, list) or not all(isinstance(n, str) for n in names):
        raise ResultError(f"{where}: law: parameters: expected a list of names, got {printable(names, 60)}")
    law, note = _plain(name, record["arguments"], where)
    if law is None or (record["arguments"] is None and list(law.parameters) != names):
        shown = printable(name or "without a name", 80)
        raise ResultError(f"{where}: its law is code, {shown}, and no plugin here brings the same one")
    if list(law.parameters) != names:
        raise ResultError(
            f"{where}: law: parameters: expected {', '.join(law.parameters)}, as in '{printable(law.text, 80)}', "
            f"got {printable(', '.join(names), 80)}"
        )
    return law, note


def _plain(name: str | None, arguments: Any, where: str) -> tuple[Law | None, str]:
    """Return a law without groups: the registered one where it is the same; None where there is none."""
    from forecast.laws import Law, law

    try:
        registered = law(name) if name else None
    except ForecastError:
        registered = None
    if arguments is None:
        return registered, ""
    own = _Decoder({}, where).value(arguments, "law")
    _check_arguments(own, where)
    if own.get("name") != name:
        raise ResultError(f"{where}: law: name: '{printable(name, 60)}' is '{printable(own.get('name'), 60)}' below it")
    made = Law(**own)
    if registered is None:
        note = f"{printable(name, 80)}: no plugin here brings this law; the saved one is used" if name else ""
        return made, note if name and "/" in name else ""
    if _record_of(registered) == _record_of(made):
        return registered, ""
    return made, f"{printable(name, 80)}: the catalogue's law is another one now; the saved one is used"


def _record_of(law: Law) -> Any:
    """Return what makes a law, comparable; None of a law that is code."""
    try:
        return {k: v for k, v in law.record().items() if k not in ("published", "title", "reference")}
    except UsageError:
        return None


def _check_arguments(own: Any, where: str) -> None:
    def texts(value: Any) -> bool:
        return isinstance(value, tuple) and all(isinstance(v, str) for v in value)

    def mapped(value: Any, test: Callable[[Any], bool]) -> bool:
        return isinstance(value, dict) and all(test(v) for v in value.values())

    def text(value: Any) -> bool:
        return isinstance(value, str)

    def pair(value: Any) -> bool:
        return isinstance(value, tuple) and len(value) == 2 and all(type(v) in (int, float) for v in value)

    expected: dict[str, Callable[[Any], bool]] = {
        "expression": text,
        "variables": lambda v: mapped(v, text),
        "output": text,
        "unit": text,
        "bounds": lambda v: mapped(v, pair),
        "linear": lambda v: v is None or texts(v),
        "requires": lambda v: mapped(v, text),
        "name": lambda v: v is None or text(v),
        "objective": text,
        "title": text,
        "reference": text,
    }
    implicit: dict[str, Callable[[Any], bool]] = {"equals": text, "between": lambda v: texts(v) and len(v) == 2}
    if not isinstance(own, dict):
        raise ResultError(f"{where}: law: expected arguments by name")
    known: dict[str, Callable[[Any], bool]] = {**expected, **(implicit if set(implicit) & set(own) else {})}
    odd = sorted(set(own) ^ set(known))
    if odd:
        raise ResultError(f"{where}: law: '{printable(odd[0], 60)}' is missing, or no argument of a law")
    for key, test in known.items():
        if not test(own[key]):
            raise ResultError(f"{where}: law: {key}: not what a law takes: {printable(repr(own[key]), 80)}")


def _grouped(record: Mapping[str, Any], where: str) -> tuple[Law, str]:
    """Return a law in which groups have values of their own."""
    from forecast.formula import parse
    from forecast.laws.grouped import made_of

    plain, note = _law(record["law"], where)
    own = _Decoder({}, where).value(record["grouped"], "law")
    if not isinstance(own, dict) or set(own) != {"by", "labels", "slots"} or not isinstance(own["by"], str):
        raise ResultError(f"{where}: law: groups: expected by, labels and slots")
    labels, slots = own["labels"], own["slots"]
    if not isinstance(labels, tuple) or len({str(v) for v in labels}) < len(labels) or len(labels) < 2:
        raise ResultError(f"{where}: law: groups: labels: expected at least two, each once")
    texts = isinstance(slots, dict) and all(
        p in plain.parameters and isinstance(each, tuple) and len(each) == len(labels) for p, each in slots.items()
    )
    if not texts or not slots or not all(isinstance(t, str) for t in (*labels, *sum(slots.values(), ()))):
        raise ResultError(f"{where}: law: groups: slots: expected one formula a group, of parameters of the law")
    check_name(own["by"], where=f"{where}: law: groups")
    read = {p: tuple(parse(text, where=where) for text in each) for p, each in slots.items()}
    made = made_of(plain, own["by"], labels, read)
    if record["name"] not in (None, made.name):
        raise ResultError(
            f"{where}: law: name: expected '{printable(made.name, 80)}', got '{printable(record['name'])}'"
        )
    return made, note


def _fit(tree: xr.DataTree, where: str) -> Fit:
    """Make a fit of a file, and believe nothing in it that can be checked (`forecast.fit.saved_fit_schema`)."""
    return guarded(lambda: _checked(tree, where), where, "fit")


def guarded(read: Callable[[], T], where: str, what: str) -> T:
    """Read a stranger's file: whatever goes wrong is an error of one line that names it."""
    try:
        return read()
    except ResultError:
        raise
    except ForecastError as problem:
        raise ResultError(f"{where}: {problem}") from problem
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError, RecursionError) as problem:
        shown = printable(f"{type(problem).__name__}: {problem}", 120)
        raise ResultError(f"{where}: not a {what} of this version: {shown}") from problem


def opened(tree: xr.DataTree, kind: str, where: str) -> tuple[Law, str, Any, dict[str, Any]]:
    """Return what a file of some kind holds: its law and a warning of it, its record, and the arrays of that.

    Raises
    ------
    ResultError
        If anything else is in it, or it is of another version.
    """
    read = {str(k): strict_json(text, where=f"{where}: {k}", error=ResultError) for k, text in tree.attrs.items()}
    if read.get("format") != FORMAT:
        raise ResultError(f"{where}: a {kind} in the format {printable(read.get('format'), 20)}; this reads {FORMAT}")
    for name in sorted({*read} ^ {"kind", "format", "law", kind, "provenance"}):
        raise ResultError(f"{where}: the attribute '{printable(name, 60)}' is missing, or none of a {kind}'s")
    versions = read["provenance"].get("versions") if isinstance(read["provenance"], dict) else None
    if not isinstance(versions, dict) or not all(isinstance(v, str) for v in versions.values()):
        raise ResultError(f"{where}: provenance: versions: expected texts by name")
    groups = sorted(map(str, tree.children))
    if groups != ["arrays", "parameters"] or any(tree[g].children for g in groups) or tree.to_dataset().variables:
        raise ResultError(f"{where}: expected the groups /arrays and /parameters alone")
    kept = tree["arrays"].to_dataset()
    if kept.attrs or any(v.attrs for v in kept.variables.values()):
        raise ResultError(f"{where}: /arrays: expected no attributes")
    arrays = {str(n): v.values for n, v in kept.variables.items()}
    if not isinstance(read[kind], dict):
        raise ResultError(f"{where}: {kind}: expected an object")
    return *_law(read["law"], where), read[kind], arrays


def decoded(record: Any, arrays: Mapping[str, Any], where: str, *, each: bool = False) -> Any:
    """Return the values of a record; of `each` of its members where it has no kind itself.

    Raises
    ------
    ResultError
        If an array is missing, or none of them uses it.
    """
    decoder = _Decoder(arrays, where)
    values = {n: decoder.value(v, n) for n, v in record.items()} if each else decoder.value(record, "record")
    for name in sorted(set(arrays) - decoder.used):
        raise ResultError(f"{where}: /arrays/{printable(name, 60)}: no field of the fit uses it")
    return values


def _checked(tree: xr.DataTree, where: str) -> Fit:
    from forecast.fit.solution import Fit

    law, note, record, arrays = opened(tree, KIND, where)
    fields = decoded(record, arrays, where, each=True)
    check_fields("Fit", fields, where)
    plain = Fit(law=law, **fields)
    check_fit(plain, where)
    provenance = strict_json(tree.attrs["provenance"], where=f"{where}: provenance", error=ResultError)
    _check_copies(tree, plain, provenance, where)
    notes = [note, "" if plain.data is not None or plain.published else f"{plain.name}: {_UNCHECKED}"]
    new = tuple(line for line in notes if line and line not in plain.notes)
    return dataclasses.replace(plain, notes=(*plain.notes, *new)) if new else plain


def _check_copies(tree: xr.DataTree, fit: Fit, provenance: Any, where: str) -> None:
    """Refuse where what stands in the file for other programs is not what the fit says."""
    stated = tree["parameters"].to_dataset()
    own = {n: float(v) for n, v in fit.values.items()}
    own |= {f"{n}_stderr": float(v) for n, v in fit.stderr.items() if f"{n}_stderr" not in own}
    for name in sorted({str(n) for n in stated.variables} ^ set(own)):
        raise ResultError(f"{where}: /parameters/{printable(name, 60)}: is missing, or no parameter of the fit")
    for name, value in own.items():
        copy = stated[name]
        if copy.dims or copy.attrs or copy.dtype.name != "float64" or not equal(float(copy), value):
            got = printable(copy.values, 40)
            raise ResultError(
                f"{where}: /parameters/{printable(name, 60)}: expected {value:.12g}, as the fit says, got {got}"
            )
    about = {k: strict_json(v, where=f"{where}: /parameters: {k}", error=ResultError) for k, v in stated.attrs.items()}
    verdict = about.get("verdict")
    if set(about) != {"converged", "verdict"} or not isinstance(verdict, str) or not verdict.startswith(fit.outcome):
        raise ResultError(f"{where}: /parameters: verdict: expected the outcome, '{printable(fit.outcome, 80)}', first")
    if set(provenance) != {"versions", "converged"}:
        raise ResultError(f"{where}: provenance: expected versions and converged")
    for said, what in ((about["converged"], "/parameters"), (provenance["converged"], "provenance")):
        if said is not fit.converged:
            raise ResultError(f"{where}: {what}: converged: expected {to_json(fit.converged)}, as the fit says")
