"""The long evidence: simulations that take minutes and write the tables the docs quote."""
