"""The environments of Honors: conformance of every adapter, for all numbers of players."""

from __future__ import annotations

import copy
import importlib
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pettingzoo
import pytest
from env_play import ROOT, FirstLegal, last_legal, legal_choice, legal_choices, play, same
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from honors_play import OPTIONS, name_of
from pettingzoo.test import api_test, performance_benchmark, render_test, seed_test
from test_vector import assert_infos_agree

from tricktable_env import honors_v0
from tricktable_env.envs.vector import TrickTableVectorEnv
from tricktable_env.game import IllegalActionError, PositionError

ID = "TrickTable/Honors-v0"
ENVS = {"env": honors_v0.env, "raw_env": honors_v0.raw_env}
SHORT: dict[str, Any] = {"num_players": 3, "suits": 3, "ranks": 5, "hand": 2, "announce": True}
LAST_TRICK = "0 C - 13/0/0,12/5/0 - - A... K..."
LAST = {"trump": "C", "hand": 7}

# Raised by PettingZoo's own api_test, which looks at the masks of agents whose game is over.
pytestmark = pytest.mark.filterwarnings(
    "ignore:Action mask numpy array is all zeros:UserWarning:pettingzoo.test.api_test"
)


@pytest.fixture(params=ENVS.values(), ids=ENVS)
def make_aec(request: pytest.FixtureRequest) -> Any:
    return request.param


def make(**options: Any) -> Any:
    return gymnasium.make(ID, **options)


# -- PettingZoo ------------------------------------------------------------------------------
@pytest.mark.parametrize("rules", OPTIONS, ids=name_of)
def test_pettingzoo_finds_nothing_to_complain_about(make_aec: Any, rules: dict[str, Any]) -> None:
    api_test(make_aec(**rules), num_cycles=120)
    seed_test(lambda: make_aec(**rules), num_cycles=60)


@pytest.mark.parametrize("rules", OPTIONS, ids=name_of)
def test_pettingzoos_test_of_the_state_passes(rules: dict[str, Any]) -> None:
    module = importlib.import_module("pettingzoo.test.state_test")
    module.test_state_space(honors_v0.env(**rules))
    module.test_state(honors_v0.env(**rules), num_cycles=30)


