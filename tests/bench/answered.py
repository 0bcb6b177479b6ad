"""A suite of any small shape in memory, with entries whose every answer and score a test names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pyarrow as pa

from salon.bench.entry import ANSWERS, LOGITS, Entry, Pictured
from salon.bench.result import entry_result
from salon.bench.results import EntryResult
from salon.bench.suite import (
    FieldEntry,
    PreferenceReference,
    PreferenceRule,
    Reference,
    ReferencePoint,
    Suite,
    SuiteCard,
    SuitePrompt,
    Tag,
)  # fmt: skip
from salon.bench.suite_folder import hashed, prompts_hash
from salon.study.point import Point, Route
from salon.study.prompt import Prompt
from salon.study.scorer import ScorerCard

JUDGES = ("a", "b", "c")
SCORER = "tests:likes@1"
CARD = ScorerCard(is_logit=True, measures="a number that tests give")
Said = Callable[[str, str, str], str | None]
"""(item, point, judge) -> pass, fail, unread, or None for an answer that was not given."""
Scored = Callable[[str], float | str | None]
"""item -> a logit, a reason for having none, or None for not scored yet."""


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
    told = {"name": "asked", "title": "Asked", "preferences": (PreferenceRule(id="eps"),), **card}
    bare = Suite(
        card=SuiteCard.parse(told),
        tags=(
            Tag(id="look", group="Eye", name="Look"),
            Tag(id="mood", group="Eye", name="Mood"),
            Tag(id="words", group="Text", name="Words", eps=False, why="taste is no judge of spelling"),
        ),
        prompts=tuple(
            SuitePrompt(prompt=Prompt(id=f"p{n}", text=f"prompt {n}"), tag=tag) for n, tag in enumerate(tags)
        ),
        points=tuple(Point(id=f"p{n}-{k}", prompt=f"p{n}", tag="any") for n in range(len(tags)) for k in range(points)),
        routes=(Route(tag="*", judges=tuple(judges), rule=rule),),
    )
    return with_reference(bare, reference or [0.0] * len(tags), sigma=sigma)


def with_reference(
    suite: Suite, values: Sequence[float], *, sigma: float | None = 1.0, card: ScorerCard = CARD
) -> Suite:
    """The suite with a frozen reference of these values, one for each prompt."""
    points = tuple(
        ReferencePoint(prompt=one.prompt.id, value=value, sigma=sigma, n=3)
        for one, value in zip(suite.prompts, values, strict=True)
    )
    columns = tuple(
        PreferenceReference(id=rule.id, scorer="likes", signature=SCORER, card=card, points=points)
        for rule in suite.card.preferences
    )
    field = tuple(FieldEntry(name=name, digest=name) for name in "xyz")
    return hashed(replace(suite, reference=Reference(prompts=prompts_hash(suite), field=field, preferences=columns)))


def entered(suite: Suite, name: str = "one", *, missing: Sequence[str] = ()) -> Entry:
    """An entry whose items are p0/0, p0/1, ... (prompt/seed), with a picture of each but those in `missing`."""
    pictures = []
    for one in suite.prompts:
        for seed in suite.seeds:
            item = f"{one.prompt.id}/{seed}"
            made = {"missing": "not made"} if item in missing else {"image": f"{item}.png", "sha256": f"{name} {item}"}
            pictures.append(Pictured(prompt=one.prompt.id, seed=seed, item=item, **made))
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
