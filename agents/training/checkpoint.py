"""A run's last moment in one file, from which it goes on as if it had never stopped.

All chance in self-play follows from the seed and the number of decisions so far (see
`selfplay.SelfPlayPPO`), so weights, optimizer and that number are all there is to keep. MaskablePPO
has past selves beside them, and episodes under way, which are not kept: it goes on with new deals.
"""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Any, TypeAlias, cast

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import configure
from torch import nn

from agents.training.actor_critic import SuitPolicy
from agents.training.maskable import OpponentPPO
from agents.training.progress import LearningCurve, Point
from agents.training.selfplay import SelfPlayPPO
from agents.training.settings import Settings
from agents.training.team import Team
from tricktable_env.files import write_whole
from tricktable_env.game import Game

CHECKPOINT = "checkpoint.safetensors"

Learner: TypeAlias = SelfPlayPPO | OpponentPPO
"""What a run trains."""


class CheckpointError(ValueError):
    """A file from which no run can go on."""


class Checkpoints(BaseCallback):
    """Writes a checkpoint before every episode of the tables: some megabytes, some milliseconds.

    The file is whole at any moment, so a run that is killed loses one episode of every table.

    Args:
        path: of the file, which is replaced.
        curve: its points are kept too.
        decisions: those of the checkpoint that is there already.

    Attributes:
        decisions: those of the last checkpoint.
    """

    def __init__(self, path: Path, curve: LearningCurve, decisions: int) -> None:
        super().__init__()
        self.path, self.curve, self.decisions = path, curve, decisions

    def _on_rollout_start(self) -> None:
        learner = cast(Learner, self.model)
        write_checkpoint(self.path, learner, self.curve.points)
        self.decisions = learner.num_timesteps

    def _on_step(self) -> bool:
        return True

    def _on_training_end(self) -> None:
        self._on_rollout_start()


def write_checkpoint(path: Path, learner: Learner, points: list[Point]) -> None:
    """Writes what a run needs to go on.

    Raises:
        OSError: it can't be written; an older file is left as it is.
    """
    tensors = {f"weights.{name}": of for name, of in _trained(learner).state_dict().items()}
    for index, state in learner.policy.optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{index}.{name}": of for name, of in state.items()}
    if isinstance(learner, OpponentPPO):
        tensors |= {f"past.{name}": of for name, of in learner.past_weights.items()}
    progress = {
        "decisions": learner.num_timesteps,
        "updates": learner._n_updates,
        "points": [list(point) for point in points],
    }
    write_whole({path: save(tensors, {"progress": json.dumps(progress)})})


def read_checkpoint(path: Path, learner: Learner) -> list[Point]:
    """Puts a learner of the same settings where the run was.

    Returns:
        The points of the learning curve so far.

    Raises:
        CheckpointError: no such file, or not one of a run with these settings.
    """
    tensors: dict[str, dict[str, torch.Tensor]] = {"weights": {}, "optimizer": {}, "past": {}}
    try:
        with safe_open(path, "pt") as file:
            progress = json.loads((file.metadata() or {})["progress"])
            for key in file.keys():  # noqa: SIM118 - it is no mapping
                part, _, name = key.partition(".")
                tensors[part][name] = file.get_tensor(key)
        state: dict[int, dict[str, Any]] = {}
        for name, of in tensors["optimizer"].items():
            index, _, what = name.partition(".")
            state.setdefault(int(index), {})[what] = of
        points = [Point(*point) for point in progress["points"]]
        decisions, updates = int(progress["decisions"]), int(progress["updates"])
        optimizer = learner.policy.optimizer
        _trained(learner).load_state_dict(tensors["weights"])
        optimizer.load_state_dict({**optimizer.state_dict(), "state": state})
        learner.num_timesteps, learner._n_updates = decisions, updates
        if isinstance(learner, OpponentPPO):
            learner.take_past(tensors["past"])
    except (OSError, SafetensorError, RuntimeError, ValueError, LookupError, TypeError) as error:
        reason = textwrap.shorten(str(error), 200)
        raise CheckpointError(f"{path}: no checkpoint of this run: {reason}") from None
    return points


def hire_team(learner: Learner, game: Game, resumed: Path | None) -> None:
    """Starts the other processes of a learner's run, which go on with it as it does itself.

    Args:
        learner: the first of the team.
        game: the game to learn.
        resumed: the checkpoint that it goes on from, None if it begins.
    """
    longest = sum(weight.numel() for weight in _trained(learner).parameters())
    learner.team.hire(longest, learn_along, (learner.settings, game, resumed))


def learn_along(team: Team, settings: Settings, game: Game, resumed: Path | None) -> None:
    """What such a process does."""
    learner = SelfPlayPPO(settings, game, team)
    learner.set_logger(configure(None, []))
    if resumed is not None:
        read_checkpoint(resumed, learner)
    learner.go_on()


def _trained(learner: Learner) -> nn.Module:
    """The networks that a learner trains."""
    if isinstance(learner, OpponentPPO):
        return learner.policy
    return cast(SuitPolicy, learner.policy).learner
