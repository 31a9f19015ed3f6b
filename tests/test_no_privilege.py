"""First-party plugins have no privilege over a stranger's. Four proofs."""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import forecast
from forecast.contract.registry import Registry

ROOT = Path(__file__).parent.parent
PACKAGE = Path(forecast.__file__).parent
DECLARED = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"][
    "forecast.plugins"
]


def shelves() -> set[str]:
    folders = [p for shelf in ("plugins", "datasets") for p in (ROOT / shelf).iterdir()]
    return {p.name for p in folders if (p / "__init__.py").exists()}


def code(tree: ast.Module) -> list[ast.AST]:
    """Every node but docstrings, which may give examples."""
    for node in ast.walk(tree):
        match getattr(node, "body", None):
            case [ast.Expr(value=ast.Constant() as docstring), *_]:
                docstring.value = None
    return list(ast.walk(tree))


def privileges(source: str) -> list[str]:
    """Return what in a module's code knows a first-party plugin: imports, module names, lists of plugin names."""
    found = []
    for node in code(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [a.name for a in node.names if a.name.split(".")[0] in DECLARED.values()]
        elif isinstance(node, ast.ImportFrom):
            found += [node.module] if (node.module or "").split(".")[0] in DECLARED.values() else []
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found += [node.value] if node.value.split(":")[0].split(".")[0] in DECLARED.values() else []
        elif isinstance(node, (ast.List, ast.Tuple, ast.Set, ast.Dict)):
            parts = node.keys if isinstance(node, ast.Dict) else node.elts
            names = {p.value for p in parts if isinstance(p, ast.Constant)} & set(DECLARED)
            found += [str(sorted(names))] if len(names) > 1 else []
    return found


def test_the_framework_knows_no_plugin_by_name():
    files = sorted(PACKAGE.rglob("*.py"))
    assert len(files) > 100
    known = {str(f.relative_to(PACKAGE)): privileges(f.read_text(encoding="utf-8")) for f in files}
    assert {file: names for file, names in known.items() if names} == {}


def test_everything_loads_through_the_entry_points():
    """Declared in the project file, found by the loop, and by nothing else."""
    assert set(DECLARED.values()) == shelves()
    found = {p.name: p for p in Registry(select="").plugins}
    for name, module in DECLARED.items():
        assert (found[name].value, found[name].status, found[name].reason) == (module, "loaded", "")
    assert Registry([], select="").plugins == ()
    script = (
        "import sys, forecast, forecast.cli, forecast.contract.registry; print([m for m in sys.modules if m in %r])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script % (list(DECLARED.values()),)], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--help"], 0),
        (["--version"], 0),
        *(([noun, "list"], 0) for noun in ("laws", "models", "tables", "scenarios", "plugins")),
        (["laws", "show", "power"], 2),
        (["plugins", "show", "scaling"], 0),
        (["plugins", "check", "scaling"], 1),
    ],
)
def test_the_command_line_works_without_any_plugin(command_copied, words, code):
    done = command_copied(*words, env={"FORECAST_PLUGINS": "none"})
    assert (done.returncode, bool(done.stdout)) == (code, code != 2), done.stderr
    assert "Traceback" not in done.stderr
    if words == ["plugins", "list"]:
        assert "loaded" not in done.stdout
        assert done.stdout.count(" off ") >= len(DECLARED)


# A stranger's plugin ------------------------------------------------------------------------------------------------


def run(*words: str, env: dict[str, str], cwd: Path, code: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *words], env=env, cwd=cwd, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == code, f"{words}: {done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def stranger(tmp_path_factory) -> tuple[Path, dict[str, str]]:
    """A scaffolded plugin, built and installed by pip into a folder of its own, next to our environment."""
    folder = tmp_path_factory.mktemp("stranger")
    env = {k: v for k, v in os.environ.items() if not k.startswith(("FORECAST_PLUGINS", "FORECAST_STRICT"))}
    run("forecast", "plugins", "new", "demo-two", env=env, cwd=folder)
    site = folder / "site"
    offline = ["--no-build-isolation"] if importlib.util.find_spec("hatchling") else []
    install = ["pip", "install", "--quiet", "--no-deps", *offline, "--target", str(site), "./forecast-demo-two"]
    run(*install, env=env, cwd=folder)
    env["PYTHONPATH"] = os.pathsep.join(p for p in (str(site), env.get("PYTHONPATH")) if p)
    return folder, env


