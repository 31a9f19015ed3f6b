"""Plugins and what they bring. The only module that knows pluggy.

A plugin is imported, and its hooks are checked, before anything is asked; a hook is called when a record of its kind is
asked for first: who fits a law waits for nobody's claims. Whatever lists plugins calls every hook.

Loading is all or nothing for each plugin and nothing for the others: a plugin that fails on import, misspells a hook,
raises in one or returns rubbish is listed as ``failed`` with its reason, nothing that it brought is found from then on,
and the rest goes on.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import os
import threading
import traceback
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import Distribution, EntryPoint, distributions
from types import MappingProxyType, ModuleType
from typing import Any, Literal, TypeVar, get_args, get_type_hints

import pluggy

from forecast.contract import hookspecs
from forecast.contract.fields import reference_fields
from forecast.contract.local_plugins import LOCAL, LocalPlugin, ModulePlugin, is_path, local_plugin, module_plugin
from forecast.contract.plugin_calls import FAILURES, stdout_is_data
from forecast.contract.specs import RECORD_NAME_PATTERN, ClaimSpec, Spec
from forecast.errors import (
    AmbiguousNameError,
    ConflictError,
    PluginContractError,
    PluginError,
    UnknownNameError,
    UsageError,
    nearest,
    one_line,
    printable,
)

T = TypeVar("T")

ENTRY_POINT_GROUP = "forecast.plugins"

#: Hook name to the record it must return.
HOOKS: Mapping[str, type[Spec]] = MappingProxyType(
    {
        name: get_args(get_type_hints(hook)["return"])[0]
        for name, hook in vars(hookspecs).items()
        if hasattr(hook, "forecast_spec")
    }
)

#: The hooks that bring records of one kind: a function is a model too.
_HOOKS_OF: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {spec.kind: tuple(hook for hook, of in HOOKS.items() if of.kind == spec.kind) for spec in HOOKS.values()}
)

Hook = Callable[[], object]
Status = Literal["loaded", "failed", "off"]


@dataclass(frozen=True, kw_only=True)
class Plugin:
    """One entry point and what became of it.

    Parameters
    ----------
    name : str
        The entry point's name; the prefix of everything it brings.
    distribution, version : str
        The installed distribution it came with. A local plugin has the distribution ``local``, and the hash of its file
        for a version.
    value : str
        The module the entry point names; of a local plugin the path of its file.
    status : {"loaded", "failed", "off"}
        ``off``: deselected by ``FORECAST_PLUGINS``.
    reason : str
        Why it failed, in one line.
    title : str
        The first line of its module's docstring.
    traceback : str
        The whole traceback of the failure.
    specs : tuple of Spec
        What it brings, in `Registry.plugins`; the plugin of a record has those of that kind. Empty unless loaded.
    """

    name: str
    distribution: str
    version: str = ""
    value: str = ""
    status: Status = "loaded"
    reason: str = ""
    title: str = ""
    traceback: str = field(default="", repr=False)
    specs: tuple[Spec, ...] = field(default=(), repr=False)

    @property
    def local(self) -> bool:
        """Tell whether it is a file that the user named."""
        return is_path(self.value)

    @property
    def origin(self) -> str:
        """Say where it comes from, for messages."""
        return f"{self.name} ({self.distribution} {self.version})".replace(" )", ")")


@dataclass(frozen=True)
class Record:
    """A record under its full name; its kind says which fields `spec` has."""

    full_name: str
    spec: Any
    plugin: Plugin


@dataclass
class _Source:
    """An entry point: what became of it, its hooks, and what those that were called brought, by kind."""

    plugin: Plugin
    hooks: Mapping[str, Hook] = field(default_factory=dict)
    specs: dict[str, tuple[Spec, ...]] = field(default_factory=dict)


def strict() -> bool:
    """Tell whether ``FORECAST_STRICT`` asks that a plugin's failure be raised."""
    return os.environ.get("FORECAST_STRICT", "") not in ("", "0")


