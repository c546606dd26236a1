"""From a packed state to questions for the search, and from its answers to bounds.

Bounds are of the tricks that the seat to act takes from here on, the trick in progress included.
They stand in two rows `low` and `high`, `[BEST_OF_ALL + 1] int64`: one entry an action, -1 where it
is not legal, and one for the best of them. They only ever narrow, and hold whenever a search is
suspended; the same call again goes on where it was.
"""

from __future__ import annotations

import numpy as np

from tricktable_env.bits import ONE, ZERO, bit, first, int64, size
from tricktable_env.cards import SUIT_CARDS, SUIT_SIZE
from tricktable_env.jit import kernel
from tricktable_env.tableau.rules import first_leader, legal
from tricktable_env.tableau.solver.bounds import estimate
from tricktable_env.tableau.solver.memory import (
    AGE,
    COVERS,
    HIDDEN,
    LEADER,
    LIMIT,
    NODES,
    RANKS,
    ROOT,
    STRAIN,
    STRAIN_KEY,
    SUSPENDED,
    UNDER,
)
from tricktable_env.tableau.solver.probes import ANY, next_choice
from tricktable_env.tableau.solver.search import SUSPENDS, search
from tricktable_env.tableau.solver.strings import in_suit
from tricktable_env.tableau.solver.table import alone
from tricktable_env.tableau.state import (
    CALL,
    CALLER,
    COVER,
    HAND,
    LEAD,
    NOT_CALLED,
    NUM_ACTIONS,
    TRUMP,
    TURN,
    UP,
    slot_of,
    under_of,
)

BEST_OF_ALL = NUM_ACTIONS
"""Index of the bounds of the best action."""
BEST, ALL = -1, -2
"""What can be wanted, beside whether the seat to act takes a number of tricks."""


# -- for other kernels -----------------------------------------------------------------------
@kernel
def begin(s: np.ndarray, m: np.ndarray, low: np.ndarray, high: np.ndarray) -> None:
    """Takes up a state, of which nothing is known yet.

    Args:
        s: `[WORDS] uint64`, a state; not a view.
        m: the solver's memory.
        low: `[BEST_OF_ALL + 1] int64`, overwritten.
        high: likewise.
    """
    m[SUSPENDED] = ZERO
    m[AGE] = m[AGE] % np.uint64(255) + ONE
    _set_root(s, m)
    actions = legal(s)
    left = size(m[ROOT])
    for action in range(NUM_ACTIONS):
        allowed = left > 0 and (actions >> np.uint64(action)) & ONE != ZERO
        low[action] = 0 if allowed else -1
        high[action] = left if allowed else -1
    low[BEST_OF_ALL] = 0
    high[BEST_OF_ALL] = left


@kernel
def narrow(
    s: np.ndarray, m: np.ndarray, low: np.ndarray, high: np.ndarray, wanted: int, nodes: int
) -> bool:
    """Narrows the bounds until they answer what is wanted.

    Args:
        s: the state given to `begin`.
        m: the solver's memory.
        low: the bounds, narrowed in place.
        high: likewise.
        wanted: BEST: how many tricks the seat to act takes; ALL: that for each action; k from 0:
            only whether it takes k, which is one search (before the call one a trump). Then the
            low bound of the best is at least k or the high one less.
        nodes: how many nodes it may search.

    Returns:
        Whether that is known; else the nodes are used up.
    """
    m[LIMIT] = m[NODES] + np.uint64(nodes)
    while True:
        at, only, k, won = _next_question(s, m, low, high, wanted)
        if at < 0:
            return True
        seat = int64(s[TURN])
        goal = k - won if seat == CALLER else size(m[ROOT]) - (k - won) + 1
        answer = search(m, goal, only)
        if answer == SUSPENDS:
            return False
        if answer == 1 - seat:  # the caller takes `goal`, or keeps the dealer from k
            low[at] = max(low[at], k)
        else:
            high[at] = min(high[at], k - 1)


