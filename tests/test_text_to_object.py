"""Where a text becomes an object: whose text it may be, at each place. That of a file from a stranger is never one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from forecast.contract import registry

ROOT = Path(__file__).resolve().parent.parent

#: Whose text it is.
RECORD = "what an installed plugin hands in: its records, entry point and classes"
OURS = "our own: a constant, or the name of a field of a class of ours"
LISTED = "anybody's, and it has to be a key of a list of ours"
NAMED = "the user's: a file named on the command line or in the environment, whose code is to run"
ANSWERS = (RECORD, OURS, LISTED, NAMED)

#: Every such place: file, function, what is called.
PLACES = {
    "api/answer.py: Answer.by_choice: getattr": OURS,
    "api/scenario_quantities.py: at_home: getattr": OURS,
    "cli/__init__.py: LazyGroup.get_command: getattr": LISTED,  # COMMANDS
    "cli/__init__.py: LazyGroup.get_command: import_module": LISTED,
    "cli/__init__.py: _plugin_command: import_target": RECORD,
    "cli/__init__.py: _install_signal_handlers: getattr": OURS,
    "cli/ask/claims.py: _show_claim.text: getattr": OURS,
    "cli/catalogue/plugins.py: _pip: find_spec": OURS,
    "conformance/called_with_data.py: _code: import_target": RECORD,
    "conformance/record_checks.py: _command_loads: import_target": RECORD,
    "conformance/record_checks.py: _function_vectorises: import_target": RECORD,
    "conformance/record_checks.py: _target_loads: import_target": RECORD,
    "contract/fields.py: Checked.__post_init__: getattr": OURS,
    "contract/local_plugins.py: LocalPlugin.load: find_spec": NAMED,
    "contract/local_plugins.py: LocalPlugin.load: spec_from_file_location": NAMED,
    "contract/registry.py: Registry._imported.load: entry.load": RECORD,
    "contract/registry.py: Registry._with_own_references: getattr": OURS,
    "contract/registry.py: _hook_fault: getattr": RECORD,
    "contract/registry.py: _hooks: getattr": OURS,
    "contract/registry.py: _module_of: setattr": OURS,  # HOOKS
    "contract/registry.py: import_target: getattr": RECORD,
    "contract/registry.py: import_target: import_module": RECORD,
    "contract/specs.py: ClaimSpec._check: getattr": OURS,
    "evaluation/extrapolate.py: extrapolate: getattr": OURS,
    "evaluation/scores.py: score: import_target": RECORD,
    "errors.py: ForecastWarning.record: getattr": OURS,
    "fit/data/groups.py: check_varying: getattr": OURS,
    "fit/inference/bootstrap.py: _concatenate_parts: getattr": OURS,
    "fit/inference/bootstrap.py: bootstrap: getattr": OURS,
    "fit/inference/covariance.py: _Linearisation.row: getattr": OURS,
    "fit/protocols.py: fit_by: getattr": OURS,
    "fit/solve/newton.py: NewtonResult.put: getattr": OURS,
    "fit/solve/newton.py: NewtonResult.take: getattr": OURS,
    "fit/solve/newton.py: _ActiveFits.join: getattr": OURS,
    "fit/solve/newton.py: _ActiveFits.join: setattr": OURS,
    "fit/solve/newton.py: _ActiveFits.keep: getattr": OURS,
    "fit/solve/newton.py: _ActiveFits.keep: setattr": OURS,
    "formula/functions.py: implementation: getattr": LISTED,  # FUNCTIONS: the whitelist of the grammar
    "formula/tape.py: _function: getattr": LISTED,
    "laws/lookup.py: _law_of_spec: import_target": RECORD,
    "laws/lookup.py: _law_of_spec: getattr": OURS,
    "laws/sendable.py: check_sendable: getattr": RECORD,  # whether a plugin's function is found under its own name
    "models/check_output.py: checked_model: getattr": OURS,
    "models/functions.py: _Function.fit: import_target": RECORD,  # named by a file: tests/scenarios/test_functions.py
    "models/model_lookup.py: _build_model: import_target": RECORD,
    "models/trends.py: _shape_class: import_target": RECORD,
    "projection/paths/run_cache.py: _walk_arrays: getattr": OURS,
    "projection/result/shifts.py: find_shift: getattr": OURS,
    "scenarios/renaming.py: _rename: getattr": OURS,
    "scenarios/scenario.py: Scenario.remade.beside: getattr": OURS,
    "scenarios/used_scenarios.py: _merge_scenarios: getattr": OURS,
    "scenarios/used_scenarios.py: _under: getattr": OURS,
    "tables/file_formats.py: read_with: import_target": RECORD,  # see tests/base/test_access.py
}

IMPORTS = ("__import__", "find_spec", "import_module", "run_module", "run_path", "spec_from_file_location")
ATTRIBUTES = ("attrgetter", "delattr", "getattr", "methodcaller", "setattr")


def resolvers(tree: ast.Module) -> set[str]:
    """Return what `registry.import_target` is called in a file."""
    imports = (n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n.module == "forecast.contract.registry")
    return {a.asname or a.name for n in imports for a in n.names if a.name == "import_target"} | {
        "registry.import_target"
    }


def becomes_an_object(call: ast.Call, known: set[str]) -> str:
    """Return what is called where a text becomes an object; nothing where it does not."""
    called = ast.unparse(call.func)
    last = called.rpartition(".")[2]
    if last in ATTRIBUTES:
        place = 0 if last in ("attrgetter", "methodcaller") else 1
        plain = len(call.args) > place and isinstance(call.args[place], ast.Constant)
        return "" if plain else last
    if last in IMPORTS:
        return last
    return called if called == "entry.load" else "import_target" if called in known else ""


def places(tree: ast.Module) -> Iterator[str]:
    known = resolvers(tree)

    def walk(node: ast.AST, name: tuple[str, ...]) -> Iterator[str]:
        for child in ast.iter_child_nodes(node):
            named = isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
            inner = (*name, child.name) if named else name
            if isinstance(child, ast.Call) and (called := becomes_an_object(child, known)):
                yield f"{'.'.join(inner)}: {called}"
            yield from walk(child, inner)

    yield from walk(tree, ())


def found() -> set[str]:
    files = [p for p in sorted((ROOT / "forecast").rglob("*.py")) if "templates" not in p.parts]
    shelf = ROOT / "forecast"
    texts = {path: path.read_text(encoding="utf-8") for path in files}
    named = (*IMPORTS, *ATTRIBUTES, "load", "import_target")
    return {
        f"{path.relative_to(shelf)}: {place}"
        for path, text in texts.items()
        if any(name in text for name in named)
        for place in places(ast.parse(text))
    }


def test_every_place_where_a_text_becomes_an_object_is_known():
    assert found() == set(PLACES), "say whose text it may be; that of a stranger's file may not"
    assert set(PLACES.values()) == set(ANSWERS)


@pytest.mark.parametrize(
    ("line", "called"),
    [
        ("getattr(x, name)", "getattr"), ("getattr(x, 'a' + name)", "getattr"), ("setattr(x, name, 1)", "setattr"),
        ("attrgetter(name)", "attrgetter"), ("importlib.import_module(name)", "import_module"),
        ("importlib.import_module('os')", "import_module"), ("__import__(name)", "__import__"),
        ("runpy.run_path(name)", "run_path"), ("entry.load()", "entry.load"),
        ("from forecast.contract.registry import import_target\nimport_target(name, what='')", "import_target"),
        ("from forecast.contract.registry import import_target as r\nr(name, what='')", "import_target"),
        ("from forecast.contract import registry\nregistry.import_target(name, what='')", "import_target"),
    ],
)  # fmt: skip
def test_the_scan_sees(line, called):
    assert list(places(ast.parse(line))) == [f": {called}"]


@pytest.mark.parametrize("line", ["getattr(x, 'name')", "path.resolve()", "getattr(x, 'a', None)", "results.load(p)"])
def test_the_scan_lets_pass(line):
    assert list(places(ast.parse(line))) == []


def test_every_resolved_target_comes_from_a_record():
    """Each call hands over ``spec.target``: an attribute of a record, never a text at hand."""
    for path in (ROOT / "forecast").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if "import_target" not in text:
            continue
        tree = ast.parse(text)
        known = resolvers(tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in known and path.name != "registry.py":
                assert ast.unparse(node.args[0]) in ("record.spec.target", "spec.target"), f"{path}:{node.lineno}"


def test_a_target_that_names_more_than_an_attribute_is_no_target():
    from forecast import ReaderSpec
    from forecast.errors import PluginContractError

    for target in ("os", "os:path.join", "os:system('x')", "a b:c", ":x", "os:"):
        with pytest.raises(PluginContractError, match="expected 'module:attribute'"):
            ReaderSpec(name="x", target=target, reference="r")
    assert registry.HOOKS["forecast_readers"] is ReaderSpec


@pytest.mark.parametrize("loss", ["huber.__class__", "np", "os", "__builtins__", "_scratch"])
def test_an_objective_is_a_name_of_the_list(loss):
    import forecast
    from forecast.errors import UnknownNameError

    with pytest.raises(UnknownNameError, match="objective"):
        forecast.Law("a*x", variables=["x"]).fit({"x": [1, 2, 3], "y": [1, 2, 3]}, objective=loss)


@pytest.mark.parametrize("name", ["__class__", "os", "__builtins__", "import_module", "annotations"])
def test_the_front_door_gives_what_it_lists(name):
    import forecast

    with pytest.raises(AttributeError):
        forecast.__getattr__(name)
