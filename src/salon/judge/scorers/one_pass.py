"""One-pass scorers: a VLM that gives all criteria of a picture in one greedy answer, one scorer for each criterion.

Answers about the last pictures are remembered, so the second criterion costs nothing. The VLM is in memory once, and
leaves with the last scorer made of it. An answer that cannot be read, or leaves its scale, gives no number but a
reason.

An untrained VLM gets the same question. A folder is asked in this process. An endpoint is asked through the call store:
what was bought is never bought again, unreadable answers included. A run is refused, and nothing of it written, where
too many answers cannot be read, where none can, and where the server left a question open.
"""

from __future__ import annotations

import hashlib
import threading
from collections import Counter, OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from weakref import WeakValueDictionary

from salon.calls import Budget, CallsStopped, CallStore
from salon.errors import BadFile, BadValue, shorten
from salon.judge.model_scorers import (
    MARK,
    UNTRAINED,
    OnePass,
    OnePassAnswer,
    RaterName,
    RaterSettings,
    known_criterion,
    scores_name,
)
from salon.judge.openai_chat import Forecast
from salon.judge.registry import JudgeSpec, check_budget, endpoint_vlm
from salon.judge.scoring import MissingScore, PictureScore, PictureScorer, ScoreResult, ScorerInput
from salon.judge.verdicts import TooManyUnread
from salon.judge.vlm import Conversation, Decoding, NoReply, Sight
from salon.models import (
    ONE_PASS_CARD,
    ContextTooLong,
    LoadedVlm,
    cache_file,
    fingerprint,
    greedy_answers,
    model_fingerprint,
    read_one_pass_card,
)
from salon.store import fit_within
from salon.study import Criterion, Item, Prompt, ScorerCard, Setting, Signature

UNREAD_ANSWER = "the answer gives no score"
NO_REPLY = "no reply"
"""How the problem of a question begins that a server left open."""
_MOST_ANSWERS = 1 << 16
"""Answers remembered, some 30 MB: a service that runs for a year is asked about more pictures than memory holds."""
_IN_MEMORY: WeakValueDictionary[tuple[Path, str | None, str], OnePassModel] = WeakValueDictionary()


def one_pass_scorer(
    folder: Path, criterion: str | None = None, *, device: str | None = None, batch: int = 8
) -> PictureScorer:
    """The scorer that the model in `folder` is for `criterion`, which may be left out where it knows only one."""
    reader = open_one_pass(folder, device)
    entry = known_criterion(reader.card, criterion, where=str(folder))
    place = reader.form.ids.index(entry.id)

    def look(inputs: Sequence[ScorerInput]) -> list[ScoreResult]:
        return [result_of(answer, place) for answer in reader.answers(inputs)]

    signature = Signature(
        method="one-pass", data=reader.weights, settings={"model": reader.card.name, "criterion": entry.id}
    )
    source = (
        "simulated answers" if reader.card.simulated else f"the answers of {reader.card.labels.get('judge') or 'a VLM'}"
    )
    one_pass_card = ScorerCard(
        reads="image and prompt" if reader.card.show_prompt else "image",
        higher_is_better=entry.higher_is_better,
        low=reader.card.labels.get("low"),
        high=reader.card.labels.get("high"),
        source=str(reader.card.signature),
        measures=f"{entry.name}, distilled from {source} about {reader.card.study}.",
        criterion=entry.id,
    )
    return PictureScorer(scores_name(reader.card, entry.id), one_pass_card, signature, look, batch=batch)


