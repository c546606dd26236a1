"""The agent that plays any legal action, each as likely as the next."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tricktable_env.bits import ZERO, below, bit, load_8, nth, size
from tricktable_env.cards import Mask, Words
from tricktable_env.game import Game
from tricktable_env.jit import kernel
from tricktable_env.opponents import Streams


class RandomAgent:
    """Plays a legal action drawn evenly.

    Args:
        game: the game to play; any.
    """

    def __init__(self, game: Game) -> None:
        self.game = game

    def act(self, view: Words, mask: Mask, rng: np.random.Generator) -> int:
        """Draws one of the actions that the mask allows."""
        return int(rng.choice(np.flatnonzero(mask)))

    def act_batch(self, views: Words, masks: Mask, streams: Streams) -> npt.NDArray[np.int64]:
        """Draws an action for each mask `[B, A]`; `[B] int64`."""
        actions = np.empty(len(masks), np.int64)
        _draw_actions(np.ascontiguousarray(masks, np.int8), streams.keys.copy(), actions)
        return actions

    def odds(self, views: Words, masks: Mask) -> npt.NDArray[np.float64]:
        """How likely each action is: `[B, A] float64`."""
        even: npt.NDArray[np.float64] = masks / masks.sum(1, keepdims=True, dtype=np.float64)
        return even

    @property
    def kernel(self) -> Any:
        """Draws one action for a view; see `Agent`."""
        return _draw_action


@kernel
def _draw_actions(masks: np.ndarray, words: np.ndarray, out: np.ndarray) -> None:
    """Draws a legal action for each row.

    Args:
        masks: `[B, A] int8`, each with a 1.
        words: `[B] uint64`, a random stream a row; they advance.
        out: `[B] int64`, overwritten; -1 where nothing is legal.
    """
    for i in range(masks.shape[0]):
        out[i] = _draw(masks[i], words, i)


@kernel
def _draw_action(view: np.ndarray, mask: np.ndarray, words: np.ndarray) -> int:
    return _draw(mask, words, 0)


@kernel
def _draw(mask: np.ndarray, words: np.ndarray, at: int) -> int:
    """Draws a legal action with the stream in `words[at]`; -1 where nothing is legal."""
    legal = 0
    for start in range(0, mask.shape[0], 64):
        legal += size(_legal(mask, start))
    skip = below(words, at, legal)
    for start in range(0, mask.shape[0], 64):
        actions = _legal(mask, start)
        if skip < size(actions):
            return start + nth(actions, skip)
        skip -= size(actions)
    return -1


@kernel
def _legal(mask: np.ndarray, start: int) -> np.uint64:
    """Which of up to 64 actions from `start` on a mask allows, as a set."""
    end = min(start + 64, mask.shape[0])
    actions = ZERO
    action = start
    while action + 8 <= end:
        actions |= load_8(mask, action) << np.uint64(action - start)
        action += 8
    while action < end:
        if mask[action] != 0:
            actions |= bit(action - start)
        action += 1
    return actions
