"""Tableau: two players, ten cards in hand, eight face up on eight face down."""

from tricktable_env.tableau.game import Tableau
from tricktable_env.tableau.rules import Rules

__all__ = ["Rules", "Tableau"]
