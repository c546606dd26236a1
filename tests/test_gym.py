"""The single Gymnasium environment: its API, whose rewards it gives, and what never happens."""

import copy
import itertools
import json
import pickle
import random
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env, data_equivalence
from option_sets import OPTION_SETS, name_of

import tricktable_env
from tricktable_env.envs.episodes import OpponentError
from tricktable_env.envs.gym import TrickTableEnv
from tricktable_env.game import IllegalActionError, PositionError
from tricktable_env.registry import make_game

ID = "TrickTable/Tableau-v0"
ROOT = Path(__file__).parent.parent
LAST_TRICK_WON = "C S - 13-12 A... - .K.. -"
LAST_TRICK_LOST = "C S - 12-13 2... - A... -"


def make(**options: Any) -> Any:
    return gymnasium.make(ID, **options)


def legal_choice(info: dict[str, Any], rng: np.random.Generator) -> int:
    return int(rng.choice(np.flatnonzero(info["action_mask"])))


def play(env: Any, rng: np.random.Generator, **reset: Any) -> list[Any]:
    """Plays an episode of random legal actions; all that the environment gave."""
    given = [env.reset(**reset)]
    while True:
        given.append(env.step(legal_choice(given[-1][-1], rng)))
        if given[-1][2]:
            return given


def last_legal(observation: Any, info: dict[str, Any]) -> int:
    """An opponent that is a plain callable."""
    assert info["action_mask"][np.flatnonzero(info["action_mask"])[-1]] == 1
    return int(np.flatnonzero(info["action_mask"])[-1])


def first_legal(observation: Any, info: dict[str, Any]) -> int:
    return int(np.flatnonzero(info["action_mask"])[0])


def same(one: Any, other: Any) -> bool:
    return data_equivalence(one, other, exact=True)


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
        ({"colour": "red"}, "colour"),
        ({"game": "whist"}, "no game 'whist'"),
        ({"game": make_game("tableau"), "hand": 3}, "so not hand as well"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_an_option_that_makes_no_sense_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make(**options)


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


RNG = np.random.default_rng(0)


def masks(env: Any) -> Any:
    return env.get_wrapper_attr("action_masks")()


def test_an_agent_or_a_list_of_one_does_what_its_spec_does() -> None:
    spec, agent = "random", tricktable_env.opponents.make_agent("random", make_game("tableau"))
    runs = [
        play(make(opponent=opponent), np.random.default_rng(9), seed=9)
        for opponent in (spec, agent, [spec], (agent,))
    ]
    assert all(same(runs[0], run) for run in runs[1:])


# -- seeds and streams -----------------------------------------------------------------------
def test_a_seed_fixes_all_later_episodes_and_zero_is_a_seed() -> None:
    def episodes(env: Any, seed: int) -> list[Any]:
        rng = np.random.default_rng(1)
        return [play(env, rng, seed=seed), play(env, rng), play(env, rng)]

    zero, one = episodes(make(), 0), episodes(make(), 1)
    assert same(zero, episodes(make(), 0))
    assert not same(zero, one)
    used = make()
    play(used, np.random.default_rng(2))
    assert same(zero, episodes(used, 0))
    firsts = [episode[0][0].tobytes() for episode in zero]
    assert len(set(firsts)) == 3  # reset() without a seed does not repeat the deal


def test_without_a_seed_every_environment_plays_its_own_deals() -> None:
    seen = set()
    for _ in range(5):
        env = make(opponent="self")
        env.reset()
        seen.add(env.unwrapped.position())
    assert len(seen) == 5


def test_neighbouring_seeds_deal_and_seat_differently() -> None:
    env, deals, seats = make(), set(), []
    for seed in range(64):
        _, info = env.reset(seed=seed)
        deals.add(env.unwrapped.information_state(info["seat"]))
        seats.append(info["seat"])
    assert len(deals) == 64
    assert 16 < sum(seats) < 48


@pytest.mark.parametrize("seed", [np.int64(5), 2**64 - 1, 2**64 + 5, 2**128 - 1])
def test_a_seed_is_any_integer_from_zero_up(seed: int) -> None:
    env = make()
    assert same(env.reset(seed=seed), env.reset(seed=seed))


@pytest.mark.parametrize("seed", [-1, 1.5, "7", True])
def test_what_is_no_seed_is_refused(seed: Any) -> None:
    env = make()
    with pytest.raises((ValueError, gymnasium.error.Error)):
        env.reset(seed=seed)


def test_no_global_random_state_is_read_or_changed() -> None:
    def run() -> list[Any]:
        return play(make(), np.random.default_rng(3), seed=3)

    np.random.seed(1)  # noqa: NPY002
    random.seed(1)
    first = run()
    before = np.random.get_state()[1].tolist(), random.getstate()  # noqa: NPY002
    np.random.seed(2)  # noqa: NPY002
    assert same(first, run())
    np.random.seed(1)  # noqa: NPY002
    make().reset()
    assert (np.random.get_state()[1].tolist(), random.getstate()) == before  # noqa: NPY002


def test_the_same_seed_is_the_same_game_in_other_processes() -> None:
    program = (
        "import gymnasium, tricktable_env, hashlib, numpy as np\n"
        f"env = gymnasium.make({ID!r}, opponent='random')\n"
        "digest, (_, info), rng = hashlib.sha256(), env.reset(seed=0), np.random.default_rng(0)\n"
        "for _ in range(200):\n"
        "    action = rng.choice(np.flatnonzero(info['action_mask']))\n"
        "    obs, reward, ended, _, info = env.step(action)\n"
        "    digest.update(obs.tobytes() + bytes([int(reward) + 1]))\n"
        "    if ended: _, info = env.reset()\n"
        "print(digest.hexdigest())"
    )
    shown = [
        subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True, text=True, check=True, cwd=ROOT,
            env={"PYTHONHASHSEED": hash_seed, "PATH": "", "PYTHONPATH": str(ROOT)},
        ).stdout
        for hash_seed in ("1", "2")
    ]  # fmt: skip
    assert shown[0] == shown[1]


