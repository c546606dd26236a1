"""Self-play training: what it credits to whom, that it repeats, and what train.py leaves behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from rich.console import Console

import train
from agents.network import SuitNetwork
from agents.policy import NetworkAgent, load_policy
from agents.training.buffer import GRAIN, SURE, SURE_SHARE, DecisionBuffer, credit
from agents.training.progress import LearningCurve
from agents.training.selfplay import SelfPlayPPO
from agents.training.settings import PRESETS, Settings, SettingsError
from tricktable_env.game import Game
from tricktable_env.registry import make_game
from tricktable_lab.match import play_match

ROOT = Path(__file__).parent.parent
SMALL = Settings(tables=16, batch_size=64, width=16, depth=2, processes=1, decisions=600)


@pytest.fixture
def game() -> Game:
    return make_game("tableau", suits=3, ranks=6, hand=4, piles=2)


@pytest.fixture(autouse=True)
def one_torch_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def collected(settings: Settings, game: Game) -> tuple[SelfPlayPPO, DecisionBuffer]:
    """A learner that has played its first episodes and not learnt from them yet."""
    learner = SelfPlayPPO(settings, game)
    learner.train = lambda: None  # type: ignore[method-assign]
    learner.learn(1)
    buffer = learner.rollout_buffer
    assert isinstance(buffer, DecisionBuffer)
    return learner, buffer


# -- who gets the credit ---------------------------------------------------------------------
def advantages(
    steps: list[tuple[int, int, tuple[float, float]]],
    values: list[float],
    gamma: float = 1.0,
    lam: float = 1.0,
) -> list[float]:
    """Of one table: steps are (the decision's row or -1, who, what both were paid)."""
    carry = np.zeros((1, 2, 3))
    out = np.full(len(values), np.nan, np.float32)
    for row, player, paid in reversed(steps):
        credit(
            np.array([0]),
            np.array([[row, player]]),
            np.array([paid], np.float32),
            np.array(values, np.float32),
            gamma,
            lam,
            carry,
            out,
        )
    return out.tolist()


NOTHING = (0.0, 0.0)
TURNS = [(0, 0, NOTHING), (1, 1, NOTHING), (2, 1, NOTHING), (3, 0, NOTHING), (4, 1, (0.5, -0.5))]


def test_with_lambda_0_the_next_value_is_that_of_the_same_player() -> None:
    # Player 0 decides in rows 0 and 3, player 1 in rows 1, 2 and 4, whose step pays both.
    values = [0.1, 0.2, 0.4, 0.8, 1.6]
    expected = [0.8 - 0.1, 0.4 - 0.2, 1.6 - 0.4, 0.5 - 0.8, -0.5 - 1.6]
    assert advantages(TURNS, values, lam=0.0) == pytest.approx(expected)


def test_with_lambda_1_only_what_is_paid_counts() -> None:
    values = [0.1, 0.2, 0.4, 0.8, 1.6]
    expected = [0.5 - 0.1, -0.5 - 0.2, -0.5 - 0.4, 0.5 - 0.8, -0.5 - 1.6]
    assert advantages(TURNS, values, lam=1.0) == pytest.approx(expected)


def test_lambda_and_gamma_count_a_players_own_decisions() -> None:
    lam, gamma = 0.5, 0.9
    v0, v3 = 0.1, 0.8
    last = 0.5 - v3
    expected = (gamma * v3 - v0) + gamma * lam * last
    result = advantages(TURNS, [v0, 0.2, 0.4, v3, 1.6], gamma, lam)
    assert result[0] == pytest.approx(expected)
    assert result[3] == pytest.approx(last)


@pytest.mark.parametrize("lam", [0.0, 0.7, 1.0])
def test_no_advantage_depends_on_another_players_values(lam: float) -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=5)
    for player, rows in ((0, [0, 3]), (1, [1, 2, 4])):
        other = values + 10 * rng.normal(size=5)
        other[rows] = values[rows]
        mine = np.array(advantages(TURNS, values.tolist(), lam=lam))[rows]
        theirs = np.array(advantages(TURNS, other.tolist(), lam=lam))[rows]
        np.testing.assert_allclose(mine, theirs, rtol=1e-5, err_msg=f"player {player}")


def test_what_is_paid_in_between_belongs_to_the_latest_decision_before() -> None:
    # Player 0 is paid 1 while player 1 acts, and 2 by a forced move of its own at the end.
    steps = [(0, 0, NOTHING), (1, 1, (1.0, -1.0)), (2, 0, NOTHING), (-1, 0, (2.0, -2.0))]
    assert advantages(steps, [0.0, 0.0, 0.0], lam=0.0) == pytest.approx([1.0, -3.0, 2.0])
    assert advantages(steps, [0.0, 0.0, 0.0], lam=1.0) == pytest.approx([3.0, -3.0, 2.0])


