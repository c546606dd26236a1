"""How fast the solver is: positions of random and of greedy play, by tricks left, on one core.

Times are processor time of this process, with the kernels compiled and the memory made before;
every position starts with an empty table. `exact` is `solve`, `wins` the one search that says
whether the seat to act takes more than half of the tricks left. A position that takes more than
`--budget` stays unproven, is counted as such and as slower than all others. The yardstick is random
games of the same engine in the same run, so that figures of different machines can be compared.

With `--records FILE` every position is noted when it is done. The same command goes on where a
killed run was, `--deals` raised adds to it; positions of another solver are measured anew.

    python benchmarks/solver.py --left 8 10 12 14 16 18 20
    python benchmarks/solver.py --left 22 24 26 --deals 30 --budget 600 --records whole-deals.jsonl
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import tyro
from rich.console import Console
from rich.table import Table

from agents.greedy import GreedyAgent
from tricktable_env.cards import Words
from tricktable_env.tableau import Tableau, solver
from tricktable_env.tableau.rules import play_random_games
from tricktable_env.tableau.solver import BEST, BEST_OF_ALL, begin, narrow, new_memory
from tricktable_env.tableau.solver.memory import NODES, TABLE
from tricktable_env.tableau.state import LEAD, LEFT, NOT_CALLED, TRUMP

SLICE = 1 << 20
"""Nodes between looks at the clock."""
PEERS = """\
Published speeds of double-dummy solvers of bridge. Four hands, 13 tricks and no face-down cards are
another tree, so this compares no solvers.
  DDS (https://github.com/dds-bridge/dds/pull/368, 1,000 random deals, one thread): 88 ms for the 20
  values of a deal, five strains and four declarers; 19 ms for the value of each card of a lead.
  bridge-solver (https://github.com/dds-bridge/dds/issues/367, the same deals): 88 ms for the 20.
"""

Record: TypeAlias = dict[str, Any]
"""A line of the records: a position measured, or the yardstick of a run."""


@dataclass(frozen=True)
class Settings:
    """What to measure."""

    left: tuple[int, ...] = (8, 10, 12, 14, 16, 18, 20)
    """Tricks left, a row each."""
    deals: int = 200
    """Seeded deals a row."""
    seed: int = 1
    """The first deal's."""
    play: tuple[str, ...] = ("random", "greedy")
    """How deals are played until then."""
    asked: tuple[str, ...] = ("exact", "wins")
    """What is asked of each position."""
    budget: float = 600.0
    """Seconds of processor time for a position."""
    records: Path | None = None
    """Keep what is measured in this file, JSON Lines, and measure none of it again."""


def main(settings: Settings) -> None:
    """Measures what is not measured yet, then prints all."""
    console = Console(width=110)
    records = Records(settings.records)
    for play in settings.play:
        for left in settings.left:
            measure_row(settings, play, left, records)
    for play in settings.play:
        table = Table(title=f"positions of {play} play, seeds from {settings.seed}")
        for name in COLUMNS:
            table.add_column(name, justify="right")
        for left in settings.left:
            for asked in settings.asked:
                if rows := list(records.rows(play, left, asked, settings)):
                    table.add_row(*row_texts(left, asked, rows, settings.budget))
        console.print(table)
    games = ", ".join(f"{row['games']:,.0f}" for row in records.all if "games" in row)
    console.print(f"yardstick, random games a second, by run: {games}\n\n{PEERS}")


class Records:
    """What has been measured with this very solver, and the file that keeps it.

    Args:
        file: JSON Lines, read and added to; None keeps nothing.
    """

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._solver = _digest()
        lines = file.read_text().splitlines() if file is not None and file.exists() else []
        rows = [json.loads(line) for line in lines if line.endswith("}")]  # a kill cuts the last
        self.all: list[Record] = [row for row in rows if row["solver"] == self._solver]
        if file is not None and lines and not lines[-1].endswith("}"):
            file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))

    def add(self, **row: Any) -> None:
        """Keeps one more."""
        self.all.append({"solver": self._solver, **row})
        if self._file is not None:
            with self._file.open("a") as out:
                out.write(json.dumps(self.all[-1]) + "\n")

    def rows(self, play: str, left: int, asked: str, settings: Settings) -> Iterator[Record]:
        """Those of a row of the table: a deal each; unproven ones only if the budget was as big."""
        deals = range(settings.seed, settings.seed + settings.deals)
        for row in self.all:
            if (row.get("play"), row.get("left"), row.get("asked")) == (play, left, asked):
                proven = row["low"] == row["high"] or (asked == "wins" and decided(row))
                if row["deal"] in deals and (proven or row["cpu"] >= settings.budget):
                    yield row


