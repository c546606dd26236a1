"""The environments: Gymnasium's single and vector one, PettingZoo's, written once for any game."""
