"""Pictures of the study, drawn from its report."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from tricktable_lab.advantage.effects import SUM
from tricktable_lab.advantage.tables import HEADINGS, kinds, of_option
from tricktable_lab.pictures import new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Report: TypeAlias = Mapping[str, Any]
_GREY = "0.5"


def draw_all(report: Report, folder: Path) -> list[Path]:
    """Draws every picture that the report has something for, as PNG, and returns where."""
    drawn = []
    for name, draw in PICTURES.items():
        figure = draw(report)
        if figure is not None:
            drawn.append(folder / f"{name}.png")
            figure.savefig(drawn[-1], dpi=120)
    return drawn


def shares(report: Report) -> Figure:
    """The caller's share of each agent, with the interval; hollow where drawn rounds count half."""
    agents = report["agents"]
    figure = new_figure((7.5, 1.4 + 0.45 * len(agents)))
    axes = figure.subplots()
    for row, agent in enumerate(agents):
        for told, face in ((agent["share"], None), (agent["as_played"]["draw"], "white")):
            mean, error = _percent(told)
            axes.errorbar(
                *(mean, row), xerr=error, fmt="o", capsize=3, color=f"C{row % 10}", mfc=face
            )
    axes.axvline(50, color=_GREY, linewidth=1)
    axes.set_yticks(range(len(agents)), [agent["agent"] for agent in agents])
    axes.set_ylim(len(agents) - 0.5, -0.5)
    axes.grid(alpha=0.3)
    axes.set(xlabel="the caller wins, % (hollow: the same plays, drawn rounds half each)")
    return figure


def split(report: Report) -> Figure | None:
    """What the caller's share is made of: a bar a part and agent."""
    agents = [agent for agent in report["agents"] if agent["split"]]
    if not agents:
        return None
    figure = new_figure((9, 4))
    axes = figure.subplots()
    width = 0.8 / len(agents)
    for i, agent in enumerate(agents):
        told = [_percent(agent["split"][name]) for name in SUM]
        at = [part - 0.4 + (i + 0.5) * width for part in range(len(SUM))]
        errors = [[error[side][0] for _, error in told] for side in (0, 1)]
        axes.bar(at, [mean for mean, _ in told], width, yerr=errors, label=agent["agent"])
    axes.axhline(0, color=_GREY, linewidth=1)
    axes.set_xticks(range(len(SUM)), [HEADINGS[name] for name in SUM])
    axes.grid(axis="y", alpha=0.3)
    axes.set(ylabel="points of the caller's share")
    axes.legend(fontsize="small")
    return figure


def tricks(report: Report) -> Figure:
    """How many tricks the caller takes, under the rules."""
    figure = new_figure((8, 4))
    axes = figure.subplots()
    for agent in report["agents"]:
        games = agent["arms"][0]["games_by_tricks"]
        percent = [100 * n / sum(games) for n in games]
        axes.plot(range(len(games)), percent, marker=".", label=agent["agent"])
    axes.axvline(report["tricks"] / 2, color=_GREY, linewidth=1)
    axes.grid(alpha=0.3)
    axes.set(xlabel="tricks of the caller", ylabel="% of games")
    axes.legend(fontsize="small")
    return figure


def seen(report: Report) -> Figure:
    """The caller's share by what it saw at the call: its longest suit, and its honors."""
    figure = new_figure((10, 4))
    panels = figure.subplots(1, 2, sharey=True)
    for axes, key, said in (
        (panels[0], "longest", "longest suit among the cards seen"),
        (panels[1], "honors", "honors (A K Q J) among the cards seen"),
    ):
        for i, agent in enumerate(report["agents"]):
            _line(axes, i, agent["agent"], kinds(agent, key))
        axes.set(xlabel=said)
    panels[0].set(ylabel="the caller wins, %")
    panels[0].legend(fontsize="small")
    return figure


def call_cards(report: Report) -> Figure | None:
    """The caller's share by how many of its cards it has seen at the call."""
    return _by_option(report, "call_cards", "cards seen at the call")


def trump(report: Report) -> Figure | None:
    """The caller's share by how trump is found."""
    return _by_option(report, "trump", "trump")


PICTURES: dict[str, Callable[[Report], Figure | None]] = {
    "shares": shares,
    "split": split,
    "tricks": tricks,
    "seen": seen,
    "call-cards": call_cards,
    "trump": trump,
}
"""The pictures, by the names of their files."""


def _by_option(report: Report, option: str, said: str) -> Figure | None:
    found = [of_option(agent, option) for agent in report["agents"]]
    if all(len(arms) < 2 for arms in found):
        return None
    figure = new_figure((8, 4))
    axes = figure.subplots()
    for i, (agent, arms) in enumerate(zip(report["agents"], found, strict=True)):
        values = sorted(arms) if option == "call_cards" else list(arms)
        _line(axes, i, agent["agent"], {value: arms[value]["share"] for value in values})
    axes.set(xlabel=said, ylabel="the caller wins, %")
    axes.legend(fontsize="small")
    return figure


def _line(axes: Any, i: int, label: str, told: Mapping[Any, Mapping[str, Any]]) -> None:
    """An agent's shares by some value, with intervals."""
    found = [_percent(each) for each in told.values()]
    means = [mean for mean, _ in found]
    errors = [[error[side][0] for _, error in found] for side in (0, 1)]
    axes.errorbar(
        *(list(map(str, told)), means),
        yerr=errors,
        marker="o",
        capsize=3,
        color=f"C{i % 10}",
        label=label,
    )
    axes.axhline(50, color=_GREY, linewidth=1)
    axes.grid(alpha=0.3)


def _percent(told: Mapping[str, Any]) -> tuple[float, list[list[float]]]:
    """A mean in percent, and how far its interval goes to either side."""
    mean, (low, high) = told["mean"], told["ci95"]
    return 100 * mean, [[max(0.0, 100 * (mean - low))], [max(0.0, 100 * (high - mean))]]
