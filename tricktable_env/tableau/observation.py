"""The observation of a view: one table of names that encoder, decoder and documentation share.

The flat observation is suit-major: for each suit of S H D C the planes of `PLANES` (13 ranks each,
2 to A), then `FLAGS`; behind the four suits the numbers of `GLOBALS`; last `legal`, the action mask
once more, so that a policy that gets nothing else still can't play an illegal card. "Other" is the
other seat. With the history it loses nothing of the information state but the left-to-right order
of the piles, which no rule looks at.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tricktable_env.bits import (
    CURSOR,
    ONE,
    ZERO,
    bit,
    has,
    int64,
    popcount,
    put_flag,
    put_plane,
    put_rest,
    room,
    store_32,
    store_word,
    twos_of,
)
from tricktable_env.cards import SUIT_SIZE, CardSet
from tricktable_env.game import Slice
from tricktable_env.jit import kernel
from tricktable_env.tableau.infostate import unseen, view
from tricktable_env.tableau.rules import (
    MAX_ROUNDS_TO_WIN,
    legal,
    player_of,
    rounds_to_win,
    rounds_won,
    tricks_to_win,
)
from tricktable_env.tableau.state import (
    CALL_HAND,
    CALLER,
    COVER,
    HAND,
    HISTORY,
    LEAD,
    LEFT,
    MAX_PLIES,
    NO_TRUMP,
    NOT_CALLED,
    NUM_ACTIONS,
    PLAYED,
    TRICKS,
    TRUMP,
    TURN,
    UNSEEN,
    UP,
    VIEWER,
    VOID,
    WORDS,
    slot_of,
    under_of,
)

PLANES: dict[str, str] = {
    "hand": "own cards in hand (before the call, those seen so far)",
    "up": "own cards face up",
    "up_other": "the other's cards face up",
    "cover": "own face-up cards that lie on a face-down one",
    "cover_other": "the other's face-up cards that lie on a face-down one",
    "played": "played by this seat since the start",
    "played_other": "played by the other since the start",
    "led": "the card led to the trick in progress",
    "unseen": "in the other's hand, face down, or not dealt",
    "call_hand": "the cards that this seat saw when it called",
}
FLAGS: dict[str, str] = {
    "trump": "this suit is trump",
    "led_suit": "this suit was led to the trick in progress",
    "void": "this seat's hand has shown to lack the suit",
    "void_other": "the other's hand has shown to lack the suit",
}
GLOBALS: dict[str, tuple[int, str]] = {
    "caller": (1, "this seat is the caller"),
    "to_act": (1, "this seat is to act"),
    "before_call": (1, "trump is still to be called"),
    "no_trump": (1, "the round has no trump"),
    "leading": (1, "no card lies in the trick in progress"),
    "tricks": (26, "tricks taken by this seat"),
    "tricks_other": (26, "tricks taken by the other"),
    "tricks_left": (26, "tricks left, the one in progress included"),
    "tricks_needed": (27, "tricks that this seat still needs to win the round"),
    "tricks_needed_other": (27, "tricks that the other still needs to win the round"),
    "hand_other": (26, "cards in the other's hand"),
    "covered": (13, "own face-down cards"),
    "covered_other": (13, "the other's face-down cards"),
    "unseen_count": (52, "cards unseen"),
    "rounds": (MAX_ROUNDS_TO_WIN, "rounds of the match won by this player"),
    "rounds_other": (MAX_ROUNDS_TO_WIN, "rounds of the match won by the other"),
    "rounds_to_win": (MAX_ROUNDS_TO_WIN, "rounds that win the match"),
}
HIDDEN: dict[str, str] = {
    "hand": "own cards in hand, those still to come included",
    "hand_other": "the other's cards in hand",
    "up": "own cards face up",
    "up_other": "the other's cards face up",
    "covered": "own cards face down",
    "covered_other": "the other's cards face down",
}

NUM_PLANES = len(PLANES)
NUM_FLAGS = len(FLAGS)
SUIT_WIDTH = NUM_PLANES * SUIT_SIZE + NUM_FLAGS
GLOBALS_AT = 4 * SUIT_WIDTH
LEGAL_AT = GLOBALS_AT + len(GLOBALS)
OBSERVATION_SIZE = LEGAL_AT + NUM_ACTIONS
HISTORY_SIZE = 2 * MAX_PLIES  # action code and reveal code a ply
HIDDEN_AT = OBSERVATION_SIZE
HIDDEN_WIDTH = len(HIDDEN) * SUIT_SIZE
BENEATH_AT = HIDDEN_AT + 4 * HIDDEN_WIDTH
FULL_SIZE = BENEATH_AT + 52  # observation, hidden planes by suit, the card beneath each card + 1


def layout() -> tuple[Slice, ...]:
    """Lists the parts of the flat observation in order; their sizes add up to OBSERVATION_SIZE."""
    parts: list[tuple[str, int, int, str]] = []
    for letter in "SHDC":
        parts += [(f"{letter}.{name}", SUIT_SIZE, 1, text) for name, text in PLANES.items()]
        parts += [(f"{letter}.{name}", 1, 1, text) for name, text in FLAGS.items()]
    parts += [(name, 1, high, text) for name, (high, text) in GLOBALS.items()]
    parts.append(("legal", NUM_ACTIONS, 1, "the action mask"))
    slices, at = [], 0
    for name, width, high, text in parts:
        slices.append(Slice(name, at, width, high, text))
        at += width
    return tuple(slices)


def full_layout() -> tuple[Slice, ...]:
    """Lists the parts of the full-information tensor in order: `layout`, then what is hidden."""
    slices, at = list(layout()), HIDDEN_AT
    for letter in "SHDC":
        for name, text in HIDDEN.items():
            slices.append(Slice(f"{letter}.full.{name}", at, SUIT_SIZE, 1, text))
            at += SUIT_SIZE
    text = "the number + 1 of the face-down card that each card covers"
    slices.append(Slice("beneath", BENEATH_AT, 52, 52, text))
    return tuple(slices)


def high() -> np.ndarray:
    """The largest value of each entry: `[OBSERVATION_SIZE] uint8`."""
    return np.concatenate([np.full(part.size, part.high, np.uint8) for part in layout()])


@kernel
def _flag(condition: bool) -> np.uint64:
    return ONE if condition else ZERO


@kernel
def _set_suits(v: np.ndarray, seat: int, other: int, out: np.ndarray) -> None:
    """Writes PLANES and FLAGS of all suits in their order."""
    width = SUIT_WIDTH
    led = (ONE << v[LEAD]) >> ONE  # LEAD is the card + 1, or 0
    suit = (v[LEAD] - ONE) // np.uint64(SUIT_SIZE) if led != ZERO else ZERO
    led_suit = _flag(led != ZERO) << suit
    void = (v[VOID] >> np.uint64(4 * seat)) & np.uint64(15)
    void_other = (v[VOID] >> np.uint64(4 * other)) & np.uint64(15)
    at = put_plane(v[HAND + seat], out, width, CURSOR)  # hand
    at = put_plane(v[UP + seat], out, width, at)  # up
    at = put_plane(v[UP + other], out, width, at)  # up_other
    at = put_plane(v[COVER + seat], out, width, at)  # cover
    at = put_plane(v[COVER + other], out, width, at)  # cover_other
    at = put_plane(v[PLAYED + seat], out, width, at)  # played
    at = put_plane(v[PLAYED + other], out, width, at)  # played_other
    at = put_plane(led, out, width, at)  # led
    at = put_plane(unseen(v), out, width, at)  # unseen
    at = put_plane(v[CALL_HAND] if seat == CALLER else ZERO, out, width, at)  # call_hand
    at = put_flag(twos_of((ONE << v[TRUMP]) & np.uint64(15)), out, width, at)  # trump
    at = put_flag(twos_of(led_suit), out, width, at)  # led_suit
    at = put_flag(twos_of(void), out, width, at)  # void
    at = put_flag(twos_of(void_other), out, width, at)  # void_other
    put_rest(out, width, at)


@kernel
def _tricks_needed(v: np.ndarray, seat: int) -> np.uint64:
    needed = np.uint64(tricks_to_win(v, seat))
    return needed - v[TRICKS + seat] if needed > v[TRICKS + seat] else ZERO


@kernel
def _set_globals(v: np.ndarray, seat: int, other: int, out: np.ndarray) -> None:
    """Writes GLOBALS in their order, all words: a mix of kinds of numbers takes twice as long."""
    called = v[TRUMP] != np.uint64(NOT_CALLED)
    player = player_of(v, seat)
    values = (
        np.uint64(other),  # caller
        _flag((v[TURN] == np.uint64(seat)) & (v[LEFT] != ZERO)),  # to_act
        _flag(not called),  # before_call
        _flag(v[TRUMP] == np.uint64(NO_TRUMP)),  # no_trump
        _flag((v[LEAD] == ZERO) & called),  # leading
        v[TRICKS + seat],  # tricks
        v[TRICKS + other],  # tricks_other
        v[LEFT],  # tricks_left
        _tricks_needed(v, seat),  # tricks_needed
        _tricks_needed(v, other),  # tricks_needed_other
        v[UNSEEN],  # hand_other
        popcount(v[COVER + seat]),  # covered
        popcount(v[COVER + other]),  # covered_other
        popcount(unseen(v)),  # unseen_count
        np.uint64(rounds_won(v, player)),  # rounds
        np.uint64(rounds_won(v, 1 - player)),  # rounds_other
        np.uint64(rounds_to_win(v)),  # rounds_to_win
    )
    for i in range(0, 16, 8):
        word = ZERO
        for j in range(8):
            word |= values[i + j] << np.uint64(8 * j)
        store_word(out, GLOBALS_AT + i, word)
    out[GLOBALS_AT + 16] = values[16]


@kernel
def _set_actions(actions: np.uint64, out: np.ndarray, at: int) -> None:
    """Writes NUM_ACTIONS bytes of a set of actions."""
    store_32(out, at, actions)
    store_32(out, at + NUM_ACTIONS - 32, actions >> np.uint64(NUM_ACTIONS - 32))


@kernel
def legal_in_view(v: np.ndarray) -> np.uint64:
    """The legal actions of a view's seat as a set; empty when it is not to act."""
    actions = legal(v)
    return actions if (v[TURN] + ONE == v[VIEWER]) & (v[LEFT] != ZERO) else ZERO


