"""The agent `policy`: a trained network, loaded without running any code from its files.

A policy is two files side by side: `NAME.safetensors`, the weights, and `NAME.json`, what they are
for. A run folder of `train.py` holds `policy.safetensors` and `policy.json`.
"""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch.nn import functional

from agents.lookahead import LookAhead
from agents.mlp import MlpNetwork
from agents.network import Layout, SuitNetwork, layout_digest
from agents.worlds import MAX_WORLDS, check_number
from tricktable_env.cards import Mask, Words
from tricktable_env.files import write_whole
from tricktable_env.game import Game
from tricktable_env.opponents import AgentSpecError, Streams

FORMAT = 1
"""Version of the settings file; it goes up when older programs would misread a newer file."""
WORLDS = "worlds"
"""The setting that says in how many worlds a policy looks ahead; left out, in none."""
FILE_NAME = "policy"
"""Name of the two files in a run folder."""
MAX_SIZE = 4096
"""Largest width or depth that a settings file may ask for."""

PolicyNetwork: TypeAlias = SuitNetwork | MlpNetwork
"""Takes observations `[B, D] uint8`, gives logits `[B, A] float32`, and values or None."""


class PolicyFileError(ValueError):
    """A policy that can't be loaded, or is for something else; the message quotes its path."""


class NetworkAgent:
    """Plays what a network says, with a copy of it in float32: as it will when saved and loaded.

    Args:
        game: the game to play.
        network: made for the observation of that game; later changes to it don't count.
        sample: draw from the network's distribution; otherwise its likeliest action is taken.
        worlds: in how many sampled worlds it tries what it is unsure of; 0: the network alone.

    Raises:
        AgentSpecError: a number of worlds out of range, or a game without playouts.
    """

    def __init__(
        self, game: Game, network: PolicyNetwork, sample: bool = False, worlds: int = 0
    ) -> None:
        self.game, self.sample = game, sample
        check_number("worlds", worlds, 0, MAX_WORLDS)
        self._look_ahead = LookAhead(game, worlds) if worlds else None
        self.network: PolicyNetwork = copy.deepcopy(network).eval()
        if isinstance(self.network, SuitNetwork):
            self.network.dtype = torch.float32

    def act(self, view: Words, mask: Mask, rng: np.random.Generator) -> int:
        """Chooses an action for a view `[W]`."""
        keys = rng.integers(0, 2**64, 1, np.uint64) if self._look_ahead else None
        return int(self._choose(view[None], mask[None], [rng], keys)[0])

    def act_batch(self, views: Words, masks: Mask, streams: Streams) -> npt.NDArray[np.int64]:
        """Chooses an action for each view `[B, W]`; `[B] int64`."""
        return self._choose(views, masks, streams, streams.keys if self._look_ahead else None)

    def odds(self, views: Words, masks: Mask) -> npt.NDArray[np.float64]:
        """How likely it takes each action: `[B, A] float64`, for views `[B, W]`.

        Raises:
            AgentSpecError: it looks ahead, into worlds that are drawn.
        """
        if self._look_ahead is not None:
            raise AgentSpecError(
                "a policy that looks ahead draws worlds; worlds=0 is the network alone"
            )
        observations, _ = self.game.encode(views)
        with torch.inference_mode():
            logits, _ = self.network(torch.from_numpy(observations))
        chances = functional.softmax(logits.double(), 1).numpy() * masks
        if not self.sample:
            chances = np.eye(masks.shape[1])[chances.argmax(1)]
        odds: npt.NDArray[np.float64] = chances / chances.sum(1, keepdims=True)
        return odds

    def _choose(
        self, views: Words, masks: Mask, streams: Any, keys: Words | None
    ) -> npt.NDArray[np.int64]:
        """Asks the network where there is a choice; `keys` are for the worlds, None without."""
        actions: npt.NDArray[np.int64] = masks.argmax(1)
        free = np.flatnonzero(masks.sum(1) > 1)
        if len(free):
            observations, _ = self.game.encode(views[free])
            with torch.inference_mode():
                logits, _ = self.network(torch.from_numpy(observations))
            if self._look_ahead is not None and keys is not None:
                log_odds = functional.log_softmax(logits, 1).numpy()
                weighed = self._look_ahead.weigh(log_odds, views[free], masks[free], keys[free])
                logits = torch.from_numpy(weighed)
            if not self.sample:
                actions[free] = logits.argmax(1).numpy()
            else:
                odds = functional.softmax(logits.double(), 1).numpy()
                for row, chances in zip(free, odds, strict=True):
                    legal = np.flatnonzero(masks[row])
                    ends = chances[legal].cumsum()
                    drawn = np.searchsorted(ends, streams[int(row)].random() * ends[-1], "right")
                    actions[row] = legal[min(int(drawn), len(legal) - 1)]
        return actions