@kernel
def narrow_rows(
    states: np.ndarray,
    m: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    wanted: int,
    nodes: int,
    done: int,
) -> int:
    """Does as `narrow` does with each row of a batch, taking up the next when one is done.

    Args:
        states: `[B, WORDS] uint64`.
        m: the solver's memory; where a search is suspended it is that of row `done`.
        low: `[B, BEST_OF_ALL + 1] int64`, overwritten from row `done` on.
        high: likewise.
        wanted: see `narrow`.
        nodes: how many nodes it may search in all.
        done: number of rows done.

    Returns:
        How many rows are done; where not all are, the nodes are used up.
    """
    end = int64(m[NODES]) + nodes
    for i in range(done, states.shape[0]):
        if m[SUSPENDED] == ZERO:
            begin(states[i], m, low[i], high[i])
        if not narrow(states[i], m, low[i], high[i], wanted, end - int64(m[NODES])):
            return i
    return states.shape[0]


# -- what to ask next ------------------------------------------------------------------------
@kernel
def _next_question(
    s: np.ndarray, m: np.ndarray, low: np.ndarray, high: np.ndarray, wanted: int
) -> tuple[int, int, int, int]:
    """Sets ROOT for the next question. It depends on the bounds alone, so it can be asked again.

    Returns:
        The entry of the bounds that it is about, or -1 when all is known; the card to lead, or
        ANY; the number of tricks asked about; how many of them are won before ROOT.
    """
    _set_root(s, m)
    if int64(s[TRUMP]) == NOT_CALLED:
        return _next_call(s, m, low, high, wanted)
    led = _wide_card(int64(s[LEAD]) - 1) if s[LEAD] != ZERO else ANY
    if _is_open(low[BEST_OF_ALL], high[BEST_OF_ALL], wanted):
        k = _first_guess(s, m, low[BEST_OF_ALL], high[BEST_OF_ALL], wanted)
        return BEST_OF_ALL, led, k, 0
    if wanted != ALL or size(m[ROOT]) == 0:
        return -1, ANY, 0, 0
    seat = int64(s[TURN])
    other = m[ROOT + 1 - seat]
    alike = alone(m, other)
    choices = _wide_set(legal(s))
    while choices != ZERO:
        before = choices
        card, choices = next_choice(choices, other, m[ROOT + COVERS], alike)
        action = _narrow_card(card)
        high[action] = min(high[action], high[BEST_OF_ALL])
        if low[action] < high[action]:  # most are about as good as the best: ask about that first
            if led == ANY:
                return action, card, high[action], 0
            won = 1 if _play_trick(m, led, card) == seat else 0
            return action, ANY, high[action], won
        equal = before & ~choices
        while equal != ZERO:
            same = _narrow_card(first(equal))
            low[same] = low[action]
            high[same] = high[action]
            equal &= equal - ONE
    return -1, ANY, 0, 0


@kernel
def _next_call(
    s: np.ndarray, m: np.ndarray, low: np.ndarray, high: np.ndarray, wanted: int
) -> tuple[int, int, int, int]:
    """Does as `_next_question` does, before the call."""
    m[ROOT + LEADER] = np.uint64(first_leader(s))
    most = 0
    for action in range(CALL, NUM_ACTIONS):
        low[BEST_OF_ALL] = max(low[BEST_OF_ALL], low[action])
        most = max(most, high[action])
    high[BEST_OF_ALL] = min(high[BEST_OF_ALL], most)
    for action in range(CALL, NUM_ACTIONS):
        # Short of wanting all, a call that is no better than the best one known needs no more.
        least = low[action] if wanted == ALL else max(low[action], low[BEST_OF_ALL])
        if _is_open(least, high[action], wanted):
            _set_strain(m, action - CALL)
            return action, ANY, _first_guess(s, m, least, high[action], wanted), 0
    return -1, ANY, 0, 0


@kernel
def _is_open(low: int, high: int, wanted: int) -> bool:
    """Whether bounds leave open what is wanted."""
    return low < high if wanted < 0 else low < wanted <= high


