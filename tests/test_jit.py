"""The cache of compiled kernels: found by the next process, and never an answer of old sources.

Each test copies the package (without its adapters, so that it starts fast), edits a file or not,
and asks in new processes what a small kernel says.
"""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
from sidebyside import run_python

import tricktable_env

LEGAL = """
import sys
import numpy as np
from tricktable_env import jit
from tricktable_env.tableau import batch
from tricktable_env.tableau.state import HAND, LEAD, LEFT, OPTIONS, TRUMP, TURN, VIEWER, WORDS

# A seat that holds 2S and 2H is to follow the ace of spades.
view = np.zeros((1, WORDS), np.uint64)
view[0, HAND], view[0, LEAD], view[0, LEFT], view[0, VIEWER] = 1 | 1 << 13, 12 + 1, 1, 1
masks = np.zeros((1, 56), np.int8)
batch.mask_rows(view, masks)
print(np.flatnonzero(masks[0]).tolist(), jit.source_digest("tricktable_env"), sep=";")
"""
POINTS = """
import numpy as np
from tricktable_env import jit
from tricktable_env.honors import batch
from tricktable_env.honors.state import ANNOUNCED, OPTIONS, SCORE, SCORE_BIAS, WORDS

# Two seats with 6 and 7 points before a deal in which they announced 2 and 0 tricks, and took none.
states = np.zeros((1, WORDS), np.uint64)
states[0, OPTIONS], states[0, ANNOUNCED] = 1 << 8 | 2, 1 << 8 | 3
states[0, SCORE] = SCORE_BIAS + 7 << 8 | SCORE_BIAS + 6
points, won = np.zeros((1, 2), np.int64), np.zeros(1, np.uint64)
batch.result_rows(states, points, won)
print(points[0].tolist(), jit.source_digest("tricktable_env"), sep=";")
"""
NO_WRITING = """
import tempfile

def refuse(*arguments, **options):
    raise PermissionError("read-only, for whoever runs this")

tempfile.mkstemp = tempfile.TemporaryFile = refuse
"""
"""Makes every folder read-only for a process: permissions alone don't stop the superuser."""
COMPILING = "tricktable: compiling kernels"
FOLLOWS, ANYTHING = "[0]", "[0, 13]"


@dataclass(frozen=True)
class Answer:
    """What a process said."""

    text: str
    """The legal actions, or the points."""
    digest: str
    """The key of its cache."""
    compiled: bool
    """Whether it announced that it compiles."""


@dataclass(frozen=True)
class Copy:
    """A copy of the package with a cache of its own."""

    folder: Path
    """Where the package is imported from."""
    cache: Path
    """The folder of its kernels."""

    def ask(self, before: str = "", program: str = LEGAL) -> Answer:
        """Asks for the legal actions, or for points, in a new process."""
        cache = str(self.cache)
        result = run_python(before + program, path=self.folder, TRICKTABLE_CACHE_DIR=cache)
        text, digest = result.stdout.strip().split(";")
        assert result.stderr.count(COMPILING) == len(result.stderr.splitlines()) <= 1
        return Answer(text, digest, COMPILING in result.stderr)

    def edit(self, file: str, old: str, new: str) -> None:
        """Replaces a piece of a source file that is there once."""
        source = self.folder / "tricktable_env" / file
        text = source.read_text(encoding="utf-8")
        assert text.count(old) == 1
        source.write_text(text.replace(old, new), encoding="utf-8")

    def files(self) -> set[str]:
        """Returns the cached files."""
        return {str(file.relative_to(self.cache)) for file in self.cache.rglob("*.*")}


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    """A copy whose kernels have been compiled by a process that is gone."""
    folder = tmp_path_factory.mktemp("compiled")
    package = Path(tricktable_env.__file__).parent
    for room in ("tableau", "honors", "render"):
        shutil.copytree(
            package / room,
            folder / "tricktable_env" / room,
            ignore=shutil.ignore_patterns("__pycache__"),
        )
    for file in ("bits", "cards", "game", "jit", "packed", "parts", "seats"):
        shutil.copy(package / f"{file}.py", folder / "tricktable_env")
    (folder / "tricktable_env" / "__init__.py").touch()
    copy = Copy(folder, folder / "cache")
    copy.cache.mkdir()
    answer = copy.ask()
    assert (answer.text, answer.compiled) == (FOLLOWS, True)
    return copy


@pytest.fixture
def copy(compiled: Copy, tmp_path: Path) -> Copy:
    """A copy of the above, to be edited: the same sources, and the same cache."""
    shutil.copytree(compiled.folder, tmp_path / "copy")
    return Copy(tmp_path / "copy", tmp_path / "copy" / "cache")


