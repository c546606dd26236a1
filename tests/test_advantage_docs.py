"""The page of the study says what the kept results say.

Run as a program it writes what the results say into the page: python tests/test_advantage_docs.py
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from tricktable_env.tableau import Rules
from tricktable_lab import cli
from tricktable_lab.advantage import tables
from tricktable_lab.advantage.effects import OF_TIE, SUM
from tricktable_lab.advantage.report import claims_of
from tricktable_lab.advantage.tables import HEADINGS, kinds, of_option, points, share

DOCS = Path(__file__).parent.parent / "docs"
PAGE = (DOCS / "caller-advantage.md").read_text(encoding="utf-8")
PLAY, ARMS = (
    json.loads((DOCS / "advantage" / f"{name}.json").read_text(encoding="utf-8"))
    for name in ("play", "arms")
)


def percent(estimate: dict[str, Any]) -> str:
    low, high = estimate["ci95"]
    return f"{estimate['mean']:.1%} ({100 * low:.1f} to {100 * high:.1f})"


Rows: TypeAlias = Iterator[Sequence[str]]
"""The rows of a table, headings first."""


def names(report: dict[str, Any]) -> list[str]:
    return [f"`{agent['agent']}`" for agent in report["agents"]]


def shares(report: dict[str, Any]) -> Rows:
    half = "if drawn rounds were half each"
    yield "agent", "deals", "the caller wins", "13-13", half, "its tricks"
    for agent in report["agents"]:
        yield (
            f"`{agent['agent']}`",
            f"{agent['deals']:,}",
            percent(agent["share"]),
            f"{agent['drawn']['mean']:.1%}",
            percent(agent["as_played"]["draw"]),
            f"{agent['arms'][0]['tricks']['mean']:.2f}",
        )


def parts(report: dict[str, Any]) -> Rows:
    yield "agent", *HEADINGS.values(), "as played", "playing for it"
    for agent in report["agents"]:
        yield f"`{agent['agent']}`", *(points(agent["split"][name]) for name in (*SUM, *OF_TIE))


def by_option(option: str, heading: str) -> Callable[[dict[str, Any]], Rows]:
    def rows(report: dict[str, Any]) -> Rows:
        yield heading, *names(report)
        found = [of_option(agent, option) for agent in report["agents"]]
        for value in sorted(found[0]) if option == "call_cards" else found[0]:
            yield str(value), *(share(arms[value]["share"]) for arms in found)

    return rows


def by_seen(key: str, heading: str) -> Callable[[dict[str, Any]], Rows]:
    def rows(report: dict[str, Any]) -> Rows:
        yield heading, *names(report)
        found = [kinds(agent, key) for agent in report["agents"]]
        for value in sorted(found[0]):
            yield str(value), *(share(told[value]) if value in told else "" for told in found)

    return rows


TABLES: dict[str, tuple[dict[str, Any], Callable[[dict[str, Any]], Rows]]] = {
    "shares": (PLAY, shares),
    "parts": (PLAY, parts),
    "call cards": (ARMS, by_option("call_cards", "cards")),
    "trump": (ARMS, by_option("trump", "trump")),
    "longest": (PLAY, by_seen("longest", "longest suit")),
    "honors": (PLAY, by_seen("honors", "honors")),
}


def table(name: str) -> str:
    """A table of the page, from the results."""
    report, made = TABLES[name]
    heading, *rows = made(report)
    lines = [heading, ["---"] * len(heading), *rows]
    return f"<!-- {name} -->\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines)


def claims(name: str) -> str:
    """What holds for all agents, or for all that call by what they see."""
    agents = [
        agent for agent in PLAY["agents"] if (name, agent["agent"]) != ("but random", "random")
    ]
    said = tables.claims({"agents": agents, "claims": claims_of(agents)})
    return f"<!-- {name} -->\n" + "".join(f"- {claim}\n" for claim in said)


CLAIMS = ("all agents", "but random")


@pytest.mark.parametrize("name", TABLES)
def test_the_tables_are_those_of_the_results(name: str) -> None:
    assert table(name) in PAGE


def test_the_page_is_as_the_results_have_it() -> None:
    assert all(claims(name) in PAGE for name in CLAIMS)
    assert rewritten(PAGE) == PAGE


@pytest.mark.parametrize("report", [PLAY, ARMS], ids=["play", "arms"])
def test_the_results_stand_beside_their_command(report: dict[str, Any]) -> None:
    assert report["command"] in " ".join(PAGE.replace("\\\n", " ").split())
    words = report["command"].split()[1:]
    study = cli._read(words)._study()  # type: ignore[attr-defined]
    assert [str(arm) for arm in study.arms] == report["arms"]
    assert list(study.agents) == [agent["agent"] for agent in report["agents"]]
    assert list(study.deals) == [agent["deals"] for agent in report["agents"]]
    assert (study.seed, study.rules) == (report["seed"], Rules())


def test_the_parts_add_up() -> None:
    for agent in PLAY["agents"]:
        told = agent["split"]
        assert 0.5 + sum(told[name]["mean"] for name in SUM) == pytest.approx(
            agent["share"]["mean"], abs=1e-5
        )


def test_every_key_of_the_document_is_on_the_page() -> None:
    page = PAGE.partition("is one document")[2]
    agent = PLAY["agents"][0]
    parts = (PLAY, agent, agent["split"], agent["share"], agent["share"]["controlled"])
    for key in itertools.chain(*parts, agent["arms"][0], agent["seen"][0], PLAY["claims"][0]):
        assert re.search(rf"\b{key}\b", page), key


def rewritten(page: str) -> str:
    """The page with its tables, claims and commands as the results have them."""
    for new in (*map(table, TABLES), *map(claims, CLAIMS)):
        marker = new.partition("\n")[0]
        page = re.sub(f"{marker}\n([|-].*\n)*", lambda _, new=new: new, page)  # type: ignore[misc]
    for name, report in (("play", PLAY), ("arms", ARMS)):
        block = f"<!-- {name} -->\n```bash\n{report['command']}\n```"
        page = re.sub(f"<!-- {name} -->\n```bash\n.*\n```", lambda _, new=block: new, page)  # type: ignore[misc]
    return page


if __name__ == "__main__":
    (DOCS / "caller-advantage.md").write_text(rewritten(PAGE), encoding="utf-8")
