"""The page of a gate that was used: what it promises, what it held back and why, and what nearly was."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup

from salon.report import Badge, Card, Note, Page, Section, located
from salon.report.filmstrip import Filmstrip, Frame
from salon.report.words import brief, counted, fixed, one_way, scored, sentence
from salon.select.gate import Gated
from salon.select.gate_use import GateRun
from salon.store.thumbs import picture_url

HELD, PASSED = 24, 8
"""Items that are shown of those held back, and of those that pass."""
_WIDTH = 320
SIMULATED_GATE = "Made on a simulated study: no person gave the flags behind this gate."


def gate_page(run: GateRun, pictures: Path) -> Page:
    """The page; pictures come from the folder `pictures`."""
    here = located(run)
    held, passed = ([row for row in here.rows if row.held is kind] for kind in (True, False))
    return Page(
        title="Held back",
        tab=f"Gate on {brief(run.place, 40)}",
        subtitle=Markup("{} of {}, by {}.").format(
            fixed(here.held, 0), counted(here.items, "item"), brief(run.criterion, 60)
        ),
        kicker=f"Salon select gate · {brief(Path(run.place).name, 40)}" + (" · simulated" if run.simulated else ""),
        banner=SIMULATED_GATE if run.simulated else "",
        cards=_cards(here),
        sections=[
            Section("What is promised", [Note(sentence(run.promise))]),
            _strip("Held back", "most dangerous", held, run, pictures, HELD),
            _strip("Passed", "nearest to the threshold", passed, run, pictures, PASSED),
        ],
        notes=[sentence(run.missing)],
        signature=one_way(f"gate {run.gate}|{run.signature}"),
    )


def _cards(run: GateRun) -> list[Card]:
    side = "at or above" if run.holds == "above" else "at or below"
    cards = [
        Card("Held back", Markup("{} of {}").format(fixed(run.held, 0), fixed(run.items, 0)), "items"),
        Card("Threshold", scored(run.threshold), f"held back: a score {side}"),
    ]
    if run.unscored:
        cards.append(Card("Without a score", fixed(run.unscored, 0), "items, always held", "alert"))
    return cards


def _strip(title: str, which: str, rows: Sequence[Gated], run: GateRun, pictures: Path, most: int) -> Section:
    if not rows:
        return Section(title, [Note("None.")])
    danger = 1 if run.holds == "above" else -1
    ordered = sorted(rows, key=lambda row: (row.value is not None, -danger * (row.value or 0.0)))
    shown = ordered[:most]
    told = f"Of {len(rows)}, the {len(shown)} {which}." if len(rows) > len(shown) else ""
    return Section(title, [Filmstrip([_frame(row, run, pictures) for row in shown], size="small")], told)


def _frame(row: Gated, run: GateRun, pictures: Path) -> Frame:
    image = run.images.get(row.item)
    return Frame(
        title=brief(row.item, 36),
        picture=picture_url(pictures / image, _WIDTH) if image else "",
        alt=row.item,
        numbers=[] if row.value is None else [("score", scored(row.value))],
        note=sentence(row.why) if row.value is None else "",
        badge=Badge("held", "alert", row.why) if row.held else None,
    )
