"""Agents by name, their random streams, and the one way in which they are asked."""

import importlib
import re
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from env_play import same
from scipy import stats

import agents
import tricktable_env.opponents as opponents
from agents.random import RandomAgent
from tricktable_env.envs.episodes import OpponentError
from tricktable_env.game import Game
from tricktable_env.jit import kernel
from tricktable_env.opponents import (
    AgentActionError,
    AgentSpecError,
    Streams,
    address_of,
    agent_names,
    agent_options,
    decide,
    decision_streams,
    make_agent,
    parse_spec,
)
from tricktable_env.registry import make_game

GAME = make_game("tableau")


class Fussy:
    """Has options of every kind."""

    def __init__(
        self,
        game: Game,
        path: str = "here",
        worlds: int = 20,
        bias: float = 0.5,
        deep: bool = False,
        limit: int | None = None,
    ) -> None:
        if worlds < 1:
            raise ValueError(f"worlds={worlds} is not 1 or more")
        self.options = path, worlds, bias, deep, limit

    def act(self, view: Any, mask: Any, rng: np.random.Generator) -> int:
        return int(np.flatnonzero(mask)[0])


class Needy:
    """Can't do without a path."""

    def __init__(self, game: Game, path: str) -> None:
        self.path = path


class Bare:
    """Has no options."""

    def __init__(self, game: Game) -> None: ...


@pytest.fixture
def third_party(monkeypatch: pytest.MonkeyPatch) -> None:
    entries = [
        EntryPoint(name.lower(), f"{__name__}:{name}", opponents.GROUP)
        for name in ("Fussy", "Needy", "Bare")
    ]
    entries.append(EntryPoint("gone", "no_such_module_at_all:Agent", opponents.GROUP))
    monkeypatch.setattr(opponents, "entry_points", lambda group: entries)


def deal(n: int) -> tuple[Any, Any]:
    states, rows = GAME.new(np.arange(n, dtype=np.uint64)), np.arange(n)
    GAME.deal(states, rows)
    views = GAME.views(states, rows, np.zeros(n, np.int64))
    return views, GAME.masks(views)


# -- specs -----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("spec", "name", "options"),
    [
        ("random", "random", {}),
        ("random:", "random", {}),
        ("montecarlo:worlds=20", "montecarlo", {"worlds": "20"}),
        ("x:a=1,b=2", "x", {"a": "1", "b": "2"}),
        ("policy:runs/one/best", "policy", {"": "runs/one/best"}),
        ("policy:C:/runs/lr=3,x/best", "policy", {"": "C:/runs/lr=3,x/best"}),
        ("policy:/tmp/lr=3/best,greedy=yes", "policy", {"": "/tmp/lr=3/best", "greedy": "yes"}),
        ("policy:path=a,b,greedy=yes", "policy", {"path": "a,b", "greedy": "yes"}),
        ("x:a=", "x", {"a": ""}),
    ],
)
def test_a_spec_is_a_name_and_options(spec: str, name: str, options: dict[str, str]) -> None:
    assert parse_spec(spec) == (name, options)


@pytest.mark.parametrize("spec", ["", ":a=1", "x:a=1,a=2"])
def test_a_spec_without_a_name_or_with_an_option_twice_is_refused(spec: str) -> None:
    with pytest.raises(AgentSpecError, match=repr(spec)):
        parse_spec(spec)


@pytest.mark.usefixtures("third_party")
@pytest.mark.parametrize(
    ("spec", "options"),
    [
        ("fussy", ("here", 20, 0.5, False, None)),
        ("fussy:there", ("there", 20, 0.5, False, None)),
        ("fussy:worlds=3,bias=1e-3,deep=true,limit=7", ("here", 3, 1e-3, True, 7)),
        ("fussy:limit=none,deep=No", ("here", 20, 0.5, False, None)),
    ],
)
def test_option_texts_become_what_the_agent_annotates(spec: str, options: tuple[Any, ...]) -> None:
    made = make_agent(spec, GAME)
    assert isinstance(made, Fussy)
    assert made.options == options


