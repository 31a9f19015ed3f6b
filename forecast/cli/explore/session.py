"""What a page asks of the engine: scenarios, answers with something changed, and files that are uploaded.

What comes from the page is text that somebody wrote, as a file from a stranger is: it names models, shapes and readers
that plugins registered, reads files in the folder of its scenario and those that were uploaded, and opens no
connection.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from forecast import tables, units
from forecast.base import access
from forecast.cli.ask.run import merge_settings
from forecast.contract.registry import get_registry
from forecast.errors import ForecastError, UnknownNameError, UsageError, printable
from forecast.projection.engine import project
from forecast.projection.paths.run_cache import SHARED_BYTES, RunCache
from forecast.projection.result import Projection
from forecast.report.page.draw_encoding import EncodedDraws
from forecast.report.page.page_data import answer_data, paths_read, settable
from forecast.scenarios.graph import build
from forecast.scenarios.quantities.node import Node
from forecast.scenarios.registered import parse_scenario
from forecast.scenarios.scenario import Scenario

#: Bytes of one uploaded file, and how many of them are kept.
MAX_UPLOAD_BYTES, MAX_UPLOADS = 10_000_000, 20
#: What a page may ask with, and what each must be.
_REQUEST_KEYS: Mapping[str, type] = {
    "scenario": str,
    "toml": str,
    "set": dict,
    "swap": dict,
    "changes": list,
    "data": dict,
}
_FILE_NAME_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}\.csv", re.ASCII)
#: What an uploaded column says of the quantity that it replaces.
_COLUMN_KEYS = ("data", "x", "y", "unit", "shape", "keeps", "scale", "floor", "ceiling")
#: Models that are offered for one quantity at most.
_MAX_MODELS = 60


class Session:
    """One scenario after another, with everything that was fitted and drawn for them.

    Parameters
    ----------
    first : str
        The scenario to begin with: a registered name or a TOML file; by default the first that is registered.
    draws, seed : int
        Of every answer.

    Examples
    --------
    >>> with Session("brain-parity", draws=64) as session:
    ...     told = session.answer({"set": {"brain": "1e17", "trend": "exponential"}})
    >>> told["answer"]["count"]
    64
    """

    def __init__(self, first: str = "", *, draws: int = 2048, seed: int = 0) -> None:
        self.draws, self.seed, self.allowed = draws, seed, access.current()
        self.cache = RunCache(SHARED_BYTES)
        registry = get_registry()
        self._registered = tuple(registry.names("scenario", parts=False))
        if not first and not self._registered:
            raise UsageError("explore: no plugin offers a scenario: name a file")
        file = first.lower().endswith(".toml")
        self.first = first if file else registry.find("scenario", first or self._registered[0]).full_name
        self._load = lru_cache(maxsize=64)(Scenario.load)
        self._folder = tempfile.TemporaryDirectory(prefix="forecast-explore-")
        self.folder = Path(self._folder.name)
        self._units: tuple[Mapping[str, Any], dict[str, str]] | None = None
        self._base: tuple[Mapping[str, Any], Projection] | None = None
        self._last: tuple[Mapping[str, Any], Projection, EncodedDraws] | None = None

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *problem: object) -> None:
        self._folder.cleanup()

    # --- scenarios --------------------------------------------------------------------------------------------------

    def library(self) -> list[dict[str, str]]:
        """Return every scenario that can be asked for, the first one first."""
        return [{"name": name, "title": self._title(name)} for name in dict.fromkeys([self.first, *self._registered])]

    def _title(self, name: str) -> str:
        try:
            return printable(self._load(name).title or name, 200)
        except ForecastError:  # it is named where it is asked for
            return printable(name, 200)

    def _scenario(self, request: Mapping[str, Any]) -> Scenario:
        """Return the scenario that a page asks for, with what it puts in the place of its quantities."""
        name = request.get("scenario") or self.first
        if name != self.first and name not in self._registered:  # a page names no file
            raise UnknownNameError("scenario", name, [self.first, *self._registered])
        base = self._load(name)
        assert base.folder is not None  # so that what is edited reads no file outside of it
        text = request.get("toml", "")
        if not text and not request.get("data"):
            return base
        stated: Mapping[str, Any] = base.stated
        where = f"{Path(base.where).name} as edited"
        if text:
            stated = parse_scenario(text, where)
        read = partial(Scenario.from_dict, name=base.name, where=where, folder=base.folder)
        replaced = {key: self._uploaded(key, column) for key, column in request.get("data", {}).items()}
        if not replaced:
            return read(stated)
        valid_names = read(stated).quantities if text else base.quantities
        for key in replaced:
            if key not in valid_names:
                raise UnknownNameError("quantity", key, valid_names, where="data")
        return read({**stated, "quantities": {**stated.get("quantities", {}), **replaced}})

    def _uploaded(self, key: str, column: Any) -> dict[str, Any]:
        """Return a quantity that is a column of an uploaded file."""
        at = f"data {printable(key, 60)}"
        if not isinstance(column, dict) or not all(isinstance(each, str) for each in column.values()):
            raise UsageError(f"{at}: expected texts under {', '.join(_COLUMN_KEYS)}")
        for name in column:
            if name not in _COLUMN_KEYS:
                raise UnknownNameError("key", name, _COLUMN_KEYS, where=at)
        return {**column, "data": str(self._file(column.get("data", "")))}

    def _file(self, name: str) -> Path:
        known = [path.name for path in self.folder.iterdir()]
        if name not in known:
            raise UnknownNameError("uploaded file", name, known)
        return self.folder / name

    @contextmanager
    def _reach(self) -> Iterator[None]:
        """Allow what the user has allowed, and the uploaded files."""
        access.use(self.allowed)
        with access.allow(paths=[self.folder]):
            yield

    # --- what a page asks -------------------------------------------------------------------------------------------

    def opened(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return a scenario: its text, and the quantities that another model or a file may stand for."""
        with self._reach():
            scenario = self._scenario(_check_request(request))
            quantities = build(scenario).quantities
            return {
                "name": request.get("scenario") or self.first,
                "title": printable(scenario.title or scenario.name, 200),
                "toml": scenario.to_toml(),
                "quantities": [
                    {"name": name, "unit": node.unit, "models": _similar_models(node)}
                    for name, node in quantities.items()
                ],
            }

    def shapes(self) -> list[str]:
        """Return the names of the shapes that a series may follow."""
        return list(get_registry().names("shape"))

    def units_of(self, request: Mapping[str, Any]) -> dict[str, str]:
        """Return the units of what can be set: stated numbers, inputs of models, and parameters of fits.

        A parameter that several models of one quantity have is also there for all of them. What a request sets does
        not change them, and it is what most requests change.
        """
        within = {key: each for key, each in request.items() if key not in ("set", "changes")}
        if self._units is None or self._units[0] != within:
            self._units = within, self._units_of(within)
        return self._units[1]

    def _units_of(self, request: Mapping[str, Any]) -> dict[str, str]:
        from forecast.models.mixtures import MEMBER_INPUT
        from forecast.projection.model_fits import ModelFits
        from forecast.scenarios.kinds.prior import Prior
        from forecast.scenarios.kinds.regime import Regime
        from forecast.scenarios.settings.ports import swap_models

        with self._reach():
            graph = build(swap_models(self._scenario(request), merge_settings({}, request.get("swap", {}))))
            fits = ModelFits(graph, as_of=None, seed=self.seed, cache=self.cache)
            units_of = {
                name: node.unit
                for name, node in graph.quantities.items()
                if isinstance(node.quantity, (Prior, Regime)) and not node.variants
            }
            for name, uncertain in graph.inputs.items():
                if name.rpartition(".")[2] != MEMBER_INPUT:  # which member of a mixture holds is picked by its name
                    units_of[name] = uncertain.unit
            fitted: dict[str, Mapping[str, str]] = {}
            for name, model in graph.models.items():
                with suppress(ForecastError):  # it is said where it is drawn
                    fitted[name] = fits[model].settable
        units_of |= {f"{model}.{own}": unit for model, each in fitted.items() for own, unit in each.items()}
        for name, node in graph.quantities.items():
            each = [fitted.get(model.name, {}) for model in node.models.values()]
            units_of |= {f"{name}.{own}": unit for one in each for own, unit in one.items() if len(each) > 1}
        return units_of

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer with what is changed: what the page draws, and what can be set in it."""
        _, run, worlds = self._last = self._answered(request)
        said = [*run.failures, *run.warnings]
        return {
            "answer": answer_data(run, worlds),
            "settable": settable(run, worlds, self.units_of(request)),
            "warnings": [printable(text, 400) for text in said],
        }

    def part(self, name: str, request: Mapping[str, Any]) -> dict[str, str]:
        """Return what stands around that answer on its page: see `forecast.report.page.part`."""
        from forecast.report.page import page_part

        request = _check_request(request)
        last = self._last
        _, run, worlds = last if last is not None and last[0] == request else self._answered(request)
        if name != "about":  # it lists what nothing else on the page reads
            run = self.run(request)
        with self._reach():
            return {"html": page_part(name, run, worlds, toml=self._scenario(request).to_toml())}

    def _answered(self, request: Mapping[str, Any]) -> tuple[Mapping[str, Any], Projection, EncodedDraws]:
        run = self.run(request, whole=False)
        return request, run, EncodedDraws(run)

    def run(self, request: Mapping[str, Any], *, whole: bool = True) -> Projection:
        """Return the projection that a page asks for: the whole of it, or what an answer is made of."""
        from forecast.scenarios.quantities.changes import parse_change

        request = _check_request(request)
        options: dict[str, Any] = {"draws": self.draws, "seed": self.seed, "keep": self.draws, "cache": self.cache}
        within = {key: each for key, each in request.items() if key in ("scenario", "toml", "data") and each}
        if not whole:
            options["paths"] = self._read(request)
        with self._reach():
            replaced = merge_settings(request.get("set", {}), request.get("swap", {}))
            changes = [parse_change(text) for text in request.get("changes", [])]
            if replaced or changes:
                # fits and draws are kept, but not what they sum up to
                if self._base is None or self._base[0] != within:
                    self._base = within, project(self._scenario(request), **options)
                base = self._base[1]
                return project(self._scenario(request), with_=replaced, what_if=changes, **options).beside(base)
            return project(self._scenario(request), **options)

    def _read(self, request: Mapping[str, Any]) -> set[str] | None:
        """Return the quantities whose paths an answer reads; None where these are all."""
        with self._reach():
            scenario = self._scenario(request)
        read = paths_read(scenario)
        numbers = (key.rpartition(".")[0] for key in self.units_of(request))
        return None if read is None else read | (scenario.quantities.keys() & set(numbers))

    def upload(self, name: str, content: bytes) -> dict[str, Any]:
        """Keep a file of comma-separated values, and say what its columns are."""
        if not _FILE_NAME_PATTERN.fullmatch(name):
            raise UsageError(
                f"upload: expected the name of a .csv file, plain letters and digits, got '{printable(name, 80)}'"
            )
        if len(content) > MAX_UPLOAD_BYTES:
            raise UsageError(f"upload: {len(content):,} bytes; at most {MAX_UPLOAD_BYTES:,} are taken")
        known = [path.name for path in self.folder.iterdir()]
        if name not in known and len(known) >= MAX_UPLOADS:
            raise UsageError(f"upload: {MAX_UPLOADS} files are here already; give this one the name of one of them")
        path = self.folder / name
        path.write_bytes(content)
        self._last = self._units = self._base = None  # they may have been made from another file of this name
        try:
            columns = list(tables.to_columns(str(path)))
        except ForecastError:
            path.unlink()
            raise
        return {"name": name, "columns": columns}


def _check_request(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """Refuse what no page of ours asks with."""
    for key, value in request.items():
        if key not in _REQUEST_KEYS:
            raise UnknownNameError("key", key, _REQUEST_KEYS, where="request")
        if not isinstance(value, _REQUEST_KEYS[key]):
            raise UsageError(f"request {key}: expected {_REQUEST_KEYS[key].__name__}, got {type(value).__name__}")
    for key in ("swap", "changes"):
        values = request.get(key, {})
        if not all(isinstance(each, str) for each in (values.values() if isinstance(values, dict) else values)):
            raise UsageError(f"request {key}: expected texts")
    return request


def _similar_models(node: Node) -> list[str]:
    """Return the names of models that measure what a quantity does, where a model makes it."""
    own = {model.name for model in node.models.values()}
    fitting = [
        record.full_name
        for record in get_registry().records("model")
        if own and units.same_dimension(record.spec.unit, node.unit)
    ]
    return [name for name in fitting if name not in own][:_MAX_MODELS]
