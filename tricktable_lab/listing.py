"""What commands show to a person: tables on the terminal."""

from __future__ import annotations

import inspect
import sys
import types
import typing
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tricktable_env.opponents import AgentSpecError, agent_class, agent_names, agent_options
from tricktable_lab.match import MatchResult
from tricktable_lab.replay import RecordError, Replay
from tricktable_lab.sprt import SprtState
from tricktable_lab.tournament import TournamentResult

if TYPE_CHECKING:
    from tricktable_lab.bench import Start


def show(table: Table) -> None:
    """Prints a table."""
    Console(highlight=False).print(table)


def bench_tables(rates: Mapping[str, float], starts: Mapping[str, Start]) -> Iterator[Table]:
    """The figures of `tricktable bench`."""
    table = Table("one core", "a second")
    for name, rate in rates.items():
        table.add_row(name, f"{rate:,.0f}")
    yield table
    if starts:
        table = Table("new process", "cold, s", "warm, s")
        for name, start in starts.items():
            table.add_row(name, f"{start.cold:.2f}", f"{start.warm:.2f}")
        yield table


def match_table(result: MatchResult) -> Table:
    """The result of a match."""
    table = Table("", escape(f"{result.a} against {result.b}"), "95% interval")
    table.add_row("games", f"{result.games:,} of {result.deals:,} deals")
    low, high = result.ci95
    table.add_row("win rate", f"{result.win_rate_a:.1%}", f"{low:.1%} to {high:.1%}")
    if result.games == 2 * result.deals:  # several B's have no one rating to differ from
        low_elo, high_elo = result.elo_ci95
        table.add_row(
            "Elo difference",
            _signed(result.elo_diff, result.win_rate_a),
            f"{_signed(low_elo, low)} to {_signed(high_elo, high)}",
        )
    if result.pairs is not None:
        table.add_row("pairs of games", _pairs(result.pairs))
    if result.control is not None:
        low, high = result.control.ci95
        said = f"{result.control.win_rate_a:.1%}", f"{low:.1%} to {high:.1%}"
        table.add_row("with luck taken out", *said)
        table.add_row(
            "which is worth", f"{result.control.effective_sample_factor:.2f} times the deals"
        )
    if result.sprt is not None:
        table.add_row(*_sprt(result.sprt))
    if result.mean_margin_a is not None:
        table.add_row("mean margin", f"{result.mean_margin_a:+.2f}")
    if result.caller_win_rate is not None:
        table.add_row("the caller wins", f"{result.caller_win_rate:.1%}")
    table.add_row("illegal actions", str(result.illegal))
    table.add_row("seconds", f"{result.seconds:.1f}")
    return table


def tournament_tables(result: TournamentResult) -> tuple[Table, Table]:
    """The ratings, and the raw results of every pair."""
    rated = Table(title=f"{result.deals:,} deals a pair, twice each; {escape(result.anchor)} is 0")
    for heading in ("", "agent", "Elo", "95% interval", "wins"):
        rated.add_column(
            heading, justify="left" if heading == "agent" else "right", overflow="fold"
        )
    for place, rating in enumerate(result.ratings, start=1):
        low, high = rating.elo_ci95
        said = f"{rating.elo:+.0f}", f"{low:+.0f} to {high:+.0f}", f"{rating.win_rate:.1%}"
        rated.add_row(str(place), escape(rating.agent), *said)
    pairs = Table()
    for heading in ("agent", "against", "wins", "95% interval", "pairs of games"):
        pairs.add_column(heading, overflow="fold")
    for pair in result.table:
        low, high = pair["ci95"]
        said = f"{pair['win_rate_a']:.1%}", f"{low:.1%} to {high:.1%}", _pairs(pair["pairs"])
        pairs.add_row(escape(pair["a"]), escape(pair["b"]), *said)
    return rated, pairs


def _pairs(pairs: tuple[int, ...]) -> str:
    """How often the two games of a deal ended how; halves only where there are any."""
    names = ("0-2", "0.5-1.5", "1-1", "1.5-0.5", "2-0")
    told = [i for i in (4, 3, 2, 1, 0) if i % 2 == 0 or pairs[1] or pairs[3]]
    return ", ".join(f"{names[i]}: {pairs[i]:,}" for i in told)


def _sprt(state: SprtState) -> tuple[str, str, str]:
    test, (low, high) = state.sprt, state.sprt.bounds
    said = {"H1": "H1: accepted", "H0": "H0: accepted", None: "not decided"}[state.decision]
    heading = f"H0 {test.elo0:+g}, H1 {test.elo1:+g} Elo"
    return heading, said, f"LLR {state.llr:.2f} ({low:.2f} to {high:.2f})"


def _signed(elo: float | None, rate: float) -> str:
    """An Elo difference, infinite at a win rate of 0 or 1."""
    if elo is not None:
        return f"{elo:+.0f}"
    infinity = "∞"
    try:
        infinity.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        infinity = "inf"
    return f"{'+' if rate > 0.5 else '-'}{infinity}"


def replay_table() -> Table:
    """An empty table of replayed records."""
    table = Table()
    for heading in ("line", "record", "plays", "score", "winner"):
        table.add_column(heading, justify="left" if heading in ("record", "winner") else "right")
    return table


def add_replay(table: Table, line: int, replay: Replay | RecordError) -> None:
    """Adds the row of one record."""
    if isinstance(replay, RecordError):
        table.add_row(str(line), escape(f"failed: {replay}"), style="red")
        return
    outcome = dict(replay.outcome)
    winner = outcome.pop("winner")
    taken = next(iter(outcome.values()))  # tricks, or points
    plays, score = str(len(replay.legal_counts)), ":".join(map(str, taken))
    table.add_row(str(line), "ok", plays, score, str(winner or "not over"))


def agents() -> list[dict[str, Any]]:
    """Lists all agents: name, what it does, its options; or why it can't be used here."""
    found: list[dict[str, Any]] = []
    for name in agent_names():
        try:
            agent = agent_class(name)
        except AgentSpecError as error:
            found.append({"name": name, "about": None, "options": [], "error": str(error)})
            continue
        options = [
            {
                "name": option.name,
                "type": _kind_text(option.annotation),
                "default": None if option.default is option.empty else option.default,
                "required": option.default is option.empty,
            }
            for option in agent_options(agent).values()
        ]
        about = (inspect.getdoc(agent) or "").split("\n", 1)[0]
        found.append({"name": name, "about": about, "options": options})
    return found


def agents_table(agents: list[dict[str, Any]]) -> Table:
    """The agents and their options."""
    table = Table()
    for heading in ("agent", "what it does", "options"):
        table.add_column(heading)
    for agent in agents:
        options = [
            f"{option['name']}: {option['type']}"
            + ("" if option["required"] else f" = {option['default']}")
            for option in agent["options"]
        ]
        about = agent["about"] if "error" not in agent else f"not here: {agent['error']}"
        table.add_row(*map(escape, (agent["name"], about, "\n".join(options) or "none")))
    return table


def _kind_text(kind: Any) -> str:
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        return " or ".join(_kind_text(part) for part in typing.get_args(kind))
    return "none" if kind is type(None) else getattr(kind, "__name__", str(kind))
