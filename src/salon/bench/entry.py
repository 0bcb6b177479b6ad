"""What one generator made of a suite (an entry), and the result it got.

ENTRY/entry.json          the card below
ENTRY/study.toml, ...     its items as a study: `salon gallery`, `salon judge run`, `salon score` work on it
ENTRY/images/...          the pictures
ENTRY/answers.parquet     what judges said of every point of every picture (ANSWERS)
ENTRY/scores.parquet      logits of every picture by every scorer of the suite (LOGITS)
ENTRY/result.json         its result (EntryResult)

Shares in a result run from 0 to 100. A result never depends on another entry; ranks, ties and arenas do, and are
computed elsewhere (`result.standings`, `arena`).
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

import pyarrow as pa
from pydantic import Field

from salon.bench.suite import Suite
from salon.bench.suite_folder import prompts_hash
from salon.errors import BadFile, BadValue, UnknownReference
from salon.stats import Estimate
from salon.study import Format, Noun, Signature

ENTRY_FORMAT: Final = "salon.entry/1"
CARD, ANSWERS_FILE, LOGITS_FILE, RESULT = "entry.json", "answers.parquet", "scores.parquet", "result.json"

ANSWERS = pa.schema(
    [
        ("item", pa.string()),
        ("point", pa.string()),
        ("judge", pa.string()),
        ("said", pa.string()),  # pass, fail, unread (an answer nobody can read); no row: not answered yet
        ("why", pa.string()),  # the judge's reason, where it gave one
    ]
)
LOGITS = pa.schema(
    [
        ("item", pa.string()),
        ("preference", pa.string()),  # id of a PreferenceRule of the suite
        ("value", pa.float64()),
        ("sigma", pa.float64()),
        ("unscored", pa.string()),  # why a picture that was looked at has no number; no row: not scored yet
        ("scorer", pa.string()),  # signature of the scorer; refused where it is not the reference's
    ]
)


class EntryPicture(Noun):
    """One picture that the suite asks for: there, or not."""

    prompt: str
    seed: int
    item: str
    """Id of the item in the entry's study."""
    image: str | None = None
    """Path inside the entry's folder; None where it was not made."""
    sha256: str | None = None
    width: int | None = None
    height: int | None = None
    missing: str | None = None
    """Why there is none."""


class Retraction(Noun):
    """An entry taken back: it stays listed with its reason, without a place on the board."""

    reason: str = Field(min_length=1)
    at: str
    """ISO 8601."""


class Entry(Noun):
    """The card of an entry."""

    format: Literal["salon.entry/1"] = ENTRY_FORMAT
    name: str = Field(min_length=1, max_length=100, pattern=r"^[^\x00-\x1f\x7f]+$")
    title: str = ""
    """As shown; the name where it is empty."""
    generator: str = ""
    """How the generator is called or was named on the command line."""
    signature: str = ""
    """The generator's own, where Salon ran it."""
    by: str = ""
    """Who brought it."""
    link: str = Field(default="", pattern=r"^(https?://\S+)?$")
    licence: str = ""
    """Of the pictures."""
    about: str = ""
    suite: str
    """Hash of the prompts it answers (Suite.hashes['prompts.jsonl'])."""
    pictures: tuple[EntryPicture, ...]
    retracted: Retraction | None = None

    @property
    def label(self) -> str:
        """How it is shown."""
        return self.title or self.name


# -- results -----------------------------------------------------------------------------------------------------------

RESULT_FORMAT: Final = "salon.result/1"
Status = Literal["complete", "provisional"]


class Coverage(Noun):
    """What a number rests on, and what is not there."""

    wanted: int = Field(description="Pictures that the suite asks for and the axis counts.")
    made: int = Field(description="Pictures that are there; each missing one counts as a failure.")
    asked: int = Field(description="Answers (or scores) wanted of the pictures that are there.")
    given: int = Field(description="Answers that were read, or scores that were given.")
    unread: int = Field(description="Answers that could not be read, pictures that could not be scored: failures.")
    open: int = Field(description="Not answered yet: a judge's outage. While there are any, the axis is provisional.")


class AxisResult(Noun):
    """One axis of one entry, 0 to 100."""

    figure: Annotated[Estimate, Format("estimate", 1)] = Field(
        title="Value", description="The value with its interval; everything open counts as a failure."
    )
    at_best: float = Field(description="The value if everything open turned out well; the value itself if complete.")
    coverage: Coverage = Field(description="What the value rests on.")

    @property
    def complete(self) -> bool:
        """Whether nothing is open."""
        return self.coverage.open == 0


class GroupResult(Noun):
    """One tag, or one group of tags."""

    id: str = Field(description="Id of the tag, or name of the group.")
    kind: Literal["tag", "group"] = Field(description="A tag, or a group of tags.")
    capability: Annotated[Estimate | None, Format("estimate", 0)] = Field(description="Capability on its prompts.")
    eps: Annotated[dict[str, Estimate], Format("estimate", 0)] = Field(
        default_factory=dict, title="EPS", description="By column; empty where EPS does not count."
    )
    reward: Annotated[dict[str, Estimate], Format("estimate", 2)] = Field(
        default_factory=dict,
        title="Mean logit",
        description="Mean logit by column (HPSv3's table); only where every picture has one.",
    )
    prompts: int = Field(description="Its prompts.")


