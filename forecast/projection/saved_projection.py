"""What a saved projection holds: one table of the fields of its record, and one of its arrays, by which files are read.

A checksum in the file is against accidents; whoever changes a file can compute a new one, and no check makes it honest.
The tables say what reading rests on: which fields and arrays there are, of which kind, along which dimensions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from forecast.base.json_text import strict_json
from forecast.base.lazy import xr
from forecast.base.saved_records import (
    ANYTHING,
    COUNT,
    FLAG,
    NUMBER,
    SHARE,
    TEXT,
    WHOLE,
    ListSchema,
    MappingSchema,
    ObjectSchema,
    OptionalSchema,
    RefinedSchema,
    ValueSchema,
    check_record,
    one_of,
)
from forecast.errors import ForecastWarning, ResultError, UsageError, printable
from forecast.projection.horizon import step_of
from forecast.projection.result.shifts import SHIFT_LEVELS
from forecast.scenarios.quantities.changes import FACTOR_PATTERN


def is_projection(tree: xr.DataTree) -> bool:
    """Tell whether a loaded result is, or says it is, a projection."""
    return "projection" in tree.children or "scenario_hash" in tree.attrs or "questions" in tree.attrs


def _unless_refused(test: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Return a test that what reads the value may end with an error: it is then none."""

    def good(value: Any) -> bool:
        try:
            return test(value)
        except (AttributeError, LookupError, NotImplementedError, TypeError, UsageError, ValueError):
            return False

    return good


