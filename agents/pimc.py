"""The agent `pimc`: sampled worlds, the last tricks solved with all cards known."""

from __future__ import annotations

from queue import Empty, SimpleQueue

from agents import pimc_tableau
from agents.playouts_tableau import HEAD_START, values_of
from agents.worlds import SearchAgent, Totals, check_number, head_start_of
from tricktable_env.cards import Words
from tricktable_env.game import Game
from tricktable_env.opponents import AgentSpecError
from tricktable_env.tableau.solver import new_memory

_ENTRIES = 1 << 16
MAX_TRICKS = 26


class PimcAgent(SearchAgent):
    """Solves the last tricks of sampled worlds; perfect once all cards are known. Tableau only.

    Perfect information Monte Carlo. Greedy play leads to the last tricks, as in `montecarlo`. When
    what has been seen leaves one deal, which it does once no card is face down, that is solved and
    the play is optimal whatever the other seat does (after the call, and from 18 tricks left on).

    Args:
        game: the game to play.
        worlds: how many worlds a decision takes.
        exact: how many tricks at the end are solved.
        postpone: how many tricks, from this one on, are played greedily before any is solved.
        head_start: as of `montecarlo`.
        seconds: how long a decision takes, in place of a number of worlds; None: no clock.
        threads: threads that share the worlds.

    Raises:
        AgentSpecError: a number out of range, or a game without a solver.
    """

    slice_size = 2

    def __init__(
        self,
        game: Game,
        worlds: int = 50,
        exact: int = 8,
        postpone: int = 0,
        head_start: float = HEAD_START,
        seconds: float | None = None,
        threads: int = 1,
    ) -> None:
        if game.name != "tableau":
            raise AgentSpecError(f"pimc does not play {game.name!r}: only tableau has a solver")
        check_number("exact", exact, 0, pimc_tableau.MOST_SOLVED)
        check_number("postpone", postpone, 0, MAX_TRICKS)
        super().__init__(game, worlds, seconds, threads)
        self.exact, self.postpone = exact, postpone
        self._values = values_of(game)
        self.head_start = head_start
        self._ahead = head_start_of(head_start, self._values)
        self._memories: SimpleQueue[Words] = SimpleQueue()  # as many as threads ever needed at once

    def __reduce__(self) -> tuple[type[PimcAgent], tuple[object, ...]]:
        what = (self.worlds, self.exact, self.postpone, self.head_start)
        return type(self), (self.game, *what, self.seconds, self.threads)

    def add(
        self, views: Words, keys: Words, begin: int, step: int, end: int, totals: Totals
    ) -> None:
        """Adds what some worlds say; see `SearchAgent.add`."""
        try:
            memory = self._memories.get_nowait()
        except Empty:
            memory = new_memory(_ENTRIES)
        options = self.exact, self.postpone, self._values, self._ahead
        pimc_tableau.add_worlds(views, keys, begin, step, end, *options, memory, totals)
        self._memories.put(memory)
