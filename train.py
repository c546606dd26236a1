"""Trains an agent and measures it: `python train.py`, or `python train.py --help`.

Every seat of every game is played by the same network, which learns from all of them; or, with
`--algo maskable-ppo`, sb3-contrib's MaskablePPO learns one seat against past selves. What comes
out is a folder with the agent (`policy:FOLDER` plays it), its results and all that repeats the run.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import shlex
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

if __name__ == "__main__" and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # the imports below take seconds: just end

import torch
import tyro
from rich.console import Console
from stable_baselines3.common.callbacks import CallbackList
from stable_baselines3.common.logger import configure

from agents.network import LayoutError
from agents.policy import WORLDS, NetworkAgent, save_policy
from agents.training.checkpoint import (
    CHECKPOINT,
    CheckpointError,
    Checkpoints,
    Learner,
    hire_team,
    read_checkpoint,
)
from agents.training.choices import DivergedError
from agents.training.maskable import OpponentPPO
from agents.training.progress import LearningCurve
from agents.training.report import RunFolder, RunFolderError, results_table
from agents.training.selfplay import SelfPlayPPO
from agents.training.settings import Settings, SettingsError, starting_settings
from agents.training.team import Team, TeamError
from tricktable_env.game import Game, RulesError
from tricktable_env.opponents import AgentSpecError
from tricktable_lab.cli import one_line
from tricktable_lab.commands.options import DONE, FAILED, MISUSED, UsageError, game_from
from tricktable_lab.interrupts import held_back
from tricktable_lab.match import MatchResult, play_match
from tricktable_lab.replay import rules_of

MISTAKES = (
    SettingsError,
    UsageError,
    RulesError,
    AgentSpecError,
    LayoutError,
    RunFolderError,
    CheckpointError,
)
"""What a wrong argument raises."""
OPPONENTS = ("random", "greedy", "untrained")
"""Whom the trained agent plays at the end; `untrained` is its own network before the first step."""
ALONE = ("greedy",)
"""Whom the trained network plays without look-ahead."""


def main(arguments: Sequence[str]) -> int:
    """Trains and measures; returns the exit code."""
    started = time.perf_counter()
    torch.set_num_threads(1)  # processes share the cores, not threads
    try:
        settings, folder = read_run(arguments)
        announce = ("announce=true",) * settings.announce
        game = game_from(settings.game, settings.num_players, (*settings.rule, *announce))
        learner = make_learner(settings, game)
        untrained = NetworkAgent(game, learner.network)
        NetworkAgent(game, learner.network, worlds=settings.worlds)  # known now if it can't be
        folder = folder or RunFolder(Path(settings.out or default_folder(settings)))
        last = folder.path / CHECKPOINT
        resumed = last if last.exists() else None  # a run may have been stopped before its first
        points = [] if resumed is None else read_checkpoint(resumed, learner)
        folder.begin(settings, ["python", "train.py", *arguments])
    except MISTAKES as error:
        print("train.py:", " ".join(str(error).split()), file=sys.stderr)
        return MISUSED
    console = Console()
    console.print(f"Learning {game.name} in {folder.path}; Ctrl-C stops, --resume goes on.")

    # What the bar shows.
    def measure() -> tuple[float, float, float]:
        agent, seed = NetworkAgent(game, learner.network), settings.eval_seed + 1
        result = play_match(game, agent, "greedy", settings.curve_deals, seed)
        return result.win_rate_a, *result.ci95

    curve = LearningCurve(measure, settings.decisions, settings.curve_points, console)
    curve.points = points
    checkpoints = Checkpoints(last, curve, learner.num_timesteps)
    learner.set_logger(configure(str(folder.path / "tensorboard"), ["tensorboard"]))

    # Train, keep the agent, then measure it.
    try:
        resource_tracker.ensure_running()  # its start would let Ctrl-C through to the processes
        with held_back():
            hire_team(learner, game, resumed)
        learner.go_on(CallbackList([curve, checkpoints]))
        curve.close()
        learner.team.dismiss()
        keep(learner, game, folder, curve)
        alone = NetworkAgent(game, learner.network)
        agent = NetworkAgent(game, learner.network, worlds=settings.worlds)

        def evaluate(player: NetworkAgent, name: str) -> dict[str, Any]:
            opponent = untrained if name == "untrained" else name
            deals, seed = settings.eval_deals, settings.eval_seed
            with console.status(f"{deals:,} deals against {name}"):
                return summary(play_match(game, player, opponent, deals, seed, settings.processes))

        results = {
            "game": game.name,
            "agent": f"policy:{folder.path}",
            "seconds": 0.0,
            "decisions": learner.num_timesteps,
            "opponents": {name: evaluate(agent, name) for name in OPPONENTS},
        }
        if settings.worlds:
            results["network_alone"] = {name: evaluate(alone, name) for name in ALONE}
        results["seconds"] = round(time.perf_counter() - started, 1)
        folder.write_results(results)
    except (KeyboardInterrupt, TeamError, DivergedError, OSError) as error:
        curve.close()
        if not isinstance(error, DivergedError):  # then its weights are no numbers
            with contextlib.suppress(OSError):  # which may be why it stopped
                keep(learner, game, folder, curve)
        why = "Stopped" if isinstance(error, KeyboardInterrupt) else f"Stopped: {error}"
        console.print(
            f"{why} after {learner.num_timesteps:,} decisions; what came after "
            f"{checkpoints.decisions:,}, the last checkpoint, is played again by: "
            f"python train.py --resume {shlex.quote(str(folder.path))}",
            soft_wrap=True,
            markup=False,
        )
        return FAILED
    finally:
        learner.team.dismiss()
        learner.logger.close()
    console.print(results_table(results))
    console.print(
        f"The agent is policy:{folder.path}, as in: tricktable match policy:{folder.path} greedy",
        soft_wrap=True,
    )
    return DONE


def read_run(arguments: Sequence[str]) -> tuple[Settings, RunFolder | None]:
    """Reads the command line, and opens the folder of a run that goes on; a new one has none yet.

    Raises:
        SettingsError: a value that makes no sense.
        UsageError: arguments that can't be read, or that go not together.
        RunFolderError: a folder that holds no run to go on with.
        SystemExit: help was asked for and is printed.
    """
    settings = read_settings(arguments)
    if settings.resume is None:
        return settings, None
    if settings != replace(Settings(), resume=settings.resume):
        raise UsageError("--resume goes on with the settings of the run; leave out other options")
    folder = RunFolder(Path(settings.resume), resumed=True)
    return replace(folder.settings(), resume=settings.resume), folder


def read_settings(arguments: Sequence[str]) -> Settings:
    """Reads the command line; `--preset` and `--algo` choose where the others start from.

    Raises:
        SettingsError: a value that makes no sense.
        UsageError: arguments that can't be read.
        SystemExit: help was asked for and is printed.
    """
    chosen = {"--preset": "", "--algo": ""}
    for argument, following in itertools.pairwise([*arguments, ""]):
        name, equals, value = argument.partition("=")
        if name in chosen:
            chosen[name] = value if equals else following
    start = starting_settings(*chosen.values())
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


def make_learner(settings: Settings, game: Game) -> Learner:
    """Makes what `--algo` names."""
    if settings.algo == "maskable-ppo":
        return OpponentPPO(settings, game)
    return SelfPlayPPO(settings, game, Team(0, settings.processes))


def keep(learner: Learner, game: Game, folder: RunFolder, curve: LearningCurve) -> None:
    """Writes the agent as it is now, and its learning curve."""
    notes = {
        "rules": rules_of(game),
        "seed": learner.settings.seed,
        "decisions": learner.num_timesteps,
        WORLDS: learner.settings.worlds,
    }
    save_policy(learner.network, game, folder.path, notes)
    if curve.points:
        folder.write_curve(curve.points)


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
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # stops as Ctrl-C does
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:  # before there was anything to keep
        print("train.py: stopped", file=sys.stderr)
        sys.exit(FAILED)
