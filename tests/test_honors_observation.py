"""The observation of Honors: every slice decodes to what the oracle says, and stays in its row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from honors_oracle import OracleGame
from honors_play import OPTIONS, SideBySide, game_options, name_of
from hypothesis import given, settings
from hypothesis import strategies as st

from tricktable_env.honors import Honors, batch, observation
from tricktable_env.honors.observation import DRAW_CODE, HISTORY_LENGTH
from tricktable_env.honors.state import WORDS


@pytest.mark.parametrize("players", range(2, 8))
def test_layout_covers_every_entry_once(players: int) -> None:
    game = Honors(num_players=players)
    for layout, size in (
        (game.layout, game.observation_size),
        (game.full_layout, game.full_size),
    ):
        at = 0
        for part in layout:
            assert (part.start, part.size > 0, bool(part.meaning)) == (at, True, True)
            at += part.size
        assert at == size
        assert len({part.name for part in layout}) == len(layout)
    assert game.full_layout[: len(game.layout)] == game.layout
    last = game.layout[-1]
    assert (last.name, last.size) == ("legal", game.num_actions)
    assert game.mask_slice == slice(last.start, last.start + last.size)
    assert len(game.observation_high) == game.observation_size


def suits(numbers: set[int]) -> set[str]:
    return {"SHDC"[suit] for suit in numbers}


def drawn_since(game: OracleGame, seat: int, suit: int) -> int | None:
    """Cards that a seat has drawn since it last failed to follow a suit; None where it has not.

    After a new deal what it failed to follow before says nothing.
    """
    dealt = 0
    if game.rules.stock == "redeal":
        for at, (kind, _, _) in enumerate(game.log):
            dealt = at + 1 if kind == "draw" else dealt
    shown = [at for who, what, at in game.shown if (who, what) == (seat, suit) and at >= dealt]
    if not shown:
        return None
    return sum(kind == "draw" and who == seat for kind, who, _ in game.log[shown[-1] :])


def what_a_seat_sees(game: OracleGame, seat: int) -> dict[str, Any]:
    """Returns planes as sets of cards, flags as sets of suits and numbers, from the oracle."""
    rules, n = game.rules, game.rules.num_players
    order = [(seat + i) % n for i in range(n)]
    plays = {who: {v for k, w, v in game.log if k == "play" and w == who} for who in range(n)}
    for i, card in enumerate(game.start.trick):
        plays[(game.start.leader + i) % n].add(card)
    gone = game.gone.union(*plays.values())
    honors = {13 * game.trump + rank for rank in (12, 10, 9)}
    turned = {game.turned} - {None} - gone
    trick = {(game.leader + i) % n: {card} for i, card in enumerate(game.trick)}
    trumps = [c for c in game.trick if c // 13 == game.trump]
    best = trumps or [c for c in game.trick if c // 13 == game.trick[0] // 13]
    deal_left = game.deal_tricks() - sum(game.tricks)
    left = deal_left
    if rules.stock == "redeal":
        left += len(game.stock) // n
    hidden = set(game.stock).union(*game.hands) - game.hands[seat] - turned
    seen: dict[str, Any] = {
        "hand": game.hands[seat],
        "unseen": hidden,
        "turned": turned,
        "honor": honors - gone,
        "led": set(game.trick[:1]),
        "best": {max(best)} if best else set(),
        "trump": suits({game.trump}),
        "led_suit": suits({card // 13 for card in game.trick[:1]}),
        "to_act": int(not game.over and game.turn == seat),
        "announcing": int(game.announcing),
        "leading": int(not game.over and not game.announcing and not game.trick),
        "in_trick": len(game.trick),
        "seat": seat,
        "leader": (game.leader - seat) % n,
        "deal_left": deal_left,
        "tricks_left": left,
        "stock": len(game.stock),
        "turned_in_stock": int(game.turned in game.stock),
        "legal": game.legal() if game.turn == seat else [],
    }
    for i, who in enumerate(order):
        name = f"_{i}" if i else ""
        seen[f"played{name}"] = plays[who]
        seen[f"trick{name}"] = trick.get(who, set())
        seen[f"tricks{name}"] = game.tricks[who]
        seen[f"honors{name}"] = game.honors[who]
        seen[f"points{name}"] = game.points[who] + 64
        said = game.announced[who]
        seen[f"announced{name}"] = 0 if said is None else said + 1
        seen[f"cards{name}"] = len(game.hands[who])
        seen[f"holds_turned{name}"] = int(game.turned in game.hands[who])
        if i:
            since = [drawn_since(game, who, suit) for suit in range(4)]
            for flag, most in (("void", 0), ("void_2", 2), ("void_5", 5)):
                lacks = {s for s in range(4) if (d := since[s]) is not None and d <= most}
                seen[flag + name] = suits(lacks)
    return seen


def as_sets(found: dict[str, Any], expected: dict[str, Any]) -> dict[str, Any]:
    """Makes sets of what the decoder gives for planes and flags."""
    made = {}
    for name, value in found.items():
        if isinstance(value, str):
            made[name] = set(value)
        elif isinstance(expected[name], set):
            made[name] = {card for card in range(52) if value >> card & 1}
        else:
            made[name] = value
    return made


def assert_observed(table: SideBySide) -> None:
    """Compares what each seat is given in every row with what the oracle says it sees."""
    game, states, rows = table.game, table.states, table.rows
    for seat in table.seats:
        players = np.full(len(rows), seat)
        observed, masks = game.observe(states, rows, players)
        views = game.views(states, rows, players)
        encoded, encoded_masks = game.encode(views)
        assert (observed == encoded).all()
        assert (masks == encoded_masks).all()
        assert (masks == game.masks(views)).all()
        assert (masks == observed[:, game.mask_slice]).all()
        assert (observed <= game.observation_high).all()
        for row, oracle in enumerate(table.games):
            expected = what_a_seat_sees(oracle, seat)
            found = observation.decode(observed[row], game.num_players)
            assert as_sets(found, expected) == expected


@settings(max_examples=20)
@given(options=game_options(), seed=st.integers(0, 2**32))
def test_every_slice_decodes_to_what_the_oracle_says(options: dict[str, Any], seed: int) -> None:
    table = SideBySide(options, seed=seed)
    assert_observed(table)
    while table.live:
        table.step_at_random()
        assert_observed(table)


@settings(max_examples=8)
@given(options=game_options(), seed=st.integers(0, 2**32), plies=st.integers(0, 40))
def test_observation_of_a_game_from_a_position_counts_absent_cards_as_seen(
    options: dict[str, Any], seed: int, plies: int
) -> None:
    first = SideBySide(options, seed=seed)
    first.play_to(plies)
    if first.live:
        table = SideBySide.from_positions([first.games[0].position()], options, seed)
        while table.live:
            assert_observed(table)
            table.step_at_random()


# -- the history -----------------------------------------------------------------------------
def what_a_seat_saw_happen(game: OracleGame, seat: int) -> list[tuple[int, int]]:
    codes = []
    for kind, who, value in game.log:
        on = (who - seat) % game.rules.num_players
        if kind == "play":
            codes.append((value + 1, on))
        elif kind == "announce":
            codes.append((value + 53, on))
        elif who == seat or value == game.turned:
            codes.append((value + DRAW_CODE, on))
    return codes


@pytest.mark.parametrize("options", OPTIONS, ids=name_of)
def test_history_decodes_to_all_that_the_seat_saw_in_order(options: dict[str, Any]) -> None:
    table = SideBySide(options, games=2, seed=9)
    while True:
        for seat in table.seats:
            histories = table.game.histories(table.states, table.rows, np.full(2, seat))
            assert histories.shape == (2, table.game.history_size)
            for codes, oracle in zip(histories, table.games, strict=True):
                assert observation.decode_history(codes) == what_a_seat_saw_happen(oracle, seat)
        if not table.live:
            return
        table.step_at_random()


def test_history_has_room_for_the_longest_game_and_no_more() -> None:
    lengths = []
    for seed in range(12):
        table = SideBySide({"hand": 1, "stock": "redeal", "announce": True}, seed=seed)
        table.play_to(200)
        lengths += [len(what_a_seat_saw_happen(table.games[0], seat)) for seat in (0, 1)]
    assert max(lengths) == HISTORY_LENGTH


# -- the full-information tensor -------------------------------------------------------------
@pytest.mark.parametrize("options", OPTIONS, ids=name_of)
def test_full_information_shows_every_hidden_card(options: dict[str, Any]) -> None:
    table = SideBySide(options, games=1, seed=6)
    game, n = table.game, table.game.num_players
    while True:
        oracle = table.games[0]
        for seat in table.seats:
            players = np.array([seat])
            full = game.observe_full(table.states, table.rows, players)
            observed, _ = game.observe(table.states, table.rows, players)
            assert (full[:, : game.observation_size] == observed).all()
            found: dict[str, set[int]] = {}
            for part in game.full_layout[len(game.layout) : -1]:
                letter, _, name = part.name.partition(".full.")
                entries = np.flatnonzero(full[0, part.start : part.start + part.size])
                cards = {13 * "SHDC".index(letter) + int(rank) for rank in entries}
                found[name] = found.get(name, set()) | cards
            expected = {f"hand_{i}": oracle.hands[(seat + i) % n] for i in range(1, n)}
            assert found == {**expected, "stock": set(oracle.stock)}
            places = {card: i + 1 for i, card in enumerate(oracle.stock)}
            assert full[0, -52:].tolist() == [places.get(card, 0) for card in range(52)]
        if not table.live:
            return
        table.step_at_random()


# -- rows ------------------------------------------------------------------------------------
@pytest.mark.parametrize("players", [2, 5])
def test_kernels_write_their_whole_row_and_nothing_beside_it(players: int) -> None:
    game, middle, seat = Honors(num_players=players), np.array([2]), np.ones(1, np.int64)
    table = SideBySide({"num_players": players, "announce": True}, games=5, seed=1)
    writers: list[tuple[int, Callable[[np.ndarray, np.ndarray], None]]] = [
        (
            game.observation_size,
            lambda out, masks: batch.encode_rows(table.views(1)[2:3], out, masks),
        ),
        (
            game.observation_size,
            lambda out, masks: batch.observe_rows(table.states, middle, seat, out, masks),
        ),
        (
            game.full_size,
            lambda out, masks: batch.full_rows(table.states, middle, seat, out, masks),
        ),
        (
            game.history_size,
            lambda out, masks: batch.history_rows(table.states, middle, seat, out),
        ),
        (
            8 * WORDS,
            lambda out, masks: batch.view_rows(table.states, middle, seat, out.view(np.uint64)),
        ),
    ]
    while table.live:
        table.step_at_random()
        before = table.states.copy()
        for width, write in writers:
            written = []
            for filling in (0xA5, 0x5A):
                out = np.full((3, width), filling, np.uint8)
                masks = np.full((3, 79), filling, np.uint8)
                write(out[1:2], masks[1:2].view(np.int8))
                assert (out[[0, 2]] == filling).all()
                assert (masks[[0, 2]] == filling).all()
                written.append(out[1])
            assert (written[0] == written[1]).all()
        assert (table.states == before).all()


@pytest.mark.parametrize("verb", ["views", "observe", "histories", "observe_full"])
def test_a_view_of_nobody_is_refused(verb: str) -> None:
    table = SideBySide({"num_players": 3})
    for player in (-1, 3):
        with pytest.raises(ValueError, match="players are 0 to 2"):
            getattr(table.game, verb)(table.states, np.zeros(1, np.int64), np.array([player]))
