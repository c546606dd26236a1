"""What calls are worth with all cards known: values, deals mirrored, figures, records, command."""

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracle import OracleRound
from oracle_search import minimax
from oracle_texts import OracleRules

from agents.greedy import GreedyAgent
from tricktable_env.registry import make_game
from tricktable_env.tableau import Rules
from tricktable_env.tableau.state import TRUMP, TURN
from tricktable_lab import cli
from tricktable_lab.advantage.deals import paired
from tricktable_lab.known.report import BEST, CHANCE, WORST, Calls, Deals, chosen, figures
from tricktable_lab.known.study import CallsError, CallsStoppedError, study_calls
from tricktable_lab.known.valuefile import ValueFile
from tricktable_lab.known.values import Questions, decided, exactly, nothing
from tricktable_lab.match import play_match
from tricktable_lab.recordfile import RecordFileError
from tricktable_lab.solve import solve_text
from tricktable_lab.table import MatchError, dealt

SMALL: dict[str, Any] = {"suits": 3, "ranks": 4, "hand": 2, "piles": 2}
ODD: dict[str, Any] = {"suits": 4, "ranks": 4, "hand": 3, "piles": 1}
GAME = make_game("tableau", **SMALL)


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def document(result: Any) -> dict[str, Any]:
    return result.as_json() | {"seconds": 0}


def slow_value(options: dict[str, Any], state: Any, trump: int, lead: int) -> int:
    """The caller's tricks by minimax on the oracle of the rules."""
    state = state.copy()
    state[TRUMP], state[TURN] = trump, lead
    text = make_game("tableau", **options).position(state)
    named = {"trump": "none" if trump == 4 else "SHDC"[trump]}
    rules = OracleRules(**options, **named, first_lead=("caller", "dealer")[lead])
    best = max(minimax(OracleRound.from_position(text, rules)).values())
    return best if lead == 0 else rules.tricks - best


# -- values ----------------------------------------------------------------------------------
@pytest.mark.parametrize("options", [SMALL, ODD], ids=["even", "odd"])
def test_values_are_those_of_the_oracle_of_the_rules(options: dict[str, Any]) -> None:
    trumps = [*range(options["suits"]), 4]
    solved = Questions(Rules(**options), 3, trumps, exact=4).play(0, 0, 0, 4)
    for deal, known in solved:
        assert exactly(known)[trumps].all()
        state = dealt(make_game("tableau", **options), 3, np.array([deal]))[0]
        for trump, lead in itertools.product(trumps, (0, 1)):
            assert known[trump, lead, 0] == slow_value(options, state, trump, lead)


@pytest.mark.parametrize("options", [SMALL, ODD, {"ranks": 5, "hand": 4, "piles": 3}])
def test_who_wins_agrees_with_the_tricks_and_takes_no_more(options: dict[str, Any]) -> None:
    rules = Rules(**options)
    trumps = [*range(rules.suits), 4]
    exact = Questions(rules, 1, trumps, exact=30).play(0, 0, 0, 30)
    wins = Questions(rules, 1, trumps).play(0, 0, 0, 30)
    half = rules.tricks / 2
    for (_, tricks), (_, known) in zip(exact, wins, strict=True):
        for trump, lead in itertools.product(trumps, (0, 1)):
            took, (low, high) = tricks[trump, lead, 0], known[trump, lead]
            told = {low > half: "won", high < half: "lost", low == high == half: "tied"}[True]
            assert told == ("won" if took > half else "lost" if took < half else "tied")
            assert low <= took <= high


