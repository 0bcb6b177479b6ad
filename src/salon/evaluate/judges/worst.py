"""Worst disagreements: pairs or ticks on which panel and judge were clear, each the other way, with their pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from salon.evaluate.judges.report_figures import Met
from salon.evaluate.judges.report_judges import ItemValues, Judge
from salon.evaluate.judges.report_panel import Places
from salon.evaluate.judges.report_tick_results import WorstTick
from salon.evaluate.judges.report_ticks import Ints, TickJudge, TickPanel
from salon.evaluate.judges.results import WorstCase
from salon.stats.tick_accuracy import YES
from salon.store.pictures import is_inside
from salon.store.thumbs import picture_url
from salon.study import Study

LONGEST = 240
THUMB = 360


def worst_cases(
    study: Study, places: Places, judge: Judge, met: Sequence[Met], most: int
) -> tuple[tuple[WorstCase, ...], int]:
    """The clearest disagreements, clearest panel first, and how many there are in all.

    With m votes against k for the judge's choice, the order is by (m + 1)/(m + k + 2): five to none before two to none.
    """
    found = []
    for one in met:
        against = one.rows[one.faced.choice[one.rows] == -one.panel.winner[one.rows]]
        votes = one.panel.votes[against]
        larger, smaller = votes[:, :2].max(axis=1), votes[:, :2].min(axis=1)
        clear = (larger + 1) / (larger + smaller + 2)
        margin = _margins(judge, one, against)
        found += list(zip(-clear, -margin, [one] * len(against), against.tolist()))
    found.sort(key=lambda case: (case[0], case[1], case[2].panel.number, case[3]))
    said = _texts(judge)
    return tuple(_case(study, places, judge, one, row, said) for _, _, one, row in found[:most]), len(found)


def worst_ticks(study: Study, judge: TickJudge, panel: TickPanel, against: Ints, most: int) -> tuple[WorstTick, ...]:
    """Of the rows on which the judge is against the majority those where people are clearest, in the order of pairs."""
    larger = np.maximum(panel.yes, panel.no)[against]
    clear = (larger + 1) / (panel.raters[against] + 2)
    chosen = against[np.lexsort((against, -clear))][:most]
    said = _point_texts(judge)
    prompts = {item.id: item.prompt for item in study.nouns("items")}
    return tuple(_worst_tick(panel, int(row), prompts, said) for row in chosen)


def _worst_tick(
    panel: TickPanel, row: int, prompts: Mapping[str, str | None], said: Mapping[tuple[str, ...], str]
) -> WorstTick:
    criterion, item, point = tick = panel.ticks[row]
    votes = sorted((int(panel.yes[row]), int(panel.no[row])), reverse=True)
    return WorstTick(
        criterion=criterion,
        prompt=prompts[item],
        item=item,
        point=point,
        people=bool(panel.majority[row] == YES),
        votes=(votes[0], votes[1]),
        said=said.get(tick),
    )


def _margins(judge: Judge, met: Met, rows: Ints) -> NDArray[np.float64]:
    """How far apart a scorer's two numbers are, in standard deviations of its numbers; 0 for a judge of pairs."""
    if not isinstance(judge.answers, ItemValues) or not len(rows):
        return np.zeros(len(rows))
    x = judge.answers.by_criterion[met.panel.number]
    a, b = judge.answers.places.items(met.panel.keys[rows])
    return np.asarray(np.abs(x[a] - x[b]) / (np.nanstd(x) or 1.0))


def _case(
    study: Study, places: Places, judge: Judge, met: Met, row: int, said: Mapping[tuple[str, ...], str]
) -> WorstCase:
    key = met.panel.keys[row : row + 1]
    pair = [study.label("items", int(item[0])) for item in places.items(key)]
    first, second, ties = met.panel.votes[row].tolist()
    liked, other = pair if first > second else pair[::-1]
    criterion = study.criteria[met.panel.number].id
    gap = _margins(judge, met, np.array([row])) if isinstance(judge.answers, ItemValues) else None
    return WorstCase(
        criterion=criterion,
        prompt=_prompt(study, int(places.items(key)[0][0])),
        panel_choice=liked,
        judge_choice=other,
        votes=(max(first, second), min(first, second), ties),
        said=said.get((criterion, *pair)),
        margin=None if gap is None else float(gap[0]),
    )


def _prompt(study: Study, item: int) -> str | None:
    items = study.table("items")
    return items.column("prompt")[item].as_py() if "prompt" in items.column_names else None


def _texts(judge: Judge) -> dict[tuple[str, ...], str]:
    """The judge's words on each (criterion, pair), in the first order, shortened."""
    if judge.table is None or judge.kind != "pairs":
        return {}
    found = _words(judge.table, "b")
    return {(criterion, *sorted(pair)): words for (criterion, *pair), words in reversed(found.items())}


def _point_texts(judge: TickJudge) -> dict[tuple[str, ...], str]:
    """The judge's words on each (criterion, item, point), shortened."""
    return {} if judge.table is None else _words(judge.table, "point")


def _words(table: pa.Table, other: str) -> dict[tuple[str, ...], str]:
    """The first words on each (criterion, a, `other`), shortened."""
    table = table.filter(pc.is_valid(table.column("text")))
    columns = [table.column(name).cast(pa.string()).to_pylist() for name in ("criterion", "a", other, "text")]
    said: dict[tuple[str, ...], str] = {}
    for *about, text in zip(*columns):
        if about[-1] is not None:
            said.setdefault(tuple(about), " ".join(text.split())[:LONGEST])
    return said


def thumbnails(study: Study, folder: Path | None, items: Sequence[str]) -> dict[str, str]:
    """A small WebP of each item as a data URL; items without a readable picture inside `folder` are left out."""
    if folder is None or "image" not in study.table("items").column_names:
        return {}
    table = study.table("items")
    wanted = table.filter(pc.is_in(table.column("id"), value_set=pa.array(list(dict.fromkeys(items)), pa.string())))
    made = {}
    for id, image in zip(wanted.column("id").to_pylist(), wanted.column("image").to_pylist()):
        path = folder / image if image else None
        if path is None or not is_inside(path, folder):
            continue
        if url := picture_url(path, THUMB):
            made[id] = url
    return made
