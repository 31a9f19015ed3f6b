"""What a fit can and cannot know: what is identified, what lies on a ridge, what one point decides.

A parameter is *not identified* if no end of its profile is limited, if the part of the law that it belongs to may as
well be absent, or if the design cannot tell its term from another's. That is more than a covariance can say: at an
optimum that chance has made, the curvature is never zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from forecast.base.arrays import Array, BoolArray
from forecast.errors import printable
from forecast.fit.data.groups import point_codes
from forecast.fit.data.residual_autocorrelation import error_inflation
from forecast.fit.diagnostics.influence import influence_of_points
from forecast.fit.fit import Fit
from forecast.fit.inference import profile
from forecast.fit.inference.covariance import ROUNDING_REASON
from forecast.fit.inference.profile import ProfileCurve
from forecast.fit.problem.problem import RESIDUAL_RTOL, Problem
from forecast.fit.solutions import Solutions
from forecast.fit.solve.domain import law_values, likely_parameters
from forecast.formula import tree
from forecast.formula.tree import Binary, Name, Number

#: Identifiability is judged at this level, whatever the level of the requested intervals.
DIAGNOSIS_LEVEL = 0.95
#: An interval of a positive parameter over this many decades is no knowledge.
MAX_INTERVAL_DECADES = 4.0
#: Parameters whose estimates are correlated by more than this are named as a ridge.
RIDGE_CORRELATION = 0.9999
#: Bands that autocorrelation widens by less than this are not worth a word.
MIN_INFLATION = 1.25
#: Influence is judged up to this number of points.
MAX_INFLUENCE_POINTS = 20_000
#: Smaller probabilities are rounding.
LEAST_PROBABILITY = 1e-15


@dataclass(frozen=True, kw_only=True)
class Diagnostics:
    """What the data say about a fit.

    Parameters
    ----------
    unidentified : mapping of str to str
        Parameter to reason.
    one_sided : mapping of str to str
        Parameters that the data limit on one side only, and which.
    edges : mapping of str to str
        Places (a midpoint, a break) that may lie outside the data.
    ridges : tuple of str
        Which parameters move together, and how.
    influential : str
        The point that decides a parameter, where chance does not put a point so far off; else empty.
    opposed : str
        In which direction the data go and the law cannot; else empty.
    lack_of_fit : LackOfFit or None
        The test of the law against the scatter of rows that share their variables; None where none do.
    following : str
        How residuals follow each other along the variable; empty where they do not.
    flaw : str
        Why no interval can be given.
    exact : bool
        The data lie on the law to rounding.
    """

    unidentified: Mapping[str, str] = field(default_factory=dict)
    one_sided: Mapping[str, str] = field(default_factory=dict)
    edges: Mapping[str, str] = field(default_factory=dict)
    ridges: tuple[str, ...] = ()
    influential: str = ""
    opposed: str = ""
    lack_of_fit: LackOfFit | None = None
    following: str = ""
    flaw: str = ""
    exact: bool = False

    @property
    def flagged(self) -> tuple[str, ...]:
        """The parameters that are not known as their estimates suggest."""
        return tuple(dict.fromkeys([*self.unidentified, *self.one_sided, *self.edges]))

    @property
    def _missed(self) -> str:
        return "" if self.lack_of_fit is None else self.lack_of_fit.phrase()

    def phrases(self) -> list[str]:
        """Return the judgement in short phrases."""
        phrases = [*filter(None, (self.opposed, self._missed, self.following))]
        if self.flaw:
            phrases.append(f"no intervals: {self.flaw}")
        if self.exact:
            phrases.append(ROUNDING_REASON)
        if self.unidentified:
            phrases.append(f"not identified: {', '.join(self.unidentified)}")
        phrases += [f"{name} limited on one side only ({why})" for name, why in self.one_sided.items()]
        phrases += [f"{name}: {why}" for name, why in self.edges.items()]
        if not (self.opposed or self.flaw or self.unidentified or self.one_sided or self.edges):
            phrases.append("all parameters identified")
        phrases += [f"on a ridge: {text}" for text in self.ridges]
        return [*phrases, self.influential] if self.influential else phrases

    def warnings(self, name: str, *, predicting: bool = False) -> list[str]:
        """Return what a reader of the fit called `name` must be warned of; or of a prediction, what no band holds."""
        lines = [f"{name}: {text}" for text in (self.opposed, self._missed) if text]
        if self.following and not predicting:
            lines.append(f"{name}: {self.following}; intervals of parameters take them for independent")
        if self.flaw:
            lines.append(f"{name}: no intervals: {self.flaw}")
        if self.exact:
            lines.append(f"{name}: {ROUNDING_REASON}: intervals are as wide as the rounding of y")
        about = f"{name}: parameter"
        lines += [f"{about} '{n}' is not identified by these data: {why}" for n, why in self.unidentified.items()]
        lines += [f"{about} '{n}' is limited on one side only: {why}" for n, why in self.one_sided.items()]
        lines += [f"{about} '{n}' {why}" for n, why in self.edges.items()]
        lines += [f"{name}: on a ridge: {text}" for text in self.ridges]
        return [*lines, f"{name}: {self.influential}"] if self.influential else lines


def diagnose(fit: Fit) -> Diagnostics:
    """Return what the data say about a fit; nothing for published parameters."""
    solutions = fit.solutions
    if solutions is None:
        return Diagnostics()
    known, flaw, exact = solutions.known, solutions.known.flaw(), bool(solutions.known.exact[0])
    reasons, on_bounds = known.reasons(), known.on_bounds()
    if not solutions.has_data:
        return Diagnostics(unidentified=reasons, flaw=flaw, exact=exact)
    problem = solutions.problem()
    for name, why in _absent(fit, problem).items():
        reasons.setdefault(name, why)
    for name, why in together(problem, fit.values).items():
        reasons.setdefault(name, why)
    one_sided: dict[str, str] = {}
    beyond: dict[str, str] = {}
    for i, name in enumerate(problem.free):
        hidden, low, high = profile.hidden_ridges(solutions, i, DIAGNOSIS_LEVEL)
        if hidden[0]:
            reach = f"[{low[0]:.4g}, {high[0]:.4g}]"
            reasons.setdefault(name, f"its standard error misses a ridge: refitting the others widens it to {reach}")
    if solutions.likelihood and solutions.affordable[0]:
        profiled = profile.endpoints_of(solutions, DIAGNOSIS_LEVEL, np.array([0]))
        if not profiled.better:
            _check_profile(problem, profiled, reasons, one_sided, on_bounds)
            pairs = [profiled.ends(i) for i in range(problem.k)]
            ends = {n: (float(low[0]), float(high[0])) for n, (low, high) in zip(problem.free, pairs, strict=True)}
            beyond = {n: why for n, why in edge_reasons(problem, ends).items() if n not in reasons}
    return Diagnostics(
        unidentified=reasons,
        one_sided={n: why for n, why in one_sided.items() if n not in reasons},
        edges=beyond,
        ridges=() if flaw else _ridge_warning(fit, problem, reasons),
        influential="" if flaw or not fit.converged else _influential_row_text(fit, problem),
        opposed=opposite_direction(solutions),
        lack_of_fit=_lack_of_fit_test(fit, problem),
        following="" if flaw or exact else _autocorrelation_warning(solutions),
        flaw=flaw,
        exact=exact,
    )


def _autocorrelation_warning(solutions: Solutions) -> str:
    """Say how residuals follow each other, where that widens a band by more than a little."""
    rho = float(solutions.correlation[0])
    times = float(error_inflation(np.array(rho)))
    if times < MIN_INFLATION:
        return ""
    return f"residuals follow each other (rho = {rho:.2f}): bands of predictions are {times:.2g} times as wide"


def _lack_of_fit_test(fit: Fit, problem: Problem) -> LackOfFit | None:
    """Test the law where rows share their variables; errors in these leave no rows that surely do."""
    if fit.data is None or fit.data.sigma_x:
        return None
    at = np.array([fit.values[n] for n in problem.free])
    return lack_of_fit(problem, at, grouped=bool(fit.uncertainty and fit.uncertainty.clusters))


def _check_profile(
    problem: Problem,
    profiled: ProfileCurve,
    reasons: dict[str, str],
    one_sided: dict[str, str],
    bounds: Mapping[str, Any],
) -> None:
    """Read off the profile which parameters the data limit."""
    for i, name in enumerate(problem.free):
        low, high = float(profiled.low[i, 0]), float(profiled.high[i, 0])
        open_low, open_high = bool(np.isinf(low)), bool(np.isinf(high))
        if open_low and open_high:
            reasons.setdefault(name, "its profile likelihood is limited on neither side")
        elif open_high and name in bounds:
            reasons.setdefault(name, "nothing limits it away from its bound")
        elif open_high:
            one_sided[name] = "nothing limits it from above"
        elif open_low and not problem.logs[i]:
            one_sided[name] = "nothing limits it from below"
        elif (
            problem.logs[i] and not open_low and high - low > MAX_INTERVAL_DECADES * np.log(10.0) and name not in bounds
        ):
            decades = (high - low) / np.log(10.0)
            reasons.setdefault(name, f"its interval spans {decades:.1f} decades")


def _absent(fit: Fit, problem: Problem) -> dict[str, str]:
    """Return parameters that mean nothing if another is 0, as it may be by a test."""
    from scipy.special import fdtri, gammaincinv

    from forecast.fit.solve.multistart import search

    made = fit.solutions
    assert made is not None
    known = made.known
    optima = profile.optimum(fit, problem)
    p = np.array([fit.values[n] for n in problem.free])
    lengths = np.linalg.norm(np.nan_to_num(problem.slopes(p)), axis=0)
    squared = float(known.quantile(0.5 + DIAGNOSIS_LEVEL / 2)[0]) ** 2
    with np.errstate(all="ignore"):
        unit = np.ones(problem.k)
        if made.profilable[0]:
            unit = profile.allowed_rise(made, np.array([0]), optima, DIAGNOSIS_LEVEL)[:, 0] / squared
    reasons: dict[str, str] = {}
    for j, name in enumerate(problem.free):
        if np.isfinite(problem.lower[j]) and (problem.logs[j] or problem.lower[j] > 0):
            continue
        if not problem.logs[j] and problem.upper[j] < 0:
            continue
        tried = np.where(np.arange(problem.k) == j, 0.0, p)
        with np.errstate(all="ignore"):
            there = np.linalg.norm(problem.slopes(tried), axis=0)
        lost = [i for i in range(problem.k) if i != j and lengths[i] > 0 and there[i] <= 1e-12 * lengths[i]]
        keep = [i for i in range(problem.k) if i != j and i not in lost]
        if not lost or not np.isfinite(there[keep]).all():
            continue
        fixed = {**problem.fixed, name: 0.0, **{problem.free[i]: float(p[i]) for i in lost}}
        value = problem.value_at(tried)
        if keep:
            smaller = problem.with_changes(coordinates=problem.coordinates.take(keep, fixed))
            _, solved = search(smaller, None, 0)
            value = min([value, *(s.value for s in solved[:1])])
        # twice what is lost: it was chosen to fit best, and so gains more than a parameter in its place (Davies, 1987)
        count = 1 + 2 * len(lost)
        if known.flaw() or known.exact[0]:
            absent = value <= (10 * RESIDUAL_RTOL * problem.size()) ** 2
        else:
            edge = 2 * gammaincinv(count / 2, DIAGNOSIS_LEVEL)  # the quantile of chi squared
            if not known.absolute_sigma and problem.objective.scale != "known":
                edge = count * fdtri(count, max(int(known.dof[0]), 1), DIAGNOSIS_LEVEL)
            absent = float(value - optima.value[0]) <= edge * unit[j]
        if absent:
            for i in lost:
                reasons.setdefault(problem.free[i], f"{name} may be 0, and then it means nothing")
    return reasons


def _ridge_warning(fit: Fit, problem: Problem, reasons: Mapping[str, str]) -> tuple[str, ...]:
    """Describe the weakest direction where parameters cannot move but together."""
    keep = [i for i, n in enumerate(problem.free) if fit.uncertainty and n not in fit.uncertainty.on_bounds()]
    if len(keep) < 2:
        return ()
    problem = problem.about(np.array([fit.values[n] for n in problem.free]))
    inverse = profile.optimum(fit, problem).inverse[:, :, 0][np.ix_(keep, keep)]
    errors = np.sqrt(np.diag(inverse))
    with np.errstate(all="ignore"):
        table = inverse / np.outer(errors, errors)
    if not np.isfinite(table).all():
        return ()
    apart = np.abs(table - np.diag(np.diag(table)))
    if apart.max() < RIDGE_CORRELATION and not reasons:
        return ()
    _, vectors = np.linalg.eigh(table)
    weak = vectors[:, -1]
    members = [j for j in range(len(keep)) if abs(weak[j]) > 0.3]
    if len(members) < 2 or apart[np.ix_(members, members)].max() < 0.95:
        return ()
    # one step along the ridge: the first member by a tenth (a logarithm), or a tenth of its size
    lead = members[0]
    moves = weak * errors
    first = keep[lead]
    size = 0.1 if problem.logs[first] else 0.1 * max(abs(fit.values[problem.free[first]]), 1e-300)
    moves = moves * (size / moves[lead])
    if not np.abs(moves[[j for j in members if problem.logs[keep[j]]]]).max(initial=0.0) < 10:
        return (f"{', '.join(problem.free[keep[j]] for j in members)} move together",)
    words = []
    for j in members:
        name, move = problem.free[keep[j]], float(moves[j])
        words.append(f"{name} times {np.exp(move):.3g}" if problem.logs[keep[j]] else f"{name} by {move:+.3g}")
    names = [problem.free[keep[j]] for j in members]
    return (f"{', '.join(names)} move together ({', '.join(words)})",)


def _influential_row_text(fit: Fit, problem: Problem) -> str:
    """Name the row that decides a parameter, where it lies farther off than chance puts the worst of so many rows."""
    if problem.value_at(np.array([fit.values[n] for n in problem.free])) <= (10 * RESIDUAL_RTOL * problem.size()) ** 2:
        return ""  # nothing but rounding would move
    if (fit.n or 0) > MAX_INFLUENCE_POINTS:
        return ""
    moved = influence_of_points(fit)
    place = moved.deciding()
    if place is None:
        return ""
    most = int(np.argmax(np.abs(moved.shifts[:, place])))
    name, row, value = moved.names[most], int(moved.rows[place]) + 1, float(moved.values[most, place])
    chance = max(float(moved.probability[place]), LEAST_PROBABILITY)
    return (
        f"row {row} decides {printable(name, 60)}: {value:.4g} without it, {fit.values[name]:.4g} with it "
        f"(a shift of {abs(moved.shifts[most, place]):.1f} standard errors; chance puts a row so far off with p "
        f"{'=' if chance > LEAST_PROBABILITY else '<'} {chance:.1g}); check the row, or fit with objective='huber_log'"
    )


#: What has this chance without any trend is one; of fewer points nothing is said.
CHANCE, MIN_POINTS = 0.01, 5
#: A law of several variables is flat in one that moves it by less than this share of what the data do there.
FLAT = 0.01
#: Rows that are looked at, of more.
MOST_ROWS = 10_000
#: How the law and the data move: less than this share of the largest move is rounding.
ROUNDING = 1e-9


def opposite_direction(solutions: Solutions) -> str:
    """Say that y rises with a variable and this law only falls, or the reverse; empty where the law can follow."""
    problem = solutions.problem()
    if problem.law.levels or problem.errs_in_x or problem.n < MIN_POINTS:
        return ""
    rows = _thin_rows(problem.weights > 0)
    variables = {name: np.broadcast_to(v, rows.shape)[rows] for name, v in problem.variables.items()}
    columns = [name for name, v in variables.items() if np.ptp(v) > 0]
    trends = _directions(solutions, problem, rows, {name: variables[name] for name in columns})
    called = solutions.curves.called
    for name, trend in trends.items():
        if trend and _only_direction(problem, variables, name) == -trend:
            words = ("rises", "falls") if trend > 0 else ("falls", "rises")
            y, x = (printable(called.get(n, n), 60) for n in (problem.law.output, name))
            return f"{y} {words[0]} with {x}, this law only {words[1]}"
    return ""


def _directions(solutions: Solutions, problem: Problem, rows: BoolArray, variables: dict[str, Array]) -> dict[str, int]:
    """Return 1 or -1 for the variables with which the data surely rise or fall, and the law, of several, does not."""
    from scipy.special import stdtrit

    observed = problem.y[rows]
    if len(variables) == 1:
        left, table = _ranks(observed), [_ranks(v) for v in variables.values()]
    else:  # what the law leaves
        at = problem.predicted(solutions.problem().natural(solutions.q[:, 0]))[rows]
        with np.errstate(all="ignore"):
            left = observed - problem.objective.linked(at)
        table = [np.log(v) if (v > 0).all() else v for v in variables.values()]
    freedom = left.size - len(table) - 1
    if freedom < 1 or not np.isfinite(left).all():
        return {}
    design = np.column_stack([np.ones(left.size), *((t - t.mean()) / t.std() for t in table)])
    slopes, *_ = np.linalg.lstsq(design, left, rcond=None)
    spread = np.linalg.pinv(design.T @ design).diagonal() * np.sum((left - design @ slopes) ** 2) / freedom
    sure = np.abs(slopes) > float(stdtrit(freedom, 1 - CHANCE / 2)) * np.sqrt(spread)
    trends = {n: int(np.sign(slopes[i])) * int(sure[i]) for i, n in enumerate(variables, start=1)}
    if len(variables) == 1:
        return trends
    fitted = solutions.q[:, :1]
    given = {name: np.broadcast_to(v, rows.shape)[rows] for name, v in problem.variables.items()}
    return {
        n: trend * int(np.abs(_law_changes(problem, fitted, given, n)).max() <= FLAT * 2 * abs(slopes[i]))
        for i, (n, trend) in enumerate(trends.items(), start=1)
    }


def _thin_rows(rows: BoolArray) -> BoolArray:
    """Return at most `MOST_ROWS` of these rows, evenly spaced: more would make nothing surer."""
    kept = np.flatnonzero(rows)
    out = np.zeros_like(rows)
    out.flat[kept[:: max(1, -(-kept.size // MOST_ROWS))]] = True
    return out


def _ranks(values: Array) -> Array:
    """Return ranks, of equal values their mean."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(count) - 0.5 * (count - 1))[np.ravel(place)])


