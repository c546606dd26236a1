"""How an analysed game is shown: as JSON, as a table, as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table

from tricktable_env.tableau.solver import Bounds
from tricktable_lab.analyse import Analysis, Average, Decision, exact, totals
from tricktable_lab.pictures import new_figure

_COLOURS = {"caller": "tab:red", "dealer": "tab:blue"}


def as_json(analysis: Analysis, decisions: Sequence[Decision]) -> dict[str, Any]:
    """The JSON document: what the record says but for its plays, and the decisions."""
    told = {k: v for k, v in analysis.record.items() if k not in ("plays", "legal_counts")}
    given = {seat: exact(bounds) for seat, bounds in totals(decisions).items()}
    told |= {"tricks": list(analysis.outcome["tricks"]), "winner": analysis.outcome["winner"]}
    proven = all(d.best.low == d.best.high for d in decisions)
    told |= {"decisions": [d.as_json() for d in decisions], "given_away": given, "proven": proven}
    return told


def table(analysis: Analysis, decisions: Sequence[Decision]) -> Table:
    """A row for each decision that was one; what gave a trick away is red.

    `fair`, and the best and lost after it, are averages over the sampled worlds.
    """
    caller, dealer = analysis.outcome["tricks"]
    given = ", ".join(f"{seat} {_words(bounds)}" for seat, bounds in totals(decisions).items())
    fair = any(d.fair is not None for d in decisions)
    shown = Table(title=f"caller {caller}, dealer {dealer}; given away: {given}")
    for heading in ("trick", "seat", "played", "tricks", "best", "lost", "better"):
        left = heading in ("seat", "played", "better")
        shown.add_column(heading, justify="left" if left else "right", no_wrap=heading != "better")
    if fair:
        for heading in ("fair", "best", "lost"):
            shown.add_column(heading, justify="right")
    for d in decisions:
        if len(d.moves) == 1:
            continue
        better = [m for m, b in d.moves.items() if b.low == d.best.low and m != d.played]
        lost = d.gave_away
        row = [str(d.trick), d.seat, d.played, _words(d.moves[d.played]), _words(d.best)]
        row += [_words(lost), escape(_some(better)) if lost.high else ""]
        shown.add_row(*row, *(_fair(d) if fair else ()), style="red" if lost.low else None)
    return shown


def draw(analysis: Analysis, decisions: Sequence[Decision], file: Path) -> None:
    """Draws what the caller ends with if both play perfectly from each decision on."""
    figure = new_figure((9, 4))
    axes = figure.subplots()
    plies = [d.ply for d in decisions]
    callers = [d.callers(d.best) for d in decisions]
    low, high = [b.low for b in callers], [b.high for b in callers]
    axes.fill_between(plies, low, high, step="post", alpha=0.3, color="grey", label="not proven")
    middle = [(a + b) / 2 for a, b in zip(low, high, strict=True)]
    axes.step(plies, middle, where="post", color="black", label="perfect play from here on")
    for seat, colour in _COLOURS.items():
        lost = [(d, m) for d, m in zip(decisions, middle, strict=True) if d.seat == seat]
        lost = [(d, m) for d, m in lost if d.gave_away.low]
        at = [d.ply for d, _ in lost], [m for _, m in lost]
        axes.plot(*at, "o", color=colour, label=f"{seat} gave away")
        for d, m in lost:
            said = f"{d.played} -{d.gave_away.low}"
            axes.annotate(said, (d.ply, m), (4, 5), textcoords="offset points", color=colour)
    last = decisions[-1]
    axes.axhline((sum(last.taken) + last.left) / 2, linewidth=0.8, color="grey", linestyle=":")
    axes.set(xlabel="call and plays", ylabel="tricks of the caller in the end")
    axes.locator_params("y", integer=True)
    axes.legend()
    axes.grid(alpha=0.3)
    figure.savefig(file, dpi=120)


def _words(bounds: Bounds) -> str:
    return str(bounds.low) if bounds.low == bounds.high else f"{bounds.low} to {bounds.high}"


def _some(moves: list[str]) -> str:
    return ", ".join(moves[:3]) + (" ..." if len(moves) > 3 else "")


def _fair(decision: Decision) -> tuple[str, str, str]:
    fair, lost = decision.fair, decision.fair_gave_away
    if fair is None or lost is None:
        return "", "", ""
    best = max(low for low, _ in fair.values()), max(high for _, high in fair.values())
    return _mean(fair[decision.played]), _mean(best), _mean(lost)


def _mean(average: Average) -> str:
    low, high = average
    return f"{low:.1f}" if low == high else f"{low:.1f} to {high:.1f}"
