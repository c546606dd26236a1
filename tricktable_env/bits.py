"""Kernels on 64-bit words: sets of cards as bits, and the engine's random stream.

All shift counts are uint64: numba turns a mix of uint64 and int64 into a float.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from tricktable_env.jit import kernel

int64 = cast(Callable[[Any], int], np.int64)
"""Makes a whole number of a word or a flag in a kernel."""

ONE = np.uint64(1)
ZERO = np.uint64(0)


@intrinsic
def popcount(typingctx: Any, word: Any) -> Any:
    """Number of bits set in a uint64, as uint64."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.uint64(types.uint64), generate


@intrinsic
def lowest(typingctx: Any, word: Any) -> Any:
    """Index of the lowest bit set in a uint64, as uint64; 64 for an empty word."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), generate


@intrinsic
def leading_zeros(typingctx: Any, word: Any) -> Any:
    """Number of zero bits above the highest one of a uint64, as uint64; 64 for an empty word."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctlz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), generate


def _storing(bits: int) -> Any:
    """Makes `store_16` and its like.

    LLVM writes them with the widest instructions that the processor has. It gets some numbers of
    bits that are no power of two wrong.
    """

    @intrinsic
    def store(typingctx: Any, array: Any, index: Any, word: Any) -> Any:
        """Writes the low bits of a uint64 as bytes 0 or 1, lowest first, to an array of bytes.

        Nothing checks that they lie within the array, which is contiguous, from `index` on.
        """

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            low = args[2] if bits == 64 else builder.trunc(args[2], ir.IntType(bits))
            flags = builder.bitcast(low, ir.VectorType(ir.IntType(1), bits))
            _store(
                context, builder, signature, args, builder.zext(flags, ir.VectorType(_BYTE, bits))
            )
            return context.get_dummy_value()

        return types.void(array, types.int64, types.uint64), generate

    return store


_BYTE, _WORD = ir.IntType(8), ir.IntType(64)


def _store(context: Any, builder: Any, signature: Any, args: Any, value: Any) -> None:
    """Writes a value of any width to an array `args[0]` from byte `args[1]` on."""
    data = context.make_array(signature.args[0])(context, builder, args[0]).data
    address = builder.add(builder.ptrtoint(data, _WORD), args[1])
    builder.store(value, builder.inttoptr(address, value.type.as_pointer()), align=1)


store_16, store_32, store_64 = _storing(16), _storing(32), _storing(64)


@intrinsic
def store_word(typingctx: Any, array: Any, index: Any, word: Any) -> Any:
    """Writes the 8 bytes of a uint64, lowest first, to a contiguous uint8 array at `index`.

    Nothing checks that the 8 bytes lie within the array.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        _store(context, builder, signature, args, args[2])
        return context.get_dummy_value()

    return types.void(array, types.int64, types.uint64), generate


@intrinsic
def ask(typingctx: Any, address: Any, view: Any, mask: Any, words: Any) -> Any:
    """Asks the compiled agent at an address for its action: see `opponents.address_of`.

    Nothing checks that there is one.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kinds = [context.get_value_type(kind) for kind in signature.args[1:]]
        function = ir.FunctionType(_WORD, kinds).as_pointer()
        return builder.call(builder.inttoptr(args[0], function), args[1:])

    return types.int64(types.int64, view, mask, words), generate


@kernel
def bit(index: int) -> np.uint64:
    """The word with only bit `index` set."""
    return ONE << np.uint64(index)


@kernel
def has(word: np.uint64, index: int) -> bool:
    """Whether bit `index` of `word` is set."""
    return (word >> np.uint64(index)) & ONE != ZERO


@kernel
def size(word: np.uint64) -> int:
    """Number of bits set, as int64."""
    return int64(popcount(word))


@kernel
def first(word: np.uint64) -> int:
    """Index of the lowest bit set, as int64; the word must not be empty."""
    return int64(lowest(word))


@kernel
def last(word: np.uint64) -> int:
    """Index of the highest bit set, as int64; the word must not be empty."""
    return 63 - int64(leading_zeros(word))


@kernel
def nth(word: np.uint64, n: int) -> int:
    """Index of the n-th bit set, counted from the lowest as 0."""
    for _ in range(n):
        word &= word - ONE
    return int64(lowest(word))


@kernel
def mix(word: np.uint64) -> np.uint64:
    """Scrambles a word: the finalizer of SplitMix64 (Steele, Lea, Flood 2014)."""
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@kernel
def draw(words: np.ndarray, at: int) -> np.uint64:
    """The next 64 random bits of the SplitMix64 stream kept in `words[at]`, which advances."""
    words[at] += np.uint64(0x9E3779B97F4A7C15)
    return mix(words[at])


@kernel
def below(words: np.ndarray, at: int, n: int) -> int:
    """A random number 0 <= x < n from the stream in `words[at]`.

    Multiply and shift on 32 bits (Lemire 2019): for n up to 52 no value's chance is off by more
    than one part in 80 million.
    """
    return int64(((draw(words, at) >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))


@kernel
def shuffle(cards: np.ndarray, n: int, words: np.ndarray, at: int) -> None:
    """Shuffles `cards[:n]` in place (Fisher and Yates) with the stream in `words[at]`."""
    for i in range(n - 1, 0, -1):
        j = below(words, at, i + 1)
        cards[i], cards[j] = cards[j], cards[i]


@kernel
def _rounds(v: np.ndarray, n: int) -> None:
    """Mixes the four words of SipHash n times."""
    for _ in range(n):
        v[0] += v[1]
        v[2] += v[3]
        v[1] = v[0] ^ (v[1] << np.uint64(13) | v[1] >> np.uint64(51))
        v[3] = v[2] ^ (v[3] << np.uint64(16) | v[3] >> np.uint64(48))
        v[0] = v[0] << np.uint64(32) | v[0] >> np.uint64(32)
        v[2] += v[1]
        v[0] += v[3]
        v[1] = v[2] ^ (v[1] << np.uint64(17) | v[1] >> np.uint64(47))
        v[3] = v[0] ^ (v[3] << np.uint64(21) | v[3] >> np.uint64(43))
        v[2] = v[2] << np.uint64(32) | v[2] >> np.uint64(32)


@kernel
def stream(seed: np.uint64, a: int, b: int) -> np.uint64:
    """The start of the random stream that belongs to (seed, a, b), as in (seed, seat, ply).

    SipHash-2-4 of (a, b) under the key (seed, 0) (Aumasson and Bernstein 2012). Who is given a
    stream can't work back to the seed, from which the deal follows.
    """
    v = np.empty(4, np.uint64)
    v[0] = np.uint64(seed) ^ np.uint64(0x736F6D6570736575)
    v[1] = np.uint64(0x646F72616E646F6D)
    v[2] = np.uint64(seed) ^ np.uint64(0x6C7967656E657261)
    v[3] = np.uint64(0x7465646279746573)
    for word in (np.uint64(a), np.uint64(b), np.uint64(16 << 56)):  # last comes the length
        v[3] ^= word
        _rounds(v, 2)
        v[0] ^= word
    v[2] ^= np.uint64(0xFF)
    _rounds(v, 4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


@kernel
def decision_key(seed: np.uint64, deal: int, player: int, ply: int) -> np.uint64:
    """The start of the random stream that belongs to one decision of a player."""
    return stream(stream(seed, deal, player), ply, 0)
