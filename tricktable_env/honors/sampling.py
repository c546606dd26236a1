"""States drawn evenly from all deals that agree with what a seat has seen.

What a seat has seen limits the unseen cards by suit and time alone. Another player's cards came in
*slots*: the hand as dealt, then a slot a draw. A card played came in a slot opened before its play.
A suit not followed says that every card of it held or played later came in a slot opened later
still. So the number of ways to fit a hand and the cards already played into a player's slots
depends on the hand's counts by suit alone:

1. For each player who has failed to follow, walk through what happened with a table by the counts
   of those suits in the hand: a draw adds a card of any suit, a play takes one of as many as there
   are, a suit not followed leaves the counts without it. The table at the end, times the orders of
   the cards held, is that number.
2. Draw the counts of those players' hands, one after the other, by dynamic programming over what
   is left of each suit; then the cards, evenly. All others, and the stock, get the rest, evenly.
3. For each player draw the slots' suits, backwards through the tables, then the cards in them.

All sums are of numbers above zero, so floats lose nothing that could ever be noticed.
"""

from __future__ import annotations

import math

import numpy as np

from tricktable_env.bits import ONE, ZERO, below, bit, draw, first, int64, shuffle
from tricktable_env.cards import NUM_CARDS, SUIT_SIZE
from tricktable_env.honors.infostate import (
    DREW_IT,
    MAX_EVENTS,
    PLAYED_IT,
    list_events,
    start_hand,
    unseen,
)
from tricktable_env.honors.rules import hand_size, num_players
from tricktable_env.honors.state import (
    HAND,
    RNG,
    START,
    STOCK,
    STOCK_AT,
    STOCK_SIZE,
    TURNED,
    VIEWER,
    WORDS,
    byte_of,
    held,
    put_byte,
)
from tricktable_env.jit import kernel

DRAW, PLAY, LACK = 0, 1, 2
"""What happens to a hand: a slot is opened, a card played, a suit not followed."""
MAX_OPS = MAX_EVENTS + 60
GROUP_RADIX = SUIT_SIZE + 1
"""0 to 13 unseen cards of a suit."""
REST = 3
"""The class, or the group, of all suits that need no count of their own. A *class* is a suit that
counts in one hand, a *group* one that counts in any; where all four do, the last one is REST."""
FACTORIALS = np.array([math.factorial(n) for n in range(NUM_CARDS + 1)], np.float64)


