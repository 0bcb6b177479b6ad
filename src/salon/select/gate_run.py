"""Gates made on a study's flags, and used on a study or on files.

What a trained model learned from is no held-out data: items whose picture, or the text of whose prompt, its guard knows
are left out and counted. Only people's flags are labels, unless the study has none but models'.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from markupsafe import Markup
from pydantic import Field

from salon.errors import BadFile, BadValue, TooFew, UnknownReference
from salon.evaluate import find_leaks, load_guard, picture_keys
from salon.judge import ScoreSettings, model_folder, open_pictures
from salon.models import read_card
from salon.report import (
    Badge,
    Block,
    Card,
    Chart,
    FilmFrame,
    Filmstrip,
    Note,
    Page,
    Section,
    brief,
    charts,
    count_noun,
    located,
    one_way,
    score_text,
    sentence,
)
from salon.report.words import fixed
from salon.select.best_of import scores_beside
from salon.select.gate import Gate, GateDecision, make_gate
from salon.select.scores import ScoreTable, StepCallback, no_progress, picture_scores, study_scores
from salon.select.settings import GateSettings
from salon.store import is_study, local_path, open_study, picture_url
from salon.study import Criterion, Noun, Scale, Study

GATE_FOLDER = "gate"
MOST_POINTS = 400
"""Of the curve of scores: of more items, as many evenly spaced ones are drawn."""


class GateRun(Noun):
    """What a gate did with a set of items."""

    place: str
    criterion: str
    items: int
    held: int
    unscored: int = Field(description="Held back because they have no score.")
    promise: str
    holds: str = Field(description="Held: at or above the threshold, or at or below it.")
    threshold: float
    rows: tuple[GateDecision, ...]
    images: dict[str, str] = Field(default_factory=dict, description="Item to its picture, in the folder or absolute.")
    missing: str
    gate: str = Field(description="Hash of the gate.")
    signature: str
    simulated: bool = Field(False, description="True when nobody gave the flags that the gate was made on.")

    def table(self) -> pa.Table:
        """One row for each item."""
        kinds = {"item": pa.string(), "held": pa.bool_(), "value": pa.float64(), "why": pa.string()}
        return pa.Table.from_pylist([row.model_dump() for row in self.rows], pa.schema(list(kinds.items())))


def gate_for_study(
    folder: Path,
    word: str,
    settings: GateSettings,
    *,
    criterion: str | None = None,
    scoring: ScoreSettings | None = None,
    watch: StepCallback = no_progress,
) -> Gate:
    """The gate that the flags of a study allow for the scorer that `word` names."""
    study, home = open_study(folder), local_path(folder)
    flag = flag_criterion(study, criterion)
    share = flag_shares(study, flag)
    table = study_scores(study, home, [word], scoring, watch)
    items, left_out, notes = _held_out(study, home, word, [item_id for item_id in table.items if item_id in share])
    unlabelled = len(table.items) - len([item_id for item_id in table.items if item_id in share])
    left_out |= {"without a flag answer": unlabelled} if unlabelled else {}
    if not items:
        raise TooFew(
            "held-out items with flags are needed", found="none", where=str(folder), remedy=_left_out_words(left_out)
        )
    values, _ = table.rows(items)
    prompts = {item.id: item.prompt or item.id for item in study.nouns("items")}
    number = {name: n for n, name in enumerate(dict.fromkeys(prompts[item_id] for item_id in items))}
    units = np.array([number[prompts[item_id]] for item_id in items]) if settings.unit == "prompt" else None
    positive = np.array([share[item_id] >= settings.share for item_id in items])
    try:
        return make_gate(
            flag.id, word, table.columns[0], values[:, 0], positive, settings, study=study.name, data=table.data,
            units=units, simulated=study.simulated, left_out=left_out, notes=notes,
        )  # fmt: skip
    except TooFew as error:
        counts = f"{error.found} among {len(items):,} held-out items"
        remedy = f"{error.remedy}{_left_out_words(left_out)}"
        raise TooFew(error.needed, found=counts, where=f"{folder}, {flag.id}", remedy=remedy) from None


def _left_out_words(left_out: dict[str, int]) -> str:
    return "".join(f"; left out: {count:,} {why}" for why, count in left_out.items())


def flag_criterion(study: Study, id: str | None) -> Criterion:
    """The criterion whose ratings are flags: the one named, or the only one."""
    if id is not None:
        named = study.criterion(id)
        if named.scale is None:
            raise BadValue("a criterion with a scale is needed", found=repr(id), where=f"study {study.name!r}")
        return named
    flags = [flag for flag in study.criteria if flag.scale is not None and not flag.scale.higher_is_better]
    if len(flags) != 1:
        raise UnknownReference(
            "the criterion of flags is needed", found=", ".join(flag.id for flag in flags) or "no criterion of flags",
            where=f"study {study.name!r}", remedy="name one with --criterion",
        )  # fmt: skip
    return flags[0]


def flag_shares(study: Study, flag: Criterion) -> dict[str, float]:
    """For each item the share of its raters who flagged it: people, or models where no person did.

    Flagged is any level but the best one.
    """
    view, scale = study.ratings, flag.scale or Scale(low=0, high=1, higher_is_better=False)
    rows = np.flatnonzero((view.criterion == study.criteria.index(flag)) & (view.repeat == 0))
    people = np.array([rater.kind != "model" for rater in study.nouns("raters")], bool)[view.rater[rows]]
    rows = rows[people] if people.any() else rows
    if not len(rows):
        raise TooFew(
            "flags are needed", found="no ratings", where=f"study {study.name!r}, {flag.id}",
            remedy="collect ratings under the flag criterion (salon serve), or name another with --criterion",
        )  # fmt: skip
    bad = view.value[rows] < scale.high if scale.higher_is_better else view.value[rows] > scale.low
    items, place = np.unique(view.item[rows], return_inverse=True)
    share = np.bincount(place, weights=bad) / np.bincount(place)
    names = study.ids("items").take(pa.array(items)).to_pylist()
    return dict(zip(names, share.tolist()))


def _held_out(
    study: Study, home: Path, word: str, items: Sequence[str]
) -> tuple[list[str], dict[str, int], tuple[str, ...]]:
    """Items that the model behind a scorer was not trained on, how many were left out, and what to say."""
    folder = model_folder(word)
    if folder is None:
        return list(items), {}, ()
    card = read_card(folder)
    if not card.guard:
        return list(items), {}, ("the model keeps no record of what it was trained on: see that these items are new",)
    guard = load_guard(folder, card.guard)
    by_id = {item.id: item for item in study.nouns("items")}
    texts = {prompt.id: prompt.view() for prompt in study.nouns("prompts")}
    paths = {item_id: home / str(by_id[item_id].image) for item_id in items if by_id[item_id].image}
    keys = dict(zip(paths, picture_keys(list(paths.values()))))
    leaks = find_leaks(guard, keys, {item_id: texts.get(by_id[item_id].prompt or "", "") for item_id in items})
    leaked = {*leaks.pictures, *leaks.near, *leaks.texts}
    left = {"that the model was trained on": len(leaked)} if leaked else {}
    return [item_id for item_id in items if item_id not in leaked], left, ()


# -- use ---------------------------------------------------------------------------------------------------------------


def pass_gate(
    gate: Gate,
    place: Path,
    *,
    prompt: str | None = None,
    scorer: str | None = None,
    scoring: ScoreSettings | None = None,
    watch: StepCallback = no_progress,
) -> GateRun:
    """What a gate holds back of a study or of pictures; `scorer` names its scorer where it has moved since."""
    word = scorer or gate.scorer
    if is_study(local_path(place)) or not place.exists():
        study = open_study(place)
        table = study_scores(study, place, [word], scoring, watch)
        images = {item.id: item.image for item in study.nouns("items") if item.image}
    else:
        source = open_pictures(place, prompt=prompt)
        table = picture_scores(source, scores_beside(place, None), [word], scoring, watch)
        images = {picture.item: str(picture.image.resolve()) for picture in source if isinstance(picture.image, Path)}
    return apply_gate(gate, table, str(place)).model_copy(update={"images": images})


def apply_gate(gate: Gate, table: ScoreTable, place: str) -> GateRun:
    """The same for scores in hand; refused where they are another scorer's."""
    column = table.columns[0]
    if column.signature != gate.column.signature:
        raise BadFile(
            "the scorer that the gate was made with is needed", found=column.signature,
            where=f"gate made with {gate.column.signature}", remedy="make the gate again with this scorer",
        )  # fmt: skip
    values = [None if value != value else float(value) for value in table.values[:, 0]]
    rows = gate.decide(table.items, values)
    return GateRun(
        place=place, criterion=gate.criterion, items=len(rows), held=sum(row.held for row in rows),
        unscored=sum(row.value is None for row in rows), promise=gate.promise, holds=gate.holds,
        threshold=gate.threshold, rows=rows, missing=gate.missing, gate=gate.hash, signature=str(gate.signature),
        simulated=gate.simulated,
    )  # fmt: skip


