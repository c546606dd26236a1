"""Search trees in flat arrays: `[N, 6] int64`, a row a node, row 0 the root.

A node is a sequence of actions since the root, in whatever worlds they were legal: what the seats
hold, draw and uncover does not split it. `AVAILABLE` counts the visits of the parent at which an
action was legal, for in another world it may not be: the availability counts of information set
Monte Carlo tree search (Cowling, Powley and Whitehouse 2012).
"""

from __future__ import annotations

import numpy as np

from agents.worlds import SCALE
from tricktable_env.bits import bit, has
from tricktable_env.jit import kernel

CODE = 0  # the action that led here
CHILD = 1  # the first child, or -1
NEXT = 2  # the next child of the same parent, or -1; of the root: the number of nodes
VISITS = 3
AVAILABLE = 4
TOTAL = 5  # the sum of what the visits were worth to the seat that took the action
COLUMNS = 6


@kernel
def plant(tree: np.ndarray) -> None:
    """Makes a tree of the root alone."""
    tree[0] = 0
    tree[0, CHILD] = -1
    tree[0, NEXT] = 1


@kernel
def child_of(tree: np.ndarray, node: int, code: int, head_start: int) -> int:
    """The child that an action leads to, added if need be; the first begins with a head start."""
    child = tree[node, CHILD]
    while child >= 0:
        if tree[child, CODE] == code:
            return child
        child = tree[child, NEXT]
    child = tree[0, NEXT]
    tree[0, NEXT] += 1
    tree[child] = 0
    tree[child, CODE] = code
    tree[child, CHILD] = -1
    tree[child, NEXT] = tree[node, CHILD]
    if tree[node, CHILD] < 0:
        tree[child, TOTAL] = head_start
    tree[node, CHILD] = child
    return child


@kernel
def untried(tree: np.ndarray, node: int, base: int, actions: np.uint64) -> np.uint64:
    """Counts the actions as available, and returns those that have never been taken here.

    Args:
        tree: `[N, 6] int64`.
        node: where the choice is.
        base: what the bits of `actions` are counted from.
        actions: the legal actions of this world.
    """
    child = tree[node, CHILD]
    while child >= 0:
        index = tree[child, CODE] - base
        if 0 <= index < 64 and has(actions, index):
            actions ^= bit(index)
            tree[child, AVAILABLE] += 1
        child = tree[child, NEXT]
    return actions


@kernel
def best_child(tree: np.ndarray, node: int, base: int, actions: np.uint64, explore: float) -> int:
    """The child with the highest upper confidence bound (UCB1) for the seat to act.

    Args:
        tree: `[N, 6] int64`.
        node: where the choice is; all `actions` have been tried.
        base: what the bits of `actions` are counted from.
        actions: the legal actions of this world.
        explore: how much a chance to learn counts.
    """
    best = -1
    highest = 0.0
    child = tree[node, CHILD]
    while child >= 0:
        index = tree[child, CODE] - base
        if 0 <= index < 64 and has(actions, index):
            visits = tree[child, VISITS]
            score = tree[child, TOTAL] / (visits * float(SCALE))
            score += explore * np.sqrt(np.log(float(tree[child, AVAILABLE])) / visits)
            if best < 0 or score > highest:
                best = child
                highest = score
        child = tree[child, NEXT]
    return best


@kernel
def add_visits(tree: np.ndarray, totals: np.ndarray) -> None:
    """Adds the visits of the root's children to the totals; of equals the better one is ahead."""
    child = tree[0, CHILD]
    while child >= 0:
        visits = tree[child, VISITS]
        mean = tree[child, TOTAL] // max(visits, 1) if visits > 0 else 0
        totals[tree[child, CODE]] += (visits << 21) + min(mean, 2 * SCALE - 2) + 1
        child = tree[child, NEXT]
