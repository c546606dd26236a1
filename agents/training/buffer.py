"""What self-play collects: the decisions of all seats, and their advantages."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from gymnasium import spaces
from stable_baselines3.common.buffers import RolloutBuffer
from stable_baselines3.common.type_aliases import RolloutBufferSamples

from tricktable_env.jit import kernel


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
        seed: of the order in which samples are drawn.
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
        row_size: int = 0,
        num_players: int = 2,
        seed: int = 0,
    ) -> None:
        self.row_size, self.num_players = row_size, num_players
        self.rng = np.random.default_rng(seed)
        self._make_room(buffer_size)
        super().__init__(
            buffer_size, observation_space, action_space, device, gae_lambda, gamma, n_envs
        )

    def reset(self) -> None:
        """Forgets all decisions and rewards; the arrays stay."""
        self.pos, self.full = 0, False
        self.steps: list[tuple[Any, Any, Any]] = []
        self.advantages = self.returns = self.values = np.zeros(0, np.float32)

    def extend(
        self,
        observations: npt.NDArray[np.uint8],
        actions: npt.NDArray[np.int64],
        values: npt.NDArray[np.float32],
        log_probs: npt.NDArray[np.float32],
    ) -> npt.NDArray[np.int64]:
        """Appends decisions; returns their row numbers.

        Args:
            observations: `[n, row_size] uint8`.
            actions: `[n] int64`.
            values: `[n] float32`, as the critic saw it.
            log_probs: `[n] float32`, of the actions taken.
        """
        end = self.pos + len(observations)
        if end > len(self._actions):
            self._make_room(max(end, 2 * len(self._actions)))
        rows = np.arange(self.pos, end)
        self._observations[rows] = observations
        self._actions[rows], self._values[rows] = actions, values
        self._log_probs[rows] = log_probs
        self.pos = end
        return rows

    def note_step(
        self,
        tables: npt.NDArray[np.int64],
        decisions: npt.NDArray[np.int64],
        players: npt.NDArray[np.int64],
        paid: npt.NDArray[np.float32],
    ) -> None:
        """Notes one step: who acted at which table by which decision, and what it paid.

        Args:
            tables: `[n] int64`, the tables that stepped.
            decisions: `[n] int64`, row numbers from `extend`; -1 for a forced move.
            players: `[n] int64`.
            paid: `[n, P] float32`, to every player, whoever acted.
        """
        self.steps.append((tables, np.stack([decisions, players], 1), paid))

    def finish(self) -> None:
        """Computes the advantages and returns of all decisions; the episodes must be over."""
        n, self.full = self.pos, True
        self.values = self._values[:n]
        self.advantages = np.zeros(n, np.float32)
        carry = np.zeros((self.n_envs, self.num_players, 3))
        for tables, decisions, paid in reversed(self.steps):
            credit(
                tables, decisions, paid, self.values, self.gamma, self.gae_lambda, carry,
                self.advantages,
            )
        self.returns = self.advantages + self.values

    def get(
        self, batch_size: int | None = None
    ) -> Generator[RolloutBufferSamples, None, None]:
        """Yields all decisions in random order, in parts of nearly `batch_size`, all alike."""
        order = self.rng.permutation(self.pos)
        parts = max(1, round(self.pos / batch_size)) if batch_size else 1
        for rows in np.array_split(order, parts):
            yield RolloutBufferSamples(
                observations=self.to_torch(self._observations[rows], copy=False),
                actions=self.to_torch(self._actions[rows], copy=False),
                old_values=self.to_torch(self.values[rows], copy=False),
                old_log_prob=self.to_torch(self._log_probs[rows], copy=False),
                advantages=self.to_torch(self.advantages[rows], copy=False),
                returns=self.to_torch(self.returns[rows], copy=False),
            )

    def _make_room(self, rows: int) -> None:
        old = self.__dict__.get("_actions", np.zeros(0, np.int64))
        for name, kind, shape in (
            ("_observations", np.uint8, (rows, self.row_size)),
            ("_actions", np.int64, (rows,)),
            ("_values", np.float32, (rows,)),
            ("_log_probs", np.float32, (rows,)),
        ):
            array = np.zeros(shape, kind)
            if len(old):
                array[: len(old)] = getattr(self, name)
            setattr(self, name, array)


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
