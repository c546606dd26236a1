"""What there is to say of a card by itself, computed for the cards that may be played.

    score = w ReLU(c + A x + B n) + b

with x the card's own entry of every plane, n how many higher cards of its suit each plane has, and
c what is said of the suit; A, B, w and b are the same for all cards. A kernel does only what is
needed: most entries of the planes are zero, and few cards are legal. As one dense matrix product
this took five times as long.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from torch import Tensor

from tricktable_env.bits import ONE, int64, load_8, lowest, room
from tricktable_env.cards import NUM_CARDS, SUIT_SIZE, SUITS
from tricktable_env.jit import kernel

CARD_WIDTH = 16
"""Width of the hidden layer, that of a vector register: a kernel knows its loops' lengths."""
NUM_SUITS = len(SUITS)
HIDDEN = SUIT_SIZE * CARD_WIDTH
"""Numbers in the hidden vectors of a suit's cards, which lie one after the other."""


def card_scores(
    observations: Tensor, suit_width: int, legal: int, context: Tensor, weights: tuple[Tensor, ...]
) -> Tensor:
    """Scores the cards that may be played.

    Args:
        observations: `[B, D or more] uint8`, contiguous, suits first, each beginning with its
            planes.
        suit_width: entries of a suit.
        legal: index of the first card in the action mask.
        context: `[B, 4, 16] float32`, c.
        weights: A `[P, 16]` and B `[P, 16]` for P planes, w `[16]`, all float32.

    Returns:
        `[B, 52] float32`, without b; zero for what may not be played.
    """
    scores: Tensor = _CardScores.apply(  # type: ignore[no-untyped-call]
        observations, suit_width, legal, context, *weights
    )
    return scores


class _CardScores(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, observations: Tensor, suit_width: int, legal: int, *inputs: Tensor
    ) -> Tensor:
        arrays = [tensor.contiguous().numpy() for tensor in inputs]
        ctx.kept = (observations.numpy(), suit_width, legal, *arrays)
        scores = torch.zeros(len(observations), NUM_CARDS)
        score(*(*ctx.kept, scores.numpy()))
        return scores

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        outs = [torch.zeros(array.shape) for array in ctx.kept[3:]]
        arrays = [tensor.contiguous().numpy() for tensor in (grads[0], *outs)]
        score_back(*ctx.kept, *arrays)
        return (None, None, None, *outs)


