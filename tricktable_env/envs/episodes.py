"""Rows of games side by side: the core of the environments, of one row or of many.

Each row is one learner against opponents, or all players' decisions handed out in turn.
Everything random in a row (its deals, its learner's seats, its opponents' choices) comes from
the row's seed and the number of the episode, so a row does the same alone or among others.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
from gymnasium.error import ResetNeeded

from tricktable_env.cards import Mask
from tricktable_env.envs.seating import Opponent, Policy, read_opponents, read_seat
from tricktable_env.envs.spaces import (
    Observation,
    ObservationForm,
    all_within,
    as_action,
    check_choice,
    joined,
    row_of,
)
from tricktable_env.envs.starts import Options, read_start, seed_word
from tricktable_env.envs.threads import Threads
from tricktable_env.envs.turns import Kept, Last, Meanwhile, Sight, Turn, nothing
from tricktable_env.game import (
    ASKED,
    CHOSEN,
    COLUMNS,
    ENDED,
    EPISODE,
    FOUL,
    ILLEGAL,
    LEARNER,
    NOBODY,
    PLY,
    RUNNING,
    SEED,
    STATUS,
    TO_ACT,
    VIEWER,
    Action,
    Bytes,
    Game,
    IllegalActionError,
    Player,
    PositionError,
    Rows,
)
from tricktable_env.opponents import Actions, Agent, address_of, decide, decision_streams
from tricktable_env.parts import ALONE
from tricktable_env.render import picture

OnIllegal: TypeAlias = Literal["terminate", "raise"]
"""What an action that the rules do not allow does: ends the episode at a loss, or is an error."""

_NO_ROWS = np.empty(0, np.int64)
_NOTHING = np.empty((0, 0), np.uint8)
_ILLEGAL, _ASKED, _FOUL = 1 << (ILLEGAL + 1), 1 << (ASKED + 1), 1 << (FOUL + 1)
_OVER, _ALL_RUN = 1 << (ENDED + 1) | _ILLEGAL, 1 << (RUNNING + 1)
_UNKEPT = ILLEGAL - 1  # no status


class OpponentError(ValueError):
    """An opponent chose what the rules do not allow; the environment is as it was before."""


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
        observation: the form of observations; None shows the masks alone.
        on_illegal: what an action that is not legal does.
        full_information: whether infos have `state`, the full-information tensor, as well.
        threads: among how many threads the rows are shared out, where there are enough.

    Raises:
        ValueError: an option that makes no sense.
    """

    def __init__(
        self,
        game: Game,
        num_rows: int,
        opponent: Opponent | Sequence[Opponent] = "random",
        seat: str | Player = "random",
        observation: ObservationForm | None = "flat",
        on_illegal: OnIllegal = "terminate",
        full_information: bool = False,
        threads: int = 1,
    ) -> None:
        check_choice("on_illegal", on_illegal, get_args(OnIllegal))
        number = as_action(num_rows)
        if number is None or number < 1:
            raise ValueError(f"{num_rows!r} environments; an integer of at least 1 is needed")
        self._threads = Threads(threads)
        self.game, self.num_rows, self.form = game, number, observation
        if not isinstance(full_information, bool | np.bool_):
            raise ValueError(f"full_information={full_information!r} is neither True nor False")
        self.full_information = bool(full_information)
        self.opponents = read_opponents(opponent, game)
        self.seat = NOBODY if self.opponents is None else read_seat(seat, game)
        self.rows: Rows = np.arange(number)
        self.states = game.new(np.zeros(number, np.uint64))
        self.table = np.zeros((number, COLUMNS), np.int64)
        """`[N, COLUMNS]`, what there is to know of a row beside its state; see `Game.play`."""
        self.table[:, [EPISODE, LEARNER, TO_ACT]] = -1
        self.table[:, STATUS] = ENDED
        self.owed = np.zeros((number, game.num_players), np.float32)
        """`[N, P]`, what was paid before the learner's first decision."""
        self._widths = game.observation_size, game.num_actions, game.history_size
        self._strict, self._read = on_illegal == "raise", np.zeros(1, np.int64)
        self._running = self._begun = False
        self._not_kept = Kept(self.states[:0], self.table[:0], self.owed[:0])
        self._make_room()
        self._called: tuple[npt.NDArray[np.int64], bool] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """All but what only this process can use, and what steps keep."""
        return {**vars(self), "_called": None, "_kept": None, "_kept_status": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._make_room()

    @property
    def viewers(self) -> npt.NDArray[np.int64]:
        """`[N]`, who is shown the row: the learner; with `"self"` who acts, or acted last."""
        return self.table[:, VIEWER]

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
        with self._unchanged_on_error():
            given = [at for at, word in enumerate(words) if word is not None]
            if given:
                self._seed(rows[given], np.array([words[at] for at in given], np.uint64))
            if not self._begun:
                fresh = rows[self.table[rows, EPISODE] < 0]
                fresh = np.setdiff1d(fresh, rows[given])
                entropy = np.random.SeedSequence().generate_state(len(fresh), np.uint64)
                self._seed(fresh, entropy.astype(np.uint64, copy=False))
            self._deal(rows, options)
            self._begin(rows, False, self._blank(0), self._blank(0))
        if rows is self.rows:
            self._begun = self._running = True
        else:
            self._begun = bool((self.table[:, EPISODE] >= 0).all())
            self._running = bool((self.table[:, STATUS] == RUNNING).all())

    def _begin(
        self,
        rows: Rows,
        deals: bool,
        sight: Sight,
        last: Sight,
        meanwhile: Callable[[], None] = nothing,
    ) -> None:
        """Begins the next episode in rows; shows it in `sight`, and in `last` what stood there."""
        begin: Callable[..., int] = self.game.begin
        fixed, alone = self._called or self._find_opponents()
        arguments = (
            *(self.states, rows, self.table, deals, self.seat, fixed, self.owed),
            *(*sight, last.observations, last.histories),
        )
        if alone:
            meanwhile()
            seen = begin(*arguments, ALONE, 0)
        else:
            seen = self._threads.run(begin, arguments, len(rows), meanwhile)
        if seen & (_ASKED | _FOUL):
            n = self.num_rows
            seen |= self._ask_on(rows, seen, self.owed, np.empty(n), np.empty(n, np.bool_), sight)
        if seen & _OVER:
            row = rows[self.table[rows, STATUS] == ENDED][0]
            raise PositionError(
                f"player {self.table[row, LEARNER]} has nothing to decide in this position: "
                "it is over before the learner's turn"
            )

    def _seed(self, rows: Rows, seeds: npt.NDArray[np.uint64]) -> None:
        self.table[rows, SEED] = seeds.view(np.int64)
        self.states[rows] = self.game.new(seeds)
        self.table[rows, EPISODE] = -1

    def _deal(self, rows: Rows, options: Sequence[Options | None] | None) -> None:
        placed = []
        for row, option in zip(rows, options or (), strict=False):
            if option is None:
                continue
            kind, start = read_start(option)
            if kind == "position":
                self.game.place(self.states[row], start)
            elif kind == "deck":
                self.game.deal_deck(self.states[row], start)
            if kind:
                placed.append(row)
        self.game.deal(self.states, np.setdiff1d(rows, placed) if placed else rows)

    # -- playing -----------------------------------------------------------------------------
    def read_action(self, action: Any) -> Actions:
        """Reads the action of the only row, into an array used again; see `read_actions`."""
        number = self._in_space(action)
        if number is None:
            raise self.illegal_action(0, repr(action))
        self._read[0] = number
        return self._read

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
        whole: Actions = actions.astype(np.int64, copy=False)
        if actions.dtype == np.uint64:  # half of which would be another number
            whole = np.minimum(actions, np.uint64(self.game.num_actions)).astype(np.int64)
        if not all_within(whole, self.game.num_actions):
            row = int(np.flatnonzero((whole < 0) | (whole >= self.game.num_actions))[0])
            raise self.illegal_action(row, str(actions[row]))
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

    def step(self, actions: Actions, again: bool = False, meanwhile: Meanwhile = nothing) -> Turn:
        """Takes an action in each row, then lets opponents act until it is a learner's turn.

        Args:
            actions: `[N] int64`, as `read_actions` gave them.
            again: whether the next episode begins where one ended.
            meanwhile: called while other threads work, with what will be returned: the arrays of
                the sight, and of the last observations, are still being written.

        Raises:
            ResetNeeded: an episode is over.
            IllegalActionError: an action is not legal, with `on_illegal="raise"`.
            OpponentError: an opponent's action is not legal.
            Exception: whatever an opponent raised. After any of these nothing has changed.
        """
        if not self._running:
            raise ResetNeeded("the episode is over, or never began: call reset()")
        n = self.num_rows
        play: Callable[..., int] = self.game.play
        # Opponents may fail half way, and what is refused in one row others may have taken.
        keep = self.opponents is not None or self._strict
        kept = self._kept if keep else self._not_kept
        if keep:
            self._kept_status.fill(_UNKEPT)
        gains, ended, sight = np.empty(n), np.empty(n, np.bool_), self._blank(n)
        paid = np.empty(self.owed.shape, np.float32)
        fixed, alone = self._called or self._find_opponents()
        before = self.states, self.rows, self.table, actions, fixed, self.owed
        try:
            if alone:
                meanwhile(sight, None)
                seen = play(*before, paid, gains, ended, *sight, *kept, ALONE, 0)
            else:
                prepare = functools.partial(meanwhile, sight, None)
                arguments = *before, paid, gains, ended, *sight, *kept
                seen = self._threads.run(play, arguments, n, prepare)
            turn = Turn(gains, paid, ended, sight, None)
            return turn if seen == _ALL_RUN else self._go_on(turn, seen, again, meanwhile)
        except BaseException:
            if not keep:
                self._running = False  # it was interrupted, who knows where
            else:
                self._restore()
            raise

    def _go_on(self, turn: Turn, seen: int, again: bool, meanwhile: Meanwhile) -> Turn:
        """Sees to the rows that do not simply run on after a step."""
        if seen & _ILLEGAL and self._strict:
            row = int(np.flatnonzero(self.table[:, STATUS] == ILLEGAL)[0])
            raise self.illegal_action(row, self.game.action_text(self.table.item(row, CHOSEN)))
        if seen & (_ASKED | _FOUL):
            seen |= self._ask_on(self.rows, seen, turn.paid, turn.rewards, turn.ended, turn.sight)
        if seen & _OVER and again:
            over, illegal = np.flatnonzero(turn.ended), seen & _ILLEGAL != 0
            last, sight = self._begin_again(over, illegal, turn.paid, turn.sight, meanwhile)
            return turn._replace(sight=sight, last=last)
        self._running = not seen & _OVER
        return turn

    def _begin_again(
        self,
        rows: Rows,
        illegal: bool,
        paid: npt.NDArray[np.float32],
        sight: Sight,
        meanwhile: Meanwhile,
    ) -> tuple[Last, Sight]:
        """Begins the next episode in rows that ended.

        Returns:
            What these have to say before, and what is seen now, if need be in fresh arrays.
        """
        infos = {"seat": (rows, sight.viewers[rows])} | self.closings(rows, illegal)
        if self.full_information:
            infos["state"] = rows, self.full(rows)
        if self.opponents is None:
            infos["rewards"] = rows, paid[rows]
        seen = blank = self._blank(len(rows))
        if len(rows) == self.num_rows:  # as where all episodes are of one length: nothing to copy
            seen, sight, blank = sight, blank, self._blank(0)
        else:
            np.take(sight.masks, rows, 0, seen.masks)
        last = Last(rows, self.shown(seen), {"action_mask": (rows, seen.masks), **infos})
        self._begin(rows, True, sight, blank, lambda: meanwhile(sight, last))
        return last, sight

    def _ask_on(
        self,
        rows: Rows,
        seen: int,
        paid: npt.NDArray[np.float32],
        gains: npt.NDArray[np.float64],
        ended: npt.NDArray[np.bool_],
        sight: Sight,
    ) -> int:
        """Plays on in rows where opponents are to be asked; all statuses that come of it."""
        play: Callable[..., int] = self.game.play
        found, table, (fixed, _) = 0, self.table, self._called or self._find_opponents()
        while seen & (_ASKED | _FOUL):
            if seen & _FOUL:
                row = rows[table[rows, STATUS] == FOUL][0]
                raise self._opponent_error(row, f"{table[row, CHOSEN]}, which is not legal")
            rows = rows[table[rows, STATUS] == ASKED]
            seen = play(
                *(self.states, rows, table, self._ask(rows), fixed, self.owed),
                *(paid, gains, ended, *sight, *self._not_kept, ALONE, 0),
            )
            found |= seen
        return found

    def _find_opponents(self) -> tuple[npt.NDArray[np.int64], bool]:
        """Where the opponents that a kernel can ask are, and whether one thread does all.

        If there are others it does, for they are asked one after another.
        """
        addresses = np.array([address_of(each) for each in self.opponents or ()], np.int64)
        self._called = addresses, self._threads.number == 1 or not addresses.all()
        return self._called

    def _ask(self, rows: Rows) -> Actions:
        """Asks the opponents who are to act in some rows; `[n] int64`."""
        assert self.opponents is not None
        if len(set(map(id, self.opponents))) == 1:
            return self._ask_one(self.opponents[0], rows)
        actions = np.empty(len(rows), np.int64)
        after = (self.table[rows, TO_ACT] - self.table[rows, LEARNER]) % self.game.num_players
        for place, opponent in enumerate(self.opponents, start=1):
            at = np.flatnonzero(after == place)
            if at.size:
                actions[at] = self._ask_one(opponent, rows[at])
        return actions

    def _ask_one(self, opponent: Agent | Policy, rows: Rows) -> Actions:
        players = self.table[rows, TO_ACT]
        if hasattr(opponent, "act"):
            views = self.game.views(self.states, rows, players)
            seed, *others = (self.table[rows, column] for column in (SEED, EPISODE, PLY))
            streams = decision_streams(seed.view(np.uint64), others[0], players, others[1])
            return decide(opponent, views, self.game.masks(views), streams)
        sight = self.observe(rows, players)
        observations = self.shown(sight)
        actions = np.empty(len(rows), np.int64)
        for i, player in enumerate(players):
            info = {"action_mask": sight.masks[i], "seat": int(player)}
            chosen = opponent(row_of(observations, i), info)
            action = self._in_space(chosen)
            if action is None:
                what = f"{chosen!r}, which is no integer from 0 to {self.game.num_actions - 1}"
                raise self._opponent_error(rows[i], what)
            actions[i] = action
        return actions

    # -- seeing ------------------------------------------------------------------------------
    def observe(self, rows: Rows, players: npt.NDArray[np.int64]) -> Sight:
        """What players see in some rows, one a row; fresh."""
        flat, masks = self.game.observe(self.states, rows, players)
        history = _NOTHING
        if self.form == "dict":
            history = self.game.histories(self.states, rows, players)
        return Sight(flat, masks, history, players)

    def sight(self) -> Sight:
        """What the viewers of all rows see; fresh."""
        return self.observe(self.rows, self.viewers.copy())

    def shown(self, sight: Sight) -> Observation:
        """The observations of a sight in their form."""
        return joined(self.form, *sight[:3])

    def _blank(self, rows: int) -> Sight:
        """Arrays for what `rows` rows see, not written yet."""
        flat = history = _NOTHING
        if self.form is not None:
            flat = np.empty((rows, self._widths[0]), np.uint8)
        if self.form == "dict":
            history = np.empty((rows, self._widths[2]), np.uint8)
        masks = np.empty((rows, self._widths[1]), np.int8)
        return Sight(flat, masks, history, np.empty(rows, np.int64))

    def masks(self) -> Mask:
        """The legal actions of every row's viewer: `[N, A] int8`, fresh."""
        return self.game.masks(self.game.views(self.states, self.rows, self.viewers))

    def full(self, rows: Rows | None = None) -> Bytes:
        """The full-information tensor from the viewers' side: `[n, F] uint8`, fresh."""
        rows = self.rows if rows is None else rows
        return self.game.observe_full(self.states, rows, self.viewers[rows])

    def closings(
        self, rows: Rows, illegal: bool = True
    ) -> dict[str, tuple[Rows, npt.NDArray[Any]]]:
        """What the infos of last steps carry beside what every info has.

        Args:
            rows: rows that ended.
            illegal: whether some may have ended by an illegal action.

        Returns:
            By key, the rows that have it and their values.
        """
        refused = _NO_ROWS
        if illegal:
            refused = rows[self.table[rows, STATUS] == ILLEGAL]
        played = np.setdiff1d(rows, refused) if len(refused) else rows
        columns: dict[str, tuple[Rows, npt.NDArray[Any]]] = {}
        success = np.zeros(self.num_rows, np.bool_)
        if len(refused):
            columns["illegal_action"] = refused, self.table[refused, CHOSEN]
        if len(played):
            states = self.states
            if len(played) < self.num_rows:
                states = states.take(played, 0)
            columns |= {key: (played, of) for key, of in self.game.outcomes(states).items()}
            shares = self.game.shares(states)
            success[played] = shares[np.arange(len(played)), self.table[played, VIEWER]] == 1
        return columns | {"is_success": (rows, success[rows])}

    def closing(self) -> dict[str, Any]:
        """`closings` of the only row."""
        columns = self.closings(self.rows)
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
        if not self._begun:
            raise ResetNeeded("nothing has been dealt yet: call reset()")

    # -- errors ------------------------------------------------------------------------------
    def _make_room(self) -> None:
        """Makes room for how all rows were."""
        self._kept = Kept(*map(np.empty_like, (self.states, self.table, self.owed)))
        self._kept_status = self._kept.table[:, STATUS]

    def _pairs(self) -> Iterator[tuple[npt.NDArray[Any], npt.NDArray[Any]]]:
        """What is kept, and where it belongs."""
        now: list[npt.NDArray[Any]] = [self.states, self.table, self.owed]
        return zip(self._kept, now, strict=True)

    def _restore(self) -> None:
        """Puts rows back as they were; a step may have ended before it came to some of them."""
        rows = np.flatnonzero(self._kept_status != _UNKEPT)
        for kept, array in self._pairs():
            array[rows] = kept[rows]

    @contextmanager
    def _unchanged_on_error(self) -> Iterator[None]:
        """Puts every row back as it was when something inside goes wrong."""
        for kept, array in self._pairs():
            kept[:] = array
        try:
            yield
        except BaseException:
            self._restore()
            raise

    def illegal_action(self, row: int, action: str) -> IllegalActionError:
        """Makes the error for an action of a row's viewer."""
        mask = self.masks()[row] if self._begun else ()
        where = f" in row {row}" if self.num_rows > 1 else ""
        legal = [self.game.action_text(int(a)) for a in np.flatnonzero(mask)]
        return IllegalActionError(f"{action}{where}", legal)

    def _opponent_error(self, row: int, chosen: str) -> OpponentError:
        # What would be legal is not said: the learner may read this, and must not learn a hand.
        player = self.table[row, TO_ACT]
        return OpponentError(f"the opponent who plays player {player} in row {row} chose {chosen}")


def plain(value: Any) -> Any:
    """A number of numpy as Python's own; anything else as it is."""
    return value.item() if isinstance(value, np.generic) else value
