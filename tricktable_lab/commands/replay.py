"""`tricktable replay`."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from tricktable_lab.commands.options import DONE, FAILED, AsJson
from tricktable_lab.interrupts import held_back


@dataclass(frozen=True)
class Replay:
    """Plays recorded games through the engine and compares what they state with what happens.

    Exit code 1 when any record fails. Example: tricktable replay games.jsonl --json
    """

    file: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="FILE")]
    """Game records as JSON Lines."""
    as_json: AsJson = False
    """Print a JSON line a record."""

    def run(self) -> int:
        """Replays every record of the file."""
        with held_back():
            from tricktable_lab import listing
            from tricktable_lab.replay import RecordError, replay_lines

        failed = False
        table = listing.replay_table()
        with self.file.open("rb") as lines:
            replays = replay_lines(lines)
            with held_back():  # the first one compiles
                first = list(itertools.islice(replays, 1))
            for line, replay in itertools.chain(first, replays):
                failed |= isinstance(replay, RecordError)
                if self.as_json:
                    print(json.dumps(replay.as_json()))
                else:
                    listing.add_replay(table, line, replay)
        if not self.as_json:
            listing.show(table)
        return FAILED if failed else DONE
