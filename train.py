"""Trains an agent by self-play and measures it: `python train.py`, or `python train.py --help`.

Every seat of every game is played by the same network, which learns from all of them. What comes
out is a folder with the agent (`policy:FOLDER` plays it), its results and all that repeats the run.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import tyro
from rich.console import Console
from stable_baselines3.common.logger import configure

from agents.network import LayoutError
from agents.policy import NetworkAgent, save_policy
from agents.training.progress import LearningCurve
from agents.training.report import RunFolder, RunFolderError, results_table
from agents.training.selfplay import SelfPlayPPO
from agents.training.settings import PRESETS, Settings, SettingsError
from tricktable_env.game import RulesError
from tricktable_env.opponents import AgentSpecError
from tricktable_lab.cli import DONE, FAILED, MISUSED, UsageError, game_from, one_line
from tricktable_lab.match import MatchResult, play_match
from tricktable_lab.replay import rules_of

MISTAKES = (
    SettingsError,
    UsageError,
    RulesError,
    AgentSpecError,
    LayoutError,
    RunFolderError,
)
"""What a wrong argument raises."""
OPPONENTS = ("random", "greedy", "untrained")
"""Whom the trained agent plays at the end; `untrained` is its own network before the first step."""


def main(arguments: Sequence[str]) -> int:
    """Trains and measures; returns the exit code."""
    started = time.perf_counter()
    try:
        settings = read_settings(arguments)
        game = game_from(settings.game, None, settings.rule)
        learner = SelfPlayPPO(settings, game)
        folder = RunFolder(Path(settings.out or default_folder(settings)))
    except MISTAKES as error:
        print("train.py:", " ".join(str(error).split()), file=sys.stderr)
        return MISUSED
    folder.begin(settings, ["python", "train.py", *arguments])
    torch.set_num_threads(1)  # the learner has threads of its own
    console = Console()
    console.print(f"Learning {game.name} in {folder.path}; Ctrl-C stops early and keeps the agent.")

    # Before the first step: the agent to beat, and what the bar shows.
    untrained = NetworkAgent(game, learner.network)
    budget = settings.decisions

    def measure() -> tuple[float, float, float]:
        agent, seed = NetworkAgent(game, learner.network), settings.eval_seed + 1
        result = play_match(game, agent, "greedy", settings.curve_deals, seed)
        return result.win_rate_a, *result.ci95

    curve = LearningCurve(measure, budget, settings.curve_points, console)
    learner.set_logger(configure(str(folder.path / "tensorboard"), ["tensorboard"]))

    # Train.
    stopped = False
    try:
        learner.learn(budget, callback=curve)
    except KeyboardInterrupt:
        stopped = True
    curve.close()
    learner.logger.close()

    # Keep the agent first, then measure it.
    trained_on = {
        "rules": rules_of(game),
        "seed": settings.seed,
        "decisions": learner.num_timesteps,
    }
    weights = save_policy(learner.network, game, folder.path, trained_on)
    if curve.points:
        folder.write_curve(curve.points)
    agent, results = NetworkAgent(game, learner.network), {}
    if stopped:
        console.print(f"Stopped after {learner.num_timesteps:,} decisions; the agent is {weights}")
        return FAILED
    try:
        for name in OPPONENTS:
            opponent = untrained if name == "untrained" else name
            with console.status(f"{settings.eval_deals:,} deals against {name}"):
                result = play_match(game, agent, opponent, settings.eval_deals, settings.eval_seed)
            results[name] = summary(result)
    except KeyboardInterrupt:
        console.print(f"Stopped in the last evaluation; the agent is {weights}")
        return FAILED
    folder.write_results(
        {
            "game": game.name,
            "agent": f"policy:{folder.path}",
            "seconds": round(time.perf_counter() - started, 1),
            "decisions": learner.num_timesteps,
            "opponents": results,
        }
    )
    console.print(results_table(results))
    console.print(
        f"The agent is policy:{folder.path}, as in: tricktable match policy:{folder.path} greedy"
    )
    return DONE


def read_settings(arguments: Sequence[str]) -> Settings:
    """Reads the command line; `--preset` chooses where the other settings start from.

    Raises:
        SettingsError: a value that makes no sense.
        UsageError: arguments that can't be read.
        SystemExit: help was asked for and is printed.
    """
    preset = "default"
    for argument, following in itertools.pairwise([*arguments, ""]):
        name, equals, value = argument.partition("=")
        if name == "--preset":
            preset = value if equals else following
    start = PRESETS.get(preset, PRESETS["default"])
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            return tyro.cli(
                Settings, prog="train.py", description=__doc__, default=start, args=arguments
            )
    except SystemExit as end:
        if not end.code:
            raise
        raise UsageError(one_line(said.getvalue())) from None


def summary(result: MatchResult) -> dict[str, Any]:
    """What results.json says of one opponent."""
    return {
        "win_rate": result.win_rate_a,
        "ci95": list(result.ci95),
        "deals": result.deals,
        "mean_margin": result.mean_margin_a,
    }


def default_folder(settings: Settings) -> str:
    """A new folder's name below runs/."""
    return time.strftime(f"runs/{settings.game}-{settings.seed}-%Y%m%d-%H%M%S")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