def test_a_player_without_a_decision_gets_none() -> None:
    assert advantages([(-1, 1, NOTHING), (0, 0, (1.0, -1.0))], [0.25]) == pytest.approx([0.75])


# -- collecting ------------------------------------------------------------------------------
def test_a_rollout_is_one_episode_of_every_table(game: Game) -> None:
    learner, buffer = collected(replace(SMALL, gae_lambda=1.0), game)
    plies = 1 + 2 * game.rules.tricks
    assert learner.num_timesteps == SMALL.tables * plies
    assert len(buffer.steps) == plies
    total = sum(paid for _, _, paid in buffer.steps)
    np.testing.assert_allclose(total[:, 0], -total[:, 1], atol=1e-6)
    margins = np.arange(-game.rules.tricks, game.rules.tricks + 1, 2)
    scaled = SMALL.reward_scale * margins
    assert all(np.isclose(scaled, margin, atol=1e-6).any() for margin in total[:, 0])
    assert len(set(total[:, 0].round(4).tolist())) > 2


def test_with_lambda_1_a_return_is_all_that_its_player_is_paid_from_there_on(game: Game) -> None:
    _, buffer = collected(replace(SMALL, gae_lambda=1.0), game)
    rest = np.zeros((SMALL.tables, game.num_players))
    for tables, decisions, paid in reversed(buffer.steps):
        rest[tables] += paid
        for table, (row, player) in zip(tables, decisions, strict=True):
            if row >= 0:
                assert buffer.returns[row] == pytest.approx(rest[table, player], abs=1e-5)


def test_every_trick_is_paid_as_it_is_taken(game: Game) -> None:
    _, buffer = collected(SMALL, game)
    for ply, (_, _, paid) in enumerate(buffer.steps):
        ends_a_trick = ply > 0 and ply % 2 == 0  # ply 0 is the call
        won = SMALL.reward_scale if ends_a_trick else 0.0
        np.testing.assert_allclose(paid.max(1), won, atol=1e-6)
        np.testing.assert_allclose(paid.min(1), -won, atol=1e-6)


def test_only_decisions_with_a_choice_are_kept(game: Game) -> None:
    learner, buffer = collected(SMALL, game)
    rows = buffer.rows
    masks = rows.observations[: buffer.pos, game.mask_slice]
    assert (masks.sum(1) > 1).all()
    assert masks[np.arange(buffer.pos), rows.actions[: buffer.pos]].all()
    assert 0 < buffer.pos < learner.num_timesteps
    forced = sum((decisions[:, 0] < 0).sum() for _, decisions, _ in buffer.steps)
    assert buffer.pos + forced == learner.num_timesteps


def test_matches_are_learnt_round_by_round() -> None:
    game = make_game("tableau", suits=2, ranks=4, hand=2, piles=1, rounds_to_win=2)
    learner, buffer = collected(SMALL, game)
    assert learner.game.rules.rounds_to_win == 1
    assert len(buffer.steps) == 1 + 2 * game.rules.tricks
    assert np.isfinite(buffer.returns).all()


def test_the_parts_of_a_rollout_are_nearly_alike_and_all_of_it(game: Game) -> None:
    _, buffer = collected(SMALL, game)
    parts = list(buffer.get(64))
    sizes = [len(part.actions) for part in parts]
    assert sum(sizes) == buffer.pos
    assert max(sizes) - min(sizes) <= 1
    returns = torch.cat([part.returns for part in parts])
    np.testing.assert_array_equal(np.sort(returns.numpy()), np.sort(buffer.returns))


def test_large_parts_have_few_different_sizes(game: Game) -> None:
    _, buffer = collected(replace(SMALL, tables=200), game)
    buffer.rows.actions[: buffer.pos] = np.arange(buffer.pos)  # a number to know each by
    drawn = []
    for _ in range(2):
        parts = [part.actions.numpy() for part in buffer.get(GRAIN**2 + GRAIN)]
        sizes = [len(part) for part in parts]
        assert all(size % GRAIN == 0 for size in sizes)
        assert max(sizes) - min(sizes) <= GRAIN
        rows = set(np.concatenate(parts))
        assert len(rows) == sum(sizes)
        assert 0 <= buffer.pos - len(rows) < GRAIN
        drawn.append(set(range(buffer.pos)) - rows)
    assert drawn[0] != drawn[1] or not buffer.pos % GRAIN


