"""A plugin in one file that the user names: on the command line, or as a value with a slash in ``FORECAST_PLUGINS``.

Its code runs, because the user named it. Nothing in a file of somebody else can name one, and none is looked for.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import threading
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

from forecast.errors import PluginContractError, UsageError, printable

#: Stands where an installed plugin has its distribution.
LOCAL = "local"
#: Held while a file is imported; by the same thread again where one file loads another.
_LOADING = threading.RLock()


@dataclass(frozen=True)
class LocalPlugin:
    """What an entry point is for an installed plugin.

    Parameters
    ----------
    name : str
        That of the file, with hyphens.
    value : str
        The whole path.
    version : str
        What stands in for one: the hash of the file.
    """

    name: str
    value: str
    version: str

    def load(self) -> Any:
        """Import the file, in one thread at a time: a module is in `sys.modules` before it is whole."""
        with _LOADING:
            return self._load()

    def _load(self) -> Any:
        """Import the file under its own name, so that ``target="mine:make"`` finds it; never in place of a module.

        Raises
        ------
        PluginContractError
            If the name cannot be a module's, or is that of another module.
        """
        path, name = Path(self.value), Path(self.value).stem
        if not name.isidentifier():
            raise PluginContractError("the file's name: expected letters, digits and underscores")
        known = sys.modules.get(name)
        if known is None:
            found = importlib.util.find_spec(name)
            place = None if found is None else found.origin
        else:
            place = getattr(known, "__file__", None)
        if (known is not None or found is not None) and (place is None or Path(place).resolve() != path):
            raise PluginContractError(f"another module is called '{name}': give the file a name of its own")
        if known is not None:
            return known
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
        return module


@dataclass(frozen=True)
class ModulePlugin(LocalPlugin):
    """A module, or any object with hooks, that Python code registers while it runs.

    Parameters
    ----------
    module : object
    """

    module: object = None

    def load(self) -> Any:
        """Return the module."""
        return self.module


def module_plugin(module: object, name: str = "") -> ModulePlugin:
    """Return a plugin of a module, by default called as the module is, without ``forecast_`` and with hyphens."""
    own = str(getattr(module, "__name__", type(module).__name__))
    if own == "__main__":  # a script or a notebook is called as its file is
        own = Path(getattr(module, "__file__", None) or "main").stem
    name = name or own.rpartition(".")[2].removeprefix("forecast_").replace("_", "-").lower()
    return ModulePlugin(name=name, value=f"./{own}", version="", module=module)


def is_path(word: str) -> bool:
    """Tell a path from the name of a plugin: it has a slash.

    Examples
    --------
    >>> is_path("./mine.py"), is_path("scaling")
    (True, False)
    """
    return "/" in word or os.sep in word


def local_plugin(path: str) -> LocalPlugin:
    """Return the plugin in this file, whose path counts from the working directory; nothing of it runs yet.

    Raises
    ------
    UsageError
        If there is no such file, or it is not Python's.
    """
    import hashlib

    shown = printable(path)
    if Path(path).suffix != ".py":
        raise UsageError(f"local plugin '{shown}': expected a Python file, NAME.py")
    try:
        whole = Path(path).resolve()
        version = hashlib.sha256(whole.read_bytes()).hexdigest()[:12]
    except (OSError, ValueError) as error:  # ValueError: a path with a zero byte
        why = (getattr(error, "strerror", None) or type(error).__name__).lower()
        raise UsageError(f"local plugin '{shown}': cannot be read: {why}") from error
    return LocalPlugin(name=whole.stem.replace("_", "-"), value=str(whole), version=f"sha256:{version}")


def entry_point(name: str, value: str, group: str) -> EntryPoint | LocalPlugin:
    """Return what loads a plugin of this name: a module, or the file at a path."""
    return local_plugin(value) if is_path(value) else EntryPoint(name, value, group)