_DATE_SCHEMA = ValueSchema(
    "a date", _unless_refused(lambda v: isinstance(v, str) and not np.isnat(np.datetime64(v, "s")))
)
_DATES_SCHEMA, _TEXTS_SCHEMA = ListSchema(_DATE_SCHEMA, 1), ListSchema(TEXT)
_YEAR_SCHEMA = ValueSchema("a year", NUMBER.good)
_POSITIVE_COUNT_SCHEMA = ValueSchema("a count", lambda v: COUNT.good(v) and 0 < v <= 1_000_000_000)
_QUESTION_SCHEMA = ObjectSchema({"when": TEXT, "title": TEXT}, {"dates": ListSchema(_DATE_SCHEMA), "resolves": TEXT})
_RANKING = ObjectSchema(
    {"rank": TEXT, "over": TEXT, "among": _TEXTS_SCHEMA, "best": one_of("lowest", "highest"), "title": TEXT},
    {"ordered": ANYTHING},
)
_GROUP = RefinedSchema(
    ObjectSchema(
        {"of": _TEXTS_SCHEMA, "matrix": ListSchema(ListSchema(NUMBER))}, {"fitted": MappingSchema(_TEXTS_SCHEMA)}
    ),
    "a square matrix",
    lambda v: [len(row) for row in v["matrix"]] == [len(v["of"])] * len(v["of"]),
)
_BOUNDS = RefinedSchema(
    ObjectSchema(
        {},
        {
            **dict.fromkeys(("limit", "how", "at_least", "keeps", "scale"), TEXT),
            **dict.fromkeys(("sharpness", "at_most", "floor", "ceiling"), NUMBER),
        },
    ),
    "a limit with how it binds, or another bound",
    lambda v: v and ("limit" in v) == ("how" in v),
)  # fmt: skip
_CHANGE = RefinedSchema(
    ObjectSchema({"of": TEXT, "since": NUMBER}, {"growth": NUMBER, "until": NUMBER, "value": TEXT}),
    "a growth or a value",
    lambda v: ("growth" in v) != ("value" in v),
)
_LEVER = RefinedSchema(
    ObjectSchema(
        {"name": TEXT, "label": TEXT, "ends": ListSchema(TEXT, 2)}, {"since": NUMBER, "choice": FLAG, "about": TEXT}
    ),
    "factors of growth such as '0.5*', where it is changed from a date on",
    lambda v: "since" not in v or all(FACTOR_PATTERN.fullmatch(end) for end in v["ends"]),
)
_FIGURE = RefinedSchema(
    ObjectSchema({"dates": _DATES_SCHEMA, "title": TEXT}, {"value": TEXT, "growth": TEXT, "resolves": TEXT}),
    "a value or a growth",
    lambda v: ("growth" in v) != ("value" in v),
)
_CHOSEN = MappingSchema(TEXT)
_FAILING = ObjectSchema(
    {"name": TEXT, "choices": _CHOSEN, "worlds": _POSITIVE_COUNT_SCHEMA, "first": _DATE_SCHEMA, "reason": TEXT}
)
_MODEL_SCHEMA = ObjectSchema(
    {
        "summary": TEXT,
        "assumptions": _TEXTS_SCHEMA,
        "sources": _TEXTS_SCHEMA,
        "facts": MappingSchema(OptionalSchema(NUMBER)),
    },
    {"read": TEXT},
)
_SHIFT = dict.fromkeys(SHIFT_LEVELS, OptionalSchema(NUMBER))
_BASELINE = ObjectSchema(
    {},
    {
        "median": OptionalSchema(NUMBER),
        **dict.fromkeys(("never", "already", "share"), SHARE),
        "best": TEXT,
        "among": WHOLE,
        "shift": ObjectSchema({"kind": one_of("years", "ratio", "difference"), **_SHIFT, "new": SHARE}),
        "by": ObjectSchema({"regime": TEXT, "values": MappingSchema(ObjectSchema(_SHIFT))}),
    },
)
#: What the attributes of the root hold.
_ATTRIBUTES = ObjectSchema(
    {
        "scenario": TEXT,
        "title": TEXT,
        "questions": MappingSchema(_QUESTION_SCHEMA),
        "choices": MappingSchema(_TEXTS_SCHEMA),
        "seed": COUNT,
        "draws": _POSITIVE_COUNT_SCHEMA,
        "start": _YEAR_SCHEMA,
        "until": _YEAR_SCHEMA,
        "step": ValueSchema(
            "'year', 'month' or a share of a year", _unless_refused(lambda v: isinstance(v, str) and step_of(v) == v)
        ),
        "as_of": OptionalSchema(_YEAR_SCHEMA),
        "set": MappingSchema(ANYTHING),
        "versions": MappingSchema(TEXT),
        "plugins": ListSchema(MappingSchema(TEXT)),
        "data": MappingSchema(TEXT),
        "models": MappingSchema(_MODEL_SCHEMA),
        "failures": _TEXTS_SCHEMA,
        "scenario_hash": TEXT,
    },
    {
        "rankings": MappingSchema(_RANKING),
        "update": MappingSchema(TEXT),
        "effective_draws": NUMBER,
        "correlations": ListSchema(_GROUP),
        "limits": MappingSchema(_BOUNDS),
        "changes": ListSchema(_CHANGE),
        "values": MappingSchema(_FIGURE),
        "first": MappingSchema(ObjectSchema({"first": ListSchema(TEXT, 2), "title": TEXT})),
        "opens": TEXT,
        "published_on": _DATE_SCHEMA,
        "show": _TEXTS_SCHEMA,
        "labels": MappingSchema(TEXT),
        "levers": ListSchema(_LEVER),
        "says": MappingSchema(MappingSchema(TEXT)),
        "replaced": MappingSchema(MappingSchema(ANYTHING)),
        "definitions": _TEXTS_SCHEMA,
        "rivals": MappingSchema(ListSchema(NUMBER)),
        "streams": MappingSchema(TEXT),
        "kept": _POSITIVE_COUNT_SCHEMA,
        "newest_data": MappingSchema(_DATE_SCHEMA),
        "read": _TEXTS_SCHEMA,
        "warnings": ListSchema(
            ValueSchema("a warning", _unless_refused(lambda v: bool(str(ForecastWarning.from_record(dict(v))))))
        ),
        "sweep": MappingSchema(_TEXTS_SCHEMA),
        "swap": MappingSchema(TEXT),
        "with_values": MappingSchema(ANYTHING),
        "given": _TEXTS_SCHEMA,
        "baseline": MappingSchema(_BASELINE),
        "scenario_text": TEXT,
        "failing": ListSchema(_FAILING),
        "absent": ListSchema(ObjectSchema({"choices": _CHOSEN, "said": TEXT})),
    },
)


