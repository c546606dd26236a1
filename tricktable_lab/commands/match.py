"""`tricktable match`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import tyro

from tricktable_lab.commands.bars import progress
from tricktable_lab.commands.options import DONE, FAILED, AsJson, OfGame, complain
from tricktable_lab.interrupts import held_back

if TYPE_CHECKING:
    from tricktable_lab.match import MatchResult


@dataclass(frozen=True, kw_only=True)
class Match(OfGame):
    """Lets two agents play every deal once in each seating, and gives A's win rate.

    Example: tricktable match greedy random --deals 2000 --workers 2
    """

    a: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="A")]
    """Spec of the agent whose rates are given; see `tricktable agents`."""
    b: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="B")]
    """Spec of the other agent, who takes all other seats."""
    deals: int = 1000
    """Number of deals."""
    seed: int = 0
    """Same seed, same result, whatever the number of workers."""
    workers: int = 1
    """Number of processes."""
    as_json: AsJson = False
    """Print one JSON document."""

    def run(self) -> int:
        """Plays the match; stopped by Ctrl-C it gives what is known by then."""
        with held_back():
            from tricktable_env.opponents import AgentActionError
            from tricktable_lab.match import (
                MatchError,
                MatchInterrupted,
                WorkerDiedError,
                play_match,
            )

            game = self.make_game()
        result: MatchResult | None
        try:
            with progress(self.deals) as watch:
                result = play_match(
                    game, self.a, self.b, self.deals, self.seed, self.workers, watch
                )
        except (AgentActionError, MatchError) as error:
            return complain(error, FAILED)
        except (MatchInterrupted, WorkerDiedError) as stop:
            result = stop.result
            why = f"{stop}; " if isinstance(stop, WorkerDiedError) else ""
            played = result.deals if result else 0
            complain(f"{why}stopped after {played} of {self.deals} deals", FAILED)
        if result is not None:
            self._show(result)
        return DONE if result is not None and result.deals == self.deals else FAILED

    def _show(self, result: MatchResult) -> None:
        from tricktable_lab import listing

        if self.as_json:
            print(json.dumps(result.as_json()))
        else:
            listing.show(listing.match_table(result))
