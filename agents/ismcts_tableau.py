"""Trees over what the seats of Tableau see: kernels of the agent `ismcts`."""

from __future__ import annotations

import numpy as np

from agents.playouts_tableau import choices, greedy_action, lowest_alike
from agents.tree import (
    CODE,
    COLUMNS,
    TOTAL,
    VISITS,
    add_visits,
    best_child,
    child_of,
    plant,
    untried,
)
from agents.worlds import world_stream
from tricktable_env.bits import ONE, ZERO, below, first, has, int64, nth, room, size
from tricktable_env.jit import kernel
from tricktable_env.tableau.infostate import sample
from tricktable_env.tableau.rules import act
from tricktable_env.tableau.state import LEFT, MAX_PLIES, TRICKS, TURN, WORDS


@kernel(allocates=True)
def add_trees(
    views: np.ndarray,
    keys: np.ndarray,
    begin: int,
    step: int,
    end: int,
    iterations: int,
    explore: float,
    values: np.ndarray,
    head_start: int,
    totals: np.ndarray,
) -> None:
    """Adds to each action's total how often some trees took it.

    Args:
        views: `[B, WORDS] uint64`, each of the seat to act.
        keys: `[B] uint64`, the streams of the decisions.
        begin: the first tree.
        step: from one tree to the next.
        end: the tree before which to stop.
        iterations: worlds that each tree sees.
        explore: see `tree.best_child`.
        values: `[2, tricks + 1] int64`, what a number of tricks is worth to each seat.
        head_start: what greedy's action is given at every node before its first visit.
        totals: `[B, 56] int64`, added to.
    """
    tree = np.empty((iterations + 1, COLUMNS), np.int64)
    for row in range(len(views)):
        options = choices(views[row])
        if options & (options - ONE) == ZERO:
            totals[row, first(options)] += 1
            continue
        for number in range(begin, end, step):
            key = world_stream(keys[row], number)
            _grow(views[row], key, iterations, explore, values, head_start, tree)
            add_visits(tree, totals[row])


@kernel
def _grow(
    v: np.ndarray,
    key: np.uint64,
    iterations: int,
    explore: float,
    values: np.ndarray,
    head_start: int,
    tree: np.ndarray,
) -> None:
    """Grows one tree, by a world, a node and a playout an iteration; see `add_trees`."""
    s = room(WORDS, np.uint64)
    words = room(1, np.uint64)
    path = room(MAX_PLIES, np.int64)
    movers = room(MAX_PLIES, np.int64)
    all_tricks = values.shape[1] - 1
    plant(tree)
    for number in range(iterations):
        words[0] = world_stream(key, number)
        sample(v, words, 0, s)
        node = 0
        depth = 0
        inside = True
        while s[LEFT] != ZERO:
            new = ZERO
            options = ZERO
            action = -1
            if inside:
                options = choices(s)
                new = untried(tree, node, 0, options)
                if new == ZERO:
                    action = tree[best_child(tree, node, 0, options, explore), CODE]
            if action < 0:
                action = greedy_action(s)
            if inside:
                if new != ZERO:  # greedy's action first, then the others as they come
                    action = lowest_alike(options, action)
                    if not has(new, action):
                        action = nth(new, below(words, 0, size(new)))
                node = child_of(tree, node, action, head_start)
                movers[depth] = int64(s[TURN])
                path[depth] = node
                depth += 1
                inside = new == ZERO
            act(s, action)
        tricks = int64(s[TRICKS])
        for i in range(depth):
            own = tricks if movers[i] == 0 else all_tricks - tricks
            tree[path[i], VISITS] += 1
            tree[path[i], TOTAL] += values[movers[i], own]
