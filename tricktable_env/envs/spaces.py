"""Spaces of observations and actions, and what may stand for an action, for any game."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from gymnasium import spaces

from tricktable_env.cards import Mask
from tricktable_env.game import Action, Bytes, Game
from tricktable_env.jit import kernel

ObservationForm: TypeAlias = Literal["flat", "dict"]
"""The flat observation alone, or with the history and the action mask."""
Observation: TypeAlias = Bytes | dict[str, Any]
"""`[D] uint8`, or a dict of `observation`, `history [H] uint8` and `action_mask [A] int8`; of a
batch the same with rows in front."""

RENDER_MODES = ("ansi", "human")
_BOOLS = (bool, np.bool_)


def action_space(game: Game) -> spaces.Discrete[np.int64]:
    """The actions of a game: its size does not depend on the deck."""
    return spaces.Discrete(game.num_actions)


def observation_space(game: Game, form: ObservationForm) -> spaces.Space[Any]:
    """The space of what a seat sees.

    Raises:
        ValueError: an unknown form.
    """
    check_choice("observation", form, get_args(ObservationForm))
    # An entry that a smaller deck never uses still spans 0 to 1: checkers warn of empty ranges.
    high = np.maximum(game.observation_high, 1)
    flat = spaces.Box(np.zeros_like(high), high, dtype=np.uint8)
    if form == "flat":
        return flat
    return spaces.Dict(
        {
            "observation": flat,
            "history": spaces.Box(0, 255, (game.history_size,), np.uint8),
            "action_mask": spaces.Box(0, 1, (game.num_actions,), np.int8),
        }
    )


def state_space(game: Game) -> spaces.Box:
    """The space of the full-information tensor."""
    return spaces.Box(0, 255, (game.full_size,), np.uint8)


def joined(form: str | None, flat: Bytes, mask: Mask, history: Bytes | None) -> Observation:
    """Puts an observation together; a dict gets a mask of its own, to be kept apart from infos'."""
    if form != "dict":
        return flat
    return {"observation": flat, "history": history, "action_mask": mask.copy()}


def row_of(observation: Observation, row: int) -> Observation:
    """One row of a batch of observations."""
    if isinstance(observation, dict):
        return {key: values[row] for key, values in observation.items()}
    one: Bytes = observation[row]
    return one


def rows_of(observation: Observation) -> Iterable[Observation]:
    """The rows of a batch of observations, one after another."""
    if isinstance(observation, dict):
        keys = observation.keys()
        return (
            dict(zip(keys, row, strict=True)) for row in zip(*observation.values(), strict=True)
        )
    return observation


def as_action(action: Any) -> Action | None:
    """Reads an action: a Python or numpy integer, or an array of one without dimensions.

    Returns:
        The number, or None where it is anything else: a bool or a float is no action.
    """
    if isinstance(action, _BOOLS):  # older numpy takes its own for an index
        return None
    try:
        return operator.index(action)
    except TypeError:
        return None


@kernel
def all_within(actions: np.ndarray, num_actions: int) -> bool:
    """Whether all actions are among 0 to num_actions - 1."""
    ok = True
    for i in range(actions.shape[0]):
        ok &= 0 <= actions[i] < num_actions
    return ok


def check_choice(option: str, value: Any, choices: tuple[str, ...]) -> None:
    """Refuses a value that is none of the choices.

    Raises:
        ValueError: it is none of them.
    """
    if value not in choices:
        raise ValueError(f"{option}={value!r} is none of {', '.join(map(repr, choices))}")


class RenderModeError(ValueError, TypeError):
    """A render mode that there is not.

    Also a TypeError, from which Stable-Baselines3's own `make_vec_env` and `PPO(policy, ID)`, which
    ask every environment for pixels first, learn that there are none and go on without.
    """


def check_render_mode(mode: str | None) -> None:
    """Refuses a render mode that the environments don't have.

    Raises:
        RenderModeError: it is neither None nor one of `RENDER_MODES`.
    """
    if mode is not None and mode not in RENDER_MODES:
        modes = ", ".join(map(repr, RENDER_MODES))
        raise RenderModeError(f"render_mode={mode!r} is none of {modes}")
