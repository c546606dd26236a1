"""Trees over what the seats of Honors see: kernels of the agent `ismcts`."""

from __future__ import annotations

import numpy as np

from agents.playouts_honors import choices, greedy_action, value
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
from tricktable_env.bits import ONE, ZERO, below, bit, first, has, int64, last, nth, room, size
from tricktable_env.honors.rules import num_players, step
from tricktable_env.honors.sampling import sample
from tricktable_env.honors.state import LEFT, MAX_PLAYERS, MAX_PLIES, TURN, WORDS
from tricktable_env.jit import kernel


@kernel(allocates=True)
def add_trees(
    views: np.ndarray,
    keys: np.ndarray,
    begin: int,
    stride: int,
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
        stride: from one tree to the next.
        end: the tree before which to stop.
        iterations: worlds that each tree sees.
        explore: see `tree.best_child`.
        values: as `playouts_honors.values_of` makes them.
        head_start: what greedy's action is given at every node before its first visit.
        totals: `[B, 79] int64`, added to.
    """
    tree = np.empty((iterations + 1, COLUMNS), np.int64)
    for row in range(len(views)):
        base, options = choices(views[row])
        if size(options) <= 1:
            totals[row, base + first(options)] += 1
            continue
        for number in range(begin, end, stride):
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
    worth = room(MAX_PLAYERS, np.int64)
    plant(tree)
    for number in range(iterations):
        words[0] = world_stream(key, number)
        sample(v, words, 0, s)
        node = 0
        depth = 0
        inside = True
        while s[LEFT] != ZERO:
            new = ZERO
            action = -1
            base = 0
            if inside:
                base, options = choices(s)
                new = untried(tree, node, base, options)
                if new == ZERO:
                    action = tree[best_child(tree, node, base, options, explore), CODE]
            if action < 0:
                action = greedy_action(s)
            if inside:
                if new != ZERO:  # greedy's action first, then the others as they come
                    likely = last(options & ((bit(action - base) << ONE) - ONE))
                    if not has(new, likely):
                        likely = nth(new, below(words, 0, size(new)))
                    action = base + likely
                node = child_of(tree, node, action, head_start)
                movers[depth] = int64(s[TURN])
                path[depth] = node
                depth += 1
                inside = new == ZERO
            step(s, action)
        for seat in range(num_players(s)):
            worth[seat] = value(s, seat, values)
        for i in range(depth):
            tree[path[i], VISITS] += 1
            tree[path[i], TOTAL] += worth[movers[i]]
