"""Rules of the house that no single module can keep: read from the source, with ast."""

import ast
import functools
import importlib
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

from toolkit import listed_names, public_names

ROOT = Path(__file__).resolve().parent.parent
SHELVES = ("forecast", "plugins", "datasets")
#: Who may import whom: a module imports its own room and those before it here. Imports inside functions count too.
ORDER = (
    "errors", "base", "contract", "formula", "units", "tables", "laws", "fit", "planning", "models", "scenarios",
    "projection", "sensitivity", "evaluation", "claim_verdicts", "report", "api", "conformance", "cli", "__main__",
)  # fmt: skip
#: Public addresses of what lives in a room; nothing in the framework imports them.
FACES = ("language", "streams", "testing")


def sources(*shelves: str) -> list[Path]:
    found = [p for s in shelves or SHELVES for p in sorted((ROOT / s).rglob("*.py"))]
    return [p for p in found if "templates" not in p.parts]


def shown(path: Path) -> str:
    return str(path.relative_to(ROOT))


@functools.cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@functools.cache
def nodes(tree: ast.AST) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(tree))


# --- no text reaches an evaluator -------------------------------------------------------------------------------------

EVALUATORS = {"__import__", "eval", "exec", "lambdify", "parse_expr", "sympify"}
MODULES = {"cloudpickle", "dill", "joblib", "marshal", "patsy", "pickle", "shelve", "statsmodels.formula"}


def dangers(tree: ast.AST) -> Iterator[str]:
    """Name every call and import that could run text as code."""
    for node in nodes(tree):
        if isinstance(node, ast.Import):
            names = [a.name for a in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or "", *(f"{node.module}.{a.name}" for a in node.names)]
        else:
            names = []
        for name in names:
            if any(name == m or name.startswith(m + ".") for m in MODULES) or name.rpartition(".")[2] in EVALUATORS:
                yield f"{node.lineno}: import {name}"
        if isinstance(node, ast.Call):
            yield from (f"{node.lineno}: {danger}" for danger in dangers_of_call(node))


def dotted(node: ast.expr) -> str:
    """Return what is called as it is written, such as ``os.system``; of what is called on a call its end alone."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else "()"


def dangers_of_call(node: ast.Call) -> Iterator[str]:
    called = dotted(node.func)
    last = called.rpartition(".")[2]
    if last in EVALUATORS or called in ("compile", "builtins.compile", "os.system", "os.popen", "yaml.load"):
        yield called
    if last == "S" and called in ("S", "sp.S", "sympy.S"):
        yield called
    if last in ("subs", "xreplace") and any(
        isinstance(n, ast.Constant) and isinstance(n.value, str) for a in node.args for n in ast.walk(a)
    ):
        yield f"{called} with a text"
    for keyword in node.keywords:
        if keyword.arg in ("shell", "allow_pickle") and not (
            isinstance(keyword.value, ast.Constant) and keyword.value.value is False
        ):
            yield f"{called}({keyword.arg}=...)"
    if ".formula.api" in called or called.startswith("smf."):
        yield called


def test_no_text_reaches_an_evaluator():
    assert [f"{shown(p)}:{danger}" for p in sources() for danger in dangers(tree_of(p))] == []


# --- imports go one way -----------------------------------------------------------------------------------------------


def imported(tree: ast.Module) -> Iterator[tuple[str, str | None]]:
    """Yield (module, name) of every absolute import from this package, those for types alone too."""
    for node in nodes(tree):
        if isinstance(node, ast.Import):
            yield from ((a.name, None) for a in node.names if a.name.split(".")[0] == "forecast")
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "forecast":
            yield from ((node.module, a.name) for a in node.names)


def is_module(name: str) -> bool:
    base = ROOT / Path(*name.split("."))
    return base.is_dir() or base.with_suffix(".py").is_file()


def home(module: str, name: str | None) -> str | None:
    """Return the module of the package that an import reaches; None for the front door's own names."""
    import forecast

    if module != "forecast":
        return module.split(".")[1]
    if name is None or name in ("__version__", "catalogue"):
        return None
    return name if is_module(f"forecast.{name}") else getattr(forecast, name).__module__.split(".")[1]


def part(path: Path) -> str:
    return path.relative_to(ROOT / "forecast").with_suffix("").parts[0]


#: Methods that people expect on what they hold, and whose work is done in a room below: file and the room it asks.
DOORS = {
    ("laws/definition.py", "fit"),  # Law.fit, Law.published
    ("fit/fit.py", "planning"),  # Fit.allocate, Fit.invert
}


