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

from tricktable_env.bits import ONE, ZERO, bit, first, int64, last, popcount, size
from tricktable_env.jit import kernel
from tricktable_env.tableau.solver.bounds import estimate, in_suit, settled
from tricktable_env.tableau.solver.memory import (
    BASE,
    BEST,
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
    LANE,
    LEAD,
    LEADER,
    LEADS,
    LIMIT,
    MARKS,
    NODES,
    NONE,
    ONLY,
    OPEN,
    PILE,
    PILES,
    RANKS,
    REPLIES,
    REPLY,
    ROOT,
    SCORE,
    STRAIN,
    SUSPENDED,
    UNDER,
)
from tricktable_env.tableau.solver.table import fetch, keep, key_of, look_up
from tricktable_env.tableau.state import NO_TRUMP

SUSPENDS = -1
ANY = -1
"""Every lead may be made."""

_TAKEN = -(1 << 40)
"""The score of what is searched already."""
_A_REPLY_MORE = 40
_PROVED_BEFORE = 64


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
        player = int64(m[f + LEADER])
        if fresh:
            if m[NODES] >= m[LIMIT]:
                m[SUSPENDED] = ONE
                m[DEPTH] = np.uint64(depth)
                m[ONLY] = np.uint64(only)
                return SUSPENDS
            m[NODES] += ONE
            answer, best = _expand(m, f, ANY if whole else only)
            if answer >= 0 and whole:
                _note(m, f, answer, best)
        elif answer >= 0:
            if depth == 0:
                return answer
            depth -= 1
            f -= FRAME
            whole = depth > 0 or only == ANY
            player = int64(m[f + LEADER])
            if answer == player:  # against the leader
                m[f + CURRENT] = NONE
                answer = -1
            elif m[f + OPEN] != ZERO:
                answer = -1
            elif whole:
                _note(m, f, answer, m[LEADS + int64(m[f + CURRENT]) * LEAD + 1] & NONE)
        fresh = False
        if answer >= 0:
            continue
        if m[f + CURRENT] == NONE and not _next_lead(m, f):
            answer = player
            if whole:
                _note(m, f, answer, NONE)
            continue
        answer = _next_reply(m, f)
        depth += 1
        f += FRAME
        fresh = answer < 0


@kernel
def _note(m: np.ndarray, f: int, answer: int, best: np.uint64) -> None:
    """Keeps the answer to a frame's question in the table."""
    keep(m, m[f + KEY], size(m[f]), int64(m[f + GOAL]), answer, best)


@kernel
def _waits(m: np.ndarray, goal: int, only: int) -> bool:
    """Whether a search of this very question is suspended; it no longer counts as waiting."""
    same = m[SUSPENDED] != ZERO and int64(m[ONLY]) == only and int64(m[FRAMES + GOAL]) == goal
    m[SUSPENDED] = ZERO
    for word in range(LEADER + 1):
        same &= m[FRAMES + word] == m[ROOT + word]
    return same and m[FRAMES + KEY] == _root_key(m)


@kernel
def _root_key(m: np.ndarray) -> np.uint64:
    return key_of(m, m[ROOT + RANKS], m[ROOT + MARKS], m[ROOT + PILES], int64(m[ROOT + LEADER]))


@kernel
def _open_root(m: np.ndarray, goal: int, only: int) -> int:
    """Makes the first frame of ROOT; the answer if the table has it, else -1."""
    for word in range(LEADER + 1):
        m[FRAMES + word] = m[ROOT + word]
    f = FRAMES
    m[f + KEY] = _root_key(m)
    m[f + GOAL] = np.uint64(goal)
    m[f + BASE] = ZERO
    m[f + FREE] = ZERO
    answer, best = look_up(m, m[f + KEY], goal)
    m[f + BEST] = best
    return answer if only == ANY else -1


# -- probing ---------------------------------------------------------------------------------
@kernel
def place_of(cards: np.uint64, card: int) -> np.uint64:
    """The bit in RANKS and MARKS of one of the cards that are still there."""
    lane = in_suit(card >> 4)
    return np.uint64(card & 48) + popcount(cards & lane & (bit(card) - ONE))


@kernel
def without(lanes: np.uint64, place: np.uint64) -> np.uint64:
    """Lanes with one bit taken out and the bits above it moved down."""
    low = (ONE << place) - ONE
    lane = LANE << (place & np.uint64(48))
    return (lanes & (low | ~lane)) | ((lanes >> ONE) & lane & ~low)


