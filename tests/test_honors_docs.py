"""What the page of Honors says holds: its tables name what there is."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

from tricktable_env.honors import Honors, Rules
from tricktable_env.render.layout import hidden_table, layout_table

PAGE = (Path(__file__).parent.parent / "docs" / "honors.md").read_text()


def test_every_option_of_the_rules_is_in_the_table_with_its_default() -> None:
    options = PAGE.partition("| option | default | values |")[2].partition("\n\n")[0]
    told: dict[str, str] = {}
    for names, defaults in re.findall(r"^\| (`.*?) \| (.*?) \|", options, re.MULTILINE):
        values = [value.strip(" `") for value in defaults.split(",")]
        told.update(zip(re.findall(r"`(\w+)`", names), values, strict=True))
    rules = Rules()
    assert told == {f.name: str(getattr(rules, f.name)) for f in dataclasses.fields(Rules)}


def test_the_observation_is_the_layout_of_the_encoder() -> None:
    game = Honors()
    assert layout_table(game) in PAGE
    assert hidden_table(game) in PAGE
    assert f"`Box(0, high, ({game.observation_size},), uint8)`" in PAGE
    assert f"history=Box(0, 255, ({game.history_size},), uint8)" in PAGE
    assert f"`Discrete({game.num_actions})`" in PAGE
    assert f"[{game.full_size}]" in PAGE
