"""Positions and states of Honors: a game begun from a text, and the texts of a game.

`place` and `position_of` are each other's inverse. What one seat has seen, as a position and in
order, is written from its view, so nothing else can be in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral

from tricktable_env.cards import (
    NUM_CARDS,
    SUITS,
    Seat,
    Words,
    card_set,
    card_text,
    cards_of,
)
from tricktable_env.game import Action, PositionError
from tricktable_env.honors.infostate import (
    ANNOUNCED_IT,
    PLAYED_IT,
    at_start,
    events_of,
    view_of,
)
from tricktable_env.honors.notation import Hand, Position, Score, read_position
from tricktable_env.honors.rules import (
    Rules,
    announces,
    announcing,
    honor,
    num_players,
    show_lacks,
)
from tricktable_env.honors.state import (
    ANNOUNCED,
    DEAL_LEFT,
    DEALT,
    GONE,
    HAND,
    HONORS,
    IN_TRICK,
    LEADER,
    LEFT,
    PLAYED,
    PLY,
    SCORE,
    SCORE_BIAS,
    STOCK,
    STOCK_AT,
    STOCK_SIZE,
    TRICK,
    TRICKS,
    TRUMP,
    TURN,
    TURNED,
    TURNED_BY,
    VIEWER,
    action_at,
    byte_of,
    clear_game,
    held,
    note_start,
    put_byte,
)

HONORS_OF_ALL = 12
"""Points of the ace, the jack and the queen of trumps together."""


# -- positions and states --------------------------------------------------------------------
def place(s: Words, text: str, rules: Rules) -> None:
    """Begins a game from the text of a position; absent cards count as seen and played.

    Args:
        s: `[WORDS] uint64` that holds the rules; untouched when the position is refused.
        text: the position.
        rules: the rules that `s` holds.

    Raises:
        NotationError: no position.
        PositionError: seen by one seat only, finished, or not of these rules.
    """
    position = read_position(text)
    _check_fits(position, text, rules)
    clear_game(s)
    s[TURN], s[LEADER], s[TRUMP] = position.seat, position.leads, position.trump
    for seat, (hand, score) in enumerate(zip(position.hands, position.scores, strict=True)):
        s[HAND + seat] = hand.cards
        put_byte(s, TRICKS, seat, score.tricks)
        put_byte(s, HONORS, seat, score.honors)
        put_byte(s, SCORE, seat, score.points + SCORE_BIAS)
        if position.turned is not None and hand.cards >> position.turned & 1:
            s[TURNED_BY] = seat + 1
    for seat, said in enumerate(position.announced or ()):
        put_byte(s, ANNOUNCED, seat, 0 if said is None else said + 1)
    for i, card in enumerate(position.trick):
        put_byte(s, TRICK, i, card + 1)
        s[PLAYED + (position.leads + i) % rules.num_players] |= 1 << card
    for i, card in enumerate(position.stock):
        put_byte(s, STOCK, i, card + 1)
    s[TURNED] = 0 if position.turned is None else position.turned + 1
    s[IN_TRICK], s[STOCK_SIZE] = len(position.trick), len(position.stock)
    s[DEALT] = position.hands[position.seat].size
    s[GONE] = rules.deck & ~card_set(position.cards())
    s[DEAL_LEFT] = _deal_left(position, rules)
    s[LEFT] = s[DEAL_LEFT]
    if rules.stock == "redeal":
        s[LEFT] += position.stock_size // rules.num_players
    show_lacks(s)
    note_start(s)


def _deal_left(position: Position, rules: Rules) -> int:
    """Tricks left to play in this deal."""
    left = position.hands[position.seat].size
    if rules.stock == "draw":
        left += position.stock_size // rules.num_players
    return left


def _check_fits(position: Position, text: str, rules: Rules) -> None:
    if position.num_players != rules.num_players:
        raise PositionError(
            f"{text!r} has {position.num_players} hands, but num_players={rules.num_players}"
        )
    if position.is_seen_by_one_seat:
        raise PositionError(f"{text!r} is what one seat sees; a game needs every card")
    if not position.hands[position.seat].size:
        raise PositionError(f"{text!r} is finished: no card is left to play")
    for card in (
        position.cards() if position.turned is None else (*position.cards(), position.turned)
    ):
        if not rules.deck >> card & 1:
            raise PositionError(
                f"{card_text(card)} in {text!r} is not in the deck (suits={rules.suits}, "
                f"ranks={rules.ranks})"
            )
    _check_trump(position, text, rules)
    _check_counts(position, text, rules)
    if (position.announced is not None) != rules.announce:
        raise PositionError(
            f"{text!r} has {'no ' if rules.announce else ''}announcements, but the rules are "
            f"announce={rules.announce}"
        )


def _check_trump(position: Position, text: str, rules: Rules) -> None:
    if (position.turned is not None) != (rules.trump == "flip"):
        raise PositionError(
            f"{text!r} has {'no' if position.turned is None else 'a'} card turned over, but the "
            f"rules are trump={rules.trump!r}"
        )
    if position.trump >= rules.suits or rules.trump not in (
        "flip",
        "random",
        SUITS[position.trump],
    ):
        raise PositionError(
            f"{text!r} has trump {SUITS[position.trump]}, but the rules are trump={rules.trump!r}, "
            f"suits={rules.suits}"
        )


def _check_counts(position: Position, text: str, rules: Rules) -> None:
    """Hands, stock and tricks taken fit a deal of these rules, and so do scores and leads."""
    taken = sum(score.tricks for score in position.scores)
    hand, stock = position.hands[position.seat].size, position.stock_size
    states = {
        (h, stock_then): (deal, done)
        for deal, tricks in enumerate(rules.deals)
        for done in range(tricks)
        for h, stock_then in [_sizes(rules, deal, done)]
    }
    if (hand, stock) not in states:
        raise PositionError(
            f"{text!r}: hands of {hand} with a stock of {stock} do not occur with "
            f"num_players={rules.num_players}, hand={rules.hand}, stock={rules.stock!r}, "
            f"suits={rules.suits}, ranks={rules.ranks}"
        )
    deal, done = states[hand, stock]
    tricks = rules.deals[deal]
    if taken != done:
        raise PositionError(
            f"{text!r}: {taken} tricks taken plus {tricks - done} left is not the {tricks} tricks "
            "of the deal"
        )
    if deal == done == 0 and position.leads != 0:
        raise PositionError(f"{text!r}: no trick is taken, and the first lead is seat 0's")
    _check_honors(position, text, rules)
    low, high = points_range(rules, deal)
    for score in position.scores:
        if not low <= score.points <= high:
            raise PositionError(
                f"{score.points} points in {text!r}: earlier deals, of which there were {deal}, "
                f"make {low} to {high}"
            )
    for said in position.announced or ():
        if said is not None and said > tricks:
            raise PositionError(
                f"{said} tricks announced in {text!r}, but the deal has only {tricks}"
            )


def points_range(rules: Rules, deal: int) -> tuple[int, int]:
    """The fewest and the most points that the first deals, so many, can make for a seat.

    So no score leaves its byte of the state, however the rest is played.
    """
    tricks = sum(rules.deals[:deal])
    honors = HONORS_OF_ALL if deal else 0
    if not rules.announce:
        return 0, tricks + honors
    return -2 * tricks, 2 * tricks + honors * (1 + (rules.announce_double == "points"))


def _check_honors(position: Position, text: str, rules: Rules) -> None:
    """No more points are taken for honors than the honors that are gone make."""
    gone = rules.deck & ~card_set(position.cards())
    most = sum(honor(card, position.trump) for card in cards_of(gone))
    if sum(score.honors for score in position.scores) > most:
        raise PositionError(
            f"{text!r}: {sum(score.honors for score in position.scores)} points taken for honors, "
            f"but those that have been played make {most}"
        )
    for seat, score in enumerate(position.scores):
        if score.honors and not score.tricks:
            raise PositionError(f"{text!r}: seat {seat} has taken honors, but no trick")


def _sizes(rules: Rules, deal: int, done: int) -> tuple[int, int]:
    """Cards of each hand and of the stock after so many tricks of a deal."""
    players, stock = rules.num_players, rules.stock_size
    if rules.stock == "draw":
        drawn = min(done, stock // players)
        return rules.hand - done + drawn, stock - players * drawn
    return rules.deals[deal] - done, stock - players * sum(rules.deals[1 : deal + 1])


def position_of(s: Words) -> Position:
    """Takes a state or a view apart.

    Args:
        s: `[WORDS] uint64`; of a view, what its seat does not see is unseen in the position.
    """
    players, viewer = num_players(s), int(s[VIEWER])
    hands = []
    for seat in range(players):
        cards = int(s[HAND + seat])
        hands.append(Hand(cards, held(s, seat) - cards.bit_count() if viewer else 0))
    places = range(int(s[STOCK_AT]), int(s[STOCK_SIZE]))
    stock = [byte_of(s, STOCK, i) - 1 for i in places]
    known = tuple(card for card in stock if card >= 0)
    said = [byte_of(s, ANNOUNCED, seat) for seat in range(players)]
    return Position(
        seat=int(s[TURN]),
        leader=int(s[LEADER]) if announcing(s) else None,
        trump=int(s[TRUMP]),
        turned=int(s[TURNED]) - 1 if s[TURNED] else None,
        trick=tuple(byte_of(s, TRICK, i) - 1 for i in range(int(s[IN_TRICK]))),
        scores=tuple(
            Score(
                byte_of(s, TRICKS, seat),
                byte_of(s, HONORS, seat),
                byte_of(s, SCORE, seat) - SCORE_BIAS,
            )
            for seat in range(players)
        ),
        announced=tuple(each - 1 if each else None for each in said) if announces(s) else None,
        stock=known,
        stock_unseen=len(stock) - len(known),
        hands=tuple(hands),
    )


# -- what a seat has seen --------------------------------------------------------------------
def position_text(s: Words, seat: Seat | None = None) -> str:
    """Writes a position, whole or as a seat sees it; of a view, as its own seat sees it.

    Args:
        s: `[WORDS] uint64`, a full state, or a view of the seat.
        seat: 0 to P - 1; None for all that `s` holds.
    """
    return position_of(s if seat is None else view_of(s, seat)).text()


def information_state(s: Words, seat: Seat) -> str:
    """Writes all that a seat has seen of its game, in order, ` | ` between the parts.

    The start as the seat saw it; then the announcements of a deal, and every trick, in a part of
    their own. `+4H` is a card that the seat drew, `2+QH` the turned card that seat 2 drew. Seats
    play and announce in turn, so who did is not repeated.

    Args:
        s: `[WORDS] uint64`, a full state, or a view of the seat.
        seat: 0 to P - 1.
    """
    seen = view_of(s, seat)
    start = at_start(seen)
    parts = [[position_of(start).text()]]
    turned, place, last = int(s[TURNED]) - 1, int(start[IN_TRICK]), -1
    for kind, who, value, _ in events_of(seen):
        if kind == ANNOUNCED_IT:
            if last != ANNOUNCED_IT:
                parts.append([])
            parts[-1].append(f"announce {value}")
        elif kind == PLAYED_IT:
            if len(parts) == 1 or last == ANNOUNCED_IT or place % num_players(s) == 0:
                parts.append([])
            parts[-1].append(card_text(value))
            place += 1
        elif who == seat:
            parts[-1].append(f"+{card_text(value)}")
        elif value == turned >= 0:
            parts[-1].append(f"{who}+{card_text(value)}")
        last = kind
    return " | ".join(" ".join(part) for part in parts)


def record(s: Words) -> tuple[str, list[Action]]:
    """Tells a game from all that its state remembers: the position it started from, the actions.

    Raises:
        PositionError: a view, which lacks the hidden cards.
    """
    if int(s[VIEWER]):
        raise PositionError("a view has no record: it lacks the hidden cards")
    return position_of(at_start(s)).text(), [action_at(s, ply) for ply in range(int(s[PLY]))]


def check_deck(deck: Sequence[int], rules: Rules) -> None:
    """Refuses a deck order that is not every card of the deck once.

    Raises:
        PositionError: which card is wrong.
    """
    dealt = 0
    for i, card in enumerate(deck):
        whole = isinstance(card, Integral) and not isinstance(card, bool)
        if not whole or not 0 <= card < NUM_CARDS or not rules.deck >> int(card) & 1:
            raise PositionError(
                f"deck entry {i} is {card!r}: no card of the deck (suits={rules.suits}, "
                f"ranks={rules.ranks}; a card is the whole number 13 x suit + rank)"
            )
        if dealt >> int(card) & 1:
            raise PositionError(f"deck entry {i} is {card_text(int(card))}, which came before")
        dealt |= 1 << int(card)
    missing = rules.deck & ~dealt
    if missing:
        raise PositionError(f"deck lacks {card_text(next(cards_of(missing)))}")
