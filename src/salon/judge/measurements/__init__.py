"""Measurements of a picture by rule, without a network's opinion: each says what it looks at and where it is blind."""
