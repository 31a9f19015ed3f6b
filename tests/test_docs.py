"""What can be said about the pages without building them; `.ci/run` builds them with warnings as errors."""

import ast
import doctest
import importlib
import importlib.util
import pkgutil
import re
import shlex
import subprocess
import sys
import tomllib
from itertools import chain
from pathlib import Path

import click
import pytest

import forecast
from forecast import errors, models, streams, testing, units
from forecast.base.distributions import _DISTRIBUTION_KEYS, FAMILIES, distribution
from forecast.cli import cli
from forecast.conformance import scaffold
from forecast.contract import specs
from forecast.formula import SCENARIO_FUNCTIONS, TIME_NAMES
from forecast.scenarios import scenario
from forecast.scenarios.authored_sentences import CASES
from forecast.scenarios.kinds import KINDS
from forecast.scenarios.kinds.choice_number import ChoiceNumber
from forecast.scenarios.kinds.function_ref import FUNCTION_KEYS
from forecast.scenarios.kinds.law_ref import LAW_KEYS
from forecast.scenarios.parse import ScenarioReader
from forecast.scenarios.quantities import limits
from forecast.tables.schema import descriptor

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = {
    path.relative_to(DOCS).as_posix(): path.read_text(encoding="utf-8")
    for path in sorted(DOCS.rglob("*.md"))
    if "_build" not in path.parts
}


def test_every_page_is_in_the_table_of_contents():
    listed = re.findall(r"^([\w/-]+)$", "\n".join(re.findall(r"```\{toctree\}(.*?)```", PAGES["index.md"], re.S)), re.M)
    assert sorted(f"{name}.md" for name in listed) == sorted(set(PAGES) - {"index.md"})


@pytest.mark.parametrize("page", PAGES)
def test_links_between_pages_lead_somewhere(page):
    for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([\w-]*))?\)", PAGES[page]):
        path = (DOCS / page).parent.joinpath(target) if target else DOCS / page
        assert "//" in target or path.exists(), target
        if anchor and "//" not in target and path.suffix == ".md" and "-reference}" not in (text := path.read_text()):
            headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
            assert anchor in [re.sub(r"[^\w -]", "", each).lower().replace(" ", "-") for each in headings], anchor


def test_every_public_name_is_in_the_reference():
    listed = PAGES["reference/python.md"] + PAGES["reference/records.md"]
    named = set(re.findall(r"^\.\. (?:auto\w+|decorator):: (?:forecast\.)?(?:\w+\.)*(\w+)$", listed, re.MULTILINE))
    for face in (forecast, specs, errors, models, streams, testing, units):
        assert sorted(set(face.__all__) - {"__version__", "Array"} - named) == [], face.__name__
    told = "".join(part(SCENARIO_FILES, each) for each in ("Functions and time", "Stocks, and what is solved for"))
    assert {*SCENARIO_FUNCTIONS, *TIME_NAMES} <= {*re.findall(r"\w+", told)}


@pytest.mark.parametrize("page", [page for page in PAGES if page.startswith("how-to/")])
def test_a_how_to_is_read_in_a_few_minutes(page):
    assert len(PAGES[page].split()) <= (1500 if page == "how-to/write-a-plugin.md" else 900)  # code counts


def test_every_file_that_the_how_to_writes_is_a_scenario(tmp_path):
    made = {}
    for name, added, text in re.findall(r"```\{file\} (\S+)\n(:add:\n)?(.*?)```", PAGES[HOW_TO], re.DOTALL):
        made[name] = f"{made[name] if added else ''}{text}"
        (tmp_path / name).write_text(made[name], encoding="utf-8")
        assert forecast.Scenario.load(tmp_path / name).questions
    run = re.findall(r"```\{forecast\} .*?(\w+\.toml)", PAGES[HOW_TO])
    assert set(run) == set(made)


HOW_TO = "how-to/write-a-scenario.md"
SCENARIO_FILES = "reference/scenario-files.md"
#: Where the page has the keys of each kind of quantity.
KIND_HEADINGS = {
    "model": "A model by name", "function": "A function", "law": "A law", "expression": "An expression",
    "table": "A figure out of a table", "trend": "A trend of your own data", "regime": "A regime",
    "schedule": "A schedule", "draws": "Draws of your own", "fitted": "A fit to another quantity", "prior": "A number",
}  # fmt: skip
#: Where it has those of other tables of a file.
TABLE_HEADINGS = {
    "": "The top", "choices": "Choices", "stocks": "Stocks, and what is solved for", "changes": "What if",
    "solve": "Stocks, and what is solved for", "update": "What is known besides", "questions": "Questions",
    "correlations": "What moves together", "levers": "Levers", "says": "Sentences", "presets": "Presets",
}  # fmt: skip


