"""Scores of a study's items by one scorer: each picture looked at once, the table written whole.

    STUDY/scores/NAME.parquet     item, value, sigma, unscored (why there is no value)
    STUDY/scores/NAME.json        the scorer's card and signature, and the counts

Results are kept by content: the same picture, prompt and signature are never worked out twice, so a run that was killed
goes on where it stopped, and copies of a picture cost nothing.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pydantic import Field

from salon.errors import BadColumns, BadFile, BadValue
from salon.judge.scorers.picture import Result, Scored, TextInput, Unscored
from salon.judge.untrained import RaterSettings
from salon.models.kept import Kept
from salon.store.atomic import whole_file, write_json
from salon.store.folder import written_inside
from salon.store.parquet_table import arrow_file, check_rows
from salon.study import Item, Prompt, Study
from salon.study.noun import Noun
from salon.study.scorer import Scorer, ScorerCard

FOLDER = "scores"
COLUMNS = pa.schema(
    [("item", pa.string()), ("value", pa.float64()), ("sigma", pa.float64()), ("unscored", pa.string())]
)
POLICY = "items without a value stay in the table with the reason; they are never given one"
_Asked = tuple[Item, Prompt | None]
Check = Callable[[Mapping[str, int], int, int], None]
_ROWS_IN_GROUP = 100_000
_ONLY_HERE = "item "
"""Beginning of keys that mean nothing to another run: the scorer does not say what its results depend on."""


class ScoreSettings(Noun):
    """How `salon score` works."""

    text: TextInput = Field("full", description="What scorers read of a prompt: intent, or all of it.")
    batch: int = Field(8, ge=1, le=4096, description="Items that a network looks at together.")
    device: str | None = Field(None, description="cpu, cuda, cuda:1 or mps  [default: the best there is]")
    instruction: str | None = Field(
        None, description="With hpsv3: file with its instruction  [default: instruction.txt, or the hpsv3 package's]"
    )
    other_instruction: bool = Field(
        False, description="With hpsv3: take an instruction that is not the release's, and say so in the signature."
    )
    limit: int | None = Field(None, ge=1, description="Only the first items of the study.")
    engine: Literal["here", "pool", "ray"] = Field(
        "here", description="Where scorers run: in this process, in several, or on Ray."
    )
    workers: int | None = Field(None, ge=1, description="Workers of a pool or on Ray  [default: one for each core]")
    address: str | None = Field(None, description="Address of a Ray cluster  [default: one on this machine]")
    rater: RaterSettings = Field(RaterSettings(), description="How an untrained VLM is asked.")


class ScoreRun(Noun):
    """What a run gave."""

    scorer: str
    items: int
    scored: int
    unscored: dict[str, int]
    """How many for each reason."""
    reused: int
    """Known from earlier runs, or from another item with the same picture and prompt."""
    low: float | None
    high: float | None
    missing: str = POLICY
    card: ScorerCard
    data: str
    """Of the study, or of the pictures, that were scored."""
    signature: str
    file: str


def score_study(
    study: Study,
    folder: Path,
    scorer: Scorer,
    settings: ScoreSettings | None = None,
    progress: Callable[[int, int], None] | None = None,
    *,
    kept: Kept | None = None,
) -> ScoreRun:
    """Score the items of `study`, whose pictures are in `folder`, and write the table there.

    `progress` is told (done, wanted). `kept` remembers results; the user's cache unless given.
    """
    settings = settings or ScoreSettings()
    asked = with_pictures(study, folder, settings.limit)
    if not asked:
        raise BadValue("a study with items is needed", found="none", where=str(folder))
    memory = kept or Kept()
    results, reused = kept_results(scorer, asked, settings.batch, memory, progress or (lambda done, wanted: None))
    rows = [score_row(item.id, result) for (item, _), result in zip(asked, results, strict=True)]
    table = pa.Table.from_pylist(rows, COLUMNS)
    return write_scores(scores_file(folder / FOLDER, scorer.name), scorer, table, reused=reused, data=study.hash[:12])


def with_pictures(study: Study, folder: Path, limit: int | None = None) -> list[_Asked]:
    """Items with the whole path of their picture, each with its prompt."""
    prompts = {prompt.id: prompt for prompt in study.nouns("prompts")}
    items = list(study.nouns("items"))[:limit]
    whole = (
        item if item.image is None else item.model_copy(update={"image": str(folder / item.image)}) for item in items
    )
    return [(item, prompts.get(item.prompt or "")) for item in whole]


def kept_results(
    scorer: Scorer, asked: Sequence[_Asked], batch: int, kept: Kept, progress: Callable[[int, int], None]
) -> tuple[list[Result], int]:
    """One result per item, in their order, and how many were in hand; the others come batch by batch, kept at once.

    A scorer with a `check` of gaps (reason and count, pictures done, pictures wanted) may end the run by it.
    """
    check: Check = getattr(scorer, "check", lambda gaps, done, wanted: None)
    keys = [_key(scorer, item, prompt) or f"{_ONLY_HERE}{number}" for number, (item, prompt) in enumerate(asked)]
    known: dict[str, Result] = {key: Scored(**record) for key, record in kept.many(set(keys)).items()}
    first = {key: number for number, key in reversed(list(enumerate(keys)))}
    open_ = [number for key, number in first.items() if key not in known][::-1]
    done = reused = len(asked) - len(open_)
    progress(done, len(asked))
    for part in _parts(open_, max(batch, getattr(scorer, "batch", 1))):
        found = results_of(scorer, [asked[number] for number in part])
        fresh = {keys[number]: result for number, result in zip(part, found, strict=True)}
        known |= fresh
        done += len(part)
        kept.keep({key: one._asdict() for key, one in fresh.items() if isinstance(one, Scored) and _lasts(key)})
        check(Counter(one.reason for one in known.values() if isinstance(one, Unscored)), len(known), len(first))
        progress(done, len(asked))
    return [known[key] for key in keys], reused


def results_of(scorer: Scorer, asked: Sequence[_Asked]) -> list[Result]:
    """What a scorer says of items; one that gives only numbers says no more than that of a gap."""
    items, prompts = [item for item, _ in asked], [prompt for _, prompt in asked]
    told = getattr(scorer, "results", None)
    if told is not None:
        return list(told(items, prompts))
    return [
        Unscored("the scorer gave no number") if value is None else Scored(float(value))
        for value in scorer.score(items, prompts)
    ]


def _key(scorer: Scorer, item: Item, prompt: Prompt | None) -> str | None:
    make = getattr(scorer, "key", None)
    return None if make is None else make(item, prompt)


def _lasts(key: str) -> bool:
    return not key.startswith(_ONLY_HERE)


def _parts(numbers: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    return (numbers[start : start + size] for start in range(0, len(numbers), size))


# -- the table -------------------------------------------------------------------------------------------------------


def score_row(item: str, result: Result) -> dict[str, Any]:
    """One row of a table of scores."""
    if isinstance(result, Scored):
        return {"item": item, "value": result.value, "sigma": result.sigma, "unscored": None}
    return {"item": item, "value": None, "sigma": None, "unscored": result.reason}


def write_scores(file: Path, scorer: Scorer, table: pa.Table, *, reused: int, data: str) -> ScoreRun:
    """Write a table of scores and, beside it, what one has to know about it.

    The old table goes and the new card is there before the new table is: who is killed in between leaves no table,
    never one that is read by another's card, or as if higher were better because it has none. Two at once write one
    after the other.
    """
    run = _run(scorer, table, reused, data, file)
    with written_inside(file), whole_file(file) as target:
        pq.write_table(table.cast(COLUMNS), target, compression="zstd", row_group_size=_ROWS_IN_GROUP)
        file.unlink(missing_ok=True)
        write_json(file.with_suffix(".json"), run)
    return run


def _run(scorer: Scorer, table: pa.Table, reused: int, data: str, file: Path) -> ScoreRun:
    values = table.column("value")
    ends = pc.min_max(values).as_py()
    reasons = pc.value_counts(table.column("unscored").drop_null()).to_pylist()
    return ScoreRun(
        scorer=scorer.name,
        items=table.num_rows,
        scored=table.num_rows - values.null_count,
        unscored={one["values"]: one["counts"] for one in sorted(reasons, key=lambda one: one["values"])},
        reused=reused,
        low=ends["min"],
        high=ends["max"],
        card=getattr(scorer, "card", ScorerCard()),
        data=data,
        signature=str(scorer.signature),
        file=f"{file.parent.name}/{file.name}",
    )


def scores_file(folder: Path, name: str) -> Path:
    """Where the scores of a scorer are kept in `folder`; its name may hold no path."""
    if not name or name.startswith(".") or any(letter in name for letter in "/\\:\0"):
        raise BadValue("a scorer's name is a plain word", found=repr(name), remedy="choose another with --name")
    return folder / f"{name}.parquet"


def scores_there(folder: Path) -> list[str]:
    """The scorers whose scores are kept for the study in `folder`."""
    return sorted(path.stem for path in (folder / FOLDER).glob("*.parquet"))


def read_scores(file: Path) -> pa.Table:
    """A table of scores: item, value, and sigma where it has one; BadFile or BadColumns where it is none."""
    try:
        check_rows(file)
        table = pq.read_table(arrow_file(file))
    except (OSError, pa.ArrowException) as error:
        raise BadFile("a Parquet table of scores is needed", found=str(error).split("\n")[0], where=str(file)) from None
    for name in ("item", "value"):
        if name not in table.column_names:
            raise BadColumns.missing(name, table.column_names, where=str(file))
    return table


def read_run(file: Path) -> ScoreRun | None:
    """What stands beside a table of scores; None where it came from elsewhere."""
    card = file.with_suffix(".json")
    if not card.is_file():
        return None
    try:
        return ScoreRun.parse(json.loads(card.read_text(encoding="utf-8")), where=str(card))
    except ValueError as error:
        raise BadFile("what salon score writes is needed", found=str(error).split("\n")[0], where=str(card)) from None
