"""The perceptron of Stable-Baselines3's `MlpPolicy`, as a network that an agent plays with.

It takes over the part of a trained model that chooses, reads the mask in the observation, and is
saved and loaded as any other policy: `save_policy(MlpNetwork.of_model(model, game), game, folder)`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from agents.network import ILLEGAL_LOGIT
from tricktable_env.game import Game

ACTIVATIONS: dict[str, type[nn.Module]] = {"tanh": nn.Tanh, "relu": nn.ReLU}
"""What may stand between two layers, by its name in the settings."""
MAX_LAYERS = 32
"""Most hidden layers that a settings file may ask for."""


class MlpNetwork(nn.Module):
    """Layers of the flat observation, as numbers; the last says how good each action is.

    Args:
        game: whose observation it reads.
        widths: of the hidden layers.
        activation: a key of ACTIVATIONS.

    Raises:
        ValueError: an activation of another name.
    """

    def __init__(self, game: Game, widths: Sequence[int], activation: str = "tanh") -> None:
        super().__init__()
        if activation not in ACTIVATIONS:
            raise ValueError(f"activation is {activation!r}, not one of {', '.join(ACTIVATIONS)}")
        self.widths, self.activation = list(widths), activation
        self.mask = game.mask_slice
        layers: list[nn.Module] = []
        inputs = game.observation_size
        for width in widths:
            layers += [nn.Linear(inputs, width), ACTIVATIONS[activation]()]
            inputs = width
        self.layers = nn.Sequential(*layers, nn.Linear(inputs, game.num_actions))

    @classmethod
    def of_model(cls, model: Any, game: Game) -> MlpNetwork:
        """Copies the part of a model that chooses, as it is now.

        Args:
            model: a PPO, A2C or MaskablePPO with "MlpPolicy", whatever its widths.
            game: whose flat observation it was trained on.

        Raises:
            ValueError: the model is built otherwise, or for another observation.
        """
        layers = _chain(model)
        kinds = {type(layer) for layer in layers[1::2]}
        names = [name for name, kind in ACTIVATIONS.items() if kinds <= {kind}]
        if not names or {type(layer) for layer in layers[::2]} != {nn.Linear}:
            known = " or ".join(ACTIVATIONS)
            raise ValueError(f"the policy is {layers}, not linear layers with {known} between")
        made = cls(game, [layer.out_features for layer in layers[:-1:2]], names[0])
        ends = (layers[0].in_features, layers[-1].out_features)
        if ends != (game.observation_size, game.num_actions):
            raise ValueError(
                f"the policy leads from {ends[0]} entries to {ends[1]} actions; {game.name} has "
                f"{game.observation_size} and {game.num_actions}"
            )
        made.layers.load_state_dict(nn.Sequential(*layers).state_dict())
        return made

    @classmethod
    def of_settings(cls, settings: Mapping[str, Any], game: Game, largest: int) -> MlpNetwork:
        """Makes the network that a settings file describes, its weights not set yet.

        Args:
            settings: the file's content; see `settings`.
            game: whose observation it reads.
            largest: largest width that a file may ask for.

        Raises:
            ValueError: settings that make no sense; the message quotes them.
        """
        widths = settings.get("widths")
        if (
            not isinstance(widths, list)
            or len(widths) > MAX_LAYERS
            or not all(type(width) is int and 1 <= width <= largest for width in widths)
        ):
            raise ValueError(
                f"widths is {widths!r}, not a list of up to {MAX_LAYERS} numbers "
                f"from 1 to {largest}"
            )
        return cls(game, widths, str(settings.get("activation")))

    @property
    def settings(self) -> dict[str, Any]:
        """What `of_settings` makes it from again."""
        return {"widths": self.widths, "activation": self.activation}

    def forward(self, observations: Tensor) -> tuple[Tensor, None]:
        """Scores the actions of the seats to act.

        Args:
            observations: `[B, D] uint8`.

        Returns:
            Logits `[B, A] float32`, ILLEGAL_LOGIT where the observation's mask is 0, and no values.
        """
        logits: Tensor = self.layers(observations.float())
        return torch.where(observations[:, self.mask].bool(), logits, ILLEGAL_LOGIT), None


def _chain(model: Any) -> list[Any]:
    """The modules that lead from observations to logits in a model of Stable-Baselines3.

    Raises:
        ValueError: they read something else than the observation as it is, or there are none.
    """
    try:
        policy = model.policy
        layers = [*policy.mlp_extractor.policy_net, policy.action_net]
        reads, scaled = type(policy.pi_features_extractor).__name__, model.get_vec_normalize_env()
    except (AttributeError, TypeError):
        name = type(model).__name__
        raise ValueError(f"{name} is no model with an actor and critic of MlpPolicy") from None
    if reads != "FlattenExtractor" or scaled is not None:
        how = reads if scaled is None else "VecNormalize"
        raise ValueError(f"the policy reads through {how}, not the flat observation as it is")
    return layers
