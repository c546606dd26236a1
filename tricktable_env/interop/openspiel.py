"""The games for OpenSpiel: importing this registers `python_tricktable_tableau` and `..._honors`.

Every option of a game's rules is a parameter of it there. Cards are dealt by chance, one at a time,
before anybody acts; then OpenSpiel's state steps the same packed row as all else here. Cards that
go to the same hand together are dealt from the lowest up, so a deal is reached in one way only, and
cards that stay out of play, or that have one place left to go, are no chance nodes at all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction
from math import comb
from typing import Any

import numpy as np
import numpy.typing as npt
import pyspiel

from tricktable_env.cards import NUM_CARDS, SUITS, Card, Words, card_text, cards_of, deck_of
from tricktable_env.game import (
    ENDED,
    ILLEGAL,
    NOBODY,
    Action,
    Game,
    IllegalActionError,
    Player,
    RulesError,
)
from tricktable_env.registry import GAMES, make_game

PREFIX = "python_tricktable_"
DEFAULT = -1
"""What a whole number is as a parameter where the rules have None: `call_cards`."""
_ROW = np.zeros(1, np.int64)


@dataclass(frozen=True)
class Table:
    """A game with the plan of its deal; shared by all its states, and never copied."""

    game: Game
    """The rules with verbs."""
    deck: tuple[Card, ...] = field(init=False)
    """The cards of the deck, from the lowest up."""
    places: tuple[int, ...] = field(init=False)
    """Places of the deck order, in the order in which chance settles them."""
    ends: tuple[int, ...] = field(init=False)
    """For each of these, where its group of `Game.deck_places` ends."""

    def __post_init__(self) -> None:
        rules, groups = self.game.rules, self.game.deck_places
        ends = [sum(map(len, groups[: i + 1])) for i, group in enumerate(groups) for _ in group]
        object.__setattr__(self, "deck", tuple(cards_of(deck_of(rules.suits, rules.ranks))))
        object.__setattr__(self, "places", tuple(place for group in groups for place in group))
        object.__setattr__(self, "ends", tuple(ends))

    def __deepcopy__(self, memo: dict[int, Any]) -> Table:
        return self

    @property
    def draws_trump(self) -> bool:
        """Whether a suit is drawn when the cards have been dealt."""
        return bool(self.game.rules.trump == "random")

    def is_dealt(self, chance: tuple[int, ...]) -> bool:
        """Whether these outcomes settle the deal."""
        return len(chance) == len(self.places) + self.draws_trump

    def outcomes(self, chance: tuple[int, ...]) -> list[tuple[int, float]]:
        """What may come after these outcomes, and how likely it is.

        An outcome is a card, or NUM_CARDS + the suit that is trump. A card is the lowest of as many
        groups of k as there are of k - 1 cards above it.
        """
        at = len(chance)
        if at == len(self.places):
            suits = self.game.rules.suits
            return [(NUM_CARDS + suit, 1 / suits) for suit in range(suits)]
        begun = at > 0 and self.ends[at - 1] == self.ends[at]
        lowest = chance[-1] + 1 if begun else 0
        cards = [card for card in self.deck if card >= lowest and card not in chance]
        k = self.ends[at] - at
        total = comb(len(cards), k)
        ways = [comb(len(cards) - 1 - i, k - 1) for i in range(len(cards))]
        return [(card, n / total) for card, n in zip(cards, ways, strict=True) if n]

    def deal(self, chance: tuple[int, ...]) -> Words:
        """Deals what chance settled: `[1, W] uint64`."""
        dealt, trump = chance[: len(self.places)], None
        if self.draws_trump:
            trump = chance[-1] - NUM_CARDS
        out = tuple(card for card in self.deck if card not in dealt)
        unused = [place for place in range(len(self.deck)) if place not in self.places]
        order = dict(zip([*self.places, *unused], dealt + out, strict=True))
        states = self.game.new(np.zeros(1, np.uint64))
        self.game.deal_deck(states[0], [order[place] for place in range(len(order))], trump)
        return states

    def chance_of(self, state: Words, trump: tuple[int, ...]) -> tuple[int, ...]:
        """The outcomes that deal the round of a state `[W]`, with the trump that was drawn."""
        order = self.game.deck(state)
        groups = [sorted(order[place] for place in group) for group in self.game.deck_places]
        return (*(card for group in groups for card in group), *trump)

    def longest(self) -> int:
        """The number of actions of a round: the same for all rounds of a game."""
        chance: tuple[int, ...] = ()
        while not self.is_dealt(chance):
            chance = (*chance, self.outcomes(chance)[0][0])
        states, actions = self.deal(chance), 0
        while (player := self.game.players(states, _ROW))[0] != NOBODY:
            masks = self.game.masks(self.game.views(states, _ROW, player))
            self.game.step(states, _ROW, masks.argmax(1))
            actions += 1
        return actions


@dataclass(frozen=True)
class Moment:
    """Where a round stands. Nothing changes it, so copies of a state share it."""

    table: Table
    """The game and the plan of its deal."""
    chance: tuple[int, ...] = ()
    """The outcomes of chance so far."""
    rows: Words | None = None
    """The packed row, `[1, W] uint64`, once all is dealt."""
    player: Player = pyspiel.PlayerId.CHANCE
    """Who acts, as OpenSpiel numbers them."""
    returns: tuple[float, ...] = ()
    """What each player was paid; empty before the end."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Moment:
        return self


