"""`tricktable advantage`."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from tricktable_lab.commands.bars import counting
from tricktable_lab.commands.options import DONE, FAILED, AsJson, Words, complain, game_from
from tricktable_lab.interrupts import held_back

if TYPE_CHECKING:
    from tricktable_lab.advantage.study import Study

AGENTS = ("random", "greedy", "montecarlo:worlds=20@100")
"""Who plays unless others are named."""


@dataclass(frozen=True, kw_only=True)
class Advantage:
    """Measures the trump caller's advantage at Tableau: every agent against itself.

    Each deal is played as dealt and with the seats' cards exchanged, in arms: the rules, and rules
    that differ in how trump is found, who leads first, whose a drawn round is, and how many cards
    the caller has seen. The report splits the caller's share into what each of that gives.

    Example: tricktable advantage --agents greedy,montecarlo:worlds=20@200 --deals 20000 --out study

    A second run with the same --out (or --records) and more deals, agents or arms plays what is
    missing: tricktable advantage --agents pimc:worlds=10@100 --arms all --out study
    """

    agents: Annotated[tuple[str, ...], tyro.conf.arg(metavar="A,B,...")] = AGENTS
    """Specs, see `tricktable agents`; SPEC@DEALS plays so many deals instead."""
    deals: int = 10_000
    """Number of deals, each played twice in every arm."""
    seed: int = 0
    """Same seed, same result, whatever the number of workers, the arms and the other agents."""
    workers: int = 1
    """Number of processes."""
    arms: str = "split,tie"
    """Sets of arms: split (call or draw trump, caller or dealer leads), tie (whose drawn rounds
    are), cards (0 to all of the hand seen at the call), suits (drawn, each suit, none); or all."""
    arm: Annotated[Words, tyro.conf.arg(metavar="KEY=VALUE,...")] = ()
    """One more arm by what differs from the rules, as trump=none,first_lead=dealer."""
    rule: Annotated[Words, tyro.conf.arg(metavar="KEY=VALUE")] = ()
    """An option of the rules, as suits=3 or tie=draw."""
    records: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """Keep what is played in this file; what is in it already is not played again."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="DIR")] = None
    """Keep report, pictures and (unless --records says where) records in this folder."""
    as_json: AsJson = False
    """Print one JSON document."""

    def run(self) -> int:
        """Plays the study; stopped by Ctrl-C it reports what is known by then."""
        with held_back():
            from tricktable_env.opponents import AgentActionError
            from tricktable_lab.advantage.conduct import StudyStoppedError, run_study
            from tricktable_lab.table import MatchError

            study = self._study()
        records = self.records
        if self.out is not None:
            from tricktable_lab.pictures import new_figure

            new_figure((1, 1))  # what is missing is better known now than after hours of play
            self.out.mkdir(parents=True, exist_ok=True)
            records = records or self.out / "records.jsonl"
        code = DONE
        report: dict[str, Any] | None
        try:
            with counting(f"of {study.games:,} games", study.games) as watch:
                report = run_study(study, self.workers, records=records, watch=watch)
        except (AgentActionError, MatchError) as error:
            return complain(error, FAILED)
        except StudyStoppedError as stop:
            report = stop.report
            played = sum(agent["games"] for agent in report["agents"]) if report else 0
            code = complain(f"{stop} after {played:,} of {study.games:,} games", FAILED)
        if report is not None:
            self._show({"command": self.command(study), **report})
        return code

    def command(self, study: Study) -> str:
        """The command that gives the same report, workers and files left out."""
        agents = [f"{spec}@{n}" for spec, n in zip(study.agents, study.deals, strict=True)]
        words = ["--agents", ",".join(agents), "--arms", self.arms, "--seed", str(self.seed)]
        for option, values in (("--arm", self.arm), ("--rule", self.rule)):
            words += [word for value in values for word in (option, value)]
        return shlex.join(["tricktable", "advantage", *words])

    def _study(self) -> Study:
        from tricktable_lab.advantage.arms import arms_of, check_rules, read_arm
        from tricktable_lab.advantage.study import Study, read_agents

        rules = game_from("tableau", None, self.rule).rules
        check_rules(rules)
        arms = arms_of([group for group in self.arms.split(",") if group], rules)
        arms += tuple(read_arm(text, rules) for text in self.arm)
        agents, deals = read_agents(self.agents, self.deals)
        return Study(rules, tuple(dict.fromkeys(arms)), agents, deals, self.seed)

    def _show(self, report: dict[str, Any]) -> None:
        from tricktable_env.files import write_whole
        from tricktable_lab import listing
        from tricktable_lab.advantage import pictures, tables

        if self.out is not None:
            text = json.dumps(report, indent=1) + "\n"
            write_whole({self.out / "report.json": text.encode()})
            pictures.draw_all(report, self.out)
        if self.as_json:
            print(json.dumps(report))
            return
        for table in tables.tables(report):
            listing.show(table)
        claims = list(tables.claims(report))
        if claims:
            print("for all agents at once (95% a line):", *claims, sep="\n")