def _only_direction(problem: Problem, variables: dict[str, Array], name: str) -> int:
    """Return 1 or -1 where the law only rises or falls with a variable, at all likely parameters; else 0."""
    moves = _law_changes(problem, likely_parameters(problem), variables, name)
    moves = moves[np.isfinite(moves).all(axis=1)]
    size = ROUNDING * np.abs(moves).max(axis=1, keepdims=True, initial=0.0)
    rises, falls = bool((moves > size).any()), bool((moves < -size).any())
    return int(rises) - int(falls)


def _law_changes(problem: Problem, samples: Array, variables: dict[str, Array], name: str) -> Array:
    """Return how the law moves, at some parameters (k, S), as a variable goes up: along its points, or their range.

    Not a number where it has no value, or none that is positive under a log objective.
    """
    steps = np.unique(variables[name])
    places = [{name: steps}]
    if len(variables) > 1:
        places = [{**variables, name: np.full(variables[name].size, end)} for end in (steps[0], steps[-1])]
    with np.errstate(all="ignore"):
        levels = [problem.objective.linked(law_values(problem, samples, place)) for place in places]
        return np.diff(levels[0], axis=1) if len(levels) == 1 else levels[1] - levels[0]


#: Variables whose scatter about a line is below this share of their spread vary together.
MAX_SCATTER_SHARE = 1e-6


