"""The report of the study as tables on the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.markup import escape
from rich.table import Table

MIN_GAMES = 30
"""Kinds of hands with fewer games are not shown."""
HEADINGS = {
    "start": "fair game",
    "call": "calling",
    "lead": "leading",
    "together": "together",
    "tie": "ties",
}
"""What the parts of the caller's share are called."""
TIES = {"dealer": "the dealer's", "draw": "half each", "caller": "the caller's"}
"""What the rules for ties are called."""
CLAIMS = {
    "share": "the caller's share",
    "start": "the share in the fair game, less 50%",
    "call": "what calling gives the caller",
    "lead": "what the first lead gives the caller",
    "together": "what calling and leading give together beyond their sum",
    "tie": "what the rule for ties gives the caller",
    "tie_as_played": "what handing over drawn rounds gives the caller",
    "tie_known": "what playing for the rule for ties gives the caller",
    "lead_after_call": "what the first lead gives the caller once trump is called",
}
"""What claims are about."""


def tables(report: Mapping[str, Any]) -> Iterator[Table]:
    """Makes the tables of a report; those of arms that nobody played are left out."""
    agents = report["agents"]
    yield _shares(report)
    if agents[0]["split"]:
        yield _split(agents)
    if report["tricks"] % 2 == 0:
        yield _ties(agents)
    share_by = "The caller's share by"
    arms = (
        _arms(agents, "call_cards", f"{share_by} cards seen at the call", "cards"),
        _arms(agents, "trump", f"{share_by} trump", "trump"),
    )
    seen = (
        _seen(agents, "longest", f"{share_by} the longest suit it saw", "cards"),
        _seen(agents, "honors", f"{share_by} the A K Q J it saw", "honors"),
    )
    yield from (table for table in (*arms, *seen) if table is not None)


def claims(report: Mapping[str, Any]) -> Iterator[str]:
    """Says what holds for all agents at once, a line each; nothing of a single agent."""
    if len(report["agents"]) < 2:
        return
    for claim in report["claims"]:
        what, (low, high) = CLAIMS[claim["part"]], claim["joint95"]
        if claim["part"] == "share":
            side, span = "50%", f"{100 * low:.1f}% to {100 * high:.1f}%"
        else:
            side, span = "0", f"{100 * low:+.1f} to {100 * high:+.1f} points"
        signs = {1: f"above {side}", -1: f"below {side}", 0: f"not on one side of {side}"}
        yield f"{what}: {span}; {signs[claim['sign']]}"


def _shares(report: Mapping[str, Any]) -> Table:
    rules = ", ".join(f"{k}={v}" for k, v in report["rules"].items())
    table = Table(title=f"The caller, every agent against itself{f' ({rules})' if rules else ''}")
    half = f"{report['tricks'] // 2}-{report['tricks'] // 2}"
    for heading in ("agent", "deals", "caller wins", "95% interval", half, "tricks"):
        table.add_column(
            heading, justify="left" if heading == "agent" else "right", overflow="fold"
        )
    for agent in report["agents"]:
        low, high = agent["share"]["ci95"]
        table.add_row(
            escape(agent["agent"]),
            f"{agent['deals']:,}",
            f"{agent['share']['mean']:.1%}",
            f"{low:.1%} to {high:.1%}",
            f"{agent['drawn']['mean']:.1%}" if report["tricks"] % 2 == 0 else "never",
            f"{agent['arms'][0]['tricks']['mean']:.2f}",
        )
    return table


def _split(agents: list[dict[str, Any]]) -> Table:
    table = _across(agents, "50% and what the caller gets by ...", "")
    for name, heading in HEADINGS.items():
        table.add_row(heading, *(points(agent["split"][name]) for agent in agents))
    table.add_section()
    table.add_row("the caller's share", *(share(agent["share"]) for agent in agents))
    return table


def _ties(agents: list[dict[str, Any]]) -> Table:
    title = "The caller's share by whose drawn rounds are"
    table = _across(agents, title, "drawn rounds")
    for tie, name in TIES.items():
        table.add_row(name, *(f"{agent['as_played'][tie]['mean']:.1%}" for agent in agents))
        known = [of_option(agent, "tie") for agent in agents]
        if tie != agents[0]["arms"][0]["tie"] and any(tie in arms for arms in known):
            table.add_row("  both know it", *(_cell(arms, tie) for arms in known))
    return table


def of_option(agent: Mapping[str, Any], option: str) -> dict[Any, dict[str, Any]]:
    """The arms of an agent that differ from that of the rules in one option alone, by its value.

    That of the rules is among them.
    """
    base = agent["arms"][0]
    rest = {"trump", "first_lead", "tie", "call_cards"} - {option}
    if option == "trump":
        rest -= {"call_cards"}  # there are none where nobody calls
    alike = [arm for arm in agent["arms"] if all(arm[key] == base[key] for key in rest)]
    return {arm[option]: arm for arm in alike if arm is base or arm[option] != base[option]}


def _arms(agents: list[dict[str, Any]], option: str, title: str, heading: str) -> Table | None:
    """A row a value of an option; None where it has one value only."""
    found = [of_option(agent, option) for agent in agents]
    values = list(dict.fromkeys(value for arms in found for value in arms))
    if len(values) < 2:
        return None
    if option == "call_cards":
        values.sort()
    table = _across(agents, title, heading)
    for value in values:
        table.add_row(str(value), *(_cell(arms, value) for arms in found))
    return table


def _seen(agents: list[dict[str, Any]], key: str, title: str, heading: str) -> Table | None:
    """A row a value of what was seen; None where no kind of hand came often enough."""
    table = _across(agents, title, heading)
    found = [kinds(agent, key) for agent in agents]
    for value in sorted({value for shares in found for value in shares}):
        cells = (share(shares[value]) if value in shares else "" for shares in found)
        table.add_row(str(value), *cells)
    return table if table.row_count else None


def kinds(agent: Mapping[str, Any], key: str) -> dict[int, dict[str, Any]]:
    """The caller's share by one thing that it saw at the call, where it saw that often enough.

    Args:
        agent: of the report.
        key: `longest` or `honors`.
    """
    other = "honors" if key == "longest" else "longest"
    return {
        kind[key]: kind["share"]
        for kind in agent["seen"]
        if kind[other] is None and kind["games"] >= MIN_GAMES
    }


def _across(agents: list[dict[str, Any]], title: str, heading: str) -> Table:
    """An empty table with a column an agent."""
    table = Table(heading, title=title)
    for agent in agents:
        table.add_column(escape(agent["agent"]), justify="right", overflow="fold")
    return table


def _cell(told: Mapping[Any, Mapping[str, Any]], value: Any) -> str:
    return share(told[value]["share"]) if value in told else ""


def points(estimate: Mapping[str, Any]) -> str:
    """A part of the share in points of 100, with half of its interval."""
    low, high = estimate["ci95"]
    return f"{100 * estimate['mean'] + 0.0:+.1f} ± {50 * (high - low):.1f}"


def share(estimate: Mapping[str, Any]) -> str:
    """A share in percent, with half of its interval."""
    low, high = estimate["ci95"]
    return f"{100 * estimate['mean']:.1f} ± {50 * (high - low):.1f}"
