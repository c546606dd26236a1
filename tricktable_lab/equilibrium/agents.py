"""What an agent's way of playing is worth against the best replies to it, exactly.

An agent is asked once for every information state at which there is a choice. It may say how likely
it takes each action (a method `odds`); else it must not leave anything to chance.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from tricktable_env.cards import Mask, Words
from tricktable_env.opponents import Streams, decide
from tricktable_env.tableau import Tableau
from tricktable_env.tableau.state import NUM_ACTIONS
from tricktable_lab.equilibrium import plans
from tricktable_lab.equilibrium.plans import Worth
from tricktable_lab.equilibrium.tree import Floats, build
from tricktable_lab.equilibrium.walker import Questions, Watch

Odds: TypeAlias = Callable[[Words, Mask], Floats]
"""A policy: views `[n, WORDS]` and masks `[n, A]` to probabilities `[n, A]`, 0 if not legal."""


_ROWS = 4096
"""How many decisions an agent is asked for at a time."""


class AgentOddsError(ValueError):
    """An agent whose choices are drawn, and that does not say how likely each is."""


class AgentChoiceError(RuntimeError):
    """An agent that chose an action that is not legal."""


def worth_of(game: Tableau, odds: Odds, watch: Watch | None = None) -> Worth:
    """What a policy of both seats is worth when the other seat replies as well as can be.

    Args:
        game: a single round on a reduced deck.
        odds: the policy.
        watch: told how far it is.
    """
    given: tuple[list[Floats], list[Floats]] = ([np.ones(1)], [np.ones(1)])

    def ask(questions: Questions) -> None:
        for start in range(0, len(questions.views), _ROWS):
            rows = slice(start, start + _ROWS)
            masks = masks_of(questions.actions[rows])
            given[questions.seat].append(odds(questions.views[rows], masks)[masks == 1])

    tree = build(game, solving=False, symmetric=False, remember=True, ask=ask, watch=watch)
    caller, dealer = (
        plans.plan_of(side, np.concatenate(own))
        for side, own in zip(tree.sides, given, strict=True)
    )
    return plans.worth(tree, (caller, dealer))


def odds_of_agent(agent: Any, name: str) -> Odds:
    """The policy of an agent.

    Args:
        agent: what `make_agent` made.
        name: its spec, for errors.

    Returns:
        A policy; asked, it raises AgentOddsError where the agent draws and does not say how, and
        AgentChoiceError where what it chooses is not legal.
    """

    def odds(views: Words, masks: Mask) -> Floats:
        if hasattr(agent, "odds"):
            return np.asarray(agent.odds(views, masks), np.float64)
        first, second = (
            decide(agent, views, masks, Streams(np.arange(n, n + len(views), dtype=np.uint64)))
            for n in (0, 1 << 40)
        )
        if (first != second).any():
            raise AgentOddsError(
                f"agent {name!r} draws its actions and does not say how likely each is: "
                "give one that decides by what it has seen, as greedy, or random"
            )
        chosen = np.zeros(masks.shape)
        legal = (first >= 0) & (first < NUM_ACTIONS)
        rows = np.flatnonzero(legal)
        chosen[rows, first[rows]] = masks[rows, first[rows]]
        if not (chosen.sum(1) == 1).all():
            action = first[np.flatnonzero(chosen.sum(1) != 1)[0]]
            raise AgentChoiceError(f"agent {name!r} chose {action}, which is not legal there")
        return chosen

    return odds


def masks_of(actions: Words) -> Mask:
    """The masks of sets of actions: `[n, A] int8`."""
    bits = actions[:, None] >> np.arange(NUM_ACTIONS, dtype=np.uint64) & np.uint64(1)
    return bits.astype(np.int8)
