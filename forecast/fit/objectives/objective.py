"""What an objective is: a loss, the rows it takes, where its standard errors come from, and the value it reports."""

from __future__ import annotations

import abc
import functools
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from forecast.base.arrays import Array, BoolArray
from forecast.base.number_checks import is_real
from forecast.contract.plugin_calls import call_guarded
from forecast.errors import PluginContractError, UnknownNameError, UsageError, printable


@dataclass(frozen=True)
class Option:
    """What may be set of an objective: a number above 0, or a column of the data.

    Parameters
    ----------
    default : float, optional
        None of a column: it must be given. None of a number: it is left out, or comes from the data.
    below : float
        A number is less than this.
    column : str
        What the column says; empty of a number.
    """

    default: float | None = None
    below: float = math.inf
    column: str = ""


@dataclass(frozen=True)
class RowRule:
    """Rows that an objective cannot take.

    Parameters
    ----------
    bad : ndarray of bool
        Shaped as the observations.
    reason : str
        Why, in words that the place of a row may follow; ``{name}`` stands for the number of that name in `numbers`.
    hint : str
        What an objective wants instead.
    numbers : mapping of str to ndarray
        Shaped as the observations.
    """

    bad: BoolArray
    reason: str
    hint: str = ""
    numbers: Mapping[str, Array] = field(default_factory=dict)

    def text(self, place: Any, rows: str = "") -> str:
        """Return all of it as one line, with the numbers of one place (an index of `bad`), and the rows it is about."""
        numbers = {name: float(column[place]) for name, column in self.numbers.items()}
        reason = self.reason.format(**numbers) if numbers else self.reason
        return f"{reason}{rows and f' in {rows}'}{self.hint and f'; {self.hint}'}"


class Scratch:
    """Arrays that every step uses again: allocating them anew would take noticeable time."""

    def __init__(self) -> None:
        self.tables: list[Array] = []

    def __call__(self, i: int, like: Array) -> Array:
        """Return table `i` in the shape of another."""
        while len(self.tables) <= i:
            self.tables.append(np.empty((0, 0)))
        if self.tables[i].shape[1:] != like.shape[1:] or self.tables[i].shape[0] < like.shape[0]:
            self.tables[i] = np.empty(like.shape)
        return self.tables[i][: like.shape[0]]


