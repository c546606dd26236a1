"""A table at which deals are played in lockstep, and whoever shares that work.

What decides a game is (rules, agents, deal, seed) alone. Deal i is dealt from (seed, i), a
decision's random stream belongs to (seed, deal, player, ply), and the work is cut into chunks of
deals whoever plays them; so the number of processes changes nothing, deal by deal.
"""

from __future__ import annotations

import contextlib
import itertools
import pickle
import sys
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tricktable_env.cards import Words
from tricktable_env.game import ILLEGAL, NOBODY, RUNNING, Game
from tricktable_env.opponents import Agent, Streams, decide, decision_streams, make_agent, read_spec
from tricktable_lab.luck import luck_of
from tricktable_lab.replay import one_round, record_of, rules_of
from tricktable_lab.workers import Job, in_order

CHUNK_DEALS = 64
"""Deals played in lockstep. A constant: networks may round otherwise in batches of other sizes.

An agent that thinks long may ask for fewer by an attribute `deals_at_once`; then progress shows,
and is kept, sooner.
"""

MAX_DEALS, MAX_WORKERS = 10**9, 1024


class MatchError(ValueError):
    """An agent chose an action that is not legal."""


class MatchOptionError(ValueError):
    """A match that can't be played: a number out of range, or an agent tied to its process."""


class PerDeal(NamedTuple):
    """What A got in every game, `[deals, P]`: in game r of a deal A is player r."""

    share: npt.NDArray[np.float64]
    """A's part of the win: 1, 0, or less than 1 where it is shared."""
    margin: npt.NDArray[np.float64]
    """A's tricks (or points) minus the others' mean, in the last round of the game."""
    luck: npt.NDArray[np.float64]
    """What chance gave A in tricks, see `tricktable_lab.luck`; 0 where nobody knows."""


class Chunk(NamedTuple):
    """Some deals in a row, each played with A in every seat once."""

    first: int
    """The number of the first deal."""
    per_deal: PerDeal
    """What A got."""
    records: list[dict[str, Any]]
    """The records of the games in the order of deals and games; empty unless asked for."""


@dataclass(frozen=True)
class Table:
    """Agents at a game, with the seed of all that chance decides."""

    game: Game
    agents: tuple[Agent, ...]
    names: tuple[str, ...]
    """What the agents are called in records and errors."""
    seed: int
    records: bool = field(default=False)
    """Whether records are made of the games."""

    def play(self, a: int, b: int, first: int, deals: int) -> Chunk:
        """Plays some deals in lockstep, each with A in every seat once and B in the rest.

        Args:
            a: which agent is A.
            b: which agent is B.
            first: the number of the first deal.
            deals: how many.

        Raises:
            MatchError: an agent chose an illegal action.
        """
        game, num_players = self.game, self.game.num_players
        deal = np.repeat(np.arange(first, first + deals), num_players)
        seat_a = np.tile(np.arange(num_players), deals)
        states = dealt(game, self.seed, deal)
        notes = self._notes(a, b, states, deal, seat_a)
        whose = np.where(np.arange(num_players) == seat_a[:, None], 0, 1)
        play_out(
            *(game, states, [(self.names[who], self.agents[who]) for who in (a, b)], whose),
            *(np.full(len(deal), self.seed, np.uint64), deal, np.zeros_like(deal), notes),
        )
        return Chunk(
            first,
            _per_deal(game, states, seat_a, deals),
            [] if notes is None else notes.records,
        )

    def chunk_deals(self, a: int, b: int) -> int:
        """How many deals two of the agents play in lockstep."""
        asked = [getattr(self.agents[who], "deals_at_once", CHUNK_DEALS) for who in (a, b)]
        return max(1, min(CHUNK_DEALS, *asked))

    def chunks(self, a: int, b: int, first: int, deals: int) -> Iterator[Job]:
        """Cuts some deals of two agents, from `first` on, into what is played in lockstep."""
        size = self.chunk_deals(a, b)
        for start in range(first, first + deals, size):
            yield a, b, start, min(size, first + deals - start)

    def _notes(
        self,
        a: int,
        b: int,
        states: Words,
        deal: npt.NDArray[np.int64],
        seat_a: npt.NDArray[np.int64],
    ) -> _Notes | None:
        if not self.records:
            return None
        everyone = range(self.game.num_players)
        agents = [[self.names[a if p == me else b] for p in everyone] for me in seat_a]
        return _Notes(self.game, states, agents, self.seed, deal)


