"""Playthrough files: a change of rules, texts or encodings shows as a difference in them."""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest
from playthroughs.regenerate import FOLDER, GAMES, playthrough


@pytest.mark.parametrize("file", GAMES)
def test_playthrough_is_as_recorded(file: str) -> None:
    recorded = (FOLDER / f"{file}.txt").read_text(encoding="utf-8")
    name, seed, rules = GAMES[file]
    lines = difflib.unified_diff(
        recorded.splitlines(), playthrough(name, seed, rules).splitlines(), "recorded", "now", n=1
    )
    different = "\n".join(line[:400] for line in list(lines)[:20])
    assert not different, (
        f"{file}.txt has changed:\n{different}\n"
        "if this is meant, run python tests/playthroughs/regenerate.py and review the difference"
    )


def test_every_file_has_a_game() -> None:
    assert {path.stem for path in Path(FOLDER).glob("*.txt")} == set(GAMES)
