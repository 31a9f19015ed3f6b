"""Laws in which every group has its own value of some parameters, and shares the others: family intercepts.

A grouped law is a law like any other, with one parameter more for each further group (``E_llama``, ``E_gpt``) and one
variable more: the group, which is a label to people and its place among the labels to the law.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from forecast.base.arrays import Array
from forecast.errors import UnknownNameError, UsageError, printable
from forecast.formula import Formula, Name, check_name
from forecast.laws.forms import Code, Form
from forecast.laws.program import DifferenceProgram, Found, Program
from forecast.laws.requirements import meaningful

if TYPE_CHECKING:
    from forecast.laws.definition import Law


class Groupable:
    """The part of `forecast.Law` that knows of groups."""

    def grouped(self, by: str, labels: Iterable[str], *, varying: Iterable[str]) -> Law:
        """Return the law with a value of some parameters for each group; what ``fit(groups=, varying=)`` fits.

        Parameters
        ----------
        by : str
            Name of the variable that says the group.
        labels : iterable of str
            The groups.
        varying : iterable of str
            Parameters of which each group has its own; bounds carry over.

        Examples
        --------
        >>> from forecast import Law
        >>> law = Law("E + A*N**-a", variables=["N"]).grouped("family", ["llama", "gpt-2"], varying=["E"])
        >>> law.parameters
        ('E_llama', 'E_gpt_2', 'A', 'a')
        >>> found = law.value({"E_llama": 1.0, "E_gpt_2": 2.0, "A": 8.0, "a": 0.5}, N=4.0, family=["gpt-2", "llama"])
        >>> found.tolist()
        [6.0, 5.0]
        """
        return group_law(cast("Law", self), by, tuple(labels), tuple(varying))

    @property
    def levels(self) -> Mapping[str, tuple[str, ...]]:
        """The labels of each variable that is a group; empty where none is."""
        form = cast("Law", self)._form
        return MappingProxyType({form.by: form.labels} if isinstance(form, Grouped) else {})

    @property
    def _plain(self) -> Law:
        """The law that each group follows; the law itself where there are no groups."""
        form = cast("Law", self)._form
        return form.law if isinstance(form, Grouped) else cast("Law", self)

    def _role(self, parameter: str) -> str:
        """Return what a parameter is in the law that each group follows."""
        form = cast("Law", self)._form
        return form.role(parameter) if isinstance(form, Grouped) else parameter

    def _coded(self, name: str, given: Any) -> Any:
        """Return the value of a variable with labels as their places; what is no group is left as it is."""
        law = cast("Law", self)
        form = law._form
        return form.coded(given, law._where) if isinstance(form, Grouped) and name == form.by else given


class Grouped(Form):
    """A law whose own parameters are looked up by group.

    Parameters
    ----------
    law : Law
        What each group follows.
    by : str
        The variable of the group.
    labels : tuple of str
    slots : mapping of str to tuple of Formula
        For each own parameter of `law`, a parameter or number for each group.
    """

    def __init__(self, law: Law, by: str, labels: tuple[str, ...], slots: Mapping[str, tuple[Formula, ...]]) -> None:
        self.law, self.by, self.labels, self.slots = law, by, labels, dict(slots)
        found: list[str] = []
        for name in law.parameters:
            found += [n for f in self.slots[name] for n in f.names] if name in self.slots else [name]
        self.names = (*dict.fromkeys(found), *law.variables, by)

    def text(self, output: str) -> str:
        """Return the text of the law, and which parameters are a group's own."""
        return f"{self.law.text}; {', '.join(self.slots)} by {self.by}"

    def latex(self, output: str) -> str | None:
        """Return the law in LaTeX, own parameters as they are."""
        return self.law._form.latex(output)

    def coded(self, given: Any, where: str) -> Any:
        """Return the places of labels among the groups; what is no text is left as it is.

        Raises
        ------
        UnknownNameError
            With the nearest label.
        """
        values = getattr(given, "values", given)
        array = np.asarray(values)
        if array.dtype.kind not in "UO" or (
            array.dtype.kind == "O" and not all(isinstance(v, str) for v in array.flat)
        ):
            return given
        place = {label: float(i) for i, label in enumerate(self.labels)}
        for text in array.flat:
            if str(text) not in place:
                raise UnknownNameError("group", printable(text, 60), self.labels, where=f"{where}: {self.by}")
        codes = np.array([place[str(text)] for text in array.flat]).reshape(array.shape)
        return given.copy(data=codes) if hasattr(given, "dims") else codes

    def value(self, values: Mapping[str, Any], shape: tuple[int, ...]) -> Array:
        """Compute it; nan where the group is none of the labels."""
        form = self.law._form
        if not isinstance(form, Code):
            known = np.isin(values[self.by], np.arange(len(self.labels)))
            given = {**_ungrouped_values(self.law, values), **self.chosen(values)}
            found = meaningful(self.law.requires, given, form.value(given, shape))
            return np.where(np.broadcast_to(known, shape), found, np.nan)
        # a plugin's code takes one value of each parameter: one group at a time
        whole = {n: np.broadcast_to(values[n], shape) for n in (*self.law.variables, self.by)}
        found = np.full(shape, np.nan)
        for place in range(len(self.labels)):
            rows = whole[self.by] == place
            if rows.any():
                own = {p: np.asarray(slots[place].evaluate(values), float) for p, slots in self.slots.items()}
                part = {**_ungrouped_values(self.law, values), **own}
                part = {n: v if v.size == 1 else np.broadcast_to(v, shape)[rows] for n, v in part.items()}
                part |= {n: whole[n][rows] for n in self.law.variables}
                found[rows] = meaningful(self.law.requires, part, form.value(part, (int(rows.sum()),)))
        return found

    def chosen(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the own parameters as each point's group has them."""
        codes = np.asarray(values[self.by])
        known = np.isin(codes, np.arange(len(self.labels)))
        places = np.where(known, codes, 0).astype(np.int64)
        found = {}
        for name, slots in self.slots.items():
            each = [
                np.asarray(values[s.root.name] if isinstance(s.root, Name) else s.evaluate(values), dtype=np.float64)
                for s in slots
            ]
            common = np.broadcast_shapes(*(e.shape for e in each))
            if places.ndim == 1 and (not common or common[-1] == 1):
                table = np.stack([np.broadcast_to(e, common or (1,))[..., 0] for e in each], axis=-1)
                found[name] = table[..., places]
            else:
                shape = np.broadcast_shapes(common, places.shape)
                found[name] = np.empty(shape)
                for place, one in enumerate(each):
                    np.copyto(found[name], one, where=places == place)
        return found

    def roles(self) -> dict[str, list[tuple[int, int | None]]]:
        """Return for each parameter the places it has in the law: (parameter of the law, group; None is all)."""
        found: dict[str, list[tuple[int, int | None]]] = {}
        for i, name in enumerate(self.law.parameters):
            for place, slot in enumerate(self.slots.get(name, ())):
                for own in slot.names:
                    found.setdefault(own, []).append((i, place))
            if name not in self.slots:
                found.setdefault(name, []).append((i, None))
        return found

    def role(self, parameter: str) -> str:
        """Return the parameter of the law in whose place one stands."""
        return self.law.parameters[self.roles()[parameter][0][0]]

    def program(self, parameters: tuple[str, ...], variables: tuple[str, ...]) -> Program:
        """Return the program of the law with its parameters chosen by group."""
        if isinstance(self.law._form, Code):
            return DifferenceProgram(self.value, parameters, variables)
        return GroupedProgram(self, parameters, variables)

    def replaced(self, changes: Mapping[str, Formula]) -> Grouped:
        """Return it with parameters of groups, or shared ones, replaced by numbers or other names."""
        from forecast.laws.compose import _replace_parameters

        shared = {n: f for n, f in changes.items() if n in self.law.parameters and n not in self.slots}
        renamed = {n: shared[n].names[0] if n in shared else n for n in self.law.parameters if n not in shared or
                   shared[n].names}  # fmt: skip
        law = _replace_parameters(self.law, shared, renamed) if shared else self.law
        slots = {n: tuple(s.substitute(changes) for s in slots) for n, slots in self.slots.items()}
        return Grouped(law, self.by, self.labels, slots)


def _ungrouped_values(law: Law, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a law without groups takes of the values."""
    return {n: values[n] for n in (*law.parameters, *law.variables) if n in values}


class GroupedProgram(Program):
    """Value and derivatives of a grouped law: those of the law, each where its group is.

    Parameters
    ----------
    form : Grouped
    parameters, variables : tuple of str
        Variables that are differentiated stand among the parameters.
    """

    def __init__(self, form: Grouped, parameters: tuple[str, ...], variables: tuple[str, ...]) -> None:
        super().__init__(parameters, variables)
        self.form, law = form, form.law
        self._extra = tuple(p for p in parameters if p in law.variables)
        inner = law.program() if not self._extra else law._form.program(
            (*law.parameters, *self._extra), tuple(v for v in law.variables if v not in self._extra)
        )  # fmt: skip
        self._inner = inner
        self._roles = form.roles() | {p: [(inner.parameters.index(p), None)] for p in self._extra}

    def _evaluate(self, values: Mapping[str, Array], shape: tuple[int, ...], order: int) -> Found:
        given = {**_ungrouped_values(self.form.law, values), **self.form.chosen(values)}
        value, slopes, curves = self._inner.evaluate(given, order)
        codes = values[self.form.by]
        inside = [codes == place for place in range(len(self.form.labels))]
        known = np.isin(codes, np.arange(len(inside)))
        value = np.where(known, value, np.nan)

        def part(entry: Any, group: int | None) -> Any:
            return entry if group is None else np.where(inside[group], entry, 0.0)

        roles = [self._roles.get(p, []) for p in self.parameters]
        gradient = [sum((part(slopes[i], g) for i, g in mine), 0.0) for mine in roles] if order else []
        hessian: dict[tuple[int, int], Any] = {}
        for a in range(len(roles) if order > 1 else 0):
            for b in range(a, len(roles)):
                for i, g in roles[a]:
                    for j, h in roles[b]:
                        key = (min(i, j), max(i, j))
                        if key in curves and (g is None or h is None or g == h):
                            entry = part(curves[key], h if g is None else g)
                            hessian[a, b] = hessian.get((a, b), 0.0) + entry
        return value, gradient, hessian


def name_of(parameter: str, label: str, place: int) -> str:
    """Return the name of a group's own parameter.

    Examples
    --------
    >>> name_of("E", "Llama 3.1", 0)
    'E_Llama_3_1'
    """
    tail = re.sub(r"[^A-Za-z0-9]+", "_", label).strip("_")
    return f"{parameter}_{tail[: 62 - len(parameter)] or place + 1}"


def group_law(law: Law, by: str, labels: Sequence[str], varying: Sequence[str]) -> Law:
    """Return a law with own parameters for each group; see `forecast.Law.grouped`.

    Raises
    ------
    UnknownNameError
        For an own parameter that the law does not have.
    UsageError
        For fewer than two groups, or two labels that give one name.
    """
    where = f"{law._where}: groups"
    check_name(by, where=where)
    if by in (*law.parameters, *law.variables, law.output):
        raise UsageError(f"{where}: '{by}' is a name in the law; call the column of groups something else")
    if isinstance(law._form, Grouped):
        raise UsageError(f"{where}: the law has groups already, by {law._form.by}")
    if len(set(labels)) < 2 or len(set(labels)) < len(labels):
        raise UsageError(f"{where}: expected at least two groups, each once, got {len(labels)}")
    for name in varying:
        if name not in law.parameters:
            raise UnknownNameError("parameter", printable(name, 60), law.parameters, where=f"{law._where}: varying")
        if law.bounds[name][0] == law.bounds[name][1]:
            raise UsageError(f"{law._where}: varying: '{name}' is fixed by its bounds")
    if not varying:
        raise UsageError(f"{law._where}: varying: expected at least one parameter")
    slots: dict[str, tuple[Formula, ...]] = {}
    taken: dict[str, str] = dict.fromkeys((*law.parameters, *law.variables, law.output, by), "")
    for name in law.parameters:
        if name not in varying:
            continue
        found = []
        for place, label in enumerate(labels):
            made = check_name(name_of(name, label, place), where=where)
            if made in taken:
                other = f"the groups '{printable(taken[made], 60)}' and" if taken[made] else "the law has it, and for"
                raise UsageError(f"{where}: two parameters '{made}': {other} '{printable(label, 60)}'; rename one")
            taken[made] = label
            found.append(Formula(Name(made)))
        slots[name] = tuple(found)
    return law_of_form(law, by, tuple(labels), slots)


def law_of_form(law: Law, by: str, labels: tuple[str, ...], slots: Mapping[str, tuple[Formula, ...]]) -> Law:
    """Return the law of a grouped form; bounds and what is linear carry over."""
    from forecast.laws.compose import other_arguments

    form = Grouped(law, by, labels, slots)
    each = {n: [m for f in slots[n] for m in f.names] if n in slots else [n] for n in law.parameters}
    bounds = {m: law.bounds[n] for n in law.parameters for m in each[n]}
    known = other_arguments(law) | {
        "variables": {**law.variables, by: ""},
        "bounds": {m: b for m, b in bounds.items() if b != (-math.inf, math.inf)},
        "linear": tuple(m for n in law.linear for m in each[n]),
        "requires": {},  # `Grouped.value` checks each group by itself
        "name": f"{law.name or law.expression or 'law'} by {by}",
        "published": (),
        "title": "",
    }
    return type(law)._from_form(form, known)
