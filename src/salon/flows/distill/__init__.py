"""From a judge's own answers to a one-pass scorer, and what it is worth."""