class PolicyAgent(NetworkAgent):
    """Plays what a trained network says: its likeliest action, or one drawn from its odds.

    Args:
        game: the game to play; its rules may differ from those trained on.
        path: a run folder of train.py, or a .safetensors file with its .json beside it.
        sample: draw actions from its odds.
        worlds: in how many sampled worlds it tries what it is unsure of, 0 for the network alone;
            None: as many as the policy's settings say, where they do.

    Raises:
        AgentSpecError: a number of worlds out of range, or a game without playouts.
        PolicyFileError: no such policy, a broken file, or one for another game or observation.
    """

    def __init__(
        self, game: Game, path: str, sample: bool = False, worlds: int | None = None
    ) -> None:
        network, settings = read_policy(path, game)
        super().__init__(game, network, sample, settings[WORLDS] if worlds is None else worlds)


def load_policy(path: str | os.PathLike[str], game: Game) -> PolicyNetwork:
    """Loads the network of a policy; see `read_policy`."""
    return read_policy(path, game)[0]


def read_policy(path: str | os.PathLike[str], game: Game) -> tuple[PolicyNetwork, dict[str, Any]]:
    """Loads the network of a policy, in float32 and for evaluation, and its settings.

    Args:
        path: a run folder, or a .safetensors file.
        game: the game that it must be for.

    Raises:
        PolicyFileError: no such policy, a broken file, or one for another game or observation.
    """
    weights = Path(path)
    if not weights.exists():
        raise PolicyFileError(f"{path}: No such file or folder")
    if weights.is_dir():
        weights = weights / f"{FILE_NAME}.safetensors"
    if weights.suffix != ".safetensors":
        raise PolicyFileError(f"{path}: neither a run folder nor a .safetensors file")
    content = _read(weights)
    settings = _read_settings(weights.with_suffix(".json"))
    make = _network_of(settings, weights.with_suffix(".json"), game)
    worlds = settings.setdefault(WORLDS, 0)
    if type(worlds) is not int or not 0 <= worlds <= MAX_WORLDS:
        raise PolicyFileError(
            f"{weights.with_suffix('.json')}: worlds is {worlds!r}, not 0 to {MAX_WORLDS:,}"
        )
    try:
        tensors = load_tensors(content)
        with torch.device("meta"):  # takes no memory, whatever sizes the file asks for
            wanted = {name: of.shape for name, of in make().state_dict().items()}
        _check_tensors(tensors, wanted)
    except (SafetensorError, RuntimeError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise PolicyFileError(f"{weights}: not the weights of this network: {reason}") from None
    network = make()
    network.load_state_dict(tensors)
    return network.eval(), settings


def _check_tensors(tensors: dict[str, torch.Tensor], wanted: dict[str, torch.Size]) -> None:
    """Refuses what a network's weights can't be.

    Raises:
        ValueError: other names, shapes or types, or numbers that are not finite.
    """
    for name in sorted(wanted.keys() ^ tensors.keys()):
        raise ValueError(f"{name} is {'missing' if name in wanted else 'not a weight of it'}")
    for name, tensor in tensors.items():
        if tensor.shape != wanted[name] or tensor.dtype != torch.float32:
            raise ValueError(
                f"{name} is {tensor.dtype} of shape {list(tensor.shape)}, "
                f"not torch.float32 of shape {list(wanted[name])}"
            )
        if not tensor.isfinite().all():
            raise ValueError(f"{name} holds numbers that are not finite")


def save_policy(
    network: PolicyNetwork, game: Game, folder: Path, notes: Mapping[str, Any] | None = None
) -> Path:
    """Writes a policy into a run folder; a reader never meets half a file.

    Args:
        network: its policy and value; what else was trained is not kept.
        game: the game that it was trained on.
        folder: made if need be, with its parents.
        notes: whatever else the settings should say, as how it was trained.

    Returns:
        The path of the weights.

    Raises:
        OSError: it can't be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    settings = {
        "format": FORMAT,
        "game": game.name,
        "layout": layout_digest(game),
        **_described(network),
        **(notes or {}),
    }
    weights = folder / f"{FILE_NAME}.safetensors"
    tensors = {name: tensor.contiguous() for name, tensor in network.state_dict().items()}
    text = json.dumps(settings, indent=2) + "\n"
    write_whole({weights.with_suffix(".json"): text.encode(), weights: save_tensors(tensors)})
    return weights


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise PolicyFileError(f"{path}: {error.strerror}") from None


def _read_settings(path: Path) -> dict[str, Any]:
    try:
        settings = json.loads(_read(path))
    except (ValueError, RecursionError) as error:
        if isinstance(error, PolicyFileError):
            raise
        raise PolicyFileError(f"{path}: no JSON: {error}") from None
    if not isinstance(settings, dict):
        raise PolicyFileError(f"{path}: not a policy's settings, which are a JSON object")
    return settings


def _described(network: PolicyNetwork) -> dict[str, Any]:
    """What the settings say of a network's build."""
    if isinstance(network, MlpNetwork):
        return {"network": "mlp", **network.settings}
    value = network.value is not None
    return {"network": "suits", "width": network.width, "depth": network.depth, "value": value}


def _network_of(settings: dict[str, Any], path: Path, game: Game) -> Callable[[], PolicyNetwork]:
    """Returns what makes the network that settings describe.

    Raises:
        PolicyFileError: the settings of another program, game or observation, or of no network.
    """
    for key, right in (("format", FORMAT), ("game", game.name), ("layout", layout_digest(game))):
        if settings.get(key) != right:
            raise PolicyFileError(
                f"{path}: {key} is {settings.get(key)!r}, and must be {right!r} to play here"
            )
    kind = settings.get("network", "suits")  # the first policies did not say
    if kind == "suits":
        shape = _suit_shape(settings, path)
        return lambda: SuitNetwork(Layout.of(game), *shape)
    if kind != "mlp":
        raise PolicyFileError(f"{path}: network is {kind!r}, not suits or mlp")
    try:
        with torch.device("meta"):
            MlpNetwork.of_settings(settings, game, MAX_SIZE)
    except ValueError as error:
        raise PolicyFileError(f"{path}: {error}") from None
    return lambda: MlpNetwork.of_settings(settings, game, MAX_SIZE)


def _suit_shape(settings: dict[str, Any], path: Path) -> tuple[int, int, bool]:
    """Reads width, depth and whether there is a value head.

    Raises:
        PolicyFileError: sizes that make no sense.
    """
    for key in ("width", "depth"):
        value = settings.get(key)
        if type(value) is not int or not 1 <= value <= MAX_SIZE:
            raise PolicyFileError(f"{path}: {key} is {value!r}, not a number from 1 to {MAX_SIZE}")
    if type(settings.get("value")) is not bool:
        raise PolicyFileError(f"{path}: value is {settings.get('value')!r}, not true or false")
    return settings["width"], settings["depth"], settings["value"]
