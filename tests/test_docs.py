"""What can be said about the pages without building them; `.ci/run` builds them with warnings as errors."""

import ast
import doctest
import importlib
import importlib.util
import pkgutil
import re
import tomllib
from pathlib import Path

import pytest

import forecast
from forecast import errors
from forecast.base.distributions import FAMILIES, distribution
from forecast.conformance import scaffold
from forecast.contract import specs

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
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[\w-]*)?\)", PAGES[page]):
        assert "//" in target or (DOCS / page).parent.joinpath(target).exists(), target


def test_every_public_name_is_in_the_reference():
    listed = PAGES["reference/python.md"] + PAGES["reference/records.md"]
    named = set(re.findall(r"^\.\. (?:auto\w+|decorator):: (?:forecast\.)?(?:\w+\.)*(\w+)$", listed, re.MULTILINE))
    assert sorted(set(forecast.__all__) - {"__version__"} - named) == []
    assert sorted(set(specs.__all__) - named) == []


def test_every_error_is_in_the_reference():
    kinds = {n for n in errors.__all__ if isinstance(getattr(errors, n), type)}
    assert sorted(n for n in kinds if n not in PAGES["reference/python.md"]) == []


def test_the_examples_of_a_scenario_are_ones():
    page = PAGES["how-to/write-a-scenario.md"]
    parts = [re.sub(r"^  ", "", p, flags=re.M) for p in re.findall(r"```toml\n(.*?)```", page, re.S)]
    record = tomllib.loads("until = 2050\n" + "\n".join(parts))
    record["quantities"]["brain"] = {"value": 1e18, "unit": "FLOP/s"}
    made = forecast.Scenario.from_dict(record)
    assert set(made.quantities) == {
        "machine", "goal", "cluster", "loss", "power", "price", "ratio", "planned", "gained", "brain", "S",
        "k", "fee", "fees",
    }  # fmt: skip
    assert set(made.questions) == {"parity", "enough", "reached"}
    assert (set(made.figures), set(made.firsts)) == ({"budget", "speed"}, {"race"})
    assert [change.of for change in made.changes] == ["machine"]
    assert set(made.rankings) == {"cheapest"}
    assert "geforce-rtx-4090" in made.choices["device"].values


def rows(page, heading):
    """Return the code in the first column of the table under a heading, a list a row."""
    part = PAGES[page].partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    found = [re.findall(r"`([^`]+)`", line.split(" | ")[0]) for line in part.splitlines() if line.startswith("| `")]
    assert found
    return found


def test_every_form_of_a_distribution_is_one():
    families = set()
    for spans in rows("how-to/write-a-scenario.md", "Uncertain numbers"):
        given = [tomllib.loads(span) for span in spans]
        whole = {k: v for each in given for k, v in each.items()}
        alone = given if len(given) > 1 and all(isinstance(v, list) for v in whole.values()) else [whole]
        for record in alone:
            base = {"normal": [1, 4]} if set(record) <= {"width", "truncate"} else {}
            families.add(distribution({**base, **record}).family)
    assert families == {"fixed", *FAMILIES}


def test_every_form_of_an_input_is_one(tmp_path):
    (tmp_path / "posterior.csv").write_text("x\n1\n2\n", encoding="utf-8")
    plan = 'schedule = [[2026, 2.6]]\nas = "level"\nunit = ""\n'
    kinds = set()
    for number, spans in enumerate(rows("how-to/write-a-scenario.md", "Other inputs")):
        between = spans[0].startswith("between")
        forms = [f"{plan}between = {s.partition('= ')[2] or s}" for s in spans] if between else ["\n".join(spans)]
        for form in forms:
            text = form.replace("…", "").replace('\n"lognormal"', "")
            path = tmp_path / f"{number}.toml"
            path.write_text(f'[quantities.raw]\nnormal = [1, 2]\nunit = ""\n[quantities.x]\n{text}\n', encoding="utf-8")
            kinds.add(type(forecast.Scenario.load(path).quantities["x"]).__name__)
    assert kinds == {"Regime", "Schedule", "OwnDraws", "MomentFit"}


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


def test_the_build_allows_links_and_local_files(plain):
    text = '<a href="https://example.org">x</a><script src="_static/x.js"></script><link rel="stylesheet" href="a.css">'
    assert plain.fetched(text) == []


def test_lines_of_an_answer_are_cut_visibly(plain):
    lines = [f"line {n}" for n in range(1, 9)]
    assert plain.picked(lines, "2-3, 8") == ["...", "line 2", "line 3", "...", "line 8"]
    assert plain.picked(lines, "1-2") == ["line 1", "line 2", "..."]


def test_only_prose_is_wrapped(plain):
    row = "name  " + "x " * 80
    assert plain.wrapped(row) == row
    assert max(map(len, plain.wrapped("word " * 60).splitlines())) <= plain.WIDTH


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
    shown = re.findall(r"<!-- written by plugins new: (.+?) -->\n```\w+\n(.*?)\n```", PAGES[page], re.S)
    assert len(shown) >= least
    for label, text in shown:
        assert text == _written(files, label), label
    assert "{scaffold}" not in PAGES[page]
    if page == "how-to/write-a-plugin.md":
        listed = re.findall(r"^  forecast-demo/(.+)$", PAGES[page], re.M)
        assert listed == list(names)


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
