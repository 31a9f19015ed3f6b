"""Bad inputs: safety."""

from __future__ import annotations

import io
import os
import pickle
import zipfile

import numpy as np

from bad_inputs.table import Case, Row
from forecast.contract.registry import get_registry
from forecast.errors import ConflictError, DataError, FormulaError
from forecast.formula import check_name
from forecast.laws import Law
from forecast_datasets import curves

TABLE = "x,y\n" + "".join(f"{x},{2 + 3 / x}\n" for x in range(1, 13))
SYSTEM = "__import__('os').system('touch marker')"
WAY_OUT = "().__class__.__base__.__subclasses__()[0].__init__.__globals__['system']('touch marker')"
LINE = ("--variables", "x", "--data", "runs.csv")
HOOK = "from forecast import LawSpec, hookimpl\n@hookimpl\ndef forecast_laws():\n    "
SOUND = HOOK + "yield LawSpec(name='line', variables={'x': ''}, expression='a*x', reference='test')\n"


class Payload:
    """Whoever unpickles it makes the file ``marker``."""

    def __reduce__(self):
        return os.system, ("touch marker",)


PICKLE = pickle.dumps(Payload())


def npy() -> bytes:
    written = io.BytesIO()
    np.save(written, np.array([Payload()], dtype=object), allow_pickle=True)
    return written.getvalue()


def npz() -> bytes:
    written = io.BytesIO()
    np.savez(written, x=np.array([Payload()], dtype=object))
    return written.getvalue()


def fitted(number: int, law: str, *names: str) -> Row:
    """A formula that the command line refuses: exit 2, the construct is named, and nothing is run or written."""
    return Row(
        number,
        f"formula {law[:40]}".replace("/", ":"),
        files={"runs.csv": TABLE},
        command=("fit", law, *LINE),
        exit_code=2,
        names=names,
        after={"marker": None, "runs.csv": TABLE},
    )


def refused_law(number: int, text: str, *names: str) -> Row:
    return Row(
        number,
        f"law {text[:30]}".replace("/", ":"),
        call=lambda case: Law(text, variables=["x"]),
        raises=FormulaError,
        names=names,
        after={"marker": None},
    )


def broken(source: str, *, reason: str):
    """Load a broken plugin beside a sound one; what is told of the first, while the second is there."""

    def call(case: Case) -> str:
        fakes = case.request.getfixturevalue("fake_plugins")
        fakes.add("broken", source)
        fakes.add("sound", SOUND)
        (found,) = get_registry().plugin("broken")
        assert (found.status, found.specs) == ("failed", ())
        assert get_registry().find("law", "sound/line")
        assert reason in found.reason
        return f"{found.name} {found.reason} {found.traceback}"

    return call


def taken(case: Case) -> None:
    owner, _, law = get_registry().names("law")[0].partition("/")
    fakes = case.request.getfixturevalue("fake_plugins")
    fakes.add(owner, SOUND.replace("'line'", repr(law)), distribution="intruder")
    get_registry().find("law", f"{owner}/{law}")


def hundred(case: Case) -> str:
    fakes = case.request.getfixturevalue("fake_plugins")
    for number in range(99):
        fakes.add(f"p{number:02}", SOUND, distribution=f"maker-{number:02}")
    fakes.add("bad", "raise ImportError('nope')", distribution="maker-bad")
    mine = [plugin for plugin in get_registry().plugins if plugin.distribution.startswith("maker-")]
    assert sum(plugin.status == "loaded" for plugin in mine) == 99
    return str([(plugin.name, plugin.reason) for plugin in mine if plugin.status == "failed"])


def opened(name: str, content: bytes = b"", mode: int = 0o100644):
    """Read an archive of performance curves with one member of that name."""

    def call(case: Case) -> None:
        member = zipfile.ZipInfo(name)
        member.create_system, member.external_attr, member.compress_type = 3, mode << 16, zipfile.ZIP_DEFLATED
        with zipfile.ZipFile("a.zip", "w") as made:
            made.writestr(member, content)
        curves.performance_curves_archive(case.folder / "a.zip")

    return call


def nothing_unpacked(case: Case, _: object) -> None:
    assert [path.name for path in case.folder.iterdir()] == ["a.zip"]


def printed(case: Case) -> str:
    """List the plugins as JSON where one prints when it is imported and when it is asked."""
    fakes = case.request.getfixturevalue("fake_plugins")
    fakes.add("loud", "print('at import')\n" + HOOK + "print('in hook')\n    return []")
    found = case.run("plugins", "list", "--json")
    assert found.code == 0
    assert found.err.split("\n")[:2] == ["at import", "in hook"]
    return str([row["name"] for row in found.json["result"] if row["name"] == "loud"])


def bounded_loss(case: Case, outcome) -> None:
    found = outcome.parameters["a"]
    assert found["lower"] < found["value"] < found["upper"]
    assert found["identified"]


