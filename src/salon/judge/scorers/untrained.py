"""An untrained VLM as a scorer: one for each criterion, all of them from one greedy answer to a one-pass question.

A folder is asked in this process; its numbers are kept as those of any scorer. An endpoint is asked through the call
store: what was bought is never bought again, an answer that could not be read among it. A run is refused, and nothing
of it written, where too many answers cannot be read, where none can, and where the server left a question open.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from weakref import WeakValueDictionary

from salon.calls.budget import Budget
from salon.calls.errors import CallsStopped
from salon.calls.store import CallStore
from salon.errors import BadFile, BadValue, shorten
from salon.judge.named import Named, check_budget, endpoint_vlm
from salon.judge.one_pass import OnePass, OnePassAnswer
from salon.judge.openai_chat import Forecast
from salon.judge.scorers.of_model import MARK
from salon.judge.scorers.one_pass import NO_REPLY, UNREAD, Answers, FolderAnswers, result_of
from salon.judge.scorers.picture import PictureScorer, Result, Shown, Unscored
from salon.judge.unread import TooManyUnread
from salon.judge.untrained import UNTRAINED, RaterName, RaterSettings
from salon.judge.vlm import Conversation, Decoding, NoReply, Sight
from salon.models.kept import kept_file
from salon.models.weights import fingerprint
from salon.study import Item, Prompt
from salon.study.criterion import Criterion
from salon.study.scorer import ScorerCard
from salon.study.signature import Setting, Signature

_LASTING = ("refused", "too-long", "broken-image")
"""Fates of a question that asking again does not change."""
_QUOTED = 200
"""Characters of an answer that are quoted."""


_ENDPOINTS: WeakValueDictionary[tuple[str, str, OnePass], EndpointAnswers] = WeakValueDictionary()


class OpenQuestions(CallsStopped):
    """The server left questions without a reply."""

    exit_code = 1


class RaterScorer(PictureScorer):
    """The scorer that an untrained VLM is for one criterion."""

    def __init__(self, rater: RaterName, settings: RaterSettings, answers: Answers, criterion: Criterion,
                 signature: Signature, *, batch: int) -> None:  # fmt: skip
        place = answers.form.ids.index(criterion.id)
        several = len(answers.form.ids) > 1
        name = f"{rater.title}{MARK}{criterion.id}" if several else rater.title
        super().__init__(
            "".join("-" if letter in "/\\:\0" else letter for letter in name), _card(rater, settings, criterion),
            signature, lambda shown: _results(answers, shown, place), batch=batch,
        )  # fmt: skip
        self.title = rater.title
        self._answers, self._settings = answers, settings

    def check(self, gaps: Mapping[str, int], done: int, wanted: int) -> None:
        """Raise where more answers cannot be read than are allowed, or none can, or some are missing at the end."""
        unread = Counter({reason: count for reason, count in gaps.items() if reason.startswith(UNREAD)})
        none = done == wanted and unread.total() == wanted
        if unread.total() > self._settings.most_unread * wanted or none:
            raise self._too_many(unread, wanted)
        open_ = {reason: count for reason, count in gaps.items() if reason.startswith(NO_REPLY)}
        if done == wanted and open_:
            raise OpenQuestions(
                "a reply about every picture is needed; nothing of this run was written",
                found=f"{sum(open_.values()):,} of {wanted:,} without; the first: {next(iter(open_))}",
                where=self.name,
                remedy="run the same command again: answers that came are kept, only the others are asked for",
            )

    def key(self, item: Item, prompt: Prompt | None) -> str | None:
        """As for any scorer in this process; an endpoint's answers are kept by its call store alone."""
        return None if self.is_endpoint else super().key(item, prompt)

    def forecast(self, asked: Iterable[tuple[Item, Prompt | None]]) -> Forecast | None:
        """What a run may cost at an endpoint, before anything is sent; None for a VLM in this process."""
        if not isinstance(self._answers, EndpointAnswers):
            return None
        return self._answers.forecast(self._sight(*one) for one in asked)

    def forecast_words(self, asked: Iterable[tuple[Item, Prompt | None]]) -> str:
        """The same in a line; empty for a VLM in this process."""
        cast = self.forecast(asked)
        if cast is None:
            return ""
        cost = "cost not known without --prices" if cast.cost is None else f"at most {cast.cost:.4f}"
        return f"{self.title}: {cast.questions:,} calls, {cast.stored:,} answered already, {cost}"

    @property
    def is_endpoint(self) -> bool:
        """Whether a server is asked."""
        return isinstance(self._answers, EndpointAnswers)

    def _sight(self, item: Item, prompt: Prompt | None) -> tuple[Path, str]:
        text = prompt.view(self.card.view) if prompt is not None and self.card.reads != "image" else None
        return Path(item.image or ""), self._answers.form.question(text)

    def _too_many(self, unread: Counter[str], wanted: int) -> TooManyUnread:
        reasons = ", ".join(f"{count:,} {reason.removeprefix(UNREAD)[2:]}" for reason, count in unread.most_common())
        return TooManyUnread(
            f"at most {self._settings.most_unread:.0%} of the {wanted:,} answers of {self.name} may be unreadable, and "
            "not all; the run was stopped and nothing of it was written",
            found=f"{unread.total():,} unreadable ({reasons}), the first: "
            f"{shorten(repr(self._answers.unread), _QUOTED)}",
            where="expected <answer>, one JSON object with a number of the scale for "
            f"{', '.join(self._answers.form.ids)}, </answer>",
            remedy="ask for longer answers with --max-tokens, without thoughts with --no-think, or put up with more "
            "gaps with --most-unread; a VLM that cannot keep the form needs salon distill train --format-steps",
        )


