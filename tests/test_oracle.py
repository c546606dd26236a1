"""Tests of the oracle itself: recorded games, solved positions, and the rules one by one."""

from __future__ import annotations

import itertools
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from oracle import OracleMatch, OracleRound
from oracle_search import Completion, consistent_deals, minimax, perft
from oracle_texts import (
    CALLER,
    DEALER,
    FIRST_CALL,
    OracleRules,
    action_text,
    card_text,
    deal,
    read_action,
    read_card,
    read_position,
)

DATA = Path(__file__).parent / "data"
MOST_TRICKS_SOLVED = 7
"""Plain minimax takes a fraction of a second a position up to here, and seconds beyond."""
MOST_TRICKS_SOLVED_LONG = 9
"""Plain minimax takes minutes for all positions up to here."""


def rows(name: str) -> list[dict[str, Any]]:
    """Returns the rows of a file of cases."""
    return [json.loads(line) for line in (DATA / f"{name}.jsonl").read_text().splitlines()]


def cards(text: str) -> list[int]:
    """Returns the cards written with spaces between."""
    return [read_card(card) for card in text.split()]


def cards_of_piles(*piles: str) -> list[list[int]]:
    """Returns piles, each written with the upper card first."""
    return [cards(pile) for pile in piles]


def shuffled(rules: OracleRules, seed: int) -> list[int]:
    """Returns the rules' deck in an order drawn from a seed."""
    deck = rules.deck
    random.Random(seed).shuffle(deck)
    return deck


def play_out(round_: OracleRound, rng: random.Random) -> None:
    """Plays legal actions at random until the round is over."""
    while round_.phase != "over":
        round_.play(rng.choice(round_.legal()))


GAMES = rows("tableau-games")
POSITIONS = rows("tableau-positions")
REDUCED = rows("tableau-reduced")


def solvable() -> list[Any]:
    """Returns the solved positions that are small enough for plain minimax, the larger marked."""
    chosen: list[Any] = []
    for row in POSITIONS + REDUCED:
        tricks = max(read_position(row["position"]).counts)
        if tricks <= MOST_TRICKS_SOLVED:
            chosen.append(row)
        elif tricks <= MOST_TRICKS_SOLVED_LONG:
            chosen.append(pytest.param(row, marks=pytest.mark.long))
    return chosen


# Recorded games, solved positions


@pytest.mark.parametrize("game", GAMES, ids=lambda game: game["position"][:20])
def test_recorded_game_replays(game: dict[str, Any]) -> None:
    round_ = OracleRound.from_position(game["position"], OracleRules(**game.get("rules", {})))
    legal_counts = []
    for text in game["plays"]:
        legal_counts.append(len(round_.legal()))
        round_.play(read_action(text))
    assert legal_counts == game["legal_counts"]
    assert round_.phase == "over"
    assert round_.tricks == game["tricks"]
    assert round_.winner() == game["winner"]


@pytest.mark.parametrize("row", GAMES + POSITIONS + REDUCED, ids=lambda row: row["position"])
def test_position_reads_and_writes_the_same_text(row: dict[str, Any]) -> None:
    rules = OracleRules(**row.get("rules", {}))
    round_ = OracleRound.from_position(row["position"], rules, strict=False)
    assert round_.position() == row["position"]
    for seat in (CALLER, DEALER):
        assert read_position(round_.position(seat)).text == round_.position(seat)


@pytest.mark.parametrize("row", solvable(), ids=lambda row: row["position"])
def test_minimax_agrees_with_solved_position(row: dict[str, Any]) -> None:
    round_ = OracleRound.from_position(
        row["position"], OracleRules(**row.get("rules", {})), strict=False
    )
    values = {action_text(action): value for action, value in minimax(round_).items()}
    assert values == row["moves"]
    assert max(values.values()) == row["best"]


def test_minimax_counts_for_the_seat_to_act_when_the_dealer_leads_after_the_call() -> None:
    # The dealer leads its ace and takes the only trick, unless it is trumped.
    text = "C - - 0-0 K...+... - .A.. -"
    rules = OracleRules(first_lead="dealer", suits=2, ranks=2, hand=1, piles=0)
    assert minimax(OracleRound.from_position(text, rules)) == {FIRST_CALL: 1, FIRST_CALL + 1: 0}


# The deal