@kernel
def set_mask(v: np.ndarray, mask: np.ndarray) -> None:
    """Writes the legal actions of a view's seat.

    Args:
        v: `[WORDS] uint64`, a view.
        mask: `[56] int8`, overwritten: 1 = legal; zero when the seat is not to act.
    """
    _set_actions(legal_in_view(v), mask, 0)


@kernel
def encode(v: np.ndarray, out: np.ndarray, mask: np.ndarray) -> None:
    """Writes the flat observation and the mask of a view.

    Args:
        v: `[WORDS] uint64`, a view.
        out: `[OBSERVATION_SIZE] uint8`, overwritten.
        mask: `[56] int8`, overwritten.
    """
    seat = int64(v[VIEWER]) - 1
    other = 1 - seat
    _set_suits(v, seat, other, out)
    _set_globals(v, seat, other, out)
    actions = legal_in_view(v)
    _set_actions(actions, mask, 0)
    _set_actions(actions, out, LEGAL_AT)


@kernel
def encode_history(v: np.ndarray, out: np.ndarray) -> None:
    """Writes the history of a view, two codes a ply in order of play.

    The first is 0 for nothing yet, else the action + 1; the second says what a play showed: 0 the
    card came from the hand, 1 to 52 it uncovered that card - 1, 53 it lay bare on the table.

    Args:
        v: `[WORDS] uint64`, a view or a state: what was played is seen by both.
        out: `[HISTORY_SIZE] uint8`, overwritten.
    """
    for i in range(HISTORY_SIZE // 8):
        store_word(out, 8 * i, v[HISTORY + i])
    for i in range(HISTORY_SIZE // 8 * 8, HISTORY_SIZE):
        out[i] = np.uint8((v[HISTORY + (i >> 3)] >> np.uint64((i & 7) * 8)) & np.uint64(255))


@kernel
def encode_full(s: np.ndarray, seat: int, out: np.ndarray, mask: np.ndarray) -> None:
    """Writes the full-information tensor of a state from a seat's side.

    The observation of the seat; then for each suit of S H D C the planes of HIDDEN; then for each
    card the number + 1 of the face-down card that it covers, or 0.

    Args:
        s: `[WORDS] uint64`, a full state.
        seat: 0 the caller, 1 the dealer.
        out: `[FULL_SIZE] uint8`, overwritten.
        mask: `[56] int8`, overwritten.
    """
    v = room(WORDS, np.uint64)
    view(s, seat, v)
    encode(v, out, mask)
    for i in range(HIDDEN_AT, FULL_SIZE):
        out[i] = 0
    for owner in range(2):
        side = 0 if owner == seat else 1
        _set_hidden(out, side, s[HAND + owner])
        _set_hidden(out, 2 + side, s[UP + owner])
        covered = ZERO
        tops = s[COVER + owner]
        for card in range(52):
            if has(tops, card):
                under = under_of(s, owner, slot_of(s, card))
                covered |= bit(under)
                out[BENEATH_AT + card] = np.uint8(under + 1)
        _set_hidden(out, 4 + side, covered)


@kernel
def _set_hidden(out: np.ndarray, plane: int, cards: np.uint64) -> None:
    for card in range(52):
        at = HIDDEN_AT + (card // SUIT_SIZE) * HIDDEN_WIDTH + plane * SUIT_SIZE
        out[at + card % SUIT_SIZE] = np.uint8((cards >> np.uint64(card)) & ONE)


def decode(observation: np.ndarray) -> dict[str, Any]:
    """Reads a flat observation back, for tests and for people.

    Args:
        observation: `[OBSERVATION_SIZE] uint8`.

    Returns:
        Planes as card sets, flags as sets of suits (`"SH"`), globals as numbers, and `legal` as a
        list of actions, by name.
    """
    planes: dict[str, CardSet] = dict.fromkeys(PLANES, 0)
    flags: dict[str, str] = dict.fromkeys(FLAGS, "")
    rest: dict[str, Any] = {}
    for part in layout():
        values = observation[part.start : part.start + part.size]
        letter, dot, name = part.name.partition(".")
        if not dot:
            rest[part.name] = int(values[0])
        elif name in PLANES:
            shift = SUIT_SIZE * "SHDC".index(letter)
            planes[name] |= sum(1 << (shift + int(rank)) for rank in np.flatnonzero(values))
        elif values[0]:
            flags[name] += letter
    rest["legal"] = [int(action) for action in np.flatnonzero(observation[LEGAL_AT:])]
    return {**planes, **flags, **rest}


def decode_history(codes: np.ndarray) -> list[tuple[int, int]]:
    """Reads a history back: (action, reveal code) for every ply so far."""
    pairs = codes.reshape(-1, 2)
    return [(int(action) - 1, int(reveal)) for action, reveal in pairs if action]
