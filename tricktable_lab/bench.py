"""How fast the engine and its environments are on one core, and how long they take to start.

All times are processor time. Rates are units a second, kernels compiled before the clock starts.
What compiling costs is told apart: each start is timed in new processes, cold on an empty cache and
warm on the full one. The yardstick is a kernel of plain integer arithmetic, so that figures of
different machines, or of busy and quiet ones, can be set against each other.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import gymnasium
import numpy as np

from tricktable_env import honors_v0, make_game, tableau_v0
from tricktable_env.bits import copy_words, mix
from tricktable_env.cards import NUM_CARDS, Words
from tricktable_env.jit import kernel
from tricktable_env.opponents import Streams, make_agent
from tricktable_env.tableau.rules import play_random_games

Work: TypeAlias = Callable[[], int]
"""Does a piece of work and returns how many units that was."""

YARDSTICK = "yardstick: words scrambled"
BOTH = (("self", ""), ("greedy", ", greedy inside"))
"""Opponents, and what is said of them."""
_MAKE = "import gymnasium, tricktable_env; e = gymnasium.make"
STARTS = {
    "import numba": "import numba",
    "import tricktable_env": "import tricktable_env",
    "first observation": f"{_MAKE}('TrickTable/Tableau-v0'); e.reset(seed=0)",
    "first batch step": (
        f"{_MAKE}_vec('TrickTable/Tableau-v0', num_envs=8, opponent='self'); "
        "e.reset(seed=0); e.step([52] * 8)"
    ),
}


class BenchError(ValueError):
    """A time that can't be measured in, or a start that failed."""


@dataclass(frozen=True)
class Start:
    """Processor time of a new process in seconds, which a busy machine stretches least."""

    cold: float
    """On an empty cache, so that everything is compiled."""
    warm: float
    """On the cache that the first one left."""


def works() -> Iterator[tuple[str, Callable[[], Work]]]:
    """The works by name, each with what makes it ready."""
    yield YARDSTICK, yardstick_words
    yield "card plays in the kernel, random games", kernel_games
    yield "copies of a state inside a kernel", kernel_copies
    for game, module in (("Tableau", tableau_v0), ("Honors", honors_v0)):
        name = f"TrickTable/{game}-v0"
        for opponent, inside in (*BOTH, ("random", ", random inside")):
            what = f"{game}: decisions, batch of 1,024{inside}"
            yield what, lambda name=name, o=opponent: batch(name, o, 1024)  # type: ignore[misc]
        what = f"{game}: decisions, batch of 1,024, with the history"
        yield what, lambda name=name: batch(name, "self", 1024, observation="dict")  # type: ignore[misc]
        for opponent, inside in BOTH:
            what = f"{game}: decisions, single environment{inside}"
            yield what, lambda name=name, o=opponent: single(name, o)  # type: ignore[misc]
        yield f"{game}: decisions, AEC env", lambda module=module: aec(module.env())  # type: ignore[misc]


def measure_rates(seconds: float) -> Iterator[tuple[str, float]]:
    """Measures each work for about so many seconds of processor time; units a second by name.

    Raises:
        BenchError: no time at all.
    """
    if not 0 < seconds < float("inf"):
        raise BenchError(f"seconds={seconds} is no time to measure in; 1 is enough")
    for name, ready in works():
        yield name, rate(ready(), seconds)


def rate(work: Work, seconds: float) -> float:
    """Units a second of processor time, after one piece that compiles and warms up."""
    work()
    units, started = 0, time.process_time()
    while time.process_time() - started < seconds:
        units += work()
    return units / (time.process_time() - started)


def measure_starts() -> Iterator[tuple[str, Start]]:
    """Times each of `STARTS` in two new processes, on a cache of its own.

    Raises:
        BenchError: one of them failed.
    """
    for name, program in STARTS.items():
        with tempfile.TemporaryDirectory() as folder:
            yield name, Start(_seconds(program, folder), _seconds(program, folder))


