"""The figures of the study: what each way of naming trump brings with all cards known.

Every deal is looked at as dealt and mirrored, the cards of the two seats exchanged. Mirrored it
needs no search of its own: with trump t the caller who leads takes what the dealer who leads took
as dealt. What the cards decide cancels within the two; they are one observation, and all intervals
are over deals.
"""

from __future__ import annotations

import typing
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tricktable_env.tableau import Rules
from tricktable_env.tableau.rules import Lead, Tie
from tricktable_lab.advantage.effects import ratio, told_of
from tricktable_lab.known.values import HIGH, LOW, NO_TRUMP, Known, exactly, goals
from tricktable_lab.stats import mean_interval

Numbers: TypeAlias = npt.NDArray[np.float64]
LEADS, TIES = typing.get_args(Lead), typing.get_args(Tie)
BEST, CHANCE, WORST, NONE = "best", "chance", "worst", "none"
"""Ways of naming trump beside those of agents: the suit that is best or worst for the caller with
all cards known, any suit alike, and no trump at all."""


@dataclass(frozen=True, eq=False)
class Calls:
    """What an agent calls."""

    agent: str
    """Its spec."""
    seen: int
    """How many cards of its hand it had seen."""
    suits: npt.NDArray[np.int64]
    """`[n, 2]`: the suit for each deal, as dealt and mirrored."""

    def of_first(self, deals: int) -> Calls:
        """The calls of the first deals."""
        return replace(self, suits=self.suits[:deals])


class Deals:
    """What is known of some deals, as shares of the win and as tricks.

    Args:
        known: `[n, TRUMPS, LEADS, 2] int8`, decided for every suit, see `values.decided`.
        rules: of the game.
    """

    def __init__(self, known: Known, rules: Rules) -> None:
        self.rules = rules
        mirrored = rules.tricks - known[:, :, ::-1, ::-1]
        self.known = np.stack([known, mirrored], 1)  # [n, as dealt or mirrored, trump, lead, 2]

    def __len__(self) -> int:
        return len(self.known)

    def shares(self, lead: Lead, tie: Tie) -> Numbers:
        """The caller's part of the win, `[n, 2, TRUMPS]`; for a trump not asked about it is 1/2."""
        more, half = goals(self.rules.tricks)
        bounds = self.known[..., LEADS.index(lead), :]
        drawn = {"caller": 1.0, "dealer": 0.0, "draw": 0.5}[tie]
        below, above = bounds[..., HIGH] < half, bounds[..., LOW] >= more
        tied = exactly(bounds) & ~above & ~below
        return np.select([above, below, tied], [1.0, 0.0, drawn], 0.5)

    def tricks(self, lead: Lead) -> Numbers:
        """The caller's tricks, `[n, 2, TRUMPS]`, of deals in which they are all known."""
        return self.known[..., LEADS.index(lead), LOW].astype(np.float64)


def chosen(values: Numbers, way: str | Calls, suits: int) -> Numbers:
    """What a way of naming trump brings: `[n, 2]`.

    Args:
        values: `[n, 2, TRUMPS]`.
        way: one of the four, or the calls of an agent.
        suits: of the deck.
    """
    of_suits = values[..., :suits]
    brought: Numbers
    if isinstance(way, Calls):
        brought = np.take_along_axis(of_suits, way.suits[..., None], -1)[..., 0]
    elif way == NONE:
        brought = values[..., NO_TRUMP]
    elif way == CHANCE:
        brought = of_suits.mean(axis=-1)
    else:
        brought = of_suits.max(axis=-1) if way == BEST else of_suits.min(axis=-1)
    return brought


def figures(
    deals: Deals, exact: Deals | None, agents: Sequence[Calls], no_trump: bool
) -> dict[str, Any]:
    """Works out all figures.

    Args:
        deals: of which it is known who wins, one or more.
        exact: those of which the tricks are counted; None if there are none.
        agents: their calls in `deals`; of `exact` in the first ones.
        no_trump: whether there is also no trump to tell of.
    """
    ways: list[str | Calls] = [*agents, BEST, CHANCE, WORST, *([NONE] if no_trump else [])]
    first = agents[0] if agents else None
    lead, suits = deals.rules.first_lead, deals.rules.suits
    shares = deals.shares(lead, deals.rules.tie)
    told = {
        "shares": [_named(way) | row for way in ways for row in _shares(deals, way)],
        "calls": [
            _named(way) | _beside(shares, way, first, suits, 1) | {"parts": _parts(deals, way)}
            for way in ways
        ],
        "changes": _changes(deals),
    }
    if exact is not None and len(exact):
        tricks, n, most = exact.tricks(lead), len(exact), exact.rules.tricks
        cut = [way.of_first(n) if isinstance(way, Calls) else way for way in ways]
        first = first and first.of_first(n)
        told["tricks"] = [_named(way) | _beside(tricks, way, first, suits, most) for way in cut]
    return told


