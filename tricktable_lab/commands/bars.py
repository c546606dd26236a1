"""Progress on stderr, where a person is looking."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tricktable_lab.match import Progress


@contextlib.contextmanager
def progress(deals: int) -> Iterator[Progress | None]:
    """A progress bar on stderr with the win rate so far, where a person is looking."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
    console = Console(stderr=True)
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as bar:
        task = bar.add_task("deals", total=deals)
        yield lambda done, rate: bar.update(task, completed=done, description=f"{rate:.1%} for A")


@contextlib.contextmanager
def counting(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """A count on stderr, with a bar if it has an end, where a person is looking."""
    if not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(), TextColumn("{task.completed:,} {task.description}"))
    console = Console(stderr=True)
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.update(task, completed=done)


@contextlib.contextmanager
def stages() -> Iterator[Callable[[str, int, int, str], None]]:
    """Bars on stderr, one a stage of the work, each with a count and a word; see `counting`."""
    if not sys.stderr.isatty():
        yield lambda stage, done, total, word: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    more = (TextColumn("{task.fields[word]}"), TimeElapsedColumn())
    tasks: dict[str, Any] = {}
    with Progress(*columns, *more, console=Console(stderr=True), transient=True) as bar:

        def show(stage: str, done: int, total: int, word: str) -> None:
            if stage not in tasks:
                tasks[stage] = bar.add_task(stage, word=word)
            bar.update(tasks[stage], completed=done, total=total, word=word)

        yield show
