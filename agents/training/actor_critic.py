"""The suit network as a policy of Stable-Baselines3."""

from __future__ import annotations

from typing import Any

import torch
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.type_aliases import PyTorchObs, Schedule
from torch import Tensor, nn

from agents.network import HiddenCritic, SuitNetwork
from agents.training.choices import draw, judge
from agents.training.team import Team, apply_together


class SuitPolicy(ActorCriticPolicy):
    """Policy and critic of suit networks, masked by the observation itself.

    Args:
        observation_space: of the flat observation.
        action_space: the game's.
        lr_schedule: learning rate.
        network: the policy; values are its own if it has a value head.
        critic: gives the values if the policy has none; it is told the hidden cards, so that
            observations must be full-information rows.
        team: the processes that learn together.
        **options: whatever `ActorCriticPolicy` takes.
    """

    def __init__(
        self,
        observation_space: Any,
        action_space: Any,
        lr_schedule: Schedule,
        network: SuitNetwork,
        critic: HiddenCritic | None = None,
        team: Team | None = None,
        **options: Any,
    ) -> None:
        self._parts, self.team = (network, critic), team or Team()
        super().__init__(observation_space, action_space, lr_schedule, **options)

    def _build(self, lr_schedule: Schedule) -> None:
        self.network, critic = self._parts
        self.learner = self.network if critic is None else WithCritic(self.network, critic)
        self.optimizer = torch.optim.Adam(
            self.learner.parameters(), lr=lr_schedule(1), eps=1e-5, fused=True
        )

    def forward(self, obs: Tensor, deterministic: bool = False) -> tuple[Tensor, Tensor, Tensor]:
        """Acts: actions `[B]`, values `[B]` and log-probabilities `[B]`."""
        logits, values = self._evaluate(obs)
        if deterministic:
            actions = logits.argmax(1)
            return actions, values, judge(logits, actions)[0]
        actions, log_probs = draw(logits)
        return actions, values, log_probs

    def evaluate_actions(
        self, obs: PyTorchObs, actions: Tensor
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """Returns values, log-probabilities of the actions, and entropies, each `[B]`."""
        assert isinstance(obs, Tensor)
        logits, values = self._evaluate(obs)
        return values, *judge(logits, actions)

    def predict_values(self, obs: PyTorchObs) -> Tensor:
        """Returns the values `[B]`."""
        assert isinstance(obs, Tensor)
        return self._evaluate(obs)[1]

    def _predict(self, observation: PyTorchObs, deterministic: bool = False) -> Tensor:
        assert isinstance(observation, Tensor)
        logits, _ = self.network(observation)
        if deterministic:
            return torch.as_tensor(logits.argmax(1))
        return draw(logits)[0]

    def _evaluate(self, obs: Tensor) -> tuple[Tensor, Tensor]:
        logits, values = apply_together(self.learner, obs, self.team)
        return logits, values


class WithCritic(nn.Module):
    """A policy and a critic of its own, side by side.

    Args:
        network: the policy.
        critic: reads the same rows.
    """

    def __init__(self, network: SuitNetwork, critic: HiddenCritic) -> None:
        super().__init__()
        self.network, self.critic = network, critic

    def forward(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the policy's logits and the critic's values."""
        return self.network(rows)[0], self.critic(rows)