def page_beside(place: Path) -> Path:
    """Where the page of a gate that was used on `place` goes."""
    folder = place / GATE_FOLDER if place.is_dir() else place.with_name(f"{place.stem}-{GATE_FOLDER}")
    return folder / "index.html"


# -- the page ----------------------------------------------------------------------------------------------------------

HELD_SHOWN, PASSED_SHOWN = 24, 8
"""Items that are shown of those held back, and of those that pass."""
_WIDTH = 320
SIMULATED_GATE = "Made on a simulated study: no person gave the flags behind this gate."


def gate_page(run: GateRun, pictures: Path) -> Page:
    """The page; pictures come from the folder `pictures`."""
    here = located(run)
    held_rows, passed = ([row for row in here.rows if row.held is kind] for kind in (True, False))
    side = "at or above" if here.holds == "above" else "at or below"
    cards = [
        Card("Held back", Markup("{} of {}").format(fixed(here.held, 0), fixed(here.items, 0)), "items"),
        Card("Threshold", score_text(here.threshold), f"held back: a score {side}"),
    ]
    if here.unscored:
        cards.append(Card("Without a score", fixed(here.unscored, 0), "items, always held", "alert"))
    return Page(
        title="Held back",
        tab=f"Gate on {brief(run.place, 40)}",
        subtitle=Markup("{} of {}, by {}.").format(
            fixed(here.held, 0), count_noun(here.items, "item"), brief(run.criterion, 60)
        ),
        kicker=f"Salon select gate · {brief(Path(run.place).name, 40)}" + (" · simulated" if run.simulated else ""),
        banner=SIMULATED_GATE if run.simulated else "",
        cards=cards,
        sections=[
            Section("What is promised", [Note(sentence(run.promise)), *_score_curve(here)]),
            _strip("Held back", "most dangerous", held_rows, run, pictures, HELD_SHOWN),
            _strip("Passed", "nearest to the threshold", passed, run, pictures, PASSED_SHOWN),
        ],
        notes=[sentence(run.missing)],
        signature=one_way(f"gate {run.gate}|{run.signature}"),
    )


