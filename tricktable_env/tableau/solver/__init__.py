"""Perfect play of Tableau where every card is known: exact values, fast enough for whole deals.

`solve`, `solve_moves`, `takes_at_least` and `solve_batch` are for Python. Kernels call `begin` and
`narrow`, with a memory made beforehand by `new_memory`.
"""

from tricktable_env.tableau.solver.memory import TableSizeError, new_memory
from tricktable_env.tableau.solver.questions import (
    ALL,
    BEST,
    BEST_OF_ALL,
    begin,
    narrow,
    narrow_rows,
)
from tricktable_env.tableau.solver.solve import (
    Bounds,
    NotProvenError,
    solve,
    solve_batch,
    solve_moves,
    takes_at_least,
)

__all__ = [
    "ALL",
    "BEST",
    "BEST_OF_ALL",
    "Bounds",
    "NotProvenError",
    "TableSizeError",
    "begin",
    "narrow",
    "narrow_rows",
    "new_memory",
    "solve",
    "solve_batch",
    "solve_moves",
    "takes_at_least",
]
