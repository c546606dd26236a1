"""The command line `tricktable`: each command is a frozen dataclass with a `run`.

To add a command, write its dataclass and name it in `COMMANDS`; tyro makes options and help from
the fields. Heavy modules are imported by `run`, so that `--help` is quick.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import os
import re
import sys
import typing
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol, TypeAlias

try:
    import tyro
except KeyboardInterrupt:  # there is no `main` yet to say so
    raise SystemExit("tricktable: stopped") from None

from tricktable_lab.interrupts import held_back

if TYPE_CHECKING:
    from tricktable_env.game import Game
    from tricktable_lab.match import MatchResult, Progress

DONE, FAILED, MISUSED = 0, 1, 2
"""Exit codes: done; the answer is no or some input failed; the command was used wrongly."""

AsJson: TypeAlias = Annotated[bool, tyro.conf.arg(name="json"), tyro.conf.FlagCreatePairsOff]
Words: TypeAlias = Annotated[tuple[str, ...], tyro.conf.UseAppendAction]


_OURS = ("tricktable_env", "agents", "tricktable_lab", "__main__")
"""Packages whose named errors say what is wrong with the arguments; importing none of them here."""


class UsageError(ValueError):
    """Arguments that make no sense; the message says what would be right."""


class Command(Protocol):
    """What a command offers once its arguments are read."""

    def run(self) -> int:
        """Does it and returns the exit code."""


# -- commands --------------------------------------------------------------------------------
@dataclass(frozen=True)
class Match:
    """Lets two agents play every deal once in each seating, and gives A's win rate.

    Example: tricktable match greedy random --deals 2000 --workers 2
    """

    a: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="A")]
    """Spec of the agent whose rates are given; see `tricktable agents`."""
    b: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="B")]
    """Spec of the other agent, who takes all other seats."""
    deals: int = 1000
    """Number of deals."""
    seed: int = 0
    """Same seed, same result, whatever the number of workers."""
    workers: int = 1
    """Number of processes."""
    game: str = "tableau"
    """Which game."""
    num_players: int | None = None
    """Number of players, where the game leaves the choice."""
    rule: Annotated[Words, tyro.conf.arg(metavar="KEY=VALUE")] = ()
    """An option of the rules, as suits=3."""
    as_json: AsJson = False
    """Print one JSON document."""

    def run(self) -> int:
        """Plays the match; stopped by Ctrl-C it gives what is known by then."""
        with held_back():
            from tricktable_env.opponents import AgentActionError
            from tricktable_lab.match import (
                MatchError,
                MatchInterrupted,
                WorkerDiedError,
                play_match,
            )

            game = game_from(self.game, self.num_players, self.rule)
        result: MatchResult | None
        try:
            with _progress(self.deals) as progress:
                result = play_match(
                    game, self.a, self.b, self.deals, self.seed, self.workers, progress
                )
        except (AgentActionError, MatchError) as error:
            return _complain(error, FAILED)
        except (MatchInterrupted, WorkerDiedError) as stop:
            result = stop.result
            why = f"{stop}; " if isinstance(stop, WorkerDiedError) else ""
            played = result.deals if result else 0
            _complain(f"{why}stopped after {played} of {self.deals} deals", FAILED)
        if result is not None:
            self._show(result)
        return DONE if result is not None and result.deals == self.deals else FAILED

    def _show(self, result: MatchResult) -> None:
        from tricktable_lab import listing

        if self.as_json:
            print(json.dumps(result.as_json()))
        else:
            listing.show(listing.match_table(result))


@dataclass(frozen=True)
class Replay:
    """Plays recorded games through the engine and compares what they state with what happens.

    Exit code 1 when any record fails. Example: tricktable replay games.jsonl --json
    """

    file: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="FILE")]
    """Game records as JSON Lines."""
    as_json: AsJson = False
    """Print a JSON line a record."""

    def run(self) -> int:
        """Replays every record of the file."""
        with held_back():
            from tricktable_lab import listing
            from tricktable_lab.replay import RecordError, replay_lines

        failed = False
        table = listing.replay_table()
        with self.file.open("rb") as lines:
            replays = replay_lines(lines)
            with held_back():  # the first one compiles
                first = list(itertools.islice(replays, 1))
            for line, replay in itertools.chain(first, replays):
                failed |= isinstance(replay, RecordError)
                if self.as_json:
                    print(json.dumps(replay.as_json()))
                else:
                    listing.add_replay(table, line, replay)
        if not self.as_json:
            listing.show(table)
        return FAILED if failed else DONE


@dataclass(frozen=True)
class Solve:
    """Tells the tricks of the seat to act for each legal card, all cards known, both sides perfect.

    The trick in progress counts; before the call it is each `trump S`. Exit code 1 when a line of
    the file is no position, or when --seconds were too few.

    Example: tricktable solve "C H - 8-15 ..4. 3D,7D ... TC,6C,4C"
    """

    position: Annotated[tyro.conf.Positional[str | None], tyro.conf.arg(metavar="POSITION")] = None
    """The position, of any score."""
    file: Path | None = None
    """Positions instead: one a line, or JSON Lines with a `position` and perhaps `rules`."""
    seconds: float | None = None
    """Give the bounds proven by then, for each position."""
    workers: int = 1
    """Number of threads for the lines of a file; the answers don't depend on it."""
    entries: int | None = None
    """Size of the solver's table, a power of two; it changes the time alone."""
    as_json: AsJson = False
    """Print one JSON document, of a file a JSON line a position."""

    def run(self) -> int:
        """Solves the position, or every line of the file."""
        with held_back():
            from tricktable_lab import solve

        if (self.position is None) == (self.file is None):
            raise UsageError("solve takes a POSITION or --file FILE, one of the two")
        if self.workers < 1:
            raise UsageError(f"workers={self.workers} is not 1 or more")
        if self.seconds is not None and not self.seconds >= 0:
            raise UsageError(f"seconds={self.seconds} is not 0 or more")
        if self.file is None:
            return self._one(self.position or "")
        lines = self.file.read_bytes().splitlines()
        with _counting("positions", len(lines)) as count:
            solutions = []
            for number, solution in solve.solve_lines(
                lines, self.workers, self.entries, self.seconds
            ):
                count(number)
                solutions.append((number, solution))
                if self.as_json:
                    print(json.dumps(solve.as_json(number, solution)), flush=True)
        if not self.as_json:
            from tricktable_lab import listing

            listing.show(solve.solutions_table(solutions))
        done = (not isinstance(s, ValueError) and s.proven for _, s in solutions)
        return DONE if all(done) else FAILED

    def _one(self, position: str) -> int:
        from tricktable_env.tableau.solver import new_memory
        from tricktable_lab import listing, solve

        memory = None if self.entries is None else new_memory(self.entries)
        with _counting("positions searched", None) as count:
            solution = solve.solve_text(position, None, memory, self.seconds, count)
        if self.as_json:
            print(json.dumps(solution.as_json()))
        else:
            listing.show(solve.solution_table(solution))
        return DONE if solution.proven else FAILED


