"""A round of Tableau as a person would want to see it."""

from __future__ import annotations

from tricktable_env.cards import (
    SUITS,
    Card,
    CardSet,
    Seat,
    Words,
    card_set,
    card_text,
    hand_text,
)
from tricktable_env.tableau.infostate import view_of
from tricktable_env.tableau.notation import (
    TRUMPS,
    UNKNOWN,
    Hand,
    Pile,
    Position,
)
from tricktable_env.tableau.positions import position_of
from tricktable_env.tableau.rules import player_of, rounds_to_win, rounds_won, wins
from tricktable_env.tableau.state import (
    CALL,
    CALLER,
    DEALER,
    LEFT,
    NO_TRUMP,
    NOT_CALLED,
    TRUMP,
    history,
)

_NAMES = ("caller", "dealer")
_TRUMP_WORDS = {NO_TRUMP: "no trump", NOT_CALLED: "trump not called yet"}
_INDENT = " " * 8


def picture(state: Words, seat: Seat | None = None) -> str:
    """Draws a round: both tables and hands, the trick, the score, the last trick.

    Args:
        state: `[WORDS] uint64`, a full state.
        seat: 0 the caller, 1 the dealer, whose cards stand below; None shows all cards.
    """
    shown = state if seat is None else view_of(state, seat)
    position = position_of(shown)
    below = CALLER if seat is None else seat
    lines = [_headline(state, position), *_match(state)]
    lines += _side(position, 1 - below, seat)
    lines += ["", *_trick(state, position), ""]
    lines += reversed(_side(position, below, seat))
    return "\n".join(line.rstrip() for line in lines)


def _headline(state: Words, position: Position) -> str:
    trump = int(state[TRUMP])
    parts = [_TRUMP_WORDS.get(trump) or f"trump {TRUMPS[trump]}"]
    parts.append(f"tricks: caller {position.tricks[CALLER]}, dealer {position.tricks[DEALER]}")
    left = int(state[LEFT])
    parts.append(f"{left} to play, {_NAMES[position.seat]} to act" if left else "over")
    return " | ".join(parts)


def _match(state: Words) -> list[str]:
    """How a match of several rounds stands."""
    if rounds_to_win(state) == 1:
        return []
    won = [rounds_won(state, player_of(state, role)) for role in (CALLER, DEALER)]
    return [f"rounds won: caller {won[CALLER]}, dealer {won[DEALER]} of {rounds_to_win(state)}"]


def _side(position: Position, role: Seat, seat: Seat | None) -> list[str]:
    """Lines of one side, the hand outside and the table towards the middle."""
    hand = f"{_NAMES[role]:8}{_hand(position.hands[role])}"
    if role == seat:
        hand += "   (you)"
    return [hand, *_table(position.tables[role])]


def _hand(hand: Hand) -> str:
    if hand.to_come is not None:
        tail = f"{hand.unseen_to_come} to come" if hand.unseen_to_come else ""
        if hand.to_come:
            tail = f"to come {_suits(hand.to_come)}"
        head = f"{hand.unseen} cards" if hand.unseen else _suits(hand.cards)
        return f"{head} + {tail}" if tail else head
    return f"{hand.unseen} cards" if hand.unseen else _suits(hand.cards)


def _suits(cards: int) -> str:
    if not cards:
        return "no cards"
    pairs = zip(SUITS, hand_text(cards).split("."), strict=True)
    return "  ".join(f"{suit} {ranks}" for suit, ranks in pairs if ranks)


def _table(piles: tuple[Pile, ...]) -> list[str]:
    """The piles left to right, what lies beneath in a line of its own."""
    if not piles:
        return [f"{_INDENT}no piles"]
    if piles[0].top == UNKNOWN:
        return [f"{_INDENT}{len(piles)} piles, not dealt yet"]
    tops = "".join(f"{card_text(pile.top):4}" for pile in piles)
    unders = "".join(f"{_under(pile):4}" for pile in piles)
    return [f"{_INDENT}{tops}", f"{'beneath':8}{unders}"]


def _under(pile: Pile) -> str:
    if pile.under is None:
        return "-"
    return "?" if pile.under == UNKNOWN else card_text(pile.under)


def _trick(state: Words, position: Position) -> list[str]:
    """The card that was led, and the last trick."""
    plays = [(role, card) for role, card, _ in history(state) if card < CALL]
    if position.lead is None:
        if len(plays) > 1:
            return [_last_trick(plays, position.trump)]
        leads = position.trump != NOT_CALLED
        return [f"{_NAMES[position.seat]} leads" if leads else "the call"]
    lines = [f"{_NAMES[1 - position.seat]} led {card_text(position.lead)}"]
    before = plays[:-1]  # without the lead; a round may start in mid-trick, with no play at all
    return [*lines, _last_trick(before, position.trump)] if len(before) > 1 else lines


def _last_trick(plays: list[tuple[Seat, Card]], trump: int) -> str:
    (leader, led), (follower, card) = plays[-2:]
    winner = follower if wins(card, led, trump) else leader
    return (
        f"last trick: {_NAMES[leader]} {card_text(led)}, {_NAMES[follower]} {card_text(card)}, "
        f"taken by the {_NAMES[winner]}"
    )


def places(state: Words, seat: Seat) -> dict[str, CardSet]:
    """The cards that a seat may come to play next, by where they lie, as the seat sees it."""
    position = position_of(view_of(state, seat))
    tops = card_set(pile.top for pile in position.tables[seat] if pile.top != UNKNOWN)
    return {"hand": position.hands[seat].cards, "table": tops}
