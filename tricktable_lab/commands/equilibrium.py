"""`tricktable equilibrium`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from tricktable_lab.commands.bars import stages
from tricktable_lab.commands.options import (
    DONE,
    FAILED,
    MISUSED,
    AsJson,
    UsageError,
    Words,
    complain,
    game_from,
)
from tricktable_lab.interrupts import held_back

if TYPE_CHECKING:
    from tricktable_lab.equilibrium.study import Study


@dataclass(frozen=True, kw_only=True)
class Equilibrium:
    """Solves Tableau on a reduced deck: the value of the game, both seats playing perfectly.

    The value is the caller's reward and lies between two bounds, what the plans found guarantee
    each seat. NashConv, their distance, is what both seats together could gain by the best reply
    to the other's plan. With --agent also what an agent's way of playing loses to best replies.

    Example: tricktable equilibrium --rule suits=2 --rule ranks=4 --rule hand=2 --rule piles=1
    --agent greedy
    """

    rule: Annotated[Words, tyro.conf.arg(metavar="KEY=VALUE")] = ()
    """An option of the rules, as suits=2 or tie=draw."""
    target: float = 0.001
    """Stop when NashConv is below this; a win is worth 1, a loss -1."""
    iterations: int = 10_000
    """Stop after so many in any case."""
    agent: Annotated[Words, tyro.conf.arg(metavar="AGENT")] = ()
    """Spec of an agent to judge, once for each; see `tricktable agents`. It must not draw its
    actions, but for random."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """Keep the plans and how far they are in this file of numpy's (.npz), and go on from it."""
    memory: Annotated[float, tyro.conf.arg(metavar="GB")] = 8.0
    """Refuse a deck that may take more."""
    count: bool = True
    """Count leaves and information states too, which may take longer than all the rest."""
    as_json: AsJson = False
    """Print one JSON document."""

    def run(self) -> int:
        """Solves the game; stopped by Ctrl-C it gives what is known by then."""
        with held_back():
            from tricktable_lab.equilibrium.agents import AgentChoiceError, AgentOddsError
            from tricktable_lab.equilibrium.study import Study, check_file

            self._check()
            study = Study(game_from("tableau", None, self.rule), self.memory, self.agent)
            if self.out is not None:
                check_file(self.out, study.game)
        code = DONE
        try:
            with stages() as told:
                study.prepare(told, self.count)
                study.judge(told)  # first: what can't be judged is not waited for
                if self.out is not None:
                    study.resume(self.out)
                study.solve(self.target, self.iterations, told, self.out)
        except KeyboardInterrupt:
            done = study.solver.iterations if study.solver else 0
            code = complain(f"stopped after {done} iterations", FAILED)
        except AgentChoiceError as error:
            code = complain(error, FAILED)
        except OSError as error:  # the file; what has been found is told all the same
            code = complain(f"{error.filename}: {error.strerror}", FAILED)
        except AgentOddsError as error:
            code = complain(error, MISUSED)
        if study.worth is None:
            return code
        self._show(study)
        return code or (DONE if study.nash_conv < self.target else FAILED)

    def _check(self) -> None:
        if not self.target > 0:
            raise UsageError(f"target={self.target} is not more than 0")
        if self.iterations < 1:
            raise UsageError(f"iterations={self.iterations} is not 1 or more")
        if not self.memory > 0:
            raise UsageError(f"memory={self.memory} is not more than 0")
        if self.out is not None and not self.out.absolute().parent.is_dir():
            raise UsageError(f"{self.out}: there is no such folder")

    def _show(self, study: Study) -> None:
        from tricktable_lab import listing
        from tricktable_lab.equilibrium import report

        if self.as_json:
            print(json.dumps(study.as_json()))
            return
        for table in report.tables(study.as_json()):
            listing.show(table)