@pytest.mark.slow
def test_a_strangers_plugin_is_listed_checked_and_run_like_ours(stranger):
    folder, env = stranger

    shown = {"laws": "learning", "models": "machine", "tables": "machines", "scenarios": "reach"}
    asked = [["plugins", "list"], ["plugins", "check", "demo-two"], ["run", "demo-two/reach", "--draws", "200"]]
    asked += [[noun, "list"] for noun in shown] + [[noun, "show", name] for noun, name in shown.items()]
    script = "import sys; from forecast.cli import main; sys.exit(max(main(words) for words in {}))"
    done = subprocess.run(
        [sys.executable, "-c", script.format([[*words, "--json"] for words in asked])],
        env=env, cwd=folder, capture_output=True, text=True, timeout=300, check=True,
    )  # fmt: skip
    said, rest = [], done.stdout
    while rest.strip():
        one, end = json.JSONDecoder().raw_decode(rest := rest.lstrip())
        said, rest = [*said, one], rest[end:]
    listed, checked, reached, *others = said
    rows = {row["name"]: row for row in listed["result"]}
    assert set(rows) >= {*DECLARED, "demo-two"}
    assert rows["demo-two"]["status"] == "loaded"
    assert rows["demo-two"]["distribution"] == "forecast-demo-two"
    for noun, every, one in zip(shown, others[:4], others[4:], strict=True):
        assert f"demo-two/{shown[noun]}" in [row["name"] for row in every["result"]]
        # bare while unique
        assert one["result"]["name"] == f"demo-two/{shown[noun]}" + ("@exponential" if noun == "models" else "")
    statuses = {row["name"]: row["status"] for row in checked["result"]}
    assert set(statuses.values()) <= {"passed", "skipped"}
    assert statuses["law learning: recovers known parameters"] == "passed"
    assert statuses["model machine: same seed, same draws"] == "passed"
    assert reached["provenance"]["plugins"]
    assert "reached" in json.dumps(reached["result"])


@pytest.mark.slow
def test_its_own_tests_pass(stranger):
    folder, env = stranger
    assert " passed" in run("pytest", "-q", "-p", "no:cacheprovider", env=env, cwd=folder / "forecast-demo-two")


@pytest.mark.slow
def test_its_law_can_be_fitted(stranger):
    folder, env = stranger
    script = (
        "import forecast; x = [1.0, 10.0, 100.0, 1000.0, 5000.0];"
        "fit = forecast.law('demo-two/learning').fit({'made': x, 'cost': [100*v**-0.3 for v in x]});"
        "assert abs(float(fit.params['rate']) - 0.3) < 1e-6"
    )
    subprocess.run([sys.executable, "-c", script], env=env, cwd=folder, check=True, timeout=120)


@pytest.mark.slow
def test_with_it_broken_everything_else_still_works(stranger):
    folder, env = stranger
    module = folder / "site" / "forecast_demo_two" / "__init__.py"
    sound = module.read_text(encoding="utf-8")
    try:
        module.write_text("raise RuntimeError('broken on purpose')", encoding="utf-8")
        rows = json.loads(run("forecast", "plugins", "list", "--json", env=env, cwd=folder))["result"]
        status = {row["name"]: row["status"] for row in rows}
        assert status.pop("demo-two") == "failed"
        assert set(status.values()) == {"loaded"}
        run("forecast", "run", "demo-two/reach", env=env, cwd=folder, code=2)
    finally:
        module.write_text(sound, encoding="utf-8")
