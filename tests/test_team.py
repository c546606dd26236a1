"""The processes of a training run: that they learn as one, and end as one."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn

from agents.network import Layout, SuitNetwork
from agents.training.checkpoint import hire_team
from agents.training.selfplay import SelfPlayPPO
from agents.training.settings import Settings, SettingsError
from agents.training.team import Team, TeamError, apply_together
from tricktable_env.game import Game
from tricktable_env.registry import make_game

SMALL = Settings(tables=33, batch_size=128, width=16, depth=2, processes=2, decisions=1800)
RULES = {"suits": 3, "ranks": 6, "hand": 4, "piles": 2}


@pytest.fixture
def game() -> Game:
    return make_game("tableau", **RULES)


@pytest.fixture
def team() -> Iterator[Team]:
    team = Team(0, 3)
    yield team
    team.dismiss()


def count(team: Team, rounds: int) -> None:
    for turn in range(rounds):
        team.add_up(torch.tensor([float(team.rank), turn, 0.5]))


def die(team: Team) -> None:
    team.add_up(torch.zeros(1))
    os._exit(3)


def test_all_get_the_sum(team: Team) -> None:
    team.hire(3, count, (50,))
    for turn in range(50):
        assert team.add_up(torch.tensor([0.0, turn, 0.5])).tolist() == [3.0, 3.0 * turn, 1.5]


def test_one_process_is_a_team_too() -> None:
    assert Team().add_up(torch.tensor([1.5, 2.0])).tolist() == [1.5, 2.0]


def test_a_process_that_dies_is_noticed_and_the_others_are_ended(team: Team) -> None:
    team.hire(1, die, ())
    team.add_up(torch.zeros(1))
    with pytest.raises(TeamError, match="ended before its work was done"):
        team.add_up(torch.zeros(1))
    workers = list(team._workers)
    team.dismiss()
    assert [worker.is_alive() for worker in workers] == [False, False]


def test_workers_end_when_the_team_is_dismissed_in_the_middle(team: Team) -> None:
    team.hire(3, count, (1_000_000_000,))
    team.add_up(torch.zeros(3))
    workers = list(team._workers)
    team.dismiss()
    assert not any(worker.is_alive() for worker in workers)


# -- learning together -----------------------------------------------------------------------
def parts_of(rows: torch.Tensor, size: int) -> list[torch.Tensor]:
    return list(rows.tensor_split(size))


def a_network() -> SuitNetwork:
    torch.manual_seed(0)
    return SuitNetwork(Layout.of(make_game("tableau", **RULES)), width=16, depth=2)


def some_rows() -> torch.Tensor:
    generator = torch.Generator().manual_seed(1)
    size = Layout.of(make_game("tableau", **RULES)).size
    return torch.randint(0, 2, (99, size), generator=generator, dtype=torch.uint8)


def back(network: nn.Module, rows: torch.Tensor, team: Team) -> list[torch.Tensor]:
    network.zero_grad()
    logits, values = apply_together(network, rows, team)
    (logits.clamp(-5, 5).sin().sum(1) + values.square()).mean().backward()
    return [weight.grad.clone() for weight in network.parameters() if weight.grad is not None]


def go_back(team: Team) -> None:
    for _ in range(2):
        back(a_network(), parts_of(some_rows(), team.size)[team.rank], team)


def test_the_gradient_is_that_of_all_rows_together(team: Team) -> None:
    network, rows = a_network(), some_rows()
    whole = back(network, rows, Team())
    assert sum(float(grad.abs().sum()) for grad in whole) > 0
    team.hire(sum(grad.numel() for grad in whole), go_back, ())
    for _ in range(2):
        together = back(network, parts_of(rows, 3)[0], team)
        for mine, theirs in zip(together, whole, strict=True):
            torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-6)


def test_acting_without_gradients_waits_for_nobody() -> None:
    with torch.no_grad():
        logits, _ = apply_together(a_network(), some_rows(), Team(0, 2))
    assert len(logits) == 99


def learnt(settings: Settings, game: Game) -> SelfPlayPPO:
    learner = SelfPlayPPO(settings, game, Team(0, settings.processes))
    hire_team(learner, game, None)
    try:
        learner.go_on()
    finally:
        learner.team.dismiss()
    return learner


def test_a_team_learns_the_same_from_the_same_seed(game: Game) -> None:
    first, again = learnt(SMALL, game), learnt(SMALL, game)
    plies = 1 + 2 * game.rules.tricks  # every table plays as many
    assert first.num_timesteps == again.num_timesteps
    assert first.num_timesteps % (SMALL.tables * plies) == 0
    assert first.num_timesteps >= SMALL.decisions
    assert len(first.tables) == 17
    for mine, theirs in zip(first.policy.parameters(), again.policy.parameters(), strict=True):
        assert torch.equal(mine, theirs)
    untrained = SelfPlayPPO(SMALL, game)
    assert not torch.equal(next(untrained.policy.parameters()), next(first.policy.parameters()))


def test_more_processes_than_tables_are_refused() -> None:
    with pytest.raises(SettingsError, match="--tables 1 must be at least --processes"):
        replace(SMALL, tables=1)


@pytest.mark.skipif(not Path("/proc").exists(), reason="looks processes up in /proc")
def test_workers_do_not_outlive_a_killed_run(tmp_path: Path) -> None:
    import subprocess
    import sys

    root = Path(__file__).parent.parent
    arguments = [
        *("--preset", "smoke", "--decisions", "100000000", "--width", "16", "--tables", "32"),
        *("--rule", "suits=3", "--rule", "ranks=6", "--rule", "hand=4", "--rule", "piles=2"),
        *("--out", str(tmp_path / "run")),
    ]
    process = subprocess.Popen([sys.executable, "train.py", *arguments], cwd=root)
    checkpoint = tmp_path / "run" / "checkpoint.safetensors"
    try:
        wait_for(lambda: checkpoint.exists() and checkpoint.stat().st_size > 0)
        first = checkpoint.stat().st_mtime_ns
        wait_for(lambda: checkpoint.stat().st_mtime_ns > first)
        task = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        children = [int(pid) for pid in task.read_text().split()]
        assert children
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    wait_for(lambda: not any(runs(pid) for pid in children))


def runs(pid: int) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def wait_for(happens: object, seconds: float = 90) -> None:
    end = time.monotonic() + seconds
    while not happens():  # type: ignore[operator]
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)
