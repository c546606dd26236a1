"""Agents as the environments and matches ask them, their random streams, and their names.

An agent sees views, never a state. It is named by a spec, `NAME[:key=value,...]`, as in
`montecarlo:worlds=20`; the names come from the entry point group `tricktable.agents`, so an
environment can name an opponent without importing upwards, and other packages can add theirs.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import operator
import re
import types
import typing
from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from typing import Any, Protocol, TypeAlias, Union

import numpy as np
import numpy.typing as npt
from numba.types import int8, int64, uint64

from tricktable_env.bits import decision_key
from tricktable_env.cards import Mask, Words
from tricktable_env.game import Game
from tricktable_env.jit import kernel, kernel_address

Actions: TypeAlias = npt.NDArray[np.int64]
"""`[B] int64`."""

AGENTS: dict[str, str] = {
    "random": "agents.random:RandomAgent",
    "greedy": "agents.greedy:GreedyAgent",
    "montecarlo": "agents.montecarlo:MonteCarloAgent",
    "pimc": "agents.pimc:PimcAgent",
    "ismcts": "agents.ismcts:IsmctsAgent",
    "policy": "agents.policy:PolicyAgent",
}
"""Our own agents, for a checkout that is not installed: the entry points say the same."""
GROUP = "tricktable.agents"
_KERNEL_ARGUMENTS = (uint64[::1], int8[::1], uint64[::1])
POSITIONAL = ""
"""The key under which `parse_spec` keeps an option without a name, as the path in `policy:PATH`."""


class AgentSpecError(ValueError):
    """A spec that names no agent, or options that the agent does not have or take."""


class AgentActionError(ValueError):
    """An agent gave what is no action at all."""


class Agent(Protocol):
    """A player: a view in, an action out.

    An agent may also have `act_batch(views [B, W], masks [B, A], streams: Streams) -> [B] int64`,
    which `decide` prefers; and `kernel`, a compiled function (`tricktable_env.jit.kernel`) of
    (view `[W] uint64`, mask `[A] int8`, words `[1] uint64`, the random stream) to an action, which
    chooses as `act_batch` does and which the environments call without Python in between. One that
    draws its actions may say how likely each is: `odds(views [B, W], masks [B, A]) -> [B, A]
    float64`, which its exact evaluation needs (`tricktable equilibrium`).

    A class that a spec can name is called `Class(game, **options)`; its options are the annotated
    parameters of `__init__` (int, float, str, bool, or one of them or None), and the first line of
    its docstring says what it does.
    """

    def act(self, view: Words, mask: Mask, rng: np.random.Generator) -> int:
        """Chooses an action.

        Args:
            view: `[W] uint64`, what the agent's seat has seen.
            mask: `[A] int8`, 1 = legal.
            rng: the random stream of this one decision.
        """


class Streams:
    """Random streams, one a row.

    Args:
        keys: `[B] uint64`, where each stream starts; kernels draw from these words themselves.
    """

    def __init__(self, keys: npt.NDArray[np.uint64]) -> None:
        self.keys = keys
        self._made: dict[int, np.random.Generator] = {}

    def __len__(self) -> int:
        return len(self.keys)

    @typing.overload
    def __getitem__(self, index: int) -> np.random.Generator: ...
    @typing.overload
    def __getitem__(self, index: slice | npt.NDArray[Any]) -> Streams: ...
    def __getitem__(self, index: Any) -> np.random.Generator | Streams:
        """The generator of one row, made when first asked for, or the streams of several rows."""
        if isinstance(index, slice) or (isinstance(index, np.ndarray) and index.ndim):
            return Streams(self.keys[index])
        row = range(len(self.keys))[operator.index(index)]
        if row not in self._made:
            self._made[row] = np.random.Generator(np.random.SFC64(int(self.keys[row])))
        return self._made[row]


@kernel
def _stream_keys(
    seeds: np.ndarray, deals: np.ndarray, players: np.ndarray, plies: np.ndarray, out: np.ndarray
) -> None:
    """Writes the start of the stream of each (seed, deal, player, ply)."""
    for i in range(out.shape[0]):
        out[i] = decision_key(seeds[i], deals[i], players[i], plies[i])


def decision_streams(
    seeds: npt.NDArray[np.uint64],
    deals: npt.NDArray[np.int64],
    players: npt.NDArray[np.int64],
    plies: npt.NDArray[np.int64],
) -> Streams:
    """Returns the streams that belong to decisions, whatever else is decided beside them.

    Args:
        seeds: `[B] uint64`.
        deals: `[B] int64`, which deal or episode under that seed.
        players: `[B] int64`, who decides.
        plies: `[B] int64`, how many decisions came before in that deal.
    """
    keys = np.empty(len(seeds), np.uint64)
    _stream_keys(seeds, deals, players, plies, keys)
    return Streams(keys)


def decide(agent: Agent, views: Words, masks: Mask, streams: Streams) -> Actions:
    """Asks an agent for its actions: the one way in which any adapter or match does.

    Legality is not checked here; the step of the game does that.

    Args:
        agent: who decides.
        views: `[B, W] uint64`.
        masks: `[B, A] int8`.
        streams: B streams.

    Returns:
        `[B] int64`.

    Raises:
        AgentActionError: the agent gave what are no integers of 64 bits.
    """
    batched = getattr(agent, "act_batch", None)
    if batched is None:
        chosen = [agent.act(views[i], masks[i], streams[i]) for i in range(len(views))]
        return np.array([_number(agent, action) for action in chosen], np.int64)
    given = batched(views, masks, streams)
    try:
        actions = np.asarray(given)
    except ValueError:  # lists of different lengths
        actions = np.empty(0)
    if actions.dtype.kind not in "iu" or actions.shape != (len(views),):
        raise AgentActionError(
            f"{type(agent).__name__}.act_batch gave {_shown(given)}, not {len(views)} actions "
            f"([{len(views)}] of an integer dtype)"
        )
    return actions.astype(np.int64, copy=False)


def _number(agent: Agent, action: Any) -> int:
    """Reads what `act` gave."""
    number = None
    if not isinstance(action, bool):
        with contextlib.suppress(TypeError):
            number = operator.index(action)
    if number is None or not -(2**63) <= number < 2**63:
        raise AgentActionError(
            f"{type(agent).__name__}.act gave {_shown(action)}, which is no action (an integer)"
        )
    return number


def _shown(value: Any) -> str:
    """What an agent gave, in a few words."""
    if isinstance(value, np.ndarray):
        return f"an array {value.dtype}{list(value.shape)}"
    if isinstance(value, int) and value.bit_length() > 64:
        return f"an integer of {value.bit_length()} bits"
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."


def address_of(agent: Any) -> int:
    """Where in this process the machine code of an agent's `kernel` is, compiled if need be.

    Returns:
        The address that `bits.ask` takes; 0 for an agent without one, and for a subclass or an
        object that has another `act` or `act_batch` than the class that brought the kernel.
    """
    for place in (vars(agent) if hasattr(agent, "__dict__") else {}, *map(vars, type(agent).mro())):
        if "kernel" in place:
            return kernel_address(agent.kernel, _KERNEL_ARGUMENTS, int64)
        if "act" in place or "act_batch" in place:
            return 0
    return 0


# -- specs -----------------------------------------------------------------------------------
def parse_spec(spec: str) -> tuple[str, dict[str, str]]:
    """Splits `NAME[:key=value,...]`.

    The first part may lack its key, as the path in `policy:PATH`; it stands under `POSITIONAL`.
    Any other part without a key goes on with the value before it, so that values may hold commas.

    Raises:
        AgentSpecError: no name, or a key twice.
    """
    name, _, rest = spec.partition(":")
    if not name:
        raise AgentSpecError(f"no agent name in {spec!r} (as random, or policy:PATH)")
    options: dict[str, str] = {}
    key = POSITIONAL
    for i, part in enumerate(rest.split(",") if rest else []):
        match = re.fullmatch(r"([A-Za-z_]\w*)=(.*)", part, re.DOTALL)
        if match is None and i:
            options[key] += f",{part}"
            continue
        key, value = match.groups() if match else (POSITIONAL, part)
        if key in options:
            raise AgentSpecError(f"option {key!r} twice in {spec!r}")
        options[key] = value
    return name, options


def agent_names() -> tuple[str, ...]:
    """Lists the names that a spec may begin with."""
    return tuple(sorted(_entries()))


def agent_class(name: str) -> Callable[..., Agent]:
    """Returns the agent class of a name.

    Raises:
        AgentSpecError: an unknown name, or an agent that can't be imported.
    """
    entries = _entries()
    if name not in entries:
        raise AgentSpecError(f"no agent {name!r}; there are {', '.join(sorted(entries))}")
    module, _, attribute = entries[name].partition(":")
    _check_package(name, module)
    try:
        found: Any = importlib.import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise AgentSpecError(f"agent {name!r} ({module}) can't be imported: {error}") from error
    return typing.cast("Callable[..., Agent]", found)


def agent_options(agent: Callable[..., Agent]) -> dict[str, inspect.Parameter]:
    """Lists the options of an agent class by name: their annotations resolved, their defaults."""
    hints = typing.get_type_hints(agent.__init__ if inspect.isclass(agent) else agent)
    parameters = list(inspect.signature(agent).parameters.values())[1:]  # the first is the game
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return {
        p.name: p.replace(annotation=hints.get(p.name, str)) for p in parameters if p.kind in named
    }


def make_agent(spec: str, game: Game) -> Agent:
    """Makes the agent that a spec names.

    Args:
        spec: `NAME[:key=value,...]`.
        game: the game that it is to play.

    Raises:
        AgentSpecError: an unknown name or option, or a value that the agent does not take.
    """
    name, values = read_spec(spec)
    try:
        return agent_class(name)(game, **values)
    except AgentSpecError:
        raise
    except ValueError as error:
        raise AgentSpecError(f"agent {spec!r}: {error}") from error


def read_spec(spec: str) -> tuple[str, dict[str, Any]]:
    """Reads a spec: the agent's name, and all its options with their values, given or default.

    Raises:
        AgentSpecError: an unknown name or option, or a text that is no such value.
    """
    name, texts = parse_spec(spec)
    options = agent_options(agent_class(name))
    if POSITIONAL in texts:
        if not options:
            raise AgentSpecError(f"agent {name!r} has no options, so not {texts[POSITIONAL]!r}")
        texts = {next(iter(options)) if key == POSITIONAL else key: t for key, t in texts.items()}
    values = {k: p.default for k, p in options.items() if p.default is not p.empty}
    for key, text in texts.items():
        if key not in options:
            known = ", ".join(options) or "none"
            raise AgentSpecError(f"agent {name!r} has no option {key!r}; its options: {known}")
        values[key] = _value(text, options[key].annotation, f"option {key!r} of agent {name!r}")
    missing = [key for key in options if key not in values]
    if missing:
        raise AgentSpecError(f"agent {name!r} needs {missing[0]}=..., as {name}:{missing[0]}=...")
    return name, values


def _entries() -> Mapping[str, str]:
    return AGENTS | {entry.name: entry.value for entry in entry_points(group=GROUP)}


def _check_package(name: str, module: str) -> None:
    """Refuses another package called `agents`, from which an editable install could still import.

    Raises:
        AgentSpecError: it is in the way of ours.
    """
    root = module.partition(".")[0]
    if root != "agents":
        return
    with contextlib.suppress(ImportError):
        imported = importlib.import_module(root)
        if not hasattr(imported, "TRICKTABLE"):
            places = getattr(imported, "__file__", None) or list(getattr(imported, "__path__", []))
            raise AgentSpecError(
                f"agent {name!r} is in tricktable's package `agents`, but another package of that "
                f"name was imported from {places}"
            )


_BOOLS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def _value(text: str, annotation: Any, what: str) -> Any:
    """Reads an option's value as its annotation says."""
    kinds = [annotation]
    if typing.get_origin(annotation) in (Union, types.UnionType):
        kinds = list(typing.get_args(annotation))
        if type(None) in kinds and text.lower() == "none":
            return None
    kind = next((k for k in (bool, int, float) if k in kinds), str)
    try:
        return _BOOLS[text.lower()] if kind is bool else kind(text)
    except (KeyError, ValueError):
        expected = {bool: "true or false", int: "an integer", float: "a number"}[kind]
        raise AgentSpecError(f"{what} is {expected}, not {text!r}") from None
