"""Self-play PPO: Stable-Baselines3's PPO with a collecting of its own.

Its parent's collecting is made for one learner an environment. Here every seat of every table is
the learner: a rollout is one episode of every table, in lockstep; whoever is to act acts; moves
that leave no choice are played without asking; and advantages run along each player's own
decisions.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.buffers import RolloutBuffer
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecEnv

from agents.network import Layout, matmul_dtype
from agents.training.actor_critic import SuitPolicy
from agents.training.buffer import DecisionBuffer
from agents.training.settings import Settings
from agents.training.tables import Tables
from tricktable_env.game import Game
from tricktable_env.registry import make_game


class SelfPlayPPO(PPO):
    """PPO that plays all seats against itself.

    Args:
        settings: all of training's settings.
        game: the game to learn; paid by `settings.reward`, whatever its own reward.
    """

    def __init__(self, settings: Settings, game: Game) -> None:
        self.settings = settings
        self.game = make_game(game.name, **settings.training_rules())
        layout = Layout.of(self.game)
        self.sees_hidden = settings.critic == "hidden"
        super().__init__(
            SuitPolicy,
            Tables(self.game, settings.tables, settings.seed),
            learning_rate=linear_schedule(settings.learning_rate, settings.learning_rate_end),
            n_steps=settings.batch_size,  # a rollout is an episode; this only avoids a warning
            batch_size=settings.batch_size,
            n_epochs=settings.epochs,
            gamma=1.0,
            gae_lambda=settings.gae_lambda,
            clip_range=settings.clip_range,
            ent_coef=settings.entropy,
            vf_coef=settings.value_weight,
            max_grad_norm=settings.max_grad_norm,
            rollout_buffer_class=DecisionBuffer,
            rollout_buffer_kwargs={
                "row_size": layout.full_size if self.sees_hidden else layout.size,
                "num_players": self.game.num_players,
                "seed": settings.seed,
            },
            policy_kwargs={
                "layout": layout,
                "width": settings.width,
                "depth": settings.depth,
                "critic": settings.critic,
                "dtype": matmul_dtype(),
                "threads": settings.threads,
            },
            seed=settings.seed,
            device="cpu",
        )

    def collect_rollouts(
        self,
        env: VecEnv,
        callback: BaseCallback,
        rollout_buffer: RolloutBuffer,
        n_rollout_steps: int,
    ) -> bool:
        """Plays one episode at every table; see `OnPolicyAlgorithm.collect_rollouts`."""
        tables, buffer = cast(Tables, env), cast(DecisionBuffer, rollout_buffer)
        game, states = tables.game, tables.states
        self.policy.set_training_mode(False)
        buffer.reset()
        callback.on_rollout_start()
        rows = tables.rows
        game.deal(states, rows)
        while len(rows):
            players = game.players(states, rows)
            observations, masks = self._observe(states, rows, players)
            actions = masks.argmax(1)
            free = np.flatnonzero(masks.sum(1) > 1)
            decisions = np.full(len(rows), -1)
            if len(free):
                actions[free], decisions[free] = self._decide(observations[free], buffer)
            status, paid = game.step(states, rows, actions)
            buffer.note_step(rows, decisions, players, paid * self.settings.reward_scale)
            self.num_timesteps += len(rows)
            callback.update_locals(locals())
            if not callback.on_step():
                return False
            rows = rows[status == 0]
        buffer.finish()
        callback.update_locals(locals())
        callback.on_rollout_end()
        return True

    def train(self) -> None:
        """Updates the policy as PPO does, with the entropy weight of this moment."""
        done = 1 - self._current_progress_remaining
        settings = self.settings
        self.ent_coef = settings.entropy + done * (settings.entropy_end - settings.entropy)
        super().train()

    def _observe(self, states: Any, rows: Any, players: Any) -> tuple[Any, Any]:
        """Returns what the networks read of each row, and the masks."""
        if not self.sees_hidden:
            return self.game.observe(states, rows, players)
        full = self.game.observe_full(states, rows, players)
        return full, full[:, self.game.mask_slice].view(np.int8)

    def _decide(self, observations: Any, buffer: DecisionBuffer) -> tuple[Any, Any]:
        """Lets the policy act; returns the actions and their rows in the buffer."""
        with torch.no_grad():
            acted = self.policy(torch.from_numpy(observations))
        actions, values, log_probs = (part.numpy() for part in acted)
        return actions, buffer.extend(observations, actions, values, log_probs)


def linear_schedule(start: float, end: float) -> Any:
    """Returns a schedule of Stable-Baselines3 from `start` to `end`: progress falls from 1 to 0."""
    return lambda remaining: end + remaining * (start - end)
