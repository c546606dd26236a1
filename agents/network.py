"""The suit-equivariant network: one set of weights for every suit of an observation.

Suits are alike but for trump and for the suit led, and both are flags of the suit itself. So every
suit has a vector of its own, made by the same weights, and the suits hear of each other through two
pooled vectors only: the mean over suits and the vector of the trump suit (zero without trump).
Renaming the suits of a position renames the actions and changes nothing else.

The network reads a `Layout`, the places of things in a game's observation; it knows no game.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from agents.card_scores import CARD_WIDTH, card_scores
from agents.suit_kernels import read
from agents.suit_layers import stored, suit_layers
from tricktable_env.cards import NUM_CARDS, SUIT_SIZE, SUITS
from tricktable_env.game import Game

ILLEGAL_LOGIT = -1e9
"""The logit of an illegal action: its probability is exactly 0 in float32."""
NUM_SUITS = len(SUITS)


class LayoutError(ValueError):
    """An observation that the network can't read."""


@dataclass(frozen=True)
class Layout:
    """Where a suit-major observation keeps what the network reads."""

    size: int
    """Entries of the flat observation, D."""
    suit_width: int
    """Entries of one suit; the suits come first, in the order S H D C."""
    planes: int
    """Number of planes of 13 ranks that an entry block of a suit begins with; flags follow."""
    trump: int
    """Index of the flag `trump` among the entries of a suit."""
    highs: tuple[int, ...]
    """Largest values of the numbers behind the suits, which are divided by them."""
    legal: int
    """Index of the first entry of the action mask, which is the rest of the observation."""
    num_actions: int
    """Size A of the action space: the cards first, 13 a suit."""
    calls: bool
    """Whether the actions after the cards are one a suit (a call); otherwise they are a list."""
    full_size: int
    """Entries of the full-information tensor, F."""
    hidden: int
    """Index of the first entry in it that only a critic may see, suit by suit again."""
    hidden_width: int
    """Such entries of one suit."""

    @classmethod
    def of(cls, game: Game) -> Layout:
        """Reads the layout from a game's table of named parts.

        Raises:
            LayoutError: the observation is not one block of flags a suit, then numbers, then the
                mask.
        """
        parts = game.layout
        blocks = [[part for part in parts if part.name.startswith(f"{suit}.")] for suit in SUITS]
        names = [[part.name.partition(".")[2] for part in block] for block in blocks]
        width = sum(part.size for part in blocks[0])
        numbers = [part for part in parts if "." not in part.name and part.name != "legal"]
        in_order = sorted(parts, key=lambda part: part.start)
        planes = sum(part.size == SUIT_SIZE for part in blocks[0])
        if (
            "trump" not in names[0]
            or any(part.size != SUIT_SIZE for part in blocks[0][:planes])
            or any(other != names[0] for other in names)
            or any(part.high != 1 for block in blocks for part in block)
            or in_order != [part for block in blocks for part in block] + numbers + [parts[-1]]
            or parts[-1].name != "legal"
        ):
            raise LayoutError(
                f"the observation of {game.name} is no block of 0/1 entries a suit, planes "
                "first, with a flag `trump`, then numbers, then `legal`"
            )
        hidden = [part for part in game.full_layout if part.name.startswith(f"{SUITS[0]}.full.")]
        extra = range(NUM_CARDS, game.num_actions)
        return cls(
            size=game.observation_size,
            suit_width=width,
            planes=planes,
            trump=blocks[0][names[0].index("trump")].start,
            highs=tuple(part.high for part in numbers for _ in range(part.size)),
            legal=parts[-1].start,
            num_actions=game.num_actions,
            calls=[game.action_text(action)[-1] for action in extra] == list(SUITS),
            full_size=game.full_size,
            hidden=hidden[0].start if hidden else game.full_size,
            hidden_width=sum(part.size for part in hidden),
        )

    @property
    def suits_end(self) -> int:
        """Index of the first number."""
        return NUM_SUITS * self.suit_width


def matmul_dtype() -> torch.dtype:
    """The type of the large matrix products: bfloat16 where this processor multiplies it natively.

    On others bfloat16 is emulated and slower than float32.
    """
    supports = (
        getattr(torch.cpu, name, None)
        for name in ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
    )
    return torch.bfloat16 if any(ask is not None and ask() for ask in supports) else torch.float32


