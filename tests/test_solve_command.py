"""`tricktable solve`: its answers, its JSON and its complaints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tricktable_lab.cli import main
from tricktable_lab.solve import solve_lines

DATA = Path(__file__).parent / "data"
SIX = "D D - 10-10 ... 2S,9H/9S,7H/9C,JH ... AD/QS,TC/4D,9D,JD"
WHOLE = (
    "C H - 0-0 K7.J85.K63.J4 AS/3S,QS/2H,9S/KH,4H/QH,AD/8D,QD/2D,9D/TC,5C/3C "
    "J52.A7.T5.AQ9 TS/8S,6S/4S,TH/9H,6H/3H,JD/7D,4D/KC,8C/7C,6C/2C"
)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["solve", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


def test_one_position_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, SIX, "--json")
    moves = {"9D": 6, "JD": 6, "TC": 6, "AD": 6}
    assert (code, err) == (0, "")
    assert json.loads(out) == {"position": SIX, "best": 6, "moves": moves}


def test_one_position_for_a_person(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "D D - 7-17 ... 3D,TH 6... 5D")
    assert code == 0
    assert "dealer to act takes 2 of 2" in " ".join(out.split())
    assert out.index("5D") < out.index("6S")


def test_a_score_may_be_any(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, SIX.replace("10-10", "0-99"), "--json")
    assert json.loads(out)["best"] == 6


@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize("name", ["tableau-positions.jsonl", "tableau-reduced.jsonl"])
def test_a_file_is_answered_line_by_line(
    capsys: pytest.CaptureFixture[str], name: str, workers: str
) -> None:
    code, out, _ = run(capsys, "--file", str(DATA / name), "--json", "--workers", workers)
    stored = [json.loads(line) for line in (DATA / name).read_text().splitlines()]
    for row in stored:
        row.pop("rules", None)
    assert code == 0
    assert [json.loads(line) for line in out.splitlines()] == stored


def test_bad_lines_are_named_and_the_others_answered(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    rows = [
        "\ufeff" + SIX,
        "",
        "C H",
        '{"position": 3}',
        "[1]",
        "{",
        '{"rules": {"suit": 1}, "position": ""}',
    ]
    rows += ['{"rules": {"suits": 9}, "position": "x"}', SIX.replace("9D", "?"), SIX]
    file = tmp_path / "rows"
    file.write_text("\n".join(rows))
    code, out, _ = run(capsys, "--file", str(file), "--json", "--entries", "16")
    answers = [json.loads(line) for line in out.splitlines()]
    assert code == 1
    assert [row.get("best") for row in answers] == [6, *[None] * 7, 6]
    assert [row["line"] for row in answers[1:-1]] == [3, 4, 5, 6, 7, 8, 9]
    assert all("error" in row for row in answers[1:-1])
    assert "suit" in answers[5]["error"]
    code, out, _ = run(capsys, "--file", str(file))
    assert code == 1
    assert "failed" in out


def test_too_few_seconds_give_bounds(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, WHOLE, "--json", "--seconds", "0")
    answer = json.loads(out)
    assert code == 1
    assert answer["best"] is None
    assert set(answer["moves"].values()) == {None}
    low, high = answer["bounds"]["best"]
    assert 0 <= low < high <= 26
    code, out, _ = run(capsys, WHOLE, "--seconds", "0")
    assert f"{low} to {high} of 26" in " ".join(out.split())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "POSITION or --file"),
        ([SIX, "--file", "x"], "POSITION or --file"),
        (["C H - 8-15 ..4. 3D,7D ... TC,6C,4X"], "4X"),
        (["C H - 8-15 ..4. 3D ... TC,6C,4C"], "cards do not agree"),
        (["C H - 8-15 ..4. 3D,7D ?3 -"], "every card"),
        ([SIX, "--entries", "7"], "entries=7"),
        (["--file", "x", "--workers", "0"], "workers=0"),
        (["--file", "no such file"], "no such file"),
        (["C N - 0-0 ... " + ",".join(f"{r}S" for r in "23456789TJQKA") + ",2H ... " + "-"], "C"),
    ],
)
def test_misuse_gets_one_line(
    capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert said in err


def test_a_position_before_the_call_is_answered_for_each_trump() -> None:
    rows = [line.encode() for line in (DATA / "tableau-reduced.jsonl").read_text().splitlines()]
    calls = [row for row in rows if b" - - " in row]
    assert len(calls) > 3
    for row, (_, solution) in zip(calls, solve_lines(calls), strict=True):
        assert not isinstance(solution, ValueError)
        assert list(solution.moves) == list(json.loads(row)["moves"])
        assert all(move.startswith("trump ") for move in solution.moves)