def part(page, heading):
    """Return what is under a heading, down to the next one of its level or above."""
    level, text = re.search(rf"^(##+) {re.escape(heading)}\n(.*)", PAGES[page], re.MULTILINE | re.DOTALL).groups()
    return re.split(rf"^#{{2,{len(level)}}} ", text, flags=re.MULTILINE)[0]


def rows(page, heading):
    """Return the code in the first column of the tables under a heading, a list a row."""
    lines = part(page, heading).splitlines()
    found = [re.findall(r"`([^`]+)`", line.split(" | ")[0]) for line in lines if line.startswith("| `")]
    assert found
    return found


def stated_by_the_examples():
    parts = re.findall(r"```toml\n(.*?)```", PAGES[SCENARIO_FILES], re.S)
    record = tomllib.loads("until = 2050\n" + "\n".join(parts))
    record["quantities"]["brain"] = {"value": 1e18, "unit": "FLOP/s"}
    return record


def test_the_examples_of_a_scenario_are_ones():
    made = forecast.Scenario.from_dict(stated_by_the_examples())
    assert set(made.questions) == {"parity", "enough", "reached"}
    assert (set(made.figures), set(made.firsts)) == ({"budget", "speed"}, {"race"})
    assert [change.of for change in made.changes] == ["machine"]
    assert set(made.rankings) == {"cheapest"}
    assert "geforce-rtx-4090" in made.choices["device"].values


def test_every_key_of_a_scenario_file_has_an_entry(monkeypatch):
    read, only = {}, ScenarioReader.only

    def noted(reader, record, valid_names, key):
        read[key] = {*valid_names, *read.get(key, ())}
        only(reader, record, valid_names, key)

    monkeypatch.setattr(ScenarioReader, "only", noted)
    made = forecast.Scenario.from_dict(stated_by_the_examples())
    number = (*_DISTRIBUTION_KEYS, "unit", "qualifiers", "published", "earlier")
    needed = {"Limits": {*limits.LIMIT_KEYS}, "Quantities": {*scenario.COMMON_KEYS}, "A number": {*number}}
    needed |= {"A law": {*LAW_KEYS}, "A function": {*FUNCTION_KEYS}, "Sentences": {*chain(*CASES.values())}}
    kinds = {name: each.KIND for name, each in made.quantities.items() if type(each) in KINDS}
    met = {*needed}
    for key, names in read.items():
        table, _, rest = key.partition(".")
        name, _, inner = rest.partition(".")
        heading = KIND_HEADINGS[kinds[name]] if table == "quantities" else TABLE_HEADINGS[table.partition("[")[0]]
        met.add(heading)
        if inner:  # of a table in a table, such as `reading`: said beside its key
            assert all(f"`{each}`" in part(SCENARIO_FILES, heading) for each in names), key
        else:
            needed[heading] = {*needed.get(heading, ()), *names}
    assert met >= {*KIND_HEADINGS.values(), *TABLE_HEADINGS.values()}
    assert set(KIND_HEADINGS) == {kind.KIND for kind in KINDS} - {ChoiceNumber.KIND}  # which is a number, or a schedule
    missing = []
    for heading, names in needed.items():
        listed = {span.partition(" ")[0] for row in rows(SCENARIO_FILES, heading) for span in row}
        if heading == "A number":
            listed |= {s.partition(" ")[0] for row in rows(SCENARIO_FILES, "Uncertain numbers") for s in row}
        missing += [f"{heading}: {name}" for name in sorted(names - listed)]
    assert missing == []


def test_every_form_of_a_distribution_is_one():
    families = set()
    for spans in rows(SCENARIO_FILES, "Uncertain numbers"):
        given = [tomllib.loads(span) for span in spans]
        whole = {k: v for each in given for k, v in each.items()}
        alone = given if len(given) > 1 and all(isinstance(v, list) for v in whole.values()) else [whole]
        for record in alone:
            base = {"normal": [1, 4]} if set(record) <= {"width", "truncate"} else {}
            families.add(distribution({**base, **record}).family)
    assert families == {"fixed", *FAMILIES}


def test_every_key_of_a_description_has_an_entry():
    listed = {span for row in rows("reference/tables.md", "The description") for span in row}
    for form in (descriptor._PACKAGE, descriptor._RESOURCE, descriptor._SCHEMA, descriptor._FIELD):
        assert {*form.fields, *form.optional} - listed == set()
    said = part("reference/tables.md", "Checks between columns and rows")
    keys = {*descriptor._CHECK.fields, *descriptor._CHECK.optional}
    assert [key for key in keys if f"`{key}`" not in said] == []


