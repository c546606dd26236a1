"""The command line: what it prints, its exit codes, and that a wrong argument gets one line."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import tricktable_lab
from tricktable_env.opponents import agent_names
from tricktable_env.registry import make_game
from tricktable_lab import cli
from tricktable_lab.commands.options import game_from
from tricktable_lab.match import play_match

CASES = Path(__file__).parent / "data" / "tableau-games.jsonl"
PROGRAM = [sys.executable, "-W", "error", "-m", "tricktable_lab.cli"]


def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([*PROGRAM, *arguments], capture_output=True, text=True, timeout=300)


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = cli.main(arguments)
    out, err = capsys.readouterr()
    return code, out, err


# -- help and version ------------------------------------------------------------------------
@pytest.mark.parametrize("command", cli.COMMANDS)
def test_every_command_has_help_with_an_example(
    capsys: pytest.CaptureFixture[str], command: str
) -> None:
    code, out, err = call(capsys, command, "--help")
    assert code == 0
    assert f"Example: tricktable {command}" in " ".join(out.split())
    assert "--json" in out
    assert err == ""


def test_help_lists_the_commands_and_loads_nothing_heavy() -> None:
    code = (
        "import sys; from tricktable_lab.cli import main; main(['--help']); "
        "print(*(name for name in ('numba', 'scipy', 'torch', 'pandas') if name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert all(command in done.stdout for command in cli.COMMANDS)
    assert done.stdout.splitlines()[-1] == ""


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(capsys, "--version") == (0, f"tricktable {tricktable_lab.__version__}\n", "")


# -- match -----------------------------------------------------------------------------------
def test_match_prints_one_json_document_equal_to_that_of_play_match() -> None:
    done = run(
        *("match", "greedy", "random", "--deals", "70", "--seed", "3", "--workers", "2"),
        *("--rule", "suits=3", "--rule", "hand=3", "--rule", "piles=3", "--json"),
    )
    assert done.returncode == 0
    game = make_game("tableau", suits=3, hand=3, piles=3)
    expected = play_match(game, "greedy", "random", 70, 3).as_json()
    printed = json.loads(done.stdout)
    assert printed.pop("seconds") > 0
    expected.pop("seconds")
    assert printed == expected


def test_match_prints_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "match", "greedy", "random", "--deals", "20")
    assert code == 0
    for part in ("greedy against random", "win rate", "95% interval", "Elo", "margin", "caller"):
        assert part in out


def test_rules_are_read_as_their_types_say() -> None:
    game = game_from("tableau", 2, ["suits=3", "trump=none", "call_cards=none", "hand=3"])
    assert game == make_game("tableau", suits=3, trump="none", call_cards=None, hand=3)


def stopped_match(workers: str, after: float) -> "subprocess.CompletedProcess[str]":
    arguments = ("match", "greedy", "random", "--deals", "99999999", "--workers", workers, "--json")
    process = subprocess.Popen(
        [*PROGRAM, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    time.sleep(after)
    os.killpg(process.pid, signal.SIGINT)
    try:
        out, err = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:  # the signal came while Python itself was starting
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
    return subprocess.CompletedProcess(arguments, process.returncode, out, err)


@pytest.mark.skipif(os.name == "nt", reason="process groups of POSIX")
def test_a_match_stopped_before_it_begins_says_so_in_one_line() -> None:
    for seconds in (0.7, 2, 8):  # Python itself must be up
        done = stopped_match("2", seconds)
        if done.returncode == 1:
            break
    assert done.returncode == 1
    assert done.stderr.startswith("tricktable: stopped")
    assert done.stderr.count("\n") == 1


def children(process: int) -> list[int]:
    lists = Path(f"/proc/{process}/task").glob("*/children")
    found = [int(child) for file in lists for child in file.read_text().split()]
    return [c for c in found if b"spawn_main" in Path(f"/proc/{c}/cmdline").read_bytes()]


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="looks for processes in /proc")
def test_workers_end_with_the_process_that_started_them() -> None:
    arguments = ("match", "greedy", "random", "--deals", "99999999", "--workers", "2")
    process = subprocess.Popen(
        [*PROGRAM, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 120
    while len(workers := children(process.pid)) < 2 and time.monotonic() < deadline - 30:
        time.sleep(0.1)
    process.kill()
    process.wait()
    assert len(workers) == 2
    while any(Path(f"/proc/{worker}").is_dir() for worker in workers):
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.mark.skipif(os.name == "nt", reason="process groups of POSIX")
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_stopped_match_gives_what_is_known_by_then(workers: str) -> None:
    play_match(make_game("tableau"), "greedy", "random", 1, 0)  # compiled from here on
    for seconds in (4, 12, 40):  # a busy machine may need longer to get under way
        done = stopped_match(workers, seconds)
        if done.stdout:
            break
    assert done.returncode == 1
    result = json.loads(done.stdout)
    assert 0 < result["deals"] < 99999999
    assert done.stderr == f"tricktable: stopped after {result['deals']} of 99999999 deals\n"


# -- replay ----------------------------------------------------------------------------------
def test_replay_prints_a_json_line_a_record() -> None:
    done = run("replay", str(CASES), "--json")
    assert done.returncode == 0
    replays = [json.loads(line) for line in done.stdout.splitlines()]
    cases = [json.loads(line) for line in CASES.read_text().splitlines()]
    keys = ("tricks", "winner", "legal_counts")
    assert replays == [{"ok": True} | {key: case[key] for key in keys} for case in cases]


def test_replay_exits_with_1_when_a_record_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "games.jsonl"
    file.write_text(CASES.read_text().splitlines()[0] + "\n{}\n[markup] \n")
    code, out, _ = call(capsys, "replay", str(file))
    assert code == 1
    assert "19:7" in out
    assert "failed" in out
    code, out, _ = call(capsys, "replay", str(file), "--json")
    assert code == 1
    assert [json.loads(line)["ok"] for line in out.splitlines()] == [True, False, False]


def test_a_reader_that_has_seen_enough_gets_no_traceback() -> None:
    process = subprocess.Popen(
        [*PROGRAM, "replay", str(CASES), "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert b"Traceback" not in process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=60) == 1


# -- terminals and files that can't take everything --------------------------------------------
@pytest.mark.parametrize("encoding", ["latin-1", "ascii"])
def test_any_encoding_of_the_output_will_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encoding: str
) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", encoding)
    file = tmp_path / "games.jsonl"
    good = CASES.read_text().splitlines()[0]
    file.write_text('{"game": "\\ud800"}\n{"game": "\u221e"}\n' + good + "\n", encoding="utf-8")
    done = run("replay", str(file), "--json")
    assert (done.returncode, done.stderr) == (1, "")
    assert [json.loads(line)["ok"] for line in done.stdout.splitlines()] == [False, False, True]
    done = run("replay", str(file))
    assert (done.returncode, done.stderr) == (1, "")
    assert "19:7" in done.stdout
    assert "\\ud800" in done.stdout
    done = run("match", "greedy", "random", "--deals", "1")
    assert (done.returncode, done.stderr) == (0, "")
    assert "inf" in done.stdout
    done = run("mach")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("tricktable: Unrecognized options: mach; ")


@pytest.mark.skipif(os.name == "nt", reason="a shell of POSIX")
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_closed_streams_are_no_fault(closed: str) -> None:
    for arguments, code in (("--version", 0), (f"replay '{CASES}'", 0), ("mach", 2)):
        done = subprocess.run(
            f"{shlex.join(PROGRAM)} {arguments} {closed}",
            shell=True,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == code
        assert "Traceback" not in done.stderr


# -- agents ----------------------------------------------------------------------------------
def test_agents_are_listed_with_their_options(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "agents", "--json")
    assert code == 0
    listed = json.loads(out)
    assert [agent["name"] for agent in listed] == list(agent_names())
    assert all(agent["about"] or agent["error"] for agent in listed)
    code, out, _ = call(capsys, "agents")
    assert code == 0
    assert "greedy" in out


# -- used wrongly ----------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        ("", ["match", "replay", "agents"]),
        ("mach greedy random", ["mach", "Available subcommands: match, "]),
        ("match greedy", ["B", "tricktable match --help"]),
        ("match greedy random third", ["third"]),
        ("match greedy random --deals many", ["--deals", "'many'", "INT"]),
        ("match greedy random --deals 0", ["deals=0 is not at least 1"]),
        ("match greedy random --deal 5", ["--deal", "--deals INT"]),
        ("match greedy random --deals 1" + 21 * "0", ["is more than 1,000,000,000"]),
        ("match greedy random --workers 1000000000", ["is more than 1,024"]),
        ("match greedy random --rule hand=" + 5000 * "9", ["number of 5000 digits"]),
        ("match greedy random --seed -1", ["seed=-1"]),
        ("match greedy random --rule suits", ["'suits' is not KEY=VALUE"]),
        ("match greedy random --rule suits=9", ["suits=9", "from 1 to 4"]),
        ("match greedy random --rule suits=x", ["suits='x'", "from 1 to 4"]),
        ("match greedy random --rule bogus=1", ["no rule 'bogus'", "suits"]),
        ("match greedy random --rule suits=2 --rule suits=3", ["'suits' is given twice"]),
        ("match greedy random --game chess", ["no game 'chess'", "tableau"]),
        ("match greedy random --num-players 3", ["for 2 players, not 3"]),
        ("match greed random", ["no agent 'greed'", "greedy"]),
        ("match greedy:depth=2 random", ["no option 'depth'"]),
        ("replay", ["FILE"]),
        ("replay no-such-file.jsonl", ["no-such-file.jsonl: No such file"]),
        ("replay .", [".: Is a directory"]),
    ],
)
def test_a_wrong_argument_gets_one_line_and_exit_code_2(
    capsys: pytest.CaptureFixture[str], arguments: str, parts: list[str]
) -> None:
    code, out, err = call(capsys, *arguments.split())
    assert code == 2
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("tricktable: ")
    for part in parts:
        assert part in err


def test_a_wrong_argument_leaves_the_process_with_2_and_no_traceback() -> None:
    done = run("match", "greedy", "random", "--rule", "suits=9")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "tricktable: suits=9 is not a whole number from 1 to 4\n"


def test_an_agent_that_cheats_gets_one_line_and_exit_code_1(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from agents.greedy import GreedyAgent

    monkeypatch.setattr(
        GreedyAgent, "act_batch", lambda self, views, masks, streams: views[:, 0] * 0
    )
    code, out, err = call(capsys, "match", "greedy", "random", "--deals", "1")
    assert (code, out) == (1, "")
    assert err.startswith("tricktable: agent 'greedy' chose 2S as player 0 of deal 0")


def test_a_fault_of_the_program_is_not_passed_off_as_a_wrong_argument(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(command: object) -> int:
        raise ValueError("a bug")

    monkeypatch.setattr(cli.Agents, "run", broken)
    with pytest.raises(ValueError, match="a bug"):
        cli.main(["agents"])
