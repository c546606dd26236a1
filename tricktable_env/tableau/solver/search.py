"""The search: zero-window alpha-beta between tricks, on a stack of its own so that it can pause.

A node is a lead to come, its question whether player 0 takes `goal` of the tricks left. First every
reply to every lead is probed, in the bounds and in the table: a reply that answers against the
leader drops the lead, a lead whose replies all answer for the leader settles the node. What is left
is searched, the most promising lead first, and of its replies the most dangerous first.

Cards of one player between which no card of the other lies are worth the same, so one of them is
tried. The card led counts as the other's while the follower chooses. A card that lies on a
face-down one stays a choice of its own.
"""

from __future__ import annotations

import numpy as np

from tricktable_env.bits import ONE, ZERO, bit, first, has, int64, last, size
from tricktable_env.jit import kernel
from tricktable_env.tableau.solver.bounds import estimate, settled
from tricktable_env.tableau.solver.memory import (
    BASE,
    BEST,
    CHECK,
    COUNT,
    COVERS,
    CURRENT,
    DEPTH,
    FRAME,
    FRAMES,
    FREE,
    GOAL,
    HIDDEN,
    KEY,
    LEAD,
    LEADER,
    LEADS,
    LIMIT,
    NODES,
    NONE,
    ONLY,
    OPEN,
    RANKS,
    REPLIES,
    REPLY,
    ROOT,
    SCORE,
    STRAIN,
    SUSPENDED,
    UNDER,
)
from tricktable_env.tableau.solver.strings import in_suit, place_of, without
from tricktable_env.tableau.solver.table import alone, fetch, keep, key_of, look_up
from tricktable_env.tableau.state import NO_TRUMP

SUSPENDS = -1
ANY = -1
"""Every lead may be made."""

_NO_LEAD = -1
_TAKEN = -(1 << 40)
"""The score of what is searched already."""
_A_REPLY_MORE = 40
_PROVED_BEFORE = 64
_PROBED_ONLY = 4
"""What probing settles is worth as much in the table as a search of so many tricks less."""


@kernel
def search(m: np.ndarray, goal: int, only: int) -> int:
    """Whether player 0 takes `goal` of the tricks left in ROOT.

    Args:
        m: the solver's memory. A search of this question that is suspended there goes on.
        goal: a number of tricks.
        only: the card to lead, or ANY.

    Returns:
        1 or 0; SUSPENDS when NODES has reached LIMIT.
    """
    depth = 0
    if _waits(m, goal, only):
        depth = int64(m[DEPTH])
    else:
        if goal <= 0:
            return 1
        if goal > size(m[ROOT]):
            return 0
        answer = _open_root(m, goal, only)
        if answer >= 0:
            return answer
    f = FRAMES + depth * FRAME
    answer = -1
    fresh = True
    while True:
        whole = depth > 0 or only == ANY  # what holds for one lead is no result of the position
        player = int64(m[f + LEADER] & ONE)
        if fresh:
            if m[NODES] >= m[LIMIT]:
                m[SUSPENDED] = ONE
                m[DEPTH] = np.uint64(depth)
                m[ONLY] = np.uint64(only)
                return SUSPENDS
            m[NODES] += ONE
            answer, best = _expand(m, f, ANY if whole else only)
            if answer >= 0 and whole:
                _note(m, f, answer, best, False)
        elif answer >= 0:
            if depth == 0:
                return answer
            depth -= 1
            f -= FRAME
            whole = depth > 0 or only == ANY
            player = int64(m[f + LEADER] & ONE)
            if answer == player:  # against the leader
                m[f + CURRENT] = NONE
                answer = -1
            elif m[f + OPEN] != ZERO:
                answer = -1
            elif whole:
                _note(m, f, answer, m[LEADS + int64(m[f + CURRENT]) * LEAD + 1] & NONE, True)
        fresh = False
        if answer >= 0:
            continue
        if m[f + CURRENT] == NONE and not _next_lead(m, f):
            answer = player
            if whole:
                _note(m, f, answer, NONE, True)
            continue
        answer = _next_reply(m, f)
        depth += 1
        f += FRAME
        fresh = answer < 0


