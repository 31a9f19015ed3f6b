"""The functions that a formula may call: how many arguments, what their units must be, and their numbers by numpy.

Laws know the functions of `FUNCTIONS`; the expressions of scenarios know those of `SCENARIO_FUNCTIONS` too.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

#: What the unit of an argument must be: none; that of the other arguments marked so; any at all; none, as the argument
#: is a condition; none, or one of time, which becomes years.
DIMENSIONLESS, SAME_UNIT, ANY_UNIT, CONDITION, TIME_UNIT = "plain", "same", "any", "condition", "years"

#: The shares of a `ces` add up to 1 within this.
SHARE_SUM_ATOL = 1e-9
#: Below this rho a `ces` is its limit to the last digit.
RHO_ATOL = 1e-15


@dataclass(frozen=True, kw_only=True)
class Function:
    """One function of the grammar.

    Parameters
    ----------
    numpy : str
        The numpy function (``scipy.special`` for erf and erfc), where one computes it.
    tex : str
        LaTeX before the parentheses.
    arguments : tuple of str
        The rule for the unit of each argument; where there are more arguments, the first rule holds for them too.
    result : float or str
        The power to which the unit of the arguments marked `SAME_UNIT` is raised (0: the result is a plain number),
        or a unit.
    least, most : int
        How many arguments; 0 is as many as `arguments` has.
    lists : tuple of int
        The arguments that are lists in square brackets.
    over_time : bool
        It reads the path of its first argument over time, so that its numbers come from elsewhere.
    """

    numpy: str = ""
    tex: str
    arguments: tuple[str, ...] = (DIMENSIONLESS,)
    result: float | str = 0.0
    least: int = 0
    most: int = 0
    lists: tuple[int, ...] = ()
    over_time: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "least", self.least or len(self.arguments))
        object.__setattr__(self, "most", self.most or len(self.arguments))

    def rules(self, count: int) -> tuple[str, ...]:
        """Return the rule for the unit of each of `count` arguments.

        Examples
        --------
        >>> SCENARIO_FUNCTIONS["softmin"].rules(4)
        ('same', 'same', 'same', 'plain')
        """
        more = count - len(self.arguments)
        return (self.arguments[0],) * more + self.arguments[:count]


def _make_function(name: str, **options: Any) -> Function:
    return Function(tex=rf"\operatorname{{{name}}}", **options)


#: The functions of laws.
FUNCTIONS: Mapping[str, Function] = MappingProxyType(
    {
        "abs": Function(numpy="abs", tex="|", arguments=(SAME_UNIT,), result=1.0),
        "acos": Function(numpy="arccos", tex=r"\arccos"),
        "asin": Function(numpy="arcsin", tex=r"\arcsin"),
        "atan": Function(numpy="arctan", tex=r"\arctan"),
        "cbrt": Function(numpy="cbrt", tex=r"\sqrt[3]", arguments=(SAME_UNIT,), result=1 / 3),
        "ceil": _make_function("ceil", numpy="ceil"),
        "cos": Function(numpy="cos", tex=r"\cos"),
        "cosh": Function(numpy="cosh", tex=r"\cosh"),
        "erf": _make_function("erf", numpy="erf"),
        "erfc": _make_function("erfc", numpy="erfc"),
        "exp": Function(numpy="exp", tex=r"\exp"),
        "expm1": _make_function("expm1", numpy="expm1"),
        "heaviside": Function(numpy="heaviside", tex=r"\theta", arguments=(ANY_UNIT,)),
        "log": Function(numpy="log", tex=r"\log"),
        "log10": Function(numpy="log10", tex=r"\log_{10}"),
        "log1p": _make_function("log1p", numpy="log1p"),
        "log2": Function(numpy="log2", tex=r"\log_{2}"),
        "max": Function(numpy="maximum", tex=r"\max", arguments=(SAME_UNIT,), result=1.0, least=2, most=8),
        "min": Function(numpy="minimum", tex=r"\min", arguments=(SAME_UNIT,), result=1.0, least=2, most=8),
        "sign": _make_function("sign", numpy="sign", arguments=(ANY_UNIT,)),
        "sin": Function(numpy="sin", tex=r"\sin"),
        "sinh": Function(numpy="sinh", tex=r"\sinh"),
        "sqrt": Function(numpy="sqrt", tex=r"\sqrt", arguments=(SAME_UNIT,), result=1 / 2),
        "tan": Function(numpy="tan", tex=r"\tan"),
        "tanh": Function(numpy="tanh", tex=r"\tanh"),
    }
)

#: The functions of scenarios: those of laws and more, the last nine over time. What a
#: stock's ``log_rate`` and ``rate`` are, the stock says.
SCENARIO_FUNCTIONS: Mapping[str, Function] = MappingProxyType(
    {
        **FUNCTIONS,
        "ces": _make_function("ces", arguments=(SAME_UNIT, DIMENSIONLESS, DIMENSIONLESS), result=1.0, lists=(0, 1)),
        "clip": _make_function("clip", arguments=(SAME_UNIT, SAME_UNIT, SAME_UNIT), result=1.0),
        "logistic": _make_function("logistic"),
        "saturate": _make_function("saturate", arguments=(SAME_UNIT, SAME_UNIT), result=1.0),
        "softmin": _make_function("softmin", arguments=(SAME_UNIT, DIMENSIONLESS), result=1.0, least=3, most=9),
        "where": _make_function("where", arguments=(CONDITION, SAME_UNIT, SAME_UNIT), result=1.0),
        "log_rate": _make_function("log_rate", arguments=(ANY_UNIT,), over_time=True),
        "rate": _make_function("rate", arguments=(ANY_UNIT,), result="1/year", over_time=True),
        "at": _make_function("at", arguments=(SAME_UNIT, DIMENSIONLESS), result=1.0, over_time=True),
        "growth": _make_function("growth", arguments=(ANY_UNIT, TIME_UNIT), result="1/year", least=1, over_time=True),
        "lag": _make_function("lag", arguments=(SAME_UNIT, TIME_UNIT), result=1.0, over_time=True),
        "maximum": _make_function("maximum", arguments=(SAME_UNIT,), result=1.0, over_time=True),
        "once": _make_function("once", arguments=(CONDITION,), over_time=True),
        "previous": _make_function("previous", arguments=(SAME_UNIT,), result=1.0, over_time=True),
        "since": _make_function("since", arguments=(CONDITION,), over_time=True),
    }
)


@functools.cache
def implementation(name: str) -> Callable[..., Any]:
    """Return the function of a name, over float64 scalars and arrays; a list in brackets comes as a tuple."""
    import numpy as np

    own: dict[str, Callable[..., Any]] = {
        "ces": lambda goods, shares, rho: ces_of(shares, rho)(goods),
        "clip": lambda x, low, high: np.minimum(np.maximum(x, low), high),
        "heaviside": lambda x: np.heaviside(x, 0.5),
        "logistic": _logistic,
        "saturate": lambda v, limit: -limit * np.expm1(-v / limit),
        "softmin": _soft_minimum,
        "where": lambda condition, a, b: np.where(np.isnan(condition), np.nan, np.where(condition != 0, a, b))[()],
    }
    if name in own:
        return own[name]
    if name in ("erf", "erfc"):
        from scipy import special

        error_function: Callable[..., Any] = getattr(special, name)
        return error_function
    function: Callable[..., Any] = getattr(np, FUNCTIONS[name].numpy)
    return (lambda *args: functools.reduce(function, args)) if FUNCTIONS[name].most > 1 else function


def _logistic(x: Any) -> Any:
    import numpy as np

    small = np.exp(-np.abs(x))  # in [0, 1], so that neither end loses digits
    return np.maximum(small, x >= 0) / (1.0 + small)  # of a number at least 0: 1 above


def _soft_minimum(*args: Any) -> Any:
    """Compute ``(a**-s + b**-s + ...)**(-1/s)`` of numbers that are not negative, s > 0 being the sharpness.

    It never exceeds the smallest, lies at most a factor ``n**(1/s)`` below it, tends to it as s grows, and scales with
    its arguments, so that it does not depend on their unit.
    """
    import numpy as np

    *parts, sharpness = args
    logs = np.log(np.stack(np.broadcast_arrays(*parts)))
    least = logs.min(axis=0)  # NaN where an argument is negative
    total = np.exp(-sharpness * (logs - least)).sum(axis=0)
    soft = np.where(np.isneginf(least), 0.0, np.exp(least - np.log(total) / sharpness))
    return np.where(np.asarray(sharpness) > 0, soft, np.nan)[()]


def ces_of(shares: tuple[Any, ...], rho: Any) -> Callable[[tuple[Any, ...]], Any]:
    """Return the function ``ces`` with these shares and this power, for whoever computes it of many goods.

    It is ``(w1*x1**rho + w2*x2**rho + ...)**(1/rho)``; at rho = 0 its limit, the product of ``x**w``.

    The shares are not negative and add up to 1, else the result is no number. The largest term is taken out of the sum,
    and the rest is computed by expm1 and log1p: nothing overflows, and nothing is lost near rho = 0.

    Parameters
    ----------
    shares : tuple of float or ndarray
    rho : float or ndarray

    Returns
    -------
    callable
        Takes the goods, as many as there are shares; it leaves numpy's warnings as they are.

    Examples
    --------
    >>> round(float(ces_of((0.5, 0.5), 1.0)((2.0, 4.0))), 9)
    3.0
    """
    import numpy as np

    power = np.asarray(rho, dtype=np.float64)
    w = np.empty((len(shares), *np.broadcast(*shares, power).shape))
    for place, share in enumerate(shares):
        w[place] = share
    with np.errstate(all="ignore"):
        rises, flat, counts = power > 0, np.abs(power) < RHO_ATOL, w > 0
        fair = (np.abs(w.sum(axis=0) - 1) <= SHARE_SUM_ATOL) & (w >= 0).all(axis=0)
    every = bool(counts.all())  # then no argument is left out
    one_way = bool(rises.all()) or not rises.any()
    largest = np.maximum if rises.all() else np.minimum
    some_flat, all_fair = bool(flat.any()), bool(fair.all())

    def computed(goods: tuple[Any, ...]) -> Any:
        shape = np.broadcast(*goods, w[0]).shape
        u, own = np.empty((len(goods), *shape)), w
        if w.ndim < u.ndim:
            own = w.reshape(len(w), *[1] * (u.ndim - w.ndim), *w.shape[1:])
        for place, good in enumerate(goods):
            u[place] = good
        np.log(u, out=u)
        up, down = (u, u) if every else (np.where(own > 0, u, -np.inf), np.where(own > 0, u, np.inf))
        if one_way:
            first = largest.reduce(up if largest is np.maximum else down, axis=0)
        else:
            first = np.where(rises, np.maximum.reduce(up, axis=0), np.minimum.reduce(down, axis=0))
        exponent = power * (u - first)
        if not every:  # an argument below zero has no logarithm, and the result none either
            exponent = np.where(own > 0, exponent, 0.0 * np.nan_to_num(u, nan=np.nan, neginf=0.0))
        rest = np.add.reduce(own * np.expm1(exponent), axis=0)
        logarithm, near = np.log1p(rest), rest > -0.5
        if np.count_nonzero(near) < near.size:
            logarithm = np.where(near, logarithm, np.log((own * np.exp(exponent)).sum(axis=0)))
        if some_flat:
            product = (own * np.where(own > 0, u, 0.0)).sum(axis=0)
            value = np.exp(np.where(flat, product, first + logarithm / np.where(flat, 1.0, power)))
        else:
            value = np.exp(first + logarithm / power)
        if np.count_nonzero(none := first == -np.inf):
            value = np.where(none, 0.0, value)
        return (value if all_fair else np.where(fair, value, np.nan))[()]

    return computed
