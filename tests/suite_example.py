"""A small suite, its pictures and its entries, for the tests of boards."""

from __future__ import annotations

import hashlib
import io
from pathlib import Path

import pyarrow as pa
from PIL import Image

from salon.bench.board import (
    Board,
    entry_folder,
    read_answers,
    read_entry,
    read_logits,
    write_answers,
    write_entry,
    write_logits,
    write_result,
)
from salon.bench.entry import ANSWERS, LOGITS, Entry, Pictured
from salon.bench.result import entry_result
from salon.bench.results import AxisResult, Coverage, EntryResult
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
from salon.report.estimate import Figure
from salon.study.point import Point, Route
from salon.study.prompt import Prompt
from salon.study.scorer import ScorerCard
from salon.study.signature import Signature

CARD = ScorerCard(is_logit=True, measures="a test's own number")


def small_suite(prompts: int = 4, **card: object) -> Suite:
    """`prompts` prompts under two tags, of which 'words' does not count for EPS; two points each, one judge."""
    told = {"name": "small", "title": "A small suite", "size": "32x24", "preferences": (PreferenceRule(id="eps"),)}
    return hashed(
        Suite(
            card=SuiteCard.parse({**told, **card}),
            tags=(
                Tag(id="color", group="Look", name="Color"),
                Tag(id="words", group="Text", name="Words", eps=False, why="taste is no judge of spelling"),
            ),
            prompts=tuple(
                SuitePrompt(prompt=Prompt(id=f"p{n}", text=f"poster number {n}"), tag=("color", "words")[n % 2])
                for n in range(prompts)
            ),
            points=tuple(
                Point(id=f"p{n}-{part}", prompt=f"p{n}", text=f"is it {part}?", tag="any")
                for n in range(prompts)
                for part in ("red", "large")
            ),
            routes=(Route(tag="*", judges=("eye",)),),
        )
    )


def reference_for(suite: Suite) -> Reference:
    """A reference with value 0 everywhere."""
    points = tuple(
        ReferencePoint(prompt=one.prompt.id, value=0.0, sigma=1.0, n=3)
        for one in suite.prompts
        if suite.tag_of(one.prompt.id).eps
    )
    column = PreferenceReference(id="eps", scorer="tests", signature="tests|1", card=CARD, points=points)
    field = tuple(FieldEntry(name=name, digest=name * 8) for name in "abc")
    return Reference(prompts=prompts_hash(suite), field=field, preferences=(column,))


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
                pictures.append(Pictured(**place, missing="not made"))
                continue
            data = picture(number * 7 + seed)
            path = Path("images") / f"{id}__{seed}.png"
            (folder / path).write_bytes(data)
            digest = hashlib.sha256(data).hexdigest()
            pictures.append(Pictured(**place, image=str(path), sha256=digest, width=32, height=24))
    entry = Entry(name=name, suite=prompts_hash(board.suite), licence="CC0-1.0", pictures=tuple(pictures))
    write_entry(folder, entry)
    return entry


def some_result(suite: Suite, name: str, passed: float = 1.0) -> EntryResult:
    """A complete result with little in it."""
    figure = Figure(value=100 * passed, low=50.0, high=100.0, n=4, unit="prompt", level=0.95, method="made up")
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
    folder = entry_folder(board, name)
    items = {one.prompt: one.item for one in put_entry(board, name).pictures}
    answers = [{"item": items[point.prompt], "point": point.id, "judge": "eye", "said": said, "why": None}
               for point in board.suite.points]  # fmt: skip
    logits = [{"item": item, "preference": "eps", "value": 0.5, "sigma": None, "unscored": None, "scorer": "tests|1"}
              for item in items.values()]  # fmt: skip
    write_answers(folder, pa.Table.from_pylist(answers, ANSWERS))
    write_logits(folder, pa.Table.from_pylist(logits, LOGITS))
    return folder


def published(board: Board, name: str = "one") -> Path:
    """The same, with its result published."""
    folder = judged(board, name)
    entry = read_entry(folder)
    write_result(folder, entry_result(board.suite, entry, read_answers(folder), read_logits(folder)))
    return folder
