"""The pieces of work that `peers.py` times, one function a library: its works by kind and game.

A work does a piece and returns how many units that was: decisions, or copies, or steps of training.
Every library plays random legal actions in the way that its own users would write it.
"""

from __future__ import annotations

import copy
import pickle
import random
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import gymnasium
import numpy as np
from pettingzoo import AECEnv
from pettingzoo.utils import wrappers

from tricktable_env import tableau_v0
from tricktable_lab import bench
from tricktable_lab.bench import Work

Works: TypeAlias = Iterator[tuple[str, str, Callable[[], Work]]]
"""Kind, game, and what makes the work ready."""

BATCHES = (64, 1024, 4096)
RULES, SINGLE, AEC, CLONE, PICKLE = "a rules", "b single", "d aec", "e clone", "e pickle"
TRAINING = "f training"


def batch_kind(size: int) -> str:
    return f"c batch {size:,}"


# -- ours ------------------------------------------------------------------------------------
def ours() -> Works:
    from tricktable_env import honors_v0, tableau_v0

    yield RULES, "tableau", bench.kernel_games
    for game, module in (("tableau", tableau_v0), ("honors", honors_v0)):
        name = f"TrickTable/{game.title()}-v0"
        yield SINGLE, game, lambda name=name: bench.single(name, "self")
        for opponent in ("random", "greedy"):
            title = f"{game}, {opponent} inside"
            yield SINGLE, title, lambda name=name, opponent=opponent: bench.single(name, opponent)
        for size in BATCHES:
            kind = batch_kind(size)
            yield kind, game, lambda name=name, size=size: bench.batch(name, "self", size)
            for opponent in ("random", "greedy"):
                title = f"{game}, {opponent} inside"
                yield (
                    kind,
                    title,
                    lambda name=name, size=size, opponent=opponent: bench.batch(
                        name, opponent, size
                    ),
                )
            yield (
                kind,
                f"{game}, with the history",
                lambda name=name, size=size: bench.batch(name, "self", size, observation="dict"),
            )
        yield AEC, f"{game} raw_env", lambda module=module: bench.aec(module.raw_env())
        yield AEC, f"{game} env", lambda module=module: bench.aec(module.env())
    state = bench.mid_game()
    yield CLONE, "tableau", lambda: _repeat(state.copy)
    yield CLONE, "tableau, inside a kernel", bench.kernel_copies
    yield PICKLE, "tableau", lambda: _repeat(lambda: pickle.loads(pickle.dumps(state)))
    yield TRAINING, "tableau, MLP 64-64", _train_ours


def _repeat(use: Callable[[], Any], times: int = 200) -> Work:
    def work() -> int:
        for _ in range(times):
            use()
        return times

    return work


def _train_ours() -> Work:
    from sb3_contrib import MaskablePPO

    from tricktable_env.interop.sb3 import make_vec_env

    env = make_vec_env("TrickTable/Tableau-v0", n_envs=128, opponent="self", seed=0)
    options: dict[str, Any] = {"n_steps": 64, "batch_size": 2048, "n_epochs": 4, "seed": 0}
    return _learn(MaskablePPO("MlpPolicy", env, device="cpu", **options))


def _learn(model: Any) -> Work:
    """A rollout and its updates at a time."""

    def work() -> int:
        before = model.num_timesteps
        model.learn(model.n_steps * model.n_envs, reset_num_timesteps=False)
        return int(model.num_timesteps - before)

    return work


# -- OpenSpiel -------------------------------------------------------------------------------
OPEN_SPIEL_GAMES = {
    "bridge(use_double_dummy_result=false)": "information_state_tensor",
    "spades": "observation_tensor",  # it has no information_state_tensor
    "hearts": "information_state_tensor",
    "skat": "observation_tensor",  # nor has this
    "euchre": "information_state_tensor",
}


