"""Counterfactual regret minimization on the sequences of a game, and best responses to plans.

A *plan* says how often a seat follows each sequence, as far as it is up to the seat. Two plans meet
in the ends alone, so a pass over the ends tells a seat what each of its sequences brings against
the other's plan, and a pass over its own decisions, the last first, what is the best of it.
"""

from __future__ import annotations

import numpy as np

from tricktable_env.jit import kernel


@kernel
def meet(
    mine: np.ndarray,
    theirs: np.ndarray,
    paid: np.ndarray,
    factor: float,
    plan: np.ndarray,
    brings: np.ndarray,
) -> None:
    """Writes what each sequence of a seat brings against a plan of the other seat.

    Args:
        mine: `[E] int32`, the seat's sequence of each end.
        theirs: `[E] int32`, the other's.
        paid: `[E] int32`, what the end pays the caller.
        factor: what makes the seat's reward of it.
        plan: `[other's sequences] float64`.
        brings: `[sequences] float64`, overwritten.
    """
    brings[:] = 0.0
    for i in range(paid.shape[0]):
        brings[mine[i]] += paid[i] * plan[theirs[i]]
    for i in range(brings.shape[0]):
        brings[i] *= factor


@kernel
def learn(
    parent: np.ndarray,
    first: np.ndarray,
    count: np.ndarray,
    low: int,
    high: int,
    brings: np.ndarray,
    odds: np.ndarray,
    regrets: np.ndarray,
) -> None:
    """Updates the decisions low to high - 1 by predictive regret matching+, the last first.

    Farina, Kroer, Sandholm 2021: regrets stay at 0 or more, and the next odds suppose that this
    iteration's regrets come once more.

    Args:
        parent: of each decision.
        first: of each decision.
        count: of each decision.
        low: the first decision.
        high: the end of the decisions.
        brings: `[sequences] float64`, of each sequence without what comes after it; with it, after.
        odds: `[sequences] float64`, of each action at its decision; the next ones, after.
        regrets: `[sequences] float64`, updated.
    """
    for j in range(high - 1, low - 1, -1):
        start = first[j]
        end = start + count[j]
        value = 0.0
        for i in range(start, end):
            value += odds[i] * brings[i]
        brings[parent[j]] += value
        total = 0.0
        for i in range(start, end):
            regret = brings[i] - value
            regrets[i] = max(regrets[i] + regret, 0.0)
            odds[i] = max(regrets[i] + regret, 0.0)
            total += odds[i]
        for i in range(start, end):
            odds[i] = odds[i] / total if total > 0.0 else 1.0 / (end - start)


@kernel
def best(
    parent: np.ndarray,
    first: np.ndarray,
    count: np.ndarray,
    low: int,
    high: int,
    brings: np.ndarray,
) -> None:
    """Lets the best of each decision's sequences count for its parent; see `learn`."""
    for j in range(high - 1, low - 1, -1):
        start = first[j]
        value = brings[start]
        for i in range(start + 1, start + count[j]):
            value = max(value, brings[i])
        brings[parent[j]] += value


@kernel
def follow(
    parent: np.ndarray,
    first: np.ndarray,
    count: np.ndarray,
    low: int,
    high: int,
    odds: np.ndarray,
    plan: np.ndarray,
) -> None:
    """Makes a plan of odds for the decisions low to high - 1: `[sequences] float64` both."""
    for j in range(low, high):
        reach = plan[parent[j]]
        for i in range(first[j], first[j] + count[j]):
            plan[i] = reach * odds[i]


@kernel
def link(entry: np.ndarray, call: np.ndarray, share: np.ndarray, plan: np.ndarray) -> None:
    """Follows the entries of hands as often as the calls that may have come before them."""
    for i in range(entry.shape[0]):
        plan[entry[i]] = 0.0
    for i in range(entry.shape[0]):
        plan[entry[i]] += share[i] * plan[call[i]]


@kernel
def link_back(entry: np.ndarray, call: np.ndarray, share: np.ndarray, brings: np.ndarray) -> None:
    """Lets what hands bring count for the calls before them."""
    for i in range(entry.shape[0]):
        brings[call[i]] += share[i] * brings[entry[i]]


@kernel
def divide(
    parent: np.ndarray, first: np.ndarray, count: np.ndarray, plan: np.ndarray, odds: np.ndarray
) -> None:
    """Makes odds of a plan; even ones where it never comes."""
    for j in range(first.shape[0]):
        reach = plan[parent[j]]
        for i in range(first[j], first[j] + count[j]):
            odds[i] = plan[i] / reach if reach > 0.0 else 1.0 / count[j]


@kernel
def add(sums: np.ndarray, weight: float, plan: np.ndarray) -> None:
    """Adds a plan with its weight: `[sequences] float64` both."""
    for i in range(sums.shape[0]):
        sums[i] += weight * plan[i]
