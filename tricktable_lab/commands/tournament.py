"""`tricktable tournament`."""

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
    from tricktable_lab.tournament import TournamentResult


@dataclass(frozen=True, kw_only=True)
class Tournament(OfGame):
    """Lets every agent play every other on the same deals, and rates them (Bradley-Terry).

    Intervals are 95%, by bootstrap over deals. The order of the agents changes nothing. One game a
    pair is supposed drawn, so that ratings stay finite where an agent won all.

    Example: tricktable tournament greedy random policy:runs/mine --deals 2000 --plot ratings.png
    """

    agents: Annotated[tyro.conf.Positional[tuple[str, ...]], tyro.conf.arg(metavar="AGENT ...")]
    """Specs of two or more agents; see `tricktable agents`."""
    deals: int = 1000
    """Number of deals of every pair."""
    seed: int = 0
    """Same seed, same result, whatever the number of workers."""
    workers: int = 1
    """Number of processes."""
    anchor: Annotated[str | None, tyro.conf.arg(metavar="AGENT")] = None
    """Whose rating is 0: greedy, else random, else the first name."""
    records: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """Add the record of every game to this file; those in it already are not played again."""
    plot: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """Draw ratings and results to this file, as ratings.png."""
    as_json: AsJson = False
    """Print one JSON document."""

    def run(self) -> int:
        """Plays the tournament; stopped by Ctrl-C it rates what is known by then."""
        with held_back():
            from tricktable_env.opponents import AgentActionError
            from tricktable_lab.pictures import check_target
            from tricktable_lab.table import MatchError
            from tricktable_lab.tournament import TournamentStoppedError, play_tournament

            game = self.make_game()
        if self.plot is not None:
            check_target(self.plot)
        code = DONE
        result: TournamentResult | None
        pairs = len(self.agents) * (len(self.agents) - 1) // 2
        try:
            with counting("deals of pairs", self.deals * pairs) as watch:
                result = play_tournament(
                    *(game, self.agents, self.deals, self.seed, self.workers),
                    anchor=self.anchor,
                    records=self.records,
                    watch=watch,
                )
        except (AgentActionError, MatchError) as error:
            return complain(error, FAILED)
        except TournamentStoppedError as stop:
            result = stop.result
            played = result.deals if result else 0
            code = complain(f"{stop} after {played} of {self.deals} deals of all pairs", FAILED)
        if result is not None:
            self._show(result)
        return code

    def _show(self, result: TournamentResult) -> None:
        from tricktable_lab import listing, pictures

        if self.plot is not None:
            pictures.draw_tournament(result, self.plot)
        if self.as_json:
            print(json.dumps(result.as_json()))
            return
        for table in listing.tournament_tables(result):
            listing.show(table)