def test_the_policy_is_asked_for_multiples_of_few_numbers_of_rows(game: Game) -> None:
    learner, asked = SelfPlayPPO(replace(SMALL, tables=100), game), []
    act = learner.policy.forward

    def watched(rows: torch.Tensor, *options: Any) -> Any:
        asked.append(len(rows))
        return act(rows, *options)

    learner.policy.forward = watched  # type: ignore[method-assign]
    learner.train = lambda: None  # type: ignore[method-assign]
    learner.learn(1)
    assert len(set(asked)) > 1
    assert all(count % GRAIN == 0 for count in asked)


def test_of_sure_choices_only_some_are_learnt_from_and_others_each_time(game: Game) -> None:
    _, buffer = collected(replace(SMALL, tables=200), game)
    sure = np.arange(buffer.pos) % 2 == 0
    buffer.rows.log_probs[: buffer.pos] = np.log(np.where(sure, SURE + 0.001, SURE - 0.001))
    buffer.rows.actions[: buffer.pos] = np.arange(buffer.pos)  # a number to know each by
    drawn = []
    for _ in range(2):
        rows = np.concatenate([part.actions.numpy() for part in buffer.get(64)])
        assert len(set(rows)) == len(rows)
        assert set(np.flatnonzero(~sure)) <= set(rows)
        drawn.append(set(rows) & set(np.flatnonzero(sure)))
    share = len(drawn[0]) / sure.sum()
    assert abs(share - SURE_SHARE) < 5 * np.sqrt(SURE_SHARE / sure.sum())
    assert drawn[0] != drawn[1]


def test_the_buffer_grows_and_keeps_what_it_has(game: Game) -> None:
    _, small = collected(replace(SMALL, batch_size=2), game)
    _, large = collected(replace(SMALL, batch_size=4096), game)
    assert len(small.rows.actions) < 4096
    for mine, theirs in zip(small.rows, large.rows, strict=True):
        np.testing.assert_array_equal(mine[: small.pos], theirs[: large.pos])


def test_before_the_first_update_the_ratio_is_1(game: Game) -> None:
    settings = replace(SMALL, tables=256, width=64)
    learner, buffer = collected(settings, game)
    learner.policy.network.dtype = torch.float32  # type: ignore[operator, union-attr]
    learner, buffer = collected(settings, game)
    for part in buffer.get(256):
        values, log_probs, entropy = learner.policy.evaluate_actions(
            part.observations, part.actions
        )
        ratio = torch.exp(log_probs - part.old_log_prob)
        torch.testing.assert_close(ratio, torch.ones_like(ratio), rtol=0, atol=1e-5)
        torch.testing.assert_close(values, part.old_values, rtol=0, atol=1e-5)
        assert entropy is not None
        assert (entropy > 0).all()


# -- learning --------------------------------------------------------------------------------
def weights(learner: SelfPlayPPO) -> list[torch.Tensor]:
    return [tensor.clone() for tensor in learner.policy.state_dict().values()]


def same(mine: list[torch.Tensor], theirs: list[torch.Tensor]) -> bool:
    return all(torch.equal(a, b) for a, b in zip(mine, theirs, strict=True))


def test_the_same_seed_gives_the_same_agent(game: Game) -> None:
    settings = replace(SMALL, tables=64, batch_size=256, decisions=4000)
    learners = [
        SelfPlayPPO(replace(settings, seed=seed), game).learn(settings.decisions)
        for seed in (0, 0, 1)
    ]
    agents = [weights(learner) for learner in learners]
    assert same(agents[0], agents[1])
    assert not same(agents[0], agents[2])


def test_measuring_does_not_change_the_agent(game: Game) -> None:
    agents = []
    for count in (0, 3):
        learner = SelfPlayPPO(SMALL, game)

        def measure(learner: SelfPlayPPO = learner) -> tuple[float, float, float]:
            result = play_match(game, NetworkAgent(game, learner.network), "random", 5, 1)
            return result.win_rate_a, *result.ci95

        curve = LearningCurve(measure, 1200, count, Console(quiet=True))
        learner.learn(1200, callback=curve)
        assert len(curve.points) == count
        agents.append(weights(learner))
    assert same(*agents)