@kernel
def _note(m: np.ndarray, f: int, answer: int, best: np.uint64, searched: bool) -> None:
    """Keeps the answer to a frame's question in the table."""
    left = size(m[f])
    worth = left if searched else max(1, left - _PROBED_ONLY)
    keep(m, m[f + KEY], m[f + LEADER] & CHECK, left, int64(m[f + GOAL]), answer, best, worth)


@kernel
def _waits(m: np.ndarray, goal: int, only: int) -> bool:
    """Whether a search of this very question is suspended; it no longer counts as waiting."""
    same = m[SUSPENDED] != ZERO and int64(m[ONLY]) == only and int64(m[FRAMES + GOAL]) == goal
    m[SUSPENDED] = ZERO
    for word in range(LEADER):
        same &= m[FRAMES + word] == m[ROOT + word]
    key, check = _root_key(m)
    return same and m[FRAMES + KEY] == key and m[FRAMES + LEADER] == m[ROOT + LEADER] | check


@kernel
def _root_key(m: np.ndarray) -> tuple[np.uint64, np.uint64]:
    leader = int64(m[ROOT + LEADER])
    return key_of(m, m[ROOT], m[ROOT + 1], m[ROOT + COVERS], m[ROOT + RANKS], leader)


@kernel
def _open_root(m: np.ndarray, goal: int, only: int) -> int:
    """Makes the first frame of ROOT; the answer if the table has it, else -1."""
    for word in range(LEADER + 1):
        m[FRAMES + word] = m[ROOT + word]
    f = FRAMES
    m[f + KEY], check = _root_key(m)
    m[f + LEADER] |= check
    m[f + GOAL] = np.uint64(goal)
    m[f + BASE] = ZERO
    m[f + FREE] = ZERO
    answer, best = look_up(m, m[f + KEY], m[f + LEADER] & CHECK, goal)
    m[f + BEST] = best
    return answer if only == ANY else -1


# -- probing ---------------------------------------------------------------------------------
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
def _expand(m: np.ndarray, f: int, only: int) -> tuple[int, np.uint64]:
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


# -- choosing --------------------------------------------------------------------------------
@kernel
def _next_lead(m: np.ndarray, f: int) -> bool:
    """Takes up the most promising lead that is left; False when there is none."""
    best = _TAKEN
    lead = -1
    for i in range(int64(m[f + BASE]), int64(m[f + BASE] + m[f + COUNT])):
        score = int64(m[LEADS + i * LEAD])
        if score > best:
            best = score
            lead = i
    if lead < 0:
        return False
    m[LEADS + lead * LEAD] = np.uint64(_TAKEN)
    m[f + CURRENT] = np.uint64(lead)
    m[f + OPEN] = m[LEADS + lead * LEAD + 1] >> np.uint64(32)
    return True


@kernel
def _next_reply(m: np.ndarray, f: int) -> int:
    """Makes the next frame, after the most dangerous reply left; its answer if known, else -1."""
    word = m[LEADS + int64(m[f + CURRENT]) * LEAD + 1]
    start = int64((word >> np.uint64(8)) & np.uint64(0xFFFFFF))
    best = _TAKEN
    reply = start
    for i in range(start, start + int64(word >> np.uint64(32))):
        score = int64(m[REPLIES + i * REPLY + SCORE])
        if score > best:
            best = score
            reply = i
    a = REPLIES + reply * REPLY
    m[a + SCORE] = np.uint64(_TAKEN)
    m[f + OPEN] -= ONE
    g = f + FRAME
    for i in range(KEY + 1):
        m[g + i] = m[a + i]
    goal = int64(m[f + GOAL]) - (1 if m[g + LEADER] & ONE == ZERO else 0)
    m[g + GOAL] = np.uint64(goal)
    m[g + BASE] = m[f + BASE] + m[f + COUNT]
    m[g + FREE] = m[f + FREE]
    answer, lead = look_up(m, m[g + KEY], m[g + LEADER] & CHECK, goal)
    m[g + BEST] = lead
    return answer
