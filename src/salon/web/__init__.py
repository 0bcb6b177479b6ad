"""The web door: it lets people in, parses what they send and prints what the studio says.

FastAPI is imported in here and nowhere else.
"""