def _score_curve(run: GateRun) -> list[Block]:
    """Every score from the most dangerous on, and where the gate cuts."""
    values = sorted((row.value for row in run.rows if row.value is not None), reverse=run.holds == "above")
    if len(values) < 2:
        return []
    most = [values[round(k * (len(values) - 1) / (MOST_POINTS - 1))] for k in range(MOST_POINTS)]
    shown = values if len(values) <= MOST_POINTS else most
    places = [1 + k * (len(values) - 1) / (len(shown) - 1) for k in range(len(shown))]
    curve = charts.Curve("score", places, shown)
    lines = [("held back from here", run.threshold)]
    drawing = charts.line_curves(
        [curve], title="Scores and the gate", x_label="items, most dangerous first", y_label="score",
        reference_lines=lines, height=260,
    )  # fmt: skip
    return [Chart(drawing, "Items on the left of the crossing are held back.")]


def _strip(title: str, which: str, rows: Sequence[GateDecision], run: GateRun, pictures: Path, most: int) -> Section:
    if not rows:
        return Section(title, [Note("None.")])
    danger = 1 if run.holds == "above" else -1
    ordered = sorted(rows, key=lambda row: (row.value is not None, -danger * (row.value or 0.0)))
    first_rows = ordered[:most]
    text = f"Of {len(rows)}, the {len(first_rows)} {which}." if len(rows) > len(first_rows) else ""
    return Section(title, [Filmstrip([_frame(row, run, pictures) for row in first_rows], size="small")], text)


def _frame(row: GateDecision, run: GateRun, pictures: Path) -> FilmFrame:
    image = run.images.get(row.item)
    return FilmFrame(
        title=brief(row.item, 36),
        picture=picture_url(pictures / image, _WIDTH) if image else "",
        alt=row.item,
        numbers=[] if row.value is None else [("score", score_text(row.value))],
        note=sentence(row.why) if row.value is None else "",
        badge=Badge("held", "alert", row.why) if row.held else None,
    )
