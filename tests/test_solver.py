"""The solver against plain minimax, stored positions and theorems."""

from __future__ import annotations

import itertools
import json
import pickle
from collections.abc import Iterator
from pathlib import Path

import numba
import numpy as np
import pytest
from plain_minimax import plain_values, small_positions

from tricktable_env.cards import SUITS, Words, hand_text
from tricktable_env.game import Action, PositionError
from tricktable_env.tableau import Tableau
from tricktable_env.tableau.infostate import view_of
from tricktable_env.tableau.notation import action_text, read_position
from tricktable_env.tableau.positions import lay_out, position_text
from tricktable_env.tableau.rules import act, random_action
from tricktable_env.tableau.solver import (
    BEST,
    BEST_OF_ALL,
    Bounds,
    NotProvenError,
    TableSizeError,
    begin,
    narrow,
    new_memory,
    solve,
    solve_batch,
    solve_moves,
    takes_at_least,
)
from tricktable_env.tableau.solver.memory import (
    COVERS,
    LIMIT,
    RANKS,
    ROOT,
    STRAIN,
    STRAIN_KEY,
    STRINGS,
    TABLE,
    UNDER,
)
from tricktable_env.tableau.solver.probes import ANY
from tricktable_env.tableau.solver.search import search
from tricktable_env.tableau.solver.table import key_of
from tricktable_env.tableau.state import LEAD, LEFT, NOT_CALLED, RNG, TRICKS, TRUMP, TURN

DATA = Path(__file__).parent / "data"
STRING_TABLE = new_memory(4)[STRINGS:TABLE]


def state_of(text: str, **rules: object) -> Words:
    game = Tableau(**rules)
    state = game.new(np.zeros(1, np.uint64))[0]
    lay_out(state, read_position(text), game.rules)
    return state


def deals(count: int, left: int, seed: int = 7, **rules: object) -> Words:
    """Whole deals, called and played at random until `left` tricks are left."""
    game = Tableau(**rules)
    states = game.new(np.arange(seed, seed + count, dtype=np.uint64))
    game.deal(states, np.arange(count))
    for s in states:
        while s[LEFT] > left or s[TRUMP] == NOT_CALLED or s[LEAD]:
            act(s, random_action(s, s, RNG))
    return states


def by_action(values: list[int]) -> dict[Action, int]:
    return {action: value for action, value in enumerate(values) if value >= 0}


# -- against plain minimax -------------------------------------------------------------------
@pytest.mark.parametrize(
    ("count", "most", "seed"),
    [(400, 4, 1), (60, 6, 2), pytest.param(20_000, 6, 3, marks=pytest.mark.long)],
)
def test_every_card_is_worth_what_plain_minimax_says(count: int, most: int, seed: int) -> None:
    states = small_positions(seed, count, most)
    wanted = [plain_values(state) for state in states]
    batch = solve_batch(states)
    shared = solve_batch(states, workers=2, entries=64)
    assert batch.tolist() == wanted
    assert shared.tolist() == wanted
    cold, warm, tiny = new_memory(1 << 10), new_memory(1 << 12), new_memory(4)
    for state, values in zip(states, wanted, strict=True):
        text, right = position_text(state), by_action(values)
        best = max(values)
        for memory in (cold, warm, tiny):
            cold[TABLE:] = 0
            assert solve_moves(state, memory) == right, text
            cold[TABLE:] = 0
            assert solve(state, memory) == best, text
            assert takes_at_least(state, best, memory), text
            assert not takes_at_least(state, best + 1, memory), text


def test_the_positions_tried_are_of_every_kind() -> None:
    states = small_positions(1, 400, 4)
    assert sum(state[TRUMP] == 4 for state in states) > 40  # no trump
    assert sum(state[TRUMP] == NOT_CALLED for state in states) > 8
    assert sum(state[LEAD] != 0 for state in states) > 100
    assert sum(len(solve_moves(state)) == 1 for state in states) > 40
    assert sum("/" in position_text(state) for state in states) > 100


@pytest.mark.parametrize("name", ["tableau-positions.jsonl", "tableau-reduced.jsonl"])
def test_stored_positions_are_worth_what_is_stored(name: str) -> None:
    memory = new_memory(1 << 10)
    for line in (DATA / name).read_text().splitlines():
        row = json.loads(line)
        state = state_of(row["position"], **row.get("rules", {}))
        moves = {action_text(action): value for action, value in solve_moves(state, memory).items()}
        assert moves == row["moves"], line
        assert solve(state, memory) == row["best"], line


