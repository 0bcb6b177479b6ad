"""The exact null of 4 items and 5 raters against the plain enumeration."""

from benchmarks._null_race import race

if __name__ == "__main__":
    race(4, 5)
