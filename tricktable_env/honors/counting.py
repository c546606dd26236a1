"""How many ways there are to fit a hand into what a player got, and counts of hands drawn by them.

See `sampling`, of which this is the arithmetic. A player's *ops* are what happened to its hand.
"""

from __future__ import annotations

import math

import numpy as np

from tricktable_env.bits import draw, int64, shuffle
from tricktable_env.cards import NUM_CARDS, SUIT_SIZE
from tricktable_env.jit import kernel

DRAW, PLAY, LACK = 0, 1, 2
"""What happens to a hand: a slot is opened, a card played, a suit not followed."""
GROUP_RADIX = SUIT_SIZE + 1
"""0 to 13 unseen cards of a suit."""
REST = 3
"""The class, or the group, of all suits that need no count of their own. A *class* is a suit that
counts in one hand, a *group* one that counts in any; where all four do, the last one is REST."""
FACTORIALS = np.array([math.factorial(n) for n in range(NUM_CARDS + 1)], np.float64)


@kernel(allocates=True)
def count_ways(
    ops: np.ndarray,
    begin: int,
    end: int,
    class_of: np.ndarray,
    classes: int,
    radix: int,
    saved: np.ndarray,
    ways: np.ndarray,
) -> None:
    """Counts the ways to fit each hand, and the cards played, into a player's slots.

    A table has an entry for each number of cards of the classes in the hand, class 0 first.

    Args:
        ops: `[MAX_OPS, 2] int64`, what happened to the hand.
        begin: the first op that counts.
        end: behind the last one.
        class_of: `[4] int64`, the class of each suit.
        classes: how many suits count; the fourth of four is the class REST.
        radix: entries of a class, more than a hand holds of a suit.
        saved: `[slots, radix ** classes] float64`, overwritten: the tables before each later draw.
        ways: `[radix ** classes] float64`, overwritten with the number for each hand.
    """
    top0 = radix - 1
    top1 = radix - 1 if classes > 1 else 0
    top2 = radix - 1 if classes > 2 else 0
    width = radix ** min(classes, REST)
    table = np.zeros(width, np.float64)
    other = np.zeros(width, np.float64)
    size = 0
    at = begin
    while at < end and ops[at, 0] == DRAW:
        size += 1
        at += 1
    for x0 in range(min(size, top0) + 1):
        for x1 in range(min(size - x0, top1) + 1):
            for x2 in range(min(size - x0 - x1, top2) + 1):
                table[x0 + radix * (x1 + radix * x2)] = FACTORIALS[size] / (
                    FACTORIALS[x0]
                    * FACTORIALS[x1]
                    * FACTORIALS[x2]
                    * FACTORIALS[size - x0 - x1 - x2]
                )
    later = 0
    for i in range(at, end):
        kind = ops[i, 0]
        if kind == DRAW:
            for j in range(width):
                saved[later, j] = table[j]
            later += 1
        which = class_of[ops[i, 1] if kind == LACK else ops[i, 1] // SUIT_SIZE]
        for j in range(width):
            other[j] = 0.0
        for x0 in range(min(size, top0) + 1):
            for x1 in range(min(size - x0, top1) + 1):
                for x2 in range(min(size - x0 - x1, top2) + 1):
                    index = x0 + radix * (x1 + radix * x2)
                    value = table[index]
                    if value == 0.0:
                        continue
                    if kind == DRAW:
                        other[index] += value
                        if x0 < top0:
                            other[index + 1] += value
                        if x1 < top1:
                            other[index + radix] += value
                        if x2 < top2:
                            other[index + radix * radix] += value
                        continue
                    mine = size - x0 - x1 - x2
                    step = 0
                    if which == 0:
                        mine = x0
                        step = 1
                    elif which == 1:
                        mine = x1
                        step = radix
                    elif which == 2:
                        mine = x2
                        step = radix * radix
                    if kind == PLAY:
                        if mine > 0:
                            other[index - step] = value * mine
                    elif mine == 0:
                        other[index] = value
        table, other = other, table
        if kind == DRAW:
            size += 1
        elif kind == PLAY:
            size -= 1
    for x0 in range(min(size, top0) + 1):
        for x1 in range(min(size - x0, top1) + 1):
            for x2 in range(min(size - x0 - x1, top2) + 1):
                index = x0 + radix * (x1 + radix * x2)
                ways[index] = table[index] * (
                    FACTORIALS[x0]
                    * FACTORIALS[x1]
                    * FACTORIALS[x2]
                    * FACTORIALS[size - x0 - x1 - x2]
                )


@kernel
def _hand_weight(
    k0: int, k1: int, k2: int, k3: int, strides: np.ndarray, left: np.ndarray, ways: np.ndarray
) -> float:
    """The ways to hold so many cards of each group: to pick them, times to fit them."""
    weight = ways[k0 * strides[0] + k1 * strides[1] + k2 * strides[2] + k3 * strides[3]]
    if weight == 0.0:
        return 0.0
    for group in range(4):
        k = k0 if group == 0 else (k1 if group == 1 else (k2 if group == 2 else k3))
        weight *= FACTORIALS[left[group]] / (FACTORIALS[k] * FACTORIALS[left[group] - k])
    return weight


@kernel
def _strides(class_of: np.ndarray, group_of: np.ndarray, radix: int, out: np.ndarray) -> None:
    """Writes what a card of each group adds to the index of a player's table: `[4] int64`."""
    for group in range(4):
        out[group] = 0
    for suit in range(4):
        if class_of[suit] != REST:
            out[group_of[suit]] = radix ** class_of[suit]


@kernel(allocates=True)
def choose_counts(
    classes: np.ndarray,
    class_of: np.ndarray,
    group_of: np.ndarray,
    hidden: np.ndarray,
    counts: np.ndarray,
    ways: np.ndarray,
    radix: int,
    words: np.ndarray,
    at: int,
    chosen: np.ndarray,
) -> None:
    """Draws how many cards of each group those players hold who have failed to follow.

    Args:
        classes: `[P] int64`, how many suits count in each hand; 0 for who is not drawn here.
        class_of: `[P, 4] int64`, the class of each suit in each hand.
        group_of: `[4] int64`, the group of each suit.
        hidden: `[P] int64`, unseen cards in each hand.
        counts: `[4] int64`, unseen cards of each group.
        ways: `[P, ...] float64`, as `count_ways` wrote them.
        radix: see `count_ways`.
        words: `[n] uint64`; the random stream is `words[at]`, which advances.
        at: see `words`.
        chosen: `[P, 4] int64`, overwritten for these players.
    """
    order = np.flatnonzero(classes)
    num = len(order)
    strides = np.empty((num, 4), np.int64)
    for i in range(num):
        _strides(class_of[order[i]], group_of, radix, strides[i])
    r = GROUP_RADIX
    # rest[i, d]: the ways to serve players i, i + 1, ... when d cards of the groups are taken.
    rest = np.zeros((num + 1, r * r * r if num > 1 else 1), np.float64)
    rest[num] = 1.0
    left = np.empty(4, np.int64)
    taken = 0
    for i in range(num):
        taken += hidden[order[i]]
    for i in range(num - 1, 0, -1):
        size = hidden[order[i]]
        taken -= size
        for d0 in range(min(taken, counts[0]) + 1):
            for d1 in range(min(taken - d0, counts[1]) + 1):
                for d2 in range(min(taken - d0 - d1, counts[2]) + 1):
                    d3 = taken - d0 - d1 - d2
                    if d3 > counts[3]:
                        continue
                    left[0] = counts[0] - d0
                    left[1] = counts[1] - d1
                    left[2] = counts[2] - d2
                    left[3] = counts[3] - d3
                    total = 0.0
                    for k0 in range(min(size, left[0]) + 1):
                        for k1 in range(min(size - k0, left[1]) + 1):
                            for k2 in range(min(size - k0 - k1, left[2]) + 1):
                                k3 = size - k0 - k1 - k2
                                if k3 > left[3]:
                                    continue
                                weight = _hand_weight(
                                    k0, k1, k2, k3, strides[i], left, ways[order[i]]
                                )
                                if weight > 0.0:
                                    after = d0 + k0 + r * (d1 + k1 + r * (d2 + k2))
                                    ahead = 1.0 if i + 1 == num else rest[i + 1, after]
                                    total += weight * ahead
                    rest[i, d0 + r * (d1 + r * d2)] = total
    for group in range(4):
        left[group] = counts[group]
    used = np.zeros(3, np.int64)
    for i in range(num):
        p = order[i]
        size = hidden[p]
        goal = 0.0
        for turn in range(2):  # first the sum of all weights, then the one that a number falls on
            if turn == 1:
                goal *= int64(draw(words, at) >> np.uint64(11)) / 9007199254740992.0  # 2 ** 53
            total = 0.0
            for k0 in range(min(size, left[0]) + 1):
                for k1 in range(min(size - k0, left[1]) + 1):
                    for k2 in range(min(size - k0 - k1, left[2]) + 1):
                        k3 = size - k0 - k1 - k2
                        if k3 > left[3] or (turn == 1 and total > goal):
                            continue
                        weight = _hand_weight(k0, k1, k2, k3, strides[i], left, ways[p])
                        if weight > 0.0 and i + 1 < num:
                            after = used[0] + k0 + r * (used[1] + k1 + r * (used[2] + k2))
                            weight *= rest[i + 1, after]
                        if weight == 0.0:
                            continue
                        total += weight
                        if turn == 1:
                            chosen[p, 0] = k0
                            chosen[p, 1] = k1
                            chosen[p, 2] = k2
                            chosen[p, 3] = k3
            if turn == 0:
                goal = total
        for group in range(4):
            left[group] -= chosen[p, group]
            if group < 3:
                used[group] += chosen[p, group]


@kernel(allocates=True)
def draw_classes(
    ops: np.ndarray,
    begin: int,
    num_ops: int,
    class_of: np.ndarray,
    classes: int,
    radix: int,
    saved: np.ndarray,
    hand: np.ndarray,
    hidden: int,
    words: np.ndarray,
    at: int,
    op_class: np.ndarray,
) -> None:
    """Draws the class of the card in each slot, from the last op to the first; see `count_ways`.

    Args:
        ops: `[MAX_OPS, 2] int64`, what happened to the hand.
        begin: the first op that counts.
        num_ops: behind the last one.
        class_of: `[4] int64`, the class of each suit.
        classes: how many suits count.
        radix: see `count_ways`.
        saved: the tables that `count_ways` saved.
        hand: `[52] int64`, the cards in hand.
        hidden: how many.
        words: `[n] uint64`; the random stream is `words[at]`, which advances.
        at: see `words`.
        op_class: `[num_ops] int64`, overwritten where a slot is opened from `begin` on.
    """
    x = np.zeros(4, np.int64)
    for i in range(hidden):
        x[class_of[hand[i] // SUIT_SIZE]] += 1
    base = begin
    while base < num_ops and ops[base, 0] == DRAW:
        base += 1
    later = 0
    for i in range(base, num_ops):
        if ops[i, 0] == DRAW:
            later += 1
    weights = np.zeros(4, np.float64)
    for i in range(num_ops - 1, base - 1, -1):
        if ops[i, 0] == PLAY:
            x[class_of[ops[i, 1] // SUIT_SIZE]] += 1
        elif ops[i, 0] == DRAW:
            later -= 1
            index = x[0] + radix * (x[1] + radix * x[2])
            total = 0.0
            for which in range(4):
                weights[which] = 0.0
                if x[which] > 0:
                    less = radix**which if which != REST else 0
                    weights[which] = saved[later, index - less]
                total += weights[which]
            goal = total * (int64(draw(words, at) >> np.uint64(11)) / 9007199254740992.0)
            total = 0.0
            drawn = -1
            for which in range(4):
                if weights[which] > 0.0 and (drawn < 0 or total <= goal):
                    drawn = which
                    total += weights[which]
            op_class[i] = drawn
            x[drawn] -= 1
    n = begin
    for which in range(4):
        for _ in range(x[which]):
            op_class[n] = which
            n += 1
    shuffle(op_class[begin:base], base - begin, words, at)
