"""How an episode begins: the seed and the options of a reset, read and checked."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from tricktable_env.envs.spaces import as_action
from tricktable_env.game import PositionError

Options: TypeAlias = Mapping[str, Any]
"""Of a reset: `position` (a text) or `deck` (cards in the order of the deal)."""

_KINDS = ("position", "deck")
_SEED_RANGE = 2**64
_ROW_BY_ROW = "; for each row of a batch its own: options=[{...}, None, ...]"


def seed_word(seed: Any) -> int:
    """Reads a seed: an integer of 0 or more, of which the lowest 64 bits count.

    Raises:
        ValueError: it is none.
    """
    number = as_action(seed)
    if number is None or number < 0:
        raise ValueError(f"seed {seed!r} is no integer of 0 or more")
    return number % _SEED_RANGE


def read_start(options: Any) -> tuple[str, Any]:
    """How options say that an episode starts: `position` or `deck` and its value, or nothing.

    Raises:
        PositionError: an unknown key, both at once, or no text or no cards where they should be.
    """
    if options is not None and not isinstance(options, Mapping):
        raise PositionError(f"options are a dict (position=..., or deck=...), not {options!r}")
    unknown = [key for key in options or {} if key not in _KINDS]
    if unknown:
        raise PositionError(
            f"no option {', '.join(map(repr, unknown))} of a reset; options are {', '.join(_KINDS)}"
        )
    named = [(key, value) for key, value in (options or {}).items() if value is not None]
    if len(named) > 1:
        raise PositionError("a reset starts from a position or from a deck, not from both")
    key, value = named[0] if named else ("", None)
    if key == "position" and not isinstance(value, str):
        raise PositionError(f"no position: {reprlib.repr(value)} is no text{_ROW_BY_ROW}")
    if key == "deck" and not isinstance(value, list | tuple | np.ndarray):
        raise PositionError(f"no deck: {reprlib.repr(value)} is no list of cards")
    if isinstance(value, np.ndarray) and value.ndim != 1:
        raise PositionError(
            f"no deck: an array of shape {value.shape} is no list of cards{_ROW_BY_ROW}"
        )
    return key, value
