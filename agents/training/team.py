"""The processes of a training run: each plays tables of its own, and they add up their gradients.

All hold the same weights and take the same steps: a gradient is the mean of what each process finds
in its own rows. Threads would do the same in less memory, but operations on networks of this size
are so short that two threads mostly wait for the interpreter, while two processes take half the
time.
"""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import signal
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from agents.training.choices import DivergedError


class TeamError(RuntimeError):
    """A process of the team ended before its work was done."""


class Team:
    """The processes of a run, as one of them sees it.

    Args:
        rank: which of them this is; 0 is the one that hires the others.
        size: how many they are.
    """

    def __init__(self, rank: int = 0, size: int = 1) -> None:
        self.rank, self.size = rank, size
        self._links: list[Connection] = []
        self._workers: list[BaseProcess] = []
        self._rooms = np.zeros((2, size, 0))
        self._turn = 0

    def hire(self, longest: int, work: Callable[..., None], arguments: tuple[Any, ...]) -> None:
        """Starts the other processes; dismiss them in the end.

        Args:
            longest: length of the longest vector that they will add up.
            work: called in each as `work(team, *arguments)`; can be pickled.
            arguments: what it works with.
        """
        context = multiprocessing.get_context("spawn")
        room = context.RawArray(ctypes.c_double, 2 * self.size * longest)
        self._share(room)
        for rank in range(1, self.size):
            mine, theirs = context.Pipe()
            worker = context.Process(
                target=_begin, args=(work, rank, self.size, room, theirs, arguments), daemon=True
            )
            worker.start()
            theirs.close()  # only the worker holds its end now, so that its death is seen here
            self._links.append(mine)
            self._workers.append(worker)

    def _share(self, room: Any) -> None:
        """Takes shared memory: two rooms in turn, so that nothing unread is written over."""
        self._rooms = np.frombuffer(room, np.float64).reshape(2, self.size, -1)

    def add_up(self, numbers: Tensor) -> Tensor:
        """Returns the sum of what each process gives; the same bits for all of them.

        Args:
            numbers: `[n]`, n and the type the same for all.

        Returns:
            `[n]`, float32 if they are, else float64.

        Raises:
            TeamError: a process has ended.
        """
        kind = np.float32 if numbers.dtype == torch.float32 else np.float64
        if self.size == 1:
            return numbers if numbers.dtype == torch.float32 else numbers.double()
        room = torch.from_numpy(self._rooms[self._turn].view(kind)[:, : len(numbers)])
        self._turn ^= 1
        room[self.rank] = numbers
        try:
            self._meet()
        except (EOFError, OSError):
            raise TeamError("a process of the training ended before its work was done") from None
        total = room[0].clone()
        for other in room[1:]:
            total += other
        return total

    def _meet(self) -> None:
        """Returns once all have come here."""
        if self.rank:
            self._links[0].send_bytes(b"here")
            self._links[0].recv_bytes()
            return
        for link in self._links:
            link.recv_bytes()
        for link in self._links:
            link.send_bytes(b"all")

    def dismiss(self) -> None:
        """Ends the other processes, wherever they are in their work."""
        for link in self._links:
            link.close()
        for worker in self._workers:
            worker.terminate()
            worker.join()
        self._links, self._workers = [], []


def _begin(
    work: Callable[..., None],
    rank: int,
    size: int,
    room: Any,
    link: Connection,
    arguments: tuple[Any, ...],
) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started us
    torch.set_num_threads(1)
    with contextlib.suppress(TeamError, DivergedError):  # the team was dismissed, or will be
        team = Team(rank, size)
        team._share(room)
        team._links = [link]
        work(team, *arguments)


def apply_together(network: nn.Module, rows: Tensor, team: Team) -> tuple[Tensor, ...]:
    """Applies a network to this process's rows; gradients are the mean over the team's.

    Every process must go back through as many of these as the others, in the same order.

    Args:
        network: takes `[n, ...]` and returns a tuple of tensors; uses all of its parameters, the
            only ones that get gradients.
        rows: `[B, ...]`, B as it comes.
        team: the processes.

    Returns:
        What the network returns.
    """
    if team.size == 1 or not torch.is_grad_enabled():
        alone: tuple[Tensor, ...] = network(rows)
        return alone
    outputs: tuple[Tensor, ...] = _Together.apply(  # type: ignore[no-untyped-call]
        network, rows, team, *network.parameters()
    )
    return outputs


class _Together(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, network: nn.Module, rows: Tensor, team: Team, *parameters: Tensor
    ) -> tuple[Tensor, ...]:
        with torch.enable_grad():
            ctx.outputs = network(rows)
        ctx.parameters, ctx.team = parameters, team
        return tuple(output.detach() for output in ctx.outputs)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        own = torch.autograd.grad(ctx.outputs, ctx.parameters, grads)
        ctx.outputs = None  # frees what the way back needed
        total = ctx.team.add_up(torch.cat([grad.flatten() for grad in own]))
        mean = total.div_(ctx.team.size).split([grad.numel() for grad in own])
        return (
            None,
            None,
            None,
            *(part.view_as(grad) for part, grad in zip(mean, own, strict=True)),
        )
