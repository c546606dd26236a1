"""Matches of two agents: every deal once with each way of seating them.

What decides a match is (game, agents, deals, seed) alone. Deal i is dealt from (seed, i), a
decision's random stream belongs to (seed, deal, player, ply), and the work is cut into chunks of
`CHUNK_DEALS` deals whoever plays them; so the number of processes changes nothing, deal by deal.
"""

from __future__ import annotations

import contextlib
import pickle
import sys
import time
from collections.abc import Callable, Generator, Iterator
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from tricktable_env.cards import Mask, Words
from tricktable_env.game import ILLEGAL, RUNNING, Game, Player
from tricktable_env.opponents import Agent, decide, decision_streams, make_agent
from tricktable_lab.interrupts import held_back
from tricktable_lab.stats import elo, rate_interval
from tricktable_lab.workers import share_out

CHUNK_DEALS = 64
"""Deals played in lockstep. A constant: networks may round otherwise in batches of other sizes."""

MAX_DEALS, MAX_WORKERS = 10**9, 1024

Progress: TypeAlias = Callable[[int, float], None]
"""Called with the number of deals played so far and A's win rate over them."""


class MatchError(ValueError):
    """An agent chose an action that is not legal."""


class MatchOptionError(ValueError):
    """A match that can't be played: a number out of range, or an agent tied to its process."""


class MatchInterrupted(KeyboardInterrupt):
    """The match was stopped; `result` is that of the deals played, None if there are none."""

    def __init__(self, result: MatchResult | None) -> None:
        self.result = result
        super().__init__("match interrupted")


class WorkerDiedError(RuntimeError):
    """A process that played died; `result` is that of the deals played, None if there are none."""

    def __init__(self, result: MatchResult | None) -> None:
        self.result = result
        super().__init__("a worker process died")


class PerDeal(NamedTuple):
    """What A got in every game, `[deals, P]`: in game r of a deal A is player r."""

    share: npt.NDArray[np.float64]
    """A's part of the win: 1, 0, or less than 1 where it is shared."""
    margin: npt.NDArray[np.float64]
    """A's tricks (or points) minus the others' mean, in the last round of the game."""


@dataclass(frozen=True)
class MatchResult:
    """The result of a match; a rate is over all games, an interval over deals."""

    a: str
    """The agent whose rates these are."""
    b: str
    """The other agent, in all the other seats."""
    deals: int
    """Deals played."""
    games: int
    """Games played: the deals times the players."""
    win_rate_a: float
    """A's wins over games; a win shared by k players counts 1/k, so a draw of two one half."""
    ci95: tuple[float, float]
    """95% interval of `win_rate_a`."""
    elo_diff: float | None
    """A's Elo rating minus B's; None where it is infinite, or for more than two players."""
    elo_ci95: tuple[float | None, float | None]
    """The Elo differences at the ends of `ci95`."""
    mean_margin_a: float | None
    """Mean of A's tricks (or points) minus B's; None in matches of several rounds."""
    caller_win_rate: float | None
    """The caller's wins over games; None where nobody is the caller throughout."""
    illegal: int
    """Illegal actions chosen: 0, for the first one ends a match with `MatchError`."""
    seconds: float = field(compare=False)
    """Time taken."""
    per_deal: PerDeal = field(compare=False, repr=False)
    """What A got in every game of every deal."""

    def as_json(self) -> dict[str, Any]:
        """Returns all but `per_deal`, as JSON has it."""
        keys = [key for key in self.__dataclass_fields__ if key != "per_deal"]
        values = {key: getattr(self, key) for key in keys}
        return {k: list(v) if isinstance(v, tuple) else v for k, v in values.items()}


