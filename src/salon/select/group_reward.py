"""A reward for a group of pictures of one prompt, from a judge that compares two of them.

    reward = group_reward("openai:qwen@http://localhost:8000/v1")      any judge: a word, a JudgeSpec or a Vlm
    reward(pictures, "a fox in the snow")                              [1.9, -0.4, None, ...]
    reward.judged(pictures, "a fox in the snow")                       with errors, calls and reasons

Every pair is asked in both orders. Where the orders agree, one picture has won; where they do not, the pair is a tie:
a judge's liking for one position makes ties and no winners. Davidson's model, with a normal prior on the scores, is
fitted to the outcomes of the group (`salon.stats.fit_pairs`). Scores are in logits with mean 0 within the group; they
say nothing about other groups. Errors are those of the inverse information: they hold if pairs are independent given
the scores.

`pairs` limits how many of the n (n - 1) / 2 pairs are asked. The first ones form a ring through all pictures in random
order. The next are chosen in rounds by what their answers are expected to add to the order (`order_gains`), each pair
at most once, since a judge at temperature 0 repeats itself. The choice hangs on the pictures, the prompt and the seed,
not on the order of the pictures in the group.

A pair with an order that could not be read, or got no reply, does not count. A picture that is linked to most of the
group by no chain of counted pairs has no score: None, with the reason. Where all pairs are ties, Davidson's tie
parameter has no finite estimate; the scores are then those of Bradley-Terry with ties as half wins.
"""

from __future__ import annotations

import hashlib
import math
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from salon.calls import Budget, CallStore
from salon.errors import BadFile, BadValue
from salon.judge import (
    JudgeQuestion,
    JudgeSettings,
    JudgeSpec,
    Messages,
    Templates,
    VerdictReader,
    Vlm,
    choose_paraphrase,
    endpoint_vlm,
    open_judge,
    wordings,
)
from salon.models import cache_file
from salon.select.reward_source import RewardBatch, Text, each_picture, picture_item, text_prompt
from salon.select.rewards import Missing, check_missing, fill_missing
from salon.stats import (
    PairCounts,
    connectivity,
    count_pairs,
    expected_posterior,
    fit_pairs,
    hessian_errors,
    order_gains,
    pair_posterior,
)
from salon.store import read_picture
from salon.study import Criterion, Item, Prompt, Signature, Study, builtin_criterion

Design = Literal["active", "random"]
JudgeSource = str | JudgeSpec | Vlm
DEFAULT_CRITERION = "hps/overall"
_FEWEST_PER_ROUND = 2
"""Pairs that are asked at once at least: endpoints answer many questions at a time."""


@dataclass(frozen=True)
class GroupScores:
    """Scores of one group; every list has one entry for each picture."""

    scores: list[float | None]
    """In logits, mean 0 within the group."""
    errors: list[float | None]
    """Standard errors of the scores."""
    reasons: list[str | None]
    """Why a picture has no score."""
    calls: int
    """Questions asked, two for each pair."""
    pairs: int
    """Pairs asked."""
    unread: int
    """Pairs that do not count, because an order could not be read or got no reply."""
    ties: int
    """Pairs of which the two orders said different things, or which the judge called equal."""
    tie_parameter: float | None
    """Davidson's nu; None where it has no estimate."""

    @property
    def missing(self) -> int:
        """Pictures without a score."""
        return sum(score is None for score in self.scores)


