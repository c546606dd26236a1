"""The picture of Honors: it shows what the seat that looks can see, all of it and no more."""

from __future__ import annotations

import re
from typing import Any

import pytest
from honors_oracle import OracleGame, number
from honors_play import OPTIONS, SideBySide, name_of

from tricktable_env.render import picture

RANK, SUIT = "[23456789TJQKA]", "[SHDC]"


def cards_in(text: str) -> set[int]:
    """Returns the cards that a text names, each like `KS` or in a hand like `S AK2`."""
    found = {number(name) for name in re.findall(rf"\b{RANK}{SUIT}\b", text)}
    for suit, ranks in re.findall(rf"\b({SUIT}) ({RANK}+)(?= |$)", text, re.MULTILINE):
        found |= {number(rank + suit) for rank in ranks}
    return found


def cards_to_show(game: OracleGame, seat: int | None) -> set[int]:
    """Returns what can be seen: hands, the stock, the turned card, and the trick."""
    n = game.rules.num_players
    plays = [value for kind, _, value in game.log if kind == "play"]
    before = plays[: max(len(plays) - len(game.trick), 0)]
    trick = {*game.trick, *(before[-n:] if len(before) >= n else [])}
    turned = {card for cards in (game.stock, *game.hands) for card in cards if card == game.turned}
    if seat is None:
        return trick.union(game.stock, *game.hands)
    return trick | turned | game.hands[seat]


@pytest.mark.parametrize("options", OPTIONS, ids=name_of)
def test_picture_shows_what_the_seat_sees_and_no_other_card(options: dict[str, Any]) -> None:
    table = SideBySide(options, games=1, seed=8)
    while True:
        state, oracle = table.states[0], table.games[0]
        for seat in (None, *table.seats):
            drawn = picture(table.game, state, seat)
            assert cards_in(drawn) == cards_to_show(oracle, seat)
            assert drawn.count("(you)") == (seat is not None)
            lines = drawn.split("\n")
            assert max(map(len, lines)) <= 79
            assert all(line == line.rstrip() for line in lines)
            assert all(" " <= letter <= "~" for line in lines for letter in line)
            for who in table.seats:
                assert re.search(rf"seat {who} +{oracle.total(who)} points", drawn)
        if not table.live:
            return
        table.step_at_random()
