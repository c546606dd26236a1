"""`tricktable match`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from tricktable_lab.commands.bars import progress
from tricktable_lab.commands.options import (
    DONE,
    FAILED,
    AsJson,
    OfGame,
    UsageError,
    complain,
)
from tricktable_lab.interrupts import held_back

if TYPE_CHECKING:
    from tricktable_lab.match import MatchResult
    from tricktable_lab.sprt import Sprt

DEALS, SPRT_DEALS = 1000, 100_000
"""Number of deals unless another is given: of a match, and at most of one with a test."""


@dataclass(frozen=True, kw_only=True)
class Match(OfGame):
    """Lets two agents play every deal once in each seating, and gives A's win rate.

    With --sprt the match ends when the test has decided; exit code 0 says that A is ELO1 stronger,
    1 that it is not or that the deals were too few.

    Example: tricktable match greedy random --deals 2000 --workers 2 --records games.jsonl
    """

    a: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="A")]
    """Spec of the agent whose rates are given; see `tricktable agents`."""
    b: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="B")]
    """Spec of the other agent, who takes all other seats."""
    deals: int | None = None
    """Number of deals: 1000, or with --sprt at most 100,000."""
    seed: int = 0
    """Same seed, same result, whatever the number of workers."""
    workers: int = 1
    """Number of processes."""
    records: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """Add the record of every game to this file; those in it already are not played again."""
    sprt: Annotated[str | None, tyro.conf.arg(metavar="ELO0,ELO1")] = None
    """Stop as soon as it is clear whether A is ELO0 or ELO1 stronger, as in 0,10."""
    alpha: float = 0.05
    """With --sprt: how often ELO1 may be accepted where ELO0 holds."""
    beta: float = 0.05
    """With --sprt: how often ELO0 may be accepted where ELO1 holds."""
    control: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Also give the rate with luck taken out, and how many deals that is worth."""
    as_json: AsJson = False
    """Print one JSON document."""

    def run(self) -> int:
        """Plays the match; stopped by Ctrl-C it gives what is known by then."""
        with held_back():
            from tricktable_env.opponents import AgentActionError
            from tricktable_lab.match import MatchInterrupted, WorkerDiedError, play_match
            from tricktable_lab.table import MatchError

            game = self.make_game()
            test = self._test()
        deals = self.deals if self.deals is not None else DEALS if test is None else SPRT_DEALS
        result: MatchResult | None
        try:
            with progress(deals) as watch:
                result = play_match(
                    *(game, self.a, self.b, deals, self.seed, self.workers, watch),
                    records=self.records,
                    sprt=test,
                    control=self.control,
                )
        except (AgentActionError, MatchError) as error:
            return complain(error, FAILED)
        except (MatchInterrupted, WorkerDiedError) as stop:
            result = stop.result
            why = f"{stop}; " if isinstance(stop, WorkerDiedError) else ""
            played = result.deals if result else 0
            complain(f"{why}stopped after {played} of {deals} deals", FAILED)
        if result is None:
            return FAILED
        self._show(result)
        if result.sprt is not None:
            return DONE if result.sprt.decision == "H1" else FAILED
        return DONE if result.deals == deals else FAILED

    def _test(self) -> Sprt | None:
        from tricktable_lab.sprt import Sprt

        if self.sprt is None:
            if (self.alpha, self.beta) != (0.05, 0.05):
                raise UsageError("alpha and beta are of a test: give --sprt ELO0,ELO1 too")
            return None
        try:
            elo0, elo1 = map(float, self.sprt.split(","))
        except ValueError:
            raise UsageError(f"sprt {self.sprt!r} is not ELO0,ELO1, as 0,10") from None
        return Sprt(elo0, elo1, self.alpha, self.beta)

    def _show(self, result: MatchResult) -> None:
        from tricktable_lab import listing

        if self.as_json:
            print(json.dumps(result.as_json()))
        else:
            listing.show(listing.match_table(result))