class OnePassAnswers:
    """What a VLM said to one question about pictures, remembered."""

    def __init__(self, form: OnePass, *, show_prompt: bool) -> None:
        self.form, self.show_prompt = form, show_prompt
        self.passes = 0
        """Pictures that were looked at."""
        self.unread = ""
        """The first answer that could not be read, to be quoted."""
        self._known: OrderedDict[bytes, OnePassAnswer] = OrderedDict()
        self._turn = threading.Lock()  # two models of a service may share one VLM, each on a thread of its own

    def answers(self, inputs: Sequence[ScorerInput]) -> list[OnePassAnswer]:
        """What it says of pictures; each is looked at once under one question."""
        keys = [self._key(picture) for picture in inputs]
        with self._turn:
            answers = {key: self._known[key] for key in keys if key in self._known}
            fresh = {key: picture for key, picture in zip(keys, inputs) if key not in answers}
            if fresh:
                replies = self._said(list(fresh.values()))
                answers |= {key: self._read(text) for key, text in zip(fresh, replies)}
                self.passes += len(fresh)
            self._remember(answers)
        return [answers[key] for key in keys]

    def _said(self, inputs: Sequence[ScorerInput]) -> list[str | OnePassAnswer]:
        """The text about each picture, or why there is none."""
        raise NotImplementedError

    def _read(self, reply: str | OnePassAnswer) -> OnePassAnswer:
        if isinstance(reply, OnePassAnswer):
            return reply
        read = self.form.read(reply)
        self.unread = self.unread or ("" if read.scores else reply)
        return read

    def _remember(self, answers: dict[bytes, OnePassAnswer]) -> None:
        """What was asked for now is the last to be forgotten."""
        for key, answer in answers.items():
            if not (answer.problem or "").startswith(NO_REPLY):  # asked again when it is wanted again
                self._known[key] = answer
                self._known.move_to_end(key)
        while len(self._known) > _MOST_ANSWERS:
            self._known.popitem(last=False)

    def question(self, picture: ScorerInput) -> str:
        """The text that goes with a picture."""
        return self.form.question(picture.text if self.show_prompt else None)

    def _key(self, picture: ScorerInput) -> bytes:
        return hashlib.sha256(f"{picture.sha256} {self.question(picture)}".encode()).digest()


class FolderAnswers(OnePassAnswers):
    """Those of a VLM in this process, greedy."""

    def __init__(
        self, folder: Path, device: str | None, form: OnePass, *, show_prompt: bool, pixels: int, max_tokens: int
    ) -> None:
        super().__init__(form, show_prompt=show_prompt)
        self.pixels, self.max_tokens = pixels, max_tokens
        self._folder, self._device = folder, device or "auto"

    @cached_property
    def vlm(self) -> LoadedVlm:
        """Loaded when the first picture comes, so that several are in memory one after the other."""
        return LoadedVlm(self._folder, device=self._device)

    def _said(self, inputs: Sequence[ScorerInput]) -> list[str | OnePassAnswer]:
        questions = [(fit_within(picture.image, self.pixels), self.question(picture)) for picture in inputs]
        try:
            return list(
                greedy_answers(
                    self.vlm, len(questions), lambda n: questions[n], max_tokens=self.max_tokens, batch=len(questions)
                )
            )
        except ContextTooLong as error:
            left = [number for number in range(len(inputs)) if number not in error.rows]
            replies: list[str | OnePassAnswer] = [OnePassAnswer(None, "too long")] * len(inputs)
            for number, text in zip(left, self._said([inputs[number] for number in left]) if left else []):
                replies[number] = text
            return replies


class OnePassModel(FolderAnswers):
    """A loaded one-pass scorer, asked as its card says."""

    def __init__(self, folder: Path, device: str | None, weights: str) -> None:
        card = read_one_pass_card(folder)
        self.card, self.weights = card, weights
        form = OnePass.parse(card.asked, where=str(folder / ONE_PASS_CARD))
        super().__init__(
            folder, device, form, show_prompt=card.show_prompt, pixels=card.pixels, max_tokens=card.max_tokens
        )


def open_one_pass(folder: Path, device: str | None = None) -> OnePassModel:
    """The scorer in a folder; all its criteria share it."""
    read_one_pass_card(folder)  # says what is wrong with a folder that holds none
    return _open_one_pass(folder.resolve(), device, model_fingerprint(folder))


@lru_cache(maxsize=1)  # the last one stays, for whoever makes a scorer, uses it and makes the next
def _open_one_pass(folder: Path, device: str | None, weights: str) -> OnePassModel:
    key = folder, device, weights
    model = _IN_MEMORY.get(key)
    if model is None:
        model = _IN_MEMORY[key] = OnePassModel(folder, device, weights)
    return model


def result_of(answer: OnePassAnswer, place: int) -> ScoreResult:
    """The score under the criterion at `place`, or why there is none."""
    if answer.scores is None:
        return MissingScore(f"{UNREAD_ANSWER}: {answer.problem}")
    return PictureScore(answer.scores[place])


# -- untrained VLMs ----------------------------------------------------------------------------------------------------

_LASTING = ("refused", "too-long", "broken-image")
"""Fates of a question that asking again does not change."""
_QUOTED = 200
"""Characters of an answer that are quoted."""


_ENDPOINTS: WeakValueDictionary[tuple[str, str, OnePass], EndpointAnswers] = WeakValueDictionary()


