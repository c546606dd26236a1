"""Honors for PettingZoo: `honors_v0.env()`, or `honors_v0.raw_env()` without the checks."""

from __future__ import annotations

from typing import Any

from pettingzoo import AECEnv

from tricktable_env.envs.aec import TrickTableAEC, checked
from tricktable_env.registry import make_game

__all__ = ["env", "raw_env"]


def raw_env(render_mode: str | None = None, **rules: Any) -> TrickTableAEC:
    """Makes the bare environment: an action that is not legal raises and changes nothing.

    Args:
        render_mode: `ansi` or `human`.
        **rules: options of Honors; see `tricktable_env.honors.Rules`.

    Raises:
        ValueError: an option that makes no sense.
    """
    return TrickTableAEC(make_game("honors", **rules), version=0, render_mode=render_mode)


def env(render_mode: str | None = None, **rules: Any) -> AECEnv[str, Any, Any]:
    """Makes the environment with PettingZoo's three standard checks; see `raw_env`."""
    return checked(raw_env(render_mode, **rules))
