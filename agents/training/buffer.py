"""What self-play collects: the decisions of all seats, and their advantages."""

from __future__ import annotations

import math
from collections.abc import Generator
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from gymnasium import spaces
from stable_baselines3.common.buffers import RolloutBuffer
from stable_baselines3.common.type_aliases import RolloutBufferSamples

from agents.training.team import Team
from tricktable_env.jit import kernel

Indices: TypeAlias = npt.NDArray[np.int64]

SURE = 0.98
"""From what probability on a choice counts as sure."""
SURE_SHARE = 0.25
"""What part of the sure choices is learnt from."""

GRAIN = 16
"""Networks are given multiples of so many rows, and so often the same number: for a number of rows
that is new, making ready each of their matrix products takes longer than the product itself."""


class Rows(NamedTuple):
    """Decisions, a row each, in the order of RolloutBufferSamples."""

    observations: npt.NDArray[np.uint8]
    """`[N, row_size]`, what the networks read."""
    actions: npt.NDArray[np.int64]
    """`[N]`, what was chosen."""
    values: npt.NDArray[np.float32]
    """`[N]`, what the critic expected."""
    log_probs: npt.NDArray[np.float32]
    """`[N]`, of the actions, when they were chosen."""

    @classmethod
    def room(cls, size: int, row_size: int) -> Rows:
        """Makes room for a number of decisions."""
        return cls(
            np.zeros((size, row_size), np.uint8),
            np.zeros(size, np.int64),
            np.zeros(size, np.float32),
            np.zeros(size, np.float32),
        )