def open_spiel() -> Works:
    import pyspiel

    for name, tensor in OPEN_SPIEL_GAMES.items():
        title = name.partition("(")[0]
        game = pyspiel.load_game(name)
        yield RULES, title, lambda game=game: _spiel(game, "")
        yield SINGLE, title, lambda game=game, tensor=tensor: _spiel(game, tensor)
        state = _spiel_state(game, random.Random(0))
        yield CLONE, title, lambda state=state: _repeat(state.clone)
        yield (
            PICKLE,
            title,
            lambda state=state: _repeat(lambda: pickle.loads(pickle.dumps(state))),
        )


def _spiel(game: Any, tensor: str) -> Work:
    choice = random.Random(0).choice

    def work() -> int:
        state, decisions = game.new_initial_state(), 0
        while not state.is_terminal():
            if not state.is_chance_node():
                decisions += 1
                if tensor:
                    getattr(state, tensor)()
            state.apply_action(choice(state.legal_actions()))
        return decisions

    return work


def _spiel_state(game: Any, rng: random.Random) -> Any:
    state, decisions = game.new_initial_state(), 0
    while decisions < 20:
        decisions += not state.is_chance_node()
        state.apply_action(rng.choice(state.legal_actions()))
        if state.is_terminal():
            state, decisions = game.new_initial_state(), 0
    return state


# -- RLCard ----------------------------------------------------------------------------------
def rlcard() -> Works:
    import rlcard

    for name in ("bridge", "gin-rummy"):
        env = rlcard.make(name, config={"seed": 0})
        yield SINGLE, name, lambda env=env: _rlcard(env)
        env.reset()
        yield CLONE, name, lambda env=env: _repeat(lambda: copy.deepcopy(env.game), 5)
        yield (
            PICKLE,
            name,
            lambda env=env: _repeat(lambda: pickle.loads(pickle.dumps(env.game)), 5),
        )


def _rlcard(env: Any) -> Work:
    choice = random.Random(0).choice

    def work() -> int:
        state, _ = env.reset()
        steps = 0
        while not env.is_over():
            state, _ = env.step(choice(list(state["legal_actions"])))
            steps += 1
        return steps

    return work


# -- PettingZoo ------------------------------------------------------------------------------
def pettingzoo() -> Works:
    from pettingzoo.classic import connect_four_v3, leduc_holdem_v4

    for title, module in (("connect four", connect_four_v3), ("leduc", leduc_holdem_v4)):
        yield AEC, f"{title} env", lambda module=module: bench.aec(module.env())
        env = module.env()
        env.reset(seed=0)
        yield CLONE, title, lambda env=env: _repeat(lambda: copy.deepcopy(env), 5)
        yield PICKLE, title, lambda env=env: _repeat(lambda: pickle.loads(pickle.dumps(env)), 5)
    yield AEC, "env of nothing", lambda: bench.aec(_checked(_Nothing()))
    yield TRAINING, "connect four, MLP 64-64", _train_connect_four


class _Nothing(AECEnv[str, Any, Any]):
    """Two agents act in turn, 53 times in all, and see the same arrays of Tableau's sizes.

    In PettingZoo's three standard wrappers it shows what they and the loop cost by themselves.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        like = tableau_v0.raw_env()
        self.possible_agents = like.possible_agents
        self.action_spaces, self.observation_spaces = like.action_spaces, like.observation_spaces
        self.metadata = {"name": "nothing_v0", "is_parallelizable": False}
        self.render_mode = None
        like.reset(seed=0)
        self.seen = like.observe(like.agent_selection)

    def observation_space(self, agent: str) -> Any:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Any:
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: Any = None) -> None:
        self.agents, self.steps = self.possible_agents[:], 0
        self.agent_selection = self.agents[0]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos = {agent: {"action_mask": self.seen["action_mask"]} for agent in self.agents}

    def step(self, action: Any) -> None:
        if self.terminations[self.agent_selection]:
            self._was_dead_step(action)
            return
        self.steps += 1
        self.agent_selection = self.agents[self.steps % 2]
        self.terminations = dict.fromkeys(self.agents, self.steps == 53)

    def observe(self, agent: str) -> Any:
        return self.seen


def _checked(env: Any) -> Any:
    """PettingZoo's three standard wrappers, as its own games put them on."""
    env = wrappers.TerminateIllegalWrapper(env, illegal_reward=-1)
    return wrappers.OrderEnforcingWrapper(wrappers.AssertOutOfBoundsWrapper(env))