@kernel
def _first_guess(s: np.ndarray, m: np.ndarray, low: int, high: int, wanted: int) -> int:
    """A number of tricks of the seat to act to ask about: what is wanted, or near the estimate."""
    if wanted >= 0:
        return wanted
    leader = int64(m[ROOT + LEADER])
    tricks = estimate(m, m[ROOT], m[ROOT + 1], m[ROOT + HIDDEN], m[ROOT + RANKS], leader)
    if int64(s[TURN]) != CALLER:
        tricks = 64 * size(m[ROOT]) - tricks
    return max(low + 1, min(high, (tricks + 32) // 64))


# -- the position asked about ----------------------------------------------------------------
@kernel
def _set_root(s: np.ndarray, m: np.ndarray) -> None:
    """Makes ROOT of a state; a card led is put back among its player's, where it lies on none."""
    hidden = ZERO
    covers = ZERO
    for seat in range(2):
        own = _wide_set(s[HAND + seat] | s[UP + seat])
        rest = s[COVER + seat]
        while rest != ZERO:
            card = first(rest)
            rest &= rest - ONE
            under = _wide_card(under_of(s, seat, slot_of(s, card)))
            card = _wide_card(card)
            covers |= bit(card)
            hidden |= bit(under)
            own |= bit(under)
            m[UNDER + card] = np.uint64(under)
        m[ROOT + seat] = own
    leader = int64(s[TURN])
    if s[LEAD] != ZERO:
        leader = 1 - leader
        m[ROOT + leader] |= bit(_wide_card(int64(s[LEAD]) - 1))
    m[ROOT + HIDDEN] = hidden
    m[ROOT + COVERS] = covers
    m[ROOT + LEADER] = np.uint64(leader)
    _set_ranks(m)
    _set_strain(m, int64(s[TRUMP]))


@kernel
def _set_strain(m: np.ndarray, strain: int) -> None:
    """Sets the trump suit, or NO_TRUMP; its three bits go where lanes of ranks are always 0."""
    t = np.uint64(strain)
    m[STRAIN] = t
    m[STRAIN_KEY] = (
        (t & ONE) << np.uint64(14)
        | (t >> ONE & ONE) << np.uint64(30)
        | t >> np.uint64(2) << np.uint64(31)
    )


@kernel
def _set_ranks(m: np.ndarray) -> None:
    """Makes RANKS of ROOT from its sets."""
    cards = m[ROOT] | m[ROOT + 1]
    ranks = ZERO
    for suit in range(4):
        at = np.uint64(16 * suit)
        rest = cards & in_suit(suit)
        while rest != ZERO:
            card = np.uint64(first(rest))
            rest &= rest - ONE
            ranks |= (m[ROOT + 1] >> card & ONE) << at
            at += ONE
        ranks |= ONE << at
    m[ROOT + RANKS] = ranks


@kernel
def _play_trick(m: np.ndarray, led: int, reply: int) -> int:
    """Makes ROOT the position after a trick; returns who won it."""
    leader = int64(m[ROOT + LEADER])
    follows = reply >> 4 == led >> 4
    beaten = reply > led if follows else reply >> 4 == int64(m[STRAIN])
    winner = 1 - leader if beaten else leader
    m[ROOT + leader] ^= bit(led)
    m[ROOT + 1 - leader] ^= bit(reply)
    if m[ROOT + COVERS] & bit(reply) != ZERO:
        m[ROOT + COVERS] ^= bit(reply)
        m[ROOT + HIDDEN] ^= bit(int64(m[UNDER + reply]))
    m[ROOT + LEADER] = np.uint64(winner)
    _set_ranks(m)
    return winner


@kernel
def _wide_set(cards: np.uint64) -> np.uint64:
    """A set of cards, in lanes of 16 bits."""
    word = ZERO
    for suit in range(4):
        word |= (cards >> np.uint64(SUIT_SIZE * suit) & np.uint64(SUIT_CARDS)) << np.uint64(
            16 * suit
        )
    return word


@kernel
def _wide_card(card: int) -> int:
    return card + 3 * (card // SUIT_SIZE)


@kernel
def _narrow_card(card: int) -> int:
    return card - 3 * (card >> 4)
