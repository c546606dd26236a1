"""A run's last moment in one file, from which it goes on as if it had never stopped.

All chance in training follows from the seed and the number of decisions so far (see
`selfplay.SelfPlayPPO`), so weights, optimizer and that number are all there is to keep.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import configure

from agents.policy import write_whole
from agents.training.actor_critic import SuitPolicy
from agents.training.progress import LearningCurve, Point
from agents.training.selfplay import SelfPlayPPO
from agents.training.settings import Settings
from agents.training.team import Team
from tricktable_env.game import Game

CHECKPOINT = "checkpoint.safetensors"


class CheckpointError(ValueError):
    """A file from which no run can go on."""


class Checkpoints(BaseCallback):
    """Writes a checkpoint before every episode of the tables: some megabytes, some milliseconds.

    The file is whole at any moment, so a run that is killed loses one episode of every table.

    Args:
        path: of the file, which is replaced.
        curve: its points are kept too.
    """

    def __init__(self, path: Path, curve: LearningCurve) -> None:
        super().__init__()
        self.path, self.curve = path, curve

    def _on_rollout_start(self) -> None:
        write_checkpoint(self.path, cast(SelfPlayPPO, self.model), self.curve.points)

    def _on_step(self) -> bool:
        return True

    def _on_training_end(self) -> None:
        self._on_rollout_start()


def write_checkpoint(path: Path, learner: SelfPlayPPO, points: list[Point]) -> None:
    """Writes what a run needs to go on.

    Raises:
        OSError: it can't be written; an older file is left as it is.
    """
    policy = cast(SuitPolicy, learner.policy)
    tensors = {f"weights.{name}": of for name, of in policy.learner.state_dict().items()}
    for index, state in policy.optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{index}.{name}": of for name, of in state.items()}
    progress = {
        "decisions": learner.num_timesteps,
        "updates": learner._n_updates,
        "points": [list(point) for point in points],
    }
    write_whole({path: save(tensors, {"progress": json.dumps(progress)})})


def read_checkpoint(path: Path, learner: SelfPlayPPO) -> list[Point]:
    """Puts a learner of the same settings where the run was.

    Returns:
        The points of the learning curve so far.

    Raises:
        CheckpointError: no such file, or not one of a run with these settings.
    """
    policy = cast(SuitPolicy, learner.policy)
    tensors: dict[str, dict[str, torch.Tensor]] = {"weights": {}, "optimizer": {}}
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
        policy.learner.load_state_dict(tensors["weights"])
        policy.optimizer.load_state_dict({**policy.optimizer.state_dict(), "state": state})
    except (OSError, SafetensorError, RuntimeError, ValueError, LookupError, TypeError) as error:
        reason = " ".join(str(error).split())
        raise CheckpointError(f"{path}: no checkpoint of this run: {reason}") from None
    learner.num_timesteps, learner._n_updates = decisions, updates
    return points


def hire_team(learner: SelfPlayPPO, game: Game, resumed: Path | None) -> None:
    """Starts the other processes of a learner's run, which go on with it as it does itself.

    Args:
        learner: the first of the team.
        game: the game to learn.
        resumed: the checkpoint that it goes on from, None if it begins.
    """
    policy = cast(SuitPolicy, learner.policy)
    longest = sum(weight.numel() for weight in policy.learner.parameters())
    learner.team.hire(longest, learn_along, (learner.settings, game, resumed))


def learn_along(team: Team, settings: Settings, game: Game, resumed: Path | None) -> None:
    """What such a process does."""
    learner = SelfPlayPPO(settings, game, team)
    learner.set_logger(configure(None, []))
    if resumed is not None:
        read_checkpoint(resumed, learner)
    learner.go_on()
