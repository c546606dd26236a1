"""What a person sees of a training run: a bar, and the win rate against a fixed opponent."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from stable_baselines3.common.callbacks import BaseCallback


class Point(NamedTuple):
    """One point of the learning curve."""

    decisions: int
    """Decisions learnt from so far."""
    seconds: float
    """Seconds since training began, measurements included."""
    win_rate: float
    """Part of the games won against the fixed opponent."""
    low: float
    """Lower end of its 95% interval."""
    high: float
    """Upper end."""


Measure = Callable[[], tuple[float, float, float]]
"""Plays the agent as it is now; returns its win rate and the 95% interval's ends."""


class LearningCurve(BaseCallback):
    """Measures the agent now and then, in games of its own, and shows how training goes.

    Args:
        measure: plays the measuring games; training is the same whether they are played or not.
        budget: decisions of the whole run.
        points: how often to measure, evenly spread, the last time at the end; 0 is never.
        console: where the bar is drawn; a line a measurement is printed above it.
    """

    def __init__(self, measure: Measure, budget: int, points: int, console: Console) -> None:
        super().__init__()
        self.measure, self.budget, self.count = measure, budget, points
        self.console = console
        self.points: list[Point] = []
        """What was measured so far; a run that goes on puts its earlier points here."""
        self._start = 0.0
        self._task = TaskID(0)
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=console,
        )

    def _on_training_start(self) -> None:
        before = self.points[-1].seconds if self.points else 0.0
        self._start = time.perf_counter() - before
        self._task = self._progress.add_task("decisions", total=self.budget, rate="")
        self._progress.start()

    def _on_rollout_start(self) -> None:
        """After an update: measures when the next point of the curve is reached."""
        if self.num_timesteps * self.count >= self.budget * (len(self.points) + 1):
            self._add_point()

    def _on_step(self) -> bool:
        self._progress.update(self._task, completed=min(self.num_timesteps, self.budget))
        return True

    def _on_training_end(self) -> None:
        if len(self.points) < self.count:
            self._add_point()
        self.close()

    def close(self) -> None:
        """Takes the bar away, after an interruption too."""
        self._progress.stop()

    def _add_point(self) -> None:
        rate, low, high = self.measure()
        seconds = time.perf_counter() - self._start
        self.points.append(Point(self.num_timesteps, seconds, rate, low, high))
        self.logger.record("eval/win_rate", rate)
        self._progress.update(self._task, rate=f"{rate:.1%} against greedy")
        self._progress.console.print(
            f"{seconds:6.0f} s {self.num_timesteps:12,} decisions   "
            f"greedy {rate:6.1%} [{low:.1%}, {high:.1%}]"
        )
