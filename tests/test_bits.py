"""Bits stored as bytes: on this processor, and as it is compiled for others."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tricktable_env.bits import (
    CURSOR,
    copy_words,
    load_8,
    put_flag,
    put_plane,
    put_rest,
    room,
    store_16,
    store_32,
    store_64,
    store_word,
)
from tricktable_env.cards import ALL_CARDS, SUIT_SIZE
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


@kernel
def store_planes(cards: Any, planes: int, out: Any) -> None:
    """Writes some sets of cards as planes and the others as flags: `[n] uint64` to bytes."""
    width = planes * SUIT_SIZE + len(cards) - planes
    at = CURSOR
    for i in range(planes):
        at = put_plane(cards[i], out, width, at)
    for i in range(planes, len(cards)):
        at = put_flag(cards[i], out, width, at)
    put_rest(out, width, at)


@kernel
def copied(words: Any, out: Any) -> int:
    """Copies words by way of an array of the call's own; which of the first 8 bytes are not 0."""
    mine = room(WORDS, np.uint64)
    flags = room(8, np.int8)
    copy_words(words, mine, WORDS)
    copy_words(mine, out, WORDS)
    for i in range(8):
        flags[i] = 1 if words[i] & np.uint64(2) != np.uint64(0) else 0
    return load_8(flags, 0)


def check() -> None:
    """Raises when a byte is not as it should be."""
    check_stores()
    for planes, flags in ((10, 4), (10, 5), (6, 0), (20, 20), (5, 63), (64, 0)):
        check_planes(planes, flags)
    words = np.random.default_rng(1).integers(2**64, size=(WORDS, 3), dtype=np.uint64)
    for given in (words[:, 1].copy(), words[:, 1]):  # side by side, and apart
        out = np.zeros(WORDS, np.uint64)
        assert copied(given, out) == sum(int(given[i] >> 1 & 1) << i for i in range(8))
        assert (out == given).all()


def check_planes(planes: int, flags: int) -> None:
    """Compares what is written side by side for four suits with the bits of each."""
    rng = np.random.default_rng(planes)
    cards = rng.integers(ALL_CARDS + 1, size=planes + flags, dtype=np.uint64)
    width = planes * SUIT_SIZE + flags
    out = np.full(4 * width + 8, 9, np.uint8)
    store_planes(cards, planes, out[: 4 * width])
    bits = np.unpackbits(cards.view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")
    for suit in range(4):
        of_suit = bits[:, SUIT_SIZE * suit : SUIT_SIZE * (suit + 1)]
        expected = np.concatenate([of_suit[:planes].ravel(), of_suit[planes:, 0]])
        assert (out[width * suit : width * (suit + 1)] == expected).all()
    assert (out[4 * width :] == 9).all(), "nothing behind the last suit is written"


def check_stores() -> None:
    """Compares what each way of storing writes with the bits or bytes of the word."""
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
