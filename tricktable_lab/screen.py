"""A terminal, or pipes, that a person reads and writes line by line."""

from __future__ import annotations

import os
import re
import shutil
import textwrap
from typing import TextIO

_PLAIN, _BOLD, _RED = "\x1b[0m", "\x1b[1m", "\x1b[31m"
_RED_CARDS = re.compile(r"\b[2-9TJQKA][HD]\b|\b[HD] [2-9TJQKA]+\b")
_INDENT, _BAR = " " * 8, " | "


class EndOfInput(Exception):  # noqa: N818 - nothing went wrong
    """No more lines will come."""


class Screen:
    """Where the person reads and writes.

    Args:
        out: what is shown goes here.
        source: what is typed comes from here; None where there is no input at all.
    """

    def __init__(self, out: TextIO, source: TextIO | None) -> None:
        self.out, self.source = out, source
        plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
        self.colour = out.isatty() and not plain
        self._echoed = out.isatty() and source is not None and source.isatty()

    def say(self, text: str = "", bold: bool = False) -> None:
        """Shows lines, broken where the terminal is narrow."""
        width = max(20, shutil.get_terminal_size().columns - 1)
        for line in text.split("\n"):
            for part in broken(line, width):
                print(self._coloured(part, bold), file=self.out)
        self.out.flush()

    def ask(self, prompt: str) -> str:
        """Asks for a line.

        Raises:
            EndOfInput: there is none any more.
        """
        print(self._coloured(prompt, bold=True), end=" ", file=self.out, flush=True)
        line = self.source.readline() if self.source is not None else ""
        if not self._echoed or not line:  # nothing has moved the cursor to the next line
            print(line.strip(), file=self.out, flush=True)
        if not line:
            raise EndOfInput
        return line.strip()

    def _coloured(self, line: str, bold: bool) -> str:
        if not self.colour:
            return line
        begin, end = (_BOLD, _PLAIN) if bold else ("", "")
        return begin + _RED_CARDS.sub(lambda card: f"{_RED}{card[0]}{_PLAIN}{begin}", line) + end


def broken(line: str, width: int) -> list[str]:
    """Breaks a line that is too wide: at its bars or wide gaps if it has any, else at spaces."""
    if len(line) <= width:
        return [line]
    indent = "" if _BAR in line else _INDENT
    lines = [""]
    for part in re.split(r"(?= \| )|(?<=\S)(?=  )", line):
        if len(lines[-1] + part) <= width or lines == [""]:
            lines[-1] += part
        else:
            lines.append(indent + part.removeprefix(_BAR).strip())
    return [piece for each in lines for piece in _wrapped(each, width)]


def _wrapped(line: str, width: int) -> list[str]:
    if len(line) <= width:
        return [line]
    fill = textwrap.TextWrapper(width, subsequent_indent=_INDENT)
    fill.break_long_words = fill.break_on_hyphens = False  # a path stays whole
    return fill.wrap(line)
