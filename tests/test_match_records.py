"""Records of matches: what is written, what is read back, and what is refused."""

import errno
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from agents.greedy import GreedyAgent
from tricktable_env.registry import make_game
from tricktable_lab import cli
from tricktable_lab.match import play_match
from tricktable_lab.recordfile import RecordFile, RecordFileError
from tricktable_lab.replay import RecordError, replay_lines
from tricktable_lab.table import CHUNK_DEALS, table_of

GAME = make_game("tableau")


def records(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


class NeverAsked:
    """Stands for greedy in a match that must not be played again."""

    def __init__(self, game: object) -> None: ...

    def act_batch(self, views: Any, masks: Any, streams: Any) -> Any:
        assert len(views) == 1, "only asked to compile"
        return masks.argmax(1)


# -- what is written -------------------------------------------------------------------------
def test_every_game_is_recorded_in_order_and_replays(tmp_path: Path) -> None:
    file = tmp_path / "games.jsonl"
    result = play_match(GAME, "greedy", "random", 70, 3, records=file)
    found = records(file)
    assert len(found) == result.games
    with file.open("rb") as lines:
        assert not [r for _, r in replay_lines(lines) if isinstance(r, RecordError)]
    for i, record in enumerate(found):
        deal, game = divmod(i, 2)
        assert (record["seed"], record["deal"]) == (3, deal)
        assert record["agents"] == [["greedy", "random"], ["random", "greedy"]][game]
        assert record["shares"][game] == result.per_deal.share[deal, game]
        tricks = record["tricks"]
        assert record["margins"] == [tricks[0] - tricks[1], tricks[1] - tricks[0]]
        assert record["shares"][1] == (tricks[0] <= 13), "13-13 is the dealer's"
    assert any(record["tricks"] == [13, 13] for record in found)


def test_a_deterministic_pair_plays_different_deals(tmp_path: Path) -> None:
    file = tmp_path / "games.jsonl"
    result = play_match(GAME, "greedy", "greedy", 100, 0, records=file)
    positions = [record["position"] for record in records(file)]
    assert len(set(positions)) == 100
    assert positions[::2] == positions[1::2]
    assert result.ci95[0] < 0.5 < result.ci95[1]


def test_the_file_is_the_same_with_one_and_two_workers(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    deals = 3 * CHUNK_DEALS + 7
    play_match(GAME, "greedy", "random", deals, 5, records=one)
    play_match(GAME, "greedy", "random", deals, 5, 2, records=two)
    assert one.read_bytes() == two.read_bytes()


def test_a_match_of_rounds_has_a_record_a_round(tmp_path: Path) -> None:
    game = make_game("tableau", ranks=5, hand=4, piles=2, rounds_to_win=2, tie="draw")
    file = tmp_path / "games.jsonl"
    result = play_match(game, "greedy", "random", 30, 1, records=file)
    rounds: list[dict[str, Any]] = []
    ended = 0
    for record in records(file):
        rounds.append(record)
        assert record["round"] == len(rounds)
        players = record["players"]
        assert record["agents"] == (players if len(rounds) % 2 else players[::-1])
        if "shares" in record:
            winners = [
                r["agents"][["caller", "dealer"].index(r["winner"])]
                for r in rounds
                if r["winner"] != "draw"
            ]
            assert winners.count(players[record["shares"].index(1.0)]) == 2
            rounds, ended = [], ended + 1
    assert ended == result.games == 60
    lines = file.read_bytes().splitlines()
    assert all(not isinstance(r, RecordError) for _, r in replay_lines(lines))
    assert play_match(game, "greedy", "random", 30, 1, records=file) == result


def test_honors_is_recorded_with_the_agents_by_seat(tmp_path: Path) -> None:
    game, file = make_game("honors", num_players=3), tmp_path / "games.jsonl"
    result = play_match(game, "greedy", "random", 5, 1, records=file)
    assert [r["agents"].index("greedy") for r in records(file)] == [0, 1, 2] * 5
    assert play_match(game, "greedy", "random", 5, 1, records=file) == result


# -- a match goes on -------------------------------------------------------------------------
def test_what_is_recorded_is_not_played_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "games.jsonl"
    whole = play_match(GAME, "greedy", "random", 2 * CHUNK_DEALS, 3, records=file, control=True)
    written = file.read_bytes()
    monkeypatch.setattr("agents.greedy.GreedyAgent", NeverAsked)
    again = play_match(GAME, "greedy", "random", 2 * CHUNK_DEALS, 3, records=file)
    assert again.as_json() | {"seconds": 0, "control": 0} == whole.as_json() | {
        "seconds": 0,
        "control": 0,
    }
    assert (again.per_deal.luck == whole.per_deal.luck).all()
    other_way = play_match(GAME, "random", "greedy", 2 * CHUNK_DEALS, 3, records=file)
    assert other_way.win_rate_a == pytest.approx(1 - whole.win_rate_a)
    assert file.read_bytes() == written


@pytest.mark.parametrize(
    ("cut", "workers"), [(0, 1), (1, 1), (200, 1), (90_000, 1), (90_000, 2), (10**6, 1)]
)
def test_a_file_cut_off_anywhere_is_completed(tmp_path: Path, cut: int, workers: int) -> None:
    file = tmp_path / "games.jsonl"
    whole = play_match(GAME, "greedy", "random", 2 * CHUNK_DEALS + 9, 3, records=file)
    written = file.read_bytes()
    file.write_bytes(written[:cut])
    again = play_match(GAME, "greedy", "random", 2 * CHUNK_DEALS + 9, 3, workers, records=file)
    assert again == whole
    assert file.read_bytes() == written


def test_more_deals_and_fewer_are_taken_from_the_same_file(tmp_path: Path) -> None:
    file = tmp_path / "games.jsonl"
    for deals in (30, 100, 50):
        kept = play_match(GAME, "greedy", "random", deals, 3, records=file)
        assert kept == play_match(GAME, "greedy", "random", deals, 3)
    assert len(records(file)) == 200


@pytest.mark.skipif(os.name == "nt", reason="kills a process")
def test_a_killed_run_goes_on_from_its_records(tmp_path: Path) -> None:
    file = tmp_path / "games.jsonl"
    arguments = ["match", "greedy", "random", "--records", str(file), "--seed", "3", "--json"]
    program = [sys.executable, "-m", "tricktable_lab.cli", *arguments]
    process = subprocess.Popen([*program, "--deals", "999999"], stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while not (file.exists() and file.stat().st_size) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    played = len(records(file)) // 2 if file.read_bytes().endswith(b"\n") else 1
    assert 0 < played < 999_999
    assert play_match(GAME, "greedy", "random", 64, 3, records=file) == play_match(
        GAME, "greedy", "random", 64, 3
    )


# -- what is refused -------------------------------------------------------------------------
@pytest.mark.parametrize("shares", [None, [5.0, -4.0], [0.5, 0.25]])
def test_records_without_the_shares_of_a_game_are_refused_and_stay(
    tmp_path: Path, shares: list[float] | None
) -> None:
    file = tmp_path / "games.jsonl"
    play_match(GAME, "greedy", "random", 2, 3, records=file)
    changed = []
    for record in records(file):
        del record["shares"]
        changed.append(json.dumps(record | ({"shares": shares} if shares else {})) + "\n")
    file.write_text("".join(changed))
    before = file.read_bytes()
    with pytest.raises(RecordFileError, match=r"line 1: .*shares"):
        play_match(GAME, "greedy", "random", 2, 3, records=file)
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": 4}, "line 1: seed is 3, but here it is 4; take another file"),
        ({"a": "greedy", "b": "greedy"}, r'line 1: agents \["greedy", "random"\] don\'t play'),
        (
            {"rules": {"tie": "caller"}},
            r'line 1: rules is \{\}, but here it is \{"tie": "caller"\}',
        ),
    ],
)
def test_a_file_of_another_match_is_refused(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    file = tmp_path / "games.jsonl"
    play_match(GAME, "greedy", "random", 2, 3, records=file)
    before = file.read_bytes()
    asked: dict[str, Any] = {"seed": 3, "a": "greedy", "b": "random", "rules": {}} | change
    game = make_game("tableau", **asked.pop("rules"))
    with pytest.raises(RecordFileError, match=message):
        play_match(game, deals=2, records=file, **asked)
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    "text", ["a shopping list", "a shopping list\n", "{}\n", "[1]\n", '{"game": "tableau"}\n']
)
def test_a_file_of_something_else_is_left_as_it_is(tmp_path: Path, text: str) -> None:
    file = tmp_path / "games.jsonl"
    file.write_text(text)
    with pytest.raises(RecordFileError, match="line 1"):
        play_match(GAME, "greedy", "random", 2, 3, records=file)
    assert file.read_text() == text


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that never ends")
def test_a_device_is_refused_not_read(capsys: pytest.CaptureFixture[str]) -> None:
    code = cli.main(["match", "greedy", "random", "--deals", "1", "--records", "/dev/full"])
    assert (code, capsys.readouterr().err) == (
        2,
        "tricktable: /dev/full is no ordinary file, so records can't be read back\n",
    )


def test_two_runs_at_once_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fcntl = pytest.importorskip("fcntl")
    file = tmp_path / "games.jsonl"
    with file.open("ab") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        code = cli.main(["match", "greedy", "random", "--deals", "1", "--records", str(file)])
    assert code == 2
    assert capsys.readouterr().err == (
        f"tricktable: {file} is in use: another run is writing to it\n"
    )


def test_a_file_that_can_not_be_written_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["match", "greedy", "random", "--records", str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"tricktable: {tmp_path}: Is a directory\n"


# -- slow agents -----------------------------------------------------------------------------
class Thinker(GreedyAgent):
    """Asks to be played a few deals at a time."""

    deals_at_once = 3


def test_an_agent_may_ask_for_fewer_deals_in_lockstep() -> None:
    seen = []
    result = play_match(
        GAME, Thinker(GAME), "random", 70, 3, progress=lambda deals, _: seen.append(deals)
    )
    assert seen[:3] == [3, 6, 9]
    assert seen[-1] == 70
    assert (
        result.per_deal.share == play_match(GAME, "greedy", "random", 70, 3).per_deal.share
    ).all()


class FullDisk(io.FileIO):
    """A file on a disk without room."""

    def write(self, content: Any) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_is_said_with_the_file(tmp_path: Path) -> None:
    file = tmp_path / "games.jsonl"
    names = "greedy", "random"
    chunk = table_of(GAME, names, names, 3, records=True).play(0, 1, 0, 2)
    with FullDisk(file, "ab+") as full:
        records = RecordFile(full, file, GAME, 3, names, [(0, 1)])
        with pytest.raises(OSError, match=r"No space left on device: .*games\.jsonl"):
            records.write(chunk)
