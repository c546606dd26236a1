"""The walk through all rounds that begin with the same cards face up and the same trump.

A *place* is all that both seats have seen: what was played and uncovered. At a place there is a row
for each pair of hands that may still be held. Seats whose cards and past are alike share a decision
there, which is the engine's information state. The walk goes from place to place, depth first, and
writes down decisions, sequences and ends:

- a *sequence* is a decision of a seat with one of its actions; 0 is the empty one;
- a *decision* has a parent, the seat's sequence before it; its sequences have numbers in a row;
- an *end* is a pair of sequences, one a seat, with what all rounds that end so pay in sum.
"""

from __future__ import annotations

import numpy as np

from tricktable_env.bits import ONE, ZERO, bit, first, has, int64, size
from tricktable_env.jit import kernel
from tricktable_env.tableau.infostate import view
from tricktable_env.tableau.rules import legal
from tricktable_env.tableau.state import LEAD, LEFT, TURN, WORDS
from tricktable_lab.equilibrium.endings import (
    act_uncovering,
    hidden,
    open_value,
    pays,
    settled,
    uncovers,
)

# -- columns of a row ------------------------------------------------------------------------
KIND = 0  # [2] which of the seat's hands was dealt, numbered from 0
SEQUENCE = 2  # [2] the seat's last sequence
WAYS = 4  # deals that the row stands for
FIRST = 5  # the first sequence of the decision taken here, NO_CHOICE or ENDED
LEGAL = 6  # the legal actions, as a set of bits
ROW = 7
NO_CHOICE, ENDED = -1, -2
# -- columns of a place on the stack -----------------------------------------------------------
LOW, HIGH, UNION, PLAY, CARDS, PLACE = range(6)
"""Its rows, the actions legal in any of them that are still to be taken, the one that is being
taken, and the cards that it may yet uncover."""
# -- counters --------------------------------------------------------------------------------
DEPTH, STAMP, ENDS, DECISIONS, SEQUENCES, LEAVES, STATES, COUNTERS = 0, 1, 2, 3, 5, 7, 8, 10
"""DECISIONS, SEQUENCES and STATES are two each. LEAVES and STATES count the game as it is:
rounds from the deal to the last trick, and information states, those without a choice included."""
# -- what is left out ------------------------------------------------------------------------
MARGIN, CUT, SOLVE, VIEWS = 1, 2, 4, 8
"""Flags: a round pays by tricks; it ends once settled; what is open is replaced by its value; the
view of each decision is kept."""
MOST_CHOICES = 26
"""Legal plays at most."""


@kernel
def walk(
    states: np.ndarray,
    rows: np.ndarray,
    places: np.ndarray,
    marks: np.ndarray,
    deep: np.ndarray,
    frames: np.ndarray,
    counters: np.ndarray,
    flags: int,
    ends: np.ndarray,
    parents: np.ndarray,
    counts: np.ndarray,
    actions: np.ndarray,
    views: np.ndarray,
) -> bool:
    """Goes on until all is written down or something is full; then call it again with more room.

    Args:
        states: `[R, WORDS] uint64`, the first place's states.
        rows: `[R, ROW] int64`, their rows. R is the first place's rows times (plays + 1).
        places: `[plays + 1, PLACE] int64`, the stack; the first place on it.
        marks: `[2, 3, kinds] int64`, zeros at first.
        deep: see `endings.open_value`.
        frames: see there.
        counters: `[COUNTERS] int64`; all but DEPTH, 0, as the walk is to go on counting.
        flags: MARGIN, CUT, SOLVE and VIEWS.
        ends: `[E, 3] int64`: sequence of the caller, of the dealer, sum of what is paid.
        parents: `[2, D] int64` of each decision.
        counts: `[2, D] int64`, how many actions a decision has.
        actions: `[2, D] uint64`, which, as a set.
        views: `[2, D or 0, WORDS] uint64`.

    Returns:
        Whether the walk is over.
    """
    while counters[DEPTH] >= 0:
        depth = counters[DEPTH]
        place = places[depth]
        low = place[LOW]
        high = place[HIGH]
        if place[PLAY] == NO_CHOICE:  # not looked at yet
            room = high - low
            if counters[ENDS] + room > ends.shape[0]:
                return False
            for seat in range(2):
                if counters[DECISIONS + seat] + room > parents.shape[1]:
                    return False
            if not _open_place(
                states,
                rows,
                place,
                marks,
                deep,
                frames,
                counters,
                flags,
                ends,
                parents,
                counts,
                actions,
                views,
            ):
                counters[DEPTH] -= 1
                continue
        card = -1
        if place[CARDS] == 0:
            if place[UNION] == 0:
                counters[DEPTH] -= 1
                continue
            play = first(np.uint64(place[UNION]))
            place[UNION] &= place[UNION] - 1
            place[PLAY] = play
            if uncovers(states[low], play):
                cards = ZERO
                for i in range(low, high):
                    cards |= hidden(states[i])
                place[CARDS] = int64(cards)
        if place[CARDS] != 0:
            card = first(np.uint64(place[CARDS]))
            place[CARDS] &= place[CARDS] - 1
        _next_place(states, rows, places, counters, card)
    return True


