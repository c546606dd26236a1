"""Choosing by logits, and what a choice tells of them: kernels that look at legal actions alone."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from agents.network import ILLEGAL_LOGIT
from tricktable_env.envs.spaces import all_within
from tricktable_env.jit import kernel

LEGAL = np.float32(ILLEGAL_LOGIT / 2)
"""Whatever is not below it is the logit of a legal action, even if it is no number."""


class DivergedError(ValueError):
    """Logits that say nothing: the weights they come from have grown beyond all bounds."""


def draw(logits: Tensor) -> tuple[Tensor, Tensor]:
    """Draws an action for each row `[B, A]`, by torch's generator.

    Returns:
        The actions `[B] int64` and the logarithms of their probabilities `[B] float32`.

    Raises:
        DivergedError: a row has no legal action, or logits of legal ones that are not finite.
    """
    points = torch.rand(len(logits))
    actions = torch.empty(len(logits), dtype=torch.int64)
    log_probs = torch.empty(len(logits))
    row = draw_rows(logits.numpy(), points.numpy(), actions.numpy(), log_probs.numpy())
    if row >= 0:
        legal = ", ".join(map(str, logits[row][~(logits[row] <= float(LEGAL))].tolist()))
        raise DivergedError(
            f"no action can be drawn by logits {legal or 'of none that is legal'}: the weights "
            "have diverged (a lower --learning-rate may help)"
        )
    return actions, log_probs


def judge(logits: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
    """What rows of logits `[B, A]` say: log-probabilities of the actions, and entropies, `[B]`.

    Raises:
        ValueError: an action that there is not.
    """
    if not all_within(actions.numpy(), logits.shape[1]):
        raise ValueError(f"actions are 0 to {logits.shape[1] - 1}, not {actions.tolist()}")
    judged: tuple[Tensor, Tensor] = _Judge.apply(logits, actions)  # type: ignore[no-untyped-call]
    return judged


class _Judge(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
        log_probs, entropies, totals = torch.empty(3, len(logits)).unbind()
        tensors = (logits, actions, totals, entropies, log_probs)
        arrays = [tensor.numpy() for tensor in tensors]
        judge_rows(*arrays)
        ctx.kept = arrays[:-1]
        return log_probs, entropies

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        out = torch.zeros(ctx.kept[0].shape)
        arrays = [tensor.contiguous().numpy() for tensor in (*grads, out)]
        judge_back(*ctx.kept, *arrays)
        return out, None


@kernel
def log_total(logits: np.ndarray, row: int) -> np.float32:
    """The logarithm of the sum of a row's exponentials."""
    largest, total = LEGAL, 0.0
    for action in range(logits.shape[1]):
        largest = max(largest, logits[row, action])
    for action in range(logits.shape[1]):
        if not logits[row, action] <= LEGAL:
            total += math.exp(logits[row, action] - largest)
    return np.float32(largest + math.log(total))


@kernel
def draw_rows(
    logits: np.ndarray, points: np.ndarray, actions: np.ndarray, log_probs: np.ndarray
) -> int:
    """Writes what `draw` returns, by a point from 0 to below 1 for each row.

    Returns:
        A row where none can be drawn; -1 if there is none.
    """
    for row in range(len(logits)):
        total = log_total(logits, row)
        if not math.isfinite(total):
            return row
        rest = points[row]
        for action in range(logits.shape[1]):
            if not logits[row, action] <= LEGAL:
                actions[row] = action  # the last one, should rounding leave a rest
                log_probs[row] = logits[row, action] - total
                rest -= math.exp(log_probs[row])
                if rest < 0:
                    break
    return -1


@kernel
def judge_rows(
    logits: np.ndarray,
    actions: np.ndarray,
    totals: np.ndarray,
    entropies: np.ndarray,
    log_probs: np.ndarray,
) -> None:
    """Writes what `judge` returns, and each row's `log_total`."""
    for row in range(len(logits)):
        total = log_total(logits, row)
        entropy = 0.0
        for action in range(logits.shape[1]):
            if not logits[row, action] <= LEGAL:
                log_prob = logits[row, action] - total
                entropy -= math.exp(log_prob) * log_prob
        totals[row], entropies[row] = total, entropy
        log_probs[row] = logits[row, actions[row]] - total


@kernel
def judge_back(
    logits: np.ndarray,
    actions: np.ndarray,
    totals: np.ndarray,
    entropies: np.ndarray,
    of_log_probs: np.ndarray,
    of_entropies: np.ndarray,
    grads: np.ndarray,
) -> None:
    """Writes the gradients of the legal logits, from those of log-probabilities and entropies."""
    for row in range(len(logits)):
        for action in range(logits.shape[1]):
            if not logits[row, action] <= LEGAL:
                log_prob = logits[row, action] - totals[row]
                by_entropy = of_entropies[row] * (log_prob + entropies[row])
                grads[row, action] = -math.exp(log_prob) * (of_log_probs[row] + by_entropy)
        grads[row, actions[row]] += of_log_probs[row]
