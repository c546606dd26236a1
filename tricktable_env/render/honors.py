"""A game of Honors as a person would want to see it."""

from __future__ import annotations

from tricktable_env.cards import SUITS, Seat, Words, card_text, hand_text
from tricktable_env.honors.infostate import PLAYED_IT, events_of, view_of
from tricktable_env.honors.notation import Hand, Position
from tricktable_env.honors.positions import position_of
from tricktable_env.honors.rules import announces, announcing, beats, num_players, points_of
from tricktable_env.honors.state import DEAL_LEFT, LEFT

_INDENT = " " * 8


def picture(state: Words, seat: Seat | None = None) -> str:
    """Draws a game: points, stock, all hands, the trick in progress or the last one.

    Args:
        state: `[WORDS] uint64`, a full state.
        seat: who looks; its hand stands last. None shows all cards.
    """
    shown = state if seat is None else view_of(state, seat)
    position = position_of(shown)
    players = num_players(state)
    first = 0 if seat is None else (seat + 1) % players
    lines = [_headline(state, position), _stock(position), ""]
    for i in range(players):
        lines += _side(state, position, (first + i) % players, seat)
    return "\n".join([*lines, "", _trick(shown, position)])


def _headline(state: Words, position: Position) -> str:
    trump = f"trump {SUITS[position.trump]}"
    if not int(state[LEFT]):
        return f"{trump} | over"
    left = int(state[DEAL_LEFT])
    act = "announce" if announcing(state) else "act"
    return f"{trump} | {left} to play, seat {position.seat} to {act}"


def _stock(position: Position) -> str:
    text = f"stock: {position.stock_size} cards" if position.stock_size else "stock: none"
    if position.turned is not None and position.turned in position.stock:
        text += f", {card_text(position.turned)} turned over"
    if position.is_seen_by_one_seat or len(position.stock) < 2:
        return text
    rows = [position.stock[i : i + 24] for i in range(0, len(position.stock), 24)]
    return "\n".join([text, *(_INDENT + " ".join(map(card_text, row)) for row in rows)])


def _side(state: Words, position: Position, who: Seat, seat: Seat | None) -> list[str]:
    """The points and the hand of one seat."""
    score = position.scores[who]
    points = f"seat {who}  {points_of(state, who):3} points, {score.tricks} tricks"
    if announces(state):
        said = None if position.announced is None else position.announced[who]
        points += "" if said is None else f" of {said} announced"
    if who == seat:
        points += "   (you)"
    return [points, f"{_INDENT}{_hand(position.hands[who])}"]


def _hand(hand: Hand) -> str:
    if hand.unseen:
        known = f" and {_suits(hand.cards)}" if hand.cards else ""
        return f"{hand.unseen} cards{known}"
    return _suits(hand.cards) if hand.cards else "no cards"


def _suits(cards: int) -> str:
    pairs = zip(SUITS, hand_text(cards).split("."), strict=True)
    return "  ".join(f"{suit} {ranks}" for suit, ranks in pairs if ranks)


def _trick(state: Words, position: Position) -> str:
    """The trick in progress, else the last one."""
    players = position.num_players
    if position.trick:
        cards = [
            f"{(position.leads + i) % players} {card_text(card)}"
            for i, card in enumerate(position.trick)
        ]
        return f"trick: {', '.join(cards)}"
    plays = [(who, card) for kind, who, card, _ in events_of(state) if kind == PLAYED_IT]
    if len(plays) < players:
        return f"seat {position.leads} leads"
    last = plays[-players:]
    winner, best = last[0]
    for who, card in last[1:]:
        if beats(card, best, position.trump):
            winner, best = who, card
    cards = [f"{who} {card_text(card)}" for who, card in last]
    return f"last trick: {', '.join(cards)}, taken by seat {winner}"
