"""The observation: every slice of it decodes to what the oracle says, and it stays in its row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import OracleRound
from oracle_texts import CALLER
from sidebyside import ROUND_OPTIONS, SideBySide, round_options

from tricktable_env.game import Slice
from tricktable_env.tableau import Tableau, batch, observation
from tricktable_env.tableau.state import BARE, HISTORY, WORDS

GAME = Tableau()
PLANES = {"hand", "up", "up_other", "cover", "cover_other", "played", "played_other"}
PLANES |= {"led", "unseen", "call_hand"}
FLAGS = {"trump", "led_suit", "void", "void_other"}


# The layout


@pytest.mark.parametrize(
    ("layout", "size"),
    [(GAME.layout, GAME.observation_size), (GAME.full_layout, GAME.full_size)],
    ids=["observation", "full"],
)
def test_layout_covers_every_entry_once(layout: tuple[Slice, ...], size: int) -> None:
    at = 0
    for part in layout:
        assert (part.start, part.size > 0, bool(part.meaning)) == (at, True, True)
        at += part.size
    assert at == size
    assert len({part.name for part in layout}) == len(layout)


def test_layout_names_the_mask_the_planes_the_flags_and_the_numbers() -> None:
    assert GAME.full_layout[: len(GAME.layout)] == GAME.layout
    last = GAME.layout[-1]
    assert (last.name, last.size) == ("legal", GAME.num_actions)
    assert GAME.mask_slice == slice(last.start, last.start + last.size)
    suited = [part for part in GAME.layout if "." in part.name]
    assert [part.name for part in suited[:14]] == [f"S.{name}" for name in observation.PLANES] + [
        f"S.{name}" for name in observation.FLAGS
    ]
    assert set(observation.PLANES) == PLANES
    assert set(observation.FLAGS) == FLAGS
    assert len(suited) == 4 * 14
    assert len(GAME.observation_high) == GAME.observation_size
    for part in GAME.layout:
        assert (GAME.observation_high[part.start : part.start + part.size] == part.high).all()


# What it says


def suits(cards: set[int]) -> set[str]:
    """Returns the letters of some suits."""
    return {"SHDC"[suit] for suit in cards}


def what_a_seat_sees(round_: OracleRound, seat: int) -> dict[str, Any]:
    """Returns planes as sets of cards, flags as sets of suits and numbers, from the oracle."""
    rules, other = round_.rules, 1 - seat
    calling, over = round_.phase == "call", round_.phase == "over"
    hands = [
        set(round_.seen) if calling else round_.hands[0],
        set() if calling else round_.hands[1],
    ]
    piles = [[] if calling else [pile for pile in side if pile] for side in round_.piles]
    up = [{pile[0] for pile in side} for side in piles]
    cover = [{pile[0] for pile in side if len(pile) == 2} for side in piles]
    plays = [event for event in round_.history if event["source"]]
    played = [{event["action"] for event in plays if event["seat"] == who} for who in (0, 1)]
    called = calling or any(event["action"] >= 52 for event in round_.history)
    if calling:
        unseen = set(rules.deck) - (hands[0] if seat == CALLER else set())
    else:
        unders = {pile[1] for side in piles for pile in side if len(pile) == 2}
        unseen = round_.hands[other] | unders | set(round_.out)
    tie = {"caller": 0, "dealer": 1}.get(rules.tie)
    needed = [(rules.tricks + (0 if tie == who else 1) + 1) // 2 for who in (0, 1)]
    if rules.tricks % 2:
        needed = [(rules.tricks + 1) // 2] * 2
    return {
        "hand": hands[seat],
        "up": up[seat],
        "up_other": up[other],
        "cover": cover[seat],
        "cover_other": cover[other],
        "played": played[seat],
        "played_other": played[other],
        "led": set() if round_.lead is None else {round_.lead},
        "unseen": unseen,
        "call_hand": set(round_.seen) if seat == CALLER and called else set(),
        "trump": suits(set() if round_.trump is None else {round_.trump}),
        "led_suit": suits(set() if round_.lead is None else {round_.lead // 13}),
        "void": suits(round_.shown_void[seat]),
        "void_other": suits(round_.shown_void[other]),
        "caller": int(seat == CALLER),
        "to_act": int(not over and round_.turn == seat),
        "before_call": int(calling),
        "no_trump": int(not calling and round_.trump is None),
        "leading": int(not calling and round_.lead is None),
        "tricks": round_.tricks[seat],
        "tricks_other": round_.tricks[other],
        "tricks_left": rules.tricks - sum(round_.tricks),
        "tricks_needed": max(needed[seat] - round_.tricks[seat], 0),
        "tricks_needed_other": max(needed[other] - round_.tricks[other], 0),
        "hand_other": len(round_.hands[other]),
        "covered": len(cover[seat]),
        "covered_other": len(cover[other]),
        "unseen_count": len(unseen),
        "rounds": int(over and round_.winner() == ("caller", "dealer")[seat]),
        "rounds_other": int(over and round_.winner() == ("caller", "dealer")[other]),
        "rounds_to_win": 1,
        "legal": round_.legal() if round_.turn == seat else [],
    }


def read_by_layout(layout: tuple[Slice, ...], values: np.ndarray) -> dict[str, Any]:
    """Reads an array by the names and places of its layout alone."""
    found: dict[str, Any] = {}
    for part in layout:
        entries = values[part.start : part.start + part.size]
        assert (entries <= part.high).all()
        suit, dot, name = part.name.partition(".")
        if dot and part.size == 13:
            cards = {13 * "SHDC".index(suit) + int(rank) for rank in np.flatnonzero(entries)}
            found.setdefault(name, set()).update(cards)
        elif dot:
            found.setdefault(name, set()).update(suit if entries[0] else "")
        elif part.size > 1:
            found[part.name] = np.flatnonzero(entries).tolist()
        else:
            found[part.name] = int(entries[0])
    return found


def assert_observed(table: SideBySide) -> None:
    """Compares what each seat is given in every row with what the oracle says it sees."""
    game, states, rows = table.game, table.states, table.rows
    for seat in (0, 1):
        players = np.full(len(rows), seat)
        observed, masks = game.observe(states, rows, players)
        views = game.views(states, rows, players)
        encoded, encoded_masks = game.encode(views)
        assert (observed == encoded).all()
        assert (masks == encoded_masks).all()
        assert (masks == game.masks(views)).all()
        assert (masks == observed[:, game.mask_slice]).all()
        assert (observed <= game.observation_high).all()
        for row, round_ in enumerate(table.rounds):
            expected = what_a_seat_sees(round_, seat)
            assert read_by_layout(game.layout, observed[row]) == expected
            assert decoded(observed[row]) == expected
            assert np.flatnonzero(masks[row]).tolist() == expected["legal"]


def decoded(observed: np.ndarray) -> dict[str, Any]:
    """Returns what the package's own decoder reads, planes and flags as sets."""
    found = observation.decode(observed)
    for name in PLANES:
        found[name] = {card for card in range(52) if found[name] >> card & 1}
    for name in FLAGS:
        found[name] = set(found[name])
    return found