def together(problem: Problem, values: Mapping[str, float]) -> dict[str, str]:
    """Return parameters of terms that the design cannot tell apart, with the reason.

    Two variables that vary together (D = 20 N in every row) leave a term in the one alone and a term in the other alone
    exchangeable.
    """
    rows = problem.weights > 0
    varied = {n: v[rows] for n, v in problem.variables.items() if np.ptp(v[rows]) > 0}
    reasons: dict[str, str] = {}
    names = list(varied)
    for i, first in enumerate(names):
        for second in names[i + 1 :]:
            text = _relation_text(first, varied[first], second, varied[second])
            if not text:
                continue
            tied = _separate_parameters(problem, values, (first, second))
            if not (tied[first] and tied[second]):
                continue
            for name in (*tied[first], *tied[second]):
                reasons.setdefault(name, f"{first} and {second} vary together in these data ({text}); vary one alone")
    return reasons


def _relation_text(first: str, a: Array, second: str, b: Array) -> str:
    """Say how two variables go together, in logarithms or as they are; empty where they do not."""
    if (a > 0).all() and (b > 0).all():
        slope, offset, apart = _regress(np.log(a), np.log(b))
        if apart < MAX_SCATTER_SHARE:
            power = "" if abs(slope - 1) < 1e-6 else f"**{slope:.4g}"
            return f"{second} = {np.exp(offset):.4g}*{first}{power}"
    slope, offset, apart = _regress(a, b)
    return f"{second} = {offset:.4g} + {slope:.4g}*{first}" if apart < MAX_SCATTER_SHARE else ""


