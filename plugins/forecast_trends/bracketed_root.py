"""A root between two numbers, by Brent's rule: step for step what `scipy.optimize.brentq` takes.

That library minimises, programs linearly and searches globally beside it: what imports it loads 230 modules, in a tenth
of a second, where the quantiles of a line take a hundredth.
"""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["bracketed_root"]

#: Relative tolerance of the place, four times the spacing of doubles, and steps at most, as scipy has them.
_RTOL, _STEPS = 8.881784197001252e-16, 100


def bracketed_root(function: Callable[[float], float], low: float, high: float, *, xtol: float) -> float:
    """Return where a function changes sign between two numbers.

    Parameters
    ----------
    function : callable
        Of opposite sign at `low` and at `high`, or zero at one of them.
    low, high : float
    xtol : float
        Absolute tolerance of the place.

    References
    ----------
    Brent, R. P. (1973), Algorithms for minimization without derivatives, Prentice-Hall, chapter 4.

    Examples
    --------
    >>> round(bracketed_root(lambda x: x**2 - 2, 0.0, 2.0, xtol=1e-12), 9)
    1.414213562
    """
    before, now = low, high
    f_before, f_now = function(before), function(now)
    if f_before == 0 or f_now == 0:
        return before if f_before == 0 else now
    if (f_before < 0) == (f_now < 0):
        raise ValueError(f"no change of sign between {low!r} and {high!r}")
    other, f_other, step, last = before, f_before, now - before, now - before
    for _ in range(_STEPS):
        if f_before != 0 and f_now != 0 and (f_before < 0) != (f_now < 0):
            other, f_other = before, f_before
            step = last = now - before
        if abs(f_other) < abs(f_now):  # the nearer one is where the next step starts
            before, now, other = now, other, now
            f_before, f_now, f_other = f_now, f_other, f_now
        tolerance, half = (xtol + _RTOL * abs(now)) / 2, (other - now) / 2
        if f_now == 0 or abs(half) < tolerance:
            return now
        tried = None
        if abs(last) > tolerance and abs(f_now) < abs(f_before):
            if before == other:  # the secant
                tried = -f_now * (now - before) / (f_now - f_before)
            else:  # the inverse parabola
                one, two = (f_before - f_now) / (before - now), (f_other - f_now) / (other - now)
                tried = -f_now * (f_other * two - f_before * one) / (two * one * (f_other - f_before))
        if tried is not None and 2 * abs(tried) < min(abs(last), 3 * abs(half) - tolerance):
            last, step = step, tried
        else:
            last = step = half
        before, f_before = now, f_now
        now += step if abs(step) > tolerance else tolerance if half > 0 else -tolerance
        f_now = function(now)
    raise ValueError(f"no root to within {xtol!r} in {_STEPS} steps")
