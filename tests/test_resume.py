"""A run that stopped goes on: with the same agent in the end as if it had not stopped."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import torch

import train
from agents.training import report
from agents.training.checkpoint import (
    CHECKPOINT,
    CheckpointError,
    read_checkpoint,
    write_checkpoint,
)
from agents.training.progress import Point
from agents.training.selfplay import SelfPlayPPO
from agents.training.settings import Settings
from tricktable_env.game import Game
from tricktable_env.registry import make_game

ROOT = Path(__file__).parent.parent
SMALL = Settings(tables=16, batch_size=64, width=16, depth=2, processes=1, decisions=1500)
ARGUMENTS = (
    *("--preset", "smoke", "--decisions", "9000", "--tables", "32", "--width", "16"),
    *(
        "--rule",
        "suits=3",
        "--rule",
        "ranks=8",
        "--rule",
        "hand=5",
        "--rule",
        "piles=2",
        "--curve-points",
        "4",
    ),
)


@pytest.fixture
def game() -> Game:
    return make_game("tableau", suits=3, ranks=6, hand=4, piles=2)


def same(mine: SelfPlayPPO, theirs: SelfPlayPPO) -> bool:
    pairs = zip(mine.policy.state_dict().values(), theirs.policy.state_dict().values(), strict=True)
    return all(torch.equal(a, b) for a, b in pairs)


def test_a_resumed_run_ends_with_the_very_same_weights(game: Game, tmp_path: Path) -> None:
    settings = SMALL
    whole = SelfPlayPPO(settings, game)
    whole.go_on()
    stopped = SelfPlayPPO(settings, game)
    train_once, calls = stopped.train, []

    def train_twice() -> None:
        calls.append(stopped.num_timesteps)
        train_once()
        if len(calls) == 2:
            raise KeyboardInterrupt

    stopped.train = train_twice  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        stopped.go_on()
    points = [Point(272, 1.5, 0.5, 0.25, 0.75)]
    write_checkpoint(tmp_path / CHECKPOINT, stopped, points)
    torch.rand(5)  # whatever else happens meanwhile
    resumed = SelfPlayPPO(settings, game)
    assert read_checkpoint(tmp_path / CHECKPOINT, resumed) == points
    assert same(resumed, stopped)
    resumed.go_on()
    assert resumed.num_timesteps == whole.num_timesteps
    assert same(resumed, whole)
    assert not same(resumed, stopped)


def test_a_finished_run_has_nothing_left_to_learn(game: Game) -> None:
    learner = SelfPlayPPO(SMALL, game)
    learner.go_on()
    before = learner.num_timesteps
    learner.go_on()
    assert learner.num_timesteps == before


def test_no_checkpoint_of_this_run_is_said_in_one_line(game: Game, tmp_path: Path) -> None:
    path = tmp_path / CHECKPOINT
    learner = SelfPlayPPO(SMALL, game)
    with pytest.raises(CheckpointError, match="no checkpoint of this run"):
        read_checkpoint(path, learner)
    write_checkpoint(path, learner, [])
    whole = path.read_bytes()
    for broken in (whole[:-9], whole[: len(whole) // 2], b"", b"\0" * 100, whole[:50] + whole[60:]):
        path.write_bytes(broken)
        with pytest.raises(CheckpointError, match=str(path)) as caught:
            read_checkpoint(path, learner)
        assert "\n" not in str(caught.value)
    path.write_bytes(whole)
    with pytest.raises(CheckpointError, match=str(path)):
        read_checkpoint(path, SelfPlayPPO(replace(SMALL, width=32), game))
    assert read_checkpoint(path, learner) == []


# -- train.py --------------------------------------------------------------------------------
def start(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "train.py", *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "COLUMNS": "200"},
    )


def results_of(folder: Path) -> dict[str, Any]:
    results: dict[str, Any] = json.loads((folder / "results.json").read_text())
    return {key: results[key] for key in ("decisions", "opponents")}


def curve_of(folder: Path) -> list[list[float]]:
    points = json.loads((folder / "learning-curve.json").read_text())
    return [[point["decisions"], point["win_rate"]] for point in points]


def test_runs_that_were_killed_or_stopped_end_as_if_they_had_not_been(tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert finish(start(*ARGUMENTS, "--out", str(whole))) == (0, "")
    signals = [signal.SIGKILL, signal.SIGINT, signal.SIGTERM]
    command = [*ARGUMENTS, "--out", str(killed)]
    for number in signals:
        process = start(*command)
        before = stamp(killed)
        end = time.monotonic() + 90
        while stamp(killed) == before:
            assert time.monotonic() < end
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(number)
        said, complaints = process.communicate(timeout=60)
        assert not (killed / "results.json").exists()
        assert "Traceback" not in complaints
        if number != signal.SIGKILL:
            assert process.returncode == 1
            assert f"python train.py --resume {killed}" in said
        command = ["--resume", str(killed)]
    assert finish(start(*command)) == (0, "")
    assert results_of(killed) == results_of(whole)
    assert curve_of(killed) == curve_of(whole)
    said = (killed / "command.txt").read_text().splitlines()
    assert said[1:] == [f"python train.py --resume {killed}"] * len(signals)
    settings = json.loads((killed / "settings.json").read_text())
    assert settings == json.loads((whole / "settings.json").read_text()) | {"out": str(killed)}
    assert not [file.name for file in killed.iterdir() if file.name.endswith(".tmp")]
    code, complaints = finish(start("--resume", str(killed)))
    assert code == 2
    assert "is finished" in complaints
    assert len(complaints.splitlines()) == 1


def finish(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Its exit code and its complaints; that kernels are compiled is none."""
    _, complaints = process.communicate(timeout=120)
    lines = complaints.splitlines(keepends=True)
    return process.returncode, "".join(line for line in lines if "compiling kernels" not in line)


