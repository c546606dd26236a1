"""Playing the study, here or in several processes; what was played goes on from a file."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Callable
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

from tricktable_lab.advantage.records import Kept, kept
from tricktable_lab.advantage.report import report_of
from tricktable_lab.advantage.study import Players, Study
from tricktable_lab.interrupts import held_back
from tricktable_lab.table import check_numbers, pickled
from tricktable_lab.workers import in_order


class StudyStoppedError(Exception):
    """The study was stopped.

    Args:
        report: what is known by then; None if that is nothing.
        why: what stopped it.
    """

    def __init__(self, report: dict[str, Any] | None, why: str) -> None:
        self.report = report
        super().__init__(why)


def run_study(
    study: Study,
    workers: int = 1,
    *,
    records: Path | None = None,
    watch: Callable[[int], None] | None = None,
) -> dict[str, Any]:
    """Plays a study and reports; see `report.report_of`.

    Args:
        study: who plays what.
        workers: processes to share the work.
        records: a file to which the deals played are added; those in it already are not played
            again.
        watch: called with the number of games so far after every chunk.

    Raises:
        AgentSpecError: a spec that names no agent of the game.
        MatchError: an agent chose an illegal action.
        MatchOptionError: a number out of range.
        OSError: the file of records can't be written.
        RecordFileError: it holds something else.
        StudyStoppedError: Ctrl-C, or a process died; it has the report so far.
    """
    check_numbers(1, study.seed, workers)
    start = time.perf_counter()
    with held_back():
        players = Players(study)
    with kept(study, records) as played:
        try:
            _play(players, played, workers, watch)
        except (KeyboardInterrupt, BrokenProcessPool) as stop:
            broken = isinstance(stop, BrokenProcessPool)
            report = report_of(played, time.perf_counter() - start)
            raise StudyStoppedError(
                report if report["agents"] else None,
                "a worker process died" if broken else "stopped",
            ) from None
        return report_of(played, time.perf_counter() - start)


def _play(
    players: Players, played: Kept, workers: int, watch: Callable[[int], None] | None
) -> None:
    """Plays what has not been played."""
    jobs, wanted = itertools.tee(players.jobs())
    to_play = (job for job in jobs if not played.has(job))
    parcel = (Players, (players.study,))
    done = 0
    with contextlib.closing(in_order(players, lambda: pickled(parcel), to_play, workers)) as chunks:
        for job in wanted:
            if not played.has(job):
                played.add(job, next(chunks))
            done += 2 * job[3]
            if watch is not None:
                watch(done)