class SuitLayer(nn.Module):
    """The weights of one layer: A and a for a suit's own vector, B for the pooled ones.

    Args:
        own: width of a suit's vector.
        shared: width of what B reads.
        width: width of the result.
    """

    def __init__(self, own: int, shared: int, width: int) -> None:
        super().__init__()
        self.own = nn.Linear(own, width)
        self.shared = nn.Linear(shared, width, bias=False)


class SuitTrunk(nn.Module):
    """The layers in which every suit is treated alike; see `suit_layers`.

    Args:
        suit_width: entries of a suit.
        numbers: entries of the vector that the first layer's B reads too.
        width: width of every layer.
        depth: number of layers; the first has no `h +`, its input has another width.
    """

    def __init__(self, suit_width: int, numbers: int, width: int, depth: int) -> None:
        super().__init__()
        self.width = width
        first = SuitLayer(suit_width, 2 * suit_width + numbers, width)
        others = [SuitLayer(width, 2 * width, width) for _ in range(depth - 1)]
        self.layers = nn.ModuleList([first, *others])

    def forward(
        self, suits: Tensor, pooled: Tensor, trumps: Tensor, heads: Sequence[nn.Linear] = ()
    ) -> tuple[Tensor, Tensor]:
        """Runs the layers.

        Args:
            suits: `[B, 4, suit_width]`, in the type of the matrix products.
            pooled: `[B, 2 x suit_width + numbers]`.
            trumps: `[B] int64`, which suit is trump, -1 for none.
            heads: read each suit's last vector.

        Returns:
            What the heads say of each suit, side by side `[B, 4, K] float32`, and the pooled
            vectors of the last layer side by side `[B, 2 x width]`.
        """
        layers = [cast(SuitLayer, layer) for layer in self.layers]
        weights = [(layer.own.weight, layer.own.bias, layer.shared.weight) for layer in layers]
        size = sum(head.out_features for head in heads)
        spare = -size % 16  # products with 14 columns take far longer than with 16
        weight = torch.cat([*(head.weight for head in heads), torch.zeros(spare, self.width)])
        bias = torch.cat([*(head.bias for head in heads), torch.zeros(spare)])
        by_suit, pooled = suit_layers(suits, pooled, trumps, weights, (weight, bias))
        return by_suit[:, :, :size], pooled


class ValueHead(nn.Module):
    """One hidden layer from the pooled vectors to a value; its last layer is float32.

    Args:
        inputs: width of the pooled vectors, side by side.
        width: width of the hidden layer.
    """

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(inputs, width)
        self.value = nn.Linear(width, 1)
        shrink(self.value, 0.1)

    def forward(self, pooled: Tensor) -> Tensor:
        """Returns the values `[B] float32` of pooled vectors `[B, inputs]`."""
        value: Tensor = self.value(linear(self.hidden, pooled).relu_().float())
        return value.squeeze(1)


class CardHead(nn.Module):
    """What there is to say of a card by itself, with the same weights for all ranks.

    It reads the card's own entry of every plane, how many higher cards of the suit each plane has,
    and what the layers say of the suit. So a rule such as "beats all that is unseen" is learnt
    once, not thirteen times.

    Args:
        layout: where the observation keeps what.
    """

    def __init__(self, layout: Layout) -> None:
        super().__init__()
        self.layout = layout
        self.own = nn.Linear(layout.planes, CARD_WIDTH)
        self.above = nn.Linear(layout.planes, CARD_WIDTH, bias=False)
        self.score = nn.Linear(CARD_WIDTH, 1)
        shrink(self.score, 0.05)

    def forward(self, observations: Tensor, context: Tensor) -> Tensor:
        """Scores the cards that may be played; what it says of others means nothing.

        Args:
            observations: `[B, D or more] uint8`.
            context: `[B, 4, CARD_WIDTH] float32`, what the layers say of each suit.

        Returns:
            `[B, 52] float32`.
        """
        weights = (self.own.weight.t(), self.above.weight.t() / NUM_SUITS, self.score.weight[0])
        places = (self.layout.suit_width, self.layout.legal)
        scores = card_scores(observations, *places, context + self.own.bias, weights)
        return scores + self.score.bias