def play_out(
    game: Game,
    states: Words,
    agents: Sequence[tuple[str, Agent]],
    whose: npt.NDArray[np.int64],
    seeds: npt.NDArray[np.uint64],
    deal: npt.NDArray[np.int64],
    plies: npt.NDArray[np.int64],
    notes: _Notes | None = None,
) -> None:
    """Plays dealt games to their end in lockstep.

    Args:
        game: the game with its rules.
        states: `[n, W] uint64`, changed in place.
        agents: those who play, with what errors call them.
        whose: `[n, P] int64`, which of them each player of a game is.
        seeds: `[n] uint64`, from which the streams of a game's decisions come.
        deal: `[n] int64`, the number of its deal.
        plies: `[n] int64`, the number of its next decision; counts on in place.
        notes: told of every decision.

    Raises:
        MatchError: an agent chose an illegal action.
    """
    rows = np.arange(len(states))
    with one_thread():
        while rows.size:
            players = game.players(states, rows)
            views = game.views(states, rows, players)
            masks = game.masks(views)
            acting = whose[rows, players]
            streams = decision_streams(seeds[rows], deal[rows], players, plies[rows])
            actions = np.empty(len(rows), np.int64)
            for who, (_, agent) in enumerate(agents):
                chosen = np.flatnonzero(acting == who)
                if chosen.size:
                    actions[chosen] = decide(agent, views[chosen], masks[chosen], streams[chosen])
            status, _ = game.step(states, rows, actions)
            for i in np.flatnonzero(status == ILLEGAL):
                legal = ", ".join(game.action_text(int(a)) for a in np.flatnonzero(masks[i]))
                raise MatchError(
                    f"agent {agents[acting[i]][0]!r} chose {game.action_text(int(actions[i]))} as "
                    f"player {players[i]} of deal {deal[rows[i]]}, which is not legal; legal: "
                    f"{legal}"
                )
            if notes is not None:
                notes.step(states, rows, actions)
            plies[rows] += 1
            rows = rows[status == RUNNING]


def dealt(game: Game, seed: int, deals: npt.NDArray[np.int64]) -> Words:
    """Deals some deals of a seed: `[n, W] uint64`, from streams that are no player's."""
    everyone = np.full(len(deals), game.num_players)
    states = game.new(_streams(seed, deals, everyone, np.zeros_like(deals)).keys)
    game.deal(states, np.arange(len(deals)))
    return states


def _streams(
    seed: int,
    deals: npt.NDArray[np.int64],
    players: npt.NDArray[np.int64],
    plies: npt.NDArray[np.int64],
) -> Streams:
    return decision_streams(np.full(len(deals), seed, np.uint64), deals, players, plies)


def _per_deal(game: Game, states: Words, seat_a: npt.NDArray[np.int64], deals: int) -> PerDeal:
    """What A got, from the states in which the games ended."""
    everybody = game.shares(states), game.margins(states), luck_of(game, states)
    mine = [values[np.arange(len(states)), seat_a] for values in everybody]
    return PerDeal(*(values.reshape(deals, game.num_players) for values in mine))


class _Notes:
    """Makes the records of a chunk's games, one a round, in the order of deals and games.

    A match of rounds deals on as one of them ends, so each of its rounds is also played in a game
    of its own.
    """

    def __init__(
        self,
        game: Game,
        states: Words,
        agents: Sequence[list[str]],
        seed: int,
        deal: npt.NDArray[np.int64],
    ) -> None:
        self._game, self._agents, self._seed, self._deal = game, agents, seed, deal
        self._made: list[list[dict[str, Any]]] = [[] for _ in agents]
        self._single = one_round(game)
        self._is_match = self._single != game
        self._rules = rules_of(game)
        self._rounds = self._single.new(np.zeros(len(states), np.uint64))
        self._seats = [self._seats_in(state) for state in states]
        if self._is_match:
            for i, state in enumerate(states):
                self._single.place(self._rounds[i], game.position(state))

    @property
    def records(self) -> list[dict[str, Any]]:
        """All records so far."""
        return [record for made in self._made for record in made]

    def step(
        self, states: Words, rows: npt.NDArray[np.int64], actions: npt.NDArray[np.int64]
    ) -> None:
        """Notes what was just done in some rows of the states, each action legal."""
        rounds = states
        if self._is_match:
            self._single.step(self._rounds, rows, actions)
            rounds = self._rounds
        ended = rows[self._single.players(rounds, rows) == NOBODY]
        over = self._game.players(states, ended) == NOBODY
        for row, last in zip(ended.tolist(), over.tolist(), strict=True):
            self._made[row].append(self._record(row, rounds[row], states[row] if last else None))
            if not last:
                self._seats[row] = self._seats_in(states[row])
                self._single.place(self._rounds[row], self._game.position(states[row]))

    def _seats_in(self, state: Words) -> list[int]:
        return [self._game.seat_of(state, p) for p in range(self._game.num_players)]

    def _record(self, row: int, ended: Words, state: Words | None) -> dict[str, Any]:
        """The record of a round; of the last one with what the game brought."""
        record = record_of(self._single, ended) | {"rules": self._rules}
        agents, seats = self._agents[row], self._seats[row]
        record["agents"] = [agents[seats.index(seat)] for seat in range(len(seats))]
        record |= {"seed": self._seed, "deal": int(self._deal[row])}
        if self._is_match:
            record |= {"round": len(self._made[row]) + 1, "players": agents}
        if state is not None:
            record["shares"] = self._game.shares(state[None])[0].tolist()
            record["margins"] = self._game.margins(state[None])[0].tolist()
            record["luck"] = luck_of(self._game, state[None])[0].tolist()
        return record


