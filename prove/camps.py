"""One taste or camps: how often the test cries camps where there is one taste, and finds them where they are.

Writes docs/methods/camps-table.md. python -m prove.camps [studies]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from prove._page import table, wrapped
from prove._taste_panels import CAMPS, ONE_TASTE, Draw
from salon.stats import faction_test

OUT = Path(__file__).parents[1] / "docs/methods/camps-table.md"
SEED = 2026
STUDIES = 100
LARGE_STUDIES = 50
"""Of panels with ten raters or more."""
ONE_TASTE_PROMPTS = (20, 80, 300, 1000)
CAMP_PROMPTS = (20, 40, 80, 160, 300)
SAID = f"""Written by `make prove ONLY=camps` (seed {SEED}); the test is described in [factions](factions.md). Every
cell rests on {{studies}} simulated studies, {LARGE_STUDIES} where there are ten raters or more; nobody gave these
answers. Five raters and four items unless a row says otherwise."""


def main(studies: int) -> None:
    rng = np.random.default_rng(SEED)
    parts = ["# One taste or camps: size and power\n", wrapped(SAID.format(studies=studies)) + "\n", "## One taste\n"]
    parts.append(
        wrapped(
            """Share of studies called camps at 5%, ± its standard error: at most .05 is right. In brackets the share
            called "one taste"; the rest is "cannot tell"."""
        )
        + "\n"
    )
    parts.append(_grid(ONE_TASTE, ONE_TASTE_PROMPTS, studies, rng, one_taste=True))
    parts.append("\n## Camps\n")
    parts.append(
        wrapped(
            """Share of studies in which the camps are found (the power), in brackets the share that is wrongly called
            "one taste". Camps have unrelated orders unless a row says otherwise. Of the studies in which camps are
            found, at least the share of the last column names the right raters."""
        )
        + "\n"
    )
    parts.append(_grid(CAMPS, CAMP_PROMPTS, studies, rng, one_taste=False))
    OUT.write_text("\n".join(parts))


def _grid(
    panels: dict[str, Draw], prompts: tuple[int, ...], studies: int, rng: np.random.Generator, *, one_taste: bool
) -> str:
    rows = []
    for name, draw in panels.items():
        raters = draw(rng, 2).shape[1]
        repeats = studies if raters < 10 else LARGE_STUDIES
        cells, named = [], []
        for n in prompts:
            results = [faction_test(draw(rng, n), rng=rng) for _ in range(repeats)]
            camps = np.array([result.answer == "camps" for result in results])
            share = camps.mean()
            error = np.sqrt(share * (1 - share) / repeats)
            one = np.mean([result.answer == "one taste" for result in results])
            cells.append(f"{share:.3f} ± {error:.3f} ({one:.2f})")
            if camps.sum() >= 20:
                right = [result.camps == _truth(name, raters) for result, found in zip(results, camps) if found]
                named.append(float(np.mean(right)))
        rows.append([name, *cells, *([] if one_taste else [f"{min(named):.2f}" if named else "–"])])
        print(rows[-1], flush=True)
    head = ["panel", *(f"{n:,} prompts" for n in prompts), *([] if one_taste else ["named"])]
    return table(head, rows)


def _truth(name: str, raters: int) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """The camps as the row's title states them: 'camps of 3 and 2 ...'."""
    if not name.startswith("camps of"):
        return None
    first = int(name.split()[2])
    return tuple(range(first)), tuple(range(first, raters))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else STUDIES)
