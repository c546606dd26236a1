"""Kernels on 64-bit words: sets of cards as bits, and the engine's random stream.

All shift counts are uint64: numba turns a mix of uint64 and int64 into a float.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, cast

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array

from tricktable_env.cards import SUIT_CARDS, SUIT_SIZE
from tricktable_env.jit import kernel

int64 = cast(Callable[[Any], int], np.int64)
"""Makes a whole number of a word or a flag in a kernel."""

ONE = np.uint64(1)
ZERO = np.uint64(0)

Four: TypeAlias = tuple[np.uint64, np.uint64, np.uint64, np.uint64]
Cursor: TypeAlias = tuple[int, int, Four, Four]
"""Where the bits gathered for the first suit are to be stored, how many there are, those of each
suit, and those stored before; see `put_plane`."""
CURSOR: Cursor = (0, 0, (ZERO, ZERO, ZERO, ZERO), (ZERO, ZERO, ZERO, ZERO))
"""At the beginning."""


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


@intrinsic(prefer_literal=True)
def room(typingctx: Any, count: Any, kind: Any) -> Any:
    """An array for a kernel to work in, not written yet, which lasts as long as the call.

    It lies on the stack, so it takes no time to make: `room(WORDS, np.uint64)`, the count a
    constant, not calculated there.
    """
    if not isinstance(count, types.IntegerLiteral):
        raise TypingError(f"room for {count} items: the count is a name or number, no calculation")
    array = types.Array(kind.instance_type, 1, "C")
    length = count.literal_value

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        item = context.get_data_type(kind.instance_type)
        made = context.make_array(array)(context, builder)
        populate_array(
            made,
            data=cgutils.alloca_once(builder, item, size=length),
            shape=[_WORD(length)],
            strides=[_WORD(context.get_abi_sizeof(item))],
            itemsize=_WORD(context.get_abi_sizeof(item)),
            meminfo=None,
        )
        return made._getvalue()

    return array(count, kind), generate


@intrinsic
def copy_words(typingctx: Any, source: Any, target: Any, count: Any) -> Any:
    """Copies the first words of an array of uint64 to another one, if it can 64 bytes at a time.

    Nothing checks that both have so many.
    """

    def one_by_one(source: Any, target: Any, count: int) -> None:
        for word in range(count):
            target[word] = source[word]

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kinds = signature.args
        if any(kind.layout != "C" for kind in kinds[:2]):
            return context.compile_internal(builder, one_by_one, signature, args)
        data = [context.make_array(kinds[i])(context, builder, args[i]).data for i in (1, 0)]
        cgutils.raw_memcpy(builder, *data, args[2], _WORD.width // 8)
        return context.get_dummy_value()

    return types.void(source, target, types.int64), generate


@kernel
def copy_row(source: np.ndarray, target: np.ndarray) -> None:
    """Copies an array of one dimension to another one; `target[:] = source` would count them."""
    for i in range(source.shape[0]):
        target[i] = source[i]


@intrinsic
def load_8(typingctx: Any, array: Any, index: Any) -> Any:
    """Which of 8 bytes of a contiguous array, from `index` on, are not 0: low bits of a uint64.

    Nothing checks that they lie within the array.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = ir.VectorType(_BYTE, 8)
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        address = builder.add(builder.ptrtoint(data, _WORD), args[1])
        loaded = builder.load(builder.inttoptr(address, kind.as_pointer()), align=1)
        flags = builder.icmp_unsigned("!=", loaded, ir.Constant(kind, None))
        return builder.zext(builder.bitcast(flags, _BYTE), _WORD)

    return types.uint64(array, types.int64), generate


def _in_fours(calculate: Callable[..., Any]) -> Any:
    """Makes an intrinsic that calculates four words at once, with the processor's wide registers.

    Four scalar chains take a third longer, and numba leaves it at them.
    """

    @intrinsic
    def calculated(typingctx: Any, first: Any, second: Any) -> Any:
        """Four words of two operands, each of them four words or one word four times."""
        four = types.UniTuple(types.uint64, 4)

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            kinds = signature.args
            vectors = [_vector(builder, *each) for each in zip(args, kinds, strict=True)]
            result = calculate(builder, *vectors)
            words = [builder.extract_element(result, _INT(i)) for i in range(4)]
            return context.make_tuple(builder, four, words)

        return four(first, second), generate

    return calculated


def _vector(builder: Any, value: Any, kind: Any) -> Any:
    """Four words, or one word four times, as a vector."""
    vector = ir.Constant(_FOUR, ir.Undefined)
    for i in range(4):
        word = builder.extract_value(value, i) if isinstance(kind, types.UniTuple) else value
        vector = builder.insert_element(vector, word, _INT(i))
    return vector


_INT, _FOUR = ir.IntType(32), ir.VectorType(_WORD, 4)
_SUITS_AT = ir.Constant(_FOUR, [SUIT_SIZE * suit for suit in range(4)])
_either = _in_fours(lambda builder, a, b: builder.or_(a, b))
_up = _in_fours(lambda builder, words, by: builder.shl(words, by))
_down = _in_fours(lambda builder, words, by: builder.lshr(words, by))
_by_suit = _in_fours(lambda builder, cards, of: builder.and_(builder.lshr(cards, _SUITS_AT), of))


