"""Players of Trick Table's games, and their training.

An agent is made for a game, `RandomAgent(game)`, and asked by what its seat has seen; see
`tricktable_env.opponents.Agent`. Specs as `random` or `policy:PATH` name them.
"""

from tricktable_env import __version__

__all__ = ["__version__"]

TRICKTABLE = True
"""Tells this package from others of the name `agents`."""
