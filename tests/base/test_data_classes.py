"""A dataclass that is finished at its first use is that of the standard library, whatever uses it first."""

from __future__ import annotations

import ast
import copy
import dataclasses
import inspect
import pickle
import re
import threading
from pathlib import Path
from typing import Any, ClassVar

import pytest

import forecast
from forecast.base.first_use import data_classes

FROZEN = [{"frozen": True}, {"frozen": True, "kw_only": True}, {"frozen": True, "eq": False}]
OPTIONS = [{}, {"kw_only": True}, {"eq": False}, {"repr": False}, {"order": True}, {"slots": True}, *FROZEN]


def classes(dataclass: Any, options: dict[str, Any]) -> tuple[type, type, type]:
    """Return a class, one that inherits it, and one that is no dataclass itself."""

    @dataclass(**options)
    class Point:
        """A point."""

        kind: ClassVar[str] = "point"

        x: float
        y: float = 0.0
        marks: list[str] = dataclasses.field(default_factory=list, compare=False)
        hidden: str = dataclasses.field(default="h", repr=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "y", self.y + 1)

    @dataclass(**options)
    class Named(Point):
        """A point with a name."""

        name: str = "a"

        def __repr__(self) -> str:
            return f"<{self.name}>"

    class Own(Named):
        """No dataclass."""

        def __init__(self, x: float) -> None:
            super().__init__(x=x, name="own")

    return Point, Named, Own


def said(call: Any) -> Any:
    """Return what a call returns, or what it raises."""
    try:
        return call()
    except Exception as error:
        return type(error), str(error)


#: What a class may meet first, each with a fresh one.
USES = {
    "repr": lambda c: re.sub("0x[0-9a-f]+", "", repr(c(x=1.0, y=2.0))),
    "no argument": lambda c: said(c),
    "a wrong argument": lambda c: said(lambda: c(x=1.0, z=3)),
    "by position": lambda c: said(lambda: c(1.0, 2.0).y),
    "equal": lambda c: [c(x=1.0) == c(x=1.0), c(x=1.0) == c(x=2.0), c(x=1.0) == 1.0, c(x=1.0) != c(x=1.0)],
    "hash": lambda c: said(lambda: len(dict.fromkeys((c(x=1.0), c(x=1.0)), 0))),
    "less": lambda c: said(lambda: c(x=1.0) < c(x=2.0)),
    "assign": lambda c: said(lambda: setattr(c(x=1.0), "x", 2.0)),
    "delete": lambda c: said(lambda: delattr(c(x=1.0), "x")),
    "fields": lambda c: [(f.name, f.type, f.kw_only) for f in dataclasses.fields(c)],
    "replace": lambda c: said(lambda: dataclasses.replace(c(x=1.0), y=5.0).y),
    "asdict": lambda c: dataclasses.asdict(c(x=1.0, marks=["m"])),
    "copies": lambda c: (copy.copy(c(x=1.0)).y, copy.deepcopy(c(x=1.0)).y),
    "signature": lambda c: str(inspect.signature(c)),
    "matched": lambda c: c.__match_args__,
    "is one": lambda c: (dataclasses.is_dataclass(c), c.__dataclass_params__.frozen, c.__doc__, c.kind),
    "not by init": lambda c: said(lambda: c.__new__(c) == c.__new__(c)),
}


@pytest.mark.parametrize("which", [0, 1], ids=["base", "inherits"])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("use", USES)
def test_it_is_that_of_the_standard_library(use, options, which):
    theirs, ours = (classes(d, options)[which] for d in (dataclasses.dataclass, data_classes.dataclass))
    assert USES[use](ours) == USES[use](theirs)
    assert USES[use](ours) == USES[use](theirs)  # and so it stays


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_class_that_inherits_and_is_none_itself(options):
    theirs, ours = (classes(d, options)[2](1.0) for d in (dataclasses.dataclass, data_classes.dataclass))
    assert (repr(ours), ours.y, ours.name) == (repr(theirs), theirs.y, theirs.name)


def test_one_of_the_standard_library_may_inherit_ours():
    frozen, _, _ = classes(data_classes.dataclass, {"frozen": True})
    mine = dataclasses.dataclass(frozen=True)(type("Mine", (frozen,), {"__annotations__": {"more": "int"}, "more": 3}))
    assert (mine(x=1.0).more, mine(x=1.0).y) == (3, 1.0)
    with pytest.raises(TypeError, match="cannot inherit non-frozen dataclass from a frozen one"):
        dataclasses.dataclass(type("Loose", (frozen,), {}))


@pytest.mark.parametrize("options", [{}, {"init": False}, {"frozen": True}], ids=str)
def test_a_class_that_has_its_own_init_keeps_it(options):
    def made(dataclass):
        @dataclass(**options)
        class Own:
            x: float
            y: float = dataclasses.field(default=2.0, compare=False)

            def __init__(self, half: float) -> None:
                object.__setattr__(self, "x", 2 * half)

        return Own(half=1.5), Own.y, Own(1.5) == Own(1.5)

    theirs, ours = made(dataclasses.dataclass), made(data_classes.dataclass)
    assert (repr(ours[0]), *ours[1:]) == (repr(theirs[0]), *theirs[1:])


@data_classes.dataclass(frozen=True)
class Kept:
    """One that a file may hold."""

    x: float = 0.0


def test_what_comes_from_a_pickle_is_finished_too():
    state = pickle.dumps(Kept(2.0))
    again = data_classes.dataclass(frozen=True)(type("Kept", (), {"__annotations__": {"x": "float"}, "x": 0.0}))
    again.__module__, again.__qualname__ = Kept.__module__, "Kept"
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(globals(), "Kept", again)
        one, two = pickle.loads(state), pickle.loads(state)
    assert type(one) is again
    assert (hash(one) == hash(two), one == two, repr(one)) == (True, True, "Kept(x=2.0)")
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.x = 3.0


def test_of_two_threads_one_finishes_it():
    for _ in range(20):
        point, _, _ = classes(data_classes.dataclass, {"frozen": True})
        found: list[Any] = []
        gate = threading.Barrier(4)

        def make(point: Any = point, found: list[Any] = found, gate: threading.Barrier = gate) -> None:
            gate.wait()
            found.append(said(lambda: repr(point(1.0))))

        threads = [threading.Thread(target=make) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert set(found) == {"classes.<locals>.Point(x=1.0, y=1.0, marks=[])"}


def test_the_framework_makes_its_own_this_way():
    """One that is made at import costs every command as much as ten that are not."""
    home = Path(forecast.__file__).parent
    at_once = [
        str(path.relative_to(home))
        for path in home.rglob("*.py")
        if path.name != "data_classes.py" and "templates" not in path.parts
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module == "dataclasses"
        if "dataclass" in [alias.name for alias in node.names]
    ]
    assert not at_once
