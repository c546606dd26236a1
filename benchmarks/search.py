"""How long the agents that search take for a decision.

Positions are those of greedy's games with itself in which there is a choice, a decision a call as
in `tricktable play`. Processor time of one core; everything is compiled before. What two threads
save is seen by the clock on the wall alone, on a machine with nothing else to do.

    python benchmarks/search.py
    python benchmarks/search.py --game honors --games 5
    python benchmarks/search.py --wall --spec pimc:worlds=200 pimc:worlds=200,threads=2
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import tyro
from rich.console import Console
from rich.table import Table

from tricktable_env.opponents import make_agent
from tricktable_env.registry import make_game
from tricktable_lab.table import one_thread

SPECS = {
    "tableau": (
        "greedy",
        "montecarlo:worlds=20",
        "montecarlo:worlds=200",
        "pimc:worlds=20",
        "pimc:worlds=50",
        "pimc:worlds=200",
        "ismcts:iterations=200",
        "ismcts:iterations=1000",
        "ismcts:iterations=5000",
    ),
    "honors": (
        "greedy",
        "montecarlo:worlds=20",
        "montecarlo:worlds=200",
        "ismcts:iterations=1000",
    ),
}


def main(
    game: str = "tableau",
    games: int = 20,
    seed: int = 1,
    wall: bool = False,
    spec: tuple[str, ...] = (),
) -> None:
    """Prints a table: the median, the 95th percentile and the longest decision, in milliseconds.

    Args:
        game: tableau or honors.
        games: of greedy with itself.
        seed: of the deals.
        wall: take the time that passes, not that of the processor.
        spec: agents to time, in place of the usual ones.
    """
    playing = make_game(game)
    clock = time.perf_counter if wall else time.process_time
    positions = list(choices_of(playing, games, seed))
    table = Table(
        title=f"{game}: {len(positions)} decisions, ms {'passed' if wall else 'of one core'}"
    )
    for heading in ("agent", "median", "p95", "most"):
        table.add_column(heading, justify="left" if heading == "agent" else "right")
    for name in spec or SPECS[game]:
        agent: Any = make_agent(name, playing)
        agent.act(*positions[0], np.random.default_rng(0))
        took = []
        for view, mask in positions:
            rng = np.random.default_rng(len(took))
            with one_thread():  # of networks
                start = clock()
                agent.act(view, mask, rng)
                took.append(1000 * (clock() - start))
        median, high = np.percentile(took, (50, 95))
        table.add_row(name, f"{median:.2f}", f"{high:.2f}", f"{max(took):.2f}")
    Console(highlight=False).print(table)


def choices_of(game: Any, games: int, seed: int) -> Any:
    """Yields (view, mask) wherever greedy has a choice in games with itself."""
    greedy: Any = make_agent("greedy", game)
    states, rows = game.new(np.arange(games, dtype=np.uint64) + seed), np.arange(games)
    game.deal(states, rows)
    while rows.size:
        views = game.views(states, rows, game.players(states, rows))
        masks = game.masks(views)
        yield from zip(views[masks.sum(1) > 1], masks[masks.sum(1) > 1], strict=True)
        status, _ = game.step(states, rows, greedy.act_batch(views, masks, None))
        rows = rows[status == 0]


if __name__ == "__main__":
    tyro.cli(main)
