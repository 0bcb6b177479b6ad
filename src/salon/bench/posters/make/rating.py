"""Overall quality: posters with none to six planted flaws, and what they are worth by the renderer's own account.

The worth is that of `render.quality`: the product of (1 - weight x strength) over the flaws, here those that can be
seen without knowing the brief, times ten. It is a stipulation and on record as such: what a rater is measured against,
not a finding about people.
"""

from __future__ import annotations

from salon.bench.posters.make.briefs import make_brief
from salon.bench.posters.make.deal import dealt, some
from salon.bench.posters.make.made import Made
from salon.bench.posters.make.posters import SHORT, pixels_of
from salon.errors import BadValue
from salon.render.chance import chance
from salon.render.draw import draw_poster
from salon.render.layout import DefectKind
from salon.render.poster import Poster

CRITERION = "taste/aesthetics-preference"
VISIBLE: tuple[DefectKind, ...] = (
    "low-contrast", "clashing-colors", "broken-hierarchy", "misalignment", "crowding", "bad-kerning",
    "wrong-font-pairing", "misspelling", "extra-element",
)  # fmt: skip
"""Flaws that show without the brief."""
LOADS = (0, 1, 2, 3, 4, 5, 6)
_ATTEMPTS = 20
PROMPT = (
    "How good is this poster as a piece of design, all in all? Look at readability, hierarchy, alignment, spacing, "
    "colors and type. Answer with one number from 0 (as bad as can be) to 10 (without a flaw)."
)


def overall_rating(number: int, seed: int) -> Made:
    """A poster with a load of flaws and its worth from 0 to 10."""
    load = dealt(LOADS, number, seed, "overall_rating")
    poster = _flawed(load, number, seed)
    planted = {defect.kind: defect.strength for defect in poster.layout.defects}
    truth = {"gt": round(10 * poster.layout.quality[CRITERION], 1), "defects": planted}
    return Made("overall rating", "poster", PROMPT, truth, pixels_of(poster), {"flaws": len(planted)})


def _flawed(load: int, number: int, seed: int) -> Poster:
    for attempt in range(_ATTEMPTS):
        rng = chance(seed, "overall_rating", str(number), str(attempt))
        knobs = {kind: round(float(rng.uniform(0.4, 1.0)), 2) for kind in some(VISIBLE, load, rng)}
        brief = make_brief(f"rating-{number}", rng, texts=5)
        try:
            poster = draw_poster(brief, seed=int(rng.integers(1 << 31)), width=SHORT, knobs=knobs)
        except BadValue:
            continue
        if {defect.kind for defect in poster.layout.defects} == set(knobs):
            return poster
    raise BadValue("a poster that shows its flaws is needed", found="none", where=f"overall_rating {number}")
