"""The study of the call with all cards known: deals solved, agents asked, figures."""

from __future__ import annotations

import contextlib
import itertools
import pickle
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from tricktable_env.cards import Mask
from tricktable_env.game import Game
from tricktable_env.opponents import decide, decision_streams, make_agent
from tricktable_env.registry import make_game
from tricktable_env.tableau import Rules
from tricktable_env.tableau.state import CALL
from tricktable_lab.advantage.deals import paired, seen_at_call, stream_seeds
from tricktable_lab.interrupts import held_back
from tricktable_lab.known.report import Calls, Deals, figures, lengths
from tricktable_lab.known.valuefile import ValueFile
from tricktable_lab.known.values import (
    NO_TRUMP,
    Known,
    Questions,
    Solved,
    decided,
    exactly,
    nothing,
)
from tricktable_lab.recordfile import kept_file
from tricktable_lab.replay import rules_of
from tricktable_lab.table import CHUNK_DEALS, MatchError, check_numbers, compile_for, one_thread
from tricktable_lab.workers import share_out

Watch: TypeAlias = Callable[[int], None]
"""Called with the number of deals solved so far."""


class CallsError(ValueError):
    """A study that can't be made."""


class CallsStoppedError(Exception):
    """The study was stopped; `result` is that of the deals solved, None if there are none.

    Args:
        result: the result so far.
        why: what stopped it, in words.
    """

    def __init__(self, result: CallsResult | None, why: str) -> None:
        self.result = result
        super().__init__(why)


@dataclass(frozen=True)
class CallsResult:
    """What calls are worth with all cards known."""

    rules: dict[str, Any]
    """The rules that differ from the default."""
    seed: int
    """Of the deals."""
    deals: int
    """Deals solved, each counted as dealt and mirrored."""
    tricks_deals: int
    """Those of them of which the tricks were counted."""
    figures: dict[str, Any]
    """Means with intervals over deals, see `report.figures` and `report.lengths`."""
    seconds: float = field(compare=False)
    """Time taken, without what was read back from records."""

    def as_json(self) -> dict[str, Any]:
        """Returns it as JSON has it."""
        keys = ("rules", "seed", "deals", "tricks_deals")
        told = {"game": "tableau"} | {key: getattr(self, key) for key in keys}
        return told | self.figures | {"seconds": self.seconds}


def study_calls(
    game: Game,
    agents: Sequence[str],
    deals: int,
    seed: int,
    workers: int = 1,
    *,
    seen: Sequence[int] = (),
    tricks: int = 0,
    no_trump: bool = False,
    records: Path | None = None,
    watch: Watch | None = None,
) -> CallsResult:
    """Solves deals with each trump and lead, and asks agents what they would call.

    Args:
        game: Tableau; its `first_lead` and `tie` are those under which calls are compared.
        agents: specs.
        deals: how many.
        seed: 0 to 2**64 - 1; deal i is that of a match.
        workers: processes that solve, each with a table of up to 256 MiB.
        seen: the numbers of cards that agents see at the call; () is what the rules say.
        tricks: of so many of the first deals tricks are counted too.
        no_trump: whether no trump is asked about as well.
        records: a file that keeps what is solved, read first.
        watch: called after every deal.

    Raises:
        AgentSpecError: a spec that names no agent of this game.
        CallsError: rules or numbers that make no sense here.
        CallsStoppedError: Ctrl-C, or a process died; it has the result so far.
        MatchError: an agent called what can't be called.
        MatchOptionError: a number out of range.
        OSError: the file can't be written.
        RecordFileError: it holds something else.
    """
    check_numbers(deals, seed, workers)
    _check(game, deals, seen, tricks)
    start = time.perf_counter()
    with held_back():
        callers = [
            _Caller(game, agent, cards)
            for agent in dict.fromkeys(agents)
            for cards in dict.fromkeys(seen or (game.rules.call_cards,))
        ]
    trumps = [*range(game.rules.suits), *([NO_TRUMP] if no_trump else [])]
    known: dict[int, Known] = {}
    stopped = None
    try:
        with _value_file(records, game.rules, seed) as file:
            known |= {} if file is None else file.known
            asked = Questions(game.rules, seed, trumps, tricks, known.copy())
            for one in _solved(asked, deals, workers, watch):
                if file is not None:
                    file.write(one)
                known[one.deal] = one.known
    except (KeyboardInterrupt, BrokenProcessPool) as stop:
        stopped = "a worker process died" if isinstance(stop, BrokenProcessPool) else "stopped"
    whole, counted = _leading(known, deals, trumps, tricks, game.rules.tricks)
    result = None
    if len(whole):
        told = _figures(game, seed, whole, counted, callers, no_trump)
        seconds = time.perf_counter() - start
        result = CallsResult(rules_of(game), seed, len(whole), counted, told, seconds)
    if stopped is not None or result is None:
        raise CallsStoppedError(result, stopped or "nothing was solved")
    return result


