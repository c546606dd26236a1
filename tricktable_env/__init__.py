"""Trick-taking card games as environments for reinforcement learning.

Importing this registers the environments with Gymnasium and, where the installed version has a
registry, with PettingZoo. Nothing is compiled until a game is made.
"""

from __future__ import annotations

from typing import NamedTuple

import gymnasium

from tricktable_env.game import Game, IllegalActionError, PositionError, RulesError
from tricktable_env.registry import make_game

__version__ = "0.1.0"

__all__ = [
    "Game",
    "IllegalActionError",
    "PositionError",
    "RulesError",
    "__version__",
    "make_game",
]


class Registered(NamedTuple):
    """An environment: its id, its game, and its PettingZoo module."""

    id: str
    """With a version, which goes up when rules, rewards or the observation change."""
    game: str
    """A name of `registry.GAMES`."""
    module: str
    """Below `tricktable_env`; it has `env` and `raw_env`."""


ENVIRONMENTS = (
    Registered("TrickTable/Tableau-v0", "tableau", "tableau_v0"),
    Registered("TrickTable/Honors-v0", "honors", "honors_v0"),
)


def _register() -> None:
    """Enters all environments in both registries, once."""
    for entry in ENVIRONMENTS:
        if entry.id not in gymnasium.registry:
            gymnasium.register(
                entry.id,
                entry_point="tricktable_env.envs.gym:TrickTableEnv",
                vector_entry_point="tricktable_env.envs.vector:TrickTableVectorEnv",
                kwargs={"game": entry.game},
            )
    try:
        from pettingzoo.env_registry.registration import aec_registry, register
    except ImportError:  # PettingZoo before 1.27 has no registry
        return
    for entry in ENVIRONMENTS:
        if entry.id not in aec_registry:
            register("aec", entry.id, entry_point=f"{__name__}.{entry.module}:env")


_register()
