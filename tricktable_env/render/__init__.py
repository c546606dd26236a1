"""Pictures of a table for people, as plain text: one module a game, named after it."""

from __future__ import annotations

import importlib
from typing import cast

from tricktable_env.cards import CardSet, Seat, Words
from tricktable_env.game import Game


def picture(game: Game, state: Words, seat: Seat | None = None) -> str:
    """Draws the table, whole or as a seat sees it: what the seat can't see is not in the text.

    Args:
        game: the game that the state is of.
        state: `[W] uint64`.
        seat: who looks; None sees all cards.

    Returns:
        Several lines, at most 79 columns wide for a full deck, no colour.
    """
    module = importlib.import_module(f"{__name__}.{game.name}")
    return cast(str, module.picture(state, seat))


def places(game: Game, state: Words, seat: Seat) -> dict[str, CardSet]:
    """The cards that a seat may come to play next, by where they lie, as the seat sees it.

    A game whose module of pictures has no `places` has none.
    """
    module = importlib.import_module(f"{__name__}.{game.name}")
    found = getattr(module, "places", None)
    return {} if found is None else cast("dict[str, CardSet]", found(state, seat))