def _leading(
    known: Mapping[int, Known], deals: int, trumps: Sequence[int], tricks: int, total: int
) -> tuple[Known, int]:
    """What is known of the deals before the first one that is not solved.

    Deals that several processes finished after that one don't count: it takes long, and who left
    out such deals would see too many of those that are soon decided.

    Returns:
        `[n, TRUMPS, LEADS, 2]`; and of how many of them, from the first on, the tricks are counted.
    """
    solved = itertools.takewhile(lambda deal: deal in known, range(deals))
    bounds = np.array([known[deal] for deal in solved], np.int8).reshape(-1, *nothing(total).shape)
    of_trumps = bounds[:, list(trumps)]
    whole = int(decided(of_trumps, total).all(axis=(1, 2)).cumprod().sum())
    counted = int(exactly(of_trumps[:tricks]).all(axis=(1, 2)).cumprod().sum())
    return bounds[:whole], counted


def _check(game: Game, deals: int, seen: Sequence[int], tricks: int) -> None:
    if game.name != "tableau":
        raise CallsError(f"calls are studied in tableau, not in {game.name}: it has a solver")
    rules = game.rules
    if rules.trump != "call":
        raise CallsError(f"rule trump={rules.trump}: in this study trump is called")
    if rules.rounds_to_win != 1:
        raise CallsError(f"rule rounds_to_win={rules.rounds_to_win}: this is of single rounds")
    for cards in seen:
        if not 0 <= cards <= rules.hand:
            raise CallsError(f"seen={cards} is not from 0 to {rules.hand}, the cards of a hand")
    if not 0 <= tricks <= deals:
        raise CallsError(f"tricks={tricks} is not from 0 to deals={deals}")


@contextlib.contextmanager
def _value_file(path: Path | None, rules: Rules, seed: int) -> Iterator[ValueFile | None]:
    if path is None:
        yield None
        return
    with kept_file(path) as file:
        yield ValueFile(file, path, rules, seed)


def _solved(
    questions: Questions, deals: int, workers: int, watch: Watch | None
) -> Iterator[Solved]:
    """Solves the first deals as far as they are not yet: here in order, elsewhere in any."""
    todo = [deal for deal in range(deals) if not questions.is_answered(deal)]
    done = itertools.count(deals - len(todo))
    if watch is not None:
        watch(next(done))
    jobs = ((0, 0, deal, 1) for deal in todo)
    with contextlib.ExitStack() as stack:
        if workers == 1 or len(todo) < 2:
            found = (questions.play(*job) for job in jobs)
        else:
            parcel = pickle.dumps((Questions, questions.settings))
            shared = stack.enter_context(contextlib.closing(share_out(parcel, jobs, workers)))
            found = (solved for _, solved in shared)
        for solved in found:
            yield from solved
            if watch is not None:
                watch(next(done))


class _Caller:
    """An agent that has seen some of its cards when it calls."""

    def __init__(self, game: Game, spec: str, seen: int) -> None:
        self._game = make_game("tableau", **rules_of(game) | {"call_cards": seen})
        self._spec, self._seen = spec, seen
        self._agent = make_agent(spec, self._game)
        compile_for(self._game, self._agent)

    def calls(self, seed: int, deals: int) -> Calls:
        """Asks for its call in the first deals of a seed, as dealt and mirrored.

        Raises:
            MatchError: it calls what can't be called.
        """
        suits = []
        for first in range(0, deals, CHUNK_DEALS):
            count = min(CHUNK_DEALS, deals - first)
            states = paired(self._game, seed, first, count)
            rows = np.arange(len(states))
            caller = np.zeros_like(rows)
            views = self._game.views(states, rows, caller)
            masks = self._game.masks(views)
            seeds = stream_seeds(seed, count)
            streams = decision_streams(seeds, first + rows // 2, caller, caller)
            with one_thread():
                actions = decide(self._agent, views, masks, streams)
            for row in rows:
                self._check(masks[row], int(actions[row]), first + int(row) // 2)
            suits.append(actions - CALL)
        return Calls(self._spec, self._seen, np.concatenate(suits).reshape(deals, 2))

    def _check(self, mask: Mask, action: int, deal: int) -> None:
        if 0 <= action < self._game.num_actions and mask[action]:
            return
        known = 0 <= action < self._game.num_actions
        said = self._game.action_text(action) if known else str(action)
        legal = ", ".join(self._game.action_text(int(i)) for i in np.flatnonzero(mask))
        raise MatchError(f"agent {self._spec!r} called {said} in deal {deal}; legal: {legal}")


def _figures(
    game: Game,
    seed: int,
    known: Known,
    counted: int,
    callers: Sequence[_Caller],
    no_trump: bool,
) -> dict[str, Any]:
    calls = [caller.calls(seed, len(known)) for caller in callers]
    deals = Deals(known, game.rules)
    exact = Deals(known[:counted], game.rules) if counted else None
    as_ruled = [one for one in calls if one.seen == game.rules.call_cards]
    longest, _ = seen_at_call(paired(game, seed, 0, len(known)))
    told = figures(deals, exact, calls, no_trump)
    return told | {"lengths": lengths(deals, as_ruled, longest.reshape(-1, 2))}
