"""A person against agents, in a terminal or through pipes.

It goes by the verbs of `tricktable_env.game` and the pictures of `tricktable_env.render`, so any
game will do. The deal, the seat and the agents' choices are those of the environment that is reset
with the same seed.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import signal
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from tricktable_env.cards import Seat
from tricktable_env.envs.seating import read_seat
from tricktable_env.envs.starts import seed_word
from tricktable_env.files import naming
from tricktable_env.game import ENDED, ILLEGAL, NOBODY, Action, Game, Player, outcome_of
from tricktable_env.opponents import decide, decision_streams, make_agent
from tricktable_env.render import picture, places
from tricktable_env.seats import ALTERNATE, draw_seat
from tricktable_lab.choices import ChoiceError, Choices
from tricktable_lab.interrupts import held_back
from tricktable_lab.replay import one_round, record_of, rules_of
from tricktable_lab.screen import EndOfInput, Screen
from tricktable_lab.table import compile_for

Keep: TypeAlias = Callable[[dict[str, Any]], None]
"""Called with the record of each round, the last one perhaps unfinished."""

HELP = """\
Choose by the number before a card or call, or by its text: AS, as, trump S.
Enter alone plays the only card that is legal.
legal: what you may choose
table: the table again
quit: stop; what was played is kept, as after Ctrl-C or the end of the input"""

_ROW = np.zeros(1, np.int64)


class PlayError(ValueError):
    """An opponent chose what the rules do not allow."""


class PlayOptionError(ValueError):
    """A seat or a seed that there is not."""


class _QuitError(Exception):
    """The person wants no more."""


# -- from the command line -------------------------------------------------------------------
def play(
    game: Game, opponent: str, seat: str, seed: int | None, record: Path | None, as_json: bool
) -> None:
    """Lets the person at stdin play an episode: a round, or a match of rounds.

    Args:
        game: the game with its rules.
        opponent: spec of the agent in all other seats.
        seat: the person's seat, as the environments take it.
        seed: 0 or more; None draws one.
        record: a file to which a record a round is added.
        as_json: whether records go to stdout, and all else to stderr.

    Raises:
        AgentSpecError: a spec that names no agent of this game.
        OSError: the file can't be written to.
        PlayError: the opponent chose what is not legal; the record is kept.
        PlayOptionError: no seat, or no seed.
    """
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")
    screen = Screen(sys.stderr if as_json else sys.stdout, sys.stdin)
    with _keeper(record, as_json) as keep:
        sitting = Sitting(game, opponent, seat, seed, screen, keep)
        try:
            with _ended_by_signals():
                sitting.play()
        except (_QuitError, EndOfInput, KeyboardInterrupt) as end:
            with held_back(), contextlib.suppress(OSError):  # the terminal may be gone
                screen.say(("\n" if isinstance(end, KeyboardInterrupt) else "") + "Stopped.")
        finally:
            with held_back():
                sitting.keep_record()
        if record is not None and sitting.has_kept:
            screen.say(f"The record is in {record}.")


@contextlib.contextmanager
def _keeper(file: Path | None, as_json: bool) -> Iterator[Keep]:
    """Opens the file at once, so that it is known to be writable before anything is played."""
    new = file is not None and not file.exists()
    with contextlib.ExitStack() as stack:
        opened = None
        if file is not None:  # unbuffered, so that nothing is left to fail when it is closed
            opened = stack.enter_context(file.open("ab+", buffering=0))

        def keep(record: dict[str, Any]) -> None:
            line = json.dumps(record) + "\n"
            if file is not None and opened is not None:
                with naming(file):
                    opened.write(_line_break(opened) + line.encode())
            if as_json:
                print(line, end="", flush=True)

        yield keep
    if file is not None and new and not file.stat().st_size:
        file.unlink()  # nothing was played


def _line_break(file: Any) -> bytes:
    """What ends the file's last line, where something left it open."""
    if not file.seekable() or not file.seek(0, io.SEEK_END):
        return b""
    file.seek(-1, io.SEEK_END)
    return b"" if file.read(1) == b"\n" else b"\n"


