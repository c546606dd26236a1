"""Records of games: one JSON object a line, one round each, played again through the engine.

A record has `game`, `rules` (what differs from the default), `position` (the start: before the
call, or after it with trump set) and `plays`; when finished also `tricks` (or `points`) and
`winner`. Whatever else a writer adds is kept, and `legal_counts`, the number of legal actions at
every play, is checked as the result is.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, TextIO

import numpy as np

from tricktable_env.cards import Words
from tricktable_env.game import ENDED, ILLEGAL, NOBODY, Game, RulesError, outcome_of
from tricktable_env.registry import make_game

_OF_MATCHES = ("rounds_to_win", "match_reward")
"""Rules of a match of rounds; a record is one round."""


class RecordError(ValueError):
    """A record that can't be read, breaks the rules, or states what did not happen.

    Args:
        message: what is wrong and what would be right.
        ply: the index of the play at fault, None where it is not a play.
    """

    def __init__(self, message: str, ply: int | None = None) -> None:
        self.ply = ply
        super().__init__(message)

    def as_json(self) -> dict[str, Any]:
        """Returns the JSON line of a record that fails."""
        return {"ok": False, "error": str(self), "ply": self.ply}


@dataclass(frozen=True)
class Replay:
    """A record played through."""

    outcome: Mapping[str, Any]
    """`tricks` or `points`, and `winner`, which is None while the round is not over."""
    legal_counts: tuple[int, ...]
    """Number of legal actions at every play."""

    def as_json(self) -> dict[str, Any]:
        """Returns the JSON line of a record that replays."""
        return {"ok": True, **self.outcome, "legal_counts": list(self.legal_counts)}


# -- reading ---------------------------------------------------------------------------------
def replay_lines(lines: Iterable[bytes]) -> Iterator[tuple[int, Replay | RecordError]]:
    """Plays the record of every line that is not blank.

    Args:
        lines: the lines of a file, as UTF-8.

    Yields:
        The line's number, from 1, and its replay or what is wrong with it.
    """
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                yield number, replay_record(read_record(line))
            except RecordError as error:
                yield number, error


def read_record(line: bytes | str) -> dict[str, Any]:
    """Reads a line.

    Raises:
        RecordError: no JSON object.
    """
    try:
        record = json.loads(line, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise RecordError(f"no JSON: {error}") from error
    if not isinstance(record, dict):
        raise RecordError(f"no record: {_short(record)} is not a JSON object")
    return record


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number of JSON")


def replay_record(record: Mapping[str, Any]) -> Replay:
    """Plays a record through the engine and compares what it states with what happened.

    Raises:
        RecordError: a field is missing or makes no sense, a play is illegal, or tricks, winner or
            legal counts are others than stated.
    """
    game = game_of(record)
    plays = record.get("plays")
    if not isinstance(plays, list):
        found = _short(plays) if "plays" in record else "missing"
        raise RecordError(f"'plays' is {found}, not a list of calls and cards")
    state = game.new(np.zeros(1, np.uint64))
    try:
        game.place(state[0], _text_of(record, "position"))
    except ValueError as error:
        raise RecordError(str(error)) from error
    counts: list[int] = []
    over = False
    for ply, text in enumerate(plays):
        if over:
            raise RecordError(f"ply {ply}: {_short(text)} is played when the round is over", ply)
        count, over = _play(game, state, text, ply)
        counts.append(count)
    outcome = _outcome(game, state[0])
    _check_stated(record, outcome, counts)
    return Replay(outcome, tuple(counts))


def game_of(record: Mapping[str, Any]) -> Game:
    """Makes the game of a single round that a record is of.

    Raises:
        RecordError: no such game, or rules that make no sense.
    """
    rules = record.get("rules", {})
    if not isinstance(rules, dict):
        raise RecordError(f"'rules' is {_short(rules)}, not an object of options")
    name = _text_of(record, "game")
    try:
        return one_round(make_game(name, **rules))
    except RulesError as error:
        raise RecordError(str(error)) from error


def _play(game: Game, state: Words, text: object, ply: int) -> tuple[int, bool]:
    """Plays one action; returns how many were legal and whether the round is over."""
    if not isinstance(text, str):
        raise RecordError(f"ply {ply}: {_short(text)} is no text of a call or card", ply)
    try:
        action = game.read_action(text)
    except ValueError as error:
        raise RecordError(f"ply {ply}: {error}", ply) from error
    rows = np.zeros(1, np.int64)
    mask = game.masks(game.views(state, rows, game.players(state, rows)))[0]
    status, _ = game.step(state, rows, np.array([action]))
    if status[0] == ILLEGAL:
        legal = ", ".join(game.action_text(int(i)) for i in np.flatnonzero(mask))
        raise RecordError(f"ply {ply}: {text} is illegal; legal: {legal}", ply)
    return int(mask.sum()), bool(status[0] == ENDED)


def _outcome(game: Game, state: Words) -> dict[str, Any]:
    result = {key: _plain(value) for key, value in outcome_of(game, state).items()}
    return result | {"winner": result.pop("winner")}  # the winner comes last


def _check_stated(record: Mapping[str, Any], outcome: Mapping[str, Any], counts: list[int]) -> None:
    for key, played in outcome.items():
        if record.get(key) not in (None, played):
            over = "the round gives" if outcome["winner"] else f"after {len(counts)} plays it is"
            raise RecordError(
                f"{key!r} is stated as {_short(record[key])}, but {over} {json.dumps(played)}",
                len(counts),
            )
    stated = record.get("legal_counts")
    if stated is None:
        return
    if not isinstance(stated, list):
        raise RecordError(f"'legal_counts' is {_short(stated)}, not a list of numbers")
    for ply, (count, said) in enumerate(zip(counts, stated, strict=False)):
        if count != said:
            raise RecordError(
                f"ply {ply}: {count} actions are legal, but {_short(said)} are stated", ply
            )
    if len(stated) != len(counts):
        raise RecordError(f"'legal_counts' has {len(stated)} numbers for {len(counts)} plays")


def _text_of(record: Mapping[str, Any], key: str) -> str:
    value = record.get(key)
    if not isinstance(value, str):
        raise RecordError(f"{key!r} is {_short(value) if key in record else 'missing'}, not a text")
    return value


def _short(value: object) -> str:
    """JSON's text of a value, cut to what a line can bear."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _plain(value: object) -> object:
    return value.tolist() if isinstance(value, np.ndarray) else value


