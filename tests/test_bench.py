"""`tricktable bench`: what it measures, and what it refuses."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tricktable_lab import bench
from tricktable_lab.cli import main


def test_json_is_one_document_with_every_rate(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--seconds", "0.001", "--no-starts", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["starts"] == {}
    assert list(found["rates"]) == [name for name, _ in bench.works()]
    assert min(found["rates"].values()) > 100


def test_starts_are_timed_on_an_empty_cache_and_on_the_one_it_left(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program = (
        "import os, pathlib, time\n"
        "mark = pathlib.Path(os.environ['TRICKTABLE_CACHE_DIR'], 'mark')\n"
        "end = time.process_time() + (0.1 if mark.exists() else 0.8)\n"
        "mark.touch()\n"
        "while time.process_time() < end: pass"
    )
    monkeypatch.setattr(bench, "STARTS", {"busy": program})
    monkeypatch.setattr(bench, "works", lambda: iter([("nothing", lambda: lambda: 1)]))
    assert main(["bench", "--seconds", "0.001"]) == 0
    shown = capsys.readouterr().out
    assert all(word in shown for word in ("nothing", "busy", "cold", "warm"))
    ((_, start),) = bench.measure_starts()
    assert start.cold > start.warm + 0.5


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf"])
def test_no_time_to_measure_in_is_refused(seconds: str, capsys: Any) -> None:
    assert main(["bench", "--seconds", seconds]) == 2
    assert "no time to measure in" in capsys.readouterr().err


def test_a_start_that_fails_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "STARTS", {"broken": "raise SystemExit('no such thing')"})
    with pytest.raises(bench.BenchError, match="no such thing"):
        dict(bench.measure_starts())