def test_next_process_finds_the_compiled_kernels(compiled: Copy) -> None:
    before = compiled.files()
    assert any(name.endswith(".nbc") for name in before)
    answer = compiled.ask()
    assert (answer.text, answer.compiled) == (FOLLOWS, False)
    assert compiled.files() == before


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("tableau/rules.py", "follow if follow != ZERO else", "follow if follow == ZERO else"),
        ("cards.py", "\nSUIT_SIZE = 13\n", "\nSUIT_SIZE = 14\n"),
    ],
    ids=["rules", "cards"],
)
def test_edit_of_a_rule_in_another_file_is_seen_by_the_next_process(
    copy: Copy, file: str, old: str, new: str
) -> None:
    # The kernel that is called, and its own file, stay as they are.
    copy.edit(file, old, new)
    answer = copy.ask()
    assert (answer.text, answer.compiled) == (ANYTHING, True)


def test_edit_of_a_scoring_constant_in_another_file_is_seen_by_the_next_process(
    copy: Copy,
) -> None:
    assert copy.ask(program=POINTS).text == "[2, 7]"
    assert not copy.ask(program=POINTS).compiled
    copy.edit("honors/rules.py", "points -= 2 * (", "points -= 3 * (")
    answer = copy.ask(program=POINTS)
    assert (answer.text, answer.compiled) == ("[0, 7]", True)


def test_edit_taken_back_finds_the_old_kernels_again(copy: Copy) -> None:
    copy.edit("bits.py", "ONE = np.uint64(1)", "ONE = np.uint64(2 - 1)")
    assert copy.ask().compiled
    copy.edit("bits.py", "ONE = np.uint64(2 - 1)", "ONE = np.uint64(1)")
    assert not copy.ask().compiled


def test_edit_of_what_no_kernel_uses_compiles_nothing(copy: Copy) -> None:
    before = copy.files()
    copy.edit("render/tableau.py", '_NAMES = ("caller", "dealer")', '_NAMES = ("c", "d")')
    answer = copy.ask()
    assert (answer.text, answer.compiled) == (FOLLOWS, False)
    assert copy.files() == before
    assert all(answer.digest in name for name in before), "the key is what it was"


def test_read_only_cache_is_used(compiled: Copy) -> None:
    before = compiled.files()
    answer = compiled.ask(before=NO_WRITING)
    assert (answer.text, answer.compiled) == (FOLLOWS, False)
    assert compiled.files() == before


def test_cache_that_cannot_be_written_is_no_error(compiled: Copy, tmp_path: Path) -> None:
    empty = Copy(compiled.folder, tmp_path)
    answer = empty.ask(before=NO_WRITING)
    assert (answer.text, answer.compiled) == (FOLLOWS, True)
    assert empty.files() == set()


def test_cache_folder_that_cannot_be_made_gives_way_to_the_packages_own(copy: Copy) -> None:
    in_the_way = copy.folder / "file"
    in_the_way.touch()
    answer = Copy(copy.folder, in_the_way / "cache").ask()
    assert (answer.text, answer.compiled) == (FOLLOWS, True)
    own = copy.folder / "tricktable_env" / "__pycache__" / f"kernels-{answer.digest}"
    assert list(own.glob("*.nbc"))


def test_damaged_cache_files_are_compiled_anew(copy: Copy) -> None:
    for i, file in enumerate(sorted(copy.cache.rglob("*.nbc"))):
        whole = file.read_bytes()
        file.write_bytes([whole[: len(whole) // 2], b"", b"\x80\x05junk"][i % 3])
    answer = copy.ask()
    assert (answer.text, answer.compiled) == (FOLLOWS, True)
    assert not copy.ask().compiled


@pytest.mark.parametrize("processes", [2, pytest.param(16, marks=pytest.mark.long)])
def test_processes_may_fill_an_empty_cache_at_once(
    compiled: Copy, tmp_path: Path, processes: int
) -> None:
    empty = Copy(compiled.folder, tmp_path)
    with ThreadPoolExecutor(processes) as pool:
        answers = list(pool.map(lambda _: empty.ask(), range(processes)))
    assert {answer.text for answer in answers} == {FOLLOWS}
    assert {name.rpartition(".")[2] for name in empty.files()} == {"nbc"}, "nothing half-written"
    assert not empty.ask().compiled


def test_kernels_without_compilation_are_refused_in_one_line() -> None:
    code = (
        "import tricktable_env\n"
        "try: tricktable_env.make_game('tableau')\n"
        "except ValueError as error: print(error)\n"
        "from tricktable_lab.cli import main\n"
        "print(main(['match', 'greedy', 'random', '--deals', '1']))"
    )
    done = run_python(code, NUMBA_DISABLE_JIT="1")
    said, code_returned = done.stdout.splitlines()
    assert said.startswith("NUMBA_DISABLE_JIT is set")
    assert (code_returned, done.stderr) == ("2", f"tricktable: {said}\n")
