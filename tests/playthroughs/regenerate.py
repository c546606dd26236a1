"""Writes the playthrough files beside it: games whose every step can be read, and seen to change.

Run it after a change of the rules, the texts or the observation that is meant, and review the
difference as part of the change:

    python tests/playthroughs/regenerate.py
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tricktable_env.cards import RANKS, Words
from tricktable_env.game import ENDED, NOBODY, Game, outcome_of
from tricktable_env.registry import make_game
from tricktable_env.render import picture

FOLDER = Path(__file__).parent
GAMES: dict[str, tuple[str, int, dict[str, Any]]] = {
    "tableau": ("tableau", 0, {}),
    "tableau-small": (
        "tableau",
        1,
        {"suits": 2, "ranks": 4, "hand": 2, "piles": 1, "tie": "draw", "reward": "margin"},
    ),
    "tableau-dealer-leads-no-call": (
        "tableau",
        2,
        {"suits": 3, "ranks": 7, "hand": 4, "piles": 3, "trump": "random", "first_lead": "dealer"},
    ),
    "tableau-match": (
        "tableau",
        5,
        {"suits": 2, "ranks": 5, "hand": 3, "piles": 1, "call_cards": 1, "rounds_to_win": 2},
    ),
    "honors": ("honors", 0, {}),
    "honors-announced": (
        "honors",
        1,
        {"num_players": 3, "stock": "redeal", "announce": True, "reward": "points"},
    ),
    "honors-seven": (
        "honors",
        2,
        {"num_players": 7, "suits": 2, "ranks": 11, "hand": 2, "announce": True},
    ),
}
"""Name of a file: the game, the seed, the rules."""
PICTURE_EVERY = 13
"""Plies between two pictures of the table."""
ROW = np.zeros(1, np.int64)


def playthrough(name: str, seed: int, rules: dict[str, Any]) -> str:
    """Plays a game, by no stream of random numbers that a library could change, and describes it.

    Args:
        name: name of the game.
        seed: seed of the deals.
        rules: options that differ from the default.

    Returns:
        The text of the file.
    """
    game = make_game(name, **rules)
    states = game.new(np.array([seed], np.uint64))
    game.deal(states, ROW)
    lines = [f"game: {name}", f"rules: {json.dumps(rules)}", f"seed: {seed}"]
    lines += [
        f"sizes: observation {game.observation_size}, history {game.history_size}, "
        f"full {game.full_size}, actions {game.num_actions}"
    ]
    status = 0
    ply = 0
    while status != ENDED:
        lines += ["", f"ply {ply}", *describe(game, states)]
        if ply % PICTURE_EVERY == 0:
            lines += ["picture:", *indented(picture(game, states[0], seat_to_act(game, states)))]
        mask = game.masks(game.views(states, ROW, game.players(states, ROW)))[0]
        legal = np.flatnonzero(mask)
        action = int(legal[(5 * ply + 3) % len(legal)])
        statuses, paid = game.step(states, ROW, np.array([action]))
        status = int(statuses[0])
        lines += [f"legal: {', '.join(game.action_text(int(each)) for each in legal)}"]
        lines += [f"action: {game.action_text(action)}"]
        lines += [f"pays: {' '.join(f'{each:g}' for each in paid[0].tolist())}"]
        ply += 1
    outcome = {
        key: np.asarray(value).tolist() for key, value in outcome_of(game, states[0]).items()
    }
    lines += ["", "end", *describe(game, states), f"outcome: {json.dumps(outcome)}"]
    lines += ["picture:", *indented(picture(game, states[0]))]
    return "\n".join(lines) + "\n"


def seat_to_act(game: Game, states: Words) -> int:
    """Returns the seat that acts next."""
    return game.seat_of(states[0], int(game.players(states, ROW)[0]))


def describe(game: Game, states: Words) -> Iterator[str]:
    """Yields what is true and what each player is shown, in words where it is to act."""
    state = states[0]
    actor = int(game.players(states, ROW)[0])
    yield f"position: {game.position(state)}"
    yield f"to act: {'nobody' if actor == NOBODY else f'player {actor}'}"
    for player in range(game.num_players):
        players = np.array([player])
        seat = game.seat_of(state, player)
        observation, _ = game.observe(states, ROW, players)
        history = game.histories(states, ROW, players)[0]
        full = game.observe_full(states, ROW, players)
        yield f"player {player} is seat {seat}"
        yield f"  sees: {game.position(state, seat)}"
        if player == actor or actor == NOBODY:
            yield f"  knows: {game.information_state(state, seat)}"
            yield f"  observation: {named(game, observation[0])}"
        yield f"  digests: {digest(observation)} {digest(history)} {digest(full)}"
    codes = np.trim_zeros(history, "b")
    yield f"history: {' '.join(str(code) for code in codes)}".rstrip()


def named(game: Game, observation: np.ndarray) -> str:
    """Writes what is not zero in an observation, by the names of the layout; not the mask."""
    parts = []
    for part in game.layout[:-1]:
        values = observation[part.start : part.start + part.size]
        if not values.any():
            continue
        if part.size == len(RANKS):
            ranks = "".join(RANKS[rank] for rank in np.flatnonzero(values)[::-1])
            parts.append(f"{part.name}={ranks}")
        else:
            parts.append(part.name if part.high == 1 else f"{part.name}={values[0]}")
    return " ".join(parts)


def digest(array: np.ndarray) -> str:
    """Returns a short digest of an array."""
    return hashlib.sha256(array.tobytes()).hexdigest()[:12]


def indented(text: str) -> list[str]:
    """Returns the lines of a text, indented and without spaces at their ends."""
    return [f"  {line}".rstrip() for line in text.splitlines()]


def main() -> None:
    """Writes all files."""
    for file, (name, seed, rules) in GAMES.items():
        (FOLDER / f"{file}.txt").write_text(playthrough(name, seed, rules), encoding="utf-8")


if __name__ == "__main__":
    main()
