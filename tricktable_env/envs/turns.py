"""What there is to see of rows of games, and what a step of them gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from tricktable_env.cards import Mask, Words
from tricktable_env.envs.spaces import Observation
from tricktable_env.game import Bytes, Rows


class Sight(NamedTuple):
    """What the viewers of all rows see; arrays of 0 rows where it was not asked for."""

    observations: Bytes
    """`[N, D] uint8`."""
    masks: Mask
    """`[N, A] int8`."""
    histories: Bytes
    """`[N, H] uint8`."""
    viewers: Rows
    """`[N] int64`, the players who see it."""


class Kept(NamedTuple):
    """How all rows were; arrays of 0 rows where nobody needs to know."""

    states: Words
    """`[N, W] uint64`."""
    table: Rows
    """`[N, COLUMNS] int64`."""
    owed: npt.NDArray[np.float32]
    """`[N, P] float32`."""


class Last(NamedTuple):
    """What the rows that ended have to say about it."""

    rows: Rows
    """`[n]`, which they are."""
    observation: Observation
    """Of n rows."""
    infos: dict[str, tuple[Rows, npt.NDArray[Any]]]
    """By key, the rows that have it and their values."""


class Turn(NamedTuple):
    """What a step gave, row by row."""

    rewards: npt.NDArray[np.float64]
    """`[N]`, the rewards of those who acted, with what was paid while opponents acted."""
    paid: npt.NDArray[np.float32]
    """`[N, P]`, the rewards of all players."""
    ended: npt.NDArray[np.bool_]
    """`[N]`, whether the episode ended."""
    sight: Sight
    """What is seen now: where the next episode has begun, its first decision."""
    last: Last | None
    """Of the rows where the next episode has begun, if there are any."""


def nothing(*whatever: Any) -> None:
    """Nothing is to be done meanwhile."""


Meanwhile: TypeAlias = Callable[[Sight, Last | None], None]
"""Takes what is seen, and what the rows that ended have to say, before arrays are written."""
