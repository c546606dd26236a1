"""The run folder: what a training run leaves behind, each file whole or not there."""

from __future__ import annotations

import dataclasses
import io
import json
import platform
import shlex
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure
from rich.table import Table

from agents import __version__
from agents.policy import FILE_NAME, write_whole
from agents.training.progress import Point
from agents.training.settings import Settings

PACKAGES = (
    "numpy",
    "numba",
    "gymnasium",
    "pettingzoo",
    "torch",
    "stable-baselines3",
    "safetensors",
)


class RunFolderError(ValueError):
    """A folder that can't take a run."""


class RunFolder:
    """A folder for one run.

    Args:
        path: made if need be, with its parents.

    Raises:
        RunFolderError: it is no folder, can't be written, or holds a run already.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        for name in ("results.json", "settings.json", f"{FILE_NAME}.safetensors"):
            if (path / name).exists():
                raise RunFolderError(f"{path} holds a run already ({name}); choose another folder")
        try:
            path.mkdir(parents=True, exist_ok=True)
            write_whole({path / "versions.json": _json(versions())})
        except OSError as error:
            raise RunFolderError(f"can't write to {path}: {error.strerror}") from None

    def begin(self, settings: Settings, command: Sequence[str]) -> None:
        """Writes the settings and the command, so that the run can be repeated."""
        self._write("settings.json", _json(dataclasses.asdict(settings)))
        self._write("command.txt", f"{shlex.join(command)}\n".encode())

    def write_curve(self, points: Sequence[Point]) -> None:
        """Writes the learning curve, as numbers and as a picture."""
        self._write("learning-curve.json", _json([point._asdict() for point in points]))
        self._write("learning-curve.png", _picture(points))

    def write_results(self, results: dict[str, Any]) -> None:
        """Writes results.json."""
        self._write("results.json", _json(results))

    def _write(self, name: str, content: bytes) -> None:
        write_whole({self.path / name: content})


def versions() -> dict[str, str]:
    """The versions of Python and of the packages that decide a run."""
    found = {"python": platform.python_version(), "machine": platform.machine()}
    found["tricktable"] = __version__
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "unknown"
    return found


def results_table(opponents: dict[str, dict[str, Any]]) -> Table:
    """Draws the results against each opponent."""
    table = Table(title="The trained agent, every deal played twice with roles swapped")
    for heading in ("against", "win rate", "95% interval over deals", "tricks ahead", "deals"):
        table.add_column(heading, justify="left" if heading == "against" else "right")
    for name, result in opponents.items():
        low, high = result["ci95"]
        table.add_row(
            name,
            f"{result['win_rate']:.1%}",
            f"{low:.1%} to {high:.1%}",
            f"{result['mean_margin']:+.2f}",
            f"{result['deals']:,}",
        )
    return table


def _json(content: Any) -> bytes:
    return (json.dumps(content, indent=2) + "\n").encode()


def _picture(points: Sequence[Point]) -> bytes:
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.add_subplot()
    decisions = [point.decisions / 1e6 for point in points]
    axes.fill_between(
        decisions, [100 * p.low for p in points], [100 * p.high for p in points], alpha=0.2
    )
    axes.plot(decisions, [100 * point.win_rate for point in points], marker=".")
    axes.set(xlabel="decisions, millions", ylabel="games won against greedy, %", ylim=(0, 100))
    axes.axhline(50, linewidth=0.8, color="grey")
    axes.grid(alpha=0.3)
    drawn = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "tricktable"}):
        figure.savefig(drawn, format="png", dpi=120)
    return drawn.getvalue()
