"""Where the places of a deck order of Honors go, and the deck order of a game."""

from __future__ import annotations

from tricktable_env.cards import Card, Words, cards_of
from tricktable_env.game import PositionError
from tricktable_env.honors.infostate import at_start
from tricktable_env.honors.rules import Rules
from tricktable_env.honors.state import GONE, HAND, STOCK, STOCK_SIZE, TURNED, byte_of


def deck_places(rules: Rules) -> tuple[tuple[int, ...], ...]:
    """The places of a deck order, by where their cards go; see `game.Game.deck_places`.

    First the hands, seat by seat, and the card turned over; then what is served from the stock:
    cards drawn one by one, as who draws them is settled by play, or new hands.
    """
    players, dealt = rules.num_players, rules.num_players * rules.hand
    groups = [tuple(range(seat, dealt, players)) for seat in range(players)]
    stock = list(range(dealt, dealt + rules.stock_size))
    if rules.trump == "flip":  # the top card is turned over and goes to the bottom
        groups.append((dealt,))
        stock = [*stock[1:], dealt]
    if rules.stock == "draw":
        served = rules.stock_size - rules.stock_size % players
        groups += [(place,) for place in stock[:served]]
    elif rules.stock == "redeal":
        at = 0
        for each in rules.deals[1:]:
            hands = stock[at : at + players * each]
            groups += [tuple(hands[seat::players]) for seat in range(players)]
            at += players * each
    turned = dealt if rules.trump == "flip" else -1
    first = players + (turned >= 0)
    later = [tuple(place for place in group if place != turned) for group in groups[first:]]
    return tuple(group for group in (*groups[:first], *later) if group)


def deck_of_game(s: Words, rules: Rules) -> list[Card]:
    """An order of the deck that deals the game of a state; see `game.Game.deck`.

    Raises:
        PositionError: the game began from a position in which cards had been played.
    """
    if int(s[GONE]):
        raise PositionError("a game begun from a position with cards gone has no deck order")
    start = at_start(s)
    hands = [list(cards_of(int(start[HAND + seat]))) for seat in range(rules.num_players)]
    stock = [byte_of(start, STOCK, i) - 1 for i in range(int(start[STOCK_SIZE]))]
    if start[TURNED]:
        stock = [stock[-1], *stock[:-1]]
    return [hand[i] for i in range(rules.hand) for hand in hands] + stock
