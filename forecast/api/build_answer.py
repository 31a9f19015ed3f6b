"""Answer questions about quantities, or the questions of a scenario."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Unpack

from forecast.api.answer import Answer
from forecast.api.options import GRID_KEYS, LINE_KEYS, RUN_KEYS, SCENARIO_KEYS, SERIES_KEYS, AskOptions, check_keywords
from forecast.api.quantity import Quantity, QuantityCondition, as_quantity
from forecast.api.scenario import Scenario, checked_changes
from forecast.api.scenario_quantities import line_of
from forecast.errors import UsageError
from forecast.models import Model

#: Kinds of questions, and the keys that each may have, as in TOML.
_QUESTION_KEYS: Mapping[str, tuple[str, ...]] = {
    "when": ("dates", "title", "resolves"),
    "value": ("dates", "title", "resolves"),
    "growth": ("dates", "title", "resolves"),
    "first": ("title",),
    "rank": ("over", "subject_to", "best", "ordered", "title"),
}

#: What a question in one line may be asked with.
_LINE_OPTIONS = (*GRID_KEYS, *RUN_KEYS, "preset", "what_if", *LINE_KEYS)


def ask(
    question: str | QuantityCondition | Quantity | Model | None = None,
    /,
    *,
    when: QuantityCondition | str | None = None,
    value: Quantity | Model | str | float | None = None,
    growth: Quantity | Model | None = None,
    first: Mapping[str, QuantityCondition] | None = None,
    rank: Quantity | Model | None = None,
    over: str | None = None,
    subject_to: object = None,
    best: Literal["lowest", "highest"] | None = None,
    ordered: bool | None = None,
    **options: Unpack[AskOptions],
) -> Answer:
    """Ask a question: in one line about anything that has a name, or quantities by the keys that a scenario has for it.

    Parameters
    ----------
    question : str, QuantityCondition or Quantity, optional
        A condition is `when`, a quantity `value`. A text is a question of ``forecast ask``:
        ``"largest-run >= 1e29 FLOP"``, ``"run-price-performance * 1M USD"``, ``"model-capability.power"``,
        ``"mine.csv:users"``. `dates` and the options of a run may follow; for a column of a file also ``x`` (its
        dates), ``where`` (``{"run": "a"}``), ``reading`` (``{"reduce": "median"}``), ``scale``, ``floor`` and
        ``ceiling``; see `forecast.trend`. ``model="exponential"`` is a rival forecast of a quantity of the world alone,
        and ``compare=True`` puts every shape of trends beside that of a series.
    when : QuantityCondition
        When it first holds; with `dates` also how likely it is by them. ``(x >= y).when(until=2045)`` is the same.
    value, growth : Quantity
        Its value, or the gain of its logarithm over the year before, at `dates`.
    first : mapping of str to QuantityCondition
        Which of them holds first.
    rank : Quantity
        Which value of the choice `over` is best at the last step: the ``"highest"`` or the ``"lowest"``, as `best`
        says, among those that meet the conditions `subject_to`.
    **options
        ``title``: its name in the sentence of the answer. ``resolves``: the table or page that decides it, of `when`,
        `value` and `growth`; see `Answer.record`. Of a scenario: ``until``, ``start``, ``step``, ``choices``,
        ``correlations``, ``update``, ``what_if``. Of a run: those of `forecast.project`.

    Returns
    -------
    Answer

    Raises
    ------
    UnknownNameError, ScenarioError, UnitError, UsageError
        If the question cannot be answered.

    Examples
    --------
    >>> import forecast
    >>> x = forecast.uncertain(p05=1, p95=4, unit="FLOP", name="x")
    >>> forecast.ask(value=2 * x, dates=[2026], start=2025, until=2030).values.sizes["date"]
    1
    >>> forecast.ask("capability/training-compute >= 1e29 FLOP", draws=64).kind
    'when'
    """
    if isinstance(question, QuantityCondition):
        when = question
    elif isinstance(question, (Quantity, Model)):
        value = question
    keys: dict[str, object] = {"when": when, "value": value, "growth": growth, "first": first, "rank": rank}
    keys |= {"over": over, "subject_to": subject_to, "best": best, "ordered": ordered}
    question_keys: dict[str, Any] = {key: each for key, each in keys.items() if each is not None}
    for text in (question, when, value):
        if isinstance(text, str):
            beside = {key: each for key, each in question_keys.items() if each is not text}
            return _ask_text(text, beside, options)
    if question_keys.keys() in ({"when"}, {"value"}) and options.keys() <= {*_LINE_OPTIONS}:
        (asked,) = question_keys.values()
        if isinstance(asked, (Quantity, QuantityCondition)) and (line := line_of(asked)):
            return _ask_text(line, {}, options)
    kinds = [kind for kind in _QUESTION_KEYS if kind in question_keys]
    if len(kinds) != 1:
        raise UsageError(
            f"ask: expected one of {', '.join(_QUESTION_KEYS)}, got {' and '.join(kinds) or 'none of them'}"
        )
    with_it = _QUESTION_KEYS[kinds[0]]
    keywords = {**question_keys, **options}
    check_keywords(keywords, (*kinds, *with_it, *SCENARIO_KEYS, *RUN_KEYS), kinds[0])
    question_record = {key: each for key, each in keywords.items() if key in (*kinds, *with_it)}
    if kinds[0] in ("value", "growth", "rank"):
        question_record[kinds[0]] = as_quantity(question_record[kinds[0]])
    rest = {key: each for key, each in keywords.items() if key not in question_record}
    if "what_if" in rest:
        rest["changes"] = rest.pop("what_if")
    if kinds[0] in ("when", "value") and (line := line_of(question_record[kinds[0]], models=True)):
        steps, own = _keys_of_line(line)
        dated = rest.keys() & set(GRID_KEYS) or (kinds[0] == "value" and "dates" in question_record)
        question_record, rest = (
            {"title": own.pop("title"), **({} if dated else own), **question_record},
            rest | ({} if dated else steps),
        )
    if kinds[0] == "value" and "dates" not in question_record:
        question_record |= _dates_of_value(question_record["value"])
    return Answer._to(question=question_record, options=rest)


def _keys_of_line(line: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the first and last date and the step of a line, and the title and the dates of its question."""
    from forecast.scenarios.question_text import QUESTION_NAME, read_question

    read = read_question(line, shapes=()).stated
    asked = read["questions"][QUESTION_NAME].items()
    return {key: read[key] for key in GRID_KEYS if key in read}, {k: v for k, v in asked if k in ("title", "dates")}


