"""Scorers by rule: measurements, and weighted checklists in the manner of VisionReward.

A checklist is many small yes-or-no questions and one number. Questions and weights are a file of the user's
(VisionReward's own come with its weights):

    [[question]]
    ask = "Is every word in the picture spelled correctly?"
    weight = 2.0

The score is the weighted mean of the answers, +1 for yes and -1 for no. A picture with an unreadable answer has no
score: leaving the question out would be an answer made up.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from pydantic import Field

from salon.errors import BadFile, BadValue
from salon.judge.measurements.pixels import EXTREME, PictureView
from salon.judge.measurements.table import MEASUREMENTS
from salon.judge.scoring import (
    MissingScore,
    PictureScore,
    PictureScorer,
    ScoreResult,
    ScorerInput,
    TextInput,
    prompt_parts,
)
from salon.judge.vlm import Conversation, Decoding, NoReply, Reply, Sight, Vlm
from salon.models import Reading, ResultCache, remembered_reading
from salon.study import Noun, ScorerCard, Signature

FORMULA_VERSION = 2
"""Of the measurements' formulas; a change of any of them makes old scores strangers to new ones."""


def measurement_scorer(name: str, cache: ResultCache | None = None) -> PictureScorer:
    """The scorer of one measurement; readings are kept in `cache`, so the next one need not read again."""
    if name not in MEASUREMENTS:
        raise BadValue("the name of a measurement is needed", found=repr(name), remedy=", ".join(MEASUREMENTS))
    rule = MEASUREMENTS[name]
    card = ScorerCard(
        reads="image and prompt" if rule.prompt else "image",
        low=rule.low,
        high=rule.high,
        measures=rule.tells,
        licence="Apache-2.0",
        source="docs/methods/measurements.md",
    )
    signature = Signature(method=f"measure-{name}", settings={"formula": FORMULA_VERSION, "rests on": rule.rests_on})
    memory = cache or ResultCache()

    def look(inputs: Sequence[ScorerInput]) -> list[ScoreResult]:
        results: list[ScoreResult] = []
        for picture in inputs:
            view = PictureView(picture.image, picture.prompt, partial(cached_reading, picture, memory))
            value = None if view.is_extreme else rule.measure(view)
            if value is None:
                results.append(MissingScore(EXTREME if view.is_extreme else rule.gap))
            else:
                results.append(PictureScore(round(float(value), 6)))
        return results

    return PictureScorer(name, card, signature, look, batch=1)


def cached_reading(picture: ScorerInput, cache: ResultCache) -> Reading:
    """The text in a picture, read once whoever asks."""
    return remembered_reading(picture.image, picture.sha256, cache)


# -- checklists --------------------------------------------------------------------------------------------------------

OPTIONS = ("yes", "no")
_ANSWER = re.compile(r"\b(yes|no)\b", re.IGNORECASE)
_TOKENS = 16


class ChecklistQuestion(Noun):
    """One question of a weighed checklist."""

    ask: str = Field(min_length=1)
    weight: float = 1.0


def read_questions(file: Path) -> tuple[ChecklistQuestion, ...]:
    """The questions of a TOML file."""
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadFile("a TOML file of questions is needed", found=str(error), where=str(file)) from None
    rows = content.get("question")
    if not isinstance(rows, list) or not rows:
        raise BadFile(
            "a file with [[question]] entries is needed", found=", ".join(content) or "nothing", where=str(file)
        )
    return tuple(ChecklistQuestion.parse(row, where=f"{file}, question {number}") for number, row in enumerate(rows, 1))


def checklist_scorer(
    vlm: Vlm, questions: Sequence[ChecklistQuestion], *, text: TextInput = "full", batch: int = 8
) -> PictureScorer:
    """A scorer that asks `vlm` every question about every picture."""
    total = sum(abs(question.weight) for question in questions)
    if not total:
        raise BadValue("a checklist needs a question whose weight is not 0", found=f"{len(questions)} questions")
    card = ScorerCard(
        reads="image and prompt", view=prompt_parts(text), low=-1, high=1, transform="sum w a / sum |w|, a = 1 or -1",
        measures=f"The weighed mean of {len(questions)} yes-or-no answers.", licence="that of VLM and questions",
        source="Xu et al. 2024, VisionReward",
    )  # fmt: skip
    digest = hashlib.sha256("\n".join(f"{entry.weight}\t{entry.ask}" for entry in questions).encode()).hexdigest()[:12]
    signature = Signature(
        method="checklist", data=digest, settings={"vlm": str(vlm.signature), "text": "+".join(card.view) or "all"}
    )

    def look(inputs: Sequence[ScorerInput]) -> list[ScoreResult]:
        conversations = [checklist_conversation(picture, question) for picture in inputs for question in questions]
        replies: dict[int, Reply | NoReply] = dict(vlm.reply(conversations))
        width = len(questions)
        rows = ([replies[place * width + number] for number in range(width)] for place in range(len(inputs)))
        return [_weighted_mean(questions, row, total) for row in rows]

    return PictureScorer(f"checklist-{vlm.name}", card, signature, look, batch=batch)


def checklist_conversation(picture: ScorerInput, question: ChecklistQuestion) -> Conversation:
    """One question about one picture, with what was asked for."""
    before = f"The picture was made for this prompt:\n{picture.text}\n\nThe picture:"
    after = f"{question.ask}\nAnswer with one word, yes or no."
    parts = (before, Sight(item=picture.sha256, path=picture.path), after)
    return Conversation(parts=parts, options=OPTIONS, decoding=Decoding(max_tokens=_TOKENS))


def _weighted_mean(
    questions: Sequence[ChecklistQuestion], replies: Sequence[Reply | NoReply], total: float
) -> ScoreResult:
    weighted = 0.0
    for number, (question, reply) in enumerate(zip(questions, replies, strict=True), 1):
        if isinstance(reply, NoReply):
            return MissingScore(f"question {number}: no reply ({reply.kind})")
        answers = _ANSWER.findall(reply.text)
        if not answers:
            return MissingScore(f"question {number}: the reply says neither yes nor no")
        weighted += question.weight * (1 if answers[-1].lower() == "yes" else -1)
    return PictureScore(weighted / total)
