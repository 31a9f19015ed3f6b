"""Bad inputs: plugins that write, raise, return rubbish, exit or fill the memory."""

from __future__ import annotations

from bad_inputs.safety import HOOK
from bad_inputs.table import Case, Row
from forecast.errors import PluginError
from forecast.testing import plugin_checks

LINE = "x,y\n" + "".join(f"{x},{2 * x + 1 + 0.1 * (x % 3)}\n" for x in range(1, 20))
LAWS = """
import sys
from forecast import LawSpec, hookimpl

def writes(parameters, x):
    x *= 2
    return parameters["a"] * x + parameters["b"]

def exits(parameters, x):
    sys.exit(0)

def nothing(parameters, x):
    return None

def short(parameters, x):
    return x[:3]

def grows(parameters, x):
    bytearray(1 << 45)

def draws(parameters, x):
    import random
    return parameters["a"] * x + random.random()

@hookimpl
def forecast_laws():
    for name in ("writes", "exits", "nothing", "short", "grows", "draws"):
        yield LawSpec(name=name, variables={"x": ""}, target=f"{__name__}:{name}", reference="test",
                      example={"a": 2.0, "b": 1.0}, domain={"x": (1.0, 9.0)})
"""
FIT = ("--data", "line.csv", "--start", "a=1,b=1", "--json")


def fitted(number: int, law: str, reason: str) -> Row:
    """A fit of a law whose code misbehaves: exit 1, the law is named, and nothing stands on stdout."""

    def call(case: Case) -> str:
        case.request.getfixturevalue("fake_plugins").add("bad", LAWS)
        return case.run("fit", f"bad/{law}", *FIT).refused(1)

    return Row(
        number, f"a law {law}", {"line.csv": LINE}, call=call, names=(f"law 'bad/{law}'", reason),
        after={"line.csv": LINE},
    )  # fmt: skip


def ended(case: Case) -> str:
    """Check a plugin that ends the process as if all were well."""
    case.request.getfixturevalue("fake_plugins").add("ends", "import os; os._exit(0)")
    return case.run("plugins", "check", "ends").refused(1)


def checked(case: Case) -> None:
    """Let the conformance kit call a law that is another one at every call."""
    case.request.getfixturevalue("fake_plugins").add("bad", LAWS)
    (check,) = (c for c in plugin_checks("bad") if c.label == "law draws: vectorises and leaves its inputs alone")
    check()


ROWS: tuple[Row, ...] = (
    fitted(14, "writes", "read-only"),
    fitted(64, "nothing", "expected real numbers"),
    fitted(64, "short", "shape"),
    Row(65, "a plugin ends Python while it is checked", call=ended,
        names=("plugin 'ends': it ends Python while it is checked: exit status 0",)),
    fitted(66, "exits", "SystemExit: 0"),
    fitted(67, "grows", "MemoryError"),
    Row(70, "a law draws random numbers", call=checked, raises=PluginError, names=("draws random numbers",)),
    Row(66, "a plugin exits at import", call=lambda case: left_out(case, "import sys\nsys.exit(0)"),
        names=("broken", "SystemExit: 0")),
)  # fmt: skip


def left_out(case: Case, source: str) -> str:
    """Load a plugin that ends what loads it, beside a sound one."""
    fakes = case.request.getfixturevalue("fake_plugins")
    fakes.add("broken", source)
    fakes.add("sound", HOOK + "yield LawSpec(name='line', variables={'x': ''}, expression='a*x', reference='test')\n")
    found = {row["name"]: row for row in case.run("plugins", "list", "--json").json["result"]}
    assert found["sound"]["status"] == "loaded"
    assert found["broken"]["status"] == "failed"
    return f"broken {found['broken']['reason']}"
