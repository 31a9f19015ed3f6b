"""Presets: settings that somebody published together, under one name.

::

    [presets.nikola]                   # forecast run SCENARIO --preset nikola
    title = "Nikola Jurkovic's parameters"
    source = "AI 2027, Timelines Forecast (April 2025)"
    [presets.nikola.settings]          # what --set takes
    goal = { lognormal = [0.1, 24], width = 0.8 }
    kind = { draw = { super = 0.40, sub = 0.10, exponential = 0.50 } }

A preset is its settings and nothing else: a run with it is the run with the same ``--set``, and so is what is saved.
``preset = "nikola"`` at the top of a file that extends the scenario states these settings in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from forecast.contract.fields import is_number
from forecast.errors import ForecastError, UnknownNameError
from forecast.scenarios.kinds.prior import Prior
from forecast.scenarios.kinds.regime import Regime
from forecast.scenarios.quantities.node import QuantityKind
from forecast.scenarios.renaming import renamed_name
from forecast.scenarios.settings import setting_values

if TYPE_CHECKING:
    from forecast.scenarios.parse import ScenarioReader
    from forecast.scenarios.spec import Choice

#: A preset is called as its authors call it.
_PRESET_NAME_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", re.ASCII)
_PRESET_KEYS = ("title", "source", "settings")


@dataclass(frozen=True, kw_only=True)
class Preset:
    """Settings under one name.

    Parameters
    ----------
    name : str
        What ``--preset`` calls it.
    title : str
        What it is called for people.
    source : str
        Who published these settings, and where.
    settings : mapping of str to object
        What each quantity, input or choice is set to, as `with_` of `forecast.project` takes it.
    """

    name: str
    title: str
    source: str
    settings: Mapping[str, Any]

    @property
    def plain(self) -> dict[str, Any]:
        """The same as plain data."""
        set_to = setting_values.as_text(self.settings)
        return {"preset": self.name, "title": self.title, "source": self.source, "settings": set_to}

    def under(self, alias: str, names: Mapping[str, str]) -> Preset:
        """Return it with a name in front, with other names of quantities and choices."""
        settings = {renamed_name(key, names): value for key, value in self.settings.items()}
        return replace(self, name=f"{alias}.{self.name}", settings=settings)


def read_presets(
    reader: ScenarioReader,
    record: Mapping[str, Any],
    quantities: Mapping[str, QuantityKind],
    choices: Mapping[str, Choice],
) -> Iterator[Preset]:
    """Walk the presets that a scenario states; one that sets what a change took away is left out.

    Raises
    ------
    ScenarioError, UnknownNameError
        Naming file and key.
    """
    for name, stated in reader.mapping(record, "presets", "").items():
        key = f"presets.{name}"
        if not _PRESET_NAME_PATTERN.fullmatch(name):
            raise reader.fail(key, "expected a name of letters, digits, _ and -")
        reader.only(stated, _PRESET_KEYS, key)
        title, source = (reader.text(stated, each, key).strip() for each in ("title", "source"))
        if not title or not source:
            raise reader.fail(f"{key}.{'source' if title else 'title'}", "is empty")
        settings = reader.mapping(stated, "settings", key)
        if not settings:
            raise reader.fail(f"{key}.settings", "is missing: what the preset sets")
        for each, value in settings.items():
            if not isinstance(value, (str, list, tuple, Mapping)) and not is_number(value):
                raise reader.fail(f"{key}.settings.{each}", "expected what --set takes: a number, a text or a table")
        preset = Preset(name=name, title=title, source=source, settings=dict(settings))
        if all(_is_valid_setting(each, value, quantities, choices) for each, value in settings.items()):
            yield preset


def check_presets(
    reader: ScenarioReader,
    record: Mapping[str, Any],
    quantities: Mapping[str, QuantityKind],
    choices: Mapping[str, Choice],
) -> None:
    """Refuse a preset that sets what is not there, or sets it to what it cannot be.

    Raises
    ------
    ScenarioError, UnknownNameError
        Naming file and key.
    """
    for name, stated in record.get("presets", {}).items():
        for key, value in stated["settings"].items():
            where = f"presets.{name}.settings"
            if not setting_values.names_target(key, quantities, choices):
                known = [*quantities, *choices]
                raise UnknownNameError("quantity or choice", key, known, where=f"{reader.where}: {where}")
            try:
                _check_value(key, value, quantities, choices)
            except ForecastError as problem:
                raise reader.fail(where, str(problem)) from None


def find_preset(presets: tuple[Preset, ...], name: str, *, where: str) -> Preset:
    """Return the preset of a name, of one in a scenario that is used also without what stands in front of it.

    Raises
    ------
    UnknownNameError
    """
    for matches in (
        [each for each in presets if each.name == name],
        [each for each in presets if each.name.rpartition(".")[2] == name],
    ):
        if len(matches) == 1:
            return matches[0]
    raise UnknownNameError("preset", name, [each.name for each in presets], where=where)


def not_restated(presets: Mapping[str, Any], record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the presets that a scenario hands on to a record which extends it.

    One of what the record states anew is left out: it was published beside other values than these.
    """
    groups = [record.get(group, {}) for group in ("quantities", "choices", "stocks")]
    own = {name for group in groups if isinstance(group, Mapping) for name in group}

    def free(stated: Any) -> bool:
        settings = stated.get("settings", {}) if isinstance(stated, Mapping) else {}
        return not isinstance(settings, Mapping) or own.isdisjoint(settings)

    return {name: stated for name, stated in presets.items() if free(stated)}


def _check_value(
    key: str, value: object, quantities: Mapping[str, QuantityKind], choices: Mapping[str, Choice]
) -> None:
    """Refuse what a choice, a regime or an uncertain number cannot be; of others the run refuses it."""
    if key in choices:
        for each in setting_values.parse_texts(key, value):
            if each not in choices[key].values:
                raise UnknownNameError(f"value of choice '{key}'", each, choices[key].values)
        return
    quantity = quantities.get(key)
    if isinstance(quantity, Regime):
        quantity.set_to(value, where=f"set {key}")
    elif isinstance(quantity, Prior):
        setting_values.parse_setting(key, value, lambda: quantity.unit)
    elif not isinstance(value, str):
        setting_values.parse_setting(key, value, str)


def _is_valid_setting(
    key: str, value: object, quantities: Mapping[str, QuantityKind], choices: Mapping[str, Choice]
) -> bool:
    try:
        _check_value(key, value, quantities, choices)
    except ForecastError:
        return False
    return setting_values.names_target(key, quantities, choices)
