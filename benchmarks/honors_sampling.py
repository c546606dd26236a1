"""Samples a second from what a seat of Honors has seen: python benchmarks/honors_sampling.py

For each number of players: the mean rate over the decisions of games of random play, and the
slowest decision, by processor time of one thread, after everything has been compiled.
"""

from __future__ import annotations

import time

import numpy as np

from tricktable_env.cards import Words
from tricktable_env.game import RUNNING
from tricktable_env.honors import Honors, batch

SAMPLES, GAMES, SEED = 200, 20, 0


def seconds_per_sample(view: Words, rng: np.random.Generator) -> float:
    """Draws `SAMPLES` states from one view `[W]` and returns the time one took."""
    views = np.repeat(view[None], SAMPLES, axis=0)
    words = rng.integers(2**64, size=SAMPLES, dtype=np.uint64)
    start = time.process_time()
    batch.sample_rows(views, words, np.empty_like(views))
    return (time.process_time() - start) / SAMPLES


def main() -> None:
    """Prints a line for each number of players."""
    row = np.zeros(1, np.int64)
    for players in range(2, 8):
        game, rng, times = Honors(num_players=players), np.random.default_rng(SEED), []
        for seed in range(GAMES + 1):
            states = game.new(np.array([seed], np.uint64))
            game.deal(states, row)
            status = RUNNING
            while status == RUNNING:
                view = game.views(states, row, game.players(states, row))
                taken = seconds_per_sample(view[0], rng)
                times += [taken] if seed else []  # the first game is there to compile
                action = rng.choice(np.flatnonzero(game.masks(view)[0]))
                status = game.step(states, row, np.array([action]))[0][0]
        mean, worst = 1 / np.mean(times), 1 / np.max(times)
        print(f"{players} players: {mean:,.0f} samples/s, {worst:,.0f} at the slowest decision")


if __name__ == "__main__":
    main()