def play_match(
    game: Game,
    a: str | Agent,
    b: str | Agent,
    deals: int,
    seed: int,
    workers: int = 1,
    progress: Progress | None = None,
) -> MatchResult:
    """Plays a match of A in one seat against B in the rest, all seatings of every deal.

    One Agent object plays all seatings of a deal, so one with a memory of its own between decisions
    could know the twin game: an agent is expected to be a function of view, mask and stream.

    Args:
        game: the game with its rules.
        a: an agent or its spec.
        b: an agent or its spec.
        deals: how many deals, 1 to `MAX_DEALS`.
        seed: 0 to 2**64 - 1.
        workers: processes to share the work, 1 to `MAX_WORKERS`; with more than one, agents must
            be specs or picklable.
        progress: called after every chunk of deals.

    Raises:
        AgentSpecError: a spec that names no agent of this game.
        MatchError: an agent chose an illegal action.
        MatchInterrupted: Ctrl-C; it carries the result so far.
        MatchOptionError: a number out of range, or an agent that can't be sent to a process.
        WorkerDiedError: one of the processes died; it carries the result so far.
    """
    _check(deals, seed, workers)
    start = time.perf_counter()
    with held_back():
        table = _table_of(game, a, b, (_name(a), _name(b)), seed)
        compile_for(
            game, *(made for made, told in ((table.a, a), (table.b, b)) if told is not made)
        )
    done: dict[int, PerDeal] = {}
    played, won = 0, 0.0
    try:
        with contextlib.closing(_chunks(table, a, b, deals, workers)) as chunks:
            for first, chunk in chunks:
                done[first] = chunk
                played += len(chunk.share)
                won += float(chunk.share.mean(axis=1).sum())
                if progress is not None:
                    progress(played, won / played)
    except (KeyboardInterrupt, BrokenProcessPool) as stop:
        known = None
        if done:
            known = summarise(game, table.names, _joined(done), time.perf_counter() - start)
        if isinstance(stop, BrokenProcessPool):
            raise WorkerDiedError(known) from stop
        raise MatchInterrupted(known) from None
    return summarise(game, table.names, _joined(done), time.perf_counter() - start)


def _joined(chunks: dict[int, PerDeal]) -> PerDeal:
    """Puts the chunks, kept by their first deal, in the order of the deals."""
    parts = zip(*(chunks[first] for first in sorted(chunks)), strict=True)
    return PerDeal(*(np.concatenate(part) for part in parts))


def summarise(game: Game, names: tuple[str, str], per_deal: PerDeal, seconds: float) -> MatchResult:
    """Makes the result of a match from what A got in every game."""
    rate = rate_interval(per_deal.share.mean(axis=1))
    rounds = getattr(game.rules, "rounds_to_win", 1)
    paired = game.num_players == 2  # against several B's an even match is no rate of one half
    caller = None
    if rounds == 1 and "caller" in game.seat_names:  # player 0, so A in game 0 and B in game 1
        caller = float(np.mean([per_deal.share[:, 0], 1 - per_deal.share[:, 1]]))
    return MatchResult(
        a=names[0],
        b=names[1],
        deals=len(per_deal.share),
        games=per_deal.share.size,
        win_rate_a=rate.mean,
        ci95=(rate.low, rate.high),
        elo_diff=elo(rate.mean) if paired else None,
        elo_ci95=(elo(rate.low), elo(rate.high)) if paired else (None, None),
        mean_margin_a=float(per_deal.margin.mean()) if rounds == 1 else None,
        caller_win_rate=caller,
        illegal=0,
        seconds=seconds,
        per_deal=per_deal,
    )