@settings(max_examples=30)
@given(options=round_options(), seed=st.integers(0, 2**32))
def test_every_slice_decodes_to_what_the_oracle_says(options: dict[str, Any], seed: int) -> None:
    table = SideBySide(options, rounds=2, seed=seed)
    assert_observed(table)
    while table.live:
        table.step_at_random()
        assert_observed(table)


@settings(max_examples=10)
@given(options=round_options(), seed=st.integers(0, 2**32), plies=st.integers(0, 53))
def test_observation_of_a_game_from_a_position_counts_absent_cards_as_seen(
    options: dict[str, Any], seed: int, plies: int
) -> None:
    first = SideBySide(options, seed=seed)
    first.play_to(plies)
    if not first.live:
        return
    table = SideBySide.from_positions([first.rounds[0].position()], options, seed)
    while table.live:
        for seat in (0, 1):
            observed, _ = table.game.observe(table.states, table.rows, np.array([seat]))
            expected = what_a_seat_sees(table.rounds[0], seat)
            if table.rounds[0].phase == "call":
                named = table.rounds[0].hands[0] | table.rounds[0].hands[1]
                named |= {card for side in table.rounds[0].piles for pile in side for card in pile}
                expected["unseen"] &= named
                expected["unseen_count"] = len(expected["unseen"])
            assert read_by_layout(table.game.layout, observed[0]) == expected
        table.step_at_random()


# The history


def what_happened(round_: OracleRound) -> list[tuple[int, int]]:
    """Returns each action and what it showed, as the history has them, from the oracle."""
    events = []
    for event in round_.history:
        shown = 0 if event["source"] != "table" else 53
        if event["uncovered"] is not None:
            shown = event["uncovered"] + 1
        events.append((event["action"], shown))
    return events


@pytest.mark.parametrize("options", ROUND_OPTIONS, ids=str)
def test_history_decodes_to_all_that_happened_in_order(options: dict[str, Any]) -> None:
    assert BARE == 53
    table = SideBySide(options, rounds=3, seed=9)
    while True:
        for seat in (0, 1):
            players = np.full(len(table.rows), seat)
            histories = table.game.histories(table.states, table.rows, players)
            assert histories.shape == (3, table.game.history_size)
            for codes, round_ in zip(histories, table.rounds, strict=True):
                events = what_happened(round_)
                assert observation.decode_history(codes) == events
                flat = [code for action, shown in events for code in (action + 1, shown)]
                assert codes.tolist() == flat + [0] * (len(codes) - len(flat))
        if not table.live:
            return
        table.step_at_random()


def test_history_has_room_for_the_longest_round_and_no_more() -> None:
    table = SideBySide({}, seed=4)
    table.play_to(100)
    codes = table.game.histories(table.states, table.rows, np.zeros(1, np.int64))[0]
    assert len(table.rounds[0].history) == 53
    assert len(codes) == 2 * 53
    assert codes[-2] > 0
    assert 4 * (WORDS - HISTORY) >= 53


# The full-information tensor


