"""The report of the study: one JSON document, from which tables and pictures are made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tricktable_env import __version__
from tricktable_lab.advantage.arms import Arm
from tricktable_lab.advantage.deals import paired, seen_at_call
from tricktable_lab.advantage.effects import (
    OF_TIE,
    SUM,
    drawn,
    estimate,
    lucks,
    ratio,
    shares,
    split,
    told_of,
)
from tricktable_lab.advantage.records import Kept
from tricktable_lab.advantage.study import Chunk, Study
from tricktable_lab.replay import rules_of
from tricktable_lab.stats import mean_interval

PARTS = ("share", *SUM, *OF_TIE, "lead_after_call")
"""What there is an estimate of for every agent, with intervals that hold for all agents at once."""
_DEALT_AT_ONCE = 8192


def report_of(kept: Kept, seconds: float) -> dict[str, Any]:
    """Reports what was played so far.

    Args:
        kept: what was played.
        seconds: how long it took.

    Returns:
        The document that docs/caller-advantage.md describes; agents without a whole deal are left
        out.
    """
    study = kept.study
    played = {agent: kept.of(agent) for agent in study.agents}
    some = {agent: arms for agent, arms in played.items() if len(arms[study.arms[0]].luck)}
    agents = [_agent(study, agent, arms, len(some)) for agent, arms in some.items()]
    base = study.arms[0]
    return {
        "study": "advantage",
        "version": __version__,
        "rules": rules_of(base.game(study.rules)),
        "tricks": study.rules.tricks,
        "seed": study.seed,
        "arms": [str(arm) for arm in study.arms],
        "agents": agents,
        "claims": claims_of(agents),
        "seconds": seconds,
    }


def claims_of(agents: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """What holds for some of a report's agents at once: between what a part is, and of which sign.

    Args:
        agents: as the report has them; the joint intervals are those of all its agents.
    """
    claims = []
    for name in PARTS:
        whole = name == "share"
        found = [
            agent["share"] if whole else agent["split"][name]
            for agent in agents
            if whole or agent["split"]
        ]
        if not found:
            continue
        zero = 0.5 if name == "share" else 0.0
        lows, highs = zip(*(each["joint95"] for each in found), strict=True)
        sign = 1 if min(lows) > zero else -1 if max(highs) < zero else 0
        means = [each["mean"] for each in found]
        claims.append(
            {
                "part": name,
                "sign": sign,
                "joint95": [min(lows), max(highs)],
                "means": [min(means), max(means)],
            }
        )
    return claims


def _agent(study: Study, agent: str, played: Mapping[Arm, Chunk], together: int) -> dict[str, Any]:
    """What one agent's games say."""
    base, total = study.arms[0], study.rules.tricks
    tricks = played[base].tricks
    parts = split(played, base, total)
    controls = lucks(played, base)
    share = shares(tricks, total, base.tie).mean(axis=1)
    told = {
        name: estimate(name, values, controls, together) for name, values in (parts or {}).items()
    }
    return {
        "agent": agent,
        "deals": len(tricks),
        "games": 2 * len(tricks) * len(played),
        "share": told.pop("share", None) or estimate("share", share, controls, together),
        "split": told or None,
        "drawn": told_of(mean_interval(drawn(tricks, total), 0.0, 1.0)),
        "as_played": {
            tie: told_of(mean_interval(shares(tricks, total, tie).mean(axis=1), 0.0, 1.0))
            for tie in ("dealer", "draw", "caller")
        },
        "arms": [_arm(arm, chunk, base, share, total) for arm, chunk in played.items()],
        "seen": _seen(study, tricks),
    }


def _arm(arm: Arm, chunk: Chunk, base: Arm, base_share: Any, total: int) -> dict[str, Any]:
    """What one arm's games say, and how they differ from those of the rules."""
    share = shares(chunk.tricks, total, arm.tie).mean(axis=1)
    taken = chunk.tricks.astype(np.float64).mean(axis=1)
    change = None if arm == base else told_of(mean_interval(share - base_share, -1.0, 1.0))
    return {
        "arm": arm.beside(base),
        "trump": arm.trump,
        "first_lead": arm.first_lead,
        "tie": arm.tie,
        "call_cards": arm.call_cards,
        "share": told_of(mean_interval(share, 0.0, 1.0)),
        "change": change,
        "drawn": told_of(mean_interval(drawn(chunk.tricks, total), 0.0, 1.0)),
        "tricks": told_of(mean_interval(taken, 0.0, float(total))),
        "games_by_tricks": np.bincount(chunk.tricks.ravel(), minlength=total + 1).tolist(),
    }


def _seen(study: Study, tricks: Any) -> list[dict[str, Any]]:
    """The caller's share by what it saw when it named trump: best suit, honors, and both."""
    base, n = study.arms[0], len(tricks)
    game = base.game(study.rules)
    parts = []
    for first in range(0, n, _DEALT_AT_ONCE):
        size = min(_DEALT_AT_ONCE, n - first)
        parts.append(seen_at_call(paired(game, study.seed, first, size)))
    length, honors = (np.concatenate(part).reshape(-1, 2) for part in zip(*parts, strict=True))
    won = shares(tricks, study.rules.tricks, base.tie)
    found = []
    groups: list[tuple[int | None, int | None]] = [(int(k), None) for k in np.unique(length)]
    groups += [(None, int(k)) for k in np.unique(honors)]
    groups += [(int(k), int(h)) for k in np.unique(length) for h in np.unique(honors)]
    for suit, high in groups:
        inside = np.ones(won.shape, bool)
        inside &= (length == suit) if suit is not None else True
        inside &= (honors == high) if high is not None else True
        if inside.any():
            share = ratio((won * inside).sum(axis=1), inside.sum(axis=1).astype(np.float64))
            games = int(inside.sum())
            found.append({"longest": suit, "honors": high, "games": games, "share": share})
    return found
