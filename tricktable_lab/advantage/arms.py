"""Arms of the study: options of the rules under which the same deals are played."""

from __future__ import annotations

import itertools
import typing
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from tricktable_env.cards import SUITS
from tricktable_env.game import Game, RulesError
from tricktable_env.registry import make_game
from tricktable_env.tableau import Rules
from tricktable_env.tableau.rules import Lead, Tie, Trump

LEADS: tuple[Lead, ...] = typing.get_args(Lead)
TIES: tuple[Tie, ...] = typing.get_args(Tie)
SPLIT, TIE, CARDS, SUIT, ALL = "split", "tie", "cards", "suits", "all"
GROUPS = {
    SPLIT: "trump called or drawn, caller or dealer leads: what calling and leading give",
    TIE: "ties to the dealer, to the caller, or drawn",
    CARDS: "the caller has seen 0 cards of the hand at the call, 1, 2, up to all",
    SUIT: "trump drawn, each suit, none",
}
"""Sets of arms that can be asked for."""
_DIGITS = 20
"""Digits of a number that is read; Python reads no more than some thousands."""


class StudyError(ValueError):
    """A study that can't be made: arms, agents or rules that make no sense."""


@dataclass(frozen=True, order=True)
class Arm:
    """The options of the rules in which arms differ."""

    trump: Trump
    """How trump is found."""
    first_lead: Lead
    """Who leads the first trick."""
    tie: Tie
    """Who wins a round in which both took half of the tricks."""
    call_cards: int | None
    """How many cards the caller sees at the call; None where nobody calls."""

    @classmethod
    def of(cls, rules: Rules) -> Arm:
        """The arm that rules describe."""
        cards = rules.call_cards if rules.trump == "call" else None
        return cls(rules.trump, rules.first_lead, rules.tie, cards)

    def but(self, **options: Any) -> Arm:
        """The arm with some options changed."""
        changed = replace(self, **options)
        return changed if changed.trump == "call" else replace(changed, call_cards=None)

    def game(self, rules: Rules) -> Game:
        """The game of this arm: these rules but for the options of the arm."""
        options = {key: value for key, value in asdict(self).items() if value is not None}
        return make_game("tableau", **{**asdict(rules), "call_cards": None, **options})

    def __str__(self) -> str:
        seen = "" if self.call_cards is None else f",call_cards={self.call_cards}"
        return f"trump={self.trump},first_lead={self.first_lead},tie={self.tie}{seen}"

    def beside(self, base: Arm) -> str:
        """What differs from another arm, as `trump=random,tie=draw`; `as the rules` if nothing."""
        mine, others = asdict(self), asdict(base)
        said = [f"{k}={v}" for k, v in mine.items() if v != others[k] and v is not None]
        return ",".join(said) or "as the rules"


def arms_of(groups: Sequence[str], rules: Rules) -> tuple[Arm, ...]:
    """Lists the arms of some groups, each once, those of the rules first.

    Args:
        groups: names of `GROUPS`, or `all`.
        rules: trump is called in them.

    Raises:
        StudyError: no such group.
    """
    base = Arm.of(rules)
    arms = [base]
    for group in groups:
        if group not in (*GROUPS, ALL):
            raise StudyError(f"no arms {group!r}; there are {', '.join(GROUPS)}, and all")
        for name in GROUPS if group == ALL else (group,):
            arms += _group(name, base, rules)
    return tuple(dict.fromkeys(arms))


def _group(name: str, base: Arm, rules: Rules) -> list[Arm]:
    if name == SPLIT:
        return list(split_arms(base).values())
    if name == TIE:
        return [base.but(tie=tie) for tie in TIES]
    if name == CARDS:
        return [base.but(call_cards=seen) for seen in range(rules.hand + 1)]
    return [base.but(trump=trump) for trump in ("random", *SUITS[: rules.suits], "none")]


def split_arms(base: Arm) -> dict[tuple[str, str], Arm]:
    """The arms that share the caller's part out, by trump and first lead: drawn rounds count half.

    Args:
        base: the arm of the rules.
    """
    options = itertools.product(("call", "random"), LEADS)
    fair = base.but(tie="draw")
    return {(trump, lead): fair.but(trump=trump, first_lead=lead) for trump, lead in options}


def read_arm(text: str, rules: Rules) -> Arm:
    """Reads an arm from what differs from the rules, as `trump=none,tie=draw`.

    Raises:
        StudyError: no option of an arm, or a value that the rules refuse.
    """
    options: dict[str, Any] = {}
    for part in text.split(","):
        key, equals, value = part.partition("=")
        if not equals or key not in Arm.__dataclass_fields__ or key in options:
            known = ", ".join(Arm.__dataclass_fields__)
            raise StudyError(f"arm {text!r} is not KEY=VALUE,... with keys of {known}, each once")
        is_number = key == "call_cards" and value.isdecimal() and len(value) <= _DIGITS
        options[key] = int(value) if is_number else value
    try:
        changed = replace(rules, **options)
    except RulesError as error:
        raise StudyError(f"arm {text!r}: {error}") from None
    if changed.trump != "call" and "call_cards" in options:
        raise StudyError(f"arm {text!r}: with trump={changed.trump} nobody calls; no call_cards")
    return Arm.of(changed)


def check_rules(rules: Rules) -> None:
    """Refuses rules under which nobody calls, or rounds that are not single.

    Raises:
        StudyError: why.
    """
    if rules.trump != "call":
        raise StudyError(f"rule trump={rules.trump}: in this study trump is called; see --arm")
    if rules.rounds_to_win != 1:
        raise StudyError(
            f"rule rounds_to_win={rules.rounds_to_win}: this study is of single rounds"
        )
