"""Stable-Baselines3: its checks, its VecEnv over the native batch, and masks that get through."""

import subprocess
import sys
from typing import Any

import gymnasium
import numpy as np
import pytest
from env_play import ID, LAST_TRICK_WON, ROOT, SMALL, legal_choices
from gymnasium.error import ResetNeeded

pytest.importorskip("sb3_contrib")

from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.evaluation import evaluate_policy
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecMonitor

from tricktable_env.envs.vector import TrickTableVectorEnv
from tricktable_env.game import IllegalActionError
from tricktable_env.interop.sb3 import TrickTableVecEnv, make_vec_env


@pytest.mark.parametrize("options", [{}, {"observation": "dict"}, {"opponent": "self"}, SMALL])
def test_stable_baselines_finds_nothing_to_complain_about(options: dict[str, Any]) -> None:
    check_env(gymnasium.make(ID, **options).unwrapped, skip_render_check=False)


def test_masks_get_through_monitor_vec_env_and_make() -> None:
    env = Monitor(gymnasium.make(ID, seat="caller"))
    env.reset(seed=0)
    assert is_masking_supported(env)
    assert get_action_masks(env).tolist() == [0] * 52 + [1] * 4
    listed = DummyVecEnv([lambda: Monitor(gymnasium.make(ID, seat="caller"))] * 2)
    listed.reset()
    native = make_vec_env(ID, 2, seat="caller")
    native.reset()
    for each in (listed, native, VecMonitor(native)):
        assert is_masking_supported(each)
        assert get_action_masks(each).tolist() == [[0] * 52 + [1] * 4] * 2


@pytest.mark.parametrize(
    "options", [{}, SMALL, {"seat": "alternate", "full_information": True, **SMALL}]
)
def test_the_native_batch_gives_what_single_environments_give(options: dict[str, Any]) -> None:
    n, rng = 3, np.random.default_rng(0)
    native = make_vec_env(ID, n, **options)
    listed = DummyVecEnv([lambda: gymnasium.make(ID, **options)] * n)
    assert native.observation_space == listed.observation_space
    assert native.action_space == listed.action_space
    for env in (native, listed):
        env.seed(9)
    assert (native.reset() == listed.reset()).all()
    ends = 0
    for step in range(80):
        masks = get_action_masks(native)
        assert (masks == get_action_masks(listed)).all()
        actions = legal_choices(masks, rng)
        if step % 23 == 5:
            actions[1] = masks[1].argmin()  # not legal
        (obs, rewards, ended, infos), theirs = native.step(actions), listed.step(actions)
        assert (obs == theirs[0]).all()
        assert rewards.dtype == theirs[1].dtype
        assert (rewards == theirs[1]).all()
        assert (ended == theirs[2]).all()
        for row, (info, expected) in enumerate(zip(infos, theirs[3], strict=True)):
            expected.setdefault("TimeLimit.truncated", False)
            if not ended[row]:
                del expected["TimeLimit.truncated"]
            assert info.keys() == expected.keys()
            assert all(np.array_equal(info[key], expected[key]) for key in info)
            ends += ended[row]
    assert ends > 6
    assert (native.reset() == listed.reset()).all()  # the seeds were used once


def test_the_last_observation_is_the_learners_and_success_is_told() -> None:
    env = make_vec_env(ID, 2, seat="caller")
    env.set_options({"position": LAST_TRICK_WON})
    env.reset()
    _, rewards, ended, infos = env.step(np.array([12, 12]))
    assert ended.all()
    assert rewards.tolist() == [1, 1]
    game, states = env.episodes.game, env.episodes.game.new(np.zeros(1, np.uint64))
    game.place(states[0], LAST_TRICK_WON)
    for action in (12, 13 + 11):
        game.step(states, np.arange(1), np.array([action]))
    expected = game.observe(states, np.arange(1), np.array([0]))[0][0]
    for info in infos:
        assert (info["terminal_observation"] == expected).all()
        assert info["is_success"] is True
        assert info["winner"] == "caller"
    env.reset()  # options are used once
    assert LAST_TRICK_WON not in env.env_method("position")