def test_imports_go_one_way():
    rank = {name: i for i, name in enumerate(ORDER)}
    wrong = []
    for path in sources("forecast"):
        own, place = part(path), str(path.relative_to(ROOT / "forecast"))
        if own == "__init__" or own in FACES:  # the front door is lazy; a face only passes names on
            continue
        assert own in rank, f"{shown(path)} has no place in ORDER: say which rooms it may import"
        for module, name in imported(tree_of(path)):
            target = home(module, name)
            if target is None or target == own or (place, target) in DOORS:
                continue
            if target in FACES or rank[target] > rank[own]:
                wrong.append(f"{shown(path)} imports {target}, which comes after it in ORDER")
    assert wrong == []


#: The rooms of ``fit/``, each of which uses those before it. Its files outside of rooms come after all of them, but for
#: the options that a user gives, those of the solvers, and the sizes of tables; what is inferred and judged belongs
#: to a `Fit`, which is one
#: of these files.
FIT_ORDER = (
    "pool", "solver_options", "options", "sizes", "objectives", "data", "kernels", "problem", "solve", "inference",
    "diagnostics",
)  # fmt: skip
KNOW_FITS = ("inference", "diagnostics")


def test_imports_inside_fit_go_one_way():
    rank = {name: i for i, name in enumerate(FIT_ORDER)}
    fit, wrong = ROOT / "forecast" / "fit", []
    assert {p.name for p in fit.iterdir() if (p / "__init__.py").is_file()} == set(FIT_ORDER) - {
        "options",
        "sizes",
        "solver_options",
    }
    for path in sources("forecast/fit"):
        own = path.relative_to(fit).with_suffix("").parts[0]
        if own not in rank:
            continue
        for module, name in imported(tree_of(path)):
            parts = [*module.split("."), name or ""]
            if parts[:2] != ["forecast", "fit"]:
                continue
            after = rank[parts[2]] > rank[own] if parts[2] in rank else own not in KNOW_FITS
            if after:
                wrong.append(f"{shown(path)} imports {parts[2]}, which comes after it in FIT_ORDER")
    assert wrong == []


#: Rooms of tests that stand for no room of the framework: shelves, benchmarks, hostile inputs.
TESTS_BESIDE = ("benchmarks", "datasets", "fuzz", "plugins")
#: Files of tests about the whole house, not about one room.
TESTS_OF_ALL = (
    "docs", "docs_home", "hooks_docs", "house_rules", "no_privilege", "packaging", "pickling", "public_names",
    "readme", "text_to_object",
)  # fmt: skip


def test_tests_mirror_the_framework():
    tests = ROOT / "tests"
    folders = {p.name for p in tests.iterdir() if list(p.rglob("test_*.py"))}
    assert folders - set(TESTS_BESIDE) - set(ORDER) == set()
    files = {p.stem.removeprefix("test_") for p in tests.glob("test_*.py")}
    assert {f for f in files - set(TESTS_OF_ALL) if not (ROOT / "forecast" / f"{f}.py").is_file()} == set()


def test_the_framework_imports_no_plugin():
    plugins = {p.name for s in ("plugins", "datasets") for p in (ROOT / s).iterdir()}
    for path in sources("forecast"):
        text = tree_of(path)
        names = {n.module.split(".")[0] for n in nodes(text) if isinstance(n, ast.ImportFrom) and n.module}
        names |= {a.name.split(".")[0] for n in nodes(text) if isinstance(n, ast.Import) for a in n.names}
        assert not names & plugins, shown(path)


@functools.cache
def names_of(module: str) -> set[str]:
    listed = getattr(importlib.import_module(module), "__all__", None)  # which a lazy module makes when it is imported
    base = ROOT / Path(*module.split("."))
    return set(listed or public_names(tree_of(base / "__init__.py" if base.is_dir() else base.with_suffix(".py"))))


def test_plugins_import_public_names_only():
    import forecast

    for path in sources("plugins", "datasets"):
        for module, name in imported(tree_of(path)):
            if name is None or (module == "forecast" and (name in forecast.__all__ or is_module(f"forecast.{name}"))):
                continue
            public = name in names_of(module) or is_module(f"{module}.{name}")
            assert public, f"{shown(path)}: {module}.{name} is not public"


# --- the page for newcomers is true ----------------------------------------------------------------------------------

PAGE = ROOT / "docs" / "explanation" / "house.md"
QUESTION = re.compile(r"^\| .+\? \| `([^`]+)`(?:: `(\w+)`)? \|$", re.MULTILINE)