def test_learning_rate_and_entropy_weight_fall_in_a_straight_line(game: Game) -> None:
    settings = replace(SMALL, decisions=16 * 17 * 4)
    learner = SelfPlayPPO(settings, game)
    seen: list[tuple[float, float]] = []
    train_once = learner.train

    def watched() -> None:
        train_once()
        rate = learner.policy.optimizer.param_groups[0]["lr"]
        seen.append((rate, learner.ent_coef))

    learner.train = watched  # type: ignore[method-assign]
    learner.learn(settings.decisions)
    first, *_, last = seen
    assert last == pytest.approx((settings.learning_rate_end, settings.entropy_end))
    assert first[0] == pytest.approx(settings.learning_rate * 0.75 + last[0] * 0.25)
    assert first[1] == pytest.approx(settings.entropy * 0.75 + last[1] * 0.25)


def test_prediction_is_masked_without_anybody_asking_for_it(game: Game) -> None:
    learner = SelfPlayPPO(SMALL, game)
    with torch.no_grad():
        learner.network.suit.weight.mul_(100)
    tables: Any = learner.get_env()
    observations = tables.reset()
    for _ in range(1 + 2 * game.rules.tricks):
        masks = np.array(tables.env_method("action_masks"))
        for deterministic in (False, True):
            actions, _ = learner.predict(observations, deterministic=deterministic)
            assert masks[np.arange(len(masks)), actions].all()
        observations, *_ = tables.step(actions)


def test_training_beats_random_play(game: Game) -> None:
    settings = replace(SMALL, tables=128, batch_size=256, width=32, decisions=60_000)
    learner = SelfPlayPPO(settings, game).learn(settings.decisions)
    result = play_match(game, NetworkAgent(game, learner.network), "random", 300, 1)
    assert result.ci95[0] > 0.53


# -- settings --------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "wrong",
    [
        {"decisions": 0},
        {"tables": -1},
        {"seed": -1},
        {"seed": 2**32},
        {"gae_lambda": 1.5},
        {"learning_rate": 0.0},
        {"learning_rate": float("nan")},
        {"entropy": float("inf")},
        {"eval_deals": 0},
        {"batch_size": 1},
    ],
)
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, Any]) -> None:
    (name, value), *_ = wrong.items()
    with pytest.raises(SettingsError, match=f"--{name.replace('_', '-')} {value}"):
        replace(SMALL, **wrong)


def test_every_setting_is_described() -> None:
    source = (ROOT / "agents/training/settings.py").read_text()
    for name in Settings.__dataclass_fields__:
        after = source.partition(f"\n    {name}: ")[2].splitlines()
        assert after[1].strip().startswith('"""'), name


# -- train.py --------------------------------------------------------------------------------
TINY = (
    *("--preset", "smoke", "--decisions", "6000", "--tables", "32", "--width", "16"),
    *("--rule", "suits=3", "--rule", "ranks=8", "--rule", "hand=5", "--rule", "piles=2"),
    *("--processes", "1"),
)


def run(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "train.py", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "120"},
        **options,
    )


