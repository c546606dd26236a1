"""What the suit layers do between two matrix products, in one pass over the suits' vectors.

Arrays are float32, or uint16 which are the bits of bfloat16: the upper half of float32's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from tricktable_env.cards import SUITS
from tricktable_env.jit import kernel

QUARTER = np.float32(0.25)
NONE = np.float32(0.0)
NUM_SUITS = len(SUITS)
_FLOAT, _BITS, _HALF = ir.FloatType(), ir.IntType(32), ir.IntType(16)


def _place(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    data = context.make_array(signature.args[0])(context, builder, args[0]).data
    return builder.gep(data, [args[1]])


@intrinsic
def number(typingctx: Any, array: Any, index: Any) -> Any:
    """The float32 that an entry of a contiguous array stands for; the index is into all of it."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        stored = builder.load(_place(context, builder, signature, args))
        if array.dtype != types.uint16:
            return stored
        return builder.bitcast(builder.shl(builder.zext(stored, _BITS), _BITS(16)), _FLOAT)

    return types.float32(array, types.int64), generate


@intrinsic
def put(typingctx: Any, array: Any, index: Any, value: Any) -> Any:
    """Writes a float32 to a contiguous array, rounded to the nearest, ties to even."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place, stored = _place(context, builder, signature, args), args[2]
        if array.dtype == types.uint16:
            bits = builder.bitcast(stored, _BITS)
            odd = builder.and_(builder.lshr(bits, _BITS(16)), _BITS(1))
            rounded = builder.add(bits, builder.add(odd, _BITS(0x7FFF)))
            stored = builder.trunc(builder.lshr(rounded, _BITS(16)), _HALF)
        builder.store(stored, place)
        return context.get_dummy_value()

    return types.void(array, types.int64, types.float32), generate


@kernel
def read(
    rows: np.ndarray,
    suit_width: int,
    hidden: int,
    hidden_width: int,
    trump: int,
    highs: np.ndarray,
    suits: np.ndarray,
    pooled: np.ndarray,
    trumps: np.ndarray,
) -> None:
    """Reads observations as the first layer wants them.

    Args:
        rows: `[B, D] uint8`: the suits' entries, then the numbers.
        suit_width: entries of a suit.
        hidden: where what only a critic may see begins, suit by suit again.
        hidden_width: such entries of a suit; 0 where they are not to be read.
        trump: index of the flag `trump` in a suit.
        highs: `[N] float32`, what the numbers are divided by.
        suits: `[B, 4, suit_width + hidden_width]`, written.
        pooled: `[B, 2 x (suit_width + hidden_width) + N]`, written: see `pool`; then the numbers.
        trumps: `[B] int64`, written: which suit is trump, -1 for none.
    """
    width = suits.shape[2]
    for row in range(len(rows)):
        trumps[row] = -1
        for suit in range(NUM_SUITS):
            at, start = (NUM_SUITS * row + suit) * width, suit * suit_width
            for k in range(suit_width):
                put(suits, at + k, np.float32(rows[row, start + k]))
            if rows[row, start + trump]:
                trumps[row] = suit
            at, start = at + suit_width, hidden + suit * hidden_width
            for k in range(hidden_width):
                put(suits, at + k, np.float32(rows[row, start + k]))
        pool(suits, row, trumps[row], pooled)
        at, start = row * pooled.shape[1] + 2 * width, NUM_SUITS * suit_width
        for k in range(len(highs)):
            put(pooled, at + k, np.float32(rows[row, start + k]) / highs[k])


@kernel
def join(
    update: np.ndarray,
    context: np.ndarray,
    hidden: np.ndarray,
    trumps: np.ndarray,
    joined: np.ndarray,
    pooled: np.ndarray,
) -> None:
    """Ends a layer: u = ReLU(u + context), h' = h + u, and the pooled vectors of h'.

    Args:
        update: `[B, 4, W]`, u, changed.
        context: `[B, W]`.
        hidden: `[B, 4, W]`, h; none if `joined` is `update`.
        trumps: `[B] int64`, which suit is trump, -1 for none.
        joined: `[B, 4, W]`, h', written.
        pooled: `[B, 2 x W]`, written; see `pool`.
    """
    width = update.shape[2]
    for row in range(len(update)):
        for suit in range(NUM_SUITS):
            at, shared = (NUM_SUITS * row + suit) * width, row * width
            for k in range(width):
                put(update, at + k, max(number(update, at + k) + number(context, shared + k), NONE))
            if len(hidden):
                for k in range(width):
                    put(joined, at + k, number(update, at + k) + number(hidden, at + k))
        pool(joined, row, trumps[row], pooled)


@kernel
def pool(suits: np.ndarray, row: int, trump: int, pooled: np.ndarray) -> None:
    """Writes the mean over a row's suits, and behind it the trump suit's vector, zero for none.

    The loops here are short on purpose: with more arrays in one the compiler, which can't know
    that they are apart, would go number by number.
    """
    width = suits.shape[2]
    first, out = NUM_SUITS * row * width, row * pooled.shape[1]
    for k in range(width):
        low = number(suits, first + k) + number(suits, first + width + k)
        high = number(suits, first + 2 * width + k) + number(suits, first + 3 * width + k)
        put(pooled, out + k, (low + high) * QUARTER)
    for k in range(width):
        put(pooled, out + width + k, NONE)
    if trump >= 0:
        for k in range(width):
            put(pooled, out + width + k, number(suits, first + trump * width + k))


@kernel
def part(
    grad: np.ndarray,
    pooled_grad: np.ndarray,
    trumps: np.ndarray,
    update: np.ndarray,
    context_grad: np.ndarray,
    bias_grad: np.ndarray,
) -> None:
    """The way back through `join`.

    Args:
        grad: `[B, 4, W]`, of h', without what comes by the pooled vectors, which is added.
        pooled_grad: `[B, 2 x W]`.
        trumps: `[B] int64`.
        update: `[B, 4, W]`, u; its gradient before ReLU is written over it.
        context_grad: `[B, W]`, written.
        bias_grad: `[W] float32`, written: the sum of that over all rows.
    """
    width = grad.shape[2]
    bias_grad[:] = 0
    for row in range(len(grad)):
        first, shared = NUM_SUITS * row * width, 2 * row * width
        for suit in range(NUM_SUITS):
            at = first + suit * width
            trump = np.float32(trumps[row] == suit)
            for k in range(width):
                mean, own = number(pooled_grad, shared + k), number(pooled_grad, shared + width + k)
                put(grad, at + k, number(grad, at + k) + mean * QUARTER + own * trump)
            for k in range(width):
                passed = number(update, at + k) > NONE
                put(update, at + k, number(grad, at + k) if passed else NONE)
        for k in range(width):
            low = number(update, first + k) + number(update, first + width + k)
            high = number(update, first + 2 * width + k) + number(update, first + 3 * width + k)
            put(context_grad, row * width + k, low + high)
        for k in range(width):
            bias_grad[k] += number(context_grad, row * width + k)
