"""Equilibria of reduced decks: how the caller's share moves with the deck and the rules.

What `tricktable equilibrium --json` tells of each set of rules goes to a file, a line of a list
each; a set that is there already is left alone, so a second run goes on with the first.

    python benchmarks/equilibrium.py --file docs/advantage/equilibrium.json
    python benchmarks/equilibrium.py --large --policy runs/2x4

About seven minutes of processor time, with --large ten and 5 GB. The policy is of

    python train.py --rule suits=2 --rule ranks=4 --rule hand=2 --rule piles=1 \
        --decisions 200000 --processes 1 --worlds 0 --eval-deals 1000 --out runs/2x4
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import tyro
from rich.console import Console

from tricktable_env.files import write_whole
from tricktable_env.registry import make_game
from tricktable_lab.replay import rules_of

SIZES = {"2x3": (2, 3, 1, 1), "2x4": (2, 4, 2, 1), "3x3": (3, 3, 2, 1), "2x5": (2, 5, 3, 1)}
"""Decks whose leaves are counted with the first batch seen at the call, and with the hand."""
OTHERS = ((4, 2, 2, 1), (2, 5, 2, 1))
"""Decks for how the value moves with their size: suits, ranks, hand, piles."""
LARGE = ((3, 4, 2, 1), (4, 3, 2, 1))
JUDGED = ("random", "greedy")


class Task(NamedTuple):
    """A set of rules to solve."""

    rules: dict[str, Any]
    counted: bool = False
    agents: tuple[str, ...] = ()


def tasks(large: bool, policy: tuple[str, ...]) -> Iterator[Task]:
    """The sets of rules, those that much rests on first."""
    for name, size in SIZES.items():
        deck = _deck(size)
        agents = (*JUDGED, *(f"policy:{path}" for path in policy)) if name == "2x4" else ()
        yield Task(deck, True, JUDGED if name in ("2x3", "3x3") else agents)
        if deck["hand"] > 1:
            yield Task(deck | {"call_cards": deck["hand"]}, True)
    for size in (*OTHERS, *(LARGE if large else ())):
        yield Task(_deck(size), True)
    for size in SIZES.values():
        deck = _deck(size)
        tied = (deck["hand"] + 2 * deck["piles"]) % 2 == 0
        for tie in ("dealer", "caller", "draw") if tied else ("dealer",):
            for lead in ("caller", "dealer"):
                options = {"tie": tie, "first_lead": lead}
                for seen in range(deck["hand"] + 1):
                    yield Task(deck | options | {"call_cards": seen})
                for trump in ("random", "none"):
                    yield Task(deck | options | {"trump": trump})
    for size in OTHERS:
        yield Task(_deck(size) | {"tie": "caller"})
    for size in (*OTHERS, *(LARGE if large else ())):
        fair = _deck(size) | {"tie": "draw"}
        yield from (Task(fair | {"first_lead": lead}) for lead in ("caller", "dealer"))
        yield Task(fair | {"trump": "random"})  # where the dealer leads it is the rest of this


def main(
    file: Path = Path("docs/advantage/equilibrium.json"),
    target: float = 0.001,
    large: bool = False,
    policy: tuple[str, ...] = (),
) -> None:
    """Solves what is not in the file yet.

    Args:
        file: where the results go.
        target: the NashConv wanted.
        large: also decks of twelve cards, of which two thirds are dealt.
        policy: run folders of train.py to judge on the deck 2 x 4.
    """
    found: list[dict[str, Any]] = json.loads(file.read_text()) if file.exists() else []
    console = Console(stderr=True)
    for task in tasks(large, policy):
        game = make_game("tableau", **task.rules)
        if any(told["rules"] == rules_of(game) for told in found):
            continue
        told = solve(task, target)
        found.append(told)
        console.print(told["rules"], told["caller_win_share"], told["seconds"])
        lines = ",\n".join(map(json.dumps, found))
        write_whole({file: f"[\n{lines}\n]\n".encode()})


def solve(task: Task, target: float) -> dict[str, Any]:
    """What the command tells, in a process of its own: so it counts the memory of this alone."""
    command = [sys.executable, "-m", "tricktable_lab.cli", "equilibrium", "--json"]
    command += ["--target", str(target), "--memory", "12"]
    command += [] if task.counted else ["--no-count"]
    command += [word for key, value in task.rules.items() for word in ("--rule", f"{key}={value}")]
    command += [word for agent in task.agents for word in ("--agent", agent)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def _deck(size: tuple[int, int, int, int]) -> dict[str, Any]:
    return dict(zip(("suits", "ranks", "hand", "piles"), size, strict=True))


if __name__ == "__main__":
    tyro.cli(main)
