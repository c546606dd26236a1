"""Files of what perfect play brings: a line of JSON a deal, to which another run adds.

A line is `{"game", "rules", "seed", "deal", "position", "tricks"}`: the position before the call,
so that `tricktable solve --file` reads the file as well, and for each trump (`S` to `C`, `N` none)
and lead the least and the most tricks of the caller as far as they are known. Of several lines of
one deal all hold, and the last says the most.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from tricktable_env.files import naming
from tricktable_env.game import Game
from tricktable_env.tableau import Rules, Tableau
from tricktable_env.tableau.notation import TRUMPS as TEXTS
from tricktable_lab.known.values import HIGH, LOW, TRUMPS, Known, Solved, nothing, shape_of
from tricktable_lab.recordfile import RecordFileError, keep_lines
from tricktable_lab.replay import RecordError, read_record, rules_of
from tricktable_lab.table import MAX_DEALS, dealt

TRUMP_TEXTS, LEAD_TEXTS = TEXTS[:TRUMPS], ("caller", "dealer")


class ValueFile:
    """What is known of deals, read back and to come.

    Args:
        file: opened by `kept_file`.
        path: what it is called in errors.
        rules: of the game.
        seed: of the deals.

    Raises:
        RecordFileError: deals of other settings, or something else.
    """

    def __init__(self, file: BinaryIO, path: Path, rules: Rules, seed: int) -> None:
        self._file, self._path, self._seed, self._tricks = file, path, seed, rules.tricks
        self._game: Game = Tableau(**shape_of(rules))
        self._settings = {"game": "tableau", "rules": rules_of(self._game), "seed": seed}
        self.known: dict[int, Known] = {}
        """What the file says, by the numbers of deals."""
        keep_lines(file, path, b'{"game": ', self._keep)

    def write(self, solved: Solved) -> None:
        """Adds a line."""
        deal, known = solved
        tricks = {
            text: {lead: known[trump, i].tolist() for i, lead in enumerate(LEAD_TEXTS)}
            for trump, text in enumerate(TRUMP_TEXTS)
            if (known[trump] != nothing(self._tricks)[trump]).any()
        }
        line = self._settings | {"deal": deal, "position": self._position(deal), "tricks": tricks}
        with naming(self._path):
            self._file.write((json.dumps(line) + "\n").encode())

    def _position(self, deal: int) -> str:
        return self._game.position(dealt(self._game, self._seed, np.array([deal]))[0])

    def _keep(self, line: bytes, number: int) -> bool:
        try:
            record = read_record(line)
            for key, here in self._settings.items():
                if record.get(key) != here:
                    found = json.dumps(record.get(key))
                    raise RecordError(f"{key} is {found}, but here it is {json.dumps(here)}")
            deal = record.get("deal")
            if type(deal) is not int or not 0 <= deal < MAX_DEALS:
                raise RecordError(f"deal is {json.dumps(deal)}, no number of a deal")
            if record.get("position") != self._position(deal):
                raise RecordError(f"position is not that of deal {deal}")
            before = self.known.get(deal, nothing(self._tricks))
            self.known[deal] = self._narrowed(before, record.get("tricks"))
        except ValueError as error:
            raise RecordFileError(
                f"{self._path} line {number}: {error}; take another file for this"
            ) from error
        return True

    def _narrowed(self, known: Known, tricks: Any) -> Known:
        """What is known with the bounds of a line."""
        known = known.copy()
        if not isinstance(tricks, dict):
            raise RecordError(f"tricks is {json.dumps(tricks)}, not the tricks by trump")
        for text, leads in tricks.items():
            if text not in TRUMP_TEXTS or not isinstance(leads, dict) or {*leads} != {*LEAD_TEXTS}:
                raise RecordError(f"tricks[{text!r}] is no trump with the tricks by lead")
            for i, lead in enumerate(LEAD_TEXTS):
                bounds, at = leads[lead], known[TRUMP_TEXTS.index(text), i]
                if not _are_bounds(bounds, self._tricks):
                    raise RecordError(f"tricks of {text} are {json.dumps(bounds)}, no bounds")
                at[:] = max(at[LOW], bounds[LOW]), min(at[HIGH], bounds[HIGH])
                if at[LOW] > at[HIGH]:
                    raise RecordError(f"tricks of {text} contradict an earlier line")
        return known


def _are_bounds(bounds: Any, tricks: int) -> bool:
    """Whether something is a pair of whole numbers, the least and the most."""
    if not isinstance(bounds, list) or [type(b) for b in bounds] != [int, int]:
        return False
    return bool(0 <= bounds[LOW] <= bounds[HIGH] <= tricks)
