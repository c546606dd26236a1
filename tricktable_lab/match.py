"""Matches of two agents: every deal once with each way of seating them.

What decides a match is (game, agents, deals, seed) alone, whoever plays the deals; see `table`.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from tricktable_env.game import Game
from tricktable_env.opponents import Agent
from tricktable_lab.control import Control, check_game, control_for
from tricktable_lab.interrupts import held_back
from tricktable_lab.recordfile import chunks_in_order, record_file
from tricktable_lab.sprt import Counts, Sprt, SprtState
from tricktable_lab.stats import elo, pair_counts, rate_interval
from tricktable_lab.table import (
    MatchOptionError,
    PerDeal,
    check_numbers,
    name_of,
    table_of,
)

Progress: TypeAlias = Callable[[int, float], None]
"""Called with the number of deals played so far and A's win rate over them."""


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
    """Time taken, without what was read back from records."""
    pairs: tuple[int, int, int, int, int] | None
    """Deals of which A won 0, 1/2, 1, 3/2 and 2 games; None for more than two players."""
    sprt: SprtState | None
    """Where the sequential test stands, if one was asked for; it makes the intervals too narrow."""
    control: Control | None
    """The rate with luck taken out, if asked for and there are deals enough."""
    per_deal: PerDeal = field(compare=False, repr=False)
    """What A got in every game of every deal."""

    def as_json(self) -> dict[str, Any]:
        """Returns all but `per_deal`, as JSON has it."""
        keys = [key for key in self.__dataclass_fields__ if key != "per_deal"]
        return {key: plain(getattr(self, key)) for key in keys}


def play_match(
    game: Game,
    a: str | Agent,
    b: str | Agent,
    deals: int,
    seed: int,
    workers: int = 1,
    progress: Progress | None = None,
    *,
    records: Path | None = None,
    sprt: Sprt | None = None,
    control: bool = False,
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
        records: a file to which the record of every game is added; games of this match that are in
            it already are not played again.
        sprt: a test of pairs that ends the match when it has decided, looked at after every chunk.
        control: whether luck is to be taken out of the rate too, see `control`.

    Raises:
        AgentSpecError: a spec that names no agent of this game.
        MatchError: an agent chose an illegal action.
        MatchInterrupted: Ctrl-C; it carries the result so far.
        MatchOptionError: a number out of range, an agent that can't be sent to a process, or a test
            or control that is not for this game.
        OSError: the file of records can't be written.
        RecordFileError: it holds something else.
        WorkerDiedError: one of the processes died; it carries the result so far.
    """
    check_numbers(deals, seed, workers)
    if sprt is not None and game.num_players != 2:
        raise MatchOptionError("sprt is for two players")
    running = _Running(game, (name_of(a), name_of(b)), seed, sprt, control)
    with held_back():
        if control:
            check_game(game)
        table = table_of(game, (a, b), running.names, seed, records is not None)
    jobs = table.chunks(0, 1, 0, deals)
    try:
        with (
            record_file(records, game, seed, table.names, [(0, 1)]) as file,
            contextlib.closing(chunks_in_order(table, (a, b), jobs, workers, file)) as chunks,
        ):
            for _, chunk in chunks:
                running.add(chunk.per_deal)
                if progress is not None:
                    progress(running.deals, running.rate)
                if running.decided:
                    break
    except (KeyboardInterrupt, BrokenProcessPool) as stop:
        known = running.result() if running.deals else None
        if isinstance(stop, BrokenProcessPool):
            raise WorkerDiedError(known) from stop
        raise MatchInterrupted(known) from None
    return running.result()


class _Running:
    """A match in progress: what A got so far."""

    def __init__(
        self, game: Game, names: tuple[str, str], seed: int, sprt: Sprt | None, control: bool
    ) -> None:
        self._game, self.names, self._seed = game, names, seed
        self._sprt, self._control = sprt, control
        self._done: list[PerDeal] = []
        self._pairs: Counts = np.zeros(5, np.int64)
        self._won = 0.0
        self._start = time.perf_counter()
        self.deals = 0

    @property
    def rate(self) -> float:
        """A's win rate."""
        return self._won / self.deals

    @property
    def decided(self) -> bool:
        """Whether the sequential test has come to an end."""
        return self._sprt is not None and self._sprt.state(self._pairs).decision is not None

    def add(self, per_deal: PerDeal) -> None:
        """Adds the next deals."""
        self._done.append(per_deal)
        self.deals += len(per_deal.share)
        self._won += float(per_deal.share.mean(axis=1).sum())
        if self._game.num_players == 2:
            self._pairs += pair_counts(per_deal.share)

    def result(self) -> MatchResult:
        """The result of the deals so far."""
        per_deal = PerDeal(*map(np.concatenate, zip(*self._done, strict=True)))
        seconds = time.perf_counter() - self._start
        return MatchResult(
            a=self.names[0],
            b=self.names[1],
            deals=self.deals,
            **figures(self._game, per_deal),
            illegal=0,
            seconds=seconds,
            sprt=self._sprt.state(self._pairs) if self._sprt is not None else None,
            control=control_for(self._game, self._seed, per_deal) if self._control else None,
            per_deal=per_deal,
        )


def figures(game: Game, per_deal: PerDeal) -> dict[str, Any]:
    """Counts and rates of a match, by their names in `MatchResult`."""
    rate = rate_interval(per_deal.share.mean(axis=1))
    rounds = getattr(game.rules, "rounds_to_win", 1)
    paired = game.num_players == 2  # against several B's an even match is no rate of one half
    caller = None
    if rounds == 1 and "caller" in game.seat_names:  # player 0, so A in game 0 and B in game 1
        caller = float(np.mean([per_deal.share[:, 0], 1 - per_deal.share[:, 1]]))
    return {
        "games": per_deal.share.size,
        "win_rate_a": rate.mean,
        "ci95": (rate.low, rate.high),
        "elo_diff": elo(rate.mean) if paired else None,
        "elo_ci95": (elo(rate.low), elo(rate.high)) if paired else (None, None),
        "mean_margin_a": float(per_deal.margin.mean()) if rounds == 1 else None,
        "caller_win_rate": caller,
        "pairs": tuple(pair_counts(per_deal.share).tolist()) if paired else None,
    }


def plain(value: Any) -> Any:
    """A value of a result as JSON has it."""
    if isinstance(value, SprtState | Control):
        return value.as_json()
    return list(value) if isinstance(value, tuple) else value
