"""Files of game records: a match or tournament writes them, and goes on from them if killed."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import stat
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeAlias

import numpy as np

from tricktable_env.files import naming
from tricktable_env.game import Game
from tricktable_env.opponents import Agent
from tricktable_lab.replay import RecordError, read_record, rules_of
from tricktable_lab.table import Chunk, PerDeal, Table, play_chunks
from tricktable_lab.workers import Job

try:
    import fcntl
except ImportError:  # not on Windows, where two runs with one file go unnoticed
    fcntl = None  # type: ignore[assignment]

_Seating: TypeAlias = tuple[str, ...]
"""The agents of a game, by player."""


class RecordFileError(ValueError):
    """A file with something else in it than games of this match or tournament, or in use."""


class _Game(NamedTuple):
    """What a game brought each player."""

    shares: list[float]
    margins: list[float]
    luck: list[float]


class RecordFile:
    """Games read back, and games to come.

    Args:
        file: opened for reading and appending.
        path: what it is called in errors.
        game: the game with its rules.
        seed: the seed of the deals.
        names: what the agents are called.
        pairs: the pairs of them that play each other, A first.

    Raises:
        RecordFileError: games of other settings, or something else.
    """

    def __init__(
        self,
        file: BinaryIO,
        path: Path,
        game: Game,
        seed: int,
        names: Sequence[str],
        pairs: Iterable[tuple[int, int]],
    ) -> None:
        self._file, self._path, self._names = file, path, names
        self._players = range(game.num_players)
        self._expected = {"game": game.name, "rules": rules_of(game), "seed": seed}
        self._seatings = {
            seating for a, b in pairs for seating in (self._seating(a, b, p) for p in self._players)
        }
        self._games: dict[tuple[int, _Seating], _Game] = {}
        self._in_rounds = getattr(game.rules, "rounds_to_win", 1) > 1
        keep_lines(file, path, b'{"game": ', self._keep)

    def has(self, job: Job) -> bool:
        """Whether every game of a chunk was in the file when it was opened."""
        return all(key in self._games for key, _ in self._keys(job))

    def chunk(self, job: Job) -> Chunk | None:
        """Gives a chunk if every game of it was in the file when it was opened."""
        if not self.has(job):
            return None
        mine = [[values[me] for values in self._games[key]] for key, me in self._keys(job)]
        table = np.array(mine, np.float64).reshape(job[3], len(self._players), -1)
        return Chunk(job[2], PerDeal(*np.moveaxis(table, -1, 0)), [])

    def write(self, chunk: Chunk) -> None:
        """Adds the games of a chunk that are not there yet."""
        lines = []
        for record in chunk.records:
            if (record["deal"], _seating_of(record)) not in self._games:
                lines.append(json.dumps(record) + "\n")
        with naming(self._path):
            self._file.write("".join(lines).encode())

    def _keys(self, job: Job) -> Iterator[tuple[tuple[int, _Seating], int]]:
        """What the games of a chunk are kept under, each with which player A is."""
        a, b, first, deals = job
        for deal in range(first, first + deals):
            for me in self._players:
                yield (deal, self._seating(a, b, me)), me

    def _seating(self, a: int, b: int, me: int) -> _Seating:
        return tuple(self._names[a if player == me else b] for player in self._players)

    def _keep(self, line: bytes, number: int) -> bool:
        """Keeps what a line says; returns whether a game is whole with it."""
        try:
            record = read_record(line)
            for key, here in self._expected.items():
                if key not in record or record[key] != here:
                    found = json.dumps(record.get(key))
                    raise RecordError(f"{key} is {found}, but here it is {json.dumps(here)}")
            seating = _seating_of(record)
            if seating not in self._seatings:
                raise RecordError(f"agents {json.dumps(seating)} don't play each other here")
            if "shares" not in record and self._in_rounds:  # a round of a match, but for the last
                return False
            deal, game = record["deal"], _Game(*(record[key] for key in _Game._fields))
            if type(deal) is not int or np.array(game, np.float64).shape != (3, len(seating)):
                raise RecordError("no numbers of the players")
            if min(game.shares) < 0 or abs(sum(game.shares) - 1) > 1e-9:
                raise RecordError(f"shares {game.shares} are no parts of one win")
        except (KeyError, TypeError, ValueError) as error:
            said = f"{error} is missing" if isinstance(error, KeyError) else str(error)
            raise RecordFileError(
                f"{self._path} line {number}: {said}; take another file for this"
            ) from error
        self._games[deal, seating] = game
        return True


@contextlib.contextmanager
def record_file(
    path: Path | None,
    game: Game,
    seed: int,
    names: Sequence[str],
    pairs: Iterable[tuple[int, int]],
) -> Iterator[RecordFile | None]:
    """Opens a file of records, new or to be gone on from, for nobody else meanwhile.

    Args:
        path: None is no file.
        game: the game with its rules.
        seed: the seed of the deals.
        names: what the agents are called.
        pairs: the pairs of them that play each other, A first.

    Raises:
        OSError: it can't be opened for writing.
        RecordFileError: it holds something else, or another process has it.
    """
    if path is None:
        yield None
        return
    with kept_file(path) as file:
        yield RecordFile(file, path, game, seed, names, pairs)


@contextlib.contextmanager
def kept_file(path: Path) -> Iterator[BinaryIO]:
    """Opens a file to read and to add to, new or to be gone on from, for nobody else meanwhile.

    Raises:
        OSError: it can't be opened for writing.
        RecordFileError: another process has it, or it is a device, a pipe or the like.
    """
    with path.open("ab+", buffering=0) as file:  # nothing left to fail when it is closed
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise RecordFileError(f"{path} is no ordinary file, so records can't be read back")
        if fcntl is not None:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise RecordFileError(f"{path} is in use: another run is writing to it") from None
        yield file


def keep_lines(
    file: BinaryIO, path: Path, opening: bytes, keep: Callable[[bytes, int], bool]
) -> None:
    """Reads a file line by line, and drops what a write that was cut off left at its end.

    Args:
        file: opened for reading and appending.
        path: what it is called in errors.
        opening: how every line begins.
        keep: takes a line and its number; says whether the file may end there.

    Raises:
        RecordFileError: what is not whole at the end is no beginning of such a line.
    """
    file.seek(0)
    whole = end = 0
    for number, line in enumerate(file, start=1):
        end += len(line)
        if not line.endswith(b"\n"):
            if not line.startswith(opening[: len(line)]):
                raise RecordFileError(f"{path} line {number}: no record")
            break
        if keep(line, number):
            whole = end
    if whole < end:
        file.truncate(whole)
    file.seek(0, os.SEEK_END)


def chunks_in_order(
    table: Table,
    agents: Sequence[str | Agent],
    jobs: Iterator[Job],
    workers: int,
    file: RecordFile | None,
) -> Generator[tuple[Job, Chunk], None, None]:
    """Gives chunks one after the other: those in the file from there, the others played and kept.

    Args:
        table: where they are played.
        agents: those at the table as they were given.
        jobs: the chunks wanted.
        workers: processes that play.
        file: None if no records are kept.

    Raises:
        BrokenProcessPool: a process died.
        MatchError: an agent chose an illegal action.
        MatchOptionError: an agent that can't be sent to another process.
    """
    jobs, wanted = itertools.tee(jobs)
    to_play = (job for job in jobs if file is None or not file.has(job))
    with contextlib.closing(play_chunks(table, agents, to_play, workers)) as played:
        for job in wanted:
            chunk = None if file is None else file.chunk(job)
            if chunk is None:
                chunk = next(played)
                if file is not None:
                    file.write(chunk)
            yield job, chunk


def _seating_of(record: dict[str, Any]) -> _Seating:
    """The agents by player: by seat, which is the same but in matches of rounds."""
    return tuple(record.get("players") or record["agents"])