@pytest.mark.usefixtures("third_party")
@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            "nobody",
            "no agent 'nobody'; there are bare, fussy, gone, greedy, ismcts, montecarlo, needy, "
            "pimc, policy, random",
        ),
        ("fussy:world=3", "no option 'world'; its options: path, worlds, bias, deep, limit"),
        ("fussy:worlds=many", "option 'worlds' of agent 'fussy' is an integer, not 'many'"),
        ("fussy:worlds=2.5", "is an integer, not '2.5'"),
        ("fussy:bias=some", "is a number, not 'some'"),
        ("fussy:deep=perhaps", "is true or false, not 'perhaps'"),
        ("fussy:limit=few", "is an integer, not 'few'"),
        ("fussy:worlds=0", "agent 'fussy:worlds=0': worlds=0 is not 1 or more"),
        ("needy", "agent 'needy' needs path=..."),
        ("bare:x", "agent 'bare' has no options, so not 'x'"),
        ("gone", "agent 'gone' .* can't be imported: No module named 'no_such_module_at_all'"),
    ],
)
def test_a_spec_that_makes_no_agent_says_what_would(spec: str, message: str) -> None:
    with pytest.raises(AgentSpecError, match=message):
        make_agent(spec, GAME)


def test_our_agents_are_named_without_installation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opponents, "entry_points", lambda group: [])
    assert set(agent_names()) == {"random", "greedy", "montecarlo", "pimc", "ismcts", "policy"}
    assert isinstance(make_agent("random", GAME), RandomAgent)


def test_the_entry_points_of_the_project_say_what_the_table_says() -> None:
    tomllib = importlib.import_module("tomllib")
    project = Path(__file__).parent.parent / "pyproject.toml"
    points = tomllib.loads(project.read_text())["project"]["entry-points"][opponents.GROUP]
    assert points == opponents.AGENTS


def test_options_have_resolved_annotations_and_defaults() -> None:
    options = agent_options(Fussy)
    assert list(options) == ["path", "worlds", "bias", "deep", "limit"]
    assert options["worlds"].annotation is int
    assert options["worlds"].default == 20
    assert agent_options(RandomAgent) == {}


def test_a_foreign_package_named_agents_is_named_in_one_line(tmp_path: Path) -> None:
    foreign = tmp_path / "agents" / "__init__.py"
    foreign.parent.mkdir()
    foreign.write_text("")
    root = str(Path(__file__).parent.parent)
    program = (
        f"import sys; sys.path[:0] = [{str(tmp_path)!r}, {root!r}]\n"
        "from tricktable_env.opponents import make_agent\n"
        "from tricktable_env.registry import make_game\n"
        "try: make_agent('random', make_game('tableau'))\n"
        "except ValueError as error: print(error)"
    )
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    (line,) = shown.stdout.splitlines()
    assert str(foreign) in line
    assert "another package" in line


def test_our_package_is_told_from_others() -> None:
    assert agents.TRICKTABLE


# -- streams ---------------------------------------------------------------------------------
def keys(*columns: Any) -> Any:
    seeds, deals, players, plies = np.broadcast_arrays(*columns)
    whole = (x.astype(np.int64) for x in (deals, players, plies))
    return decision_streams(seeds.astype(np.uint64), *whole).keys


def test_each_seed_deal_player_and_ply_has_a_stream_of_its_own() -> None:
    grid = np.meshgrid(*map(np.arange, (8, 8, 4, 60)), indexing="ij")
    every = keys(*(axis.ravel() for axis in grid))
    assert len(np.unique(every)) == len(every)


def test_a_stream_does_not_depend_on_its_neighbours() -> None:
    every = keys(np.arange(9), 3, 1, 7)
    assert every[5] == keys([5], 3, 1, 7)[0]


def test_streams_are_generators_by_row_and_slices_by_rows() -> None:
    streams = Streams(np.array([7, 8, 9], np.uint64))
    assert len(streams) == 3
    first = Streams(streams.keys)[2].integers(10**9)
    assert streams[2].integers(10**9) == first
    assert streams[2].integers(10**9) != first  # the stream went on
    part = streams[np.array([2, 0])]
    assert part.keys.tolist() == [9, 7]
    assert part[0].integers(10**9) == first
    assert streams[1:].keys.tolist() == [8, 9]
    with pytest.raises(IndexError):
        streams[3]


# -- asking ----------------------------------------------------------------------------------
class Loop:
    """Acts one by one."""

    def act(self, view: Any, mask: Any, rng: np.random.Generator) -> Any:
        return rng.choice(np.flatnonzero(mask))