def untrained_scorer(
    rater: RaterName, settings: RaterSettings, *, device: str | None = None, batch: int = 8
) -> RaterScorer:
    """The scorer that `rater` is for its criterion, which may be left out where only one is asked about."""
    weights = None if rater.is_endpoint else vlm_fingerprint(Path(rater.source))
    form = settings.form(rater.criterion)
    known = {one.id: one for one in form.criteria}
    chosen = rater.criterion or (form.ids[0] if len(known) == 1 else None)
    if chosen not in known:
        raise BadValue(
            f"a criterion that {rater.title!r} is asked about is needed",
            found="none named" if chosen is None else repr(chosen),
            remedy="one of " + ", ".join(known),
        )
    answers: Answers
    if weights is None:
        answers = _endpoint(rater.source, form, settings)
        batch = max(batch, 2 * settings.concurrency)
    else:
        answers = _opened(Path(rater.source).resolve(), device, weights, settings.model_dump_json(), form)
    signature = _signature(rater, settings, form, chosen, weights)
    return RaterScorer(rater, settings, answers, known[chosen], signature, batch=batch)


def vlm_fingerprint(folder: Path) -> str:
    """Of a VLM's folder, as the card of a scorer trained from it names it; BadFile where it holds no VLM."""
    if not (folder / "config.json").is_file():
        names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
        raise BadFile(
            "the folder of a VLM, or of a one-pass scorer, is needed",
            found=", ".join(names[:8]) + (" ..." if len(names) > 8 else "") or "an empty folder",
            where=str(folder),
            remedy="name the folder that save_pretrained wrote (config.json, weights, processor), or one that "
            "salon distill train made",
        )
    return fingerprint(folder) or ""


# -- an endpoint -------------------------------------------------------------------------------------------------------


