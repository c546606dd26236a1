"""The layers in which every suit is treated alike, forward and backward.

    h' = h + ReLU(A h + a + B [mean over suits, trump suit]),    the same A, a, B for every suit

and a head that reads each suit's last h. Written by hand, not left to autograd: gradients are
summed inside matrix products, only what needs float32 is float32, and all that is to do between two
products is one kernel (`agents/suit_kernels`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional

from agents.suit_kernels import join, part

Layer: TypeAlias = tuple[Tensor, Tensor, Tensor]
"""A `[W, in]`, a `[W]` and B `[W, 2 x in (+ numbers)]`."""
Trace: TypeAlias = list[tuple[Tensor, Tensor, Tensor]]
"""What each layer leaves for the way back: its input, its pooled input and its update."""


def suit_layers(
    suits: Tensor,
    pooled: Tensor,
    trumps: Tensor,
    layers: Sequence[Layer],
    head: tuple[Tensor, Tensor],
) -> tuple[Tensor, Tensor]:
    """Runs the layers and the head; gradients go to the weights alone.

    Args:
        suits: `[B, 4, in]`, in the type of the matrix products.
        pooled: `[B, 2 x in (+ numbers)]`, in that type, read by the first layer's B.
        trumps: `[B] int64`, which suit is trump, -1 for none: its pooled vector is zero.
        layers: their weights, float32; the first has no `h +`.
        head: weights `[K, W]` and `[K]`; multiples of 16 are fast, K = 0 is no head.

    Returns:
        What the head says of each suit `[B, 4, K] float32`, computed in float32, and the pooled
        vectors of the last layer side by side `[B, 2 x W]`.
    """
    flat = [tensor for layer in layers for tensor in layer]
    result: tuple[Tensor, Tensor] = _SuitLayers.apply(  # type: ignore[no-untyped-call]
        suits, pooled, trumps, *head, *flat
    )
    return result


def stored(tensor: Tensor) -> npt.NDArray[Any]:
    """The array in which a tensor lies, as the kernels take it."""
    bits = tensor.view(torch.uint16) if tensor.dtype == torch.bfloat16 else tensor
    return bits.numpy()


class _SuitLayers(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        suits: Tensor,
        pooled: Tensor,
        trumps: Tensor,
        head: Tensor,
        head_bias: Tensor,
        *flat: Tensor,
    ) -> tuple[Tensor, Tensor]:
        cast = [tensor.to(suits.dtype) for tensor in flat]
        layers = [(cast[i], cast[i + 1], cast[i + 2]) for i in range(0, len(cast), 3)]
        hidden, pooled, trace = _forward(suits, pooled, trumps, layers)
        by_suit = functional.linear(hidden.float(), head, head_bias)
        ctx.kept = (hidden, trumps, layers, trace, head.to(suits.dtype))
        return by_suit, pooled

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        if ctx.kept is None:
            raise RuntimeError("there is one way back only: it writes over the trace")
        (hidden, trumps, layers, trace, head), ctx.kept = ctx.kept, None
        by_suit = grads[0].flatten(0, 1)
        head_grads = (
            torch.mm(by_suit.t().to(hidden.dtype), hidden.flatten(0, 1)).float(),
            by_suit.sum(0),
        )
        grad = torch.mm(by_suit.to(hidden.dtype), head).view_as(hidden)
        back = _backward(grad, grads[1].contiguous(), trumps, layers, trace)
        return (None, None, None, *head_grads, *back)


def _forward(
    suits: Tensor, pooled: Tensor, trumps: Tensor, layers: Sequence[Layer]
) -> tuple[Tensor, Tensor, Trace]:
    """Returns the suits' last vectors `[B, 4, W]`, their pooled ones, and the trace."""
    hidden, trace = suits, Trace()
    for index, (own, bias, shared) in enumerate(layers):
        context = functional.linear(pooled, shared)
        update = functional.linear(hidden, own, bias)
        trace.append((hidden, pooled, update))
        before, hidden = (hidden, torch.empty_like(update)) if index else (update[:0], update)
        pooled = update.new_empty(len(update), 2 * update.shape[2])
        arrays = (update, context, before, trumps, hidden, pooled)
        join(*(stored(array) for array in arrays))
    return hidden, pooled, trace


def _backward(
    grad: Tensor, pooled_grad: Tensor, trumps: Tensor, layers: Sequence[Layer], trace: Trace
) -> list[Tensor]:
    """Returns the gradients of the layers' weights, float32.

    Args:
        grad: `[B, 4, W]`, of the last vectors by the head, written over.
        pooled_grad: `[B, 2 x W]`, of the last pooled ones.
        trumps: as above.
        layers: as above.
        trace: from the way there; the updates are written over.
    """
    grads: list[Tensor] = []
    for index, (own, bias, shared) in reversed(list(enumerate(layers))):
        hidden, pooled, update = trace[index]
        context, bias_grad = grad.new_empty(len(grad), len(bias)), torch.empty(len(bias))
        arrays = (grad, pooled_grad, trumps, update, context, bias_grad)
        part(*(stored(array) for array in arrays))
        rows = update.flatten(0, 1)
        grads[:0] = (
            torch.mm(rows.t(), hidden.flatten(0, 1)).float(),
            bias_grad,
            torch.mm(context.t(), pooled).float(),
        )
        if index > 0:
            pooled_grad = torch.mm(context, shared)
            grad = torch.addmm(grad.flatten(0, 1), rows, own).view_as(grad)
    return grads
