"""The settings of a training run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Settings:
    """Trains an agent by self-play and measures it."""

    seed: int = 0
    tables: int = 1024
    batch_size: int = 1024
    epochs: int = 2
    learning_rate: float = 7e-4
    learning_rate_end: float = 3e-5
    gae_lambda: float = 0.95
    clip_range: float = 0.2
    entropy: float = 0.01
    entropy_end: float = 0.002
    value_weight: float = 0.5
    max_grad_norm: float = 0.5
    reward: str = "margin"
    reward_scale: float = 2.0
    critic: Literal["shared", "hidden"] = "shared"
    width: int = 128
    depth: int = 3
    threads: int = 2
    decisions: int = 10_000_000

    def training_rules(self) -> dict[str, Any]:
        return {"reward": self.reward}