class GroupReward:
    """One judge, one criterion; called with the pictures of one prompt."""

    def __init__(
        self,
        judge: JudgeSource,
        *,
        criterion: str | Criterion = DEFAULT_CRITERION,
        pairs: int | None = None,
        design: Design = "active",
        settings: JudgeSettings | None = None,
        prior: float = 3.0,
        seed: int = 0,
        name: str = "salon",
    ) -> None:
        if pairs is not None and pairs < 1:
            raise BadValue("at least one pair is needed", found=pairs)
        self.criterion = criterion if isinstance(criterion, Criterion) else builtin_criterion(criterion)
        if not wordings(self.criterion) or not (self.criterion.rubric or "").strip():
            raise BadValue("a judge needs the question and the rubric of the criterion", found=self.criterion.id)
        self.judge = JudgeSpec(model=judge) if isinstance(judge, str) else judge
        self.settings = (settings or JudgeSettings()).model_copy(update={"protocol": "compare", "samples": 1})
        if self.settings.together:
            raise BadValue("a group is compared under one criterion", found="together")
        self.pairs, self.design, self.prior, self.seed = pairs, design, prior, seed
        self.name = self.__name__ = name
        self.calls = 0
        """Questions asked since this reward was made."""
        self._budget = Budget(self.judge.budget) if isinstance(self.judge, JudgeSpec) else None

    def __call__(self, pictures: Any, prompt: Text = None) -> list[float | None]:
        """One score for each picture of one prompt, None where there is none."""
        return self.judged(pictures, prompt).scores

    def judged(self, pictures: Any, prompt: Text = None) -> GroupScores:
        """Scores with their errors, what was asked, and why a picture has none."""
        picture_list = each_picture(pictures)
        scores: list[float | None] = [None] * len(picture_list)
        errors: list[float | None] = [None] * len(picture_list)
        reasons: list[str | None] = [None] * len(picture_list)
        with tempfile.TemporaryDirectory(prefix="salon-") as folder:
            digests: dict[int, tuple[str, Path]] = {}
            for number, picture in enumerate(picture_list):
                entry = _opened(picture, Path(folder) / str(number), number)
                if isinstance(entry, str):
                    reasons[number] = entry
                else:
                    digests[number] = entry
            places = sorted(digests, key=lambda number: (digests[number][0], number))
            if len(places) < 2:
                for number in places:
                    reasons[number] = "the group has no other picture to compare it with"
                return GroupScores(scores, errors, reasons, 0, 0, 0, 0, None)
            asked = self._asked([digests[number] for number in places], prompt, Path(folder))
        numbers, spread, why, tie = _fitted(asked, self.prior)
        for rank, number in enumerate(places):
            scores[number], errors[number], reasons[number] = numbers[rank], spread[rank], why[rank]
        unread = sum(outcome is None for _, outcome in asked.outcomes)
        ties = sum(outcome == "tie" for _, outcome in asked.outcomes)
        pairs = len(asked.outcomes)
        self.calls += 2 * pairs
        return GroupScores(scores, errors, reasons, 2 * pairs, pairs, unread, ties, tie)

    @property
    def signature(self) -> Signature:
        """What would have to be equal for the same scores."""
        if isinstance(self.judge, JudgeSpec):
            judge = hashlib.sha256(self.judge.model_dump_json(exclude={"calls"}).encode()).hexdigest()[:12]
        else:
            judge = str(self.judge.signature)
        settings: dict[str, Any] = {
            "judge": judge,
            "criterion": self.criterion.id,
            "pairs": self.pairs,
            "design": self.design,
            "prior": self.prior,
            "template": Templates.builtin().hash,
        }
        return Signature(method="group-reward", settings=settings, seed=self.seed)

    def _asked(self, pictures: Sequence[tuple[str, Path]], prompt: Text, folder: Path) -> _Comparisons:
        """What the judge says of the pairs that are chosen; pictures are in the order of their hashes."""
        text = text_prompt(prompt) if isinstance(prompt, str) else prompt
        # A plain text has no parts: all of it is shown, whatever parts the criterion names.
        criterion = self.criterion.model_copy(update={"view": ()}) if isinstance(prompt, str) else self.criterion
        items = [Item(id=f"{n:04d}", image=str(path), prompt=text and text.id) for n, (_, path) in enumerate(pictures)]
        study = Study.build("group", [criterion], tables={"prompts": [] if text is None else [text], "items": items})
        comparisons = _Comparisons(
            study, folder, self.settings, criterion, text, tuple(digest for digest, _ in pictures)
        )
        identity = " ".join([str(self.seed), text.id if text else "", *comparisons.digests])
        rng = np.random.default_rng(int.from_bytes(hashlib.sha256(identity.encode()).digest()[:8], "big"))
        with self._opened_judge(study, folder) as vlm:
            for batch in _rounds(comparisons, self.pairs, self.design, self.prior, rng):
                comparisons.ask(vlm, batch)
        return comparisons

    @contextmanager
    def _opened_judge(self, study: Study, folder: Path) -> Iterator[Vlm]:
        if not isinstance(self.judge, JudgeSpec):
            yield self.judge
        elif self.judge.model is None:
            with open_judge(self.judge, study, folder) as vlm:
                yield vlm
        else:
            calls = self.judge.calls or cache_file().with_name("calls.sqlite")
            calls.parent.mkdir(parents=True, exist_ok=True)
            with CallStore(calls) as store, endpoint_vlm(self.judge, self.judge.model, store, self._budget) as vlm:
                yield vlm


def group_reward(judge: JudgeSource, **settings: Any) -> GroupReward:
    """A reward for groups. `GroupReward` has the settings: criterion, pairs, design, settings, prior, seed, name."""
    return GroupReward(judge, **settings)


def _opened(picture: Any, place: Path, number: int) -> tuple[str, Path] | str:
    """Hash and file of a picture, or why it cannot be shown."""
    entry = picture_item(picture, place, number)
    if isinstance(entry, str):
        return entry
    path = Path(entry.image or "").absolute()
    try:
        return read_picture(path).sha256, path
    except BadFile as error:
        return f"the picture cannot be read: {error.found}"


