"""The search: zero-window alpha-beta between tricks, on a stack of its own so that it can pause.

A node is a lead to come, its question whether player 0 takes `goal` of the tricks left. What
probing leaves open (see `probes`) is searched, the most promising lead first, and of its replies
the most dangerous first.
"""

from __future__ import annotations

import numpy as np

from tricktable_env.bits import ONE, ZERO, int64, size
from tricktable_env.jit import kernel
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
    SUSPENDED,
)
from tricktable_env.tableau.solver.probes import ANY, expand
from tricktable_env.tableau.solver.table import keep, key_of, look_up

SUSPENDS = -1
_TAKEN = -(1 << 40)
"""The score of what is searched already."""
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
            answer, best = expand(m, f, ANY if whole else only)
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
