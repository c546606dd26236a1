"""What all searches share: the streams of worlds, threads, and the clock.

What a search makes of a decision is a row of whole numbers, one an action, that sum up over its
worlds (or trees); the action with the most is chosen, of equals the lowest. Sums of whole numbers
do not depend on who adds what, so the worlds can be split among threads.
"""

from __future__ import annotations

import math
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tricktable_env.bits import mix
from tricktable_env.cards import Mask, Words
from tricktable_env.game import Game
from tricktable_env.jit import kernel
from tricktable_env.opponents import AgentSpecError, Streams

SCALE = 1 << 20
"""The worth of a game that is surely won; values are whole numbers from 1 up to it."""
MAX_WORLDS = 1_000_000
MAX_THREADS = 256
MAX_HEAD_START = 1_000_000

Totals: TypeAlias = npt.NDArray[np.int64]
"""`[B, A] int64`, sums of values by action; 0 for an action that is not considered."""


@kernel
def world_stream(key: np.uint64, world: int) -> np.uint64:
    """The start of the random stream of one of a decision's worlds, whoever draws it, and when.

    Args:
        key: the stream of the decision.
        world: the number of the world.
    """
    return mix(key ^ mix(np.uint64(world + 1) * np.uint64(0x9E3779B97F4A7C15)))


class SearchAgent:
    """An agent that looks at worlds; what they say is up to `add`.

    Args:
        game: the game to play.
        worlds: how many worlds a decision takes.
        seconds: how long a decision takes, in place of a number of worlds; None: no clock.
        threads: threads that share the worlds.

    Raises:
        AgentSpecError: a number out of range.
    """

    slice_size = 8
    """Worlds between looks at the clock."""
    deals_at_once = 8
    """For matches: they show and keep what was played every so many deals."""

    def __init__(self, game: Game, worlds: int, seconds: float | None, threads: int) -> None:
        check_number("worlds", worlds, 1, MAX_WORLDS)
        check_number("threads", threads, 1, MAX_THREADS)
        if seconds is not None and not (seconds > 0 and math.isfinite(seconds)):
            raise AgentSpecError(f"seconds={seconds!r} is no time above 0")
        self.game = game
        self.worlds, self.seconds, self.threads = worlds, seconds, threads

    def add(
        self, views: Words, keys: Words, begin: int, step: int, end: int, totals: Totals
    ) -> None:
        """Adds what some worlds say, without the GIL where it takes time.

        Args:
            views: `[B, W] uint64`, each of the seat to act.
            keys: `[B] uint64`, the streams of the decisions.
            begin: the first world.
            step: from one world to the next.
            end: the number of the world before which to stop.
            totals: `[B, A] int64`, added to.
        """
        raise NotImplementedError

    def act(self, view: Words, mask: Mask, rng: np.random.Generator) -> int:
        """Chooses an action for a view `[W]` of the seat to act."""
        keys = rng.integers(0, 2**64, 1, np.uint64)
        return int(self._choose(view[None], mask[None], keys)[0])

    def act_batch(self, views: Words, masks: Mask, streams: Streams) -> npt.NDArray[np.int64]:
        """Chooses an action for each view `[B, W]` of the seat to act; `[B] int64`."""
        if self.seconds is None:
            return self._choose(views, masks, streams.keys)
        rows = (slice(i, i + 1) for i in range(len(views)))
        return np.concatenate([self._choose(views[i], masks[i], streams.keys[i]) for i in rows])

    def _choose(self, views: Words, masks: Mask, keys: Words) -> npt.NDArray[np.int64]:
        totals = np.zeros(masks.shape, np.int64)
        if self.seconds is None:
            self._share(views, keys, 0, self.worlds, totals)
            return _best(totals)
        end, begin = time.monotonic() + self.seconds, 0
        while begin < MAX_WORLDS and (begin == 0 or time.monotonic() < end):
            before = totals.copy()
            self._share(views, keys, begin, begin + self.slice_size, totals)
            begin += self.slice_size
            if np.count_nonzero(totals) == 1 or (totals == before).all():  # nothing to find out
                break
        return _best(totals)

    def _share(self, views: Words, keys: Words, begin: int, end: int, totals: Totals) -> None:
        """Adds the worlds from `begin` to `end`; rows, or the worlds of few, go to threads."""
        rows, threads = len(views), self.threads
        if threads == 1 or rows * (end - begin) == 1:
            self.add(views, keys, begin, 1, end, totals)
        elif rows >= threads:
            bounds = np.linspace(0, rows, threads + 1).astype(np.int64)
            parts = [slice(*bounds[i : i + 2]) for i in range(threads)]
            _in_threads(
                [partial(self.add, views[p], keys[p], begin, 1, end, totals[p]) for p in parts]
            )
        else:
            threads = min(threads, end - begin)
            shares = np.zeros((threads, *totals.shape), np.int64)
            _in_threads(
                [
                    partial(self.add, views, keys, begin + i, threads, end, shares[i])
                    for i in range(threads)
                ]
            )
            totals += shares.sum(0)


def _best(totals: Totals) -> npt.NDArray[np.int64]:
    """The action with the most, of equals the lowest: `[B] int64`."""
    return np.asarray(totals.argmax(1), np.int64)


def _in_threads(work: list[partial[None]]) -> None:
    with ThreadPoolExecutor(len(work)) as pool:
        for done in [pool.submit(part) for part in work]:
            done.result()


def steepest(values: npt.NDArray[np.int64]) -> float:
    """What one trick (or point) more adds to a total in one world, where it adds most."""
    return float(np.diff(values).max())


def head_start_of(head_start: float, values: npt.NDArray[np.int64]) -> int:
    """What a total begins with that is so many tricks (or points) ahead.

    Raises:
        AgentSpecError: a number out of range.
    """
    if not 0 <= head_start <= MAX_HEAD_START:
        raise AgentSpecError(
            f"head_start={head_start!r} is not a number from 0 to {MAX_HEAD_START:,}"
        )
    return int(head_start * steepest(values))


def check_number(name: str, value: int, low: int, high: int) -> None:
    """Refuses a number out of range.

    Raises:
        AgentSpecError: it is.
    """
    if not low <= value <= high:
        raise AgentSpecError(f"{name}={value} is not a whole number from {low} to {high:,}")