def test_seeds_are_set_by_seed_and_by_make() -> None:
    env, other = make_vec_env(ID, 3, seed=5), make_vec_env(ID, 3)
    assert other.seed(5) == [5, 6, 7]
    first = env.reset()
    assert (first == other.reset()).all()
    assert (env.reset() == other.reset()).all()
    assert (make_vec_env(ID, 3, seed=5).reset() == first).all()
    assert (make_vec_env(ID, 3).reset() != first).any()
    seeds = make_vec_env(ID, 3).seed()
    assert seeds != make_vec_env(ID, 3).seed()
    state = np.random.get_state()[1].tolist()  # noqa: NPY002
    env.seed()
    assert np.random.get_state()[1].tolist() == state  # noqa: NPY002


def test_all_players_decisions_are_handed_out_in_self_play() -> None:
    env, rng = make_vec_env(ID, 4, opponent="self", **SMALL), np.random.default_rng(1)
    env.seed(1)
    env.reset()
    batch = gymnasium.make_vec(ID, num_envs=4, opponent="self", **SMALL)
    observations, native = batch.reset(seed=1)
    for _ in range(40):
        assert (env.seats == native["seat"]).all()
        masks = np.stack(env.env_method("action_masks"))
        assert (masks == native["action_mask"]).all()
        actions = legal_choices(masks, rng)
        ours, rewards, ended, infos = env.step(actions)
        observations, *theirs, native = batch.step(actions)
        assert (ours == observations).all()
        assert (rewards == theirs[0]).all()
        assert (env.paid == native["rewards"]).all()
        assert [bool(info) for info in infos] == ended.tolist()


def test_rows_answer_by_name() -> None:
    env = make_vec_env(ID, 3, opponent="self", render_mode="ansi")
    env.seed(4)
    env.reset()
    single = gymnasium.make(ID, opponent="self", render_mode="ansi").unwrapped
    single.reset(seed=5)
    assert env.env_method("position", indices=1) == [single.position()]
    assert env.env_method("position", 1, indices=[1]) == [single.position(1)]
    assert env.env_method("information_state", seat=0, indices=[1]) == [single.information_state(0)]
    assert env.env_method("render", indices=1) == [single.render()]
    assert len(env.env_method("action_masks")) == 3
    assert (env.get_attr("action_masks")[1]() == single.action_masks()).all()
    assert env.get_attr("render_mode", [0, 2]) == ["ansi", "ansi"]
    assert env.has_attr("action_masks")
    assert not env.has_attr("no_such_thing")
    env.set_attr("note", 7, indices=2)
    assert env.get_attr("note", 2) == [7]
    assert env.env_is_wrapped(Monitor) == [False] * 3
    env.close()


def test_masks_handed_out_are_copies() -> None:
    env = make_vec_env(ID, 2)
    env.reset()
    kept = np.stack(env.env_method("action_masks"))
    for mask in env.env_method("action_masks"):
        mask[:] = 0
    assert (np.stack(env.env_method("action_masks")) == kept).all()


def test_what_is_no_action_raises_and_changes_no_row() -> None:
    env = make_vec_env(ID, 2, seat="caller", on_illegal="raise")
    with pytest.raises(ResetNeeded):
        env.step(np.array([52, 52]))
    with pytest.raises(ResetNeeded):
        env.env_method("state")
    env.reset()
    before = env.env_method("position")
    for actions in ([52, 0], [52, -1], [52.0, 52.0], [True, False], [52]):
        with pytest.raises(IllegalActionError):
            env.step(np.array(actions))
        assert env.env_method("position") == before


