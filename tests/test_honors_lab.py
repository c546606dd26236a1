"""Honors in matches, records and on the command line."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from honors_play import OPTIONS, SideBySide, name_of

from tricktable_env.honors import Honors
from tricktable_env.registry import make_game
from tricktable_lab import cli
from tricktable_lab.match import play_match
from tricktable_lab.replay import RecordError, read_record, record_of, replay_record, write_record


@pytest.mark.parametrize("options", OPTIONS, ids=name_of)
@pytest.mark.parametrize("plies", [0, 1, 9, 1000])
def test_what_is_written_replays_to_the_same_game(options: dict[str, Any], plies: int) -> None:
    table = SideBySide(options, seed=plies)
    table.play_to(plies)
    record = record_of(table.game, table.states[0], agents=["one", "other"])
    assert make_game("honors", **record["rules"]) == table.game
    file = io.StringIO()
    write_record(file, record)
    assert read_record(file.getvalue()) == record
    replay = replay_record(record)
    oracle = table.games[0]
    assert replay.outcome["points"] == [oracle.total(seat) for seat in table.seats]
    assert len(replay.legal_counts) == len(record["plays"])
    if oracle.over:
        assert record["winner"] == ",".join(map(str, oracle.winners()))
        assert record["points"] == replay.outcome["points"]
    else:
        assert "winner" not in record
        assert replay.outcome["winner"] is None


RECORD: dict[str, Any] = {
    "game": "honors",
    "rules": {"suits": 1, "ranks": 4, "hand": 1, "trump": "S"},
    "position": "0 S - 0/0/0,0/0/0 - QS,JS A... K...",
    "plays": ["AS", "KS", "QS", "JS"],
    "points": [14, 0],
    "winner": "0",
    "legal_counts": [1, 1, 1, 1],
}


def test_a_record_by_hand_replays() -> None:
    assert replay_record(RECORD).as_json() == {
        "ok": True,
        "points": [14, 0],
        "winner": "0",
        "legal_counts": [1, 1, 1, 1],
    }


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"points": [13, 1]}, r"'points' is stated as \[13, 1\], but the round gives \[14, 0\]"),
        ({"winner": "1"}, "'winner' is stated as"),
        ({"plays": ["KS"]}, "ply 0: KS is illegal; legal: AS"),
        ({"plays": ["announce 1"]}, "ply 0: announce 1 is illegal"),
        ({"rules": {}}, "do not occur|not in the deck|rules are trump"),
    ],
)
def test_what_is_wrong_with_a_record_is_said(change: dict[str, Any], message: str) -> None:
    with pytest.raises(RecordError, match=message):
        replay_record({**RECORD, **change})


def test_replay_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "games.jsonl"
    file.write_text(json.dumps(RECORD) + "\n")
    assert cli.main(["replay", str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["points"] == [14, 0]
    assert cli.main(["replay", str(file)]) == 0
    assert "14:0" in capsys.readouterr().out


@pytest.mark.parametrize("players", [2, 3, 4])
def test_match_on_the_command_line(players: int, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["match", "greedy", "random", "--game", "honors", "--deals", "40"]
    arguments += ["--num-players", str(players), "--rule", "announce=true", "--seed", "3"]
    assert cli.main([*arguments, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["games"] == 40 * players
    assert told["caller_win_rate"] is None
    assert (told["elo_diff"] is None) == (players > 2)
    assert (told["elo_ci95"] == [None, None]) == (players > 2)
    assert cli.main(arguments) == 0
    assert ("Elo" in capsys.readouterr().out) == (players == 2)


def test_a_match_is_the_same_for_any_number_of_workers() -> None:
    game = Honors(num_players=3, stock="redeal", announce=True)
    one, two = (play_match(game, "greedy", "random", 130, 5, workers) for workers in (1, 2))
    assert one == two
    assert (one.per_deal.share == two.per_deal.share).all()


def test_all_rotations_of_a_deal_are_played() -> None:
    game = Honors(num_players=4)
    result = play_match(game, "random", "random", deals=300, seed=0)
    assert result.per_deal.share.shape == (300, 4)
    assert result.ci95[0] < 0.25 < result.ci95[1]
    assert np.abs(result.per_deal.margin.mean()) < 0.5


def test_greedy_against_itself_shares_every_deal_evenly() -> None:
    result = play_match(Honors(num_players=5), "greedy", "greedy", deals=40, seed=0)
    assert result.per_deal.share.sum(1) == pytest.approx(np.ones(40))
    assert result.mean_margin_a == pytest.approx(0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--num-players", "8"], "num_players=8 is not a whole number from 2 to 7"),
        (["--rule", "announce=perhaps"], "announce='perhaps' is neither True nor False"),
        (["--rule", "piles=3"], "no rule 'piles' in honors"),
    ],
)
def test_rules_that_make_no_sense_are_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["match", "greedy", "random", "--game", "honors", *arguments]) == 2
    told = capsys.readouterr().err
    assert message in told
    assert told.count("\n") == 1
