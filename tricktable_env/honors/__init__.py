"""Honors: two to seven players, seven cards in hand, a stock, and points for the high trumps."""

from tricktable_env.honors.game import Honors
from tricktable_env.honors.rules import Rules

__all__ = ["Honors", "Rules"]
