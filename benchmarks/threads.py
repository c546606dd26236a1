"""What a second thread is worth to a batch.

    python benchmarks/threads.py

Two batches of the same rows, one stepped by one thread and one by two, take turns in short windows.
Timed is `step` alone, by the wall clock, for two threads take no less of the processors; the best
window of each counts, for another program on the machine can only make one longer.
"""

from __future__ import annotations

import json
import time
from typing import Any

import gymnasium
import numpy as np
import tyro

from tricktable_env.opponents import Streams, make_agent

THREADS = (1, 2)
OPPONENTS = ("self", "random", "greedy")


def main(size: int = 16_384, seconds: float = 0.2, windows: int = 24) -> None:
    """Prints a JSON object for each opponent: decisions a second of each window, and their ratio.

    Args:
        size: rows of the batch.
        seconds: of a window.
        windows: of each number of threads.
    """
    for opponent in OPPONENTS:
        print(json.dumps(measure(opponent, size, seconds, windows)), flush=True)


def measure(opponent: str, size: int, seconds: float, windows: int) -> dict[str, Any]:
    """Steps two batches of Tableau in turn."""
    batches = {number: Batch(opponent, size, number) for number in THREADS}
    rates: dict[int, list[float]] = {number: [] for number in THREADS}
    for batch in batches.values():
        batch.rate(0.0)
    for _ in range(windows):
        for number, batch in batches.items():
            rates[number].append(round(batch.rate(seconds)))
    one, two = (max(rates[number]) for number in THREADS)
    return {"opponent": opponent, "rows": size, "rates": rates, "times": round(two / one, 3)}


class Batch:
    """A batch under random play.

    Args:
        opponent: as in `gymnasium.make_vec`.
        size: number of rows.
        threads: as in `gymnasium.make_vec`.
    """

    def __init__(self, opponent: str, size: int, threads: int) -> None:
        options: dict[str, Any] = {"opponent": opponent, "threads": threads}
        self.envs: Any = gymnasium.make_vec("TrickTable/Tableau-v0", num_envs=size, **options)
        self.player: Any = make_agent("random", self.envs.game)
        self.keys = np.arange(size, dtype=np.uint64)
        self.masks = self.envs.reset(seed=0)[1]["action_mask"]

    def rate(self, seconds: float) -> float:
        """Decisions a second of the wall clock, over whole games of at least so many seconds."""
        spent, steps = 0.0, 0
        while spent < seconds or not steps:
            for _ in range(53):
                self.keys += np.uint64(2**40)
                actions = self.player.act_batch(self.masks, self.masks, Streams(self.keys))
                started = time.perf_counter()
                infos = self.envs.step(actions)[4]
                spent += time.perf_counter() - started
                self.masks = infos["action_mask"]
                steps += 1
        return steps * len(self.keys) / spent


if __name__ == "__main__":
    tyro.cli(main)
