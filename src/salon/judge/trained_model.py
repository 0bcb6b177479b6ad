"""A trained preference model as a scorer (one for each criterion it knows) and as a judge of pairs.

The model reads what it was trained on: the picture, and the parts of the prompt that its card names. Scores of two
pictures of one prompt may be compared; the card says what their distance means (`is_logit`).

As a judge it is asked about pairs in both orders, like any other, but does not read the words of the question. Its
answer is the sign of its log-odds, and the chances of A and B follow from them. Where they are exactly even it says
TIE, or, if that is not an option, names the first picture in both orders, which the protocol reads as a tie.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from salon.errors import BadFile, BadValue
from salon.judge.model_scorers import known_criterion, scores_name
from salon.judge.scoring import PictureScorer, ScoreResult, ScorerInput, finite_score
from salon.judge.vlm import Conversation, NoReply, Reply
from salon.models import (
    HeadsModel,
    ModelCard,
    ModelCriterion,
    ModelScore,
    PreferenceModel,
    ResultCache,
    encode_pictures,
    encode_texts,
    load_model,
    model_fingerprint,
    read_model_card,
)
from salon.store import read_picture
from salon.study import ScorerCard, Setting, Signature, Study


def trained_scorer(
    folder: Path, criterion: str | None = None, *, device: str | None = None, batch: int = 8
) -> PictureScorer:
    """The scorer that the model in `folder` is for `criterion`, which may be left out where it knows only one."""
    model, weights = opened(folder, device)
    entry = known_criterion(model.card, criterion, where=str(folder))
    card = served_card(model.card, entry)
    signature = trained_signature(model.card, entry.id, weights)

    def look(inputs: Sequence[ScorerInput]) -> list[ScoreResult]:
        return [finite_score(score.value, score.sigma) for score in model_scores(model, inputs, entry.id)]

    return PictureScorer(scores_name(model.card, entry.id), card, signature, look, batch=batch)


def served_card(card: ModelCard, criterion: ModelCriterion) -> ScorerCard:
    """What one has to know before using a model's numbers for one criterion."""
    raters = "simulated raters" if card.simulated else "the raters"
    return ScorerCard(
        reads="image and prompt",
        view=criterion.view,
        higher_is_better=criterion.higher_is_better,
        is_logit=card.is_logit and criterion.id != card.flag,
        licence=card.licence,
        source=str(card.signature),
        measures=f"{criterion.name}, as {raters} of {card.study} judged it.",
        criterion=criterion.id,
    )


def trained_signature(card: ModelCard, criterion: str, weights: str) -> Signature:
    """Which model, criterion and weights made a number."""
    settings: dict[str, Setting] = {"model": card.name, "criterion": criterion, "backbone": card.backbone_name}
    if card.kind == "reward":
        settings["positions"] = card.positions
    return Signature(method=f"trained-{card.kind}", data=weights, settings=settings)


def opened(folder: Path, device: str | None) -> tuple[PreferenceModel, str]:
    """The model and the fingerprint of what its numbers hang on; several criteria of one model share it."""
    read_model_card(folder)  # says what is wrong with a folder that is no model's
    return _load_cached(folder.resolve(), device, model_fingerprint(folder))


@cache
def _load_cached(folder: Path, device: str | None, weights: str) -> tuple[PreferenceModel, str]:
    return load_model(folder, device=device), weights


# -- what a model says -------------------------------------------------------------------------------------------------


def model_scores(model: PreferenceModel, inputs: Sequence[ScorerInput], criterion: str) -> list[ModelScore]:
    """One number for each picture. Heads take vectors from the cache: all criteria share them, and so do later runs."""
    texts = [picture.text for picture in inputs]
    if not isinstance(model, HeadsModel):
        return model.scores([picture.image for picture in inputs], texts, criterion)
    pictures = _vectors(model, [picture.path for picture in inputs])
    values = model.vector_scores(pictures, _words(model, texts, criterion), criterion)
    return [ModelScore(float(value)) for value in values]


def pair_logits(
    model: PreferenceModel, a: Sequence[Path], b: Sequence[Path], texts: Sequence[str], criterion: str
) -> NDArray[np.float64]:
    """Log-odds that the first picture of each pair is preferred, as they stand (a, b)."""
    if not isinstance(model, HeadsModel):
        images = {path: read_picture(path).image for path in {*a, *b}}
        return model.pair_logits(
            [images[picture] for picture in a], [images[picture] for picture in b], texts, criterion
        )
    both = _vectors(model, [*a, *b])
    first, second = ({part: rows[half] for part, rows in both.items()} for half in (slice(len(a)), slice(len(a), None)))
    return model.vector_logits(first, second, _words(model, texts, criterion), criterion)


def _vectors(model: HeadsModel, paths: Sequence[Path]) -> dict[str, NDArray[np.float32]]:
    return encode_pictures(model.encoder, paths, parts=[part.name for part in model.network.shape.parts])


def _words(model: HeadsModel, texts: Sequence[str], criterion: str) -> NDArray[np.float32]:
    return encode_texts(model.encoder, model.conditioned(texts, criterion))


