"""Guards of the hot kernels: how many times a yardstick kernel of the same run each may take.

    python -m pytest benchmarks/guards

Limits are about one and a half times what was measured when they were set. They are ratios of the
least times, so a busy machine disturbs them little; still they are no part of the ordinary tests.
"""

from __future__ import annotations

import timeit
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tricktable_env import make_game
from tricktable_lab.bench import yardstick

ROWS, SCRAMBLED = 1024, 20_000
LIMITS = {
    "tableau": {"deal": 4.6, "step": 0.9, "observe": 1.1, "copy": 0.25},
    "honors": {"deal": 5.5, "step": 1.5, "observe": 4.0, "copy": 0.3},
}
"""By game and kernel, for `ROWS` rows, in times of scrambling a word `SCRAMBLED` times."""


def mid_game(game: Any) -> tuple[Any, Any, Any]:
    """States, rows, and an action for each."""
    rows = np.arange(ROWS)
    states = game.new(rows.astype(np.uint64))
    game.deal(states, rows)
    rng = np.random.default_rng(0)
    for _ in range(10):
        masks = game.masks(game.views(states, rows, game.players(states, rows)))
        actions = (rng.random(masks.shape) * masks).argmax(1)
        kept = states.copy()
        game.step(states, rows, actions)
    return kept, rows, actions


def kernels(game: Any) -> dict[str, Callable[[], Any]]:
    states, rows, actions = mid_game(game)
    loops, work = game.loops, states.copy()
    players = game.players(states, rows)
    seen, masks = game.observe(states, rows, players)
    status, paid = np.empty(ROWS, np.int8), np.empty((ROWS, game.num_players), np.float32)

    def step() -> None:
        np.copyto(work, states)
        loops.step_rows(work, rows, actions, status, paid)

    return {
        "deal": lambda: loops.deal_rows(work, rows),
        "step": step,
        "observe": lambda: loops.observe_rows(states, rows, players, seen, masks),
        "copy": lambda: np.copyto(work, states),
    }


@pytest.fixture(scope="module")
def unit() -> float:
    """The least time of the yardstick in seconds."""
    yardstick(SCRAMBLED)
    return min(timeit.repeat(lambda: yardstick(SCRAMBLED), number=1, repeat=300))


@pytest.mark.parametrize("kernel", ["deal", "step", "observe", "copy"])
@pytest.mark.parametrize("name", LIMITS)
def test_a_kernel_takes_no_longer_than_it_did(
    benchmark: Any, unit: float, name: str, kernel: str
) -> None:
    work = kernels(make_game(name))[kernel]
    benchmark.pedantic(work, rounds=300, warmup_rounds=3)
    ratio = benchmark.stats.stats.min / unit
    benchmark.extra_info["times the yardstick"] = round(ratio, 2)
    assert ratio < LIMITS[name][kernel], f"{ratio:.2f} times the yardstick"