def stamp(folder: Path) -> int:
    file = folder / CHECKPOINT
    return file.stat().st_mtime_ns if file.exists() else 0


@pytest.mark.parametrize(
    ("prepare", "arguments", "words"),
    [
        ("nothing", [], ("no run to go on with", "settings.json")),
        ("wrecked", [], ("no checkpoint of this run", CHECKPOINT)),
        ("settings", ["--seed", "3"], ("--resume", "leave out")),
        ("nonsense", [], ("no settings of a run", "settings.json")),
        ("unknown", [], ("no settings of a run", "colour")),
        ("number", [], ("no settings of a run", "settings.json")),
        ("deep", [], ("no settings of a run", "settings.json")),
        ("nobody", [], ("no settings of a run", "rule", "None")),
        ("numbers", [], ("no settings of a run", "rule", "[3]")),
        ("algo", [], ("no settings of a run", "algo", "nosuch")),
        ("tables", [], ("no settings of a run", "tables", "32.5")),
    ],
)
def test_what_cannot_go_on_is_one_line(
    prepare: str,
    arguments: list[str],
    words: tuple[str, ...],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    settings: dict[str, Any] = asdict(SMALL)
    content = {
        "settings": json.dumps(settings),
        "nonsense": "[1, 2",
        "wrecked": json.dumps(settings),
        "unknown": json.dumps(settings | {"colour": 1}),
        "number": "3",
        "deep": "[" * 100_000,
        "nobody": json.dumps(settings | {"rule": None}),
        "numbers": json.dumps(settings | {"rule": [3]}),
        "algo": json.dumps(settings | {"algo": "nosuch"}),
        "tables": json.dumps(settings | {"tables": 32.5}),
    }
    if prepare == "wrecked":
        (tmp_path / CHECKPOINT).write_bytes(b"no checkpoint")
    if prepare in content:
        (tmp_path / "settings.json").write_text(content[prepare])
    assert train.main(["--resume", str(tmp_path), *arguments]) == 2
    shown = capsys.readouterr()
    assert len(shown.err.splitlines()) == 1
    for word in words:
        assert word in shown.err


def test_a_failed_resume_leaves_nothing_behind(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder in (tmp_path / "typo", tmp_path / ("x" * 300)):
        assert train.main(["--resume", str(folder)]) == 2
        assert train.main(["--resume=" + str(folder)]) == 2
        assert "Traceback" not in capsys.readouterr().err
    assert train.main(["--out", str(tmp_path / ("x" * 300))]) == 2
    assert train.main(["--resume="]) == 2
    assert not list(tmp_path.iterdir())


def test_a_run_stopped_before_its_first_checkpoint_begins_anew(tmp_path: Path) -> None:
    whole, early = tmp_path / "whole", tmp_path / "early"
    assert finish(start(*ARGUMENTS, "--out", str(whole))) == (0, "")
    early.mkdir()
    settings = json.loads((whole / "settings.json").read_text())
    (early / "settings.json").write_text(json.dumps(settings))
    assert finish(start("--resume", str(early))) == (0, "")
    assert results_of(early) == results_of(whole)


def test_a_run_whose_weights_diverge_says_so_and_keeps_no_agent_made_of_them(
    tmp_path: Path,
) -> None:
    more = ("--learning-rate", "1e30", "--max-grad-norm", "1e30", "--out", str(tmp_path))
    process = start(*ARGUMENTS, *more)
    said, complaints = process.communicate(timeout=90)
    assert process.returncode == 1
    assert "Traceback" not in complaints
    assert "the weights have diverged (a lower --learning-rate may help)" in " ".join(said.split())
    assert not (tmp_path / "policy.safetensors").exists()


@pytest.mark.skipif(os.name == "nt", reason="folders are not held there")
def test_a_folder_takes_one_run_at_a_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    holder = report.RunFolder(folder)
    assert train.main([*ARGUMENTS, "--out", str(folder)]) == 2
    assert "in use" in capsys.readouterr().err
    del holder
    report.RunFolder(folder)


def test_a_disk_without_room_is_said_before_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(report, "ROOM", 1 << 62)
    assert train.main([*ARGUMENTS, "--out", str(tmp_path / "run")]) == 2
    assert "MB free" in capsys.readouterr().err


def test_a_disk_that_fills_up_stops_the_run_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    writes = []

    def write(files: Any) -> None:
        writes.append(files)
        if len(writes) > 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        for path, content in files.items():
            path.write_bytes(content)

    monkeypatch.setattr("agents.training.checkpoint.write_whole", write)
    folder = tmp_path / "run"
    assert train.main([*ARGUMENTS, "--processes", "1", "--out", str(folder)]) == 1
    said = capsys.readouterr().out
    assert "No space left" in said
    assert f"--resume {folder}" in said.replace("\n", "")
    assert not (folder / "results.json").exists()
    learner = SelfPlayPPO(
        replace(train.read_settings(ARGUMENTS), processes=1),
        make_game("tableau", suits=3, ranks=8, hand=5, piles=2),
    )
    read_checkpoint(folder / CHECKPOINT, learner)
    assert learner.num_timesteps > 0
