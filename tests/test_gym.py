"""The single Gymnasium environment: its API, its options, whose rewards it gives."""

import itertools
import re
import subprocess
import sys
from typing import Any

import gymnasium
import numpy as np
import pytest
from env_play import (
    ID,
    LAST_TRICK_LOST,
    LAST_TRICK_WON,
    ROOT,
    last_legal,
    legal_choice,
    make,
    make_vec,
    play,
    same,
)
from gymnasium.utils.env_checker import check_env
from option_sets import OPTION_SETS, name_of

import tricktable_env
from tricktable_env import tableau_v0
from tricktable_env.envs.episodes import OpponentError
from tricktable_env.envs.gym import TrickTableEnv
from tricktable_env.game import PositionError, RulesError
from tricktable_env.opponents import make_agent
from tricktable_env.registry import make_game
from tricktable_env.tableau import Tableau

RNG = np.random.default_rng(0)


# -- conformance -----------------------------------------------------------------------------
@pytest.mark.parametrize("rules", OPTION_SETS, ids=name_of)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"observation": "dict", "seat": "dealer"},
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
    play(env, np.random.default_rng(0), seed=3)


@pytest.mark.parametrize("rules", OPTION_SETS, ids=name_of)
def test_what_is_given_is_in_its_space_and_the_mask_is_where_it_should_be(
    rules: dict[str, Any],
) -> None:
    env = make(observation="dict", **rules)
    where = env.unwrapped.game.mask_slice
    for given in play(env, np.random.default_rng(1), seed=1):
        observation, info = given[0], given[-1]
        assert observation in env.observation_space
        mask = info["action_mask"]
        assert (mask.dtype, mask.shape) == (np.int8, (56,))
        assert (observation["action_mask"] == mask).all()
        assert (observation["observation"][where] == mask).all()
        ended = len(given) == 5 and given[2]
        assert mask.any() != ended
        env.action_space.sample(mask)


def test_the_flat_observation_is_that_of_the_dict() -> None:
    flat, whole = make(), make(observation="dict")
    steps = zip(
        play(flat, np.random.default_rng(2), seed=2),
        play(whole, np.random.default_rng(2), seed=2),
        strict=True,
    )
    for one, other in steps:
        assert (one[0] == other[0]["observation"]).all()


def test_importing_registers_and_imports_nothing_heavy() -> None:
    program = (
        "import sys, gymnasium\n"
        f"env = gymnasium.make('tricktable_env:{ID}')\n"
        "heavy = {'torch', 'stable_baselines3', 'pygame', 'agents.policy'} & set(sys.modules)\n"
        "print(sorted(heavy), env.unwrapped.game.name)"
    )
    shown = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        capture_output=True, text=True, check=True, cwd=ROOT,
    )  # fmt: skip
    assert shown.stdout.split() == ["[]", "tableau"]


def test_importing_compiles_nothing_and_needs_no_numba() -> None:
    program = "import sys; sys.modules['numba'] = None; import tricktable_env"
    subprocess.run([sys.executable, "-c", program], check=True, cwd=ROOT)


def test_the_version_is_that_of_the_project() -> None:
    project = (ROOT / "pyproject.toml").read_text()
    assert f'\nversion = "{tricktable_env.__version__}"\n' in project


