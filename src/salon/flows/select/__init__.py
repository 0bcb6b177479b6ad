"""Scorers and generators put to choosing: best of N, gates, routes, chains, pairs, rewards."""
