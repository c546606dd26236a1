"""Gymnasium's single environment: one learner, the opponents inside, for any game."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium

from tricktable_env.cards import Mask, Seat
from tricktable_env.envs.episodes import Episodes, OnIllegal
from tricktable_env.envs.seating import Opponent
from tricktable_env.envs.spaces import (
    RENDER_MODES,
    Observation,
    ObservationForm,
    action_space,
    check_render_mode,
    observation_space,
    row_of,
)
from tricktable_env.envs.starts import Options
from tricktable_env.envs.turns import Sight
from tricktable_env.game import VIEWER, Bytes, Game, Player, UnknownOptionError
from tricktable_env.registry import make_game

OWN_OPTIONS = (
    "an environment takes besides render_mode, and with a learning seat "
    "opponent, seat, observation, on_illegal and full_information; with make_vec also threads"
)
"""What is added when an option is unknown: it may be one of these, mistyped."""


class TrickTableEnv(gymnasium.Env[Any, Any]):
    """A game as one player meets it: opponents act inside, rewards are the learner's own.

    `info` always has `action_mask` (`[A] int8`) and `seat`, the player that the observation is
    of. The last step's has what `game.outcome` says and `is_success`, whether the learner won
    alone. An action that is not legal changes nothing; it ends the episode with a reward of -1
    and `info["illegal_action"]`, or raises, as `on_illegal` says. What is no integer or outside
    the action space raises in any case.

    With `opponent="self"` every decision of every player is handed out: `info["seat"]` is who is
    to act (or acted last), the reward is that of the player who acted, and `info["rewards"]`
    (`[P] float32`) are those of all.

    `reset(options=...)` takes `position` (its text) or `deck` (cards in the order of the deal)
    for one episode.

    Args:
        game: a game, or the name of one.
        opponent: see `Episodes`.
        seat: see `Episodes`.
        observation: `flat`, `[D] uint8`; or `dict`, with the history and the action mask.
        render_mode: `ansi` (render returns text) or `human` (every reset and step prints it);
            what is drawn is what the learner sees.
        on_illegal: `terminate` or `raise`.
        full_information: whether `info` has `state` as well, what the method `state()` returns:
            hidden cards included, so for critics and for study, never for an agent.
        **rules: options of the game named.

    Raises:
        ValueError: an option that makes no sense.
    """

    metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": 1}

    def __init__(
        self,
        /,
        game: str | Game,
        opponent: Opponent | Sequence[Opponent] = "random",
        seat: str | Player = "random",
        observation: ObservationForm = "flat",
        render_mode: str | None = None,
        on_illegal: OnIllegal = "terminate",
        full_information: bool = False,
        **rules: Any,
    ) -> None:
        check_render_mode(render_mode)
        self.game = named_game(game, rules)
        self.observation_space = observation_space(self.game, observation)
        self.action_space = action_space(self.game)
        self.render_mode = render_mode
        self.episodes = Episodes(
            self.game, 1, opponent, seat, observation, on_illegal, full_information
        )

    def reset(
        self, *, seed: int | None = None, options: Options | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begins an episode; without a seed the streams of the last one go on.

        Raises:
            ValueError: a seed, option, position or deck at fault; nothing has changed.
        """
        self.episodes.reset([seed], [options])
        super().reset(seed=None if seed is None else int(seed))
        observation, info = self._shown(self.episodes.sight())
        if self.render_mode == "human":
            self.render()
        return observation, info

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Takes the learner's action and lets the opponents act until it is its turn again.

        Raises:
            ResetNeeded: the episode is over.
            IllegalActionError: no integer, outside the action space, or, with
                `on_illegal="raise"`, not legal; nothing has changed.
        """
        episodes = self.episodes
        turn = episodes.step(episodes.read_action(action))
        observation, info = self._shown(turn.sight)
        if episodes.opponents is None:
            info["rewards"] = turn.paid[0]
        ended = turn.ended.item()
        if ended:
            info |= episodes.closing()
        if self.render_mode == "human":
            self.render()
        return observation, turn.rewards.item(), ended, False, info

    def _shown(self, sight: Sight) -> tuple[Observation, dict[str, Any]]:
        info = {"action_mask": sight.masks[0], "seat": self.episodes.table.item(VIEWER)}
        if self.episodes.full_information:
            info["state"] = self.episodes.full()[0]
        if self.episodes.form == "flat":
            return sight.observations[0], info
        return row_of(self.episodes.shown(sight), 0), info

    def state(self) -> Bytes:
        """The full-information tensor from the side of `info["seat"]`: `[F] uint8`.

        Hidden cards included: for critics and for study, never for an agent.
        """
        self.episodes.check_begun()
        full: Bytes = self.episodes.full()[0]
        return full

    def action_masks(self) -> Mask:
        """The legal actions: `[A] int8`, 1 = legal; the name that sb3-contrib looks for."""
        self.episodes.check_begun()
        mask: Mask = self.episodes.masks()[0]
        return mask

    def position(self, seat: Seat | None = None) -> str:
        """Writes the position, whole or as a seat of this round sees it."""
        self.episodes.check_begun()
        return self.game.position(self.episodes.states[0], seat)

    def information_state(self, seat: Seat) -> str:
        """Writes all that a seat of this round has seen, in order."""
        self.episodes.check_begun()
        return self.game.information_state(self.episodes.states[0], seat)

    def render(self) -> Any:
        """Draws the table as the learner sees it: returned with `ansi`, printed with `human`."""
        if self.render_mode is None:
            gymnasium.logger.warn("render() draws only with a render_mode: make(..., 'ansi')")
            return None
        return show(self.episodes.picture(0), self.render_mode)


def named_game(game: str | Game, rules: dict[str, Any]) -> Game:
    """Makes the game of a name; a game made already keeps its own rules.

    Raises:
        ValueError: no such game, rules that make no sense, or rules beside a game made already.
    """
    if isinstance(game, str):
        try:
            return make_game(game, **rules)
        except UnknownOptionError as error:
            raise UnknownOptionError(f"{error}; {OWN_OPTIONS}") from None
    if rules:
        raise ValueError(f"the game has its rules already, so not {', '.join(rules)} as well")
    return game


def show(picture: str, render_mode: str) -> str | None:
    """Returns a picture with `ansi`, prints it with `human`."""
    if render_mode == "ansi":
        return picture
    print(picture, flush=True)
    return None
