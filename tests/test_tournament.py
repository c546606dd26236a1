"""Tournaments: ratings against theory, and what must not change them."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from tricktable_env.registry import make_game
from tricktable_lab import cli
from tricktable_lab.match import play_match
from tricktable_lab.ratings import PRIOR, bootstrapped, ratings
from tricktable_lab.stats import elo
from tricktable_lab.table import MatchOptionError
from tricktable_lab.tournament import (
    TournamentError,
    TournamentStoppedError,
    play_tournament,
    win_rates,
)

pytest.importorskip("choix")
GAME = make_game("tableau")
POOL = ("greedy", "random", "lowest")


class Lowest:
    """Takes the legal action with the lowest number."""

    def __init__(self, game: object) -> None: ...

    def act_batch(self, views: Any, masks: Any, streams: Any) -> Any:
        return masks.argmax(1)


@pytest.fixture(autouse=True)
def lowest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another agent to name, in this process, and a bootstrap that is over soon."""
    monkeypatch.setattr("tricktable_lab.ratings.SAMPLES", 200)
    monkeypatch.setitem(
        __import__("tricktable_env.opponents").opponents.AGENTS, "lowest", f"{__name__}:Lowest"
    )


# -- ratings -----------------------------------------------------------------------------------
def test_two_agents_differ_by_the_elo_of_their_rate() -> None:
    games = 10**6
    wins = np.array([[0, 0.75 * games], [0.25 * games, 0]])
    assert ratings(wins, games, anchor=1) == pytest.approx([elo(0.75), 0], abs=0.01)


def test_ratings_are_the_likeliest_of_the_games_and_the_one_supposed() -> None:
    rng = np.random.default_rng(0)
    n, games = 5, 300
    wins = np.triu(rng.integers(0, games, (n, n)).astype(float), 1)
    wins += np.tril(games - wins.T, -1)
    found = ratings(wins, games, anchor=2)
    supposed = wins + PRIOR / 2 * (1 - np.eye(n))

    def unlikely(x: "np.ndarray") -> float:
        return float((supposed * np.log1p(10 ** ((x[None, :] - x[:, None]) / 400))).sum())

    best = minimize(unlikely, np.zeros(n), tol=1e-12).x
    assert found == pytest.approx(best - best[2], abs=0.05)
    assert found[2] == 0


def test_who_won_all_is_rated_finitely_and_highest() -> None:
    wins = np.array([[0, 2000, 2000], [0, 0, 1500], [0, 500, 0]], float)
    found = ratings(wins, 2000, anchor=2)
    assert np.isfinite(found).all()
    assert found[0] > found[1] > found[2] == 0


def test_intervals_are_over_deals_and_cover(lowest: None) -> None:
    """A pair's interval is that of its rate over deals: games of a deal are no two samples."""
    rng = np.random.default_rng(1)
    rate = rng.choice([0.0, 0.5, 1.0], 400, p=[0.1, 0.4, 0.5])
    shares = np.zeros((2, 2, 400))
    shares[0, 1], shares[1, 0] = rate, 1 - rate
    middle, low, high = bootstrapped(shares, 1, seed=0)
    half = 1.96 * rate.std() / 20
    assert middle[0] == pytest.approx(elo(rate.mean()), abs=1)
    assert low[0] == pytest.approx(elo(rate.mean() - half), abs=8)
    assert high[0] == pytest.approx(elo(rate.mean() + half), abs=8)
    assert (middle[1], low[1], high[1]) == (0, 0, 0)


# -- tournaments -------------------------------------------------------------------------------
def test_every_pair_plays_the_games_of_its_match() -> None:
    result = play_tournament(GAME, POOL, 70, 3)
    assert {(p["a"], p["b"]) for p in result.table} == {
        ("greedy", "random"),
        ("greedy", "lowest"),
        *(
            [("random", "lowest")]
            if result.ratings[1].agent == "random"
            else [("lowest", "random")]
        ),
    }
    for pair in result.table:
        match = play_match(GAME, pair["a"], pair["b"], 70, 3).as_json()
        for key in ("win_rate_a", "mean_margin_a", "caller_win_rate", "games"):
            assert pair[key] == pytest.approx(match[key])
        assert list(pair["pairs"]) == match["pairs"]
        assert pair["ci95"] == pytest.approx(match["ci95"])
    first = result.ratings[0]
    assert first.agent == result.anchor == "greedy"
    assert first.win_rate == pytest.approx(
        np.mean([p["win_rate_a"] for p in result.table if p["a"] == "greedy"])
    )


