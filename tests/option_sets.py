"""Sets of Tableau's options under which every adapter is tried."""

from typing import Any

OPTION_SETS: list[dict[str, Any]] = [
    {},
    {"suits": 2, "ranks": 6, "hand": 2, "piles": 1},
    {"suits": 3, "ranks": 8, "hand": 3, "piles": 0, "trump": "none", "tie": "caller"},
    {"trump": "random", "first_lead": "dealer"},
    {"ranks": 5, "hand": 4, "piles": 2, "rounds_to_win": 2},
    {"ranks": 5, "hand": 4, "piles": 2, "rounds_to_win": 2, "match_reward": "round"},
    {"reward": "margin", "tie": "draw"},
    {"ranks": 4, "hand": 2, "piles": 1, "reward": "margin", "rounds_to_win": 3, "call_cards": 0},
]


def name_of(options: dict[str, Any]) -> str:
    return ",".join(f"{key}={value}" for key, value in options.items()) or "default"
