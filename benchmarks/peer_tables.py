"""The tables of speed in the README and in docs/speed.md, made of docs/peers.json.

    python benchmarks/peer_tables.py

`peers.py --out docs` does it by itself. A table stands between two marks; what is between them is
replaced, and `tests/test_docs.py` holds the pages to the JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

Document: TypeAlias = dict[str, Any]

ROOT = Path(__file__).parent.parent
WORKS = {
    "a rules": "(a) random games, rules only",
    "b single": "(b) one environment, observation and mask",
    "c batch 64": "(c) batch of 64",
    "c batch 1,024": "(c) batch of 1,024",
    "c batch 4,096": "(c) batch of 4,096",
    "d aec": "(d) `last()` and `step()`",
    "e clone": "(e) copies of a state",
    "e pickle": "(e) pickled and read back",
    "f training": "(f) MaskablePPO, steps",
}
LIBRARIES = {
    "tricktable": "Trick Table",
    "open_spiel": "OpenSpiel",
    "rlcard": "RLCard",
    "pettingzoo": "PettingZoo",
    "pgx": "pgx",
}
OURS = "tricktable "


def others(document: Document) -> list[str]:
    """Every figure, work by work, and ours over theirs."""
    lines = _head("work", "library and game", "a second", "ours / theirs", "min", "max")
    shown = ""
    for row in document["figures"]:
        work = "" if row["work"] == shown else WORKS[row["work"]]
        shown = row["work"]
        name, ratios = _named(row["game"]), ["", "", ""]
        if row["game"].startswith(OURS):
            name = f"**{name}**"
        elif row["ratios"]:
            ratios = [short(f(row["ratios"])) for f in (np.median, np.min, np.max)]
        lines.append(_line(work, name, f"{np.median(row['rates']):,.0f}", *ratios))
    return lines


def ours(document: Document) -> list[str]:
    """What `tricktable bench` measured."""
    lines = _head("one core", "a second")
    rates: dict[str, float] = document["bench"]["rates"]
    return [*lines, *(_line(name, rounded(rate)) for name, rate in rates.items())]


def starts(document: Document) -> list[str]:
    """What `tricktable bench` says of new processes."""
    lines = _head("new process", "cold, s", "warm, s")
    timed: dict[str, dict[str, float]] = document["bench"]["starts"]
    return [*lines, *(_line(n, f"{t['cold']:.2f}", f"{t['warm']:.2f}") for n, t in timed.items())]


def threads(document: Document) -> list[str]:
    """What `threads.py` measured."""
    lines = _head("Tableau, `step` of a batch", "rows", "one thread", "two", "times")
    for row in document["threads"]:
        inside = "" if row["opponent"] == "self" else f", `{row['opponent']}` inside"
        best = [rounded(max(row["rates"][number])) for number in ("1", "2")]
        lines.append(_line(f"decisions{inside}", f"{row['rows']:,}", *best, f"{row['times']:.2f}"))
    return lines


def readme(document: Document) -> list[str]:
    """Three figures and what stands beside them."""
    lines = _head("one core, processor time", "decisions a second", "ours / theirs")
    for text, work, game, peers in (
        (
            "batch of 1,024, observation and mask",
            "c batch 1,024",
            "tableau",
            ("pgx leduc", "open_spiel bridge, no batch"),
        ),
        (
            "one environment, observation and mask",
            "b single",
            "tableau",
            ("open_spiel bridge", "rlcard bridge"),
        ),
        ("PettingZoo `env()`", "d aec", "tableau env", ("pettingzoo connect four env",)),
    ):
        figures = {row["game"]: row for row in document["figures"] if row["work"] == work}
        beside = [
            f"{_named(peer).partition(',')[0]} {short(np.median(figures[peer]['ratios']))}"
            for peer in peers
            if peer in figures
        ]
        rate = float(np.median(figures[OURS + game]["rates"]))
        lines.append(_line(text, rounded(rate), ", ".join(beside)))
    return lines


TABLES: dict[tuple[str, str], Callable[[Document], list[str]]] = {
    ("README.md", "speed"): readme,
    ("docs/speed.md", "ours"): ours,
    ("docs/speed.md", "threads"): threads,
    ("docs/speed.md", "others"): others,
    ("docs/speed.md", "starts"): starts,
}
"""The page, the name in its marks, and what makes the table."""


def rounded(rate: float) -> str:
    """Three digits that count."""
    digits = 2 - int(np.floor(np.log10(rate)))
    return f"{round(rate, digits):,.0f}"


def short(ratio: float) -> str:
    """A ratio as a table shows it."""
    return f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.1f}"


def made(page: str, name: str, document: Document) -> str:
    """A table with its marks, as it stands in a page."""
    table = "\n".join(TABLES[page, name](document))
    return f"<!-- {name}: of peers.json -->\n\n{table}\n\n<!-- end of {name} -->"


def write(document: Document) -> None:
    """Writes every table to its page.

    Raises:
        ValueError: a page lacks the marks.
    """
    for page, name in TABLES:
        file = ROOT / page
        text = file.read_text(encoding="utf-8")
        before, begin, rest = text.partition(f"<!-- {name}: of peers.json -->")
        _, end, after = rest.partition(f"<!-- end of {name} -->")
        if not (begin and end):
            raise ValueError(f"{page} has no marks of the table {name!r}")
        file.write_text(before + made(page, name, document) + after, encoding="utf-8")


def read() -> Document:
    """Reads docs/peers.json."""
    document: Document = json.loads((ROOT / "docs" / "peers.json").read_text(encoding="utf-8"))
    return document


def _named(game: str) -> str:
    library, _, rest = game.partition(" ")
    return f"{LIBRARIES[library]} {rest}"


def _head(*columns: str) -> list[str]:
    return [_line(*columns), "|" + "---|" * len(columns)]


def _line(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


if __name__ == "__main__":
    write(read())