def test_the_order_of_the_agents_changes_nothing() -> None:
    results = [play_tournament(GAME, pool, 50, 3) for pool in (POOL, POOL[::-1])]
    assert results[0] == results[1]


def test_the_number_of_workers_changes_nothing() -> None:
    pool = ("greedy", "random")
    assert play_tournament(GAME, pool, 150, 3) == play_tournament(GAME, pool, 150, 3, 2)


def test_the_anchor_is_zero_and_shifts_the_rest() -> None:
    one = play_tournament(GAME, POOL, 50, 3)
    other = play_tournament(GAME, POOL, 50, 3, anchor="random")
    by_name = [{r.agent: r.elo for r in result.ratings} for result in (one, other)]
    assert by_name[0]["greedy"] == by_name[1]["random"] == 0
    for name in POOL:
        assert by_name[1][name] == pytest.approx(by_name[0][name] - by_name[0]["random"])


def test_a_match_and_a_smaller_tournament_are_gone_on_from(tmp_path: Path) -> None:
    file = tmp_path / "games.jsonl"
    play_match(GAME, "random", "greedy", 30, 3, records=file)
    play_tournament(GAME, ("lowest", "random"), 10, 3, records=tmp_path / "other")
    result = play_tournament(GAME, POOL, 50, 3, records=file)
    assert len(file.read_text().splitlines()) == 3 * 100
    assert result == play_tournament(GAME, POOL, 50, 3)
    assert play_tournament(GAME, ("greedy", "lowest", "random"), 50, 3, records=file) == result


def test_stopped_it_rates_the_deals_that_all_pairs_played() -> None:
    def stop(done: int) -> None:
        if done >= 4 * 64:
            raise KeyboardInterrupt

    with pytest.raises(TournamentStoppedError, match="stopped") as stopped:
        play_tournament(GAME, POOL, 300, 3, watch=stop)
    assert stopped.value.result == play_tournament(GAME, POOL, 64, 3)


def test_the_table_has_both_sides_of_every_pair() -> None:
    rates = win_rates(play_tournament(GAME, POOL, 20, 3))
    off = ~np.eye(3, dtype=bool)
    assert (rates + rates.T)[off] == pytest.approx(np.ones(6))
    assert np.isnan(np.diag(rates)).all()


@pytest.mark.parametrize(
    ("agents", "options", "message"),
    [
        (("greedy",), {}, "two agents or more, not 1"),
        (("greedy", "random", "greedy"), {}, "'greedy' is named twice"),
        (("random", "greedy", "random:"), {}, "'random = random:' is named twice"),
        (
            ("ismcts", "ismcts:trees=1,iterations=1000"),
            {},
            "'ismcts = ismcts:trees=1,iterations=1000' is named twice",
        ),
        (POOL, {"anchor": "nobody"}, "anchor 'nobody' is not among the agents: greedy, lowest"),
        (POOL, {"game": make_game("honors", num_players=3)}, "for two players a game, not 3"),
    ],
)
def test_a_pool_that_makes_no_sense_is_refused(
    agents: tuple[str, ...], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(TournamentError, match=message):
        play_tournament(options.pop("game", GAME), agents, 10, 0, **options)
    with pytest.raises(MatchOptionError):
        play_tournament(GAME, POOL, 0, 0)


# -- on the command line -----------------------------------------------------------------------
def test_it_prints_json_and_draws(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    picture = tmp_path / "ratings.png"
    arguments = ["tournament", *POOL, "--deals", "20", "--seed", "3"]
    assert cli.main([*arguments, "--json", "--plot", str(picture)]) == 0
    told = json.loads(capsys.readouterr().out)
    expected = play_tournament(GAME, POOL, 20, 3).as_json()
    assert told | {"seconds": 0} == expected | {"seconds": 0}
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert cli.main(arguments) == 0
    shown = capsys.readouterr().out
    assert "greedy is 0" in shown
    assert "95% interval" in shown


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--plot ratings.docx", "ratings.docx is no kind of picture; there are"),
        ("--plot nowhere/ratings.png", "nowhere/ratings.png: there is no such folder"),
        ("--anchor nobody", "anchor 'nobody' is not among the agents"),
        ("--game honors --num-players 4", "for two players a game, not 4; try match"),
    ],
)
def test_misuse_gets_one_line(
    options: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    assert cli.main(["tournament", "greedy", "random", *options.split()]) == 2
    assert message in capsys.readouterr().err


def test_without_the_library_it_says_what_to_install(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "choix", None)
    assert cli.main(["tournament", "greedy", "random"]) == 2
    said = capsys.readouterr().err
    assert said == 'tricktable: ratings need the package choix: pip install "tricktable[lab]"\n'
