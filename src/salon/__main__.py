"""`python -m salon` is `salon`."""

from salon.cli.main import run

run()
