"""`tricktable analyse`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from tricktable_lab.commands.bars import counting
from tricktable_lab.commands.options import DONE, FAILED, AsJson, UsageError, complain
from tricktable_lab.interrupts import held_back

if TYPE_CHECKING:
    from tricktable_lab.analyse import Analysis, Decision


@dataclass(frozen=True)
class Analyse:
    """Tells what every decision of a recorded game of Tableau gave away.

    All cards known, for each legal call and card: the tricks that its seat takes with perfect play
    from then on. With --worlds also the average over deals that the seat could not tell apart.

    Example: tricktable analyse mine.jsonl --worlds 20 --from 8 --plot game.png
    """

    file: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RECORD")]
    """A file of game records, as play and match write them."""
    line: int = 1
    """Which line of the file."""
    first: Annotated[int, tyro.conf.arg(name="from", metavar="TRICK")] = 0
    """Look at decisions from this trick on; 0 is the call."""
    seconds: float = 10.0
    """For each decision; the first ones of a whole deal may need more. Else there are bounds."""
    worlds: int = 0
    """Sample so many deals that agree with what the seat had seen, or as many as these seconds
    again allow."""
    seed: int = 0
    """Of these samples."""
    plot: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """Draw the game to this file, as game.png."""
    as_json: AsJson = False
    """Print one JSON document."""

    def run(self) -> int:
        """Analyses the game; stopped by Ctrl-C it tells of the decisions it has looked at."""
        with held_back():
            from tricktable_lab.analyse import Analysis
            from tricktable_lab.pictures import check_target
            from tricktable_lab.replay import RecordError, read_record

        self._check()
        if self.plot is not None:
            check_target(self.plot)
        lines = self.file.read_bytes().splitlines()
        if self.line > len(lines):
            raise UsageError(f"line={self.line}, but {self.file} has {len(lines)} lines")
        try:
            with held_back():
                analysis = Analysis(read_record(lines[self.line - 1]))
        except RecordError as error:
            return complain(f"{self.file} line {self.line}: {error}", FAILED)
        code = DONE
        decisions: list[Decision] = []
        try:
            with counting("decisions", analysis.plies(self.first)) as count:
                options = self.first, self.seconds, self.worlds, self.seed
                for decision in analysis.decisions(*options):
                    decisions.insert(0, decision)
                    count(len(decisions))
        except KeyboardInterrupt:
            code = complain(f"stopped; {len(decisions)} decisions are known", FAILED)
        if self.plot is not None and not decisions:
            code = complain("no decision to draw", FAILED)
        self._show(analysis, decisions)
        return code

    def _check(self) -> None:
        for name, low in (("line", 1), ("worlds", 0), ("seed", 0)):
            if getattr(self, name) < low:
                raise UsageError(f"{name}={getattr(self, name)} is not {low} or more")
        if self.first < 0:
            raise UsageError(f"from={self.first} is not 0 or more")
        if not self.seconds > 0:
            raise UsageError(f"seconds={self.seconds} is not more than 0")

    def _show(self, analysis: Analysis, decisions: list[Decision]) -> None:
        from tricktable_lab import analysed, listing

        if self.plot is not None and decisions:
            analysed.draw(analysis, decisions, self.plot)
        if self.as_json:
            print(json.dumps(analysed.as_json(analysis, decisions)))
        else:
            listing.show(analysed.table(analysis, decisions))
