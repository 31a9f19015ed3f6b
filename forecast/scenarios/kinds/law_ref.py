"""Laws in a scenario: published, saved or fitted to data of one's own, their variables wired to other quantities.

::

    [quantities.loss]
    law = "scaling/chinchilla@besiroglu2024"       # published parameters; or fit = "runs.nc"; or data = "runs.csv"
    N = "size"                                     # every variable of the law, by its name
    D = "tokens"
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from forecast.errors import ForecastError, ScenarioError, UnknownNameError, printable
from forecast.models.nesting import required_quantities
from forecast.scenarios.quantities.node import ModelKind, Node, of_models
from forecast.scenarios.spec import fill
from forecast.scenarios.stream_names import stream
from forecast.scenarios.templates import choices_in_templates, chosen_name, file_of, source_of, walk_choices

if TYPE_CHECKING:
    from forecast.fit.fit import Fit
    from forecast.laws import Law
    from forecast.models import Model
    from forecast.scenarios.parse import ScenarioReader
    from forecast.scenarios.scenario import Scenario
    from forecast.scenarios.table_values import Tables

#: The keys that are no variables of the law.
LAW_KEYS = ("law", "fit", "variables", "data", "y", "let", "where", "objective", "unit", "scatter", "qualifiers")
#: Those that say how a law is fitted.
FIT_KEYS = ("y", "let", "where", "objective")


@dataclass(frozen=True, kw_only=True)
class LawRef(ModelKind):
    """A law with parameters that are published, saved, or fitted to data of one's own.

    Parameters
    ----------
    law : str or Fit
        ``LAW@PUBLISHED``, a law's name, or a formula; it may hold choices in braces. In Python also a fit.
    inputs : mapping of str to str
        Variable of the law to quantity.
    fit, data : str
        A saved fit, or what the law is fitted to; they may hold choices in braces.
    variables : mapping of str to str, optional
        Of a formula: its variables and their units.
    y, let, where, objective
        As in `forecast.Law.fit`; `where` keeps the rows whose columns hold these.
    unit : str
        Of what a formula gives.
    scatter : bool
        Add the scatter of one observation.
    qualifiers : mapping of str to str
    """

    KIND, IDENTIFYING_KEYS, FORM = "law", ("law",), "a law"

    law: str | Fit
    inputs: Mapping[str, str]
    fit: str = ""
    data: str = ""
    variables: Mapping[str, str] | None = None
    y: str | None = None
    let: Mapping[str, str] = field(default_factory=dict)
    where: Mapping[str, str] = field(default_factory=dict)
    objective: str | None = None
    unit: str = ""
    scatter: bool = False
    qualifiers: Mapping[str, str] = field(default_factory=dict)

    @property
    def templates(self) -> dict[str, str]:
        """What may hold choices in braces, by key."""
        return {"law": self.law, "fit": self.fit, "data": self.data} if isinstance(self.law, str) else {}

    @classmethod
    def read(cls, reader: ScenarioReader, record: Mapping[str, Any], key: str, choices: Mapping[str, Any]) -> LawRef:
        """Read a law; whether its variables are wired is for the graph, where the law is known."""
        from forecast.fit.fit import Fit

        if isinstance(record["law"], Fit):
            for name in (*FIT_KEYS, "fit", "data", "variables", "unit"):
                if name in record:
                    raise reader.fail(f"{key}.{name}", "a fit has it already")
            fit: Fit = record["law"]
            return cls(
                law=fit,
                inputs=dict(variable_wires(reader, record, LAW_KEYS, key)),
                scatter=reader.flag(record, "scatter", key),
                qualifiers=reader.qualifiers(record, key),
            )
        law = reader.text(record, "law", key)
        reader.filled(law, choices, f"{key}.law")
        variables = _formula_variables(reader, record, key)
        if "fit" in record and "data" in record:
            raise reader.fail(f"{key}.fit", "expected a saved fit or data to fit the law to, and not both")
        for name in FIT_KEYS:
            if name in record and "data" not in record:
                raise reader.fail(f"{key}.{name}", "says how a law is fitted: give data with it")
        if "unit" in record and variables is None:
            raise reader.fail(f"{key}.unit", "is that of the law: only a formula of your own states it")
        return cls(
            law=law,
            inputs=dict(variable_wires(reader, record, LAW_KEYS, key)),
            fit=reader.file(record, "fit", key, choices) if "fit" in record else "",
            data=reader.source(record, "data", key, choices) if "data" in record else "",
            variables=variables,
            y=reader.text(record, "y", key) if "y" in record else None,
            let=reader.texts_by_name(record, "let", key),
            where=reader.texts_by_name(record, "where", key),
            objective=reader.text(record, "objective", key) if "objective" in record else None,
            unit=reader.unit(record, key) if "unit" in record else "",
            scatter=reader.flag(record, "scatter", key),
            qualifiers=reader.qualifiers(record, key),
        )

    def node(self, scenario: Scenario, name: str, tables: Tables) -> Node:
        """Return the node of the law for each combination of the choices that it holds.

        Raises
        ------
        UnknownNameError, ScenarioError, ResultError
            Naming the key: a law or a fit that is not there, a variable without a quantity.
        """
        key = f"{scenario.where}: quantities.{name}"
        own = choices_in_templates(scenario, self.templates, key=key)
        models: dict[tuple[str, ...], Model] = {}
        for values, chosen in walk_choices(scenario, own):
            if not isinstance(self.law, str):
                models[values] = _model_of_fit(self, self.law, name, stream(scenario.streams, name), key)
                continue
            models[values] = _resolve(
                self,
                fill(self.law, chosen),
                file_of(scenario, self.fit, chosen, key=f"{key}.fit"),
                source_of(scenario, self.data, chosen, key=f"{key}.data"),
                name=chosen_name(name, values),
                stream=stream(scenario.streams, name),
                key=key,
            )
        law_name = self.law if isinstance(self.law, str) else self.law.name
        what = "law" if own else f"law '{printable(law_name, 80)}'"
        check_wires(self.inputs, models, LAW_KEYS, what=what, key=key)
        return of_models(scenario, name, self, own, models)

    @property
    def parts(self) -> tuple[Self, tuple[Any, ...]]:
        """It without a fit of Python, and that."""
        return (self, ()) if isinstance(self.law, str) else (replace(self, law=""), (self.law,))

    def described(self) -> str:
        """Return it with the names of files, without their folders."""
        law = self.law if isinstance(self.law, str) else f"{self.law.name} {dict(self.law.values)}"
        return repr(replace(self, law=law, fit=Path(self.fit).name, data=Path(self.data).name))


def variable_wires(
    reader: ScenarioReader, record: Mapping[str, Any], keys: Iterable[str], key: str
) -> Iterable[tuple[str, str]]:
    """Walk the keys that wire a variable to a quantity."""
    for name, value in record.items():
        if name not in keys:
            if not isinstance(value, str):
                raise reader.fail(f"{key}.{name}", f"expected the name of a quantity, got {printable(value, 40)}")
            yield name, value


def _formula_variables(reader: ScenarioReader, record: Mapping[str, Any], key: str) -> dict[str, str] | None:
    """Return the variables of a formula with their units: a list of names, or a table of name to unit."""
    if "variables" not in record:
        return None
    stated, at = record["variables"], f"{key}.variables"
    names = reader.texts_by_name(record, "variables", key) if isinstance(stated, Mapping) else None
    found = names if names is not None else dict.fromkeys(reader.texts(stated, at), "")
    for name in found:
        if name in LAW_KEYS:
            raise reader.fail(at, f"'{name}' is a key here: give the variable another name")
    return found


def check_wires(
    wired: Mapping[str, str], models: Mapping[Any, Model], keys: Iterable[str], *, what: str, key: str
) -> None:
    """Refuse a key that is no variable, and a variable without one.

    Parameters
    ----------
    wired : mapping of str to str
        Variable to quantity.
    models : mapping of combination to Model
        Whose inputs are the variables.
    keys : iterable of str
        What else may stand there, for a misspelt key.
    what : str
        Who asks, for messages: ``"law 'scaling/chinchilla'"``.
    key : str
        File and key.

    Raises
    ------
    UnknownNameError, ScenarioError
    """
    needed_units = {n: need.unit for model in models.values() for n, need in required_quantities(model)}
    for name in wired:
        if name not in needed_units:
            raise UnknownNameError(f"variable of the {what}, or key,", name, [*needed_units, *keys], where=key)
    for name, unit in needed_units.items():
        if name not in wired:
            variables = ", ".join(f"{n} [{u or 'dimensionless'}]" for n, u in needed_units.items())
            raise ScenarioError(
                f'{key}.{name}: is missing: the {what} needs a quantity for each of {variables}: {name} = "QUANTITY"'
                + (f" in {unit}" if unit else "")
            )


def _resolve(quantity: LawRef, law: str, fit: str, data: str, *, name: str, stream: str, key: str) -> Model:
    """Return the model of a law whose choices are made.

    Parameters
    ----------
    quantity : LawRef
    law, fit, data : str
        With the choices filled in, and paths that may be reached.
    name, stream : str
        Of the model, and the quantity by whose name its parameters are drawn.
    key : str
        File and key, for messages.
    """
    from forecast.fit.save import load_fit
    from forecast.models.relations import fitted_law

    form, published = _parse_law(quantity, law, key)
    for variable in form.variables:
        if variable in LAW_KEYS:
            raise ScenarioError(f"{key}.law: its variable '{variable}' has the name of a key and cannot be wired")
    result = None
    if fit:
        if published:
            raise ScenarioError(f"{key}.fit: '{printable(law, 80)}' names published parameters: give one of the two")
        result = load_fit(fit)
        if result.law.levels:
            raise ScenarioError(f"{key}.fit: has groups: save what it says of one, fit.group(LABEL).save(PATH)")
        if (result.law.text, dict(result.law.variables)) != (form.text, dict(form.variables)):
            raise ScenarioError(
                f"{key}.fit: is a fit of '{printable(result.law.text, 100)}', and not of '{printable(form.text, 100)}'"
            )
    elif published:
        if data:
            raise ScenarioError(f"{key}.data: '{printable(law, 80)}' names published parameters: give one of the two")
        try:
            result = form.published(published)
        except ForecastError as error:
            error.args = (f"{key}.law: {error}",)
            raise
    elif not data:
        known = ", ".join(f"@{each.name}" for each in form.published_fits)
        raise ScenarioError(
            f"{key}.law: '{printable(law, 80)}' has no parameters: expected "
            + (f"published ones after its name ({known}), " if known else "")
            + "fit, or data to fit it to"
        )
    return fitted_law(
        form, name=name, stream=stream, shared=_fit_identity(result) if result else "", parameters=result,
        data=data, y=quantity.y, let=quantity.let, where=quantity.where, objective=quantity.objective,
        scatter=quantity.scatter, qualifiers=quantity.qualifiers, file=fit,
    )  # fmt: skip


def _model_of_fit(quantity: LawRef, fit: Fit, name: str, stream: str, key: str) -> Model:
    """Return the model of a fit in hand."""
    from forecast.models.relations import fitted_law

    if fit.law.levels:
        raise ScenarioError(f"{key}.law: has groups: take what it says of one, fit.group(LABEL)")
    return fitted_law(
        fit.law, name=name, stream=stream, shared=_fit_identity(fit), parameters=fit, scatter=quantity.scatter,
        qualifiers=quantity.qualifiers,
    )  # fmt: skip


def _fit_identity(fit: Fit) -> str:
    """Return the name by which the parameters of a fit are drawn, wherever it is used.

    They are the same unknown constants in every quantity that the fit gives, as a registered model is one model.
    """
    if fit.published is not None:
        return fit.name
    told = repr((fit.law.text, sorted(fit.values.items())))
    return f"{fit.name}#{hashlib.blake2b(told.encode(), digest_size=8).hexdigest()}"


def _parse_law(quantity: LawRef, text: str, key: str) -> tuple[Law, str]:
    """Return the law, and the name of the published parameters that stand behind it."""
    from forecast.laws import Law, law as registered

    if quantity.variables is None:
        name, _, published = text.partition("@")
        return registered(name, where=f"{key}.law"), published
    try:
        return Law(text, variables=quantity.variables, unit=quantity.unit), ""
    except ForecastError as error:
        error.args = (f"{key}.law: {error}",)
        raise