class SuitNetwork(nn.Module):
    """Policy and value of flat observations.

    Args:
        layout: where the observation keeps what.
        width: width of every layer.
        depth: number of layers.
        with_value: whether it has a value head; a policy with a critic of its own needs none.
    """

    def __init__(
        self, layout: Layout, width: int = 128, depth: int = 3, with_value: bool = True
    ) -> None:
        super().__init__()
        self.layout, self.width, self.depth = layout, width, depth
        self.dtype = torch.float32
        self.trunk = SuitTrunk(layout.suit_width, len(layout.highs), width, depth)
        self.suit = nn.Linear(width, SUIT_SIZE + layout.calls)
        shrink(self.suit, 0.05)
        self.context = nn.Linear(width, CARD_WIDTH)
        self.cards = CardHead(layout)
        listed = 0 if layout.calls else layout.num_actions - NUM_CARDS
        self.listed = nn.Linear(2 * width, listed) if listed else None
        if self.listed is not None:
            shrink(self.listed, 0.05)
        self.value = ValueHead(2 * width, width) if with_value else None

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        """Evaluates positions as the seats to act see them.

        Args:
            observations: `[B, D or more] uint8`, or the same numbers of another type; what follows
                the flat observation is ignored.

        Returns:
            Logits `[B, A] float32`, ILLEGAL_LOGIT where the observation's mask is 0, and the
            values `[B] float32` for the player who looks: zero without a value head.
        """
        layout = self.layout
        observations = observations.to(torch.uint8).contiguous()
        inputs = split(observations, layout, self.dtype)
        by_suit, pooled = self.trunk(*inputs, [self.suit, self.context])
        logits = by_suit[:, :, :SUIT_SIZE].flatten(1)
        logits = logits + self.cards(observations, by_suit[:, :, self.suit.out_features :])
        if layout.calls:
            logits = torch.cat([logits, by_suit[:, :, SUIT_SIZE]], 1)
        elif self.listed is not None:
            logits = torch.cat([logits, self.listed(pooled.float())], 1)
        legal = observations[:, layout.legal : layout.size].bool()
        values = logits.new_zeros(len(logits)) if self.value is None else self.value(pooled)
        return torch.where(legal, logits, ILLEGAL_LOGIT), values


class HiddenCritic(nn.Module):
    """The value of a position to a player, told the hidden cards: for training alone.

    It treats suits alike, as the policy does.

    Args:
        layout: where the full-information tensor keeps what.
        width: width of every layer.
        depth: number of layers.
    """

    def __init__(self, layout: Layout, width: int = 64, depth: int = 2) -> None:
        super().__init__()
        self.layout, self.dtype = layout, torch.float32
        suit_width = layout.suit_width + layout.hidden_width
        self.trunk = SuitTrunk(suit_width, len(layout.highs), width, depth)
        self.value = ValueHead(2 * width, width)

    def forward(self, full: Tensor) -> Tensor:
        """Returns the values `[B] float32` of full-information tensors `[B, F] uint8`."""
        _, pooled = self.trunk(*split(full.contiguous(), self.layout, self.dtype, with_hidden=True))
        value: Tensor = self.value(pooled)
        return value


def split(
    observations: Tensor, layout: Layout, dtype: torch.dtype, with_hidden: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    """Cuts observations into what a trunk reads.

    Args:
        observations: `[B, D or more] uint8`.
        layout: where the observation keeps what.
        dtype: the type of the results.
        with_hidden: whether a suit has what only a critic may see too.

    Returns:
        The suits `[B, 4, S]`; pooled `[B, 2 x S + N]`: the mean over suits, the trump suit and the
        numbers scaled to 0..1; and which suit is trump, `[B] int64`, -1 for none.
    """
    hidden_width = layout.hidden_width if with_hidden else 0
    width, count = layout.suit_width + hidden_width, len(observations)
    suits = torch.empty(count, NUM_SUITS, width, dtype=dtype)
    pooled = torch.empty(count, 2 * width + len(layout.highs), dtype=dtype)
    trumps = torch.empty(count, dtype=torch.int64)
    read(
        observations.numpy(),
        *(layout.suit_width, layout.hidden, hidden_width, layout.trump),
        np.array(layout.highs, np.float32),
        *(stored(suits), stored(pooled), trumps.numpy()),
    )
    return suits, pooled, trumps


def linear(layer: nn.Linear, inputs: Tensor) -> Tensor:
    """Applies a layer in the type of its inputs."""
    return functional.linear(inputs, layer.weight.to(inputs.dtype), layer.bias.to(inputs.dtype))


def shrink(layer: nn.Linear, factor: float) -> None:
    """Makes a last layer start near zero, so that an untrained policy is nearly even."""
    with torch.no_grad():
        layer.weight.mul_(factor)
        layer.bias.zero_()


def layout_digest(game: Game) -> str:
    """Changes whenever a part of the flat observation is renamed, moved or resized."""
    text = ";".join(f"{part.name}:{part.start}:{part.size}:{part.high}" for part in game.layout)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