def _dates_of_value(of: Quantity) -> dict[str, Any]:
    """Return the dates at which a line would ask for a quantity of a scenario; none of a quantity that has none."""
    from forecast.scenarios.question_text import default_dates, step_at

    scenario = of.scenario
    if scenario is None or scenario.until is None:
        return {}
    return {"dates": default_dates(step_at(scenario.until, scenario.start, scenario.step))}


def _ask_text(text: str, beside: Mapping[str, object], options: Mapping[str, Any]) -> Answer:
    """Answer a question in one line."""
    from forecast.scenarios.question_text import QUESTION_NAME, check_length, read_line

    check_length(text)
    if beside:
        raise UsageError(f"ask: a question in one line stands alone, without '{next(iter(beside))}'")
    check_keywords(options, _LINE_OPTIONS, "ask")
    rest: dict[str, Any] = {key: each for key, each in options.items() if key not in LINE_KEYS}
    series = {key: options[key] for key in SERIES_KEYS if key in options}
    with_, what_if = options.get("with_") or {}, rest.pop("what_if", ())
    asked = read_line(
        text, at=options.get("dates", ()), until=options.get("until"), compare=options.get("compare", False),
        series=series, rival=options.get("model", ""), settings=with_ if isinstance(with_, Mapping) else {},
    )  # fmt: skip
    if with_ and isinstance(with_, Mapping):
        rest["with_"] = asked.settings
    scenario = Scenario.of(asked.scenario)
    for change in checked_changes(what_if):
        scenario = scenario.what_if(**change)
    return scenario.ask(QUESTION_NAME, **rest)