class UnansweredQuestions(CallsStopped):
    """The server left questions without a reply."""

    exit_code = 1


class RaterScorer(PictureScorer):
    """The scorer that an untrained VLM is for one criterion."""

    def __init__(self, rater: RaterName, settings: RaterSettings, answers: OnePassAnswers, criterion: Criterion,
                 signature: Signature, *, batch: int) -> None:  # fmt: skip
        place = answers.form.ids.index(criterion.id)
        several = len(answers.form.ids) > 1
        name = f"{rater.title}{MARK}{criterion.id}" if several else rater.title
        scale = criterion.scale
        assert scale is not None  # the form saw to it
        rater_card = ScorerCard(
            reads="image and prompt" if settings.show_prompt else "image",
            higher_is_better=scale.higher_is_better,
            low=scale.low,
            high=scale.high,
            source=rater.title,
            measures=f"{criterion.title}, as an untrained VLM says in one pass.",
            criterion=criterion.id,
        )
        super().__init__(
            "".join("-" if letter in "/\\:\0" else letter for letter in name), rater_card,
            signature, lambda inputs: _rater_results(answers, inputs, place), batch=batch,
        )  # fmt: skip
        self.title = rater.title
        self._answers, self._settings = answers, settings

    def check(self, gaps: Mapping[str, int], completed: int, total: int) -> None:
        """Raise where more answers cannot be read than are allowed, or none can, or some are missing at the end."""
        unread = Counter({reason: count for reason, count in gaps.items() if reason.startswith(UNREAD_ANSWER)})
        none = completed == total and unread.total() == total
        if unread.total() > self._settings.most_unread * total or none:
            raise self._too_many(unread, total)
        open_ = {reason: count for reason, count in gaps.items() if reason.startswith(NO_REPLY)}
        if completed == total and open_:
            raise UnansweredQuestions(
                "a reply about every picture is needed; nothing of this run was written",
                found=f"{sum(open_.values()):,} of {total:,} without; the first: {next(iter(open_))}",
                where=self.name,
                remedy="run the same command again: answers that came are kept, only the others are asked for",
            )

    def key(self, item: Item, prompt: Prompt | None) -> str | None:
        """As for any scorer in this process; an endpoint's answers are kept by its call store alone."""
        return None if self.is_endpoint else super().key(item, prompt)

    def forecast(self, items: Iterable[tuple[Item, Prompt | None]]) -> Forecast | None:
        """What a run may cost at an endpoint, before anything is sent; None for a VLM in this process."""
        if not isinstance(self._answers, EndpointAnswers):
            return None
        return self._answers.forecast(self._sight(*pair) for pair in items)

    def forecast_words(self, items: Iterable[tuple[Item, Prompt | None]]) -> str:
        """The same in a line; empty for a VLM in this process."""
        cast = self.forecast(items)
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

    def _too_many(self, unread: Counter[str], total: int) -> TooManyUnread:
        reasons = ", ".join(
            f"{count:,} {reason.removeprefix(UNREAD_ANSWER)[2:]}" for reason, count in unread.most_common()
        )
        return TooManyUnread(
            f"at most {self._settings.most_unread:.0%} of the {total:,} answers of {self.name} may be unreadable, and "
            "not all; the run was stopped and nothing of it was written",
            found=f"{unread.total():,} unreadable ({reasons}), the first: "
            f"{shorten(repr(self._answers.unread), _QUOTED)}",
            where="expected <answer>, one JSON object with a number of the scale for "
            f"{', '.join(self._answers.form.ids)}, </answer>",
            remedy="ask for longer answers with --max-tokens, without thoughts with --no-think, or allow more "
            "gaps with --most-unread; a VLM that cannot keep the form needs salon distill train --format-steps",
        )


