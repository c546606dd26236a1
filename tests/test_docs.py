"""What README and docs say holds: their examples run, their tables name what there is."""

from __future__ import annotations

import dataclasses
import doctest
import re
from pathlib import Path

import pytest

from tricktable_env.render.layout import hidden_table, layout_table
from tricktable_env.tableau import Rules, Tableau

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
COMMANDS = (
    'python -m pip install -c constraints.txt -e ".[train]" && python train.py',
    'python -m pip install -c constraints.txt -e ".[dev]" && python -m pytest',
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_print_what_the_page_says(page: Path) -> None:
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert doctest.testfile(str(page), module_relative=False, optionflags=flags).failed == 0


def test_readme_has_examples() -> None:
    assert (ROOT / "README.md").read_text().count(">>>") > 5


@pytest.mark.parametrize("command", COMMANDS)
def test_readme_holds_the_two_command_lines(command: str) -> None:
    assert (ROOT / "README.md").read_text().splitlines().count(command) == 1


def test_every_option_of_the_rules_is_in_the_table_with_its_default() -> None:
    page = (ROOT / "docs" / "rules.md").read_text()
    rows = re.findall(r"^\| (`.*?) \| (.*?) \|", page, re.MULTILINE)
    told: dict[str, str] = {}
    for names, defaults in rows:
        values = [value.strip(" `") for value in defaults.split(",")]
        told.update(zip(re.findall(r"`(\w+)`", names), values, strict=True))
    rules = Rules()
    for field in dataclasses.fields(Rules):
        value = getattr(rules, field.name)
        assert str(value) in told[field.name], field.name
    assert set(told) == {field.name for field in dataclasses.fields(Rules)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_the_observation_page_is_the_layout_of_the_encoder() -> None:
    page, game = (ROOT / "docs" / "observation.md").read_text(), Tableau()
    assert layout_table(game) in page
    assert hidden_table(game) in page
    sizes = (game.num_actions, game.observation_size, game.history_size, game.full_size)
    for size in sizes:
        assert f"[{size}]" in page
