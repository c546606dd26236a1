"""A game of Tableau after the fact: what every decision gave away, and what could have been known.

Decisions are looked at from the last to the first, with one memory of the solver: what is proven of
later positions makes the earlier ones quick.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from tricktable_env.cards import Words
from tricktable_env.game import Action, Game
from tricktable_env.tableau.solver import Bounds, NotProvenError, new_memory, solve_moves
from tricktable_env.tableau.state import LEFT, NOT_CALLED, TRICKS, TRUMP, TURN
from tricktable_lab.replay import RecordError, game_of, replay_record

Average: TypeAlias = tuple[float, float]
"""Bounds of a mean over worlds."""

ENTRIES, WORLD_ENTRIES = 1 << 22, 1 << 20
"""Sizes of the solver's tables, 64 and 16 MiB."""
_SEATS = ("caller", "dealer")


@dataclass(frozen=True)
class Decision:
    """A call or a play, and what the others would have brought. Tricks are those of its seat."""

    ply: int
    """Its index in the record's plays."""
    trick: int
    """The number of its trick, from 1 (of tricks before the start too); 0 for the call."""
    seat: str
    """Who decided: caller or dealer."""
    played: str
    """What was done."""
    taken: tuple[int, int]
    """Tricks that caller and dealer had before."""
    left: int
    """Tricks left, the one in progress included."""
    moves: Mapping[str, Bounds]
    """The tricks from here on by legal action, all cards known and perfect play from then on."""
    fair: Mapping[str, Average] | None = None
    """The same on average over worlds that agree with what the seat had seen; None where they were
    not asked for, or nothing was to be chosen."""

    @property
    def best(self) -> Bounds:
        """What the best action brings."""
        bounds = self.moves.values()
        return Bounds(max(b.low for b in bounds), max(b.high for b in bounds))

    @property
    def gave_away(self) -> Bounds:
        """The best action's tricks less those of what was done."""
        played = self.moves[self.played]
        others = [b.high for move, b in self.moves.items() if move != self.played]
        high = max([0, *(other - played.low for other in others)])
        return Bounds(max(0, self.best.low - played.high), high)

    @property
    def fair_gave_away(self) -> Average | None:
        """The same of what could have been known: nobody could have done better at 0."""
        if self.fair is None:
            return None
        played = self.fair[self.played]
        others = [average for move, average in self.fair.items() if move != self.played]
        low = max([0.0, *(other[0] - played[1] for other in others)])
        return low, max([0.0, *(other[1] - played[0] for other in others)])

    def callers(self, tricks: Bounds) -> Bounds:
        """How many tricks the caller has in the end if this seat takes so many from here on."""
        if self.seat == "caller":
            return Bounds(self.taken[0] + tricks.low, self.taken[0] + tricks.high)
        return Bounds(*(self.taken[0] + self.left - n for n in (tricks.high, tricks.low)))

    def as_json(self) -> dict[str, Any]:
        """Returns it as JSON has it; what is not proven is null, and `bounds` has what is known."""
        told: dict[str, Any] = {"ply": self.ply, "trick": self.trick}
        told |= {"seat": self.seat, "played": self.played}
        told |= {"best": exact(self.best), "gave_away": exact(self.gave_away)}
        told["moves"] = {move: exact(bounds) for move, bounds in self.moves.items()}
        if None in told["moves"].values():
            told["bounds"] = {move: [b.low, b.high] for move, b in self.moves.items()}
        if self.fair is not None and self.fair_gave_away is not None:
            told["fair"] = {move: list(average) for move, average in self.fair.items()}
            told["fair_gave_away"] = list(self.fair_gave_away)
        return told


