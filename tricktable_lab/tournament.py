"""Tournaments: every agent against every other on the same deals, and ratings from that.

The agents are put in the order of their names before anything is played, so the order in which they
are given changes nothing.
"""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tricktable_env.game import Game
from tricktable_lab.interrupts import held_back
from tricktable_lab.match import figures, plain
from tricktable_lab.ratings import Rating, bootstrapped, library
from tricktable_lab.recordfile import chunks_in_order, record_file
from tricktable_lab.table import CHUNK_DEALS, PerDeal, Table, check_numbers, named_twice, table_of
from tricktable_lab.workers import Job

Watch: TypeAlias = Callable[[int], None]
"""Called with the number of deals that pairs have played so far, all pairs together."""

ANCHORS = ("greedy", "random")
"""Whose rating is 0 unless another is named: the first of these that plays, else the first name."""


class TournamentError(ValueError):
    """A pool of agents that can't be rated."""


class TournamentStoppedError(Exception):
    """The tournament was stopped; `result` has the deals that all pairs played, None if none.

    Args:
        result: the result so far.
        why: what stopped it, in words.
    """

    def __init__(self, result: TournamentResult | None, why: str) -> None:
        self.result = result
        super().__init__(why)


@dataclass(frozen=True)
class TournamentResult:
    """The result of a tournament; the strongest agent comes first."""

    anchor: str
    """The agent whose rating is 0."""
    deals: int
    """Deals that every pair played, twice each."""
    seed: int
    """Of the deals."""
    ratings: tuple[Rating, ...]
    """The agents."""
    table: tuple[dict[str, Any], ...]
    """Every pair, the stronger as A, with the figures of a match."""
    seconds: float = field(compare=False)
    """Time taken."""

    def as_json(self) -> dict[str, Any]:
        """Returns it as JSON has it."""
        pairs = [{k: plain(v) for k, v in pair.items()} for pair in self.table]
        rated = [rating.as_json() for rating in self.ratings]
        games = sum(pair["games"] for pair in pairs)
        told = {"anchor": self.anchor, "deals": self.deals, "games": games, "seed": self.seed}
        return told | {"ratings": rated, "table": pairs, "illegal": 0, "seconds": self.seconds}


def play_tournament(
    game: Game,
    agents: Sequence[str],
    deals: int,
    seed: int,
    workers: int = 1,
    *,
    anchor: str | None = None,
    records: Path | None = None,
    watch: Watch | None = None,
) -> TournamentResult:
    """Plays all pairs, each on the same deals with both seatings, and rates the agents.

    Args:
        game: the game with its rules, for two players.
        agents: specs, two or more, all different.
        deals: how many each pair plays.
        seed: 0 to 2**64 - 1.
        workers: processes to share the work.
        anchor: whose rating is 0; None is one of `ANCHORS`.
        records: a file as of `play_match`; it may be that of one, or of a smaller pool.
        watch: called after every chunk.

    Raises:
        AgentSpecError: a spec that names no agent of this game.
        MatchError: an agent chose an illegal action.
        MatchOptionError: a number out of range.
        OSError: the file of records can't be written.
        RatingsError: the library for ratings is not installed.
        RecordFileError: the file holds something else.
        TournamentError: a pool that can't be rated.
        TournamentStoppedError: Ctrl-C, or a process died; it has the result so far.
    """
    check_numbers(deals, seed, workers)
    names = _pool(game, agents)
    zero = _anchor(names, anchor)
    start = time.perf_counter()
    library()  # what is missing is better known now than after hours of play
    with held_back():
        table = table_of(game, names, names, seed, records is not None)
    pairs = list(itertools.combinations(range(len(names)), 2))
    played: dict[tuple[int, int], list[PerDeal]] = {pair: [] for pair in pairs}
    jobs = _jobs(table, pairs, deals)
    done, stopped = 0, None
    try:
        with (
            record_file(records, game, seed, names, pairs) as file,
            contextlib.closing(chunks_in_order(table, names, jobs, workers, file)) as chunks,
        ):
            for (a, b, _, size), chunk in chunks:
                played[a, b].append(chunk.per_deal)
                done += size
                if watch is not None:
                    watch(done)
    except (KeyboardInterrupt, BrokenProcessPool) as stop:
        stopped = "a worker process died" if isinstance(stop, BrokenProcessPool) else "stopped"
    whole = min(sum(len(part.share) for part in parts) for parts in played.values())
    result = None
    if whole:
        joined = {pair: _joined(parts, whole) for pair, parts in played.items()}
        result = _result(game, names, joined, zero, seed, time.perf_counter() - start)
    if stopped is not None or result is None:
        raise TournamentStoppedError(result, stopped or "nothing was played") from None
    return result