@dataclass(frozen=True)
class Agents:
    """Lists what can be named in an agent spec, NAME[:key=value,...], with its options.

    Example: tricktable agents --json
    """

    as_json: AsJson = False
    """Print one JSON document."""

    def run(self) -> int:
        """Lists the agents."""
        with held_back():
            from tricktable_lab import listing

            agents = listing.agents()
        if self.as_json:
            print(json.dumps(agents))
        else:
            listing.show(listing.agents_table(agents))
        return DONE


@dataclass(frozen=True)
class Play:
    """Lets you play against an agent; `quit`, the end of the input or Ctrl-C stop the game.

    Example: tricktable play --opponent greedy --seat caller --record mine.jsonl
    """

    opponent: Annotated[str, tyro.conf.arg(metavar="SPEC")] = "random"
    """Spec of the agent in all other seats; see `tricktable agents`."""
    seat: str = "random"
    """Your seat: caller or dealer, a number where seats have no names, or random."""
    seed: int | None = None
    """The same deal and the same opponent again; drawn and shown if left out."""
    record: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """Add a record of each round, which `tricktable replay` reads, to this file."""
    game: str = "tableau"
    """Which game."""
    num_players: int | None = None
    """Number of players, where the game leaves the choice."""
    rule: Annotated[Words, tyro.conf.arg(metavar="KEY=VALUE")] = ()
    """An option of the rules, as rounds_to_win=3 for a match."""
    as_json: AsJson = False
    """Print the records as JSON Lines, and everything else on stderr."""

    def run(self) -> int:
        """Plays; whatever was played is recorded, however it ends."""
        with held_back():
            from tricktable_env.opponents import AgentActionError
            from tricktable_lab.play import PlayError, play

            game = game_from(self.game, self.num_players, self.rule)
        try:
            play(game, self.opponent, self.seat, self.seed, self.record, self.as_json)
        except (AgentActionError, PlayError) as error:
            return _complain(error, FAILED)
        return DONE