# -- whoever plays the chunks ------------------------------------------------------------------
def table_of(
    game: Game,
    agents: Sequence[str | Agent],
    names: Sequence[str],
    seed: int,
    records: bool = False,
) -> Table:
    """Makes the agents that are named by specs and compiles for them; and the table.

    Raises:
        AgentSpecError: a spec that names no agent of this game.
    """
    made = tuple(make_agent(agent, game) if isinstance(agent, str) else agent for agent in agents)
    compile_for(game, *(new for new, told in zip(made, agents, strict=True) if new is not told))
    luck_of(game, game.new(np.zeros(1, np.uint64)))  # compiled before the first match, too
    return Table(game, made, tuple(names), seed, records)


def play_chunks(
    table: Table, agents: Sequence[str | Agent], jobs: Iterator[Job], workers: int
) -> Generator[Chunk, None, None]:
    """Plays chunks, here or in other processes.

    Args:
        table: where they are played.
        agents: those at the table as they were given: a process makes the named ones itself.
        jobs: the chunks.
        workers: processes.

    Yields:
        The chunks in the order of the jobs.

    Raises:
        BrokenProcessPool: a process died; every chunk before the first one lost has been yielded.
        MatchError: an agent chose an illegal action.
        MatchOptionError: an agent that can't be sent to another process.
    """
    arguments = (table.game, agents, table.names, table.seed, table.records)
    yield from in_order(table, lambda: pickled((table_of, arguments)), jobs, workers)


def compile_for(game: Game, *agents: Agent) -> None:
    """Runs whatever is compiled once: the game's verbs, and the first decision of some agents."""
    none = np.zeros(1, np.int64)
    states = game.new(np.zeros(1, np.uint64))
    game.deal(states, none)
    views = game.views(states, none, game.players(states, none))
    masks = game.masks(views)
    with one_thread():
        for agent in agents:
            decide(agent, views, masks, decision_streams(np.zeros(1, np.uint64), none, none, none))
    game.step(states, none, np.flatnonzero(masks[0])[:1])


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Runs networks on one thread, so that sums are the same on any machine and with any workers.

    torch is never imported here: whoever has a network has imported it.
    """
    torch = sys.modules.get("torch")
    if torch is None:
        yield
        return
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def check_numbers(deals: int, seed: int, workers: int) -> None:
    """Refuses numbers that no match can have.

    Raises:
        MatchOptionError: which, and what would be right.
    """
    if deals < 1:
        raise MatchOptionError(f"deals={deals} is not at least 1")
    if deals > MAX_DEALS:
        raise MatchOptionError(f"deals={deals} is more than {MAX_DEALS:,}")
    if workers < 1:
        raise MatchOptionError(f"workers={workers} is not at least 1")
    if workers > MAX_WORKERS:
        raise MatchOptionError(f"workers={workers} is more than {MAX_WORKERS:,}")
    if not 0 <= seed < 2**64:
        raise MatchOptionError(f"seed={seed} is not from 0 to 2**64 - 1")


def named_twice(specs: Sequence[str]) -> str | None:
    """Finds an agent that stands twice among specs, as errors quote it; None if there is none.

    Raises:
        AgentSpecError: a spec that can't be read.
    """
    for one, other in itertools.combinations(specs, 2):
        if one == other or read_spec(one) == read_spec(other):
            return repr(one if one == other else f"{one} = {other}")
    return None


def name_of(agent: str | Agent) -> str:
    """What an agent is called: its spec, or the name of its class."""
    return agent if isinstance(agent, str) else type(agent).__name__


def pickled(parcel: object) -> bytes:
    """Packs what processes play with.

    Raises:
        MatchOptionError: an agent that can't be sent to another process.
    """
    try:
        return pickle.dumps(parcel)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise MatchOptionError(
            f"an agent can't be sent to another process ({error}); name it by a spec or take "
            "workers=1"
        ) from error
