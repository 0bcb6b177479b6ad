"""Small suites, and entries whose every answer and score a test names: in memory, or on a board's disk."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
from PIL import Image

from salon.bench import Board, EntryResult, Suite, entry_folder, entry_result, read_logits, with_hashes
from salon.bench.board import (  # fmt: skip
    read_answers,
    read_entry,
    write_answers,
    write_entry,
    write_logits,
    write_result,
)
from salon.bench.entry import ANSWERS, LOGITS, AxisResult, Coverage, Entry, EntryPicture
from salon.bench.suite import (  # fmt: skip
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
from salon.stats import Estimate
from salon.study import Point, Prompt, Route, ScorerCard, Signature

JUDGES = ("a", "b", "c")
SCORER = "tests:likes@1"
CARD = ScorerCard(is_logit=True, measures="a number that tests give")
WORDS = Tag(id="words", group="Text", name="Words", eps=False, why="taste is no judge of spelling")
Said = Callable[[str, str, str], str | None]
"""(item, point, judge) -> pass, fail, unread, or None for an answer that was not given."""
Scored = Callable[[str], float | str | None]
"""item -> a logit, a reason for having none, or None for not scored yet."""


def small_suite(prompts: int = 4, **card: object) -> Suite:
    """`prompts` prompts under two tags, of which 'words' does not count for EPS; two points each, one judge."""
    tags = (Tag(id="color", group="Look", name="Color"), WORDS)
    told = {"name": "small", "title": "A small suite", "size": "32x24"}
    return _suite(tags, [tags[n % 2].id for n in range(prompts)], ("red", "large"), Route(tag="*", judges=("eye",)),
                  told | card)  # fmt: skip


def asked(
    tags: Sequence[str] = ("look", "look", "words"),
    *,
    points: int = 2,
    judges: Sequence[str] = JUDGES,
    rule: str = "majority",
    reference: Sequence[float] | None = None,
    sigma: float | None = 1.0,
    **card: object,
) -> Suite:
    """One prompt p0, p1, ... for each of `tags`; 'words' counts for no EPS; the reference is 0 unless it is given."""
    known = (Tag(id="look", group="Eye", name="Look"), Tag(id="mood", group="Eye", name="Mood"), WORDS)
    route = Route(tag="*", judges=tuple(judges), rule=rule)
    bare = _suite(known, tags, [str(k) for k in range(points)], route, {"name": "asked", "title": "Asked", **card})
    return with_reference(bare, reference, sigma=sigma)


def _suite(
    known: tuple[Tag, ...], tags: Sequence[str], points: Sequence[str], route: Route, card: dict[str, object]
) -> Suite:
    """Prompt p0, p1, ... for each of `tags`, each with these points."""
    return with_hashes(
        Suite(
            card=SuiteCard.parse({"preferences": (PreferenceRule(id="eps"),), **card}),
            tags=known,
            prompts=tuple(
                SuitePrompt(prompt=Prompt(id=f"p{n}", text=f"poster number {n}"), tag=tag) for n, tag in enumerate(tags)
            ),
            points=tuple(
                Point(id=f"p{n}-{part}", prompt=f"p{n}", text=f"is it {part}?", tag="any")
                for n in range(len(tags))
                for part in points
            ),
            routes=(route,),
        )
    )


def with_reference(
    suite: Suite, values: Sequence[float] | None = None, *, sigma: float | None = 1.0, card: ScorerCard = CARD
) -> Suite:
    """The suite with a frozen reference of these values, one for each prompt; 0 everywhere when left out."""
    points = tuple(
        ReferencePoint(prompt=one.prompt.id, value=value, sigma=sigma, n=3)
        for one, value in zip(suite.prompts, values or [0.0] * len(suite.prompts), strict=True)
        if suite.tag_of(one.prompt.id).eps
    )
    columns = tuple(
        PreferenceReference(id=rule.id, scorer="likes", signature=SCORER, card=card, points=points)
        for rule in suite.card.preferences
    )
    field = tuple(FieldEntry(name=name, digest=name * 8) for name in "xyz")
    return with_hashes(
        replace(suite, reference=Reference(prompts=prompts_hash(suite), field=field, preferences=columns))
    )


def entered(suite: Suite, name: str = "one", *, missing: Sequence[str] = ()) -> Entry:
    """An entry whose items are p0/0, p0/1, ... (prompt/seed), with a picture of each but those in `missing`."""
    pictures = []
    for one in suite.prompts:
        for seed in suite.seeds:
            item = f"{one.prompt.id}/{seed}"
            made = {"missing": "not made"} if item in missing else {"image": f"{item}.png", "sha256": f"{name} {item}"}
            pictures.append(EntryPicture(prompt=one.prompt.id, seed=seed, item=item, **made))
    return Entry(name=name, suite=prompts_hash(suite), pictures=tuple(pictures))


def answers(suite: Suite, entry: Entry, says: Said) -> pa.Table:
    """What every judge of the suite says of every point of every picture that is there."""
    judges = [*dict.fromkeys(judge for route in suite.routes for judge in route.judges), suite.card.oracle]
    rows = [
        (picture.item, point.id, judge, said, None)
        for picture in entry.pictures
        for point in suite.points
        for judge in judges
        if judge and point.prompt == picture.prompt and (said := says(picture.item, point.id, judge)) is not None
    ]
    return pa.table([list(column) for column in zip(*rows)] or [[]] * len(ANSWERS), schema=ANSWERS)


def logits(suite: Suite, entry: Entry, gives: Scored, sigma: float | None = 1.0) -> pa.Table:
    """What the scorer gives to every picture, in every column."""
    rows = []
    for rule in suite.card.preferences:
        for picture in entry.pictures:
            value = gives(picture.item)
            if value is not None:
                number = None if isinstance(value, str) else value
                rows.append((picture.item, rule.id, number, sigma, value if isinstance(value, str) else None, SCORER))
    return pa.table([list(column) for column in zip(*rows)] or [[]] * len(LOGITS), schema=LOGITS)


def result(
    suite: Suite,
    says: Said = lambda item, point, judge: "pass",
    gives: Scored = lambda item: 0.0,
    *,
    name: str = "one",
    missing: Sequence[str] = (),
    sigma: float | None = 1.0,
) -> EntryResult:
    """An entry's result from what is said and given."""
    entry = entered(suite, name, missing=missing)
    return entry_result(suite, entry, answers(suite, entry, says), logits(suite, entry, gives, sigma))


