"""Does each measurement fall as the defect it measures grows? Every measurement against every defect.

    python -m prove.measurements          writes docs/methods/measurements.md

Readings are kept in the user's cache, so a second run takes a fraction of the first.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

from prove._measure_posters import DAMAGES, STRENGTHS, Moves, moves, own_moves
from prove._page import table, wrapped
from prove._read_posters import Case, drawn, sample
from salon.judge import MEASUREMENTS
from salon.judge.measurements.naturalness import REFERENCE, fit_reference
from salon.models import ResultCache
from salon.render import DEFECTS

POSTERS = 6
FURTHER = {"wrong-position": 6, "wrong-color": 60}
"""Posters more for defects that many briefs cannot have; where no text is read they cost little."""
GOAL = -0.8
DRAWS = 2000
CLEAN = 68
PAGE = Path(__file__).parent.parent / "docs" / "methods" / "measurements.md"
MEANT = {
    "misspelling": "words", "missing-text": "words", "low-contrast": "contrast", "wrong-color": "palette",
    "misalignment": "alignment", "broken-hierarchy": "hierarchy", "crowding": "room", "wrong-position": "place",
    "bad-kerning": "spacing", "blur": "naturalness", "noise": "naturalness", "emptied left side": "balance",
}  # fmt: skip
"""Defect to the measurement that is about it."""
UNMEASURED = {
    "clashing-colors": "which colors go together is a matter of the whole picture; the best of nine formulas tried on "
    "chroma and hue reached -0.63 over twelve posters, so none is offered. `palette` falls with it where the brief "
    "names colors: a departure from the brief, not a judgment of harmony",
    "wrong-font-pairing": "no network here tells typefaces apart",
    "off-mood-style": "no network here knows what a style feels like",
    "extra-element": "what nobody asked for looks like anything else to a rule",
}
"""Defects that nothing here measures, and why."""


def poster_moves(case: Case) -> list[Moves]:
    """All of one poster."""
    return list(moves(case, ResultCache()))


def rare_moves(case: tuple[int, Case]) -> list[Moves]:
    """Of one further poster only the rare defects it is for, each with its own measurement."""
    number, poster = case
    found = (
        own_moves(poster, defect, MEANT[defect], ResultCache()) for defect, count in FURTHER.items() if number < count
    )
    return [one for one in found if one is not None]


def mean_interval(values: Sequence[float], rng: np.random.Generator) -> tuple[float, float, float]:
    """The mean over posters and its 95% bootstrap interval."""
    given = np.array(values)
    drawn = given[rng.integers(len(given), size=(DRAWS, len(given)))].mean(axis=1)
    return float(given.mean()), *(float(q) for q in np.quantile(drawn, [0.025, 0.975]))


def cells(found: Sequence[Moves], defect: str, name: str) -> list[float]:
    """Spearman by poster, where the measurement has a value at every strength."""
    return [value for one in found if one.defect == defect and (value := one.falls(name)) is not None]


def meant_rows(found: Sequence[Moves]) -> list[list[str]]:
    """One line per defect that a measurement is about."""
    rng, rows = np.random.default_rng(0), []
    for defect, name in MEANT.items():
        there = sum(one.defect == defect for one in found)
        if values := cells(found, defect, name):
            mean, low, high = mean_interval(values, rng)
            verdict = "yes" if mean <= GOAL else "no"
            rows.append(
                [defect, f"`{name}`", f"{mean:.2f} [{low:.2f}, {high:.2f}]", f"{len(values)} of {there}", verdict]
            )
    return rows


def matrix_rows(found: Sequence[Moves]) -> list[list[str]]:
    """Every measurement against every defect; what is meant stands in bold."""
    rows = []
    for defect in [*DEFECTS, *DAMAGES]:
        row = [defect]
        for name in MEASUREMENTS:
            values = cells(found, defect, name)
            text = f"{np.mean(values):.2f}" if values else "·"
            row.append(f"**{text}**" if MEANT.get(defect) == name else text)
        rows.append(row)
    return rows


def page(found: Sequence[Moves], posters: int) -> str:
    """The page of the docs."""
    steps = ", ".join(f"{strength:.2f}" for strength in STRENGTHS)
    parts = [
        "# Measurements and defects",
        wrapped("""Measurements are scorers by rule: `salon score study -s words -s contrast`. Each looks at one thing
        and is blind to the rest. This page is written by `python -m prove.measurements`; it plants every defect of the
        built-in renderer at growing strength, one at a time, and asks which measurements fall."""),
        "## What each is",
        table(["measurement", "what it tells", "rests on", "no value when"],
              [[f"`{name}`", rule.tells, rule.rests_on, rule.gap] for name, rule in MEASUREMENTS.items()]),
        wrapped("""One rule says when there is a number: a measurement has a value where what it looks at is in the
        picture; else the picture is unscored, with the reason. `words` and `contrast` look at the text that was asked
        for: where it is missing they have their worst value, 0 and 1. So a picture of one plain color (all pixels
        within 2 of 255; a wholly transparent picture is white) has no `balance` and no `naturalness`, lacks the text,
        and has a `palette`. A picture with a side under 8 pixels, or one over 20 times the other, is unscored by all of
        them."""),
        "## Does it fall with the defect it measures?",
        wrapped(f"""{posters} posters in {posters} styles, each defect at strengths {steps}. For every poster Spearman's
        correlation of strength and value; the mean over posters with its 95% bootstrap interval over posters ({DRAWS:,}
        draws, seed 0). A value that never moves counts as 0. A poster counts only where the defect could be planted and
        the measurement has a value at every strength (n of those planted). The goal is {GOAL} or less. Blur, noise and
        an emptied left side are done to the finished pixels, for measurements no planted defect is about. Not every
        brief names colors or a place, so some defects are tried on further posters:
        {', '.join(f'{defect} on {count} more' for defect, count in FURTHER.items())}."""),
        table(["defect", "measurement", "Spearman", "n", f"at most {GOAL}"], meant_rows(found)),
        wrapped("""`place` cannot reach -1, because the defect has only two steps. The formulas of `alignment` (of six)
        and `palette` (of some two dozen) were chosen on the first twelve of these posters, and the reference of
        `naturalness` holds them: their figures flatter a little. `palette` was at -0.69 over 85 posters while full
        strength of wrong-color was always half a turn, which gives opposite colors back; the defect was mended, the
        measurement was not touched."""),
        "## Which defects nothing here measures",
        table(["defect", "why"], [[defect, why] for defect, why in UNMEASURED.items()]),
        "## Every measurement against every defect",
        wrapped("""Mean Spearman over posters; in bold what is meant. A dot: no value. Other numbers near -1 are side
        effects: crowded text is larger, so hierarchy falls with it. With so few posters, single cells off the bold ones
        are rough."""),
        table(["defect", *(f"`{name}`" for name in MEASUREMENTS)], matrix_rows(found)),
        "## Not here",
        wrapped("""BRISQUE's own model is not shipped: its package does not install beside NumPy 2, and it was fitted to
        camera pictures. `naturalness` has the same features, fitted to 68 clean posters of the renderer
        (`python -m prove.measurements fit`), these among them; it follows blur and noise, not JPEG compression."""),
    ]  # fmt: skip
    return "\n\n".join(part.strip() for part in parts) + "\n"


def fit_clean() -> None:
    """Fit the reference of `naturalness` anew, from clean posters."""
    centre, precision = fit_reference(drawn(case)[1] for case in sample(CLEAN))
    np.savez_compressed(REFERENCE, centre=centre.astype(np.float32), precision=precision.astype(np.float32))


def main() -> None:
    """Measure, and write the page."""
    if "fit" in sys.argv[1:]:
        fit_clean()
    workers = min(POSTERS, int(os.environ.get("JOBS", os.cpu_count() or 1)))
    with ProcessPoolExecutor(workers) as pool:
        cases = list(sample(POSTERS + max(FURTHER.values())))
        first, more = pool.map(poster_moves, cases[:POSTERS]), pool.map(rare_moves, enumerate(cases[POSTERS:]))
        found = [one for part in (*first, *more) for one in part]
    PAGE.write_text(page(found, POSTERS), encoding="utf-8")
    print(f"wrote {PAGE}")


if __name__ == "__main__":
    main()
