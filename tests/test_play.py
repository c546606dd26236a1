"""A person at the terminal: what is shown, how to choose, and that what was played is kept."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import select
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from test_render import cards_in

from tricktable_env import render
from tricktable_env.cards import card_set, read_card
from tricktable_env.registry import make_game
from tricktable_lab import cli
from tricktable_lab.choices import ChoiceError, Choices
from tricktable_lab.play import Sitting
from tricktable_lab.replay import replay_lines
from tricktable_lab.screen import Screen, broken

PROGRAM = [sys.executable, "-W", "error", "-m", "tricktable_lab.cli", "play"]
SMALL = ("--rule", "suits=2", "--rule", "ranks=6", "--rule", "hand=2", "--rule", "piles=1")
posix = pytest.mark.skipif(os.name == "nt", reason="terminals and signals of POSIX")
Sit = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True, scope="module")
def _compiled() -> None:
    """Compiles all that is used, so that no process has to say that it does."""
    for agent in ("greedy", "random"):
        screen = Screen(io.StringIO(), None)
        Sitting(make_game("tableau", rounds_to_win=2), agent, "caller", 0, screen, print)


@pytest.fixture
def sit(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Sit:
    """Plays in this process: what is typed, then arguments; returns code, stdout and stderr."""
    monkeypatch.setattr("shutil.get_terminal_size", lambda: os.terminal_size((80, 24)))

    def run(typed: str | None, *arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", None if typed is None else io.StringIO(typed))
        code = cli.main(["play", *arguments])
        return code, *capsys.readouterr()

    return run


def records(file: Path) -> list[dict[str, Any]]:
    """Returns the records of a file, after playing each of them through the engine."""
    lines = file.read_bytes().splitlines()
    assert [replay.as_json()["ok"] for _, replay in replay_lines(lines)] == [True] * len(lines)
    return [json.loads(line) for line in lines]


# -- a whole game ----------------------------------------------------------------------------
def test_a_game_through_pipes_is_recorded_and_is_that_of_the_environment(tmp_path: Path) -> None:
    file = tmp_path / "games.jsonl"
    arguments = ("--opponent", "greedy", "--seat", "dealer", "--seed", "7", "--record", str(file))
    done = subprocess.run(
        [*PROGRAM, *arguments], input=40 * "1\n", capture_output=True, text=True, timeout=300
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout
    (record,) = records(file)
    assert sum(record["tricks"]) == 26
    won = record["winner"] == "dealer"
    assert f"You {'win' if won else 'lose'} the round." in done.stdout
    assert f"tricks: caller {record['tricks'][0]}, you {record['tricks'][1]}" in done.stdout
    assert (record["agents"], record["seed"]) == (["greedy", "person"], 7)
    env: Any = gymnasium.make("TrickTable/Tableau-v0", opponent="greedy", seat="dealer").unwrapped
    env.reset(seed=7)
    mine = re.findall(r"^you: (\w+)", done.stdout, re.MULTILINE)
    for card in mine:
        _, _, ended, _, info = env.step(read_card(card))
    assert ended
    assert [info["winner"], info["tricks"].tolist()] == [record["winner"], record["tricks"]]
    theirs = re.findall(r"^caller: (\S+ ?[SHDC]?)(?:,|$)", done.stdout, re.MULTILINE)
    assert sorted([*mine, *theirs]) == sorted(record["plays"])


def test_a_match_swaps_roles_and_keeps_a_record_of_each_round(sit: Sit, tmp_path: Path) -> None:
    file = tmp_path / "games.jsonl"
    rules = (*SMALL, "--rule", "rounds_to_win=2", "--rule", "tie=draw")
    for seed in range(3):
        file.unlink(missing_ok=True)
        code, out, _ = sit(
            300 * "1\n", "--seat", "caller", "--seed", str(seed), "--record", str(file), *rules
        )
        assert code == 0
        rounds = records(file)
        wins = [0, 0]
        for number, record in enumerate(rounds):
            callers = number % 2  # the opponent's, who was the dealer at first, is 1
            assert record["agents"][callers] == "person"
            assert (record["round"], record["rules"]["rounds_to_win"]) == (number + 1, 2)
            if record["winner"] != "draw":
                wins[callers ^ ("caller", "dealer").index(record["winner"])] += 1
        assert max(wins) == 2
        assert f"You {'win' if wins[0] == 2 else 'lose'} the match." in out
        assert out.count("Round ") == len(rounds) - 1
        assert "now you are the dealer" in out
        last = re.findall(r"^rounds won: (?:caller|you) .*$", out, re.MULTILINE)[-1]
        assert (f"you {wins[0]}" in last, str(wins[1]) in last) == (True, True)


# -- what is shown ---------------------------------------------------------------------------
def test_the_table_shows_all_that_a_person_needs_and_no_hidden_card(
    sit: Sit, tmp_path: Path
) -> None:
    file = tmp_path / "games.jsonl"
    arguments = ("--opponent", "greedy", "--seat", "caller", "--seed", "3", "--record", str(file))
    code, out, err = sit("trump S\nTS\nquit\n", *arguments)
    assert (code, err) == (0, "")
    (record,) = records(file)
    assert record["plays"] == ["trump S", "TS", "KS", "7S"]
    assert "winner" not in record
    shown = out.split("your turn>")
    assert "trump not called yet" in shown[0]
    assert " 1 trump S   2 trump H   3 trump D   4 trump C" in shown[0]
    assert shown[1].count("beneath ?   ?   ?   ?   ?   ?   ?   ?") == 2
    assert "hand     1 TS   2 5S   3 2S    4 TH   5 5H" in shown[1]
    assert "table   11 KH  12 9H  13 6H   14 QD" in shown[1]
    for part in ("you: TS", "dealer: KS, which uncovers 7D", "dealer: 7S", "dealer led 7S"):
        assert part in shown[2]
    assert "last trick: caller TS, dealer KS, taken by the dealer" in shown[2]
    assert "tricks: caller 0, dealer 1" in shown[2]
    assert "caller to act" in shown[2]
    game = make_game("tableau")
    states = game.new(np.zeros(1, np.uint64))
    game.place(states[0], record["position"])
    seen: set[int] = set()
    for text, plays in zip(shown, ([], ["trump S"], ["TS", "KS", "7S"]), strict=False):
        for play in plays:
            game.step(states, np.zeros(1, np.int64), np.array([game.read_action(play)]))
        seen |= cards_in(render.picture(game, states[0], 0)) | {read_card("TS"), read_card("7D")}
        assert cards_in(text) - seen - set(map(read_card, ("KS", "7S"))) == set()


@pytest.mark.parametrize("width", [30, 40, 60, 79])
def test_any_line_fits_a_narrow_terminal(
    sit: Sit, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setattr("shutil.get_terminal_size", lambda: os.terminal_size((width, 24)))
    _, out, _ = sit(60 * "1\n", "--seat", "caller", "--seed", "3", "--rule", "rounds_to_win=2")
    table = [line for line in out.splitlines() if not line.startswith("beneath")]
    assert max(map(len, table)) < max(width, 40)  # the piles themselves take 38


def test_lines_break_at_bars_and_between_choices() -> None:
    assert broken("short", 20) == ["short"]
    assert broken("one | two | three", 11) == ["one | two", "three"]
    assert broken("hand     1 AS   2 KS   3 QS", 20) == ["hand     1 AS   2 KS", "        3 QS"]
    assert broken("word word word", 10) == ["word word", "        word"]


# -- choosing --------------------------------------------------------------------------------
def tableau_choices(legal: str, hand: str = "", table: str = "") -> Choices:
    """Returns the choices of cards and calls, with spaces between cards, calls as `trump-S`."""
    game = make_game("tableau")
    held = {
        "hand": card_set(map(read_card, hand.split())),
        "table": card_set(map(read_card, table.split())),
    }
    return Choices(game, [game.read_action(a.replace("-", " ")) for a in legal.split()], held)


def test_cards_are_listed_by_place_and_suit_and_chosen_by_number_or_text() -> None:
    choices = tableau_choices("2C AS TS KH KS", hand="2C AS TS", table="KH KS")
    assert choices.text() == "hand     1 AS   2 TS    3 2C\ntable    4 KS    5 KH"
    for words, card in (("1", "AS"), ("as", "AS"), ("10s", "TS"), ("ts", "TS"), ("5", "KH")):
        assert choices.read(words) == read_card(card)


def test_calls_are_chosen_by_number_text_or_suit() -> None:
    choices = tableau_choices("trump-S trump-H trump-D trump-C")
    assert [choices.read(words) for words in ("3", "trump d", "d")] == [54, 54, 54]


@pytest.mark.parametrize(
    ("choices", "words", "said"),
    [
        (tableau_choices("KH 2H", "KH 3S", "2H"), "3s", "3S: you must follow hearts; .* KH, 2H"),
        (tableau_choices("KH 2H", "KH 3S", "2H"), "ah", "AH: not among the cards .*hand and table"),
        (tableau_choices("KH 2H", "KH 3S", "2H"), "trump s", "trump S: now a card is to be played"),
        (tableau_choices("KH 2H", "KH 3S", "2H"), "3", "no choice 3: the numbers are 1 to 2"),
        (tableau_choices("KH 2H", "KH 3S", "2H"), 5000 * "9", "no choice 9{30}: the numbers"),
        (tableau_choices("KH 2H", "KH 3S", "2H"), "\u0663", "no choice: '\u0663' .a number, KH"),
        (tableau_choices("KH 2H", "KH 3S", "2H"), 5000 * "x", "no choice: 'x{30}' "),
        (tableau_choices("trump-S trump-H", "KH"), "kh", "KH: cards are played later; .*trump S"),
        (tableau_choices("trump-S trump-H", "KH"), "trump c", "trump C: you may choose trump S"),
        (tableau_choices("KH 2H"), "3s", "3S: you must follow hearts"),
        (tableau_choices("KH 2S"), "3s", "3S: not legal; you may choose"),
    ],
)
def test_what_is_not_legal_is_explained(choices: Choices, words: str, said: str) -> None:
    with pytest.raises(ChoiceError, match=said) as error:
        choices.read(words)
    assert len(str(error.value)) < 200


class Announcing:
    """What `Choices` asks of a game in which players announce numbers."""

    num_actions = 60

    def action_text(self, action: int) -> str:
        tableau = make_game("tableau")
        return tableau.action_text(action) if action < 52 else f"announce {action - 52}"


def test_an_announcement_is_chosen_by_its_own_number() -> None:
    game: Any = Announcing()
    choices = Choices(game, [52, 53, 55], {})
    assert (choices.read("3"), choices.read("announce 1")) == (55, 53)
    with pytest.raises(ChoiceError, match="no choice 2"):
        choices.read("2")
    assert choices.text() == " 0 announce 0   1 announce 1   3 announce 3"


def test_a_mistake_changes_nothing_and_is_asked_again(sit: Sit, tmp_path: Path) -> None:
    file = tmp_path / "games.jsonl"
    typed = "9\nfoo\nAS\n\ntrump s\n2h\nhelp\nlegal\ntable\n KH \nQUIT\n"
    code, out, _ = sit(typed, "--seat", "caller", "--seed", "3", "--record", str(file))
    assert code == 0
    assert records(file)[0]["plays"][:2] == ["trump S", "KH"]
    for part in ("1 to 4", "'foo'", "played later", "2H: not among", "quit: stop", "Stopped."):
        assert part in out


def test_enter_plays_the_only_card(sit: Sit) -> None:
    rules = ("--rule", "suits=1", "--rule", "ranks=2", "--rule", "hand=1", "--rule", "piles=0")
    code, out, _ = sit("\n\n", "--rule", "trump=none", "--seat", "caller", *rules)
    assert code == 0
    assert re.search(r"your turn \(Enter: [AK]S\)>", out)
    assert "the round." in out


# -- ends ------------------------------------------------------------------------------------
@pytest.mark.parametrize("typed", ["trump S\nTS\n", "trump S\nTS\nq\n", "trump S\nTS"])
def test_the_end_of_the_input_and_quit_keep_the_record(
    sit: Sit, tmp_path: Path, typed: str
) -> None:
    file = tmp_path / "games.jsonl"
    file.write_text('{"game": "other"}')  # cut off without a line break
    arguments = ("--opponent", "greedy", "--seat", "caller", "--seed", "3", "--record", str(file))
    code, out, err = sit(typed, *arguments)
    assert (code, err) == (0, "")
    assert " ".join(out.split()).endswith(f"Stopped. The record is in {file}.")
    first, second = file.read_text().splitlines()
    assert first == '{"game": "other"}'
    assert json.loads(second)["plays"] == ["trump S", "TS", "KS", "7S"]


@pytest.mark.parametrize("typed", [None, "", "quit\n"])
def test_nothing_played_leaves_no_record(sit: Sit, tmp_path: Path, typed: str | None) -> None:
    file = tmp_path / "games.jsonl"
    code, _, err = sit(typed, "--seat", "caller", "--record", str(file))
    assert (code, err, file.exists()) == (0, "", False)
    file.touch()
    assert sit(typed, "--seat", "caller", "--record", str(file))[0] == 0
    assert file.exists(), "it was there before"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a full disk")
def test_a_full_disk_is_said_with_the_file(sit: Sit) -> None:
    code, _, err = sit("1\nquit\n", "--seed", "1", "--record", "/dev/full")
    assert (code, err) == (2, "tricktable: /dev/full: No space left on device\n")


def test_json_puts_records_alone_on_stdout(sit: Sit) -> None:
    code, out, err = sit(60 * "1\n", "--json", "--seed", "1", *SMALL)
    assert code == 0
    assert json.loads(out)["winner"] in ("caller", "dealer")
    assert "your turn" in err
    code, out, _ = sit("trump S\n", "--json", "--seed", "1", "--seat", "caller", *SMALL)
    assert json.loads(out)["plays"][0] == "trump S"


def test_an_opponent_that_cheats_is_named_and_the_record_kept(
    sit: Sit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from agents.greedy import GreedyAgent

    monkeypatch.setattr(
        GreedyAgent, "act_batch", lambda self, views, masks, streams: views[:, 0].astype(int) * 0
    )
    file = tmp_path / "games.jsonl"
    arguments = ("--opponent", "greedy", "--seat", "caller", "--seed", "3", "--record", str(file))
    code, _, err = sit("trump S\nTS\n", *arguments)
    assert (code, err) == (1, "tricktable: agent 'greedy' chose 2S, which is not legal\n")
    assert records(file)[0]["plays"] == ["trump S", "TS"]


def test_a_game_without_places_is_played_too(sit: Sit, monkeypatch: pytest.MonkeyPatch) -> None:
    from tricktable_env.render import tableau

    monkeypatch.delattr(tableau, "places")
    code, out, _ = sit(60 * "1\n", "--seed", "1", *SMALL)
    assert code == 0
    assert "the round." in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--seat", "north"], "no seat 'north'; seats are caller, dealer, 0, 1"),
        (["--seat", "alternate"], "--seat alternate is for many episodes"),
        (["--seed", "-1"], "seed -1 is no integer"),
        (["--opponent", "nobody"], "no agent 'nobody'; there are"),
        (["--opponent", "self"], "no agent 'self'; there are"),
        (["--record", "no/such/folder"], "no/such/folder: No such file"),
        (["--record", "."], ".: Is a directory"),
        (["--rule", "suits=9"], "suits=9 is not a whole number"),
    ],
)
def test_a_wrong_argument_gets_one_line(sit: Sit, arguments: list[str], said: str) -> None:
    code, out, err = sit("1\n", *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err


# -- a terminal ------------------------------------------------------------------------------
class Terminal:
    """The program on a terminal of its own, so many columns wide."""

    def __init__(self, *arguments: str, columns: int = 200, **environment: str) -> None:
        import fcntl
        import pty
        import termios

        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        inherited = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "NO_COLOR")}
        self.process = subprocess.Popen(
            [*PROGRAM, "--seat", "caller", "--seed", "3", "--opponent", "greedy", *arguments],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=inherited | {"TERM": "xterm"} | environment,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(slave)
        self.shown = ""

    def type(self, text: str) -> None:
        """Waits until the program asks, and types."""
        asked = self.shown.count("your turn")
        while self.shown.count("your turn") == asked:
            assert self.read(), self.shown
        os.write(self.master, text.encode())

    def read(self) -> bool:
        """Reads what is there to be read, in time; False at the end."""
        ready, _, _ = select.select([self.master], [], [], 120)
        text = b""
        with contextlib.suppress(OSError):  # Linux's way of saying that the other end is closed
            text = os.read(self.master, 4096) if ready else b""
        self.shown += text.decode().replace("\r\n", "\n")
        return bool(text)

    def end(self) -> int:
        """Reads to the end and returns the exit code."""
        while self.read():
            pass
        os.close(self.master)
        return self.process.wait(timeout=60)


@posix
@pytest.mark.parametrize("end", ["\x03", "\x04", "quit\n"], ids=["Ctrl-C", "Ctrl-D", "quit"])
def test_a_terminal_ends_cleanly_and_keeps_the_record(tmp_path: Path, end: str) -> None:
    file = tmp_path / "games.jsonl"
    terminal = Terminal("--record", str(file))
    for text in ("trump s\n", "1\n", end):
        terminal.type(text)
    assert terminal.end() == 0
    assert "Traceback" not in terminal.shown
    assert " ".join(terminal.shown.split()).endswith(f"Stopped. The record is in {file}.")
    assert records(file)[0]["plays"] == ["trump S", "TS", "KS", "7S"]
    assert "\x1b[31mKH\x1b[0m" in terminal.shown  # red


@posix
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_closed_terminal_and_a_request_to_end_keep_the_record(tmp_path: Path, name: str) -> None:
    file = tmp_path / "games.jsonl"
    terminal = Terminal("--record", str(file))
    for text in ("trump s\n", "1\n"):
        terminal.type(text)
    terminal.type("")
    if name == "SIGHUP":
        os.close(terminal.master)
        terminal.process.wait(timeout=60)
    else:
        terminal.process.send_signal(signal.SIGTERM)
        assert terminal.end() == 0
    assert records(file)[0]["plays"] == ["trump S", "TS", "KS", "7S"]


@posix
@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_a_terminal_without_colour_gets_none(environment: dict[str, str]) -> None:
    terminal = Terminal(columns=45, **environment)
    terminal.type("trump s\n")
    terminal.type("quit\n")
    assert terminal.end() == 0
    assert "\x1b" not in terminal.shown
    assert max(map(len, terminal.shown.splitlines())) < 45


def test_bytes_that_are_no_text_are_no_choice() -> None:
    done = subprocess.run(
        [*PROGRAM, "--seat", "caller"], input=b"\xff\x00\n", capture_output=True, timeout=300
    )
    assert done.returncode == 0
    assert b"no choice" in done.stdout
    assert done.stderr == b""


@posix
def test_ctrl_c_while_the_opponent_thinks_keeps_the_record(tmp_path: Path) -> None:
    file = tmp_path / "games.jsonl"
    code = (
        "import sys, time\n"
        "from agents.greedy import GreedyAgent\n"
        "from tricktable_lab.cli import main\n"
        "plain = GreedyAgent.act_batch\n"
        "def slow(self, views, masks, streams):\n"
        "    if (views[0, 18] > 1).all(): print('thinking', flush=True); time.sleep(100)\n"
        "    return plain(self, views, masks, streams)\n"
        "GreedyAgent.act_batch = slow\n"
        "arguments = ['--opponent', 'greedy', '--seat', 'caller', '--record', sys.argv[1]]\n"
        "sys.exit(main(['play', *arguments]))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(file)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("trump S\n1\n")
    process.stdin.flush()
    for line in process.stdout:
        if line.startswith("thinking"):
            break
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert (process.returncode, "Traceback" in out) == (0, False)
    assert len(records(file)[0]["plays"]) == 2
