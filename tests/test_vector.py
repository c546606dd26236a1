"""The native vector environment: what Gymnasium's own gives over single ones, only faster."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from env_play import (
    ID,
    LAST_TRICK_WON,
    SMALL,
    FirstLegal,
    last_legal,
    legal_choices,
    make_vec,
    same,
)
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from option_sets import OPTION_SETS, name_of

from tricktable_env.envs.vector import TrickTableVectorEnv


def make_sync(n: int, **options: Any) -> Any:
    kwargs = {"autoreset_mode": AutoresetMode.SAME_STEP}
    env = gymnasium.make_vec(
        ID, num_envs=n, vectorization_mode="sync", vector_kwargs=kwargs, **options
    )
    assert isinstance(env, SyncVectorEnv)
    return env


def assert_infos_agree(ours: dict[str, Any], theirs: dict[str, Any], path: str = "") -> None:
    """Gymnasium's infos are in ours: same keys, same marks, same types, same values where marked.

    Ours say more in one place: `rewards` of rows that ended are there, not in `final_info` alone.
    """
    more = {"rewards", "_rewards"} if not path else set()
    assert ours.keys() - more == theirs.keys() - more, path
    for key, values in theirs.items():
        if key.startswith("_"):
            assert key in more or same(ours[key], values), path + key
        elif isinstance(values, dict):
            assert_infos_agree(ours[key], values, f"{path}{key}.")
        else:
            where = theirs[f"_{key}"]
            assert ours[key].dtype == values.dtype, path + key
            assert same(ours[key][where], values[where]), path + key


# -- the same as single environments -------------------------------------------------------------
@pytest.mark.parametrize("rules", OPTION_SETS, ids=name_of)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"seat": "alternate", "observation": "dict"},
        {"opponent": "self"},
        {"opponent": "self", "observation": "dict"},
        {"opponent": last_legal, "seat": "dealer"},
        {"opponent": FirstLegal(), "seat": 0},
        {"full_information": True, "seat": "alternate"},
        {"full_information": True, "opponent": "self"},
    ],
    ids=["flat", "dict", "self", "self-dict", "callable", "agent", "full", "self-full"],
)
def test_a_batch_gives_what_single_environments_give(
    options: dict[str, Any], rules: dict[str, Any]
) -> None:
    n, rng = 5, np.random.default_rng(1)
    batch, single = make_vec(n, **options, **rules), make_sync(n, **options, **rules)
    assert batch.observation_space == single.observation_space
    assert batch.action_space == single.action_space
    ours, theirs = batch.reset(seed=17), single.reset(seed=17)
    ended = illegal = 0
    for step in range(150):
        assert same(ours[0], theirs[0])
        assert ours[0] in batch.observation_space
        assert_infos_agree(ours[-1], theirs[-1])
        if step:
            for i in (1, 2, 3):
                assert same(ours[i], theirs[i])
            ended += ours[2].sum()
        actions = legal_choices(ours[-1]["action_mask"], rng)
        if step % 29 == 7:  # an illegal action in one row
            actions[step % n] = int(ours[-1]["action_mask"][step % n].argmin())
            illegal += 1
        ours, theirs = batch.step(actions), single.step(actions)
    assert ended > illegal > 0


def test_each_row_is_the_single_environment_at_its_seed_in_later_episodes_too() -> None:
    n, rng = 4, np.random.default_rng(0)
    batch = make_vec(n, **SMALL)
    singles = [gymnasium.make(ID, **SMALL) for _ in range(n)]
    observations, infos = batch.reset(seed=40)
    given = [env.reset(seed=40 + i) for i, env in enumerate(singles)]
    for _ in range(60):
        assert all((observations[i] == given[i][0]).all() for i in range(n))
        actions = legal_choices(infos["action_mask"], rng)
        observations, _, ended, _, infos = batch.step(actions)
        given = [env.step(actions[i]) for i, env in enumerate(singles)]
        assert [g[2] for g in given] == ended.tolist()
        given = [env.reset() if ended[i] else given[i] for i, env in enumerate(singles)]


def test_a_row_does_not_depend_on_the_number_of_rows() -> None:
    def first_rows(n: int) -> list[Any]:
        env, out = make_vec(n, **SMALL), []
        _, infos = env.reset(seed=3)
        for _ in range(40):
            actions = infos["action_mask"].argmax(1)
            observations, rewards, ended, _, infos = env.step(actions)
            out.append((observations[:2].tolist(), rewards[:2].tolist(), ended[:2].tolist()))
        return out

    assert first_rows(2) == first_rows(33)


def test_the_rewards_of_every_player_are_given_in_self_play_where_episodes_end_too() -> None:
    env, rng = make_vec(6, opponent="self", **SMALL), np.random.default_rng(2)
    _, infos = env.reset(seed=2)
    ends = 0
    for _ in range(60):
        seats = infos["seat"]
        _, rewards, ended, _, infos = env.step(legal_choices(infos["action_mask"], rng))
        assert infos["rewards"].shape == (6, 2)
        assert infos["_rewards"].all()
        assert (infos["rewards"].sum(1) == 0).all()
        assert (rewards == infos["rewards"][np.arange(6), seats]).all()
        assert (np.abs(rewards) == ended).all()
        if ended.any():
            final = infos["final_info"]
            assert (final["rewards"][ended] == infos["rewards"][ended]).all()
            assert (final["seat"][ended] == seats[ended]).all()
            winners = np.where(infos["rewards"][:, 0] > 0, "caller", "dealer")
            assert (final["winner"][ended] == winners[ended]).all()
            ends += ended.sum()
    assert ends > 20


def test_the_final_observation_is_the_learners() -> None:
    env = make_vec(2, seat="caller")
    env.reset(options={"position": LAST_TRICK_WON})
    _, rewards, ended, _, infos = env.step(np.array([12, 12]))
    assert ended.all()
    assert rewards.tolist() == [1, 1]
    game, states = env.game, env.game.new(np.zeros(1, np.uint64))
    game.place(states[0], LAST_TRICK_WON)
    for action in (12, 13 + 11):
        game.step(states, np.arange(1), np.array([action]))
    expected = game.observe(states, np.arange(1), np.array([0]))[0][0]
    assert (infos["final_obs"][0] == expected).all()
    assert infos["final_info"]["is_success"].tolist() == [True, True]
    assert infos["seat"].tolist() == [0, 0]


# -- API ---------------------------------------------------------------------------------------
def test_make_vec_makes_the_native_batch_and_its_spec_makes_it_again() -> None:
    env = make_vec(3, opponent="self", **SMALL)
    assert type(env) is TrickTableVectorEnv
    assert env.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    again = gymnasium.make_vec(env.spec)
    assert type(again) is TrickTableVectorEnv
    assert (again.num_envs, again.game) == (3, env.game)
    assert same(env.reset(seed=1), again.reset(seed=1))


@pytest.mark.skipif(
    tuple(map(int, gymnasium.__version__.split(".")[:2])) < (1, 4),
    reason="before 1.4 that wrapper drops a step of every episode begun by SAME_STEP",
)
def test_wrappers_of_gymnasium_sit_on_top() -> None:
    env = gymnasium.wrappers.vector.RecordEpisodeStatistics(make_vec(3, **SMALL))
    _, infos = env.reset(seed=0)
    lengths = []
    for _ in range(30):
        *_, infos = env.step(infos["action_mask"].argmax(1))
        if "episode" in infos:
            lengths += infos["episode"]["l"][infos["_episode"]].tolist()
    assert set(lengths) <= {7, 8}
    assert lengths


def test_nothing_handed_out_is_written_again() -> None:
    env, rng = make_vec(3, opponent="self", observation="dict", **SMALL), np.random.default_rng(0)
    given = [env.reset(seed=0)]
    kept = [copy.deepcopy(given[0])]
    for _ in range(40):
        given.append(env.step(legal_choices(given[-1][-1]["action_mask"], rng)))
        kept.append(copy.deepcopy(given[-1]))
    assert same(given, kept)


def test_what_is_written_to_what_was_handed_out_changes_nothing_inside() -> None:
    env, twin = make_vec(3, opponent="self", **SMALL), make_vec(3, opponent="self", **SMALL)
    ours, theirs = env.reset(seed=0), twin.reset(seed=0)
    for _ in range(40):
        actions = theirs[-1]["action_mask"].argmax(1)
        for spoilt in (*ours[:-1], ours[-1]["action_mask"], ours[-1]["seat"]):
            spoilt[:] = 0
        if len(ours) == 5:
            ours[-1]["rewards"][:] = 7
        ours, theirs = env.step(actions), twin.step(actions)
        assert same(ours[:4], theirs[:4])


@pytest.mark.parametrize("how", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
@pytest.mark.parametrize("opponent", ["random", "self", last_legal])
def test_a_copy_goes_on_alike(how: Callable[[Any], Any], opponent: Any) -> None:
    env, rng = make_vec(4, opponent=opponent), np.random.default_rng(1)
    _, infos = env.reset(seed=1)
    for _ in range(11):
        *_, infos = env.step(legal_choices(infos["action_mask"], rng))
    twin = how(env)

    def go_on(env: Any, infos: Any) -> list[Any]:
        rng, out = np.random.default_rng(2), []
        for _ in range(80):
            out.append(env.step(legal_choices(infos["action_mask"], rng)))
            infos = out[-1][-1]
        return out

    assert same(go_on(twin, infos), go_on(env, infos))


def test_a_mask_picks_the_rows_that_begin_anew_as_gymnasium_has_it() -> None:
    batch, single = make_vec(4, **SMALL), make_sync(4, **SMALL)
    ours, theirs = batch.reset(seed=0), single.reset(seed=0)
    for _ in range(3):
        actions = ours[-1]["action_mask"].argmax(1)
        ours, theirs = batch.step(actions), single.step(actions)
    rows = np.array([True, False, False, True])
    ours = batch.reset(seed=7, options={"reset_mask": rows})
    theirs = single.reset(seed=7, options={"reset_mask": rows})
    assert same(ours[0], theirs[0])
    assert_infos_agree(ours[-1], theirs[-1])


def test_a_mask_goes_with_a_position_and_marks_whose_infos_are_new() -> None:
    env = make_vec(3, opponent="self", full_information=True)
    env.reset(seed=0)
    before = env.position()
    given = {"reset_mask": np.array([False, True, False]), "position": LAST_TRICK_WON}
    _, infos = env.reset(options=given)
    assert env.position() == (before[0], LAST_TRICK_WON, before[2])
    assert set(given) == {"reset_mask", "position"}
    for key in ("action_mask", "seat", "state"):
        assert infos[f"_{key}"].tolist() == [False, True, False]
    assert same(infos["state"], env.state())


# -- pictures and texts ----------------------------------------------------------------------
def test_rows_are_drawn_as_their_learners_see_them(capsys: pytest.CaptureFixture[str]) -> None:
    env = make_vec(2, seat="alternate", render_mode="ansi", opponent=FirstLegal())
    env.reset(options={"position": "C S - 12-12 A.7.. - ..QJ. -"})
    frames = env.render()
    assert all("7" in frame and "QJ" not in frame for frame in frames)
    env.reset(options={"position": "C S - 12-12 A.7.. - ..QJ. -"})
    frames = env.render()
    assert all("QJ" in frame and "7" not in frame for frame in frames)
    loud = make_vec(2, seat="caller", render_mode="human")
    loud.reset(seed=0)
    assert capsys.readouterr().out.count("caller to act") == 2
    assert loud.render() == (None, None)


def test_masks_positions_and_information_states_are_given_for_all_rows() -> None:
    env = make_vec(2, opponent="self")
    _, infos = env.reset(seed=0)
    assert (env.action_masks() == infos["action_mask"]).all()
    single = gymnasium.make(ID, opponent="self").unwrapped
    for row in range(2):
        single.reset(seed=row)
        assert env.position()[row] == single.position()
        assert env.position(1)[row] == single.position(1)
        assert env.information_state(0)[row] == single.information_state(0)


def test_drawing_without_a_render_mode_warns() -> None:
    env = make_vec(1)
    env.reset(seed=0)
    with pytest.warns(UserWarning, match="render_mode"):
        assert env.render() is None
