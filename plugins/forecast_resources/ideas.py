"""How many independent ideas n related ones are worth, derived."""

from __future__ import annotations

from typing import Any

__all__ = ["effective_number", "limit"]


def effective_number(ideas: int | None = None) -> Any:
    """Derive the number of independent ideas that `ideas` ideas with pairwise correlation rho are worth, in sympy.

    The ideas are standard variables with correlation matrix R = (1 − ρ)I + ρ11ᵀ. The information they hold together
    about what they have in common is 1ᵀR⁻¹1, which counts 1 for each idea where they are independent.

    Parameters
    ----------
    ideas : int, optional
        Invert the matrix of this size. Default: the closed form for any n, by the inverse of Sherman and Morrison.

    Returns
    -------
    sympy expression
        In the symbol ``rho``, and ``n`` without `ideas`.

    Examples
    --------
    >>> effective_number()
    n/(n*rho - rho + 1)
    >>> effective_number(2)
    2/(rho + 1)
    """
    import sympy

    rho, n = sympy.symbols("rho n")
    if ideas is None:
        # R = D + ρ 1 1ᵀ with D = (1 − ρ) I, so 1ᵀR⁻¹1 = s/(1 + ρ s) with s = 1ᵀD⁻¹1
        plain = n / (1 - rho)
        return sympy.simplify(plain / (1 + rho * plain))
    table = (1 - rho) * sympy.eye(ideas) + rho * sympy.ones(ideas, ideas)
    ones = sympy.ones(ideas, 1)
    return sympy.simplify((ones.T * table.inv() * ones)[0])


def limit() -> Any:
    """Return what infinitely many ideas are worth: ``1/rho``.

    Examples
    --------
    >>> limit()
    1/rho
    """
    import sympy

    _, n = sympy.symbols("rho n")
    found = effective_number()
    # both sides of the fraction are linear in n: what is left far out is the ratio of their slopes
    top, bottom = sympy.fraction(found)
    return sympy.simplify(sympy.diff(top, n) / sympy.diff(sympy.expand(bottom), n))
