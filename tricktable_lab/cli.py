"""The command line `tricktable`.

To add a command, write its dataclass in `tricktable_lab.commands` and name it in `COMMANDS`.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
from collections.abc import Callable, Sequence

try:
    import tyro
except KeyboardInterrupt:  # there is no `main` yet to say so
    raise SystemExit("tricktable: stopped") from None

from tricktable_lab.commands.advantage import Advantage
from tricktable_lab.commands.agents import Agents
from tricktable_lab.commands.analyse import Analyse
from tricktable_lab.commands.bench import Bench
from tricktable_lab.commands.calls import Calls
from tricktable_lab.commands.equilibrium import Equilibrium
from tricktable_lab.commands.match import Match
from tricktable_lab.commands.options import DONE, FAILED, MISUSED, Command, UsageError, complain
from tricktable_lab.commands.play import Play
from tricktable_lab.commands.replay import Replay
from tricktable_lab.commands.solve import Solve
from tricktable_lab.commands.tournament import Tournament

_OURS = ("tricktable_env", "agents", "tricktable_lab", "__main__")
"""Packages whose named errors say what is wrong with the arguments; importing none of them here."""

COMMANDS: dict[str, Callable[..., Command]] = {
    "match": Match,
    "tournament": Tournament,
    "advantage": Advantage,
    "replay": Replay,
    "analyse": Analyse,
    "solve": Solve,
    "calls": Calls,
    "equilibrium": Equilibrium,
    "agents": Agents,
    "play": Play,
    "bench": Bench,
}


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
        return complain("stopped", FAILED)
    except OSError as error:
        reason = error.strerror or str(error)
        return complain(f"{error.filename}: {reason}" if error.filename else reason, MISUSED)
    except ValueError as error:
        if type(error).__module__.partition(".")[0] not in _OURS:
            raise  # a fault of the program, not of its arguments
        return complain(error, MISUSED)


def _open_streams() -> None:
    """Makes stdout and stderr take whatever is written: closed, or of an encoding that lacks it."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, io.StringIO())
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


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
                description="Plays, measures, replays and solves the card games of Trick Table.",
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


if __name__ == "__main__":
    sys.exit(main())
