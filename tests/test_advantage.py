"""The trump-caller study: fair pairs of deals, arms on the same cards, parts that add up."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from agents.random import RandomAgent
from tricktable_env.bits import shuffle
from tricktable_env.opponents import decision_streams
from tricktable_env.registry import make_game
from tricktable_env.tableau import Rules
from tricktable_env.tableau.state import CALL_HAND, HAND, RNG, TRUMP, UNDER, UP
from tricktable_lab.advantage import effects
from tricktable_lab.advantage.arms import (
    GROUPS,
    Arm,
    StudyError,
    arms_of,
    check_rules,
    read_arm,
    split_arms,
)
from tricktable_lab.advantage.conduct import run_study
from tricktable_lab.advantage.deals import paired, seen_at_call, stream_seeds
from tricktable_lab.advantage.records import Kept
from tricktable_lab.advantage.report import report_of
from tricktable_lab.advantage.study import Chunk, Players, Study, read_agents
from tricktable_lab.match import play_match
from tricktable_lab.stats import mean_interval, rate_interval
from tricktable_lab.table import MatchOptionError, dealt, play_out

RULES = Rules()
BASE = Arm.of(RULES)
SMALL = Rules(suits=3, ranks=6, hand=3, piles=3)
"""18 cards, 9 tricks a side: nothing can be drawn."""
EVEN = Rules(suits=2, ranks=8, hand=4, piles=2)
"""16 cards, 8 tricks a side."""


def study(*agents: str, rules: Rules = RULES, arms: str = "split", deals: int = 50) -> Study:
    return Study(
        rules,
        arms_of(arms.split(",") if arms else [], rules),
        agents,
        (deals,) * len(agents),
        seed=3,
    )


def played(of: Study, agent: str) -> dict[Arm, Chunk]:
    """What an agent plays, all arms of all deals in one go."""
    players, who = Players(of), of.agents.index(agent)
    return {arm: players.play(who, i, 0, of.deals[who]) for i, arm in enumerate(of.arms)}


# -- deals -------------------------------------------------------------------------------------
@pytest.mark.parametrize("rules", [RULES, SMALL, Rules(hand=7, piles=3, call_cards=6)])
def test_a_deal_and_its_mirror_are_one_order_of_the_deck(rules: Rules) -> None:
    """The plain way: shuffle a list, exchange the blocks of the two seats, deal the order."""
    game = BASE.but(call_cards=rules.call_cards).game(rules)
    states = paired(game, 5, 10, 20)
    head, middle, tail = rules.batches
    for i in range(20):
        words = decision_streams(
            np.array([5], np.uint64), np.array([10 + i]), np.array([2]), np.array([0])
        ).keys
        cards = np.array([c for c in range(52) if rules.deck >> c & 1])
        shuffle(cards, len(cards), words, 0)
        deck, at = cards.tolist(), 0
        orders = [list(deck), deck]
        for size in (head, rules.piles, rules.piles, middle, tail):
            mine, other = deck[at : at + size], deck[at + size : at + 2 * size]
            deck[at : at + 2 * size] = other + mine
            at += 2 * size
        for mirrored, order in enumerate(orders):
            state = game.new(np.zeros(1, np.uint64))[0]
            game.deal_deck(state, order)
            state[RNG] = states[2 * i + mirrored][RNG]
            assert (state == states[2 * i + mirrored]).all()


def test_a_deal_as_dealt_is_that_of_a_match() -> None:
    game = BASE.game(RULES)
    assert (paired(game, 7, 3, 40)[::2] == dealt(game, 7, np.arange(3, 43))).all()


def test_the_cards_do_not_depend_on_the_arm() -> None:
    places = [*range(HAND, HAND + 2), *range(UP, UP + 2), *range(UNDER, UNDER + 4)]
    arms = arms_of(["all"], RULES)
    dealt_in = [paired(arm.game(RULES), 1, 0, 30) for arm in arms]
    for states in dealt_in:
        assert (states[:, places] == dealt_in[0][:, places]).all()
    drawn = [s[:, TRUMP] for s, arm in zip(dealt_in, arms, strict=True) if arm.trump == "random"]
    assert all((trump == drawn[0]).all() for trump in drawn)
    assert (drawn[0][::2] == drawn[0][1::2]).all()
    assert len(set(drawn[0].tolist())) == 4


def test_more_cards_seen_at_the_call_are_more_of_the_same() -> None:
    seen = [paired(BASE.but(call_cards=k).game(RULES), 1, 0, 30)[:, CALL_HAND] for k in range(11)]
    for k, (fewer, more) in enumerate(itertools.pairwise(seen)):
        assert (np.bitwise_count(fewer) == k).all()
        assert (fewer & ~more == 0).all()


def test_what_was_seen_is_counted() -> None:
    game = BASE.game(RULES)
    states = paired(game, 0, 0, 100)
    lengths, honors = seen_at_call(states)
    for state, length, high in zip(states, lengths, honors, strict=True):
        text = game.position(state).split()[4].partition("+")[0].split(".")
        assert length == max(map(len, text))
        assert high == sum(rank in "AKQJ" for suit in text for rank in suit)


# -- what is played ----------------------------------------------------------------------------
@pytest.mark.parametrize("spec", ["random", "greedy"])
def test_the_arm_of_the_rules_is_a_match_of_the_agent_with_itself(spec: str) -> None:
    match = play_match(make_game("tableau"), spec, spec, 300, seed=3)
    mine = played(study(spec, arms="", deals=300), spec)[BASE]
    share = effects.shares(mine.tricks, 26, "dealer")
    assert (share[:, 0] == match.per_deal.share[:, 0]).all()
    rate, both = match.caller_win_rate, share.mean(axis=1)
    assert rate is not None
    assert abs(both.mean() - rate) < 4 * both.std() / 300**0.5 + 4 * 0.5 / 300**0.5


@pytest.mark.parametrize("trump", ["S", "none"])
def test_other_arms_are_matches_by_other_rules(trump: str) -> None:
    """greedy draws no chance, so that a match counts plies from 0 there changes nothing."""
    match = play_match(make_game("tableau", trump=trump, tie="caller"), "greedy", "greedy", 100, 3)
    arm = BASE.but(trump=trump, tie="caller")
    mine = Players(Study(RULES, (BASE, arm), ("greedy",), (100,), 3)).play(0, 1, 0, 100)
    share = effects.shares(mine.tricks, 26, "caller")
    assert (share[:, 0] == match.per_deal.share[:, 0]).all()


def test_nothing_tells_the_seats_apart_where_trump_is_drawn() -> None:
    """One seat leads in one arm, the other, with the same cards, mirrored in the other arm."""
    of = split_arms(BASE)
    mine = played(study("greedy", deals=200), "greedy")
    caller, dealer = (mine[of["random", lead]].tricks for lead in ("caller", "dealer"))
    assert (caller + dealer[:, ::-1] == 26).all()
    parts = effects.split(mine, BASE, 26)
    assert parts is not None
    assert (parts["start"] == 0).all()


def test_whoever_ignores_the_rule_for_ties_plays_alike_under_each() -> None:
    for spec in ("random", "greedy"):
        mine = played(study(spec, arms="tie,split"), spec)
        tricks = [mine[BASE.but(tie=tie)].tricks for tie in ("dealer", "draw", "caller")]
        assert all((each == tricks[0]).all() for each in tricks)
        parts = effects.split(mine, BASE, 26)
        assert parts is not None
        assert (parts["tie_known"] == 0).all()


def test_whoever_plays_for_the_rule_does_not() -> None:
    mine = played(study("montecarlo:worlds=4", arms="tie", deals=6), "montecarlo:worlds=4")
    assert (mine[BASE].tricks != mine[BASE.but(tie="caller")].tricks).any()


def test_arms_share_their_chance_play_by_play() -> None:
    """A random agent that calls spades plays as it does where spades are trump anyway."""
    game, deals = BASE.game(RULES), 60
    agent = Players(study("random", arms="suits", deals=deals))
    states = paired(game, 3, 0, deals)
    number = np.repeat(np.arange(deals), 2)
    whose = np.zeros((2 * deals, 2), np.int64)
    plies = np.zeros(2 * deals, np.int64)
    playing = [("random", RandomAgent(game))]
    play_out(game, states, playing, whose, stream_seeds(3, deals), number, plies)
    called = states[:, TRUMP].reshape(deals, 2)
    mine = {arm: agent.play(0, i, 0, deals) for i, arm in enumerate(agent.study.arms)}
    for suit, name in enumerate("SHDC"):
        same = called == suit
        assert same.sum() > 10
        fixed = mine[BASE.but(trump=name)].tricks
        assert (mine[BASE].tricks[same] == fixed[same]).all()


def test_results_do_not_depend_on_who_and_what_else_is_played() -> None:
    alone = run_study(study("random", deals=70))["agents"][0]
    beside = Study(RULES, arms_of(["suits", "split"], RULES), ("greedy", "random"), (9, 70), 3)
    among = run_study(beside)["agents"][1]
    arms = {arm["arm"]: arm for arm in among["arms"]}
    assert alone["arms"] == [arms[arm["arm"]] for arm in alone["arms"]]
    assert alone["seen"] == among["seen"]
    for key, part in alone["split"].items():
        assert part["mean"] == among["split"][key]["mean"]


def test_results_do_not_depend_on_the_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for size in (1024, 7):
        monkeypatch.setattr("tricktable_lab.advantage.study.KERNEL_CHUNK_DEALS", size)
        report = run_study(study("random", deals=40))
        found.append(report | {"seconds": 0})
    assert found[0] == found[1]


# -- what it adds up to ------------------------------------------------------------------------
@pytest.mark.parametrize(
    "rules",
    [RULES, Rules(tie="caller", first_lead="dealer"), Rules(tie="draw"), SMALL, EVEN],
    ids=str,
)
def test_the_parts_add_up_deal_by_deal(rules: Rules) -> None:
    of = study("random", rules=rules, deals=200)
    parts = effects.split(played(of, "random"), of.arms[0], rules.tricks)
    assert parts is not None
    total = sum(parts[name] for name in effects.SUM)
    assert total == pytest.approx(parts["share"] - 0.5, abs=1e-12)
    assert sum(parts[name] for name in effects.OF_TIE) == pytest.approx(parts["tie"], abs=1e-12)
    assert parts["lead_after_call"] == pytest.approx(parts["lead"] + parts["together"], abs=1e-12)
    if rules.tricks % 2 or rules.tie == "draw":
        assert not parts["tie"].any()
    for name, (low, high) in effects._RANGES.items():
        assert low <= parts[name].min() <= parts[name].max() <= high


def test_the_parts_are_what_they_are_called() -> None:
    """Made-up tricks of one deal: what is won in which arm is known."""
    of = split_arms(BASE)
    tricks = {
        BASE: [13, 14],  # lost by the rule for ties, and won
        of["call", "caller"]: [13, 13],
        of["call", "dealer"]: [14, 14],
        of["random", "caller"]: [12, 14],
        of["random", "dealer"]: [12, 13],
    }
    mine = {arm: Chunk(np.array([t], np.int8), np.zeros(1, np.int32)) for arm, t in tricks.items()}
    parts = effects.split(mine, BASE, 26)
    assert parts is not None
    told = {name: float(values[0]) for name, values in parts.items()}
    assert told == {
        "share": 0.5,
        "start": (0.5 + 0.25) / 2 - 0.5,
        "call": (0.5 + 1) / 2 - (0.5 + 0.25) / 2,
        "lead": (0.5 - 0.25) / 2,
        "together": (0.5 - 1) / 2 - (0.5 - 0.25) / 2,
        "tie": 0.5 - 0.5,
        "tie_as_played": -0.5,
        "tie_known": 0.5,
        "lead_after_call": (0.5 - 1) / 2,
    }


def test_the_report_of_both_ways_to_hand_over_ties_agrees_for_greedy() -> None:
    agent = run_study(study("greedy", arms="tie", deals=300))["agents"][0]
    known = {arm["tie"]: arm["share"] for arm in agent["arms"]}
    assert known == agent["as_played"]
    assert agent["share"]["mean"] == known["dealer"]["mean"]
    between = known["draw"]["mean"] - known["dealer"]["mean"]
    assert between == pytest.approx(agent["drawn"]["mean"] / 2, abs=1e-6)


def test_the_report_counts_every_game_once() -> None:
    agent = run_study(study("random", "greedy", arms="all", deals=150))["agents"][1]
    assert agent["games"] == 2 * 150 * len(agent["arms"])
    assert len(agent["arms"]) == 22
    for arm in agent["arms"]:
        assert sum(arm["games_by_tricks"]) == 300
        mean = sum(i * n for i, n in enumerate(arm["games_by_tricks"])) / 300
        assert arm["tricks"]["mean"] == pytest.approx(mean, abs=1e-6)
    for key, other in (("longest", "honors"), ("honors", "longest")):
        kinds = [kind for kind in agent["seen"] if kind[other] is None]
        assert sum(kind["games"] for kind in kinds) == 300
        won = sum(kind["games"] * kind["share"]["mean"] for kind in kinds)
        assert won / 300 == pytest.approx(agent["share"]["mean"], abs=1e-5), key
    both = [kind for kind in agent["seen"] if None not in (kind["longest"], kind["honors"])]
    assert sum(kind["games"] for kind in both) == 300


def test_joint_intervals_hold_for_all_agents() -> None:
    """Bonferroni: with m agents each interval is of confidence 1 - 0.05 / m."""
    report = run_study(study("random", "greedy", deals=200))
    for agent in report["agents"]:
        mine = played(study(agent["agent"], deals=200), agent["agent"])
        share = effects.shares(mine[BASE].tricks, 26, "dealer").mean(axis=1)
        for key, confidence in (("ci95", 0.95), ("joint95", 0.975)):
            interval = mean_interval(share, 0, 1, confidence)
            assert agent["share"][key] == pytest.approx(interval[1:], abs=1e-6)
    claim = next(claim for claim in report["claims"] if claim["part"] == "tie")
    assert claim["sign"] == -1
    joint = [agent["split"]["tie"]["joint95"] for agent in report["agents"]]
    assert claim["joint95"] == [min(low for low, _ in joint), max(high for _, high in joint)]
    unsure = next(claim for claim in report["claims"] if claim["part"] == "tie_known")
    assert unsure["sign"] == 0


# -- intervals ---------------------------------------------------------------------------------
def test_intervals_cover_what_is_true() -> None:
    check_coverage(studies=150, deals=100)


@pytest.mark.long
def test_intervals_cover_what_is_true_over_many_studies() -> None:
    check_coverage(studies=2000, deals=150)


def check_coverage(studies: int, deals: int) -> None:
    """Studies of their own deals each, against the mean of all: how often is it in the interval?"""
    of = study("random", rules=EVEN, deals=studies * deals)
    base = of.arms[0]
    mine = played(of, "random")
    truth = effects.split(mine, base, EVEN.tricks)
    assert truth is not None
    covered: dict[str, int] = dict.fromkeys([*truth, "luck", "kind"], 0)
    length, _ = seen_at_call(paired(base.game(EVEN), of.seed, 0, studies * deals))
    kind = length.reshape(-1, 2) == 2
    won = effects.shares(mine[base].tricks, EVEN.tricks, base.tie)
    true_ratio = (won * kind).sum() / kind.sum()
    corrected = []
    for i in range(studies):
        part = slice(i * deals, (i + 1) * deals)
        some = {arm: Chunk(chunk.tricks[part], chunk.luck[part]) for arm, chunk in mine.items()}
        parts = effects.split(some, base, EVEN.tricks)
        assert parts is not None
        for name, values in parts.items():
            low, high = effects.estimate(name, values, None, 1)["ci95"]
            covered[name] += low <= truth[name].mean() <= high
        told = effects.estimate("share", parts["share"], effects.lucks(some, base), 1)["controlled"]
        covered["luck"] += told["ci95"][0] <= truth["share"].mean() <= told["ci95"][1]
        corrected.append(told["mean"] - truth["share"].mean())
        inside = kind[part]
        ratio = effects.ratio((won[part] * inside).sum(axis=1), inside.sum(axis=1).astype(float))
        covered["kind"] += ratio["ci95"][0] <= true_ratio <= ratio["ci95"][1]
    assert abs(np.mean(corrected)) < 3.5 * np.std(corrected) / studies**0.5, "unbiased"
    tolerance = 3.5 * (0.95 * 0.05 / studies) ** 0.5
    for name, times in covered.items():
        if name == "tie_known":  # always 0 for this agent, and known to be nearly so
            assert times == studies
        else:
            assert abs(times / studies - 0.95) < tolerance, name


def test_luck_taken_out_is_worth_something_and_keeps_the_sum() -> None:
    agent = run_study(study("greedy", deals=3000))["agents"][0]
    assert agent["share"]["controlled"]["deals_factor"] > 1.04
    assert agent["split"]["call"]["controlled"]["deals_factor"] > 1.08
    parts = [agent["split"][name] for name in effects.SUM]
    total = sum((part["controlled"] or part)["mean"] for part in parts)
    assert agent["share"]["controlled"]["mean"] - 0.5 == pytest.approx(total, abs=1e-5)


def test_the_mirror_takes_luck_out() -> None:
    mine = played(study("greedy", arms="", deals=2000), "greedy")[BASE]
    share = effects.shares(mine.tricks, 26, "dealer")
    assert share.mean(axis=1).var() < 0.8 * share.var() / 2


def test_the_interval_of_a_mean() -> None:
    values = np.random.default_rng(0).random(50)
    assert mean_interval(values, 0, 1) == pytest.approx(rate_interval(values))
    assert mean_interval(np.ones(10), 0, 1) == pytest.approx(rate_interval(np.ones(10)))
    assert mean_interval(np.zeros(10), 0, 1) == pytest.approx(rate_interval(np.zeros(10)))
    assert mean_interval(np.array([0.2]), -1, 1) == (0.2, -1, 1)
    mean, low, high = mean_interval(np.zeros(1000), -1, 1)
    assert (mean, low) == (0, -high)
    assert 0 < high < 0.004


def test_the_share_of_some_games_is_a_ratio_over_deals() -> None:
    won, games = np.array([1.0, 0, 2, 0, 1]), np.array([1.0, 1, 2, 0, 2])
    told = effects.ratio(won, games)
    assert told["mean"] == pytest.approx(4 / 6, abs=1e-6)
    off = np.array([1, 0, 2, 1]) - 4 / 6 * np.array([1, 1, 2, 2])
    half = 3.182446 * off.std(ddof=1) / 4**0.5 / 1.5
    assert told["ci95"] == pytest.approx([4 / 6 - half, min(1, 4 / 6 + half)], abs=1e-5)
    assert effects.ratio(np.ones(5), np.ones(5))["mean"] == 1


# -- what can be asked for ---------------------------------------------------------------------
def test_agents_are_read_as_specs_with_options_and_deals() -> None:
    words = ["random,policy:a/b,worlds=0@50,sample=yes", "montecarlo:worlds=5@7", "greedy@9,"]
    specs, deals = read_agents(words, 100)
    assert specs == (
        "random",
        "policy:a/b,worlds=0@50,sample=yes",
        "montecarlo:worlds=5",
        "greedy",
    )
    assert deals == (100, 100, 7, 9)


def test_groups_give_every_arm_once_that_of_the_rules_first() -> None:
    arms = arms_of(["all", *GROUPS], RULES)
    assert arms[0] == BASE
    assert len(set(arms)) == len(arms) == 22
    assert {arm.call_cards for arm in arms if arm.trump == "call"} == set(range(11))
    assert all(arm.call_cards is None for arm in arms if arm.trump != "call")
    assert len(arms_of(["suits"], EVEN)) == 5
    assert arms_of([], RULES) == (BASE,)


def test_an_arm_is_read_from_what_differs() -> None:
    assert read_arm("trump=none,tie=draw", RULES) == BASE.but(trump="none", tie="draw")
    assert read_arm("call_cards=0", RULES).call_cards == 0
    for wrong in ("trump=X", "call_cards=11", "hand=3", "tie", "tie=draw,tie=draw", ""):
        with pytest.raises(StudyError, match="arm"):
            read_arm(wrong, RULES)
    with pytest.raises(StudyError, match="call_cards"):  # more digits than Python reads
        read_arm("call_cards=" + "9" * 5000, RULES)
    with pytest.raises(StudyError, match="nobody calls"):
        read_arm("trump=none,call_cards=1", RULES)


@pytest.mark.parametrize("arm", arms_of(["all"], RULES), ids=str)
def test_the_game_of_an_arm_is_that_arm(arm: Arm) -> None:
    assert Arm.of(arm.game(RULES).rules) == arm


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: arms_of(["none"], RULES), "there are split, tie, cards, suits, and all"),
        (lambda: check_rules(Rules(trump="S")), "trump is called"),
        (lambda: check_rules(Rules(rounds_to_win=2)), "single rounds"),
        (lambda: study("greedy", "greedy"), "twice"),
        (lambda: study(), "at least one agent"),
    ],
)
def test_a_study_that_makes_no_sense_is_refused(make: Any, said: str) -> None:
    with pytest.raises(StudyError, match=said):
        make()


def test_numbers_out_of_range_are_refused() -> None:
    with pytest.raises(MatchOptionError, match="deals=0"):
        study("greedy", deals=0)


def test_an_agent_without_a_whole_deal_is_left_out() -> None:
    assert report_of(Kept(study("greedy")), 0)["agents"] == []
