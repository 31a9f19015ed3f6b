"""A projection: what the worlds of a scenario hold, with its answers, and everything needed to repeat it.

In memory and in files it is an `xarray.DataTree` whose root has attributes of JSON text. They are decoded here and
nowhere else.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from forecast.base.dates import decimal_year, iso_date
from forecast.base.lazy import xr
from forecast.base.notebook_html import HtmlText
from forecast.base.warning_lines import with_warnings
from forecast.errors import (
    FailedWorldsWarning,
    FewWorldsWarning,
    ForecastWarning,
    HindcastWarning,
    UnknownNameError,
    printable,
)
from forecast.projection.answers.crossing_dates import rival_of_draw
from forecast.projection.failures import in_brackets
from forecast.projection.likelihood_weights import effective_sample_size, weights_of
from forecast.projection.result.combinations import combination_places
from forecast.projection.result.differences import AnswerDifference, answer_differences, baseline
from forecast.projection.result.projected_answers import (
    AnswerDistribution,
    DateAnswer,
    FirstAnswer,
    ProjectedAnswer,
    RankingAnswer,
    ValueAnswer,
)
from forecast.projection.result.projected_quantities import ProjectedLimit, ProjectedQuantity, projected_limits
from forecast.scenarios.quantities.levers import Lever

#: Kinds of quantities that are one uncertain number a world.
DRAWN_KINDS = ("prior", "regime", "draws", "fitted")
#: So many of what fails in some worlds are named in the warning.
_MAX_NAMED_FAILURES = 3


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A fork of a scenario, which is a dimension of everything that depends on it.

    Parameters
    ----------
    name : str
    values : tuple of str
    kind : {"definition", "rival", "sweep"}
        A definition belongs to the question (its values stay side by side), a rival to what one believes (pooled if
        there are weights), and a sweep sets several values.
    weights : tuple of float, optional
        Of rivals, in sum 1.
    """

    name: str
    values: tuple[str, ...]
    kind: Literal["definition", "rival", "sweep"]
    weights: tuple[float, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a projection was run with.

    Parameters
    ----------
    seed, draws, kept : int
        `kept` worlds are stored one by one; where they are fewer than `draws`, all are counted beside.
    start, until : float
        The first and the last step, decimal years.
    step : str
        ``"year"``, ``"month"`` or a part of a year.
    as_of : float or None
        Only what was known before this year was used.
    set, swap : mapping
        What was set, and which models stand in place of others.
    with_values : mapping
        What the scenario was given by `forecast.Scenario.with_`.
    changes : list of mapping
        What was changed from a date on.
    replaced : mapping
        What each number that was set is stated as: ``stated`` and ``unit``.
    """

    seed: int
    draws: int
    kept: int
    start: float
    until: float
    step: str
    as_of: float | None
    set: Mapping[str, Any]
    swap: Mapping[str, str]
    changes: list[dict[str, Any]]
    replaced: Mapping[str, dict[str, Any]]
    with_values: Mapping[str, Any]

    @property
    def plain(self) -> dict[str, Any]:
        """The same as a mapping."""
        return asdict(self)


class Projection(HtmlText):
    """What the worlds of a scenario hold: quantities over time, answers, limits, and how to repeat it.

    Made by `forecast.project`; nothing of it changes. ``run["projection"]`` are the groups of its `to_xarray`.

    Parameters
    ----------
    groups : mapping of str to Dataset
        ``/projection`` (time × draw × choices), ``/questions``, ``/pooled``, ``/rankings``, ``/values/<question>``,
        ``/first``, ``/limits/<quantity>``, ``/levels`` (quantiles, where worlds are counted), ``/update``,
        ``/observed/<quantity>``, ``/past/<quantity>`` and ``/posterior/<model>``.
    attributes : mapping of str to str
        Those of the root, each as JSON text.
    distributions : mapping
        Those of a projection that has the same worlds for these questions: none is computed twice.

    Examples
    --------
    >>> import forecast
    >>> run = forecast.project({"start": 2025, "until": 2060, "quantities": {
    ...     "x": {"p05": 1, "p95": 100, "unit": "FLOP"}}, "questions": {"q": {"when": "x >= 10"}}}, draws=100)
    >>> list(run.answers), run.quantities["x"].unit, run.settings.draws
    (['q'], 'FLOP', 100)
    """

    def __init__(
        self,
        groups: Mapping[str, xr.Dataset],
        attributes: Mapping[str, str],
        distributions: Mapping[str, dict[Hashable, AnswerDistribution | None]] = MappingProxyType({}),
    ) -> None:
        self._parts, self.distributions = (dict(groups), dict(attributes)), dict(distributions)
        # what is derived of each answer: answers know their projection, which knows none of them, so that each goes
        # when nobody holds it
        self.derived = defaultdict[Hashable, dict[str, Any]](dict)

    @classmethod
    def of_tree(cls, tree: xr.DataTree) -> Projection:
        """Return the projection that a file holds."""
        every = {node.path: node.to_dataset(inherit=False) for node in tree.subtree}
        inner = {node.path for node in tree.subtree if node.children}
        groups = {path: data for path, data in every.items() if data.variables or path not in inner}
        result = cls(groups, {str(key): text for key, text in tree.attrs.items()})
        result._tree = tree
        return result

    @cached_property
    def _tree(self) -> xr.DataTree:
        groups, attributes = self._parts
        tree = xr.DataTree.from_dict({"/": xr.Dataset(), **groups})
        tree.attrs.update(attributes)
        return tree

    @property
    def groups(self) -> dict[str, xr.Dataset]:
        """The groups that hold something, by their places."""
        return self._parts[0]

    def groups_in(self, place: str) -> Iterator[tuple[str, xr.Dataset]]:
        """Walk the groups below a place, such as ``posterior``, each with its name there."""
        inside = f"/{place}/"
        return ((path.removeprefix(inside), data) for path, data in self.groups.items() if path.startswith(inside))

    def to_xarray(self) -> xr.DataTree:
        """Return it as files hold it; its attributes are JSON text."""
        return self._tree

    def __getitem__(self, group: str) -> xr.DataTree:
        if group in self._questions and group not in self:
            raise UnknownNameError("group", group, note=f"the answer is run.answers['{group}']")
        return self._tree[group]  # type: ignore[return-value]

    def dataset(self, group: str) -> xr.Dataset:
        """Return the data of a group, each time the same object."""
        return self.groups[f"/{group.strip('/')}"]

    def __contains__(self, group: str) -> bool:
        return any(f"{place}/".startswith(f"/{group.strip('/')}/") for place in self.groups)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write it as netCDF, whole or not at all; `forecast.load` reads it.

        Raises
        ------
        ResultError
            If it cannot be written.
        """
        from forecast.base import netcdf

        return netcdf.save(self._tree, path)

    def conditioned(self, texts: Sequence[str]) -> Projection:
        """Return it with the conditions in words in which its worlds are taken: its sentence names them."""
        return self._with_attributes(given=[*self.given, *texts]) if texts else self

    def beside(self, other: Projection, *, decided: bool = True) -> Projection:
        """Return it with the answers of another one in whose place it stands: the same without a change.

        Both draw the same worlds, so that `differences` are of the change alone. What regime decides how far an answer
        moves is looked for in all of them where it is `decided`, and else in the sentence's.
        """
        return self._with_attributes(baseline=baseline(other, self, decided=decided))

    def _with_attributes(self, **said: Any) -> Projection:
        """Return it with these attributes, which share its groups."""
        groups, attributes = self._parts
        result = Projection(groups, attributes | {key: json.dumps(each) for key, each in said.items()})
        result.distributions = self.distributions
        return result

    @property
    def differences(self) -> list[AnswerDifference]:
        """What a change makes of each answer; empty where it does not stand `beside` another projection."""
        return list(answer_differences(self, self._attribute("baseline", {})))

    @property
    def attributes(self) -> dict[str, Any]:
        """The attributes of the root as Python has them: lists, mappings and numbers, and not the text of files."""
        return {key: json.loads(text) for key, text in self._parts[1].items()}

    @property
    def texts(self) -> Mapping[str, str]:
        """The attributes of the root as files hold them, each JSON text."""
        return self._parts[1]

    def identical(self, other: Projection) -> bool:
        """Tell whether both hold the same, attributes among it."""
        return self._tree.identical(other.to_xarray())

    def _attribute(self, name: str, default: Any = None) -> Any:
        return json.loads(self._parts[1][name]) if name in self._parts[1] else default

    # --- what was run -----------------------------------------------------------------------------------------------

    @cached_property
    def scenario(self) -> str:
        """The name of the scenario."""
        return str(self._attribute("scenario"))

    @cached_property
    def scenario_text(self) -> str:
        """The scenario as a TOML file holds it; empty where no file could: it is made of Python's objects."""
        return str(self._attribute("scenario_text", ""))

    @cached_property
    def expressions(self) -> dict[str, str]:
        """The formulas of the scenario's own quantities that are computed by one; not of what was set or swapped."""
        import tomllib

        try:
            stated = tomllib.loads(self.scenario_text).get("quantities", {})
            replaced = {*self.settings.set, *self.settings.swap}
            return {
                n: str(each["expression"]) for n, each in stated.items() if "expression" in each and n not in replaced
            }
        except (tomllib.TOMLDecodeError, AttributeError, TypeError):  # a file that somebody changed
            return {}

    @cached_property
    def given(self) -> tuple[str, ...]:
        """The conditions in which its worlds are taken, as texts."""
        return tuple(self._attribute("given", ()))

    @cached_property
    def title(self) -> str:
        """The title of the scenario."""
        return str(self._attribute("title"))

    @property
    def published_on(self) -> str:
        """The day on which a rebuilt publication was published, ISO; empty for any other scenario."""
        return str(self._attribute("published_on", ""))

    @cached_property
    def settings(self) -> Settings:
        """What it was run with."""
        draws = self._attribute("draws")
        plain = {key: self._attribute(key) for key in ("seed", "start", "until", "step", "as_of", "set")}
        mappings = {key: self._attribute(key, {}) for key in ("swap", "replaced", "with_values")}
        kept, changes = self._attribute("kept", draws), self._attribute("changes", [])
        return Settings(draws=draws, kept=kept, changes=changes, **plain, **mappings)

    @cached_property
    def choices(self) -> dict[str, Choice]:
        """The choices, in the order of the scenario."""
        definitions, weights = self._attribute("definitions", ()), self._attribute("rivals", {})
        swept, out = self._attribute("sweep", {}), {}
        for name, values in self._attribute("choices").items():
            kind: Any = "sweep" if name in swept else "definition" if name in definitions else "rival"
            own = tuple(weights[name]) if kind == "rival" and name in weights else None
            out[name] = Choice(name=name, values=tuple(values), kind=kind, weights=own)
        return out

    @cached_property
    def swept(self) -> dict[str, list[str]]:
        """What is swept, with its values."""
        return dict(self._attribute("sweep", {}))

    @cached_property
    def definitions(self) -> list[str]:
        """The choices that stand side by side: what is swept, and definitions."""
        return list(dict.fromkeys([*self.swept, *self._attribute("definitions", ())]))

    @cached_property
    def rivals(self) -> dict[str, tuple[float, ...]]:
        """The weights of the choices that are pooled."""
        return {name: choice.weights for name, choice in self.choices.items() if choice.weights is not None}

    def heaviest(self, choice: str) -> str:
        """Return the rival of a pooled choice that weighs most; empty for what is no such choice."""
        weights = self.rivals.get(choice)
        return self.choices[choice].values[int(np.argmax(weights))] if weights else ""

    def rival_of_draw(self, choice: str, worlds: int) -> NDArray[np.int64]:
        """Return which rival of a pooled choice holds in each of the first worlds, by its place, (world,)."""
        stream = self._attribute("streams", {}).get(choice, choice)
        return rival_of_draw(stream, self.rivals[choice], seed=self.settings.seed, worlds=worlds)

    def pooled(self, values: xr.DataArray, rivals: Iterable[str]) -> xr.DataArray:
        """Return values along ``draw`` and choices with one rival of each of these choices in every world.

        Parameters
        ----------
        values : xarray.DataArray
            With the dimension ``draw``.
        rivals : iterable of str
            Choices that have weights; one that `values` do not have is left out.
        """
        worlds = values.sizes["draw"]
        places: dict[str, Any] = {
            choice: xr.DataArray(self.rival_of_draw(choice, worlds), dims="draw")
            for choice in rivals
            if choice in values.dims
        }
        return values.isel(places).drop_vars([c for c in places if c in values.coords]) if places else values

    def pooled_weights(self, chosen: Mapping[str, str], rivals: Iterable[str]) -> xr.DataArray | None:
        """Return what the stored worlds count under values of choices, `pooled`; None where all count alike."""
        if self.weights is None:
            return None
        return self.pooled(self.weights.sel({d: v for d, v in chosen.items() if d in self.weights.dims}), rivals)

    @cached_property
    def regimes(self) -> dict[str, tuple[NDArray[np.int64], NDArray[np.str_]]]:
        """Which value each regime that no choice changes has in every stored world, by its place, and its values."""
        return {
            str(name): (each.values[0].astype(int), np.array(each.attrs["flag_meanings"].split()))  # alike at all steps
            for name, each in self.worlds.variables.items()
            if each.attrs.get("kind") == "regime" and each.dims == ("time", "draw")
        }

    @cached_property
    def levers(self) -> tuple[Lever, ...]:
        """What a reader should be able to move, in the order in which the scenario offers it."""
        return tuple(map(Lever.of, self._attribute("levers", ())))

    @cached_property
    def says(self) -> dict[str, dict[str, str]]:
        """The sentences that the scenario's author wrote for its answers, by question and case, with their slots."""
        return dict(self._attribute("says", {}))

    @cached_property
    def labels(self) -> dict[str, str]:
        """What quantities, choices, values and questions are called for people, where that is stated."""
        return dict(self._attribute("labels", {}))

    @cached_property
    def models(self) -> dict[str, dict[str, Any]]:
        """The models behind it: ``summary``, ``assumptions``, ``sources`` and ``facts``."""
        return dict(self._attribute("models"))

    @cached_property
    def read(self) -> tuple[str, ...]:
        """What was read of the user's own files, a sentence each."""
        lines = [*(each.get("read", "") for each in self.models.values()), *self._attribute("read", [])]
        return tuple(dict.fromkeys(filter(None, lines)))

    @cached_property
    def correlations(self) -> list[dict[str, Any]]:
        """What moves together: ``of``, ``matrix``, and the ``fitted`` numbers for which names stand."""
        return list(self._attribute("correlations", []))

    # --- time -------------------------------------------------------------------------------------------------------

    @cached_property
    def time(self) -> NDArray[np.datetime64]:
        """The dates of the steps."""
        return np.asarray(self.worlds["time"].values)

    @cached_property
    def years(self) -> NDArray[np.float64]:
        """The dates of the steps as decimal years."""
        return np.asarray(decimal_year(self.time), dtype=float)

    @property
    def span(self) -> tuple[float, float]:
        """The first and the last date, as decimal years."""
        return float(self.years[0]), float(self.years[-1])

    # --- what it holds ----------------------------------------------------------------------------------------------

    @cached_property
    def worlds(self) -> xr.Dataset:
        """Every quantity in every stored world, (time, draw, choices)."""
        return self.dataset("projection")

    @cached_property
    def weights(self) -> xr.DataArray | None:
        """What every world counts, in sum 1, (draw, choices); None where all count alike."""
        return weights_of(self)

    @cached_property
    def quantities(self) -> dict[str, ProjectedQuantity]:
        """The quantities, regimes among them, in the order of the scenario."""
        levels = self.dataset("levels") if "levels" in self else None
        names = map(str, self.worlds.data_vars)
        return {n: ProjectedQuantity(n, self.labels.get(n, n), self.worlds, levels, self.weights) for n in names}

    @cached_property
    def uncertain(self) -> dict[str, NDArray[np.float64]]:
        """The draws of every uncertain number by its name: inputs, fitted parameters, and priors of the scenario."""
        out = {}
        for model, draws in self.groups_in("posterior"):
            for name, drawn in draws.data_vars.items():
                if drawn.dims == ("draw",):
                    out[f"{model}.{name}"] = np.asarray(drawn.values, dtype=float)
        for name, drawn in self.worlds.data_vars.items():
            if drawn.attrs.get("kind") in DRAWN_KINDS:
                # under another choice the same uniform makes it: what is high here is high there
                first = {dim: 0 for dim in drawn.dims if dim != "draw"}
                out[str(name)] = np.asarray(drawn.isel(first).values, dtype=float)
        return out

    @cached_property
    def numeric(self) -> list[str]:
        """The names of the quantities that are numbers, and no regimes."""
        return [name for name, each in self.quantities.items() if each.kind != "regime"]

    @cached_property
    def shown(self) -> list[str] | None:
        """The quantities that the scenario shows; None where it names none."""
        return self._attribute("show")  # type: ignore[no-any-return]

    @property
    def answers(self) -> dict[str, ProjectedAnswer]:
        """Every answer by the name of its question; the one that the sentence is about comes first."""
        return {name: self.answer(name) for name in self._questions}

    def answer(self, name: str) -> ProjectedAnswer:
        """Return one of them: the same object as long as somebody holds it."""
        kind, stated = self._questions[name]
        return self._alive.get(name) or self._alive.setdefault(name, kind(self, name, stated))

    def __getstate__(self) -> dict[str, Any]:
        return {name: each for name, each in self.__dict__.items() if name != "_alive"}  # which is of this process

    @cached_property
    def _alive(self) -> WeakValueDictionary[str, ProjectedAnswer]:
        """The answers that somebody holds."""
        return WeakValueDictionary()

    @cached_property
    def _questions(self) -> dict[str, tuple[type[ProjectedAnswer], Mapping[str, Any]]]:
        """The kind of each answer, and its question as files hold it."""
        kinds: dict[str, type[ProjectedAnswer]] = {
            "questions": DateAnswer, "rankings": RankingAnswer, "values": ValueAnswer, "first": FirstAnswer,
        }  # fmt: skip
        every = {
            name: (kind, stated) for key, kind in kinds.items() for name, stated in self._attribute(key, {}).items()
        }
        opens = self._attribute("opens", "")
        return {opens: every[opens], **every} if opens in every else every

    @property
    def opening(self) -> ProjectedAnswer | None:
        """The answer that the headline states; None if the scenario has no question."""
        return next(map(self.answer, self._questions), None)

    @cached_property
    def winners(self) -> dict[str, str]:
        """What is first in the ranking that opens it, by the choice that is ranked; nothing where none opens it."""
        opening = self.opening
        if not isinstance(opening, RankingAnswer) or not opening.table:
            return {}
        row = opening.table[0]
        return {opening.over_choice: row.order[0].name, **row.choices}

    @property
    def dates(self) -> list[DateAnswer]:
        """The answers that are dates, in the order of the scenario."""
        return self._of(DateAnswer, "questions")

    @property
    def values(self) -> list[ValueAnswer]:
        """The answers that are values at dates, or growth, in the order of the scenario."""
        return self._of(ValueAnswer, "values")

    @property
    def rankings(self) -> list[RankingAnswer]:
        """The answers that are orders, in the order of the scenario."""
        return self._of(RankingAnswer, "rankings")

    @property
    def firsts(self) -> list[FirstAnswer]:
        """The answers that say what comes first, in the order of the scenario."""
        return self._of(FirstAnswer, "first")

    def _of(self, kind: type[Any], key: str) -> list[Any]:
        return [each for name in self._attribute(key, {}) if isinstance(each := self.answer(name), kind)]

    @property
    def constraints(self) -> dict[str, dict[str, Any]]:
        """What bounds each quantity: ``limit`` with ``how``, ``at_least``, ``at_most``, ``keeps`` and ``scale``."""
        return dict(self._attribute("limits", {}))

    @cached_property
    def limits(self) -> list[ProjectedLimit]:
        """Where and when the limits of quantities bind, in every combination of choices."""
        return list(projected_limits(self))

    # --- what to be careful about -----------------------------------------------------------------------------------

    @cached_property
    def updated_by(self) -> list[str]:
        """The quantities of which something is known besides, by which worlds are weighed."""
        return list(self._attribute("update", {}))

    @cached_property
    def effective_draws(self) -> float | None:
        """How many worlds of equal weight would say as much, the least over the choices; None where all count alike."""
        return self._attribute("effective_draws")  # type: ignore[no-any-return]

    def effective(self) -> list[tuple[dict[str, str], float | None]]:
        """Return the same in every combination of the choices on which it depends; None where no world is possible."""
        if self.weights is None:
            return []
        if "levels" in self:  # of worlds that are counted the least over the choices is known
            return [({}, self.effective_draws)]
        counts = self.weights.isel(draw=0).copy(data=effective_sample_size(self.weights.values))
        rows = ((chosen, float(counts.values[place])) for chosen, place in combination_places(counts))
        return [(chosen, count if np.isfinite(count) else None) for chosen, count in rows]

    @cached_property
    def failures(self) -> list[str]:
        """Why quantities fail in some combinations of choices."""
        return list(self._attribute("failures"))

    def absent(self, chosen: Mapping[str, str]) -> str:
        """Return what the scenario says of a figure that a table lacks under values of choices; nothing if none is."""
        lacks = (each["said"] for each in self._attribute("absent", ()) if each["choices"].items() <= chosen.items())
        return next(lacks, "")

    def unanswered(self, chosen: Mapping[str, str]) -> str:
        """Say in a few words why there is no answer under values of choices; `warnings` name what was left out."""
        as_of = self.settings.as_of
        lacks = "failed" if as_of is None or self.failures else f"no data as of {iso_date(as_of)}"
        return self.absent(chosen) or lacks

    @cached_property
    def failing(self) -> list[dict[str, Any]]:
        """What fails in at most 1 in 1,000 worlds, which are left out: ``name, choices, worlds, first, reason``."""
        return list(self._attribute("failing", []))

    @cached_property
    def warnings(self) -> list[ForecastWarning]:
        """What a reader must be warned of: recorded while it was drawn, worlds that fail, and a hindcast."""
        told = [ForecastWarning.from_record(record) for record in self._attribute("warnings", [])]
        if self.given:  # a condition weighs worlds as an update does
            condition = " and ".join(printable(each) for each in self.given)
            told = [replace(w, condition=condition) if isinstance(w, FewWorldsWarning) else w for w in told]
        return [*told, *filter(None, [_failed_draws_sentence(self), self.hindcast])]

    @cached_property
    def hindcast(self) -> HindcastWarning | None:
        """Say so where it starts before the last year of its observations.

        Its first steps, and every date *already* reached at the first of them, then show the fit and not a forecast.
        """
        if self.swept:  # each of the runs says so of itself
            return None
        first = int(self.span[0])
        ends = [data["date"].values.max() for place, data in self.groups.items() if place.startswith("/observed/")]
        last = int(decimal_year(max(ends))) if ends else first
        return HindcastWarning(first=first, last=last) if first < last else None

    # --- how to repeat it -------------------------------------------------------------------------------------------

    @cached_property
    def newest(self) -> dict[str, str]:
        """The date of the newest datum behind it by table or file, ISO; what states no date is not listed."""
        return dict(self._attribute("newest_data", {}))

    @cached_property
    def data(self) -> dict[str, str]:
        """The hash of every table and file behind it."""
        return dict(self._attribute("data"))

    @cached_property
    def provenance(self) -> dict[str, Any]:
        """What is needed to repeat it: settings, hashes of the data, plugins and versions."""
        stated = ("seed", "draws", "start", "until", "step", "set", "data", "scenario_hash", "plugins")
        more = {key: each for key in ("changes", "sweep", "swap") if (each := self._attribute(key))}
        return {key: self._attribute(key) for key in stated} | more | {"versions": self._attribute("versions")}

    def __repr__(self) -> str:
        """Say what it is of, and what it warns of."""
        answers = f"{len(self._questions)} answer{'s' * (len(self._questions) != 1)}"
        about = f"{len(self.quantities)} quantities, {answers}, {self.settings.draws:,} worlds"
        said = "\n".join([f"<forecast.Projection of '{self.scenario or self.title}': {about}>", *self.read])
        return with_warnings(said, self.warnings)


def _failed_draws_sentence(run: Projection) -> FailedWorldsWarning | None:
    """Say which worlds are left out."""
    rows = run.failing
    if not rows:
        return None
    named = [
        f"{row['name']}{in_brackets(row['choices'])} fails in {row['worlds']:,}, from {row['first']} on"
        for row in rows[:_MAX_NAMED_FAILURES]
    ]
    more = [f"and {len(rows) - len(named)} more"] if len(rows) > len(named) else []
    return FailedWorldsWarning(draws=run.settings.draws, failing=(*named, *more), reason=rows[0]["reason"])