# -- writing ---------------------------------------------------------------------------------
def record_of(game: Game, state: Words, **more: Any) -> dict[str, Any]:
    """Makes the record of a round, finished or not, from all that its state remembers.

    Args:
        game: the game with its rules.
        state: `[W] uint64`; of a match of rounds, a state at the end of the last one.
        **more: what the writer adds: agents, seed, time.

    Raises:
        PositionError: the state is a view, which lacks the hidden cards.
    """
    position, actions = game.record(state)
    record = {
        "game": game.name,
        "rules": rules_of(game),
        "position": position,
        "plays": [game.action_text(action) for action in actions],
    }
    over = game.players(state[None], np.zeros(1, np.int64))[0] == NOBODY
    return record | (_outcome(game, state) if over else {}) | more


def one_round(game: Game) -> Game:
    """Makes the game of a single round of a match; of any other game, its equal."""
    options = {k: v for k, v in rules_of(game).items() if k not in _OF_MATCHES}
    return make_game(game.name, **options)


def rules_of(game: Game) -> dict[str, Any]:
    """Lists the options that differ from the default, leaving out what follows from the others.

    A game made with them has the same rules.
    """
    rules, kind = game.rules, type(game.rules)
    # An option's own default, not its value by default: a value may follow from other options.
    chosen = {f.name: getattr(rules, f.name) for f in fields(rules)}
    chosen = {f.name: chosen[f.name] for f in fields(rules) if chosen[f.name] != f.default}
    for key in list(chosen):
        rest = {k: v for k, v in chosen.items() if k != key}
        try:
            if kind(**rest) == rules:
                chosen = rest
        except RulesError:
            continue
    return chosen


def write_record(file: TextIO, record: Mapping[str, Any]) -> None:
    """Writes a record as one line."""
    file.write(json.dumps(record) + "\n")