class _OneLearner(gymnasium.Env[Any, Any]):
    """A PettingZoo game as its tutorial on MaskablePPO shows it to SB3: who is to act learns."""

    def __init__(self, env: Any) -> None:
        self.aec = env
        env.reset()
        first = env.possible_agents[0]
        self.observation_space = env.observation_space(first)["observation"]
        self.action_space = env.action_space(first)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.aec.reset(seed)
        return self.aec.observe(self.aec.agent_selection)["observation"], {}

    def step(self, action: Any) -> Any:
        actor = self.aec.agent_selection
        self.aec.step(action)
        seen = self.aec.observe(self.aec.agent_selection)["observation"]
        ended, cut = self.aec.terminations[actor], self.aec.truncations[actor]
        return seen, self.aec._cumulative_rewards[actor], ended, cut, {}

    def action_masks(self) -> Any:
        return self.aec.observe(self.aec.agent_selection)["action_mask"]


def _train_connect_four() -> Work:
    from pettingzoo.classic import connect_four_v3
    from sb3_contrib import MaskablePPO

    return _learn(MaskablePPO("MlpPolicy", _OneLearner(connect_four_v3.env()), device="cpu"))


# -- pgx -------------------------------------------------------------------------------------
def pgx() -> Works:
    import jax
    import pgx

    with tempfile.TemporaryDirectory() as folder:
        games = {
            "leduc": lambda: pgx.make("leduc_holdem"),
            "bridge bidding": lambda: _bidding(Path(folder) / "deals.npy"),
            "hex": lambda: pgx.make("hex"),
        }
        for title, make in games.items():
            for size in BATCHES if title == "leduc" else BATCHES[1:2]:  # they compile for long
                yield batch_kind(size), title, lambda make=make, size=size: _pgx(jax, make(), size)


def _bidding(file: Path) -> Any:
    """Bridge bidding over deals with made-up results, for the real ones are a large download."""
    from pgx.bridge_bidding import BridgeBidding

    rng, deals = np.random.default_rng(0), 1000
    owners = np.stack([rng.permutation(np.repeat(np.arange(4), 13)) for _ in range(deals)])
    keys = (owners.reshape(deals, 4, 13) * 4 ** np.arange(12, -1, -1)).sum(-1)
    np.save(file, np.stack([keys, rng.integers(0, 13 * 14**4, (deals, 4))]).astype(np.int32))
    return BridgeBidding(str(file))


def _pgx(jax: Any, env: Any, size: int, steps: int = 64) -> Work:
    from pgx.experimental import auto_reset

    step, numpy = auto_reset(env.step, env.init), jax.numpy

    def one(carry: Any, _: Any) -> Any:
        states, key, seen = carry
        key, choosing, stepping = jax.random.split(key, 3)
        scores = numpy.where(states.legal_action_mask, 0.0, -numpy.inf)
        actions = jax.random.categorical(choosing, scores, axis=-1)
        states = jax.vmap(step)(states, actions, jax.random.split(stepping, size))
        # Without a use of it the compiler would leave the observation out.
        return (states, key, seen + states.observation.sum()), None

    roll = jax.jit(lambda carry: jax.lax.scan(one, carry, None, length=steps)[0])
    init = jax.jit(jax.vmap(env.init))(jax.random.split(jax.random.PRNGKey(0), size))
    carry = [roll((init, jax.random.PRNGKey(1), numpy.zeros((), numpy.float32)))]

    def work() -> int:
        carry[0] = jax.block_until_ready(roll(carry[0]))
        return size * steps

    return work


LIBRARIES: dict[str, tuple[Callable[[], Works], str]] = {
    "tricktable": (ours, "tricktable"),
    "open_spiel": (open_spiel, "open_spiel"),
    "rlcard": (rlcard, "rlcard"),
    "pettingzoo": (pettingzoo, "pettingzoo"),
    "pgx": (pgx, "pgx"),
}
"""Each library's works, and the name of its distribution."""