@dataclass(frozen=True)
class _Array:
    """An array of a group, for each name of a set of them, which stands for ``*``: choices may follow its dimensions.

    Its kinds are those of `numpy.dtype.kind`, its text the attributes that it has. One that is not needed may be there.
    """

    names: str
    group: str
    name: str
    dims: str
    kinds: str
    text: str = ""
    needed: bool = True


_LIMITS = ("limit", "at_least")
_ANSWERS = (("", "quantile", "M"), ("_error", "quantile", "f"), ("_already", "", "f"), ("_never", "", "f"))
#: Every array of a projection. `_names_by_set` says which sets of names there are.
_ARRAYS = (
    _Array("", "projection", "time", "time", "M"),
    _Array("quantities", "projection", "*", "time draw", "f", "units kind"),
    *(_Array("questions", "questions", f"*{part}", dims, kinds) for part, dims, kinds in _ANSWERS),
    _Array("questions", "questions", "*_date", "draw", "M"),
    _Array("questions", "questions", "*_failing", "draw", "iu", needed=False),
    _Array("dated", "questions", "*_by", "*_by_date", "f"),
    *(_Array("pooled", "pooled", f"*{part}", dims, kinds) for part, dims, kinds in _ANSWERS),
    _Array("dated pooled", "pooled", "*_by", "*_by_date", "f"),
    _Array("rankings", "rankings", "*", "quantile", "f", "units"),
    _Array("rankings", "rankings", "*_first", "", "f"),
    _Array("rankings", "rankings", "*_among", "", "f"),
    _Array("contests", "rankings", "*_value", "draw", "f"),
    _Array("contests", "rankings", "*_takes", "draw", "i"),
    _Array("values", "values/*", "value", "draw date", "f", "units"),
    _Array("counted values", "values/*", "quantiles", "quantile date", "f"),
    *(_Array(part, "limits/*", part, "time", "f") for part in _LIMITS),
    *(_Array(part, "limits/*", f"{part}_date", "draw", "M") for part in _LIMITS),
    *(_Array(f"counted {part}", "limits/*", f"{part}_first", "quantile", "M") for part in _LIMITS),
    *(_Array(f"counted {part}", "limits/*", f"{part}_ever", "", "f") for part in _LIMITS),
    _Array("counted quantities", "levels", "*", "quantile time", "f", "units kind"),
    _Array("counted regimes", "levels", "*", "*_label", "f", "units kind"),
    _Array("counted first", "first", "*", "*_event", "f"),
    _Array("update", "update", "*", "draw", "f"),
    _Array("observed", "observed/*", "value", "point", "f", "units"),
    _Array("observed", "observed/*", "date", "point", "M"),
    _Array("observed", "observed/*", "row", "point", "U", needed=False),
    _Array("past", "past/*", "level", "quantile point", "f", "units"),
    _Array("past", "past/*", "date", "point", "M"),
)
#: The kinds of the dimensions that have coordinates of their own, by the last word of their names.
_COORDINATES = {"time": "M", "quantile": "f", "date": "M", "event": "U"}
_KINDS = {"f": "numbers", "i": "whole numbers", "iu": "whole numbers", "M": "dates", "U": "text"}


