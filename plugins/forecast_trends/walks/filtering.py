"""A Kalman filter and smoother of one series under many sets of parameters at once.

The pool of shapes stands beside every series by default, and weighs a few dozen sets of parameters of two state spaces.
One pass over the cells for all of them costs less than loading a library of time series does; statsmodels is what the
tests hold it against, to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from forecast.base.arrays import Array, BoolArray

__all__ = ["Filtered", "StateSpaces", "filtered", "settled"]


@dataclass(frozen=True, kw_only=True)
class StateSpaces:
    """Linear Gaussian state spaces that differ in their parameters; variances are in units of the scale.

    Parameters
    ----------
    design : ndarray, (state,)
        What of the state is observed.
    transition : ndarray, (point, state, state)
    selection : ndarray, (point, state, shock)
        What independent shocks of one scale add to the state in a step.
    scatter : ndarray, (point,)
        Variance of an observation around the state.
    observed : ndarray, (point,)
        Standard deviation of one observation around the level, which is not all of what is observed of some states.
    first : ndarray, (point, state, state)
        Covariance of the first state, but for what is diffuse.
    diffuse : tuple of int
        Elements of the first state of which nothing is known.
    """

    design: Array
    transition: Array
    selection: Array
    scatter: Array
    observed: Array
    first: Array
    diffuse: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Filtered:
    """What the filter knows, point by point.

    Parameters
    ----------
    state, covariance : ndarray, (point, state) and (point, state, state)
        At the last cell, in units of the scale.
    squares : ndarray, (point,)
        Sum of squared standardised errors: the scale squared times the degrees of freedom.
    free : int
        Observations less diffuse elements.
    likelihood : ndarray, (point,)
        Diffuse log likelihood with the scale integrated out, up to a constant; -inf where what is diffuse at first is
        not settled.
    past, past_spread : ndarray, (cell, point)
        Smoothed observable part of the state, and its standard deviation in units of the scale.
    """

    state: Array
    covariance: Array
    squares: Array
    free: int
    likelihood: Array
    past: Array
    past_spread: Array


def settled(gram: Array) -> BoolArray:
    """Return where a series settles the diffuse elements: not where a long gap lets one die away before it is seen."""
    size = np.sqrt(np.einsum("...ii->...i", gram))
    scaled = gram / np.maximum(size[..., :, None] * size[..., None, :], 1e-300)
    return np.asarray(np.linalg.det(scaled) > 1e-10)


def filtered(y: Array, spaces: StateSpaces, level: Array) -> Filtered:
    """Filter and smooth.

    Diffuse elements are carried as regression coefficients beside the series, so that they are exact and no large
    number stands for infinity.

    Parameters
    ----------
    y : ndarray, (cell,)
        NaN where there is no observation.
    spaces : StateSpaces
    level : ndarray, (state,)
        What of the state `past` is of.

    References
    ----------
    de Jong, P. (1991), The diffuse Kalman filter, Annals of Statistics 19(2), 1073-1083.
    Durbin, J. & Koopman, S. J. (2012), Time series analysis by state space methods, 2nd edition, Oxford, sections 4.4
    and 5.7.
    """
    H, T, d = spaces.design, spaces.transition, len(spaces.diffuse)
    points, k = T.shape[:2]
    noise = spaces.selection @ spaces.selection.transpose(0, 2, 1)
    centre = float(np.nanmean(y))  # digits: the coefficients then carry what is small
    mean = np.zeros((points, k, 1 + d))
    mean[:, list(spaces.diffuse), 1 + np.arange(d)] = 1.0
    covariance = spaces.first.copy()
    gram, log_size = np.zeros((points, 1 + d, 1 + d)), np.zeros(points)
    means: list[Array] = []
    covariances: list[Array] = []
    steps: list[tuple[Array, Array, Array] | None] = []
    for value in y:
        means.append(mean)
        covariances.append(covariance)
        if np.isnan(value):
            steps.append(None)
        else:
            seen = covariance @ H
            size = seen @ H + spaces.scatter
            error = -(H @ mean)
            error[:, 0] += value - centre
            gain = seen / size[:, None]
            steps.append((error, size, gain))
            gram += error[:, :, None] * error[:, None, :] / size[:, None, None]
            log_size += np.log(size)
            mean = mean + gain[:, :, None] * error[:, None, :]
            covariance = covariance - gain[:, :, None] * seen[:, None, :]
        last = mean, covariance
        mean, covariance = T @ mean, T @ covariance @ T.transpose(0, 2, 1) + noise
    settles = settled(gram[:, 1:, 1:])
    gram[~settles, 1:, 1:] = np.eye(d)
    inner = np.linalg.inv(gram[:, 1:, 1:])
    told = -(inner @ gram[:, 1:, :1])
    squares = np.maximum(gram[:, 0, 0] + (gram[:, :1, 1:] @ told)[:, 0, 0], 0.0)
    both = np.concatenate([np.ones((points, 1, 1)), told], axis=1)
    free = sum(step is not None for step in steps) - d
    likelihood = -0.5 * (log_size + np.linalg.slogdet(gram[:, 1:, 1:])[1] + free * np.log(np.maximum(squares, 1e-300)))
    likelihood = np.where(settles, likelihood, -np.inf)
    # the constant has no place in the space of a damped trend's states but the level's, which lasts
    mean, covariance = last
    state = (mean @ both)[..., 0] + centre * level
    spread = covariance + mean[..., 1:] @ inner @ mean[..., 1:].transpose(0, 2, 1)

    past, past_spread = np.empty((2, len(y), points))
    to_come = np.zeros((points, k, 1 + d))
    known = np.zeros((points, k, k))
    for i in range(len(y) - 1, -1, -1):
        step = steps[i]
        to_come, known = T.transpose(0, 2, 1) @ to_come, T.transpose(0, 2, 1) @ known @ T
        if step is not None:
            error, size, gain = step
            # L = I - gain H, whose T stands in the line above
            to_come = to_come + H[:, None] * ((error / size[:, None]) - (gain[:, None] @ to_come)[:, 0])[:, None]
            left = known - H[:, None] * (gain[:, None] @ known)
            known = left - (left @ gain[..., None]) * H + H[:, None] * H / size[:, None, None]
        whole = means[i] + covariances[i] @ to_come
        past[i] = (level @ (whole @ both)[..., 0].T) + centre
        left_over = covariances[i] - covariances[i] @ known @ covariances[i]
        beside = level @ whole[..., 1:]
        variance = level @ left_over @ level + np.einsum("pi,pij,pj->p", beside, inner, beside)
        past_spread[i] = np.sqrt(np.maximum(variance, 0.0))
    return Filtered(
        state=state, covariance=spread, squares=squares, free=free, likelihood=likelihood, past=past,
        past_spread=past_spread,
    )  # fmt: skip
