"""Which layout of a batch of games is fastest: a packed row a game, or an array a field?

Both run the engine's own kernels: `packed` stores the words of one game side by side (C order),
`array a field` stores one word of all games side by side (Fortran order). Each is timed in turn,
several rounds, on dealing, random play to the end, and on the observation with its mask; printed
are nanoseconds a row and the ratio of the medians. The last table is what one call from Python
into a kernel costs by the form of its arguments.

    python benchmarks/layouts.py
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import tyro
from rich.console import Console
from rich.table import Table

from tricktable_env.bits import ZERO
from tricktable_env.jit import kernel
from tricktable_env.registry import make_game
from tricktable_env.tableau.batch import deal_rows, observe_rows
from tricktable_env.tableau.rules import act, random_action
from tricktable_env.tableau.state import LEFT, RNG, TRICKS, WORDS


@kernel
def play_rows(states: np.ndarray) -> None:
    """Takes one random action in each row, row by row, as a batch in lockstep does."""
    for i in range(states.shape[0]):
        s = states[i]
        if s[LEFT] != ZERO:
            act(s, random_action(s, s, RNG))


@kernel
def read_row(states: np.ndarray) -> np.uint64:
    """Reads one word of a packed batch."""
    return states[0, TRICKS]


@kernel
def read_record(records: np.ndarray) -> np.uint64:
    """Reads one word of a record array."""
    return records[0].w15


@kernel
def read_fields(fields: NamedTuple) -> np.uint64:
    """Reads one word of a tuple of arrays."""
    return fields.f3[0]


class Fields(NamedTuple):
    """Twelve arrays, as a state of an array a field would have."""

    f0: Any
    f1: Any
    f2: Any
    f3: Any
    f4: Any
    f5: Any
    f6: Any
    f7: Any
    f8: Any
    f9: Any
    f10: Any
    f11: Any


def main(games: tuple[int, ...] = (64, 1024, 4096), rounds: int = 7) -> None:
    """Prints the comparison.

    Args:
        games: sizes of the batch.
        rounds: how often each layout is timed, in turn.
    """
    console = Console()
    table = Table(
        "games", "work", "packed ns", "array a field ns", "ratio", title="ns a row, median"
    )
    for size in games:
        for work, values in _compare(size, rounds).items():
            packed, fields = np.median(values, axis=1)
            table.add_row(
                str(size), work, f"{packed:.1f}", f"{fields:.1f}", f"{fields / packed:.2f}"
            )
    console.print(table)
    console.print(_call_costs())


def _compare(size: int, rounds: int) -> dict[str, np.ndarray]:
    """Nanoseconds a row: `[2, rounds] float64` for each kind of work."""
    game = make_game("tableau")
    rows = np.arange(size)
    out = np.empty((size, game.observation_size), np.uint8)
    mask = np.empty((size, game.num_actions), np.int8)
    layouts = [game.new(np.arange(size, dtype=np.uint64))]
    layouts.append(np.asfortranarray(layouts[0]))
    times = {work: np.zeros((2, rounds)) for work in ("deal", "play", "observe")}
    repeats = max(1, 4096 // size)
    for turn in range(-1, rounds):  # the first turn compiles
        for which, states in enumerate(layouts):
            spent = dict.fromkeys(times, 0)
            for _ in range(repeats):
                spent["deal"] += _nanoseconds(deal_rows, states, rows)
                players = game.players(states, rows)
                for _ in range(53):
                    spent["play"] += _nanoseconds(play_rows, states)
                    spent["observe"] += _nanoseconds(observe_rows, states, rows, players, out, mask)
            for work, total in spent.items():
                steps = 1 if work == "deal" else 53
                times[work][which, turn] = total / (size * repeats * steps)
    return times


def _nanoseconds(function: Callable[..., Any], *arguments: Any) -> int:
    started = time.perf_counter_ns()
    function(*arguments)
    return time.perf_counter_ns() - started


def _call_costs(calls: int = 100_000) -> Table:
    packed = np.zeros((1, WORDS), np.uint64)
    record = packed.view([(f"w{i}", np.uint64) for i in range(WORDS)]).reshape(1).view(np.recarray)
    fields = Fields(*(np.zeros(1, np.uint64) for _ in range(12)))
    table = Table("argument", "microseconds a call", title="Python into a kernel")
    for name, function, argument in (
        ("one packed array", read_row, packed),
        ("a record array", read_record, record),
        ("a NamedTuple of twelve arrays", read_fields, fields),
    ):
        function(argument)
        started = time.perf_counter_ns()
        for _ in range(calls):
            function(argument)
        table.add_row(name, f"{(time.perf_counter_ns() - started) / calls / 1000:.2f}")
    return table


if __name__ == "__main__":
    tyro.cli(main)
