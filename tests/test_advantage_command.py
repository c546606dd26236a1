"""`tricktable advantage`: what it prints and keeps, what goes on from a file, what is refused."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tricktable_env.opponents import AGENTS
from tricktable_env.tableau import Rules
from tricktable_lab import cli
from tricktable_lab.advantage.arms import arms_of
from tricktable_lab.advantage.conduct import StudyStoppedError, run_study
from tricktable_lab.advantage.study import Study
from tricktable_lab.recordfile import RecordFileError, kept_file

PROGRAM = [sys.executable, "-W", "error", "-m", "tricktable_lab.cli"]
SMALL = Rules(suits=2, ranks=8, hand=4, piles=2)
DECK = ("--rule", "suits=2", "--rule", "ranks=8", "--rule", "hand=4", "--rule", "piles=2")


def study(
    *agents: str, deals: int = 30, arms: str = "split", seed: int = 3, rules: Rules = SMALL
) -> Study:
    return Study(rules, arms_of(arms.split(","), rules), agents, (deals,) * len(agents), seed)


def untimed(report: dict[str, Any]) -> dict[str, Any]:
    return report | {"seconds": 0}


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = cli.main(("advantage", *arguments))
    out, err = capsys.readouterr()
    return code, out, err


class Counting:
    """As random, but it counts its decisions; a new one is asked once, to compile."""

    asked = 0
    deals_at_once = 8

    def __init__(self, game: Any) -> None:
        from agents.random import RandomAgent

        self._random = RandomAgent(game)

    def act_batch(self, views: Any, masks: Any, streams: Any) -> Any:
        type(self).asked += len(views) if len(views) > 1 else 0
        return self._random.act_batch(views, masks, streams)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> type[Counting]:
    monkeypatch.setitem(AGENTS, "counting", f"{__name__}:Counting")
    monkeypatch.setattr(Counting, "asked", 0)
    return Counting


# -- what was played is not played again -------------------------------------------------------
def test_a_file_goes_on_with_more_deals_arms_and_agents(
    tmp_path: Path, counted: type[Counting]
) -> None:
    file = tmp_path / "study.jsonl"
    run_study(study("counting", deals=24), records=file)
    first = counted.asked
    assert first > 0
    run_study(study("counting", deals=24), records=file)
    assert counted.asked == first
    whole = study("random", "counting", deals=40, arms="split,tie,suits")
    lines = file.read_bytes()
    extended = run_study(whole, records=file)
    played = counted.asked - first
    assert file.read_bytes().startswith(lines)
    counted.asked = 0
    fresh = run_study(whole)
    assert untimed(extended) == untimed(fresh)
    assert played == counted.asked - first
    assert untimed(run_study(whole, records=file)) == untimed(fresh)


def test_a_deal_is_kept_once_also_where_a_chunk_was_begun(tmp_path: Path) -> None:
    file = tmp_path / "study.jsonl"
    for deals in (30, 45, 45, 20):
        run_study(study("random", deals=deals), records=file)
    ranges: dict[str, list[int]] = {}
    for line in file.read_text().splitlines():
        told = json.loads(line)
        deals = ranges.setdefault(json.dumps(told["rules"]), [])
        deals += range(told["first"], told["first"] + len(told["luck"]))
    assert len(ranges) == 5
    assert all(deals == list(range(45)) for deals in ranges.values())


def test_what_was_cut_off_is_dropped_and_played_again(tmp_path: Path) -> None:
    file = tmp_path / "study.jsonl"
    fresh = run_study(study("random"), records=file)
    whole = file.read_bytes()
    for cut in (1, 40, len(whole) // 2):
        file.write_bytes(whole[:-cut])
        assert untimed(run_study(study("random"), records=file)) == untimed(fresh)
        assert sorted(file.read_bytes().splitlines()) == sorted(whole.splitlines())


def test_files_of_one_study_can_be_joined(tmp_path: Path) -> None:
    files = [tmp_path / "a", tmp_path / "b"]
    for file, agent in zip(files, ("random", "greedy"), strict=True):
        run_study(study(agent), records=file)
    joined = tmp_path / "joined"
    joined.write_bytes(b"".join(file.read_bytes() for file in files))
    before = joined.read_bytes()
    both = study("random", "greedy")
    assert untimed(run_study(both, records=joined)) == untimed(run_study(both))
    assert joined.read_bytes() == before


def test_one_worker_or_two_play_the_same(tmp_path: Path) -> None:
    files = [tmp_path / "one", tmp_path / "two"]
    of = study("random", "montecarlo:worlds=2", deals=20)
    one, two = (run_study(of, n, records=file) for n, file in enumerate(files, start=1))
    assert untimed(one) == untimed(two)
    assert files[0].read_bytes() == files[1].read_bytes()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"seed": 4}, "seed is 4, but here it is 3"),
        ({"rules": {}}, "rule suits is 4, but here it is 2"),
        ({"rules": {"suits": 9}}, "rules: suits=9"),
        ({"rules": {"colour": 1}}, "colour"),
        ({"study": "another"}, "no deals of a study"),
        ({"first": -1}, "no numbers of deals"),
        ({"first": "0"}, "no numbers of deals"),
        ({"tricks": [1, 2, 3]}, "reshape"),
        ({"tricks": [], "luck": []}, "no numbers of deals"),
        ({"tricks": [9, 0], "luck": [0]}, "no numbers from 0 to 8"),
        ({"tricks": [1.5, 0], "luck": [0]}, "no numbers from 0 to 8"),
        ({"luck": None}, "no numbers of deals"),
        ({"agent": ["random"]}, "unhashable"),
        (None, "Expecting value"),
    ],
)
def test_a_file_of_something_else_is_refused_in_one_line(
    tmp_path: Path, change: Any, said: str
) -> None:
    file = tmp_path / "study.jsonl"
    run_study(study("random"), records=file)
    first, *rest = file.read_text().splitlines()
    changed = "no json" if change is None else json.dumps(json.loads(first) | change)
    written = "\n".join([*rest, changed, first, ""])
    file.write_text(written)
    with pytest.raises(RecordFileError, match=f"line {len(rest) + 1}: .*{said}") as error:
        run_study(study("random", deals=40), records=file)
    assert "\n" not in str(error.value)
    assert file.read_text() == written


def test_a_line_without_a_key_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "study.jsonl"
    file.write_text('{"study": "advantage", "seed": 3}\n')
    with pytest.raises(RecordFileError, match="line 1: 'rules' is missing; take another file"):
        run_study(study("random"), records=file)


def test_a_file_of_game_records_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "games.jsonl"
    games = '{"game": "tableau", "rules": {}}\n{"ga'
    file.write_text(games)
    with pytest.raises(RecordFileError, match="line 1"):
        run_study(study("random"), records=file)
    file.write_text(games[-4:])
    with pytest.raises(RecordFileError, match="line 1"):
        run_study(study("random"), records=file)
    assert file.read_text() == games[-4:]


def test_a_file_in_use_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "study.jsonl"
    pytest.importorskip("fcntl")
    with kept_file(file), pytest.raises(RecordFileError, match="in use"):
        run_study(study("random"), records=file)


# -- stopping ----------------------------------------------------------------------------------
def stop_after(games: int) -> Any:
    def watch(done: int) -> None:
        if done >= games:
            raise KeyboardInterrupt

    return watch


def test_a_study_that_is_stopped_reports_whole_deals_and_goes_on(tmp_path: Path) -> None:
    file = tmp_path / "study.jsonl"
    of = study("montecarlo:worlds=1", deals=40)  # 8 deals a chunk, 5 arms
    with pytest.raises(StudyStoppedError, match="stopped") as stopped:
        run_study(of, records=file, watch=stop_after(2 * 8 * 12))
    report = stopped.value.report
    assert report is not None
    assert report["agents"][0]["deals"] == 16
    shorter = untimed(run_study(study("montecarlo:worlds=1", deals=16)))
    assert untimed(report) == shorter
    assert untimed(run_study(of, records=file)) == untimed(run_study(of))


def test_stopped_before_a_whole_deal_there_is_no_report() -> None:
    with pytest.raises(StudyStoppedError) as stopped:
        run_study(study("random"), watch=stop_after(1))
    assert stopped.value.report is None


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_killed_it_goes_on_and_stopped_it_prints_what_is_known(tmp_path: Path) -> None:
    file = tmp_path / "study.jsonl"
    words = ("--agents", "montecarlo:worlds=1", *DECK, "--seed", "3", "--records", str(file))

    def begin() -> subprocess.Popen[str]:
        size = file.stat().st_size if file.exists() else 0
        process = subprocess.Popen(
            [*PROGRAM, "advantage", *words, "--json", "--arms", "split", "--deals", "1000000"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(1200):
            if (file.exists() and file.stat().st_size > size + 2000) or process.poll() is not None:
                break
            time.sleep(0.05)
        return process

    process = begin()
    process.kill()
    process.communicate()
    process = begin()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 1, err
    assert err.startswith("tricktable: stopped after")
    assert err.count("\n") == 1
    report = json.loads(out)
    del report["command"]
    deals = report["agents"][0]["deals"]
    assert deals >= 16
    assert untimed(report) == untimed(run_study(study("montecarlo:worlds=1", deals=deals)))


# -- the command -------------------------------------------------------------------------------
def test_json_is_one_document_equal_to_that_of_run_study(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ("--agents", "random,greedy@20", "--deals", "30", "--seed", "3", *DECK)
    code, out, err = call(capsys, *words, "--arms", "split", "--arm", "trump=none", "--json")
    assert (code, err) == (0, "")
    arms = (*arms_of(["split"], SMALL), arms_of(["suits"], SMALL)[-1])
    expected = run_study(Study(SMALL, arms, ("random", "greedy"), (30, 20), 3))
    printed = json.loads(out)
    words = shlex.split(printed.pop("command"))
    assert words[:4] == ["tricktable", "advantage", "--agents", "random@30,greedy@20"]
    assert untimed(printed) == untimed(expected)
    _, again, _ = call(capsys, *words[2:], "--json")
    assert untimed(json.loads(again)) == untimed(json.loads(out))


def test_tables_show_everything_that_was_played(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(
        capsys, "--agents", "random,greedy", "--deals", "100", "--arms", "all", *DECK
    )
    assert code == 0
    for part in (
        *("random", "greedy", "caller wins", "4-4", "fair game", "calling", "leading", "together"),
        *("half each", "both know it", "cards", "none", "longest suit", "A K Q J"),
        "for all agents at once",
    ):
        assert part in " ".join(out.split()), part


def test_a_deck_of_an_odd_number_of_tricks_has_no_ties(capsys: pytest.CaptureFixture[str]) -> None:
    rules = ("--rule", "suits=3", "--rule", "ranks=6", "--rule", "hand=3", "--rule", "piles=3")
    code, out, _ = call(capsys, "--agents", "greedy", "--deals", "10", *rules)
    assert code == 0
    assert "never" in out
    assert "half each" not in out


def test_out_keeps_report_records_and_pictures(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    words = ("--agents", "random,greedy", "--deals", "40", "--arms", "all", *DECK)
    out = tmp_path / "new" / "study"
    assert call(capsys, *words, "--out", str(out))[0] == 0
    pictures = ("shares", "split", "tricks", "seen", "call-cards", "trump")
    names = {"records.jsonl", "report.json", *(f"{name}.png" for name in pictures)}
    assert {file.name for file in out.iterdir()} == names
    code, text, _ = call(capsys, *words, "--out", str(out), "--json")
    assert code == 0
    kept = json.loads((out / "report.json").read_text())
    assert untimed(json.loads(text)) == untimed(kept)
    assert all((out / f"{name}.png").read_bytes()[:4] == b"\x89PNG" for name in pictures)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--arms", "none"), "no arms 'none'; there are split, tie, cards, suits, and all"),
        (("--arm", "trump=X"), "arm 'trump=X': trump='X' is not one of"),
        (("--arm", "hand=3"), "arm 'hand=3' is not KEY=VALUE,... with keys of trump, first_lead"),
        (("--rule", "trump=S"), "in this study trump is called"),
        (("--rule", "rounds_to_win=2"), "single rounds"),
        (("--rule", "hand=40"), "hand=40"),
        (("--agents", "greedy,greedy"), "agent 'greedy' is named twice"),
        (("--agents", "random,random:"), "agent 'random = random:' is named twice"),
        (("--agents", ","), "at least one agent"),
        (("--agents", "nobody"), "no agent 'nobody'"),
        (("--agents", "greedy@0"), "deals=0 is not at least 1"),
        (("--deals", "0"), "deals=0 is not at least 1"),
        (("--workers", "0"), "workers=0 is not at least 1"),
        (("--seed", "-1"), "seed=-1"),
    ],
)
def test_a_wrong_argument_gets_one_line(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    code, out, err = call(capsys, *words)
    assert (code, out) == (2, "")
    assert err.startswith("tricktable: ")
    assert said in err
    assert err.count("\n") == 1


def test_an_illegal_action_ends_the_study(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(AGENTS, "illegal", f"{__name__}:Illegal")
    code, out, err = call(capsys, "--agents", "illegal", "--deals", "5", *DECK)
    assert (code, out) == (1, "")
    assert "agent 'illegal' chose AC as player 0 of deal 0, which is not legal" in err


class Illegal:
    """Plays the ace of clubs whatever is legal."""

    def __init__(self, game: Any) -> None: ...

    def act(self, view: Any, mask: Any, rng: Any) -> int:
        return 51