def _split_list(text: str | None) -> list[str]:
    return [w.strip() for w in (text or "").split(",") if w.strip()]


def _parse_selection(text: str | None, valid_names: Collection[str]) -> Callable[[str], bool]:
    """Read ``FORECAST_PLUGINS``: ``none``, ``scaling,brain`` (only these) or ``-brain`` (all but).

    A name both kept and dropped is off. A name that no installed plugin has is an error: a misspelt one would
    select something else in silence. A path, of a local plugin, selects nothing among the others.
    """
    words = [w for w in _split_list(text) if not is_path(w)]
    if words == ["none"]:
        return lambda name: False
    drop = {w[1:] for w in words if w.startswith("-")}
    keep = {w for w in words if not w.startswith("-")}
    for name in sorted(drop | keep):
        if name not in valid_names:
            raise UnknownNameError("plugin", name, valid_names, where="FORECAST_PLUGINS")
    return lambda name: name not in drop and (not keep or name in keep)


def _origin(entry: EntryPoint | LocalPlugin) -> tuple[str, str]:
    """Return the name and version of an entry point's distribution, whose metadata may be broken or missing."""
    if isinstance(entry, LocalPlugin):
        return LOCAL, entry.version
    return ("?", "") if entry.dist is None else _origin_of(entry.dist)


def _origin_of(distribution: Distribution) -> tuple[str, str]:
    try:
        # The head of METADATA is read by hand: `dist.metadata` parses the README in it as e-mail, every time anew,
        # which is a tenth of what a listing costs.
        text = distribution.read_text("METADATA") or distribution.read_text("PKG-INFO") or ""
        head = dict(line.partition(": ")[::2] for line in text.partition("\n\n")[0].splitlines())
        return printable(head.get("Name") or "?", 100), printable(head.get("Version") or "", 60)
    except Exception:  # a broken installation must not end the listing
        return "?", ""


def _normal(distribution: Distribution) -> str:
    """Return a distribution's name by which importlib tells two of one name apart: from its folder's, not METADATA."""
    known = getattr(distribution, "_normalized_name", None)
    return printable(known if isinstance(known, str) else _origin_of(distribution)[0], 100)


def _entry_points() -> tuple[list[EntryPoint | LocalPlugin], list[Plugin]]:
    """Return the entry points of every installed distribution, and those distributions whose list cannot be read.

    `importlib.metadata.entry_points` passes over a list that it may not read, and fails whole where one is not UTF-8.
    """
    entries: list[EntryPoint | LocalPlugin] = []
    unreadable: list[Plugin] = []
    seen: set[str] = set()
    for distribution in distributions():
        name = "?"
        try:
            name = _normal(distribution)
            if name in seen:
                continue
            seen.add(name)
            text = distribution.read_text("entry_points.txt")
            if text is None:
                folder = getattr(distribution, "_path", None)
                if folder is not None and (folder / "entry_points.txt").exists():
                    raise PluginError("it cannot be opened")
            elif ENTRY_POINT_GROUP in text:
                entries += distribution.entry_points.select(group=ENTRY_POINT_GROUP)
        except Exception as error:  # whatever is wrong with one installation is not the others' business
            why = str(error) if isinstance(error, PluginError) else one_line(error, 120)
            reason = f"the list of its entry points, entry_points.txt, cannot be read: {why}"
            unreadable.append(Plugin(name=name, distribution=name, status="failed", reason=reason))
    return entries, unreadable


def _first_doc_line(module: Any) -> str:
    text = module.__doc__ if inspect.ismodule(module) else None
    return printable(text.strip().splitlines()[0]) if isinstance(text, str) and text.strip() else ""


def _unmarked_hooks(module: Any) -> list[str]:
    """List functions that look like hooks and would be passed over in silence."""
    return [
        name
        for name, value in vars(module).items()
        if name.startswith("forecast_")
        and inspect.isfunction(value)
        and value.__module__ == getattr(module, "__name__", None)
        and not hasattr(value, "forecast_impl")
    ]


