"""The table of an observation's parts, for documentation: made from the layout itself."""

from __future__ import annotations

from collections.abc import Iterable

from tricktable_env.game import Game, Slice


def layout_table(game: Game) -> str:
    """Writes the parts of the flat observation as a table in Markdown.

    Args:
        game: whose observation; suit blocks that repeat are written once, for all suits.
    """
    return _table(game.layout)


def hidden_table(game: Game) -> str:
    """Writes what the full-information tensor has behind the observation, likewise."""
    return _table(game.full_layout[len(game.layout) :])


def _table(parts: Iterable[Slice]) -> str:
    rows: dict[tuple[str, int, int, str], list[int]] = {}
    for part in parts:
        letter, dot, name = part.name.partition(".")
        shown = f"SUIT.{name}" if dot and letter in "SHDC" else part.name
        rows.setdefault((shown, part.size, part.high, part.meaning), []).append(part.start)
    lines = ["| starts at | part | entries | 0 to | meaning |", "|---|---|---|---|---|"]
    for (name, size, high, meaning), starts in rows.items():
        at = ", ".join(map(str, starts))
        lines.append(f"| {at} | `{name}` | {size} | {high} | {meaning} |")
    return "\n".join(lines) + "\n"
