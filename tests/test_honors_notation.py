"""Text of Honors: what is written is read back alike, and what makes no sense is refused."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from honors_play import SideBySide, game_options
from hypothesis import given, settings
from hypothesis import strategies as st

from tricktable_env.cards import NotationError
from tricktable_env.game import PositionError
from tricktable_env.honors import Honors
from tricktable_env.honors.infostate import view_of
from tricktable_env.honors.notation import action_text, read_action, read_position
from tricktable_env.honors.positions import position_text

SMALL: dict[str, Any] = {"suits": 2, "ranks": 5, "hand": 2}
START = "0 QS - 0/0/0,0/0/0 - TH,JH,QH,KH,AH,QS AK... JT..."
MIDDLE = "1 QS KS 1/3/0,0/0/0 - KH,AH T.TJ.. A..."


@settings(max_examples=25)
@given(options=game_options(), seed=st.integers(0, 2**32))
def test_what_is_written_is_read_and_written_alike(options: dict[str, Any], seed: int) -> None:
    table = SideBySide(options, seed=seed)
    states = table.game.new(np.zeros(1, np.uint64))
    while table.live:
        for seat in (None, *table.seats):
            text = table.game.position(table.states[0], seat)
            assert read_position(text).text() == text
            assert seat is None or position_text(view_of(table.states[0], seat)) == text
        text = table.game.position(table.states[0])
        table.game.place(states[0], text)
        assert table.game.position(states[0]) == text
        table.step_at_random()


@settings(max_examples=15)
@given(options=game_options(), seed=st.integers(0, 2**32), plies=st.integers(0, 60))
def test_a_record_leads_to_the_state_that_it_was_made_of(
    options: dict[str, Any], seed: int, plies: int
) -> None:
    table = SideBySide(options, seed=seed)
    start = table.game.position(table.states[0])
    table.play_to(plies)
    position, actions = table.game.record(table.states[0])
    assert position == start
    states = table.game.new(np.zeros(1, np.uint64))
    table.game.place(states[0], position)
    for action in actions:
        table.game.step(states, np.zeros(1, np.int64), np.array([action]))
    assert table.game.position(states[0]) == table.game.position(table.states[0])
    with pytest.raises(PositionError, match="a view has no record"):
        table.game.record(view_of(table.states[0], 0))


def place(text: str, **options: Any) -> None:
    game = Honors(**{**SMALL, **options})
    states = game.new(np.zeros(1, np.uint64))
    before = states.copy()
    try:
        game.place(states[0], text)
    except ValueError:
        assert (states == before).all()
        raise


def test_the_positions_that_the_refused_ones_are_made_of_are_fine() -> None:
    place(START)
    place("0>0 QS - 0/0/0,0/0/0 -,- TH,JH,QH,KH,AH,QS AK... JT...", announce=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0 QS - 0/0/0,0/0/0 -", "has 5 fields, not SEAT TRUMP TRICK"),
        (START.replace(" - 0", "  0"), "two in a row"),
        (START.replace("0 QS", "2 QS"), "no seat: '2'"),
        (START.replace("0 QS", "C QS"), "no seat: 'C'"),
        (START.replace("0 QS", "0 N"), "no trump: 'N'"),
        (START.replace("0 QS", "0 SH"), "no trump: 'SH'"),
        (START.replace("0/0/0,0/0/0", "0-0"), "no score: '0-0'"),
        (START.replace("0/0/0,0/0/0", "0/0/0"), "no score"),
        (START.replace("- TH", "3,x TH"), "no announcements: '3,x'"),
        (START.replace("- TH", "3 TH"), "no announcements: '3'"),
        (START.replace("TH,JH", "TH,JX"), "no card: 'JX'"),
        (START.replace("AK...", "KA..."), "ranks out of order"),
        (START.replace("AK...", "AJ..."), "card JS twice"),
        (START.replace("KH,AH,QS", "QS,KH,AH"), "QS in .* is the last of the stock|last card"),
        (START.replace(",QS AK...", ",QS AKQ..."), "twice"),
        ("0 QS - 0/0/0,0/0/0 - TH,JH AK... JT...", "QS, which was turned over, is its last card"),
        (START.replace("JT...", "J..."), "seat 1 has 1, seat 0 to act has 2"),
        ("1 QS AS,KS 0/0/0,0/0/0 - - ... ...", "trick of 2 cards"),
        ("0>0" + START[1:], "somebody is still to announce, and only then"),
        (START.replace("- TH", "-,- TH"), "somebody is still to announce"),
        ("1>0" + START[1:].replace("- TH", "-,- TH"), "so 0 is next"),
        ("1>0" + START[1:].replace("- TH", "-,3 TH"), "so 0 is next"),
        (
            "0>0" + START[1:].replace("- TH", "-,- TH").replace("0/0/0,", "1/0/0,"),
            "nothing is played before",
        ),
    ],
)
def test_what_is_no_position_is_refused(text: str, message: str) -> None:
    with pytest.raises(NotationError, match=message):
        read_position(text)


def test_a_seat_that_did_not_follow_holds_none_of_the_suit() -> None:
    text = "2 AH AS,KH 0/0/0,0/0/0,0/0/0 - QS,AH K... {} T9..."
    read_position(text.format(".J.."))
    with pytest.raises(NotationError, match=r"KH in .* seat 1 played it to AS while holding JS"):
        read_position(text.format("J..."))


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (START, {"num_players": 3}, "has 2 hands, but num_players=3"),
        ("0 QS - 0/0/0,0/0/0 - ?5,QS AK... ?2", {}, "one seat sees"),
        ("0 QS - 3/0/0,2/0/0 - - ... ...", {}, "finished"),
        (START.replace("TH", "2H"), {}, "2H in .* is not in the deck"),
        (START.replace("0 QS", "0 S"), {}, "rules are trump='flip'"),
        (START, {"trump": "S"}, "a card turned over"),
        (START.replace("0 QS", "0 S"), {"trump": "H"}, "has trump S, but the rules are trump='H'"),
        (START.replace("0 QS", "0 D"), {"trump": "random"}, "has trump D"),
        (START.replace("TH,", ""), {}, "hands of 2 with a stock of 5 do not occur"),
        (START.replace("0/0/0,", "1/0/0,"), {}, "1 tricks taken plus 5 left is not the 5"),
        ("1" + START[1:], {}, "the first lead is seat 0's"),
        (
            START.replace("0/0/0,", "0/0/3,"),
            {},
            "there were 0, make 0 to 0",
        ),
        (START, {"announce": True}, "has no announcements, but the rules are announce=True"),
        (START.replace("- TH", "0,6 TH"), {"announce": True}, "6 tricks announced"),
        (START.replace("0/0/0,", "0/3/0,"), {}, "3 points taken for honors"),
        *(
            (f"0 TS - 0/0/{points},0/0/0 - KH,TS AK... .JT..", {"stock": "redeal"}, "make 0 to ")
            for points in (-1, 19, 128)
        ),
        *(
            (
                f"0>0 TS - 0/0/{points},0/0/0 -,- KH,TS AK... .JT..",
                {"stock": "redeal", "announce": True, "announce_double": "points"},
                f"{points} points",
            )
            for points in (-7, 31)
        ),
    ],
)
def test_a_position_that_the_rules_do_not_allow_is_refused(
    text: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(PositionError, match=message):
        place(text, **options)


@pytest.mark.parametrize(
    ("text", "action"), [("2S", 0), ("AC", 51), ("announce 0", 52), ("announce 26", 78)]
)
def test_actions_have_their_text(text: str, action: int) -> None:
    assert read_action(text) == action
    assert action_text(action) == text


@pytest.mark.parametrize(
    "text", ["announce 27", "announce", "announce -1", "announce 01", "trump S"]
)
def test_what_is_no_action_is_refused(text: str) -> None:
    with pytest.raises(NotationError, match=r"no announcement|no card"):
        read_action(text)


def test_what_is_no_action_is_written_as_its_number() -> None:
    assert [action_text(action) for action in (-1, 79)] == ["-1", "79"]


def test_the_turned_card_is_seen_wherever_it_is() -> None:
    table = SideBySide({"num_players": 4}, seed=3)
    rng = random.Random(1)
    turned = table.games[0].turned
    assert turned is not None
    places = set()
    while table.live:
        oracle = table.games[0]
        holder = [seat for seat in table.seats if turned in oracle.hands[seat]]
        for seat in table.seats:
            text = table.game.position(table.states[0], seat)
            if turned in oracle.stock:
                assert text.split(" ")[5].endswith(action_text(turned))
                places.add("stock")
            elif holder and holder[0] != seat:
                assert text.split(" ")[6 + holder[0]].endswith(f"+{action_text(turned)}") or (
                    len(oracle.hands[holder[0]]) == 1
                )
                places.add("hand")
        keep = [action for action in oracle.legal() if action != turned]
        table.step({0: rng.choice(keep or oracle.legal())})
    assert places == {"stock", "hand"}


def test_nobody_has_no_view() -> None:
    table = SideBySide({"num_players": 3})
    for seat in (-1, 3, True, "0"):
        with pytest.raises(PositionError, match="no seat"):
            table.game.position(table.states[0], seat)  # type: ignore[arg-type]