def _checked_hooks(module: Any, name: str) -> dict[str, Hook]:
    """Register `module` by itself, check every hook, and return those that it has."""
    manager = pluggy.PluginManager("forecast")
    manager.add_hookspecs(hookspecs)
    written_for = getattr(module, "FORECAST_INTERFACE", hookspecs.INTERFACE)
    if not isinstance(written_for, int) or written_for > hookspecs.INTERFACE:
        raise PluginContractError(
            f"it is written for interface {printable(written_for, 20)} of plugins, and this lawcast has "
            f"{hookspecs.INTERFACE}: install a newer lawcast, or an older version of the plugin"
        )
    if unmarked := _unmarked_hooks(module):
        raise PluginContractError(f"{unmarked[0]}: looks like a hook but is not marked with @hookimpl")
    try:
        manager.register(module, name)
        manager.check_pending()
    except pluggy.PluginValidationError as error:
        raise PluginContractError(_hook_fault(manager, module, str(error))) from error
    implementations = ((hook, getattr(manager.hook, hook).get_hookimpls()) for hook in HOOKS)
    return {hook: found[0].function for hook, found in implementations if found}


def _call_hook(hook: str, function: Hook) -> tuple[Spec, ...]:
    """Call one hook and return its records."""
    return tuple(_check_records(hook, HOOKS[hook], function()))


def _call_hooks(hooks: Mapping[str, Hook], kind: str) -> tuple[Spec, ...]:
    """Call a plugin's hooks of one kind and return their records, which agree with each other."""
    specs = [
        spec for hook in _HOOKS_OF[kind] if hook in hooks for spec in _check_records(hook, HOOKS[hook], hooks[hook]())
    ]
    names: set[str] = set()
    for spec in specs:
        if spec.name in names:
            raise PluginContractError(f"{spec.kind} '{spec.name}' is offered twice by this plugin")
        names.add(spec.name)
    _check_aliases([spec for spec in specs if isinstance(spec, ClaimSpec)])
    return tuple(specs)


def _check_aliases(claims: Sequence[ClaimSpec]) -> None:
    """Refuse an alias of claims that means something else already."""
    names = {claim.name for claim in claims}
    groups = {group for claim in claims for group in (claim.group, *claim.also)}
    for claim in claims:
        if claim.alias in names | groups:
            taken = "claim" if claim.alias in names else "group of claims"
            raise PluginContractError(
                f"claim '{claim.name}': alias: there is a {taken} '{printable(claim.alias, 80)}' already"
            )


def _hook_fault(manager: pluggy.PluginManager, module: Any, text: str) -> str:
    unknown = [n for n in dir(module) if n.startswith("forecast_") and hasattr(getattr(module, n), "forecast_impl")]
    unknown = [n for n in unknown if n not in HOOKS]
    if unknown:
        hint = nearest(unknown[0], HOOKS)
        return f"unknown hook '{unknown[0]}'" + (f"; did you mean '{hint}'?" if hint else "")
    return " ".join(text.split())


def _check_records(hook: str, expected: type[Spec], answer: object) -> Iterator[Spec]:
    if isinstance(answer, (str, bytes, Mapping)) or not isinstance(answer, Iterable):
        raise PluginContractError(f"{hook}: expected an iterable of {expected.__name__}, got {type(answer).__name__}")
    for index, record in enumerate(answer):
        if not isinstance(record, expected):
            raise PluginContractError(f"{hook}[{index}]: expected {expected.__name__}, got {type(record).__name__}")
        yield record


def _run_plugin_code(source: _Source, call: Callable[[], None]) -> bool:
    """Run code of a plugin and tell whether it went well; if not, the plugin has failed, and is told why."""
    try:
        with stdout_is_data():
            call()
    except FAILURES as error:
        if strict():
            raise PluginError(f"plugin {source.plugin.origin}: {one_line(error)}") from error
        source.plugin = replace(
            source.plugin, status="failed", reason=one_line(error), traceback=traceback.format_exc()
        )
    return source.plugin.status == "loaded"


