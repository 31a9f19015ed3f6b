"""Parameters that vary together, of which some are held at other values than were drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["regressed"]


def regressed(
    drawn: Mapping[str, Array], held: Mapping[str, Array], names: Sequence[str], covariance: Array
) -> dict[str, Array]:
    """Return draws of parameters of which some are held: the others move by their regression on those.

    Where all are jointly normal this draws exactly from the conditional distribution (Matheron's rule). Of a Student t
    the location is that of the conditional distribution, and the spread stays that of the draws.

    Parameters
    ----------
    drawn, held : mapping of str to ndarray
        (draw,) each.
    names : sequence of str
        The parameters that vary together; all others keep their draws.
    covariance : ndarray
        Theirs, in this order; a factor common to all of it makes no difference.

    Examples
    --------
    >>> import numpy as np
    >>> drawn = {"level": np.array([1.0, 2.0]), "growth": np.array([0.1, 0.3])}
    >>> regressed(drawn, {"growth": np.array([0.2, 0.2])}, ["level", "growth"], np.array([[9.0, 5.0], [5.0, 10.0]]))
    {'level': array([1.05, 1.95]), 'growth': array([0.2, 0.2])}
    """
    import numpy as np

    known = [i for i, name in enumerate(names) if name in held]
    rest = [i for i, name in enumerate(names) if name not in held]
    out = {**drawn, **held}
    if known and rest:
        # a parameter that does not vary moves nothing
        slope = np.linalg.pinv(covariance[np.ix_(known, known)]) @ covariance[np.ix_(known, rest)]
        away = np.stack([held[names[i]] - drawn[names[i]] for i in known])
        out |= {names[i]: drawn[names[i]] + moved for i, moved in zip(rest, slope.T @ away, strict=True)}
    return out