class DecisionBuffer(RolloutBuffer):
    """The decisions of one episode of every table, in the order they were taken.

    Unlike its parent it holds one row a decision, not one a step of every table: seats take turns,
    and forced moves are left out. The arrays grow as needed and are used again.

    Args:
        buffer_size: rows to make room for at first.
        observation_space: of the flat observation; rows are wider where a critic sees more.
        action_space: the game's.
        device: where samples go.
        gae_lambda: see Schulman et al. 2016, "High-dimensional continuous control using
            generalized advantage estimation".
        gamma: discount a decision of the same player.
        n_envs: number of tables.
        row_size: entries of an observation as stored.
        num_players: players of the game, P.
        team: the processes that learn together, each from a buffer of its own.

    Attributes:
        rng: decides the order in which samples are drawn.
    """

    def __init__(
        self,
        buffer_size: int,
        observation_space: spaces.Space[Any],
        action_space: spaces.Space[Any],
        device: torch.device | str = "cpu",
        gae_lambda: float = 0.95,
        gamma: float = 1.0,
        n_envs: int = 1,
        row_size: int = 1,
        num_players: int = 2,
        team: Team | None = None,
    ) -> None:
        self.row_size, self.num_players = row_size, num_players
        self.team, self.rng = team or Team(), np.random.default_rng(0)
        self.rows = Rows.room(buffer_size, row_size)
        super().__init__(
            buffer_size, observation_space, action_space, device, gae_lambda, gamma, n_envs
        )

    def reset(self) -> None:
        """Forgets all decisions and rewards; the arrays stay."""
        self.pos, self.full = 0, False
        self.steps: list[tuple[Indices, Indices, npt.NDArray[np.float32]]] = []
        self.advantages = self.returns = self.values = np.zeros(0, np.float32)

    def add_decisions(
        self,
        observations: npt.NDArray[np.uint8],
        actions: npt.NDArray[np.int64],
        values: npt.NDArray[np.float32],
        log_probs: npt.NDArray[np.float32],
    ) -> Indices:
        """Appends decisions; returns their row numbers.

        Args:
            observations: `[n, row_size] uint8`.
            actions: `[n] int64`.
            values: `[n] float32`, as the critic saw it.
            log_probs: `[n] float32`, of the actions taken.
        """
        start, end = self.pos, self.pos + len(observations)
        while end > len(self.rows.actions):
            arrays: list[Any] = list(self.rows)
            self.rows = Rows(*(np.concatenate([array, array]) for array in arrays))
        self.rows.observations[start:end] = observations
        self.rows.actions[start:end] = actions
        self.rows.values[start:end] = values
        self.rows.log_probs[start:end] = log_probs
        self.pos = end
        return np.arange(start, end)

    def note_step(
        self,
        tables: Indices,
        decisions: Indices,
        players: Indices,
        paid: npt.NDArray[np.float32],
    ) -> None:
        """Notes one step: who acted at which table by which decision, and what it paid.

        Args:
            tables: `[n] int64`, the tables that stepped.
            decisions: `[n] int64`, row numbers from `add_decisions`; -1 for a forced move.
            players: `[n] int64`.
            paid: `[n, P] float32`, to every player, whoever acted.
        """
        self.steps.append((tables, np.stack([decisions, players], 1), paid))

    @property
    def paid(self) -> npt.NDArray[np.float64]:
        """`[P]`, what was paid to each player at all tables in this rollout."""
        total = np.zeros(self.num_players)
        for _, _, paid in self.steps:
            total += paid.sum(0)
        return total

    def finish(self) -> None:
        """Computes the advantages and returns of all decisions; the episodes must be over."""
        self.full = True
        self.values = self.rows.values[: self.pos]
        self.advantages = np.zeros(self.pos, np.float32)
        carry = np.zeros((self.n_envs, self.num_players, 3))
        for step in reversed(self.steps):
            credit(*step, self.values, self.gamma, self.gae_lambda, carry, self.advantages)
        self.returns = self.advantages + self.values

    def get(self, batch_size: int | None = None) -> Generator[RolloutBufferSamples, None, None]:
        """Yields decisions in random order, in parts that are all alike.

        Of the choices that the policy was sure of only some are learnt from, others each time: they
        hardly move it. The parts of all processes of the team together
        have nearly `batch_size` decisions, and every process has the same number of parts.
        Large parts are multiples of GRAIN; what is left over, less than that, waits for another
        time.
        """
        sure = self.rows.log_probs[: self.pos] > math.log(SURE)
        order = np.flatnonzero(~sure | (self.rng.random(self.pos) < SURE_SHARE))
        self.rng.shuffle(order)
        total = int(self.team.add_up(torch.tensor([len(order)])))
        parts = max(1, round(total / batch_size)) if batch_size else 1
        grain = GRAIN if len(order) >= GRAIN**2 * parts else 1
        ends = np.arange(parts + 1) * (len(order) // grain) // parts * grain
        for start, end in pairwise(ends):
            chosen = order[start:end]
            arrays = (*self.rows, self.advantages, self.returns)
            picked = (self.to_torch(array[chosen], copy=False) for array in arrays)
            yield RolloutBufferSamples(*picked)


@kernel
def credit(
    tables: np.ndarray,
    decisions: np.ndarray,
    paid: np.ndarray,
    values: np.ndarray,
    gamma: float,
    lam: float,
    carry: np.ndarray,
    advantages: np.ndarray,
) -> None:
    """Takes one step back in time: generalized advantage estimation along each player's decisions.

    What a player is paid counts for that player's latest decision, whoever acted when it came. The
    value that follows a decision is that of the same player's next one, never another player's,
    who sees other cards; after the last it is 0, for the episode is over.

    Args:
        tables: `[n] int64`, the tables that stepped.
        decisions: `[n, 2] int64`: the decision's row, -1 if forced, and who took it.
        paid: `[n, P] float32`.
        values: `[N] float32`, of all decisions.
        gamma: discount.
        lam: lambda.
        carry: `[B, P, 3] float64`, changed: what was paid since, the value and the advantage of
            the decision that follows. Zero at the end of an episode.
        advantages: `[N] float32`, written.
    """
    for i in range(tables.shape[0]):
        state = carry[tables[i]]
        for player in range(paid.shape[1]):
            state[player, 0] += paid[i, player]
        row = decisions[i, 0]
        if row >= 0:
            mine = state[decisions[i, 1]]
            delta = mine[0] + gamma * mine[1] - values[row]
            mine[0] = 0.0
            mine[1] = values[row]
            mine[2] = delta + gamma * lam * mine[2]
            advantages[row] = mine[2]
