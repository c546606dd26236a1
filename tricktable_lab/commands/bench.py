"""`tricktable bench`."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from tricktable_lab.commands.options import DONE, AsJson
from tricktable_lab.interrupts import held_back


@dataclass(frozen=True)
class Bench:
    """Measures how fast the environments are on one core, and how long they take to start.

    About a minute. All is processor time: rates with nothing compiled meanwhile, and the starts of
    new processes, cold (everything is compiled) and warm.

    Example: tricktable bench --seconds 0.2
    """

    seconds: float = 1.0
    """Processor time of each rate."""
    starts: bool = True
    """Also time new processes; --no-starts leaves them out."""
    as_json: AsJson = False
    """Print one JSON document."""

    def run(self) -> int:
        """Measures, and shows the figures."""
        with held_back():
            from tricktable_lab.bench import measure_rates, measure_starts
            from tricktable_lab.listing import bench_tables, show
        rates = dict(measure_rates(self.seconds))
        starts = dict(measure_starts()) if self.starts else {}
        if self.as_json:
            timed = {name: asdict(start) for name, start in starts.items()}
            print(json.dumps({"rates": rates, "starts": timed}))
            return DONE
        for table in bench_tables(rates, starts):
            show(table)
        return DONE
