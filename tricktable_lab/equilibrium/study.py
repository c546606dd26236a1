"""A game solved and agents judged by it: what `tricktable equilibrium` does."""

from __future__ import annotations

import io
import json
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from tricktable_env.files import write_whole
from tricktable_env.game import Game, RulesError
from tricktable_env.opponents import make_agent
from tricktable_env.tableau import Tableau
from tricktable_lab.equilibrium.agents import odds_of_agent, worth_of
from tricktable_lab.equilibrium.plans import Worth
from tricktable_lab.equilibrium.sizes import Size, count, guess
from tricktable_lab.equilibrium.solver import Solver
from tricktable_lab.equilibrium.tree import build
from tricktable_lab.equilibrium.walker import Watch
from tricktable_lab.interrupts import held_back
from tricktable_lab.replay import rules_of
from tricktable_lab.table import one_thread

FORMAT = 1
"""Version of the file; it goes up when older programs would misread a newer one."""
SAVE_EVERY = 300.0
"""Seconds between two writes of the file while the solver works."""

Told: TypeAlias = Callable[[str, int, int, str], None]
"""Called with what is being done, how much of it is done, how much there is, and a word on it."""


class TooLargeError(ValueError):
    """A game that would take more memory than is allowed."""


class EquilibriumFileError(ValueError):
    """A file that holds no equilibrium, or one of other rules; the message has its name."""


@dataclass(frozen=True)
class Judged:
    """What an agent is worth in both seats."""

    agent: str
    """Its spec."""
    worth: Worth
    """Against itself, and against the best replies."""


