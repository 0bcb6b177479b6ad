"""The large board: 32 entries whose worth is known, by pixels and by a model trained here; docs/methods/board-table.md.

    python -m prove.board [scratch folder] [folder of prove.heads]

Everything slow is kept in the scratch folder (pictures, answers, scores, results): a proof that was stopped goes on.
There too stand the board (`board`) and its pages (`site/index.html`).
The drawn study that the model learns from is that of `prove.heads`, in its folder; it is drawn where it is not there.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import gettempdir

import numpy as np

from prove._board_runs import CLEAN, SETTINGS, STRENGTHS, made_board
from prove._board_truth import DRAWS, Known, Order, Variant, field_orders, house_orders, judged_alike, variants
from prove._page import table, wrapped
from salon.bench import build_site, standings
from salon.bench.entry import AxisResult
from salon.generate.houses import HOUSES
from salon.models import read_model_card
from salon.render import DEFECTS
from salon.stats import Estimate, score_interval

PAGE = Path(__file__).parents[1] / "docs/methods/board-table.md"
INTRO = """
The built-in posters suite ({prompts} prompts, {eligible} of them count for EPS) on {entries} entries: the six
built-in houses, and the clean one of them, `{clean}`, with each of {defects} defects in all its posters, at strengths
{strengths}. What every entry is worth is known, because every flaw in it was planted ([houses](houses.md)).
Capability is answered by pixels ([how well](pixel-points.md)). *oracle* is the same points by the record of how each
poster was made: it stands beside the board for comparison and counts for nothing on it. EPS is a model's that this
proof trains: heads (`{encoder}`, {form}) that learned from {pairs} pairs of posters by four of these houses, ranked by
simulated designers ([heads](heads-table.md)); its card declares logits, else EPS would refuse it. It is no strong
judge: it names the majority in {accuracy} of {checked} pairs kept from it, one more rater would in {ceiling:.3f}. No
person was asked. The reference is the median of these {entries} entries, prompt by prompt, frozen before the board was
made from it.
"""
BOARD = """
Intervals are the board's own: 95%, over prompts. *rank*: the ranks an entry may have by Overall, all entries at once.
Every picture was made and answered, nothing is open.
"""
MEAN = """
**The field's mean EPS is {mean:.1f}**, from {least:.1f} to {most:.1f}: the reference is each prompt's median, so a
field need not average 50, and an entry at the median of every prompt would have exactly 50.
"""
HOUSES_SAID = """
The six houses under each criterion: what they are expected to be worth ([houses](houses.md)) against their EPS in the
column of that criterion. *tau*: Kendall's tau-b of the six, with a 95% interval from {draws:,} draws of prompts.
*right*: pairs of houses in the expected order; *surely*: those whose paired difference over prompts is beyond its 95%
interval; *surely wrong*: pairs in the opposite order beyond theirs.
"""
FIELD_SAID = """
The same for all {entries} entries against the true quality of the very posters they made; pairs of equal quality are
left out.
"""
VARIANTS_SAID = """
Each variant draws the posters of `{clean}` with one flaw more, so differences are paired by prompt: points of
Capability, oracle and EPS that the variant has less, and of the column of the criterion which the defect destroys
most of. *planted*: posters of {prompts} in which the flaw could be planted (a headline's place cannot be wrong where
none was asked for). Intervals are 95%, over prompts: score intervals of Capability and oracle, t intervals of EPS.
*below on*: axes on which the variant is below its parent beyond the interval.
"""
WHY = """
**What is not recovered, and why.** Points ask for words, colors, places, sizes, contrast and margins. Elements that
nobody asked for break none of them, colors that clash few, and a headline can stand wrong only where a place was asked
for: Capability hardly sees these. EPS is as good as its model, and this one is weak. Its heads see the picture alone,
so they cannot know which colors and places were asked for; spelling, kerning and alignment are too fine for features
made for photographs. It moves EPS by a few points where quality differs much, hence
boards on which most entries tie; the more so as the board's own intervals of EPS are cautious with few prompts and
longer than their spread alone would make them ([axes](axes.md)). Differences have t intervals. Nothing was tuned to
change any of this.
"""
ALIKE_SAID = """
Points of all {pictures} posters: how often pixels and oracle say the same, with a 95% interval over prompts. No
tolerance was set on these.
"""


# -- numbers -----------------------------------------------------------------------------------------------------------


def shown(figure: Estimate | Estimate, scale: float = 1.0, sign: str = "", digits: int = 1) -> str:
    """A number with its interval."""
    form = f"{sign}.{digits}f"
    value, low, high = (None if x is None else scale * x for x in (figure.value, figure.low, figure.high))
    return f"{value:{form}}" + ("" if low is None or high is None else f" [{low:{form}}, {high:{form}}]")


def _axis(axis: AxisResult | None) -> str:
    return "–" if axis is None else shown(axis.figure)


def board_table(known: Known) -> str:
    """Every entry, best first."""
    results = known.made.results
    rows = []
    for place in standings(list(results.values())).places:
        one = results[place.entry]
        cells = [one.overall, one.capability, one.oracle, one.eps["eps"]]
        rows.append([f"`{place.entry}`", f"{place.low}–{place.high}", *map(_axis, cells)])
    return table(["entry", "rank", "Overall", "Capability", "oracle", "EPS"], rows)


def columns_table(known: Known) -> str:
    """EPS of the houses in every column."""
    heads = [column.removeprefix("eps-") for column in known.columns]
    rows = [
        [f"`{name}`", *(shown(known.made.results[name].eps[one].figure) for one in known.columns)] for name in HOUSES
    ]
    return table(["house", *heads], rows)


def orders_table(orders: Sequence[Order]) -> str:
    """One row a column of EPS."""
    rows = [
        [
            one.criterion.removeprefix("taste/"),
            f"{one.tau:+.2f} [{one.low:+.2f}, {one.high:+.2f}]",
            f"{one.right} of {one.pairs}",
            str(one.sure),
            str(one.wrong),
        ]
        for one in orders
    ]
    return table(["criterion", "tau", "right", "surely", "surely wrong"], rows)


def variants_table(found: Sequence[Variant]) -> str:
    """One row a variant."""
    rows = [
        [
            f"{one.kind} {one.strength:g}",
            str(one.planted),
            *(shown(axis, 100, "+") for axis in (one.capability, one.oracle, one.eps)),
            f"{shown(one.own, 100, '+')} ({one.criterion})",
            ", ".join(one.seen_by) or "–",
        ]
        for one in found
    ]
    return table(["defect", "planted", "Capability", "oracle", "EPS", "its own column", "below on"], rows)


def alike_table(known: Known) -> str:
    """One row a kind of rule."""
    rows = []
    for kind, by_prompt in judged_alike(known).items():
        shares, sizes = [np.mean(own) for own in by_prompt.values()], [float(len(own)) for own in by_prompt.values()]
        if len(shares) > 1:
            same = score_interval(shares, sizes)
            rows.append([kind, f"{int(sum(sizes)):,}", f"{same.value:.3f} [{same.low:.3f}, {same.high:.3f}]"])
    return table(["rule", "points", "agree"], rows)


# -- sentences ---------------------------------------------------------------------------------------------------------


def houses_verdict(orders: Sequence[Order]) -> str:
    """What the orders of the houses come to."""
    pairs, right, sure, wrong = (
        sum(getattr(one, name) for one in orders) for name in ("pairs", "right", "sure", "wrong")
    )
    return (
        f"**Of {pairs} pairs of houses over {len(orders)} criteria, EPS has {right} in the expected order, {sure} of "
        f"them surely, and {wrong} surely in the wrong one**; by chance alone, about {0.025 * pairs:.0f} would be."
    )


def variants_verdict(found: Sequence[Variant]) -> str:
    """Which defects are seen, by what, and which by nothing."""
    strong = [one for one in found if one.strength == max(STRENGTHS)]
    points = [one.kind for one in strong if "Capability" in one.seen_by]
    looks = [one.kind for one in strong if set(one.seen_by) - {"Capability"}]
    unseen = [one.kind for one in strong if not one.seen_by]
    turned = [f"{one.kind} {one.strength:g} on {' and '.join(one.preferred_by)}" for one in found if one.preferred_by]
    words = f"**At strength {max(STRENGTHS):g}, Capability puts {_listed(points)} below the clean parent; EPS or the "
    words += f"column of the defect's own criterion {_listed(looks)}. Neither sees {_listed(unseen)}.**"
    if turned:
        words += f" Surely above the parent, and so surely wrong: {_listed(turned)}."
    if misread := [one.kind for one in strong if "Capability" in one.seen_by and not one.below_by_record]:
        words += f" By the record, {_listed(misread)} are not surely below: pixels also fail posters whose letters "
        words += "they cannot read, so Capability is lower there than it should be."
    return words


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) if names else "none"


# -- the page ----------------------------------------------------------------------------------------------------------


def write_page(known: Known) -> None:
    """Everything there is to say about the board."""
    suite, card = known.made.board.suite, read_model_card(known.made.model)
    known_by = card.figures["validation"][0]
    facts = {
        "accuracy": shown(Estimate(**known_by["accuracy"]), digits=3), "checked": known_by["pairs"],
        "ceiling": known_by["ceiling"]["value"],
        "prompts": len(suite.prompts), "eligible": sum(suite.tag_of(one.prompt.id).eps for one in suite.prompts),
        "entries": len(known.names), "clean": CLEAN, "defects": len(DEFECTS), "draws": DRAWS,
        "strengths": " and ".join(f"{one:g}" for one in STRENGTHS), "encoder": SETTINGS.encoder, "form": SETTINGS.form,
        "pairs": f"{card.trained_on['train pairs']:,}", "pictures": len(known.names) * len(suite.prompts),
    }  # fmt: skip
    eps = [known.made.results[name].eps["eps"].figure.value for name in known.names]
    houses, found = house_orders(known), variants(known, DEFECTS)
    parts = [
        "# The large board\n",
        "Written by `make prove ONLY=board`; what the axes are: [axes](axes.md).\n",
        wrapped(INTRO.format(**facts)) + "\n",
        "## The board\n",
        wrapped(BOARD) + "\n",
        board_table(known),
        wrapped(MEAN.format(mean=np.mean(eps), least=min(eps), most=max(eps))) + "\n",
        "## The houses' order, criterion by criterion\n",
        wrapped(houses_verdict(houses)) + "\n",
        wrapped(HOUSES_SAID.format(**facts)) + "\n",
        orders_table(houses),
        wrapped(FIELD_SAID.format(**facts)) + "\n",
        orders_table(field_orders(known)),
        "EPS of the houses, column by column:\n",
        columns_table(known),
        "## Defects and the clean parent\n",
        wrapped(variants_verdict(found)) + "\n",
        wrapped(VARIANTS_SAID.format(**facts)) + "\n",
        variants_table(found),
        wrapped(WHY) + "\n",
        "## Pixels and oracle\n",
        wrapped(ALIKE_SAID.format(**facts)) + "\n",
        alike_table(known),
        f"Signature: `{_signature(known)}`\n",
    ]
    PAGE.write_text("\n".join(parts), encoding="utf-8")


def _signature(known: Known) -> str:
    suite, card = known.made.board.suite, read_model_card(known.made.model)
    told = f"suite:{suite.card.name}/{suite.card.version}@{suite.hash[:12]}|entries:{len(known.names)}"
    return f"board|{told}|{card.signature}"


def main(scratch: Path, drawn: Path) -> None:
    """Generate, judge, train, score, freeze, publish, write, build the pages."""
    os.environ.setdefault("SALON_CACHE", str(drawn / "cache"))
    made = made_board(scratch, drawn)
    write_page(Known(made))
    site = build_site(made.board, scratch / "site", title="Houses and defects")
    print(f"board: {made.board.folder}\nsite: {site.folder}, {site.pages:,} pages", flush=True)


if __name__ == "__main__":
    given = [Path(one) for one in sys.argv[1:]]
    homes = [Path(gettempdir()) / name for name in ("salon-board", "salon-heads")]
    main(*(given + homes[len(given) :])[:2])