class Batch(Loop):
    """Gives a batch of something."""

    def __init__(self, actions: Any) -> None:
        self.actions = actions

    def act_batch(self, views: Any, masks: Any, streams: Streams) -> Any:
        return self.actions


def test_an_agent_is_asked_row_by_row_each_with_its_stream() -> None:
    views, masks = deal(6)
    streams = decision_streams(np.arange(6, dtype=np.uint64), *np.zeros((3, 6), np.int64))
    actions = decide(Loop(), views, masks, streams)
    assert actions.dtype == np.int64
    assert masks[np.arange(6), actions].all()
    alone = [decide(Loop(), views[i:], masks[i:], streams[i:])[0] for i in range(6)]
    assert len(set(alone)) > 1
    fresh = decide(Loop(), views, masks, Streams(streams.keys))
    assert fresh.tolist() == alone


def test_an_agent_that_acts_in_batches_is_asked_once() -> None:
    views, masks = deal(3)
    actions = decide(Batch(np.array([52, 53, 54], np.int32)), views, masks, Streams(masks[:, 0]))
    assert actions.dtype == np.int64
    assert actions.tolist() == [52, 53, 54]


class Gives:
    """An agent that gives the same whatever the view."""

    def __init__(self, action: Any) -> None:
        self.action = action

    def act(self, view: Any, mask: Any, rng: np.random.Generator) -> Any:
        return self.action


@pytest.mark.parametrize(
    ("agent", "said"),
    [
        (Gives(None), "Gives.act gave None, which is no action (an integer)"),
        (Gives(52.0), "Gives.act gave 52.0, which"),
        (Gives(True), "Gives.act gave True, which"),
        (Gives("x" * 999), f"Gives.act gave '{'x' * 56}..., which"),
        (Gives(10**30), "Gives.act gave an integer of 100 bits, which"),
        (Gives(-(10**9999)), "Gives.act gave an integer of 33216 bits, which"),
        (Gives(2**63), "Gives.act gave 9223372036854775808, which"),
        (Gives(np.zeros(2, np.int64)), "Gives.act gave an array int64[2], which"),
        (Batch(np.zeros(3)), "Batch.act_batch gave an array float64[3], not 3 actions ([3] of"),
        (Batch(np.ones(3, bool)), "Batch.act_batch gave an array bool[3], not 3 actions"),
        (Batch(np.zeros((3, 1), int)), "Batch.act_batch gave an array int64[3, 1], not 3 actions"),
        (Batch(None), "Batch.act_batch gave None, not 3 actions"),
        (Batch([52, [53], 54]), "Batch.act_batch gave [52, [53], 54], not 3 actions"),
        (Batch([52, 53, 10**30]), "Batch.act_batch gave [52, 53, 1000"),
    ],
    ids=lambda value: "" if isinstance(value, str) else type(value).__name__,
)
def test_what_is_no_integer_is_no_action(agent: Any, said: str) -> None:
    views, masks = deal(3)
    with pytest.raises(AgentActionError, match=re.escape(said)):
        decide(agent, views, masks, Streams(np.arange(3, dtype=np.uint64)))


def test_an_opponent_that_gives_no_action_leaves_the_environment_as_it_was() -> None:
    env: Any = gymnasium.make("TrickTable/Tableau-v0", opponent=Gives(None), seat="caller")
    env.reset(seed=0)
    env.step(52)
    before = env.unwrapped.position()
    with pytest.raises(AgentActionError, match=r"Gives\.act gave None"):
        env.step(int(np.flatnonzero(env.unwrapped.action_masks())[0]))
    assert env.unwrapped.position() == before


def test_random_plays_every_legal_action_evenly_and_no_other() -> None:
    n = 4000
    masks = np.zeros((n, 56), np.int8)
    masks[:, [0, 7, 51, 55]] = 1
    agent = make_agent("random", GAME)
    streams = decision_streams(np.full(n, 3, np.uint64), *np.arange(3 * n).reshape(3, n))
    actions = decide(agent, np.zeros((n, GAME.words), np.uint64), masks, streams)
    found, counts = np.unique(actions, return_counts=True)
    assert found.tolist() == [0, 7, 51, 55]
    assert stats.chisquare(counts).pvalue > 1e-4
    rng = np.random.default_rng(0)
    singles = {agent.act(np.zeros(GAME.words, np.uint64), masks[0], rng) for _ in range(100)}
    assert singles == {0, 7, 51, 55}


