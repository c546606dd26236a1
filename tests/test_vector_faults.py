"""The native vector environment: how rows begin, and what is refused without changing any."""

import re
from typing import Any

import numpy as np
import pytest
from env_play import (
    LAST_TRICK_WON,
    SMALL,
    make_vec,
    same,
)
from gymnasium.error import ResetNeeded

from tricktable_env.envs.episodes import OpponentError
from tricktable_env.envs.vector import TrickTableVectorEnv
from tricktable_env.game import IllegalActionError, PositionError


# -- resets ----------------------------------------------------------------------------------
def test_seeds_may_be_listed_and_rows_without_one_go_on() -> None:
    env = make_vec(3, opponent="self")
    listed, _ = env.reset(seed=[5, 9, 0])
    assert (
        listed == np.stack([make_vec(1, opponent="self").reset(seed=s)[0][0] for s in (5, 9, 0)])
    ).all()
    later, _ = env.reset(seed=[None, 9, None])
    assert (later[1] == listed[1]).all()
    twin = make_vec(3, opponent="self")
    twin.reset(seed=[5, 9, 0])
    unseeded, _ = twin.reset()
    assert (later[[0, 2]] == unseeded[[0, 2]]).all()
    assert (later[[0, 2]] != listed[[0, 2]]).any()
    assert (unseeded[1] != listed[1]).any()


def test_rows_without_any_seed_play_their_own_deals() -> None:
    observations, _ = make_vec(16, opponent="self").reset()
    assert len(np.unique(observations, axis=0)) == 16
    again, _ = make_vec(16, opponent="self").reset()
    assert (again != observations).any()


def test_options_are_for_all_rows_or_listed() -> None:
    env = make_vec(3, opponent="self")
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
        ({"options": {"postion": "C"}}, "no option 'postion' of a reset.*position, deck"),
        ({"options": [None, {"postion": "C"}, None]}, "no option 'postion'"),
        ({"options": {"reset_mask": np.ones(3, bool), "postion": "C"}}, "no option 'postion'"),
    ],
    ids=str,
)
def test_a_reset_at_fault_changes_no_row(reset: dict[str, Any], message: str) -> None:
    env, twin = make_vec(3), make_vec(3)
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
    env, twin = (make_vec(3, opponent=opponent, seat="caller") for _ in range(2))
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
    env = make_vec(3, opponent=opponent, seat="caller", on_illegal="raise")
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
    env = make_vec(3, seat="caller", on_illegal=on_illegal)
    env.reset(seed=0)
    before = env.position()
    with pytest.raises(IllegalActionError):
        env.step(actions)
    assert env.position() == before
    assert not env.step([52, np.int8(53), np.array(54)])[2].any()


@pytest.mark.parametrize("actions", [None, 3, [52, 52], np.array(None), 2.5], ids=repr)
def test_what_does_not_list_an_action_a_row_is_quoted(actions: Any) -> None:
    env = make_vec(3, seat="caller")
    env.reset(seed=0)
    quoted = re.escape(f"illegal action {actions!r}; legal: 3 integers, one a row")
    with pytest.raises(IllegalActionError, match=quoted):
        env.step(actions)


@pytest.mark.parametrize("as_array", [list, lambda actions: np.array(actions, object)])
def test_an_action_too_large_for_an_array_is_quoted_with_its_row(as_array: Any) -> None:
    env = make_vec(3, seat="caller")
    env.reset(seed=0)
    with pytest.raises(IllegalActionError, match=f"action {10**30} in row 1; legal: trump S"):
        env.step(as_array([52, 10**30, 52]))


class Recorder:
    """Plays the lowest legal number and keeps the keys of its random streams."""

    def __init__(self) -> None:
        self.keys: list[int] = []

    def act_batch(self, views: Any, masks: Any, streams: Any) -> Any:
        self.keys += streams.keys.tolist()
        return masks.argmax(1)

    def act(self, view: Any, mask: Any, rng: np.random.Generator) -> int:
        raise AssertionError("act_batch is there")


def test_every_decision_of_an_opponent_has_a_random_stream_of_its_own() -> None:
    recorder = Recorder()
    env = make_vec(4, opponent=recorder, **SMALL)
    _, infos = env.reset(seed=0)
    for _ in range(40):
        *_, infos = env.step(infos["action_mask"].argmax(1))
    assert len(recorder.keys) > 4 * 30
    assert len(set(recorder.keys)) == len(recorder.keys)
    again = list(recorder.keys)
    recorder.keys.clear()
    _, infos = env.reset(seed=0)
    for _ in range(40):
        *_, infos = env.step(infos["action_mask"].argmax(1))
    assert recorder.keys == again


def test_an_opponent_that_breaks_the_rules_in_one_row_changes_no_row() -> None:
    def cheat_in_a_heart_game(observation: Any, info: dict[str, Any]) -> int:
        mask = info["action_mask"]
        suit = int(np.flatnonzero(mask)[0]) // 13
        return int((mask if suit != 1 else 1 - mask).argmax())

    env = make_vec(8, seat="caller", opponent=cheat_in_a_heart_game)
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

    env = make_vec(2, seat="alternate", opponent=fails_at_the_call)
    env.reset(options={"position": LAST_TRICK_WON})
    before = env.position()
    with pytest.raises(OpponentError):  # the learner is the dealer of the next episode
        env.step(np.array([12, 12]))
    assert env.position() == before
    assert len(seen) == 2 + 2


def test_nothing_is_stepped_or_shown_before_the_first_reset() -> None:
    env = make_vec(2, render_mode="ansi")
    for use in (lambda: env.step([52, 52]), env.render, env.action_masks, env.state, env.position):
        with pytest.raises(ResetNeeded):
            use()


def test_a_position_that_leaves_a_learner_nothing_to_do_names_its_player() -> None:
    env = make_vec(2, seat="caller")
    with pytest.raises(PositionError, match="player 0 has nothing to decide"):
        env.reset(options=[None, {"position": "D S AS 13-12 ... - 2... -"}])


@pytest.mark.parametrize("n", [0, -3, "2", 2.0, None, True])
def test_there_is_at_least_one_row(n: Any) -> None:
    with pytest.raises(ValueError, match=re.escape(f"{n!r} environments; an integer of at least")):
        TrickTableVectorEnv(n, "tableau")