def test_default_deck_is_dealt_in_the_order_of_the_rules() -> None:
    rules = OracleRules()
    assert (rules.tricks, rules.batches, rules.seen_at_call, rules.deck) == (
        26,
        (5, 3, 2),
        5,
        list(range(52)),
    )
    deck = shuffled(rules, 1)
    dealt = deal(rules, deck)
    assert dealt.hands == (
        deck[0:5] + deck[42:45] + deck[48:50],
        deck[5:10] + deck[45:48] + deck[50:52],
    )
    assert dealt.piles == (
        [[deck[26 + pile], deck[10 + pile]] for pile in range(8)],
        [[deck[34 + pile], deck[18 + pile]] for pile in range(8)],
    )
    assert dealt.out == []


def test_reduced_deck_is_dealt_in_the_order_of_the_rules() -> None:
    rules = OracleRules(suits=2, ranks=7, hand=3, piles=1)
    assert (rules.tricks, rules.batches, rules.seen_at_call) == (5, (2, 1, 0), 2)
    dealt = deal(rules, cards("8S 9S TS JS QS KS AS 8H 9H TH JH QH KH AH"))
    assert dealt.hands == (cards("8S 9S 9H"), cards("TS JS TH"))
    assert dealt.piles == ([cards("AS QS")], [cards("8H KS")])
    assert dealt.out == cards("JH QH KH AH")


@pytest.mark.parametrize(
    ("hand", "batches"),
    [(0, (0, 0, 0)), (1, (1, 0, 0)), (2, (1, 1, 0)), (4, (2, 1, 1)), (10, (5, 3, 2))],
)
def test_hand_is_dealt_in_three_batches(hand: int, batches: tuple[int, int, int]) -> None:
    assert OracleRules(hand=hand, piles=1).batches == batches


def test_reduced_deck_is_the_highest_ranks_of_the_first_suits() -> None:
    assert [card_text(card) for card in OracleRules(suits=2, ranks=3, hand=1, piles=1).deck] == [
        "QS",
        "KS",
        "AS",
        "QH",
        "KH",
        "AH",
    ]


def test_cards_seen_at_the_call_are_the_first_dealt_and_never_change_the_deal() -> None:
    deck = shuffled(OracleRules(), 2)
    for count in range(11):
        round_ = OracleRound(OracleRules(call_cards=count), deck)
        assert round_.seen == (deck[0:5] + deck[42:45] + deck[48:50])[:count]
        assert round_.hands == OracleRound(OracleRules(), deck).hands
        assert round_.position(CALLER).split(" ")[4].endswith(f"+?{10 - count}")


@pytest.mark.parametrize("deck", [[*range(51)], [*range(51), 50], [*range(53)]])
def test_deck_that_is_not_every_card_once_is_refused(deck: list[int]) -> None:
    with pytest.raises(ValueError, match="every card"):
        OracleRound(OracleRules(), deck)


@pytest.mark.parametrize(
    "options",
    [
        {"tie": "nobody"},
        {"call_cards": 11},
        {"call_cards": -1},
        {"trump": "X"},
        {"trump": "C", "suits": 3, "hand": 3, "piles": 3},
        {"first_lead": "C"},
        {"suits": 5},
        {"ranks": 14},
        {"suits": 2},
        {"hand": 11},
        {"hand": 0, "piles": 0},
        {"rounds_to_win": 0},
        {"reward": "points"},
        {"match_reward": "rounds"},
    ],
    ids=str,
)
def test_rules_without_sense_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"must|need"):
        OracleRules(**options)


# Calls and trumps


def test_caller_may_call_the_suits_of_the_deck() -> None:
    rules = OracleRules(suits=3, ranks=3, hand=2, piles=1)
    for suit in range(3):
        round_ = OracleRound(rules, rules.deck)
        assert round_.legal() == [52, 53, 54]
        round_.play(FIRST_CALL + suit)
        assert (round_.phase, round_.trump, round_.turn) == ("play", suit, CALLER)


def test_first_lead_is_the_callers_or_by_option_the_dealers() -> None:
    deck = shuffled(OracleRules(), 3)
    for trump in ("call", "none"):
        for seat, name in enumerate(("caller", "dealer")):
            round_ = OracleRound(OracleRules(trump=trump, first_lead=name), deck)
            if trump == "call":
                assert round_.turn == CALLER
                round_.play(FIRST_CALL)
            assert round_.turn == seat