def test_random_leaves_the_keys_of_the_streams_alone() -> None:
    views, masks = deal(5)
    streams = Streams(np.arange(5, dtype=np.uint64))
    once = decide(make_agent("random", GAME), views, masks, streams)
    again = decide(make_agent("random", GAME), views, masks, streams)
    assert once.tolist() == again.tolist()
    assert streams.keys.tolist() == [0, 1, 2, 3, 4]


# -- agents with a kernel ----------------------------------------------------------------------
class Slowly:
    """Another agent, of which only `act_batch` is known."""

    def __init__(self, agent: Any) -> None:
        self.agent = agent

    def act(self, view: Any, mask: Any, rng: np.random.Generator) -> int:
        raise AssertionError("act_batch is there")

    def act_batch(self, views: Any, masks: Any, streams: Streams) -> Any:
        return self.agent.act_batch(views, masks, streams)


@pytest.mark.parametrize("spec", ["random", "greedy"])
@pytest.mark.parametrize(
    ("name", "rules"), [("Tableau-v0", {"rounds_to_win": 2}), ("Honors-v0", {"num_players": 3})]
)
def test_a_kernel_plays_as_the_agent_does(name: str, rules: dict[str, Any], spec: str) -> None:
    game = make_game(name.partition("-")[0].lower(), **rules)
    agent = make_agent(spec, game)
    assert address_of(agent) != 0
    assert address_of(Slowly(agent)) == 0
    others = [agent] * (game.num_players - 1)
    mixed = [Slowly(agent), *others[1:]]
    rng, given = np.random.default_rng(4), []
    envs = [
        gymnasium.make_vec(f"TrickTable/{name}", num_envs=5, opponent=opponent, **rules)
        for opponent in (others, mixed, Slowly(agent))
    ]
    infos = [env.reset(seed=9)[1] for env in envs]
    for _ in range(150):
        masks = infos[0]["action_mask"]
        actions = (rng.random(masks.shape) * masks).argmax(1)
        given = [env.step(actions) for env in envs]
        infos = [each[-1] for each in given]
        assert same(given[0], given[1])
        assert same(given[0], given[2])


def test_a_kernel_is_not_used_where_an_agent_was_changed() -> None:
    class Changed(RandomAgent):
        def act_batch(self, views: Any, masks: Any, streams: Streams) -> Any:
            return masks.argmax(1)

    class Again(RandomAgent):
        """Changes nothing."""

    changed = RandomAgent(GAME)
    changed.act_batch = lambda views, masks, streams: masks.argmax(1)  # type: ignore[method-assign]
    assert address_of(Again(GAME)) == address_of(RandomAgent(GAME)) != 0
    assert address_of(Changed(GAME)) == address_of(changed) == address_of(lambda view: 0) == 0


@kernel
def _illegal(view: Any, mask: Any, words: Any) -> int:
    return 52


@kernel
def _no_integer(view: Any, mask: Any, words: Any) -> float:
    return 0.5


class WithKernel(RandomAgent):
    def __init__(self, way: Any) -> None:
        self.way = way

    @property
    def kernel(self) -> Any:
        return self.way


def test_a_kernel_that_breaks_the_rules_is_found_out_and_nothing_has_changed() -> None:
    options: dict[str, Any] = {"opponent": WithKernel(_illegal), "seat": "caller"}
    env: Any = gymnasium.make_vec("TrickTable/Tableau-v0", num_envs=3, **options)
    infos = env.reset(seed=1)[1]
    infos = env.step(infos["action_mask"].argmax(1))[4]  # calls
    before = env.position()
    with pytest.raises(OpponentError, match="chose 52, which is not legal"):
        env.step(infos["action_mask"].argmax(1))
    assert env.position() == before


@pytest.mark.parametrize("way", [_no_integer, lambda view, mask, words: 0])
def test_what_is_no_kernel_of_an_agent_is_refused(way: Any) -> None:
    with pytest.raises(TypeError, match=r"is no kernel|returns float64, not int64"):
        address_of(WithKernel(way))
