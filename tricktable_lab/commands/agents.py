"""`tricktable agents`."""

from __future__ import annotations

import json
from dataclasses import dataclass

from tricktable_lab.commands.options import DONE, AsJson
from tricktable_lab.interrupts import held_back


@dataclass(frozen=True)
class Agents:
    """Lists what can be named in an agent spec, NAME[:key=value,...], with its options.

    Example: tricktable agents --json
    """

    as_json: AsJson = False
    """Print one JSON document."""

    def run(self) -> int:
        """Lists the agents."""
        with held_back():
            from tricktable_lab import listing

            agents = listing.agents()
        if self.as_json:
            print(json.dumps(agents))
        else:
            listing.show(listing.agents_table(agents))
        return DONE
