"""How often do pixels say of a point what the record of the poster says? Writes docs/methods/pixel-points.md.

    python -m prove.pixel_points

Posters of the built-in briefs that were not looked at when tolerances were set. Readings are kept in the user's cache.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np

from prove._page import table, wrapped
from prove._pixel_cases import HEIGHT, SEED, WIDTH, Answer, answers, cases
from salon.engine import map_processes
from salon.judge import measuring_judge as layout_judge, point_rules as pixel_rules
from salon.models import READER
from salon.stats import score_interval

PAGE = Path(__file__).parents[1] / "docs/methods/pixel-points.md"
INTRO = """
`salon judge run STUDY --protocol checklist --points FILE --measured pixels` answers points by their rules from the
picture alone: it reads the text ({reader}), and measures colors, places, sizes and contrast. `--measured layout`
answers the same rules from the record that built-in houses leave beside their posters. It is an oracle, exact where the
record is; it may stand beside a board, never on it. Both leave the same folder as every other judge, answers that name
their reason among them, and both keep what they found by the content of the file: a second run looks at nothing.
"""
INK = "height of the ink"
RULES = (
    ("text", "every word of `text` is there, spelled right",
     "words read, without case and accents, parted at hyphens, 0 taken for o", "words set"),
    ("only", "there are no words but those of `texts`",
     "words of {letters} letters or more, read with confidence {sure:g}", "words set"),
    ("color", "`color` is there; with `leads`, on a good part",
     "{there:.0%} of the picture ({leading:.0%} where it leads) within {near:g} in OKLab",
     "a color of the palette (the ground where it leads) within {near:g}"),
    ("place", "the middle of `text` is in the third `at`",
     "lines whose letters are those of the text, slips allowed", "its box"),
    ("largest", "`text` is `times` as tall as any other line", INK, INK),
    ("size", "`text` has `least` of the height", INK, INK),
    ("contrast", "three quarters of the letters have `least`",
     "light and dark within the lines read", "ink and what it stands on"),
    ("margin", "`texts` keep `least` of the shorter side to the edge",
     "boxes read, less {padding:g} of their height", "boxes of the ink"),
)  # fmt: skip
HOW = """
{posters} posters of {briefs} built-in briefs at {width} x {height} px: each by the house that does a little of
everything wrong, and by one of the other five. Tolerances were set on posters of the same briefs drawn with another
seed; none of these was looked at, and no brief of the posters suite is among them. *agree*: pixels and record say the
same. *passes kept*: of points that hold by the record, those that hold by pixels; *failures found*: the same of points
that do not. Intervals: 95%, score intervals over briefs. Every point of every poster is in the denominator: a text that
cannot be read fails, as it does on a board.
"""
READ = """
**What to expect of it.** Words, places, sizes and contrast are answered nearly as the record has them. What pixels get
wrong is mostly a headline in an awkward face or with letters pushed together, which the reader of text misreads: a
poster is failed that has every word. The reverse, a misspelling read as if it were right, is rare. Colors are the weak
part: a palette may hold a color that the picture hardly shows, and shades of one color come near another. There the
record is no better a witness: it knows what was mixed, not what is seen.
"""


def write_page(found: list[Answer], posters: int) -> None:
    """The page."""
    rules = pixel_rules
    facts = {"reader": READER, "letters": rules.LETTERS, "sure": rules.SURE, "there": rules.THERE, "near": rules.NEAR,
             "leading": rules.LEADING, "padding": rules.PADDING, "posters": posters, "width": WIDTH, "height": HEIGHT,
             "briefs": len({one.brief for one in found})}  # fmt: skip
    signature = f"pixels|rules:{rules.VERSION}|reader:{READER}|layout:{layout_judge.LAYOUT_VERSION}|seed:{SEED}"
    parts = [
        "# Points that pixels answer\n",
        "`salon.judge.measuring_judge`; written by `make prove ONLY=pixel_points`.\n",
        wrapped(INTRO.format(**facts)) + "\n",
        "## Rules\n",
        table(["kind", "holds when", "from pixels", "from the record"], _rules(facts)),
        "A point states its rule in the file of points:\n",
        '```json\n{"id": "date", "prompt": "kite-sunday", "text": "The date reads “Sunday at three”.",\n'
        ' "rule": {"kind": "text", "text": "Sunday at three"}}\n```\n',
        "## Against the record\n",
        wrapped(HOW.format(**facts)) + "\n",
        agreement_table(found),
        wrapped(READ) + "\n",
        f"Signature: `{signature}`\n",
    ]
    PAGE.write_text("\n".join(parts), encoding="utf-8")


def _rules(facts: dict[str, object]) -> list[list[str]]:
    return [[f"`{kind}`", *(cell.format(**facts) for cell in cells)] for kind, *cells in RULES]


def agreement_table(found: list[Answer]) -> str:
    """One row a kind of rule, then all together."""
    kinds = {kind: [one for one in found if one.kind == kind] for kind in dict.fromkeys(one.kind for one in found)}
    rows = [_row(kind, some) for kind, some in kinds.items()] + [_row("all", found)]
    return table(["rule", "points", "hold by the record", "agree", "passes kept", "failures found"], rows)


def _row(kind: str, some: list[Answer]) -> list[str]:
    passes, fails = [one for one in some if one.record], [one for one in some if not one.record]
    share = f"{len(passes) / len(some):.0%}"
    return [kind, f"{len(some):,}", share, agreed(some), agreed(passes), agreed(fails)]


def agreed(some: list[Answer]) -> str:
    """The share of equal answers with its interval over briefs."""
    by_brief: dict[str, list[bool]] = defaultdict(list)
    for one in some:
        by_brief[one.brief].append(one.record == one.pixels)
    if len(by_brief) < 2:
        return "–"
    same = score_interval([np.mean(own) for own in by_brief.values()], [float(len(own)) for own in by_brief.values()])
    return f"{same.value:.3f} [{same.low:.3f}, {same.high:.3f}] ({len(some):,})"


def main() -> None:
    """Draw, read, compare, write."""
    asked = cases()
    found: list[Answer] = []
    for number, result in map_processes(answers, asked):
        if isinstance(result, Exception):
            raise result
        found += result
        if number % 50 == 0:
            print(f"{number} of {len(asked)}", flush=True)
    found.sort(key=lambda one: one.brief)
    write_page(found, len(asked))


if __name__ == "__main__":
    main()
