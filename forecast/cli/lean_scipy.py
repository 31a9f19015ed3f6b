"""scipy without the parts of numpy that a command never uses: a tenth of what a first fit takes.

scipy copies all names of numpy into a namespace of its own, and thereby imports numpy's compiler of Fortran, its tools
for tests, masked arrays, polynomials and generators of random numbers. While it copies, numpy lists of its parts those
that are there already; the copy has the others too, and imports each at its first use. In somebody else's Python
nothing of numpy or scipy is touched.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

__all__ = ["COPY", "copied_lazily"]

#: The module of scipy that copies the names of numpy.
COPY = "scipy._lib.array_api_compat.numpy"


@contextmanager
def copied_lazily() -> Iterator[None]:
    """Have the copy that is imported in this context take what numpy has imported, and the rest at its first use."""
    import numpy as np

    parts = frozenset(getattr(np, "__numpy_submodules__", ()))
    left = frozenset(name for name in parts if name not in vars(np))
    before: dict[str, Any] = {name: vars(np)[name] for name in ("__all__", "__numpy_submodules__") if name in vars(np)}
    vars(np).update({name: type(names)(each for each in names if each not in left) for name, names in before.items()})
    try:
        yield
    finally:
        vars(np).update(before)
    copy = sys.modules.get(COPY)
    if copy is not None and "__getattr__" not in vars(copy):
        vars(copy)["__getattr__"] = _at_first_use(np, left)


def _at_first_use(numpy: ModuleType, names: frozenset[str]) -> Any:
    def attribute(name: str) -> Any:
        if name in names:
            return getattr(numpy, name)
        raise AttributeError(f"module '{COPY}' has no attribute '{name}'")

    return attribute
