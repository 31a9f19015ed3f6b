"""Saved fits, one or many over a dimension: what was fitted and where the search ended; the rest is computed again.

A file holds ``/`` (attributes: JSON text), ``/arrays`` (the data, the solutions in the solver's coordinates, and the
replicates of a bootstrap) and ``/parameters`` (values and standard errors for other programs, which `forecast.load`
does not read). Values, errors, intervals and the verdict follow from the law, the data and the solution, so that no
number in a file can disagree with them. Nothing is pickled and nothing executed.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from forecast.base.arrays import AnyArray, Array
from forecast.base.json_text import strict_json, to_json
from forecast.base.lazy import xr
from forecast.base.saved_records import (
    COUNT,
    FLAG,
    NUMBER,
    TEXT,
    ArraySchema,
    Form,
    ListSchema,
    MappingSchema,
    ObjectSchema,
    OptionalSchema,
    ValueSchema,
    check_record,
    check_tables,
    one_of as one_of_words,
)
from forecast.errors import ForecastError, ResultError, UsageError, printable
from forecast.fit.fit import Fit, Fits
from forecast.formula import check_name, parse
from forecast.laws import Law, law
from forecast.laws.grouped import Grouped, law_of_form

if TYPE_CHECKING:
    from forecast.fit.data.observations import Observations
    from forecast.fit.inference.bootstrap import Replicates
    from forecast.fit.problem.problem import Setting
    from forecast.fit.solutions import Solutions

T = TypeVar("T")

FIT_KIND, FIT_FORMAT = "fit", "2"
#: How the replicates of a bootstrap were drawn, as counts of each fit.
BOOTSTRAP_COUNTS = ("audited", "changed", "degenerate", "clusters")

_LEVEL = ValueSchema("a number between 0 and 1", lambda v: isinstance(v, float) and 0 < v < 1)
_PUBLISHED = ObjectSchema(
    {
        "name": TEXT,
        "parameters": MappingSchema(NUMBER),
        "reference": TEXT,
        "stderr": MappingSchema(NUMBER),
        "covariance": MappingSchema(MappingSchema(NUMBER)),
        "rounded": FLAG,
        "note": TEXT,
    }
)
#: What the record of a file holds: of published parameters, and of a fit.
_STATED_SCHEMA = ObjectSchema({"level": _LEVEL, "published": _PUBLISHED})
_FITTED = ObjectSchema(
    {
        "by": OptionalSchema(TEXT),
        "level": _LEVEL,
        "group": OptionalSchema(TEXT),
        "objective": TEXT,
        "options": MappingSchema(NUMBER),
        "given": FLAG,
        "scale_known": FLAG,
        "grouped_by": TEXT,
        "group_labels": ListSchema(TEXT),
        "bootstrap": OptionalSchema(ObjectSchema({"resample": TEXT, "seed": COUNT})),
    },
    {"read": TEXT},
)
_VERSIONS = ObjectSchema({"versions": MappingSchema(TEXT)})


# Writing --------------------------------------------------------------------------------------------------------------


def save_fit(fit: Fit | Fits, path: str | os.PathLike[str], *, by: str | None = None) -> Path:
    """Save a fit, or fits over the dimension `by`, as netCDF, whole or not at all; see `forecast.base.netcdf.save`.

    Raises
    ------
    ResultError
        If it cannot be written.

    Examples
    --------
    >>> import tempfile, pathlib, forecast
    >>> fit = forecast.law("scaling/chinchilla").published("besiroglu2024")
    >>> path = save_fit(fit, pathlib.Path(tempfile.mkdtemp(), "fit.nc"))
    >>> forecast.load(path).values == fit.values
    True
    """
    from forecast import __version__
    from forecast.base import netcdf

    made, law, arrays = fit.solutions, fit.law, dict[str, Any]()
    record: dict[str, Any] = {"level": fit.level}
    if made is None:
        stated = fit.published
        assert stated is not None
        covariance = {n: dict(row) for n, row in stated.covariance.items()}
        record["published"] = {
            "name": stated.name, "parameters": dict(stated.parameters), "reference": stated.reference,
            "stderr": dict(stated.stderr), "covariance": covariance, "rounded": stated.rounded, "note": stated.note,
        }  # fmt: skip
    else:
        group, made = made.group, made.whole
        law = made.law
        record |= {"by": by, "group": group, **_solution_record(made)}
        arrays = _solution_arrays(made, many=by is not None)
    versions = {"lawcast": __version__, **{name: version(name) for name in ("numpy", "scipy", "xarray")}}
    attrs = {
        "kind": to_json(FIT_KIND),
        "format": to_json(FIT_FORMAT),
        "law": to_json(law_record(law)),
        FIT_KIND: to_json(record),
        "provenance": to_json({"versions": versions}),
    }
    kept = {n: xr.Variable(tuple(f"{n}_{i}" for i in range(np.ndim(a))), a) for n, a in arrays.items()}
    tree = {
        "/": xr.Dataset(attrs=attrs),
        "/parameters": _readable_copies(fit, many=by is not None),
        "/arrays": xr.Dataset(kept),
    }
    return netcdf.save(xr.DataTree.from_dict(tree), path)


def _readable_copies(fit: Fit | Fits, *, many: bool) -> xr.Dataset:
    """Return what a file states for other programs."""
    dims = ("fit",) if many else ()
    errors = {n: fit.stderr[n].values for n in fit.stderr if f"{n}_stderr" not in fit.values}
    numbers = {**dict(fit.values.items()), **{f"{n}_stderr": v for n, v in errors.items()}}
    about = {} if dims else {"converged": to_json(fit.converged), "verdict": to_json(fit.verdict)}
    return xr.Dataset({n: xr.Variable(dims, np.asarray(v, dtype=float)) for n, v in numbers.items()}, attrs=about)


def _solution_record(solutions: Solutions) -> dict[str, Any]:
    first = next((r for r in solutions.replicates if r is not None), None)
    return {
        "objective": solutions.objective.name,
        "options": dict(solutions.setting.options),
        "given": solutions.given,
        "scale_known": solutions.curves.absolute_sigma,
        "grouped_by": solutions.curves.by,
        "group_labels": list(solutions.curves.group_labels),
        "bootstrap": None if first is None else {"resample": first.resample, "seed": first.seed},
        **({"read": solutions.curves.read} if solutions.curves.read else {}),
    }


def _solution_arrays(solutions: Solutions, *, many: bool) -> dict[str, Any]:
    curves = solutions.curves
    arrays: dict[str, Any] = {
        "y": curves.y, "weights": curves.weights, "q": solutions.q, "settled": solutions.settled,
        "converged": solutions.converged, "starts": solutions.starts,
    }  # fmt: skip
    if many:
        given = np.ones(curves.y.shape, dtype=bool) if curves.given is None else curves.given
        arrays |= {
            "labels": _encode_labels(curves.labels),
            "reasons": np.array(curves.reasons, dtype=str),
            "points": given,
        }
    kinds = {
        "variable": curves.variables,
        "column": curves.columns,
        "sigma_x": curves.sigma_x,
        "option": solutions.options,
    }
    for kind, columns in kinds.items():
        arrays |= {f"{kind}:{name}": np.asarray(column) for name, column in columns.items()}
    if curves.groups is not None:
        arrays["groups"] = curves.groups
    if solutions.bootstrapped:
        arrays |= _stack_replicates(solutions.replicates, len(solutions.q))
    return arrays


def _encode_labels(labels: AnyArray) -> AnyArray:
    """Return labels as a file has them: text as text, dates in seconds."""
    if labels.dtype.kind == "O" and all(isinstance(v, str) for v in labels):
        return labels.astype(str)
    if labels.dtype.kind == "M" and (labels.astype("datetime64[s]") == labels).all():
        return labels.astype("datetime64[s]")
    return labels


def _stack_replicates(replicates: tuple[Replicates | None, ...], k: int) -> dict[str, Any]:
    size = next(r.converged.size for r in replicates if r is not None)
    there = np.array([r is not None for r in replicates])
    tables = {
        "bootstrap:values": np.full((there.size, k, size), np.nan),
        "bootstrap:objective": np.full((there.size, size), np.nan),
        "bootstrap:converged": np.zeros((there.size, size), dtype=bool),
        "bootstrap:there": there,
        "bootstrap:counts": np.zeros((len(BOOTSTRAP_COUNTS), there.size), dtype=np.int64),
    }
    for b, one in enumerate(replicates):
        if one is not None:
            tables["bootstrap:values"][b] = one.values
            tables["bootstrap:objective"][b] = one.objective
            tables["bootstrap:converged"][b] = one.converged
            tables["bootstrap:counts"][:, b] = one.audited, one.changed, one.degenerate, one.clusters
    return tables


# Reading --------------------------------------------------------------------------------------------------------------


def is_fit(tree: xr.DataTree) -> bool:
    """Tell whether a loaded result is a fit, or fits over a dimension."""
    return bool(tree.attrs.get("kind") in (to_json(FIT_KIND), to_json("fits")))  # "fits" of the first format is refused


def load_fit(path: str | os.PathLike[str]) -> Fit:
    """Load a single fit, and refuse another result.

    Raises
    ------
    ResultError
    """
    from forecast.base import netcdf

    found = fit_of(netcdf.load(path), path)
    if isinstance(found, Fit):
        return found
    raise ResultError(f"{printable(path)}: holds {len(found)} fits over '{printable(found.by, 60)}', not a fit")


def fit_of(tree: xr.DataTree, path: str | os.PathLike[str]) -> Fit | Fits:
    """Return the fit, or the fits over a dimension, that a loaded result holds; `path` is where it was.

    Raises
    ------
    ResultError
        If it holds another result, one of another version, or what is no fit.
    """
    where = printable(path)
    if not is_fit(tree):
        raise ResultError(f"{where}: holds another result, not a fit")
    return read_untrusted(lambda: _read_saved(tree, where), where, "fit")


def read_untrusted(read: Callable[[], T], where: str, what: str) -> T:
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


def _open_records(tree: xr.DataTree, where: str) -> tuple[Any, Any, dict[str, Any]]:
    """Return the record of a law, that of a fit, and the arrays that a file holds, and nothing else."""
    read = {str(k): strict_json(text, where=f"{where}: {k}", error=ResultError) for k, text in tree.attrs.items()}
    if read.get("format") != FIT_FORMAT:
        made = read.get("provenance")
        by = (
            made["versions"].get("lawcast")
            if isinstance(made, dict) and isinstance(made.get("versions"), dict)
            else None
        )
        who = f"lawcast {printable(by, 40)} wrote" if by else "this file holds"
        raise ResultError(
            f"{where}: {who} a fit in the format {printable(read.get('format'), 20)}; this version reads {FIT_FORMAT}: "
            "fit again, or load it with that version"
        )
    for name in sorted({*read} ^ {"kind", "format", "law", FIT_KIND, "provenance"}):
        raise ResultError(f"{where}: the attribute '{printable(name, 60)}' is missing, or none of a fit's")
    check_record(read["provenance"], _VERSIONS, where=where, at="provenance")
    groups = sorted(map(str, tree.children))
    if groups != ["arrays", "parameters"] or any(tree[g].children for g in groups) or tree.to_dataset().variables:
        raise ResultError(f"{where}: expected the groups /arrays and /parameters alone")
    return read["law"], read[FIT_KIND], {str(n): v.values for n, v in tree["arrays"].to_dataset().variables.items()}


def _read_saved(tree: xr.DataTree, where: str) -> Fit | Fits:
    from forecast.contract.published import PublishedFit
    from forecast.fit.fit import Fits
    from forecast.fit.fit_law import published_fit
    from forecast.fit.inference.by_group import one_of

    stated, record, arrays = _open_records(tree, where)
    law, note = law_of(stated, where)
    remarks = (note,) if note else ()
    if isinstance(record, dict) and "published" in record:
        check_record(record, _STATED_SCHEMA, where=where, at=FIT_KIND)
        check_tables(arrays, {}, {}, where=where)
        fit = published_fit(law, PublishedFit(**record["published"]))
        return replace(fit, level=record["level"], remarks=remarks)
    check_record(record, _FITTED, where=where, at=FIT_KIND)
    result = _build_solutions(law, record, arrays, where)
    if record["by"] is not None:
        return Fits(by=record["by"], level=record["level"], solutions=result, remarks=remarks)
    fit = Fit(law=law, solutions=result, level=record["level"], remarks=remarks)
    return fit if record["group"] is None else one_of(fit, record["group"])


def _build_solutions(law: Law, record: Mapping[str, Any], arrays: Mapping[str, Any], where: str) -> Solutions:
    from forecast.fit.objectives import find_objective
    from forecast.fit.problem.problem import Setting, law_label, solver_coordinates
    from forecast.fit.solutions import Solutions

    objective = find_objective(record["objective"])
    objective.resolve_options(record["options"], where)
    name = law_label(law)
    setting = Setting(
        law=law, objective=objective, options=record["options"], coordinates=solver_coordinates(law, name), name=name
    )
    # what the objective takes from the data, where it is not stated
    wanted = objective.tuning
    own = [wanted] if wanted and record["options"].get(wanted) is None else []
    free, many = setting.coordinates.free, record["by"] is not None
    sizes = {"k": len(free), "2": 2, "4": len(BOOTSTRAP_COUNTS)} | ({} if many else {"B": 1})
    tables = {
        **_data_tables(setting, arrays, record, many=many),
        "q": ArraySchema("f", "kB"),
        "settled": ArraySchema("b", "B"),
        "converged": ArraySchema("b", "B"),
        "starts": ArraySchema("iu", "2B", "counts: those that agree, of all", lambda v: (v[0] >= 0) & (v[0] <= v[1])),
        **{f"option:{o}": ArraySchema("f", "B") for o in own},
    }
    if record["bootstrap"] is not None:
        tables |= {
            "bootstrap:values": ArraySchema("f", "Bkr"),
            "bootstrap:objective": ArraySchema("f", "Br"),
            "bootstrap:converged": ArraySchema("b", "Br"),
            "bootstrap:there": ArraySchema("b", "B"),
            "bootstrap:counts": ArraySchema("iu", "4B", "counts", lambda v: v >= 0),
        }
    check_tables(arrays, tables, sizes, where=where)
    return Solutions(
        setting=setting,
        curves=_build_curves(law, record, arrays, many=many),
        q=arrays["q"],
        settled=arrays["settled"],
        converged=arrays["converged"],
        starts=arrays["starts"].astype(np.int64),
        options={o: arrays[f"option:{o}"] for o in own},
        given=record["given"],
        replicates=() if record["bootstrap"] is None else _build_replicates(free, record["bootstrap"], arrays, where),
    )


def _data_tables(
    setting: Setting, arrays: Mapping[str, Any], record: Mapping[str, Any], *, many: bool
) -> dict[str, ArraySchema]:
    """Return the tables of the data: which columns there are follows from the law, the objective and the file."""
    law, objective, labels = setting.law, setting.objective, len(record["group_labels"])
    tables = {
        "y": ArraySchema("f", "Bn", "finite numbers", np.isfinite),
        "weights": ArraySchema("f", "Bn", "finite numbers, no weight below 0", lambda v: np.isfinite(v) & (v >= 0)),
    }
    for name in law.variables:
        flat = np.ndim(arrays.get(f"variable:{name}", 0.0)) == 1
        codes = name in law.levels
        tables[f"variable:{name}"] = (
            _group_codes("f", len(law.levels[name])) if codes else ArraySchema("f", "n" if flat else "Bn")
        )
    tables |= {f"column:{name}": ArraySchema("f", "Bn", "finite numbers", np.isfinite) for name in objective.columns}
    if many:
        tables |= {
            "labels": ArraySchema("biufUM", "B", "each once", lambda v: np.unique(v).size == v.size),
            "reasons": ArraySchema("U", "B"),
            "points": ArraySchema("b", "Bn"),
        }
        return tables
    for name in (n.partition(":")[2] for n in arrays if n.startswith("sigma_x:")):
        if name in law.variables and name not in law.levels and objective.takes_sigma_x:
            tables[f"sigma_x:{name}"] = ArraySchema("f", "n", "numbers from 0", lambda v: np.isfinite(v) & (v >= 0))
    if "groups" in arrays and not law.levels:
        tables["groups"] = _group_codes("iu", labels)
    return tables


def _group_codes(kinds: str, labels: int) -> ArraySchema:
    """Return the table of the groups of rows: their places among the labels, not all of them one."""
    return ArraySchema(
        kinds, "n", f"places among {labels} labels", lambda v: np.isin(v, np.arange(labels)) & bool(np.ptp(v))
    )


def _build_curves(law: Law, record: Mapping[str, Any], arrays: Mapping[str, Any], *, many: bool) -> Observations:
    from forecast.fit.data.observations import Observations

    def columns(kind: str) -> dict[str, Array]:
        return {n.partition(":")[2]: v for n, v in arrays.items() if n.startswith(f"{kind}:")}

    known = columns("variable")
    more: dict[str, Any] = {}
    if many:
        more = {"labels": arrays["labels"], "reasons": tuple(arrays["reasons"].tolist()), "given": arrays["points"]}
    return Observations(
        variables={n: known[n] for n in law.variables}, y=arrays["y"], weights=arrays["weights"],
        absolute_sigma=record["scale_known"], columns=columns("column"), sigma_x=columns("sigma_x"),
        groups=arrays.get("groups"), group_labels=tuple(record["group_labels"]), by=record["grouped_by"],
        read=record.get("read", ""), **more,
    )  # fmt: skip


def _build_replicates(
    names: tuple[str, ...], drawn: Mapping[str, Any], arrays: Mapping[str, Any], where: str
) -> tuple[Replicates | None, ...]:
    from forecast.fit.inference.bootstrap import SCHEMES, Replicates

    check_record(drawn["resample"], one_of_words(*SCHEMES), where=where, at="bootstrap.resample")
    counts = arrays["bootstrap:counts"]
    return tuple(
        Replicates(
            names=names,
            values=arrays["bootstrap:values"][b],
            objective=arrays["bootstrap:objective"][b],
            converged=arrays["bootstrap:converged"][b],
            **drawn,
            **dict(zip(BOOTSTRAP_COUNTS, counts[:, b].tolist(), strict=True)),
        )
        if there
        else None
        for b, there in enumerate(arrays["bootstrap:there"])
    )


MAX_LAW_NAME = 500
_NAME_SCHEMA = OptionalSchema(ValueSchema("a name", lambda v: isinstance(v, str) and len(v) <= MAX_LAW_NAME))
_END = ValueSchema(
    "a number, or -inf or inf as text",
    lambda v: v in ("inf", "-inf") if isinstance(v, str) else type(v) in (int, float) and math.isfinite(v),
)
_LAW_KEYS: dict[str, Form] = {
    "variables": MappingSchema(TEXT),
    "output": TEXT,
    "unit": TEXT,
    "bounds": MappingSchema(ListSchema(_END, 2, 2)),
    "linear": OptionalSchema(ListSchema(TEXT)),
    "requires": MappingSchema(TEXT),
    "name": _NAME_SCHEMA,
    "objective": TEXT,
    "title": TEXT,
    "reference": TEXT,
}
#: What the text of a law may hold: a formula, or an equation with the ends between which it is solved.
_EXPLICIT = ObjectSchema({**_LAW_KEYS, "expression": TEXT})
_IMPLICIT = ObjectSchema({**_LAW_KEYS, "expression": TEXT, "equals": TEXT, "between": ListSchema(TEXT, 2, 2)})
_CODE = ObjectSchema(
    {
        "name": _NAME_SCHEMA,
        "arguments": ValueSchema("null, of a law that is code", lambda v: v is None),
        "parameters": ListSchema(TEXT),
    }
)
_GROUPED = ObjectSchema({"by": TEXT, "labels": ListSchema(TEXT, 2), "slots": MappingSchema(ListSchema(TEXT, 2))})


def law_record(law: Law) -> dict[str, Any]:
    """Return what makes a law again, as JSON: of code the name alone."""
    form = law._form
    if isinstance(form, Grouped):
        slots = {p: [f.text for f in each] for p, each in form.slots.items()}
        own = {"by": form.by, "labels": list(form.labels), "slots": slots}
        return {"name": law.name, "grouped": own, "law": law_record(form.law)}
    arguments = _law_arguments(law)
    return {"name": law.name, "arguments": arguments, "parameters": list(law.parameters)}


def _law_arguments(law: Law) -> dict[str, Any] | None:
    """Return the text of a law as JSON; None of a law that is code."""
    try:
        found = {k: v for k, v in law.record().items() if k != "published"}
    except UsageError:
        return None
    ends = {n: [e if math.isfinite(e) else str(e) for e in pair] for n, pair in found["bounds"].items()}
    lists: dict[str, Any] = {
        k: None if found[k] is None else list(found[k]) for k in ("linear", "between") if k in found
    }
    return {**found, "bounds": ends, **lists}


def law_of(record: Any, where: str) -> tuple[Law, str]:
    """Return the law of a saved fit, and a warning where the catalogue has another one of its name.

    Raises
    ------
    ResultError
        For what is no law, and for code that no plugin here brings.
    """
    at = f"{where}: law"
    if isinstance(record, dict) and "grouped" in record:
        return _build_grouped(record, at)
    plain = isinstance(record, dict) and isinstance(record.get("arguments"), dict)
    text = _IMPLICIT if plain and "equals" in record["arguments"] else _EXPLICIT
    check_record(record, ObjectSchema({**_CODE.fields, "arguments": text}) if plain else _CODE, where=at)
    name, names = record["name"], record["parameters"]
    law, note = _build_ungrouped(name, record["arguments"], at)
    if law is None or (record["arguments"] is None and list(law.parameters) != names):
        shown = printable(name or "without a name", 80)
        raise ResultError(f"{where}: its law is code, {shown}, and no plugin here brings the same one")
    if list(law.parameters) != names:
        raise ResultError(
            f"{at}: parameters: expected {', '.join(law.parameters)}, as in '{printable(law.text, 80)}', "
            f"got {printable(', '.join(names), 80)}"
        )
    return law, note


def _build_ungrouped(name: str | None, arguments: dict[str, Any] | None, at: str) -> tuple[Law | None, str]:
    """Return a law without groups: the registered one where it is the same; None where there is none."""
    try:
        registered = law(name) if name else None
    except ForecastError:
        registered = None
    if arguments is None:
        return registered, ""
    if arguments["name"] != name:
        raise ResultError(f"{at}: name: '{printable(name, 60)}' is '{printable(arguments['name'], 60)}' below it")
    own: dict[str, Any] = {
        **arguments,
        "bounds": {n: (float(a), float(b)) for n, (a, b) in arguments["bounds"].items()},
    }
    own |= {k: tuple(own[k]) for k in ("linear", "between") if own.get(k) is not None}
    result = Law(**own)
    if registered is None:
        note = f"{printable(name, 80)}: no plugin here brings this law; the saved one is used" if name else ""
        return result, note if name and "/" in name else ""
    if _is_same_law(registered, result):
        return registered, ""
    return result, f"{printable(name, 80)}: the catalogue's law is another one now; the saved one is used"


def _is_same_law(registered: Law, other_law: Law) -> bool:
    """Tell whether two laws are one but for what is said of them."""
    one, other = (
        {k: v for k, v in (_law_arguments(law) or {"code": law}).items() if k not in ("title", "reference")}
        for law in (registered, other_law)
    )
    return one == other


def _build_grouped(record: Mapping[str, Any], at: str) -> tuple[Law, str]:
    """Return a law in which groups have values of their own."""
    inner = ValueSchema("a law", lambda v: isinstance(v, dict))
    check_record(record, ObjectSchema({"name": _NAME_SCHEMA, "grouped": _GROUPED, "law": inner}), where=at)
    plain, note = law_of(record["law"], at)
    by, labels, slots = (record["grouped"][key] for key in ("by", "labels", "slots"))
    if len(set(labels)) < len(labels):
        raise ResultError(f"{at}: groups: labels: expected each once")
    if not slots or not all(p in plain.parameters and len(each) == len(labels) for p, each in slots.items()):
        raise ResultError(f"{at}: groups: slots: expected one formula a group, of parameters of the law")
    check_name(by, where=f"{at}: groups")
    read = {p: tuple(parse(text, where=at) for text in each) for p, each in slots.items()}
    result = law_of_form(plain, by, tuple(labels), read)
    if record["name"] not in (None, result.name):
        raise ResultError(f"{at}: name: expected '{printable(result.name, 80)}', got '{printable(record['name'])}'")
    return result, note
