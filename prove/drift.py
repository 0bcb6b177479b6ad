"""How often the drift watch alarms without drift, and how soon with it; writes docs/methods/drift-table.md.

python -m prove.drift [runs]
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from prove._page import table, wrapped
from salon.stats import agreement_look, wilson
from salon.stats.drift import ks_distance, ks_tail, look_level

OUT = Path(__file__).parents[1] / "docs/methods/drift-table.md"
SEED, RUNS, LEVEL = 2026, 1000, 0.05
REFERENCE, WINDOW, LOOKS, BEFORE = 1000, 200, 100, 20
CHOICES = 50
SHIFTS = (0.1, 0.2, 0.3, 0.5, 1.0)
Draw = Callable[[np.random.Generator, int], np.ndarray]

HEAD = """\
# The drift watch, measured

Written by `make prove ONLY=drift` (seed {seed}, {runs:,} watches for each row); see [drift](drift.md) for the method.
Reference of {n:,} values, windows of {m}, level {level:.0%}, one criterion. Intervals are Wilson's at 95%.

"""


def plain(rng: np.random.Generator, size: int) -> np.ndarray:
    """Independent values."""
    return rng.normal(size=size)


def rounded(rng: np.random.Generator, size: int) -> np.ndarray:
    """Independent values on a scale of few steps: ties."""
    return np.round(rng.normal(size=size) * 2) / 2


def heavy(rng: np.random.Generator, size: int) -> np.ndarray:
    """Independent values with heavy tails."""
    return rng.standard_t(2, size=size)


def together(rng: np.random.Generator, size: int) -> np.ndarray:
    """All four pictures of every decision, half of the variance shared within a decision."""
    shared = np.repeat(rng.normal(size=-(-size // 4)), 4)[:size]
    return np.sqrt(0.5) * (shared + rng.normal(size=size))


def first_alarm(
    rng: np.random.Generator, draw: Draw, looks: int, *, shift: float = 0.0, before: int = 0, level: float | None = None
) -> int:
    """The first of `looks` windows that alarms, 0 where none does; `level` at every look instead of its share."""
    x = draw(rng, REFERENCE)
    for look in range(1, looks + 1):
        y = draw(rng, WINDOW) + (shift if look > before else 0.0)
        if ks_tail(ks_distance(x, y)[1], REFERENCE, WINDOW) <= (level or look_level(LEVEL, look)):
            return look
    return 0


def falling(rng: np.random.Generator, before: float, after: float, looks: int) -> int:
    """The first window of choices that alarms when agreement goes from `before` to `after` at once."""
    reference = int(rng.binomial(CHOICES, before))
    for look in range(1, looks + 1):
        agreed = int(rng.binomial(CHOICES, after))
        if agreement_look(agreed, CHOICES, reference, CHOICES, look=look, alpha=LEVEL).alarm:
            return look
    return 0


def share(hits: int, runs: int) -> str:
    """A share with its interval."""
    found = wilson(hits, runs)
    return f"{found.value:.1%} [{found.low:.1%}, {found.high:.1%}]"


def without_drift(rng: np.random.Generator, runs: int) -> str:
    """False alarms of long watches."""
    rows = []
    cases: list[tuple[str, Draw, float | None]] = [
        ("normal", plain, None), ("normal, in steps of a half", rounded, None), ("Student's t, 2 degrees", heavy, None),
        ("normal, 5% at every look (no shares)", plain, LEVEL),
        ("four pictures a decision, all counted", together, None),
    ]  # fmt: skip
    for name, draw, level in cases:
        alarms = sum(first_alarm(rng, draw, LOOKS, level=level) > 0 for _ in range(runs))
        rows.append([name, share(alarms, runs)])
        print(rows[-1], flush=True)
    for before in (0.3, 0.6):
        alarms = sum(falling(rng, before, before, LOOKS) > 0 for _ in range(runs))
        rows.append([f"agreement, {before:.0%} of {CHOICES} choices a window", share(alarms, runs)])
        print(rows[-1], flush=True)
    return table(["values", f"watches of {LOOKS} windows that ever alarm"], rows)


def with_drift(rng: np.random.Generator, runs: int) -> str:
    """How soon a shift is found that begins after `BEFORE` quiet windows."""
    rows = []
    for shift in SHIFTS:
        found = np.array([first_alarm(rng, plain, BEFORE + 20, shift=shift, before=BEFORE) for _ in range(runs)])
        late = found[(found == 0) | (found > BEFORE)] - BEFORE
        within = [share(int(((late > 0) & (late <= k)).sum()), len(late)) for k in (1, 5, 20)]
        rows.append([f"{shift:g}", *within])
        print(rows[-1], flush=True)
    return table(["shift of the mean, sd", "first window", "5 windows", "20 windows"], rows)


def agreement_falls(rng: np.random.Generator, runs: int) -> str:
    """How soon a fall of agreement is found."""
    rows = []
    for before, after in ((0.6, 0.5), (0.6, 0.4), (0.6, 0.25)):
        found = np.array([falling(rng, before, after, 20) for _ in range(runs)])
        within = [share(int(((found > 0) & (found <= k)).sum()), runs) for k in (1, 5, 20)]
        rows.append([f"{before:.0%} to {after:.0%}", *within])
    return table(["agreement", "first window", "5 windows", "20 windows"], rows)


def main(runs: int) -> None:
    rng = np.random.default_rng(SEED)
    parts = [
        "## Without drift\n",
        wrapped(
            f"Every watch looks at {LOOKS} windows. A right watch alarms in at most {LEVEL:.0%} of the rows but for "
            "two: one shows what repeated looking does without shares of the level, the other what counting pictures "
            "of one prompt as independent does."
        ) + "\n",
        without_drift(rng, runs),
        "## With drift\n",
        wrapped(
            f"The mean moves after {BEFORE} quiet windows. Share of watches that alarm within so many windows of "
            f"{WINDOW} values after that, of those that had not alarmed before."
        ) + "\n",
        with_drift(rng, runs),
        "## When agreement falls\n",
        wrapped(
            f"Windows and reference of {CHOICES} later choices; agreement falls at the first window. So few choices "
            "show only large falls."
        ) + "\n",
        agreement_falls(rng, runs),
    ]  # fmt: skip
    head = HEAD.format(seed=SEED, runs=runs, n=REFERENCE, m=WINDOW, level=LEVEL)
    OUT.write_text(head + "\n".join(parts))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else RUNS)
