"""Game records: every recorded game replays, and whatever is wrong with a record is said."""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from option_sets import OPTION_SETS, name_of

from tricktable_env.game import ENDED, RUNNING, Game, PositionError
from tricktable_env.opponents import decide, decision_streams, make_agent
from tricktable_env.registry import make_game
from tricktable_lab.replay import (
    RecordError,
    Replay,
    read_record,
    record_of,
    replay_lines,
    replay_record,
    rules_of,
    write_record,
)

CASES = (Path(__file__).parent / "data" / "tableau-games.jsonl").read_text().splitlines()
CASE: dict[str, Any] = json.loads(CASES[0])


def change(**fields: Any) -> dict[str, Any]:
    """The first case with other fields; one that is None is left out."""
    return {key: value for key, value in (CASE | fields).items() if value is not None}


def finished_state(game: Game, seed: int, plies: int = 1000) -> Any:
    """A state after a random game, or after its first plies."""
    agent = make_agent("random", game)
    states = game.new(np.array([seed], np.uint64))
    rows = np.zeros(1, np.int64)
    game.deal(states, rows)
    status = RUNNING
    while status != ENDED and plies:
        players = game.players(states, rows)
        view = game.views(states, rows, players)
        streams = decision_streams(np.array([seed], np.uint64), rows, players, rows + plies)
        status = game.step(states, rows, decide(agent, view, game.masks(view), streams))[0][0]
        plies -= 1
    return states[0]


# -- records that replay ---------------------------------------------------------------------
@pytest.mark.parametrize("line", CASES, ids=range(len(CASES)))
def test_recorded_games_replay_with_their_tricks_winner_and_legal_counts(line: str) -> None:
    record = json.loads(line)
    stated = {key: record[key] for key in ("tricks", "winner", "legal_counts")}
    unstated = {key: value for key, value in record.items() if key not in stated}
    assert replay_record(record).as_json() == {"ok": True, **stated}
    assert replay_record(unstated).as_json() == {"ok": True, **stated}


def test_an_unfinished_record_has_no_winner() -> None:
    record = change(plays=CASE["plays"][:11], tricks=None, winner=None, legal_counts=None)
    replay = replay_record(record).as_json()
    assert replay["winner"] is None
    assert sum(replay["tricks"]) == 5
    assert replay["legal_counts"] == CASE["legal_counts"][:11]


@pytest.mark.parametrize("options", OPTION_SETS, ids=name_of)
@pytest.mark.parametrize("plies", [0, 1, 4, 1000])
def test_what_is_written_replays_to_the_same_round(options: dict[str, Any], plies: int) -> None:
    single = {key: value for key, value in options.items() if "match" not in key}
    game = make_game("tableau", **(single | {"rounds_to_win": 1}))
    for seed in range(5):
        state = finished_state(game, seed, plies)
        record = record_of(game, state, agents=["random", "random"])
        file = io.StringIO()
        write_record(file, record)
        assert read_record(file.getvalue()) == record
        replay = replay_record(record)
        assert len(replay.legal_counts) == len(record["plays"])
        if plies == 1000:
            assert record["winner"] in ("caller", "dealer", "draw")
            assert replay.outcome == {key: record[key] for key in ("tricks", "winner")}
        else:
            assert "winner" not in record
            assert replay.outcome["winner"] is None


def test_a_match_of_rounds_gives_the_record_of_its_last_round() -> None:
    game = make_game("tableau", ranks=5, hand=4, piles=2, rounds_to_win=2)
    state = finished_state(game, 1)
    assert replay_record(record_of(game, state)).outcome["winner"] in ("caller", "dealer")


