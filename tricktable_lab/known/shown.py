"""The study of the call as tables and as a picture, from its JSON document."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from rich.markup import escape
from rich.table import Table

from tricktable_lab.known.report import BEST, CHANCE, LEADS, NONE, TIES, WORST
from tricktable_lab.pictures import new_figure

Document: TypeAlias = Mapping[str, Any]
_WAYS = {BEST: "best suit", CHANCE: "any suit", WORST: "worst suit", NONE: "no trump"}
_CHANGES = {
    "with_lead": "the winner changes with the lead",
    "won_by_leading": "  who leads wins, and would lose",
    "lost_by_leading": "  who leads loses, and would win",
    "with_trump": "the winner changes with trump",
    "tied": "both take half of the tricks",
}


def tables(document: Document) -> Iterator[Table]:
    """What a person is shown of `CallsResult.as_json`."""
    rules, deals = document["rules"], document["deals"]
    lead, tie = rules.get("first_lead", "caller"), rules.get("tie", "dealer")
    about = f"all cards known, {deals:,} deals twice, the {lead} leads, ties: {tie}"
    yield _ways(f"the caller wins; {about}", document["calls"], as_rate)
    if "tricks" in document:
        said = f"the caller's tricks; the first {document['tricks_deals']:,} deals"
        yield _ways(said, document["tricks"], as_tricks)
    yield _parts(document["calls"])
    yield _arms(document)
    changes = Table(title="of deals and suits")
    for name in ("", "share", "95% interval"):
        changes.add_column(name, justify="left" if not name else "right")
    for key, name in _CHANGES.items():
        changes.add_row(name, *as_rate(document["changes"][key]))
    yield changes
    yield _lengths(document)


def name_of(row: Document) -> str:
    """How a row's way of naming trump is called."""
    if row["seen"] is None:
        return _WAYS[row["trump"]]
    return f"{row['trump']}, {row['seen']} cards seen"


def as_rate(found: Document) -> tuple[str, str]:
    """A share and its interval, as texts."""
    low, high = found["ci95"]
    return f"{found['mean']:.1%}", f"{low:.1%} to {high:.1%}"


def as_tricks(found: Document) -> tuple[str, str]:
    """Tricks and their interval, as texts."""
    low, high = found["ci95"]
    return f"{found['mean']:.2f}", f"{low:.2f} to {high:.2f}"


def _ways(title: str, rows: list[Document], texts: Any) -> Table:
    columns = {"mean": "mean", "above_chance": "above any suit", "below_best": "below the best"}
    if sum(row["seen"] is not None for row in rows) > 1:
        columns["above_first"] = "above the first"
    table = Table("trump is", title=title)
    for heading in (*columns.values(), "as good as the best"):
        table.add_column(heading, justify="right")
    for row in rows:
        cells = [_with_interval(row.get(key), texts) for key in columns]
        good = _with_interval(row.get("as_good_as_best"), as_rate)
        table.add_row(escape(name_of(row)), *cells, good)
    return table


def _with_interval(found: Document | None, texts: Any) -> str:
    return "" if found is None else "{}\n{}".format(*texts(found))


def _parts(rows: list[Document]) -> Table:
    table = Table(title="of the caller's share less one half: what each part gives")
    parts = ("call", "lead", "together", "tie")
    for name in ("trump is", *parts):
        table.add_column(name, justify="left" if name == "trump is" else "right")
    for row in rows:
        cells = [_with_interval(row["parts"].get(part), as_rate) for part in parts]
        table.add_row(escape(name_of(row)), *cells)
    return table


def _arms(document: Document) -> Table:
    """The caller's share under every lead and rule of ties."""
    table = Table(title="the caller wins, by who leads and whose ties are")
    table.add_column("trump is")
    for lead, tie in itertools.product(LEADS, TIES):
        table.add_column(f"{lead} leads, {tie}", justify="right")
    by_way: dict[str, list[str]] = {}
    for row in document["shares"]:
        by_way.setdefault(name_of(row), []).append(as_rate(row)[0])
    for name, cells in by_way.items():
        table.add_row(escape(name), *cells)
    return table


def _lengths(document: Document) -> Table:
    table = Table(title="the caller wins, by the best suit among the cards seen")
    for name in ("longest", "hands", "trump is", "share", "95% interval"):
        table.add_column(name, justify="left" if name == "trump is" else "right")
    for row in document["lengths"]:
        cells = str(row["length"]), f"{row['hands']:,}", escape(name_of(row))
        table.add_row(*cells, *as_rate(row))
    return table


def draw(document: Document, file: Path) -> None:
    """Draws the caller's share by way of naming trump, and by who leads and whose ties are.

    Raises:
        PictureError: matplotlib is not installed.
    """
    figure = new_figure((11, 2.6 + 0.4 * len(document["calls"])))
    left, right = figure.subplots(1, 2, sharey=True)
    names = [name_of(row) for row in document["calls"]]
    for i, row in enumerate(document["calls"]):
        _bar(left, row["mean"], i)
    left.set_yticks(range(len(names)), names)
    left.invert_yaxis()
    left.axvline(50, color="gray", linewidth=0.8)
    left.grid(alpha=0.3)
    left.set(xlabel="the caller wins, %", title=f"all cards known, {document['deals']:,} deals")
    for lead, tie in itertools.product(LEADS, TIES):
        rows = [r for r in document["shares"] if (r["lead"], r["tie"]) == (lead, tie)]
        means = [100 * row["mean"] for row in rows]
        filled = "full" if lead == LEADS[0] else "none"
        colour, said = f"C{TIES.index(tie)}", f"{lead} leads, ties: {tie}"
        right.plot(means, range(len(means)), "o", color=colour, fillstyle=filled, label=said)
    right.axvline(50, color="gray", linewidth=0.8)
    right.grid(alpha=0.3)
    right.set(xlabel="the caller wins, %", title="by who leads and whose ties are")
    figure.legend(loc="outside lower center", ncols=3, fontsize="small")
    figure.savefig(file, dpi=120)


def _bar(axes: Any, found: Document, at: int) -> None:
    low, high = found["ci95"]
    bars = [[100 * (found["mean"] - low)], [100 * (high - found["mean"])]]
    axes.errorbar([100 * found["mean"]], [at], xerr=bars, fmt="o", color="C0", capsize=3)
