"""A VLM behind an endpoint as a scorer: one question for each picture, by a template (`salon.judge.chat_template`).

Every picture is a request of its own, asked through the call store: what was bought is never bought again, and the
scores of one template share their answers. Budget, retries and limits are those of judges. An answer that cannot be
read gives no number but a reason, and so does a question that the server left open; the latter is asked again by the
next run. `check` ends a run in which too many answers cannot be read.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from weakref import WeakValueDictionary

from salon.calls import Budget, CallStore
from salon.errors import shorten
from salon.judge.chat_template import ChatName, ChatTemplate, read_chat_template
from salon.judge.model_scorers import RaterSettings
from salon.judge.native_protocols import read_fields
from salon.judge.openai_chat import Forecast
from salon.judge.registry import JudgeSpec, check_budget, endpoint_vlm
from salon.judge.scorers.one_pass import NO_REPLY, UNREAD_ANSWER
from salon.judge.scoring import MissingScore, PictureScore, PictureScorer, ScoreResult, ScorerInput
from salon.judge.verdicts import TooManyUnread
from salon.judge.vlm import Conversation, NoReply, Reply, Sight
from salon.models import cache_file
from salon.study import Item, Prompt, Setting, Signature

_LASTING = ("refused", "too-long", "broken-image")
"""Fates of a question that asking again does not change."""
_QUOTED = 200
"""Characters of an answer that are quoted."""
_BUDGETS: WeakValueDictionary[str, Budget] = WeakValueDictionary()
"""The scores of one template, and all templates at one endpoint on the same terms, share a budget."""


class ChatScorer(PictureScorer):
    """One score of a template, as the VLM at an endpoint gives it."""

    is_endpoint = True

    def __init__(self, name: ChatName, settings: RaterSettings, *, batch: int = 8) -> None:
        self.template: ChatTemplate = read_chat_template(name.file)
        self._score = self.template.score(name.score, where=name.file)
        self._spec = JudgeSpec(
            model=name.endpoint, key_env=settings.key_env, allow_http=settings.allow_http, pixels=settings.pixels,
            concurrency=settings.concurrency, per_minute=settings.per_minute, prices=settings.prices,
            budget=settings.budget, field=settings.field,
        )  # fmt: skip
        self.title, self._settings, self._unread = name.title, settings, ""
        self._calls = settings.calls or cache_file().with_name("calls.sqlite")
        terms = f"{self._spec.endpoint} {self._spec.model} {settings.prices} {settings.budget}"
        self._budget = _BUDGETS.setdefault(terms, Budget(settings.budget))
        several = len(self.template.scores) > 1
        super().__init__(
            f"{name.title}@{self._score.id}" if several else name.title,
            self.template.card(self._score, f"{self._spec.model}, asked by {Path(name.file).name}"),
            self._signature(),
            self._measured,
            batch=max(batch, 2 * settings.concurrency),
        )

    def key(self, item: Item, prompt: Prompt | None) -> str | None:
        """None: answers are kept by the call store alone."""
        return None

    def check(self, gaps: Mapping[str, int], completed: int, total: int) -> None:
        """Raise TooManyUnread where more answers cannot be read than are allowed, or none can."""
        unread = Counter({reason: count for reason, count in gaps.items() if reason.startswith(UNREAD_ANSWER)})
        none = completed == total and unread.total() == total
        if not none and unread.total() <= self._settings.most_unread * total:
            return
        reasons = ", ".join(
            f"{count:,} {reason.removeprefix(UNREAD_ANSWER)[2:]}" for reason, count in unread.most_common()
        )
        raise TooManyUnread(
            f"at most {self._settings.most_unread:.0%} of the {total:,} answers of {self.name} may be unreadable, and "
            "not all; the run was stopped and nothing of it was written",
            found=f"{unread.total():,} unreadable ({reasons}), the first: {shorten(repr(self._unread), _QUOTED)}",
            where=f"template {self.title}, score {self._score.id}",
            remedy="change the template's question or pattern, raise its max_tokens, or allow more gaps with "
            "--most-unread",
        )

    def forecast(self, items: Iterable[tuple[Item, Prompt | None]]) -> Forecast:
        """What a run may cost, before anything is sent; BadValue where the budget is not enough for one question."""
        conversations = [
            self._conversation("", Path(item.image or ""), prompt.view(self.card.view) if prompt is not None else "")
            for item, prompt in items
        ]
        self._calls.parent.mkdir(parents=True, exist_ok=True)
        with CallStore(self._calls) as store, endpoint_vlm(self._spec, self._spec.model or "", store) as vlm:
            cast = vlm.forecast(conversations)
        check_budget(self._spec.budget, cast.cost, cast.questions - cast.stored)
        return cast

    def forecast_words(self, items: Iterable[tuple[Item, Prompt | None]]) -> str:
        """The same in a line."""
        cast = self.forecast(items)
        cost = "cost not known without --prices" if cast.cost is None else f"at most {cast.cost:.4f}"
        return f"{self.title}: {cast.questions:,} calls, {cast.stored:,} answered already, {cost}"

    def _measured(self, inputs: Sequence[ScorerInput]) -> list[ScoreResult]:
        results: list[ScoreResult] = [MissingScore(f"{NO_REPLY}: not reached")] * len(inputs)
        self._calls.parent.mkdir(parents=True, exist_ok=True)
        with (
            _as_files(inputs) as paths,
            CallStore(self._calls) as store,
            endpoint_vlm(self._spec, self._spec.model or "", store, self._budget) as vlm,
        ):
            questions = [self._conversation(picture.sha256, path, picture.text) for picture, path in zip(inputs, paths)]
            for index, reply in vlm.reply(questions):
                results[index] = self._result(reply)
        return results

    def _result(self, reply: Reply | NoReply) -> ScoreResult:
        if isinstance(reply, NoReply):
            lasts = reply.kind in _LASTING
            return MissingScore(f"{reply.kind}: {reply.reason}" if lasts else f"{NO_REPLY}: {reply.reason}")
        number = self.template.read(reply, self._score)
        if isinstance(number, str):
            self._unread = self._unread or reply.text
            return MissingScore(f"{UNREAD_ANSWER}: {number}")
        return PictureScore(number)

    def _conversation(self, item: str, path: Path, prompt: str) -> Conversation:
        return self.template.conversation(Sight(item=item, path=path), prompt)

    def _signature(self) -> Signature:
        settings: dict[str, Setting] = {
            "template": self.template.hash,
            "score": self._score.id,
            "api": self._spec.api,
            "model": self._spec.model,
            "base_url": self._spec.endpoint,
            "pixels": self._spec.pixels,
        }
        fields = {f"fields.{name}": str(value) for name, value in read_fields(self._spec.field).items()}
        return Signature(method="chat-scorer", settings=settings | fields)


@contextmanager
def _as_files(inputs: Sequence[ScorerInput]) -> Iterator[list[Path]]:
    """Where each picture is; one that came over HTTP becomes a file for as long as it is asked about."""
    if all(picture.path.is_file() for picture in inputs):
        yield [picture.path for picture in inputs]
        return
    with tempfile.TemporaryDirectory(prefix="salon-") as folder:
        paths = []
        for number, picture in enumerate(inputs):
            path = picture.path
            if not path.is_file():
                path = Path(folder) / f"{number}.png"
                picture.image.save(path, compress_level=1)
            paths.append(path)
        yield paths
