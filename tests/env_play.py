"""What the tests of the environments share: makers, ways to play, and a strict comparison."""

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.utils.env_checker import data_equivalence

ID = "TrickTable/Tableau-v0"
ROOT = Path(__file__).parent.parent
SMALL: dict[str, Any] = {"suits": 3, "ranks": 8, "hand": 3, "piles": 2}
LAST_TRICK_WON = "C S - 13-12 A... - .K.. -"
LAST_TRICK_LOST = "C S - 12-13 2... - A... -"


def make(**options: Any) -> Any:
    return gymnasium.make(ID, **options)


def make_vec(n: int, **options: Any) -> Any:
    return gymnasium.make_vec(ID, num_envs=n, **options)


def legal_choice(info: dict[str, Any], rng: np.random.Generator) -> int:
    return int(rng.choice(np.flatnonzero(info["action_mask"])))


def legal_choices(masks: Any, rng: np.random.Generator) -> Any:
    """A random legal action for each row."""
    return (rng.random(masks.shape) * masks).argmax(1)


def play(env: Any, rng: np.random.Generator, **reset: Any) -> list[Any]:
    """Plays an episode of random legal actions; all that the environment gave."""
    given = [env.reset(**reset)]
    while True:
        given.append(env.step(legal_choice(given[-1][-1], rng)))
        if given[-1][2]:
            return given


def last_legal(observation: Any, info: dict[str, Any]) -> int:
    """An opponent that is a plain callable."""
    return int(np.flatnonzero(info["action_mask"])[-1])


def first_legal(observation: Any, info: dict[str, Any]) -> int:
    """Another."""
    return int(np.flatnonzero(info["action_mask"])[0])


class FirstLegal:
    """An opponent that is an agent."""

    def act(self, view: Any, mask: Any, rng: np.random.Generator) -> int:
        return int(np.flatnonzero(mask)[0])


def same(one: Any, other: Any) -> bool:
    """Whether two things given by environments are equal in every value, type and shape."""
    return bool(data_equivalence(one, other, exact=True))