# -- copies ----------------------------------------------------------------------------------
@pytest.mark.parametrize("how", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
@pytest.mark.parametrize("opponent", ["random", "self", last_legal])
@pytest.mark.parametrize("steps", [0, 1, 14])
def test_a_copy_goes_on_alike_and_apart(
    how: Callable[[Any], Any], opponent: Any, steps: int
) -> None:
    env, rng = make(opponent=opponent, rounds_to_win=2), np.random.default_rng(6)
    _, info = env.reset(seed=6)
    for _ in range(steps):
        *_, info = env.step(legal_choice(info, rng))
    twin = how(env)
    before = env.unwrapped.position()

    def go_on(other: Any) -> list[Any]:
        rng, given = np.random.default_rng(7), [info]
        out = []
        for _ in range(150):
            out.append(other.step(legal_choice(given[-1], rng)))
            if out[-1][2]:
                out.append(other.reset())
            given.append(out[-1][-1])
        return out

    first = go_on(twin)
    assert env.unwrapped.position() == before
    assert same(first, go_on(env))


# -- illegal actions -------------------------------------------------------------------------
@pytest.mark.parametrize("opponent", ["random", "self"])
def test_an_illegal_action_ends_the_episode_and_changes_nothing(opponent: str) -> None:
    env = make(opponent=opponent, seat="caller")
    observation, info = env.reset(seed=0)
    before = env.unwrapped.position()
    given = env.step(0)  # a card before the call
    assert env.unwrapped.position() == before
    assert (given[0] == observation).all()
    assert given[1:4] == (-1.0, True, False)
    assert given[4]["illegal_action"] == 0
    assert given[4]["is_success"] is False
    assert "winner" not in given[4]
    if opponent == "self":
        assert given[4]["rewards"].tolist() == [-1, 0]
    with pytest.raises(ResetNeeded):
        env.step(52)
    _, info = env.reset()
    assert env.unwrapped.position() != before
    assert not env.step(legal_choice(info, RNG))[2]


@pytest.mark.parametrize("opponent", ["random", "self"])
def test_an_illegal_action_raises_where_that_was_asked_for(opponent: str) -> None:
    env = make(opponent=opponent, seat="caller", on_illegal="raise")
    _, info = env.reset(seed=0)
    before = env.unwrapped.position()
    with pytest.raises(IllegalActionError, match=r"2S.*trump S, trump H, trump D, trump C"):
        env.step(0)
    assert env.unwrapped.position() == before
    assert not env.step(legal_choice(info, RNG))[2]


@pytest.mark.parametrize("on_illegal", ["terminate", "raise"])
@pytest.mark.parametrize(
    "action",
    [
        *(-1, 56, 10**30, 52.0, True, "52", None, [52]),
        *(np.True_, np.float64(52), np.int8(-1), np.uint64(2**63)),
        *(np.array([52]), np.array(52.0), np.array(True)),
    ],
    ids=repr,
)
def test_what_is_no_action_always_raises_and_changes_nothing(action: Any, on_illegal: str) -> None:
    env = make(seat="caller", on_illegal=on_illegal)
    env.reset(seed=0)
    before = copy.deepcopy(vars(env.unwrapped.episodes))
    with pytest.raises(IllegalActionError):
        env.step(action)
    for name, value in vars(env.unwrapped.episodes).items():
        if isinstance(value, np.ndarray):
            assert (value == before[name]).all()
    assert not env.step(52)[2]


@pytest.mark.parametrize(
    "action", [52, np.int64(52), np.int8(52), np.uint8(52), np.uint64(52), np.array(52)], ids=repr
)
def test_every_kind_of_integer_is_an_action(action: Any) -> None:
    env = make(seat="caller")
    env.reset(seed=0)
    assert not env.step(action)[2]
    assert "illegal_action" not in env.step(legal_choice({"action_mask": masks(env)}, RNG))[4]


def test_nothing_is_stepped_or_shown_before_the_first_reset() -> None:
    env = TrickTableEnv("tableau", render_mode="ansi")
    for use in (
        lambda: env.step(52),
        env.render,
        env.action_masks,
        env.position,
        lambda: env.information_state(0),
    ):
        with pytest.raises(ResetNeeded):
            use()


# -- starts ----------------------------------------------------------------------------------
def test_an_episode_can_start_from_a_deck() -> None:
    deck = list(range(51, -1, -1))
    env = make(opponent="self")
    env.reset(options={"deck": deck})
    assert env.unwrapped.position().split(" ")[4] == "...AKQJT+JT954..."
    env.reset(options={"deck": np.array(deck)})
    env.reset()
    assert not env.unwrapped.position().split(" ")[4].startswith("...AKQJT")


@pytest.mark.parametrize(
    "options",
    [
        {"position": "C S - 0-0"},
        {"position": LAST_TRICK_WON.replace("13-12", "3-2")},
        {"position": 7},
        {"deck": 7},
        {"deck": {"AS": 1}},
        [LAST_TRICK_WON],
        {"deck": [1, 2, 3]},
        {"deck": [*range(51), 50]},
        {"deck": [*range(51), True]},
        {"deck": "AS"},
        {"deck": list(range(52)), "position": LAST_TRICK_WON},
    ],
    ids=str,
)
def test_a_start_at_fault_is_refused_and_changes_nothing(options: dict[str, Any]) -> None:
    env = make(seat="caller")
    env.reset(seed=0)
    env.step(52)
    before = copy.deepcopy(env)
    with pytest.raises(ValueError):  # noqa: PT011 - which one depends on the fault
        env.reset(options=options, seed=5)
    rng, twin = np.random.default_rng(0), np.random.default_rng(0)
    for one, other in zip(play(env, rng), play(before, twin), strict=True):
        assert same(one, other)


def test_a_reset_from_a_position_of_what_one_seat_sees_is_refused() -> None:
    env = make(seat="caller")
    env.reset(seed=0)
    seen = env.unwrapped.position(0)
    assert "?" in seen
    with pytest.raises(PositionError, match="one seat"):
        env.reset(options={"position": seen})


# -- pictures --------------------------------------------------------------------------------
def test_what_is_drawn_is_what_the_learner_sees() -> None:
    # The caller leads a spade; what is left in its hand, a heart, stays hidden from the dealer.
    for seat, shown, hidden in (("dealer", "QJ", "7"), ("caller", "7", "QJ")):
        env = make(render_mode="ansi", seat=seat, opponent=first_legal)
        env.reset(options={"position": "C S - 12-12 A.7.. - ..QJ. -"})
        assert shown in env.render()
        assert hidden not in env.render()


def test_human_mode_prints_at_every_reset_and_step(capsys: pytest.CaptureFixture[str]) -> None:
    env = make(render_mode="human", seat="caller")
    twin = make(render_mode="ansi", seat="caller")
    env.reset(seed=0)
    twin.reset(seed=0)
    assert capsys.readouterr().out == twin.render() + "\n"
    env.step(53)
    twin.step(53)
    assert capsys.readouterr().out == twin.render() + "\n"
    assert env.render() is None
    assert capsys.readouterr().out == twin.render() + "\n"


def test_drawing_without_a_render_mode_warns() -> None:
    env = make(disable_env_checker=True)
    env.reset(seed=0)
    with pytest.warns(UserWarning, match="render_mode"):
        assert env.render() is None


def test_what_was_handed_out_is_never_written_again() -> None:
    env, rng = make(observation="dict", opponent="self"), np.random.default_rng(2)
    given = [env.reset(seed=2)]
    kept = [copy.deepcopy(given[0])]
    for _ in range(60):
        given.append(env.step(legal_choice(given[-1][-1], rng)))
        if given[-1][2]:
            given.append(env.reset())
            kept.append(copy.deepcopy(given[-2]))
        kept.append(copy.deepcopy(given[-1]))
        given[-1][0]["action_mask"] += 0
    assert same(given, kept)
    # And writing to what was handed out changes nothing inside.
    mask = given[-1][-1]["action_mask"]
    legal = mask.copy()
    mask[:] = 0
    given[-1][0]["observation"][:] = 0
    assert (masks(env) == legal).all()
    assert not env.step(int(np.flatnonzero(legal)[0]))[4].get("illegal_action")


def test_infos_are_plain_enough_for_json_but_for_arrays() -> None:
    info = play(make(), np.random.default_rng(0), seed=0)[-1][4]
    plain = {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in info.items()}
    assert set(plain) == {"action_mask", "seat", "winner", "tricks", "is_success"}
    json.dumps(plain)