@pytest.mark.parametrize("options", OPTION_SETS, ids=name_of)
def test_rules_that_differ_make_the_game_again(options: dict[str, Any]) -> None:
    game = make_game("tableau", **options)
    assert rules_of(game) == options
    assert make_game("tableau", **rules_of(game)) == game


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"hand": 8, "call_cards": 5}, {"hand": 8, "call_cards": 5}),
        ({"hand": 8, "call_cards": 4}, {"hand": 8}),  # what follows from hand=8
        ({"hand": 9, "call_cards": 5}, {"hand": 9}),
        ({"call_cards": 5}, {}),
        ({"call_cards": 4}, {"call_cards": 4}),
    ],
)
def test_an_option_is_told_unless_it_follows_from_those_told(
    options: dict[str, int], told: dict[str, int]
) -> None:
    game = make_game("tableau", **options)
    assert rules_of(game) == told
    assert make_game("tableau", **told) == game


def test_a_view_has_no_record() -> None:
    game = make_game("tableau")
    state = finished_state(game, 0, plies=5)[None]
    view = game.views(state, np.zeros(1, np.int64), np.zeros(1, np.int64))[0]
    with pytest.raises(PositionError, match="hidden cards"):
        record_of(game, view)


# -- records that fail -----------------------------------------------------------------------
@pytest.mark.parametrize(
    ("record", "message", "ply"),
    [
        (change(winner="dealer"), "'winner' is stated as \"dealer\", but the round gives", 52),
        (change(tricks=[18, 8]), r"'tricks' is stated as \[18, 8\], .* \[19, 7\]", 52),
        (change(plays=CASE["plays"][:4]), r"after 4 plays it is \[2, 0\]", 4),
        (change(legal_counts=[18, 6]), "ply 1: 5 actions are legal, but 6 are stated", 1),
        (change(legal_counts=[18]), "1 numbers for 52 plays", None),
        (change(legal_counts="many"), "'legal_counts' is \"many\", not a list", None),
        (change(plays=[*CASE["plays"], "AS"]), 'ply 52: "AS" is played when the round is', 52),
        (change(plays=["AD", "AC"]), "ply 1: AC is illegal; legal: ", 1),
        (change(plays=["AD", "trump S"]), "ply 1: trump S is illegal; legal: ", 1),
        (change(plays=["AD", "4D", "XX"]), "ply 2: no card: 'XX'", 2),
        (change(plays=["AD", 5]), "ply 1: 5 is no text", 1),
        (change(plays="AD"), "'plays' is \"AD\", not a list", None),
        (change(plays=None), "'plays' is missing", None),
        (change(position=None), "'position' is missing", None),
        (change(position="C S"), "'C S' has 2 fields, not 8", None),
        (change(game=None), "'game' is missing", None),
        (change(game="chess"), "no game 'chess'", None),
        (change(game=5), "'game' is 5, not a text", None),
        (change(rules={"suits": 9}), "suits=9 is not a whole number from 1 to 4", None),
        (change(rules={"bogus": 1}), "'bogus'", None),
        (change(rules={"name": 1}), "no option 'name'", None),
        (change(rules=[]), r"'rules' is \[\], not an object", None),
        (change(rules={"trump": "none"}), "has trump C, but the rules are trump='none'", None),
    ],
)
def test_what_is_wrong_is_said_with_the_play_at_fault(
    record: dict[str, Any], message: str, ply: int | None
) -> None:
    with pytest.raises(RecordError, match=message) as error:
        replay_record(record)
    assert error.value.ply == ply
    assert error.value.as_json() == {"ok": False, "error": str(error.value), "ply": ply}


@pytest.mark.parametrize(
    "line",
    [
        *(b"nonsense", b"[1]", b"3", b'"C S"', b"\xff\xfe", b'{"a": 1', b"[" * 99999),
        b'{"game": "tableau", "seed": NaN}',
    ],
)
def test_lines_that_are_no_records_are_refused(line: bytes) -> None:
    with pytest.raises(RecordError, match=r"no JSON|no record"):
        read_record(line)


def test_one_bad_line_does_not_stop_the_others_and_blank_ones_are_skipped() -> None:
    lines = [CASES[0].encode(), b"", b"nonsense\n", b"  \n", CASES[1].encode()]
    replays = list(replay_lines(lines))
    assert [number for number, _ in replays] == [1, 3, 5]
    assert [type(replay) for _, replay in replays] == [Replay, RecordError, Replay]
