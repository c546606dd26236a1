"""Choosing by logits: the kernels against torch's own functions."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from agents.network import ILLEGAL_LOGIT
from agents.training.choices import DivergedError, draw, judge


def some_logits(rows: int) -> Tensor:
    """Of every number of legal actions, from one on."""
    generator = torch.Generator().manual_seed(0)
    logits = 3 * torch.randn(rows, 9, generator=generator)
    order = torch.rand(rows, 9, generator=generator).argsort(1)
    return torch.where(order <= torch.arange(rows).unsqueeze(1) % 9, logits, ILLEGAL_LOGIT)


def test_log_probabilities_entropies_and_gradients_are_those_of_torch() -> None:
    logits = some_logits(90).requires_grad_()
    actions = logits.argmax(1).where(torch.arange(90) % 2 == 0, draw(logits.detach())[0])
    log_softmax = functional.log_softmax(logits, 1)
    entropies = -(log_softmax.exp() * log_softmax).sum(1)
    plain = (log_softmax.gather(1, actions.unsqueeze(1)).squeeze(1), entropies)
    results = []
    for log_probs, entropy in (plain, judge(logits, actions)):
        loss = (log_probs.exp() * torch.arange(90)).sum() + entropy.square().sum()
        results.append((log_probs, entropy, *torch.autograd.grad(loss, [logits])))
    for wanted, ours in zip(*results, strict=True):
        torch.testing.assert_close(ours, wanted, rtol=1e-4, atol=1e-4)


def test_actions_are_drawn_by_their_odds() -> None:
    logits = some_logits(9)
    torch.manual_seed(0)
    actions, log_probs = draw(logits.repeat(20_000, 1))
    wanted = functional.softmax(logits, 1)
    counts = functional.one_hot(actions.view(20_000, 9), 9).sum(0)
    assert (counts[wanted == 0] == 0).all()
    error = (wanted * (1 - wanted) / 20_000).sqrt()
    assert ((counts / 20_000 - wanted).abs() <= 5 * error + 1e-9).all()
    chosen = wanted.log().repeat(20_000, 1).gather(1, actions.unsqueeze(1)).squeeze(1)
    torch.testing.assert_close(log_probs, chosen)


def test_the_same_generator_draws_the_same() -> None:
    drawn = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        drawn.append(draw(some_logits(90))[0])
    assert torch.equal(drawn[0], drawn[1])
    assert not torch.equal(drawn[0], drawn[2])


@pytest.mark.parametrize(
    "logits", [[float("nan")] * 3, [0.0, float("nan")], [float("inf"), 0.0], []]
)
def test_nothing_is_drawn_by_logits_that_are_no_numbers(logits: list[float]) -> None:
    rows = some_logits(3)
    rows[1] = torch.tensor(logits + [ILLEGAL_LOGIT] * (9 - len(logits)))
    with pytest.raises(DivergedError, match=r"drawn by logits (nan|0\.0, nan|inf|of none)"):
        draw(rows)
    if logits:  # a loss made of them is none either
        assert not judge(rows, torch.zeros(3, dtype=torch.int64))[1][1].isfinite()


@pytest.mark.parametrize("action", [-1, 9, 2**40])
def test_an_action_that_there_is_not_is_refused(action: int) -> None:
    with pytest.raises(ValueError, match=f"actions are 0 to 8, not \\[0, {action}\\]"):
        judge(some_logits(2), torch.tensor([0, action]))
