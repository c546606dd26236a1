"""What is known of an equilibrium, as tables for a person."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.markup import escape
from rich.table import Table


def tables(told: Mapping[str, Any]) -> Iterator[Table]:
    """The game and its value, and the agents if any were judged.

    Args:
        told: what `Study.as_json` returns, of a game that has been solved to some extent.
    """
    rules = ", ".join(f"{key}={value}" for key, value in told["rules"].items())
    table = Table("", escape(rules))
    if told["leaves"] is not None:
        caller, dealer = told["information_states"]
        table.add_row("leaves", f"{told['leaves']:,}")
        table.add_row("information states", f"{caller:,} of the caller, {dealer:,} of the dealer")
    caller, dealer = told["decisions"]
    table.add_row("decisions solved", f"{caller:,} of the caller, {dealer:,} of the dealer")
    table.add_row("value for the caller", _between(told["value"], "+.4f"))
    if told["caller_win_share"] is not None:
        table.add_row("share won by the caller", _between(told["caller_win_share"], ".2%"))
    table.add_row("NashConv", f"{told['nash_conv']:.2g} after {told['iterations']} iterations")
    took = ", ".join(f"{seconds:.1f} {what}" for what, seconds in told["seconds"].items())
    table.add_row("processor seconds", took)
    if told["peak_memory_gb"] is not None:
        table.add_row("peak memory", f"{told['peak_memory_gb']:.2f} GB")
    yield table
    if told["agents"]:
        yield _agents(told["agents"])


def _agents(agents: list[Mapping[str, Any]]) -> Table:
    """What each agent loses to best replies, in either seat, and against itself."""
    table = Table()
    headings = "NashConv", "its caller loses", "its dealer loses", "value against itself"
    for heading in ("agent", *headings):
        justify: Any = "left" if heading == "agent" else "right"
        table.add_column(heading, justify=justify, overflow="fold")
    for one in agents:
        lost = (_between(one[key], ".3f") for key in ("caller_loses", "dealer_loses"))
        said = f"{one['nash_conv']:.4f}", *lost, f"{one['value']:+.4f}"
        table.add_row(escape(one["agent"]), *said)
    return table


def _between(bounds: list[float], form: str) -> str:
    """Two bounds, or one number where they read alike."""
    low, high = (format(bound, form) for bound in bounds)
    return low if low == high else f"{low} to {high}"
