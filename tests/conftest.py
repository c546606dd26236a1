"""Settings that all tests share."""

from __future__ import annotations

from hypothesis import settings

# The same examples every time and nothing written to the working folder; kernels that have to be
# compiled first make the first example slow, so no example has a deadline.
settings.register_profile("reproducible", derandomize=True, database=None, deadline=None)
settings.load_profile("reproducible")
