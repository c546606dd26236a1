"""MaskablePPO as sb3-contrib has it: one learner a table, its opponents inside the environment.

The algorithm and its `MlpPolicy` are taken as they come; what is added is whom they play: an agent
named by a spec, or their own past selves. It is what a user of Stable-Baselines3 would try first,
and what the self-play recipe is measured beside.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecMonitor
from torch import Tensor

from agents.mlp import MlpNetwork
from agents.policy import NetworkAgent
from agents.training.selfplay import straight_line
from agents.training.settings import PAST_SELF, Settings, SettingsError, training_rules
from agents.training.team import Team
from tricktable_env.cards import Mask, Words
from tricktable_env.envs.vector import TrickTableVectorEnv
from tricktable_env.game import Game
from tricktable_env.interop.sb3 import TrickTableVecEnv
from tricktable_env.opponents import Streams
from tricktable_env.registry import make_game

KEPT = 20
"""How many past selves are kept; of more than that the oldest goes."""
NEWEST = 0.5
"""How often the newest of them plays; else any of them does, each as likely as the next."""


class PastSelves:
    """An opponent that plays as the learner did before, drawing from its odds.

    Args:
        game: the game to play.
        seed: decides who plays when.
    """

    def __init__(self, game: Game, seed: int) -> None:
        self.game, self.seed = game, seed
        self.kept: list[NetworkAgent] = []
        self.playing: NetworkAgent

    def add(self, network: MlpNetwork) -> None:
        """Keeps a copy of a network."""
        self.kept = [*self.kept, NetworkAgent(self.game, network, sample=True)][-KEPT:]

    def draw(self, moment: int) -> None:
        """Draws who plays from a moment on."""
        rng = np.random.default_rng((self.seed, moment))
        newest = rng.random() < NEWEST
        self.playing = self.kept[-1 if newest else rng.integers(len(self.kept))]

    def act(self, view: Words, mask: Mask, rng: np.random.Generator) -> int:
        """Chooses an action for a view `[W]`."""
        return self.playing.act(view, mask, rng)

    def act_batch(self, views: Words, masks: Mask, streams: Streams) -> npt.NDArray[np.int64]:
        """Chooses an action for each view `[B, W]`; `[B] int64`."""
        return self.playing.act_batch(views, masks, streams)


class OpponentPPO(MaskablePPO):
    """MaskablePPO against one opponent, in a seat drawn anew for each episode.

    It is paid as the game pays, so at the end of an episode. Steps and decisions are the
    learner's own; the opponent's are not counted.

    Args:
        settings: all of training's settings.
        game: the game to learn, round by round.

    Raises:
        AgentSpecError: an opponent that can't be made.
        SettingsError: numbers that leave parts of a single decision, of which nothing is learnt.
    """

    def __init__(self, settings: Settings, game: Game) -> None:
        part = nearest_divisor(settings.steps * settings.tables, settings.batch_size)
        if part == 1:
            raise SettingsError(
                f"--steps {settings.steps} x --tables {settings.tables} can't be cut into parts of "
                f"2 to --batch-size {settings.batch_size}; choose a number with small divisors"
            )
        self.settings, self.team = settings, Team()  # it learns in one process
        self.game = make_game(game.name, **training_rules(game))
        self.past = PastSelves(self.game, settings.seed) if settings.opponent == PAST_SELF else None
        opponent = settings.opponent if self.past is None else self.past
        batch = TrickTableVectorEnv(settings.tables, self.game, opponent, on_illegal="raise")
        super().__init__(
            "MlpPolicy",
            VecMonitor(TrickTableVecEnv(batch)),
            learning_rate=straight_line(settings.learning_rate, settings.learning_rate_end),
            n_steps=settings.steps,
            batch_size=part,
            n_epochs=settings.epochs,
            gamma=1.0,
            gae_lambda=settings.gae_lambda,
            clip_range=settings.clip_range,
            ent_coef=settings.entropy,
            vf_coef=settings.value_weight,
            max_grad_norm=settings.max_grad_norm,
            policy_kwargs={"net_arch": [settings.width] * settings.depth},
            seed=settings.seed,
            device="cpu",
        )
        if self.past is not None:  # somebody has to play when the first cards are dealt
            self.past.add(self.network)
            self.past.draw(0)

    @property
    def network(self) -> MlpNetwork:
        """A copy of the network that chooses, as it is now."""
        return MlpNetwork.of_model(self, self.game)

    @property
    def past_weights(self) -> dict[str, Tensor]:
        """The weights of its past selves, by `NUMBER.NAME`, 0 the oldest."""
        kept = self.past.kept if self.past is not None else ()
        networks = [agent.network.state_dict() for agent in kept]
        return {f"{i}.{name}": of for i, each in enumerate(networks) for name, of in each.items()}

    def take_past(self, weights: Mapping[str, Tensor]) -> None:
        """Puts the past selves there that `past_weights` told of.

        Raises:
            RuntimeError: they are none of this network.
        """
        if self.past is None:
            return
        by_number: dict[int, dict[str, Tensor]] = {}
        for key, of in weights.items():
            number, _, name = key.partition(".")
            by_number.setdefault(int(number), {})[name] = of
        self.past.kept = []
        for _, tensors in sorted(by_number.items()):
            network = self.network
            network.load_state_dict(tensors)
            self.past.add(network)
        self.past.draw(self.num_timesteps)

    def go_on(self, callback: BaseCallback | None = None) -> None:
        """Learns from where it is to the end of the budget, beginning with new deals.

        They, and all other chance, follow from the seed and the moment.
        """
        rest = self.settings.decisions - self.num_timesteps
        if rest > 0:
            moment = np.random.SeedSequence((self.settings.seed, self.num_timesteps))
            self.set_random_seed(int(moment.generate_state(1)[0]))
            self.learn(rest, callback, reset_num_timesteps=False)

    def train(self) -> None:
        """Updates the policy as MaskablePPO does, then draws the opponent of the next steps."""
        settings = self.settings
        weight = straight_line(settings.entropy, settings.entropy_end)
        self.ent_coef = weight(self._current_progress_remaining)
        super().train()
        if self.past is not None:
            if self._n_updates // self.n_epochs % settings.opponent_updates == 0:
                self.past.add(self.network)
            self.past.draw(self.num_timesteps)


def nearest_divisor(whole: int, wanted: int) -> int:
    """The largest divisor up to `wanted`, so that all parts of a rollout are alike."""
    return next(part for part in range(min(whole, wanted), 0, -1) if whole % part == 0)