COMMANDS: dict[str, Callable[..., Command]] = {
    "match": Match,
    "replay": Replay,
    "solve": Solve,
    "agents": Agents,
    "play": Play,
}


# -- the program -----------------------------------------------------------------------------
def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command line, `sys.argv` by default, and returns the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    _open_streams()
    try:
        if arguments == ["--version"]:
            from tricktable_lab import __version__

            print(f"tricktable {__version__}")
            code = DONE
        else:
            code = _read(arguments).run()
        sys.stdout.flush()
        return code
    except SystemExit as end:  # after --help, or when rich finds a closed pipe
        return end.code if isinstance(end.code, int) else FAILED
    except BrokenPipeError:  # whoever read our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except KeyboardInterrupt:
        return _complain("stopped", FAILED)
    except OSError as error:
        reason = error.strerror or str(error)
        return _complain(f"{error.filename}: {reason}" if error.filename else reason, MISUSED)
    except ValueError as error:
        if type(error).__module__.partition(".")[0] not in _OURS:
            raise  # a fault of the program, not of its arguments
        return _complain(error, MISUSED)


def _open_streams() -> None:
    """Makes stdout and stderr take whatever is written: closed, or of an encoding that lacks it."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, io.StringIO())
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


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


def _read(arguments: Sequence[str]) -> Command:
    """Reads the arguments.

    Raises:
        UsageError: tyro's objection, in one line.
        SystemExit: help was asked for and is printed.
    """
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            command: Command = tyro.extras.subcommand_cli_from_dict(
                COMMANDS,
                prog="tricktable",
                description="Plays, matches, replays and solves the card games of Trick Table.",
                args=arguments,
            )
            return command
    except SystemExit as end:
        if end.code in (None, DONE):
            raise
        raise UsageError(one_line(said.getvalue())) from None


def one_line(box: str) -> str:
    """Makes one line of an error that tyro drew as a box of paragraphs, title and colours off.

    Where stdout can't carry a box, the title is the first paragraph and the rules are of hyphens.
    """
    plain = re.sub(r"\x1b\[[0-9;]*m", "", box)
    inside = [line.strip("│ \t") for line in plain.splitlines() if line[:1] not in "╭╰"]
    paragraphs = re.split(r"\s*[─-]{3,}\s*", " ".join(inside))
    if "╭" not in plain:
        del paragraphs[0]
    said = "; ".join(" ".join(p.split()).rstrip(".") for p in paragraphs if p.strip())
    return said.replace("Argument helptext:", "right is").replace("For full helptext, ", "")


def _complain(error: object, code: int) -> int:
    """Writes what is wrong as one line, and returns the exit code."""
    print("tricktable:", " ".join(str(error).split()), file=sys.stderr, flush=True)
    return code


@contextlib.contextmanager
def _progress(deals: int) -> Iterator[Progress | None]:
    """A progress bar on stderr with the win rate so far, where a person is looking."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
    console = Console(stderr=True)
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as bar:
        task = bar.add_task("deals", total=deals)
        yield lambda done, rate: bar.update(task, completed=done, description=f"{rate:.1%} for A")


@contextlib.contextmanager
def _counting(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """A count on stderr, with a bar if it has an end, where a person is looking."""
    if not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(), TextColumn("{task.completed:,} {task.description}"))
    console = Console(stderr=True)
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.update(task, completed=done)


if __name__ == "__main__":
    sys.exit(main())
