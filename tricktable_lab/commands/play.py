"""`tricktable play`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from tricktable_lab.commands.options import DONE, FAILED, AsJson, OfGame, complain
from tricktable_lab.interrupts import held_back


@dataclass(frozen=True, kw_only=True)
class Play(OfGame):
    """Lets you play against an agent; `quit`, the end of the input or Ctrl-C stop the game.

    Example: tricktable play --opponent greedy --seat caller --record mine.jsonl
    """

    opponent: Annotated[str, tyro.conf.arg(metavar="SPEC")] = "random"
    """Spec of the agent in all other seats; see `tricktable agents`."""
    seat: str = "random"
    """Your seat: caller or dealer, a number where seats have no names, or random."""
    seed: int | None = None
    """The same deal and the same opponent again; drawn and shown if left out."""
    record: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """Add a record of each round, which `tricktable replay` reads, to this file."""
    as_json: AsJson = False
    """Print the records as JSON Lines, and everything else on stderr."""

    def run(self) -> int:
        """Plays; whatever was played is recorded, however it ends."""
        with held_back():
            from tricktable_env.opponents import AgentActionError
            from tricktable_lab.play import PlayError, play

            game = self.make_game()
        try:
            play(game, self.opponent, self.seat, self.seed, self.record, self.as_json)
        except (AgentActionError, PlayError) as error:
            return complain(error, FAILED)
        return DONE