class TrickTableState(pyspiel.State):  # type: ignore[misc]
    """A round: outcomes of chance until all is dealt, then a packed row."""

    def __init__(self, game: TrickTableGame) -> None:
        super().__init__(game)
        self._now = Moment(game.table)

    def _settle(self, chance: tuple[int, ...]) -> None:
        """Takes outcomes that are certain, and deals when all is settled."""
        table = self._now.table
        while not table.is_dealt(chance):
            outcomes = table.outcomes(chance)
            if len(outcomes) > 1:
                self._now = Moment(table, chance)
                return
            chance = (*chance, outcomes[0][0])
        rows = table.deal(chance)
        self._now = Moment(table, chance, rows, int(table.game.players(rows, _ROW)[0]))

    # -- what OpenSpiel asks of a state ------------------------------------------------------
    def current_player(self) -> Player:
        """Returns who acts: a player, chance, or nobody at the end."""
        return self._now.player

    def is_terminal(self) -> bool:
        """Returns whether the round is over."""
        return bool(self._now.player == pyspiel.PlayerId.TERMINAL)

    def returns(self) -> list[float]:
        """Returns what each player has been paid."""
        return list(self._now.returns or [0.0] * self._now.table.game.num_players)

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """Returns the outcomes of chance with their probabilities."""
        return self._now.table.outcomes(self._now.chance)

    def _legal_actions(self, player: Player) -> list[Action]:
        game = self._now.table.game
        legal: list[Action] = np.flatnonzero(game.masks(self.view(player)[None])[0]).tolist()
        return legal

    def _apply_action(self, action: Action) -> None:
        now = self._now
        if now.rows is None:
            legal = [outcome for outcome, _ in self.chance_outcomes()]
            if action not in legal:
                raise IllegalActionError(_chance_text(action), [_chance_text(one) for one in legal])
            self._settle((*now.chance, action))
            return
        game, rows = now.table.game, now.rows.copy()
        status, paid = game.step(rows, _ROW, np.array([action], np.int64))
        if status[0] == ILLEGAL:
            legal = [] if self.is_terminal() else self._legal_actions(now.player)
            raise IllegalActionError(
                self._action_to_string(now.player, action), [game.action_text(a) for a in legal]
            )
        if status[0] == ENDED:
            returns = tuple(_exact(reward) for reward in paid[0])
            over = pyspiel.PlayerId.TERMINAL
            self._now = Moment(now.table, now.chance, rows, over, returns)
        else:
            self._now = Moment(now.table, now.chance, rows, int(game.players(rows, _ROW)[0]))

    def _action_to_string(self, player: Player, action: Action) -> str:
        if player == pyspiel.PlayerId.CHANCE:
            return _chance_text(action)
        if not 0 <= action < self._now.table.game.num_actions:
            return str(action)
        return self._now.table.game.action_text(action)

    def __str__(self) -> str:
        if self._now.rows is None:
            return " ".join(["deal:", *map(_chance_text, self._now.chance)])
        game, state = self._now.table.game, self._now.rows[0]
        taken = " ".join(game.action_text(action) for action in game.record(state)[1])
        return f"{game.position(state)}\n{taken}".rstrip()

    # -- what a player has seen --------------------------------------------------------------
    @property
    def row(self) -> Words | None:
        """The packed row `[W] uint64` that the state steps, or None before all is dealt."""
        return None if self._now.rows is None else self._now.rows[0]

    def view(self, player: Player) -> Words:
        """Packs what a player has seen, as agents are given it: `[W] uint64`, fresh.

        Raises:
            ValueError: the cards have not all been dealt.
        """
        if self._now.rows is None:
            raise ValueError("nobody has seen anything yet: the cards are still being dealt")
        view: Words = self._now.table.game.views(self._now.rows, _ROW, np.array([player]))[0]
        return view

    def resample_from_infostate(
        self, player: Player, probability_sampler: Callable[[], float]
    ) -> TrickTableState:
        """Draws a state evenly from all deals that agree with what a player has seen.

        Args:
            player: whose information state stays as it is.
            probability_sampler: gives numbers from 0 to 1.

        Raises:
            ValueError: the cards have not all been dealt.
        """
        view, game = self.view(player), self._now.table.game
        seed = [int(probability_sampler() * (2**32 - 1)) for _ in range(4)]
        other = game.sample(view, np.random.default_rng(seed))
        trump = self._now.chance[len(self._now.table.places) :]
        chance = self._now.table.chance_of(other, trump)
        state: TrickTableState = self.get_game().new_initial_state()
        while state.is_chance_node():
            state.apply_action(chance[len(state._now.chance)])
        assert self._now.rows is not None
        for action in game.record(self._now.rows[0])[1]:
            state.apply_action(action)
        return state