def test_trump_without_a_call() -> None:
    deck = shuffled(OracleRules(), 4)
    for rules, drawn, suit, letter in [
        (OracleRules(trump="H"), None, 1, "H"),
        (OracleRules(trump="random"), 2, 2, "D"),
        (OracleRules(trump="none"), None, None, "N"),
    ]:
        round_ = OracleRound(rules, deck, drawn)
        assert (round_.phase, round_.trump, round_.position().split(" ")[1]) == (
            "play",
            suit,
            letter,
        )
    for rules, wrong in [
        (OracleRules(trump="random"), None),
        (OracleRules(), 1),
        (OracleRules(trump="random"), 4),
    ]:
        with pytest.raises(ValueError, match="trump"):
            OracleRound(rules, deck, wrong)


# Tricks


@pytest.mark.parametrize(
    ("trump", "first", "second", "winner"),
    [
        ("S", "5H", "6H", DEALER),
        ("S", "AH", "2H", CALLER),
        ("S", "2H", "AD", CALLER),
        ("S", "AH", "2S", DEALER),
        ("S", "2S", "AH", CALLER),
        ("S", "3S", "2S", CALLER),
        ("S", "2S", "AS", DEALER),
        ("N", "2H", "AS", CALLER),
        ("N", "2H", "3H", DEALER),
    ],
)
def test_winner_of_a_trick(trump: str, first: str, second: str, winner: int) -> None:
    text = f"C {trump} - 0-0 ... {first} ... {second}"
    round_ = OracleRound.from_position(text, OracleRules(hand=1, piles=0), strict=False)
    round_.play(read_card(first))
    round_.play(read_card(second))
    assert (round_.tricks[winner], round_.turn, round_.phase) == (1, winner, "over")


def test_suit_must_be_followed_from_hand_or_table() -> None:
    round_ = OracleRound.from_position(
        "D S 5H 0-0 .43.. 2C,3C .6.7. 9H/2H,TS", OracleRules(), strict=False
    )
    assert round_.legal() == sorted(cards("6H 9H"))
    round_.play(read_card("9H"))
    assert round_.shown_void == [set(), set()]


def test_any_card_may_be_played_without_the_suit_led_which_shows_the_hand_void() -> None:
    # The 2H is covered, so it does not have to follow; only the hand is known to lack hearts.
    round_ = OracleRound.from_position(
        "D S 5H 0-0 .4.. 2C,3C ...76 TS/2H", OracleRules(), strict=False
    )
    assert round_.legal() == sorted(cards("7C 6C TS"))
    round_.play(read_card("TS"))
    assert round_.shown_void == [set(), {1}]
    assert round_.turn == DEALER
    assert round_.legal() == sorted(cards("7C 6C 2H"))


def test_played_face_up_card_uncovers_the_one_beneath_at_once() -> None:
    round_ = OracleRound.from_position(
        "C S - 0-0 2... AS/KD,3C ..5. 9D/4D,7C", OracleRules(), strict=False
    )
    round_.play(read_card("AS"))
    assert round_.position(DEALER) == "D S AS 0-0 ?1 KD,3C ..5. 9D/?,7C"
    round_.play(read_card("7C"))
    assert round_.piles == [cards_of_piles("KD", "3C"), cards_of_piles("9D 4D", "")]
    assert round_.history == [
        {
            "seat": 0,
            "action": read_card("AS"),
            "source": "table",
            "uncovered": read_card("KD"),
            "trick": 0,
        },
        {"seat": 1, "action": read_card("7C"), "source": "table", "uncovered": None, "trick": 0},
    ]
    round_.play(read_card("2S"))
    assert round_.history[-1] == {
        "seat": 0,
        "action": read_card("2S"),
        "source": "hand",
        "uncovered": None,
        "trick": 1,
    }


def test_illegal_action_never_changes_the_round() -> None:
    rules = OracleRules()
    rng = random.Random(5)
    round_ = OracleRound(rules, shuffled(rules, 5))
    while True:
        before = repr(vars(round_))
        illegal: list[Any] = [action for action in range(-1, 57) if action not in round_.legal()]
        illegal += [float(action) for action in round_.legal()] + [None, True]
        for action in illegal:
            with pytest.raises(ValueError, match="illegal action"):
                round_.play(action)
        assert repr(vars(round_)) == before
        if round_.phase == "over":
            return
        round_.play(rng.choice(round_.legal()))


