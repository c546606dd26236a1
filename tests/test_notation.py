"""The text of cards, actions and positions: what reads and writes back, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import OracleRound
from oracle_texts import OracleRules
from oracle_texts import read_position as oracle_reads
from sidebyside import SideBySide, round_options

from tricktable_env import cards
from tricktable_env.cards import NotationError
from tricktable_env.game import PositionError
from tricktable_env.tableau import Tableau
from tricktable_env.tableau.notation import read_position

DATA = Path(__file__).parent / "data"
CASES: list[dict[str, Any]] = [
    json.loads(line)
    for name in ("tableau-games", "tableau-positions", "tableau-reduced")
    for line in (DATA / f"{name}.jsonl").read_text().splitlines()
]

SMALL: dict[str, Any] = {"suits": 2, "ranks": 4, "hand": 2, "piles": 1}
"""Four tricks from AKQJ of spades and hearts; all eight cards are dealt."""


# Cards and actions


def test_card_is_rank_then_suit() -> None:
    texts = [cards.card_text(card) for card in range(52)]
    assert (texts[0], texts[12], texts[13], texts[34], texts[51]) == ("2S", "AS", "2H", "TD", "AC")
    assert len(set(texts)) == 52
    assert [cards.read_card(text) for text in texts] == list(range(52))


@pytest.mark.parametrize("text", ["", "A", "S", "SA", "10S", "1S", "as", "AX", "AS ", " AS", "A♠"])
def test_unknown_card_is_refused(text: str) -> None:
    with pytest.raises(NotationError) as caught:
        cards.read_card(text)
    assert repr(text) in str(caught.value)


@given(st.sets(st.integers(0, 51)))
def test_hand_reads_and_writes_the_same(hand: set[int]) -> None:
    word = cards.card_set(hand)
    assert word == sum(1 << card for card in hand)
    assert list(cards.cards_of(word)) == sorted(hand)
    assert cards.read_hand(cards.hand_text(word)) == word


def test_hand_is_four_suits_ranks_high_to_low() -> None:
    hand = [cards.read_card(text) for text in ["2S", "AS", "KS", "JH", "QH", "3C", "9C", "TC"]]
    assert cards.hand_text(cards.card_set(hand)) == "AK2.QJ..T93"


def test_actions_read_and_write_the_same() -> None:
    game = Tableau()
    texts = [game.action_text(action) for action in range(56)]
    assert texts[52:] == ["trump S", "trump H", "trump D", "trump C"]
    assert [game.read_action(text) for text in texts] == list(range(56))


@pytest.mark.parametrize("text", ["trump", "trump X", "trump SH", "trump  S", "Trump S", "52", ""])
def test_unknown_action_is_refused(text: str) -> None:
    with pytest.raises(NotationError) as caught:
        Tableau().read_action(text)
    assert repr(text) in str(caught.value)


# Positions that read


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["position"])
def test_recorded_position_reads_and_writes_the_same(case: dict[str, Any]) -> None:
    text, options = case["position"], case.get("rules", {})
    assert read_position(text).text() == text
    game, rules = Tableau(**options), OracleRules(**options)
    states = game.new(np.zeros(1, np.uint64))
    try:
        round_ = OracleRound.from_position(text, rules)
    except ValueError:
        # Solving takes positions of which no game can start: refused, and with the text in it.
        with pytest.raises(PositionError) as caught:
            game.place(states[0], text)
        assert text in str(caught.value)
        return
    game.place(states[0], text)
    for seat in (None, 0, 1):
        assert game.position(states[0], seat) == round_.position(seat)


def test_most_recorded_positions_start_a_game() -> None:
    started = 0
    for case in CASES:
        try:
            OracleRound.from_position(case["position"], OracleRules(**case.get("rules", {})))
        except ValueError:
            continue
        started += 1
    assert started > len(CASES) * 3 // 4


@settings(max_examples=40)
@given(options=round_options(), seed=st.integers(0, 2**32))
def test_position_whole_or_seen_by_a_seat_reads_and_writes_the_same(
    options: dict[str, Any], seed: int
) -> None:
    table = SideBySide(options, seed=seed)
    while True:
        for seat in (None, 0, 1):
            text = table.game.position(table.states[0], seat)
            position, other = read_position(text), oracle_reads(text)
            assert position.text() == text
            assert sorted(position.cards()) == sorted(other.cards)
            assert (position.left(0), position.left(1)) == other.counts
            assert position.is_seen_by_one_seat == other.hidden
        if not table.live:
            return
        table.step_at_random()


@pytest.mark.parametrize(
    ("whole", "caller", "dealer"),
    [
        (
            "C - - 0-0 .J..+.A.. AS/QH,QS/JS .K.J. KS/KD,QD/AD",
            "C - - 0-0 .J..+?1 ?/?,?/? ?2 ?/?,?/?",
            "C - - 0-0 ?1+?1 ?/?,?/? ?2 ?/?,?/?",
        ),
        (
            "C H - 0-0 .AJ.. AS/QH,QS/JS .K.J. KS/KD,QD/AD",
            "C H - 0-0 .AJ.. AS/?,QS/? ?2 KS/?,QD/?",
            "C H - 0-0 ?2 AS/?,QS/? .K.J. KS/?,QD/?",
        ),
        (
            "C H QD 0-1 .AJ.. AS/QH,JS .K.J. KD,AD",
            "C H QD 0-1 .AJ.. AS/?,JS ?2 KD,AD",
            "C H QD 0-1 ?2 AS/?,JS .K.J. KD,AD",
        ),
        ("C S - 3-2 A... - ... AH", "C S - 3-2 A... - ?0 AH", "C S - 3-2 ?1 - ... AH"),
    ],
)
def test_position_as_each_seat_sees_it(whole: str, caller: str, dealer: str) -> None:
    game = Tableau(suits=3, ranks=4, hand=2, piles=2)
    states = game.new(np.zeros(1, np.uint64))
    game.place(states[0], whole)
    assert [game.position(states[0], seat) for seat in (None, 0, 1)] == [whole, caller, dealer]


# Texts that are no position

NO_POSITION: list[tuple[str, str]] = [
    ("", "''"),
    ("C S - 0-0 A... - .A..", "7 fields"),
    ("C S - 0-0 A... - .A.. - -", "9 fields"),
    ("C S  - 0-0 A... - .A.. -", "two in a row"),
    (" C S - 0-0 A... - .A.. -", "two in a row"),
    ("X S - 0-0 A... - .A.. -", "'X'"),
    ("c S - 0-0 A... - .A.. -", "'c'"),
    ("CD S - 0-0 A... - .A.. -", "'CD'"),
    ("C X - 0-0 A... - .A.. -", "'X'"),
    ("C SH - 0-0 A... - .A.. -", "'SH'"),
    ("C S - 0:0 A... - .A.. -", "'0:0'"),
    ("C S - 01-0 A... - .A.. -", "'01-0'"),
    ("C S - -1-0 A... - .A.. -", "'-1-0'"),
    ("C S - 1٣-0 A... - .A.. -", "'1٣-0'"),
    ("C S - 0-0-0 A... - .A.. -", "'0-0-0'"),
    ("C S 1S 0-0 ... - A... -", "'1S'"),
    ("C S 10S 0-0 ... - A... -", "'10S'"),
    ("C S - 0-0 X... - .A.. -", "'X'"),
    ("C S - 0-0 a... - .A.. -", "'a'"),
    ("C S - 0-0 A.. - .A.. -", "'A..'"),
    ("C S - 0-0 A.... - .A.. -", "'A....'"),
    ("C S - 0-0 QK... - .AK.. -", "'QK'"),
    ("C S - 0-0 AA... - .AK.. -", "AS twice"),
    ("C S - 0-0 A... - A... -", "AS twice"),
    ("C S - 0-0 A... KH .A.. KH", "KH twice"),
    ("C S - 0-0 A... KH/KD .AQ.. KD", "KD twice"),
    ("C S - 0-0 A... KH/AS .AQ.. KD", "AS twice"),
    ("C S - 0-0 A... AS ... AH,KH", "AS twice"),
    ("C - - 0-0 A...+A... - .AK.. -", "AS twice"),
    ("C S - 0-0 ... AX ... AS", "'AX'"),
    ("C S - 0-0 ... AS/KS/QS ... AH,KH,QH", "KS/QS"),
    ("C S - 0-0 ... AS, ... AH", "''"),
    ("C S - 0-0 ... AS/ ... AH", "''"),
    ("C S - 0-0 ... /AS ... AH", "''"),
    ("C S - 0-0 ...  ... AH", "two in a row"),
    ("C S - 0-0 A... - .A.. -\n", r"'-\n'"),
    ("C S - 0-0 A... - .AK.. -", "caller has 1, dealer has 2"),
    ("C S 5H 0-0 A... - .A.. -", "5H"),
    ("C S AS 0-0 A... - ... -", "AS twice"),
    ("D S 5H 0-0 A... - .A.. -", "5H"),
    ("D S 5H 0-0 A... - ... -", "5H"),
    ("D S 5H 0-0 A... - .AK4.. -", "5H"),
    ("C - 5H 0-0 A...+... - ... -", "5H"),
    ("D - - 0-0 A...+... - .A.. -", "'D - - 0-0 A"),
    ("C - - 0-0 A... - .A.. -", "'A...'"),
    ("C S - 0-0 A...+... - .A.. -", "'A...+...'"),
    ("C - - 0-0 A...+...+... - .A.. -", "'...+...'"),
    ("C S - 0-0 ... AS/KS .A.K. -+", "'-+'"),
    ("C - - 0-0 A...+... - .A..+... -", "'.A..+...'"),
    ("C S - 0-0 ?x - ?1 -", "'?x'"),
    ("C S - 0-0 ?01 - ?1 -", "'?01'"),
    ("C S - 0-0 ? - ?1 -", "'?'"),
    ("C S - 0-0 ?-1 - ?1 -", "'?-1'"),
    ("C S - 0-0 ... ?/? ... ?/?", "'?/?'"),
    ("C S - 0-0 ... ?/AS ... ?/AH", "'?/AS'"),
    ("C S - 0-0 ... ? ... ?", "'?'"),
    ("C S - 0-0 ... AS/?S ... AH/?", "'?S'"),
]


@pytest.mark.parametrize(("text", "offending"), NO_POSITION, ids=lambda value: repr(value))
def test_text_that_is_no_position_is_refused_and_nothing_changed(text: str, offending: str) -> None:
    with pytest.raises(NotationError) as caught:
        read_position(text)
    assert offending in str(caught.value)
    with pytest.raises(ValueError):  # noqa: PT011 (the oracle agrees, in words of its own)
        oracle_reads(text)
    assert_untouched(Tableau(), text, offending)


def assert_untouched(game: Tableau, text: str, offending: str) -> None:
    """Checks that a game in progress refuses a position and goes on as it was."""
    states = game.new(np.zeros(1, np.uint64))
    game.deal(states, np.zeros(1, np.int64))
    before = states.copy()
    with pytest.raises((NotationError, PositionError)) as caught:
        game.place(states[0], text)
    assert offending in str(caught.value)
    assert "\n" not in str(caught.value)
    assert (states == before).all()


@pytest.mark.parametrize(
    ("options", "text", "offending"),
    [
        ({}, "C S - 0-0 ?2 AS/? .AJ.. KH/?", "one seat sees"),
        ({}, "C S - 0-0 AQ... KS/? .AJ.. KH/?", "one seat sees"),
        ({}, "C S - 3-0 A... - ?1 -", "one seat sees"),
        ({}, "C S - 3-0 ?0 AS ... AH", "one seat sees"),
        ({}, "C - - 0-0 A...+?1 KS/JS .AJ.. KH/QH", "one seat sees"),
        ({}, "C - - 0-0 A...+?1 ?/? ?2 ?/?", "one seat sees"),
        ({}, "C S - 0-0 AT... KS/JS .AJ.. KH/QH", "TS"),
        ({}, "C S - 0-0 AQ... KS/JS .AJ.K. QH", "KD"),
        ({}, "D S TH 0-0 AQ... KS .AJ.. KH/QH", "TH"),
        ({}, "C S - 2-2 ... - ... -", "finished"),
        ({}, "C S - 0-0 A... - .A.. -", "0-0"),
        ({}, "C S - 2-2 A... - .A.. -", "2-2"),
        ({}, "D S QH 1-0 AQ... KS/JS .AJ.. KH/AH", "twice"),
        ({}, "D S - 0-0 AQ... KS/JS .AJ.. KH/QH", "'D'"),
        ({}, "C S AH 0-0 AQ... KS/JS .J.. KH/QH", "'C'"),
        ({"first_lead": "dealer"}, "C S - 0-0 AQ... KS/JS .AJ.. KH/QH", "'C'"),
        ({}, "C S - 0-0 AQJ... KS .AJ.. KH/QH", "3 cards in hand"),
        ({}, "C S - 0-0 AQ... KS,JS .AJ.. KH/QH", "2 piles"),
        ({}, "C N - 0-0 AQ... KS/JS .AJ.. KH/QH", "no trump"),
        ({}, "C C - 0-0 AQ... KS/JS .AJ.. KH/QH", "trump C"),
        ({"trump": "H"}, "C S - 0-0 AQ... KS/JS .AJ.. KH/QH", "trump S"),
        ({"trump": "none"}, "C S - 0-0 AQ... KS/JS .AJ.. KH/QH", "trump S"),
        ({"trump": "random"}, "C - - 0-0 A...+Q... KS/JS .AJ.. KH/QH", "before the call"),
        ({"trump": "S"}, "C - - 0-0 A...+Q... KS/JS .AJ.. KH/QH", "before the call"),
        ({}, "C - - 0-0 AQ...+... KS/JS .AJ.. KH/QH", "2 cards seen"),
        ({"call_cards": 0}, "C - - 0-0 A...+Q... KS/JS .AJ.. KH/QH", "1 cards seen"),
        ({}, "C - - 0-0 A...+... KS/JS,QS .AJ.. KH/QH", "2 piles"),
        ({}, "C - - 1-0 A...+Q... KS .AJ.. KH", "before the call"),
        ({}, "C - - 0-0 A...+... KS/JS .A.. KH/QH", "0-0"),
    ],
)
def test_position_that_does_not_fit_the_rules_is_refused_and_nothing_changed(
    options: dict[str, Any], text: str, offending: str
) -> None:
    game = Tableau(**{**SMALL, **options})
    assert_untouched(game, text, offending)
    with pytest.raises(ValueError):  # noqa: PT011 (the oracle agrees, in words of its own)
        OracleRound.from_position(text, OracleRules(**{**SMALL, **options}))


def test_refusals_quote_the_position() -> None:
    text = "C C - 0-0 AQ... KS/JS .AJ.. KH/QH"
    with pytest.raises(PositionError) as caught:
        Tableau(**SMALL).place(Tableau(**SMALL).new(np.zeros(1, np.uint64))[0], text)
    assert repr(text) in str(caught.value)


@settings(max_examples=300)
@given(
    text=st.sampled_from([case["position"] for case in CASES]),
    at=st.integers(0, 200),
    letter=st.sampled_from([*"CDSHN-?/,+. AKQT29x", ""]),
)
def test_engine_and_oracle_read_and_refuse_the_same_texts(text: str, at: int, letter: str) -> None:
    # One letter of a good text is changed or left out: mostly, but not always, it is refused.
    at %= len(text)
    changed = text[:at] + letter + text[at + 1 :]
    try:
        expected = oracle_reads(changed).text
    except ValueError:
        with pytest.raises(NotationError):
            read_position(changed)
        return
    assert read_position(changed).text() == expected == changed
