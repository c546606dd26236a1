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

import numpy as np

from tricktable_env.bits import ONE, ZERO, below, bit, draw, first, int64, shuffle
from tricktable_env.cards import NUM_CARDS, SUIT_SIZE
from tricktable_env.honors.counting import (
    DRAW,
    LACK,
    PLAY,
    REST,
    choose_counts,
    count_ways,
    draw_classes,
)
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

MAX_OPS = MAX_EVENTS + 60


@kernel(allocates=True)
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
            count_ways(
                ops[p], begins[p], num_ops[p], class_of[p], classes[p], radix, saved[p], ways[p]
            )
    chosen = np.zeros((players, 4), np.int64)
    if groups > 0:
        choose_counts(classes, class_of, group_of, hidden, counts, ways, radix, words, at, chosen)
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


@kernel(allocates=True)
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


@kernel(allocates=True)
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


@kernel(allocates=True)
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
        draw_classes(
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