@pytest.mark.parametrize("seed", range(20))
def test_round_plays_every_dealt_card_once(seed: int) -> None:
    rules = OracleRules(suits=1 + seed % 4, ranks=13, hand=1 + seed % 2, piles=seed % 3)
    round_ = OracleRound(rules, shuffled(rules, seed))
    play_out(round_, random.Random(seed))
    played = [event["action"] for event in round_.history if event["action"] < FIRST_CALL]
    assert len(round_.history) == 2 * rules.tricks + 1
    assert sum(round_.tricks) == rules.tricks
    assert sorted(played + round_.out) == rules.deck
    assert round_.legal() == []


def test_copy_is_independent() -> None:
    rules = OracleRules()
    round_ = OracleRound(rules, shuffled(rules, 6))
    for action in (FIRST_CALL, round_.playable(CALLER)[0]):
        round_.play(action)
        before = repr(vars(round_))
        play_out(round_.copy(), random.Random(6))
        assert repr(vars(round_)) == before


# Winners and rewards


@pytest.mark.parametrize(
    ("tie", "tricks", "winner", "caller_reward"),
    [
        ("dealer", [14, 12], "caller", 1.0),
        ("dealer", [12, 14], "dealer", -1.0),
        ("dealer", [13, 13], "dealer", -1.0),
        ("caller", [13, 13], "caller", 1.0),
        ("draw", [13, 13], "draw", 0.0),
        ("draw", [12, 14], "dealer", -1.0),
    ],
)
def test_winner_and_rewards_of_a_round(
    tie: str, tricks: list[int], winner: str, caller_reward: float
) -> None:
    for reward in ("win", "margin"):
        rules = OracleRules(tie=tie, reward=reward)
        text = f"C S - {tricks[0]}-{tricks[1]} ... - ... -"
        round_ = OracleRound.from_position(text, rules, strict=False)
        expected = caller_reward if reward == "win" else (tricks[0] - tricks[1]) / 26
        assert round_.winner() == winner
        assert (round_.reward(CALLER), round_.reward(DEALER)) == (expected, -expected)


def test_unfinished_round_has_no_winner_and_no_reward() -> None:
    round_ = OracleRound(OracleRules(), OracleRules().deck)
    with pytest.raises(ValueError, match="over"):
        round_.winner()
    with pytest.raises(ValueError, match="over"):
        round_.reward(CALLER)


# Two cards a round: the first to the caller, who leads it; the second to the dealer.
ONE_TRICK: dict[str, Any] = {"suits": 1, "ranks": 2, "hand": 1, "piles": 0, "trump": "none"}
CALLER_WINS = cards("AS KS")
DEALER_WINS = cards("KS AS")


def play_match(
    rules: OracleRules, decks: list[list[int]]
) -> tuple[OracleMatch, list[tuple[float, float]]]:
    """Plays a match of one trick a round; returns it and what each round's last step paid."""
    match = OracleMatch(rules, lambda number: decks[number - 1])
    paid = []
    while not match.over:
        number = match.number
        assert match.role(0) == (CALLER if number % 2 == 1 else DEALER)
        assert match.turn == (number - 1) % 2
        assert match.play(match.round.legal()[0]) == (0.0, 0.0)
        assert match.turn == number % 2
        paid.append(match.play(match.round.legal()[0]))
    return match, paid


def test_match_swaps_roles_and_pays_the_match_alone() -> None:
    match, paid = play_match(
        OracleRules(**ONE_TRICK, rounds_to_win=2),
        [CALLER_WINS, CALLER_WINS, DEALER_WINS, DEALER_WINS],
    )
    # player_0 wins as the caller, player_1 as the caller, then player_1 as the dealer.
    assert (match.wins, match.number) == ([1, 2], 3)
    assert paid == [(0.0, 0.0), (0.0, 0.0), (-1.0, 1.0)]
    with pytest.raises(ValueError, match="illegal action"):
        match.play(FIRST_CALL)


