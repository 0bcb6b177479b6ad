"""Scores of pictures by one scorer: each picture is looked at once, and the table is written whole.

    STUDY/scores/NAME.parquet     item, value, sigma, unscored (why there is no value)
    STUDY/scores/NAME.json        the scorer's card and signature, and the counts

Results are cached by content: the same picture, prompt and signature are never computed twice, so a killed run goes on
where it stopped, and copies of a picture cost nothing.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from salon.errors import BadColumns, BadFile, BadValue
from salon.judge.model_scorers import RaterSettings
from salon.study import Item, Noun, Prompt, Scorer, ScorerCard, Signature, Study

if TYPE_CHECKING:
    from PIL import Image

    from salon.models import ResultCache

TextInput = Literal["intent", "full"]
"""What a scorer reads of a prompt: the client's sentence alone, or all of it."""


class PictureScore(NamedTuple):
    """A number, and its own standard deviation where the scorer states one."""

    value: float
    sigma: float | None = None


class MissingScore(NamedTuple):
    """No number, and why."""

    reason: str


ScoreResult = PictureScore | MissingScore


def finite_score(value: float, sigma: float | None = None, *, source: str = "model") -> ScoreResult:
    """A network's number; none where it overflowed on a strange picture."""
    if not math.isfinite(value) or not math.isfinite(sigma or 0.0):
        return MissingScore(f"the {source} gave no finite number")
    return PictureScore(float(value), None if sigma is None else float(sigma))


@dataclass(frozen=True)
class ScorerInput:
    """What a scorer gets of one item."""

    image: Image.Image
    prompt: Prompt | None
    text: str
    """The part of the prompt it may read; empty for scorers of pictures alone."""
    path: Path
    sha256: str
    """Of the picture's bytes."""


Measure = Callable[[Sequence[ScorerInput]], Sequence[ScoreResult]]


class PictureScorer:
    """A scorer made of one function over pictures and prompts.

    Items whose picture cannot be opened, or whose prompt lacks the parts to be read, are left unscored with the reason;
    the others go through in batches.

    `item.image` is the path of the picture: absolute, or from the current folder (`score_study` makes it whole).
    """

    def __init__(self, name: str, card: ScorerCard, signature: Signature, measure: Measure, *, batch: int = 8) -> None:
        if batch < 1:
            raise BadValue("a batch holds one item or more", found=batch, where=name)
        self.name, self.card, self.signature, self.batch = name, card, signature, batch
        self._measure = measure

    def score(self, items: Sequence[Item], prompts: Sequence[Prompt | None]) -> list[float | None]:
        """One number per item, None where it could not be scored."""
        return [result.value if isinstance(result, PictureScore) else None for result in self.results(items, prompts)]

    def results(self, items: Sequence[Item], prompts: Sequence[Prompt | None]) -> list[ScoreResult]:
        """One number per item with its sigma, or the reason why there is none."""
        inputs = [self._shown(item, prompt) for item, prompt in zip(items, prompts, strict=True)]
        results: list[ScoreResult] = [
            picture if isinstance(picture, MissingScore) else MissingScore("not reached") for picture in inputs
        ]
        able = [(place, picture) for place, picture in enumerate(inputs) if isinstance(picture, ScorerInput)]
        for (place, _), result in zip(able, self.look([picture for _, picture in able]), strict=True):
            results[place] = result
        return results

    def look(self, inputs: Sequence[ScorerInput]) -> list[ScoreResult]:
        """The same for pictures that are open already."""
        parts = (inputs[start : start + self.batch] for start in range(0, len(inputs), self.batch))
        return [result for part in parts for result in self._measure(part)]

    def key(self, item: Item, prompt: Prompt | None) -> str | None:
        """All that the result depends on: signature, picture, and the prompt where it is read; None without a file."""
        from salon.store import read_bytes

        try:
            picture = hashlib.sha256(read_bytes(Path(item.image or ""))).hexdigest()
        except BadFile:
            return None
        text = "" if self.card.reads == "image" or prompt is None else json.dumps(prompt.record(), sort_keys=True)
        return f"{self.signature}|{picture}|{hashlib.sha256(text.encode()).hexdigest()[:16]}"

    def _shown(self, item: Item, prompt: Prompt | None) -> ScorerInput | MissingScore:
        from salon.store import read_picture

        if item.image is None:
            return MissingScore("the item has no picture")
        text = ""
        if self.card.reads != "image":
            if prompt is None:
                return MissingScore("the item has no prompt, and the scorer reads one")
            try:
                text = prompt.view(self.card.view)
            except BadValue as error:
                return MissingScore(f"{error.needed}: {error.found}")
        try:
            picture = read_picture(Path(item.image))
        except BadFile as error:
            return MissingScore(f"the picture cannot be read: {error.found}")
        return ScorerInput(picture.image, prompt, text, Path(item.image), picture.sha256)