@kernel
def next_choice(cards: np.uint64, other: np.uint64, covers: np.uint64) -> tuple[int, np.uint64]:
    """One of `cards` that differs from all choices before, and the cards still to choose from.

    Args:
        cards: cards of one player that may be played, some.
        other: all cards of the other player, the card just led included.
        covers: cards that lie on a face-down one.
    """
    card = first(cards)
    mark = bit(card)
    if covers & mark != ZERO:
        return card, cards ^ mark
    equal = cards & ~covers & in_suit(card >> 4)
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
    player = int64(m[f + LEADER])
    other = 1 - player
    goal = int64(m[f + GOAL])
    own = m[f + player]
    theirs = m[f + other]
    covers0 = m[f + COVERS]
    answers = theirs & ~m[f + HIDDEN]
    leads = own & ~m[f + HIDDEN] if only == ANY else bit(only)
    free = int64(m[f + FREE])
    count = 0
    while leads != ZERO:
        led, leads = next_choice(leads, theirs, covers0)
        all0 = own | theirs
        hidden1 = m[f + HIDDEN]
        covers1 = covers0
        marks1 = m[f + MARKS]
        piles1 = m[f + PILES]
        if covers1 & bit(led) != ZERO:
            under = int64(m[UNDER + led])
            covers1 ^= bit(led)
            hidden1 ^= bit(under)
            piles1 -= m[PILE + led]
            marks1 ^= ONE << place_of(all0, under)
        place = place_of(all0, led)
        ranks1 = without(m[f + RANKS], place)
        marks1 = without(marks1, place)
        all1 = all0 ^ bit(led)
        follow = answers & in_suit(led >> 4)
        if follow != ZERO:
            losing = follow & (bit(led) - ONE)
            beating = follow ^ losing
        else:
            strain = int64(m[STRAIN])
            beating = ZERO if strain == NO_TRUMP else answers & in_suit(strain)
            losing = answers ^ beating
        start = free
        against = False
        while beating | losing != ZERO:
            if beating != ZERO:
                reply, beating = next_choice(beating, own, covers0)
                winner = other
            else:
                reply, losing = next_choice(losing, own, covers0)
                winner = player
            hidden = hidden1
            covers = covers1
            marks = marks1
            piles = piles1
            if covers & bit(reply) != ZERO:
                under = int64(m[UNDER + reply])
                covers ^= bit(reply)
                hidden ^= bit(under)
                piles -= m[PILE + reply]
                marks ^= ONE << place_of(all1, under)
            place = place_of(all1, reply)
            ranks = without(ranks1, place)
            own0 = own ^ bit(led)
            own1 = theirs ^ bit(reply)
            if player == 1:
                own0, own1 = own1, own0
            goal1 = goal - 1 if winner == 0 else goal
            answer = settled(m, own0, own1, hidden, covers, ranks, winner, goal1)
            if answer == player:
                against = True
                break
            if answer == other:
                continue
            marks = without(marks, place)
            key = key_of(m, ranks, marks, piles, winner)
            fetch(m, key)
            a = REPLIES + free * REPLY
            free += 1
            m[a] = own0
            m[a + 1] = own1
            m[a + HIDDEN] = hidden
            m[a + COVERS] = covers
            m[a + RANKS] = ranks
            m[a + MARKS] = marks
            m[a + PILES] = piles
            m[a + LEADER] = np.uint64(winner)
            m[a + KEY] = key
        if not against:
            against, free, worst = _look_up_replies(m, start, free, player, goal)
        if against:
            free = start
            continue
        if free == start:
            return other, np.uint64(led)
        score = worst - _A_REPLY_MORE * (free - start)
        if np.uint64(led) == m[f + BEST]:
            score += _PROVED_BEFORE
        a = LEADS + (int64(m[f + BASE]) + count) * LEAD
        m[a] = np.uint64(score)
        m[a + 1] = np.uint64(led | (start << 8) | ((free - start) << 32))
        count += 1
    m[f + COUNT] = np.uint64(count)
    m[f + CURRENT] = NONE
    m[f + FREE] = np.uint64(free)
    return (player if count == 0 else -1), NONE


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
        winner = int64(m[a + LEADER])
        goal1 = goal - 1 if winner == 0 else goal
        answer, _ = look_up(m, m[a + KEY], goal1)
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
    goal = int64(m[f + GOAL]) - (1 if m[g + LEADER] == ZERO else 0)
    m[g + GOAL] = np.uint64(goal)
    m[g + BASE] = m[f + BASE] + m[f + COUNT]
    m[g + FREE] = m[f + FREE]
    answer, lead = look_up(m, m[g + KEY], goal)
    m[g + BEST] = lead
    return answer