@pytest.mark.parametrize("options", [{"match_reward": "round"}, {"reward": "margin"}], ids=str)
def test_match_may_pay_every_round(options: dict[str, Any]) -> None:
    rules = OracleRules(**ONE_TRICK, rounds_to_win=2, **options)
    assert play_match(rules, [CALLER_WINS, CALLER_WINS, DEALER_WINS])[1] == [
        (1.0, -1.0),
        (-1.0, 1.0),
        (-1.0, 1.0),
    ]


def test_match_of_one_win_is_one_round() -> None:
    assert play_match(OracleRules(**ONE_TRICK), [DEALER_WINS])[1] == [(-1.0, 1.0)]


@pytest.mark.parametrize("rounds_to_win", [1, 2, 3])
def test_drawn_round_counts_for_nobody_and_ends_only_a_single_round(rounds_to_win: int) -> None:
    rules = OracleRules(
        suits=1,
        ranks=4,
        hand=2,
        piles=0,
        trump="none",
        tie="draw",
        rounds_to_win=rounds_to_win,
        match_reward="round",
    )
    match = OracleMatch(rules, lambda number: cards("AS KS JS QS"))
    paid = [match.play(read_card(card)) for card in ("AS", "QS", "JS", "KS")]
    assert paid == [(0.0, 0.0)] * 4
    assert match.wins == [0, 0]
    if rounds_to_win == 1:
        assert (match.number, match.over, match.round.winner()) == (1, True, "draw")
    else:
        assert (match.number, match.over) == (2, False)
        assert (match.role(0), match.turn) == (DEALER, 1)


def test_match_draws_trump_for_each_round() -> None:
    rules = OracleRules(suits=2, ranks=2, hand=1, piles=0, trump="random", rounds_to_win=3)
    match = OracleMatch(rules, lambda number: shuffled(rules, number), lambda number: number % 2)
    while not match.over:
        assert match.round.trump == match.number % 2
        match.play(match.round.legal()[0])


# The text of positions


def test_position_as_each_seat_sees_it() -> None:
    whole = "C - - 0-0 .J..+.A.. AS/QH,QS/JS .K.J. KS/KD,QD/AD"
    rules = OracleRules(suits=3, ranks=4, hand=2, piles=2)
    round_ = OracleRound.from_position(whole, rules)
    assert round_.position(CALLER) == "C - - 0-0 .J..+?1 ?/?,?/? ?2 ?/?,?/?"
    assert round_.position(DEALER) == "C - - 0-0 ?1+?1 ?/?,?/? ?2 ?/?,?/?"
    round_.play(read_action("trump H"))
    assert round_.position() == "C H - 0-0 .AJ.. AS/QH,QS/JS .K.J. KS/KD,QD/AD"
    assert round_.position(CALLER) == "C H - 0-0 .AJ.. AS/?,QS/? ?2 KS/?,QD/?"
    assert round_.position(DEALER) == "C H - 0-0 ?2 AS/?,QS/? .K.J. KS/?,QD/?"
    round_.play(read_card("QS"))
    assert round_.position(CALLER) == "D H QS 0-0 .AJ.. AS/?,JS ?2 KS/?,QD/?"
    round_.play(read_card("KS"))
    round_.play(read_card("QD"))
    assert round_.position(DEALER) == "C H QD 0-1 ?2 AS/?,JS .K.J. KD,AD"
    play_out(round_, random.Random(0))
    assert round_.position(DEALER).split(" ")[4:] == ["?0", "-", "...", "-"]


def test_seat_sees_no_more_with_other_cards_where_it_cannot_look() -> None:
    rules = OracleRules(suits=2, ranks=4, hand=2, piles=1)
    round_ = OracleRound(rules, shuffled(rules, 7))
    other = OracleRound(
        rules, round_.seen + [card for card in rules.deck if card not in round_.seen]
    )
    assert other.position() != round_.position()
    assert other.position(CALLER) == round_.position(CALLER)
    assert other.position(DEALER) == round_.position(DEALER)


