"""Stable-Baselines3's vector environment over the native batch.

It gives flat observations, and masks by `env_method("action_masks")`, so sb3-contrib's MaskablePPO
takes it as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from stable_baselines3.common.vec_env import VecEnv

from tricktable_env.cards import Mask, Seat
from tricktable_env.envs.episodes import Episodes, OnIllegal, plain
from tricktable_env.envs.gym import show
from tricktable_env.envs.seating import Opponent
from tricktable_env.envs.spaces import row_of
from tricktable_env.envs.turns import Last, Sight
from tricktable_env.envs.vector import TrickTableVectorEnv
from tricktable_env.game import Bytes, Player


def make_vec_env(
    id: str,
    n_envs: int = 1,
    opponent: Opponent | Sequence[Opponent] = "random",
    seat: str | Player = "random",
    seed: int | None = None,
    render_mode: str | None = None,
    on_illegal: OnIllegal = "terminate",
    full_information: bool = False,
    threads: int = 1,
    **rules: Any,
) -> TrickTableVecEnv:
    """Makes the vector environment of an id.

    Args:
        id: a Gymnasium id, as `TrickTable/Tableau-v0`.
        n_envs: number of rows N.
        opponent: as in `gymnasium.make`; with `"self"` all players' decisions are handed out.
        seat: as in `gymnasium.make`.
        seed: row i begins with the seed `seed + i`; None is fresh entropy.
        render_mode: `ansi` or `human`.
        on_illegal: `terminate` or `raise`.
        full_information: whether all infos have `state`, as in `gymnasium.make`.
        threads: as in `gymnasium.make_vec`.
        **rules: options of the game.

    Raises:
        ValueError: an option that makes no sense, or an id that is not one of ours.
    """
    spec = gymnasium.spec(id.rpartition(":")[2])  # as in `tricktable_env:TrickTable/Tableau-v0`
    if spec.vector_entry_point != f"{TrickTableVectorEnv.__module__}:TrickTableVectorEnv":
        raise ValueError(f"{id!r} is no environment of tricktable_env")
    options: dict[str, Any] = {"opponent": opponent, "seat": seat, "on_illegal": on_illegal}
    options |= {"full_information": full_information, "threads": threads}
    batch = TrickTableVectorEnv(n_envs, render_mode=render_mode, **options, **spec.kwargs, **rules)
    batch.spec = spec
    env = TrickTableVecEnv(batch)
    if seed is not None:
        env.seed(seed)
    return env


class TrickTableVecEnv(VecEnv):
    """Rows of `TrickTableEnv` as Stable-Baselines3 steps them.

    A row whose episode ends begins the next in the same step; the info of that row then has
    `terminal_observation`, as the learner sees it, and what the last info of the single
    environment has. With `opponent="self"` the infos of other rows are empty, which saves time
    (but for `state`, where that was asked for); `env_method("state")` gives it in any case, and
    `seats` and `paid` say who is to act and what all players were paid.

    Args:
        batch: the native vector environment, with flat observations.

    Raises:
        ValueError: its observations are not flat.
    """

    def __init__(self, batch: TrickTableVectorEnv) -> None:
        self.episodes: Episodes = batch.episodes
        if self.episodes.form != "flat":
            raise ValueError(f"observation={self.episodes.form!r}; this needs 'flat'")
        self._rows = [_Row(batch, row) for row in range(batch.num_envs)]
        self._actions: Any = None
        self.paid = np.zeros((batch.num_envs, batch.game.num_players), np.float32)
        """`[N, P] float32`, what the last step paid each player of each row."""
        super().__init__(batch.num_envs, batch.single_observation_space, batch.single_action_space)

    @property
    def seats(self) -> npt.NDArray[np.int64]:
        """`[N] int64`, the player that each row's observation is of."""
        return self.episodes.viewers.copy()

    def reset(self) -> Bytes:
        """Begins an episode in every row, with the seeds and options set for it.

        Raises:
            ValueError: a seed, option, position or deck at fault; nothing has changed.
        """
        self.episodes.reset(self._seeds, self._options)
        self._reset_seeds()
        self._reset_options()
        self.paid[:] = 0
        sight = self.episodes.sight()
        self.reset_infos = self._infos(sight)
        return sight.observations

    def step_async(self, actions: Any) -> None:
        """Takes note of an action for each row: `[N]` integers."""
        self._actions = actions

    def step_wait(self) -> tuple[Bytes, npt.NDArray[np.float32], npt.NDArray[np.bool_], list[Any]]:
        """Takes the actions; see `TrickTableVectorEnv.step`.

        Raises:
            ResetNeeded: before the first reset.
            IllegalActionError: no integers, outside the action space, or, with
                `on_illegal="raise"`, not legal; no row has changed.
        """
        episodes = self.episodes
        turn = episodes.step(episodes.read_actions(self._actions), again=True)
        self.paid = turn.paid
        infos = self._infos(turn.sight)
        if turn.last is not None:
            self._add_last(turn.last, infos)
        return turn.sight.observations, turn.rewards.astype(np.float32), turn.ended, infos

    def _add_last(self, last: Last, infos: list[dict[str, Any]]) -> None:
        """Gives rows that ended the info of their last step."""
        for i, row in enumerate(last.rows.tolist()):
            seen = row_of(last.observation, i)
            infos[row] = {"terminal_observation": seen, "TimeLimit.truncated": False}
        for key, (rows, values) in last.infos.items():
            if key != "rewards":
                for row, value in zip(rows.tolist(), values, strict=True):
                    infos[row][key] = plain(value)

    def _infos(self, sight: Sight) -> list[dict[str, Any]]:
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        if self.episodes.opponents is not None:
            pairs = zip(sight.masks, sight.viewers.tolist(), strict=True)
            infos = [{"action_mask": mask, "seat": seat} for mask, seat in pairs]
        if self.episodes.full_information:
            for info, state in zip(infos, self.episodes.full(), strict=True):
                info["state"] = state
        return infos

    # -- rows by name ------------------------------------------------------------------------
    def env_method(
        self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any
    ) -> list[Any]:
        """Calls a method of rows, `action_masks` and `state` in one pass over the batch.

        The others are `position`, `information_state` and `render`.
        """
        rows = self._picked(indices)
        if method_name == "action_masks" and not args and not kwargs:
            self.episodes.check_begun()
            masks = self.episodes.masks()
            return [masks[row.row] for row in rows]
        if method_name == "state" and not args and not kwargs:
            self.episodes.check_begun()
            return list(self.episodes.full(np.array([row.row for row in rows], np.int64)))
        return [getattr(row, method_name)(*args, **kwargs) for row in rows]

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Returns an attribute of rows.

        Raises:
            AttributeError: rows have none of that name.
        """
        return [getattr(row, attr_name) for row in self._picked(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Sets an attribute of rows that the environment itself does not read."""
        for row in self._picked(indices):
            setattr(row, attr_name, value)

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """Rows are never wrapped one by one."""
        return [False for _ in self._picked(indices)]

    def _picked(self, indices: int | Iterable[int] | None) -> list[_Row]:
        return [self._rows[i] for i in self._get_indices(indices)]

    def seed(self, seed: int | None = None) -> list[int | None]:
        """Sets the seeds of the next reset: row i gets `seed + i`; None is fresh entropy."""
        if seed is None:  # not drawn from numpy's global state, as the base class does
            seed = int(np.random.SeedSequence().generate_state(1, np.uint32)[0])
        self._seeds = [seed + row for row in range(self.num_envs)]
        return self._seeds

    def close(self) -> None:
        """Releases nothing: there is nothing to release."""


class _Row:
    """One row as the methods of the single environment show it."""

    def __init__(self, batch: TrickTableVectorEnv, row: int) -> None:
        self.row, self.render_mode, self.spec = row, batch.render_mode, batch.spec
        self._episodes = batch.episodes

    def action_masks(self) -> Mask:
        self._episodes.check_begun()
        mask: Mask = self._episodes.masks()[self.row]
        return mask

    def state(self) -> Bytes:
        self._episodes.check_begun()
        full: Bytes = self._episodes.full(np.array([self.row]))[0]
        return full

    def position(self, seat: Seat | None = None) -> str:
        self._episodes.check_begun()
        return self._episodes.game.position(self._episodes.states[self.row], seat)

    def information_state(self, seat: Seat) -> str:
        self._episodes.check_begun()
        return self._episodes.game.information_state(self._episodes.states[self.row], seat)

    def render(self) -> str | None:
        return show(self._episodes.picture(self.row), self.render_mode or "ansi")