def test_pettingzoos_render_test_and_benchmark_pass(
    make_aec: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    render_test(make_aec)
    assert capsys.readouterr().out.count("to act") > 5
    clock = iter(np.arange(0, 1e6, 0.05))
    monkeypatch.setattr("time.time", lambda: float(next(clock)))
    performance_benchmark(make_aec(num_players=4))


@pytest.mark.parametrize("rules", OPTIONS, ids=name_of)
def test_every_agent_is_paid_once_the_sum_is_zero_and_masks_are_everywhere(
    make_aec: Any, rules: dict[str, Any]
) -> None:
    env = make_aec(**rules)
    where = env.unwrapped.game.mask_slice
    for seed in range(3):
        env.reset(seed=seed)
        got = dict.fromkeys(env.possible_agents, 0.0)
        paid = dict.fromkeys(env.possible_agents, 0.0)
        for agent in env.agent_iter():
            _, reward, ended, truncated, info = env.last()
            assert not truncated
            got[agent] += reward
            for other in env.agents:
                seen, mask = env.observe(other), env.infos[other]["action_mask"]
                assert seen in env.observation_space(other)
                assert (seen["action_mask"] == mask).all()
                assert (seen["observation"][where] == mask).all()
                assert mask.any() == (other == agent and not ended)
            env.step(None if ended else env.action_space(agent).sample(info["action_mask"]))
            if not ended:
                paid = {a: paid[a] + env.rewards[a] for a in paid}
                assert sum(env.rewards.values()) == pytest.approx(0, abs=1e-6)
        assert got == paid


def test_names_players_and_metadata() -> None:
    env = honors_v0.env(num_players=5)
    assert env.metadata["name"] == "honors_v0"
    assert env.possible_agents == [f"player_{i}" for i in range(5)]
    assert env.action_space("player_4").n == 79
    if hasattr(pettingzoo, "make"):
        again = pettingzoo.make("aec", ID, num_players=3)
        assert again.unwrapped.game.rules.num_players == 3


def test_the_end_tells_every_agent_the_points_and_who_won() -> None:
    env = honors_v0.env(**LAST)
    env.reset(options={"position": LAST_TRICK})
    env.step(12)
    env.step(11)
    assert env.rewards == {"player_0": -1.0, "player_1": 1.0}
    for agent in env.agents:
        info = env.infos[agent]
        assert info["points"].tolist() == [14, 17]
        assert info["winner"] == "1"
        assert info["is_success"] is (agent == "player_1")


def test_the_announcer_is_not_the_leader_of_a_later_deal() -> None:
    env = honors_v0.raw_env(num_players=3, stock="redeal", announce=True)
    rng, differ = np.random.default_rng(0), 0
    for seed in range(6):
        env.reset(seed=seed)
        while not any(env.terminations.values()):
            mask = env.action_masks()
            if mask[52:].any():
                first, _, leader = env.position().split(" ")[0].partition(">")
                assert env.agent_selection == f"player_{first}"
                differ += first == "0" and leader not in ("", "0")
            env.step(int(rng.choice(np.flatnonzero(mask))))
    assert differ > 0


# -- Gymnasium -------------------------------------------------------------------------------
@pytest.mark.parametrize("rules", OPTIONS, ids=name_of)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"observation": "dict", "seat": 1},
        {"opponent": "self", "seat": "alternate"},
        {"opponent": last_legal, "render_mode": "ansi"},
    ],
    ids=["flat", "dict", "self", "callable"],
)
def test_gymnasium_finds_nothing_to_complain_about(
    options: dict[str, Any], rules: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    env = make(**options, **rules)
    check_env(env.unwrapped)
    where = env.unwrapped.game.mask_slice
    for given in play(env, np.random.default_rng(0), seed=3):
        observation, info = given[0], given[-1]
        assert observation in env.observation_space
        flat = observation["observation"] if isinstance(observation, dict) else observation
        assert (flat[where] == info["action_mask"]).all()


@pytest.mark.parametrize("rules", OPTIONS, ids=name_of)
def test_options_survive_the_spec_and_reset(rules: dict[str, Any]) -> None:
    env = make(seat=1, observation="dict", opponent="self", **rules)
    by_text = gymnasium.make(gymnasium.envs.registration.EnvSpec.from_json(env.spec.to_json()))
    for other in (gymnasium.make(env.spec), by_text):
        assert other.unwrapped.game == env.unwrapped.game
        steps = [play(e, np.random.default_rng(5), seed=5) for e in (env, other)]
        assert same(*steps)
        other.reset(seed=1, options={})
        assert other.unwrapped.game == env.unwrapped.game


@pytest.mark.parametrize("seat", [0, 2, "random", "alternate"])
def test_the_reward_is_the_learners_own_and_opponents_act_for_all_others(seat: Any) -> None:
    env = make(num_players=4, seat=seat, opponent=["random", "greedy", FirstLegal()])
    rng = np.random.default_rng(7)
    learners = []
    for episode in range(16):
        given = play(env, rng, seed=11) if episode == 0 else play(env, rng)
        info = given[-1][4]
        points, me = info["points"], info["seat"]
        winners = np.flatnonzero(points == points.max())
        assert info["winner"] == ",".join(map(str, winners))
        share = (me in winners) / len(winners)
        assert given[-1][1] == pytest.approx((4 * share - 1) / 3)
        assert all(step[1] == 0 for step in given[1:-1])
        assert info["is_success"] is (winners.tolist() == [me])
        assert len(given) == 1 + 13
        learners.append(me)
    expected = {0: {0}, 2: {2}, "random": {0, 1, 2, 3}, "alternate": {0, 1, 2, 3}}[seat]
    assert set(learners) == expected
    if seat == "alternate":
        assert learners == [0, 1, 2, 3] * 4


def test_seats_are_numbers() -> None:
    with pytest.raises(ValueError, match="no seat 3; seats are 0, 1, 2, random, alternate"):
        make(num_players=3, seat=3)
    with pytest.raises(ValueError, match="no seat 'caller'"):
        make(seat="caller")
    with pytest.raises(ValueError, match="1 opponents listed; honors needs 3"):
        make(num_players=4, opponent=["random"])


def test_the_last_reward_arrives_when_the_opponent_plays_last() -> None:
    env = make(seat=0, reward="points", **LAST)
    env.reset(options={"position": LAST_TRICK})
    _, reward, ended, truncated, info = env.step(12)
    assert (reward, ended, truncated) == (pytest.approx(-1.5 / 38), True, False)
    assert info["points"].tolist() == [14, 17]


def test_a_position_that_leaves_the_learner_nothing_to_do_is_refused() -> None:
    env = make(seat=0, **LAST)
    with pytest.raises(PositionError, match="player 0 has nothing to decide"):
        env.reset(options={"position": "1 C AS 13/0/0,12/5/0 - - ... K..."})


def test_an_episode_can_start_from_a_deck() -> None:
    env = make(num_players=3, opponent="self")
    env.reset(options={"deck": list(range(52))})
    fields = env.unwrapped.position().split(" ")
    assert fields[1] == "TH"
    assert fields[6] == "AJ852.74.."
    assert fields[5].startswith("JH,QH")
    assert fields[5].endswith(",AC,TH")


def test_an_illegal_action_ends_or_raises_and_changes_nothing() -> None:
    env = make(opponent="self", num_players=3, announce=True)
    env.reset(seed=0)
    before = env.unwrapped.position()
    given = env.step(0)
    assert given[1:4] == (-1.0, True, False)
    assert given[4]["rewards"].tolist() == [-1, 0, 0]
    assert env.unwrapped.position() == before
    loud = make(opponent="self", announce=True, on_illegal="raise")
    loud.reset(seed=0)
    with pytest.raises(IllegalActionError, match="2S; legal: announce 0, announce 1, "):
        loud.step(0)
    for action in (79, -1, 52.0, True):
        with pytest.raises(IllegalActionError):
            loud.step(action)


def test_same_seed_same_game_in_other_processes() -> None:
    program = (
        "import gymnasium, tricktable_env, hashlib, numpy as np\n"
        f"env = gymnasium.make({ID!r}, num_players=4, announce=True)\n"
        "digest, (_, info), rng = hashlib.sha256(), env.reset(seed=0), np.random.default_rng(0)\n"
        "for _ in range(100):\n"
        "    action = rng.choice(np.flatnonzero(info['action_mask']))\n"
        "    obs, reward, ended, _, info = env.step(action)\n"
        "    digest.update(obs.tobytes())\n"
        "    if ended: _, info = env.reset()\n"
        "print(digest.hexdigest())"
    )
    shown = {
        subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True, text=True, check=True, cwd=ROOT,
            env={"PYTHONHASHSEED": hash_seed, "PATH": "", "PYTHONPATH": str(ROOT)},
        ).stdout
        for hash_seed in ("1", "2")
    }  # fmt: skip
    assert len(shown) == 1