@pytest.mark.parametrize(
    ("text", "offending"),
    [
        ("", "''"),
        ("C S - 0-0 A... - .A..", "7 fields"),
        ("C S - 0-0 A... - .A.. - -", "9 fields"),
        ("C S  - 0-0 A... - .A.. -", "9 fields"),
        ("X S - 0-0 A... - .A.. -", "'X'"),
        ("c S - 0-0 A... - .A.. -", "'c'"),
        ("C X - 0-0 A... - .A.. -", "'X'"),
        ("C SH - 0-0 A... - .A.. -", "'SH'"),
        ("C S - 0:0 A... - .A.. -", "'0:0'"),
        ("C S - 01-0 A... - .A.. -", "'01-0'"),
        ("C S 1S 0-0 ... - A... -", "'1S'"),
        ("C S 10S 0-0 ... - A... -", "'10S'"),
        ("C S - 0-0 X... - .A.. -", "'XS'"),
        ("C S - 0-0 a... - .A.. -", "'aS'"),
        ("C S - 0-0 A.. - .A.. -", "'A..'"),
        ("C S - 0-0 A.... - .A.. -", "'A....'"),
        ("C S - 0-0 QK... - .AK.. -", "'QK'"),
        ("C S - 0-0 AA... - .AK.. -", "'AS'"),
        ("C S - 0-0 A... - A... -", "'AS'"),
        ("C S - 0-0 A... KH .A.. KH", "'KH'"),
        ("C S - 0-0 A... KH/KD .AQ.. KD", "'KD'"),
        ("C S - 0-0 A... KH/AS .AQ.. KD", "'AS'"),
        ("C S - 0-0 ... AX ... AS", "'AX'"),
        ("C S - 0-0 ... AS/KS/QS ... AH,KH,QH", "'AS/KS/QS'"),
        ("C S - 0-0 ... AS, ... AH", "''"),
        ("C S - 0-0 ... AS/ ... AH", "''"),
        ("C S - 0-0 ...  ... AH", "''"),
        ("C S - 0-0 A... - .A.. -\n", r"'-\\n'"),
        ("C S - 0-0 A... - .AK.. -", "1 cards against 2"),
        ("C S 5H 0-0 A... - .A.. -", "'5H'"),
        ("C S AS 0-0 A... - ... -", "'AS'"),
        ("D S 5H 0-0 A... - .A.. -", "'5H'"),
        ("D S 5H 0-0 A... - ... -", "'5H'"),
        ("C - 5H 0-0 A...+... - ... -", "'5H'"),
        ("D - - 0-0 A...+... - .A.. -", "'D'"),
        ("C - - 0-0 A... - .A.. -", "'A...'"),
        ("C S - 0-0 A...+... - .A.. -", r"'A...\+...'"),
        ("C - - 0-0 A...+...+... - .A.. -", r"'A...\+...\+...'"),
        ("C S - 0-0 ... AS/KS .A.K. -+", r"'-\+'"),
        ("C S - 0-0 ?x - ?1 -", r"'\?x'"),
        ("C S - 0-0 ?01 - ?1 -", r"'\?01'"),
        ("C S - 0-0 ... ?/? ... ?/?", r"'\?/\?'"),
        ("C S - 0-0 ... ?/AS ... ?/AH", r"'\?/AS'"),
        ("C S - 0-0 ... ? ... ?", r"'\?'"),
        ("C S - 0-0 ... AS/?S ... AH/?", r"'\?S'"),
    ],
)
def test_bad_position_is_refused_with_the_offending_text(text: str, offending: str) -> None:
    rules = OracleRules(hand=1, piles=0)
    for read in (read_position, lambda text: OracleRound.from_position(text, rules, strict=False)):
        with pytest.raises(ValueError, match=offending):
            read(text)