def _regress(a: Array, b: Array) -> tuple[float, float, float]:
    """Return slope, offset, and the share of the spread that is left."""
    x, y = a - a.mean(), b - b.mean()
    slope = float(x @ y / (x @ x)) if x @ x > 0 else 0.0
    left = float(np.linalg.norm(y - slope * x) / max(float(np.linalg.norm(y)), 1e-300))
    return slope, float(b.mean() - slope * a.mean()), left


def _separate_parameters(problem: Problem, values: Mapping[str, float], pair: tuple[str, str]) -> dict[str, list[str]]:
    """Return for each of two variables the parameters whose terms see it and not the other."""
    law = problem.law

    def slopes(**moved: Array) -> Array:
        with np.errstate(all="ignore"):
            rows = law.jacobian(values, **{**problem.variables, **moved})
            return np.array([np.broadcast_to(r, problem.observed.shape) for r in rows], dtype=float)

    base = slopes()
    sees = {}
    for name in pair:
        spread = float(np.ptp(problem.variables[name]))
        with np.errstate(all="ignore"):
            change = np.abs(slopes(**{name: problem.variables[name] + 0.01 * spread}) - base).max(axis=1)
        sees[name] = change > 1e-9 * np.abs(base).max(axis=1)
    order = list(law.parameters)
    first, second = pair
    alone = {first: sees[first] & ~sees[second], second: sees[second] & ~sees[first]}
    return {n: [p for p in problem.free if alone[n][order.index(p)]] for n in pair}


