"""Many tables of one game as Stable-Baselines3 knows environments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from stable_baselines3.common.vec_env import VecEnv

from tricktable_env.game import ENDED, ILLEGAL, Game, IllegalActionError, Rows
from tricktable_env.opponents import decision_streams


class Tables(VecEnv):
    """B tables at which the same policy plays every seat.

    `step` asks for the action of whoever is to act at each table and pays that player. Self-play
    training (`selfplay`) reads and steps the packed `states` itself.

    Args:
        game: the game; its reward is what training is paid.
        num_tables: number of tables B.
        seed: where the deals of all tables come from.
    """

    def __init__(self, game: Game, num_tables: int, seed: int) -> None:
        super().__init__(
            num_tables,
            spaces.Box(0, game.observation_high, dtype=np.uint8),
            spaces.Discrete(game.num_actions),
        )
        self.game = game
        self.rows: Rows = np.arange(num_tables)
        keys = np.full(num_tables, seed, np.uint64)
        self.states = game.new(decision_streams(keys, self.rows, self.rows, self.rows).keys)
        self._actions: npt.NDArray[np.int64] = np.zeros(num_tables, np.int64)

    def reset(self) -> npt.NDArray[np.uint8]:
        """Deals anew at every table; returns the observations `[B, D] uint8`."""
        self.game.deal(self.states, self.rows)
        return self._observe()

    def step_async(self, actions: npt.NDArray[Any]) -> None:
        """Keeps the actions `[B]` for `step_wait`."""
        self._actions = np.asarray(actions, np.int64)

    def step_wait(self) -> tuple[Any, Any, Any, list[dict[str, Any]]]:
        """Steps every table and deals anew where the episode ended.

        Raises:
            IllegalActionError: an action that is not legal at its table; the others have stepped.
        """
        players = self.game.players(self.states, self.rows)
        status, paid = self.game.step(self.states, self.rows, self._actions)
        for row in np.flatnonzero(status == ILLEGAL)[:1]:
            mask = self.action_masks()[row]
            legal = [self.game.action_text(action) for action in np.flatnonzero(mask)]
            raise IllegalActionError(f"{self._actions[row]} at table {row}", legal)
        infos: list[dict[str, Any]] = [{} for _ in self.rows]
        ended = np.flatnonzero(status == ENDED)
        last, _ = self.game.observe(self.states, ended, players[ended])
        for row, observation in zip(ended, last, strict=True):
            infos[row] = {"terminal_observation": observation}
        self.game.deal(self.states, ended)
        return self._observe(), paid[self.rows, players], status == ENDED, infos

    def action_masks(self) -> npt.NDArray[np.int8]:
        """The legal actions of whoever is to act: `[B, A] int8`, 1 = legal."""
        players = self.game.players(self.states, self.rows)
        return self.game.masks(self.game.views(self.states, self.rows, players))

    def close(self) -> None:
        """Does nothing: there is nothing to close."""

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Returns an attribute of this object, once for each table asked about."""
        return [getattr(self, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Refuses: tables have no attributes of their own.

        Raises:
            AttributeError: always.
        """
        raise AttributeError(f"tables have no attribute {attr_name!r} to set")

    def env_method(
        self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any
    ) -> list[Any]:
        """Calls a method that answers for all tables, as `action_masks`; one answer a table."""
        answers = getattr(self, method_name)(*method_args, **method_kwargs)
        return [answers[row] for row in self._get_indices(indices)]

    def env_is_wrapped(self, wrapper_class: type[Any], indices: Any = None) -> list[bool]:
        """No table is wrapped in anything."""
        return [False for _ in self._get_indices(indices)]

    def get_images(self) -> Sequence[None]:
        """Tables draw no images."""
        return [None for _ in self.rows]

    def _observe(self) -> npt.NDArray[np.uint8]:
        players = self.game.players(self.states, self.rows)
        return self.game.observe(self.states, self.rows, players)[0]
