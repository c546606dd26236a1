"""What of the caller's share comes from where: numbers of every deal, and their intervals.

In the fair game trump is drawn at random, a coin says who leads, and a drawn round is half a win:
nothing tells the seats apart, so the caller's share is one half. Step by step it becomes the game
that is played:

    share - 1/2 = start + call + lead + together + tie

- *start*: the share in the fair game less 1/2. It is 0 on average for whoever plays both seats
  alike, so it checks the rest.
- *call*: the caller names trump; a coin still says who leads.
- *lead*: who leads first is fixed; trump is still drawn.
- *together*: what both bring beyond the sum of the two, the interaction.
- *tie*: a drawn round goes to whom the rules say, and both know it. That is *tie_as_played* (rounds
  drawn under the rule of half a win, handed over) and *tie_known* (what playing for it adds).

All of them are differences on the same deals, taken deal by deal; the deal with its mirror is one.
The main effect of leading, averaged over both ways to find trump, is lead + together / 2; that of
calling is call.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tricktable_lab.advantage.arms import Arm, split_arms
from tricktable_lab.advantage.study import LUCK_UNIT, Chunk
from tricktable_lab.control import MIN_DEALS, without_luck
from tricktable_lab.stats import Interval, mean_interval

PerDeal: TypeAlias = npt.NDArray[np.float64]
"""`[n] float64`, one a deal: the mean of its two games."""
TIE_VALUE = {"dealer": 0.0, "draw": 0.5, "caller": 1.0}
"""The caller's part of a drawn round by the rule for ties."""
SUM = ("start", "call", "lead", "together", "tie")
"""The parts that add up to the share less 1/2."""
OF_TIE = ("tie_as_played", "tie_known")
"""The parts that add up to `tie`."""
DIGITS = 6
"""Digits after the point that the report keeps."""
_RANGES = {
    "share": (0.0, 1.0),
    "start": (-0.5, 0.5),
    "call": (-1.0, 1.0),
    "lead": (-0.5, 0.5),
    "lead_after_call": (-0.5, 0.5),
    "together": (-1.0, 1.0),
    "tie": (-1.0, 1.0),
    "tie_as_played": (-0.5, 0.5),
    "tie_known": (-1.0, 1.0),
}
"""Within what each number of a deal is."""


def shares(tricks: npt.NDArray[Any], total: int, tie: str) -> npt.NDArray[np.float64]:
    """The caller's part of each round by its tricks, under a rule for ties; of the same shape."""
    twice = 2 * tricks.astype(np.int64)
    return np.where(twice == total, TIE_VALUE[tie], (twice > total).astype(np.float64))


def drawn(tricks: npt.NDArray[Any], total: int) -> PerDeal:
    """The part of a deal's two rounds `[n, 2]` in which both took half of the tricks: `[n]`."""
    return np.asarray((2 * tricks.astype(np.int64) == total).mean(axis=1))


def split(played: Mapping[Arm, Chunk], base: Arm, total: int) -> dict[str, PerDeal] | None:
    """The parts of the caller's share in every deal, by their names above.

    Args:
        played: what an agent played.
        base: the arm of the rules.
        total: tricks of a deal.

    Returns:
        Also the `share` itself, and `lead_after_call`, what leading gives once trump is called;
        None where an arm is missing.
    """
    arms = split_arms(base)
    if not all(arm in played for arm in arms.values()):
        return None
    of = {key: _share(played[arm], total, "draw") for key, arm in arms.items()}
    share = _share(played[base], total, base.tie)
    fair = played[base.but(tie="draw")]
    before = _share(fair, total, "draw")  # all of it but the rule for ties
    called = (of["call", "caller"] + of["call", "dealer"]) / 2
    neutral = (of["random", "caller"] + of["random", "dealer"]) / 2
    first, other = ("caller", "dealer") if base.first_lead == "caller" else ("dealer", "caller")
    lead = (of["random", first] - of["random", other]) / 2
    after = (of["call", first] - of["call", other]) / 2
    handed = (TIE_VALUE[base.tie] - 0.5) * drawn(fair.tricks, total)
    return {
        "share": share,
        "start": neutral - 0.5,
        "call": called - neutral,
        "lead": lead,
        "together": after - lead,
        "tie": share - before,
        "tie_as_played": handed,
        "tie_known": share - before - handed,
        "lead_after_call": after,
    }


def lucks(played: Mapping[Arm, Chunk], base: Arm) -> npt.NDArray[np.float64]:
    """Controls of mean 0: the callers' luck in the arms of the split, `[n, k]`, in trumps a game.

    The same ones for every part, so that what is left of the parts still adds up.
    """
    arms = [arm for arm in dict.fromkeys((base, *split_arms(base).values())) if arm in played]
    return np.stack([played[arm].luck / (2 * LUCK_UNIT) for arm in arms], axis=1)


def estimate(
    name: str, values: PerDeal, controls: npt.NDArray[np.float64] | None, together: int
) -> dict[str, Any]:
    """The mean of a number of every deal with its intervals, as the report has it.

    Args:
        name: of `_RANGES`.
        values: one a deal.
        controls: see `lucks`; None for none.
        together: of how many agents the same is said; the joint intervals hold for all of them.

    Returns:
        `mean`, `ci95`, `joint95` (Bonferroni), and `controlled`: the like with luck taken out and
        how many times the deals that is worth; null without controls or with few deals.
    """
    low, high = _RANGES[name]
    plain = mean_interval(values, low, high)
    joint = mean_interval(values, low, high, 1 - 0.05 / together)
    told: dict[str, Any] = told_of(plain)
    told |= {"joint95": told_of(joint)["ci95"], "controlled": None}
    if controls is not None and len(values) >= MIN_DEALS and values.var() > 0:
        left, _ = without_luck(values, controls)
        factor = float(values.var(ddof=1) / left.var(ddof=1)) if left.var() > 0 else None
        rounded = None if factor is None else round(factor, 3)
        told["controlled"] = told_of(mean_interval(left, low, high)) | {"deals_factor": rounded}
    return told


def told_of(interval: Interval) -> dict[str, Any]:
    """A mean and its 95% interval as the report has them."""
    mean, low, high = (round(number, DIGITS) + 0.0 for number in interval)
    return {"mean": mean, "ci95": [low, high]}


def ratio(won: PerDeal, games: PerDeal) -> dict[str, Any]:
    """The share in some of the games, as `estimate` without the rest.

    The two games of a deal are alike, so the interval is over deals (the ratio of two means, by
    linearisation; Cochran, Sampling Techniques, 1977, chapter 6).

    Args:
        won: `[n]`, what the caller won of a deal's games of this kind.
        games: `[n]`, how many there were: 0, 1 or 2.
    """
    some = games > 0
    won, games = won[some], games[some]
    share = float(won.sum() / games.sum())
    off = (won - share * games) / games.mean()
    spread = mean_interval(off, -1.0, 1.0)
    if off.min() == off.max():  # all won, all lost, or all drawn
        spread = mean_interval(np.full(len(off), share), 0.0, 1.0)
        return told_of(spread)
    half = (spread.high - spread.low) / 2
    return told_of(Interval(share, max(0.0, share - half), min(1.0, share + half)))


def _share(chunk: Chunk, total: int, tie: str) -> PerDeal:
    return np.asarray(shares(chunk.tricks, total, tie).mean(axis=1))
