"""Equilibria of Tableau on reduced decks, exactly: what a game is worth and what plans lose."""
