"""How fast the engine and its environments are on one core, and how long they take to start.

Every figure is the median of several rounds; kernels are compiled before the clock starts, and what
compiling costs is printed on its own, from a new process on an empty cache and from a second one.
The yardstick is a plain kernel of integer arithmetic in the same run, so that figures of different
machines can be set against each other.

    python benchmarks/speed.py
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import tyro
from rich.console import Console
from rich.table import Table

import tricktable_env
from tricktable_env import tableau_v0
from tricktable_env.bits import mix
from tricktable_env.jit import kernel
from tricktable_env.tableau.rules import play_random_games

STARTS = {
    "import numba": "import numba",
    "import tricktable_env": "import tricktable_env",
    "first observation": (
        "import gymnasium, tricktable_env;gymnasium.make('TrickTable/Tableau-v0').reset(seed=0)"
    ),
    "first batch step": (
        "import gymnasium, tricktable_env, numpy as np;"
        "e = gymnasium.make_vec('TrickTable/Tableau-v0', num_envs=8, opponent='self');"
        "e.reset(seed=0); e.step(np.full(8, 52))"
    ),
}


@kernel
def yardstick(n: int) -> np.uint64:
    """Scrambles one word n times."""
    word = np.uint64(1)
    for _ in range(n):
        word = mix(word)
    return word


def main(rounds: int = 5, seconds: float = 1.0, starts: bool = True) -> None:
    """Prints the figures.

    Args:
        rounds: how often each is measured.
        seconds: about how long each measurement runs.
        starts: also time new processes, on an empty cache and on a full one.
    """
    console = Console()
    table = Table("work", "a second", "min", "max", title="one core, median of rounds")
    for name, work in _works().items():
        work()
        rates = [_rate(work, seconds) for _ in range(rounds)]
        table.add_row(name, *(f"{f(rates):,.0f}" for f in (np.median, np.min, np.max)))
    console.print(table)
    if starts:
        console.print(_starts())


def _rate(work: Callable[[], int], seconds: float) -> float:
    done, started = 0, time.perf_counter()
    while time.perf_counter() - started < seconds:
        done += work()
    return done / (time.perf_counter() - started)


def _works() -> dict[str, Callable[[], int]]:
    """Each does a piece of work and returns how many units that was."""
    return {
        "yardstick: words scrambled": lambda: yardstick(1_000_000) and 1_000_000,
        "card plays in the kernel, random games": _kernel_games(),
        "decisions, batch of 1,024, self, observation + mask": _batch("self"),
        "learner decisions, batch of 1,024, random inside": _batch("random"),
        "learner decisions, batch of 1,024, greedy inside": _batch("greedy"),
        "decisions, Gymnasium single, greedy inside": _single(),
        "decisions, AEC raw_env, last() and step()": _aec(tableau_v0.raw_env()),
        "decisions, AEC env with its three checks": _aec(tableau_v0.env()),
    }


def _kernel_games() -> Callable[[], int]:
    game = tricktable_env.make_game("tableau")
    state = game.new(np.array([1], np.uint64))[0]
    return lambda: play_random_games(state, 2000) * 0 + 2000 * 52


def _batch(opponent: str, size: int = 1024, steps: int = 53) -> Callable[[], int]:
    envs = gymnasium.make_vec("TrickTable/Tableau-v0", num_envs=size, opponent=opponent)
    _, infos = envs.reset(seed=0)
    keys = np.random.default_rng(0).random((16, size, 56), np.float32)
    masks = [infos["action_mask"]]

    def work() -> int:
        for step in range(steps):
            actions = (keys[step % 16] * masks[0]).argmax(1)
            masks[0] = envs.step(actions)[4]["action_mask"]
        return size * steps

    return work


def _single() -> Callable[[], int]:
    env = gymnasium.make("TrickTable/Tableau-v0", opponent="greedy").unwrapped
    env.reset(seed=0)

    def work() -> int:
        _, info = env.reset()
        done, steps = False, 0
        while not done:
            _, _, done, _, info = env.step(int(info["action_mask"].argmax()))
            steps += 1
        return steps

    return work


def _aec(env: Any) -> Callable[[], int]:
    env.reset(seed=0)

    def work() -> int:
        env.reset()
        steps = 0
        while env.agents:
            observation, _, termination, truncation, _ = env.last()
            dead = termination or truncation
            env.step(None if dead else int(observation["action_mask"].argmax()))
            steps += not dead
        return steps

    return work


def _starts() -> Table:
    table = Table("new process", "empty cache, s", "second start, s", title="wall time")
    for name, code in STARTS.items():
        with tempfile.TemporaryDirectory() as folder:
            times = []
            for _ in range(2):
                started = time.perf_counter()
                subprocess.run(
                    [sys.executable, "-c", code],
                    env={**os.environ, "TRICKTABLE_CACHE_DIR": folder},
                    check=True,
                    stderr=subprocess.DEVNULL,
                )
                times.append(time.perf_counter() - started)
        table.add_row(name, *(f"{t:.2f}" for t in times))
    return table


if __name__ == "__main__":
    tyro.cli(main)
