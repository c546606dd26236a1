"""The settings of a training run, and the presets they start from."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import tyro

from tricktable_env.game import Game

PAST_SELF = "self"
"""The opponent that is the learner itself, as it was some time ago."""


class SettingsError(ValueError):
    """A setting that makes no sense; the message quotes it."""


_LOWEST = {
    **dict.fromkeys(("decisions", "tables", "processes", "width", "depth", "epochs"), 1),
    **dict.fromkeys(("critic_width", "critic_depth"), 1),
    **dict.fromkeys(("steps", "opponent_updates"), 1),
    **{"batch_size": 2, "worlds": 0, "curve_points": 0, "curve_deals": 1, "eval_deals": 1},
}


@dataclass(frozen=True)
class Settings:
    """All that decides a training run besides the machine; every field is an option of train.py.

    Raises:
        SettingsError: a number out of its range.
    """

    preset: Literal["smoke", "default", "long"] = "default"
    """Where the other settings start from: smoke tries everything in a minute."""
    algo: Literal["self-play", "maskable-ppo"] = "self-play"
    """What learns: self-play of all seats, or sb3-contrib's MaskablePPO in one seat."""
    game: str = "tableau"
    """Which game to learn."""
    rule: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    """An option of the game's rules, KEY=VALUE, as suits=3; once for each."""
    num_players: int | None = None
    """Number of players, where the game leaves the choice."""
    announce: bool = False
    """Whether tricks are announced, in a game that has it; as --rule announce=true."""
    seed: int = 0
    """Decides the deals, the choices and the first weights; same seed, machine and
    `processes`, same agent."""
    out: str = ""
    """Folder of the run, which must not hold one yet; left out: runs/GAME-SEED-TIME."""
    resume: str | None = None
    """Folder of a run to go on with, by its own settings: no other option goes with it."""

    decisions: int = 10_000_000
    """Budget: calls and plays of all seats together, forced ones included, rounded up to whole
    episodes of all tables."""
    tables: int = 1024
    """Tables that play in lockstep; an update follows when all have played an episode."""
    processes: int = 2
    """Processes that share the tables and the network's work; with another number other choices
    are drawn, so the agent differs too."""

    width: int = 128
    """Width of the network's layers."""
    depth: int = 3
    """Number of the network's layers."""
    critic: Literal["shared", "hidden"] = "hidden"
    """Where values come from: the policy's own layers, or a network that is told hidden cards."""
    critic_width: int = 64
    """Width of the layers of that network."""
    critic_depth: int = 2
    """Number of its layers."""

    reward_scale: float = 1 / 13
    """What a player is paid for each trick (or point) that a step puts it ahead."""
    opponent: str = PAST_SELF
    """maskable-ppo alone: `self`, its past selves, or the spec of an agent, in the other seats."""
    opponent_updates: int = 4
    """maskable-ppo alone: after how many updates a copy of it joins its past selves."""
    steps: int = 32
    """maskable-ppo alone: its decisions at a table between two updates."""
    learning_rate: float = 1.5e-3
    """Step size of Adam at the start."""
    learning_rate_end: float = 5e-5
    """Step size at the end; it falls in a straight line."""
    entropy: float = 0.01
    """Weight of the entropy of choices at the start, which keeps them varied."""
    entropy_end: float = 0.002
    """Weight at the end; it falls in a straight line."""
    batch_size: int = 1024
    """Decisions in a gradient step, nearly."""
    epochs: int = 2
    """How often each decision is learnt from."""
    gae_lambda: float = 0.8
    """Lambda of generalized advantage estimation; there is no discount."""
    clip_range: float = 0.2
    """How far a step may move the odds of an action, as PPO's clip."""
    value_weight: float = 0.5
    """Weight of the value's error beside the policy's."""
    max_grad_norm: float = 0.5
    """Longest gradient; longer ones are shortened."""

    curve_points: int = 20
    """How often the agent is measured against greedy along the way; 0 is never."""
    curve_deals: int = 256
    """Duplicate deals of each of these measurements."""
    worlds: int = 32
    """In how many sampled worlds the finished agent tries what it is unsure of; 0: none."""
    eval_deals: int = 4_000
    """Duplicate deals of the last evaluation against each opponent."""
    eval_seed: int = 1
    """Decides the deals of the last evaluation, so that runs are compared on the same ones."""

    def __post_init__(self) -> None:
        for name, low in _LOWEST.items():
            self._check(name, getattr(self, name) >= low, f"at least {low}")
        self._check("tables", self.tables >= self.processes, "at least --processes")
        for name in ("seed", "eval_seed"):  # numpy's and torch's generators take no more
            self._check(name, 0 <= getattr(self, name) < 2**32, "from 0 to 2**32 - 1")
        for name in ("learning_rate", "clip_range", "max_grad_norm", "reward_scale"):
            value = getattr(self, name)
            self._check(name, 0 < value < math.inf, "above 0")
        for name in ("learning_rate_end", "entropy", "entropy_end", "value_weight"):
            value = getattr(self, name)
            self._check(name, 0 <= value < math.inf, "0 or above")
        self._check("gae_lambda", 0 <= self.gae_lambda <= 1, "from 0 to 1")

    def _check(self, name: str, right: bool, wanted: str) -> None:
        if not right:
            option = name.replace("_", "-")
            raise SettingsError(f"--{option} {getattr(self, name)} must be {wanted}")


PRESETS: dict[str, Settings] = {
    "smoke": Settings(
        preset="smoke",
        decisions=40_000,
        tables=128,
        batch_size=256,
        curve_points=2,
        curve_deals=16,
        eval_deals=64,
    ),
    "default": Settings(),
    "long": replace(Settings(), preset="long", decisions=200_000_000, curve_points=50),
}

STARTS: dict[str, dict[str, Any]] = {
    "maskable-ppo": {
        "tables": 128,
        "batch_size": 512,
        "epochs": 4,
        "learning_rate": 7e-4,
        "gae_lambda": 0.95,
        "worlds": 0,
    },
}
"""Where settings start from with `--algo`, whatever the preset: pay that comes at the end of an
episode wants a longer lambda, a plain perceptron more and smaller steps. It comes as it is."""


def starting_settings(preset: str, algo: str) -> Settings:
    """The settings that a command line with these two changes; what is no preset is the default."""
    return replace(PRESETS.get(preset, PRESETS["default"]), **STARTS.get(algo, {}))


def settings_of(content: Any) -> Settings:
    """Makes settings of what their JSON holds.

    Raises:
        SettingsError: a setting that there is not, a value of another type, or one out of range.
    """
    if not isinstance(content, dict):
        raise SettingsError("no JSON object")
    hints = get_type_hints(Settings)
    for name, value in content.items():
        if name not in hints or not _fits(value, hints[name]):
            raise SettingsError(f"{name}: {value!r} is no setting of this version")
    rule = tuple(content.get("rule", ()))
    return Settings(**{**content, "rule": rule})


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value of JSON is of the type that a field has."""
    choices = get_args(hint)
    if get_origin(hint) is Literal:
        return value in choices
    if get_origin(hint) is tuple:
        return isinstance(value, list) and all(isinstance(each, str) for each in value)
    if choices:  # a type, or None
        return any(_fits(value, choice) for choice in choices)
    return type(value) in ((int, float) if hint is float else (hint,))


def training_rules(game: Game) -> dict[str, Any]:
    """The rules to train on: those of a game, a single round of it where it has matches."""
    rules = vars(game.rules)
    return {**rules, "rounds_to_win": 1} if "rounds_to_win" in rules else dict(rules)