def _pool(game: Game, agents: Sequence[str]) -> list[str]:
    """The agents in the order of their names."""
    if game.num_players != 2:
        raise TournamentError(
            f"a tournament is for two players a game, not {game.num_players}; try match"
        )
    if len(agents) < 2:
        raise TournamentError(f"a tournament takes two agents or more, not {len(agents)}")
    twice = named_twice(agents)
    if twice is not None:
        raise TournamentError(f"agent {twice} is named twice")
    return sorted(agents)


def _anchor(names: Sequence[str], anchor: str | None) -> int:
    if anchor is None:
        return names.index(next((name for name in ANCHORS if name in names), names[0]))
    if anchor not in names:
        raise TournamentError(f"anchor {anchor!r} is not among the agents: {', '.join(names)}")
    return names.index(anchor)


def _jobs(table: Table, pairs: Sequence[tuple[int, int]], deals: int) -> Iterator[Job]:
    """All chunks: every pair plays some deals before any plays the next."""
    for first in range(0, deals, CHUNK_DEALS):
        for a, b in pairs:
            yield from table.chunks(a, b, first, min(CHUNK_DEALS, deals - first))


def _joined(parts: list[PerDeal], deals: int) -> PerDeal:
    """The first deals of what a pair played."""
    return PerDeal(*(np.concatenate(part)[:deals] for part in zip(*parts, strict=True)))


def _result(
    game: Game,
    names: Sequence[str],
    played: dict[tuple[int, int], PerDeal],
    anchor: int,
    seed: int,
    seconds: float,
) -> TournamentResult:
    n, deals = len(names), len(next(iter(played.values())).share)
    shares = np.zeros((n, n, deals))
    for (a, b), per_deal in played.items():
        shares[a, b] = per_deal.share.mean(axis=1)
        shares[b, a] = 1 - shares[a, b]
    elo, low, high = bootstrapped(shares, anchor, seed)
    rates = shares.sum(axis=(1, 2)) / (deals * (n - 1))
    order = sorted(range(n), key=lambda i: (-elo[i], i))
    rated = tuple(
        Rating(names[i], float(elo[i]), (float(low[i]), float(high[i])), float(rates[i]))
        for i in order
    )
    pairs = (_pair(game, names, played, a, b) for a, b in itertools.combinations(order, 2))
    return TournamentResult(names[anchor], deals, seed, rated, tuple(pairs), seconds)


def _pair(
    game: Game, names: Sequence[str], played: dict[tuple[int, int], PerDeal], a: int, b: int
) -> dict[str, Any]:
    """The figures of a pair, with A first whoever was first at the table."""
    per_deal = played[a, b] if (a, b) in played else _other_side(played[b, a])
    return {"a": names[a], "b": names[b], **figures(game, per_deal)}


def _other_side(per_deal: PerDeal) -> PerDeal:
    """What B got: in the game in which A was player 0 B was player 1."""
    share, margin, luck = (values[:, ::-1] for values in per_deal)
    return PerDeal(1 - share, -margin, -luck)


def win_rates(result: TournamentResult) -> npt.NDArray[np.float64]:
    """The table of results `[n, n]` in the order of the ratings: row against column, else NaN."""
    at = {rating.agent: i for i, rating in enumerate(result.ratings)}
    rates = np.full((len(at), len(at)), np.nan)
    for pair in result.table:
        rates[at[pair["a"]], at[pair["b"]]] = pair["win_rate_a"]
        rates[at[pair["b"]], at[pair["a"]]] = 1 - pair["win_rate_a"]
    return rates
