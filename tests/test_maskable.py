"""MaskablePPO: what it learnt plays as a policy, whom it plays, and what train.py leaves of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3 import A2C, PPO
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.vec_env import VecFrameStack, VecNormalize
from torch import nn

import train
from agents.mlp import MlpNetwork
from agents.policy import NetworkAgent, PolicyFileError, load_policy, save_policy
from agents.training.checkpoint import (
    CHECKPOINT,
    CheckpointError,
    read_checkpoint,
    write_checkpoint,
)
from agents.training.maskable import KEPT, OpponentPPO, PastSelves, nearest_divisor
from agents.training.settings import PRESETS, STARTS, Settings, SettingsError
from tricktable_env.game import Game
from tricktable_env.interop.sb3 import make_vec_env
from tricktable_env.opponents import AgentSpecError, decision_streams
from tricktable_env.registry import make_game
from tricktable_lab.match import play_match

ID = "TrickTable/Tableau-v0"
RULES: dict[str, Any] = {"suits": 3, "ranks": 6, "hand": 4, "piles": 2}
SMALL = Settings(
    algo="maskable-ppo", tables=16, steps=16, batch_size=64, width=16, depth=2, decisions=600
)


@pytest.fixture
def game() -> Game:
    return make_game("tableau", **RULES)


@pytest.fixture(autouse=True)
def one_torch_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def model(made: type[Any] = MaskablePPO, policy: Any = "MlpPolicy", **options: Any) -> Any:
    """A model with odds that differ, on environments of its own."""
    torch.manual_seed(1)
    envs = options.pop("envs", None) or make_vec_env(ID, 2, seed=3, **RULES)
    found = made(policy, envs, device="cpu", **options)
    with torch.no_grad():
        found.policy.action_net.weight.mul_(100)
    return found


# -- a model as a policy ---------------------------------------------------------------------
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"policy_kwargs": {"net_arch": [32], "activation_fn": nn.ReLU}},
        {"policy_kwargs": {"net_arch": []}},
        {"policy_kwargs": {"net_arch": {"pi": [24, 16], "vf": [8]}}},
        {"made": PPO},
        {"made": A2C, "policy_kwargs": {"share_features_extractor": False}},
    ],
)
def test_a_policy_chooses_what_its_model_would(
    game: Game, tmp_path: Path, options: dict[str, Any]
) -> None:
    learnt = model(**options)
    envs = make_vec_env(ID, 30, seed=5, **RULES)
    observations, masks = envs.reset(), np.stack(envs.env_method("action_masks"))
    weights, _ = learnt.policy.obs_to_tensor(observations)
    odds = learnt.policy.get_distribution(weights).distribution.probs.detach().numpy()
    network = MlpNetwork.of_model(learnt, game)
    logits, _ = network(torch.from_numpy(observations))
    assert logits.argmax(1).tolist() == (odds * masks).argmax(1).tolist()
    assert ((logits > -1e8).numpy() == masks).all()
    assert len(set(logits.argmax(1).tolist())) > 3
    save_policy(network, game, tmp_path)
    loaded = load_policy(tmp_path, game)
    assert isinstance(loaded, MlpNetwork)
    assert torch.equal(loaded(torch.from_numpy(observations))[0], logits)


def test_the_saved_agent_plays_matches_on_every_deck(game: Game, tmp_path: Path) -> None:
    network = MlpNetwork.of_model(model(), game)
    save_policy(network, game, tmp_path, {"seed": 1})
    told = json.loads((tmp_path / "policy.json").read_text())
    assert (told["network"], told["widths"], told["seed"]) == ("mlp", [64, 64], 1)
    for rules in ({}, RULES):
        other = make_game("tableau", **rules)
        for sample in (False, True):
            spec = f"policy:{tmp_path},sample={sample}"
            result = play_match(other, spec, "random", deals=20, seed=1)
            assert result.illegal == 0
            assert result.games == 40


def test_later_training_does_not_change_a_copy(game: Game) -> None:
    learnt = model()
    network = MlpNetwork.of_model(learnt, game)
    before = [tensor.clone() for tensor in network.state_dict().values()]
    with torch.no_grad():
        for parameter in learnt.policy.parameters():
            parameter.neg_()
    assert all(map(torch.equal, before, network.state_dict().values()))


class Halved(BaseFeaturesExtractor):
    def __init__(self, space: Any) -> None:
        super().__init__(space, space.shape[0])

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        return observations / 2


class Dropping(ActorCriticPolicy):
    def _build_mlp_extractor(self) -> None:
        super()._build_mlp_extractor()
        self.mlp_extractor.policy_net.append(nn.Dropout())
        self.mlp_extractor.policy_net.append(nn.Tanh())


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (lambda: None, "NoneType is no model"),
        (lambda: model(policy_kwargs={"features_extractor_class": Halved}), "through Halved"),
        (lambda: model(policy_kwargs={"activation_fn": nn.ELU}), "ELU"),
        (lambda: model(PPO, Dropping), "Dropout"),
        (lambda: model(envs=VecFrameStack(make_vec_env(ID, 1), 2)), "from 1218 entries"),
        (lambda: model(envs=VecNormalize(make_vec_env(ID, 1))), "through VecNormalize"),
    ],
)
def test_a_model_that_reads_or_chooses_otherwise_is_refused(
    game: Game, made: Any, words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        MlpNetwork.of_model(made(), game)


@pytest.mark.parametrize(
    "changed",
    [
        *({"widths": value} for value in (None, 64, [0], [64.0], [True], [10**9], [8] * 99, ["8"])),
        *({"activation": value} for value in (None, "Tanh", "__import__", ["tanh"])),
        {"network": "transformer"},
    ],
)
def test_settings_that_make_no_sense_are_refused(
    game: Game, tmp_path: Path, changed: dict[str, Any]
) -> None:
    save_policy(MlpNetwork(game, [8]), game, tmp_path)
    file = tmp_path / "policy.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **changed}))
    with pytest.raises(PolicyFileError) as caught:
        load_policy(tmp_path, game)
    assert f"{file}: {next(iter(changed))}" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_weights_of_another_network_are_refused(game: Game, tmp_path: Path) -> None:
    save_policy(MlpNetwork(game, [8]), game, tmp_path)
    file = tmp_path / "policy.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "widths": [8, 8]}))
    with pytest.raises(PolicyFileError, match=r"not the weights.*layers"):
        load_policy(tmp_path, game)


# -- whom it plays ---------------------------------------------------------------------------
def weights(learner: OpponentPPO) -> list[torch.Tensor]:
    return [tensor.clone() for tensor in learner.policy.state_dict().values()]


@pytest.mark.parametrize("opponent", ["self", "greedy"])
def test_the_same_seed_gives_the_same_agent(game: Game, opponent: str) -> None:
    settings = replace(SMALL, opponent=opponent, opponent_updates=1)
    agents = []
    for seed in (0, 0, 1):
        learner = OpponentPPO(replace(settings, seed=seed), game)
        learner.go_on()
        agents.append(weights(learner))
    assert all(map(torch.equal, agents[0], agents[1]))
    assert not all(map(torch.equal, agents[0], agents[2]))


def test_past_selves_join_as_training_goes_on(game: Game) -> None:
    learner = OpponentPPO(replace(SMALL, opponent_updates=2), game)
    past = learner.past
    assert past is not None
    first = past.kept[0].network.state_dict()
    learner.learn(5 * SMALL.tables * SMALL.steps)
    assert len(past.kept) == 1 + 2
    last = past.kept[-1].network.state_dict()
    assert any(not torch.equal(first[name], last[name]) for name in first)
    assert all(map(torch.equal, first.values(), past.kept[0].network.state_dict().values()))
    assert all(agent.sample for agent in past.kept)


def test_the_newest_plays_most_and_the_oldest_goes(game: Game) -> None:
    past = PastSelves(game, seed=0)
    for _ in range(KEPT + 3):
        past.add(MlpNetwork(game, [4]))
    assert len(past.kept) == KEPT
    drawn = []
    for moment in range(600):
        past.draw(moment)
        drawn.append(past.kept.index(past.playing))
    assert set(drawn) == set(range(KEPT))
    assert 0.45 < drawn.count(KEPT - 1) / len(drawn) < 0.6


def test_an_opponent_acts_as_whoever_is_drawn(game: Game) -> None:
    past = PastSelves(game, seed=0)
    past.add(MlpNetwork.of_model(model(), game))
    past.draw(0)
    rows = np.arange(20)
    states = game.new(rows.astype(np.uint64))
    game.deal(states, rows)
    views = game.views(states, rows, game.players(states, rows))
    masks, keys = game.masks(views), np.full(20, 7, np.uint64)
    chosen = past.act_batch(views, masks, decision_streams(keys, rows, rows, rows))
    expected = past.kept[0].act_batch(views, masks, decision_streams(keys, rows, rows, rows))
    streams = decision_streams(keys, rows, rows, rows)
    alone = [past.act(views[i], masks[i], streams[i]) for i in range(20)]
    assert chosen.tolist() == expected.tolist() == alone


def test_no_part_of_a_rollout_is_cut_short() -> None:
    assert [nearest_divisor(512, 64), nearest_divisor(96, 64), nearest_divisor(32, 64)] == [
        *(64, 48, 32)
    ]
    OpponentPPO(replace(SMALL, tables=3, steps=7, batch_size=10), make_game("tableau"))


def test_training_beats_random_play() -> None:
    game = make_game("tableau", suits=2, ranks=6, hand=4, piles=1, reward="margin")
    settings = replace(SMALL, tables=64, batch_size=128, width=64, epochs=4, gae_lambda=0.95)
    learner = OpponentPPO(replace(settings, opponent="random", decisions=16_000), game)
    learner.go_on()
    result = play_match(game, NetworkAgent(game, learner.network), "random", 300, 1)
    assert result.ci95[0] > 0.53


def test_matches_are_learnt_round_by_round() -> None:
    game = make_game("tableau", suits=2, ranks=4, hand=2, piles=1, rounds_to_win=2)
    learner = OpponentPPO(replace(SMALL, decisions=300), game)
    learner.go_on()
    assert learner.game.rules.rounds_to_win == 1
    assert {episode["l"] for episode in learner.ep_info_buffer or ()} <= {4, 5}


def test_an_opponent_that_is_none_is_refused(game: Game) -> None:
    with pytest.raises(AgentSpecError, match="nobody"):
        OpponentPPO(replace(SMALL, opponent="nobody"), game)
    with pytest.raises(SettingsError, match="--steps 1 x --tables 31 can't be cut"):
        OpponentPPO(replace(SMALL, steps=1, tables=31, batch_size=7), make_game("tableau"))
    with pytest.raises(SettingsError, match="--opponent-updates 0"):
        replace(SMALL, opponent_updates=0)


# -- going on --------------------------------------------------------------------------------
def test_a_resumed_run_goes_on_with_weights_optimizer_and_past_selves(
    game: Game, tmp_path: Path
) -> None:
    settings = replace(SMALL, opponent_updates=1, decisions=4 * 256)
    stopped = OpponentPPO(replace(settings, decisions=2 * 256), game)
    stopped.go_on()
    write_checkpoint(tmp_path / CHECKPOINT, stopped, [])
    resumed = [OpponentPPO(settings, game) for _ in range(2)]
    for learner in resumed:
        assert read_checkpoint(tmp_path / CHECKPOINT, learner) == []
        assert all(map(torch.equal, weights(learner), weights(stopped)))
        mine, theirs = learner.past_weights, stopped.past_weights
        assert mine.keys() == theirs.keys()
        assert all(torch.equal(mine[key], theirs[key]) for key in mine)
        states = [each.policy.optimizer.state_dict()["state"] for each in (learner, stopped)]
        assert all(torch.equal(states[0][i]["exp_avg"], states[1][i]["exp_avg"]) for i in states[1])
        # So far as this the run is the same; the deals that follow are others, but always these.
        learner.go_on()
        assert learner.num_timesteps == settings.decisions
        assert learner.past is not None
        assert len(learner.past.kept) == 1 + 4
    assert all(map(torch.equal, weights(resumed[0]), weights(resumed[1])))
    assert not all(map(torch.equal, weights(resumed[0]), weights(stopped)))


@pytest.mark.parametrize("other", [{"width": 8}, {"depth": 1}, {"algo": "self-play"}])
def test_the_checkpoint_of_another_run_is_refused(
    game: Game, tmp_path: Path, other: dict[str, Any]
) -> None:
    write_checkpoint(tmp_path / CHECKPOINT, OpponentPPO(SMALL, game), [])
    settings = replace(SMALL, **other)
    learner = train.make_learner(replace(settings, processes=1), game)
    with pytest.raises(CheckpointError, match="no checkpoint of this run"):
        read_checkpoint(tmp_path / CHECKPOINT, learner)


# -- train.py --------------------------------------------------------------------------------
def test_train_py_leaves_results_and_an_agent_of_the_same_shape(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, rules = tmp_path / "run", [f"--rule={key}={value}" for key, value in RULES.items()]
    arguments = ["--algo", "maskable-ppo", "--preset", "smoke", "--decisions", "2000"]
    arguments += ["--tables", "16", "--width", "16", *rules, "--out", str(folder)]
    assert train.main(arguments) == 0
    results = json.loads((folder / "results.json").read_text())
    assert results.keys() == {"game", "agent", "seconds", "decisions", "opponents"}
    assert results["decisions"] == 2048
    assert list(results["opponents"]) == ["random", "greedy", "untrained"]
    game = make_game("tableau", **RULES)
    again = play_match(game, results["agent"], "greedy", 64, 1)
    assert again.win_rate_a == results["opponents"]["greedy"]["win_rate"]
    assert len(json.loads((folder / "learning-curve.json").read_text())) == 2
    assert json.loads((folder / "settings.json").read_text())["algo"] == "maskable-ppo"
    capsys.readouterr()


def test_an_algorithm_starts_from_settings_of_its_own() -> None:
    default, chosen = Settings(), train.read_settings(["--algo", "maskable-ppo"])
    assert chosen == replace(default, algo="maskable-ppo", **STARTS["maskable-ppo"])
    smoke = train.read_settings(["--preset=smoke", "--algo=maskable-ppo", "--tables", "7"])
    assert (smoke.decisions, smoke.tables) == (PRESETS["smoke"].decisions, 7)
    assert smoke.gae_lambda == STARTS["maskable-ppo"]["gae_lambda"] != default.gae_lambda


@pytest.mark.parametrize(
    ("arguments", "word"),
    [(["--algo", "dqn"], "dqn"), (["--algo", "maskable-ppo", "--opponent", "nobody"], "nobody")],
)
def test_a_wrong_argument_gets_one_line(
    arguments: list[str], word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train.main(arguments) == 2
    shown = capsys.readouterr()
    assert len(shown.err.splitlines()) == 1
    assert word in shown.err
