"""The games by name."""

from __future__ import annotations

import dataclasses
import importlib
from typing import Any, cast

from tricktable_env.game import Game, RulesError

GAMES: dict[str, str] = {"tableau": "tricktable_env.tableau:Tableau"}
"""Name of a game and where its class is: `module:class`."""


def make_game(name: str, /, **rules: Any) -> Game:
    """Makes a game with its rules fixed.

    Args:
        name: a name of `GAMES`.
        **rules: the game's options; those left out have their defaults.

    Raises:
        RulesError: no such game or option, or options that make no sense.
    """
    if name not in GAMES:
        raise RulesError(f"no game {name!r}; there are {', '.join(GAMES)}")
    module, _, attribute = GAMES[name].partition(":")
    game = getattr(importlib.import_module(module), attribute)
    options = [field.name for field in dataclasses.fields(game.rules_type)]
    unknown = [option for option in rules if option not in options]
    if unknown:
        raise RulesError(
            f"no option {', '.join(map(repr, unknown))}; options of {name} are {', '.join(options)}"
        )
    return cast(Game, game(**rules))