@pytest.mark.parametrize(
    ("options", "text", "offending"),
    [
        ({}, "C S - 0-0 ?2 AS/? .AJ.. KH/?", r"\?"),
        ({}, "C S - 0-0 A... KS/? .AJ.. KH/?", r"\?"),
        ({}, "C S - 0-0 AT... KS/JS .AJ.. KH/QH", "TS"),
        ({}, "C S - 0-0 AQ... KS/JS .AJ.K. QH", "KD"),
        ({}, "C S - 2-2 ... - ... -", "finished"),
        ({}, "C S - 0-0 A... - .A.. -", "0-0"),
        ({}, "C S - 2-2 A... - .A.. -", "2-2"),
        ({}, "D S - 0-0 AQ... KS/JS .AJ.. KH/QH", "'D'"),
        ({}, "C S AH 0-0 AQ... KS/JS .J.. KH/QH", "'C'"),
        ({"first_lead": "dealer"}, "C S - 0-0 AQ... KS/JS .AJ.. KH/QH", "'C'"),
        ({}, "C S - 0-0 AQJ... KS .AJ.. KH/QH", "more than 2"),
        ({}, "C S - 0-0 AQ... KS,JS .AJ.. KH/QH", "more than"),
        ({}, "C N - 0-0 AQ... KS/JS .AJ.. KH/QH", "'N'"),
        ({}, "C C - 0-0 AQ... KS/JS .AJ.. KH/QH", "'C'"),
        ({"trump": "H"}, "C S - 0-0 AQ... KS/JS .AJ.. KH/QH", "'S'"),
        ({"trump": "none"}, "C S - 0-0 AQ... KS/JS .AJ.. KH/QH", "'S'"),
        ({"trump": "random"}, "C - - 0-0 A...+Q... KS/JS .AJ.. KH/QH", "'-'"),
        ({}, "C - - 0-0 AQ...+... KS/JS .AJ.. KH/QH", "1 cards are seen"),
        ({"call_cards": 0}, "C - - 0-0 A...+Q... KS/JS .AJ.. KH/QH", "0 cards are seen"),
        ({}, "C - - 1-0 A...+Q... KS .AJ.. KH", "before the call"),
    ],
)
def test_position_that_does_not_fit_the_rules_is_refused(
    options: dict[str, Any], text: str, offending: str
) -> None:
    rules = OracleRules(suits=2, ranks=4, hand=2, piles=1, **options)
    with pytest.raises(ValueError, match=offending):
        OracleRound.from_position(text, rules)


@pytest.mark.parametrize("seed", range(10))
def test_round_from_any_of_its_positions_goes_on_alike(seed: int) -> None:
    rng = random.Random(seed)
    rules = OracleRules(
        suits=3,
        ranks=5,
        hand=3,
        piles=2,
        trump=("call", "none", "D")[seed % 3],
        first_lead=("caller", "dealer")[seed % 2],
    )
    round_ = OracleRound(rules, shuffled(rules, seed))
    while round_.phase != "over":
        again = OracleRound.from_position(round_.position(), rules)
        ours = round_.copy()
        while ours.phase != "over":
            assert (again.position(), again.legal()) == (ours.position(), ours.legal())
            action = rng.choice(ours.legal())
            ours.play(action)
            again.play(action)
        assert (again.phase, again.tricks, again.position()) == (
            "over",
            ours.tricks,
            ours.position(),
        )
        round_.play(rng.choice(round_.legal()))


# What a seat can't see


def completion(round_: OracleRound, seat: int) -> Completion:
    """Returns what a seat has not seen of a round, in the shape of `consistent_deals`."""
    out = frozenset(round_.out)
    if round_.phase == "call":
        caller_piles, dealer_piles = (
            tuple((top, under) for top, under in piles) for piles in round_.piles
        )
        seen = frozenset(round_.seen)
        to_come = frozenset(round_.hands[CALLER] - seen)
        return seen, to_come, caller_piles, frozenset(round_.hands[DEALER]), dealer_piles, out
    unders = tuple(
        tuple(pile[1] if len(pile) == 2 else None for pile in piles) for piles in round_.piles
    )
    return frozenset(round_.hands[1 - seat]), unders, out


def agrees(candidate: OracleRound, round_: OracleRound, seat: int) -> bool:
    """Whether a seat can't tell a round from another that it has not told apart so far."""
    return candidate.position(seat) == round_.position(seat)


@pytest.mark.parametrize("seat", [CALLER, DEALER])
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(
    "options",
    [
        {"hand": 1, "piles": 1},
        {"hand": 3, "piles": 0},
        {"hand": 2, "piles": 0, "call_cards": 2},
        {"hand": 0, "piles": 1, "first_lead": "dealer"},
        {"hand": 2, "piles": 0, "trump": "none"},
        {"hand": 1, "piles": 1, "trump": "H"},
    ],
    ids=str,
)
def test_consistent_deals_are_those_that_every_order_of_the_deck_gives(
    options: dict[str, Any], seed: int, seat: int
) -> None:
    rng = random.Random(seed)
    rules = OracleRules(suits=2, ranks=3, **options)
    round_ = OracleRound(rules, shuffled(rules, seed))
    candidates = [OracleRound(rules, deck) for deck in itertools.permutations(rules.deck)]
    while True:
        candidates = [candidate for candidate in candidates if agrees(candidate, round_, seat)]
        expected = Counter(completion(candidate, seat) for candidate in candidates)
        found = list(consistent_deals(round_, seat))
        assert len(found) == len(set(found))
        assert set(found) == set(expected)
        assert len(set(expected.values())) == 1, "all are equally likely"
        if round_.phase == "over":
            return
        action = rng.choice(round_.legal())
        candidates = [candidate for candidate in candidates if action in candidate.legal()]
        for each in [round_, *candidates]:
            each.play(action)


