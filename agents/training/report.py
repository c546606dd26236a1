"""The run folder: what a training run leaves behind, each file whole or not there."""

from __future__ import annotations

import dataclasses
import io
import json
import os
import platform
import shlex
import shutil
import weakref
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure
from rich.table import Table

from agents import __version__
from agents.policy import FILE_NAME
from agents.training.progress import Point
from agents.training.settings import Settings, settings_of
from tricktable_env.files import write_whole

try:
    import fcntl
except ImportError:  # not on Windows, where two runs in one folder go unnoticed
    fcntl = None  # type: ignore[assignment]

PACKAGES = (
    "numpy",
    "numba",
    "gymnasium",
    "pettingzoo",
    "torch",
    "stable-baselines3",
    "safetensors",
)

ROOM = 50_000_000
"""Bytes that must be free before a run begins; checkpoints, logs and pictures stay below."""


class RunFolderError(ValueError):
    """A folder that can't take a run."""


class RunFolder:
    """A folder for one run, held while this lives: no other run enters it meanwhile.

    Args:
        path: made if need be, with its parents.
        resumed: whether the run that it holds goes on, not another begins.

    Raises:
        RunFolderError: it is no folder, can't be written, has no room, is held, or holds a run
            already; or, for a run that goes on, holds none, or one that is finished.
    """

    def __init__(self, path: Path, resumed: bool = False) -> None:
        self.path = path
        try:
            if resumed and not (path / "settings.json").exists():
                raise RunFolderError(f"{path} holds no run to go on with: it has no settings.json")
            path.mkdir(parents=True, exist_ok=True)
            _hold(path, self)
            if resumed and (path / "results.json").exists():
                raise RunFolderError(f"the run in {path} is finished (results.json)")
            for name in ("results.json", "settings.json", f"{FILE_NAME}.safetensors"):
                if not resumed and (path / name).exists():
                    raise RunFolderError(
                        f"{path} holds a run already ({name}); choose another folder, "
                        f"or go on with --resume {path}"
                    )
            if not resumed:
                write_whole({path / "versions.json": _json(versions())})
            free = shutil.disk_usage(path).free
        except OSError as error:
            raise RunFolderError(f"can't write to {path}: {error.strerror}") from None
        if free < ROOM:
            raise RunFolderError(
                f"{path} has {free / 1e6:.0f} MB free; a run needs {ROOM / 1e6:.0f} MB"
            )

    def settings(self) -> Settings:
        """Reads the settings of the run that the folder holds.

        Raises:
            RunFolderError: there are none, or none that this version knows.
        """
        file = self.path / "settings.json"
        try:
            return settings_of(json.loads(file.read_bytes()))
        except OSError as error:
            raise RunFolderError(f"can't read {file}: {error.strerror}") from None
        except (ValueError, RecursionError) as error:  # SettingsError is one
            raise RunFolderError(f"{file}: no settings of a run: {error}") from None

    def begin(self, settings: Settings, command: Sequence[str]) -> None:
        """Writes the settings, and the command below those before it, to repeat the run.

        Raises:
            RunFolderError: they can't be written.
        """
        said = self.path / "command.txt"
        try:
            before = said.read_bytes() if said.exists() else b""
            self._write("settings.json", _json(dataclasses.asdict(replace(settings, resume=None))))
            self._write("command.txt", before + f"{shlex.join(command)}\n".encode())
        except OSError as error:
            raise RunFolderError(f"can't write to {self.path}: {error.strerror}") from None

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


def results_table(results: dict[str, Any]) -> Table:
    """Draws what results.json holds of each opponent."""
    table = Table(title="The trained agent, every deal played from every seat")
    for heading in ("against", "win rate", "95% interval over deals", "margin", "deals"):
        table.add_column(heading, justify="left" if heading == "against" else "right")
    alone = results.get("network_alone", {}).items()
    rows = {**results["opponents"], **{f"{name}, the network alone": row for name, row in alone}}
    for name, result in rows.items():
        low, high = result["ci95"]
        table.add_row(
            name,
            f"{result['win_rate']:.1%}",
            f"{low:.1%} to {high:.1%}",
            f"{result['mean_margin']:+.2f}",
            f"{result['deals']:,}",
        )
    return table


def _hold(path: Path, holder: object) -> None:
    """Takes a folder for as long as the holder lives; the system lets go if the process dies.

    Raises:
        RunFolderError: another process has it.
    """
    if fcntl is None:
        return
    held = os.open(path, os.O_RDONLY)
    weakref.finalize(holder, os.close, held)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise RunFolderError(f"{path} is in use: another run is writing to it") from None


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