def _seconds(program: str, cache: str) -> float:
    before, started = os.times(), time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "TRICKTABLE_CACHE_DIR": cache},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise BenchError(f"{program}: {(done.stderr.splitlines() or ['it failed'])[-1]}")
    after = os.times()
    spent = sum(after[2:4]) - sum(before[2:4])  # of finished children
    return spent or time.perf_counter() - started  # where the system does not tell


# -- works -------------------------------------------------------------------------------------
@kernel
def yardstick(n: int) -> np.uint64:
    """Scrambles one word n times."""
    word = np.uint64(1)
    for _ in range(n):
        word = mix(word)
    return word


def yardstick_words() -> Work:
    """Words that the yardstick scrambles."""

    def work() -> int:
        yardstick(1_000_000)
        return 1_000_000

    return work


def kernel_games() -> Work:
    """Tableau inside one kernel: the card plays of random games, calls not counted."""
    state = make_game("tableau").new(np.array([1], np.uint64))[0]

    def work() -> int:
        play_random_games(state, 2000)
        return 2000 * NUM_CARDS

    return work


@kernel
def copy_states(states: np.ndarray, out: np.ndarray, times: int) -> None:
    """Copies states `[n, W] uint64` in turn, as a search copies one for each of its lines."""
    for i in range(times):
        copy_words(states[i % len(states)], out[i % len(out)], states.shape[1])


def kernel_copies() -> Work:
    """Copies of mid-game states of Tableau that a kernel makes for itself."""
    states = np.stack([mid_game()] * 16)
    out = np.empty_like(states)

    def work() -> int:
        copy_states(states, out, 100_000)
        return 100_000

    return work


def mid_game() -> Words:
    """A state of Tableau after the call and some tricks."""
    game: Any = make_game("tableau")
    states, row = game.new(np.array([1], np.uint64)), np.zeros(1, np.int64)
    game.deal(states, row)
    for _ in range(20):
        mask = game.masks(game.views(states, row, game.players(states, row)))[0]
        game.step(states, row, np.array([mask.argmax()]))
    state: Words = states[0]
    return state


def single(name: str, opponent: str) -> Work:
    """Decisions of the single environment, random legal actions."""
    env = gymnasium.make(name, opponent=opponent, disable_env_checker=True).unwrapped
    env.reset(seed=0)
    choice = random.Random(0).choice

    def work() -> int:
        _, info = env.reset()
        steps, ended = 0, False
        while not ended:
            legal = info["action_mask"].nonzero()[0]
            _, _, ended, _, info = env.step(int(choice(legal)))
            steps += 1
        return steps

    return work


def batch(name: str, opponent: str, size: int, steps: int = 53, **options: Any) -> Work:
    """Decisions of a batch, random legal actions that a kernel draws."""
    envs: Any = gymnasium.make_vec(name, num_envs=size, opponent=opponent, **options)
    _, infos = envs.reset(seed=0)
    last, keys = [infos["action_mask"]], np.arange(size, dtype=np.uint64)
    player: Any = make_agent("random", envs.game)

    def work() -> int:
        for _ in range(steps):
            keys[:] += np.uint64(2**40)
            actions = player.act_batch(last[0], last[0], Streams(keys))  # it needs masks alone
            last[0] = envs.step(actions)[4]["action_mask"]
        return size * steps

    return work


def aec(env: Any) -> Work:
    """Decisions of a PettingZoo environment, random legal actions."""
    env.reset(seed=0)
    choice = random.Random(0).choice

    def work() -> int:
        env.reset()
        steps = 0
        for _ in env.agent_iter():
            observation, _, terminated, truncated, info = env.last()
            dead = terminated or truncated
            mask = info.get("action_mask", observation["action_mask"])
            env.step(None if dead else int(choice(mask.nonzero()[0])))
            steps += not dead
        return steps

    return work
