"""A network's rows shared out to threads, forward and backward.

Torch's own threads meet in every operation, which gains little on networks of this size and
loses much on a machine that does other things too. Here the rows of a batch are cut once and every
thread takes its part through the whole network and back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
from torch import Tensor, nn

MIN_PART = 64
"""Batches are not cut into parts of fewer rows: handing one over takes some 50 microseconds."""

_pools: dict[int, ThreadPoolExecutor] = {}


def share_rows(network: nn.Module, rows: Tensor, threads: int) -> tuple[Tensor, ...]:
    """Applies a network to rows, in parts; gradients go to its parameters alone.

    The result depends on `threads` by rounding only, and is the same for the same number.

    Args:
        network: takes `[n, ...]` and returns a tuple of tensors with n rows each.
        rows: `[B, ...]`.
        threads: number of threads; torch's own should be one.

    Returns:
        What the network returns for all rows.
    """
    outputs: tuple[Tensor, ...] = _SharedRows.apply(  # type: ignore[no-untyped-call]
        network, rows, threads, *network.parameters()
    )
    return outputs


class _SharedRows(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, network: nn.Module, rows: Tensor, threads: int, *parameters: Tensor
    ) -> tuple[Tensor, ...]:
        learns = any(ctx.needs_input_grad)

        def run(part: Tensor) -> tuple[Tensor, ...]:
            with torch.set_grad_enabled(learns):  # a setting that every thread has for itself
                outputs: tuple[Tensor, ...] = network(part)
            return outputs

        count = max(1, min(threads, len(rows) // MIN_PART))
        ctx.parts = _share(run, rows.tensor_split(count))
        ctx.parameters = parameters
        return tuple(torch.cat(same).detach() for same in zip(*ctx.parts, strict=True))

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        def run(outputs: Sequence[Tensor], *ends: int) -> Sequence[Tensor]:
            start, end = ends
            part = [grad[start:end] for grad in grads]
            return torch.autograd.grad(outputs, ctx.parameters, part, allow_unused=True)

        sizes = [len(outputs[0]) for outputs in ctx.parts]
        starts = [sum(sizes[:i]) for i in range(len(sizes))]
        ends = [start + size for start, size in zip(starts, sizes, strict=True)]
        done = _share(run, ctx.parts, starts, ends)
        ctx.parts = None
        sums = [None if same[0] is None else sum(same[1:], same[0]) for same in zip(*done, strict=True)]
        return (None, None, None, *sums)


def _share(work: Callable[..., Any], *arguments: Sequence[Any]) -> list[Any]:
    """Does work on every part, each in a thread of its own; results in the order of the parts."""
    count = len(arguments[0])
    if count > 1 and count not in _pools:
        _pools[count] = ThreadPoolExecutor(count - 1, f"rows-{count}")
    others = [_pools[count].submit(work, *each) for each in list(zip(*arguments, strict=True))[1:]]
    first = work(*(argument[0] for argument in arguments))
    return [first, *(other.result() for other in others)]