def untrained_scorer(
    rater: RaterName, settings: RaterSettings, *, device: str | None = None, batch: int = 8
) -> RaterScorer:
    """The scorer that `rater` is for its criterion, which may be left out where only one is asked about."""
    weights = None if rater.is_endpoint else vlm_fingerprint(Path(rater.source))
    form = settings.form(rater.criterion)
    criteria = {criterion.id: criterion for criterion in form.criteria}
    chosen = rater.criterion or (form.ids[0] if len(criteria) == 1 else None)
    if chosen not in criteria:
        raise BadValue(
            f"a criterion that {rater.title!r} is asked about is needed",
            found="none named" if chosen is None else repr(chosen),
            remedy="one of " + ", ".join(criteria),
        )
    answers: OnePassAnswers
    if weights is None:
        answers = _open_endpoint(rater.source, form, settings)
        batch = max(batch, 2 * settings.concurrency)
    else:
        answers = _open_folder(Path(rater.source).resolve(), device, weights, settings.model_dump_json(), form)
    fields: dict[str, Setting] = {
        "model": rater.source.removeprefix("openai:") if rater.is_endpoint else rater.title,
        "criterion": chosen,
        "question": form.hash,
        "max_tokens": settings.max_tokens,
        "pixels": settings.pixels,
        "show_prompt": settings.show_prompt,
    }
    if settings.field:
        fields["fields"] = " ".join(settings.field)
    signature = Signature(method=UNTRAINED, data=weights, settings=fields)
    return RaterScorer(rater, settings, answers, criteria[chosen], signature, batch=batch)


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


class EndpointAnswers(OnePassAnswers):
    """Those of a VLM at an endpoint, greedy, each bought once."""

    def __init__(self, spec: JudgeSpec, form: OnePass, settings: RaterSettings) -> None:
        super().__init__(form, show_prompt=settings.show_prompt)
        self.named, self.budget = spec, Budget(spec.budget)
        self._decoding = Decoding(max_tokens=settings.max_tokens)
        self._calls = settings.calls or cache_file().with_name("calls.sqlite")

    def forecast(self, questions: Iterable[tuple[Path, str]]) -> Forecast:
        """What is to be bought; nothing is sent. BadValue where the budget is not enough for one question."""
        self._calls.parent.mkdir(parents=True, exist_ok=True)
        with CallStore(self._calls) as store, endpoint_vlm(self.named, self.named.model or "", store) as vlm:
            cast = vlm.forecast(self._conversation("", path, question) for path, question in questions)
        check_budget(self.named.budget, cast.cost, cast.questions - cast.stored)
        return cast

    def _said(self, inputs: Sequence[ScorerInput]) -> list[str | OnePassAnswer]:
        questions = [self._conversation(picture.sha256, picture.path, self.question(picture)) for picture in inputs]
        replies: list[str | OnePassAnswer] = [OnePassAnswer(None, f"{NO_REPLY}: forgotten")] * len(questions)
        self._calls.parent.mkdir(parents=True, exist_ok=True)
        with (
            CallStore(self._calls) as store,
            endpoint_vlm(self.named, self.named.model or "", store, self.budget) as vlm,
        ):
            for index, reply in vlm.reply(questions):
                if isinstance(reply, NoReply):
                    lasts = reply.kind in _LASTING
                    problem = reply.kind if lasts else f"{NO_REPLY}: {reply.kind}, {reply.reason}"
                    replies[index] = OnePassAnswer(None, problem)
                else:
                    replies[index] = reply.text
        return replies

    def _conversation(self, item: str, path: Path, question: str) -> Conversation:
        return Conversation(parts=(Sight(item=item, path=path), question), decoding=self._decoding, about=self.form.ids)


def _open_endpoint(source: str, form: OnePass, settings: RaterSettings) -> EndpointAnswers:
    """The criteria of one run share answers and budget."""
    terms = source, settings.model_dump_json(), form
    answers = _ENDPOINTS.get(terms)
    if answers is None:
        spec = JudgeSpec(
            model=source, key_env=settings.key_env, allow_http=settings.allow_http, pixels=settings.pixels,
            most_tokens=0, concurrency=settings.concurrency, per_minute=settings.per_minute, prices=settings.prices,
            budget=settings.budget, field=settings.field,
        )  # fmt: skip
        answers = _ENDPOINTS[terms] = EndpointAnswers(spec, form, settings)
    return answers


@lru_cache(maxsize=1)  # as for trained ones: the last VLM stays in memory
def _open_folder(folder: Path, device: str | None, weights: str, terms: str, form: OnePass) -> FolderAnswers:
    settings = RaterSettings.model_validate_json(terms)
    return FolderAnswers(
        folder, device, form, show_prompt=settings.show_prompt, pixels=settings.pixels, max_tokens=settings.max_tokens
    )


def _rater_results(answers: OnePassAnswers, inputs: Sequence[ScorerInput], place: int) -> list[ScoreResult]:
    results: list[ScoreResult] = []
    for answer in answers.answers(inputs):
        open_ = (answer.problem or "").startswith(NO_REPLY)
        results.append(MissingScore(str(answer.problem)) if open_ else result_of(answer, place))
    return results
