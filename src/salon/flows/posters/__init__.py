"""Poster tasks: contestants, judges and people at work on them."""