def check_projection(tree: xr.DataTree, where: str) -> None:
    """Refuse a projection that lacks something, or holds something else.

    Raises
    ------
    ResultError
        Naming the file and the field.
    """
    about = {
        str(key): strict_json(text, where=f"{where}: {key}", error=ResultError) for key, text in tree.attrs.items()
    }
    check_record(about, _ATTRIBUTES, where=where, at="attributes")
    complete = about.setdefault("kept", about["draws"]) >= about["draws"]
    _check_names(about, where)
    groups = {node.path.strip("/"): node.to_dataset(inherit=False) for node in tree.subtree}
    outer = {node.path.strip("/") for node in tree.subtree if node.children}
    names, lengths = _names_by_set(about, groups), _dimension_lengths(about, groups)
    arrays: dict[str, dict[str, tuple[str, _Array]]] = {"questions": {}, **({} if complete else {"levels": {}})}
    for array in _ARRAYS:
        for name in names[array.names]:
            arrays.setdefault(array.group.replace("*", name), {})[array.name.replace("*", name)] = name, array
    for path in (path for path in groups if path.startswith("posterior/") and groups[path].variables):
        arrays[path] = {str(n): (str(n), _Array("", path, "*", "draw", "f")) for n in groups[path].data_vars}
    for path in sorted({*groups} ^ {*arrays}):
        if path in arrays or groups[path].variables or path not in outer:
            what = "is missing" if path in arrays else "none of a projection's groups"
            raise ResultError(f"{where}: /{printable(path, 60)}: {what}")
    for path, wanted in arrays.items():
        _check_group(groups[path], wanted, about["choices"], lengths, f"{where}: /{printable(path, 60)}")
    for name, ranking in about.get("rankings", {}).items():
        if ranking["over"] not in groups["rankings"][name].dims:
            raise ResultError(f"{where}: /rankings/{printable(name, 60)}: expected the dimension that is ranked")


def _check_names(about: Mapping[str, Any], where: str) -> None:
    """Check that what is named is there, and the weights of choices: reading looks names up and draws by weights."""
    weights, ranked = about.get("rivals", {}), [each["over"] for each in about.get("rankings", {}).values()]
    of_choices = [*about.get("definitions", ()), *about.get("sweep", ()), *weights, *ranked]
    events = [event for each in about.get("first", {}).values() for event in each["first"]]
    for key, names in (("choices", of_choices), ("questions", events)):
        for name in names:
            if name not in about[key]:
                raise ResultError(f"{where}: attribute '{key}': lacks '{printable(name, 60)}'")
    for name, stated in weights.items():
        if len(stated) != len(about["choices"][name]) or not min(stated) >= 0 or not abs(sum(stated) - 1) <= 1e-9:
            raise ResultError(
                f"{where}: attribute 'rivals': {printable(name, 60)}: expected one for each value, in sum 1"
            )


def _names_by_set(about: Mapping[str, Any], groups: Mapping[str, xr.Dataset]) -> dict[str, list[str]]:
    """Return the names of each set: what is asked for, and of what need not be there what the file has."""
    data = groups.get("projection", xr.Dataset())
    regimes = [str(n) for n, v in data.data_vars.items() if v.attrs.get("kind") == "regime"]
    limits = {n: bounds for n, bounds in about.get("limits", {}).items() if n in data}
    has = {kind: [n for n in map(str, data.data_vars) if f"{kind}/{n}" in groups] for kind in ("observed", "past")}
    pooled = [n for n in about["questions"] if n in groups.get("pooled", {})]
    dated = [n for n, question in about["questions"].items() if "dates" in question]
    contests = [n for n in about.get("rankings", {}) if f"{n}_value" in groups.get("rankings", {})]
    names = {
        "": [""],
        "quantities": [str(n) for n in data.data_vars],
        **{key: list(about.get(key, {})) for key in ("questions", "rankings", "values", "update")},
        **{part: [n for n, bounds in limits.items() if part in bounds] for part in _LIMITS},
        **{"dated": dated, "pooled": pooled, "dated pooled": [n for n in pooled if n in dated], "contests": contests},
        **has,
    }
    counted = {"quantities": [n for n in names["quantities"] if n not in regimes], "regimes": regimes}
    counted |= {"first": list(about.get("first", {})), **{key: names[key] for key in ("values", *_LIMITS)}}
    complete = about["kept"] >= about["draws"]
    return names | {f"counted {key}": [] if complete else each for key, each in counted.items()}


