"""Analysed games: values against plain minimax and the result, and what a seat could know."""

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from plain_minimax import plain_values

from tricktable_env.game import RUNNING
from tricktable_env.registry import make_game
from tricktable_env.tableau.solver import Bounds
from tricktable_lab import cli
from tricktable_lab.analyse import Analysis, Decision, totals
from tricktable_lab.match import play_match
from tricktable_lab.replay import RecordError, record_of
from tricktable_lab.table import dealt

RULES = {"suits": 3, "ranks": 5, "hand": 2, "piles": 2}
SMALL = make_game("tableau", **RULES)


def records(folder: Path, game: Any = SMALL, deals: int = 4, b: str = "random") -> list[Any]:
    file = folder / "games.jsonl"
    play_match(game, "greedy", b, deals, 1, records=file)
    return [json.loads(line) for line in file.read_text().splitlines()]


def analysed(record: Any, **options: Any) -> list[Decision]:
    return list(Analysis(record).decisions(**options))[::-1]


# -- values ------------------------------------------------------------------------------------
def test_every_card_and_call_has_the_value_of_plain_minimax(tmp_path: Path) -> None:
    for record in records(tmp_path):
        state = SMALL.new(np.zeros(1, np.uint64))
        SMALL.place(state[0], record["position"])
        decisions = analysed(record)
        assert [d.played for d in decisions] == record["plays"]
        assert decisions[0].trick == 0
        for decision in decisions:
            plain = plain_values(state[0])
            expected = {SMALL.action_text(i): v for i, v in enumerate(plain) if v >= 0}
            assert decision.moves == {move: Bounds(v, v) for move, v in expected.items()}
            assert decision.best.low == max(expected.values())
            lost = max(expected.values()) - expected[decision.played]
            assert decision.gave_away == Bounds(lost, lost)
            action = SMALL.read_action(decision.played)
            SMALL.step(state, np.zeros(1, np.int64), np.array([action]))


def test_what_both_gave_away_is_what_the_result_lacks(tmp_path: Path) -> None:
    """From the value before the call, the dealer's gifts less the caller's lead to the result."""
    for record in records(tmp_path, deals=20):
        decisions = analysed(record)
        value = decisions[0].callers(decisions[0].best)
        given = totals(decisions)
        assert value.low == value.high
        assert value.low + given["dealer"].low - given["caller"].low == record["tricks"][0]


def test_bounds_of_a_whole_deal_hold(tmp_path: Path) -> None:
    """Whatever time there was: what is proven with little agrees with what is proven with more."""
    record = records(tmp_path, make_game("tableau"), deals=1)[0]
    quick, slow = (analysed(record, first_trick=4, seconds=seconds) for seconds in (1e-9, 0.3))
    open_ones = 0
    for few, more in zip(quick, slow, strict=True):
        for move, bounds in more.moves.items():
            assert few.moves[move].low <= bounds.high
            assert bounds.low <= few.moves[move].high
            open_ones += few.moves[move].low < few.moves[move].high
        assert few.gave_away.low <= more.gave_away.high
        assert more.gave_away.low <= few.gave_away.high
    assert open_ones
    assert analysed(record, first_trick=25)[0].trick == 25


def test_an_unfinished_game_is_analysed_as_far_as_it_went(tmp_path: Path) -> None:
    record = records(tmp_path, deals=1)[0]
    cut = {k: record[k] for k in ("game", "rules", "position")} | {"plays": record["plays"][:5]}
    whole = analysed(record)
    assert [d.moves for d in analysed(cut)] == [d.moves for d in whole[:5]]


# -- what could have been known ------------------------------------------------------------------
def test_worlds_are_what_the_seat_could_not_tell_apart(tmp_path: Path) -> None:
    """The averages equal those over every deal that agrees with what the caller sees."""
    game = make_game("tableau", suits=2, ranks=4, hand=2, piles=1, trump="S")
    state = dealt(game, 5, np.arange(1))
    record = record_of(game, _finished(game, state)[0])
    decision = analysed(record, worlds=4000, seed=1)[0]
    sums: dict[str, list[float]] = {}
    view = game.views(state, np.zeros(1, np.int64), np.array([0]))[0]
    text = game.position(view, 0)
    for world in _worlds(game, text):
        place = game.new(np.zeros(1, np.uint64))
        game.place(place[0], world)
        for action, value in enumerate(plain_values(place[0])):
            if value >= 0:
                sums.setdefault(game.action_text(action), []).append(value)
    assert decision.fair is not None
    assert set(decision.fair) == set(sums)
    assert len(next(iter(sums.values()))) > 5
    for move, values in sums.items():
        low, high = decision.fair[move]
        assert low == high == pytest.approx(np.mean(values), abs=4.5 * (np.std(values) + 0.05) / 63)


def _finished(game: Any, states: Any) -> Any:
    """A copy of the states with the lowest legal action played to the end."""
    states, rows = states.copy(), np.arange(len(states))
    while rows.size:
        views = game.views(states, rows, game.players(states, rows))
        status, _ = game.step(states, rows, game.masks(views).argmax(1))
        rows = rows[status == RUNNING]
    return states