def test_consistent_deals_respect_shown_voids() -> None:
    rules = OracleRules(suits=3, ranks=4, hand=2, piles=2, trump="none")
    narrowed = 0
    for seed in range(40):
        round_ = OracleRound(rules, shuffled(rules, seed))
        rng = random.Random(seed)
        for _ in range(6):
            round_.play(rng.choice(round_.legal()))
        found = set(consistent_deals(round_, CALLER))
        assert completion(round_, CALLER) in found
        forgetful = round_.copy()
        forgetful.shown_void = [set(), set()]
        everything = set(consistent_deals(forgetful, CALLER))
        void = round_.shown_void[DEALER]
        assert found == {
            each for each in everything if not any(card // 13 in void for card in each[0])
        }
        narrowed += found != everything
    assert narrowed > 0


def test_absent_cards_of_a_position_count_as_seen() -> None:
    rules = OracleRules(suits=2, ranks=4, hand=1, piles=1)
    text = "C S - 0-0 A... KS/QS .A.. KH/QH"
    unseen = set(cards("AH QS QH"))
    found = list(consistent_deals(OracleRound.from_position(text, rules), CALLER))
    assert len(found) == 6
    assert all(
        set(hand) | {under for piles in unders for under in piles} == unseen
        for hand, unders, out in found
    )
    assert all(out == frozenset() for hand, unders, out in found)


# Counts of sequences of actions


def test_perft_of_a_round_counted_by_hand() -> None:
    # The caller: KS in hand, AS on QS. The dealer: KH in hand, AH on QH. Nobody can ever follow, so
    # whoever holds trumps takes all. Each has 2 cards to choose from in the first trick; in the
    # second 2 after the ace, which uncovers the queen, and 1 after the king; in the third 1.
    # Two calls, 2 x 2 first tricks, then (2 + 1) choices a player in all.
    rules = OracleRules(suits=2, ranks=3, hand=1, piles=1)
    deck = cards("KS KH QS QH AS AH")
    assert [perft(rules, deck, depth) for depth in range(9)] == [
        1,
        2,
        2 * 2,
        2 * 2 * 2,
        2 * 2 * 3,
        2 * 3 * 3,
        2 * 3 * 3,
        2 * 3 * 3,
        0,
    ]


def test_perft_starts_with_the_calls_and_all_leads() -> None:
    deck = shuffled(OracleRules(), 0)
    assert [perft(OracleRules(), deck, depth) for depth in (0, 1, 2)] == [1, 4, 4 * 18]
    assert perft(OracleRules(trump="random"), deck, 1, trump=3) == 18


@pytest.mark.parametrize(
    ("options", "seed", "counts"),
    [
        ({}, None, [4, 72, 420, 7300, 40840]),
        ({}, 0, [4, 72, 320, 5572, 24244]),
        ({"trump": "none"}, 0, [18, 80, 1393, 6061]),
        (
            {"suits": 2, "ranks": 4, "hand": 2, "piles": 1},
            0,
            [2, 6, 8, 18, 42, 73, 120, 120, 120, 0],
        ),
        (
            {"suits": 3, "ranks": 4, "hand": 2, "piles": 2},
            0,
            [3, 12, 15, 54, 66, 204, 258, 635, 798],
        ),
        (
            {"suits": 4, "ranks": 3, "hand": 4, "piles": 1},
            0,
            [4, 20, 52, 210, 554, 1817, 4430, 11482],
        ),
    ],
    ids=str,
)
def test_perft_is_as_recorded(options: dict[str, Any], seed: int | None, counts: list[int]) -> None:
    # Recorded from the oracle, to notice a change; the deck is in ascending order without a seed.
    rules = OracleRules(**options)
    deck = rules.deck if seed is None else shuffled(rules, seed)
    assert [perft(rules, deck, depth) for depth in range(1, len(counts) + 1)] == counts