def test_the_value_of_a_deal_mirrored_is_that_of_the_other_lead() -> None:
    solved = Questions(GAME.rules, 5, range(3), exact=3).play(0, 0, 0, 3)
    deals = Deals(np.stack([one.known for one in solved]), GAME.rules)
    for i, state in enumerate(paired(GAME, 5, 0, 3)):
        for trump, lead in itertools.product(range(3), (0, 1)):
            tricks = deals.tricks(("caller", "dealer")[lead])[i // 2, i % 2, trump]
            assert tricks == slow_value(SMALL, state, trump, lead)


# -- figures ---------------------------------------------------------------------------------
def known_of(tricks: Any) -> Any:
    """Exact bounds from the caller's tricks by deal, suit and lead; without trump nothing."""
    known = np.stack([nothing(26)] * len(tricks))
    known[:, :4] = np.array(tricks)[..., None]
    return known


def test_ties_and_both_halves_of_a_deal_are_counted() -> None:
    deals = Deals(known_of([[(14, 13), (13, 12), (12, 14), (20, 6)]]), Rules())
    as_dealt = {"dealer": [1, 0, 0, 1], "caller": [1, 1, 0, 1], "draw": [1, 0.5, 0, 1]}
    # Mirrored the caller who leads takes what is left of the second number of each pair.
    mirrored = {"dealer": [0, 1, 0, 1], "caller": [1, 1, 0, 1], "draw": [0.5, 1, 0, 1]}
    for tie in ("dealer", "caller", "draw"):
        shares = deals.shares("caller", tie)[0, :, :4]
        assert shares.tolist() == [as_dealt[tie], mirrored[tie]]
    assert deals.tricks("dealer")[0, :, :4].tolist() == [[13, 12, 14, 6], [12, 13, 14, 6]]
    calls = Calls("x", 5, np.array([[1, 0]]))
    shares = deals.shares("caller", "dealer")
    brought = [chosen(shares, way, 4).tolist() for way in (calls, BEST, CHANCE, WORST)]
    assert brought == [[[0, 0]], [[1, 1]], [[0.5, 0.5]], [[0, 0]]]


def test_figures_are_those_worked_out_by_hand() -> None:
    tricks = [
        [(14, 13), (13, 12), (12, 14), (20, 6)],
        [(10, 10), (10, 10), (10, 10), (10, 10)],
    ]
    deals = Deals(known_of(tricks), Rules())
    calls = Calls("x", 5, np.array([[0, 1], [0, 0]]))
    told = figures(deals, deals, [calls], no_trump=False)
    found = {row["trump"]: row for row in told["calls"]}
    # As dealt 1 0 0 1, mirrored 0 1 0 1; the other deal 0 0 0 0 and 1 1 1 1.
    assert [found[way]["mean"]["mean"] for way in ("x", BEST, CHANCE, WORST)] == [
        0.75,
        0.75,
        0.5,
        0.25,
    ]
    assert found["x"]["above_chance"]["mean"] == 0.25
    assert found["x"]["below_best"]["mean"] == 0
    assert found["x"]["as_good_as_best"]["mean"] == 1
    assert "above_first" not in found["x"]
    assert found[WORST]["above_first"]["mean"] == -0.5
    assert found[CHANCE]["as_good_as_best"]["mean"] == 0.75
    assert found[WORST]["as_good_as_best"]["mean"] == 0.5
    in_tricks = {row["trump"]: row for row in told["tricks"]}
    assert in_tricks["x"]["mean"]["mean"] == pytest.approx((14 + 14 + 10 + 16) / 4)
    assert in_tricks["x"]["below_best"]["mean"] == pytest.approx((6 + 6 + 0 + 0) / 4)
    changes = {name: row["mean"] for name, row in told["changes"].items()}
    # The dealer leading, the caller wins 0 0 1 0, mirrored 0 0 1 0, and 0, and 1.
    assert changes["with_lead"] == (3 + 3) / 16
    assert changes["won_by_leading"] == (2 + 2) / 16
    assert changes["lost_by_leading"] == (1 + 1) / 16
    assert changes["with_trump"] == 0.5
    assert changes["tied"] == (1 + 1) / 16


def test_the_parts_add_up_to_the_share_and_nobody_is_favoured_without_them() -> None:
    result = study_calls(GAME, ["greedy"], 60, 2)
    told = result.as_json()
    share = {(r["trump"], r["lead"], r["tie"]): r["mean"] for r in told["shares"]}
    both_leads = share[CHANCE, "caller", "draw"] + share[CHANCE, "dealer", "draw"]
    assert both_leads == pytest.approx(1)
    for row in told["calls"]:
        parts = {name: part["mean"] for name, part in row["parts"].items()}
        total = 0.5 + sum(parts.values())  # of numbers rounded to six digits
        assert total == pytest.approx(share[row["trump"], "caller", "dealer"], abs=5e-6)
        assert parts["lead"] > 0 > parts["tie"]
        assert (parts.get("call", 0) > 0) == (row["trump"] in ("greedy", BEST))


def test_no_call_is_better_than_the_best_nor_worse_than_the_worst() -> None:
    game = make_game("tableau", **SMALL, tie="draw", first_lead="dealer")
    result = study_calls(game, ["greedy", "random"], 50, 1, tricks=50, seen=(0, 1, 2))
    for told in (result.figures["calls"], result.figures["tricks"]):
        mean = {(row["trump"], row["seen"]): row["mean"]["mean"] for row in told}
        assert len(mean) == 6 + 3
        assert all(mean[WORST, None] <= value <= mean[BEST, None] for value in mean.values())
        assert mean["greedy", 2] > mean["greedy", 0]


# -- calls -----------------------------------------------------------------------------------
def test_an_agent_calls_what_it_calls_in_a_match_of_the_same_deals(tmp_path: Path) -> None:
    file = tmp_path / "games.jsonl"
    play_match(GAME, "greedy", "greedy", 40, 6, records=file)
    called = ["SHDC".index(game["plays"][0][-1]) for game in lines(file)[::2]]
    result = study_calls(GAME, ["greedy"], 40, 6, tricks=40)
    values = Questions(GAME.rules, 6, range(3), exact=40).play(0, 0, 0, 40)
    as_dealt = [one.known[suit, 0, 0] for one, suit in zip(values, called, strict=True)]
    mirrored = paired(GAME, 6, 0, 40)[1::2]
    views = GAME.views(mirrored, np.arange(40), np.zeros(40, np.int64))
    suits = GreedyAgent(GAME).act_batch(views, GAME.masks(views), None) - 52
    other = [6 - one.known[suit, 1, 0] for one, suit in zip(values, suits, strict=True)]
    assert result.figures["tricks"][0]["mean"]["mean"] == np.mean([as_dealt, other])


def test_what_is_no_call_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class Clubs:
        def __init__(self, game: object) -> None: ...

        def act(self, view: Any, mask: Any, rng: Any) -> int:
            return 55

    monkeypatch.setattr("tricktable_lab.known.study.make_agent", lambda spec, game: Clubs(game))
    with pytest.raises(MatchError, match="agent 'greedy' called trump C in deal 0"):
        study_calls(GAME, ["greedy"], 3, 1)


# -- records ---------------------------------------------------------------------------------
def test_records_hold_what_the_solver_says_of_their_positions(tmp_path: Path) -> None:
    file = tmp_path / "calls.jsonl"
    study_calls(GAME, [], 12, 1, tricks=6, no_trump=True, records=file)
    for record in lines(file):
        for lead, name in enumerate(("caller", "dealer")):
            rules = Rules(**record["rules"], first_lead=("caller", "dealer")[lead])
            moves = solve_text(record["position"], rules).moves
            assert len(moves) == 3
            for move, tricks in moves.items():
                low, high = record["tricks"][move[-1]][name]
                assert low <= tricks.low <= high
                assert low == high or record["deal"] >= 6
        assert list(record["tricks"]) == ["S", "H", "D", "N"]


def test_the_number_of_workers_changes_nothing(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    results = [
        study_calls(GAME, ["greedy"], 20, 4, workers, tricks=5, records=file)
        for workers, file in ((1, one), (2, two))
    ]
    assert document(results[0]) == document(results[1])
    assert one.read_text().splitlines() == sorted(
        two.read_text().splitlines(), key=lambda line: int(json.loads(line)["deal"])
    )


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The deals of which something was asked, with the goals."""
    found: list[tuple[int, int]] = []
    solve = Questions._solved

    def watched(self: Questions, deal: int, state: Any) -> Any:
        narrow = self._narrow
        monkeypatch.setattr(
            self, "_narrow", lambda s, wanted: (found.append((deal, wanted)), narrow(s, wanted))[1]
        )
        return solve(self, deal, state)

    monkeypatch.setattr(Questions, "_solved", watched)
    return found


def test_another_run_adds_what_is_missing(tmp_path: Path, asked: list[tuple[int, int]]) -> None:
    file = tmp_path / "calls.jsonl"
    study_calls(GAME, ["greedy"], 10, 4, records=file)
    assert {deal for deal, _ in asked} == set(range(10))
    asked.clear()
    # Other agents, rules of ties and leads, and cards seen are no other deals.
    other = make_game("tableau", **SMALL, tie="caller", first_lead="dealer", call_cards=2)
    again = study_calls(other, ["random"], 10, 4, seen=(0, 1), records=file)
    assert not asked
    assert document(again) == document(study_calls(other, ["random"], 10, 4, seen=(0, 1)))
    asked.clear()
    more = study_calls(GAME, ["greedy"], 15, 4, tricks=5, no_trump=True, records=file)
    assert len(lines(file)) == 10 + 15
    asked.clear()
    assert document(study_calls(GAME, ["greedy"], 15, 4, tricks=5, records=file)) != document(more)
    fresh = study_calls(GAME, ["greedy"], 15, 4, tricks=5, no_trump=True)
    assert document(more) == document(fresh)


@pytest.mark.parametrize("cut", [0, 1, 300, 2000])
def test_a_file_cut_off_anywhere_is_completed(tmp_path: Path, cut: int) -> None:
    file = tmp_path / "calls.jsonl"
    whole = study_calls(GAME, ["greedy"], 10, 4, records=file)
    written = file.read_bytes()
    file.write_bytes(written[:cut])
    assert document(study_calls(GAME, ["greedy"], 10, 4, records=file)) == document(whole)
    assert file.read_bytes() == written


def test_a_stopped_run_tells_and_keeps_what_is_solved(tmp_path: Path) -> None:
    file = tmp_path / "calls.jsonl"

    def watch(solved: int) -> None:
        if solved == 4:
            raise KeyboardInterrupt

    with pytest.raises(CallsStoppedError, match="stopped") as stop:
        study_calls(GAME, ["greedy"], 10, 4, records=file, watch=watch)
    assert stop.value.result is not None
    assert document(stop.value.result) == document(study_calls(GAME, ["greedy"], 4, 4))
    assert [record["deal"] for record in lines(file)] == [0, 1, 2, 3]


@pytest.mark.skipif(os.name == "nt", reason="sends a signal")
@pytest.mark.parametrize("workers", ["1", "2"])
def test_ctrl_c_prints_what_is_known(tmp_path: Path, workers: str) -> None:
    file = tmp_path / "calls.jsonl"
    rules = [f"--rule={key}={value}" for key, value in SMALL.items()]
    program = [sys.executable, "-m", "tricktable_lab.cli", "calls", "--deals", "900000", *rules]
    program += ["--records", str(file), "--workers", workers, "--json", "--seed", "4"]
    process = subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 120
    while not (file.exists() and '"deal": 0,' in file.read_text()) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 1
    told = json.loads(out)
    assert f"stopped after {told['deals']} of 900000 deals" in err
    assert "Traceback" not in err
    assert len(lines(file)) >= told["deals"] > 0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"seed": 5}, "seed is 5, but here it is 4"),
        ({"rules": {}}, "rules is {}, but here"),
        ({"deal": 1}, "position is not that of deal 1"),
        ({"deal": True}, "deal is true, no number of a deal"),
        ({"tricks": []}, "tricks is"),
        ({"tricks": {"X": {}}}, "'X'"),
        ({"tricks": {"S": {"caller": [4, 3], "dealer": [0, 0]}}}, r"tricks of S are \[4, 3\]"),
        ({"tricks": {"S": {"caller": [0, 7], "dealer": [0, 0]}}}, r"tricks of S are \[0, 7\]"),
        ({"tricks": {"S": {"caller": [0], "dealer": [0, 0]}}}, r"tricks of S are \[0\]"),
    ],
)
def test_records_of_something_else_are_refused_and_stay(
    tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    file = tmp_path / "calls.jsonl"
    study_calls(GAME, [], 1, 4, records=file)
    file.write_text(json.dumps(lines(file)[0] | change) + "\n")
    before = file.read_bytes()
    with pytest.raises(RecordFileError, match=rf"line 1: .*{said}.*; take another file"):
        study_calls(GAME, [], 2, 4, records=file)
    assert file.read_bytes() == before


def test_lines_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "calls.jsonl"
    study_calls(GAME, [], 1, 4, tricks=1, records=file)
    record = lines(file)[0]
    tricks = (record["tricks"]["H"]["caller"][0] + 1) % 7
    record["tricks"]["H"]["caller"] = [tricks, tricks]
    with file.open("a") as more:
        more.write(json.dumps(record) + "\n")
    with pytest.raises(RecordFileError, match="line 2: tricks of H contradict an earlier line"):
        study_calls(GAME, [], 1, 4, records=file)


def test_after_a_stop_deals_behind_an_unfinished_one_do_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "calls.jsonl"
    study_calls(GAME, [], 6, 4, tricks=6, records=file)
    kept = [line for line in file.read_text().splitlines(keepends=True) if '"deal": 3' not in line]
    file.write_text("".join(kept))

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Questions, "_solved", stop)
    with pytest.raises(CallsStoppedError) as stopped:
        study_calls(GAME, ["greedy"], 6, 4, tricks=2, records=file)
    assert stopped.value.result is not None
    assert (stopped.value.result.deals, stopped.value.result.tricks_deals) == (3, 2)


def test_bounds_of_several_lines_all_hold(tmp_path: Path) -> None:
    file = tmp_path / "calls.jsonl"
    study_calls(GAME, [], 1, 4, tricks=1, records=file)
    record = lines(file)[0]
    del record["tricks"]["H"]
    with file.open("a") as more:
        more.write(json.dumps(record) + "\n")
    with file.open("rb+") as opened:
        known = ValueFile(opened, file, GAME.rules, 4).known[0]
    assert exactly(known)[:3].all()
    assert decided(known, 6)[:3].all()
    assert (known[3:] == nothing(6)[3:]).all()


# -- the command -----------------------------------------------------------------------------
COMMAND = ["calls", *(f"--rule={key}={value}" for key, value in SMALL.items())]


def test_the_command_prints_tables_json_and_a_picture(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    picture = tmp_path / "calls.png"
    arguments = [*COMMAND, "greedy", "random", "--deals=9", "--tricks=4", "--no-trump"]
    assert cli.main([*arguments, "--plot", str(picture)]) == 0
    shown = capsys.readouterr().out
    for said in ("greedy", "best suit", "no trump", "the winner changes with the lead", "longest"):
        assert said in shown
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert cli.main([*arguments, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    again = study_calls(GAME, ["greedy", "random"], 9, 0, tricks=4, no_trump=True)
    assert told | {"seconds": 0} == json.loads(json.dumps(document(again)))
    assert (told["deals"], told["tricks_deals"], told["rules"]) == (9, 4, SMALL)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nobody"], "no agent 'nobody'"),
        (["--deals", "0"], "deals=0"),
        (["--workers", "0"], "workers=0"),
        (["--seed", "-1"], "seed=-1"),
        (["--tricks", "21"], "tricks=21 is not from 0 to deals=20"),
        (["--seen", "3"], "seen=3 is not from 0 to 2"),
        (["--rule", "trump=random"], "trump is called"),
        (["--rule", "rounds_to_win=2"], "single rounds"),
        (["--plot", "x.nope"], "no kind of picture"),
    ],
)
def test_misuse_gets_one_line(
    capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    if "--plot" in arguments:
        pytest.importorskip("matplotlib")
    assert cli.main([*COMMAND, *arguments]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert said in err


def test_other_games_are_refused() -> None:
    with pytest.raises(CallsError, match="not in honors"):
        study_calls(make_game("honors", num_players=2), [], 1, 0)
