"""Rows of games side by side: the core of the environments, of one row or of many.

Each row is one learner against opponents, or all players' decisions handed out in turn.
Everything random in a row (its deals, its learner's seats, its opponents' choices) comes from
the row's seed and the number of the episode, so a row does the same alone or among others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
from gymnasium.error import ResetNeeded

from tricktable_env.cards import Mask
from tricktable_env.envs.seating import (
    Opponent,
    Policy,
    draw_seats,
    read_opponents,
    read_seat,
)
from tricktable_env.envs.spaces import (
    Observation,
    ObservationForm,
    as_action,
    check_choice,
    joined,
    row_of,
)
from tricktable_env.envs.starts import Options, read_start, seed_word
from tricktable_env.game import (
    ILLEGAL,
    NOBODY,
    Action,
    Bytes,
    Game,
    IllegalActionError,
    Player,
    PositionError,
    Rows,
)
from tricktable_env.opponents import Actions, Agent, decide, decision_streams
from tricktable_env.render import picture

OnIllegal: TypeAlias = Literal["terminate", "raise"]
"""What an action that the rules do not allow does: ends the episode at a loss, or is an error."""

ILLEGAL_REWARD = -1.0

_ARRAYS = (
    *("states", "seeds", "begun", "episodes", "plies"),
    *("learners", "to_act", "viewers", "over", "owed"),
)


class OpponentError(ValueError):
    """An opponent chose what the rules do not allow; the environment is as it was before."""


class Turn(NamedTuple):
    """What a step gave, row by row."""

    rewards: npt.NDArray[np.float64]
    """`[N]`, the rewards of those who acted, with what was paid while opponents acted."""
    paid: npt.NDArray[np.float32]
    """`[N, P]`, the rewards of all players."""
    ended: npt.NDArray[np.bool_]
    """`[N]`, whether the episode ended."""
    illegal: npt.NDArray[np.bool_]
    """`[N]`, whether it ended because the action was not legal."""
    actions: Actions
    """`[N]`, the actions themselves."""


class Episodes:
    """Rows of one game with their learners and opponents.

    Args:
        game: the game, its rules fixed.
        num_rows: number of rows N.
        opponent: who plays the other players: `"self"`, a spec, an agent, a plain callable, or a
            list of those, one for each other player in the order in which they sit after the
            learner.
        seat: who the learner is: a name of `game.seat_names`, a player's number, `"random"`
            (drawn anew for each episode) or `"alternate"` (player 0 first after a seeded reset,
            then the next). It means nothing with `"self"`.
        observation: the form of observations.
        on_illegal: what an action that is not legal does.
        full_information: whether infos have `state`, the full-information tensor, as well.

    Raises:
        ValueError: an option that makes no sense.
    """

    def __init__(
        self,
        game: Game,
        num_rows: int,
        opponent: Opponent | Sequence[Opponent] = "random",
        seat: str | Player = "random",
        observation: ObservationForm = "flat",
        on_illegal: OnIllegal = "terminate",
        full_information: bool = False,
    ) -> None:
        check_choice("on_illegal", on_illegal, get_args(OnIllegal))
        number = as_action(num_rows)
        if number is None or number < 1:
            raise ValueError(f"{num_rows!r} environments; an integer of at least 1 is needed")
        self.game, self.num_rows, self.form = game, number, observation
        self.on_illegal, self.full_information = on_illegal, full_information
        self.opponents = read_opponents(opponent, game)
        self._same_opponent = len(set(map(id, self.opponents or ()))) == 1
        self.seat = read_seat(seat, game)
        self.rows: Rows = np.arange(number)
        self.seeds = np.zeros(num_rows, np.uint64)
        self.states = game.new(self.seeds)
        self.begun = np.zeros(num_rows, np.bool_)
        self.episodes = np.full(num_rows, -1, np.int64)
        self.plies = np.zeros(num_rows, np.int64)
        self.learners = np.full(num_rows, NOBODY, np.int64)
        self.to_act = np.full(num_rows, NOBODY, np.int64)
        self.viewers = np.zeros(num_rows, np.int64)
        """`[N]`, who is shown the row: the learner; with `"self"` who acts, or acted last."""
        self.over = np.ones(num_rows, np.bool_)
        self.owed = np.zeros((num_rows, game.num_players), np.float32)
        """`[N, P]`, what was paid before the learner's first decision."""

    # -- beginning ---------------------------------------------------------------------------
    def reset(
        self,
        seeds: Sequence[int | None] | None = None,
        options: Sequence[Options | None] | None = None,
        rows: Rows | None = None,
    ) -> None:
        """Begins a new episode in some rows.

        Args:
            seeds: a seed for each of these rows; where it is None the row's streams go on, from
                fresh entropy if it never had a seed.
            options: options for each of these rows.
            rows: the rows, all by default.

        Raises:
            ValueError: a seed, option, position or deck at fault; nothing has changed.
        """
        rows = self.rows if rows is None else rows
        words = [None if seed is None else seed_word(seed) for seed in seeds or [None] * len(rows)]
        with self.unchanged_on_error():
            given = np.array([word is not None for word in words], np.bool_)
            if given.any():
                self._seed(rows[given], np.array([w for w in words if w is not None], np.uint64))
            fresh = rows[~self.begun[rows]]
            if fresh.size:
                entropy = np.random.SeedSequence().generate_state(len(fresh), np.uint64)
                self._seed(fresh, entropy.astype(np.uint64, copy=False))
            self.begin(rows, options)

    def begin(self, rows: Rows, options: Sequence[Options | None] | None = None) -> None:
        """Begins the next episode in rows that have their streams."""
        self.episodes[rows] += 1
        self.plies[rows] = 0
        self.over[rows] = False
        self.owed[rows] = 0
        self._deal(rows, options)
        self.to_act[rows] = self.game.players(self.states, rows)
        if self.opponents is None:
            self.viewers[rows] = self.to_act[rows]
            return
        learners = draw_seats(self.seat, self.game, self.seeds[rows], self.episodes[rows])
        self.learners[rows] = self.viewers[rows] = learners
        self._let_opponents_act(rows, self.owed)
        if (self.to_act[rows] == NOBODY).any():
            row = rows[self.to_act[rows] == NOBODY][0]
            raise PositionError(
                f"player {self.learners[row]} has nothing to decide in this position: "
                "it is over before the learner's turn"
            )

    def _seed(self, rows: Rows, seeds: npt.NDArray[np.uint64]) -> None:
        self.seeds[rows] = seeds
        self.states[rows] = self.game.new(seeds)
        self.begun[rows] = True
        self.episodes[rows] = -1

    def _deal(self, rows: Rows, options: Sequence[Options | None] | None) -> None:
        placed = []
        for row, option in zip(rows, options or (), strict=False):
            kind, start = read_start(option)
            if kind == "position":
                self.game.place(self.states[row], start)
            elif kind == "deck":
                self.game.deal_deck(self.states[row], start)
            if kind:
                placed.append(row)
        self.game.deal(self.states, np.setdiff1d(rows, placed) if placed else rows)

    # -- playing -----------------------------------------------------------------------------
    def read_actions(self, actions: Any) -> Actions:
        """Reads an action for each row.

        Args:
            actions: `[N]`, integers.

        Returns:
            `[N] int64`, each within the action space.

        Raises:
            IllegalActionError: anything else; nothing has changed.
        """
        if not isinstance(actions, np.ndarray) or actions.dtype == np.object_:
            actions = self._read_listed(actions)
        if actions.shape != (self.num_rows,) or actions.dtype.kind not in "iu":
            what = f"{actions.dtype} of shape {actions.shape}"
            raise IllegalActionError(what, [f"{self.num_rows} integers, one a row"])
        outside = (actions < 0) | (actions >= self.game.num_actions)
        if outside.any():
            row = int(outside.argmax())
            raise self.illegal_action(row, str(actions[row]))
        whole: Actions = actions.astype(np.int64, copy=False)
        return whole

    def _read_listed(self, actions: Any) -> Actions:
        """Reads actions one by one, as Python's integers may be too large for an array."""
        try:
            listed = list(actions)
        except TypeError:  # nothing to list, as one number for all rows
            listed = []
        if len(listed) != self.num_rows:
            raise IllegalActionError(repr(actions), [f"{self.num_rows} integers, one a row"])
        read = [self._in_space(action) for action in listed]
        if None in read:
            row = read.index(None)
            raise self.illegal_action(row, repr(listed[row]))
        return np.array(read)

    def _in_space(self, action: Any) -> Action | None:
        """Reads an action of the action space; None where it is anything else."""
        number = as_action(action)
        return number if number is not None and 0 <= number < self.game.num_actions else None

    def step(self, actions: Actions) -> Turn:
        """Takes an action in each row, then lets opponents act until it is a learner's turn.

        Args:
            actions: `[N] int64`, as `read_actions` gave them.

        Raises:
            ResetNeeded: an episode is over.
            IllegalActionError: an action is not legal, with `on_illegal="raise"`.
            OpponentError: an opponent's action is not legal.
        """
        if self.over.any():
            raise ResetNeeded("the episode is over, or never began: call reset()")
        acted = self.viewers
        status, paid = self.game.step(self.states, self.rows, actions)
        illegal = status == ILLEGAL
        if self.on_illegal == "raise" and illegal.any():
            row = int(illegal.argmax())
            raise self.illegal_action(row, self.game.action_text(int(actions[row])))
        self.plies += 1
        self.to_act = self.game.players(self.states, self.rows)
        if self.opponents is not None:
            paid += self.owed
            self.owed[:] = 0
        if illegal.any():  # exactly this, whatever was owed
            paid[illegal] = 0
            paid[illegal, acted[illegal]] = ILLEGAL_REWARD
        if self.opponents is not None:
            self._let_opponents_act(self.rows[~illegal], paid)
            self.over = illegal | (self.to_act == NOBODY)
        else:
            self.over = illegal | (self.to_act == NOBODY)
            self.viewers = np.where(self.over, acted, self.to_act)
        rewards = paid[self.rows, acted].astype(np.float64)
        return Turn(rewards, paid, self.over.copy(), illegal, actions)

    def _let_opponents_act(self, rows: Rows, paid: npt.NDArray[np.float32]) -> None:
        """Plays on in some rows until each is over or its learner's turn; adds to `paid`."""
        while True:
            to_act = self.to_act[rows]
            rows = rows[(to_act != NOBODY) & (to_act != self.learners[rows])]
            if not rows.size:
                return
            actions = self._ask(rows)
            status, more = self.game.step(self.states, rows, actions)
            if (status == ILLEGAL).any():
                at = int((status == ILLEGAL).argmax())
                raise self._opponent_error(rows[at], f"{actions[at]}, which is not legal")
            paid[rows] += more
            self.plies[rows] += 1
            self.to_act[rows] = self.game.players(self.states, rows)

    def _ask(self, rows: Rows) -> Actions:
        """Asks the opponents who are to act in some rows; `[n] int64`."""
        assert self.opponents is not None
        if self._same_opponent:
            return self._ask_one(self.opponents[0], rows)
        actions = np.empty(len(rows), np.int64)
        after = (self.to_act[rows] - self.learners[rows]) % self.game.num_players
        for place, opponent in enumerate(self.opponents, start=1):
            at = np.flatnonzero(after == place)
            if at.size:
                actions[at] = self._ask_one(opponent, rows[at])
        return actions

    def _ask_one(self, opponent: Agent | Policy, rows: Rows) -> Actions:
        players = self.to_act[rows]
        if hasattr(opponent, "act"):
            views = self.game.views(self.states, rows, players)
            keys = self.seeds[rows], self.episodes[rows], players, self.plies[rows]
            return decide(opponent, views, self.game.masks(views), decision_streams(*keys))
        observations, masks = self.observe(rows, players)
        actions = np.empty(len(rows), np.int64)
        for i, player in enumerate(players):
            info = {"action_mask": masks[i], "seat": int(player)}
            chosen = opponent(row_of(observations, i), info)
            action = self._in_space(chosen)
            if action is None:
                what = f"{chosen!r}, which is no integer from 0 to {self.game.num_actions - 1}"
                raise self._opponent_error(rows[i], what)
            actions[i] = action
        return actions

    # -- seeing ------------------------------------------------------------------------------
    def observe(
        self, rows: Rows | None = None, players: npt.NDArray[np.int64] | None = None
    ) -> tuple[Observation, Mask]:
        """What players see in some rows: by default the viewers of all rows.

        Returns:
            The observations in their form, and the masks `[n, A] int8`; all fresh.
        """
        rows = self.rows if rows is None else rows
        players = self.viewers[rows] if players is None else players
        flat, mask = self.game.observe(self.states, rows, players)
        history = None
        if self.form == "dict":
            history = self.game.histories(self.states, rows, players)
        return joined(self.form, flat, mask, history), mask

    def masks(self) -> Mask:
        """The legal actions of every row's viewer: `[N, A] int8`, fresh."""
        return self.game.masks(self.game.views(self.states, self.rows, self.viewers))

    def full(self, rows: Rows | None = None) -> Bytes:
        """The full-information tensor from the viewers' side: `[n, F] uint8`, fresh."""
        rows = self.rows if rows is None else rows
        return self.game.observe_full(self.states, rows, self.viewers[rows])

    def closings(self, rows: Rows, turn: Turn) -> dict[str, tuple[Rows, npt.NDArray[Any]]]:
        """What the infos of last steps carry beside what every info has.

        Args:
            rows: rows that ended.
            turn: the step that ended them.

        Returns:
            By key, the rows that have it and their values.
        """
        legal = ~turn.illegal[rows]
        played, refused = rows[legal], rows[~legal]
        success = np.zeros(len(rows), np.bool_)
        columns: dict[str, tuple[Rows, npt.NDArray[Any]]] = {}
        if refused.size:
            columns["illegal_action"] = refused, turn.actions[refused]
        if played.size:
            states = self.states[played]
            columns |= {key: (played, of) for key, of in self.game.outcomes(states).items()}
            shares = self.game.shares(states)
            success[legal] = shares[np.arange(len(played)), self.viewers[played]] == 1
        return columns | {"is_success": (rows, success)}

    def closing(self, row: int, turn: Turn) -> dict[str, Any]:
        """`closings` of one row."""
        columns = self.closings(np.array([row]), turn)
        return {key: plain(values[0]) for key, (_, values) in columns.items()}

    def picture(self, row: int) -> str:
        """Draws a row as its viewer sees it."""
        self.check_begun()
        state = self.states[row]
        return picture(self.game, state, self.game.seat_of(state, int(self.viewers[row])))

    def check_begun(self) -> None:
        """Refuses to go on before the first reset.

        Raises:
            ResetNeeded: some row was never reset.
        """
        if not self.begun.all():
            raise ResetNeeded("nothing has been dealt yet: call reset()")

    # -- errors ------------------------------------------------------------------------------
    @contextmanager
    def unchanged_on_error(self) -> Iterator[None]:
        """Puts every row back as it was when something inside goes wrong."""
        before = {name: getattr(self, name).copy() for name in _ARRAYS}
        try:
            yield
        except BaseException:
            vars(self).update(before)
            raise

    def guarded(self) -> AbstractContextManager[None]:
        """As `unchanged_on_error`, for steps; it costs nothing where none can go half wrong."""
        fails = self.opponents is not None or (self.on_illegal == "raise" and self.num_rows > 1)
        return self.unchanged_on_error() if fails else nullcontext()

    def illegal_action(self, row: int, action: str) -> IllegalActionError:
        """Makes the error for an action of a row's viewer."""
        mask = self.masks()[row] if self.begun.all() else ()
        where = f" in row {row}" if self.num_rows > 1 else ""
        legal = [self.game.action_text(int(a)) for a in np.flatnonzero(mask)]
        return IllegalActionError(f"{action}{where}", legal)

    def _opponent_error(self, row: int, chosen: str) -> OpponentError:
        # What would be legal is not said: the learner may read this, and must not learn a hand.
        player = self.to_act[row]
        return OpponentError(f"the opponent who plays player {player} in row {row} chose {chosen}")


def plain(value: Any) -> Any:
    """A number of numpy as Python's own; anything else as it is."""
    return value.item() if isinstance(value, np.generic) else value