def _worlds(game: Any, seen: str) -> list[str]:
    """Every position that agrees with what the caller sees, each as likely as the next."""
    seat, trump, lead, score, hand, table, _, other = seen.split()
    ranks, suits = "AKQJ", "SH"
    known = {r + s for s, part in zip("SHDC", hand.split("."), strict=True) for r in part}
    known |= {table.split("/")[0], other.split("/")[0]}
    hidden = [r + s for s in suits for r in ranks if r + s not in known]
    worlds = []
    for first, second in itertools.permutations(hidden, 2):
        rest = [card for card in hidden if card not in (first, second)]
        theirs = ".".join("".join(r for r in ranks if r + s in rest) for s in "SHDC")
        tables = table.replace("?", first), other.replace("?", second)
        worlds.append(f"{seat} {trump} {lead} {score} {hand} {tables[0]} {theirs} {tables[1]}")
    return worlds


def test_the_same_seed_samples_the_same_worlds(tmp_path: Path) -> None:
    record = records(tmp_path, deals=1)[0]
    one, two, other = (
        [d.fair for d in analysed(record, worlds=5, seed=seed)] for seed in (0, 0, 1)
    )
    assert one == two != other


def test_where_there_was_no_choice_nothing_is_sampled(tmp_path: Path) -> None:
    decisions = analysed(records(tmp_path, deals=1)[0], worlds=3)
    assert [d.fair is None for d in decisions] == [len(d.moves) == 1 for d in decisions]
    assert decisions[-1].fair_gave_away is None
    assert decisions[-1].gave_away == Bounds(0, 0)


def test_worlds_end_with_the_clock(tmp_path: Path) -> None:
    record = records(tmp_path, deals=1)[0]
    decisions = analysed(record, worlds=10**18, seconds=0.02)  # without it this takes for ever
    assert any(d.fair is not None for d in decisions)
    for d in decisions:
        for low, high in (d.fair or {}).values():
            assert 0 <= low <= high <= d.left


# -- on the command line -------------------------------------------------------------------------
def test_it_prints_json_and_a_table_and_draws(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    record = records(tmp_path)[1]
    picture = tmp_path / "game.png"
    arguments = ["analyse", str(tmp_path / "games.jsonl"), "--line", "2", "--worlds", "4"]
    assert cli.main([*arguments, "--json", "--plot", str(picture)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["agents"] == record["agents"]
    assert told["proven"] is True
    assert told["tricks"] == record["tricks"]
    assert set(told["given_away"]) == {"caller", "dealer"}
    expected = [d.as_json() for d in analysed(record, worlds=4)]
    assert told["decisions"] == json.loads(json.dumps(expected))
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert cli.main(arguments) == 0
    shown = capsys.readouterr().out
    assert "given away: caller" in shown
    assert "fair" in shown


def test_what_is_not_proven_is_null_in_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records(tmp_path, make_game("tableau"), deals=1)
    file = str(tmp_path / "games.jsonl")
    assert cli.main(["analyse", file, "--from", "6", "--seconds", "1e-9", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["proven"] is False
    unproven = [d for d in told["decisions"] if "bounds" in d]
    assert unproven
    for decision in unproven:
        for move, (low, high) in decision["bounds"].items():
            assert decision["moves"][move] == (low if low == high else None)


def test_stopped_it_tells_of_the_decisions_it_has_looked_at(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    records(tmp_path)
    plain = Analysis.decisions

    def stopped(self: Analysis, *options: Any) -> Any:
        yield from itertools.islice(plain(self, *options), 3)
        raise KeyboardInterrupt

    monkeypatch.setattr(Analysis, "decisions", stopped)
    assert cli.main(["analyse", str(tmp_path / "games.jsonl"), "--json"]) == 1
    out, err = capsys.readouterr()
    assert len(json.loads(out)["decisions"]) == 3
    assert err == "tricktable: stopped; 3 decisions are known\n"


def test_other_games_and_broken_records_fail(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(RecordError, match="analyse knows tableau alone, not honors"):
        Analysis(records(tmp_path, make_game("honors"), deals=1)[0])
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"game": "tableau"}\n')
    assert cli.main(["analyse", str(broken)]) == 1
    assert "broken.jsonl line 1: 'plays' is missing" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--line 3", "line=3, but"),
        ("--line 0", "line=0 is not 1 or more"),
        ("--from -1", "from=-1 is not 0 or more"),
        ("--seconds 0", "seconds=0.0 is not more than 0"),
        ("--worlds -1", "worlds=-1 is not 0 or more"),
    ],
)
def test_misuse_gets_one_line(
    tmp_path: Path, options: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    records(tmp_path, deals=1)
    assert cli.main(["analyse", str(tmp_path / "games.jsonl"), *options.split()]) == 2
    assert message in capsys.readouterr().err