# -- options ---------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seat": "north"}, "no seat 'north'; seats are caller, dealer, 0, 1, random, alternate"),
        ({"seat": 2}, "no seat 2"),
        ({"seat": True}, "no seat True"),
        ({"seat": 1.0}, "no seat 1.0"),
        ({"opponent": "nobody"}, "no agent 'nobody'"),
        ({"opponent": 3}, "no opponent: 3"),
        ({"opponent": ["random", "random"]}, "2 opponents listed; tableau needs 1"),
        ({"opponent": ["self"]}, "no agent 'self'"),
        ({"observation": "image"}, "observation='image' is none of 'flat', 'dict'"),
        ({"on_illegal": "ignore"}, "on_illegal='ignore' is none of 'terminate', 'raise'"),
        ({"tie": "nobody"}, "nobody"),
        ({"hand": 40}, "40"),
        ({"colour": "red"}, "no option 'colour'; options of tableau are tie, call_cards"),
        ({"foo": 1, "bar": 2}, "no option 'foo', 'bar'; "),
        ({"hand": np.True_}, "hand=np.True_ is not a whole number"),
        ({"hand": np.float64(3)}, "hand=np.float64"),
        ({"game": "whist"}, "no game 'whist'"),
        ({"game": make_game("tableau"), "hand": 3}, "so not hand as well"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_an_option_that_makes_no_sense_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make(**options)


@pytest.mark.parametrize("option", ["self", "name", "game", "version"])
def test_an_option_with_a_name_of_pythons_own_is_no_option_either(option: str) -> None:
    rules: dict[str, Any] = {option: 3}
    made = [lambda: make_game("tableau", **rules), lambda: Tableau(**rules)]
    made += [lambda: tableau_v0.raw_env(**rules), lambda: tableau_v0.env(**rules)]
    if option != "game":  # which is an option of make
        made += [lambda: make(**rules), lambda: make_vec(2, **rules)]
    for each in made:
        with pytest.raises(RulesError, match=f"no option '{option}'; options of tableau are tie,"):
            each()


def test_integers_of_numpy_are_numbers_and_become_pythons() -> None:
    numbers = {"suits": 3, "ranks": 8, "hand": 3, "piles": 2, "rounds_to_win": 2, "call_cards": 1}
    rules = make_game("tableau", **{k: np.int64(v) for k, v in numbers.items()}).rules
    assert rules == make_game("tableau", **numbers).rules
    assert all(type(getattr(rules, key)) is int for key in numbers)


def test_an_unknown_render_mode_is_refused() -> None:
    with pytest.raises(ValueError, match="render_mode='rgb_array' is none of 'ansi', 'human'"):
        TrickTableEnv("tableau", render_mode="rgb_array")


@pytest.mark.parametrize("rules", OPTION_SETS, ids=name_of)
def test_options_survive_the_spec_and_reset(rules: dict[str, Any]) -> None:
    env = make(seat="dealer", observation="dict", opponent="self", **rules)
    again = gymnasium.make(env.spec)
    by_text = gymnasium.make(gymnasium.envs.registration.EnvSpec.from_json(env.spec.to_json()))
    for other in (again, by_text):
        assert other.unwrapped.game == env.unwrapped.game
        steps = [play(e, np.random.default_rng(5), seed=5) for e in (env, other)]
        assert same(*steps)
        before = other.unwrapped.game
        other.reset()
        other.reset(seed=1, options={})
        assert other.unwrapped.game == before


def test_a_game_made_already_is_taken_as_it_is() -> None:
    game = make_game("tableau", hand=3, piles=2)
    env = make(game=game)
    assert env.unwrapped.game is game


# -- whose rewards ---------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("position", "reward"), [(LAST_TRICK_WON, 1.0), (LAST_TRICK_LOST, -1.0)], ids=["won", "lost"]
)
def test_the_last_reward_arrives_when_the_opponent_plays_last(position: str, reward: float) -> None:
    env = make(seat="caller")
    _, info = env.reset(options={"position": position})
    assert env.unwrapped.position() == position
    given = env.step(legal_choice(info, np.random.default_rng(0)))
    assert given[1:4] == (reward, True, False)
    assert given[4]["is_success"] is (reward > 0)
    assert given[4]["seat"] == 0


@pytest.mark.parametrize("seat", ["caller", "dealer", 0, 1, "random", "alternate"])
def test_the_reward_is_the_learners_own(seat: Any) -> None:
    env, rng = make(seat=seat), np.random.default_rng(7)
    learners, results = [], []
    for episode in range(30):
        given = play(env, rng, seed=11) if episode == 0 else play(env, rng)
        info = given[-1][4]
        role = ("caller", "dealer")[info["seat"]]
        won = info["winner"] == role
        assert sum(step[1] for step in given[1:]) == (1.0 if won else -1.0)
        assert all(step[1] == 0 for step in given[1:-1])
        assert info["is_success"] is won
        assert {g[-1]["seat"] for g in given} == {info["seat"]}
        assert info["tricks"].sum() == 26
        learners.append(info["seat"])
        results.append(won)
    assert len(set(results)) == 2
    expected = {"caller": {0}, "dealer": {1}, 0: {0}, 1: {1}, "random": {0, 1}, "alternate": {0, 1}}
    assert set(learners) == expected[seat]
    if seat == "alternate":
        assert learners == [0, 1] * 15


@pytest.mark.parametrize("match_reward", ["match", "round"])
def test_rewards_in_a_match_are_those_of_the_player_through_all_seats(match_reward: str) -> None:
    rules = {"ranks": 4, "hand": 2, "piles": 1, "rounds_to_win": 2, "match_reward": match_reward}
    env, rng = make(seat=1, **rules), np.random.default_rng(3)
    for seed in range(20):
        given = play(env, rng, seed=seed)
        rewards = [step[1] for step in given[1:] if step[1]]
        assert given[-1][4]["is_success"] is (rewards[-1] == 1)
        if match_reward == "match":
            assert len(rewards) == 1
        else:
            assert max(rewards.count(1.0), rewards.count(-1.0)) == 2
            assert given[-1][4]["is_success"] is (rewards.count(1.0) == 2)


def test_what_is_paid_before_the_first_decision_is_not_lost() -> None:
    rules = {"rounds_to_win": 2, "match_reward": "round"}
    position = "D S AS 13-12 ... - 2... -"  # the dealer's last card loses the round
    env = make(seat="caller", **rules)
    _, info = env.reset(seed=0, options={"position": position})
    # The learner is the dealer of the next round; it is paid for the first with its first step.
    _, reward, *_, info = env.step(legal_choice(info, RNG))
    assert reward == 1.0
    assert env.step(legal_choice(info, RNG))[1] == 0.0


