"""Probing: every reply to every lead asked of the bounds and of the table, before any is searched.

A reply that answers against the leader drops the lead, a lead whose replies all answer for the
leader settles the node. Of what stays open records are written, with scores to choose by.

Cards of one player between which no card of the other lies are worth the same, so one of them is
tried. The card led counts as the other's while the follower chooses. A card that lies on a
face-down one stays a choice of its own.
"""

from __future__ import annotations

import numpy as np

from tricktable_env.bits import ONE, ZERO, bit, first, has, int64, last
from tricktable_env.jit import kernel
from tricktable_env.tableau.solver.bounds import estimate, settled
from tricktable_env.tableau.solver.memory import (
    BASE,
    BEST,
    CHECK,
    COUNT,
    COVERS,
    CURRENT,
    FREE,
    GOAL,
    HIDDEN,
    KEY,
    LEAD,
    LEADER,
    LEADS,
    NONE,
    RANKS,
    REPLIES,
    REPLY,
    SCORE,
    STRAIN,
    UNDER,
)
from tricktable_env.tableau.solver.strings import in_suit, place_of, without
from tricktable_env.tableau.solver.table import alone, fetch, key_of, look_up
from tricktable_env.tableau.state import NO_TRUMP

ANY = -1
"""Every lead may be made."""

_NO_LEAD = -1
_A_REPLY_MORE = 40
_PROVED_BEFORE = 64


@kernel
def next_choice(
    cards: np.uint64, other: np.uint64, covers: np.uint64, alike: np.uint64
) -> tuple[int, np.uint64]:
    """One of `cards` that differs from all choices before, and the cards still to choose from.

    Args:
        cards: cards of one player that may be played, some.
        other: all cards of the other player, the card just led included.
        covers: cards that lie on a face-down one.
        alike: lanes of suits in which all cards are alike, see `table.alone`.
    """
    card = first(cards)
    mark = bit(card)
    if covers & mark != ZERO:
        return card, cards ^ mark
    equal = cards & ~covers
    if alike & mark != ZERO:
        equal &= alike
    else:
        equal &= in_suit(card >> 4)
        higher = other & in_suit(card >> 4) & ~(mark - ONE)
        if higher != ZERO:
            equal &= bit(first(higher)) - ONE
    return last(equal), cards & ~equal


@kernel
def expand(m: np.ndarray, f: int, only: int) -> tuple[int, np.uint64]:
    """Probes every reply to every lead, and writes the records of what stays open.

    Args:
        m: the solver's memory.
        f: a frame whose question the table does not answer.
        only: the card to lead, or ANY.

    Returns:
        The answer if it is settled, else -1; and the lead that proves it, or NONE.
    """
    player = int64(m[f + LEADER] & ONE)
    goal = int64(m[f + GOAL])
    theirs = m[f + 1 - player]
    alike = alone(m, theirs)
    leads = m[f + player] & ~m[f + HIDDEN] if only == ANY else bit(only)
    free = int64(m[f + FREE])
    count = 0
    waiting = _NO_LEAD  # its replies are looked up when the table has had time to fetch them
    waiting_from = free
    while leads != ZERO or waiting != _NO_LEAD:
        led = _NO_LEAD
        start = free
        if leads != ZERO:
            led, leads = next_choice(leads, theirs, m[f + COVERS], alike)
            against, free = _probe(m, f, led, start)
            if against:
                led = _NO_LEAD
                if leads != ZERO:
                    continue
            elif free == start:
                return 1 - player, np.uint64(led)
        if waiting != _NO_LEAD:
            against, end, worst = _look_up_replies(m, waiting_from, start, player, goal)
            if not against:
                if end == waiting_from:
                    return 1 - player, np.uint64(waiting)
                replies = end - waiting_from
                score = worst - _A_REPLY_MORE * replies
                if np.uint64(waiting) == m[f + BEST]:
                    score += _PROVED_BEFORE
                a = LEADS + (int64(m[f + BASE]) + count) * LEAD
                m[a] = np.uint64(score)
                m[a + 1] = np.uint64(waiting | (waiting_from << 8) | (replies << 32))
                count += 1
        waiting = led
        waiting_from = start
    m[f + COUNT] = np.uint64(count)
    m[f + CURRENT] = NONE
    m[f + FREE] = np.uint64(free)
    return (player if count == 0 else -1), NONE