# -- asking ------------------------------------------------------------------------------------------------------------

Outcome = Literal["a", "b", "tie"]


class _Comparisons:
    """The pairs of one group that were asked so far, by the pictures' numbers, and what was said."""

    def __init__(
        self,
        study: Study,
        folder: Path,
        settings: JudgeSettings,
        criterion: Criterion,
        prompt: Prompt | None,
        digests: tuple[str, ...],
    ) -> None:
        self.digests = digests
        self.outcomes: list[tuple[tuple[int, int], Outcome | None]] = []
        self._messages = Messages(study, folder, settings, Templates.builtin())
        self._reader = VerdictReader(study, settings, "judge")
        self._criterion, self._prompt = criterion, prompt

    @property
    def size(self) -> int:
        """Pictures in the group."""
        return len(self.digests)

    def ask(self, vlm: Vlm, pairs: Sequence[tuple[int, int]]) -> None:
        """Ask about pairs, each in both orders."""
        questions = [self._question(a, b, left) for a, b in pairs for left in ("a", "b")]
        answers: list[Outcome | None] = [None] * len(questions)
        for index, reply in vlm.reply(map(self._messages.conversation, questions)):
            [verdict] = self._reader.verdicts(questions[index], reply)
            answers[index] = None if verdict.outcome == "both_bad" else verdict.outcome  # it is never offered
        for number, pair in enumerate(pairs):
            self.outcomes.append((pair, _both_orders(*answers[2 * number : 2 * number + 2])))

    def counts(self) -> PairCounts | None:
        """The pairs that count; None where none does."""
        rows = [(a, b, ("a", "b", "tie").index(outcome)) for (a, b), outcome in self.outcomes if outcome is not None]
        if not rows:
            return None
        a, b, outcome = np.array(rows, np.int64).T
        return count_pairs(a, b, outcome, self.size)

    def _question(self, a: int, b: int, left: Literal["a", "b"]) -> JudgeQuestion:
        prompt = None if self._prompt is None else self._prompt.id
        wording = choose_paraphrase(len(wordings(self._criterion)), prompt, self.digests[a], self.digests[b])
        return JudgeQuestion(
            protocol="compare", criteria=(self._criterion.id,), prompt=prompt, a=f"{a:04d}", b=f"{b:04d}", left=left,
            paraphrase=wording,
        )  # fmt: skip


def _both_orders(first: Outcome | None, second: Outcome | None) -> Outcome | None:
    """What both orders say, a tie where they disagree, None where one could not be read."""
    if first is None or second is None:
        return None
    return first if first == second else "tie"


