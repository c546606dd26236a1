"""The PettingZoo environment: its API, who acts, who is paid, and what nobody sees."""

import copy
import importlib
import pickle
import re
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pettingzoo
import pytest
from env_play import SMALL, same
from gymnasium.error import ResetNeeded
from option_sets import OPTION_SETS, name_of
from pettingzoo.test import api_test, performance_benchmark, render_test, seed_test
from pettingzoo.utils.wrappers import (
    AssertOutOfBoundsWrapper,
    OrderEnforcingWrapper,
    TerminateIllegalWrapper,
)

from tricktable_env import tableau_v0
from tricktable_env.envs.aec import TrickTableAEC, checked
from tricktable_env.game import IllegalActionError, PositionError
from tricktable_env.tableau.observation import LEGAL_AT

ENVS = {"env": tableau_v0.env, "raw_env": tableau_v0.raw_env}

# Raised by PettingZoo's own api_test, which looks at the masks of agents whose game is over.
pytestmark = pytest.mark.filterwarnings(
    "ignore:Action mask numpy array is all zeros:UserWarning:pettingzoo.test.api_test"
)


@pytest.fixture(params=ENVS.values(), ids=ENVS)
def make(request: pytest.FixtureRequest) -> Any:
    return request.param


def legal_choice(env: Any, rng: np.random.Generator) -> int:
    return int(rng.choice(np.flatnonzero(env.infos[env.agent_selection]["action_mask"])))


# -- conformance -----------------------------------------------------------------------------
@pytest.mark.parametrize("rules", OPTION_SETS, ids=name_of)
def test_pettingzoo_finds_nothing_to_complain_about(make: Any, rules: dict[str, Any]) -> None:
    api_test(make(**rules), num_cycles=200)
    seed_test(lambda: make(**rules), num_cycles=100)


@pytest.mark.parametrize("rules", OPTION_SETS, ids=name_of)
def test_pettingzoos_test_of_the_state_passes(rules: dict[str, Any]) -> None:
    # Without its part for parallel environments; it samples without masks, so not the bare one.
    module = importlib.import_module("pettingzoo.test.state_test")
    module.test_state_space(tableau_v0.env(**rules))
    module.test_state(tableau_v0.env(**rules), num_cycles=50)


def test_pettingzoos_render_test_passes(make: Any, capsys: pytest.CaptureFixture[str]) -> None:
    render_test(make)
    assert capsys.readouterr().out.count("to act") > 5


