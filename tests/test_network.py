"""The suit network: equivariant, masked, and the same however its work is shared."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional

from agents import network as networks
from agents.card_scores import CARD_WIDTH
from agents.network import (
    ILLEGAL_LOGIT,
    NUM_SUITS,
    CardHead,
    Layout,
    LayoutError,
    SuitNetwork,
    layout_digest,
    split,
)
from agents.suit_kernels import join
from agents.suit_layers import stored, suit_layers
from tricktable_env.cards import NUM_CARDS, SUIT_SIZE
from tricktable_env.game import Game
from tricktable_env.registry import make_game

PERMUTATIONS = list(itertools.permutations(range(NUM_SUITS)))


def observed(game: Game, rows: int, plies: int, full: bool = False) -> Tensor:
    """What seats see after some random plies: `[rows, D] uint8`, or F with what is hidden."""
    rng = np.random.default_rng(plies)
    states = game.new(np.arange(rows, dtype=np.uint64))
    every = np.arange(rows)
    game.deal(states, every)
    for _ in range(plies):
        _, masks = game.observe(states, every, game.players(states, every))
        game.step(states, every, (masks * rng.random(masks.shape)).argmax(1))
    players = game.players(states, every)
    seen = game.observe_full(states, every, players) if full else None
    return torch.from_numpy(game.observe(states, every, players)[0] if seen is None else seen)


def renamed(observations: Tensor, layout: Layout, suits: tuple[int, ...]) -> Tensor:
    """The same positions with suit `suits[i]` called i."""
    result = observations.clone()
    blocks = [(0, layout.suit_width), (layout.legal, SUIT_SIZE)]
    blocks += [(layout.legal + NUM_CARDS, 1)] if layout.calls else []
    if observations.shape[1] > layout.size:
        blocks.append((layout.hidden, layout.hidden_width))
    for start, width in blocks:
        for new, old in enumerate(suits):
            target = slice(start + new * width, start + (new + 1) * width)
            result[:, target] = observations[:, start + old * width : start + (old + 1) * width]
    return result


def renamed_actions(logits: Tensor, suits: tuple[int, ...]) -> Tensor:
    cards = logits[:, :NUM_CARDS].view(-1, NUM_SUITS, SUIT_SIZE)[:, list(suits)].flatten(1)
    return torch.cat([cards, logits[:, NUM_CARDS:][:, list(suits)]], 1)


@pytest.fixture(scope="module")
def game() -> Game:
    return make_game("tableau")


@pytest.fixture(scope="module")
def net(game: Game) -> SuitNetwork:
    torch.manual_seed(1)
    return enlivened(SuitNetwork(Layout.of(game), width=32, depth=3))


def enlivened(network: SuitNetwork) -> SuitNetwork:
    """Heads start near zero; tests want outputs that differ."""
    with torch.no_grad():
        network.suit.weight.mul_(100)
        if network.value is not None:
            network.value.value.weight.mul_(30)
    return network


@pytest.mark.parametrize("plies", [0, 1, 2, 25, 48])
def test_renaming_the_suits_renames_the_actions_and_keeps_the_value(
    game: Game, net: SuitNetwork, plies: int
) -> None:
    observations = observed(game, 40, plies)
    logits, values = net(observations)
    assert logits.std() > 0.1
    for suits in PERMUTATIONS:
        other_logits, other_values = net(renamed(observations, net.layout, suits))
        torch.testing.assert_close(other_logits, renamed_actions(logits, suits))
        torch.testing.assert_close(other_values, values)


def test_without_trump_no_suit_is_special() -> None:
    game = make_game("tableau", trump="none")
    torch.manual_seed(1)
    net = enlivened(SuitNetwork(Layout.of(game), width=32))
    observations = observed(game, 20, 9)
    logits, values = net(observations)
    for suits in PERMUTATIONS[::5]:
        other_logits, other_values = net(renamed(observations, net.layout, suits))
        torch.testing.assert_close(other_logits, renamed_actions(logits, suits))
        torch.testing.assert_close(other_values, values)


def test_trump_makes_a_difference(game: Game, net: SuitNetwork) -> None:
    observations = observed(game, 20, 9)
    moved = observations.clone()
    flags = [suit * net.layout.suit_width + net.layout.trump for suit in range(NUM_SUITS)]
    moved[:, flags] = observations[:, flags].roll(1, 1)
    assert not torch.allclose(net(observations)[1], net(moved)[1], atol=1e-3)


def test_illegal_actions_have_no_chance_at_all(game: Game, net: SuitNetwork) -> None:
    for plies in (0, 7, 30):
        observations = observed(game, 30, plies)
        legal = observations[:, game.mask_slice].bool()
        logits, _ = net(observations)
        assert (logits[~legal] == ILLEGAL_LOGIT).all()
        assert (functional.softmax(logits, 1)[~legal] == 0).all()
        assert (functional.softmax(logits, 1)[legal] > 0).all()


def test_the_same_numbers_of_another_type_say_the_same(game: Game, net: SuitNetwork) -> None:
    observations = observed(game, 30, 9)
    for mine, theirs in zip(net(observations), net(observations.float()), strict=True):
        assert torch.equal(mine, theirs)


def test_there_is_one_way_back(game: Game, net: SuitNetwork) -> None:
    _, values = net(observed(game, 30, 9))
    parameters = list(net.trunk.parameters())
    torch.autograd.grad(values.sum(), parameters, retain_graph=True)
    with pytest.raises(RuntimeError, match="there is one way back only"):
        torch.autograd.grad(values.sum(), parameters)


def test_the_policy_reads_nothing_behind_the_observation(game: Game, net: SuitNetwork) -> None:
    full = observed(game, 30, 9, full=True)
    assert full.shape[1] == game.full_size
    for mine, theirs in zip(net(full), net(full[:, : game.observation_size]), strict=True):
        assert torch.equal(mine, theirs)


def test_reduced_decks_have_the_same_layout() -> None:
    small = make_game("tableau", suits=3, ranks=8, hand=4, piles=2)
    assert Layout.of(small) == Layout.of(make_game("tableau"))
    logits, _ = SuitNetwork(Layout.of(small), width=16)(observed(small, 10, 3))
    assert logits.shape == (10, small.num_actions)


class OtherGame:
    """Tableau with some attributes replaced."""

    def __init__(self, game: Game, **replaced: Any) -> None:
        self._game = game
        self.__dict__ |= replaced

    def __getattr__(self, name: str) -> Any:
        return getattr(self._game, name)


def test_an_observation_that_is_not_by_suit_is_refused(game: Game) -> None:
    parts = game.layout
    for layout in (
        parts[1:],
        [part for part in parts if not part.name.endswith(".trump")],
        [replace(parts[0], high=2), *parts[1:]],
        [*parts[:-2], parts[-1], parts[-2]],
    ):
        with pytest.raises(LayoutError, match="tableau"):
            Layout.of(OtherGame(game, layout=tuple(layout)))  # type: ignore[arg-type]


def test_the_digest_tells_observations_apart(game: Game) -> None:
    parts = game.layout
    renamed_part = replace(parts[-2], name="another")
    other = OtherGame(game, layout=(*parts[:-2], renamed_part, parts[-1]))
    assert layout_digest(other) != layout_digest(game)  # type: ignore[arg-type]


def test_actions_that_are_no_calls_get_a_list_of_logits(game: Game) -> None:
    other = OtherGame(game, action_text=lambda action: f"announce {action}")
    layout = Layout.of(other)  # type: ignore[arg-type]
    assert not layout.calls
    logits, _ = SuitNetwork(layout, width=16)(observed(game, 5, 0))
    assert logits.shape == (5, game.num_actions)
    assert logits[:, NUM_CARDS:].unique().numel() > 4


# -- the layers written by hand --------------------------------------------------------------
def plain_layers(suits: Any, pooled: Any, trumps: Any, layers: Any, head: Any) -> Any:
    """The formula of `suit_layers`, left to autograd."""
    hidden = suits
    for index, (own, bias, shared) in enumerate(layers):
        pooled = pooled if index == 0 else plain_pool(hidden, trumps)
        update = (hidden @ own.t() + bias + (pooled @ shared.t()).unsqueeze(1)).relu()
        hidden = update if index == 0 else hidden + update
    return hidden @ head[0].t() + head[1], plain_pool(hidden, trumps)


def plain_pool(suits: Tensor, trumps: Tensor) -> Tensor:
    """The mean over suits `[B, 4, W]`, and the trump suit, side by side."""
    trump = suits[torch.arange(len(suits)), trumps] * (trumps >= 0).unsqueeze(1)
    return torch.cat([suits.mean(1), trump], 1)


@pytest.mark.parametrize("head_size", [0, 5])
@pytest.mark.parametrize(("depth", "width"), [(1, 16), (3, 16), (3, 21)])
def test_the_layers_and_their_gradients_follow_the_formula(
    depth: int, width: int, head_size: int
) -> None:
    torch.manual_seed(depth)
    suits, pooled, trumps = torch.randn(30, 4, 7), torch.randn(30, 17), torch.arange(30) % 5 - 1
    sizes = [7] + [width] * (depth - 1)

    def weight(*shape: int) -> Tensor:
        return (0.3 * torch.randn(*shape)).requires_grad_()

    layers = [
        (weight(width, size), weight(width), weight(width, 2 * size + 3 * (index == 0)))
        for index, size in enumerate(sizes)
    ]
    head = (weight(head_size, width), weight(head_size))
    flat = [*(tensor for layer in layers for tensor in layer), *head]
    results = []
    for compute in (plain_layers, suit_layers):
        by_suit, last = compute(suits, pooled, trumps, layers, head)
        loss = by_suit.sin().sum() + last.cos().sum()
        results.append((by_suit, last, *torch.autograd.grad(loss, flat)))
    for plain, ours in zip(*results, strict=True):
        torch.testing.assert_close(ours, plain, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("with_hidden", [False, True])
def test_the_layers_read_an_observation_suit_by_suit(game: Game, with_hidden: bool) -> None:
    full, layout = observed(game, 30, 9, full=True), Layout.of(game)
    blocks = [full[:, : layout.suits_end].view(30, NUM_SUITS, -1)]
    if with_hidden:
        blocks.append(full[:, layout.hidden :][:, : NUM_SUITS * layout.hidden_width])
        blocks[1] = blocks[1].reshape(30, NUM_SUITS, -1)
    flags = blocks[0][:, :, layout.trump].bool()
    wanted = torch.where(flags.any(1), flags.long().argmax(1), -1)
    numbers = full[:, layout.suits_end : layout.legal] / torch.tensor(layout.highs)
    suits, pooled, trumps = split(full, layout, torch.float32, with_hidden)
    assert torch.equal(suits, torch.cat(blocks, 2).float())
    assert torch.equal(trumps, wanted)
    torch.testing.assert_close(pooled, torch.cat([plain_pool(suits, wanted), numbers], 1))


@pytest.mark.parametrize("plies", [0, 1, 9, 40])
def test_the_cards_scores_and_their_gradients_follow_the_formula(game: Game, plies: int) -> None:
    torch.manual_seed(plies)
    layout, observations = Layout.of(game), observed(game, 40, plies)
    head, context = CardHead(layout), torch.randn(40, 4, CARD_WIDTH, requires_grad=True)
    for weight in head.parameters():
        torch.nn.init.normal_(weight)
    flat = [context, *head.parameters()]
    blocks = observations[:, : layout.suits_end].view(40, NUM_SUITS, -1).float()
    planes = blocks[:, :, : layout.planes * SUIT_SIZE].unflatten(2, (-1, SUIT_SIZE)).transpose(2, 3)
    above = planes.flip(2).cumsum(2).flip(2) - planes  # how many higher cards each plane has
    hidden = head.own(planes) + head.above(above / NUM_SUITS) + context.unsqueeze(2)
    plain = head.score(hidden.relu()).flatten(1)
    legal = observations[:, layout.legal : layout.legal + NUM_CARDS]
    results = []
    for scores in (plain, head(observations, context)):
        seen = scores * legal
        results.append((seen, *torch.autograd.grad(seen.sin().sum(), flat)))
    for wanted, ours in zip(*results, strict=True):
        torch.testing.assert_close(ours, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("width", [5, 16, 40])
def test_in_bfloat16_the_kernels_round_as_torch_does(width: int) -> None:
    torch.manual_seed(width)
    update, hidden = torch.randn(2, 30, 4, width).bfloat16()
    context, trumps = torch.randn(30, width).bfloat16(), torch.arange(30) % 5 - 1
    wanted = (update.float() + context.float().unsqueeze(1)).relu().bfloat16()
    joined, pooled = torch.empty_like(hidden), torch.empty(30, 2 * width, dtype=torch.bfloat16)
    join(*(stored(tensor) for tensor in (update, context, hidden, trumps, joined, pooled)))
    assert torch.equal(update, wanted)
    assert torch.equal(joined, wanted + hidden)
    assert torch.equal(pooled[:, width:], plain_pool(joined, trumps)[:, width:])
    mean = (joined[:, 0].float() + joined[:, 1] + (joined[:, 2].float() + joined[:, 3])) / 4
    assert torch.equal(pooled[:, :width], mean.bfloat16())


# -- the type of the products ----------------------------------------------------------------
def test_bfloat16_is_used_only_where_the_processor_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for avx512, amx in itertools.product((False, True), repeat=2):
        monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda a=avx512: a)
        monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda a=amx: a)
        wanted = torch.bfloat16 if avx512 or amx else torch.float32
        assert networks.matmul_dtype() is wanted
    monkeypatch.delattr(torch.cpu, "_is_avx512_bf16_supported")
    monkeypatch.delattr(torch.cpu, "_is_amx_tile_supported")
    assert networks.matmul_dtype() is torch.float32


def test_in_bfloat16_the_outputs_stay_float32_and_close(game: Game) -> None:
    torch.manual_seed(0)
    net = SuitNetwork(Layout.of(game))
    with torch.no_grad():
        net.suit.weight.mul_(20)
    observations = observed(game, 50, 9)
    exact = net(observations)
    net.dtype = torch.bfloat16
    rough = net(observations)
    for mine, theirs in zip(rough, exact, strict=True):
        assert mine.dtype == torch.float32
        torch.testing.assert_close(mine, theirs, rtol=0.05, atol=0.05)
    levels = rough[0][rough[0] != ILLEGAL_LOGIT]
    assert (levels.bfloat16().float() != levels).any(), "logits were rounded to bfloat16"