def test_the_picture_of_the_house_is_the_order_of_its_rooms():
    page = PAGE.read_text(encoding="utf-8")
    (picture,) = re.findall(r"^```text\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    rooms = [line.split(maxsplit=1) for line in picture.splitlines()]
    assert [name for name, _ in rooms] == [name for name in reversed(ORDER) if name != "__main__"]
    empty = {name for name, _ in rooms if not is_module(f"forecast.{name}")}
    assert empty == set(re.findall(r"`(\w+)` has its floor and no files yet", page))


def test_the_files_that_the_page_names_exist_and_define_what_it_says():
    page = PAGE.read_text(encoding="utf-8")
    rows = QUESTION.findall(page)
    assert len(rows) == len(re.findall(r"^\| .*\? \|", page, re.MULTILINE)) >= 20
    for file, name in rows:
        assert (ROOT / file).is_file(), file
        if name:
            defined = {n.name for n in tree_of(ROOT / file).body if isinstance(n, (ast.ClassDef, ast.FunctionDef))}
            assert name in defined, f"{file}: {name}"
    named = set(re.findall(r"`([\w/]+/[\w/]*(?:\.py)?)`", page)) - {file for file, _ in rows}
    assert {n for n in named if not (ROOT / n).exists() and not (ROOT / "forecast" / n).exists()} == set()


# --- names, sizes, shelves --------------------------------------------------------------------------------------------


def order(name: str) -> tuple[int, str]:
    """Sort as ruff does: CONSTANTS, then Classes, then the rest."""
    return (0 if name.isupper() and len(name) > 1 else 1 if name[0].isupper() else 2), name


#: Modules that promise their names, besides those of rooms; of any other, what has no underscore is public.
LISTED = ("contract/specs.py", "errors.py", "evaluation/scores.py", "streams.py", "testing.py")


def test_a_list_of_names_is_a_promise():
    lists = {p.relative_to(ROOT / "forecast").as_posix() for p in sources("forecast") if listed_names(tree_of(p))}
    assert {each for each in lists if not each.endswith("__init__.py")} == set(LISTED)


def test_all_is_sorted_and_every_name_exists():
    for path in sources("forecast"):
        names = listed_names(tree_of(path))
        if names is None:
            continue
        assert names == sorted(set(names), key=order), shown(path)
        parts = path.relative_to(ROOT).with_suffix("").parts
        module = importlib.import_module(".".join(p for p in parts if p != "__init__"))
        assert [n for n in names if not hasattr(module, n)] == [], shown(path)


def test_the_front_door_lists_what_it_declares():
    import forecast

    stub = tree_of(ROOT / "forecast" / "__init__.pyi")
    declared = {a.asname for n in stub.body if isinstance(n, ast.ImportFrom) for a in n.names}
    assert declared | {"__version__", "catalogue"} == set(forecast.__all__)
    assert all(getattr(forecast, name) is not None for name in declared)


def test_every_shelf_is_declared_as_an_entry_point():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = set(project["entry-points"]["forecast.plugins"].values())
    folders = {p.name for s in ("plugins", "datasets") for p in (ROOT / s).iterdir() if (p / "__init__.py").is_file()}
    assert folders == declared


def test_shelves_are_no_packages():
    assert [s for s in ("plugins", "datasets") if (ROOT / s / "__init__.py").exists()] == []


def test_stdlib_is_not_shadowed():
    shadowing = {p.stem for p in sources("forecast") if p.parent == ROOT / "forecast"} & set(sys.stdlib_module_names)
    assert shadowing - {"__main__"} == set()


# --- no test asserts a time -------------------------------------------------------------------------------------------

#: Files of tests in which a clock or a use of the machine is read, or named in a text, and asserted nowhere.
READ_CLOCKS = {
    "conformance/test_kit.py",  # a plugin that computes while it is imported
    "projection/test_many_worlds.py",  # memory
    "scenarios/test_hostile_files.py",  # a budget of seconds, by a clock that the test moves
    "toolkit.py",  # to wait until something has begun
}
CLOCKS = re.compile(r"(?<![\w-])(clock_gettime|getrusage|(monotonic|perf_counter|process_time|thread_time)(_ns)?)\b")
#: A limit on what is waited for is an assert on a time, unless it is so long that only what never ends reaches it.
SHORT_TIMEOUT = re.compile(r"timeout=(\d|\d\d|1[01]\d)\b")


def test_no_test_asserts_a_time():
    texts = {p.relative_to(ROOT / "tests").as_posix(): p.read_text("utf-8") for p in sources("tests")}
    rest = {name: text for name, text in texts.items() if not name.startswith(("benchmarks/", "test_house_rules"))}
    advice = "measure it in tests/benchmarks, or count what is exact: calls, imports, bytes"
    assert {name for name, text in rest.items() if CLOCKS.search(text)} == READ_CLOCKS, advice
    assert [name for name, text in rest.items() if SHORT_TIMEOUT.search(text)] == [], advice
