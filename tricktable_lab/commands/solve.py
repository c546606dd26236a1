"""`tricktable solve`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from tricktable_lab.commands.bars import counting
from tricktable_lab.commands.options import DONE, FAILED, AsJson, UsageError
from tricktable_lab.interrupts import held_back


@dataclass(frozen=True)
class Solve:
    """Tells the tricks of the seat to act for each legal card, all cards known, both sides perfect.

    The trick in progress counts; before the call it is each `trump S`. Exit code 1 when a line of
    the file is no position, or when --seconds were too few.

    Example: tricktable solve "C H - 8-15 ..4. 3D,7D ... TC,6C,4C"
    """

    position: Annotated[tyro.conf.Positional[str | None], tyro.conf.arg(metavar="POSITION")] = None
    """The position, of any score."""
    file: Path | None = None
    """Positions instead: one a line, or JSON Lines with a `position` and perhaps `rules`."""
    seconds: float | None = None
    """Give the bounds proven by then, for each position."""
    workers: int = 1
    """Number of threads for the lines of a file; the answers don't depend on it."""
    entries: int | None = None
    """Size of the solver's table, a power of two; it changes the time alone."""
    as_json: AsJson = False
    """Print one JSON document, of a file a JSON line a position."""

    def run(self) -> int:
        """Solves the position, or every line of the file."""
        with held_back():
            from tricktable_lab import solve

        if (self.position is None) == (self.file is None):
            raise UsageError("solve takes a POSITION or --file FILE, one of the two")
        if self.workers < 1:
            raise UsageError(f"workers={self.workers} is not 1 or more")
        if self.seconds is not None and not self.seconds >= 0:
            raise UsageError(f"seconds={self.seconds} is not 0 or more")
        if self.file is None:
            return self._one(self.position or "")
        lines = self.file.read_bytes().splitlines()
        with counting("positions", len(lines)) as count:
            solutions = []
            for number, solution in solve.solve_lines(
                lines, self.workers, self.entries, self.seconds
            ):
                count(number)
                solutions.append((number, solution))
                if self.as_json:
                    print(json.dumps(solve.as_json(number, solution)), flush=True)
        if not self.as_json:
            from tricktable_lab import listing

            listing.show(solve.solutions_table(solutions))
        done = (not isinstance(s, ValueError) and s.proven for _, s in solutions)
        return DONE if all(done) else FAILED

    def _one(self, position: str) -> int:
        from tricktable_env.tableau.solver import new_memory
        from tricktable_lab import listing, solve

        memory = None if self.entries is None else new_memory(self.entries)
        with counting("positions searched", None) as count:
            solution = solve.solve_text(position, None, memory, self.seconds, count)
        if self.as_json:
            print(json.dumps(solution.as_json()))
        else:
            listing.show(solve.solution_table(solution))
        return DONE if solution.proven else FAILED
