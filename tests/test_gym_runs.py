"""The single Gymnasium environment: seeds, copies, what is refused, starts and pictures."""

import copy
import json
import pickle
import random
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from env_play import (
    ID,
    LAST_TRICK_WON,
    ROOT,
    first_legal,
    last_legal,
    legal_choice,
    make,
    play,
    same,
)
from gymnasium.error import ResetNeeded

from tricktable_env.envs.gym import TrickTableEnv
from tricktable_env.game import IllegalActionError, PositionError

RNG = np.random.default_rng(0)


def masks(env: Any) -> Any:
    return env.get_wrapper_attr("action_masks")()


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
    "action", [10**30, -1, 52.0, True, np.True_, None, np.array([52])], ids=repr
)
def test_the_error_quotes_the_action_and_says_what_is_legal(action: Any) -> None:
    env = make(seat="caller")
    env.reset(seed=0)
    quoted = re.escape(f"illegal action {action!r}; legal: trump S, trump H, trump D, trump C")
    with pytest.raises(IllegalActionError, match=quoted):
        env.step(action)


@pytest.mark.parametrize("opponent", ["greedy", first_legal])
def test_an_illegal_action_costs_one_whatever_was_owed(opponent: Any) -> None:
    env = make(opponent=opponent, seat="caller", rounds_to_win=3, match_reward="round")
    for _ in range(2):  # nothing is carried over into the next episode
        _, info = env.reset(seed=0, options={"position": "D S AS 13-12 ... - 2... -"})
        assert env.step(int(info["action_mask"].argmin()))[1:3] == (-1.0, True)
    env.reset(seed=0, options={"position": "D S AS 13-12 ... - 2... -"})
    assert env.step(legal_choice({"action_mask": masks(env)}, RNG))[1] == 1.0


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
        env.state,
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
        {"postion": LAST_TRICK_WON},
        {"position": LAST_TRICK_WON, "seed": 3},
        {"reset_mask": np.array([True])},
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


def test_an_unknown_option_of_a_reset_is_named_with_those_there_are() -> None:
    with pytest.raises(ValueError, match=r"no option 'postion' of a reset.*position, deck"):
        make().reset(options={"postion": LAST_TRICK_WON})
    make().reset(options={})
    make().reset(options={"position": None, "deck": None})


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
        assert not np.shares_memory(given[-1][0]["action_mask"], given[-1][-1]["action_mask"])
    assert same(given, kept)
    # And writing to what was handed out changes nothing inside.
    mask = given[-1][-1]["action_mask"]
    legal = mask.copy()
    mask[:] = 0
    given[-1][0]["observation"][:] = 0
    assert (masks(env) == legal).all()
    assert not env.step(int(np.flatnonzero(legal)[0]))[4].get("illegal_action")


@pytest.mark.parametrize("opponent", ["random", "self"])
def test_the_full_information_is_the_viewers_and_in_infos_only_where_asked_for(
    opponent: Any,
) -> None:
    rng = np.random.default_rng(5)
    env = make(opponent=opponent, full_information=True, rounds_to_win=2)
    _, info = env.reset(seed=5)
    core, ended, seats = env.unwrapped.episodes, False, set()
    while True:
        seats.add(info["seat"])
        player = np.array([info["seat"]])
        expected = core.game.observe_full(core.states, core.rows, player)[0]
        assert same(info["state"], expected)
        assert same(env.unwrapped.state(), expected)
        assert not np.shares_memory(info["state"], env.unwrapped.state())
        if ended:
            break
        *_, ended, _, info = env.step(legal_choice(info, rng))
    assert len(seats) == (2 if opponent == "self" else 1)
    given = play(make(opponent=opponent), np.random.default_rng(5), seed=5)
    assert not any("state" in each[-1] for each in given)


def test_an_opponent_never_gets_the_full_information() -> None:
    infos = []

    def watch(observation: Any, info: dict[str, Any]) -> int:
        infos.append(info)
        return int(info["action_mask"].argmax())

    play(make(opponent=watch, full_information=True), np.random.default_rng(0), seed=0)
    assert {frozenset(info) for info in infos} == {frozenset({"action_mask", "seat"})}


def test_infos_are_plain_enough_for_json_but_for_arrays() -> None:
    info = play(make(), np.random.default_rng(0), seed=0)[-1][4]
    plain = {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in info.items()}
    assert set(plain) == {"action_mask", "seat", "winner", "tricks", "is_success"}
    json.dumps(plain)