def _dimension_lengths(about: Mapping[str, Any], groups: Mapping[str, xr.Dataset]) -> dict[str, int]:
    """Return how long dimensions are, by their names, or by those and their group."""
    data = groups.get("projection", xr.Dataset())
    meanings = {f"{n}_label": str(v.attrs.get("flag_meanings", "")).split() for n, v in data.data_vars.items()}
    listed = {
        **about["choices"],
        **{f"{n}_by_date": question.get("dates", []) for n, question in about["questions"].items()},
        **{f"{n}_event": [*question["first"], "", ""] for n, question in about.get("first", {}).items()},
        **{f"values/{n}/date": figure["dates"] for n, figure in about.get("values", {}).items()},
        **meanings,
    }
    sizes = {name: len(each) for name, each in listed.items()}
    return sizes | {"draw": about["kept"], "quantile": 5, "time": data.sizes.get("time", 0)}


def _check_group(
    data: xr.Dataset,
    wanted: Mapping[str, tuple[str, _Array]],
    choices: Mapping[str, list[str]],
    lengths: Mapping[str, int],
    at: str,
) -> None:
    """Refuse a group whose arrays are not those that are wanted, or that extend along something else."""
    used = {str(dim) for dim in data.dims}
    for name in sorted({name for name, (_, array) in wanted.items() if array.needed} - {*map(str, data.variables)}):
        raise ResultError(f"{at}/{printable(name, 60)}: is missing")
    along: dict[tuple[str, bool], tuple[str, ...]] = {}
    for key, values in data.variables.items():
        name = str(key)
        each = f"{at}/{printable(name, 60)}"
        if name in wanted:
            of, array = wanted[name]
            lead = tuple(array.dims.replace("*", of).split())
            dims, rest = tuple(map(str, values.dims)), tuple(map(str, values.dims[len(lead) :]))
            # what answers one question extends along the same choices; two bounds of one quantity need not
            same = along.setdefault((of, name.startswith("at_least")), rest)
            if dims[: len(lead)] != lead or not {*rest} <= {*choices} or rest != same:
                expected = " × ".join((*lead, *same))
                raise ResultError(f"{each}: expected the dimensions {expected}, got {printable(' × '.join(dims), 80)}")
            if values.dtype.kind not in array.kinds:
                raise ResultError(f"{each}: expected {_KINDS[array.kinds]}, got {values.dtype}")
            for text in array.text.split():
                if not isinstance(values.attrs.get(text), str):
                    raise ResultError(f"{each}: the attribute '{text}' is missing")
        elif name in choices:
            if values.dims != ("point",) and values.values.tolist() != choices[name]:
                raise ResultError(f"{each}: expected the names of the choice, as the attribute 'choices'")
        elif name not in used or values.dtype.kind != _COORDINATES.get(name.rpartition("_")[2]):
            raise ResultError(f"{each}: none of a projection's arrays")
    for dim in sorted(used):
        each, length = f"{at}/{printable(dim, 60)}", data.sizes[dim]
        if (dim in choices or dim.rpartition("_")[2] in _COORDINATES) and dim not in data.variables:
            raise ResultError(f"{each}: is missing")
        if dim in data.variables and data[dim].dtype.kind == "M" and np.isnat(data[dim].values).any():
            raise ResultError(f"{each}: a date is missing")
        if length != (stated := lengths.get(f"{at.rpartition(': /')[2]}/{dim}", lengths.get(dim, length))):
            raise ResultError(f"{each}: expected {stated:,}, got {length:,}")