@kernel
def _probe(m: np.ndarray, f: int, led: int, free: int) -> tuple[bool, int]:
    """Asks the bounds about every reply to a lead; those that stay open get a record.

    Args:
        m: the solver's memory.
        f: the frame of the lead.
        led: the card led.
        free: the first free record.

    Returns:
        Whether a reply answers against the leader; and the first record that is free then.
    """
    player = int64(m[f + LEADER] & ONE)
    other = 1 - player
    goal = int64(m[f + GOAL])
    own = m[f + player]
    theirs = m[f + other]
    alike = alone(m, own)
    covers1 = m[f + COVERS]
    hidden1 = m[f + HIDDEN]
    answers = theirs & ~hidden1
    if has(covers1, led):
        covers1 ^= bit(led)
        hidden1 ^= bit(int64(m[UNDER + led]))
    ranks1 = without(m[f + RANKS], place_of(own | theirs, led))
    cards = (own | theirs) ^ bit(led)
    follow = answers & in_suit(led >> 4)
    if follow != ZERO:
        losing = follow & (bit(led) - ONE)
        beating = follow ^ losing
    else:
        strain = int64(m[STRAIN])
        beating = ZERO if strain == NO_TRUMP else answers & in_suit(strain)
        losing = answers ^ beating
    start = free
    while beating | losing != ZERO:
        if beating != ZERO:
            reply, beating = next_choice(beating, own, covers1, alike)
            winner = other
        else:
            reply, losing = next_choice(losing, own, covers1, alike)
            winner = player
        hidden = hidden1
        covers = covers1
        if has(covers, reply):
            covers ^= bit(reply)
            hidden ^= bit(int64(m[UNDER + reply]))
        ranks = without(ranks1, place_of(cards, reply))
        own0 = own ^ bit(led)
        own1 = theirs ^ bit(reply)
        if player == 1:
            own0, own1 = own1, own0
        goal1 = goal - 1 if winner == 0 else goal
        answer = settled(m, own0, own1, hidden, covers, ranks, winner, goal1)
        if answer == player:
            return True, start
        if answer == other:
            continue
        key, check = key_of(m, own0, own1, covers, ranks, winner)
        fetch(m, key)
        a = REPLIES + free * REPLY
        free += 1
        m[a] = own0
        m[a + 1] = own1
        m[a + HIDDEN] = hidden
        m[a + COVERS] = covers
        m[a + RANKS] = ranks
        m[a + LEADER] = np.uint64(winner) | check
        m[a + KEY] = key
    return False, free


@kernel
def _look_up_replies(
    m: np.ndarray, start: int, free: int, player: int, goal: int
) -> tuple[bool, int, int]:
    """Asks the table about the replies to a lead, and scores those that stay open.

    Args:
        m: the solver's memory.
        start: their first record.
        free: the record after the last; records of settled replies are dropped.
        player: who leads.
        goal: the goal before this trick.

    Returns:
        Whether a reply answers against the leader; the record after the last that stays; and the
        leader's margin, in 64ths of a trick, after the most dangerous one.
    """
    worst = 1 << 30
    i = start
    while i < free:
        a = REPLIES + i * REPLY
        winner = int64(m[a + LEADER] & ONE)
        goal1 = goal - 1 if winner == 0 else goal
        answer, _ = look_up(m, m[a + KEY], m[a + LEADER] & CHECK, goal1)
        if answer == player:
            return True, start, worst
        if answer >= 0:
            free -= 1
            for word in range(KEY + 1):
                m[a + word] = m[REPLIES + free * REPLY + word]
            continue
        margin = estimate(m, m[a], m[a + 1], m[a + HIDDEN], m[a + RANKS], winner) - 64 * goal1
        if player == 1:
            margin = -margin
        worst = min(worst, margin)
        m[a + SCORE] = np.uint64(-margin)
        i += 1
    return False, free, worst