# -- what values never depend on -------------------------------------------------------------
def test_values_depend_on_no_table_size_no_history_and_no_workers() -> None:
    states = deals(12, 10)
    wanted = [solve_moves(state) for state in states]
    warm = new_memory(1 << 14)
    for entries in (4, 256, 1 << 16):
        memory = new_memory(entries)
        assert [solve_moves(state, memory) for state in states] == wanted
    for _ in range(2):
        assert [solve_moves(state, warm) for state in states[::-1]] == wanted[::-1]
    for workers in (1, 2, 3):
        values = solve_batch(states, workers=workers)
        assert [by_action(row.tolist()) for row in values] == wanted


def test_a_position_played_on_keeps_its_value_along_best_play() -> None:
    memory = new_memory()
    for state in deals(4, 11):
        while state[LEFT] > 0:
            seat, tricks = int(state[TURN]), state[TRICKS : TRICKS + 2].astype(int)
            moves = solve_moves(state, memory)
            action = max(moves, key=lambda a: moves[a])
            assert solve(state, memory) == moves[action]
            best = moves[action]
            act(state, action)
            won = int(state[TRICKS + seat]) - tricks[seat]
            if state[LEFT] == 0:
                assert best == won
            else:
                after = solve(state, memory)
                own = after if state[TURN] == seat else int(state[LEFT]) - after
                assert own + won == best


@numba.njit
def best_values(states, memory, best):
    """What a search agent does: one memory for all, no return to Python."""
    low, high = np.empty(BEST_OF_ALL + 1, np.int64), np.empty(BEST_OF_ALL + 1, np.int64)
    for i in range(len(states)):
        begin(states[i], memory, low, high)
        while not narrow(states[i], memory, low, high, BEST, 100):
            pass
        best[i] = low[BEST_OF_ALL]


def test_kernels_ask_without_python() -> None:
    states = small_positions(8, 200, 6)
    best = np.empty(len(states), np.int64)
    best_values(states, new_memory(1 << 8), best)
    assert best.tolist() == solve_batch(states).max(axis=1).tolist()


@numba.njit
def keys_with_other_piles(memory, covering, under, keys):
    for i in range(len(under)):
        for seat in range(2):
            for pile in range(8):
                memory[UNDER + covering[seat, pile]] = under[i, seat, pile]
        own, other = memory[ROOT], memory[ROOT + 1]
        keys[i], _ = key_of(memory, own, other, memory[ROOT + COVERS], memory[ROOT + RANKS], 0)


