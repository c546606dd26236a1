"""Self-play training: PPO on Stable-Baselines3, in which every seat of every game learns."""
