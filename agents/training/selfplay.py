"""Self-play PPO: Stable-Baselines3's PPO with a collecting of its own.

Its parent's collecting is made for one learner an environment. Here every seat of every table is
the learner: a rollout is one episode of every table, in lockstep; whoever is to act acts; moves
that leave no choice are played without asking; and advantages run along each player's own
decisions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.buffers import RolloutBuffer
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecEnv

from agents.network import HiddenCritic, Layout, SuitNetwork, matmul_dtype
from agents.training.actor_critic import SuitPolicy
from agents.training.buffer import GRAIN, DecisionBuffer
from agents.training.settings import Settings, training_rules
from agents.training.team import Team
from tricktable_env.envs.vector import TrickTableVectorEnv
from tricktable_env.game import NOBODY, RUNNING, Game, Rows
from tricktable_env.interop.sb3 import TrickTableVecEnv
from tricktable_env.opponents import decision_streams
from tricktable_env.registry import make_game


class SelfPlayPPO(PPO):
    """PPO that plays all seats against itself.

    Args:
        settings: all of training's settings.
        game: the game to learn, round by round; training is paid by margins, whatever the game
            pays.
        team: the processes that learn together; the tables are shared out to them.

    Raises:
        LayoutError: the network can't read the game's observation.
    """

    def __init__(self, settings: Settings, game: Game, team: Team | None = None) -> None:
        self.settings, self.team = settings, team or Team()
        self.game = make_game(game.name, **training_rules(game))
        layout = Layout.of(self.game)
        self.sees_hidden = settings.critic == "hidden"
        self.tables = np.arange(settings.tables)[self.team.rank :: self.team.size]
        batch = TrickTableVectorEnv(len(self.tables), self.game, "self", on_illegal="raise")
        tables = TrickTableVecEnv(batch)
        super().__init__(
            SuitPolicy,
            tables,
            learning_rate=straight_line(settings.learning_rate, settings.learning_rate_end),
            n_steps=settings.batch_size,  # unused, a rollout is an episode; others draw a warning
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
                "team": self.team,
            },
            policy_kwargs={"team": self.team, **networks(settings, layout)},
            seed=settings.seed,
            device="cpu",
        )

    @property
    def network(self) -> SuitNetwork:
        """The network that learns."""
        return cast(SuitPolicy, self.policy).network

    def collect_rollouts(
        self,
        env: VecEnv,
        callback: BaseCallback,
        rollout_buffer: RolloutBuffer,
        n_rollout_steps: int,
    ) -> bool:
        """Plays one episode at every table; see `OnPolicyAlgorithm.collect_rollouts`.

        A player is paid as it goes: by how far each step puts it ahead.
        """
        buffer = cast(DecisionBuffer, rollout_buffer)
        game, states = self.game, cast(TrickTableVecEnv, env).episodes.states
        self.policy.set_training_mode(False)
        buffer.reset()
        callback.on_rollout_start()
        rows, start = np.arange(len(states)), self.num_timesteps
        self._deal(states, buffer)
        ahead = game.margins(states)
        while len(rows):
            players = game.players(states, rows)
            actions, decisions = self._act(rows, players, buffer)
            status, _ = game.step(states, rows, actions)
            now = game.margins(states[rows])
            paid = ((now - ahead[rows]) * self.settings.reward_scale).astype(np.float32)
            buffer.note_step(rows, decisions, players, paid)
            ahead[rows] = now
            self.num_timesteps += len(rows) * self.team.size  # nearly; exact below
            callback.update_locals(locals())
            if not callback.on_step():
                return False
            rows = rows[status == RUNNING]
        buffer.finish()
        steps = sum(len(tables) for tables, _, _ in buffer.steps)
        self.num_timesteps = start + int(self.team.add_up(torch.tensor([steps])))
        for player, mean in enumerate(buffer.paid / len(states)):
            self.logger.record(f"selfplay/reward_of_player_{player}", mean)
        callback.update_locals(locals())
        callback.on_rollout_end()
        return True

    def go_on(self, callback: BaseCallback | None = None) -> None:
        """Learns from where it is to the end of the budget."""
        rest = self.settings.decisions - self.num_timesteps
        if rest > 0:
            self.learn(rest, callback, reset_num_timesteps=False)

    def train(self) -> None:
        """Updates the policy as PPO does, with the entropy weight of this moment."""
        weight = straight_line(self.settings.entropy, self.settings.entropy_end)
        self.ent_coef = weight(self._current_progress_remaining)
        super().train()

    def _deal(self, states: Any, buffer: DecisionBuffer) -> None:
        """Deals at all tables; how, and all other chance, follows from the seed and the moment.

        So a run goes on from its weights as if it had never stopped.
        """
        of = np.ones(len(states), np.int64)
        seed = np.full(len(states), self.settings.seed, np.uint64)
        keys = decision_streams(seed, self.tables, NOBODY * of, self.num_timesteps * of).keys
        states[:] = self.game.new(keys)
        self.game.deal(states, np.arange(len(states)))
        torch.manual_seed(int(keys[0]))
        buffer.rng = np.random.default_rng(keys[:1])

    def _act(
        self, rows: Rows, players: Any, buffer: DecisionBuffer
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Chooses at some tables; returns the actions and their rows in the buffer, -1 for none.

        Forced moves are not learnt from.
        """
        game, states = self.game, cast(TrickTableVecEnv, self.env).episodes.states
        observe = game.observe_full if self.sees_hidden else lambda *of: game.observe(*of)[0]
        seen = observe(states, rows, players)
        masks = seen[:, game.mask_slice]
        actions: npt.NDArray[np.int64] = masks.argmax(1)
        decisions = np.full(len(rows), -1)
        free = np.flatnonzero(masks.sum(1) > 1)
        if len(free):
            actions[free], decisions[free] = self._decide(seen, free, buffer)
        return actions, decisions

    def _decide(
        self, seen: npt.NDArray[np.uint8], free: Rows, buffer: DecisionBuffer
    ) -> tuple[Any, Any]:
        """Lets the policy act in some rows; returns the actions and their rows in the buffer."""
        count = len(free)
        asked = seen[np.resize(free, -count % GRAIN + count)]  # some twice
        with torch.no_grad():
            acted = self.policy(torch.from_numpy(asked))
        actions, values, log_probs = (part.numpy()[:count] for part in acted)
        return actions, buffer.add_decisions(asked[:count], actions, values, log_probs)


def networks(settings: Settings, layout: Layout) -> dict[str, Any]:
    """Makes the networks that the settings describe, with weights drawn from the seed."""
    torch.manual_seed(settings.seed)
    hidden = settings.critic == "hidden"
    network = SuitNetwork(layout, settings.width, settings.depth, with_value=not hidden)
    critic = HiddenCritic(layout, settings.critic_width, settings.critic_depth) if hidden else None
    network.dtype = matmul_dtype()
    if critic is not None:
        critic.dtype = matmul_dtype()
    return {"network": network, "critic": critic}


def straight_line(start: float, end: float) -> Callable[[float], float]:
    """A schedule from `start` to `end` by the part of the run that remains, which falls from 1."""
    return lambda remaining: end + max(remaining, 0.0) * (start - end)