def test_a_run_leaves_all_that_repeats_it_and_the_agent(tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "one"
    done = run(*TINY, "--out", str(folder))
    assert done.returncode == 0, done.stderr
    assert {file.name for file in folder.iterdir()} == {
        *("results.json", "settings.json", "versions.json", "command.txt", "tensorboard"),
        "checkpoint.safetensors",
        *("learning-curve.json", "learning-curve.png", "policy.safetensors", "policy.json"),
    }
    assert (folder / "learning-curve.png").read_bytes().startswith(b"\x89PNG")
    assert list((folder / "tensorboard").iterdir())
    assert f"--out {folder}" in (folder / "command.txt").read_text()
    results = json.loads((folder / "results.json").read_text())
    expected = {"game", "agent", "seconds", "decisions", "opponents", "network_alone"}
    assert results.keys() == expected
    assert results["game"] == "tableau"
    assert results["decisions"] >= 6000
    assert list(results["opponents"]) == ["random", "greedy", "untrained"]
    for result in results["opponents"].values():
        assert result["ci95"][0] <= result["win_rate"] <= result["ci95"][1]
        assert result["deals"] == PRESETS["smoke"].eval_deals
    settings = json.loads((folder / "settings.json").read_text())
    assert settings["tables"] == 32
    assert settings["rule"] == ["suits=3", "ranks=8", "hand=5", "piles=2"]

    # The saved agent plays exactly what was measured.
    game = make_game("tableau", suits=3, ranks=8, hand=5, piles=2)
    alone = f"{results['agent']},worlds=0"
    for agent, measured in ((results["agent"], "opponents"), (alone, "network_alone")):
        again = play_match(game, agent, "greedy", PRESETS["smoke"].eval_deals, 1)
        assert again.win_rate_a == results[measured]["greedy"]["win_rate"]

    # The same command gives the same results; the same folder is refused.
    other = tmp_path / "two"
    assert run(*TINY, "--out", str(other)).returncode == 0
    repeated = json.loads((other / "results.json").read_text())
    for changing in ("seconds", "agent"):
        del results[changing], repeated[changing]
    assert repeated == results
    before = {file: file.stat().st_mtime_ns for file in folder.iterdir()}
    refused = run(*TINY, "--out", str(folder))
    assert refused.returncode == 2
    assert "holds a run already" in refused.stderr
    assert {file: file.stat().st_mtime_ns for file in folder.iterdir()} == before


def test_ctrl_c_keeps_the_agent_and_says_where(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    arguments = [*TINY, "--decisions", "100000000", "--curve-points", "10000", "--out", str(folder)]
    process = subprocess.Popen(
        [sys.executable, "train.py", *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    for line in process.stdout:
        if "decisions" in line and "greedy" in line:
            break
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    said, complaints = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "Traceback" not in complaints
    assert f"python train.py --resume {folder}" in said
    assert not (folder / "results.json").exists()
    assert not list(folder.glob("**/*.tmp"))
    assert isinstance(load_policy(folder, make_game("tableau")), SuitNetwork)


def test_honors_is_trained_for_any_number_of_players_with_announcing(tmp_path: Path) -> None:
    tiny = ("--preset", "smoke", "--decisions", "2000", "--tables", "32", "--width", "16")
    options = ("--game", "honors", "--num-players", "3", "--announce", "--processes", "1")
    done = run(*tiny, *options, "--out", str(tmp_path / "one"))
    assert done.returncode == 0, done.stderr
    results = json.loads((tmp_path / "one" / "results.json").read_text())
    assert results["game"] == "honors"
    notes = json.loads((tmp_path / "one" / "policy.json").read_text())
    assert notes["rules"] == {"num_players": 3, "announce": True}
    game = make_game("honors", **notes["rules"])
    again = play_match(game, results["agent"], "greedy", PRESETS["smoke"].eval_deals, 1)
    assert again.win_rate_a == results["opponents"]["greedy"]["win_rate"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--decisions", "many"], ("decisions", "many")),
        (["--decisions", "0"], ("--decisions 0", "at least 1")),
        (["--preset", "fast"], ("fast", "smoke", "default", "long")),
        (["--sed", "3"], ("--sed",)),
        (["--game", "bridge"], ("bridge", "tableau")),
        (["--rule", "suits"], ("suits", "KEY=VALUE")),
        (["--rule", "suits=9"], ("suits=9",)),
        (["--rule", "colour=red"], ("colour",)),
        (["--num-players", "3"], ("tableau is for 2 players, not 3",)),
        (["--announce"], ("announce", "tableau")),
        (["--game", "honors", "--num-players", "8"], ("num_players=8", "2 to 7")),
        (["--worlds", "-1"], ("--worlds -1", "at least 0")),
        (["--worlds", "9999999"], ("worlds=9999999", "1,000,000")),
        (["--gae-lambda", "2"], ("--gae-lambda 2", "from 0 to 1")),
        (["--out", "train.py"], ("train.py",)),
        (["--out", "train.py/run"], ("train.py/run",)),
        (["--critic", "all"], ("all", "shared")),
    ],
)
def test_a_wrong_argument_gets_one_line(
    arguments: list[str],
    words: tuple[str, ...],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    new = [] if "--out" in arguments else ["--out", str(tmp_path / "run")]
    assert train.main([*arguments, *new]) == 2
    assert not any(tmp_path.iterdir())
    shown = capsys.readouterr()
    assert shown.out == ""
    assert len(shown.err.splitlines()) == 1
    assert shown.err.startswith("train.py: ")
    for word in words:
        assert word in shown.err


def test_help_shows_the_presets_values(capsys: pytest.CaptureFixture[str]) -> None:
    for preset in ("smoke", "long"):
        with pytest.raises(SystemExit) as end:
            train.main(["--preset", preset, "--help"])
        assert not end.value.code
        assert f"(default: {PRESETS[preset].decisions})" in capsys.readouterr().out


def test_options_stand_above_the_preset() -> None:
    assert train.read_settings([]) == Settings()
    chosen = train.read_settings(["--seed", "5", "--preset=smoke", "--tables", "7"])
    assert chosen == replace(PRESETS["smoke"], seed=5, tables=7)
