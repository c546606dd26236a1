"""The batch loops of Tableau: module-level kernels over rows of packed states.

They live beside the rules because a kernel made by a factory would be compiled again by every
process. `rows` picks the rows of a batch; results stand in the order of `rows`.
"""

from __future__ import annotations

import numpy as np

from tricktable_env.bits import ZERO, int64
from tricktable_env.game import ENDED, ILLEGAL, NOBODY, RUNNING
from tricktable_env.jit import kernel
from tricktable_env.tableau.infostate import sample, view
from tricktable_env.tableau.observation import encode, encode_full, encode_history, set_mask
from tricktable_env.tableau.rules import deal, player_of, rewards, step
from tricktable_env.tableau.state import LEFT, MATCH, RESULT, TURN, WORDS


@kernel
def deal_rows(states: np.ndarray, rows: np.ndarray) -> None:
    """Begins a new match in each row: nothing won yet, a round dealt from the row's stream."""
    for i in range(rows.shape[0]):
        s = states[rows[i]]
        s[MATCH] = ZERO
        s[RESULT] = ZERO
        deal(s)


@kernel
def step_rows(
    states: np.ndarray,
    rows: np.ndarray,
    actions: np.ndarray,
    status: np.ndarray,
    paid: np.ndarray,
) -> None:
    """Takes an action in each row; see `Game.step`."""
    for i in range(rows.shape[0]):
        s = states[rows[i]]
        if step(s, actions[i]):
            status[i] = ENDED if s[LEFT] == ZERO else RUNNING
            rewards(s, paid[i])
        else:
            status[i] = ILLEGAL
            paid[i, 0] = 0.0
            paid[i, 1] = 0.0


@kernel
def player_rows(states: np.ndarray, rows: np.ndarray, out: np.ndarray) -> None:
    """Writes who is to act in each row; NOBODY where all is over."""
    for i in range(rows.shape[0]):
        s = states[rows[i]]
        out[i] = NOBODY if s[LEFT] == ZERO else player_of(s, int64(s[TURN]))


@kernel
def view_rows(states: np.ndarray, rows: np.ndarray, players: np.ndarray, out: np.ndarray) -> None:
    """Packs the view of a player in each row; the swap of seats is its own inverse."""
    for i in range(rows.shape[0]):
        s = states[rows[i]]
        view(s, player_of(s, players[i]), out[i])


@kernel
def mask_rows(views: np.ndarray, masks: np.ndarray) -> None:
    """Writes the mask of each view."""
    for i in range(views.shape[0]):
        set_mask(views[i], masks[i])


@kernel
def encode_rows(views: np.ndarray, out: np.ndarray, masks: np.ndarray) -> None:
    """Writes the flat observation and the mask of each view."""
    for i in range(views.shape[0]):
        encode(views[i], out[i], masks[i])


@kernel
def observe_rows(
    states: np.ndarray, rows: np.ndarray, players: np.ndarray, out: np.ndarray, masks: np.ndarray
) -> None:
    """Writes the flat observation and the mask of a player in each row, through its view."""
    v = np.empty(WORDS, np.uint64)
    for i in range(rows.shape[0]):
        s = states[rows[i]]
        view(s, player_of(s, players[i]), v)
        encode(v, out[i], masks[i])


@kernel
def history_rows(
    states: np.ndarray, rows: np.ndarray, players: np.ndarray, out: np.ndarray
) -> None:
    """Writes the history of each row, which is the same for both players."""
    for i in range(rows.shape[0]):
        encode_history(states[rows[i]], out[i])


@kernel
def full_rows(
    states: np.ndarray, rows: np.ndarray, players: np.ndarray, out: np.ndarray, masks: np.ndarray
) -> None:
    """Writes the full-information tensor of a player in each row."""
    for i in range(rows.shape[0]):
        s = states[rows[i]]
        encode_full(s, player_of(s, players[i]), out[i], masks[i])


@kernel
def sample_rows(views: np.ndarray, words: np.ndarray, out: np.ndarray) -> None:
    """Draws a state for each view; `words[i]` is the stream of row i."""
    for i in range(views.shape[0]):
        sample(views[i], words, i, out[i])