def test_the_full_information_of_rows_is_given_in_self_play_too() -> None:
    env = make_vec_env(ID, 3, opponent="self", full_information=True, seed=2, **SMALL)
    batch = gymnasium.make_vec(ID, num_envs=3, opponent="self", full_information=True, **SMALL)
    env.reset()
    _, theirs = batch.reset(seed=2)
    assert (np.stack([info["state"] for info in env.reset_infos]) == theirs["state"]).all()
    ends, rng = 0, np.random.default_rng(2)
    for _ in range(40):
        actions = legal_choices(theirs["action_mask"], rng)
        *_, ended, infos = env.step(actions)
        *_, theirs = batch.step(actions)
        assert (np.stack(env.env_method("state")) == theirs["state"]).all()
        assert (env.get_attr("state", 1)[0]() == theirs["state"][1]).all()
        for row, info in enumerate(infos):
            expected = (theirs["final_info"] if ended[row] else theirs)["state"][row]
            assert (info["state"] == expected).all()
        ends += ended.sum()
    assert ends
    assert len(env.env_method("state", indices=[2, 0])) == 2
    plain = make_vec_env(ID, 1)
    plain.reset()
    assert "state" not in plain.reset_infos[0]
    assert len(plain.env_method("state")) == 1


def test_an_unknown_option_of_a_reset_is_named() -> None:
    env = make_vec_env(ID, 2, seed=1)
    env.set_options({"postion": LAST_TRICK_WON})
    with pytest.raises(ValueError, match="no option 'postion' of a reset"):
        env.reset()


def test_what_is_not_ours_or_not_flat_is_refused() -> None:
    with pytest.raises(ValueError, match="CartPole"):
        make_vec_env("CartPole-v1")
    with pytest.raises(ValueError, match="needs 'flat'"):
        TrickTableVecEnv(TrickTableVectorEnv(2, "tableau", observation="dict"))
    with pytest.raises(ValueError, match="no seat 'north'"):
        make_vec_env(ID, 2, seat="north")


def test_maskable_ppo_learns_on_it_as_it_is_and_never_plays_illegal_cards() -> None:
    env = make_vec_env(ID, 4, seed=0, on_illegal="raise", **SMALL)
    model = MaskablePPO("MlpPolicy", env, n_steps=16, batch_size=32, n_epochs=1, device="cpu")
    model.learn(192)
    assert model.num_timesteps == 192
    monitored = VecMonitor(make_vec_env(ID, 3, seed=1, on_illegal="raise", **SMALL))
    returns, lengths = evaluate_policy(
        model, monitored, n_eval_episodes=12, return_episode_rewards=True
    )
    assert set(returns) <= {-1.0, 1.0}
    assert set(lengths) <= {7, 8}  # tricks of the deal, and a call as the caller


def test_a_monitor_on_top_reports_episodes_in_learning() -> None:
    env = VecMonitor(make_vec_env(ID, 4, opponent="random", **SMALL))
    model = MaskablePPO("MlpPolicy", env, n_steps=32, batch_size=64, n_epochs=1, device="cpu")
    model.learn(128)
    assert len(model.ep_info_buffer) > 8
    assert {episode["l"] for episode in model.ep_info_buffer} <= {7, 8}
    assert len(model.ep_success_buffer) == len(model.ep_info_buffer)


def test_ppo_over_self_play_takes_it_too() -> None:
    env = make_vec_env(ID, 4, opponent="self", on_illegal="raise", **SMALL)
    MaskablePPO("MlpPolicy", env, n_steps=16, batch_size=32, n_epochs=1, device="cpu").learn(64)


def test_the_environments_do_without_stable_baselines() -> None:
    program = (
        "import sys; sys.modules['stable_baselines3'] = None; sys.modules['torch'] = None\n"
        f"import gymnasium, tricktable_env; gymnasium.make({ID!r}).reset()\n"
        f"gymnasium.make_vec({ID!r}, num_envs=2).reset()\n"
        "import tricktable_env.interop"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=ROOT)
