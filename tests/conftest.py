"""Settings that all tests share."""

from __future__ import annotations

import signal

from hypothesis import settings

# The same examples every time and nothing written to the working folder; kernels that have to be
# compiled first make the first example slow, so no example has a deadline.
settings.register_profile("reproducible", derandomize=True, database=None, deadline=None)
settings.load_profile("reproducible")

# A shell starts background jobs with Ctrl-C ignored, and every process they start inherits that:
# the tests that send one would wait for nothing.
signal.signal(signal.SIGINT, signal.default_int_handler)
