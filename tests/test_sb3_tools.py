"""The standard tools take the environments as they are: nothing of ours goes in between."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from env_play import ID, SMALL
from gymnasium.wrappers import RecordEpisodeStatistics
from gymnasium.wrappers.vector import RecordEpisodeStatistics as RecordVectorStatistics
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.callbacks import MaskableEvalCallback
from sb3_contrib.common.maskable.evaluation import evaluate_policy as evaluate_masked
from sb3_contrib.common.maskable.utils import get_action_masks
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import EvalCallback
from stable_baselines3.common.env_util import make_vec_env as stable_baselines_vec_env
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecEnv, VecMonitor

from tricktable_env.interop.sb3 import make_vec_env
from tricktable_env.registry import make_game

GAME = make_game("tableau", **SMALL)
PLIES = {GAME.rules.tricks, GAME.rules.tricks + 1}  # the caller also calls
QUICK: dict[str, Any] = {"n_steps": 32, "batch_size": 32, "n_epochs": 1, "device": "cpu", "seed": 0}


@pytest.fixture(autouse=True)
def one_torch_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def single() -> gymnasium.Env[Any, Any]:
    return gymnasium.make(ID, on_illegal="raise", **SMALL)


def native(rows: int, seed: int | None = None) -> VecMonitor:
    return VecMonitor(make_vec_env(ID, rows, on_illegal="raise", seed=seed, **SMALL))


class FirstLegal(PPO):
    """Chooses by the mask in the observation, so that tools that know of no masks can ask it."""

    def predict(self, observation: Any, *_: Any, **__: Any) -> tuple[Any, None]:
        return observation[:, GAME.mask_slice].argmax(1), None


# -- callbacks -------------------------------------------------------------------------------
def judged(callback: EvalCallback, model: PPO | MaskablePPO) -> tuple[Any, Any]:
    """Returns and successes of the episodes that a callback judged in a short training."""
    model.learn(128, callback=callback)
    with np.load(f"{callback.log_path}.npz") as found:
        assert set(found["ep_lengths"].ravel().tolist()) <= PLIES
        return found["results"].ravel(), found["successes"].ravel()


def check_judged(returns: Any, successes: Any, episodes: int) -> None:
    assert set(returns.tolist()) == {-1.0, 1.0}
    assert ((returns > 0) == successes).all()
    assert len(returns) == episodes


def test_the_masked_callback_evaluates_and_keeps_the_best_model(tmp_path: Path) -> None:
    callback = MaskableEvalCallback(
        native(3, seed=1),
        n_eval_episodes=20,
        eval_freq=16,
        log_path=str(tmp_path / "log"),
        best_model_save_path=str(tmp_path),
        verbose=0,
    )
    check_judged(*judged(callback, MaskablePPO("MlpPolicy", native(4), **QUICK)), 2 * 20)
    best = MaskablePPO.load(tmp_path / "best_model.zip", device="cpu")
    assert evaluate_masked(best, native(2, seed=2), 10)[0] >= -1


@pytest.mark.parametrize("batch", [True, False])
def test_the_plain_callback_reads_successes(tmp_path: Path, batch: bool) -> None:
    def envs() -> VecEnv:
        if batch:
            return VecMonitor(make_vec_env(ID, 4, **SMALL))
        return DummyVecEnv([lambda: Monitor(gymnasium.make(ID, **SMALL))])

    judge = envs()
    judge.seed(1)
    callback = EvalCallback(
        judge, n_eval_episodes=20, eval_freq=32, log_path=str(tmp_path / "log"), verbose=0
    )
    check_judged(*judged(callback, FirstLegal("MlpPolicy", envs(), **QUICK)), 20 if batch else 80)


# -- evaluation ------------------------------------------------------------------------------
@pytest.mark.parametrize("envs", [native, lambda n: DummyVecEnv([lambda: Monitor(single())] * n)])
def test_both_evaluations_play_whole_episodes(envs: Any) -> None:
    masked = MaskablePPO("MlpPolicy", native(2), **QUICK)
    reading = FirstLegal("MlpPolicy", native(2), **QUICK)
    for evaluate, model in ((evaluate_masked, masked), (evaluate_policy, reading)):
        env = envs(3)
        env.seed(3)
        returns, lengths = evaluate(model, env, n_eval_episodes=12, return_episode_rewards=True)
        assert set(returns) == {-1.0, 1.0}
        assert set(lengths) <= PLIES
    returns, _ = evaluate_masked(masked, Monitor(single()), 12, return_episode_rewards=True)
    assert set(returns) == {-1.0, 1.0}


def test_without_masks_an_evaluation_ends_and_counts_as_lost() -> None:
    model = PPO("MlpPolicy", VecMonitor(make_vec_env(ID, 2, **SMALL)), **QUICK)
    rows = VecMonitor(make_vec_env(ID, 3, seat="caller", **SMALL))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(model, "predict", lambda observations, **_: (np.zeros(3, int), None))
        assert evaluate_policy(model, rows, 12) == (-1.0, 0.0)


# -- what asks for pixels first ----------------------------------------------------------------
def test_the_ways_of_stable_baselines_itself_make_environments() -> None:
    options = {"opponent": "greedy", **SMALL}
    with pytest.warns(UserWarning, match="rgb_array"):  # gymnasium's, of any game without pixels
        envs = stable_baselines_vec_env(ID, 2, env_kwargs=options)
    envs.reset()
    assert get_action_masks(envs).any(1).all()
    evaluate_masked(MaskablePPO("MlpPolicy", envs, **QUICK), envs, 4)
    with pytest.warns(UserWarning, match="rgb_array"):
        PPO("MlpPolicy", ID, **QUICK)
    with (
        pytest.warns(UserWarning, match="rgb_array"),
        pytest.raises(ValueError, match=r"render_mode='rgb_array' is none of 'ansi', 'human'"),
    ):
        gymnasium.make(ID, render_mode="rgb_array")


# -- single environments side by side --------------------------------------------------------
def test_spawned_processes_play_as_one_process_does_and_train() -> None:
    spawned = SubprocVecEnv([single] * 2, start_method="spawn")
    try:
        listed = DummyVecEnv([single] * 2)
        for env in (spawned, listed):
            env.seed(5)
        assert (spawned.reset() == listed.reset()).all()
        for _ in range(20):
            masks = get_action_masks(spawned)
            assert (masks == get_action_masks(listed)).all()
            ours, theirs = spawned.step(masks.argmax(1)), listed.step(masks.argmax(1))
            for mine, other in zip(ours[:3], theirs[:3], strict=True):
                assert (mine == other).all()
        model = MaskablePPO("MlpPolicy", VecMonitor(spawned), **QUICK)
        model.learn(128)
        assert {episode["l"] for episode in model.ep_info_buffer or ()} <= PLIES
    finally:
        spawned.close()


def test_training_on_a_list_of_single_environments() -> None:
    model = MaskablePPO("MlpPolicy", DummyVecEnv([lambda: Monitor(single())] * 2), **QUICK)
    model.learn(128)
    assert {episode["l"] for episode in model.ep_info_buffer or ()} <= PLIES
    assert len(model.ep_success_buffer or ()) == len(model.ep_info_buffer or ()) > 8


# -- Gymnasium's statistics ------------------------------------------------------------------
def test_episode_statistics_of_a_single_environment() -> None:
    env = RecordEpisodeStatistics(single())
    for seed in range(6):
        _, info = env.reset(seed=seed)
        ended, rewards = False, []
        while not ended:
            assert (env.get_wrapper_attr("action_masks")() == info["action_mask"]).all()
            _, reward, ended, _, info = env.step(int(info["action_mask"].argmax()))
            rewards.append(float(reward))
        assert (info["episode"]["r"], info["episode"]["l"]) == (sum(rewards), len(rewards))
        assert info["is_success"] == (sum(rewards) > 0)
    assert set(env.return_queue) == {-1.0, 1.0}
    MaskablePPO("MlpPolicy", env, **QUICK).learn(32)  # type: ignore[arg-type]


def test_episode_statistics_of_a_batch() -> None:
    envs = RecordVectorStatistics(gymnasium.make_vec(ID, num_envs=3, **SMALL))
    _, infos = envs.reset(seed=0)
    returns, lengths, ends = np.zeros(3), np.zeros(3, int), 0
    for _ in range(40):
        _, rewards, ended, _, infos = envs.step(infos["action_mask"].argmax(1))
        returns += rewards
        lengths += 1
        if ended.any():
            assert (infos["_episode"] == ended).all()
            assert (infos["episode"]["r"] == np.where(ended, returns, 0)).all()
            assert (infos["episode"]["l"] == np.where(ended, lengths, 0)).all()
            success = infos["final_info"]["is_success"]
            assert (success[ended] == (returns[ended] > 0)).all()
            ends += ended.sum()
        returns[ended] = lengths[ended] = 0
    assert envs.episode_count == ends > 10


# -- masks, deep into training ---------------------------------------------------------------
@pytest.mark.parametrize("decisions", [4096, pytest.param(300_000, marks=pytest.mark.long)])
def test_masked_distributions_stay_valid_however_sure_the_policy_gets(decisions: int) -> None:
    # Large steps make the odds extreme, which is where probabilities failed to add up to 1.
    envs = VecMonitor(make_vec_env(ID, 64, opponent="random", on_illegal="raise"))
    model = MaskablePPO(
        "MlpPolicy",
        envs,
        learning_rate=3e-3,
        n_steps=32,
        batch_size=256,
        n_epochs=4,
        gamma=1.0,
        seed=0,
        device="cpu",
    )
    model.learn(decisions)
    assert model.num_timesteps >= decisions
    observations, masks = envs.reset(), get_action_masks(envs)
    odds = model.policy.get_distribution(  # type: ignore[operator, union-attr]
        model.policy.obs_to_tensor(observations)[0], masks
    ).distribution.probs
    assert (odds[masks == 0] == 0).all()
    np.testing.assert_allclose(odds.sum(1).detach().numpy(), 1, atol=1e-5)