# -- the judge ---------------------------------------------------------------------------------------------------------

_QUESTIONS_AT_ONCE = 64
"""Questions looked at together."""


class _PairQuestion(NamedTuple):
    """A question about a pair on one criterion."""

    first: Path
    second: Path
    text: str
    criterion: str


class TrainedJudge:
    """The model in `folder`, asked about the items of `study`."""

    def __init__(
        self,
        name: str,
        folder: Path,
        study: Study,
        *,
        device: str | None = None,
        result_cache: ResultCache | None = None,
    ) -> None:
        self.name, self._folder = name, folder
        self._model, weights = opened(folder, device)
        card = self._model.card
        settings = {"model": card.name, "backbone": card.backbone_name}
        self.signature = Signature(method=f"trained-{card.kind}", data=weights, settings=settings)
        prompts = {prompt.id: prompt for prompt in study.nouns("prompts")}
        self._prompts = {item.id: prompts.get(item.prompt or "") for item in study.nouns("items")}
        self._kept = result_cache or ResultCache()
        self._broken, self._sha = cache(_broken_reason), cache(_sha)

    def reply(self, conversations: Iterable[Conversation]) -> Iterator[tuple[int, Reply | NoReply]]:
        """(index, answer), some at a time."""
        rest = enumerate(conversations)
        while part := list(islice(rest, _QUESTIONS_AT_ONCE)):
            failed = {index: why for index, conversation in part if (why := self._failed(conversation)) is not None}
            yield from failed.items()
            yield from self._answers([pair for pair in part if pair[0] not in failed])

    def _answers(self, part: Sequence[tuple[int, Conversation]]) -> Iterator[tuple[int, Reply]]:
        question_lists = [
            [self._asked(conversation, criterion) for criterion in conversation.about] for _, conversation in part
        ]
        logits_by_question = self._logits([question for some in question_lists for question in some])
        for (index, conversation), questions in zip(part, question_lists):
            logits = [logits_by_question[question] for question in questions]
            yield (
                index,
                _reply(conversation, [logit for logit, _ in logits], stored=all(stored for _, stored in logits)),
            )

    def _asked(self, conversation: Conversation, criterion: str) -> _PairQuestion:
        if len(conversation.sights) != 2 or not conversation.options:
            raise BadValue(
                "a trained model compares two pictures",
                found="a question about one picture",
                remedy="--protocol compare; salon score STUDY --model gives the numbers of single pictures",
            )
        entry = known_criterion(self._model.card, criterion, where=str(self._folder))
        first, second = (self._prompts[sight.item] for sight in conversation.sights)
        text = first.view(entry.view) if first is not None and first == second else ""
        return _PairQuestion(conversation.sights[0].path, conversation.sights[1].path, text, entry.id)

    def _logits(self, questions: Sequence[_PairQuestion]) -> dict[_PairQuestion, tuple[float, bool]]:
        """The log-odds of the first picture, and whether they were known from an earlier run."""
        keys = {question: self._key(question) for question in questions}
        there = self._kept.many(set(keys.values()))
        logits_by_question = {question: (float(there[key]), True) for question, key in keys.items() if key in there}
        for criterion in dict.fromkeys(question.criterion for question in keys):
            fresh = [
                question for question in keys if question.criterion == criterion and question not in logits_by_question
            ]
            if fresh:
                first, second, texts, _ = zip(*fresh)
                logits = pair_logits(self._model, first, second, texts, criterion)
                logits_by_question |= {
                    question: (float(logit), False) for question, logit in zip(fresh, logits, strict=True)
                }
                self._kept.keep({keys[question]: float(x) for question, x in zip(fresh, logits) if np.isfinite(x)})
        return logits_by_question

    def _key(self, question: _PairQuestion) -> str:
        identity = json.dumps(
            [self._sha(question.first), self._sha(question.second), question.text, question.criterion]
        )
        return f"{self.signature}|pair|{hashlib.sha256(identity.encode('utf-8', 'surrogatepass')).hexdigest()}"

    def _failed(self, conversation: Conversation) -> NoReply | None:
        why = next((why for sight in conversation.sights if (why := self._broken(sight.path)) is not None), None)
        return None if why is None else NoReply(kind="broken-image", reason=why)


def _reply(conversation: Conversation, logits: Sequence[float], *, stored: bool) -> Reply:
    tie = "TIE" if "TIE" in conversation.options else "A"
    verdicts = [tie if logit == 0 else "A" if logit > 0 else "B" for logit in logits]
    if len(conversation.about) > 1:
        return Reply(
            text=json.dumps(dict(zip(conversation.about, verdicts, strict=True))), model="trained", stored=stored
        )
    chances = {"A": -float(np.logaddexp(0, -logits[0])), "B": -float(np.logaddexp(0, logits[0]))}
    return Reply(text=json.dumps({"verdict": verdicts[0]}), chances=chances, model="trained", stored=stored)


def _broken_reason(path: Path) -> str | None:
    try:
        read_picture(path)
    except BadFile as error:
        return f"{error.needed}: {error.found}"
    return None


def _sha(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
