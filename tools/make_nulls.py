"""Compute the null laws that ship with the package: python tools/make_nulls.py [folder]

Prints one line per shape. The tables are exact, and the same bytes come out on every run.
"""

from __future__ import annotations

import sys
from pathlib import Path

from salon.stats import exact_null
from salon.store.nulls import encode_null, table_name

MOST_RATERS = {2: 15, 3: 15, 4: 15, 5: 10, 6: 7, 7: 4, 8: 3}
"""For each number of items the largest number of raters shipped: where tables stay small
and take seconds (6 items, 7 raters: two minutes)."""


def shapes() -> list[tuple[int, int]]:
    """(items, raters) of every shipped table."""
    return [(items, raters) for items, most in MOST_RATERS.items() for raters in range(2, most + 1)]


def main(folder: Path) -> None:
    """Write every table into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    size = 0
    for items, raters in shapes():
        data = encode_null(exact_null(items, raters))
        (folder / table_name(items, raters)).write_bytes(data)
        size += len(data)
        print(f"{items} items, {raters} raters: {len(data):,} bytes")
    print(f"{len(shapes())} tables, {size:,} bytes")


if __name__ == "__main__":
    default = Path(__file__).parents[1] / "src" / "salon" / "store" / "null_tables"
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else default)
