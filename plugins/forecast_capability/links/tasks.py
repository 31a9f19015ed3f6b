"""Who does which task, people or machines: a CES of many tasks with the best allocation of labour and compute.

After Davidson 2023, What a compute-centric framework says about takeoff speeds, as coded in epoch-research/ftm@99dc907
(MIT; rebuilt from its equations, no code copied). A hundred tasks need ever larger training runs before machines can do
them; one more, the first, machines always do. Machines do a task at a runtime that a larger training run makes cheaper.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


__all__ = ["automated", "composite"]

TASKS = 100
#: Share of tasks below a need, and the power of the gap by which the need lies below the largest.
_QUANTILES = (0.0, 0.05, 0.1, 0.2, 0.5, 1.0)
_POWERS = (1.5, 9.5 / 7, 8.5 / 7, 1.0, 4 / 7, 0.0)
#: What the machines' own task takes of all cognitive work at the start.
COMPUTE_SHARE = 0.01
#: So many allocations are kept: those of goods, hardware and software.
KEPT = 3
#: A task counts as automated where machines do so many times what people do of it.
MOSTLY = 10.0


def composite(**given: Array) -> Array:
    """Return cognitive work, relative to the start, with labour and compute where they add most.

    Parameters
    ----------
    **given : ndarray
        ``labour`` and ``compute``, relative to ``labour_start`` and ``compute_start`` in FLOP a year and people;
        ``run`` (FLOP), ``need``, ``need_gap``, ``runtime`` (FLOP a year and person), ``runtime_gap``, ``trade``,
        ``trade_most`` and ``rho``: each of one shape.
    """
    return _known(given)[0]


def automated(**given: Array) -> Array:
    """Return the share of the hundred tasks that machines do for the most part; the same arguments."""
    return _known(given)[1]


def _known(given: Mapping[str, Array]) -> tuple[Array, Array]:
    """Return the composite and the share automated: a model that asks for both has them computed once."""
    shape = np.shape(given["labour"])
    every = np.stack([*given.values()])
    if len(shape) > 1 and shape[-1] > 1 and (every == every[..., :1]).all():  # all worlds are one
        one = _computed(tuple(given), (*shape[:-1], 1), every[..., :1].tobytes())
        return np.broadcast_to(one[0], shape), np.broadcast_to(one[1], shape)
    return _computed(tuple(given), shape, every.tobytes())


@functools.lru_cache(maxsize=KEPT)
def _computed(names: tuple[str, ...], shape: tuple[int, ...], every: bytes) -> tuple[Array, Array]:
    return _allocated(dict(zip(names, np.frombuffer(every).reshape(len(names), *shape), strict=True)))


@functools.cache
def _places(count: int) -> Array:
    """Return the power of every task's gap, (task, 1)."""
    return np.interp(np.linspace(0, 1, count), _QUANTILES, _POWERS)[:, None]


def _allocated(given: Mapping[str, Array]) -> tuple[Array, Array]:
    """Return the composite and the share automated, in the shape of the arguments."""
    whole = np.shape(given["labour"])
    flat = {name: np.ravel(values)[None] for name, values in given.items()}
    labour, compute, run, rho = (flat[name] for name in ("labour", "compute", "run", "rho"))
    sigma = 1 / (1 - rho)
    place = _places(TASKS)
    need = flat["need"] / flat["need_gap"] ** place
    takes = flat["runtime"] / flat["runtime_gap"] ** place
    with np.errstate(over="ignore"):
        work = 1 / np.maximum(1.0, takes * (need / run) ** flat["trade"])
    can = need < flat["trade_most"] * run
    eta = np.concatenate([np.ones_like(labour), np.where(can, work, 0.0)])  # what a FLOP a year does of each task
    # weights by the shares of cost at the start, when people do all tasks but the machines' own
    own = COMPUTE_SHARE * flat["compute_start"] ** -rho
    each = (1 - COMPUTE_SHARE) / TASKS * (flat["labour_start"] / TASKS) ** -rho
    beta = np.concatenate([own, np.broadcast_to(each, (TASKS, labour.size))])
    # machines do the first tasks, people the last, and both the one in between: marginal products are equal
    by_people = beta**sigma
    left = by_people[::-1].cumsum(axis=0)[::-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        by_machines = np.where(eta > 0, (beta * eta) ** sigma / eta, 0.0)
        before = by_machines.cumsum(axis=0) - by_machines
        unit = np.where(eta > 0, (labour + eta * compute) / (left + before * eta ** (1 - sigma)), np.nan)
        used = before * eta**-sigma * unit  # compute that the tasks before take
    both = (used <= compute * (1 + 1e-12)) & (eta > 0)
    last = len(eta) - 1 - both[::-1].argmax(axis=0)  # the last task on which machines have something left to do
    column = np.arange(labour.size)
    here, level = eta[last, column], unit[last, column]
    people = labour[0] - (left[last, column] - by_people[last, column]) * level
    machine = here * (compute[0] - used[last, column])
    # people all elsewhere: machines stop before the next task, which they cannot do or not do well enough
    apart = people < 0
    order = np.arange(len(eta))[:, None]
    mine = order <= last
    with np.errstate(divide="ignore", invalid="ignore"):
        split_machines = compute[0] / (before + by_machines)[last, column]
        split_people = labour[0] / (left - by_people)[last, column]
        x_apart = np.where(mine, (beta * eta) ** sigma * split_machines, by_people * split_people)
        x_both = np.where(order < last, (beta * eta / here) ** sigma, by_people) * level
    x = np.where(apart, x_apart, x_both)
    total = (beta * x**rho).sum(axis=0)
    start = flat["compute_start"][0] ** rho[0] * own[0] + TASKS * each[0] * (flat["labour_start"][0] / TASKS) ** rho[0]
    mostly = np.where(apart, last, np.where(machine > MOSTLY * people, last, last - 1))
    return ((total / start) ** (1 / rho[0])).reshape(whole), (np.maximum(mostly, 0) / TASKS).reshape(whole)