class Analysis:
    """A recorded game with its decisions.

    Args:
        record: a game record of Tableau.

    Raises:
        RecordError: it is no record, breaks the rules, or is of another game.
    """

    def __init__(self, record: Mapping[str, Any]) -> None:
        self.outcome = dict(replay_record(record).outcome)
        self.game = game_of(record)
        if self.game.name != "tableau":
            raise RecordError(f"analyse knows tableau alone, not {self.game.name}")
        self.record = record
        self._states: list[Words] = []
        self._actions: list[Action] = [self.game.read_action(text) for text in record["plays"]]
        state = self.game.new(np.zeros(1, np.uint64))
        self.game.place(state[0], record["position"])
        for action in self._actions:
            self._states.append(state[0].copy())
            self.game.step(state, np.zeros(1, np.int64), np.array([action]))

    def plies(self, first_trick: int) -> int:
        """How many decisions there are from a trick on; 0 is the call."""
        return sum(_trick(state) >= first_trick for state in self._states)

    def decisions(
        self, first_trick: int = 0, seconds: float = 10.0, worlds: int = 0, seed: int = 0
    ) -> Iterator[Decision]:
        """Looks at the decisions, the last one first.

        Args:
            first_trick: leave out those of earlier tricks; 0 looks at the call too.
            seconds: for each; when they are over it gives the bounds that are proven.
            worlds: how many to sample for what could have been known, with as much time again:
                fewer are when it is over. A decision without a choice has none.
            seed: of the samples.
        """
        memory, spare = new_memory(ENTRIES), new_memory(WORLD_ENTRIES) if worlds else None
        after: Bounds | None = None
        over = self.outcome["winner"] is not None
        for ply in reversed(range(len(self._states))):
            state = self._states[ply]
            if _trick(state) < first_trick:
                return
            moves = _moves(self.game, state, memory, seconds)
            decision = self._decision(ply, moves)
            if after is None and over:
                after = Bounds(*[self.outcome["tricks"][0]] * 2)
            if after is not None:  # what was played led to what is known of the next position
                decision = _agreeing(decision, after)
            if spare is not None and len(moves) > 1:
                fair = self._fair(state, worlds, seconds, spare, [seed, ply])
                decision = replace(decision, fair=fair)
            after = decision.callers(decision.best)
            yield decision

    def _decision(self, ply: int, moves: Mapping[str, Bounds]) -> Decision:
        state = self._states[ply]
        taken = int(state[TRICKS]), int(state[TRICKS + 1])
        played = self.game.action_text(self._actions[ply])
        seat, left = _SEATS[int(state[TURN])], int(state[LEFT])
        return Decision(ply, _trick(state), seat, played, taken, left, moves)

    def _fair(
        self, state: Words, worlds: int, seconds: float, memory: Words, seed: Sequence[int]
    ) -> dict[str, Average]:
        """Averages over worlds that agree with what the seat to act has seen."""
        rows = np.zeros(1, np.int64)
        view = self.game.views(state[None], rows, self.game.players(state[None], rows))[0]
        rng = np.random.default_rng(seed)
        end = time.monotonic() + seconds
        sums: dict[str, list[float]] = {}
        sampled = 0
        while sampled < worlds and (not sampled or time.monotonic() < end):
            each = max(0.0, end - time.monotonic()) / (worlds - sampled)
            sampled += 1
            for move, bounds in _moves(
                self.game, self.game.sample(view, rng), memory, each
            ).items():
                total = sums.setdefault(move, [0.0, 0.0])
                total[0] += bounds.low
                total[1] += bounds.high
        return {move: (low / sampled, high / sampled) for move, (low, high) in sums.items()}


def totals(decisions: Sequence[Decision]) -> dict[str, Bounds]:
    """What each seat gave away in all."""
    given = {seat: [d.gave_away for d in decisions if d.seat == seat] for seat in _SEATS}
    return {s: Bounds(sum(b.low for b in g), sum(b.high for b in g)) for s, g in given.items()}


def exact(bounds: Bounds) -> int | None:
    """The number that bounds leave, or None."""
    return bounds.low if bounds.low == bounds.high else None


def _moves(game: Game, state: Words, memory: Words, seconds: float) -> dict[str, Bounds]:
    """Bounds of the tricks after each legal action, by its text."""
    try:
        values = solve_moves(state, memory, seconds=seconds)
    except NotProvenError as stop:
        found = stop.moves
    else:
        found = {action: Bounds(value, value) for action, value in values.items()}
    return {game.action_text(action): bounds for action, bounds in found.items()}


def _agreeing(decision: Decision, after: Bounds) -> Decision:
    """Narrows what was played by what is proven of the position it led to."""
    played = decision.moves[decision.played]
    if decision.seat == "caller":
        low, high = after.low - decision.taken[0], after.high - decision.taken[0]
    else:
        all_tricks = decision.taken[0] + decision.left
        low, high = all_tricks - after.high, all_tricks - after.low
    narrowed = Bounds(max(played.low, low), min(played.high, high))
    return replace(decision, moves={**decision.moves, decision.played: narrowed})


def _trick(state: Words) -> int:
    if state[TRUMP] == NOT_CALLED:
        return 0
    return int(state[TRICKS]) + int(state[TRICKS + 1]) + 1
