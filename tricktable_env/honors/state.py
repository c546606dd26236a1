"""The packed state of a game of Honors: one row of `WORDS` uint64 words.

The same row serves one game, a batch, a search and what a seat sees. Sets of cards are words of 52
bits; small numbers, one a seat, are bytes of a word. A *view* is the same row with everything
blanked that its seat has not seen, and `VIEWER` set.
"""

from __future__ import annotations

import numpy as np

from tricktable_env.bits import ONE, ZERO, has, int64, popcount
from tricktable_env.jit import kernel

MAX_PLAYERS = 7

# -- sets of cards ---------------------------------------------------------------------------
HAND = 0  # [7] cards in hand; a view has its own seat's, and the turned card in another's
PLAYED = 7  # [7] cards played by the seat, those of the trick that the game started in included
GONE = 14  # absent when the game was started from a position: seen and played
# -- the trick -------------------------------------------------------------------------------
TURN = 15  # the seat to act
LEADER = 16  # the seat that leads, or led, the trick in progress
TRUMP = 17  # a suit
TURNED = 18  # the card turned over + 1; 0 where trump was found otherwise
TURNED_BY = 19  # the seat that drew the turned card + 1; 0 while it lies in the stock
TRICK = 20  # a byte a card of the trick in progress, in order of play: the card + 1
IN_TRICK = 21  # cards in the trick in progress
# -- the score, a byte a seat ----------------------------------------------------------------
TRICKS = 22  # tricks taken in this deal
HONORS = 23  # points of the honors taken in this deal
SCORE = 24  # points of earlier deals + SCORE_BIAS
ANNOUNCED = 25  # tricks announced for this deal + 1; 0 for not yet
# -- around the game -------------------------------------------------------------------------
DEALT = 26  # cards that each seat has got, dealt and drawn; see `held`
STOCK_AT = 27  # cards drawn from the stock since the start
STOCK_SIZE = 28  # cards of the stock at the start, the turned one included
LEFT = 29  # tricks left to play, the one in progress included; 0 when the game is over
DEAL_LEFT = 30  # such tricks of this deal
PLY = 31  # announcements and plays since the start
RNG = 32  # the stream of deals; no view has it
OPTIONS = 33  # the rules, packed by rules.pack_options
DECK = 34  # the cards of the deck
VIEWER = 35  # 0 a full state, 1 + seat a view
SHOWN = 36  # [2] a nibble a seat and suit: cards drawn since it failed to follow (14: or more)
START = 38  # [6] how the game started; see `note_start`
# -- what happened ---------------------------------------------------------------------------
STOCK = 44  # [7] a byte a card from the top: the card + 1; a view has what its seat drew
OWNER = 51  # [4] a nibble a card of the stock: the seat that drew it, or NO_OWNER
HISTORY = 55  # [13] a byte a ply: action + 1
WORDS = 68

NEVER = 15  # of SHOWN: it has not
NO_OWNER = 15
SCORE_BIAS = 64  # the lowest score of any game is -52
MAX_SCORE = 127
ANNOUNCE = 52  # the action `announce k` is ANNOUNCE + k
NUM_ACTIONS = 79
MAX_PLIES = 104  # 52 cards and, with one card a deal, as many announcements
MAX_STOCK = 50


@kernel
def byte_of(s: np.ndarray, word: int, index: int) -> int:
    """A byte of the array of bytes that begins at a word."""
    return int64((s[word + (index >> 3)] >> np.uint64((index & 7) * 8)) & np.uint64(255))


@kernel
def put_byte(s: np.ndarray, word: int, index: int, value: int) -> None:
    """Writes a byte of the array of bytes that begins at a word."""
    shift = np.uint64((index & 7) * 8)
    at = word + (index >> 3)
    s[at] = (s[at] & ~(np.uint64(255) << shift)) | (np.uint64(value) << shift)


@kernel
def nibble_of(s: np.ndarray, word: int, index: int) -> int:
    """A nibble of the array of nibbles that begins at a word."""
    return int64((s[word + (index >> 4)] >> np.uint64((index & 15) * 4)) & np.uint64(15))


@kernel
def put_nibble(s: np.ndarray, word: int, index: int, value: int) -> None:
    """Writes a nibble of the array of nibbles that begins at a word."""
    shift = np.uint64((index & 15) * 4)
    at = word + (index >> 4)
    s[at] = (s[at] & ~(np.uint64(15) << shift)) | (np.uint64(value) << shift)


@kernel
def held(s: np.ndarray, seat: int) -> int:
    """Cards in a seat's hand, by what it got and played: a view can count them so."""
    return int64(s[DEALT]) - int64(popcount(s[PLAYED + seat]))


@kernel
def stock_left(s: np.ndarray) -> int:
    """Cards left in the stock, the turned one included."""
    return int64(s[STOCK_SIZE]) - int64(s[STOCK_AT])


@kernel
def record(s: np.ndarray, action: int) -> None:
    """Appends an announcement or a play to the history."""
    put_byte(s, HISTORY, int64(s[PLY]), action + 1)
    s[PLY] += ONE


@kernel
def action_at(s: np.ndarray, ply: int) -> int:
    """The action at a ply."""
    return byte_of(s, HISTORY, ply) - 1


@kernel
def player_of_card(s: np.ndarray, card: int) -> int:
    """The seat that played a card."""
    for seat in range(MAX_PLAYERS):
        if has(s[PLAYED + seat], card):
            return seat
    return -1


@kernel
def clear_game(s: np.ndarray) -> None:
    """Empties everything but the rules and the stream of deals."""
    for word in range(WORDS):
        if word < RNG or word > DECK:
            s[word] = ZERO
    clear_shown(s)
    for word in range(OWNER, HISTORY):
        s[word] = ~ZERO
    for seat in range(MAX_PLAYERS):
        put_byte(s, SCORE, seat, SCORE_BIAS)


@kernel
def clear_shown(s: np.ndarray) -> None:
    """Forgets every suit not followed: all hands are new."""
    s[SHOWN] = ~ZERO
    s[SHOWN + 1] = ~ZERO


@kernel
def note_start(s: np.ndarray) -> None:
    """Notes how the game starts, so that its start can be told from any later state.

    Word 0 packs TURN (bits 0-2), LEADER (3-5), IN_TRICK (6-8), LEFT (9-14), DEAL_LEFT (15-20) and
    TURNED_BY (21-24); the others are TRICK, TRICKS, HONORS, SCORE and ANNOUNCED.
    """
    s[START] = (
        s[TURN]
        | (s[LEADER] << np.uint64(3))
        | (s[IN_TRICK] << np.uint64(6))
        | (s[LEFT] << np.uint64(9))
        | (s[DEAL_LEFT] << np.uint64(15))
        | (s[TURNED_BY] << np.uint64(21))
    )
    s[START + 1] = s[TRICK]
    for i in range(4):
        s[START + 2 + i] = s[TRICKS + i]


@kernel
def restore_start(s: np.ndarray) -> None:
    """Puts back what `note_start` noted."""
    packed = s[START]
    s[TURN] = packed & np.uint64(7)
    s[LEADER] = (packed >> np.uint64(3)) & np.uint64(7)
    s[IN_TRICK] = (packed >> np.uint64(6)) & np.uint64(7)
    s[LEFT] = (packed >> np.uint64(9)) & np.uint64(63)
    s[DEAL_LEFT] = (packed >> np.uint64(15)) & np.uint64(63)
    s[TURNED_BY] = (packed >> np.uint64(21)) & np.uint64(15)
    s[TRICK] = s[START + 1]
    for i in range(4):
        s[TRICKS + i] = s[START + 2 + i]
