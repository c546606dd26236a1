"""What README and docs say holds: their examples run, their tables name what there is."""

from __future__ import annotations

import dataclasses
import doctest
import importlib.util
import inspect
import itertools
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium
import pytest

from tricktable_env.envs.gym import TrickTableEnv
from tricktable_env.render.layout import hidden_table, layout_table
from tricktable_env.tableau import Rules, Tableau

ROOT = Path(__file__).parent.parent
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]
TABLEAU = (ROOT / "docs" / "tableau.md").read_text(encoding="utf-8")
COMMANDS = (
    'python -m pip install -c constraints.txt -e ".[train]" && python train.py',
    'python -m pip install -c constraints.txt -e ".[dev]" && python -m pytest',
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_print_what_the_page_says(page: Path) -> None:
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert doctest.testfile(str(page), module_relative=False, optionflags=flags).failed == 0


def programs() -> list[Any]:
    """The blocks of Python that a reader pastes as a whole: those without prompts."""
    found = []
    for page in PAGES:
        blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
        pasted = [block for block in blocks if ">>>" not in block]
        found += [pytest.param(text, id=f"{page.name}-{i}") for i, text in enumerate(pasted)]
    return found


@pytest.mark.parametrize("program", programs())
def test_programs_run_as_they_stand(program: str, tmp_path: Path) -> None:
    if "import pyspiel" in program:
        pytest.importorskip("pyspiel", reason="needs the extra openspiel")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    for spec in re.findall(r"policy:\S+", done.stdout):
        assert (tmp_path / spec.removeprefix("policy:") / "policy.json").exists()


def test_readme_has_examples() -> None:
    assert (ROOT / "README.md").read_text(encoding="utf-8").count(">>>") > 5


@pytest.mark.parametrize("command", COMMANDS)
def test_readme_holds_the_two_command_lines(command: str) -> None:
    assert (ROOT / "README.md").read_text(encoding="utf-8").splitlines().count(command) == 1


def table_below(page: str, heading: str) -> dict[str, str]:
    """The second column of the table that has this heading, by the names in its first."""
    told: dict[str, str] = {}
    for line in itertools.takewhile(bool, page.split(f"\n{heading}\n")[1].splitlines()[1:]):
        names, value = (re.findall(r"`(\w+)`", line.split("|")[1]), line.split("|")[2].strip())
        values = value.split(", ") if len(names) > 1 else [value]
        told.update(zip(names, values, strict=True))
    return told


def test_every_option_of_the_rules_is_in_the_table_with_its_default() -> None:
    told = table_below(TABLEAU, "| option | default | values |")
    defaults = {field.name: getattr(Rules(), field.name) for field in dataclasses.fields(Rules)}
    assert set(told) == set(defaults)
    for name, default in defaults.items():
        assert str(default) in told[name], name


def test_every_argument_is_in_the_table_with_its_default() -> None:
    told = table_below(TABLEAU, "| argument | default | values |")
    taken = inspect.signature(TrickTableEnv).parameters.values()
    named = {p.name: p.default for p in taken if p.name not in ("game", "rules")}
    words = {None: "none", False: "off"}
    assert told == {name: words.get(value, f"`{value}`") for name, value in named.items()}


@pytest.mark.parametrize("opponent", ["random", "self"])
def test_infos_carry_what_the_table_says(opponent: str) -> None:
    told = set(table_below(TABLEAU, "| key of `info` | when | value |"))
    env = gymnasium.make("TrickTable/Tableau-v0", opponent=opponent, full_information=True)
    seen = set()
    for illegal in (False, True):
        _, info = env.reset(seed=0)
        ended = False
        while not ended:
            seen |= set(info)
            action = info["action_mask"].argmin() if illegal else info["action_mask"].argmax()
            _, _, ended, _, info = env.step(action)
        seen |= set(info)
    assert seen | {"rewards"} == told


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_the_index_leads_to_every_page_and_notebook() -> None:
    index = ROOT / "docs" / "index.md"
    found = re.findall(r"\]\(([^)#]+)\)", index.read_text(encoding="utf-8"))
    led_to = {(index.parent / target).resolve() for target in found}
    pages = {*(ROOT / "docs").glob("*.md"), *(ROOT / "notebooks").glob("*.ipynb")}
    assert {page.resolve() for page in pages - {index}} <= led_to


def test_the_observation_table_is_the_layout_of_the_encoder() -> None:
    game = Tableau()
    assert layout_table(game) in TABLEAU
    assert hidden_table(game) in TABLEAU
    sizes = {"observation": game.observation_size, "history": game.history_size}
    for name, size in sizes.items():
        assert re.search(rf"{name}=Box\(0, \w+, \({size},\), uint8\)", TABLEAU)
    assert f"action_mask=Box(0, 1, ({game.num_actions},), int8)" in TABLEAU
    assert f"`Discrete({game.num_actions})`" in TABLEAU
    assert f"[{game.full_size}]" in TABLEAU


def test_notebooks_are_kept_without_outputs() -> None:
    """What they print depends on the machine; `.ci/run` executes them."""
    books = sorted((ROOT / "notebooks").glob("*.ipynb"))
    assert books
    for book in books:
        cells = json.loads(book.read_text(encoding="utf-8"))["cells"]
        code = [cell for cell in cells if cell["cell_type"] == "code"]
        assert code
        assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)


def peer_tables() -> Any:
    spec = importlib.util.spec_from_file_location(
        "peer_tables", ROOT / "benchmarks" / "peer_tables.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_tables_of_speed_are_those_of_the_json() -> None:
    tables = peer_tables()
    document = tables.read()
    for page, name in tables.TABLES:
        text = (ROOT / page).read_text(encoding="utf-8")
        assert tables.made(page, name, document) in text, f"{page}: run benchmarks/peer_tables.py"
        assert text.count(f"<!-- {name}: ") == 1