def measure_row(settings: Settings, play: str, left: int, records: Records) -> None:
    """Measures the positions of a row that the records lack."""
    done = {
        (asked, row["deal"])
        for asked in settings.asked
        for row in records.rows(play, left, asked, settings)
    }
    deals = range(settings.seed, settings.seed + settings.deals)
    todo = [(asked, deal) for deal in deals for asked in settings.asked]
    todo = [key for key in todo if key not in done]
    if not todo:
        return
    states = positions(play, left, settings.deals, settings.seed)
    memory = new_memory(entries_for(left))
    low, high = np.empty(BEST_OF_ALL + 1, np.int64), np.empty(BEST_OF_ALL + 1, np.int64)
    begin(states[0], memory, low, high)
    narrow(states[0], memory, low, high, 1, 1)  # compiles
    records.add(games=yardstick())
    for asked, deal in todo:
        state = states[deal - settings.seed]
        wanted = BEST if asked == "exact" else left // 2 + 1
        memory[TABLE:] = 0
        nodes, wall, cpu = int(memory[NODES]), time.perf_counter(), time.process_time()
        begin(state, memory, low, high)
        while not narrow(state, memory, low, high, wanted, SLICE):
            if time.process_time() - cpu > settings.budget:
                break
        records.add(
            play=play,
            left=left,
            deal=deal,
            asked=asked,
            low=int(low[BEST_OF_ALL]),
            high=int(high[BEST_OF_ALL]),
            cpu=round(time.process_time() - cpu, 6),
            wall=round(time.perf_counter() - wall, 6),
            nodes=int(memory[NODES]) - nodes,
            entries=entries_for(left),
        )


def positions(play: str, left: int, count: int, seed: int) -> Words:
    """Seeded deals, played until `left` tricks are left and the next is to be led."""
    game = Tableau()
    states = game.new(np.arange(seed, seed + count, dtype=np.uint64))
    game.deal(states, np.arange(count))
    rngs = [np.random.default_rng(seed + i) for i in range(count)]
    agent = GreedyAgent(game)
    while True:
        to_go = (states[:, LEFT] > left) | (states[:, TRUMP] == NOT_CALLED) | (states[:, LEAD] != 0)
        rows = np.flatnonzero(to_go)
        if not len(rows):
            return states
        views = game.views(states, rows, game.players(states, rows))
        masks = game.masks(views)
        if play == "greedy":
            actions = agent.act_batch(views, masks, [rngs[i] for i in rows])
        else:
            actions = np.array(
                [rngs[i].choice(np.flatnonzero(mask)) for i, mask in zip(rows, masks, strict=True)]
            )
        game.step(states, rows, np.asarray(actions, np.int64))


def entries_for(left: int) -> int:
    """The size of the table for a row."""
    return 1 << max(10, min(left, 24))


def decided(row: Record) -> bool:
    """Whether it is known that the seat to act takes more than half, or that it does not."""
    k = row["left"] // 2 + 1
    return bool(row["low"] >= k or row["high"] < k)


COLUMNS = (
    "left",
    "asked",
    "deals",
    "unproven",
    "median ms",
    "p95 ms",
    "max ms",
    "nodes",
    "knodes/s",
    "MiB",
)


def row_texts(left: int, asked: str, rows: list[Record], budget: float) -> list[str]:
    """The texts of a row of the table; unproven positions are slower than all others."""
    proven = [row["low"] == row["high"] or (asked == "wins" and decided(row)) for row in rows]
    cpu = np.array([row["cpu"] for row in rows])
    times = np.where(proven, cpu, np.inf)
    nodes = np.array([row["nodes"] for row in rows])
    ranks = [np.quantile(times, q, method="higher") for q in (0.5, 0.95, 1)]
    mib = (TABLE + 2 * entries_for(left)) * 8 / 2**20
    return [
        str(left),
        asked,
        str(len(rows)),
        str(proven.count(False)),
        *(milliseconds(seconds, budget) for seconds in ranks),
        f"{np.median(nodes):,.0f}",
        f"{nodes.sum() / cpu.sum() / 1000:,.0f}",
        f"{mib:.1f}",
    ]


def milliseconds(seconds: float, budget: float) -> str:
    """A time as text; what is unproven took longer than the budget."""
    if seconds == np.inf:
        return f"over {1000 * budget:,.0f}"
    return f"{1000 * seconds:.3f}" if seconds < 0.1 else f"{1000 * seconds:,.0f}"


def yardstick(seconds: float = 1.0) -> float:
    """Random games a second of processor time."""
    state = Tableau().new(np.array([1], np.uint64))[0]
    play_random_games(state, 2000)
    games, started = 0, time.process_time()
    while time.process_time() - started < seconds:
        play_random_games(state, 2000)
        games += 2000
    return games / (time.process_time() - started)


def _digest() -> str:
    """Tells one version of the solver from another."""
    folder = Path(solver.__file__).parent
    sources = [file.read_bytes() for file in sorted(folder.glob("*.py"))]
    return hashlib.sha256(b"\0".join(sources)).hexdigest()[:12]


if __name__ == "__main__":
    main(tyro.cli(Settings, description=__doc__))
