"""What a seat knows: the view, a position drawn evenly from all that agree with it, and its text.

The other seat's possible cards are limited by two facts only: which cards are unseen, and which
suits its hand has shown to lack. A hand never grows, so a lack is for good. Every deal that agrees
is equally likely, whatever the seats' ways of play: the sample is of the deals, not of the plays.
"""

from __future__ import annotations

from numbers import Integral

import numpy as np

from tricktable_env.bits import (
    ONE,
    ZERO,
    bit,
    copy_words,
    draw,
    first,
    has,
    int64,
    popcount,
    room,
    shuffle,
    size,
)
from tricktable_env.cards import NUM_CARDS, SUIT_CARDS, SUIT_SIZE, Seat, Words
from tricktable_env.game import PositionError
from tricktable_env.jit import kernel
from tricktable_env.tableau.rules import call_cards, first_leader, hand_size, num_piles, num_tricks
from tricktable_env.tableau.state import (
    BARE,
    CALL,
    CALL_HAND,
    CALLER,
    COVER,
    DECK,
    FROM_HAND,
    GONE,
    HAND,
    LEAD,
    LEFT,
    NO_SLOT,
    NOT_CALLED,
    OUT,
    PLAYED,
    PLY,
    RNG,
    SLOT,
    START,
    TRICKS,
    TRUMP,
    TURN,
    UNDER,
    UNSEEN,
    UP,
    VIEWER,
    VOID,
    WORDS,
    event,
    history,
    put_slot,
    put_under,
    slot_of,
)


@kernel
def view(s: np.ndarray, seat: int, out: np.ndarray) -> None:
    """Packs what a seat has seen: the state with all the rest blanked.

    Before the call nothing lies on the table yet, the caller has its first cards and the dealer
    none.

    Args:
        s: `[WORDS] uint64`, a full state.
        seat: 0 the caller, 1 the dealer.
        out: `[WORDS] uint64`, overwritten.
    """
    copy_words(s, out, WORDS)
    other = 1 - seat
    out[VIEWER] = np.uint64(1 + seat)
    out[OUT] = ZERO
    out[RNG] = ZERO
    for word in range(UNDER, UNDER + 4):
        out[word] = ZERO
    out[HAND + other] = ZERO
    if seat != CALLER:
        out[CALL_HAND] = ZERO
    if s[TRUMP] == np.uint64(NOT_CALLED):
        out[HAND + seat] = s[CALL_HAND] if seat == CALLER else ZERO
        for word in range(UP, UP + 4):  # UP and COVER of both
            out[word] = ZERO
        for word in range(SLOT, UNDER):
            out[word] = ~ZERO
        out[UNSEEN] = np.uint64(hand_size(s))
    else:
        out[UNSEEN] = popcount(s[HAND + other])


@kernel
def unseen(v: np.ndarray) -> np.uint64:
    """The cards of the deck that the seat of a view has not seen."""
    seen = v[HAND] | v[HAND + 1] | v[UP] | v[UP + 1] | v[PLAYED] | v[PLAYED + 1] | v[GONE]
    return v[DECK] & ~seen


@kernel
def void_cards(v: np.ndarray, seat: int) -> np.uint64:
    """All cards of the suits that a seat's hand has shown to lack."""
    cards = ZERO
    for suit in range(4):
        if has(v[VOID], 4 * seat + suit):
            cards |= np.uint64(SUIT_CARDS) << np.uint64(SUIT_SIZE * suit)
    return cards


@kernel
def _fill(cards: np.ndarray, pool: np.uint64) -> int:
    """Writes the cards of a set to an array; returns how many."""
    n = 0
    while pool != ZERO:
        cards[n] = first(pool)
        pool &= pool - ONE
        n += 1
    return n


@kernel
def sample(v: np.ndarray, words: np.ndarray, at: int, out: np.ndarray) -> None:
    """Draws a full state, evenly from all deals that agree with a view.

    Args:
        v: `[WORDS] uint64`, a view.
        words: `[n] uint64`; the random stream is `words[at]`, which advances.
        at: see `words`.
        out: `[WORDS] uint64`, overwritten with the state; its own stream is new.
    """
    copy_words(v, out, WORDS)
    out[VIEWER] = ZERO
    out[UNSEEN] = ZERO
    out[RNG] = draw(words, at)
    seat = int64(v[VIEWER]) - 1
    other = 1 - seat
    cards = room(NUM_CARDS, np.int64)
    if v[TRUMP] == np.uint64(NOT_CALLED):
        _sample_before_call(v, seat, words, at, cards, out)
        return
    pool = unseen(v)
    n = _fill(cards, pool & ~void_cards(v, other))
    shuffle(cards, n, words, at)
    for i in range(int64(v[UNSEEN])):
        out[HAND + other] |= bit(cards[i])
    n = _fill(cards, pool & ~out[HAND + other])
    shuffle(cards, n, words, at)
    at_card = 0
    for owner in range(2):
        tops = v[COVER + owner]
        while tops != ZERO:
            top = first(tops)
            tops &= tops - ONE
            put_under(out, owner, slot_of(v, top), cards[at_card])
            at_card += 1
    for i in range(at_card, n):
        out[OUT] |= bit(cards[i])
    restore_uncovered(v, out)
    if seat != CALLER:
        _sample_call_hand(v, words, at, cards, out)