@dataclass(frozen=True)
class Objective(abc.ABC):
    """A measure of misfit: a sum over points of a loss of law and observation.

    One of your own is a subclass with a `pointwise`, and a record that names it (`forecast.ObjectiveSpec`), from the
    hook ``forecast_objectives`` or by `forecast.register`: then ``law.fit(data, objective="PLUGIN/NAME")`` fits with
    it, many curves and bootstraps too. It states of the attributes below what differs.

    Parameters
    ----------
    name : str
    log : bool
        The loss sees logarithms of law and observations.

    Attributes
    ----------
    scale : {"residual", "known", "sandwich"}
        Where standard errors come from: the spread of the residuals (of squares alone), a likelihood whose scale is
        known, or the sandwich estimator, which trusts no likelihood.
    profile : bool
        What is reported is minus a log likelihood whose scale is profiled out.
    degree : int or None
        With residuals twice as large the loss is 2**degree times as large; None where that is not so.
    convex : bool
        The loss is convex in the law and finite wherever that is: of a linear law one start is enough.
    robust : bool
        Half a square up to a threshold and linear beyond it.
    tuning : str
        The option that is a length of residuals and comes from the data where it is not given.
    takes_sigma_x : bool
        Errors in variables add to its scatter.
    options : mapping of str to Option

    Examples
    --------
    >>> import numpy as np
    >>> from forecast.fit.objectives import Objective, Option
    >>> class LogCosh(Objective):
    ...     "A loss between squares and absolute values: log(cosh(r/width))*width**2 of the residual r."
    ...     options = {"width": Option(0.1)}
    ...
    ...     def pointwise(self, f, y, options):
    ...         width = options["width"]
    ...         z = (f - y) / width
    ...         value = width**2 * (np.logaddexp(z, -z) - np.log(2))
    ...         return value, width * np.tanh(z), 1 - np.tanh(z) ** 2
    >>> loss, slope, curvature = LogCosh("mine/log-cosh").pointwise(np.array([[0.1]]), np.zeros(1), {"width": 0.1})
    >>> loss.round(6), slope.round(4)
    (array([[0.004338]]), array([[0.0762]]))
    """

    name: str
    log: bool = False

    scale: ClassVar[str] = "sandwich"
    profile: ClassVar[bool] = False
    degree: ClassVar[int | None] = None
    convex: ClassVar[bool] = False
    robust: ClassVar[bool] = False
    tuning: ClassVar[str] = ""
    takes_sigma_x: ClassVar[bool] = False
    options: ClassVar[Mapping[str, Option]] = MappingProxyType({})

    # The loss ---------------------------------------------------------------------------------------------------------

    @abc.abstractmethod
    def pointwise(self, f: Array, y: Array, options: Mapping[str, Any]) -> tuple[Array, Array, Array]:
        """Return the loss and its two derivatives by `f` at every point; law `f` and observation `y` are in the link.

        Parameters
        ----------
        f : ndarray
            (B, n), a row a fit.
        y : ndarray
            (n,) or (B, n).
        options : mapping
            Of the objective, numbers or arrays that broadcast with `f`.
        """

    def _called(self, method: str, *given: Any) -> Any:
        """Call a method; that of a plugin, which has the plugin's name in front of its own, fails in a sentence."""
        if "/" not in self.name:
            return getattr(self, method)(*given)
        return call_guarded(f"objective '{self.name}': {method}", lambda: tuple(getattr(self, method)(*given)))

    def losses(self, f: Array, y: Array, options: Mapping[str, Any]) -> tuple[Array, Array, Array]:
        """Return what `pointwise` does, three arrays of one shape."""
        losses: tuple[Array, Array, Array] = self._called("pointwise", f, y, options)
        if "/" in self.name and (shapes := [np.shape(each) for each in losses]) != [f.shape] * 3:
            found, what = " and ".join(map(str, shapes)), f"objective '{self.name}': pointwise"
            raise PluginContractError(f"{what}: expected the loss and its two derivatives, {f.shape} each, got {found}")
        return losses

    def summed(
        self, f: Array, y: Array, weights: Array, options: Mapping[str, Any], scratch: Scratch
    ) -> tuple[Array, Array, Array]:
        """Return the sum of each fit, (B,), and the weighted derivatives at every point, (B, n)."""
        value, first, second = self.losses(f, y, options)
        whole = np.einsum("bn,bn->b", value, np.broadcast_to(weights, value.shape))
        return whole, first * weights, second * weights

    def linked(self, y: Array) -> Array:
        """Return observations, or the law, in the link: the logarithm, or as they are."""
        if not self.log:
            return y
        with np.errstate(all="ignore"):
            return np.asarray(np.log(y))

    def residuals(self, f: Array, y: Array, options: Mapping[str, Any]) -> Array:
        """Return what the law misses observations by; both are in the link."""
        return f - y

    def sizes(self, y: Array, options: Mapping[str, Any]) -> Array:
        """Return the squares at every point against which a loss is rounding or not; `y` is in the link."""
        return np.ones_like(y) if self.log else y * y

    def nearby_squares(self, y: Array, weights: Array, options: Mapping[str, Any]) -> tuple[Array, Array]:
        """Return observations, not in the link, and weights whose squares are nearly the objective: for first looks."""
        with np.errstate(all="ignore"):
            return y, weights / np.square(y) if self.log else weights

    def as_squares(self) -> Objective:
        """Return the squares in the same link."""
        from forecast.fit.objectives.losses import Squares

        return Squares("squares", log=self.log)

    # What it asks of data and options ---------------------------------------------------------------------------------

    def row_rules(self, y: Array, columns: Mapping[str, Array]) -> Iterator[RowRule]:
        """Yield which rows it cannot take; of logarithms those that are not positive are known already.

        Parameters
        ----------
        y : ndarray
            (B, n), not in the link.
        columns : mapping of str to ndarray
            The options that are columns, (B, n) each.
        """
        yield from ()

    def rules(self, y: Array, columns: Mapping[str, Array]) -> Iterable[RowRule]:
        """Return what `row_rules` yields."""
        rules: Iterable[RowRule] = self._called("row_rules", y, columns)
        return rules

    def doubt(self, y: Array, weights: Array) -> str:
        """Return what the objective has to say of data that it takes, and that are hardly meant for it."""
        return ""

    @functools.cached_property
    def columns(self) -> tuple[str, ...]:
        """The options that are columns of the data."""
        return tuple(name for name, option in self.options.items() if option.column)

    @functools.cached_property
    def defaults(self) -> dict[str, Any]:
        """The options as they are where nothing is given."""
        return {name: option.default for name, option in self.options.items()}

    def is_open(self, options: Mapping[str, Any]) -> bool:
        """Return whether an option is yet to come from the data."""
        return self.tuning != "" and options.get(self.tuning) is None

    def resolve_options(self, given: Mapping[str, Any], where: str) -> dict[str, Any]:
        """Return options with the defaults of those that are not given; those that are columns are not read yet.

        Raises
        ------
        UnknownNameError, UsageError
            For what the objective does not know, or numbers outside their range.
        """
        for name, value in given.items():
            if name not in self.options:
                raise UnknownNameError("option", name, self.options, where=f"{where}: objective '{self.name}'")
            option = self.options[name]
            if not option.column and not (is_real(value) and 0 < value < option.below):
                span = f"between 0 and {option.below:g}" if option.below < math.inf else "above 0"
                raise UsageError(f"{where}: {name}: expected a number {span}, got {printable(repr(value), 40)}")
        return {**self.defaults, **given}

    # What its value means ---------------------------------------------------------------------------------------------

    @property
    def unit(self) -> float:
        """What is small and what is not in a log likelihood whose scale is known; 0 where the data must tell."""
        return 1.0 if self.scale == "known" else 0.0

    @property
    def is_likelihood(self) -> bool:
        """Whether what is reported is minus a log likelihood, or stands for one."""
        return self.estimates_scale or self.scale == "known"

    @property
    def estimates_scale(self) -> bool:
        """Whether the scale of the errors is estimated beside the parameters of the law."""
        return self.profile or self.scale == "residual"

    def stated(self, value: Any, weight: Any, length: Any = None) -> Any:
        """Return what is reported for a minimum: the sum of the losses, or minus the log likelihood it stands for.

        Parameters
        ----------
        value : float or array
            The sum of the losses.
        weight : float or array
            Sum of the weights.
        length : float or array, optional
            The option `tuning`.
        """
        return value

    def minus_log_likelihood(self, stated: float, n: int) -> float | None:
        """Return minus the log likelihood of `n` points that a reported value stands for; None where it is of none."""
        return stated if self.is_likelihood else None


