"""Gymnasium's vector environment as one native batch, for any game."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from tricktable_env.cards import Mask, Seat
from tricktable_env.envs.episodes import Episodes, OnIllegal
from tricktable_env.envs.gym import named_game, show
from tricktable_env.envs.seating import Opponent
from tricktable_env.envs.spaces import (
    RENDER_MODES,
    Observation,
    ObservationForm,
    action_space,
    as_action,
    check_render_mode,
    observation_space,
    rows_of,
)
from tricktable_env.envs.starts import Options
from tricktable_env.envs.turns import Last, Sight
from tricktable_env.game import Bytes, Game, Player, Rows


class TrickTableVectorEnv(VectorEnv[Any, Any, Any]):
    """Many rows of `TrickTableEnv` in one array of states.

    Row i of `reset(seed=s)` does what the single environment does at seed s + i, for all later
    episodes too. A row whose episode ends begins the next in the same step; its last observation
    and info stand in `infos["final_obs"]` and `infos["final_info"]`, as with Gymnasium's
    `SyncVectorEnv` in its mode SAME_STEP. With `opponent="self"`, `infos["rewards"]`
    (`[N, P] float32`) has the rewards of every player in this step in every row, those of rows
    that ended included.

    Arguments are those of `TrickTableEnv`, and:

    Args:
        num_envs: number of rows N.
        threads: among how many threads the rows are shared out, the calling one included. What
            comes out is the same; it pays from some thousand rows on, or where opponents think.
            Compiled opponents (an agent's `kernel`) are asked from all of them.
    """

    metadata: dict[str, Any] = {
        "render_modes": list(RENDER_MODES),
        "render_fps": 1,
        "autoreset_mode": AutoresetMode.SAME_STEP,
    }

    def __init__(
        self,
        /,
        num_envs: int,
        game: str | Game,
        opponent: Opponent | Sequence[Opponent] = "random",
        seat: str | Player = "random",
        observation: ObservationForm = "flat",
        render_mode: str | None = None,
        on_illegal: OnIllegal = "terminate",
        full_information: bool = False,
        threads: int = 1,
        **rules: Any,
    ) -> None:
        check_render_mode(render_mode)
        self.game = named_game(game, rules)
        self.episodes = Episodes(
            self.game, num_envs, opponent, seat, observation, on_illegal, full_information, threads
        )
        self.num_envs, self.render_mode = self.episodes.num_rows, render_mode
        self.single_observation_space = observation_space(self.game, observation)
        self.single_action_space = action_space(self.game)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: Options | Sequence[Options | None] | None = None,
    ) -> tuple[Observation, dict[str, Any]]:
        """Begins an episode in every row.

        Args:
            seed: s for seeds s, s + 1, ...; or a seed (or None) for each row.
            options: for every row, or a list of one for each. `reset_mask` (`[N] bool`) among
                options for every row picks the rows that begin anew.

        Raises:
            ValueError: a seed, option, position or deck at fault; nothing has changed.
        """
        rows = self.episodes.rows
        if isinstance(options, Mapping) and "reset_mask" in options:
            rows = np.flatnonzero(_reset_mask(options["reset_mask"], self.num_envs))
            options = {key: value for key, value in options.items() if key != "reset_mask"}
        seeds, starts = spread_seeds(seed, self.num_envs), spread_options(options, self.num_envs)
        self.episodes.reset([seeds[r] for r in rows], [starts[r] for r in rows], rows)
        super().reset(seed=as_action(seed))
        sight = self.episodes.sight()
        infos = self._infos(sight, rows)
        if self.episodes.full_information:
            infos |= self._full(rows)
        self._render_human()
        return self.episodes.shown(sight), infos

    def step(
        self, actions: Any
    ) -> tuple[
        Observation,
        npt.NDArray[np.float64],
        npt.NDArray[np.bool_],
        npt.NDArray[np.bool_],
        dict[str, Any],
    ]:
        """Takes an action in each row, `[N]` integers, and begins the next episode where it ended.

        Raises:
            ResetNeeded: before the first reset.
            IllegalActionError: as `TrickTableEnv.step`, for any row; no row has changed.
        """
        episodes, every = self.episodes, self.episodes.rows
        infos: dict[str, Any] = {}

        def prepare(sight: Sight, last: Last | None) -> None:
            infos.update(self._infos(sight, every))
            if last is not None:
                infos.update(self._final(last))

        turn = episodes.step(episodes.read_actions(actions), True, prepare)
        if episodes.opponents is None:
            infos |= {"rewards": turn.paid, "_rewards": np.ones(self.num_envs, np.bool_)}
        if episodes.full_information:
            infos |= self._full(every)
        self._render_human()
        unended = np.zeros(self.num_envs, np.bool_)
        return episodes.shown(turn.sight), turn.rewards, turn.ended, unended, infos

    def _infos(self, sight: Sight, rows: Rows) -> dict[str, Any]:
        """What there is to say beside the observations, and of which rows."""
        about = _marked(self.num_envs, rows)
        return {
            "action_mask": sight.masks,
            "seat": sight.viewers,
            "_action_mask": about,
            "_seat": about.copy(),
        }

    def _full(self, rows: Rows) -> dict[str, Any]:
        return {"state": self.episodes.full(), "_state": _marked(self.num_envs, rows)}

    def _final(self, last: Last) -> dict[str, Any]:
        """The last observations and infos of rows that ended, in Gymnasium's form."""
        n = self.num_envs
        observations = np.fromiter(rows_of(last.observation), object, len(last.rows))
        ended = _marked(n, last.rows)
        infos: dict[str, Any] = {}
        for key, (rows, values) in last.infos.items():
            infos[key] = _spread(n, rows, values)
            infos[f"_{key}"] = ended.copy() if rows is last.rows else _marked(n, rows)
        return {
            "final_obs": _spread(n, last.rows, observations),
            "_final_obs": ended,
            "final_info": infos,
            "_final_info": ended.copy(),
        }

    # -- rows as the single environment has them -----------------------------------------------
    def action_masks(self) -> Mask:
        """The legal actions of each row: `[N, A] int8`, 1 = legal."""
        self.episodes.check_begun()
        return self.episodes.masks()

    def state(self) -> Bytes:
        """The full-information tensor of each row, from the side of `infos["seat"]`.

        Hidden cards included: for critics and for study, never for an agent.

        Returns:
            `[N, F] uint8`.
        """
        self.episodes.check_begun()
        return self.episodes.full()

    def position(self, seat: Seat | None = None) -> tuple[str, ...]:
        """Writes the position of each row, whole or as a seat of its round sees it."""
        self.episodes.check_begun()
        return tuple(self.game.position(state, seat) for state in self.episodes.states)

    def information_state(self, seat: Seat) -> tuple[str, ...]:
        """Writes, for each row, all that a seat of its round has seen, in order."""
        self.episodes.check_begun()
        return tuple(self.game.information_state(state, seat) for state in self.episodes.states)

    def render(self) -> tuple[Any, ...] | None:
        """Draws each row as its learner sees it: returned with `ansi`, printed with `human`."""
        if self.render_mode is None:
            gymnasium.logger.warn("render() draws only with a render_mode: make_vec(..., 'ansi')")
            return None
        mode = self.render_mode
        return tuple(show(self.episodes.picture(row), mode) for row in range(self.num_envs))

    def _render_human(self) -> None:
        if self.render_mode == "human":
            self.render()


def spread_seeds(seed: Any, rows: int) -> list[Any]:
    """A seed for each row: of a number s they are s, s + 1, ...

    Raises:
        ValueError: neither a number nor a list of one for each row.
    """
    if seed is None:
        return [None] * rows
    number = as_action(seed)
    if number is not None:
        return [number + row for row in range(rows)]
    return _listed("seed", seed, rows)


def spread_options(options: Any, rows: int) -> list[Any]:
    """Options for each row: the same for all, or those listed.

    Raises:
        ValueError: neither a dict nor a list of one for each row.
    """
    if options is None or isinstance(options, Mapping):
        return [options] * rows
    return _listed("options", options, rows)


def _listed(what: str, values: Sequence[Any], rows: int) -> list[Any]:
    if not isinstance(values, list | tuple | np.ndarray):
        raise ValueError(f"{what}={values!r} is neither for all environments nor a list of {rows}")
    if len(values) != rows:
        raise ValueError(f"{what} lists {len(values)}, but there are {rows} environments")
    return list(values)


def _reset_mask(mask: Any, rows: int) -> npt.NDArray[np.bool_]:
    found = np.asarray(mask)
    if found.dtype != np.bool_ or found.shape != (rows,) or not found.any():
        raise ValueError(f"reset_mask is {mask!r}, not {rows} bools of which one or more are True")
    return found


def _spread(n: int, rows: Rows, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Puts values into rows of n, which are in order; the others have 0 or None."""
    if len(rows) == n:
        return values
    shape = n, *values.shape[1:]
    out = np.empty(shape, object) if values.dtype == object else np.zeros(shape, values.dtype)
    if values.dtype == object or values.any():  # masks of episodes that are over are all 0
        out[rows] = values
    return out


def _marked(n: int, rows: Rows) -> npt.NDArray[np.bool_]:
    """Whether a row of n is one of these rows, each of which stands there once."""
    if len(rows) == n:
        return np.ones(n, np.bool_)
    out = np.zeros(n, np.bool_)
    out[rows] = True
    return out