def _exact(reward: np.float32) -> float:
    """The number that a reward stands for: a fraction of small terms, so that sums are zero.

    Games pay in float32, in parts of the tricks, or of 38 points and the players.
    """
    return float(Fraction(float(reward)).limit_denominator(1000))


def _chance_text(outcome: int) -> str:
    """Writes an outcome of chance: `AS`, `trump S`."""
    if 0 <= outcome < NUM_CARDS:
        return card_text(outcome)
    suit = outcome - NUM_CARDS
    return f"trump {SUITS[suit]}" if 0 <= suit < len(SUITS) else str(outcome)


class TrickTableObserver:
    """What a player sees, as OpenSpiel's observers give it.

    The pieces of the tensor are `player` (whose it is, one-hot), `observation` (as in Gymnasium)
    and, with perfect recall, `history` (as in PettingZoo); zeros until all is dealt.

    Args:
        game: the game.
        perfect_recall: all that was seen in order, or what is to be seen now.
    """

    def __init__(self, game: Game, perfect_recall: bool) -> None:
        self._game, self._recalls = game, perfect_recall
        sizes = {"player": game.num_players, "observation": game.observation_size}
        if perfect_recall:
            sizes["history"] = game.history_size
        self.tensor: npt.NDArray[np.float32] = np.zeros(sum(sizes.values()), np.float32)
        parts = np.split(self.tensor, np.cumsum(list(sizes.values()))[:-1])
        self.dict = dict(zip(sizes, parts, strict=True))

    def set_from(self, state: TrickTableState, player: Player) -> None:
        """Writes what a player sees of a state to `tensor`, of which `dict` has the pieces."""
        self.tensor.fill(0)
        self.dict["player"][player] = 1
        if state.row is None:
            return
        states, players = state.row[None], np.array([player])
        self.dict["observation"][:] = self._game.observe(states, _ROW, players)[0][0]
        if self._recalls:
            self.dict["history"][:] = self._game.histories(states, _ROW, players)[0]

    def string_from(self, state: TrickTableState, player: Player) -> str:
        """Writes what a player sees of a state: the information state, or the position seen."""
        if state.row is None:
            return f"{player}: cards are being dealt"
        seat = self._game.seat_of(state.row, player)
        told = self._game.information_state if self._recalls else self._game.position
        return f"{player}: {told(state.row, seat)}"


