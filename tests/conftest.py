"""Settings that all tests share."""

from __future__ import annotations

import importlib.util
import re
import signal
from pathlib import Path

from hypothesis import settings

# The same examples every time and nothing written to the working folder; kernels that have to be
# compiled first make the first example slow, so no example has a deadline.
settings.register_profile("reproducible", derandomize=True, database=None, deadline=None)
settings.load_profile("reproducible")

# A shell starts background jobs with Ctrl-C ignored, and every process they start inherits that:
# the tests that send one would wait for nothing.
signal.signal(signal.SIGINT, signal.default_int_handler)

_LIBRARIES = "torch|safetensors|stable_baselines3|train|agents\\.(network|policy|training)"
_TRAINING = re.compile(rf"^(import|from) ({_LIBRARIES})\b", re.MULTILINE)
collect_ignore = (
    []
    if importlib.util.find_spec("torch")
    else [
        file.name
        for file in sorted(Path(__file__).parent.glob("test_*.py"))
        if _TRAINING.search(file.read_text(encoding="utf-8"))
    ]
)
"""With the core alone: the tests of training and of what was trained are left out."""