def edge_reasons(problem: Problem, ends: Mapping[str, tuple[float, float]]) -> dict[str, str]:
    """Return places in the law (a midpoint, a break) whose interval reaches the end of the data, with the reason.

    A place is a parameter that is subtracted from a variable, or that divides it inside a sum with a number.
    """
    reasons: dict[str, str] = {}
    for name, along in _reference_points(problem).items():
        low, high = float(np.min(along)), float(np.max(along))
        left, right = ends[name]
        if left < low or right > high:
            side = "below" if left < low else "above"
            reasons[name] = f"may lie {side} the data, which then show one side of it only"
    return reasons


def _reference_points(problem: Problem) -> dict[str, Array]:
    law = problem.law
    if law.expression is None or getattr(law, "equals", None):
        return {}
    places: dict[str, Array] = {}

    def add(node: Binary) -> None:
        right = node.right
        inside = {part.name for part in tree.walk(node.left) if isinstance(part, Name)}
        if isinstance(right, Name) and right.name in problem.free and inside and inside <= set(problem.variables):
            places[right.name] = np.asarray(tree.evaluate(node.left, problem.variables), dtype=float)

    for node in tree.walk(law.formula.root):
        if isinstance(node, Binary) and node.op == "-":
            add(node)
        if isinstance(node, Binary) and node.op == "+" and Number in (type(node.left), type(node.right)):
            other = node.right if isinstance(node.left, Number) else node.left
            for part in tree.walk(other):
                if isinstance(part, Binary) and part.op == "/":
                    add(part)
    return places


