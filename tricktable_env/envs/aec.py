"""PettingZoo's environment, in which every player acts in turn, for any game."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded
from pettingzoo import AECEnv
from pettingzoo.utils.env_logger import EnvLogger
from pettingzoo.utils.wrappers import OrderEnforcingWrapper

from tricktable_env.cards import Mask, Seat
from tricktable_env.envs.episodes import Episodes
from tricktable_env.envs.gym import named_game, show
from tricktable_env.envs.spaces import (
    RENDER_MODES,
    Observation,
    action_space,
    as_action,
    check_render_mode,
    observation_space,
    state_space,
)
from tricktable_env.envs.starts import Options
from tricktable_env.game import ILLEGAL_REWARD, VIEWER, Bytes, Game, IllegalActionError, Player


class TrickTableAEC(AECEnv[str, Any, Any]):
    """A game for any number of agents, `player_0`, `player_1`, ..., one to act at a time.

    The same agent may act several times in a row, and in a match the players change seats:
    `agent_selection` says who is to act. An observation is a dict of `observation` (`[D] uint8`),
    `history` (`[H] uint8`) and `action_mask` (`[A] int8`), which `infos` has as well; the mask is
    zero for an agent that is not to act. At the end `infos` also has what `game.outcome` says and
    `is_success`, whether the agent won alone.

    An action that is not legal raises and changes nothing; `checked` ends the game instead.

    Args:
        game: a game, or the name of one.
        version: the number in `metadata["name"]`.
        render_mode: `ansi` (render returns text) or `human` (every reset and step prints it);
            what is drawn is what the seat to act sees.
        **rules: options of the game named.

    Raises:
        ValueError: an option that makes no sense.
    """

    def __init__(
        self,
        /,
        game: str | Game,
        version: int = 0,
        render_mode: str | None = None,
        **rules: Any,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        check_render_mode(render_mode)
        self.game = named_game(game, rules)
        self.metadata = {
            "name": f"{self.game.name}_v{version}",
            "render_modes": list(RENDER_MODES),
            "render_fps": 1,
            "is_parallelizable": False,
        }
        self.render_mode = render_mode
        self.possible_agents = [f"player_{player}" for player in range(self.game.num_players)]
        self.agents: list[str] = []
        self._players: dict[str, Player] = {a: i for i, a in enumerate(self.possible_agents)}
        self.observation_spaces = {
            agent: observation_space(self.game, "dict") for agent in self.possible_agents
        }
        self.action_spaces = {agent: action_space(self.game) for agent in self.possible_agents}
        self.state_space = state_space(self.game)
        self._episodes = Episodes(self.game, 1, "self", observation=None, on_illegal="raise")

    def observation_space(self, agent: str) -> gymnasium.Space[Any]:
        """The space of an agent's observations."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> gymnasium.Space[Any]:
        """The space of an agent's actions."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: Options | None = None) -> None:
        """Begins an episode; without a seed the stream of deals goes on.

        Args:
            seed: an integer of 0 or more.
            options: `position` (its text) or `deck` (cards in the order of the deal); a key
                `options` means nothing.

        Raises:
            ValueError: a seed, option, position or deck at fault; nothing has changed.
        """
        if isinstance(options, Mapping):  # PettingZoo's api_test sends {"options": 1} to all
            options = {key: value for key, value in options.items() if key != "options"}
        self._episodes.reset([seed], [options])
        self.agents = self.possible_agents[:]
        self.rewards: dict[str, float] = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards: dict[str, float] = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self._skip_agent_selection = None  # type: ignore[assignment]
        self._select(self._episodes.masks()[0])

    def step(self, action: Any) -> None:
        """Takes the action of the agent selected; None for one whose game is over.

        Raises:
            ResetNeeded: no agent is left.
            IllegalActionError: the action is not legal; nothing has changed.
        """
        if not self.agents:
            raise ResetNeeded("no agent is left: call reset()")
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        episodes = self._episodes
        turn = episodes.step(episodes.read_action(action))
        self._cumulative_rewards[agent] = 0.0
        self.rewards = dict(zip(self.agents, turn.paid[0].tolist(), strict=True))
        self._accumulate_rewards()
        self._select(turn.sight.masks[0])
        if turn.ended.item():
            self.terminations = dict.fromkeys(self.agents, True)
            closing = episodes.closing()
            shares = self.game.shares(episodes.states)[0].tolist()
            for each, player in self._players.items():
                self.infos[each] |= {**closing, "is_success": shares[player] == 1}
            self._deads_step_first()

    def end_illegal(self) -> None:
        """Ends the game as PettingZoo's `TerminateIllegalWrapper` does for the agent selected."""
        agent = self.agent_selection
        self._cumulative_rewards[agent] = 0.0
        self.terminations = dict.fromkeys(self.agents, True)
        self.truncations = dict.fromkeys(self.agents, True)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self.rewards[agent] = ILLEGAL_REWARD
        self._accumulate_rewards()
        self._deads_step_first()

    def _select(self, mask: Mask) -> None:
        """Selects who is to act; gives every agent its mask in a fresh info."""
        self.agent_selection = self.possible_agents[self._episodes.table.item(VIEWER)]
        zero = np.zeros((len(self.agents), self.game.num_actions), np.int8)
        self.infos = {a: {"action_mask": zero[i]} for i, a in enumerate(self.agents)}
        self.infos[self.agent_selection]["action_mask"] = mask
        if self.render_mode == "human":
            self.render()

    def observe(self, agent: str) -> Observation:
        """What an agent sees, its own turn or not."""
        episodes, player = self._episodes, np.array([self._players[agent]])
        episodes.check_begun()
        flat, mask = self.game.observe(episodes.states, episodes.rows, player)
        history = self.game.histories(episodes.states, episodes.rows, player)
        return {"observation": flat[0], "history": history[0], "action_mask": mask[0]}

    def state(self) -> Bytes:
        """The full-information tensor, hidden cards included, from the side of player_0.

        It is for critics and for study, never for an agent; see the game's observation page.

        Returns:
            `[F] uint8`.
        """
        episodes = self._episodes
        episodes.check_begun()
        player = np.zeros(1, np.int64)
        full: Bytes = self.game.observe_full(episodes.states, episodes.rows, player)[0]
        return full

    def action_masks(self) -> Mask:
        """The legal actions of the agent selected: `[A] int8`, 1 = legal."""
        self._episodes.check_begun()
        mask: Mask = self._episodes.masks()[0]
        return mask

    def position(self, seat: Seat | None = None) -> str:
        """Writes the position, whole or as a seat of this round sees it."""
        self._episodes.check_begun()
        return self.game.position(self._episodes.states[0], seat)

    def information_state(self, seat: Seat) -> str:
        """Writes all that a seat of this round has seen, in order."""
        self._episodes.check_begun()
        return self.game.information_state(self._episodes.states[0], seat)

    def render(self) -> Any:
        """Draws the table as the seat to act sees it: text with `ansi`, printed with `human`."""
        if self.render_mode is None:
            gymnasium.logger.warn("render() draws only with a render_mode: env(render_mode='ansi')")
            return None
        return show(self._episodes.picture(0), self.render_mode)

    def close(self) -> None:
        """Releases nothing: there is nothing to release."""


