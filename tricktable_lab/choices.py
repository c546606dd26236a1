"""What a person may choose now: by number or by text, and why not when not."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping

from tricktable_env.cards import SUITS, CardSet, NotationError, card_text, cards_of, read_card
from tricktable_env.game import Action, Game

_SUIT_NAMES = ("spades", "hearts", "diamonds", "clubs")


class ChoiceError(ValueError):
    """No choice, or one that breaks a rule; the message says which."""


class Choices:
    """The legal actions, each with a number to choose it by.

    Args:
        game: the game.
        legal: the legal actions.
        places: the person's cards by where they lie.
    """

    def __init__(self, game: Game, legal: list[Action], places: Mapping[str, CardSet]) -> None:
        self._places = tuple(places)
        self._texts = {action: game.action_text(action) for action in range(game.num_actions)}
        self._held = {card_text(c): where for where, held in places.items() for c in cards_of(held)}
        self._where = {action: self._held.get(self._texts[action], "") for action in legal}
        order = {"": 0} | {where: i for i, where in enumerate(places)}
        self._legal = sorted(legal, key=lambda a: (order[self._where[a]], *self._rank(a)))
        self.numbers = self._number()

    def _rank(self, action: Action) -> tuple[int, int]:
        """Cards by suit and from the highest down, as a hand is written; the rest as it comes."""
        text = self._texts[action]
        return (SUITS.index(text[1]), -action) if _is_card(text) else (0, action)

    def _number(self) -> dict[int, Action]:
        """From 1; actions that are numbers themselves (`announce 3`) keep their own."""
        ends = [self._texts[action].rpartition(" ")[2] for action in self._legal]
        if all(end.isdecimal() for end in ends):
            return {int(end): action for end, action in zip(ends, self._legal, strict=True)}
        return dict(enumerate(self._legal, start=1))

    @property
    def only(self) -> Action | None:
        """The choice where there is but one."""
        return self._legal[0] if len(self._legal) == 1 else None

    def text(self) -> str:
        """A line for each place, the suits apart."""
        lines: dict[str, list[str]] = {}
        before = ("", "")
        for number, action in self.numbers.items():
            where, text = self._where[action], self._texts[action]
            line = lines.setdefault(where, [f"{where:6}"] if where else [])
            new_suit = _is_card(text) and before[0] == where and before[1] != text[1]
            line.append(f"{' ' * new_suit}{number:2} {text}")
            before = where, text[1]
        return "\n".join("  ".join(line) for line in lines.values())

    def read(self, words: str) -> Action:
        """Reads a choice, in any case of letters.

        Raises:
            ChoiceError: none, or not legal, with the rule that it breaks.
        """
        if re.fullmatch(r"[0-9]+", words):
            return self._numbered(words)
        words = re.sub(r"^10([shdc])$", r"t\1", words)
        for action, text in self._texts.items():
            if words == text.casefold():
                if action in self._legal:
                    return action
                raise ChoiceError(self._why_not(text))
        ends = [a for a in self._legal if self._texts[a].casefold().split()[-1] == words]
        if len(ends) == 1:
            return ends[0]
        example = self._texts[self._legal[0]]
        raise ChoiceError(f"no choice: {words[:30]!r} (a number, {example}, or help)")

    def _numbered(self, words: str) -> Action:
        number = int(words) if len(words) < 4 else None
        if number not in self.numbers:
            low, high = min(self.numbers), max(self.numbers)
            raise ChoiceError(f"no choice {words[:30]}: the numbers are {low} to {high}")
        return self.numbers[number]

    def _why_not(self, text: str) -> str:
        """The rule that an action breaks."""
        legal = [self._texts[action] for action in self._legal]
        may = f"you may choose {', '.join(legal)}"
        if not _is_card(text):
            return f"{text}: now a card is to be played" if _is_card(legal[0]) else f"{text}: {may}"
        if not _is_card(legal[0]):
            return f"{text}: cards are played later; {may}"
        if self._held and text not in self._held:
            return f"{text}: not among the cards you can play ({' and '.join(self._places)})"
        suit = legal[0][1]
        if any(card[1] != suit for card in legal):
            return f"{text}: not legal; {may}"
        return f"{text}: you must follow {_SUIT_NAMES[SUITS.index(suit)]}; {may}"


def _is_card(text: str) -> bool:
    with contextlib.suppress(NotationError):
        read_card(text)
        return True
    return False