@pytest.mark.parametrize("how", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_goes_on_alike_and_apart(how: Callable[[Any], Any]) -> None:
    env, rng = make(opponent="random", **SHORT), np.random.default_rng(6)
    _, info = env.reset(seed=6)
    for _ in range(2):
        *_, info = env.step(legal_choice(info, rng))
    twin, before = how(env), env.unwrapped.position()

    def go_on(other: Any) -> list[Any]:
        rng, given, out = np.random.default_rng(7), info, []
        for _ in range(40):
            out.append(other.step(legal_choice(given, rng)))
            if out[-1][2]:
                out.append(other.reset())
            given = out[-1][-1]
        return out

    first = go_on(twin)
    assert env.unwrapped.position() == before
    assert same(first, go_on(env))


# -- the native batch ------------------------------------------------------------------------
@pytest.mark.parametrize("rules", OPTIONS, ids=name_of)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"seat": "alternate", "observation": "dict"},
        {"opponent": "self"},
        {"opponent": last_legal, "seat": 1},
        {"opponent": FirstLegal(), "full_information": True, "seat": "alternate"},
    ],
    ids=["flat", "dict", "self", "callable", "full"],
)
def test_a_batch_gives_what_single_environments_give(
    options: dict[str, Any], rules: dict[str, Any]
) -> None:
    n, rng = 4, np.random.default_rng(1)
    kwargs = {"autoreset_mode": AutoresetMode.SAME_STEP}
    batch = gymnasium.make_vec(ID, num_envs=n, **options, **rules)
    assert type(batch) is TrickTableVectorEnv
    single = gymnasium.make_vec(
        ID, num_envs=n, vectorization_mode="sync", vector_kwargs=kwargs, **options, **rules
    )
    assert batch.observation_space == single.observation_space
    ours, theirs = batch.reset(seed=17), single.reset(seed=17)
    ended = illegal = 0
    for step in range(110):
        assert same(ours[0], theirs[0])
        assert_infos_agree(ours[-1], theirs[-1])
        if step:
            assert all(same(ours[i], theirs[i]) for i in (1, 2, 3))
            ended += ours[2].sum()
        actions = legal_choices(ours[-1]["action_mask"], rng)
        if step % 29 == 7:  # an illegal action in one row
            actions[step % n] = int(ours[-1]["action_mask"][step % n].argmin())
            illegal += 1
        ours, theirs = batch.step(actions), single.step(actions)
    assert ended >= illegal > 0


def test_self_play_hands_out_the_rewards_of_every_seat() -> None:
    env = gymnasium.make_vec(ID, num_envs=6, opponent="self", reward="points", **SHORT)
    rng = np.random.default_rng(2)
    _, infos = env.reset(seed=2)
    ends = 0
    for _ in range(80):
        seats = infos["seat"]
        _, rewards, ended, _, infos = env.step(legal_choices(infos["action_mask"], rng))
        assert infos["rewards"].shape == (6, 3)
        assert np.abs(infos["rewards"].sum(1)).max() < 1e-6
        assert (rewards == infos["rewards"][np.arange(6), seats]).all()
        if ended.any():
            final = infos["final_info"]
            points = final["points"][ended]
            expected = (points - points.mean(1, keepdims=True)) / 38
            assert infos["rewards"][ended] == pytest.approx(expected)
            ends += ended.sum()
    assert ends > 20


# -- Stable-Baselines3 -----------------------------------------------------------------------
def test_stable_baselines_takes_it() -> None:
    sb3 = pytest.importorskip("sb3_contrib")
    from tricktable_env.interop.sb3 import make_vec_env

    env = make_vec_env(ID, 4, opponent="random", seat="alternate", seed=0, **SHORT)
    assert env.has_attr("action_masks")
    model = sb3.MaskablePPO("MlpPolicy", env, n_steps=16, batch_size=32, n_epochs=1, device="cpu")
    model.learn(64)


def test_what_is_drawn_is_what_the_seat_to_act_sees() -> None:
    env = honors_v0.raw_env(render_mode="ansi", **LAST)
    env.reset(options={"position": LAST_TRICK})
    assert "S A" in env.render()
    assert "S K" not in env.render()
    env.step(12)
    assert "S K" in env.render()
