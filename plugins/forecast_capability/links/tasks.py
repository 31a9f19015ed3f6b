"""Who does which task, people or machines: a CES of many tasks with the best allocation of labour and compute.

After Davidson 2023, What a compute-centric framework says about takeoff speeds, as coded in epoch-research/ftm@99dc907
(MIT; rebuilt from its equations, no code copied). A hundred tasks need ever larger training runs before machines can do
them; one more, the first, machines always do. Machines do a task at a runtime that a larger training run makes cheaper.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from forecast.base.arrays import Array

__all__ = ["automated", "composite"]

TASKS = 100
#: Share of tasks below a need, and the power of the gap by which the need lies below the largest.
_QUANTILES = (0.0, 0.05, 0.1, 0.2, 0.5, 1.0)
_POWERS = (1.5, 9.5 / 7, 8.5 / 7, 1.0, 4 / 7, 0.0)
#: What the machines' own task takes of all cognitive work at the start.
COMPUTE_SHARE = 0.01
#: So many allocations are kept: those of goods, hardware and software.
KEPT = 3
#: What the elicited numbers say of every task is kept for so many worlds at most: beyond, computing it costs little.
FEW = 1024
#: What stays as it is while people, machines and the training run grow, and what may change.
ELICITED = "need", "need_gap", "runtime", "runtime_gap", "rho", "labour_start", "compute_start"
CHANGING = "labour", "compute", "run", "trade", "trade_most", "rho"
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
    return _known(given, 0)


def automated(**given: Array) -> Array:
    """Return the share of the hundred tasks that machines do for the most part; the same arguments."""
    return _known(given, 1)


def _known(given: Mapping[str, Array], which: int) -> Array:
    """Return the composite, or the share automated: a model that asks for both has them computed once."""
    shape = np.shape(given["labour"])
    every = np.array([*given.values()])
    if len(shape) > 1 and shape[-1] > 1 and (every == every[..., :1]).all():  # all worlds are one
        one = _computed(tuple(given), (*shape[:-1], 1), every[..., :1].tobytes())[which]
        return np.repeat(one, shape[-1], axis=-1)
    return _computed(tuple(given), shape, every.tobytes())[which]


@functools.lru_cache(maxsize=KEPT)
def _computed(names: tuple[str, ...], shape: tuple[int, ...], every: bytes) -> tuple[Array, Array]:
    return _allocated(dict(zip(names, np.frombuffer(every).reshape(len(names), *shape), strict=True)))


@functools.cache
def _places(count: int) -> Array:
    """Return the power of every task's gap, (task, 1)."""
    return np.interp(np.linspace(0, 1, count), _QUANTILES, _POWERS)[:, None]


class _Tasks(NamedTuple):
    """What does not change as people and machines grow: of every task, (task, world), and of every world, (world,)."""

    need: Array
    takes: Array
    beta: Array
    by_people: Array
    left: Array
    after: Array
    sigma: Array
    start: Array


def _elicited(given: Mapping[str, Array]) -> _Tasks:
    """Return what the numbers of `ELICITED` say of the tasks; of a few worlds once."""
    every = b"".join([given[name].tobytes() for name in ELICITED])
    return _tasks(every) if np.size(given["rho"]) <= FEW else _tasks.__wrapped__(every)


@functools.lru_cache(maxsize=KEPT)
def _tasks(elicited: bytes) -> _Tasks:
    rows = np.frombuffer(elicited).reshape(len(ELICITED), 1, -1)
    need, need_gap, runtime, runtime_gap, rho, labour_start, compute_start = rows
    place = _places(TASKS)
    # weights by the shares of cost at the start, when people do all tasks but the machines' own
    own = COMPUTE_SHARE * compute_start**-rho
    each = (1 - COMPUTE_SHARE) / TASKS * (labour_start / TASKS) ** -rho
    beta = np.concatenate([own, np.broadcast_to(each, (TASKS, rho.size))])
    sigma = 1 / (1 - rho)
    by_people = beta**sigma
    left = by_people[::-1].cumsum(axis=0)[::-1]
    start = compute_start[0] ** rho[0] * own[0] + TASKS * each[0] * (labour_start[0] / TASKS) ** rho[0]
    return _Tasks(
        need / need_gap**place, runtime / runtime_gap**place, beta, by_people, left, left - by_people, sigma, start
    )


def _allocated(given: Mapping[str, Array]) -> tuple[Array, Array]:
    """Return the composite and the share automated, in the shape of the arguments."""
    whole = np.shape(given["labour"])
    need, takes, beta, by_people, left, after, sigma, start = _elicited(given)
    labour, compute, run, trade, most, rho = (np.ravel(given[name])[None] for name in CHANGING)
    # machines do the first tasks, people the last, and both the one in between: marginal products are equal
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        work = 1 / np.maximum(1.0, takes * (need / run) ** trade)
        eta = np.ones_like(beta)  # what a FLOP a year does of each task
        eta[1:] = np.where(need < most * run, work, 0.0)
        able, weighed = eta > 0, (beta * eta) ** sigma
        by_machines = np.where(able, weighed / eta, 0.0)
        up_to = by_machines.cumsum(axis=0)
        before = up_to - by_machines
        unit = np.where(able, (labour + eta * compute) / (left + before * eta ** (1 - sigma)), np.nan)
        used = before * eta**-sigma * unit  # compute that the tasks before take
        both = (used <= compute * (1 + 1e-12)) & able
        last = len(eta) - 1 - both[::-1].argmax(axis=0)  # the last task on which machines have something left to do
        column = np.arange(labour.size)
        here, level = eta[last, column], unit[last, column]
        people = labour[0] - after[last, column] * level
        machine = here * (compute[0] - used[last, column])
        # people all elsewhere: machines stop before the next task, which they cannot do or not do well enough
        apart = people < 0
        order = np.arange(len(eta))[:, None]
        x = np.where(order < last, (beta * eta / here) ** sigma, by_people) * level
        if apart.any():
            split_machines = compute[0] / (before + by_machines)[last, column]
            split_people = labour[0] / after[last, column]
            x = np.where(apart, np.where(order <= last, weighed * split_machines, by_people * split_people), x)
    total = (beta * x**rho).sum(axis=0)
    mostly = np.where(apart, last, np.where(machine > MOSTLY * people, last, last - 1))
    return ((total / start) ** (1 / rho[0])).reshape(whole), (np.maximum(mostly, 0) / TASKS).reshape(whole)
