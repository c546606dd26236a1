"""What is played in the study, and the players: every agent against itself in every arm."""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tricktable_env.opponents import Agent, make_agent
from tricktable_env.tableau import Rules
from tricktable_env.tableau.state import TRICKS
from tricktable_lab.advantage.arms import Arm, StudyError, check_rules
from tricktable_lab.advantage.deals import paired, stream_seeds
from tricktable_lab.luck import luck_of
from tricktable_lab.table import CHUNK_DEALS, check_numbers, compile_for, named_twice, play_out
from tricktable_lab.workers import Job

KERNEL_CHUNK_DEALS = 1024
"""Deals that compiled agents play in lockstep: they play alike in batches of any size."""
LUCK_UNIT = 1000
"""Luck is kept as a whole number of thousandths of a trump."""


class Chunk(NamedTuple):
    """What some deals in a row came to, each played as dealt and mirrored."""

    tricks: npt.NDArray[np.int8]
    """`[deals, 2]`, the caller's tricks."""
    luck: npt.NDArray[np.int32]
    """`[deals]`, the callers' luck in both games together, see `LUCK_UNIT`."""


@dataclass(frozen=True)
class Study:
    """Who plays what.

    Raises:
        StudyError: agents or rules that make no sense.
        MatchOptionError: a number out of range.
    """

    rules: Rules
    """The rules of the first arm; trump is called in them."""
    arms: tuple[Arm, ...]
    """All arms; the first is that of the rules."""
    agents: tuple[str, ...]
    """Specs of the agents, each of which plays both seats."""
    deals: tuple[int, ...]
    """How many deals each plays in every arm."""
    seed: int = 0
    """Of the deals and of all decisions."""

    def __post_init__(self) -> None:
        check_rules(self.rules)
        if not self.agents:
            raise StudyError("a study takes at least one agent")
        twice = named_twice(self.agents)
        if twice is not None:
            raise StudyError(f"agent {twice} is named twice")
        for deals in self.deals:
            check_numbers(deals, self.seed, 1)

    @property
    def games(self) -> int:
        """Games in all: two a deal in every arm."""
        return 2 * len(self.arms) * sum(self.deals)


def read_agents(words: Sequence[str], deals: int) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Reads agents as the command line has them: `A,B,...`, each perhaps with `@DEALS`.

    A part `key=value` goes on with the spec before it, as in `policy:runs/mine,worlds=0`.

    Args:
        words: one or more such lists.
        deals: for agents that don't say.

    Returns:
        The specs, and the deals of each.
    """
    specs: list[str] = []
    for word in words:
        first = len(specs)
        for part in word.split(","):
            if len(specs) > first and re.match(r"[A-Za-z_]\w*=", part):
                specs[-1] += f",{part}"
            elif part:
                specs.append(part)
    split = [re.fullmatch(r"(.*?)(?:@([0-9]{1,10}))?", spec, re.DOTALL) for spec in specs]
    found = [match.groups() for match in split if match is not None]
    return tuple(spec for spec, _ in found), tuple(int(own or deals) for _, own in found)


class Players:
    """The agents at all arms; see `workers.Player`.

    Args:
        study: who plays what.

    Raises:
        AgentSpecError: a spec that names no agent of the game.
    """

    def __init__(self, study: Study) -> None:
        self.study = study
        self._games = [arm.game(study.rules) for arm in study.arms]
        self._agents: list[list[Agent]] = []
        for spec in study.agents:
            self._agents.append([make_agent(spec, game) for game in self._games])
            for game, agent in zip(self._games, self._agents[-1], strict=True):
                compile_for(game, agent)
        luck_of(self._games[0], paired(self._games[0], 0, 0, 1))  # compiled, too

    def play(self, agent: int, arm: int, first: int, deals: int, /) -> Chunk:
        """Lets an agent play some deals against itself in an arm, each as dealt and mirrored.

        Args:
            agent: which of the study's.
            arm: which of the study's.
            first: the number of the first deal.
            deals: how many.

        Raises:
            MatchError: it chose an illegal action.
        """
        game, study = self._games[arm], self.study
        states = paired(game, study.seed, first, deals)
        number = np.repeat(np.arange(first, first + deals), 2)
        # Play by play the same streams in all arms: where nobody calls, decision 0 is left out.
        plies = np.full(2 * deals, 0 if study.arms[arm].trump == "call" else 1)
        seats = np.zeros((2 * deals, 2), np.int64)
        playing = [(study.agents[agent], self._agents[agent][arm])]
        seeds = stream_seeds(study.seed, deals)
        play_out(game, states, playing, seats, seeds, number, plies)
        luck = luck_of(game, states)[:, 0].reshape(deals, 2).sum(axis=1)
        return Chunk(
            states[:, TRICKS].astype(np.int8).reshape(deals, 2),
            np.rint(luck * LUCK_UNIT).astype(np.int32),
        )

    def jobs(self) -> Iterator[Job]:
        """All chunks: (agent, arm, first deal, deals). All agents get on at the same pace."""
        agents = range(len(self.study.agents))
        for _, agent, first, size in heapq.merge(*map(self._chunks, agents)):
            for arm in range(len(self.study.arms)):
                yield agent, arm, first, size

    def _chunks(self, agent: int) -> Iterator[tuple[float, int, int, int]]:
        """The chunks of an agent, with how far it is when they are played."""
        plays, deals = self._agents[agent][0], self.study.deals[agent]
        size = KERNEL_CHUNK_DEALS if hasattr(plays, "kernel") else CHUNK_DEALS
        size = max(1, min(size, getattr(plays, "deals_at_once", size)))
        for first in range(0, deals, size):
            yield min(first + size, deals) / deals, agent, first, min(size, deals - first)