class _Checked(OrderEnforcingWrapper[str, Any, Any]):
    """PettingZoo's three standard checks in one wrapper, for three of them take twice as long.

    They are those of `OrderEnforcingWrapper`, `AssertOutOfBoundsWrapper` (but strict: a bool is no
    integer) and `TerminateIllegalWrapper`, in that order.
    """

    env: TrickTableAEC

    def step(self, action: Any) -> None:
        """Takes the action of the agent selected; see `checked`."""
        env = self.env
        if not self._has_reset or not env.agents:
            super().step(action)  # which refuses, or warns
            return
        self._has_updated = True
        agent = env.agent_selection
        if env.terminations[agent] or env.truncations[agent]:
            assert action is None or env.action_spaces[agent].contains(action), _OUTSIDE
            env.step(action)
            return
        number = as_action(action)
        assert number is None or 0 <= number < env.game.num_actions, _OUTSIDE
        try:
            env.step(action)
        except IllegalActionError:
            if number is None:
                raise
            EnvLogger.warn_on_illegal_move()
            env.end_illegal()

    def last(self, observe: bool = True) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """What the agent selected sees and was paid; see `AECEnv.last`."""
        return self.env.last(observe) if self._has_reset else super().last(observe)

    def __str__(self) -> str:
        return str(self.env)


_OUTSIDE = "action is not in action space"


def checked(env: TrickTableAEC) -> AECEnv[str, Any, Any]:
    """Puts PettingZoo's three standard checks on an environment.

    An action that is not legal ends the game: -1 for who tried it, 0 for all others, and
    truncations are set too. What is no integer or outside the action space raises, and so does a
    step before the first reset.
    """
    return _Checked(env)