class PictureResult(Noun):
    """One picture: what every point and scorer said."""

    item: str = Field(description="Id of the item.")
    seed: int = Field(description="Its seed.")
    image: str | None = Field(description="Path inside the entry's folder; null where there is no picture.")
    missing: str | None = Field(default=None, description="Why there is none.")
    passed: float = Field(description="1 or 0 (or the share of points, by the suite's rule); open points fail.")
    passed_at_best: float = Field(description="The same if every open point held.")
    points: dict[str, Literal["pass", "fail", "unread", "open"]] = Field(
        default_factory=dict, description="By id; what the judges of its route say together."
    )
    said: dict[str, dict[str, str]] = Field(
        default_factory=dict, description="By id of the point and judge of its route: pass, fail, unread."
    )
    logits: dict[str, float] = Field(default_factory=dict, description="By column of EPS.")
    sigmas: dict[str, float] = Field(
        default_factory=dict, description="Standard deviations of the logits, where the scorer gives them."
    )
    wins: dict[str, float] = Field(
        default_factory=dict, description="By column: chance to be preferred to the reference, 0 to 1; 0 if missing."
    )


class PromptResult(Noun):
    """One prompt of one entry."""

    prompt: str = Field(description="Id of the prompt.")
    tag: str = Field(description="Its kind of task.")
    passed: float = Field(description="Mean over its pictures, 0 to 1.")
    passed_at_best: float = Field(description="The same if everything open turned out well.")
    eps: dict[str, float] = Field(default_factory=dict, description="By column, 0 to 1; empty where not eligible.")
    eps_at_best: dict[str, float] = Field(
        default_factory=dict, description="The same if everything open turned out well."
    )
    pictures: tuple[PictureResult, ...] = Field(description="Every picture that was asked for.")


class EntryResult(Noun):
    """Everything published about an entry; the same suite, pictures, answers and scores give the same bytes."""

    format: Literal["salon.result/1"] = Field(default=RESULT_FORMAT, description="Name and version of this form.")
    entry: str = Field(description="Name of the entry.")
    suite: str = Field(description="Name and version: 'posters/1'.")
    suite_hash: str = Field(description="Hash of the suite.")
    status: Status = Field(description="Provisional while anything is open; only complete results are published.")
    capability: AxisResult = Field(description="Share of pictures whose points all hold.")
    points: AxisResult = Field(description="Share of all points that hold, beside Capability.")
    eps: dict[str, AxisResult] = Field(default_factory=dict, description="By column; empty without a reference.")
    overall: AxisResult | None = Field(description="None without EPS.")
    headline: str | None = Field(default=None, description="The column of EPS that enters Overall.")
    weights: dict[str, float] = Field(default_factory=dict, description="Shares of 'capability' and 'eps' in Overall.")
    groups: tuple[GroupResult, ...] = Field(description="Every tag and every group of tags.")
    prompts: tuple[PromptResult, ...] = Field(description="Every prompt, with its pictures.")
    oracle: AxisResult | None = Field(
        default=None, description="Capability by a judge that knows how pictures were made; never on the board."
    )
    digest: str = Field(description="Hash of the pictures, answers and scores it was made from.")
    policies: tuple[str, ...] = Field(description="How gaps were treated, a sentence each.")
    signature: Signature = Field(description="What reproduces these numbers.")
    signature_line: str = Field(description="The same as one line.")


# -- the pictures that a suite requires --------------------------------------------------------------------------------

NOT_LISTED = "not among the entry's pictures"


def required_pictures(suite: Suite, entry: Entry) -> list[EntryPicture]:
    """Every picture that the suite asks for, in its order; one that the entry does not list is missing."""
    needed = prompts_hash(suite)
    if entry.suite != needed:
        raise BadFile(
            f"an entry made for the prompts of {suite.card.name}/{suite.card.version} ({needed[:12]}) is needed",
            found=f"one made for other prompts ({entry.suite[:12]})",
            where=f"entry {entry.name!r}",
            remedy="run the entry again with this suite, or score it with the suite it was made for",
        )
    by_key = {(picture.prompt, picture.seed): picture for picture in entry.pictures}
    if len(by_key) < len(entry.pictures) or len({picture.item for picture in entry.pictures}) < len(entry.pictures):
        raise BadValue(
            "one picture of every prompt and seed, each with an item of its own",
            found=f"{len(entry.pictures)} pictures of {len(by_key)} prompts and seeds",
        )
    keys = [(prompt.id, seed) for prompt in suite.prompts for seed in suite.seeds]
    strange = sorted(set(by_key) - set(keys))
    if strange:
        raise UnknownReference(
            "an entry holds pictures of the suite's prompts and seeds",
            found=f"{len(strange)} others, the first of prompt {strange[0][0]!r} with seed {strange[0][1]}",
            where=f"entry {entry.name!r}",
        )
    return [
        by_key.get((prompt, seed))
        or EntryPicture(prompt=prompt, seed=seed, item=f"{prompt}__{seed}", missing=NOT_LISTED)
        for prompt, seed in keys
    ]


def has_image(picture: EntryPicture) -> bool:
    """Whether there is an image."""
    return picture.image is not None
