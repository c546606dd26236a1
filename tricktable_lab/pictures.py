"""Pictures of results, drawn with matplotlib."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tricktable_lab.tournament import TournamentResult, win_rates

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class PictureError(ValueError):
    """A picture that can't be drawn: no library for it, or a file of no known kind."""


def check_target(file: Path) -> None:
    """Refuses a file that no picture could be written to, before anything is played.

    Raises:
        PictureError: matplotlib is not installed, or it knows no such kind of file.
    """
    kinds = sorted(new_figure((1, 1)).canvas.get_supported_filetypes())
    if file.suffix[1:].lower() not in kinds:
        raise PictureError(f"{file} is no kind of picture; there are {', '.join(kinds)}")
    if not file.absolute().parent.is_dir():
        raise PictureError(f"{file}: there is no such folder")


def draw_tournament(result: TournamentResult, file: Path) -> None:
    """Draws the ratings with their intervals, and the table of results beside them."""
    names = [rating.agent for rating in result.ratings]
    rows = range(len(names))
    figure = new_figure((6 + 1.1 * len(names), 2 + 0.45 * len(names)))
    left, right = figure.subplots(1, 2)
    elos = [rating.elo for rating in result.ratings]
    bars = [
        [max(0.0, rating.elo - rating.elo_ci95[0]) for rating in result.ratings],
        [max(0.0, rating.elo_ci95[1] - rating.elo) for rating in result.ratings],
    ]
    left.errorbar(elos, rows, xerr=bars, fmt="o", capsize=3)
    left.set_yticks(rows, names)
    left.invert_yaxis()
    left.grid(alpha=0.3)
    left.set(xlabel=f"Elo, {result.anchor} = 0", title=f"{result.deals:,} deals a pair, twice each")
    rates = win_rates(result)
    right.imshow(100 * rates, cmap="RdYlGn", vmin=0, vmax=100, aspect="auto")
    right.set_xticks(rows, names, rotation=30, ha="right")
    right.set_yticks(rows, ["" for _ in rows])
    right.set_title("row wins against column, %")
    for i in rows:
        for j in rows:
            if i != j:
                right.text(j, i, f"{100 * rates[i, j]:.1f}", ha="center", va="center")
    figure.savefig(file, dpi=120)


def new_figure(size: tuple[float, float]) -> Figure:
    """Makes an empty figure of some size in inches.

    Raises:
        PictureError: matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        said = 'pictures need the package matplotlib: pip install "tricktable[lab]"'
        raise PictureError(said) from None
    made: Any = Figure(figsize=size, layout="constrained")
    return made  # type: ignore[no-any-return]