def test_a_position_that_leaves_the_learner_nothing_to_do_is_refused() -> None:
    env = make(seat="caller")
    env.reset(seed=0)
    before = env.unwrapped.position()
    with pytest.raises(PositionError, match="player 0 has nothing to decide"):
        env.reset(options={"position": "D S AS 13-12 ... - 2... -"})
    assert env.unwrapped.position() == before


def test_every_decision_is_handed_out_in_self_play() -> None:
    env, rng = make(opponent="self"), np.random.default_rng(4)
    given = play(env, rng, seed=4)
    assert len(given) == 1 + 53
    game = env.unwrapped.game
    states, rows = game.new(np.array([4], np.uint64)), np.arange(1)
    game.deal(states, rows)
    rng = np.random.default_rng(4)
    for before, after in itertools.pairwise(given):
        player = game.players(states, rows)
        observation, mask = game.observe(states, rows, player)
        assert before[-1]["seat"] == player[0]
        assert (before[0] == observation[0]).all()
        assert (before[-1]["action_mask"] == mask[0]).all()
        _, paid = game.step(states, rows, np.array([legal_choice(before[-1], rng)]))
        assert after[1] == paid[0, player[0]]
        assert (after[-1]["rewards"] == paid[0]).all()
        assert after[-1]["rewards"].sum() == 0
    final = given[-1]
    assert final[-1]["seat"] == player[0]  # who acted last sees the end
    assert (final[0] == game.observe(states, rows, player)[0][0]).all()


# -- opponents -------------------------------------------------------------------------------
@pytest.mark.parametrize("form", ["flat", "dict"])
def test_a_callable_sees_what_a_learner_in_its_place_would_see(form: str) -> None:
    seen: list[Any] = []

    def watch(observation: Any, info: dict[str, Any]) -> int:
        seen.append((observation, info))
        return last_legal(observation, info)

    env = make(opponent=watch, seat="caller", observation=form)
    rng = np.random.default_rng(8)
    play(env, rng, seed=8)
    mirror = make(opponent="self", observation=form)
    rng = np.random.default_rng(8)
    given = mirror.reset(seed=8)
    theirs = []
    while len(given) == 2 or not given[2]:
        own = given[-1]["seat"] == 0
        if not own:
            theirs.append((given[0], given[-1]))
        choice = legal_choice(given[-1], rng) if own else last_legal(*theirs[-1])
        given = mirror.step(choice)
    assert [info["seat"] for _, info in seen] == [1] * 26
    for (observation, info), (expected, expected_info) in zip(seen, theirs, strict=True):
        assert same(observation, expected)
        assert same(info["action_mask"], expected_info["action_mask"])


class Stubborn:
    """An agent that plays whatever it was told to."""

    def __init__(self, action: int) -> None:
        self.action = action

    def act(self, view: Any, mask: Any, rng: np.random.Generator) -> int:
        return self.action


@pytest.mark.parametrize(
    "opponent", [Stubborn(55), Stubborn(-1), lambda obs, info: 55, lambda obs, info: 1.0]
)
def test_an_opponent_that_breaks_the_rules_is_an_error_that_changes_nothing(opponent: Any) -> None:
    env = make(seat="caller", opponent=opponent)
    env.reset(seed=0)
    *_, info = env.step(52)
    before = env.unwrapped.position()
    for _ in range(2):
        with pytest.raises(OpponentError, match="player 1") as caught:
            env.step(legal_choice(info, RNG))
        assert env.unwrapped.position() == before
        assert not re.search(r"\b[2-9TJQKA][SHDC]\b", str(caught.value))  # nobody's cards


@pytest.mark.parametrize(
    "chosen", [None, 3.0, True, "52", np.array([1]), 10**30, -(10**30), 56, -1], ids=repr
)
def test_what_an_opponent_chose_is_quoted(chosen: Any) -> None:
    env = make(seat="caller", opponent=lambda observation, info: chosen)
    env.reset(seed=0)
    *_, info = env.step(52)
    before = env.unwrapped.position()
    quoted = re.escape(f"chose {chosen!r}, which is no integer from 0 to 55")
    with pytest.raises(OpponentError, match=f"player 1 in row 0 {quoted}"):
        env.step(legal_choice(info, RNG))
    assert env.unwrapped.position() == before


def test_an_agent_or_a_list_of_one_does_what_its_spec_does() -> None:
    spec, agent = "random", make_agent("random", make_game("tableau"))
    runs = [
        play(make(opponent=opponent), np.random.default_rng(9), seed=9)
        for opponent in (spec, agent, [spec], (agent,))
    ]
    assert all(same(runs[0], run) for run in runs[1:])
