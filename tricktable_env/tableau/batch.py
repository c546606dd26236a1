"""The batch loops of Tableau: module-level kernels over rows of packed states.

They live beside the rules because a kernel made by a factory would be compiled again by every
process. `rows` picks the rows of a batch; results stand in the order of `rows`.
"""

from __future__ import annotations

import numpy as np

from tricktable_env.bits import ZERO, ask, copy_row, copy_words, decision_key, int64, room
from tricktable_env.game import (
    ASKED,
    CHOSEN,
    ENDED,
    EPISODE,
    FOUL,
    ILLEGAL,
    ILLEGAL_REWARD,
    LEARNER,
    NOBODY,
    PLY,
    RUNNING,
    SEED,
    STATUS,
    TO_ACT,
    VIEWER,
)
from tricktable_env.jit import kernel
from tricktable_env.parts import leave, next_part
from tricktable_env.seats import take_seat
from tricktable_env.tableau.infostate import sample, view
from tricktable_env.tableau.observation import encode, encode_full, encode_history, set_mask
from tricktable_env.tableau.rules import deal, player_of, rewards, step
from tricktable_env.tableau.state import LEFT, MATCH, NUM_ACTIONS, RESULT, TURN, WORDS


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
def play_rows(
    states: np.ndarray,
    rows: np.ndarray,
    table: np.ndarray,
    actions: np.ndarray,
    opponents: np.ndarray,
    owed: np.ndarray,
    paid: np.ndarray,
    gains: np.ndarray,
    ended: np.ndarray,
    observations: np.ndarray,
    masks: np.ndarray,
    histories: np.ndarray,
    viewers: np.ndarray,
    kept_states: np.ndarray,
    kept_table: np.ndarray,
    kept_owed: np.ndarray,
    shared: np.ndarray,
    me: int,
) -> int:
    """Plays on in some rows; see `Game.play`."""
    players = paid.shape[1]
    v = room(WORDS, np.uint64)
    mask = room(NUM_ACTIONS, np.int8)
    words = room(1, np.uint64)
    payment = room(2, np.float32)
    seen = 0
    start, end = next_part(shared, me, -1, rows.shape[0])
    while start < end:
        for i in range(start, end):
            row = rows[i]
            s = states[row]
            t = table[row]
            if kept_states.shape[0] != 0:
                copy_words(s, kept_states[row], WORDS)
                copy_row(t, kept_table[row])
                copy_row(owed[row], kept_owed[row])
            acted = t[VIEWER]
            if t[STATUS] == RUNNING:  # the action is the learner's
                for player in range(players):
                    paid[row, player] = owed[row, player]
                    owed[row, player] = 0.0
            play_on(s, t, True, actions[i], opponents, paid[row], v, mask, words, payment)
            status = t[STATUS]
            seen |= 1 << (status + 1)
            if status == ILLEGAL:  # exactly this, whatever was owed
                for player in range(players):
                    paid[row, player] = 0.0
                paid[row, acted] = ILLEGAL_REWARD
            gains[row] = paid[row, acted]
            ended[row] = status != RUNNING
            if status < ASKED:
                show(s, t, row, opponents, observations, masks, histories, viewers, v)
        start, end = next_part(shared, me, end, rows.shape[0])
    return leave(shared, seen)


@kernel
def begin_rows(
    states: np.ndarray,
    rows: np.ndarray,
    table: np.ndarray,
    deals: bool,
    seat: int,
    opponents: np.ndarray,
    owed: np.ndarray,
    observations: np.ndarray,
    masks: np.ndarray,
    histories: np.ndarray,
    viewers: np.ndarray,
    last_observations: np.ndarray,
    last_histories: np.ndarray,
    shared: np.ndarray,
    me: int,
) -> int:
    """Begins the next episode in some rows; see `Game.begin`."""
    players = owed.shape[1]
    v = room(WORDS, np.uint64)
    mask = room(NUM_ACTIONS, np.int8)
    words = room(1, np.uint64)
    payment = room(2, np.float32)
    seen = 0
    start, end = next_part(shared, me, -1, rows.shape[0])
    while start < end:
        for i in range(start, end):
            row = rows[i]
            s = states[row]
            t = table[row]
            if last_observations.shape[0] != 0:
                copy_row(observations[row], last_observations[i])
            if last_histories.shape[0] != 0:
                copy_row(histories[row], last_histories[i])
            if deals:
                s[MATCH] = ZERO
                s[RESULT] = ZERO
                deal(s)
            take_seat(t, seat, players)
            for player in range(players):
                owed[row, player] = 0.0
            play_on(s, t, False, NOBODY, opponents, owed[row], v, mask, words, payment)
            seen |= 1 << (t[STATUS] + 1)
            if t[STATUS] < ASKED:
                show(s, t, row, opponents, observations, masks, histories, viewers, v)
        start, end = next_part(shared, me, end, rows.shape[0])
    return leave(shared, seen)


@kernel
def play_on(
    s: np.ndarray,
    t: np.ndarray,
    acts: bool,
    action: int,
    opponents: np.ndarray,
    paid: np.ndarray,
    v: np.ndarray,
    mask: np.ndarray,
    words: np.ndarray,
    payment: np.ndarray,
) -> None:
    """Takes an action, if there is one, and those of compiled opponents; notes how the row is."""
    players = paid.shape[0]
    while True:
        if acts:
            if not step(s, action):
                t[CHOSEN] = action
                t[STATUS] = ILLEGAL if t[STATUS] == RUNNING else FOUL
                break
            rewards(s, payment)
            for player in range(players):
                paid[player] += payment[player]
            t[PLY] += 1
            t[STATUS] = ASKED  # who acts next is an opponent, unless the loop ends here
        to_act = NOBODY if s[LEFT] == ZERO else player_of(s, int64(s[TURN]))
        t[TO_ACT] = to_act
        if to_act == NOBODY:
            t[STATUS] = ENDED
            break
        if opponents.shape[0] == 0 or to_act == t[LEARNER]:
            t[STATUS] = RUNNING
            break
        address = opponents[(to_act - t[LEARNER]) % players - 1]
        if address == 0:
            t[STATUS] = ASKED
            break
        view(s, player_of(s, to_act), v)
        set_mask(v, mask)
        words[0] = decision_key(np.uint64(t[SEED]), t[EPISODE], to_act, t[PLY])
        action = ask(address, v, mask, words)
        acts = True


@kernel
def show(
    s: np.ndarray,
    t: np.ndarray,
    row: int,
    opponents: np.ndarray,
    observations: np.ndarray,
    masks: np.ndarray,
    histories: np.ndarray,
    viewers: np.ndarray,
    v: np.ndarray,
) -> None:
    """Writes what the viewer of a row sees, as far as there is room for it."""
    if opponents.shape[0] == 0 and t[STATUS] == RUNNING:
        t[VIEWER] = t[TO_ACT]
    if masks.shape[0] == 0:
        return
    viewers[row] = t[VIEWER]
    view(s, player_of(s, t[VIEWER]), v)
    if observations.shape[0] != 0:
        encode(v, observations[row], masks[row])
    else:
        set_mask(v, masks[row])
    if histories.shape[0] != 0:
        encode_history(v, histories[row])


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
    v = room(WORDS, np.uint64)
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
