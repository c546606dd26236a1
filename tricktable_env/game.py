"""What an adapter may ask of a game.

The adapters (`envs`), the matches and the training know a game by the verbs below and nothing else;
a third game is one more folder that offers them. A game object is its rules with verbs: immutable,
picklable, equal when the rules are equal.

Words: a *seat* is a place at the table as the rules name it (in Tableau its role: 0 the caller,
1 the dealer). A *player* is who keeps playing while seats change (`player_0`, `player_1`, ...);
where seats never change the two are the same number. A *state* is a packed row of uint64 words;
a *view* is a row of the same length that holds what one seat has seen. `rows` picks rows of a
batch: `[n] int64` indices; results have n rows in that order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from tricktable_env.cards import Card, Mask, Seat, Suit, Words

Player: TypeAlias = int
"""0 to num_players - 1; `player_i` in PettingZoo."""
Action: TypeAlias = int
Rows: TypeAlias = npt.NDArray[np.int64]
"""`[n] int64`, indices of rows of a batch."""
Bytes: TypeAlias = npt.NDArray[np.uint8]
Shared: TypeAlias = npt.NDArray[np.int64]
"""`[(1 + T) x 8]`: what T threads that do a piece of work together share, made by
`parts.share_out`; `[0]` where one thread does all."""

NOBODY = -1
"""The player to act when an episode is over."""
ILLEGAL, RUNNING, ENDED = -1, 0, 1
"""The status of a step: refused with nothing changed; the episode goes on; it ended."""
ASKED, FOUL = 2, 3
"""Of a row that `Game.play` left early: an opponent is to be asked; an opponent's action was not
legal."""
ILLEGAL_REWARD = -1.0
"""What an action that is not legal costs, where it ends the episode."""

SEED, EPISODE, PLY, LEARNER, TO_ACT, VIEWER, STATUS, CHOSEN = range(8)
"""Columns of the table of rows that `Game.play` reads and writes, `[N, COLUMNS] int64`: the row's
seed (the bits of a uint64), the number of the episode, decisions taken in it, the learner (a player
or NOBODY), who is to act (a player or NOBODY), who is shown the row, a status as above, and the
last action that was not legal."""
COLUMNS = 8


class RulesError(ValueError):
    """An option of the rules, or a combination of them, that makes no sense."""


class UnknownOptionError(RulesError):
    """An option that a game does not have."""


class PositionError(ValueError):
    """A position or deck that does not fit the rules; the message quotes the part at fault."""


class IllegalActionError(ValueError):
    """An action that the rules do not allow now; the game is as it was before.

    Args:
        action: what was tried, in words.
        legal: what is legal, in words.
    """

    def __init__(self, action: str, legal: Sequence[str]) -> None:
        self.action, self.legal = action, tuple(legal)
        super().__init__(
            f"illegal action {action}; legal: {', '.join(legal) or 'none, it is over'}"
        )

    def __reduce__(self) -> tuple[type[IllegalActionError], tuple[str, tuple[str, ...]]]:
        return type(self), (self.action, self.legal)


@dataclass(frozen=True)
class Slice:
    """A named part of the flat observation or of the full-information tensor."""

    name: str
    """As in PLANES, FLAGS and GLOBALS, suits as `S.hand`; `legal`."""
    start: int
    """Index of its first entry."""
    size: int
    """Number of entries."""
    high: int
    """Largest value of an entry."""
    meaning: str
    """What it says, in words."""


class Game(Protocol):
    """A card game with its rules fixed."""

    @property
    def name(self) -> str:
        """`tableau` or `honors`."""

    @property
    def rules(self) -> Any:
        """The options: a frozen dataclass, checked for sense, whose type is `rules_type`."""

    @property
    def rules_type(self) -> type[Any]:
        """The dataclass of options."""

    @property
    def num_players(self) -> int:
        """Number of players P."""

    @property
    def num_actions(self) -> int:
        """Size A of the action space, whatever the deck."""

    @property
    def words(self) -> int:
        """Length W of a state and of a view."""

    @property
    def observation_size(self) -> int:
        """Length D of the flat observation."""

    @property
    def observation_high(self) -> Bytes:
        """`[D] uint8`, the largest value of each entry; the lowest is 0."""

    @property
    def layout(self) -> tuple[Slice, ...]:
        """The parts of the flat observation in order, suit by suit; their sizes add up to D."""

    @property
    def full_layout(self) -> tuple[Slice, ...]:
        """The parts of the full-information tensor in order: `layout`, then what is hidden."""

    @property
    def history_size(self) -> int:
        """Length H of the history; its entries are codes up to 255."""

    @property
    def full_size(self) -> int:
        """Length F of the full-information tensor."""

    @property
    def mask_slice(self) -> slice:
        """Where the observation repeats the action mask, so that no policy can be without it."""

    @property
    def seat_names(self) -> Mapping[str, Player]:
        """Names that the option `seat` takes for a player, as `caller` for 0."""

    @property
    def reward_bound(self) -> float:
        """No player is paid more for an episode of one round, nor loses more."""

    @property
    def deck_places(self) -> tuple[tuple[int, ...], ...]:
        """The places of a deck order that are dealt, as `deal_deck` counts them.

        Cards at the places of one tuple go to the same hand together: how they are ordered among
        each other changes nothing but, at most, the order in which their seat is told of them.
        """

    # -- states ------------------------------------------------------------------------------
    def new(self, seeds: npt.NDArray[np.uint64]) -> Words:
        """Makes a batch that holds the rules and a stream of deals a row, with nothing dealt.

        Args:
            seeds: `[B] uint64`; row i deals as any other row with the same seed does.

        Returns:
            `[B, W] uint64`.
        """

    def deal(self, states: Words, rows: Rows) -> None:
        """Begins a new episode in some rows, each from its own stream, in place."""

    def deal_deck(self, state: Words, deck: Sequence[int], trump: Suit | None = None) -> None:
        """Begins a new episode in one row `[W]` with the deck in the order given.

        Args:
            state: `[W] uint64`, changed in place.
            deck: the cards in the order dealt.
            trump: what is drawn where the rules say `trump="random"`; None draws from the row's
                stream.

        Raises:
            PositionError: not every card of the deck once; or a trump that is not drawn at random
                or is no suit of the deck.
        """

    def place(self, state: Words, position: str) -> None:
        """Begins a new episode in one row `[W]` from the text of a position.

        Raises:
            NotationError: no position.
            PositionError: one that the rules do not allow, or that is finished or seen by one seat.
        """

    def players(self, states: Words, rows: Rows) -> npt.NDArray[np.int64]:
        """Who is to act: `[n] int64`, players, NOBODY where the episode is over."""

    def step(
        self, states: Words, rows: Rows, actions: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.float32]]:
        """Takes one action in each of some rows, in place.

        Args:
            states: `[B, W] uint64`.
            rows: `[n] int64`, each row at most once.
            actions: `[n] int64`; any number may stand there, only legal ones change a row.

        Returns:
            The status of each row `[n] int8` (ILLEGAL, RUNNING or ENDED) and what it paid each
            player `[n, P] float32`.
        """

    def play(
        self,
        states: Words,
        rows: Rows,
        table: npt.NDArray[np.int64],
        actions: npt.NDArray[np.int64],
        opponents: npt.NDArray[np.int64],
        owed: npt.NDArray[np.float32],
        paid: npt.NDArray[np.float32],
        gains: npt.NDArray[np.float64],
        ended: npt.NDArray[np.bool_],
        observations: Bytes,
        masks: Mask,
        histories: Bytes,
        viewers: npt.NDArray[np.int64],
        kept_states: Words,
        kept_table: npt.NDArray[np.int64],
        kept_owed: npt.NDArray[np.float32],
        shared: Shared,
        me: int,
    ) -> int:
        """Plays on in some rows until it is a learner's turn or all is over; shows what is then.

        In each row the action is taken and then those of compiled opponents. A row where an
        opponent without an address is to act is left with the status ASKED; its action is what the
        next call takes there. Everything indexed by row is written in these rows only.

        Args:
            states: `[N, W] uint64`.
            rows: `[n] int64`, each row at most once.
            table: `[N, COLUMNS] int64`.
            actions: `[n] int64`, of the players to act.
            opponents: `[P - 1] int64`, `opponents.address_of` the player who sits i + 1 seats after
                the learner, or 0; `[0]` where all decisions are handed out.
            owed: `[N, P] float32`, paid before the learner's first decision; becomes 0.
            paid: `[N, P] float32`: what a learner's action, and all since, paid. A call that goes
                on with rows ASKED adds to it.
            gains: `[N] float64`, what that paid who was shown the row.
            ended: `[N] bool`, whether the row does not go on.
            observations: `[N, D] uint8` of the viewers, or `[0, D]`.
            masks: `[N, A] int8`, the same; where it is `[0, A]` nothing is shown.
            histories: `[N, H] uint8`, the same.
            viewers: `[N] int64`, the players who are shown the rows, the same.
            kept_states: `[N, W] uint64`, the row of `states` as it was before; or `[0, W]`.
            kept_table: `[N, COLUMNS] int64`, the same of `table`.
            kept_owed: `[N, P] float32`, the same of `owed`.
            shared: what threads that do this together share; see `parts`.
            me: which of them this is.

        Returns:
            The set of the statuses of these rows, bit status + 1.
        """

    def begin(
        self,
        states: Words,
        rows: Rows,
        table: npt.NDArray[np.int64],
        deals: bool,
        seat: int,
        opponents: npt.NDArray[np.int64],
        owed: npt.NDArray[np.float32],
        observations: Bytes,
        masks: Mask,
        histories: Bytes,
        viewers: npt.NDArray[np.int64],
        last_observations: Bytes,
        last_histories: Bytes,
        shared: Shared,
        me: int,
    ) -> int:
        """Begins the next episode in some rows and plays on, as `play`, to the learner's turn.

        Args:
            states: `[N, W] uint64`.
            rows: `[n] int64`, each row at most once.
            table: `[N, COLUMNS] int64`.
            deals: whether to deal from the rows' own streams; or else they are dealt already.
            seat: the learner's player, or `seats.RANDOM` and the like.
            opponents: as in `play`.
            owed: `[N, P] float32`, what is paid meanwhile.
            observations: `[N, D] uint8`, as in `play`.
            masks: `[N, A] int8`, as in `play`.
            histories: `[N, H] uint8`, as in `play`.
            viewers: `[N] int64`, as in `play`.
            last_observations: `[n, D] uint8`: what stood in the rows of `observations` before; or
                `[0, D]`.
            last_histories: `[n, H] uint8`, the same of `histories`.
            shared: as in `play`.
            me: as in `play`.

        Returns:
            As `play`.
        """

    # -- what is seen ------------------------------------------------------------------------
    def views(self, states: Words, rows: Rows, players: npt.NDArray[np.int64]) -> Words:
        """Packs what a player has seen in each row: `[n, W] uint64`, fresh."""

    def masks(self, views: Words) -> Mask:
        """The legal actions of each view: `[n, A] int8`, 1 = legal; zero where it is not to act."""

    def encode(self, views: Words) -> tuple[Bytes, Mask]:
        """The flat observation `[n, D] uint8` and the mask `[n, A] int8` of each view, fresh."""

    def observe(
        self, states: Words, rows: Rows, players: npt.NDArray[np.int64]
    ) -> tuple[Bytes, Mask]:
        """Equals `encode(views(...))`, in one pass."""

    def histories(self, states: Words, rows: Rows, players: npt.NDArray[np.int64]) -> Bytes:
        """The ordered history as each player has seen it: `[n, H] uint8`, fresh."""

    def observe_full(self, states: Words, rows: Rows, players: npt.NDArray[np.int64]) -> Bytes:
        """The full-information tensor from a player's side: `[n, F] uint8`, fresh.

        Hidden cards included: for critics and for study, never for an agent.
        """

    def sample(self, view: Words, rng: np.random.Generator) -> Words:
        """Draws a state `[W]` evenly from all deals that agree with a view `[W]`."""

    # -- words -------------------------------------------------------------------------------
    def outcomes(self, states: Words) -> dict[str, npt.NDArray[Any]]:
        """What the infos of last steps carry, by key: `winner`, and `tricks` or `points`.

        Args:
            states: `[n, W] uint64`, episodes that are over, or rounds that are not yet.

        Returns:
            Arrays of n rows each; texts are objects, and the winner None before the end.
        """

    def shares(self, states: Words) -> npt.NDArray[np.float64]:
        """What part of an episode that is over each player won: `[n, P] float64`.

        1, 0, or a part where the win is shared; a row adds up to 1.
        """

    def margins(self, states: Words) -> npt.NDArray[np.float64]:
        """How far each player is ahead so far in this round: `[n, P] float64`.

        Own tricks (or points) minus the mean of the others'; when the round is over, by how much
        it was won.
        """

    def position(self, state: Words, seat: Seat | None = None) -> str:
        """Writes a position, whole or as a seat sees it."""

    def information_state(self, state: Words, seat: Seat) -> str:
        """Writes all that a seat has seen, in order."""

    def record(self, state: Words) -> tuple[str, list[Action]]:
        """Tells a round, finished or not, from all that its state remembers.

        Returns:
            The position that it started from, and the actions since.

        Raises:
            PositionError: the state is a view, which lacks the hidden cards.
        """

    def deck(self, state: Words) -> list[Card]:
        """Tells the order of the deck that a round, finished or not, was dealt from.

        It is one of those that deal the same: see `deck_places`.

        Raises:
            PositionError: the state is a view, or began from a position with cards gone.
        """

    def action_text(self, action: Action) -> str:
        """Writes an action: `AS`, `trump S`, `announce 3`."""

    def read_action(self, text: str) -> Action:
        """Reads an action.

        Raises:
            NotationError: no action.
        """

    def seat_of(self, state: Words, player: Player) -> Seat:
        """The seat that a player has in this round."""


def check_options(name: str, rules_type: type[Any], options: Mapping[str, Any]) -> None:
    """Refuses options that a game does not have.

    Raises:
        UnknownOptionError: which, and which there are.
    """
    known = [field.name for field in fields(rules_type)]
    unknown = [option for option in options if option not in known]
    if unknown:
        raise UnknownOptionError(
            f"no option {', '.join(map(repr, unknown))}; options of {name} are {', '.join(known)}"
        )


def whole_numbers(actions: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Actions of any kind of integer as `int64`; a kernel would cut a fraction off.

    Raises:
        ValueError: they are no integers.
    """
    if actions.dtype.kind not in "iu":
        raise ValueError(f"actions of dtype {actions.dtype}: an action is a whole number")
    return actions.astype(np.int64, copy=False)


def outcome_of(game: Game, state: Words) -> dict[str, Any]:
    """`Game.outcomes` of one state `[W]`: its values, not arrays of one."""
    return {key: values[0] for key, values in game.outcomes(state[None]).items()}