class EndpointAnswers(Answers):
    """Those of a VLM at an endpoint, greedy, each bought once."""

    def __init__(self, named: Named, form: OnePass, settings: RaterSettings) -> None:
        super().__init__(form, show_prompt=settings.show_prompt)
        self.named, self.budget = named, Budget(named.budget)
        self._decoding = Decoding(max_tokens=settings.max_tokens)
        self._calls = settings.calls or kept_file().with_name("calls.sqlite")

    def forecast(self, asked: Iterable[tuple[Path, str]]) -> Forecast:
        """What is to be bought; nothing is sent. BadValue where the budget is not enough for one question."""
        self._calls.parent.mkdir(parents=True, exist_ok=True)
        with CallStore(self._calls) as store, endpoint_vlm(self.named, self.named.model or "", store) as vlm:
            cast = vlm.forecast(self._conversation("", path, question) for path, question in asked)
        check_budget(self.named.budget, cast.cost, cast.questions - cast.stored)
        return cast

    def _said(self, shown: Sequence[Shown]) -> list[str | OnePassAnswer]:
        asked = [self._conversation(one.sha256, one.path, self.question(one)) for one in shown]
        told: list[str | OnePassAnswer] = [OnePassAnswer(None, f"{NO_REPLY}: forgotten")] * len(asked)
        self._calls.parent.mkdir(parents=True, exist_ok=True)
        with (
            CallStore(self._calls) as store,
            endpoint_vlm(self.named, self.named.model or "", store, self.budget) as vlm,
        ):
            for index, reply in vlm.reply(asked):
                told[index] = _no_answer(reply) if isinstance(reply, NoReply) else reply.text
        return told

    def _conversation(self, item: str, path: Path, question: str) -> Conversation:
        return Conversation(parts=(Sight(item=item, path=path), question), decoding=self._decoding, about=self.form.ids)


def _endpoint(source: str, form: OnePass, settings: RaterSettings) -> EndpointAnswers:
    """The criteria of one run share answers and budget."""
    terms = source, settings.model_dump_json(), form
    answers = _ENDPOINTS.get(terms)
    if answers is None:
        named = Named(
            model=source, key_env=settings.key_env, allow_http=settings.allow_http, pixels=settings.pixels,
            most_tokens=0, concurrency=settings.concurrency, per_minute=settings.per_minute, prices=settings.prices,
            budget=settings.budget,
        )  # fmt: skip
        answers = _ENDPOINTS[terms] = EndpointAnswers(named, form, settings)
    return answers


def _no_answer(reply: NoReply) -> OnePassAnswer:
    if reply.kind in _LASTING:
        return OnePassAnswer(None, reply.kind)
    return OnePassAnswer(None, f"{NO_REPLY}: {reply.kind}, {reply.reason}")


# -- parts -------------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1)  # as for trained ones: the last VLM stays in memory
def _opened(folder: Path, device: str | None, weights: str, terms: str, form: OnePass) -> FolderAnswers:
    settings = RaterSettings.model_validate_json(terms)
    return FolderAnswers(
        folder, device, form, show_prompt=settings.show_prompt, pixels=settings.pixels, max_tokens=settings.max_tokens
    )


def _results(answers: Answers, shown: Sequence[Shown], place: int) -> list[Result]:
    made: list[Result] = []
    for answer in answers.answers(shown):
        open_ = (answer.problem or "").startswith(NO_REPLY)
        made.append(Unscored(str(answer.problem)) if open_ else result_of(answer, place))
    return made


def _card(rater: RaterName, settings: RaterSettings, criterion: Criterion) -> ScorerCard:
    scale = criterion.scale
    assert scale is not None  # the form saw to it
    return ScorerCard(
        reads="image and prompt" if settings.show_prompt else "image",
        higher_is_better=scale.higher_is_better,
        low=scale.low,
        high=scale.high,
        source=rater.title,
        measures=f"{criterion.title}, as an untrained VLM says in one pass.",
        criterion=criterion.id,
    )


def _signature(
    rater: RaterName, settings: RaterSettings, form: OnePass, criterion: str, weights: str | None
) -> Signature:
    told: dict[str, Setting] = {
        "model": rater.source.removeprefix("openai:") if rater.is_endpoint else rater.title,
        "criterion": criterion,
        "question": form.hash,
        "max_tokens": settings.max_tokens,
        "pixels": settings.pixels,
        "show_prompt": settings.show_prompt,
    }
    return Signature(method=UNTRAINED, data=weights, settings=told)
