"""The packed state of a round of Tableau: one row of `WORDS` uint64 words.

The same row serves one game, a batch, a search and what a seat sees. A pair of words stands for the
two seats: word `HAND` is the caller's hand, `HAND + 1` the dealer's. Sets of cards are words of 52
bits. A *view* is the same row with everything blanked that its seat has not seen, and `VIEWER` set.
`benchmarks/layouts.py` measures this layout against an array a field.
"""

from __future__ import annotations

import numpy as np

from tricktable_env.bits import ONE, ZERO, int64
from tricktable_env.cards import Seat, Words
from tricktable_env.jit import kernel

CALLER, DEALER = 0, 1

# -- sets of cards ---------------------------------------------------------------------------
HAND = 0  # [2] cards in hand; a view has only its own seat's
UP = 2  # [2] cards face up
COVER = 4  # [2] face-up cards that still lie on a face-down card
PLAYED = 6  # [2] cards played by the seat since the start
CALL_HAND = 8  # the caller's cards seen at the call; hidden from the dealer
GONE = 9  # absent when the round was started from a position: seen and played
OUT = 10  # not dealt, seen by nobody; no view has it
# -- the trick and the score -----------------------------------------------------------------
VOID = 11  # bit 4 x seat + suit: the seat failed to follow that suit, so its hand has none
TURN = 12  # the seat to act
TRUMP = 13  # a suit, NO_TRUMP, or NOT_CALLED
LEAD = 14  # the card led to the trick in progress + 1, or 0
TRICKS = 15  # [2] tricks taken
LEFT = 17  # tricks left to play, the one in progress included; 0 when the round is over
PLY = 18  # calls and plays since the start
# -- around the round ------------------------------------------------------------------------
RNG = 19  # the stream of deals; no view has it
OPTIONS = 20  # the rules, packed by rules.pack_options
DECK = 21  # the cards of the deck
MATCH = 22  # rounds won by player 0 (8 bits), by player 1 (8 bits), rounds finished (32 bits)
RESULT = 23  # what the last action ended, packed by rules.step; 0 if nothing
VIEWER = 24  # 0 a full state, 1 + seat a view
UNSEEN = 25  # of a view: cards in the other hand
START = 26  # turn (1 bit), trump (3), lead (6) and tricks (2 x 5) at the start of the round
# -- where cards lie -------------------------------------------------------------------------
SLOT = 27  # [4] a nibble a card: its pile, counted from the left; NO_SLOT in or from a hand
UNDER = 31  # [2 seats, 2] a byte a pile: the card dealt face down + 1; no view has it
HISTORY = 35  # [14] 16 bits a ply: action + 1, and REVEAL code x 256
WORDS = 49

NO_TRUMP, NOT_CALLED = 4, 5
NO_SLOT = 15
CALL = 52  # the action `call trump s` is CALL + s
NUM_ACTIONS = 56
MAX_PLIES = 53
MAX_PILES = 13

# What a play showed, beside the card itself.
FROM_HAND = 0
BARE = 53  # the card lay face up with nothing beneath it; 1 to 52: the card uncovered + 1


@kernel
def slot_of(s: np.ndarray, card: int) -> int:
    """The pile that a card seen on the table lies or lay in, or NO_SLOT."""
    return int64((s[SLOT + (card >> 4)] >> np.uint64((card & 15) * 4)) & np.uint64(15))


@kernel
def put_slot(s: np.ndarray, card: int, slot: int) -> None:
    """Notes the pile that a card lies in."""
    shift = np.uint64((card & 15) * 4)
    word = s[SLOT + (card >> 4)] & ~(np.uint64(15) << shift)
    s[SLOT + (card >> 4)] = word | (np.uint64(slot) << shift)


@kernel
def under_of(s: np.ndarray, seat: int, slot: int) -> int:
    """The card dealt face down in a pile, or -1."""
    word = s[UNDER + seat * 2 + (slot >> 3)]
    return int64((word >> np.uint64((slot & 7) * 8)) & np.uint64(255)) - 1


@kernel
def put_under(s: np.ndarray, seat: int, slot: int, card: int) -> None:
    """Lays a card face down in a pile that has none."""
    s[UNDER + seat * 2 + (slot >> 3)] |= np.uint64(card + 1) << np.uint64((slot & 7) * 8)


@kernel
def record(s: np.ndarray, action: int, reveal: int) -> None:
    """Appends a call or a play, and what it revealed, to the history."""
    ply = int64(s[PLY])
    code = np.uint64((action + 1) | (reveal << 8))
    s[HISTORY + (ply >> 2)] |= code << np.uint64((ply & 3) * 16)
    s[PLY] += ONE


@kernel
def event(s: np.ndarray, ply: int) -> tuple[int, int]:
    """The action at a ply and its reveal code."""
    code = int64((s[HISTORY + (ply >> 2)] >> np.uint64((ply & 3) * 16)) & np.uint64(0xFFFF))
    return (code & 255) - 1, code >> 8


@kernel
def clear_round(s: np.ndarray) -> None:
    """Empties everything of the round, leaving the rules, the match and the stream of deals."""
    for word in range(TRUMP):
        s[word] = ZERO
    s[TRUMP] = np.uint64(NOT_CALLED)
    s[LEAD] = ZERO
    s[TRICKS] = ZERO
    s[TRICKS + 1] = ZERO
    s[PLY] = ZERO
    for word in range(VIEWER, SLOT):
        s[word] = ZERO
    for word in range(SLOT, UNDER):
        s[word] = ~ZERO
    for word in range(UNDER, WORDS):
        s[word] = ZERO


@kernel
def note_start(s: np.ndarray) -> None:
    """Notes how the round starts, so that its start can be told from any later state."""
    s[START] = (
        s[TURN]
        | (s[TRUMP] << np.uint64(1))
        | (s[LEAD] << np.uint64(4))
        | (s[TRICKS] << np.uint64(10))
        | (s[TRICKS + 1] << np.uint64(15))
    )


def history(state: Words) -> list[tuple[Seat, int, int]]:
    """Lists what happened since the start of the round, oldest first.

    Args:
        state: `[WORDS] uint64`, a state or a view.

    Returns:
        (seat, action, reveal code) for every call and play.
    """
    events = [event(state, ply) for ply in range(int(state[PLY]))]
    played = (int(state[PLAYED]), int(state[PLAYED + 1]))
    seats = [CALLER if action >= CALL else played[1] >> action & 1 for action, _ in events]
    return [(seat, action, reveal) for seat, (action, reveal) in zip(seats, events, strict=True)]