class Registry:
    """What the installed plugins bring, under full names ``plugin/name``.

    Parameters
    ----------
    entries : iterable of importlib.metadata.EntryPoint or LocalPlugin, optional
        Default: the entry points of the group ``forecast.plugins``. Local plugins that `select` names come beside them.
    select : str, optional
        As ``FORECAST_PLUGINS``, which is the default.
    """

    def __init__(self, entries: Iterable[EntryPoint | LocalPlugin] | None = None, *, select: str | None = None) -> None:
        installed: list[EntryPoint | LocalPlugin]
        installed, unreadable = _entry_points() if entries is None else (list(entries), [])
        selection = os.environ.get("FORECAST_PLUGINS") if select is None else select
        chosen = _parse_selection(selection, sorted({e.name for e in installed}))
        local = [local_plugin(word) for word in _split_list(selection) if is_path(word)]
        here = _REGISTERED if entries is None else ()
        unique = {(e.name, *_origin(e), e.value): e for e in (*installed, *local, *here)}
        loaded = [self._import_plugin(unique[key], key[1], key[2], chosen) for key in sorted(unique)]
        self._sources = sorted([*loaded, *map(_Source, unreadable)], key=lambda source: source.plugin.name)
        self._kinds_called: set[str] = set()
        self._kinds_in_call: set[tuple[int, str]] = set()
        self._offers: dict[str, dict[str, list[Record]]] = {}
        self._settled_offers: dict[str, dict[str, list[Record]]] = {}
        self._plugins: tuple[Plugin, ...] | None = None
        if strict():
            self.complete()

    @property
    def installed(self) -> tuple[Plugin, ...]:
        """Every plugin as far as it is known: hooks of it that have not been called may fail yet."""
        return tuple(source.plugin for source in self._sources)

    def complete(self) -> Registry:
        """Call every hook and return the registry: what tells of failed plugins then shows nothing of theirs."""
        self._call(*_HOOKS_OF)
        return self

    @property
    def plugins(self) -> tuple[Plugin, ...]:
        """Every plugin, what it brings and what became of it: every hook is called."""
        self.complete()
        if self._plugins is None:
            self._plugins = tuple(
                replace(source.plugin, specs=tuple(spec for kind in _HOOKS_OF for spec in source.specs.get(kind, ())))
                for source in self._sources
            )
        return self._plugins

    def _import_plugin(
        self, entry: EntryPoint | LocalPlugin, distribution: str, version: str, chosen: Callable[[str], bool]
    ) -> _Source:
        """Import a plugin and check its hooks; none is called."""
        source = _Source(Plugin(name=entry.name, distribution=distribution, version=version, value=entry.value))
        if not (source.plugin.local or chosen(entry.name)):
            source.plugin = replace(source.plugin, status="off", reason="deselected by FORECAST_PLUGINS")
            return source

        def load() -> None:
            if not RECORD_NAME_PATTERN.fullmatch(entry.name):
                named = "the file's" if source.plugin.local else "the entry point's"
                raise PluginContractError(f"{named} name: expected lower case letters, digits and hyphens")
            module = entry.load()
            source.plugin = replace(source.plugin, title=_first_doc_line(module))
            source.hooks = _checked_hooks(module, entry.name)

        _run_plugin_code(source, load)
        return source

    def _call(self, *kinds: str) -> None:
        """Call the hooks of these kinds that have not been called yet."""
        for kind in kinds:
            if kind in self._kinds_called:
                continue
            in_call = threading.get_ident(), kind
            if in_call in self._kinds_in_call:
                raise PluginContractError(f"it asks for every {kind} while its own are not known yet")
            self._kinds_in_call.add(in_call)
            try:
                for source in self._sources:
                    if any(hook in source.hooks for hook in _HOOKS_OF[kind]):
                        self._call_one(source, kind)
            finally:
                self._kinds_in_call.discard(in_call)
            self._kinds_called.add(kind)

    def _call_one(self, source: _Source, kind: str) -> None:
        def call() -> None:
            source.specs[kind] = _call_hooks(source.hooks, kind)

        if not _run_plugin_code(source, call):  # what it brought before is found no more
            source.hooks, source.specs = {}, {}
            self._offers.clear()
            self._settled_offers.clear()
            self._plugins = None

    def _records_by_name(self, kind: str) -> Mapping[str, list[Record]]:
        """Return the records of one kind by their full names, as they were brought."""
        if kind not in _HOOKS_OF:
            return {}
        self._call(kind)
        table = self._offers.get(kind)
        if table is None:
            table = {}
            for source in self._sources:
                plugin = replace(source.plugin, specs=source.specs.get(kind, ()))
                for spec in plugin.specs:
                    record = Record(f"{plugin.name}/{spec.name}", spec, plugin)
                    table.setdefault(record.full_name, []).append(record)
            self._offers[kind] = table
        return table

    def _table(self, kind: str) -> Mapping[str, list[Record]]:
        """Return the records of one kind by their full names, each naming others as its own distribution does."""
        offered = self._records_by_name(kind)
        table = self._settled_offers.get(kind)
        if table is None:
            table = {
                name: [replace(each, spec=self._with_own_references(each.spec, each.plugin)) for each in records]
                for name, records in offered.items()
            }
            self._settled_offers[kind] = table
        return table

    def plugin(self, name: str) -> Sequence[Plugin]:
        """Return the plugins of that name (several where distributions clash).

        Raises
        ------
        UnknownNameError
            If there is none.
        """
        named = [p for p in self.plugins if p.name == name]
        if not named:
            raise UnknownNameError("plugin", name, [p.name for p in self.plugins])
        return named

    def records(self, kind: str, *, parts: bool = True) -> list[Record]:
        """Return every record of one kind (``"law"``), sorted by full name; clashing ones appear once each.

        Scenarios that are parts of others may be left out: a list has no place for them.
        """
        table = self._table(kind)
        every = [record for name in sorted(table) for record in table[name]]
        return every if parts else [each for each in every if not getattr(each.spec, "part", False)]

    def names(self, kind: str, *, parts: bool = True) -> list[str]:
        """Return the full names of one kind that resolve; as `records`, also without parts."""
        table = self._table(kind)
        return [each.full_name for each in self.records(kind, parts=parts) if len(table[each.full_name]) == 1]

    def find(self, kind: str, name: str, *, where: str = "", near: Callable[[], Iterable[str]] = tuple) -> Record:
        """Return the record of that name: full (``scaling/power``), or bare while unique.

        Where two distributions offer a full name, ``distribution::plugin/name`` names one of them, and is then its full
        name. `near` gives further names that one which is unknown may have been meant for.

        Raises
        ------
        UnknownNameError, AmbiguousNameError, ConflictError
        """
        at = f"{where}: " if where else ""
        if not isinstance(name, str):
            raise UsageError(f"{at}expected the name of a {kind}, got {type(name).__name__}")
        table, name, full = self._named(kind, name, where)
        if not full:
            raise UnknownNameError(kind, name, [*table, *near()], where=where, note=self._absence_text(name))
        if len(full) > 1:
            who = ", ".join(full)
            raise AmbiguousNameError(f"{at}{kind} '{printable(name, 80)}' is offered by several plugins: {who}")
        offers = table[full[0]]
        if len(offers) > 1:
            makers = sorted({r.plugin.distribution for r in offers})
            hint = f"; name one: '{makers[0]}::{full[0]}'" if len(makers) > 1 else ""
            raise ConflictError(
                f"{at}{kind} '{full[0]}' is offered by two distributions, {' and '.join(makers)}: "
                f"it resolves to neither{hint}"
            )
        return offers[0]

    def get(self, kind: str, name: str) -> Record | None:
        """Return the record of that name, as `find` does; None for one that is unknown, of which no error is made.

        Raises
        ------
        AmbiguousNameError, ConflictError
        """
        distribution, apart, _ = name.rpartition("::")
        if apart and distribution not in {p.distribution for p in self.installed}:
            return None
        return self.find(kind, name) if self._named(kind, name)[2] else None

    def _named(self, kind: str, name: str, where: str = "") -> tuple[Mapping[str, list[Record]], str, list[str]]:
        """Return the records to look in, the name without its distribution, and the full names that it may be."""
        distribution, apart, name = name.rpartition("::")
        table = self._of_distribution(kind, distribution, where) if apart else self._table(kind)
        return table, name, [name] if name in table else sorted(n for n in table if n.partition("/")[2] == name)

    def at_home(self, kind: str, name: str, plugin: Plugin) -> str:
        """Return a name as what this plugin brings means it: its own distribution's, where others bring it too.

        A name that only one brings stays as it is, and so does one that says its distribution. Of a name that choices
        complete (``bioscale/{estimate}``) the plugin is looked at.
        """
        head, at, beside = name.partition("@")
        if at and kind == "model" and "{" not in head:
            return f"{self.at_home(kind, head, plugin)}@{self.at_home('shape', beside, plugin)}"
        first, slash, bare = head.rpartition("/")
        if not head or "::" in name or "{" in first or (not slash and "{" in head):
            return name
        mine = plugin.distribution
        if "{" in bare:
            clash = {p.distribution for p in self.installed if p.name == first}
            return f"{mine}::{name}" if len(clash) > 1 and mine in clash else name
        if slash and sum(source.plugin.name == first for source in self._sources) < 2:
            return name
        table = self._records_by_name(kind)
        offers = table.get(head, ()) if slash else [r for rs in table.values() for r in rs if r.spec.name == head]
        own = [r for r in offers if r.plugin.distribution == mine]
        own = [r for r in own if r.plugin.name == plugin.name] or own
        if len(offers) < 2 or len(own) != 1:
            return name
        full = own[0].full_name
        return f"{mine}::{full}{at}{beside}" if len(table[full]) > 1 else f"{full}{at}{beside}"

    def _with_own_references(self, spec: T, plugin: Plugin) -> T:
        """Return a record whose references are those of its own distribution first (`at_home`)."""
        changed: dict[str, Any] = {}
        made: Any = type(spec)  # hashable, which mypy doubts of a class
        for name, kind in reference_fields(made):
            stated: Any = getattr(spec, name)
            meant: Any
            if isinstance(stated, str):
                meant = self.at_home(kind, stated, plugin)
            elif isinstance(stated, tuple):
                meant = tuple(
                    self.at_home(kind, each, plugin) if kind else self._with_own_references(each, plugin)
                    for each in stated
                )
            elif kind == "fact":
                parts = ((key, *text.rpartition(".")) for key, text in stated.items())
                meant = {key: f"{self.at_home('model', of, plugin)}{dot}{fact}" for key, of, dot, fact in parts}
            else:
                meant = {self.at_home(kind, key, plugin): value for key, value in stated.items()}
            if meant != stated:
                changed[name] = meant
        return replace(spec, **changed) if changed else spec  # type: ignore[type-var]

    def _of_distribution(self, kind: str, distribution: str, where: str) -> dict[str, list[Record]]:
        """Return the records that one distribution brings; those that clash have the distribution in their name."""
        makers = {p.distribution for p in self.installed}
        if distribution not in makers:
            raise UnknownNameError("distribution", distribution, makers, where=where)
        table: dict[str, list[Record]] = {}
        for full, offers in self._table(kind).items():
            own = [r for r in offers if r.plugin.distribution == distribution]
            if own:
                apart = len(offers) > len(own)
                table[full] = [replace(r, full_name=f"{distribution}::{full}") for r in own] if apart else own
        return table

    def _absence_text(self, name: str) -> str:
        """Say why a plugin named before the slash brings nothing, where it is installed but not loaded."""
        for p in self.installed:
            if name.startswith(f"{p.name}/") and p.status != "loaded":
                return f"plugin {p.origin} is {p.status}: {p.reason}"
        return ""


