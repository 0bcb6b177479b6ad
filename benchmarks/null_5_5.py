"""The exact null of 5 items and 5 raters against the plain enumeration."""

from benchmarks._null_race import race

if __name__ == "__main__":
    race(5, 5)