@kernel
def _put(flags: Four, count: int, out: np.ndarray, width: int, at: Cursor) -> Cursor:
    """Goes on writing bits of each suit as bytes 0 or 1, lowest first.

    They are gathered and stored 64 at a time: a plane by itself has but 13 for a suit.

    Args:
        flags: the bits for each suit.
        count: how many, 1 to 64; all higher bits are 0.
        out: `[n] uint8`, contiguous, in which the suits stand `width` bytes apart.
        width: see `out`.
        at: where to go on: `CURSOR`, or what the call before gave.

    Returns:
        Where to go on.
    """
    place, filled, words, stored = at
    words = _either(words, _up(flags, np.uint64(filled)))
    filled += count
    if filled < 64:
        return place, filled, words, stored
    for suit in range(4):
        store_64(out, place + suit * width, words[suit])
    filled -= 64
    return place + 64, filled, _down(flags, np.uint64(count - filled)), words


@kernel
def put_plane(cards: np.uint64, out: np.ndarray, width: int, at: Cursor) -> Cursor:
    """Goes on with a set of cards: for each suit a byte for each of its ranks; see `_put`."""
    return _put(_by_suit(cards, np.uint64(SUIT_CARDS)), SUIT_SIZE, out, width, at)


@kernel
def put_flag(twos: np.uint64, out: np.ndarray, width: int, at: Cursor) -> Cursor:
    """Goes on with a byte for each suit: whether its lowest card is in a set; see `_put`."""
    return _put(_by_suit(twos, ONE), 1, out, width, at)


@kernel
def put_rest(out: np.ndarray, width: int, at: Cursor) -> None:
    """Stores what is still gathered, when 64 bytes or more of each suit are stored; see `_put`.

    Some of those are stored once more: less than 64 can't be without others behind them.
    """
    place, filled, words, stored = at
    if filled == 0:
        return
    words = _either(_down(stored, np.uint64(filled)), _up(words, np.uint64(64 - filled)))
    for suit in range(4):
        store_64(out, place + filled - 64 + suit * width, words[suit])


@kernel
def twos_of(suits: np.uint64) -> np.uint64:
    """The lowest cards of a set of suits (4 bits), as a set of cards."""
    return (suits * np.uint64(_SPREAD)) & np.uint64(TWOS)


_SPREAD = sum(1 << (SUIT_SIZE - 1) * suit for suit in range(4))
TWOS = sum(1 << SUIT_SIZE * suit for suit in range(4))
"""The lowest card of each suit."""


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
def list_bits(word: np.uint64, out: np.ndarray) -> int:
    """Writes the indices of all set bits, lowest first, to an array; returns how many."""
    n = 0
    while word != ZERO:
        out[n] = first(word)
        word &= word - ONE
        n += 1
    return n


@kernel
def shuffle(cards: np.ndarray, n: int, words: np.ndarray, at: int) -> None:
    """Shuffles `cards[:n]` in place (Fisher and Yates) with the stream in `words[at]`."""
    for i in range(n - 1, 0, -1):
        j = below(words, at, i + 1)
        cards[i], cards[j] = cards[j], cards[i]


@kernel
def _rounds(
    v0: np.uint64, v1: np.uint64, v2: np.uint64, v3: np.uint64, n: int
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """Mixes the four words of SipHash n times."""
    for _ in range(n):
        v0 += v1
        v2 += v3
        v1 = v0 ^ (v1 << np.uint64(13) | v1 >> np.uint64(51))
        v3 = v2 ^ (v3 << np.uint64(16) | v3 >> np.uint64(48))
        v0 = v0 << np.uint64(32) | v0 >> np.uint64(32)
        v2 += v1
        v0 += v3
        v1 = v2 ^ (v1 << np.uint64(17) | v1 >> np.uint64(47))
        v3 = v0 ^ (v3 << np.uint64(21) | v3 >> np.uint64(43))
        v2 = v2 << np.uint64(32) | v2 >> np.uint64(32)
    return v0, v1, v2, v3


@kernel
def stream(seed: np.uint64, a: int, b: int) -> np.uint64:
    """The start of the random stream that belongs to (seed, a, b), as in (seed, seat, ply).

    SipHash-2-4 of (a, b) under the key (seed, 0) (Aumasson and Bernstein 2012). Who is given a
    stream can't work back to the seed, from which the deal follows.
    """
    v0 = np.uint64(seed) ^ np.uint64(0x736F6D6570736575)
    v1 = np.uint64(0x646F72616E646F6D)
    v2 = np.uint64(seed) ^ np.uint64(0x6C7967656E657261)
    v3 = np.uint64(0x7465646279746573)
    for word in (np.uint64(a), np.uint64(b), np.uint64(16 << 56)):  # last comes the length
        v0, v1, v2, v3 = _rounds(v0, v1, v2, v3 ^ word, 2)
        v0 ^= word
    v0, v1, v2, v3 = _rounds(v0, v1, v2 ^ np.uint64(0xFF), v3, 4)
    return v0 ^ v1 ^ v2 ^ v3


@kernel
def decision_key(seed: np.uint64, deal: int, player: int, ply: int) -> np.uint64:
    """The start of the random stream that belongs to one decision of a player."""
    return stream(stream(seed, deal, player), ply, 0)
