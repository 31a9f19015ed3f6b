"""What a caller asks of a fit, as one record: the keywords of ``law.fit`` in one place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypedDict

from forecast.base.number_checks import is_integer, is_real
from forecast.errors import UsageError, printable
from forecast.fit.solver_options import SolverOptions

if TYPE_CHECKING:
    from concurrent.futures import Executor


#: A level nearer than this to 0 or 1 is none that the quantiles of double precision can tell from them.
MIN_TAIL_PROBABILITY = 1e-12


def check_level(level: object, where: str) -> float:
    """Return a confidence level, or say what one is."""
    if not is_real(level) or not MIN_TAIL_PROBABILITY <= level <= 1 - MIN_TAIL_PROBABILITY:
        far = f", at least {MIN_TAIL_PROBABILITY:g} from both" if is_real(level) and 0 < level < 1 else ""
        raise UsageError(f"{where}: level: expected a number between 0 and 1{far}, got {printable(repr(level), 40)}")
    return float(level)


@dataclass(frozen=True, kw_only=True)
class FitRequest:
    """The keywords of `forecast.Law.fit`.

    Parameters
    ----------
    objective : str, optional
        One of `forecast.fit.objectives.OBJECTIVES`. Default: the law's own.
    protocol : str, optional
        A published way of fitting this law, which says the objective and the starts; no row is dropped.
    start : mapping of str to float, optional
        Solve from here and from nowhere else. Default: several starts found from the data.
    let : mapping of str to str, optional
        For a variable, a column or a formula over columns: ``{"N": "params_b*1e9"}``. Default: the column of its name.
    y : str, optional
        The column, or formula over columns, that the law explains. Default: the column named like the law's output.
    weights : column, formula or array, optional
        A weight of two is a row twice (in the estimate; the intervals count rows).
    sigma : column, formula or array, optional
        Known standard deviations of y (of log y under a log objective).
    sigma_x : mapping of str to column, formula or array, optional
        Known standard deviations of variables: ``{"N": "0.1*N"}``. The true variables are solved for beside the
        parameters, so that exponents are not attenuated (orthogonal distances, see
        `forecast.fit.problem.errors_in_variables`). Without `sigma` the scatter of y itself is estimated beside them
        (least squares and Gaussian likelihoods only).
    groups : column or array, optional
        One label a row: runs of one family, seeds of one configuration. Without `own`, rows of a group are not taken
        as independent: standard errors are cluster-robust.
    varying : iterable of str
        Parameters of which each of `groups` has its own (``E_llama``, ``E_gpt``); the others are shared by all. The
        fit then has one variable more: ``fit.predict(family="llama", N=1e9)``, or ``fit.group("llama")``.
    options : mapping, optional
        Of the objective: ``{"tau": 0.9}`` (quantile), ``{"trials": "n", "chance": 0.25}`` (binomial),
        ``{"delta": 1e-3}`` (Huber).
    over : str, optional
        A dimension or column: one fit for each of its values, all at once. Returns `forecast.fit.fit.Fits`.
    bootstrap : int, optional
        How many replicates to refit; standard errors then come from them.
    resample : {"pairs", "residuals", "wild", "cluster"}
        What is resampled; ``"cluster"`` draws whole `groups`.
    workers : int or concurrent.futures.Executor, optional
        Share bootstraps and `over` among processes; the results are the same to the last bit. An executor of another
        library does too: ``dask.distributed.Client().get_executor()``. Default: this process alone.
    progress : callable, optional
        ``progress(done, total)``, called as replicates are done, or curves where there is no bootstrap.
    seed : int
        Of starts and of resampling; the same seed gives the same fit.
    level : float
        Confidence of the intervals in the summary.
    solver : SolverOptions, optional
        How hard the optimum is looked for (`forecast.fit.solver_options`); a saved fit does not keep it.
    """

    objective: str | None = None
    protocol: str | None = None
    start: Mapping[str, float] | None = None
    let: Mapping[str, str] | None = None
    y: str | None = None
    weights: Any = None
    sigma: Any = None
    sigma_x: Mapping[str, Any] | None = None
    groups: Any = None
    varying: Iterable[str] = ()
    options: Mapping[str, Any] | None = None
    by: str | None = None
    bootstrap: int | None = None
    resample: str = "pairs"
    workers: int | Executor | None = None
    progress: Callable[[float, float], None] | None = None
    seed: int = 0
    level: float = 0.9
    solver: SolverOptions | None = None

    def check(self, name: str) -> None:
        """Raise `UsageError` for a seed or a level that cannot be."""
        seed: object = self.seed
        if not is_integer(seed) or not 0 <= seed < 2**64:
            raise UsageError(f"{name}: seed: expected an integer from 0 to 2**64 - 1, got {printable(repr(seed), 40)}")
        check_level(self.level, name)
        solver: object = self.solver
        if not isinstance(solver, SolverOptions | None):
            got = type(solver).__name__
            raise UsageError(f"{name}: solver: expected forecast.fit.solver_options.SolverOptions(), got {got}")
        start: object = self.start
        if start is not None and not isinstance(start, Mapping):
            got = printable(repr(start), 40)
            raise UsageError(f"{name}: start: expected a mapping of parameter to number, got {got}")

    def but(self, **changes: Any) -> FitRequest:
        """Return the request with some things changed."""
        return replace(self, **changes)


class FitKeywords(TypedDict, total=False):
    """The types of the keywords of ``law.fit``, but for ``by``, which decides what is returned."""

    objective: str | None
    protocol: str | None
    start: Mapping[str, float] | None
    let: Mapping[str, str] | None
    y: str | None
    weights: Any
    sigma: Any
    sigma_x: Mapping[str, Any] | None
    groups: Any
    varying: Iterable[str]
    options: Mapping[str, Any] | None
    bootstrap: int | None
    resample: str
    workers: int | Executor | None
    progress: Callable[[float, float], None] | None
    seed: int
    level: float
    solver: SolverOptions | None