@intrinsic
def add(typingctx: Any, target: Any, at: Any, source: Any, start: Any) -> Any:
    """Adds CARD_WIDTH numbers of a float32 array, from an index on, to those of another.

    Nothing checks that they lie within the arrays. Of plain loops numba makes 16 additions.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = ir.VectorType(ir.FloatType(), CARD_WIDTH)
        places = []
        for i in (0, 2):
            data = context.make_array(signature.args[i])(context, builder, args[i]).data
            places.append(builder.bitcast(builder.gep(data, [args[i + 1]]), kind.as_pointer()))
        total = builder.fadd(*(builder.load(place, align=4) for place in places))
        builder.store(total, places[0], align=4)
        return context.get_dummy_value()

    return types.void(target, types.int64, source, types.int64), generate


@kernel
def score(
    rows: np.ndarray,
    suit_width: int,
    legal: int,
    context: np.ndarray,
    own: np.ndarray,
    above: np.ndarray,
    weight: np.ndarray,
    scores: np.ndarray,
) -> None:
    """Writes the scores `[B, 52]` of `card_scores`, whose arguments the others are."""
    hidden, higher = room(HIDDEN, np.float32), room(HIDDEN, np.float32)
    for row in range(rows.shape[0]):
        for suit in range(NUM_SUITS):
            first = row * rows.shape[1]
            cards = plane(rows, first + legal + suit * SUIT_SIZE)
            if not cards:
                continue
            hide(rows, first + suit * suit_width, context[row, suit], own, above, hidden, higher)
            while cards:
                rank = int64(lowest(cards))
                cards &= cards - ONE
                at = rank * CARD_WIDTH
                for k in range(at, at + CARD_WIDTH):
                    higher[k] = max(hidden[k], np.float32(0.0)) * weight[k - at]
                total = np.float32(0.0)
                for k in range(at, at + 4):
                    total += (higher[k] + higher[k + 4]) + (higher[k + 8] + higher[k + 12])
                scores[row, suit * SUIT_SIZE + rank] = total


@kernel
def score_back(
    rows: np.ndarray,
    suit_width: int,
    legal: int,
    context: np.ndarray,
    own: np.ndarray,
    above: np.ndarray,
    weight: np.ndarray,
    grads: np.ndarray,
    context_grad: np.ndarray,
    own_grad: np.ndarray,
    above_grad: np.ndarray,
    weight_grad: np.ndarray,
) -> None:
    """Writes the gradients of context, A, B and w, zero before, by those of the scores `[B, 52]`.

    B is asked for what lies above a card; seen from a card, that is the sum over those below it.
    """
    hidden, lower = room(HIDDEN, np.float32), room(HIDDEN, np.float32)
    total, mine = room(CARD_WIDTH, np.float32), room(CARD_WIDTH, np.float32)
    for k in range(CARD_WIDTH):
        total[k] = 0
    for row in range(rows.shape[0]):
        for suit in range(NUM_SUITS):
            first = row * rows.shape[1]
            cards = plane(rows, first + legal + suit * SUIT_SIZE)
            if not cards:
                continue
            start = first + suit * suit_width
            hide(rows, start, context[row, suit], own, above, hidden, lower)

            # Of each card, the gradient of its hidden vector, and the sum of those of lower cards.
            for k in range(CARD_WIDTH):
                mine[k] = 0
            for rank in range(SUIT_SIZE):
                at = rank * CARD_WIDTH
                grad = np.float32(0.0)
                if (cards >> np.uint64(rank)) & ONE:
                    grad = grads[row, suit * SUIT_SIZE + rank]
                for k in range(CARD_WIDTH):
                    lower[at + k] = mine[k]
                    total[k] += grad * max(hidden[at + k], np.float32(0.0))
                    hidden[at + k] = grad * weight[k] if hidden[at + k] > 0 else np.float32(0.0)
                    mine[k] += hidden[at + k]
            for k in range(CARD_WIDTH):
                context_grad[row, suit, k] = mine[k]
            for index in range(own.shape[0]):
                ones = plane(rows, start + index * SUIT_SIZE)
                while ones:
                    at = int64(lowest(ones)) * CARD_WIDTH
                    ones &= ones - ONE
                    add(own_grad, index * CARD_WIDTH, hidden, at)
                    add(above_grad, index * CARD_WIDTH, lower, at)
    for k in range(CARD_WIDTH):
        weight_grad[k] = total[k]


@kernel
def plane(rows: np.ndarray, entry: int) -> np.uint64:
    """Which of 13 entries are not 0, from an index in the whole array on, as bits."""
    return load_8(rows, entry) | load_8(rows, entry + 5) << np.uint64(5)


@kernel
def hide(
    rows: np.ndarray,
    start: int,
    context: np.ndarray,
    own: np.ndarray,
    above: np.ndarray,
    hidden: np.ndarray,
    higher: np.ndarray,
) -> None:
    """Writes the hidden vectors of a suit's cards, before ReLU.

    Args:
        rows: the observations.
        start: index of the suit's first entry in the whole array.
        context: c.
        own: A.
        above: B.
        hidden: `[13 x 16] float32`, written.
        higher: `[13 x 16] float32`, to work in.
    """
    for k in range(HIDDEN):
        hidden[k] = higher[k] = 0
    for index in range(own.shape[0]):
        ones = plane(rows, start + index * SUIT_SIZE)
        while ones:
            at = int64(lowest(ones)) * CARD_WIDTH
            ones &= ones - ONE
            add(hidden, at, own, index * CARD_WIDTH)
            add(higher, at, above, index * CARD_WIDTH)
    sum_above = room(CARD_WIDTH, np.float32)
    for k in range(CARD_WIDTH):
        sum_above[k] = context[k]
    for rank in range(SUIT_SIZE - 1, -1, -1):
        at = rank * CARD_WIDTH
        add(hidden, at, sum_above, 0)
        add(sum_above, 0, higher, at)
