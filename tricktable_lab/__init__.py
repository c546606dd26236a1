"""Research and people: matches, replays, statistics and the command line `tricktable`."""

__all__ = ["__version__"]


def __getattr__(name: str) -> str:
    """Gives the version, without the imports it takes before anyone asks for it."""
    if name == "__version__":
        from tricktable_env import __version__

        return __version__
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