def test_pettingzoos_benchmark_runs(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(np.arange(0, 1e6, 0.05))  # it stops after 5 of its seconds
    monkeypatch.setattr(time, "time", lambda: float(next(clock)))
    performance_benchmark(make())


@pytest.mark.parametrize("rules", OPTION_SETS, ids=name_of)
def test_every_mask_is_in_the_observation_and_in_infos(make: Any, rules: dict[str, Any]) -> None:
    env = make(**rules)
    env.reset(seed=0)
    for agent in env.agent_iter():
        _, _, ended, _, info = env.last()
        assert info is env.infos[agent]
        for other in env.agents:
            seen, mask = env.observe(other), env.infos[other]["action_mask"]
            assert seen in env.observation_space(other)
            assert mask.dtype == np.int8
            assert (seen["action_mask"] == mask).all()
            assert (seen["observation"][LEGAL_AT:] == mask).all()
            assert mask.any() == (other == agent and not ended)
        env.step(None if ended else env.action_space(agent).sample(info["action_mask"]))


def test_it_is_made_by_pettingzoos_registry_where_there_is_one() -> None:
    if not hasattr(pettingzoo, "make"):
        pytest.skip("this PettingZoo has no registry")
    env = pettingzoo.make("aec", "TrickTable/Tableau-v0", hand=3, piles=2)
    assert str(env) == "tableau_v0"
    assert env.unwrapped.game.rules.hand == 3


def test_names_and_metadata_are_pettingzoos() -> None:
    env = tableau_v0.env()
    assert env.metadata["name"] == "tableau_v0"
    assert env.metadata["is_parallelizable"] is False
    assert env.metadata["render_modes"] == ["ansi", "human"]
    assert env.possible_agents == ["player_0", "player_1"]
    assert not hasattr(tableau_v0, "parallel_env")
    spaces = env.observation_space("player_0")
    assert list(spaces) == ["action_mask", "history", "observation"]
    assert spaces["action_mask"] == gymnasium.spaces.Box(0, 1, (56,), np.int8)
    assert spaces["history"].dtype == spaces["observation"].dtype == np.uint8


# -- who acts, who is paid -------------------------------------------------------------------
def test_one_agent_may_act_twice_in_a_row(make: Any) -> None:
    env = make()
    env.reset(seed=0)
    assert env.agent_selection == "player_0"
    env.step(52)  # the caller calls, then leads
    assert env.agent_selection == "player_0"
    env.step(int(env.infos["player_0"]["action_mask"].argmax()))
    assert env.agent_selection == "player_1"


@pytest.mark.parametrize("rules", OPTION_SETS, ids=name_of)
def test_every_agent_is_paid_once_and_the_sum_is_zero(make: Any, rules: dict[str, Any]) -> None:
    env, rng = make(**rules), np.random.default_rng(1)
    for seed in range(8):
        env.reset(seed=seed)
        paid, got = np.zeros(2), dict.fromkeys(env.possible_agents, 0.0)
        for agent in env.agent_iter():
            _, reward, ended, truncated, _ = env.last()
            assert not truncated
            got[agent] += reward
            env.step(None if ended else legal_choice(env, rng))
            if not ended:
                paid += [env.rewards[a] for a in env.possible_agents]
                assert sum(env.rewards.values()) == 0
        assert list(got.values()) == paid.tolist()


def test_in_a_match_the_players_change_seats_and_the_winner_is_paid() -> None:
    env, rng = tableau_v0.raw_env(**SMALL, rounds_to_win=2), np.random.default_rng(2)
    callers, lengths = [], set()
    for seed in range(20):
        env.reset(seed=seed)
        while not any(env.terminations.values()):
            if env.infos[env.agent_selection]["action_mask"][52:].any():
                callers.append((seed, env.agent_selection))
            env.step(legal_choice(env, rng))
        rounds = [agent for s, agent in callers if s == seed]
        assert rounds == ["player_0", "player_1", "player_0"][: len(rounds)]
        lengths.add(len(rounds))
        wins = {agent: env.infos[agent]["is_success"] for agent in env.agents}
        assert sorted(wins.values()) == [False, True]
        assert all(env.rewards[a] == (1.0 if won else -1.0) for a, won in wins.items())
    assert lengths == {2, 3}


def test_the_end_tells_every_agent_the_outcome() -> None:
    env, rng = tableau_v0.env(), np.random.default_rng(3)
    env.reset(seed=3)
    for _ in range(53):
        env.step(legal_choice(env, rng))
    assert env.agent_selection == "player_0"
    assert env.terminations == {"player_0": True, "player_1": True}
    caller, dealer = env.infos["player_0"], env.infos["player_1"]
    assert caller["winner"] == dealer["winner"]
    assert caller["tricks"].sum() == 26
    assert caller["is_success"] is (caller["winner"] == "caller")
    assert dealer["is_success"] is not caller["is_success"]
    env.step(None)
    env.step(None)
    assert env.agents == []


def test_the_history_is_codes_in_order_of_play(make: Any) -> None:
    env, rng = make(), np.random.default_rng(4)
    env.reset(seed=4)
    played = []
    for _ in range(20):
        for agent in env.agents:
            codes = env.observe(agent)["history"].reshape(-1, 2)
            assert codes[: len(played), 0].tolist() == [action + 1 for action in played]
            assert not codes[len(played) :].any()
        played.append(legal_choice(env, rng))
        env.step(played[-1])


def test_the_deals_are_those_of_the_gymnasium_environment_at_the_same_seed() -> None:
    env = tableau_v0.raw_env()
    single = gymnasium.make("TrickTable/Tableau-v0", opponent="self")
    for seed in (0, 5, None):
        env.reset(seed=seed)
        single.reset(seed=seed)
        assert env.position() == single.unwrapped.position()


# -- seeds, copies ---------------------------------------------------------------------------
def test_zero_is_a_seed_and_without_one_the_stream_goes_on(make: Any) -> None:
    env, other = make(), make()
    positions = []
    for seed in (0, None, None):
        env.reset(seed=seed)
        other.reset(seed=seed)
        assert env.position() == other.position()
        positions.append(env.position())
    assert len(set(positions)) == 3
    fresh = [make(), make()]
    for each in fresh:
        each.reset()
    assert fresh[0].position() != fresh[1].position()


@pytest.mark.parametrize("seed", [-1, 1.5, "7", True])
def test_what_is_no_seed_is_refused(make: Any, seed: Any) -> None:
    env = make()
    with pytest.raises(ValueError, match="no integer of 0 or more"):
        env.reset(seed=seed)


@pytest.mark.parametrize("how", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
@pytest.mark.parametrize("steps", [0, 1, 2, 25])
def test_a_copy_goes_on_alike_and_apart(make: Any, how: Callable[[Any], Any], steps: int) -> None:
    env, rng = make(rounds_to_win=2), np.random.default_rng(5)
    env.reset(seed=5)
    for _ in range(steps):
        env.step(legal_choice(env, rng))
    twin = how(env)
    before = env.position()

    def go_on(env: Any) -> list[Any]:
        rng, out = np.random.default_rng(6), []
        for _ in range(150):
            if not env.agents:
                env.reset()
            out.append((env.agent_selection, env.last(), env.state()))
            ended = env.terminations[env.agent_selection]
            env.step(None if ended else legal_choice(env, rng))
        return out

    first = go_on(twin)
    assert env.position() == before
    assert same(first, go_on(env))


# -- illegal actions -------------------------------------------------------------------------
def test_an_illegal_action_raises_and_changes_nothing_in_the_bare_environment() -> None:
    env = tableau_v0.raw_env()
    env.reset(seed=0)
    env.step(52)
    before, infos = copy.deepcopy(vars(env)), env.infos
    for action in (53, int((1 - env.infos["player_0"]["action_mask"][:52]).argmax())):
        with pytest.raises(IllegalActionError, match="legal: "):
            env.step(action)
    assert env.infos is infos
    for name in ("rewards", "_cumulative_rewards", "terminations", "agent_selection", "agents"):
        assert getattr(env, name) == before[name]
    assert (env._episodes.states == before["_episodes"].states).all()


@pytest.mark.parametrize(
    "action", [-1, 56, 52.0, True, np.True_, "52", None, [52], np.float64(52)], ids=repr
)
def test_what_is_no_action_raises_and_changes_nothing(make: Any, action: Any) -> None:
    env = make()
    env.reset(seed=0)
    before = env.position()
    error = IllegalActionError if make is tableau_v0.raw_env else (AssertionError, ValueError)
    with pytest.raises(error):
        env.step(action)
    assert env.position() == before
    assert env.agents == ["player_0", "player_1"]
    env.step(np.int32(52))
    assert env.position() != before


@pytest.mark.parametrize("action", [True, np.True_, 52.0, None, "52"], ids=repr)
def test_what_is_no_integer_is_quoted(make: Any, action: Any) -> None:
    env = make()
    env.reset(seed=0)
    quoted = re.escape(f"illegal action {action!r}; legal: trump S")
    with pytest.raises(IllegalActionError, match=quoted):
        env.step(action)


def test_an_illegal_action_ends_the_checked_environment_as_pettingzoo_does() -> None:
    env = tableau_v0.env()
    env.reset(seed=0)
    env.step(52)
    before = env.position()
    env.step(53)  # a call after the call
    assert env.position() == before
    assert env.rewards == {"player_0": -1.0, "player_1": 0}
    ends = {}
    for agent in env.agent_iter():
        _, reward, terminated, truncated, _ = env.last()
        ends[agent] = reward, terminated, truncated
        env.step(None)
    assert ends == {"player_0": (-1.0, True, True), "player_1": (0, True, True)}
    env.reset()
    assert not any(env.terminations.values())


def in_three_wrappers() -> Any:
    ending = TerminateIllegalWrapper(tableau_v0.raw_env(**SMALL), illegal_reward=-1.0)
    return OrderEnforcingWrapper(AssertOutOfBoundsWrapper(ending))


def tried(use: Callable[..., Any], *arguments: Any) -> Any:
    """What a use gave, or how it failed; an environment's own error may say more."""
    try:
        return use(*arguments)
    except (AssertionError, AttributeError, ValueError) as error:
        return type(error).__name__.replace("IllegalActionError", "AssertionError")


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_checks_are_those_of_pettingzoos_three_wrappers(caplog: Any) -> None:
    ours, theirs, rng = tableau_v0.env(**SMALL), in_three_wrappers(), np.random.default_rng(3)
    both = (ours, theirs)
    for use in ("last", "observe", "state", "render", "agent_iter"):
        arguments = ("player_0",) if use == "observe" else ()
        assert tried(getattr(ours, use), *arguments) == tried(getattr(theirs, use), *arguments)
    assert tried(ours.step, 52) == tried(theirs.step, 52)
    for seed in range(40):
        for env in both:
            env.reset(seed=seed)
        while ours.agents:
            assert same(ours.last(), theirs.last())
            assert ours.rewards == theirs.rewards
            mask = ours.infos[ours.agent_selection]["action_mask"]
            dead = ours.terminations[ours.agent_selection]
            action = None if dead else int(rng.choice(np.flatnonzero(mask)))
            if rng.random() < 0.2:
                action = [None, -1, 56, 7, 53, 0.5][rng.integers(6)]
            assert tried(ours.step, action) == tried(theirs.step, action)
            assert ours.agents == theirs.agents
        assert tried(ours.step, 3) is tried(theirs.step, 3) is None  # they warn
    texts = [record.getMessage() for record in caplog.records]
    assert texts[::2] == texts[1::2]


def test_nothing_is_stepped_or_shown_before_the_first_reset_or_after_the_end() -> None:
    env = tableau_v0.raw_env(render_mode="ansi", **SMALL)
    see = partial(env.observe, "player_0")
    for use in (see, lambda: env.step(52), env.state, env.render, env.position, env.action_masks):
        with pytest.raises(ResetNeeded):
            use()
    rng = np.random.default_rng(0)
    env.reset(seed=0)
    while env.agents:
        ended = env.terminations[env.agent_selection]
        env.step(None if ended else legal_choice(env, rng))
    with pytest.raises(ResetNeeded, match="no agent is left"):
        env.step(None)


def test_a_dead_agent_takes_no_action(make: Any) -> None:
    env, rng = make(**SMALL), np.random.default_rng(0)
    env.reset(seed=0)
    while not env.terminations[env.agent_selection]:
        env.step(legal_choice(env, rng))
    with pytest.raises(ValueError, match="None"):
        env.step(3)


# -- starts, options, pictures ---------------------------------------------------------------
def test_an_episode_can_start_from_a_position_or_a_deck(make: Any) -> None:
    env = make()
    position = "D S AS 13-12 ... - 2... -"
    env.reset(seed=0, options={"position": position})
    assert env.position() == position
    assert env.agent_selection == "player_1"
    env.step(0)
    assert env.rewards == {"player_0": 1.0, "player_1": -1.0}
    env.reset(options={"deck": list(range(52))})
    assert env.position().startswith("C - - 0-0 65432...+")


def test_a_start_at_fault_changes_nothing(make: Any) -> None:
    env = make()
    env.reset(seed=0)
    before, agent = env.position(), env.agent_selection
    faults = {"position": "C"}, {"deck": [0]}, {"position": env.position(1)}, {"postion": "C"}
    for options in faults:
        with pytest.raises(ValueError):  # noqa: PT011 - which one depends on the fault
            env.reset(options=options)
        assert (env.position(), env.agent_selection) == (before, agent)


def test_an_option_that_makes_no_sense_is_refused(make: Any) -> None:
    for options, named in [
        ({"hand": 40}, "40"),
        ({"colour": "red"}, "colour"),
        ({"render_mode": "rgb_array"}, "rgb_array"),
    ]:
        with pytest.raises(ValueError, match=named):
            make(**options)


def test_what_is_drawn_is_what_the_seat_to_act_sees(make: Any) -> None:
    env = make(render_mode="ansi")
    env.reset(options={"position": "C S - 12-12 A.7.. - ..QJ. -"})
    assert "7" in env.render()
    assert "QJ" not in env.render()
    env.step(12)
    assert "QJ" in env.render()
    assert "7" not in env.render()


def test_drawing_without_a_render_mode_warns(make: Any) -> None:
    env = make()
    env.reset(seed=0)
    with pytest.warns(UserWarning, match="render_mode"):
        assert env.render() is None


def test_what_an_agent_sees_does_not_depend_on_what_it_cannot_see(make: Any) -> None:
    # The same face-up cards and own hand; the other's hand and what lies face down change places.
    one = "C S - 0-0 AK... 2S/3H,4S/5H QJ... 6S/7H,8S/9H"
    other = "C S - 0-0 AK... 2S/7H,4S/9H .53.. 6S/JS,8S/QS"
    env = make(ranks=13, hand=2, piles=2)
    seen = []
    for position in (one, other):
        env.reset(options={"position": position})
        env.step(12)
        seen.append(env.observe("player_0"))
        hidden = env.state()
        assert env.state_space.contains(hidden)
        seen.append(hidden)
    assert same(seen[0], seen[2])
    assert not same(seen[1], seen[3])


def test_any_game_takes_a_few_lines() -> None:
    env = checked(TrickTableAEC("tableau", version=7, tie="draw"))
    assert str(env) == "tableau_v7"
    with pytest.raises(PositionError):
        env.reset(options={"deck": [1]})