def import_target(target: str, *, what: str) -> Any:
    """Import ``"module:attribute"`` as named in a record.

    Raises
    ------
    PluginError
        Naming `what` (``"shape trends/exponential"``), if the import fails for any reason or the attribute is missing.
    """
    module_name, _, attribute = target.partition(":")
    try:
        with stdout_is_data():
            return getattr(importlib.import_module(module_name), attribute)
    except FAILURES as error:
        raise PluginError(f"{what}: cannot load '{printable(target)}': {one_line(error)}") from error


#: What Python code has registered in this process.
_REGISTERED: list[ModulePlugin] = []


def register(*brought: object, name: str = "") -> list[str]:
    """Register a module's records, or records alone, in this process, as ``--plugin`` does on the command line.

    What is registered again under a name replaces what was brought before.

    Parameters
    ----------
    *brought : module, object or records
        A module (or ``__main__``) with functions that are marked ``@forecast.hookimpl``; or records:
        ``register(LawSpec(…), ModelSpec(…), name="mine")``.
    name : str
        Of the plugin; by default that of the module, without ``forecast_`` and with hyphens, and ``mine`` of records.

    Returns
    -------
    list of str
        The full names of its records.

    Raises
    ------
    PluginError
        If it cannot be loaded, or brings nothing.

    Examples
    --------
    >>> import types, forecast
    >>> mine = types.ModuleType("mine")
    >>> def forecast_laws():
    ...     return [forecast.LawSpec(name="half", title="Half", expression="a*x/2", variables={"x": ""},
    ...                              reference="ours")]
    >>> mine.forecast_laws = forecast.hookimpl(forecast_laws)
    >>> forecast.register(mine), forecast.law("mine/half").text
    (['mine/half'], 'y = a*x/2')
    >>> forecast.unregister("mine")
    >>> third = forecast.LawSpec(name="third", title="Third", expression="a*x/3", variables={"x": ""}, reference="ours")
    >>> forecast.register(third, name="thirds")
    ['thirds/third']
    >>> forecast.unregister("thirds")
    """
    records = [each for each in brought if isinstance(each, Spec)]
    if len(brought) != 1 and (not brought or len(records) != len(brought)):
        raise UsageError("register: expected one module, or records such as LawSpec(…)")
    entry = module_plugin(_module_of(records), name or "mine") if records else module_plugin(brought[0], name)
    loaded = Registry([entry]).plugins[0]
    if loaded.status != "loaded":
        raise PluginError(f"register '{printable(entry.name, 60)}': {loaded.reason}")
    if not loaded.specs:
        raise PluginError(f"register '{printable(entry.name, 60)}': it brings nothing: no function is marked @hookimpl")
    _REGISTERED[:] = [each for each in _REGISTERED if each.name != entry.name] + [entry]
    get_registry.cache_clear()
    return [f"{entry.name}/{spec.name}" for spec in loaded.specs]


def _module_of(records: Sequence[Spec]) -> ModuleType:
    """Return a module whose hooks bring these records."""
    module = ModuleType("mine")
    for hook, kind in HOOKS.items():
        own = tuple(each for each in records if isinstance(each, kind))
        if own:
            setattr(module, hook, hookspecs.hookimpl(_make_hook(hook, own)))
    return module


def _make_hook(hook: str, records: tuple[Spec, ...]) -> Hook:
    def bring() -> tuple[Spec, ...]:
        return records

    bring.__name__ = hook
    return bring


def unregister(name: str) -> None:
    """Take out what `register` brought under the name of a plugin.

    Raises
    ------
    UnknownNameError
        If nothing is registered under it.
    """
    known = [each.name for each in _REGISTERED]
    if name not in known:
        raise UnknownNameError("registered plugin", name, known)
    _REGISTERED[:] = [each for each in _REGISTERED if each.name != name]
    get_registry.cache_clear()


@functools.cache
def get_registry() -> Registry:
    """Return the registry of this process; ``get_registry.cache_clear()`` makes the next call load anew."""
    return Registry()
