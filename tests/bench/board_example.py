"""A made board: a suite, entries with pictures, the answers and logits they got. Everything drawn from one seed.

suite = make_suite(prompts=12)
made = make_entry(suite, "atlas", tmp_path / "atlas", rng=np.random.default_rng(0), skill=0.8, taste=0.5)
made.entry, made.answers, made.logits
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
from PIL import Image, ImageDraw

from salon.bench import Board, Suite, entry_folder, entry_result, new_board, open_board, with_hashes
from salon.bench.board import write_answers, write_entry, write_logits, write_result
from salon.bench.entry import ANSWERS, LOGITS, Entry, EntryPicture
from salon.bench.suite import (
    FieldEntry,
    PreferenceReference,
    PreferenceRule,
    Reference,
    ReferencePoint,
    SuiteCard,
    SuitePrompt,
    Tag,
)
from salon.bench.suite_folder import prompts_hash
from salon.study import Point, Prompt, Route, ScorerCard

GROUPS = {"Composition": ("Margins", "Balance"), "Color": ("Harmony", "Contrast"), "Words": ("Headline", "Small print")}
SUBJECTS = (
    "a tide table",
    "a jazz night",
    "a seed catalogue",
    "a night train",
    "a chess open",
    "a bakery",
    "a lighthouse",
)
ASKED = ("Is the title in the upper third?", "Does one color lead?", "Is every word spelled as given?")
JUDGES = ("ocr", "gaze")
SCORER = "made:preference@1"
COLUMNS = ("eps", "eps-color", "eps-type")


@dataclass(frozen=True)
class Made:
    """An entry and what was said of it."""

    entry: Entry
    answers: pa.Table
    logits: pa.Table
    folder: Path


def make_suite(prompts: int = 12, *, images: int = 1, private: int = 1, points: int = 3, groups: int = 3) -> Suite:
    """A suite whose last `private` prompts are private, with an oracle and three columns of EPS; words count no EPS."""
    names = [*GROUPS.items()] + [(f"Group {n}", (f"Tag {n}a", f"Tag {n}b")) for n in range(4, groups + 1)]
    tags = [
        Tag(id=name.lower().replace(" ", "-"), group=group, name=name, eps=group != "Words",
            why="words are read, not liked" if group == "Words" else "")
        for group, held in names[:groups] for name in held
    ]  # fmt: skip
    asked = [_prompt(number, tags[number % len(tags)], number >= prompts - private) for number in range(prompts)]
    ticks = [
        Point(
            id=f"{one.prompt.id}-{k + 1}",
            text=ASKED[k % len(ASKED)],
            prompt=one.prompt.id,
            tag="text" if k == 2 else "look",
        )
        for one in asked
        for k in range(points)
    ]
    card = SuiteCard(
        name="made",
        title="Made posters",
        about="Posters for things that do not exist.",
        licence="CC0-1.0",
        images=images,
        preferences=tuple(
            PreferenceRule(id=id, title=title, criterion=criterion, headline=id == "eps")
            for id, title, criterion in zip(COLUMNS, ("EPS", "EPS color", "EPS type"), (None, "color", "type"))
        ),
        oracle="layout",
    )
    routes = (Route(tag="text", judges=("ocr",)), Route(tag="*", judges=JUDGES, rule="unanimous"))
    suite = with_hashes(Suite(card, tuple(tags), tuple(asked), tuple(ticks), routes))
    return with_hashes(replace(suite, reference=_reference(_place(suite), prompts_hash(suite))))


def make_board(
    folder: Path, suite: Suite, entries: Mapping[str, Mapping[str, object]], *, seed: int = 0
) -> tuple[Board, list[Made]]:
    """A board on disk with these entries (name to options of `make_entry`), judged and published where complete."""
    board = new_board(folder, suite, name="made")
    made = []
    for number, (name, options) in enumerate(entries.items()):
        rng = np.random.default_rng([seed, number])
        one = make_entry(board.suite, name, entry_folder(board, name), rng=rng, **options)
        write_entry(one.folder, one.entry)
        write_answers(one.folder, one.answers)
        write_logits(one.folder, one.logits)
        write_result(one.folder, entry_result(board.suite, one.entry, one.answers, one.logits))
        made.append(one)
    return open_board(folder), made


def make_entry(
    suite: Suite,
    name: str,
    folder: Path,
    *,
    rng: np.random.Generator,
    skill: float = 0.8,
    taste: float = 0.0,
    missing: int = 0,
    unanswered: int = 0,
    size: tuple[int, int] = (90, 120),
    **card: object,
) -> Made:
    """An entry whose points hold with chance `skill` and whose logits lie `taste` above the reference.

    The first `missing` pictures were not made; the last `unanswered` answers are not given yet.
    """
    (folder / "images").mkdir(parents=True, exist_ok=True)
    hue = int(rng.integers(0, 256))
    pictures = []
    for number, (one, seed) in enumerate((one, seed) for one in suite.prompts for seed in suite.seeds):
        item = f"{one.prompt.id}__{seed}"
        if number < missing:
            pictures.append(
                EntryPicture(prompt=one.prompt.id, seed=seed, item=item, missing="the generator refused it")
            )
            continue
        path = folder / "images" / f"{item}.png"
        draw_picture(path, hue, number, size)
        pictures.append(
            EntryPicture(
                prompt=one.prompt.id,
                seed=seed,
                item=item,
                image=f"images/{item}.png",
                sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
                width=size[0],
                height=size[1],
            )
        )
    entry = Entry(name=name, suite=prompts_hash(suite), pictures=tuple(pictures), **{"licence": "CC0-1.0"} | card)
    answers = _answers(suite, entry, rng, skill)
    return Made(entry, answers.slice(0, len(answers) - unanswered), _logits(suite, entry, rng, taste), folder)


def draw_picture(path: Path, hue: int, number: int, size: tuple[int, int]) -> None:
    """A poster of two shapes; the same arguments give the same bytes."""
    wide, tall = size
    image = Image.new("HSV", size, (hue, 60, 235))
    draw = ImageDraw.Draw(image)
    left, top = (number * 37) % (wide // 2), tall // 4 + (number * 53) % (tall // 3)
    draw.rectangle([wide // 10, tall // 12, wide * 9 // 10, tall // 6], fill=((hue + 128) % 256, 120, 70))
    draw.ellipse([left, top, left + wide // 2, top + wide // 2], fill=((hue + number * 11) % 256, 190, 210))
    image.convert("RGB").save(path)


def _prompt(number: int, tag: Tag, private: bool) -> SuitePrompt:
    id = f"p{number + 1:03d}"
    subject = SUBJECTS[number % len(SUBJECTS)]
    text = f"A poster for {subject}, {tag.name.lower()} first. Number {number + 1} of its series."
    if private:
        return SuitePrompt(prompt=Prompt(id=id, text=""), tag=tag.id, private=True, digest=_digest("salt", text))
    return SuitePrompt(prompt=Prompt(id=id, text=text), tag=tag.id)


def _reference(place: Mapping[str, int], hash: str) -> Reference:
    card = ScorerCard(is_logit=True, measures="How often it is chosen.", transform="logit of the chance to be chosen")
    points = tuple(ReferencePoint(prompt=id, value=float(k % 5) / 5, sigma=0.5, n=5) for id, k in place.items())
    return Reference(
        prompts=hash,
        field=tuple(FieldEntry(name=f"field-{k}", digest=_digest("field", str(k))) for k in range(5)),
        preferences=tuple(
            PreferenceReference(id=id, scorer="made", signature=SCORER, card=card, points=points) for id in COLUMNS
        ),
        note="A made preference: it was trained on nothing.",
    )


def _answers(suite: Suite, entry: Entry, rng: np.random.Generator, skill: float) -> pa.Table:
    """Judges mostly say what is so; the oracle always does; now and then an answer cannot be read."""
    rows = []
    for picture in (one for one in entry.pictures if one.image):
        for point in (one for one in suite.points if one.prompt == picture.prompt):
            holds = rng.random() < skill
            judges = ("ocr",) if point.tag == "text" else JUDGES
            for judge in (*judges, "layout"):
                sure = judge == "layout"
                said = (
                    "unread"
                    if not sure and rng.random() < 0.01
                    else "pass"
                    if holds ^ (not sure and rng.random() < 0.04)
                    else "fail"
                )
                why = "" if sure else f"It {'is' if said == 'pass' else 'is not'} so."
                rows.append((picture.item, point.id, judge, said, why))
    return pa.table([list(column) for column in zip(*rows)] or [[]] * 5, schema=ANSWERS)


def _logits(suite: Suite, entry: Entry, rng: np.random.Generator, taste: float) -> pa.Table:
    place = _place(suite)
    lean = rng.normal(0, 0.3, len(COLUMNS))
    rows = [
        (picture.item, column, place[picture.prompt] % 5 / 5 + taste + lean[k] + rng.normal(0, 0.8), 0.5, None, SCORER)
        for picture in entry.pictures
        if picture.image and picture.prompt in place
        for k, column in enumerate(COLUMNS)
    ]
    return pa.table([list(column) for column in zip(*rows)] or [[]] * len(LOGITS), schema=LOGITS)


def _place(suite: Suite) -> dict[str, int]:
    """Prompts that count for EPS, and their places in the suite."""
    return {one.prompt.id: k for k, one in enumerate(suite.prompts) if suite.tag_of(one.prompt.id).eps}


def _digest(*words: str) -> str:
    return hashlib.sha256("\0".join(words).encode()).hexdigest()