def prompt_parts(text: TextInput) -> tuple[Literal["intent"], ...]:
    """The parts of a prompt that a scorer's card names for this setting; none stands for all."""
    return ("intent",) if text == "intent" else ()


# -- scores of a study -------------------------------------------------------------------------------------------------

SCORES_FOLDER = "scores"
SCORE_COLUMNS = pa.schema(
    [("item", pa.string()), ("value", pa.float64()), ("sigma", pa.float64()), ("unscored", pa.string())]
)
POLICY = "items without a value stay in the table with the reason; they are never given one"
ItemAndPrompt = tuple[Item, Prompt | None]
GapCheck = Callable[[Mapping[str, int], int, int], None]
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
    rl_step: float = Field(
        0.0,
        ge=0,
        le=1,
        description="With hpsv3++: progress of the RL training that made the pictures; 0 for none.",
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
    cache: ResultCache | None = None,
) -> ScoreRun:
    """Score the items of `study`, whose pictures are in `folder`, and write the table there.

    `progress` is called with (completed, total). `cache` keeps results; the user's own unless given.
    """
    from salon.models import ResultCache

    settings = settings or ScoreSettings()
    pairs = items_with_pictures(study, folder, settings.limit)
    if not pairs:
        raise BadValue("a study with items is needed", found="none", where=str(folder))
    memory = cache or ResultCache()
    results, reused = cached_scores(scorer, pairs, settings.batch, memory, progress or (lambda completed, total: None))
    rows = [score_row(item.id, result) for (item, _), result in zip(pairs, results, strict=True)]
    table = pa.Table.from_pylist(rows, SCORE_COLUMNS)
    return write_scores(
        scores_file(folder / SCORES_FOLDER, scorer.name), scorer, table, reused=reused, data=study.hash[:12]
    )


def items_with_pictures(study: Study, folder: Path, limit: int | None = None) -> list[ItemAndPrompt]:
    """Items with the whole path of their picture, each with its prompt."""
    prompts = {prompt.id: prompt for prompt in study.nouns("prompts")}
    items = list(study.nouns("items"))[:limit]
    whole = (
        item if item.image is None else item.model_copy(update={"image": str(folder / item.image)}) for item in items
    )
    return [(item, prompts.get(item.prompt or "")) for item in whole]


def cached_scores(
    scorer: Scorer, pairs: Sequence[ItemAndPrompt], batch: int, cache: ResultCache, progress: Callable[[int, int], None]
) -> tuple[list[ScoreResult], int]:
    """One result per item, in their order, and how many were in hand; the others come batch by batch, kept at once.

    A scorer with a `check` of gaps (reason and count, pictures done, pictures wanted) may end the run by it.
    """
    check: GapCheck = getattr(scorer, "check", lambda gaps, completed, total: None)
    make_key = getattr(scorer, "key", lambda item, prompt: None)
    keys = [make_key(item, prompt) or f"{_ONLY_HERE}{number}" for number, (item, prompt) in enumerate(pairs)]
    by_key: dict[str, ScoreResult] = {key: PictureScore(**record) for key, record in cache.many(set(keys)).items()}
    first = {key: number for number, key in reversed(list(enumerate(keys)))}
    open_ = [number for key, number in first.items() if key not in by_key][::-1]
    completed = reused = len(pairs) - len(open_)
    progress(completed, len(pairs))
    size = max(batch, getattr(scorer, "batch", 1))
    for part in (open_[start : start + size] for start in range(0, len(open_), size)):
        results = score_items(scorer, [pairs[number] for number in part])
        fresh = {keys[number]: result for number, result in zip(part, results, strict=True)}
        by_key |= fresh
        completed += len(part)
        cache.keep(
            {
                key: score._asdict()
                for key, score in fresh.items()
                if isinstance(score, PictureScore) and not key.startswith(_ONLY_HERE)
            }
        )
        check(
            Counter(score.reason for score in by_key.values() if isinstance(score, MissingScore)),
            len(by_key),
            len(first),
        )
        progress(completed, len(pairs))
    return [by_key[key] for key in keys], reused


