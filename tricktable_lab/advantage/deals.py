"""The deals of the study: each also with the cards of the two seats exchanged.

A deal is one order of the deck, whatever the arm. Mirrored, every card that went to the caller goes
to the dealer's same place and the other way round, so that what the cards decide cancels within the
pair. An order exchanged like that is as likely as any, so each half of the pair is a fair deal.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tricktable_env.bits import ZERO, list_bits, room, shuffle, stream
from tricktable_env.cards import NUM_CARDS, SUIT_CARDS, SUIT_SIZE, Words
from tricktable_env.game import Game
from tricktable_env.jit import kernel
from tricktable_env.opponents import decision_streams
from tricktable_env.tableau.rules import deal_order, hand_size, num_piles
from tricktable_env.tableau.state import CALL_HAND, DECK, MATCH, RESULT, RNG

HONORS = 4
"""How many of the highest ranks count as honors: A K Q J."""
_MIRROR = 2**40
"""No deal has this number."""


def paired(game: Game, seed: int, first: int, deals: int) -> Words:
    """Deals some deals of a seed, each as it is and then mirrored.

    Deal i as it is equals deal i of a match with that seed.

    Args:
        game: the rules of an arm.
        seed: 0 to 2**64 - 1.
        first: the number of the first deal.
        deals: how many.

    Returns:
        `[2 x deals, W] uint64`, the two of a deal one after the other.
    """
    numbers = np.repeat(np.arange(first, first + deals), 2)
    nobody, none = np.full_like(numbers, game.num_players), np.zeros_like(numbers)
    seeds = np.full(len(numbers), seed, np.uint64)
    states = game.new(decision_streams(seeds, numbers, nobody, none).keys)
    _deal_rows(states, np.tile(np.array([False, True]), deals))
    return states


def stream_seeds(seed: int, deals: int) -> npt.NDArray[np.uint64]:
    """The seeds from which the streams of decisions in paired deals come: `[2 x deals] uint64`.

    As dealt that is the study's own seed; mirrored another, so that the two games of a pair do not
    share their chance.
    """
    return np.tile(np.array([seed, stream(np.uint64(seed), _MIRROR, 0)], np.uint64), deals)


def seen_at_call(states: Words) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """What the caller sees when naming trump: the length of the best suit, and the honors.

    Args:
        states: `[n, W] uint64`, of arms in which trump is called.

    Returns:
        `[n] int64` each.
    """
    cards = states[:, CALL_HAND]
    suit = [np.uint64(SUIT_CARDS << SUIT_SIZE * suit) for suit in range(4)]
    lengths = np.stack([np.bitwise_count(cards & of) for of in suit])
    ranks = sum(1 << rank for rank in range(SUIT_SIZE - HONORS, SUIT_SIZE))
    honors = np.uint64(sum(ranks << SUIT_SIZE * suit for suit in range(4)))
    return lengths.max(axis=0).astype(np.int64), np.bitwise_count(cards & honors).astype(np.int64)


@kernel
def _deal_rows(states: np.ndarray, mirrored: np.ndarray) -> None:
    """Deals each row from its own stream, as `rules.deal` does, or with the seats exchanged."""
    cards = room(NUM_CARDS, np.int64)
    for row in range(states.shape[0]):
        s = states[row]
        s[MATCH] = ZERO
        s[RESULT] = ZERO
        n = list_bits(s[DECK], cards)
        shuffle(cards, n, s, RNG)
        if mirrored[row]:
            _exchange(s, cards)
        deal_order(s, cards, n)


@kernel
def _exchange(s: np.ndarray, cards: np.ndarray) -> None:
    """Exchanges the places of the two seats in an order of the deck."""
    hand = hand_size(s)
    head = (hand + 1) // 2
    middle = (hand - head + 1) // 2
    piles = num_piles(s)
    at = 0
    for size in (head, piles, piles, middle, hand - head - middle):
        for i in range(at, at + size):
            cards[i], cards[i + size] = cards[i + size], cards[i]
        at += 2 * size
