"""A network's rows shared out to threads, forward and backward.

Torch's own threads meet in every operation, which gains little on networks of this size and
loses much on a machine that does other things too. Here the rows of a batch are cut once and every
thread takes its part through the whole network and back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

MIN_PART = 64
"""Batches are not cut into parts of fewer rows: handing one over takes some 50 microseconds."""

Result = TypeVar("Result")

_pools: dict[int, ThreadPoolExecutor] = {}


def share_rows(network: nn.Module, rows: Tensor, threads: int) -> tuple[Tensor, ...]:
    """Applies a network to rows, in parts; gradients go to its parameters alone.

    The result depends on `threads` by rounding only, and is the same for the same number.

    Args:
        network: takes `[n, ...]` and returns a tuple of tensors with n rows each; uses all of its
            parameters.
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
        def run(outputs: tuple[Tensor, ...], start: int) -> tuple[Tensor, ...]:
            part = [grad[start : start + len(outputs[0])] for grad in grads]
            back: tuple[Tensor, ...] = torch.autograd.grad(outputs, ctx.parameters, part)
            return back

        starts = [0]
        for outputs in ctx.parts[:-1]:
            starts.append(starts[-1] + len(outputs[0]))
        done = _share(run, ctx.parts, starts)
        ctx.parts = None  # frees what the way back needed
        sums = [torch.stack(same).sum(0) for same in zip(*done, strict=True)]
        return (None, None, None, *sums)


def _share(work: Callable[..., Result], *arguments: Sequence[Any]) -> list[Result]:
    """Does work on every part, each in a thread of its own; results in the order of the parts."""
    first, *rest = zip(*arguments, strict=True)
    count = len(rest)
    if count and count not in _pools:
        _pools[count] = ThreadPoolExecutor(count, f"rows-{count}")
    others = [_pools[count].submit(work, *each) for each in rest]
    return [work(*first), *(other.result() for other in others)]