def score_items(scorer: Scorer, pairs: Sequence[ItemAndPrompt]) -> list[ScoreResult]:
    """What a scorer says of items; one that gives only numbers says no more than that of a gap."""
    items, prompts = [item for item, _ in pairs], [prompt for _, prompt in pairs]
    results = getattr(scorer, "results", None)
    if results is not None:
        return list(results(items, prompts))
    return [
        MissingScore("the scorer gave no number") if value is None else PictureScore(float(value))
        for value in scorer.score(items, prompts)
    ]


# -- the table -------------------------------------------------------------------------------------------------------


def score_row(item: str, result: ScoreResult) -> dict[str, Any]:
    """One row of a table of scores."""
    if isinstance(result, PictureScore):
        return {"item": item, "value": result.value, "sigma": result.sigma, "unscored": None}
    return {"item": item, "value": None, "sigma": None, "unscored": result.reason}


def write_scores(file: Path, scorer: Scorer, table: pa.Table, *, reused: int, data: str) -> ScoreRun:
    """Write a table of scores and, beside it, what one has to know about it.

    The old table goes and the new card is there before the new table is: who is killed in between leaves no table,
    never one that is read by another's card, or as if higher were better because it has none. Two at once write one
    after the other.
    """
    import pyarrow.parquet as pq

    from salon.store import whole_file, write_json, written_inside

    values = table.column("value")
    ends = pc.min_max(values).as_py()
    reasons = pc.value_counts(table.column("unscored").drop_null()).to_pylist()
    run = ScoreRun(
        scorer=scorer.name,
        items=table.num_rows,
        scored=table.num_rows - values.null_count,
        unscored={
            reason["values"]: reason["counts"] for reason in sorted(reasons, key=lambda reason: reason["values"])
        },
        reused=reused,
        low=ends["min"],
        high=ends["max"],
        card=getattr(scorer, "card", ScorerCard()),
        data=data,
        signature=str(scorer.signature),
        file=f"{file.parent.name}/{file.name}",
    )
    with written_inside(file), whole_file(file) as target:
        pq.write_table(table.cast(SCORE_COLUMNS), target, compression="zstd", row_group_size=_ROWS_IN_GROUP)
        file.unlink(missing_ok=True)
        write_json(file.with_suffix(".json"), run)
    return run


def scores_file(folder: Path, name: str) -> Path:
    """Where the scores of a scorer are kept in `folder`; its name may hold no path."""
    if not name or name.startswith(".") or any(letter in name for letter in "/\\:\0"):
        raise BadValue("a scorer's name is a plain word", found=repr(name), remedy="choose another with --name")
    return folder / f"{name}.parquet"


def list_scores(folder: Path) -> list[str]:
    """The scorers whose scores are kept for the study in `folder`."""
    return sorted(path.stem for path in (folder / SCORES_FOLDER).glob("*.parquet"))


def read_scores(file: Path) -> pa.Table:
    """A table of scores: item, value, and sigma where it has one; BadFile or BadColumns where it is none."""
    import pyarrow.parquet as pq

    from salon.store import arrow_file, check_rows

    try:
        check_rows(file)
        table = pq.read_table(arrow_file(file))
    except (OSError, pa.ArrowException) as error:
        raise BadFile("a Parquet table of scores is needed", found=str(error).split("\n")[0], where=str(file)) from None
    for name in ("item", "value"):
        if name not in table.column_names:
            raise BadColumns.missing(name, table.column_names, where=str(file))
    return table


def read_score_run(file: Path) -> ScoreRun | None:
    """What stands beside a table of scores; None where it came from elsewhere."""
    card = file.with_suffix(".json")
    if not card.is_file():
        return None
    try:
        return ScoreRun.parse(json.loads(card.read_text(encoding="utf-8")), where=str(card))
    except ValueError as error:
        raise BadFile("what salon score writes is needed", found=str(error).split("\n")[0], where=str(card)) from None
