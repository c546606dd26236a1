"""The layers in which every suit is treated alike, forward and backward.

    h' = h + ReLU(A h + a + B [mean over suits, trump suit]),    the same A, a, B for every suit

and a head that reads each suit's last h. Written by hand, not left to autograd: gradients are
summed inside matrix products, sums over suits are spelt out, and only what needs float32 is
float32, which took a third off the time of a training step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import torch
from torch import Tensor
from torch.nn import functional

Layer: TypeAlias = tuple[Tensor, Tensor, Tensor]
"""A `[W, in]`, a `[W]` and B `[W, 2 x in (+ numbers)]`."""
Trace: TypeAlias = list[tuple[Tensor, Tensor, Tensor]]
"""What each layer leaves for the way back: its input, its pooled input and its update."""


def suit_layers(
    suits: Tensor,
    numbers: Tensor,
    pool: Tensor,
    layers: Sequence[Layer],
    head: tuple[Tensor, Tensor],
) -> tuple[Tensor, Tensor]:
    """Runs the layers and the head; gradients go to the weights alone.

    Args:
        suits: `[B, 4, in]`, in the type of the matrix products.
        numbers: `[B, N]`, read by the first layer's B.
        pool: `[B, 2, 4]`, the weights of the suits in the two pooled vectors.
        layers: their weights, float32; the first has no `h +`.
        head: weights `[K, W]` and `[K]`; multiples of 16 are fast, K = 0 is no head.

    Returns:
        What the head says of each suit `[B, 4, K] float32`, computed in float32, and the pooled
        vectors of the last layer side by side `[B, 2 x W]`.
    """
    flat = [tensor for layer in layers for tensor in layer]
    result: tuple[Tensor, Tensor] = _SuitLayers.apply(  # type: ignore[no-untyped-call]
        suits, numbers, pool, *head, *flat
    )
    return result


class _SuitLayers(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        suits: Tensor,
        numbers: Tensor,
        pool: Tensor,
        head: Tensor,
        head_bias: Tensor,
        *flat: Tensor,
    ) -> tuple[Tensor, Tensor]:
        cast = [tensor.to(suits.dtype) for tensor in flat]
        layers = [(cast[i], cast[i + 1], cast[i + 2]) for i in range(0, len(cast), 3)]
        hidden, trace = _forward(suits, numbers, pool, layers)
        by_suit = functional.linear(hidden.float(), head, head_bias)
        ctx.kept = (hidden, pool, layers, trace, head.to(suits.dtype))
        return by_suit, torch.bmm(pool, hidden).flatten(1)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        hidden, pool, layers, trace, head = ctx.kept
        by_suit = grads[0].flatten(0, 1)
        head_grads = (
            torch.mm(by_suit.t().to(hidden.dtype), hidden.flatten(0, 1)).float(),
            by_suit.sum(0),
        )
        grad = torch.mm(by_suit.to(hidden.dtype), head).view_as(hidden)
        grad = grad.baddbmm_(pool.transpose(1, 2), grads[1].view(len(pool), 2, -1))
        return (None, None, None, *head_grads, *_backward(grad, pool, layers, trace))


def _forward(
    suits: Tensor, numbers: Tensor, pool: Tensor, layers: Sequence[Layer]
) -> tuple[Tensor, Trace]:
    """Returns the suits' vectors after the last layer, `[B, 4, W]`, and the trace."""
    hidden, trace = suits, Trace()
    for index, (own, bias, shared) in enumerate(layers):
        pooled = torch.bmm(pool, hidden).flatten(1)
        if index == 0:
            pooled = torch.cat([pooled, numbers], 1)
        context = functional.linear(pooled, shared).unsqueeze(1)
        update = functional.linear(hidden, own, bias).add_(context).relu_()
        trace.append((hidden, pooled, update))
        hidden = update if index == 0 else hidden + update
    return hidden, trace


def _backward(grad: Tensor, pool: Tensor, layers: Sequence[Layer], trace: Trace) -> list[Tensor]:
    """Returns the gradients of the layers' weights, float32, from that of the last `[B, 4, W]`."""
    spread = pool.transpose(1, 2)
    grads: list[Tensor] = []
    for index, (own, _, shared) in reversed(list(enumerate(layers))):
        hidden, pooled, update = trace[index]
        inner = torch.ops.aten.threshold_backward(grad, update, 0)
        rows = inner.flatten(0, 1)
        context = (inner[:, 0] + inner[:, 1]).add_(inner[:, 2] + inner[:, 3])
        grads[:0] = (
            torch.mm(rows.t(), hidden.flatten(0, 1)).float(),
            context.sum(0, dtype=torch.float32),
            torch.mm(context.t(), pooled).float(),
        )
        if index > 0:
            pooled_grad = torch.mm(context, shared).view(len(pool), 2, -1)
            grad = torch.addmm(grad.flatten(0, 1), rows, own).view_as(grad)
            grad.baddbmm_(spread, pooled_grad)
    return grads
