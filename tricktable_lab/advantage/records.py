"""What was played so far, in memory and in a file that later runs go on from.

A line of the file is a JSON object: some deals in a row that an agent played in an arm. It tells
its rules and its seed itself, so files may be joined, and a study with more deals, agents or arms
adds lines to it.
"""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from tricktable_env.files import naming
from tricktable_env.game import RulesError
from tricktable_env.tableau import Rules
from tricktable_lab.advantage.arms import Arm
from tricktable_lab.advantage.study import Chunk, Study
from tricktable_lab.recordfile import RecordFileError, keep_lines, kept_file
from tricktable_lab.replay import rules_of
from tricktable_lab.workers import Job

_OPENING = '{"study": "advantage", '
_UNPLAYED = -1


class Kept:
    """What the agents of a study played, deal by deal.

    Args:
        study: who plays what.
    """

    def __init__(self, study: Study) -> None:
        self.study = study
        self._file: BinaryIO | None = None
        self._path: Path | None = None
        self._wanted = dict(zip(study.agents, study.deals, strict=True))
        keys = itertools.product(study.agents, study.arms)
        self._played = {key: _unplayed(0) for key in keys}
        same = {"trump", "first_lead", "tie", "call_cards"}
        self._deck = {k: v for k, v in asdict(study.rules).items() if k not in same}

    def has(self, job: Job) -> bool:
        """Whether all of a chunk has been played."""
        _, tricks, _ = self._part(job)
        return bool((tricks != _UNPLAYED).all())

    def add(self, job: Job, chunk: Chunk) -> None:
        """Adds a chunk; what was missing of it goes to the file, too."""
        key, tricks, luck = self._part(job)
        missing = np.flatnonzero(tricks[:, 0] == _UNPLAYED)
        tricks[:], luck[:] = chunk
        if self._file is None or self._path is None or not missing.size:
            return
        begin = int(missing[0])
        line = {
            "rules": rules_of(key[1].game(self.study.rules)),
            "seed": self.study.seed,
            "agent": key[0],
            "first": job[2] + begin,
            "tricks": chunk.tricks[begin:].ravel().tolist(),
            "luck": chunk.luck[begin:].tolist(),
        }
        with naming(self._path):
            self._file.write(f"{_OPENING}{json.dumps(line)[1:]}\n".encode())

    def of(self, agent: str) -> dict[Arm, Chunk]:
        """What an agent played: the first deals, as many as it played in every arm."""
        played = {arm: self._played[agent, arm] for arm in self.study.arms}
        whole = min(map(_whole, played.values()))
        return {arm: Chunk(part.tricks[:whole], part.luck[:whole]) for arm, part in played.items()}

    def read(self, file: BinaryIO, path: Path) -> None:
        """Reads a file, and goes on with it.

        Raises:
            RecordFileError: it holds something else than deals of this study.
        """
        self._path = path
        keep_lines(file, path, _OPENING.encode(), self._keep)
        self._file = file

    def _part(self, job: Job) -> tuple[tuple[str, Arm], Any, Any]:
        agent, arm, first, deals = job
        key = self.study.agents[agent], self.study.arms[arm]
        played = self._with_room(key, first + deals)
        return key, played.tricks[first : first + deals], played.luck[first : first + deals]

    def _with_room(self, key: tuple[str, Arm], deals: int) -> Chunk:
        """What was played of an agent in an arm, with room for so many deals."""
        played = self._played[key]
        if len(played.luck) < deals:
            more = _unplayed(max(deals, 2 * len(played.luck)) - len(played.luck))
            tricks = np.concatenate([played.tricks, more.tricks])
            played = self._played[key] = Chunk(tricks, np.concatenate([played.luck, more.luck]))
        return played

    def _keep(self, line: bytes, number: int) -> bool:
        try:
            self._take(json.loads(line))
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            said = f"{error} is missing" if isinstance(error, KeyError) else str(error)
            raise RecordFileError(
                f"{self._path} line {number}: {said}; take another file for this"
            ) from None
        return True

    def _take(self, told: Any) -> None:
        """Takes in what a line says, unless it is of another agent, arm or deal.

        Raises:
            KeyError, TypeError, ValueError: it is no line of this study.
        """
        if not isinstance(told, dict) or told.get("study") != "advantage":
            raise ValueError("no deals of a study of the advantage")
        if told["seed"] != self.study.seed:
            raise ValueError(f"seed is {told['seed']}, but here it is {self.study.seed}")
        rules = _rules(told["rules"])
        for key, here in self._deck.items():
            if getattr(rules, key) != here:
                raise ValueError(f"rule {key} is {getattr(rules, key)}, but here it is {here}")
        luck, first = np.array(told["luck"]), told["first"]
        tricks = np.array(told["tricks"]).reshape(-1, 2)
        if type(first) is not int or first < 0 or not luck.size or luck.shape != (len(tricks),):
            raise ValueError("no numbers of deals in a row")
        for values, low, high in ((tricks, 0, rules.tricks), (luck, -(2**31), 2**31 - 1)):
            if values.dtype.kind != "i" or values.min() < low or values.max() > high:
                raise ValueError(f"{values.tolist()[0]} ... are no numbers from {low} to {high}")
        agent, arm = told["agent"], Arm.of(rules)
        room = self._wanted[agent] - first if (agent, arm) in self._played else 0
        if room > 0:
            kept = self._with_room((agent, arm), first + min(room, len(luck)))
            kept.tricks[first : first + room][: len(luck)] = tricks[:room]
            kept.luck[first : first + room][: len(luck)] = luck[:room]


def _unplayed(deals: int) -> Chunk:
    return Chunk(np.full((deals, 2), _UNPLAYED, np.int8), np.zeros(deals, np.int32))


def _whole(played: Chunk) -> int:
    """How many deals have been played before the first that has not."""
    gaps = np.flatnonzero(played.tricks[:, 0] == _UNPLAYED)
    return int(gaps[0]) if gaps.size else len(played.luck)


def _rules(told: dict[str, Any]) -> Rules:
    try:
        return Rules(**told)
    except RulesError as error:
        raise ValueError(f"rules: {error}") from None


@contextlib.contextmanager
def kept(study: Study, path: Path | None) -> Iterator[Kept]:
    """What was played of a study: what a file has of it, which goes on to be written.

    Args:
        study: who plays what.
        path: None is no file.

    Raises:
        OSError: it can't be opened for writing.
        RecordFileError: it holds something else, or another process has it.
    """
    made = Kept(study)
    if path is None:
        yield made
        return
    with kept_file(path) as file:
        made.read(file, path)
        yield made
