"""xarray, pandas and pint as where neither dask nor pyarrow is installed: for the process of a command.

They import both, where they are there, to recognise arrays and columns that a command never makes: a tenth of a
second of CPU and 50 MB. Whoever imports dask or pyarrow itself gets it: a cluster, a Parquet file, a plugin.

scipy copies all names of numpy into a namespace of its own, and thereby imports numpy's compiler of Fortran and its
tools for tests: a twentieth of a second. It gets empty modules in their place; whoever imports them gets them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

__all__ = ["LeanImports"]

HIDDEN = ("dask", "pyarrow")
#: The module of scipy that copies the names of numpy, and those that are copied and never used.
COPYING, UNUSED = "scipy._lib._array_api", ("f2py", "testing")
LEAN = ("pandas", "pint", COPYING, "xarray")


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


@contextmanager
def _stood_in() -> Iterator[None]:
    """Let numpy have empty modules in the place of those that are not used and not imported yet."""
    import numpy as np

    stand_ins = {name: ModuleType(f"numpy.{name}") for name in UNUSED if name not in vars(np)}
    vars(np).update(stand_ins)
    try:
        yield
    finally:
        for name, module in stand_ins.items():
            if vars(np).get(name) is module:
                delattr(np, name)


class _Lean(Loader):
    """Runs a module while others are hidden from it."""

    def __init__(self, loader: Loader) -> None:
        self.loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        spec = module.__spec__
        assert spec is not None
        spec.loader = module.__loader__ = self.loader
        with _stood_in() if spec.name == COPYING else _hidden():
            self.loader.exec_module(module)
            if spec.name == "xarray":
                module.Variable((), 0)  # with its first array it decides which libraries there are


class LeanImports(MetaPathFinder):
    """Put first in ``sys.meta_path``, it finds `LEAN` as everybody does, and hides `HIDDEN` while they are imported."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return how to import one of `LEAN`; of everything else nothing, so that others find it."""
        if fullname not in LEAN:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Lean(spec.loader)
        return spec