@contextlib.contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Ends as Ctrl-C does when the terminal is closed or the process is asked to end."""
    names = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {name: signal.getsignal(getattr(signal, name)) for name in names}
    for name in names:
        signal.signal(getattr(signal, name), signal.default_int_handler)
    try:
        yield
    finally:
        for name, handler in before.items():
            signal.signal(getattr(signal, name), handler or signal.SIG_DFL)


# -- at the table ----------------------------------------------------------------------------
class Sitting:
    """One episode with a person in it; see `play`."""

    def __init__(
        self, game: Game, opponent: str, seat: str, seed: int | None, screen: Screen, keep: Keep
    ) -> None:
        self.game, self.opponent, self.screen, self._keep = game, opponent, screen, keep
        entropy = np.random.SeedSequence().generate_state(1)[0] if seed is None else seed
        try:
            self.seeds = np.array([seed_word(entropy)], np.uint64)
            chosen = read_seat(int(seat) if re.fullmatch(r"[0-9]{1,3}", seat) else seat, game)
            if chosen == ALTERNATE:
                raise ValueError(f"--seat {seat} is for many episodes, and this is one")
        except ValueError as error:
            raise PlayOptionError(str(error)) from error
        self.me: Player = int(draw_seat(chosen, game.num_players, self.seeds[0], 0))
        with held_back():
            self.agent = make_agent(opponent, game)
            compile_for(game, self.agent)
        self.plies, self.round = 0, 1
        self.won = [0] * game.num_players
        """Rounds that each player has won alone."""
        self._kept = self.has_kept = False
        """Whether the record of this round, or of any, was handed on."""
        self.states = game.new(self.seeds)
        game.deal(self.states, _ROW)
        self.single = one_round(game)
        with held_back():
            _run_once(self.single)
        self._begin_round()

    @property
    def is_match(self) -> bool:
        """Whether the episode is more than a round."""
        return self.single != self.game

    def play(self) -> None:
        """Plays to the end.

        Raises:
            EndOfInput: there is no more input.
            PlayError: the opponent chose what is not legal.
        """
        against = self.opponent
        if self.game.num_players > 2:
            against = f"{self.game.num_players - 1} x {against}"
        self.screen.say(f"{self.game.name.capitalize()} against {against}", bold=True)
        self.screen.say(f"You are {self._seat_name(self.me)}. Seed {self.seeds[0]}. Try help.")
        while (player := int(self.game.players(self.states, _ROW)[0])) != NOBODY:
            self._take(player, self._ask() if player == self.me else self._decide(player))

    def keep_record(self) -> None:
        """Hands on the record of the round, once, if anything was played."""
        record = record_of(self.single, self.single_states[0])
        if self._kept or not record["plays"]:
            return
        self._kept = self.has_kept = True
        record["rules"] = rules_of(self.game)
        record["agents"] = ["person" if p == self.me else self.opponent for p in self._by_seat()]
        record |= {"seed": int(self.seeds[0]), "round": self.round}
        record["time"] = datetime.now(UTC).isoformat(timespec="seconds")
        self._keep(record)

    # -- the game ----------------------------------------------------------------------------
    def _begin_round(self) -> None:
        """Plays each round of a match in a game of its own too: a match deals on as one ends."""
        self.single_states = self.states
        if self.is_match:
            self.single_states = self.single.new(self.seeds)
            self.single.place(self.single_states[0], self.game.position(self.states[0]))
        players = range(self.game.num_players)
        self.seats: list[Seat] = [self.game.seat_of(self.states[0], p) for p in players]
        self._kept = False

    def _decide(self, player: Player) -> Action:
        views = self.game.views(self.states, _ROW, np.array([player]))
        stream = decision_streams(self.seeds, _ROW, np.array([player]), np.array([self.plies]))
        return int(decide(self.agent, views, self.game.masks(views), stream)[0])

    def _take(self, player: Player, action: Action) -> None:
        status, _ = self.game.step(self.states, _ROW, np.array([action]))
        if status[0] == ILLEGAL:
            chosen = self.game.action_text(action)
            raise PlayError(f"agent {self.opponent!r} chose {chosen}, which is not legal")
        if self.is_match:
            status, _ = self.single.step(self.single_states, _ROW, np.array([action]))
        self.plies += 1
        self.screen.say(f"{self._name(player)}: {self._played(action, self.seats[self.me])}")
        if status[0] == ENDED:
            self._end_round()

    def _end_round(self) -> None:
        """Keeps the record, says who won, and begins the next round of a match."""
        with held_back():
            self.keep_record()
        shares = self.single.shares(self.single_states)[0]  # by seat: its round is its first
        mine = float(shares[self.seats[self.me]])
        won = {1.0: "You win the round.", 0.0: "You lose the round."}.get(mine, "It is a draw.")
        self.screen.say(f"\n{won}", bold=True)
        for what, numbers in outcome_of(self.single, self.single_states[0]).items():
            if np.shape(numbers) == shares.shape:
                self.screen.say(f"{what}: {self._by_name(numbers)}")
        if not self.is_match:
            return
        for player, seat in enumerate(self.seats):
            self.won[player] += int(shares[seat] == 1)
        self.screen.say(f"rounds won: {self._by_name([self.won[p] for p in self._by_seat()])}")
        if self.game.players(self.states, _ROW)[0] == NOBODY:
            won = "win" if self.game.shares(self.states)[0, self.me] == 1 else "lose"
            self.screen.say(f"You {won} the match.", bold=True)
            return
        self.round += 1
        self._begin_round()
        self.screen.say(f"\nRound {self.round}: now you are {self._seat_name(self.me)}.", bold=True)

    # -- the person --------------------------------------------------------------------------
    def _ask(self) -> Action:
        """Shows the table, and asks until the answer is legal."""
        mask = self.game.masks(self.game.views(self.states, _ROW, np.array([self.me])))[0]
        held = places(self.game, self.states[0], self.seats[self.me])
        choices = Choices(self.game, [int(action) for action in np.flatnonzero(mask)], held)
        self._show(choices)
        only = choices.only
        forced = "" if only is None else f" (Enter: {self.game.action_text(only)})"
        while True:
            words = " ".join(self.screen.ask(f"your turn{forced}>").casefold().split())
            if words in ("quit", "q", "exit"):
                raise _QuitError
            if words in ("help", "h", "?"):
                self.screen.say(HELP)
            elif words in ("legal", "l", "hint"):
                self.screen.say(choices.text())
            elif words in ("table", "t"):
                self._show(choices)
            elif not words and only is not None:
                return only
            elif words:
                try:
                    return choices.read(words)
                except ChoiceError as error:
                    self.screen.say(str(error))

    def _show(self, choices: Choices) -> None:
        table = picture(self.game, self.states[0], self.seats[self.me])
        self.screen.say(f"\n{table}\n\n{choices.text()}")

    # -- words -------------------------------------------------------------------------------
    def _by_seat(self) -> list[Player]:
        return [self.seats.index(seat) for seat in range(len(self.seats))]

    def _by_name(self, numbers: Any) -> str:
        """Numbers of the seats, each with who sits there."""
        named = zip(self._by_seat(), numbers, strict=True)
        return ", ".join(f"{self._name(player)} {number}" for player, number in named)

    def _seat_name(self, player: Player) -> str:
        names = {number: f"the {name}" for name, number in self.game.seat_names.items()}
        return names.get(self.seats[player], f"seat {self.seats[player]}")

    def _name(self, player: Player) -> str:
        return "you" if player == self.me else self._seat_name(player).removeprefix("the ")

    def _played(self, action: Action, seat: Seat) -> str:
        """An action just taken; what it uncovered stands at the end of the information state."""
        text = self.game.action_text(action)
        seen = self.single.information_state(self.single_states[0], seat)
        last, _, beneath = seen.rpartition(" ")[2].partition("/")
        return f"{text}, which uncovers {beneath}" if last == text and beneath else text


def _run_once(game: Game) -> None:
    """Runs whatever is compiled that a sitting uses: nothing is to be compiled amid the game."""
    states = game.new(np.zeros(1, np.uint64))
    game.deal(states, _ROW)
    for _ in range(4):
        players = game.players(states, _ROW)
        if players[0] != NOBODY:
            game.step(states, _ROW, game.masks(game.views(states, _ROW, players)).argmax(1))
    for seat in (None, 0):
        picture(game, states[0], seat)
    game.information_state(states[0], 0)
    record_of(game, states[0])
