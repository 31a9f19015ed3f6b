"""Where a text becomes an object: whose text it may be, at each place. That of a file from a stranger is never one."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from forecast.contract import registry

ROOT = Path(__file__).resolve().parent.parent


def resolvers(tree: ast.Module) -> set[str]:
    """Return what `registry.import_target` is called in a file."""
    imports = (n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n.module == "forecast.contract.registry")
    return {a.asname or a.name for n in imports for a in n.names if a.name == "import_target"} | {
        "registry.import_target"
    }


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