def _named(way: str | Calls) -> dict[str, Any]:
    if isinstance(way, Calls):
        return {"trump": way.agent, "seen": way.seen}
    return {"trump": way, "seen": None}


def _shares(deals: Deals, way: str | Calls) -> Iterator[dict[str, Any]]:
    """The caller's share of the win under each lead and rule of ties."""
    for lead in LEADS:
        for tie in TIES:
            shares = chosen(deals.shares(lead, tie), way, deals.rules.suits).mean(axis=1)
            yield {"lead": lead, "tie": tie} | told_of(mean_interval(shares, 0, 1))


def _beside(
    values: Numbers, way: str | Calls, first: Calls | None, suits: int, most: float
) -> dict[str, Any]:
    """What a way of naming trump brings, beside any suit, the best one, and the first agent.

    Args:
        values: `[n, 2, TRUMPS]`, shares or tricks.
        way: the way.
        first: the calls of the first agent.
        suits: of the deck.
        most: the largest value.
    """
    mine, best = chosen(values, way, suits), chosen(values, BEST, suits)
    equal = (values == values[..., :suits].max(axis=-1, keepdims=True)).astype(np.float64)
    told = {"mean": (mine, 0.0, most)}
    if way != CHANCE:
        told["above_chance"] = (mine - chosen(values, CHANCE, suits), -most, most)
    if way != BEST:
        told["below_best"] = (best - mine, -most if way == NONE else 0.0, most)
    if way not in (BEST, NONE):
        told["as_good_as_best"] = (chosen(equal, way, suits), 0.0, 1.0)
    if first is not None and _named(way) != _named(first):
        told["above_first"] = (mine - chosen(values, first, suits), -most, most)
    return {
        name: told_of(mean_interval(numbers.mean(axis=1), *bounds))
        for name, (numbers, *bounds) in told.items()
    }


def _parts(deals: Deals, way: str | Calls) -> dict[str, Any]:
    """What the caller's share less one half is made of: parts that add up to it.

    In the fair game trump is any suit, a coin says who leads, and a drawn round is half a win; by
    symmetry the share there is one half. *call*: trump is named so, the rest stays; *lead*: who
    leads is fixed, the rest stays; *together*: what both bring beyond the sum; *tie*: drawn rounds
    go to whom the rules say.
    """
    rules = deals.rules
    first, other = LEADS if rules.first_lead == LEADS[0] else LEADS[::-1]
    drawn = {lead: deals.shares(lead, "draw") for lead in LEADS}
    mine = {lead: chosen(drawn[lead], way, rules.suits).mean(axis=1) for lead in LEADS}
    fair = {lead: chosen(drawn[lead], CHANCE, rules.suits).mean(axis=1) for lead in LEADS}
    ruled = chosen(deals.shares(first, rules.tie), way, rules.suits).mean(axis=1)
    lead = (fair[first] - fair[other]) / 2
    after = (mine[first] - mine[other]) / 2
    parts = {
        "call": ((mine[first] + mine[other]) - (fair[first] + fair[other])) / 2,
        "lead": lead,
        "together": after - lead,
        "tie": ruled - mine[first],
    }
    told = parts if way != CHANCE else {name: parts[name] for name in ("lead", "tie")}
    return {name: told_of(mean_interval(part, -1, 1)) for name, part in told.items()}


def _changes(deals: Deals) -> dict[str, Any]:
    """How often the winner changes with the lead, with trump, and with the rule of ties."""
    suits, tie = deals.rules.suits, deals.rules.tie
    ruled = deals.shares(deals.rules.first_lead, tie)[..., :suits]
    leads, follows = (deals.shares(lead, tie)[..., :suits] for lead in LEADS)
    half = deals.shares(deals.rules.first_lead, "draw")[..., :suits]
    found = {
        "with_lead": (leads != follows).mean(axis=-1),
        "won_by_leading": (leads > follows).mean(axis=-1),
        "lost_by_leading": (leads < follows).mean(axis=-1),
        "with_trump": (ruled != ruled[..., :1]).any(axis=-1),
        "tied": (half == 0.5).mean(axis=-1),
    }
    return {
        name: told_of(mean_interval(values.mean(axis=1), 0, 1)) for name, values in found.items()
    }


def lengths(
    deals: Deals, agents: Sequence[Calls], longest: npt.NDArray[np.int64]
) -> list[dict[str, Any]]:
    """The caller's share by the length of the best suit among the cards seen.

    Args:
        deals: the deals.
        agents: those who saw so many cards.
        longest: `[n, 2]`, the length.
    """
    shares, suits = deals.shares(deals.rules.first_lead, deals.rules.tie), deals.rules.suits
    ways: list[str | Calls] = [*agents, BEST, CHANCE]
    rows = []
    for length in np.unique(longest):
        among = (longest == length).astype(np.float64)
        for way in ways:
            sums = (chosen(shares, way, suits) * among).sum(axis=1)
            told = {"length": int(length), "hands": int(among.sum())}
            rows.append(told | _named(way) | ratio(sums, among.sum(axis=1)))
    return rows
