"""What the commands share: options of the command line, exit codes, and words for misuse."""

from __future__ import annotations

import re
import sys
import typing
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Protocol, TypeAlias

import tyro

if TYPE_CHECKING:
    from tricktable_env.game import Game

DONE, FAILED, MISUSED = 0, 1, 2
"""Exit codes: done; the answer is no or some input failed; the command was used wrongly."""

AsJson: TypeAlias = Annotated[bool, tyro.conf.arg(name="json"), tyro.conf.FlagCreatePairsOff]
Words: TypeAlias = Annotated[tuple[str, ...], tyro.conf.UseAppendAction]


class UsageError(ValueError):
    """Arguments that make no sense; the message says what would be right."""


class Command(Protocol):
    """What a command offers once its arguments are read."""

    def run(self) -> int:
        """Does it and returns the exit code."""


@dataclass(frozen=True, kw_only=True)
class OfGame:
    """The options of commands that play a game."""

    game: str = "tableau"
    """Which game."""
    num_players: int | None = None
    """Number of players, where the game leaves the choice."""
    rule: Annotated[Words, tyro.conf.arg(metavar="KEY=VALUE")] = ()
    """An option of the rules, as suits=3 or rounds_to_win=3."""

    def make_game(self) -> Game:
        """Makes the game; see `game_from`."""
        return game_from(self.game, self.num_players, self.rule)


def game_from(name: str, num_players: int | None, rules: Sequence[str]) -> Game:
    """Makes the game that `--game`, `--num-players` and `--rule` describe.

    Raises:
        RulesError: no such game, or values that make no sense.
        UsageError: a rule that is no `key=value`, or no option of the game.
    """
    from tricktable_env.registry import make_game

    plain = make_game(name)
    kinds = typing.get_type_hints(type(plain.rules))
    values: dict[str, Any] = {}
    for rule in rules:
        key, equals, text = rule.partition("=")
        if not equals:
            raise UsageError(f"rule {rule!r} is not KEY=VALUE, as suits=3")
        if key not in kinds:
            raise UsageError(f"no rule {key!r} in {name}; its rules: {', '.join(kinds)}")
        if key in values:
            raise UsageError(f"rule {key!r} is given twice")
        values[key] = _value(kinds[key], text)
    if num_players is not None and "num_players" in kinds:
        values.setdefault("num_players", num_players)
    game = make_game(name, **values)
    if num_players not in (None, game.num_players):
        raise UsageError(f"{name} is for {game.num_players} players, not {num_players}")
    return game


def _value(kind: Any, text: str) -> Any:
    """The value that a rule's text means; what makes no sense is left for the rules to refuse."""
    kinds = (kind, *typing.get_args(kind))
    if type(None) in kinds and text.lower() == "none":
        return None
    if bool in kinds and text.lower() in ("true", "false"):
        return text.lower() == "true"
    if int in kinds and re.fullmatch(r"-?[0-9]+", text):
        if len(text) > 20:
            raise UsageError(f"a rule's number of {len(text)} digits is out of range")
        return int(text)
    return text


def complain(error: object, code: int) -> int:
    """Writes what is wrong as one line, and returns the exit code."""
    print("tricktable:", " ".join(str(error).split()), file=sys.stderr, flush=True)
    return code
