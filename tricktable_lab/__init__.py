"""Research and people: matches, replays, statistics and the command line `tricktable`."""

from tricktable_env import __version__

__all__ = ["__version__"]
