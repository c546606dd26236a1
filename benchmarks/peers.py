"""Ours and other libraries' environments on the same work, on one core.

    python -m pip install -c constraints.txt -e ".[bench]"
    python benchmarks/peers.py --out docs

That writes `docs/peers.json` and `docs/peers.svg`, and the tables in the README and docs/speed.md;
`tricktable bench` and `threads.py` are run for them too.

Each library runs in a process of its own, one after another, all of them once a round. Rates are
units a second of processor time, so that other programs on the machine disturb them little; the
compilation of whatever is compiled is not counted. A ratio is ours over theirs in the same round;
shown are the median, the least and the greatest. A library that can't be imported is a row that
says so. Games differ: the closest of each library were taken, and what a unit is stands in
`peer_works.py`.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import peer_tables
import tyro
from peer_tables import short
from peer_works import AEC, LIBRARIES, PICKLE, RULES, SINGLE, TRAINING, batch_kind
from rich.console import Console
from rich.table import Table

from tricktable_lab.bench import rate

ONE_THREAD = {
    **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"),
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "JAX_PLATFORMS": "cpu",
    "CUDA_VISIBLE_DEVICES": "",
    "PYTHONWARNINGS": "ignore",
}

NO_BATCH = ("open_spiel", SINGLE, "bridge")
"""What a batch is set against where a library has none: its own loop with the tensor."""


def main(
    rounds: int = 3, seconds: float = 0.5, out: Path | None = None, one: str | None = None
) -> None:
    """Prints the comparison.

    Args:
        rounds: how often each library is run, in turn.
        seconds: processor time of each piece of work.
        out: a folder for `peers.json` and `peers.svg`; with `docs` the pages are written too.
        one: only this library, in this process, as JSON Lines; what the comparison itself runs.
    """
    if one:
        _run_here(one, seconds)
        return
    figures: dict[tuple[str, str, str], list[float]] = {}
    failed: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:  # what pgx compiles is kept between the rounds
        os.environ["JAX_COMPILATION_CACHE_DIR"] = folder
        for library in list(LIBRARIES) * rounds:
            for row in _run(library, seconds):
                if "error" in row:
                    failed[row["library"] + row.get("of", "")] = row["error"]
                else:
                    key = row["library"], row["kind"], row["game"]
                    figures.setdefault(key, []).append(row["rate"])
    console = Console()
    console.print(_table(figures))
    for library, error in failed.items():
        console.print(f"{library}: could not be run: {error}")
    if failed:
        install = 'python -m pip install -c constraints.txt -e ".[bench]"'
        console.print(f"to install all of them: {install}", markup=False)
    if out:
        document = _write(out, figures, failed, seconds)
        if out.resolve() == peer_tables.ROOT / "docs":
            peer_tables.write(document)


def _run(library: str, seconds: float) -> list[dict[str, Any]]:
    """Runs one library in a process of its own; its figures, or the error."""
    command = [sys.executable, __file__, "--one", library, "--seconds", str(seconds)]
    done = subprocess.run(
        command, env={**os.environ, **ONE_THREAD}, capture_output=True, text=True, check=False
    )
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"library"')]
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        rows.append({"library": library, "error": last})
    return rows


def _run_here(library: str, seconds: float) -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    for kind, game, ready in LIBRARIES[library][0]():
        row: dict[str, Any] = {"library": library}
        try:
            row |= {"kind": kind, "game": game, "rate": rate(ready(), seconds)}
        except Exception as error:
            row |= {"of": f", {kind}, {game}", "error": f"{type(error).__name__}: {error}"}
        print(json.dumps(row), flush=True)


def _baseline(kind: str) -> tuple[str, str, str]:
    """Our figure that those of a kind are set against."""
    games = {AEC: "tableau env", TRAINING: "tableau, MLP 64-64"}
    return "tricktable", kind, games.get(kind, "tableau")


def _rows(figures: dict[tuple[str, str, str], list[float]]) -> list[tuple[str, str, list[float]]]:
    """Kind, name and rates, kind by kind, ours first."""
    rows = [(kind, f"{lib} {game}", rates) for (lib, kind, game), rates in figures.items()]
    for size in (64, 1024, 4096):
        if NO_BATCH in figures:
            rows.append((batch_kind(size), "open_spiel bridge, no batch", figures[NO_BATCH]))
    kinds = [RULES, SINGLE, *map(batch_kind, (64, 1024, 4096)), AEC, "e clone", PICKLE, TRAINING]
    order = {kind: i for i, kind in enumerate(kinds)}
    return sorted(rows, key=lambda row: order[row[0]])


def _ratios(ours: list[float], theirs: list[float]) -> list[float]:
    """Ours over theirs, round by round."""
    return [a / b for a, b in zip(ours, theirs, strict=False)]


def _table(figures: dict[tuple[str, str, str], list[float]]) -> Table:
    table = Table("work", "library, game", "a second", "ours / theirs", "min", "max")
    for kind, name, rates in _rows(figures):
        ratios = _ratios(figures.get(_baseline(kind), []), rates) or [float("nan")]
        shown = ["", "", ""]
        if not name.startswith("tricktable"):
            shown = [short(float(f(ratios))) for f in (np.median, np.min, np.max)]
        table.add_row(kind, name, f"{np.median(rates):,.0f}", *shown)
    return table


def _write(
    out: Path, figures: dict[tuple[str, str, str], list[float]], failed: Any, seconds: float
) -> dict[str, Any]:
    rows = _rows(figures)
    bench = ["-m", "tricktable_lab.cli", "bench", "--json", "--seconds", str(seconds)]
    threads = Path(__file__).parent / "threads.py"
    document = {
        "machine": {"processor": _processor(), "cores": os.cpu_count(), "load": os.getloadavg()},
        "python": platform.python_version(),
        "versions": {name: _version(name) for _, name in LIBRARIES.values()},
        "failed": failed,
        "figures": [
            {
                "work": kind,
                "game": name,
                "rates": [round(rate, 1) for rate in rates],
                "ratios": [round(r, 3) for r in _ratios(figures.get(_baseline(kind), []), rates)],
            }
            for kind, name, rates in rows
        ],
        "bench": _lines_of(*bench)[0],
        "threads": _lines_of(str(threads)),
    }
    out.mkdir(parents=True, exist_ok=True)
    (out / "peers.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    _draw(rows, out / "peers.svg")
    return document


def _lines_of(*arguments: str) -> list[Any]:
    """What a program of ours prints, JSON a line."""
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def _draw(rows: list[tuple[str, str, list[float]]], file: Path) -> None:
    """A bar for each figure, on a logarithmic scale, ours dark."""
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams.update({"svg.hashsalt": "peers", "svg.fonttype": "none"})  # text stays text
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(9, 0.2 * len(rows) + 1))
    labels = [f"{kind[2:]}: {name}" for kind, name, _ in rows]
    colours = ["#1b4965" if "tricktable" in label else "#bfc5c9" for label in labels]
    axes.barh(labels, [float(np.median(rates)) for *_, rates in rows], color=colours)
    axes.set(
        xscale="log", xlabel="a second of one core (logarithmic)", ylim=(len(rows) - 0.4, -0.6)
    )
    axes.tick_params(axis="y", labelsize=7)
    figure.tight_layout()
    figure.savefig(file, metadata={"Date": None})


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    cpu = Path("/proc/cpuinfo")
    lines = cpu.read_text(encoding="utf-8").splitlines() if cpu.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


if __name__ == "__main__":
    tyro.cli(main)
