"""Scorers: anything that gives numbers to items, so that each can stand where a judge stands."""
