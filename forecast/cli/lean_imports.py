"""xarray, pandas and pint as where neither dask nor pyarrow is installed: for the process of a command.

They import both, where they are there, to recognise arrays and columns that a command never makes: a tenth of a
second of CPU and 50 MB. Whoever imports dask or pyarrow itself gets it: a cluster, a Parquet file, a plugin.

scipy gets the parts of numpy that are used (`forecast.cli.lean_scipy`), and the descriptions of its functions, which a
command never shows, stay as they are.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

from forecast.cli.lean_scipy import COPY, copied_lazily

__all__ = ["LeanImports"]

HIDDEN = ("dask", "pyarrow")
#: The module of scipy that writes a note into the description of each of its functions, and what it reads them with.
NOTING, READER = "scipy.special._support_alternative_backends", "FunctionDoc"
LEAN = (COPY, NOTING, "pandas", "pint", "xarray")


@contextmanager
def _hidden() -> Iterator[None]:
    """Let the import system find none of what is hidden and not imported yet."""
    absent = [name for name in HIDDEN if name not in sys.modules]
    sys.modules.update(dict.fromkeys(absent))  # type: ignore[arg-type] # None says that there is no such module
    try:
        yield
    finally:
        for name in absent:
            if sys.modules.get(name) is None:
                del sys.modules[name]


class _Described:
    """The description of a function as it is: to take it apart and write it anew takes a fiftieth of a second."""

    def __init__(self, function: object) -> None:
        self.function = function

    def __getitem__(self, section: str) -> list[str]:
        return []

    def __str__(self) -> str:
        return f"\n{self.function.__doc__ or ''}"


@contextmanager
def _without_notes() -> Iterator[None]:
    """Have scipy leave the descriptions of its functions alone, where it reads them with what it does today."""
    tools: dict[str, Any] = {}
    with suppress(ImportError):
        tools = vars(import_module("scipy._lib._array_api"))
    reader = tools.get(READER)
    if reader is not None:
        tools[READER] = _Described
    try:
        yield
    finally:
        if reader is not None:
            tools[READER] = reader


#: What is done while a module is imported, where it is not to hide `HIDDEN`.
BESIDE = {COPY: copied_lazily, NOTING: _without_notes}


class _Lean:
    """Runs a module while others are hidden from it."""

    def __init__(self, loader: Any) -> None:
        self.loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        made: ModuleType | None = self.loader.create_module(spec)
        return made

    def exec_module(self, module: ModuleType) -> None:
        spec = module.__spec__
        assert spec is not None
        spec.loader = module.__loader__ = self.loader
        with BESIDE.get(spec.name, _hidden)():
            self.loader.exec_module(module)
            if spec.name == "xarray":
                module.Variable((), 0)  # with its first array it decides which libraries there are


class LeanImports:
    """Put first in ``sys.meta_path``, it finds `LEAN` as everybody does, and hides `HIDDEN` while they are imported."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return how to import one of `LEAN`; of everything else nothing, so that others find it."""
        if fullname not in LEAN:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Lean(spec.loader)  # type: ignore[assignment] # importlib.abc costs three milliseconds
        return spec
