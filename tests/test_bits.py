"""Bits stored as bytes: on this processor, and as it is compiled for others."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tricktable_env.bits import store_16, store_32, store_64, store_word
from tricktable_env.jit import kernel

WORDS = 500


@kernel
def store_all(words: Any, out: Any) -> None:
    """Writes every word in every way: `[n] uint64` to `[n, 4, 80] uint8`."""
    for i in range(len(words)):
        store_16(out[i, 0], 3, words[i])
        store_32(out[i, 1], 3, words[i])
        store_64(out[i, 2], 3, words[i])
        store_word(out[i, 3], 3, words[i])


def check() -> None:
    """Raises when a byte is not as it should be."""
    words = np.random.default_rng(0).integers(2**64, size=WORDS, dtype=np.uint64)
    out = np.full((WORDS, 4, 80), 9, np.uint8)
    store_all(words, out)
    bits = np.unpackbits(words.view(np.uint8).reshape(WORDS, 8), axis=1, bitorder="little")
    for way, values in enumerate((bits[:, :16], bits[:, :32], bits, words.view(np.uint8))):
        expected = np.full((WORDS, 80), 9, np.uint8)
        values = values.reshape(WORDS, -1)
        expected[:, 3 : 3 + values.shape[1]] = values
        assert (out[:, way] == expected).all()


def test_bits_become_bytes_in_their_order_and_nothing_else_is_written() -> None:
    check()


@pytest.mark.parametrize(
    ("cpu", "features"), [("x86-64", "+sse2"), ("haswell", "+avx,+avx2,+bmi,+bmi2,+popcnt")]
)
def test_older_processors_get_the_same_bytes(cpu: str, features: str, tmp_path: Path) -> None:
    if "x86" not in os.uname().machine or ("avx2" in features and "avx2" not in _flags()):
        pytest.skip(f"this processor can't run code for {cpu}")
    env = {**os.environ, "NUMBA_CPU_NAME": cpu, "NUMBA_CPU_FEATURES": features}
    env["TRICKTABLE_CACHE_DIR"] = str(tmp_path)
    program = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
    program += "import test_bits; test_bits.check()"
    subprocess.run([sys.executable, "-c", program], env=env, check=True)


def _flags() -> str:
    cpu = Path("/proc/cpuinfo")
    return cpu.read_text(encoding="utf-8") if cpu.exists() else ""