def test_a_million_deals_that_differ_under_the_piles_have_keys_of_their_own() -> None:
    """Worlds that a search samples differ so; no two cards of this deal are alike."""
    cards = np.array([[c for c in range(52) if (c % 13 + c // 13) % 2 == seat] for seat in (0, 1)])
    wide = cards + 3 * (cards // 13)
    memory = new_memory()
    memory[ROOT : ROOT + 2] = (1 << wide.astype(np.uint64)).sum(axis=1)
    memory[ROOT + COVERS] = (1 << wide[:, :8].astype(np.uint64)).sum()
    for suit in range(4):
        owners = sum(1 << i for i in range(13) if (i + suit) % 2) | 1 << 13
        memory[ROOT + RANKS] |= np.uint64(owners << 16 * suit)
    memory[STRAIN] = 4
    under = np.tile(wide[:, 8:16], (1_000_000, 1, 1))
    under = np.random.default_rng(3).permuted(under, axis=2)
    keys = np.empty(len(under), np.uint64)
    keys_with_other_piles(memory, wide[:, :8], under, keys)
    deals_tried = np.ascontiguousarray(under.reshape(-1, 16).astype(np.uint8)).view("V16")
    assert len(np.unique(keys)) == len(set(deals_tried.ravel().tolist())) > 990_000


# -- budgets ---------------------------------------------------------------------------------
def bounds_within(state: Words, nodes: int) -> tuple[Bounds, dict[Action, Bounds]]:
    try:
        moves = solve_moves(state, nodes=nodes)
    except NotProvenError as stop:
        return stop.best, stop.moves
    best = max(moves.values())
    return Bounds(best, best), {action: Bounds(value, value) for action, value in moves.items()}


def test_a_budget_gives_bounds_that_hold() -> None:
    for state in deals(6, 12):
        right = solve_moves(state)
        for nodes in (0, 1, 30, 300):
            best, moves = bounds_within(state, nodes)
            assert best.low <= max(right.values()) <= best.high
            assert moves.keys() == right.keys()
            assert all(moves[a].low <= right[a] <= moves[a].high for a in right)


def test_a_search_stopped_after_every_node_goes_on_to_the_same_end() -> None:
    low, high = np.empty(BEST_OF_ALL + 1, np.int64), np.empty(BEST_OF_ALL + 1, np.int64)
    for state in (*deals(3, 8), *small_positions(5, 20, 5)):
        memory = new_memory(16)
        begin(state, memory, low, high)
        while not narrow(state, memory, low, high, -2, 1):
            assert (low <= high).all()
        assert by_action(low[:BEST_OF_ALL].tolist()) == solve_moves(state)


def test_no_time_is_not_proven_and_the_error_says_what_is_known() -> None:
    state = deals(1, 26)[0]
    with pytest.raises(NotProvenError, match=r"not proven: \d+ to \d+ tricks") as caught:
        solve(state, seconds=0)
    assert caught.value.best.low < caught.value.best.high
    assert pickle.loads(pickle.dumps(caught.value)).best == caught.value.best
    assert Bounds(3, 3) == Bounds(3, 3)


def test_what_can_not_be_solved_is_refused() -> None:
    state = deals(1, 5)[0]
    with pytest.raises(PositionError, match="hidden cards"):
        solve(view_of(state, 0))
    with pytest.raises(PositionError, match="hidden cards"):
        solve_batch(view_of(state, 1)[None])
    for entries in (0, 3, 6, -4, 1 << 31):
        with pytest.raises(TableSizeError, match="power of two"):
            new_memory(entries)


def test_a_finished_round_is_worth_nothing() -> None:
    state = deals(1, 0)[0]
    assert solve_moves(state) == {}
    assert solve(state) == 0
    assert takes_at_least(state, 0)
    assert not takes_at_least(state, 1)


# -- theorems --------------------------------------------------------------------------------
def text_of(
    first: int, second: int, seat: str = "C", trump: str = "N", tables: tuple[str, str] = ("-", "-")
) -> str:
    hands = hand_text(first), tables[0], hand_text(second), tables[1]
    return " ".join((seat, trump, "-", "0-0", *hands))


@pytest.mark.parametrize(
    ("leader", "sums"),
    [("C", [1, 5, 28, 128, 594, 2603]), ("D", [1, 7, 32, 152, 666, 2941])],
)
def test_one_suit_sums_over_all_deals(leader: str, sums: list[int]) -> None:
    memory = new_memory()
    for n, wanted in enumerate(sums, start=1):
        total = 0
        for first, second in halves(n):
            value = solve(state_of(text_of(first, second, leader)), memory)
            total += value if leader == "C" else n - value
        assert total == wanted


def halves(n: int) -> Iterator[tuple[int, int]]:
    """All ways to share the lowest 2n cards of a suit out to two hands."""
    for cards in itertools.combinations(range(2 * n), n):
        first = sum(1 << card for card in cards)
        yield first, (1 << 2 * n) - 1 - first


@pytest.mark.parametrize(("leader", "sums"), [(0, [2603, 11444]), (1, [2941, 12580])])
def test_the_sums_go_on_in_a_suit_of_14_ranks(leader: int, sums: list[int]) -> None:
    """No state holds fourteen cards of a suit, but the search, of relative ranks, may be asked."""
    memory = new_memory()
    totals = [0, 0]
    for n in (6, 7):
        for first, second in halves(n):
            ranks = second | 1 << 2 * n
            memory[ROOT : ROOT + 6] = first, second, 0, 0, ranks, leader  # OWN to LEADER
            for suit in (1, 2, 3):  # the ends of the empty lanes
                memory[ROOT + RANKS] |= np.uint64(1 << 16 * suit)
            memory[STRAIN], memory[STRAIN_KEY] = 4, 1 << 31  # no trump
            memory[LIMIT] = 2**63
            totals[n - 6] += sum(search(memory, goal, ANY) for goal in range(1, n + 1))
    assert totals == sums


@pytest.mark.parametrize("suits", [1, 2, 3, 4])
def test_ace_queen_against_king_jack(suits: int) -> None:
    ace_queen = sum((1 << 12 | 1 << 10) << 13 * suit for suit in range(suits))
    king_jack = sum((1 << 11 | 1 << 9) << 13 * suit for suit in range(suits))
    assert solve(state_of(text_of(ace_queen, king_jack))) == 3 * suits // 2
    follows = solve(state_of(text_of(king_jack, ace_queen)))
    assert 2 * suits - follows == -(-3 * suits // 2)


def test_equal_lengths_without_covers_make_trumps_worth_nothing() -> None:
    rng = np.random.default_rng(11)
    for _ in range(25):
        first = second = 0
        for suit in range(4):
            length = int(rng.integers(0, 4))
            cards = rng.permutation(13)[: 2 * length]
            first |= sum(1 << 13 * suit + int(card) for card in cards[:length])
            second |= sum(1 << 13 * suit + int(card) for card in cards[length:])
        values = {solve(state_of(text_of(first, second, "C", trump))) for trump in (*SUITS, "N")}
        assert len(values) == 1


def swapped(text: str, order: str) -> str:
    """The position with suits renamed: SHDC become `order`."""
    seat, trump, lead, score, *sides = text.split(" ")
    rename = dict(zip(SUITS, order, strict=True)) | {"N": "N", "-": "-"}
    for i in (0, 2):
        by_suit = dict(zip(order, sides[i].split("."), strict=True))
        sides[i] = ".".join(by_suit[suit] for suit in SUITS)
    for i in (1, 3):
        sides[i] = "".join(rename.get(letter, letter) for letter in sides[i])
    lead = lead if lead == "-" else lead[0] + rename[lead[1]]
    return " ".join((seat, rename[trump], lead, score, *sides))


def test_renaming_suits_and_swapping_sides_changes_nothing() -> None:
    rng = np.random.default_rng(12)
    for state in deals(8, 9):
        if rng.random() < 0.5:
            act(state, random_action(state, state, RNG))
        text = position_text(state)
        values = sorted(solve_moves(state).values())
        for order in ("HSDC", "CDHS", "DCSH"):
            assert sorted(solve_moves(state_of(swapped(text, order))).values()) == values
        seat, trump, lead, score, *sides = text.split(" ")
        other = " ".join(("D" if seat == "C" else "C", trump, lead, score, *sides[2:], *sides[:2]))
        assert sorted(solve_moves(state_of(other)).values()) == values


def test_trumps_less_the_matching_of_higher_ones_come_home_in_any_play() -> None:
    for s in deals(60, 26, 0):
        promised = []  # tricks that a player had or was sure of, at every lead
        while s[LEFT] > 0:
            if not s[LEAD]:
                cards = [read_cards(position_text(s), seat) for seat in (0, 1)]
                sure = [sure_trumps(cards[i], cards[1 - i], int(s[TRUMP])) for i in (0, 1)]
                assert sure == sure_by_the_table(cards, int(s[TRUMP]))
                promised.append(s[TRICKS : TRICKS + 2].astype(int) + sure)
            act(s, random_action(s, s, RNG))
        assert (s[TRICKS : TRICKS + 2] >= np.max(promised, axis=0)).all()


def sure_by_the_table(cards: list[list[int]], trump: int) -> list[int]:
    """What the solver's own bound says: bits 0-3 and 4-7 of the word of the owner string."""
    trumps = sorted((card, seat) for seat in (0, 1) for card in cards[seat] if card // 13 == trump)
    owners = sum(seat << i for i, (_, seat) in enumerate(trumps)) | 1 << len(trumps)
    word = int(STRING_TABLE[owners])
    return [word & 15, word >> 4 & 15]


def read_cards(text: str, seat: int) -> list[int]:
    position = read_position(text)
    piles = [c for pile in position.tables[seat] for c in (pile.top, pile.under) if c is not None]
    hand = position.hands[seat].cards
    return piles + [card for card in range(52) if hand >> card & 1]


def sure_trumps(own: list[int], other: list[int], trump: int) -> int:
    mine = sorted((c for c in own if c // 13 == trump), reverse=True)
    higher = sorted(c for c in other if c // 13 == trump)
    matched = 0
    for card in mine:
        match = next((c for c in higher if c > card), None)
        if match is not None:
            higher.remove(match)
            matched += 1
    return len(mine) - matched