ROWS: tuple[Row, ...] = (
    *(
        Row(4, f"a parameter named {label}", call=lambda case, name=name: check_name(name), raises=FormulaError,
            names=("name",), after={"marker": None})
        for label, name in (("a call", SYSTEM), ("a dunder", "__x"), ("65 letters", "x" * 65), ("a newline", "x\n"))
    ),
    Row(4, "a column named a call", {"runs.csv": TABLE.replace("y", f'"{SYSTEM}"', 1)},
        ("fit", "a/x + b", *LINE, "--y", SYSTEM), after={"marker": None}),
    *(
        Row(5, f"a name that shadows {name}", call=lambda case, name=name: check_name(name), raises=FormulaError,
            names=(f"try '{name}_'",))
        for name in ("exp", "pi", "lambda", "None")
    ),
    *(
        Row(12, f"a zip with {label}", call=opened(name, b"/etc/passwd", mode), raises=DataError,
            names=("a.zip: ", "the archive is refused"), holds=nothing_unpacked)
        for label, name, mode in (
            ("a way up", "../expCurveData/evil.csv", 0o100644),
            ("an absolute member", "/etc/expCurveData/evil.csv", 0o100644),
            ("a symbolic link", "top/expCurveData/Link.csv", 0o120777),
        )
    ),
    Row(13, "a zip bomb", call=opened("top/expCurveData/Bomb.csv", b"0" * 1_000_000), raises=DataError,
        names=("a.zip: ", "'Bomb' is larger than 131,072 bytes"), holds=nothing_unpacked),
    Row(68, "a plugin prints", call=printed, names=("['loud']",)),
    Row(76, "a formula that overflows on the way",
        {"runs.csv": "x,y\n" + "".join(f"{i * 100_000},{1 + 0.1 * i + 0.003 * (i % 3)}\n" for i in range(1, 11))},
        ("fit", "A*exp(a*x)", *LINE, "--json"), holds=bounded_loss),
    fitted(1, SYSTEM, "attribute access '.system'"),
    refused_law(1, SYSTEM, "attribute access '.system'"),
    fitted(2, WAY_OUT, "no function"),
    refused_law(2, "a*x[0]", "outside the grammar"),
    *(
        Row(7, f"a pickle as {name}", {name: PICKLE}, ("fit", "a*x", "--variables", "x", "--data", f"./{name}"),
            exit_code=code, names=(name,), after={"marker": None, name: PICKLE})
        for name, code in (("runs.csv", 1), ("runs.pkl", 2))
    ),
    Row(7, "a pickle as a fit", {"fit.nc": PICKLE}, ("predict", "fit.nc", "x=1"), exit_code=1, names=("fit.nc: ",),
        after={"marker": None, "fit.nc": PICKLE}),
    *(
        Row(8, f"objects in {name}", {name: content}, ("fit", "a*x", "--variables", "x", "--data", name), exit_code=2,
            names=(name,), after={"marker": None, name: content})
        for name, content in (("a.npy", npy()), ("a.npz", npz()))
    ),
    Row(15, "a plugin takes the name of an installed law", call=taken, raises=ConflictError,
        names=("intruder", "lawcast")),
    Row(71, "one broken of a hundred plugins", call=hundred, names=("[('bad', 'ImportError: nope')]",)),
    Row(63, "a plugin raises at import", call=broken("raise RuntimeError('boom')", reason="RuntimeError: boom"),
        names=("broken", "Traceback")),
    Row(63, "a plugin raises at registration", call=broken(HOOK + "1/0", reason="ZeroDivisionError"),
        names=("broken", "Traceback")),
    Row(69, "a plugin with an unknown hook",
        call=broken("from forecast import hookimpl\n@hookimpl\ndef forecast_lawz():\n    return []",
                    reason="unknown hook 'forecast_lawz'"), names=("did you mean 'forecast_laws'?",)),
    Row(69, "a plugin with a wrong signature",
        call=broken("from forecast import hookimpl\n@hookimpl\ndef forecast_laws(config):\n    return []",
                    reason="config"), names=("config",)),
    Row(69, "a plugin of an older version",
        call=broken(HOOK + "yield LawSpec(name='a', formula='x', reference='r')", reason="formula"),
        names=("formula",)),
    fitted(75, "a*x + 9**9**9", "out of range"),
    fitted(75, "a*x + factorial(10**7)", "unknown function 'factorial'"),
    fitted(75, "a*x + 2**(10**9)", "out of range"),
    refused_law(75, "+".join(["a"] * 100_000), "characters"),
    refused_law(75, "(" * 5000 + "x" + ")" * 5000, "characters"),
    refused_law(75, "(a+b+c+x)**200", "expand to more than"),
    fitted(77, "2*x", "no parameter"),
    fitted(77, "a + b", "'x' is not in 'a + b'"),
    fitted(78, "a*x^b", "write **"),
    fitted(78, "2x*a", "explicit *"),
    fitted(78, "a·x", "write * for a product"),
    fitted(78, "10% * a*x", "write 0.1 for"),
)  # fmt: skip
