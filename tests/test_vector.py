"""The native vector environment: what Gymnasium's own gives over single ones, only faster."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from option_sets import OPTION_SETS, name_of

from tricktable_env.envs.episodes import OpponentError
from tricktable_env.envs.vector import TrickTableVectorEnv
from tricktable_env.game import IllegalActionError, PositionError

ID = "TrickTable/Tableau-v0"
SMALL: dict[str, Any] = {"suits": 3, "ranks": 8, "hand": 3, "piles": 2}
LAST_TRICK_WON = "C S - 13-12 A... - .K.. -"


def make(n: int, **options: Any) -> Any:
    return gymnasium.make_vec(ID, num_envs=n, **options)


def make_sync(n: int, **options: Any) -> Any:
    kwargs = {"autoreset_mode": AutoresetMode.SAME_STEP}
    env = gymnasium.make_vec(
        ID, num_envs=n, vectorization_mode="sync", vector_kwargs=kwargs, **options
    )
    assert isinstance(env, SyncVectorEnv)
    return env


def legal_choices(masks: Any, rng: np.random.Generator) -> Any:
    """A random legal action for each row; now and then an illegal one comes elsewhere."""
    return (rng.random(masks.shape) * masks).argmax(1)


def clubs_first(observation: Any, info: dict[str, Any]) -> int:
    return int(np.flatnonzero(info["action_mask"])[-1])


class SpadesFirst:
    """Plays the lowest legal number."""

    def act(self, view: Any, mask: Any, rng: np.random.Generator) -> int:
        return int(np.flatnonzero(mask)[0])


def same(one: Any, other: Any) -> bool:
    return data_equivalence(one, other, exact=True)


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
        {"opponent": clubs_first, "seat": "dealer"},
        {"opponent": SpadesFirst(), "seat": 0},
    ],
    ids=["flat", "dict", "self", "self-dict", "callable", "agent"],
)
def test_a_batch_gives_what_single_environments_give(
    options: dict[str, Any], rules: dict[str, Any]
) -> None:
    n, rng = 5, np.random.default_rng(1)
    batch, single = make(n, **options, **rules), make_sync(n, **options, **rules)
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
    batch = make(n, **SMALL)
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
        env, out = make(n, **SMALL), []
        _, infos = env.reset(seed=3)
        for _ in range(40):
            actions = infos["action_mask"].argmax(1)
            observations, rewards, ended, _, infos = env.step(actions)
            out.append((observations[:2].tolist(), rewards[:2].tolist(), ended[:2].tolist()))
        return out

    assert first_rows(2) == first_rows(33)


def test_the_rewards_of_every_player_are_given_in_self_play_where_episodes_end_too() -> None:
    env, rng = make(6, opponent="self", **SMALL), np.random.default_rng(2)
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
    env = make(2, seat="caller")
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
    env = make(3, opponent="self", **SMALL)
    assert type(env) is TrickTableVectorEnv
    assert env.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    again = gymnasium.make_vec(env.spec)
    assert type(again) is TrickTableVectorEnv
    assert (again.num_envs, again.game) == (3, env.game)
    assert same(env.reset(seed=1), again.reset(seed=1))


def test_wrappers_of_gymnasium_sit_on_top() -> None:
    env = gymnasium.wrappers.vector.RecordEpisodeStatistics(make(3, **SMALL))
    _, infos = env.reset(seed=0)
    lengths = []
    for _ in range(30):
        *_, infos = env.step(infos["action_mask"].argmax(1))
        if "episode" in infos:
            lengths += infos["episode"]["l"][infos["_episode"]].tolist()
    assert set(lengths) <= {7, 8}
    assert lengths


def test_nothing_handed_out_is_written_again() -> None:
    env, rng = make(3, opponent="self", observation="dict", **SMALL), np.random.default_rng(0)
    given = [env.reset(seed=0)]
    kept = [copy.deepcopy(given[0])]
    for _ in range(40):
        given.append(env.step(legal_choices(given[-1][-1]["action_mask"], rng)))
        kept.append(copy.deepcopy(given[-1]))
    assert same(given, kept)


def test_what_is_written_to_what_was_handed_out_changes_nothing_inside() -> None:
    env, twin = make(3, opponent="self", **SMALL), make(3, opponent="self", **SMALL)
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
@pytest.mark.parametrize("opponent", ["random", "self", clubs_first])
def test_a_copy_goes_on_alike(how: Callable[[Any], Any], opponent: Any) -> None:
    env, rng = make(4, opponent=opponent), np.random.default_rng(1)
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


# -- resets ----------------------------------------------------------------------------------
def test_seeds_may_be_listed_and_rows_without_one_go_on() -> None:
    env = make(3, opponent="self")
    listed, _ = env.reset(seed=[5, 9, 0])
    assert (
        listed == np.stack([make(1, opponent="self").reset(seed=s)[0][0] for s in (5, 9, 0)])
    ).all()
    later, _ = env.reset(seed=[None, 9, None])
    assert (later[1] == listed[1]).all()
    twin = make(3, opponent="self")
    twin.reset(seed=[5, 9, 0])
    unseeded, _ = twin.reset()
    assert (later[[0, 2]] == unseeded[[0, 2]]).all()
    assert (later[[0, 2]] != listed[[0, 2]]).any()
    assert (unseeded[1] != listed[1]).any()


def test_rows_without_any_seed_play_their_own_deals() -> None:
    observations, _ = make(16, opponent="self").reset()
    assert len(np.unique(observations, axis=0)) == 16
    again, _ = make(16, opponent="self").reset()
    assert (again != observations).any()


def test_options_are_for_all_rows_or_listed() -> None:
    env = make(3, opponent="self")
    env.reset(seed=0, options={"position": LAST_TRICK_WON})
    assert env.position() == (LAST_TRICK_WON,) * 3
    deck = list(range(52))
    env.reset(seed=0, options=[None, {"position": LAST_TRICK_WON}, {"deck": deck}])
    dealt = env.position()
    assert dealt[1] == LAST_TRICK_WON
    assert dealt[2].startswith("C - - 0-0 65432...+")
    env.reset(seed=0)
    assert env.position()[0] == dealt[0]
    assert len(set(env.position())) == 3


def test_a_mask_picks_the_rows_that_begin_anew_as_gymnasium_has_it() -> None:
    batch, single = make(4, **SMALL), make_sync(4, **SMALL)
    ours, theirs = batch.reset(seed=0), single.reset(seed=0)
    for _ in range(3):
        actions = ours[-1]["action_mask"].argmax(1)
        ours, theirs = batch.step(actions), single.step(actions)
    rows = np.array([True, False, False, True])
    ours = batch.reset(seed=7, options={"reset_mask": rows})
    theirs = single.reset(seed=7, options={"reset_mask": rows})
    assert same(ours[0], theirs[0])
    assert_infos_agree(ours[-1], theirs[-1])


@pytest.mark.parametrize(
    ("reset", "message"),
    [
        ({"seed": [1, 2]}, "seed lists 2, but there are 3"),
        ({"seed": -1}, "-1"),
        ({"seed": True}, "seed=True"),
        ({"seed": 1.0}, "seed=1.0"),
        ({"options": LAST_TRICK_WON}, "options="),
        ({"seed": [1, 2.5, 3]}, "2.5"),
        ({"options": [None]}, "options lists 1, but there are 3"),
        ({"options": [None, {"position": "C"}, None]}, "'C'"),
        ({"options": [None, None, {"deck": [1]}]}, "deck"),
        ({"options": {"reset_mask": np.zeros(3, bool)}}, "reset_mask"),
        ({"options": {"reset_mask": [1, 0, 1]}}, "reset_mask"),
    ],
    ids=str,
)
def test_a_reset_at_fault_changes_no_row(reset: dict[str, Any], message: str) -> None:
    env, twin = make(3), make(3)
    _, infos = env.reset(seed=0)
    twin.reset(seed=0)
    with pytest.raises(ValueError, match=message):
        env.reset(**reset)
    for _ in range(60):
        actions = infos["action_mask"].argmax(1)
        ours, theirs = env.step(actions), twin.step(actions)
        assert same(ours, theirs)
        infos = ours[-1]


# -- actions ---------------------------------------------------------------------------------
@pytest.mark.parametrize("opponent", ["random", "self"])
def test_an_illegal_action_ends_only_its_row(opponent: str) -> None:
    env, twin = (make(3, opponent=opponent, seat="caller") for _ in range(2))
    env.reset(seed=0)
    _, infos = twin.reset(seed=0)
    before = env.position()[1]
    actions = infos["action_mask"].argmax(1)
    expected = twin.step(actions)
    actions[1] = 3  # a card before the call
    observations, rewards, ended, _, infos = env.step(actions)
    assert ended.tolist() == [False, True, False]
    assert rewards.tolist() == [0, -1, 0]
    assert (observations[[0, 2]] == expected[0][[0, 2]]).all()
    final = infos["final_info"]
    assert final["illegal_action"][1] == 3
    assert final["_illegal_action"].tolist() == [False, True, False]
    assert final["action_mask"][1, 52:].all()  # as it was
    assert env.position()[1] != before
    if opponent == "self":
        assert infos["rewards"].tolist() == [[0, 0], [-1, 0], [0, 0]]


@pytest.mark.parametrize("opponent", ["random", "self"])
def test_an_illegal_action_raises_for_its_row_and_changes_none(opponent: str) -> None:
    env = make(3, opponent=opponent, seat="caller", on_illegal="raise")
    env.reset(seed=0)
    before = env.position()
    with pytest.raises(IllegalActionError, match="5S in row 2; legal: trump S"):
        env.step(np.array([52, 53, 3]))
    assert env.position() == before
    env.step(np.array([52, 53, 54]))


@pytest.mark.parametrize("on_illegal", ["terminate", "raise"])
@pytest.mark.parametrize(
    "actions",
    [
        np.array([52.0, 52.0, 52.0]),
        np.array([True, True, True]),
        np.array([52, 52]),
        np.array([[52, 52, 52]]),
        np.array(52),
        np.array([52, -1, 52]),
        np.array([52, 52, 56], np.uint8),
        np.array([52, 2**64 - 1, 52], np.uint64),
        np.array([52, 52, None]),
        [52, True, 52],
        [52, 52.0, 52],
        (52, 52),
        [],
    ],
    ids=repr,
)
def test_what_are_no_actions_raises_and_changes_no_row(actions: Any, on_illegal: str) -> None:
    env = make(3, seat="caller", on_illegal=on_illegal)
    env.reset(seed=0)
    before = env.position()
    with pytest.raises(IllegalActionError):
        env.step(actions)
    assert env.position() == before
    assert not env.step([52, np.int8(53), np.array(54)])[2].any()


def test_an_opponent_that_breaks_the_rules_in_one_row_changes_no_row() -> None:
    def cheat_in_a_heart_game(observation: Any, info: dict[str, Any]) -> int:
        mask = info["action_mask"]
        suit = int(np.flatnonzero(mask)[0]) // 13
        return int((mask if suit != 1 else 1 - mask).argmax())

    env = make(8, seat="caller", opponent=cheat_in_a_heart_game)
    _, infos = env.reset(seed=0)
    for _ in range(26):
        before, states = env.position(), env.episodes.states.copy()
        try:
            *_, infos = env.step(infos["action_mask"].argmax(1))
        except OpponentError:
            break
    else:
        pytest.fail("no opponent had to play a heart")
    assert env.position() == before
    assert (env.episodes.states == states).all()


def test_an_opponent_at_fault_as_the_next_episode_begins_changes_no_row() -> None:
    seen = []

    def fails_at_the_call(observation: Any, info: dict[str, Any]) -> int:
        seen.append(info)
        return 0 if info["action_mask"][52:].any() else int(info["action_mask"].argmax())

    env = make(2, seat="alternate", opponent=fails_at_the_call)
    env.reset(options={"position": LAST_TRICK_WON})
    before = env.position()
    with pytest.raises(OpponentError):  # the learner is the dealer of the next episode
        env.step(np.array([12, 12]))
    assert env.position() == before
    assert len(seen) == 2 + 2


def test_nothing_is_stepped_or_shown_before_the_first_reset() -> None:
    env = make(2, render_mode="ansi")
    for use in (lambda: env.step([52, 52]), env.render, env.action_masks, env.position):
        with pytest.raises(ResetNeeded):
            use()


def test_a_position_that_leaves_a_learner_nothing_to_do_names_its_player() -> None:
    env = make(2, seat="caller")
    with pytest.raises(PositionError, match="player 0 has nothing to decide"):
        env.reset(options=[None, {"position": "D S AS 13-12 ... - 2... -"}])


@pytest.mark.parametrize("n", [0, -3])
def test_there_is_at_least_one_row(n: int) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        make(n)


# -- pictures and texts ----------------------------------------------------------------------
def test_rows_are_drawn_as_their_learners_see_them(capsys: pytest.CaptureFixture[str]) -> None:
    env = make(2, seat="alternate", render_mode="ansi", opponent=SpadesFirst())
    env.reset(options={"position": "C S - 12-12 A.7.. - ..QJ. -"})
    frames = env.render()
    assert all("7" in frame and "QJ" not in frame for frame in frames)
    env.reset(options={"position": "C S - 12-12 A.7.. - ..QJ. -"})
    frames = env.render()
    assert all("QJ" in frame and "7" not in frame for frame in frames)
    loud = make(2, seat="caller", render_mode="human")
    loud.reset(seed=0)
    assert capsys.readouterr().out.count("caller to act") == 2
    assert loud.render() == (None, None)


def test_masks_positions_and_information_states_are_given_for_all_rows() -> None:
    env = make(2, opponent="self")
    _, infos = env.reset(seed=0)
    assert (env.action_masks() == infos["action_mask"]).all()
    single = gymnasium.make(ID, opponent="self").unwrapped
    for row in range(2):
        single.reset(seed=row)
        assert env.position()[row] == single.position()
        assert env.position(1)[row] == single.position(1)
        assert env.information_state(0)[row] == single.information_state(0)


def test_drawing_without_a_render_mode_warns() -> None:
    env = make(1)
    env.reset(seed=0)
    with pytest.warns(UserWarning, match="render_mode"):
        assert env.render() is None
