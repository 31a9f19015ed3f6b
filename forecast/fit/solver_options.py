"""The tuning numbers of the solvers, as records that ``law.fit(solver=)`` hands down to whoever solves.

They decide how hard an optimum is looked for and how it is checked, and hardly ever what is found: two fits that
converged under different options are the same to rounding. Values without a reason were chosen by hand, on the
certified problems of NIST and on random laws, where the fits did not change any more.

Examples
--------
>>> from forecast import Law
>>> from forecast.fit.solver_options import MultistartOptions, SolverOptions
>>> patient = SolverOptions(multistart=MultistartOptions(starts_per_round=(96, 288)))
>>> x = [1.0, 2.0, 3.0, 4.0, 5.0]
>>> fit = Law("a + b*x", variables=["x"]).fit({"x": x, "y": [1.1, 2.9, 5.2, 6.8, 9.1]}, solver=patient)
>>> round(fit.values["b"], 3)
1.99
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Damping:
    """How far a step of Newton's method may go.

    Parameters
    ----------
    initial : float
        Share of each curvature that is added to it at the start: small, since most starts are near their ends. A step
        at no more than this counts as Newton's own.
    minimum, maximum : float
        Where the share may end: as good as none; and where a step is so short that a fit gives up.
    max_log_step : float
        Longest step in a logarithm, a factor of 7.4: beyond it no quadratic model of an exponential holds.
    vanishing_share : float
        A positive parameter whose term is worth less than this share of the objective may go to 0 at once.
    """

    initial: float = 1e-4
    minimum: float = 1e-14
    maximum: float = 1e10
    max_log_step: float = 2.0
    vanishing_share: float = 1e-2


@dataclass(frozen=True, kw_only=True)
class Polish:
    """Newton's last steps, undamped: what no longer shows in the objective still shows in the parameters.

    Parameters
    ----------
    steps : int
        Two: each doubles the digits, and a solution has half of them.
    max_gain : float
        Share of the objective that a step may promise: more is no last step.
    max_step : float
        Longest step, of a parameter or of 1, whichever is larger.
    max_rise : float
        Share by which rounding may raise the objective; what rises more is taken back.
    """

    steps: int = 2
    max_gain: float = 1e-9
    max_step: float = 1e-3
    max_rise: float = 1e-12


@dataclass(frozen=True, kw_only=True)
class GridOptions:
    """The grid of starts over what is nonlinear.

    Parameters
    ----------
    points : int
        Points that are looked at for one fit.
    curve_points : tuple of int
        The fewest and the most that are looked at for each of many fits.
    max_elements : int
        Numbers that the grid of many fits may cost, which decides between the two.
    max_observations : int
        Of more observations than this, so many are looked at.
    starts_per_curve : int
        Starts that each of many curves is solved from; most of them must agree, or it is searched as a single fit is.
    gap : float
        Values of the one nonlinear parameter of a law are no further apart than this, of their logarithm.
    min_distance : float
        Two starts are different if a coordinate differs by this much.
    hopeless : float
        What loses more times as much as the best on the grid does not become the best.
    composed_starts : int
        Starts that are put together of what each group likes best.
    sign_starts, pole_starts : int
        Starts of one pattern of signs each, and of those with a pole among the data, at most.
    neighbour_steps : float
        Starts lie beside each other that are no further apart than so many steps of the grid.
    valleys, curve_valleys : int
        Valleys that are followed at most: of one fit, and of each of many curves.
    valley_starts : int
        Among how many of the best starts valleys are looked for.
    """

    points: int = 1536
    curve_points: tuple[int, int] = (16, 512)
    max_elements: int = 40_000_000
    max_observations: int = 100_000
    starts_per_curve: int = 4
    gap: float = 0.3
    min_distance: float = 0.2
    hopeless: float = 25.0
    composed_starts: int = 16
    sign_starts: int = 8
    pole_starts: int = 8
    neighbour_steps: float = 1.5
    valleys: int = 4
    curve_valleys: int = 3
    valley_starts: int = 256


@dataclass(frozen=True, kw_only=True)
class MultistartOptions:
    """The search from several starts.

    Parameters
    ----------
    starts_per_round : tuple of int
        How many starts are polished in each round; the next round comes where those do not agree.
    batch_iterations : int
        Iterations in which most of many curves arrive; the others go on by themselves.
    first_iterations : int
        Iterations of the first heat of many starts, after which the most promising go on.
    error_iterations : int
        The same where variables have errors, whose true values each iteration solves for: fewer, since each costs so
        much more. Chosen by hand.
    min_leaders : int
        How many go on at least.
    short_iterations, long_iterations : int
        Of a start that is one of many, and of one that was given or leads.
    final_starts : int
        So many different ends are followed further at the end.
    given_stretches, given_gain : int, float
        Stretches of `long_iterations` that a start which was given may go on for, and the share of the objective that
        each must gain.
    open_stretches, open_iterations, open_gain : int, int, float
        The same of one of several starts, which stops sooner where it gets on no longer.
    valley_rtol, valley_starts : float, int
        So many leading starts that differ by less than this share, none of which has arrived, lie in one long valley:
        more starts would only find it again.
    subsets, subset_iterations : int
        Subsets of points whose fits are starts where variables have errors, and the iterations of each.
    infinite, finite : float, tuple of float
        In units of the data's own size a parameter beyond the first has gone to infinity; it comes back from the other
        side at one of the others.
    """

    starts_per_round: tuple[int, ...] = (4, 24, 96, 288)
    batch_iterations: int = 12
    first_iterations: int = 25
    error_iterations: int = 6
    min_leaders: int = 8
    short_iterations: int = 100
    long_iterations: int = 1000
    final_starts: int = 3
    given_stretches: int = 40
    given_gain: float = 1e-6
    open_stretches: int = 120
    open_iterations: int = 25
    open_gain: float = 2.5e-4
    valley_rtol: float = 1e-2
    valley_starts: int = 3
    subsets: int = 64
    subset_iterations: int = 25
    infinite: float = 1e4
    finite: tuple[float, ...] = (1.0, 10.0, 100.0, 1000.0)


@dataclass(frozen=True, kw_only=True)
class AuditOptions:
    """The refits of a bootstrap, and how they are audited.

    Parameters
    ----------
    min_warm_points : int
        Below this number of observations every replicate is solved from fresh starts: a resample of so few often has
        another optimum.
    replicates, starts : int
        How many replicates are audited, and from how many starts each.
    max_changed_share : float
        Beyond this share of changes all are solved anew.
    grid_points : int
        Points of the grid that an audit looks at: a sample of replicates takes a sample of the starts.
    refit_steps, audit_steps : int
        Steps of a replicate at most; and of an audit, whose starts of no promise would otherwise wander for long.
    """

    min_warm_points: int = 20
    replicates: int = 24
    starts: int = 2
    max_changed_share: float = 0.1
    grid_points: int = 384
    refit_steps: int = 200
    audit_steps: int = 40


@dataclass(frozen=True, kw_only=True)
class ProfileOptions:
    """The search for the ends of profile intervals.

    Parameters
    ----------
    max_log_reach, max_flat_reach : float
        How far a logarithm, and whatever is positive upwards, is followed: twelve decades; and to the end of double
        precision where the law is flat in it.
    max_reach_widths : float
        How far the rest is followed, in its widths or sizes, whichever is more.
    root_tolerance : float
        How near the allowed rise an end must come, of its root: seven digits, more than anybody reads.
    unconverged_rtol : float
        The root of a refit that did not arrive is no better than this.
    max_rounds : int
        Rounds of the search: more than halving ever needs.
    bracket_rtol, jump_rtol, wall_rtol : float
        Brackets this narrow, beside their distance, are closed: of a smooth root, of one that jumps, and before a
        wall, beyond which the law cannot be computed.
    jump : float
        A root that differs by this between the ends of a bracket may jump.
    min_cut_share : float
        The least share of a bracket that is cut off.
    max_retries : int
        How often an end may turn out to be none, and a row is followed that does not arrive.
    refit_steps, nearby_steps, long_steps : int
        Steps of a refit next to its solution, of one from elsewhere, and of one that did not arrive.
    zeroed_coefficients : int
        Coefficients that are tried at 0 before an end is one.
    better_share : float
        A refit that is better than the optimum by this share of the allowed rise is another optimum.
    """

    max_log_reach: float = 12 * math.log(10.0)
    max_flat_reach: float = 300.0
    max_reach_widths: float = 1e4
    root_tolerance: float = 1e-7
    unconverged_rtol: float = 1e-5
    max_rounds: int = 90
    bracket_rtol: float = 1e-10
    jump_rtol: float = 1e-6
    wall_rtol: float = 1e-3
    jump: float = 1e-2
    min_cut_share: float = 1e-9
    max_retries: int = 3
    refit_steps: int = 15
    nearby_steps: int = 10
    long_steps: int = 60
    zeroed_coefficients: int = 4
    better_share: float = 1e-3


@dataclass(frozen=True, kw_only=True)
class SolverOptions:
    """All of them; what every target of a solver carries.

    Parameters
    ----------
    damping : Damping
    polish : Polish
    grid : GridOptions
    multistart : MultistartOptions
    audit : AuditOptions
    profile : ProfileOptions
    """

    damping: Damping = Damping()
    polish: Polish = Polish()
    grid: GridOptions = GridOptions()
    multistart: MultistartOptions = MultistartOptions()
    audit: AuditOptions = AuditOptions()
    profile: ProfileOptions = ProfileOptions()
