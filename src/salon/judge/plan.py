"""What a run will ask, with everything that can be wrong found before anything is spent."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from salon.errors import BadFile, BadValue
from salon.judge.messages import Messages, Templates, seen_views
from salon.judge.protocol import (
    JudgeQuestion,
    JudgeSettings,
    Pair,
    check_scale,
    checklist_questions,
    every_order_and_sample,
    pair_questions,
    point_questions,
    ticked_points,
    wordings,
)
from salon.judge.vlm import Conversation
from salon.store import is_inside, read_picture
from salon.study import Criterion, Point, Setting, Signature, Study

Step = Callable[[str], None]
BYTES_PER_TOKEN = 4
"""Of English text, about."""


@dataclass(frozen=True)
class RunEstimate:
    """A run in figures, before it."""

    calls: int
    pictures: int
    """Sent, each as often as it is shown."""
    text_tokens: int
    """Read, without pictures, at four bytes a token."""
    answer_tokens: int
    """Written, if every answer is as long as allowed."""


@dataclass(frozen=True)
class JudgePlan:
    """The questions of one run, in the order they are asked and written."""

    study: Study
    folder: Path
    settings: JudgeSettings
    templates: Templates
    criteria: tuple[str, ...]
    questions: tuple[JudgeQuestion, ...]
    messages: Messages
    points: tuple[Point, ...] = ()
    """Points of a checklist, with their rules."""

    def conversations(self) -> Iterator[Conversation]:
        """What the VLM gets, one for each question, made when asked for."""
        return (self.messages.conversation(question) for question in self.questions)

    @cached_property
    def notes(self) -> list[str]:
        """What a reader of the verdicts should know about the questions."""
        unasked = [
            criterion.id for criterion in self.study.criteria if criterion.is_flag and criterion.id not in self.criteria
        ]
        flags = [
            f"{id} is a flag: no pair is compared by it (--criterion {id} does; --protocol rate asks for the flag)"
            for id in unasked
            if self.settings.protocol == "compare" and not self.settings.criterion
        ]
        if self.settings.cohort is not None:
            return flags
        torn = [id for id in self.criteria if len(seen_views(self.study, id)) > 1]
        sentence = (
            "people saw different parts of the prompt; the judge got what the criterion names (--cohort: another)"
        )
        return [*flags, *(f"{id}: {sentence}" for id in torn)]

    @cached_property
    def items(self) -> list[str]:
        """Every item that is shown."""
        return sorted({item for question in self.questions for item in question.items})

    @cached_property
    def _asked(self) -> str:
        """How many questions, and a hash of which."""
        digest = hashlib.sha256()
        for question in self.questions:
            digest.update(question.model_dump_json().encode("utf-8", "surrogatepass"))
            digest.update((self.messages.point_text(question) if question.point else "").encode())
        return f"{len(self.questions)}-{digest.hexdigest()[:8]}"

    def signature(self, vlm: Signature) -> Signature:
        """What would have to be equal for the same verdicts."""
        settings: dict[str, Setting] = {
            name: "+".join(value) or None if isinstance(value, tuple) else value
            for name, value in self.settings.model_dump().items()
            if value != JudgeSettings.model_fields[name].default
        }
        settings |= {"template": f"{self.templates.version}-{self.templates.hash}", "asked": self._asked}
        return Signature(
            method=f"judge-{self.settings.protocol}[{vlm}]",
            data=self.study.hash[:12],
            revision=self.study.revision,
            settings=settings,
        )

    def size(self) -> str:
        """How the number of calls comes about: 40 pairs x 2 orders x 10 criteria = 800 calls."""
        first = self.questions[0]
        subjects = len({(question.prompt, question.a, question.b) for question in self.questions})
        factors = [f"{subjects:,} {'items' if first.b is None else 'pairs'}"]
        factors += [] if first.b is None else ["2 orders"]
        if first.point is not None:
            factors.append(f"{len({question.point for question in self.questions}):,} points")
        elif len(self.criteria) > 1 and not self.settings.together:
            factors.append(f"{len(self.criteria):,} criteria")
        factors += [f"{self.settings.samples:,} samples"] if self.settings.samples > 1 else []
        counts = [int(factor.split()[0].replace(",", "")) for factor in factors]
        total = f"{len(self.questions):,} calls"
        return f"{' x '.join(factors)} = {total}" if math.prod(counts) == len(self.questions) else total

    def estimate(self) -> RunEstimate:
        """Calls and tokens; nothing is sent."""
        calls = pictures = size = 0
        for conversation in self.conversations():
            texts = [part for part in (conversation.system, *conversation.parts) if isinstance(part, str)]
            calls += 1
            pictures += len(conversation.sights)
            size += sum(len(text.encode()) for text in texts)
        return RunEstimate(calls, pictures, -(-size // BYTES_PER_TOKEN), calls * self.settings.decoding.max_tokens)


def plan_run(
    study: Study,
    folder: Path | str,
    settings: JudgeSettings,
    *,
    templates: Templates | None = None,
    pairs: Sequence[Pair] | None = None,
    points: Sequence[Point] = (),
    looks: bool = True,
    step: Step | None = None,
) -> JudgePlan:
    """Every question of a run, checked: criteria have what it takes, prompts their parts, items pictures that decode.

    `pairs` are compared instead of those the settings name. `points` are asked instead of those people ticked.
    `looks=False` is for what neither reads nor looks, a simulation or a script: no rubric and no picture is needed.
    `step` is called with every item whose picture is looked at.
    """
    texts = templates or Templates.builtin()
    criteria = _criteria(study, settings, looks=looks)
    points = points or (ticked_points(study) if settings.protocol == "checklist" else ())
    if settings.protocol == "compare":
        questions = pair_questions(study, criteria, settings, pairs)
    elif settings.protocol == "rate":
        questions = point_questions(study, criteria, settings)
    else:
        questions = checklist_questions(study, criteria, settings, points)
    if not questions:
        remedies = {
            "compare": "people judged no pair here: compare all pairs with --pairs all, or give a file of pairs",
            "rate": "the study has no items",
            "checklist": "nobody ticked a checklist here: give points with --points FILE",
        }
        raise BadValue(
            "at least one question is needed",
            found="none",
            where=f"study {study.name!r}",
            remedy=remedies[settings.protocol],
        )
    messages = Messages(study, Path(folder), settings, texts, points=points)
    for question in {(sample.prompt, sample.criteria): sample for sample in questions}.values():
        messages.shown_prompt(question)  # a prompt without the parts of its view is found now
    all_questions = tuple(
        sample for question in questions for sample in every_order_and_sample(question, settings.samples)
    )
    plan = JudgePlan(study, Path(folder), settings, texts, criteria, all_questions, messages, tuple(points))
    if looks:
        check_pictures(plan, step or (lambda _: None))
    return plan


def _criteria(study: Study, settings: JudgeSettings, *, looks: bool) -> tuple[str, ...]:
    """Ids of the criteria that are asked about: those named, or all; no pair is compared by a flag unless named."""
    chosen = [study.criterion(id) for id in settings.criterion] or list(study.criteria)
    if settings.protocol == "compare" and not settings.criterion:
        chosen = [study.criteria[number] for number in study.ranking_criteria()]
        if not chosen:
            raise BadValue(
                "a criterion that orders items is needed",
                found="flags alone: " + ", ".join(flag.id for flag in study.criteria),
                remedy="name one with --criterion, or ask for flags with --protocol rate",
            )
    for criterion in chosen:
        if looks:
            _check_criterion(criterion, settings)
        if settings.protocol == "rate":
            check_scale(criterion)
    if settings.together and len(chosen) < 2:
        raise BadValue("asking together needs at least two criteria", found=len(chosen), remedy="leave --together out")
    return tuple(criterion.id for criterion in chosen)


def _check_criterion(criterion: Criterion, settings: JudgeSettings) -> None:
    """A judge that is not told what to look at answers another question."""
    lacks = []
    if settings.protocol != "checklist" and not (criterion.rubric or "").strip():
        lacks.append("rubric")
    if settings.protocol == "compare" and not settings.together and not wordings(criterion):
        lacks.append("question")
    if settings.protocol == "rate" and not settings.together and not criterion.rate_question:
        lacks.append("rate_question")
    if lacks:
        raise BadValue(
            f"a judge needs the {' and the '.join(lacks)} of {criterion.id!r}",
            found="a criterion without",
            remedy="write it under the criterion in study.toml, or judge others with --criterion",
        )


def check_pictures(plan: JudgePlan, step: Step) -> None:
    """Every picture is there, inside the study's folder, and decodes; BadFile names the first that is not."""
    with ThreadPoolExecutor() as threads:  # decoders leave the interpreter free
        for item, _ in zip(plan.items, threads.map(lambda item: _check_picture(plan, item), plan.items)):
            step(item)


def _check_picture(plan: JudgePlan, item: str) -> None:
    path = plan.messages.picture(item)
    if not plan.messages.has_picture(item) or not is_inside(path, plan.folder):
        raise BadFile(
            "a judge needs a picture of every item, inside the study's folder",
            found="an item without one" if not plan.messages.has_picture(item) else str(path),
            where=f"item {item!r}",
            remedy="add its image to items, or judge other pairs",
        )
    read_picture(path, where=f"{path}, item {item!r}")
