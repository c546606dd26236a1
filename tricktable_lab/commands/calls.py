"""`tricktable calls`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from tricktable_lab.commands.bars import counting
from tricktable_lab.commands.options import DONE, FAILED, AsJson, OfGame, complain
from tricktable_lab.interrupts import held_back

if TYPE_CHECKING:
    from tricktable_lab.known.study import CallsResult


@dataclass(frozen=True, kw_only=True)
class Calls(OfGame):
    """Tells what calls are worth with all cards known, both sides perfect: who wins each deal.

    Every deal is solved with each trump and lead, and counts as dealt and with the seats' cards
    exchanged. A deal of 26 tricks takes from seconds to minutes, 17 seconds on average.

    Example: tricktable calls greedy montecarlo:worlds=200 --deals 20 --records calls.jsonl
    """

    agents: Annotated[tyro.conf.Positional[tuple[str, ...]], tyro.conf.arg(metavar="AGENT ...")] = (
        "greedy",
    )
    """Specs of agents that are asked for their call; see `tricktable agents`."""
    deals: int = 20
    """Number of deals."""
    seed: int = 0
    """Same seed, same deals, as in a match."""
    workers: int = 1
    """Number of processes; each may take 300 MiB."""
    tricks: Annotated[int, tyro.conf.arg(metavar="N")] = 0
    """In the first N deals also count the tricks, which takes about ten times as long."""
    seen: tuple[int, ...] = ()
    """Numbers of cards that agents see at the call, as in --seen 0 5 10; the rules' otherwise."""
    no_trump: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Also solve the deals without trump."""
    records: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """Add what is solved to this file; what it holds is not solved again."""
    plot: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """Draw the shares to this file, as calls.png."""
    as_json: AsJson = False
    """Print one JSON document."""

    def run(self) -> int:
        """Makes the study; stopped by Ctrl-C it gives what is known by then."""
        with held_back():
            from tricktable_env.opponents import AgentActionError
            from tricktable_lab.known.study import CallsStoppedError, study_calls
            from tricktable_lab.pictures import check_target
            from tricktable_lab.table import MatchError

            game = self.make_game()
        if self.plot is not None:
            check_target(self.plot)
        code = DONE
        result: CallsResult | None
        try:
            with counting("deals", self.deals) as watch:
                result = study_calls(
                    *(game, self.agents, self.deals, self.seed, self.workers),
                    seen=self.seen,
                    tricks=self.tricks,
                    no_trump=self.no_trump,
                    records=self.records,
                    watch=watch,
                )
        except (AgentActionError, MatchError) as error:
            return complain(error, FAILED)
        except CallsStoppedError as stop:
            result = stop.result
            solved = result.deals if result else 0
            code = complain(f"{stop} after {solved} of {self.deals} deals", FAILED)
        if result is not None:
            self._show(result)
        return code

    def _show(self, result: CallsResult) -> None:
        from tricktable_lab import listing
        from tricktable_lab.known import shown

        document = result.as_json()
        if self.plot is not None:
            shown.draw(document, self.plot)
        if self.as_json:
            print(json.dumps(document))
            return
        for table in shown.tables(document):
            listing.show(table)