def test_nothing_is_fetched_by_configuration():
    tree = ast.parse((DOCS / "conf.py").read_text(encoding="utf-8"))
    texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    assert not [t for t in texts if "//" in t.replace("module://", "") or "intersphinx" in t]


@pytest.fixture(scope="module")
def plain():
    spec = importlib.util.spec_from_file_location("plain", DOCS / "_ext" / "plain.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "text",
    [
        '<script src="https://cdn.example/x.js"></script>',
        "<script async src='//cdn.example/x.js'>",
        '<link rel="stylesheet" href="https://fonts.example/css">',
        '<img alt="badge" src="http://badges.example/a.svg">',
        "@import url(https://fonts.example/css);",
        "src: url('https://fonts.example/a.woff2')",
    ],
)
def test_the_build_sees_what_a_page_would_fetch(plain, text):
    assert len(plain.fetched(f"<p>before</p>{text}<p>after</p>")) == 1


def _written(files, label):
    """Return a file of a new plugin, or one function of it with its decorators."""
    name, _, function = label.partition(" ")
    if not function:
        return files[name].rstrip()
    node = next(node for node in ast.parse(files[name]).body if getattr(node, "name", "") == function)
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    return "\n".join(files[name].splitlines()[first - 1 : node.end_lineno])


@pytest.mark.parametrize(("page", "least"), [("how-to/write-a-plugin.md", 8), ("how-to/bring-a-table.md", 3)])
def test_what_a_page_shows_of_a_new_plugin_is_what_is_written(page, least, tmp_path):
    made, names = scaffold.create("demo", parent=tmp_path)
    files = {name: (made / name).read_text(encoding="utf-8") for name in names}
    shown = re.findall(
        r"<!-- written by plugins new: (.+?) -->\n```(?:\w+|\{file\} \S+)\n(.*?)\n```", PAGES[page], re.S
    )
    assert len(shown) >= least
    for label, text in shown:
        assert text == _written(files, label), label
    assert "{scaffold}" not in PAGES[page]
    if page == "how-to/write-a-plugin.md":
        listed = re.findall(r"^  forecast-demo/(.+)$", PAGES[page], re.M)
        assert listed == list(names)


#: A block of Python; in a page that sets tools side by side also which of them it is of.
PYTHON = re.compile(
    r"^```(?:python|{code-cell} ipython3|{code-block} python)\n(?:# with (\S+))?(.*?)^```$", re.M | re.S
)
#: Strict, but for libraries that state no types.
MYPY = "[mypy]\nstrict=1\nuntyped_calls_exclude=IPython,distributed\n[mypy-scipy.*]\nignore_missing_imports=1"


@pytest.mark.slow
def test_the_python_of_the_pages_is_a_project_of_strict_types(tmp_path):
    pytest.importorskip("mypy")
    made, _ = scaffold.create("demo", parent=tmp_path)
    start = (made / "forecast_demo" / "__init__.py").read_text(encoding="utf-8").partition("@hookimpl")[0]
    for page, text in {**PAGES, "readme.md": (ROOT / "README.md").read_text(encoding="utf-8")}.items():
        code = "".join(block for tool, block in PYTHON.findall(text) if tool in ("", "lawcast"))
        code = (start if "plugins new: forecast_demo/__init__.py" in text else "") + code  # what it imports
        code = re.sub(r"^(:\w|[!%]).*", "", code, flags=re.M)
        (tmp_path / f"{re.sub('[^a-z]', '_', page)}.py").write_text(code, encoding="utf-8")
    (tmp_path / "mypy.ini").write_text(MYPY, encoding="utf-8")
    done = subprocess.run([sys.executable, "-m", "mypy", "."], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("page", [*PAGES, "../README.md"])
def test_every_command_on_a_page_takes_what_is_written(page):
    for line in re.findall(r"(?:^\$ |`)forecast ([a-z][^`\n]*)", (DOCS / page).read_text("utf-8"), re.MULTILINE):
        words, command = shlex.split(line, comments=True), cli
        while isinstance(command, click.Group) and words:
            command = command.get_command(click.Context(command), words.pop(0))
        command.make_parser(click.Context(command)).parse_args(words)


def modules():
    for found in pkgutil.walk_packages(forecast.__path__, "forecast."):
        if "templates" not in found.name and not found.name.endswith("__main__"):
            yield importlib.import_module(found.name)


@pytest.mark.slow
def test_every_example_of_a_docstring_gives_what_it_shows(capsys):
    tried = wrong = 0
    for module in modules():
        result = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
        tried, wrong = tried + result.attempted, wrong + result.failed
    assert wrong == 0, capsys.readouterr().out
    assert tried > 300
