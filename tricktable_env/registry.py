"""The games by name."""

from __future__ import annotations

import importlib
from typing import Any, cast

from tricktable_env.game import Game, RulesError, check_options

GAMES: dict[str, str] = {
    "tableau": "tricktable_env.tableau:Tableau",
    "honors": "tricktable_env.honors:Honors",
}
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
    check_options(name, game.rules_type, rules)
    return cast(Game, game(**rules))