def effective_rows(weights: Array) -> Any:
    """Return for how many rows weights stand, along the last axis: a weight of 2 is two copies of a row.

    Weights below 1 are relative ones (one over a variance), and no row stands for less than itself.
    """
    return np.maximum(np.sum(weights, axis=-1), np.count_nonzero(weights, axis=-1))


def weighted_median(values: Array, weights: Array) -> Any:
    """Return the median along the last axis as if each value stood there as often as its weight says.

    Examples
    --------
    >>> import numpy as np
    >>> weighted_median(np.array([3.0, 1.0, 2.0]), np.array([2.0, 1.0, 1.0])).item()
    2.5
    """
    least = weights.min(initial=np.inf)
    if least > 0 and least == weights.max() and not np.isnan(values).any():
        return np.median(values, axis=-1)  # without sorting
    order = np.argsort(np.where(weights > 0, values, np.inf), axis=-1)
    ranked = np.take_along_axis(values, order, axis=-1)
    reached = np.cumsum(np.take_along_axis(np.broadcast_to(weights, values.shape), order, axis=-1), axis=-1)
    half = 0.5 * reached[..., -1:]
    near = 1e-12 * half  # half of the weight, but for rounding
    ends = [np.argmax(reached >= half - near, axis=-1), np.argmax(reached > half + near, axis=-1)]
    low, high = (np.take_along_axis(ranked, place[..., None], axis=-1)[..., 0] for place in ends)
    return 0.5 * (low + high)


def robust_scale(residuals: Array, k: int, weights: Array) -> Any:
    """Return the standard deviation that the middle half of the residuals suggests (MAD/0.6745), for `k` parameters.

    Parameters
    ----------
    residuals, weights : ndarray
        (n,), or (B, n) of many fits.
    """
    n = effective_rows(weights)
    return weighted_median(np.abs(residuals), weights) / 0.6744897501960817 * np.sqrt(n / np.maximum(n - k, 1))
