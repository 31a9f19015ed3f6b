"""One word, one meaning: what was renamed does not come back as a module, a name in code, an option or a key."""

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import forecast
import toolkit
from forecast.scenarios.scenario import _TOP_KEYS

ROOT = Path(forecast.__file__).parent


#: Words that name a history instead of a thing, with what to write instead.
RETIRED = {
    "asked": "question, answer, options, requested_…",
    "gone": "active, removed",
    "held": "cache, fixed, conditional, coverage, stored",
    "holding": "column",
    "known": "valid_names, covariance, history, outcome",
    "made": "the noun itself",
    "moved": "sensitivity, difference, step",
    "said": "text",
    "seen": "observations, outcome, visited",
    "settled": "converged, resolved",
    "spoken": "text",
    "told": "text, warnings",
}


def words_of(name: str) -> set[str]:
    parts = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower().replace("-", "_").split("_")
    return {part for part in parts if part in RETIRED}


def modules() -> Iterator[tuple[str, str]]:
    for path in sorted(ROOT.rglob("*.py")):
        if "templates" not in path.parts:
            yield path.stem, str(path.relative_to(ROOT))


def public_names() -> Iterator[tuple[str, str]]:
    """Walk the names of modules that have no underscore, and what the classes of the front door show."""
    for path in sorted(ROOT.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        yield from ((name, str(path.relative_to(ROOT))) for name in toolkit.public_names(tree))
    for name in forecast.__all__:
        yield name, "forecast"
        thing = getattr(forecast, name)
        if inspect.isclass(thing):
            yield from ((member, f"forecast.{name}") for member in vars(thing) if not member.startswith("_"))
        if callable(thing):
            try:
                yield from ((parameter, f"forecast.{name}()") for parameter in inspect.signature(thing).parameters)
            except (TypeError, ValueError):
                continue


def options() -> Iterator[tuple[str, str]]:
    import click

    from forecast.cli import cli

    context = click.Context(cli)
    left = [(cli, context, "forecast")]
    while left:
        command, context, where = left.pop()
        yield from ((o, where) for p in command.params for o in getattr(p, "opts", ()) if o.startswith("--"))
        for name in command.list_commands(context) if isinstance(command, click.Group) else ():
            one = command.get_command(context, name)
            if one is not None:
                left.append((one, click.Context(one, parent=context), f"{where} {name}"))


def keys() -> Iterator[tuple[str, str]]:
    yield from ((key, "scenario") for key in _TOP_KEYS)
    answer = forecast.scenario("model-capability").ask(draws=32)
    left: list[object] = [answer.to_dict()]
    while left:
        each = left.pop()
        if isinstance(each, dict):
            named = each.keys() & {"choices", "facts", "data", "newest", "labels", "shares", "first", "set"}
            yield from ((str(key), "--json") for key in each)
            left += [value for key, value in each.items() if key not in named]
        elif isinstance(each, list):
            left += each
    yield from ((key, "attributes of a projection") for key in answer.run.attributes)


@pytest.mark.parametrize("names", [modules, public_names, options, keys], ids=lambda walk: walk.__name__)
def test_what_was_renamed_does_not_come_back(names):
    wrong = {f"{name} ({where}): {RETIRED[word]}" for name, where in names() for word in words_of(name)}
    assert not wrong, "\n".join(sorted(wrong))