@pytest.mark.parametrize("options", ROUND_OPTIONS, ids=str)
def test_full_information_shows_every_hidden_card(options: dict[str, Any]) -> None:
    table = SideBySide(options, rounds=3, seed=6)
    game = table.game
    while True:
        for seat in (0, 1):
            players = np.full(len(table.rows), seat)
            full = game.observe_full(table.states, table.rows, players)
            observed, _ = game.observe(table.states, table.rows, players)
            assert (full[:, : game.observation_size] == observed).all()
            for row, round_ in enumerate(table.rounds):
                found = read_by_layout(game.full_layout, full[row])
                for side, whose in (("", seat), ("_other", 1 - seat)):
                    piles = [pile for pile in round_.piles[whose] if pile]
                    assert found[f"full.hand{side}"] == round_.hands[whose]
                    assert found[f"full.up{side}"] == {pile[0] for pile in piles}
                    unders = {pile[1] for pile in piles if len(pile) == 2}
                    assert found[f"full.covered{side}"] == unders
                beneath = np.zeros(52, np.uint8)
                for pile in round_.piles[0] + round_.piles[1]:
                    if len(pile) == 2:
                        beneath[pile[0]] = pile[1] + 1
                assert full[row, -52:].tolist() == beneath.tolist()
        if not table.live:
            return
        table.step_at_random()


# Rows


MIDDLE, SEAT = np.array([2]), np.zeros(1, np.int64)
Writer: TypeAlias = Callable[[SideBySide, np.ndarray, np.ndarray], None]
WRITERS: dict[str, tuple[int, bool, Writer]] = {
    "encode": (
        GAME.observation_size,
        True,
        lambda table, out, masks: batch.encode_rows(table.views(0)[2:3], out, masks),
    ),
    "observe": (
        GAME.observation_size,
        True,
        lambda table, out, masks: batch.observe_rows(table.states, MIDDLE, SEAT, out, masks),
    ),
    "full": (
        GAME.full_size,
        True,
        lambda table, out, masks: batch.full_rows(table.states, MIDDLE, SEAT, out, masks),
    ),
    "masks": (
        56,
        False,
        lambda table, out, masks: batch.mask_rows(table.views(0)[2:3], out.view(np.int8)),
    ),
    "history": (
        GAME.history_size,
        False,
        lambda table, out, masks: batch.history_rows(
            table.states, MIDDLE, np.zeros_like(MIDDLE), out
        ),
    ),
    "views": (
        8 * WORDS,
        False,
        lambda table, out, masks: batch.view_rows(table.states, MIDDLE, SEAT, out.view(np.uint64)),
    ),
}
"""Length of a row in bytes, whether a mask is written too, and the call that writes the row."""


@pytest.mark.parametrize("name", WRITERS)
def test_kernel_writes_its_whole_row_and_nothing_beside_it(name: str) -> None:
    width, has_mask, write = WRITERS[name]
    table = SideBySide({}, rounds=5, seed=1)
    while table.live:
        table.step_at_random()
        before = table.states.copy()
        written = []
        for filling in (0xA5, 0x5A):  # two, so that a byte left out shows as well as one too many
            out = np.full((3, width), filling, np.uint8)
            masks = np.full((3, 56), filling, np.uint8)
            write(table, out[1:2], masks[1:2].view(np.int8))
            assert (out[[0, 2]] == filling).all()
            assert (masks[[0, 2]] == filling).all()
            assert has_mask or (masks == filling).all()
            written.append(np.concatenate([out[1], masks[1] if has_mask else []]))
        assert (written[0] == written[1]).all()
        assert (table.states == before).all()


def test_arrays_are_fresh_at_every_call() -> None:
    table = SideBySide({}, rounds=2, seed=1)
    game, states, rows, players = table.game, table.states, table.rows, np.zeros(2, np.int64)
    calls: list[Callable[[], np.ndarray]] = [
        lambda: game.views(states, rows, players),
        lambda: game.masks(game.views(states, rows, players)),
        lambda: game.observe(states, rows, players)[0],
        lambda: game.observe(states, rows, players)[1],
        lambda: game.encode(game.views(states, rows, players))[0],
        lambda: game.histories(states, rows, players),
        lambda: game.observe_full(states, rows, players),
        lambda: game.players(states, rows),
    ]
    for call in calls:
        first, second = call(), call()
        assert not np.shares_memory(first, second)
        assert not np.shares_memory(first, states)
        assert (first == second).all()


def test_results_stand_in_the_order_of_the_rows_asked_for() -> None:
    table = SideBySide({}, rounds=4, seed=2)
    table.play_to(7)
    rows, players = np.array([3, 0, 3, 1]), np.array([0, 1, 1, 0])
    observed, masks = table.game.observe(table.states, rows, players)
    for i, (row, player) in enumerate(zip(rows, players, strict=True)):
        alone, mask = table.game.observe(table.states, np.array([row]), np.array([player]))
        assert (observed[i] == alone[0]).all()
        assert (masks[i] == mask[0]).all()
    assert table.game.players(table.states, rows).tolist() == [
        table.rounds[row].turn for row in rows
    ]