def _rounds(
    comparisons: _Comparisons, limit: int | None, design: Design, prior: float, rng: np.random.Generator
) -> Iterator[list[tuple[int, int]]]:
    """The pairs to ask next, a round at a time; each follows from the answers so far."""
    n = comparisons.size
    every = [(a, b) for a in range(n) for b in range(a + 1, n)]
    limit = len(every) if limit is None else min(limit, len(every))
    if limit == len(every):
        yield every
        return
    order = rng.permutation(n).tolist()
    ring = [tuple(sorted(pair)) for pair in zip(order, order[1:] + order[:1])]
    first: list[tuple[int, int]] = list(dict.fromkeys((a, b) for a, b in ring))[:limit]
    yield first
    asked = set(first)
    if design == "random":
        rest = [pair for pair in every if pair not in asked]
        chosen = rng.permutation(len(rest))[: limit - len(asked)]
        if len(chosen):
            yield [rest[number] for number in sorted(chosen.tolist())]
        return
    while len(asked) < limit:
        batch = _most_telling(comparisons, asked, min(max(_FEWEST_PER_ROUND, n // 2), limit - len(asked)), prior, rng)
        asked |= set(batch)
        yield batch


def _most_telling(
    comparisons: _Comparisons, asked: set[tuple[int, int]], size: int, prior: float, rng: np.random.Generator
) -> list[tuple[int, int]]:
    """The pairs, not asked yet, whose answers are expected to add most to the order; those chosen count as answered."""
    counts = comparisons.counts()
    if counts is None:  # nothing could be read so far
        rest = [pair for pair in _upper(comparisons.size) if pair not in asked]
        return [rest[number] for number in rng.permutation(len(rest))[:size].tolist()]
    posterior = pair_posterior(counts, prior=prior)
    taken = set(asked)
    batch: list[tuple[int, int]] = []
    for _ in range(size):
        gains = np.round(order_gains(posterior), 12) + 1e-13 * rng.random((comparisons.size, comparisons.size))
        pair = max((pair for pair in _upper(comparisons.size) if pair not in taken), key=lambda pair: gains[pair])
        posterior = expected_posterior(posterior, np.array([pair], np.int64))
        taken.add(pair)
        batch.append(pair)
    return batch


def _upper(n: int) -> Iterator[tuple[int, int]]:
    return ((a, b) for a in range(n) for b in range(a + 1, n))


# -- the fit -----------------------------------------------------------------------------------------------------------

_NO_PAIR = "no comparison of the picture could be read"
_ISLAND = "no chain of comparisons links the picture to most of the group"


def _fitted(
    comparisons: _Comparisons, prior: float
) -> tuple[list[float | None], list[float | None], list[str | None], float | None]:
    """Scores, errors and reasons by picture, and the tie parameter."""
    n = comparisons.size
    scores: list[float | None] = [None] * n
    errors: list[float | None] = [None] * n
    reasons: list[str | None] = [_NO_PAIR] * n
    rows = [(pair, outcome) for pair, outcome in comparisons.outcomes if outcome is not None]
    if not rows:
        return scores, errors, reasons, None
    labels = np.asarray(connectivity(n, [pair for pair, _ in rows], paths=False).labels)
    sizes = np.bincount(labels)
    largest = int(sizes.argmax())
    members = np.flatnonzero(labels == largest).tolist()
    for number in np.flatnonzero((labels != largest) & (sizes[labels] > 1)).tolist():
        reasons[number] = _ISLAND
    if 2 * len(members) <= n and len(members) < n:
        for number in members:
            reasons[number] = _ISLAND
        return scores, errors, reasons, None
    rank = {number: place for place, number in enumerate(members)}
    inside = [(rank[a], rank[b], ("a", "b", "tie").index(outcome)) for (a, b), outcome in rows if a in rank]
    a, b, outcomes = np.array(inside, np.int64).T
    counts = count_pairs(a, b, outcomes, len(members))
    only_ties = bool((outcomes == 2).all())
    fit = fit_pairs(counts, "bradley-terry" if only_ties else "davidson", prior=prior)
    spread = hessian_errors(fit, counts).se
    for number, place in rank.items():
        scores[number], errors[number], reasons[number] = float(fit.scores[place]), float(spread[place]), None
    return scores, errors, reasons, None if only_ties else fit.tie


# -- Flow-Factory ------------------------------------------------------------------------------------------------------
#
#     # my_package/taste.py, named in the configuration as reward_model: my_package.taste.Taste
#     Taste = flow_factory_group_reward(group_reward("openai:..."), GroupwiseRewardModel, RewardModelOutput)
#
# Flow-Factory makes one object of the class with config and accelerator and calls it once for each group, with prompt=
# and image=, lists as long as the group. Read in X-GenGroup/Flow-Factory, src/flow_factory/rewards/abc.py at a0b2bc5.


def flow_factory_group_reward(reward: GroupReward, base: type, output: type, *, missing: Missing = "raise") -> type:
    """The class; `base` and `output` are Flow-Factory's GroupwiseRewardModel and RewardModelOutput."""
    check_missing(missing)

    class FlowFactoryGroupReward(base):  # type: ignore[misc]  # a class of a library that is not here
        """A reward of Salon for one group, as Flow-Factory calls it."""

        required_fields = ("image", "prompt")
        use_tensor_inputs = False

        def __init__(self, config: Any, accelerator: Any) -> None:
            super().__init__(config, accelerator)

        def __call__(
            self,
            prompt: list[str],
            image: list[Any] | None = None,
            video: Any = None,
            audio: Any = None,
            condition_images: Any = None,
            condition_videos: Any = None,
            **kwargs: Any,
        ) -> Any:
            if image is None:
                raise BadValue("pictures are needed", found="none", where="image that Flow-Factory gives")
            if len(set(prompt)) != 1 or len(prompt) != len(image):
                raise BadValue(
                    "a group has one prompt and as many pictures as prompts",
                    found=f"{len(set(prompt))} prompts, {len(prompt)} texts and {len(image)} pictures",
                    where="what Flow-Factory gives",
                )
            group = reward.judged(image, prompt[0])
            batch = RewardBatch(group.scores, {}, {}, group.reasons)
            return output(
                rewards=fill_missing(batch, missing, where=f"reward {reward.name!r}"),
                extra_info={
                    "error": [math.nan if error is None else error for error in group.errors],
                    "calls": group.calls, "ties": group.ties, "unread": group.unread, "without": group.missing,
                },
            )  # fmt: skip

    FlowFactoryGroupReward.__name__ = FlowFactoryGroupReward.__qualname__ = reward.name
    return FlowFactoryGroupReward
