"""What a page asks of the engine: scenarios, answers with something changed, and files that are uploaded.

What comes from the page is text that somebody wrote, as a file from a stranger is: it names models, shapes and readers
that plugins registered, reads files in the folder of its scenario and those that were uploaded, and opens no
connection.
"""

from __future__ import annotations

import math
import re
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from forecast.base import access
from forecast.cli.ask.run import replacements
from forecast.errors import ForecastError, ScenarioError, UnknownNameError, UsageError, printable
from forecast.projection.paths.run_cache import RunCache

if TYPE_CHECKING:
    from forecast.projection.result import Projection
    from forecast.report.page.draw_encoding import EncodedDraws
    from forecast.scenarios.graph import ScenarioGraph
    from forecast.scenarios.scenario import Scenario

__all__ = ["LARGEST", "MOST_FILES", "Session"]

#: Bytes of one uploaded file, and how many of them are kept.
LARGEST, MOST_FILES = 10_000_000, 20
#: Bytes of draws that are held between answers.
CACHE_BYTES = 512 * 2**20
#: What a page may ask with, and what each must be.
_ASKED: Mapping[str, type] = {"scenario": str, "toml": str, "set": dict, "swap": dict, "changes": list, "data": dict}
_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}\.csv", re.ASCII)
#: What an uploaded column says of the quantity that it replaces.
_COLUMN = ("data", "x", "y", "unit", "shape", "keeps")
#: Models that are offered for one quantity at most.
_MOST_MODELS = 60


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
        from forecast.contract.registry import get_registry

        self.draws, self.seed, self.allowed = draws, seed, access.current()
        self.held = RunCache(CACHE_BYTES)
        self._registered = tuple(get_registry().names("scenario"))
        if not first and not self._registered:
            raise UsageError("explore: no plugin offers a scenario: name a file")
        self.first = first or self._registered[0]
        self._load = lru_cache(maxsize=64)(self._loaded)
        self._folder = tempfile.TemporaryDirectory(prefix="forecast-explore-")
        self.folder = Path(self._folder.name)
        self._last: tuple[Mapping[str, Any], Projection, EncodedDraws] | None = None

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *problem: object) -> None:
        self._folder.cleanup()

    # --- scenarios --------------------------------------------------------------------------------------------------

    def library(self) -> list[dict[str, str]]:
        """Return every scenario that can be asked for, the first one first."""
        names = dict.fromkeys([self._load(self.first).name if self._is_registered else self.first, *self._registered])
        return [{"name": name, "title": self._title(name)} for name in names]

    @property
    def _is_registered(self) -> bool:
        return not self.first.lower().endswith(".toml")

    def _title(self, name: str) -> str:
        try:
            return printable(self._load(name).title or name, 200)
        except ForecastError:  # it is named where it is asked for
            return printable(name, 200)

    def _loaded(self, name: str) -> Scenario:
        from forecast.scenarios.scenario import Scenario

        return Scenario.load(name)

    def _scenario(self, asked: Mapping[str, Any]) -> Scenario:
        """Return the scenario that a page asks for, with what it puts in the place of its quantities."""
        from forecast.scenarios.registered import LIMIT_BYTES
        from forecast.scenarios.scenario import Scenario

        name = asked.get("scenario") or self.first
        if name != self.first and name not in self._registered:  # a page names no file
            raise UnknownNameError("scenario", name, [self.first, *self._registered])
        base = self._load(name)
        assert base.folder is not None  # so that what is edited reads no file outside of it
        text = asked.get("toml", "")
        if not text and not asked.get("data"):
            return base
        stated: Mapping[str, Any] = base.stated
        where = f"{Path(base.where).name} as edited"
        if text:
            if len(text.encode(errors="replace")) > LIMIT_BYTES:
                raise ScenarioError(f"{where}: larger than {LIMIT_BYTES:,} bytes")
            try:
                stated = tomllib.loads(text)
            except (ValueError, RecursionError) as error:
                raise ScenarioError(f"{where}: not TOML: {printable(error)}") from None
        replaced = {key: self._uploaded(key, column) for key, column in asked.get("data", {}).items()}
        for key in replaced:
            known = stated.get("quantities", {})
            if key not in known:
                raise UnknownNameError("quantity", key, known, where="data")
        whole = {**stated, "quantities": {**stated.get("quantities", {}), **replaced}} if replaced else stated
        return Scenario.from_dict(whole, name=base.name, where=where, folder=base.folder)

    def _uploaded(self, key: str, column: Any) -> dict[str, Any]:
        """Return a quantity that is a column of an uploaded file."""
        at = f"data {printable(key, 60)}"
        if not isinstance(column, dict) or not all(isinstance(each, str) for each in column.values()):
            raise UsageError(f"{at}: expected texts under {', '.join(_COLUMN)}")
        for name in column:
            if name not in _COLUMN:
                raise UnknownNameError("key", name, _COLUMN, where=at)
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

    def opened(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Return a scenario with everything that can be changed in it."""
        from forecast.scenarios.graph import build

        with self._reach():
            scenario = self._scenario(_checked(asked))
            graph = build(scenario)
            return {
                "scenario": asked.get("scenario") or self.first,
                "title": printable(scenario.title or scenario.name, 200),
                "toml": scenario.to_toml(),
                "choices": {name: list(choice.values) for name, choice in graph.scenario.choices.items()},
                "numbers": [*_numbers(graph), *self._parameters(graph)],
                "models": list(_models(graph)),
                "quantities": [{"name": name, "unit": node.unit} for name, node in graph.quantities.items()],
                "shapes": _shapes(),
            }

    def _parameters(self, graph: ScenarioGraph) -> Iterator[dict[str, Any]]:
        """Walk the parameters of fits that can be set, of every quantity whose model needs no other."""
        from forecast.base.streams import Streams
        from forecast.projection.paths.run_cache import Dependencies
        from forecast.projection.world import ModelFits

        fits = ModelFits(as_of=None, seed=self.seed, rests=Dependencies(graph, self.held, None, self.seed))
        for name, node in graph.quantities.items():
            for made in list(node.models.values())[:1]:
                drawn = (
                    {} if made.inputs else fits.posterior(made, Streams(self.seed, graph.stream(made.name), 0), {}, {})
                )
                units_of = fits[made].settable if drawn else {}
                for own in (each for each in units_of if each in drawn):
                    ends = np.quantile(drawn[own], [0.05, 0.5, 0.95])
                    yield _number(f"{name}.{own}", name, units_of[own], ends, None, own)

    def answer(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer with what is changed: what `forecast.report.page` draws, and how to repeat it."""
        from forecast.report.page.appendices import command
        from forecast.report.page.page_data import answer

        _, run, worlds = self._last = self._answered(asked)
        said = [*run.failures, *run.warnings]
        return {
            "answer": answer(run, worlds),
            "command": command(run),
            "warnings": [printable(text, 400) for text in said],
        }

    def part(self, name: str, asked: Mapping[str, Any]) -> dict[str, str]:
        """Return what stands around that answer on its page: see `forecast.report.page.part`."""
        from forecast.report.page import part

        asked = _checked(asked)
        last = self._last
        _, run, worlds = last if last is not None and last[0] == asked else self._answered(asked)
        with self._reach():
            return {"html": part(name, run, worlds, toml=self._scenario(asked).to_toml())}

    def _answered(self, asked: Mapping[str, Any]) -> tuple[Mapping[str, Any], Projection, EncodedDraws]:
        from forecast.report.page.draw_encoding import EncodedDraws

        run = self.run(asked)
        return asked, run, EncodedDraws(run)

    def run(self, asked: Mapping[str, Any]) -> Projection:
        """Return the projection that a page asks for."""
        from forecast.projection.engine import project
        from forecast.scenarios.quantities.changes import parse

        asked = _checked(asked)
        with self._reach():
            return project(
                self._scenario(asked),
                draws=self.draws,
                seed=self.seed,
                with_=replacements(asked.get("set", {}), asked.get("swap", {})),
                what_if=[parse(text) for text in asked.get("changes", [])],
                keep=self.draws,
                cache=self.held,
            )

    def upload(self, name: str, content: bytes) -> dict[str, Any]:
        """Keep a file of comma-separated values, and say what its columns are."""
        if not _FILE.fullmatch(name):
            raise UsageError(
                f"upload: expected the name of a .csv file, plain letters and digits, got '{printable(name, 80)}'"
            )
        if len(content) > LARGEST:
            raise UsageError(f"upload: {len(content):,} bytes; at most {LARGEST:,} are taken")
        known = [path.name for path in self.folder.iterdir()]
        if name not in known and len(known) >= MOST_FILES:
            raise UsageError(f"upload: {MOST_FILES} files are here already; give this one the name of one of them")
        from forecast import tables

        path = self.folder / name
        path.write_bytes(content)
        self._last = None  # it may have been made from another file of this name
        try:
            columns = list(tables.columns(str(path)))
        except ForecastError:
            path.unlink()
            raise
        return {"name": name, "columns": columns}


def _checked(asked: Mapping[str, Any]) -> Mapping[str, Any]:
    """Refuse what no page of ours asks with."""
    for key, value in asked.items():
        if key not in _ASKED:
            raise UnknownNameError("key", key, _ASKED, where="asked")
        if not isinstance(value, _ASKED[key]):
            raise UsageError(f"asked {key}: expected {_ASKED[key].__name__}, got {type(value).__name__}")
    for key in ("swap", "changes"):
        values = asked.get(key, {})
        if not all(isinstance(each, str) for each in (values.values() if isinstance(values, dict) else values)):
            raise UsageError(f"asked {key}: expected texts")
    return asked


# --- what can be changed ----------------------------------------------------------------------------------------------


def _numbers(graph: ScenarioGraph) -> Iterator[dict[str, Any]]:
    """Walk the stated numbers and the inputs of models: what they lie between, and how far beyond one may go."""
    from forecast.base.distributions import distribution
    from forecast.scenarios.scenario import Prior

    ends = np.array([0.05, 0.5, 0.95])

    lower = graph.scenario.lower
    for name, node in graph.quantities.items():
        if isinstance(node.quantity, Prior) and not node.variants and node.fixed is None:
            yield _number(name, "", node.unit, node.quantity.distribution.ppf(ends), lower.get(name))
    for key, asked in graph.inputs.items():
        model, _, own = key.rpartition(".")
        yield _number(key, model, asked.unit, distribution(asked.distribution, where=key).ppf(ends), asked.lower, own)


def _number(key: str, of: str, unit: str, ends: Any, lower: float | None, label: str = "") -> dict[str, Any]:
    """Return a number that can be set, by its 5, 50 and 95 % ends."""
    low, middle, high = (float(each) for each in ends)
    log = low > 0
    if low == high:  # a fixed one goes an order of magnitude either way
        least, most = (low / 10, low * 10) if log else sorted((0.0, 2 * low)) if low else (-1.0, 1.0)
    elif log:  # as far beyond on either side as it is wide
        least, most = low * (low / high), high * (high / low)
    else:
        least, most = low - (high - low), high + (high - low)
    least = least if lower is None else max(least, lower)
    numbers = {"low": low, "middle": middle, "high": high, "least": least, "most": most}
    return {
        "name": key,
        "label": printable((label or key).replace("_", " "), 80),
        "of": printable(of, 80),
        "unit": unit,
        "log": log and least > 0,
        **{name: value if math.isfinite(value) else None for name, value in numbers.items()},
    }


def _models(graph: ScenarioGraph) -> Iterator[dict[str, Any]]:
    """Walk the quantities that a model makes, with the models that measure the same."""
    from forecast import units
    from forecast.contract.registry import get_registry

    registry = get_registry()
    for name, node in graph.quantities.items():
        if not node.models:
            continue
        own = {made.name for made in node.models.values()}
        fitting = [
            record.full_name
            for record in registry.records("model")
            if units.same_dimension(record.spec.unit, node.unit)  # type: ignore[attr-defined]
        ]
        yield {
            "name": name,
            "own": sorted(own),
            "offered": [each for each in fitting if each not in own][:_MOST_MODELS],
        }


def _shapes() -> list[str]:
    from forecast.contract.registry import get_registry

    return list(get_registry().names("shape"))
