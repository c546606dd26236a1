"""A game of Honors as a person would want to see it."""

from __future__ import annotations

from tricktable_env.cards import SUITS, Card, CardSet, Seat, Words, card_text, hand_text
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
    return "\n".join([*lines, "", *_trick(shown, position)])


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


def _trick(state: Words, position: Position) -> list[str]:
    """The trick in progress, and the last one."""
    players, trick = position.num_players, position.trick
    plays = [(who, card) for kind, who, card, _ in events_of(state) if kind == PLAYED_IT]
    lines = []
    if trick:
        cards = [((position.leads + i) % players, card) for i, card in enumerate(trick)]
        lines.append(f"trick: {_plays(cards)}")
        plays = plays[: len(plays) - len(trick)] if len(plays) >= len(trick) else []
    if len(plays) >= players:
        lines.append(_last_trick(plays[-players:], position.trump))
    return lines or [f"seat {position.leads} leads"]


def _last_trick(plays: list[tuple[Seat, Card]], trump: int) -> str:
    winner, best = plays[0]
    for who, card in plays[1:]:
        if beats(card, best, trump):
            winner, best = who, card
    return f"last trick: {_plays(plays)}, taken by seat {winner}"


def _plays(plays: list[tuple[Seat, Card]]) -> str:
    return ", ".join(f"{who} {card_text(card)}" for who, card in plays)


def places(state: Words, seat: Seat) -> dict[str, CardSet]:
    """The cards that a seat may come to play next, by where they lie, as the seat sees it."""
    return {"hand": position_of(view_of(state, seat)).hands[seat].cards}
