"""How fast the solver is: positions of random and of greedy play, by tricks left, on one core.

Seconds are processor time of this process, the kernels compiled and the memory made before; every
position starts with an empty table. `exact` is `solve`, `wins` the one search that says whether the
seat to act takes more than half of the tricks left. The yardstick is random games of the same
engine in the same run, so that figures of different machines can be set against each other.

    python benchmarks/solver.py
    python benchmarks/solver.py --left 26 --deals 60 --no-exact
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import tyro
from rich.console import Console
from rich.table import Table

from agents.greedy import GreedyAgent
from tricktable_env.cards import Words
from tricktable_env.tableau import Tableau
from tricktable_env.tableau.rules import play_random_games
from tricktable_env.tableau.solver import BEST, BEST_OF_ALL, begin, narrow, new_memory
from tricktable_env.tableau.solver.memory import NODES, TABLE
from tricktable_env.tableau.state import LEAD, LEFT, NOT_CALLED, TRUMP

FAR = 20
"""From more tricks left on there are fewer deals."""
PEERS = """\
Published speeds of double-dummy solvers of bridge. Four hands, 13 tricks and no face-down cards are
another tree, so this compares no solvers.
  bridge-solver (https://github.com/macroxue/bridge-solver, its README): the 20 values of a deal,
  five strains and four declarers, in 0.34 s in the example shown.
  DDS by B. Haglund (https://bridge.thomasoandrews.com/bridge/deal/dds.html, T. Andrews): fast
  mostly; a deal with a void in each hand took 90 minutes, later 5 with newer software and hardware.
"""


def main(
    left: tuple[int, ...] = (8, 10, 12, 14, 16, 18, 20, 22, 24, 26),
    deals: int = 200,
    far_deals: int = 60,
    seed: int = 1,
    play: tuple[str, ...] = ("random", "greedy"),
    exact: bool = True,
    wins: bool = True,
    seconds: float = 600.0,
) -> None:
    """Prints the figures.

    Args:
        left: tricks left.
        deals: seeded deals a row, up to 20 tricks left.
        far_deals: the same for more.
        seed: the first deal's.
        play: how deals are played until then.
        exact: measure exact values.
        wins: measure win or lose.
        seconds: processor time after which a row takes no further deal; the row says how many.
    """
    console = Console(width=110)
    console.print(f"yardstick: {_yardstick():,.0f} random games a second")
    for sample in play:
        table = Table(title=f"positions of {sample} play, seeds from {seed}")
        for name in (
            "left",
            "asked",
            "deals",
            "median ms",
            "p95 ms",
            "max ms",
            "nodes",
            "knodes/s",
        ):
            table.add_column(name, justify="right")
        table.add_column("MiB", justify="right")
        for n in left:
            states = positions(sample, n, deals if n <= FAR else far_deals, seed)
            memory = new_memory(1 << max(10, min(n, 23)))
            for asked, wanted in (("exact", BEST), ("wins", n // 2 + 1)):
                if (exact, wins)[wanted != BEST]:
                    _add_row(table, asked, n, _measure(states, memory, wanted, seconds), memory)
        console.print(table)
    console.print(PEERS)


def positions(sample: str, left: int, count: int, seed: int) -> Words:
    """Seeded deals, played until `left` tricks are left and the next is to be led."""
    game = Tableau()
    states = game.new(np.arange(seed, seed + count, dtype=np.uint64))
    game.deal(states, np.arange(count))
    rngs = [np.random.default_rng((seed, i)) for i in range(count)]
    agent = GreedyAgent(game)
    while True:
        to_go = (states[:, LEFT] > left) | (states[:, TRUMP] == NOT_CALLED) | (states[:, LEAD] != 0)
        rows = np.flatnonzero(to_go)
        if not len(rows):
            return states
        views = game.views(states, rows, game.players(states, rows))
        masks = game.masks(views)
        if sample == "greedy":
            actions = agent.act_batch(views, masks, [rngs[i] for i in rows])
        else:
            actions = np.array(
                [rngs[i].choice(np.flatnonzero(mask)) for i, mask in zip(rows, masks, strict=True)]
            )
        game.step(states, rows, np.asarray(actions, np.int64))


Sample = tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]


def _measure(states: Words, memory: Words, wanted: int, limit: float) -> Sample:
    """Processor seconds and nodes of each state, as far as the limit allows."""
    low, high = np.empty(BEST_OF_ALL + 1, np.int64), np.empty(BEST_OF_ALL + 1, np.int64)
    begin(states[0], memory, low, high)
    narrow(states[0], memory, low, high, 1, 1)  # compiles
    times: list[float] = []
    nodes: list[int] = []
    while len(times) < len(states) and sum(times) < limit:
        state = states[len(times)]
        memory[TABLE:] = 0
        before, started = int(memory[NODES]), time.process_time()
        begin(state, memory, low, high)
        narrow(state, memory, low, high, wanted, 1 << 60)
        times.append(time.process_time() - started)
        nodes.append(int(memory[NODES]) - before)
    return np.array(times), np.array(nodes)


def _add_row(table: Table, asked: str, left: int, sample: Sample, memory: Words) -> None:
    times, nodes = sample
    ms = [f"{1000 * f(times):,.2f}" for f in (np.median, _p95, np.max)]
    speed = f"{nodes.sum() / times.sum() / 1000:,.0f}"
    size = f"{memory.nbytes / 2**20:.1f}"
    row = (left, asked, len(times), *ms, f"{np.median(nodes):,.0f}", speed, size)
    table.add_row(*map(str, row))


def _p95(values: npt.NDArray[np.float64]) -> float:
    return float(np.quantile(values, 0.95))


def _yardstick(seconds: float = 1.0) -> float:
    state = Tableau().new(np.array([1], np.uint64))[0]
    return _rate(lambda: play_random_games(state, 2000) * 0 + 2000, seconds)


def _rate(work: Callable[[], int], seconds: float) -> float:
    work()
    done, started = 0, time.process_time()
    while time.process_time() - started < seconds:
        done += work()
    return done / (time.process_time() - started)


if __name__ == "__main__":
    tyro.cli(main)
