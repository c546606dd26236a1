"""Positions solved: the tricks of the seat to act for each legal card, all cards known."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from rich.markup import escape
from rich.table import Table

from tricktable_env.cards import Words
from tricktable_env.game import PositionError
from tricktable_env.tableau import Rules, Tableau
from tricktable_env.tableau.notation import Position, action_text, read_position
from tricktable_env.tableau.positions import lay_out
from tricktable_env.tableau.solver import Bounds, NotProvenError, new_memory, solve_moves
from tricktable_env.tableau.state import MAX_PILES

Watch: TypeAlias = Callable[[int], None]
"""Called now and then with the nodes searched of a position."""


class LineError(ValueError):
    """A line of a file that is no position."""


class _StoppedError(Exception):
    """Raised in the threads that solve, when nobody waits for them any more."""


@dataclass(frozen=True)
class Solution:
    """What perfect play brings the seat to act."""

    position: str
    """The position, as it was given."""
    tricks_left: int
    """Tricks to play, the one in progress included."""
    best: Bounds
    """Tricks of the seat to act."""
    moves: Mapping[str, Bounds]
    """The same for each legal card or call, by its text; all bounds meet unless time ran out."""

    @property
    def proven(self) -> bool:
        """Whether all bounds meet."""
        return all(bounds.low == bounds.high for bounds in (self.best, *self.moves.values()))

    def as_json(self) -> dict[str, Any]:
        """Returns the JSON document; what is not proven is null, and `bounds` has what is known."""
        document = {
            "position": self.position,
            "best": _exact(self.best),
            "moves": {move: _exact(bounds) for move, bounds in self.moves.items()},
        }
        if self.proven:
            return document
        moves = {move: [bounds.low, bounds.high] for move, bounds in self.moves.items()}
        return document | {"bounds": {"best": [self.best.low, self.best.high], "moves": moves}}


def solve_text(
    text: str,
    rules: Rules | None = None,
    memory: Words | None = None,
    seconds: float | None = None,
    watch: Watch | None = None,
) -> Solution:
    """Solves the position of a text.

    Args:
        text: a whole position; its score may be any.
        rules: who leads first and which suits can be called, of a position before the call.
        memory: the solver's, see `new_memory`.
        seconds: after that many it gives the bounds it has.
        watch: called now and then with the nodes searched.

    Raises:
        NotationError: no position.
        PositionError: cards are unseen, or there are more piles than any rules have.
    """
    position = read_position(text)
    state = _state_of(position, text, rules or Rules())
    try:
        values = solve_moves(state, memory, seconds=seconds, watch=watch)
    except NotProvenError as stop:
        best, moves = stop.best, stop.moves
    else:
        best = Bounds(*[max(values.values(), default=0)] * 2)
        moves = {action: Bounds(value, value) for action, value in values.items()}
    by_text = {action_text(action): bounds for action, bounds in moves.items()}
    return Solution(text, max(position.left(0), position.left(1)), best, by_text)


def solve_lines(
    lines: Sequence[bytes],
    workers: int = 1,
    entries: int | None = None,
    seconds: float | None = None,
) -> Iterator[tuple[int, Solution | ValueError]]:
    """Solves the position of every line that is not blank.

    Args:
        lines: the lines of a file, as UTF-8: positions, or JSON objects with a `position` and, if
            they matter, `rules`.
        workers: threads; the answers don't depend on it.
        entries: table entries of each thread; None suits each position.
        seconds: for each position.

    Yields:
        The line's number, from 1, and its solution or what is wrong with it, in order.
    """
    rows = [(number, line) for number, line in enumerate(lines, start=1) if line.strip()]
    stop = threading.Event()
    own = threading.local()

    def watch(nodes: int) -> None:
        if stop.is_set():
            raise _StoppedError

    def work(row: tuple[int, bytes]) -> tuple[int, Solution | ValueError]:
        if entries is not None and not hasattr(own, "memory"):
            own.memory = new_memory(entries)
        try:
            text, rules = read_line(row[1])
            memory = own.memory if entries is not None else None
            return row[0], solve_text(text, rules, memory, seconds, watch)
        except ValueError as error:
            return row[0], error

    if workers == 1:  # in this thread, where Ctrl-C arrives
        yield from map(work, rows)
        return
    with ThreadPoolExecutor(workers) as pool:
        try:
            yield from pool.map(work, rows)
        finally:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)


def read_line(line: bytes) -> tuple[str, Rules]:
    """Reads a line: a position, or a JSON object that has one.

    Raises:
        LineError: neither.
        RulesError: `rules` that make no sense.
    """
    text = line.decode("utf-8-sig", "backslashreplace").strip()
    if not text.startswith("{"):
        return text, Rules()
    try:
        row = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise LineError(f"no JSON: {error}") from error
    position, rules = row.get("position"), row.get("rules", {})
    if not isinstance(position, str):
        raise LineError(f"'position' is {_short(position)}, not the text of a position")
    if not isinstance(rules, dict):
        raise LineError(f"'rules' is {_short(rules)}, not an object of options")
    return position, Tableau(**_known(rules)).rules


def as_json(line: int, solution: Solution | ValueError) -> dict[str, Any]:
    """Returns the JSON document of a line of a file."""
    if isinstance(solution, ValueError):
        return {"line": line, "error": str(solution)}
    return solution.as_json()


def _known(rules: Mapping[str, Any]) -> dict[str, Any]:
    known = Rules.__dataclass_fields__
    for key in rules:
        if key not in known:
            raise LineError(f"no rule {key!r} in tableau; its rules: {', '.join(known)}")
    return dict(rules)


def _state_of(position: Position, text: str, rules: Rules) -> Words:
    if position.is_seen_by_one_seat:
        raise PositionError(f"{text!r} is what one seat sees; solving needs every card")
    if max(map(len, position.tables)) > MAX_PILES:
        raise PositionError(f"{text!r} has more than {MAX_PILES} piles on a side")
    state: Words = Tableau(**vars(rules)).new(np.zeros(1, np.uint64))[0]
    lay_out(state, position, rules)
    return state


def _exact(bounds: Bounds) -> int | None:
    return bounds.low if bounds.low == bounds.high else None


def _short(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


# -- shown to a person -----------------------------------------------------------------------
def solution_table(solution: Solution) -> Table:
    """The moves of one position, the best first."""
    seat = {"C": "caller", "D": "dealer"}[solution.position[0]]
    table = Table(title=f"{seat} to act takes {_words(solution.best)} of {solution.tricks_left}")
    table.add_column("move")
    table.add_column("tricks", justify="right")
    for bounds, moves in _by_value(solution.moves):
        table.add_row(", ".join(moves), _words(bounds))
    return table


def solutions_table(solutions: Iterable[tuple[int, Solution | ValueError]]) -> Table:
    """The best moves of many positions."""
    table = Table()
    for heading in ("line", "left", "tricks", "best moves"):
        table.add_column(heading, justify="left" if heading == "best moves" else "right")
    for line, solution in solutions:
        if isinstance(solution, ValueError):
            table.add_row(str(line), "", "", escape(f"failed: {solution}"), style="red")
            continue
        moves = next((moves for _, moves in _by_value(solution.moves)), [])
        left, best = str(solution.tricks_left), _words(solution.best)
        table.add_row(str(line), left, best, ", ".join(moves))
    return table


def _by_value(moves: Mapping[str, Bounds]) -> list[tuple[Bounds, list[str]]]:
    values = sorted(set(moves.values()), key=lambda b: (-b.low, -b.high))
    return [(value, [move for move in moves if moves[move] == value]) for value in values]


def _words(bounds: Bounds) -> str:
    return str(bounds.low) if bounds.low == bounds.high else f"{bounds.low} to {bounds.high}"
