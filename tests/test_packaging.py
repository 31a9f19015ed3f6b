"""What is installed, what is declared, and that the two agree."""

import importlib.metadata
import importlib.util
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import forecast

ROOT = Path(__file__).resolve().parent.parent
DECLARED = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = DECLARED["project"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> list[str]:
    """The names of the files in a wheel built from this tree."""
    folder = tmp_path_factory.mktemp("wheel")
    isolation = ["--no-build-isolation"] if importlib.util.find_spec("hatchling") else []
    done = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", *isolation, "--wheel-dir", folder, ROOT],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (built,) = folder.glob("lawcast-*-py3-none-any.whl")
    return zipfile.ZipFile(built).namelist()


def shipped(*suffixes: str) -> set[str]:
    """The files of the tree that must be in the wheel, under the names they have there."""
    found = set()
    for shelf, inside in (("forecast", "forecast/"), ("plugins", ""), ("datasets", "")):
        for path in (ROOT / shelf).rglob("*"):
            name = inside + path.relative_to(ROOT / shelf).as_posix()
            if path.suffix in suffixes and "__pycache__" not in path.parts and "/" in name:
                found.add(name)
    return found


@pytest.mark.slow
def test_the_wheel_holds_code_tables_scenarios_and_templates(wheel):
    wanted = shipped(".py", ".csv", ".json", ".toml", ".txt", ".j2", ".css", ".js") | {"forecast/py.typed"}
    assert "forecast_datasets/supercomputers/supercomputers.csv" in wanted
    assert {"forecast_brain/scenarios/brain-parity.toml", "forecast_scaling/laws/loss.toml"} <= wanted
    assert any(name.startswith("forecast/conformance/templates/") for name in wanted)
    assert sorted(wanted - set(wheel)) == []


@pytest.mark.slow
def test_the_wheel_installs_no_shelf_and_nothing_else(wheel):
    top = {name.partition("/")[0] for name in wheel if ".dist-info/" not in name}
    modules = set(PROJECT["entry-points"]["forecast.plugins"].values())
    assert top == {"forecast", *modules}
    assert not [name for name in wheel if name.endswith((".md", ".pyc")) and ".dist-info/" not in name]


def test_every_folder_on_a_shelf_is_declared_as_a_plugin():
    folders = {p.parent.name for shelf in ("plugins", "datasets") for p in (ROOT / shelf).glob("*/__init__.py")}
    assert folders == set(PROJECT["entry-points"]["forecast.plugins"].values())


def test_the_version_is_one():
    assert forecast.__version__ == PROJECT["version"] == importlib.metadata.version("lawcast")


def floor(requirement: str) -> tuple[str, tuple[int, ...]]:
    name, _, version = requirement.partition(">=")
    return re.sub(r"\[.*\]", "", name), tuple(map(int, version.split(".")))


def test_bad_input_087_ci_tests_the_lowest_versions():
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "--constraint tests/floors.txt" in script
    names = re.search(r"^floors=\(\n(.*?)^\)", script, re.DOTALL | re.MULTILINE).group(1).split()
    assert len(names) > 10
    for name in names:
        assert (ROOT / "tests" / name).is_dir() or (ROOT / "tests" / f"{name}.py").is_file(), name


def test_the_floors_that_were_tried_are_those_declared():
    lines = (ROOT / "tests" / "floors.txt").read_text(encoding="utf-8").splitlines()
    tried = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    declared = dict(floor(r) for r in [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["test"]])
    assert sorted(tried) == sorted(declared)
    for name, version in declared.items():
        pinned = tuple(map(int, tried[name].split(".")))
        assert pinned[: len(version)] == version, name
        assert not any(pinned[len(version) :]), name


def test_every_import_of_the_framework_is_declared():
    names = {re.split(r"[\[>]", r)[0].replace("-", "_") for r in PROJECT["dependencies"]}
    used = set()
    for path in [*(ROOT / "forecast").rglob("*.py"), *(ROOT / "plugins").rglob("*.py")]:
        used |= set(re.findall(r"^\s*(?:import|from) (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE))
    ours = {"forecast", *PROJECT["entry-points"]["forecast.plugins"].values()}
    # what stands in docstrings as an example, or is asked for only where it is installed
    foreign = used - set(sys.stdlib_module_names) - ours
    assert {n for n in foreign if importlib.util.find_spec(n)} - names <= {
        "pytest",
        "hypothesis",
        "pyarrow",
        "python_calamine",
        "yaml",
        "distributed",
        "PIL",  # matplotlib's own: it depends on it under the name pillow
        "starlette",
        "uvicorn",
        "mcp",
    }


def test_ci_is_executable_and_hooks_are_local():
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o111
    hooks = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    assert re.findall(r"- repo: (\S+)", hooks) == ["local"]