@kernel
def sample(v: np.ndarray, words: np.ndarray, at: int, out: np.ndarray) -> None:
    """Draws a full state, evenly from all deals that agree with a view.

    Args:
        v: `[WORDS] uint64`, a view.
        words: `[n] uint64`; the random stream is `words[at]`, which advances.
        at: see `words`.
        out: `[WORDS] uint64`, overwritten with the state; its own stream is new.
    """
    for word in range(WORDS):
        out[word] = v[word]
    out[VIEWER] = ZERO
    out[RNG] = draw(words, at)
    players = num_players(v)
    me = int64(v[VIEWER]) - 1
    events = np.empty((MAX_EVENTS, 4), np.int64)
    num_events = list_events(v, events)
    # What happened to each hand, the suits that count in it, and where its last hand begins.
    ops = np.empty((players, MAX_OPS, 2), np.int64)
    num_ops = np.zeros(players, np.int64)
    begins = np.zeros(players, np.int64)
    class_of = np.full((players, 4), REST, np.int64)
    classes = np.zeros(players, np.int64)
    hidden = np.zeros(players, np.int64)
    group_of = np.full(4, REST, np.int64)
    groups = 0
    for p in range(players):
        if p == me:
            continue
        hidden[p] = held(v, p) - (1 if int64(v[HAND + p] != ZERO) else 0)
        num_ops[p] = _list_ops(v, events, num_events, p, ops[p])
        begins[p] = _last_hand(ops[p], num_ops[p])
        lacking = 0
        for i in range(begins[p], num_ops[p]):
            suit = ops[p, i, 1]
            if ops[p, i, 0] != LACK or lacking & (1 << suit):
                continue
            lacking |= 1 << suit
            if classes[p] < REST:
                class_of[p, suit] = classes[p]
            classes[p] += 1
            if group_of[suit] == REST and groups < REST:
                group_of[suit] = groups
                groups += 1
    cards, counts = _pool(v, group_of, words, at)
    radix = min(hand_size(v), SUIT_SIZE) + 1
    width = radix ** min(classes.max(), REST)
    saved = np.empty((players, 1 + int64(v[STOCK_AT]) // players, width), np.float64)
    ways = np.zeros((players, width), np.float64)
    for p in range(players):
        if classes[p] > 0:
            _count(ops[p], begins[p], num_ops[p], class_of[p], classes[p], radix, saved[p], ways[p])
    chosen = np.zeros((players, 4), np.int64)
    if groups > 0:
        _choose_counts(classes, class_of, group_of, hidden, counts, ways, radix, words, at, chosen)
    hands = np.empty((players, 52), np.int64)
    _hand_out(cards, counts, classes, hidden, chosen, words, at, hands, v, out)
    for p in range(players):
        if p != me:
            _fill_slots(
                ops[p],
                begins[p],
                num_ops[p],
                class_of[p],
                classes[p],
                radix,
                saved[p],
                hands[p],
                hidden[p],
                words,
                at,
                out,
            )


@kernel
def _list_ops(v: np.ndarray, events: np.ndarray, num_events: int, p: int, ops: np.ndarray) -> int:
    """Lists what happened to a hand, the turned card left out, which is never unseen.

    Args:
        v: `[WORDS] uint64`, a view.
        events: as `list_events` made them.
        num_events: how many.
        p: whose hand.
        ops: `[MAX_OPS, 2] int64`, overwritten: DRAW and its place in the stock or -1, PLAY and the
            card, LACK and the suit.

    Returns:
        How many there are.
    """
    players = num_players(v)
    turned = int64(v[TURNED]) - 1
    leader = int64((v[START] >> np.uint64(3)) & np.uint64(7))
    in_trick = int64((v[START] >> np.uint64(6)) & np.uint64(7))
    place = (p - leader) % players
    n = 0
    slots = start_hand(v) - (1 if place < in_trick else 0)
    if int64((v[START] >> np.uint64(21)) & np.uint64(15)) == p + 1:
        slots -= 1  # the turned card was in this hand already
    for _ in range(slots):
        ops[n, 0] = DRAW
        ops[n, 1] = -1
        n += 1
    if 0 < place < in_trick:
        led = (byte_of(v, START + 1, 0) - 1) // SUIT_SIZE
        if (byte_of(v, START + 1, place) - 1) // SUIT_SIZE != led:
            ops[n, 0] = LACK
            ops[n, 1] = led
            n += 1
    for i in range(num_events):
        if events[i, 1] != p:
            continue
        if events[i, 0] == PLAYED_IT:
            if events[i, 3] >= 0:
                ops[n, 0] = LACK
                ops[n, 1] = events[i, 3]
                n += 1
            if events[i, 2] != turned:
                ops[n, 0] = PLAY
                ops[n, 1] = events[i, 2]
                n += 1
        elif events[i, 0] == DREW_IT and (turned < 0 or events[i, 2] != turned):
            ops[n, 0] = DRAW
            ops[n, 1] = events[i, 3]
            n += 1
    return n


@kernel
def _last_hand(ops: np.ndarray, num_ops: int) -> int:
    """The first op of the hand as it is now: what came before a hand was empty is settled."""
    cards = 0
    begin = 0
    for i in range(num_ops):
        if ops[i, 0] == DRAW:
            if cards == 0:
                begin = i
            cards += 1
        elif ops[i, 0] == PLAY:
            cards -= 1
    return begin


@kernel
def _pool(
    v: np.ndarray, group_of: np.ndarray, words: np.ndarray, at: int
) -> tuple[np.ndarray, np.ndarray]:
    """Shuffles the unseen cards of each group: `[4, 52] int64`, and how many, `[4] int64`."""
    cards = np.empty((4, NUM_CARDS), np.int64)
    counts = np.zeros(4, np.int64)
    pool = unseen(v)
    while pool != ZERO:
        card = first(pool)
        pool &= pool - ONE
        group = group_of[card // SUIT_SIZE]
        cards[group, counts[group]] = card
        counts[group] += 1
    for group in range(4):
        shuffle(cards[group], counts[group], words, at)
    return cards, counts


@kernel
def _count(
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


@kernel
def _choose_counts(
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
        ways: `[P, ...] float64`, as `_count` wrote them.
        radix: see `_count`.
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


@kernel
def _hand_out(
    cards: np.ndarray,
    counts: np.ndarray,
    classes: np.ndarray,
    hidden: np.ndarray,
    chosen: np.ndarray,
    words: np.ndarray,
    at: int,
    hands: np.ndarray,
    v: np.ndarray,
    out: np.ndarray,
) -> None:
    """Deals the unseen cards: as many of each group as was drawn, the rest as they come."""
    used = np.zeros(4, np.int64)
    for p in range(len(hidden)):
        n = 0
        if classes[p] == 0:
            continue
        for group in range(4):
            for _ in range(chosen[p, group]):
                hands[p, n] = cards[group, used[group]]
                used[group] += 1
                n += 1
    rest = np.empty(NUM_CARDS, np.int64)
    num = 0
    for group in range(4):
        for i in range(used[group], counts[group]):
            rest[num] = cards[group, i]
            num += 1
    shuffle(rest, num, words, at)
    n = 0
    for p in range(len(hidden)):
        for i in range(hidden[p]):
            if classes[p] == 0:
                hands[p, i] = rest[n]
                n += 1
            out[HAND + p] |= bit(hands[p, i])
    for place in range(int64(v[STOCK_AT]), int64(v[STOCK_SIZE])):
        if byte_of(v, STOCK, place) == 0:
            put_byte(out, STOCK, place, rest[n] + 1)
            n += 1


@kernel
def _fill_slots(
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
    out: np.ndarray,
) -> None:
    """Draws which card came in which of a player's slots, and notes it in the stock."""
    op_class = np.full(num_ops, REST, np.int64)
    if classes > 0:
        _draw_classes(
            ops, begin, num_ops, class_of, classes, radix, saved, hand, hidden, words, at, op_class
        )
    open_slots = np.empty((4, NUM_CARDS), np.int64)
    opened = np.zeros(4, np.int64)
    for i in range(num_ops):
        if ops[i, 0] == DRAW:
            which = op_class[i]
            open_slots[which, opened[which]] = ops[i, 1]
            opened[which] += 1
        elif ops[i, 0] == PLAY:
            which = class_of[ops[i, 1] // SUIT_SIZE] if i >= begin else REST
            _put_in_slot(ops[i, 1], open_slots[which], opened, which, words, at, out)
    for i in range(hidden):
        which = class_of[hand[i] // SUIT_SIZE]
        _put_in_slot(hand[i], open_slots[which], opened, which, words, at, out)


@kernel
def _put_in_slot(
    card: int,
    places: np.ndarray,
    opened: np.ndarray,
    which: int,
    words: np.ndarray,
    at: int,
    out: np.ndarray,
) -> None:
    """Puts a card in one of the open slots of its class, each as likely, and closes the slot."""
    chosen = below(words, at, opened[which])
    if places[chosen] >= 0:
        put_byte(out, STOCK, places[chosen], card + 1)
    opened[which] -= 1
    places[chosen] = places[opened[which]]


@kernel
def _draw_classes(
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
    """Draws the class of the card in each slot, from the last op to the first; see `_count`.

    Args:
        ops: `[MAX_OPS, 2] int64`, what happened to the hand.
        begin: the first op that counts.
        num_ops: behind the last one.
        class_of: `[4] int64`, the class of each suit.
        classes: how many suits count.
        radix: see `_count`.
        saved: the tables that `_count` saved.
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