#: Below this probability a law is said to miss.
MAX_P_VALUE = 0.01
#: Pure error of less than this share of the observations is rounding: rows that are copies tell nothing.
MIN_PURE_ERROR_SHARE = 1e-10


@dataclass(frozen=True, kw_only=True)
class LackOfFit:
    """The test of a law against the pure error of its data.

    Parameters
    ----------
    p : float
        The probability of so much lack of fit under the law.
    statistic : float
        F.
    dof : (int, int)
        Of the lack of fit (distinct places less parameters), and of the pure error (rows less distinct places).
    grouped : bool
        Rows of one group depend on each other, so that groups which differ look like lack of fit.
    """

    p: float
    statistic: float
    dof: tuple[int, int]
    grouped: bool = False

    def phrase(self) -> str:
        """Say that the law misses; nothing where it does not."""
        if self.p >= MAX_P_VALUE:
            return ""
        return (
            f"the law misses{' or groups differ' if self.grouped else ''}: lack of fit p = {self.p:.2g} "
            f"(F({self.dof[0]}, {self.dof[1]}) = {self.statistic:.3g}, against the scatter of rows that share their "
            "variables)"
        )


def lack_of_fit(problem: Problem, p: Array, *, grouped: bool = False) -> LackOfFit | None:
    """Return the test of a problem's solution; None where no rows share their variables, or nothing is left to test.

    Rows that share their variables show the scatter without any law, the pure error: what a fit leaves beyond that is
    lack of fit (Fisher's F test; Draper and Smith, 1998, ch. 2).

    Parameters
    ----------
    problem : Problem
        Under least squares or a Gaussian likelihood, of the observations or their logarithms.
    p : ndarray
        The free parameters as the law has them.
    grouped : bool
        Rows are in groups.

    Notes
    -----
    Rows that are copies of each other (of one observation, not of one configuration) understate the pure error.
    """
    from scipy.special import fdtrc

    if problem.objective.scale != "residual":
        return None
    rows = problem.weights > 0
    weights, y = problem.weights[rows], problem.y[rows]
    place = point_codes([v[rows] for v in problem.variables.values()])
    distinct = int(place.max()) + 1
    free, pure = distinct - problem.k, len(y) - distinct
    if free < 1 or pure < 1:
        return None
    means = np.bincount(place, weights * y) / np.bincount(place, weights)
    apart = float(np.sum(weights * (y - means[place]) ** 2))
    residuals = problem.residuals_at(p)[rows]
    left = float(np.sum(weights * residuals**2)) - apart
    if not np.isfinite(left) or apart <= (MIN_PURE_ERROR_SHARE * problem.size()) ** 2:
        return None
    statistic = max(left, 0.0) / free / (apart / pure)
    return LackOfFit(p=float(fdtrc(free, pure, statistic)), statistic=statistic, dof=(free, pure), grouped=grouped)