class Table(NamedTuple):
    """Two agents at a game, with the seed of all that chance decides."""

    game: Game
    a: Agent
    b: Agent
    names: tuple[str, str]
    seed: int

    def play(self, first: int, deals: int) -> PerDeal:
        """Plays some deals in lockstep, each with A in every seat once.

        Args:
            first: the number of the first deal.
            deals: how many.

        Raises:
            MatchError: an agent chose an illegal action.
        """
        game, num_players = self.game, self.game.num_players
        deal = np.repeat(np.arange(first, first + deals), num_players)
        seat_a = np.tile(np.arange(num_players), deals)
        everyone = np.full(len(deal), num_players)  # a stream of no player's own: that of the deal
        states = game.new(self._streams(deal, everyone, np.zeros_like(deal)).keys)
        rows = np.arange(len(deal))
        game.deal(states, rows)
        plies = np.zeros_like(deal)
        with _one_thread():
            while rows.size:
                players = game.players(states, rows)
                views = game.views(states, rows, players)
                masks = game.masks(views)
                actions = self._decide(views, masks, deal[rows], players, plies[rows], seat_a[rows])
                status, _ = game.step(states, rows, actions)
                for i in np.flatnonzero(status == ILLEGAL):
                    self._refuse(masks[i], actions[i], deal[rows[i]], players[i], seat_a[rows[i]])
                plies[rows] += 1
                rows = rows[status == RUNNING]
        share, margin = (
            of(states)[np.arange(len(deal)), seat_a] for of in (game.shares, game.margins)
        )
        shape = (deals, num_players)
        return PerDeal(share.reshape(shape), margin.reshape(shape))

    def _decide(
        self,
        views: Words,
        masks: Mask,
        deal: npt.NDArray[np.int64],
        players: npt.NDArray[np.int64],
        plies: npt.NDArray[np.int64],
        seat_a: npt.NDArray[np.int64],
    ) -> npt.NDArray[np.int64]:
        actions = np.empty(len(views), np.int64)
        streams = self._streams(deal, players, plies)
        for agent, mine in ((self.a, players == seat_a), (self.b, players != seat_a)):
            if mine.any():
                chosen = np.flatnonzero(mine)
                actions[chosen] = decide(agent, views[chosen], masks[chosen], streams[chosen])
        return actions

    def _streams(
        self,
        deal: npt.NDArray[np.int64],
        players: npt.NDArray[np.int64],
        plies: npt.NDArray[np.int64],
    ) -> Any:
        return decision_streams(np.full(len(deal), self.seed, np.uint64), deal, players, plies)

    def _refuse(self, mask: Mask, action: int, deal: int, player: Player, seat_a: Player) -> None:
        name = self.names[0] if player == seat_a else self.names[1]
        legal = ", ".join(self.game.action_text(int(i)) for i in np.flatnonzero(mask))
        raise MatchError(
            f"agent {name!r} chose {self.game.action_text(int(action))} as player {player} of deal "
            f"{deal}, which is not legal; legal: {legal}"
        )


# -- who plays the chunks --------------------------------------------------------------------
def _table_of(
    game: Game, a: str | Agent, b: str | Agent, names: tuple[str, str], seed: int
) -> Table:
    made = [make_agent(agent, game) if isinstance(agent, str) else agent for agent in (a, b)]
    return Table(game, made[0], made[1], names, seed)


def compile_for(game: Game, *agents: Agent) -> None:
    """Runs whatever is compiled once: the game's verbs, and the first decision of some agents."""
    none = np.zeros(1, np.int64)
    states = game.new(np.zeros(1, np.uint64))
    game.deal(states, none)
    views = game.views(states, none, game.players(states, none))
    masks = game.masks(views)
    with _one_thread():
        for agent in agents:
            decide(agent, views, masks, decision_streams(np.zeros(1, np.uint64), none, none, none))
    game.step(states, none, np.flatnonzero(masks[0])[:1])


def _chunks(
    table: Table, a: str | Agent, b: str | Agent, deals: int, workers: int
) -> Generator[tuple[int, PerDeal], None, None]:
    """Yields (first deal, what A got) of every chunk, in any order."""
    firsts = range(0, deals, CHUNK_DEALS)
    jobs = ((first, min(CHUNK_DEALS, deals - first)) for first in firsts)
    workers = min(workers, len(firsts))
    if workers == 1:
        for first, size in jobs:
            yield first, table.play(first, size)
        return
    # Specs rather than agents where possible: what a process makes itself need not be picklable.
    parcel = _pickled((_table_of, (table.game, a, b, table.names, table.seed)))
    for (first, _), chunk in share_out(parcel, jobs, workers):
        yield first, chunk


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
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


def _pickled(parcel: object) -> bytes:
    try:
        return pickle.dumps(parcel)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise MatchOptionError(
            f"an agent can't be sent to another process ({error}); name it by a spec or take "
            "workers=1"
        ) from error


def _check(deals: int, seed: int, workers: int) -> None:
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


def _name(agent: str | Agent) -> str:
    return agent if isinstance(agent, str) else type(agent).__name__