class TrickTableGame(pyspiel.Game):  # type: ignore[misc]
    """A game of this package, with its rules fixed, as OpenSpiel's.

    Args:
        params: options of the rules; those left out have their defaults.

    Raises:
        RulesError: options that make no sense, or a match of several rounds.
    """

    kind: str
    """A name of `registry.GAMES`."""

    def __init__(self, params: Mapping[str, Any] | None = None) -> None:
        given = dict(params or {})
        options = {key: value for key, value in given.items() if value != DEFAULT}
        game = make_game(self.kind, **options)
        if getattr(game.rules, "rounds_to_win", 1) != 1:
            raise RulesError(
                f"rounds_to_win={game.rules.rounds_to_win}: to OpenSpiel a round is the whole "
                "game; leave it at 1 (the Gymnasium and PettingZoo environments play matches)"
            )
        self.table = Table(game)
        bound = game.reward_bound
        info = pyspiel.GameInfo(
            num_distinct_actions=game.num_actions,
            max_chance_outcomes=NUM_CARDS + len(SUITS) * self.table.draws_trump,
            num_players=game.num_players,
            min_utility=-bound,
            max_utility=bound,
            utility_sum=0.0,
            max_game_length=self.table.longest(),
        )
        super().__init__(_game_type(self.kind), info, given)

    def new_initial_state(self) -> TrickTableState:
        """Returns a round of which nothing is dealt."""
        return TrickTableState(self)

    def max_chance_nodes_in_history(self) -> int:
        """Returns how many cards are dealt, and the trump that is drawn, at most."""
        return len(self.table.places) + self.table.draws_trump

    def make_py_observer(
        self, iig_obs_type: Any = None, params: Mapping[str, Any] | None = None
    ) -> TrickTableObserver | None:
        """Returns an observer of what one player sees; None for other kinds of observers.

        Raises:
            ValueError: observers take no parameters here.
        """
        if params:
            raise ValueError(f"observers of Trick Table take no parameters, not {dict(params)}")
        kind = iig_obs_type or pyspiel.IIGObservationType(perfect_recall=False)
        one = pyspiel.PrivateInfoType.SINGLE_PLAYER
        if not kind.public_info or kind.private_info != one:
            return None
        return TrickTableObserver(self.table.game, kind.perfect_recall)


def _parameters(rules_type: type[Any]) -> dict[str, Any]:
    """The options of a game with their defaults, as OpenSpiel's parameters."""
    defaults = {option.name: option.default for option in fields(rules_type)}
    return {name: DEFAULT if value is None else value for name, value in defaults.items()}


def _most_players(name: str) -> int:
    """The largest number of players of a game."""
    game = make_game(name)
    players = game.num_players
    while "num_players" in _parameters(game.rules_type):
        try:
            players = make_game(name, num_players=players + 1).num_players
        except RulesError:
            break
    return players


def _game_type(name: str) -> Any:
    """What OpenSpiel knows of a game before its rules are fixed: a `pyspiel.GameType`."""
    game = make_game(name)
    return pyspiel.GameType(
        short_name=f"{PREFIX}{name}",
        long_name=f"Trick Table: {name.capitalize()}",
        dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
        chance_mode=pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC,
        information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
        utility=pyspiel.GameType.Utility.ZERO_SUM,
        reward_model=pyspiel.GameType.RewardModel.TERMINAL,
        max_num_players=_most_players(name),
        min_num_players=2,
        provides_information_state_string=True,
        provides_information_state_tensor=True,
        provides_observation_string=True,
        provides_observation_tensor=True,
        parameter_specification=_parameters(game.rules_type),
    )


# OpenSpiel lets go of what it was given when Python is gone, where to free a function aborts the
# process; a class is never freed. So each game gets a class.
for _name in GAMES:
    _class = type(f"{_name.capitalize()}Game", (TrickTableGame,), {"kind": _name})
    pyspiel.register_game(_game_type(_name), _class)