@dataclass
class Study:
    """A game, how far it is solved, and the agents judged.

    Raises:
        RulesError: no game of Tableau, or a match of several rounds.
        TooLargeError: it is too large.
    """

    game: Game
    """A single round of Tableau."""
    gigabytes: float = 8.0
    """The most memory that it may take."""
    agents: tuple[str, ...] = ()
    """Specs of agents to judge."""
    size: Size | None = None
    """The game's size, once counted."""
    solver: Solver | None = None
    """The solver, once the game is laid out."""
    worth: Worth | None = None
    """What the plans are worth that it has."""
    judged: list[Judged] = field(default_factory=list)
    """The agents judged so far."""
    seconds: dict[str, float] = field(default_factory=dict)
    """Processor time by what was done: counting, building, solving."""

    def __post_init__(self) -> None:
        if not isinstance(self.game, Tableau):
            raise RulesError(f"equilibrium knows tableau alone, not {self.game.name}")
        if self.game.rules.rounds_to_win != 1:
            raise RulesError(
                f"rounds_to_win={self.game.rules.rounds_to_win}: equilibrium solves one round; "
                "leave it at 1"
            )
        about = guess(self.game)
        needed = max(about.solving, about.asking if self.agents else 0.0) / 1e9
        if needed > self.gigabytes:
            raise TooLargeError(
                f"{_deck_text(self.game)} goes about {about.leaves:.1e} ways, for which "
                f"{'judging an agent' if needed > about.solving / 1e9 else 'solving'} may take "
                f"{needed:.2g} GB, not {self.gigabytes:g}; take a smaller deck, as suits=2, "
                "ranks=5, hand=3, piles=1, or allow more --memory"
            )
        self._looked = 0
        """The iterations after which `worth` was found."""
        self._players = [make_agent(spec, self.game) for spec in self.agents]

    # -- working -----------------------------------------------------------------------------
    def prepare(self, told: Told, counting: bool = True) -> None:
        """Counts the game, if wanted, and lays it out."""
        assert isinstance(self.game, Tableau)
        with held_back():  # compilation, which is no time of this game's
            least = Tableau(suits=2, ranks=3, hand=1, piles=1)
            count(least)
            warmed = Solver(build(least))
            warmed.iterate()
            warmed.worth()
        if counting:
            began = time.process_time()
            self.size = count(self.game, _tables("counting", told))
            self._took("counting", began)
        began = time.process_time()
        tree = build(self.game, watch=_tables("building", told))
        self.solver = Solver(tree)
        self._took("building", began)

    def solve(self, target: float, most: int, told: Told, file: Path | None = None) -> None:
        """Lets the solver learn until NashConv is below the target.

        Args:
            target: the NashConv wanted.
            most: iterations at most.
            told: told of every iteration.
            file: kept there now and then, and at the end, also one by Ctrl-C.
        """
        assert self.solver is not None
        solver, saved = self.solver, time.monotonic()
        try:
            while True:
                if solver.iterations >= min(self._next_look, most):
                    self._weigh()
                gap = self.nash_conv
                told("solving", solver.iterations, most, f"NashConv {gap:.2g}")
                if gap < target or solver.iterations >= most:
                    return
                with held_back():  # or plans would be half learnt
                    began = time.process_time()
                    solver.iterate()
                    self._took("solving", began)
                if file is not None and time.monotonic() - saved > SAVE_EVERY:
                    self.save(file)
                    saved = time.monotonic()
        finally:
            with held_back():
                self._weigh()
                if file is not None:
                    self.save(file)

    @property
    def _next_look(self) -> int:
        """When to look at what the plans are worth again, which takes as long as an iteration."""
        return 0 if self.worth is None else self._looked + max(5, self._looked // 10)

    @property
    def nash_conv(self) -> float:
        """NashConv when it was last looked at."""
        return self.worth.nash_conv if self.worth is not None else float("inf")

    def judge(self, told: Told) -> None:
        """Judges the agents."""
        assert isinstance(self.game, Tableau)
        for spec, agent in zip(self.agents, self._players, strict=True):
            odds, watch = odds_of_agent(agent, spec), _tables(f"asking {spec}", told)
            with one_thread():
                worth = worth_of(self.game, odds, watch)
            self.judged.append(Judged(spec, worth))

    def _weigh(self) -> None:
        """Looks at what the plans are worth, unless that is known."""
        assert self.solver is not None
        done = self.solver.iterations
        if self.worth is None or done > self._looked:
            began = time.process_time()
            self.worth, self._looked = self.solver.worth(), done
            self._took("solving", began)

    def _took(self, what: str, began: float) -> None:
        self.seconds[what] = self.seconds.get(what, 0.0) + time.process_time() - began

    # -- keeping -----------------------------------------------------------------------------
    def save(self, file: Path) -> None:
        """Keeps where the solver stands: arrays, and the result as JSON; whole or not at all.

        Raises:
            OSError: it can't be written.
        """
        assert self.solver is not None
        told = {"format": FORMAT, "all_rules": vars(self.game.rules), **self.as_json()}
        content = io.BytesIO()
        np.savez(content, result=np.array(json.dumps(told)), **self.solver.kept())
        write_whole({file: content.getvalue()})

    def resume(self, file: Path) -> None:
        """Goes on from a file, if there is one.

        Raises:
            EquilibriumFileError: it is of other rules, or no such file.
            OSError: it can't be read.
        """
        assert self.solver is not None
        if not file.exists():
            return
        check_file(file, self.game)
        try:
            with np.load(file, allow_pickle=False) as kept:
                self.solver.restore(kept)
                told = json.loads(str(kept["result"]))
                self.seconds["solving"] = float(told["seconds"]["solving"])
        except (ValueError, KeyError, TypeError, OverflowError, zipfile.BadZipFile) as error:
            raise EquilibriumFileError(f"{file}: no equilibrium to go on with: {error}") from None

    # -- telling -----------------------------------------------------------------------------
    def as_json(self) -> dict[str, Any]:
        """Returns what is known as JSON has it; what is not known is null."""
        size, solver, worth = self.size, self.solver, self.worth
        told: dict[str, Any] = {"game": self.game.name, "rules": rules_of(self.game)}
        told["call_cards"] = self.game.rules.call_cards
        told["leaves"] = size.leaves if size else None
        told["information_states"] = list(size.information_states) if size else None
        sides = solver.tree.sides if solver else ()
        told["decisions"] = [len(side.parent) for side in sides] or None
        told["sequences"] = [side.sequences for side in sides] or None
        told["ends"] = len(solver.tree.paid) if solver else None
        told["value"] = [worth.low, worth.high] if worth else None
        told["caller_win_share"] = None
        if worth and self.game.rules.reward == "win":
            told["caller_win_share"] = [(1 + worth.low) / 2, (1 + worth.high) / 2]
        told["nash_conv"] = worth.nash_conv if worth else None
        told["iterations"] = solver.iterations if solver else None
        told["seconds"] = {what: round(took, 2) for what, took in self.seconds.items()}
        told["peak_memory_gb"] = peak_memory()
        told["agents"] = [_judged_json(one, worth) for one in self.judged]
        return told


def check_file(file: Path, game: Game) -> None:
    """Refuses a file that holds something else than the equilibrium of a game; none is fine.

    Raises:
        EquilibriumFileError: it does.
        OSError: it can't be read.
    """
    if not file.exists():
        return
    if not file.is_file():
        raise EquilibriumFileError(f"{file} is no ordinary file, which an equilibrium is kept in")
    try:
        with np.load(file, allow_pickle=False) as kept:
            told = json.loads(str(kept["result"]))
            version, rules = told["format"], dict(told["all_rules"])
    except (ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise EquilibriumFileError(f"{file}: no equilibrium: {error}") from None
    if version != FORMAT:
        raise EquilibriumFileError(f"{file}: format is {version!r}, and must be {FORMAT}")
    for key, here in vars(game.rules).items():
        if rules.get(key) != here:
            raise EquilibriumFileError(
                f"{file} is of {key}={rules.get(key)}, but here it is {here}; take another file"
            )


def _judged_json(judged: Judged, solved: Worth | None) -> dict[str, Any]:
    """What is told of an agent; what its seats lose lies between bounds, as the game's value."""
    worth = judged.worth
    told: dict[str, Any] = {"agent": judged.agent, "nash_conv": worth.nash_conv}
    told |= {"value": worth.value, "best_dealer": worth.low, "best_caller": worth.high}
    told["caller_loses"] = told["dealer_loses"] = None
    if solved is not None:
        told["caller_loses"] = [max(0.0, v - worth.low) for v in (solved.low, solved.high)]
        told["dealer_loses"] = [max(0.0, worth.high - v) for v in (solved.high, solved.low)]
    return told


def peak_memory() -> float | None:
    """The most memory that the process has taken, in GB; None where nobody counts."""
    try:
        import resource
    except ImportError:
        return None
    import sys

    unit = 1 if sys.platform == "darwin" else 1024
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9, 2)


def _tables(what: str, told: Told) -> Watch:
    return lambda done, of: told(what, done, of, "")


def _deck_text(game: Game) -> str:
    rules = game.rules
    named = ("suits", "ranks", "hand", "piles")
    return ", ".join(f"{name}={getattr(rules, name)}" for name in named)
