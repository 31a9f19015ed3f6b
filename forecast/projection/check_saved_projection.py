"""What a saved projection must hold, so that whoever reads one meets no surprise: attributes, groups, dimensions.

The hash in a file is a checksum against accidents and no signature: nothing that could be told from the rest is
computed again, for whoever changes a file changes both. What is checked is what reading rests on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from forecast.base.dates import decimal_year
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
    Also,
    Each,
    Kind,
    Maybe,
    Named,
    Record,
    check,
    one_of,
)
from forecast.errors import ForecastWarning, ResultError, UsageError, printable
from forecast.projection.horizon import step_of
from forecast.projection.supporting_data import LONGEST
from forecast.scenarios.quantities.changes import FACTOR

__all__ = ["check_projection", "is_projection"]


def is_projection(tree: xr.DataTree) -> bool:
    """Tell whether a loaded result is, or says it is, a projection."""
    return "projection" in tree.children or "scenario_hash" in tree.attrs or "questions" in tree.attrs


def _date(value: object) -> bool:

    if not isinstance(value, str):
        return False
    try:
        return not np.isnat(np.datetime64(value, "s"))
    except ValueError:
        return False


def _step(value: Any) -> bool:
    try:
        return isinstance(value, str) and step_of(value) == value
    except UsageError:
        return False


def _square(value: Any) -> bool:
    size = len(value["of"])
    return [len(row) for row in value["matrix"]] == [size] * size


_DATE = Kind("a date", _date)
_DATES, _TEXTS = Each(_DATE, 1), Each(TEXT)
_YEAR = Kind("a year", NUMBER.good)
_POSITIVE = Kind("a count", lambda v: COUNT.good(v) and 0 < v <= 1_000_000_000)
_QUESTION = Record({"when": TEXT, "title": TEXT}, {"dates": Each(_DATE), "resolves": TEXT})
_RANKING = Record(
    {"rank": TEXT, "over": TEXT, "among": _TEXTS, "best": one_of("lowest", "highest"), "title": TEXT},
    {"ordered": ANYTHING},
)
_GROUP = Also(
    Record({"of": _TEXTS, "matrix": Each(Each(NUMBER))}, {"fitted": Named(_TEXTS)}), "a square matrix", _square
)
_BOUNDS = Also(
    Record(
        {}, {**dict.fromkeys(("limit", "how", "at_least", "keeps"), TEXT), "sharpness": NUMBER, "at_most": NUMBER},
    ),
    "a limit with how it binds, or another bound",
    lambda v: v and ("limit" in v) == ("how" in v),
)  # fmt: skip
_CHANGE = Also(
    Record({"of": TEXT, "since": NUMBER}, {"growth": NUMBER, "until": NUMBER, "value": TEXT}),
    "a growth or a value",
    lambda v: ("growth" in v) != ("value" in v),
)
_LEVER = Also(
    Record({"name": TEXT, "label": TEXT, "ends": Each(TEXT, 2)}, {"since": NUMBER, "choice": FLAG, "about": TEXT}),
    "factors of growth such as '0.5*', where it is changed from a date on",
    lambda v: "since" not in v or all(FACTOR.fullmatch(end) for end in v["ends"]),
)
_FIGURE = Also(
    Record({"dates": _DATES, "title": TEXT}, {"value": TEXT, "growth": TEXT, "resolves": TEXT}),
    "a value or a growth",
    lambda v: ("growth" in v) != ("value" in v),
)
_FAILING = Record({"name": TEXT, "choices": Named(TEXT), "worlds": _POSITIVE, "first": _DATE, "reason": TEXT})
_MODEL = Record({"summary": TEXT, "assumptions": _TEXTS, "sources": _TEXTS, "facts": Named(Maybe(NUMBER))})
_BASELINE = Record(
    {}, {"median": Maybe(NUMBER), "never": SHARE, "already": SHARE, "best": TEXT, "share": SHARE, "among": WHOLE}
)


def _is_warning(value: object) -> bool:
    try:
        return bool(str(ForecastWarning.from_record(dict(value))))  # type: ignore[call-overload]
    except (AttributeError, LookupError, NotImplementedError, TypeError, ValueError):
        return False


#: What the attributes of the root hold.
_ATTRIBUTES = Record(
    {
        "scenario": TEXT,
        "title": TEXT,
        "questions": Named(_QUESTION),
        "choices": Named(_TEXTS),
        "seed": COUNT,
        "draws": _POSITIVE,
        "start": _YEAR,
        "until": _YEAR,
        "step": Kind("'year', 'month' or a share of a year", _step),
        "as_of": Maybe(_YEAR),
        "set": Named(ANYTHING),
        "versions": Named(TEXT),
        "plugins": Each(Named(TEXT)),
        "data": Named(TEXT),
        "models": Named(_MODEL),
        "failures": _TEXTS,
        "scenario_hash": TEXT,
    },
    {
        "rankings": Named(_RANKING),
        "update": Named(TEXT),
        "effective_draws": NUMBER,
        "correlations": Each(_GROUP),
        "limits": Named(_BOUNDS),
        "changes": Each(_CHANGE),
        "values": Named(_FIGURE),
        "first": Named(Record({"first": Each(TEXT, 2), "title": TEXT})),
        "opens": TEXT,
        "published_on": _DATE,
        "show": _TEXTS,
        "labels": Named(TEXT),
        "levers": Each(_LEVER),
        "says": Named(Named(TEXT)),
        "replaced": Named(Named(ANYTHING)),
        "definitions": _TEXTS,
        "rivals": Named(Each(NUMBER)),
        "streams": Named(TEXT),
        "kept": _POSITIVE,
        "newest_data": Named(_DATE),
        "warnings": Each(Kind("a warning", _is_warning)),
        "sweep": Named(_TEXTS),
        "swap": Named(TEXT),
        "given": _TEXTS,
        "baseline": Named(_BASELINE),
        "scenario_text": TEXT,
        "failing": Each(_FAILING),
    },
)


def _name(value: object) -> bool:
    return isinstance(value, str) and len(value) <= LONGEST and value.isprintable()


#: Groups that a result has if the scenario asks for them or models have observations.
_OPTIONAL = ("pooled", "levels", "first", "rankings", "update", "values", "limits", "observed", "past", "posterior")


def check_projection(tree: xr.DataTree, where: str) -> None:
    """Refuse a projection that lacks something, or whose parts do not agree.

    Raises
    ------
    ResultError
        Naming the file and the field.
    """
    about = {
        str(key): strict_json(text, where=f"{where}: {key}", error=ResultError) for key, text in tree.attrs.items()
    }
    check(about, _ATTRIBUTES, where=where, at="attributes")
    if about.setdefault("kept", about["draws"]) > about["draws"]:
        _refuse(where, "attribute 'kept'", "expected at most as many as there are draws")
    _check_choices(about, where)
    for name, labels in about.get("sweep", {}).items():
        if about["choices"].get(name) != labels or name in about.get("rivals", {}):
            _refuse(where, "attribute 'sweep'", f"expected '{printable(name, 60)}' among the choices, and not pooled")
    nodes = {str(name): child for name, child in tree.children.items()}
    for name in ("projection", "questions"):
        if name not in nodes:
            _refuse(where, f"/{name}", "is missing")
    for name in sorted(set(nodes) - {"projection", "questions", *_OPTIONAL}):
        _refuse(where, f"/{printable(name, 60)}", "none of a projection's groups")
    levels = nodes["projection"].to_dataset()
    _check_levels(levels, about, where)
    _check_failing(levels, about, where)
    if not ("update" in nodes) == ("update" in about) == ("effective_draws" in about):
        _refuse(where, "/update", "the group and its attributes go together")
    if "update" in nodes:
        _check_update(nodes["update"].to_dataset(), about, where)
    questions = nodes["questions"].to_dataset()
    _check_questions(questions, levels["time"].values, about, where)
    _check_pooled(nodes, questions, about, where)
    _check_counted(nodes, levels, about, where)
    if ("rankings" in nodes) != ("rankings" in about):
        _refuse(where, "/rankings", "the group and the attribute go together")
    if "rankings" in nodes:
        _check_rankings(nodes["rankings"].to_dataset(), about, where)
    _check_values(nodes, about, where)
    limited = (
        {str(name): child.to_dataset() for name, child in nodes["limits"].children.items()} if "limits" in nodes else {}
    )
    bounding = {name for name, stated in about.get("limits", {}).items() if {"limit", "at_least"} & set(stated)}
    if set(limited) != bounding or ("limits" in nodes and nodes["limits"].variables):
        _refuse(where, "/limits", "expected the quantities of the attribute, and no others")
    for name, data in limited.items():
        _check_limits(data, name, levels, about, f"{where}: /limits/{printable(name, 60)}")
    for node in nodes["observed"].subtree if "observed" in nodes else ():
        if node.variables or not node.children:
            _check_observed(node.to_dataset(inherit=False), levels, f"{where}: {node.path}")
    for name, node in nodes["past"].children.items() if "past" in nodes else ():
        _check_past(node.to_dataset(), str(name), levels, f"{where}: /past/{printable(name, 60)}")
    for node in nodes["posterior"].subtree if "posterior" in nodes else ():
        data = node.to_dataset(inherit=False)
        _coordinates(data, [], about, f"{where}: {node.path}")
        for parameter, values in data.data_vars.items():
            _dims(values, ("draw",), "f", about, f"{where}: {node.path}/{printable(parameter, 60)}")


def _refuse(where: str, at: str, reason: str) -> NoReturn:
    raise ResultError(f"{where}: {at}: {reason}")


def _dims(values: Any, lead: tuple[str, ...], kinds: str, about: Mapping[str, Any], at: str) -> None:
    """Check the dimensions: those that lead, then choices; and the kind of the values."""
    dims = tuple(map(str, values.dims))
    rest = dims[len(lead) :]
    if dims[: len(lead)] != lead or not set(rest) <= set(about["choices"]) or len(set(rest)) < len(rest):
        expected = " × ".join((*lead, "choices"))
        raise ResultError(f"{at}: expected the dimensions {expected}, got {printable(' × '.join(dims) or 'none', 80)}")
    if values.dtype.kind not in kinds:
        raise ResultError(f"{at}: expected {'dates' if kinds == 'M' else 'numbers'}, got {values.dtype}")
    if "draw" in dims and values.sizes["draw"] != about["kept"]:
        raise ResultError(f"{at}: expected {about['kept']:,} draws, got {values.sizes['draw']:,}")


def _check_choices(about: Mapping[str, Any], where: str) -> None:
    """Check that definitions and weights are those of choices, and that weights sum to 1."""
    weights = about.get("rivals", {})
    for name in [*about.get("definitions", ()), *weights]:
        if name not in about["choices"]:
            _refuse(where, "attribute 'choices'", f"lacks '{printable(name, 60)}'")
    for name, stated in weights.items():
        if len(stated) != len(about["choices"][name]) or not min(stated) >= 0 or not abs(sum(stated) - 1) <= 1e-9:
            _refuse(where, f"attribute 'rivals': {printable(name, 60)}", "expected one for each value, in sum 1")


def _coordinates(data: xr.Dataset, known: Sequence[str], about: Mapping[str, Any], at: str) -> None:
    """Check the names along each choice; a dimension without them cannot be read."""
    used = {str(d) for d in data.dims} - {"time", "draw", "quantile", "point"}
    for name in sorted({*used, *(str(c) for c in data.coords)} - set(known)):
        choice = about["choices"].get(name)
        if choice is None or name not in data.coords or data[name].values.tolist() != choice:
            raise ResultError(
                f"{at}/{printable(name, 60)}: expected the names of the choice, as the attribute 'choices'"
            )
    for name in known:
        if name not in data.coords:
            raise ResultError(f"{at}/{name}: is missing")


def _check_levels(data: xr.Dataset, about: Mapping[str, Any], where: str) -> None:

    at = f"{where}: /projection"
    _coordinates(data, ["time"], about, at)
    time = data["time"].values
    if (
        time.dtype.kind != "M"
        or time.ndim != 1
        or len(time) < 2
        or np.isnat(time).any()
        or (np.diff(time) <= 0 * np.diff(time)).any()
    ):
        raise ResultError(f"{at}/time: expected dates that rise, at least two")
    ends = decimal_year(time[[0, -1]])
    if about["step"] == "month":
        ends = np.floor(ends)
    if not np.allclose(ends, [about["start"], about["until"]], rtol=0, atol=1e-6):
        raise ResultError(f"{at}/time: expected {about['start']} to {about['until']}, got {ends[0]} to {ends[1]}")
    for name, values in data.data_vars.items():
        each = f"{at}/{printable(name, 60)}"
        _dims(values, ("time", "draw"), "f", about, each)
        for key in ("units", "kind"):
            if not isinstance(values.attrs.get(key), str):
                raise ResultError(f"{each}: the attribute '{key}' is missing")
        _check_unit(values.attrs["units"], each)
        if values.attrs["kind"] == "regime":
            labels = str(values.attrs.get("flag_meanings", "")).split()
            if not labels or not np.isin(values.values, [np.nan, *range(len(labels))]).all():
                raise ResultError(f"{each}: expected the numbers of labels, and 'flag_meanings' to say which")


def _check_failing(levels: xr.Dataset, about: Mapping[str, Any], where: str) -> None:
    """Check that the worlds that fail are out as a whole, and each kind of failure is named once."""
    seen = set()
    first, last = levels["time"].values[[0, -1]]
    for row in about.get("failing", ()):
        at = f"attribute 'failing': {printable(row['name'], 60)}"
        key = (row["name"], frozenset(row["choices"].items()))
        if key in seen:
            _refuse(where, at, "expected each once")
        seen.add(key)
        # a date has no hour: the step may be later on the same day
        if not first.astype("datetime64[D]") <= np.datetime64(row["first"], "D") <= last:
            _refuse(where, at, "expected a first date between the first and the last step")
    for name, values in levels.data_vars.items():
        missing = values.isnull()
        if not (missing == missing.isel(time=0)).all():
            raise ResultError(f"{where}: /projection/{printable(name, 60)}: a world that fails is NaN at every step")


def _complete(about: Mapping[str, Any]) -> bool:
    """Tell whether every world is kept, so that what is said of all can be computed again."""
    return bool(about["kept"] == about["draws"])


def _check_unit(text: str, at: str) -> None:
    from forecast import units
    from forecast.errors import UnitError

    try:
        units.unit(text, where=at)
    except UnitError as problem:
        raise ResultError(str(problem)) from problem


def _expected(data: xr.Dataset, names: Mapping[str, Any], parts: Sequence[str], at: str) -> None:
    wanted = [f"{name}{part}" for name in names for part in parts]
    more = ("_failing", "_by") if "_date" in parts else ("_value", "_takes") if "_among" in parts else ()
    optional = {f"{name}{part}" for name in names for part in more}
    for name in sorted(({str(n) for n in data.data_vars} - optional) ^ set(wanted)):
        raise ResultError(f"{at}/{printable(name, 60)}: is missing, or not asked for")
    if wanted and (data["quantile"].dims != ("quantile",) or data["quantile"].values.tolist() != _QUANTILES):
        raise ResultError(f"{at}/quantile: expected {', '.join(map(str, _QUANTILES))}")


_QUANTILES = [0.05, 0.25, 0.5, 0.75, 0.95]


def _check_update(data: xr.Dataset, about: Mapping[str, Any], where: str) -> None:
    """Check the log likelihoods and the effective number of worlds."""
    at = f"{where}: /update"
    _coordinates(data, [], about, at)
    for name in sorted({str(n) for n in data.data_vars} ^ set(about["update"])):
        raise ResultError(f"{at}/{printable(name, 60)}: is missing, or not asked for")
    for name, values in data.data_vars.items():
        _dims(values, ("draw",), "f", about, f"{at}/{printable(name, 60)}")
        if np.isposinf(values.values).any():
            raise ResultError(f"{at}/{printable(name, 60)}: a likelihood is infinite")
    if not 0 <= about["effective_draws"] <= about["draws"] * (1 + 1e-9):
        _refuse(where, "attribute 'effective_draws'", "expected at most as many as there are draws")


def _check_questions(data: xr.Dataset, time: NDArray[Any], about: Mapping[str, Any], where: str) -> None:

    at, questions = f"{where}: /questions", about["questions"]
    _coordinates(data, ["quantile", *_by_dates(data, questions, at)] if questions else [], about, at)
    _expected(data, questions, ("", "_error", "_already", "_never", "_date"), at)
    for name in questions:
        each = f"{at}/{printable(name, 60)}"
        dates, quantiles = data[f"{name}_date"], data[name]
        already, never = data[f"{name}_already"], data[f"{name}_never"]
        _dims(dates, ("draw",), "M", about, f"{each}_date")
        _dims(quantiles, ("quantile",), "M", about, each)
        for part, values in (("_already", already), ("_never", never)):
            _dims(values, (), "f", about, f"{each}{part}")
            if not (np.isnan(values.values) | ((values.values >= 0) & (values.values <= 1))).all():
                raise ResultError(f"{each}{part}: expected shares from 0 to 1")
        if len({dates.dims[1:], quantiles.dims[1:], already.dims, never.dims}) > 1:
            raise ResultError(f"{each}: its parts extend along other choices")
        answered = ~np.isnan(never.values)
        failing = np.zeros(dates.shape, dtype=bool)
        if f"{name}_failing" in data:
            stated = data[f"{name}_failing"]
            _dims(stated, ("draw",), "iu", about, f"{each}_failing")
            if stated.dims != dates.dims or not np.isin(stated.values, (0, 1)).all():
                raise ResultError(f"{each}_failing: expected 0 or 1, one for each date")
            failing = stated.values == 1
        missing = np.isnat(dates.values)
        if not (missing | ~failing).all():
            raise ResultError(f"{each}_failing: a world that fails has no date")
        _check_answer(data, name, questions[name], about, each)
        if (answered != ~np.isnan(already.values)).any():
            raise ResultError(f"{each}_already: expected an answer where there is one to never")
        crossed = dates.values[~missing]
        if crossed.size and (crossed.min() < time[0] or crossed.max() > time[-1]):
            raise ResultError(f"{each}_date: expected dates between the first and the last step")


def _by_dates(data: xr.Dataset, questions: Mapping[str, Any], at: str) -> list[str]:
    """Return the coordinates of deadline dates, and check that their dates are those of the questions."""
    known = []
    for name, question in questions.items():
        coordinate = f"{name}_by_date"
        stated = np.array(question.get("dates", []), dtype="datetime64[s]")
        if f"{name}_by" in data and not (coordinate in data.coords and np.array_equal(data[coordinate].values, stated)):
            raise ResultError(f"{at}/{printable(coordinate, 60)}: expected the dates that are asked about")
        known += [coordinate] if coordinate in data.coords else []
    return known


def _check_answer(data: xr.Dataset, name: str, question: Mapping[str, Any], about: Mapping[str, Any], at: str) -> None:
    """Check the Monte Carlo errors, and the probabilities by the dates of the question."""
    _dims(data[f"{name}_error"], ("quantile",), "f", about, f"{at}_error")
    if not (np.isnan(data[f"{name}_error"].values) | (data[f"{name}_error"].values >= 0)).all():
        raise ResultError(f"{at}_error: expected years, not negative")
    if ("dates" in question) != (f"{name}_by" in data):
        raise ResultError(f"{at}_by: is missing, or not asked for")
    if f"{name}_by" in data:
        shares = data[f"{name}_by"]
        if shares.dims != (f"{name}_by_date", *data[f"{name}_never"].dims):
            raise ResultError(f"{at}_by: expected a share for each date that is asked about, along the same choices")
        if not (np.isnan(shares.values) | ((shares.values >= 0) & (shares.values <= 1 + 1e-9))).all():
            raise ResultError(f"{at}_by: expected shares from 0 to 1")


def _check_pooled(nodes: Mapping[str, Any], questions: xr.Dataset, about: Mapping[str, Any], where: str) -> None:
    """Check the dates over rivals."""
    data = nodes["pooled"].to_dataset() if "pooled" in nodes else xr.Dataset()
    at, stated = f"{where}: /pooled", {}
    beside = {*about.get("definitions", ()), *about.get("sweep", ())}
    for name in about["questions"]:
        rivals = [str(d) for d in questions[f"{name}_date"].dims[1:] if d not in beside]
        if rivals and all(d in about.get("rivals", {}) for d in rivals):
            stated[name] = {d: about["rivals"][d] for d in rivals}
    _coordinates(data, ["quantile", *_by_dates(data, about["questions"], at)] if stated else [], about, at)
    parts = ("", "_error", "_already", "_never")
    wanted = {f"{n}{p}" for n in stated for p in parts} | {
        f"{n}_by" for n in stated if "dates" in about["questions"][n]
    }
    for name in sorted({str(n) for n in data.data_vars} ^ wanted):
        raise ResultError(f"{at}/{printable(name, 60)}: is missing, or not asked for")
    for name in stated:
        each = f"{at}/{printable(name, 60)}"
        _dims(data[name], ("quantile",), "M", about, each)
        for part in ("_already", "_never"):
            _dims(data[f"{name}{part}"], (), "f", about, f"{each}{part}")
            shares = data[f"{name}{part}"].values
            if not (np.isnan(shares) | ((shares >= 0) & (shares <= 1 + 1e-9))).all():
                raise ResultError(f"{each}{part}: expected shares from 0 to 1")
        missing = (np.isnan(data[f"{name}{part}"].values) for part in ("_already", "_never"))
        if not np.array_equal(*missing):
            raise ResultError(f"{each}_already: expected an answer where there is one to never")
        _check_answer(data, name, about["questions"][name], about, each)


def _check_counted(nodes: Mapping[str, Any], levels: xr.Dataset, about: Mapping[str, Any], where: str) -> None:
    """Check what stands there where worlds are counted: the quantiles of levels, and what comes first."""
    complete = _complete(about)
    if ("levels" in nodes) == complete:
        _refuse(where, "/levels", "expected where not every world is kept")
    if ("first" in nodes) != (not complete and "first" in about):
        _refuse(where, "/first", "the group and its attribute go together, where not every world is kept")
    if complete:
        return
    data, at = nodes["levels"].to_dataset(), f"{where}: /levels"
    labels = [f"{name}_label" for name in levels if f"{name}_label" in data.dims]
    _coordinates(data.drop_dims(labels), ["quantile", "time"], about, at)
    for name in sorted({str(n) for n in data.data_vars} ^ {str(n) for n in levels.data_vars}):
        raise ResultError(f"{at}/{printable(name, 60)}: is missing, or none of the quantities")
    for name, values in data.data_vars.items():
        lead = (f"{name}_label",) if f"{name}_label" in labels else ("quantile", "time")
        _dims(values, lead, "f", about, f"{at}/{printable(name, 60)}")
        if {k: values.attrs.get(k) for k in ("units", "kind")} != {k: levels[name].attrs[k] for k in ("units", "kind")}:
            raise ResultError(f"{at}/{printable(name, 60)}: expected the unit and the kind of the quantity")
    if "first" in nodes:
        first, at = nodes["first"].to_dataset(), f"{where}: /first"
        for name in sorted({str(n) for n in first.data_vars} ^ set(about["first"])):
            raise ResultError(f"{at}/{printable(name, 60)}: is missing, or not asked for")
        for name, question in about["first"].items():
            _dims(first[name], (f"{name}_event",), "f", about, f"{at}/{printable(name, 60)}")
            if first[f"{name}_event"].values.tolist()[: len(question["first"])] != question["first"]:
                raise ResultError(f"{at}/{printable(name, 60)}: expected the questions that are compared")
            if not np.isnan(first[name].values).all() and not (np.nan_to_num(first[name].values) >= 0).all():
                raise ResultError(f"{at}/{printable(name, 60)}: expected shares")


def _check_rankings(data: xr.Dataset, about: Mapping[str, Any], where: str) -> None:

    at, rankings = f"{where}: /rankings", about["rankings"]
    _coordinates(data, ["quantile"], about, at)
    _expected(data, rankings, ("", "_first", "_among"), at)
    for name, ranking in rankings.items():
        each = f"{at}/{printable(name, 60)}"
        _dims(data[name], ("quantile",), "f", about, each)
        if ranking["over"] not in data[name].dims:
            raise ResultError(f"{each}: expected the dimension '{printable(ranking['over'], 60)}', which is ranked")
        if not isinstance(data[name].attrs.get("units"), str):
            raise ResultError(f"{each}: the attribute 'units' is missing")
        _check_unit(data[name].attrs["units"], each)
        for part in ("_first", "_among"):
            values = data[f"{name}{part}"]
            _dims(values, (), "f", about, f"{each}{part}")
            shares = values.values
            if values.dims != data[name].dims[1:] or not (np.isnan(shares) | ((shares >= 0) & (shares <= 1))).all():
                raise ResultError(f"{each}{part}: expected shares from 0 to 1, along the same choices")
        if (f"{name}_value" in data) != (f"{name}_takes" in data):
            raise ResultError(f"{each}: expected of every world both a value and whether it takes part, or neither")
        for part, kind in (("_value", "f"), ("_takes", "i")):
            if f"{name}{part}" not in data:  # files of earlier versions have no worlds here
                continue
            worlds = data[f"{name}{part}"]
            _dims(worlds, ("draw",), kind, about, f"{each}{part}")
            if worlds.dims[1:] != data[name].dims[1:]:
                raise ResultError(f"{each}{part}: expected what each world says, along the same choices")
            if kind == "i" and not np.isin(worlds.values, (0, 1)).all():
                raise ResultError(f"{each}{part}: expected 0 or 1")


def _check_values(nodes: Mapping[str, Any], about: Mapping[str, Any], where: str) -> None:
    """Check the values at dates, and that what comes first is among questions with dates."""
    questions = about.get("values", {})
    groups = (
        {str(name): child.to_dataset() for name, child in nodes["values"].children.items()} if "values" in nodes else {}
    )
    if set(groups) != set(questions) or ("values" in nodes and nodes["values"].variables):
        _refuse(where, "/values", "expected the questions of the attribute, and no others")
    for name, data in groups.items():
        at = f"{where}: /values/{printable(name, 60)}"
        if set(data.data_vars) != ({"value"} if _complete(about) else {"value", "quantiles"}):
            raise ResultError(f"{at}: expected a value")
        _coordinates(data, ["date"] if _complete(about) else ["date", "quantile"], about, at)
        if not _complete(about):
            _dims(data["quantiles"], ("quantile", "date"), "f", about, f"{at}/quantiles")
        _dims(data["value"], ("draw", "date"), "f", about, at)
        if not np.array_equal(data["date"].values, np.array(questions[name]["dates"], dtype="datetime64[s]")):
            raise ResultError(f"{at}/date: expected the dates that are asked for")
        if not isinstance(data["value"].attrs.get("units"), str):
            raise ResultError(f"{at}: the attribute 'units' is missing")
        _check_unit(data["value"].attrs["units"], at)
    for name, each in about.get("first", {}).items():
        if not set(each["first"]) <= set(about["questions"]):
            _refuse(where, f"attribute 'first': {printable(name, 60)}", "expected names of questions")
    if "opens" in about and about["opens"] not in {
        *questions, *about["questions"], *about.get("rankings", {}), *about.get("first", {}),
    }:  # fmt: skip
        _refuse(where, "attribute 'opens'", "expected the name of a question")


def _check_limits(data: xr.Dataset, name: str, levels: xr.Dataset, about: Mapping[str, Any], at: str) -> None:
    """Check where and when the limits of a quantity bind."""
    counted = () if _complete(about) else ("_first", "_ever")
    _coordinates(data, ["time", "quantile"] if counted else ["time"], about, at)
    parts = [part for part in ("limit", "at_least") if part in about["limits"][name]]
    wanted = {f"{part}{more}" for part in parts for more in ("", "_date", *counted)}
    if name not in levels or set(data.data_vars) != wanted:
        raise ResultError(f"{at}: expected a quantity of the projection, and what binds it: {', '.join(parts)}")
    time = levels["time"].values
    if not np.array_equal(data["time"].values, time):
        raise ResultError(f"{at}/time: expected that of the projection")
    for part in parts:
        shares, dates, each = data[part], data[f"{part}_date"], f"{at}/{part}"
        _dims(shares, ("time",), "f", about, each)
        _dims(dates, ("draw",), "M", about, f"{each}_date")
        if shares.dims[1:] != dates.dims[1:]:
            raise ResultError(f"{each}: its parts extend along other choices")
        if not (np.isnan(shares.values) | ((shares.values >= 0) & (shares.values <= 1 + 1e-9))).all():
            raise ResultError(f"{each}: expected shares from 0 to 1")
        bound = dates.values[~np.isnat(dates.values)]
        if bound.size and (bound.min() < time[0] or bound.max() > time[-1]):
            raise ResultError(f"{each}_date: expected dates between the first and the last step")
        if counted:
            _dims(data[f"{part}_first"], ("quantile",), "M", about, f"{each}_first")
            _dims(data[f"{part}_ever"], (), "f", about, f"{each}_ever")


def _check_observed(data: xr.Dataset, levels: xr.Dataset, at: str) -> None:

    if "value" not in data or "date" not in data.coords:
        raise ResultError(f"{at}: expected a value and its date")
    value, date = data["value"], data["date"]
    if value.dims != ("point",) or date.dims != ("point",) or value.dtype.kind != "f" or date.dtype.kind != "M":
        raise ResultError(f"{at}: expected numbers and dates, one a point")
    if not np.isfinite(value.values).all() or np.isnat(date.values).any() or not value.size:
        raise ResultError(f"{at}: expected finite numbers, and a date for each")
    if at.rpartition("/")[2] not in levels or not isinstance(value.attrs.get("units"), str):
        raise ResultError(f"{at}: expected points of a quantity of the projection, with their unit")
    _check_unit(value.attrs["units"], at)
    if "row" in data.data_vars:
        named = data["row"]
        if named.dims != ("point",) or named.dtype.kind not in "UO" or not all(map(_name, named.values.tolist())):
            raise ResultError(f"{at}/row: expected what the points are called, in at most {LONGEST} characters")
    _check_labels(data, {"value", "date", *data.data_vars}, levels, at)


def _check_past(data: xr.Dataset, name: str, levels: xr.Dataset, at: str) -> None:
    """Check the fitted past: quantiles that rise, up to the first step."""
    if set(data.data_vars) != {"level"} or not {"date", "quantile"} <= set(data.coords):
        raise ResultError(f"{at}: expected a level, its dates and its quantiles")
    level, date = data["level"], data["date"]
    if level.dims != ("quantile", "point") or data["quantile"].values.tolist() != _QUANTILES or not level.size:
        raise ResultError(f"{at}: expected the quantiles {', '.join(map(str, _QUANTILES))} of each point")
    if date.dims != ("point",) or date.dtype.kind != "M" or level.dtype.kind != "f":
        raise ResultError(f"{at}: expected numbers and dates, one a point")
    if np.isnat(date.values).any() or not (date.values <= levels["time"].values[0]).all():
        raise ResultError(f"{at}/date: expected dates up to the first step")
    if not np.isfinite(level.values).all() or (np.diff(level.values, axis=0) < 0).any():
        raise ResultError(f"{at}/level: expected finite numbers that rise from quantile to quantile")
    stated = {key: level.attrs.get(key) for key in ("units", "keeps")}
    if name not in levels or not isinstance(stated["units"], str) or stated["keeps"] not in ("", "frontier"):
        raise ResultError(f"{at}: expected a quantity of the projection, its unit, and whether it is a frontier")
    _check_unit(stated["units"], at)
    _check_labels(data, {"level", "date", "quantile"}, levels, at)


def _check_labels(data: xr.Dataset, known: set[str], levels: xr.Dataset, at: str) -> None:
    """Check that all else beside points are the values of choices that they belong to."""
    for name in sorted({str(n) for n in data.variables} - known):
        labels = data[name]
        choice = name in levels.coords and labels.dims == ("point",)
        if not choice or not set(labels.values.tolist()) <= set(levels[name].values.tolist()):
            raise ResultError(f"{at}/{printable(name, 60)}: expected names of a choice")