def picture(shade: int = 0, size: tuple[int, int] = (32, 24)) -> bytes:
    """A PNG of one color."""
    target = io.BytesIO()
    Image.new("RGB", size, (shade % 256, 40, 90)).save(target, "PNG")
    return target.getvalue()


def put_entry(board: Board, name: str = "one", missing: tuple[str, ...] = ()) -> Entry:
    """An entry with a picture of every prompt but those in `missing`."""
    folder = entry_folder(board, name)
    (folder / "images").mkdir(parents=True)
    pictures = []
    for number, one in enumerate(board.suite.prompts):
        id = one.prompt.id
        for seed in board.suite.seeds:
            place = {"prompt": id, "seed": seed, "item": f"{id}/{name}/{seed}"}
            if id in missing:
                pictures.append(EntryPicture(**place, missing="not made"))
                continue
            data = picture(number * 7 + seed)
            path = Path("images") / f"{id}__{seed}.png"
            (folder / path).write_bytes(data)
            digest = hashlib.sha256(data).hexdigest()
            pictures.append(EntryPicture(**place, image=str(path), sha256=digest, width=32, height=24))
    entry = Entry(name=name, suite=prompts_hash(board.suite), licence="CC0-1.0", pictures=tuple(pictures))
    write_entry(folder, entry)
    return entry


def some_result(suite: Suite, name: str, passed: float = 1.0) -> EntryResult:
    """A complete result with little in it."""
    figure = Estimate(value=100 * passed, low=50.0, high=100.0, n=4, unit="prompt", level=0.95, method="made up")
    coverage = Coverage(wanted=4, made=4, asked=8, given=8, unread=0, open=0)
    axis = AxisResult(figure=figure, at_best=100 * passed, coverage=coverage)
    signature = Signature(method="a test")
    told = {"suite": "small/1", "suite_hash": suite.hash, "status": "complete", "groups": (), "prompts": (),
            "overall": None, "digest": "d", "policies": ()}  # fmt: skip
    return EntryResult(
        entry=name, capability=axis, points=axis, signature=signature, signature_line=str(signature), **told
    )


def judged(board: Board, name: str = "one", said: str = "pass") -> Path:
    """The folder of an entry whose points were all answered and whose pictures were all scored."""
    folder, entry = entry_folder(board, name), put_entry(board, name)
    write_answers(folder, answers(board.suite, entry, lambda item, point, judge: said))
    write_logits(folder, logits(board.suite, entry, lambda item: 0.5, None))
    return folder


def published(board: Board, name: str = "one") -> Path:
    """The same, with its result published."""
    folder = judged(board, name)
    write_result(folder, entry_result(board.suite, read_entry(folder), read_answers(folder), read_logits(folder)))
    return folder