@kernel
def restore_uncovered(v: np.ndarray, out: np.ndarray) -> None:
    """Notes in a sampled state what the history says lay under the piles uncovered since."""
    for ply in range(int64(v[PLY])):
        card, reveal = event(v, ply)
        if FROM_HAND < reveal < BARE:
            owner = 1 if has(v[PLAYED + 1], card) else 0
            put_under(out, owner, slot_of(v, card), reveal - 1)


@kernel
def dealt_hand(s: np.ndarray, seat: int) -> np.uint64:
    """The hand that a seat held at the start: what it holds, and what it played from it."""
    hand = s[HAND + seat]
    for ply in range(int64(s[PLY])):
        action, reveal = event(s, ply)
        if action < CALL and reveal == FROM_HAND and has(s[PLAYED + seat], action):
            hand |= bit(action)
    return hand


@kernel
def _sample_call_hand(
    v: np.ndarray, words: np.ndarray, at: int, cards: np.ndarray, out: np.ndarray
) -> None:
    """Draws which of its cards the caller had seen at the call, where there was one."""
    if int64(v[PLY]) == 0 or event(v, 0)[0] < CALL:
        return
    n = _fill(cards, dealt_hand(out, CALLER))
    shuffle(cards, n, words, at)
    for i in range(call_cards(v)):
        out[CALL_HAND] |= bit(cards[i])


@kernel
def _sample_before_call(
    v: np.ndarray, seat: int, words: np.ndarray, at: int, cards: np.ndarray, out: np.ndarray
) -> None:
    """Deals all that is still to come around the caller's first cards, if the seat has them."""
    n = _fill(cards, v[DECK] & ~v[CALL_HAND] & ~v[GONE])
    shuffle(cards, n, words, at)
    i = 0
    out[HAND] = v[CALL_HAND]
    for owner in range(2):
        while size(out[HAND + owner]) < hand_size(v):
            out[HAND + owner] |= bit(cards[i])
            i += 1
            if owner == CALLER and size(out[CALL_HAND]) < call_cards(v):
                out[CALL_HAND] = out[HAND]
        for slot in range(num_piles(v)):
            put_slot(out, cards[i], slot)
            put_under(out, owner, slot, cards[i + 1])
            out[UP + owner] |= bit(cards[i])
            i += 2
        out[COVER + owner] = out[UP + owner]
    for rest in range(i, n):
        out[OUT] |= bit(cards[rest])


def view_of(s: Words, seat: Seat) -> Words:
    """Packs what a seat has seen, fresh; see `view`.

    Raises:
        PositionError: no seat; the view of anybody else would show what nobody may see.
    """
    if not isinstance(seat, Integral) or isinstance(seat, bool) or not 0 <= seat <= 1:
        raise PositionError(f"no seat: {seat!r} (0 the caller, 1 the dealer)")
    seen = np.empty_like(s)
    view(s, int(seat), seen)
    return seen


def at_first_play(s: Words) -> Words:
    """Returns a state or view as it was before the first play of its round, trump named.

    A round that waits for its call comes back as it is. What a view's seat has learned by play is
    taken back too.

    Args:
        s: `[WORDS] uint64`, a state or a view; left as it is.
    """
    start = s.copy()
    packed = int(s[START])
    start[TURN], start[TRUMP], start[LEAD] = packed & 1, packed >> 1 & 7, packed >> 4 & 63
    start[TRICKS], start[TRICKS + 1] = packed >> 10 & 31, packed >> 15 & 31
    start[LEFT] = num_tricks(s) - int(start[TRICKS]) - int(start[TRICKS + 1])
    start[VOID] = 0
    for seat, action, reveal in reversed(history(s)):
        if action >= CALL:
            start[TRUMP], start[TURN] = action - CALL, first_leader(s)
        else:
            _take_back(start, seat, action, reveal)
    return start


def _take_back(s: Words, seat: Seat, card: int, reveal: int) -> None:
    """Puts a card played back where it came from."""
    s[PLAYED + seat] ^= bit(card)
    if reveal == FROM_HAND:
        if int(s[VIEWER]) in (0, 1 + seat):
            s[HAND + seat] |= bit(card)
        else:
            s[UNSEEN] += ONE
        return
    s[UP + seat] |= bit(card)
    if reveal != BARE:
        s[UP + seat] ^= bit(reveal - 1)
        s[COVER + seat] |= bit(card)
        put_slot(s, reveal - 1, NO_SLOT)