@kernel
def _open_place(
    states: np.ndarray,
    rows: np.ndarray,
    place: np.ndarray,
    marks: np.ndarray,
    deep: np.ndarray,
    frames: np.ndarray,
    counters: np.ndarray,
    flags: int,
    ends: np.ndarray,
    parents: np.ndarray,
    counts: np.ndarray,
    actions: np.ndarray,
    views: np.ndarray,
) -> bool:
    """Writes down the ends or the decisions of a place; whether anything is to be played there."""
    low = place[LOW]
    high = place[HIGH]
    margin = flags & MARGIN != 0
    if states[low, LEFT] == ZERO or (flags & CUT != 0 and settled(states[low], margin)):
        for i in range(low, high):
            counters[LEAVES] += rows[i, WAYS]
            _end(rows[i], pays(states[i], margin) * rows[i, WAYS], counters, ends)
        return False
    if states[low, LEFT] == ONE and states[low, LEAD] == ZERO:
        _play_last_trick(states, rows, place, marks, deep, counters, margin, ends)
        return False
    seat = int64(states[low, TURN])
    counters[STAMP] += 1
    stamp = counters[STAMP]
    for i in range(low, high):
        for who in range(2):
            mark = marks[who, :, rows[i, KIND + who]]
            if mark[0] != stamp:
                mark[0] = stamp
                mark[1] = 0
                mark[2] = ENDED
            mark[1] += 1
    union = ZERO
    for i in range(low, high):
        row = rows[i]
        if flags & SOLVE != 0 and marks[0, 1, row[KIND]] == 1 and marks[1, 1, row[KIND + 1]] == 1:
            for word in range(WORDS):
                deep[0, word] = states[i, word]
            _end(row, open_value(deep, frames, row[WAYS], margin), counters, ends)
            row[FIRST] = ENDED
            continue
        mark = marks[seat, :, row[KIND + seat]]
        possible = legal(states[i])
        union |= possible
        row[LEGAL] = int64(possible)
        if mark[2] == ENDED:
            counters[STATES + seat] += 1
            mark[2] = NO_CHOICE
            if size(possible) > 1:
                mark[2] = counters[SEQUENCES + seat]
                n = counters[DECISIONS + seat]
                parents[seat, n] = row[SEQUENCE + seat]
                counts[seat, n] = size(possible)
                actions[seat, n] = possible
                if flags & VIEWS != 0:
                    view(states[i], seat, views[seat, n])
                counters[DECISIONS + seat] += 1
                counters[SEQUENCES + seat] += size(possible)
        row[FIRST] = mark[2]
    place[UNION] = int64(union)
    place[PLAY] = 0
    return union != ZERO


@kernel
def _play_last_trick(
    states: np.ndarray,
    rows: np.ndarray,
    place: np.ndarray,
    marks: np.ndarray,
    deep: np.ndarray,
    counters: np.ndarray,
    margin: bool,
    ends: np.ndarray,
) -> None:
    """Writes down the ends of a place at which both seats have one card left.

    Its leader has an information state for each card that it may have, and the other seat then one
    for each pair of cards, so for each row.
    """
    leader = int64(states[place[LOW], TURN])
    counters[STAMP] += 1
    for i in range(place[LOW], place[HIGH]):
        mark = marks[leader, :, rows[i, KIND + leader]]
        counters[STATES + leader] += mark[0] != counters[STAMP]
        mark[0] = counters[STAMP]
        counters[STATES + 1 - leader] += 1
        counters[LEAVES] += rows[i, WAYS]
        for word in range(WORDS):
            deep[0, word] = states[i, word]
        for _ in range(2):
            act_uncovering(deep[0], first(legal(deep[0])), -1)
        _end(rows[i], pays(deep[0], margin) * rows[i, WAYS], counters, ends)


@kernel
def _end(row: np.ndarray, paid: int, counters: np.ndarray, ends: np.ndarray) -> None:
    """Writes down an end, unless it pays nothing."""
    if paid == 0:
        return
    n = counters[ENDS]
    ends[n, 0] = row[SEQUENCE]
    ends[n, 1] = row[SEQUENCE + 1]
    ends[n, 2] = paid
    counters[ENDS] += 1


@kernel
def _next_place(
    states: np.ndarray, rows: np.ndarray, places: np.ndarray, counters: np.ndarray, card: int
) -> None:
    """Puts the place that follows a play on the stack, if any row leads there."""
    depth = counters[DEPTH]
    play = places[depth, PLAY]
    high = places[depth, HIGH]
    to = high
    for i in range(places[depth, LOW], high):
        row = rows[i]
        if row[FIRST] == ENDED or not has(np.uint64(row[LEGAL]), play):
            continue
        if card >= 0 and not has(hidden(states[i]), card):
            continue
        seat = int64(states[i, TURN])
        for word in range(WORDS):
            states[to, word] = states[i, word]
        for column in range(WAYS + 1):
            rows[to, column] = row[column]
        if card >= 0:
            rows[to, WAYS] = row[WAYS] // size(hidden(states[i]))
        if row[FIRST] != NO_CHOICE:
            before = np.uint64(row[LEGAL]) & (bit(play) - ONE)
            rows[to, SEQUENCE + seat] = row[FIRST] + size(before)
        act_uncovering(states[to], play, card)
        to += 1
    if to == high:
        return
    below = places[depth + 1]
    below[LOW] = high
    below[HIGH] = to
    below[PLAY] = NO_CHOICE
    below[CARDS] = 0
    counters[DEPTH] += 1
