"""Run a judge: ask every question of a plan, read the replies, write STUDY/judges/NAME whole.

The folder is made from the replies alone, in the order of the questions. A run that is killed leaves the folder as it
was; run again, it finds its answers in the call store, each with the time it was given, and writes the same bytes.

`verdicts.parquet` keeps every order and sample. The tables beside it hold what `salon check` and `salon fuse` count: a
pair is won where both orders agree, a tie where they do not, and skipped where one could not be read.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

from pydantic import Field

from salon.errors import BadValue, InputError
from salon.judge.folder import JudgeRecord, judge_folder, read_record, write_judge
from salon.judge.messages import Templates
from salon.judge.plan import JudgePlan, Step, plan_run
from salon.judge.protocol import (
    JudgeSettings,
    JudgeVerdict,
    Pair,
    both_orders,
    majority_outcome,
    mean_value,
    rated_criterion,
)
from salon.judge.verdicts import UnreadCount, UnreadLimits, VerdictReader, VlmWithStore, expects_unread
from salon.judge.vlm import NoReply, Reply, Vlm, VlmWithContextLimit
from salon.store import written_inside
from salon.study import Checklist, Comparison, Design, Judgment, Noun, Point, Rater, Rating, Study, majority_of_samples

_TABLES = {"compare": "comparisons", "rate": "ratings", "checklist": "checklists"}


def build_judged_study(plan: JudgePlan, judge: str, verdicts: Sequence[JudgeVerdict], *, simulated: bool) -> Study:
    """The study that holds one judge's judgments of the items of `plan`."""
    protocol = plan.settings.protocol
    complete = protocol != "compare" or (plan.settings.pairs == "all" and plan.settings.limit is None)
    criteria = [plan.study.criterion(id) for id in plan.criteria]
    return Study.build(
        f"{plan.study.name}, judged by {judge}",
        [rated_criterion(criterion) for criterion in criteria] if protocol == "rate" else criteria,
        compare_within=plan.study.compare_within,
        design=Design(kind="complete" if complete else "unknown"),
        simulated=simulated,
        tables={
            "prompts": plan.study.table("prompts"),
            "items": plan.study.table("items"),
            "raters": [Rater(id=judge, kind="model")],
            _TABLES[protocol]: list(judgments(verdicts)),
        },
    )


def judgments(verdicts: Iterable[JudgeVerdict]) -> Iterator[Judgment]:
    """One judgment for each pair, item or checklist and criterion."""
    ordered = sorted(verdicts, key=_about)
    for (criterion, a, b), group in groupby(ordered, key=_about):
        same_question = list(group)
        about = {"criterion": criterion, "rater": same_question[0].judge}
        is_broken = any(verdict.failed == "broken-image" for verdict in same_question)
        skipped = "broken image" if is_broken else "cannot judge"
        if same_question[0].protocol == "compare":
            first, second = (
                majority_outcome([verdict.outcome for verdict in same_question if verdict.left == left])
                for left in ("a", "b")
            )
            outcome = both_orders(first, second)
            yield Comparison(**about, a=a, b=b, outcome=outcome, skipped=skipped if outcome is None else None)
        elif same_question[0].protocol == "rate":
            value = mean_value([verdict.value for verdict in same_question])
            yield Rating(**about, item=a, value=value, skipped=skipped if value is None else None)
        else:
            samples: dict[str, list[float | None]] = {}
            for verdict in same_question:
                samples.setdefault(verdict.point or "", []).append(verdict.value)
            points = tuple(sorted(samples))
            answers = tuple(majority_of_samples(samples[point]) for point in points)
            yield Checklist(**about, item=a, points=points, answers=answers)


def _about(verdict: JudgeVerdict) -> tuple[str, str, str]:
    return verdict.criterion, verdict.a, verdict.b or ""


# -- the run -----------------------------------------------------------------------------------------------------------

SHORTER = "show smaller pictures with --pixels, ask for shorter answers with --max-tokens, or shorten the prompt"


@dataclass(frozen=True)
class JudgeProgress:
    """How far a run has come; given to its callback after every reply."""

    wanted: int
    done: int = 0
    stored: int = 0
    """Answered without asking: they were in the store."""
    unparsed: int = 0
    failed: int = 0
    cost: float | None = None
    """Of the replies bought in this run."""
    notes: tuple[str, ...] = ()
    """What was found out before the first question was asked."""


JudgeCallback = Callable[[JudgeProgress], None]


class JudgeRun(Noun):
    """What a run did, and what is in the judge's folder after it."""

    format: Literal["salon-judge-run-1"] = Field("salon-judge-run-1", description="Name and version of this shape.")
    judge: str = Field(description="Name of the judge.")
    folder: str = Field(description="Where its answers are.")
    signature: str = Field(description="What would have to be equal for the same verdicts.")
    criteria: tuple[str, ...] = Field(description="Ids of the criteria.")
    questions: int = Field(description="Calls, both orders and all samples counted.")
    verdicts: int = Field(description="One for each call and criterion.")
    unparsed: int = Field(description="Verdicts that could not be read, replies that never came among them.")
    reasons: dict[str, int] = Field(description="Unparsed verdicts by reason.")
    failed: dict[str, int] = Field(description="Calls without a reply, by kind; the next run asks them again.")
    stored: int = Field(description="Replies that were known already and cost nothing in this run.")
    cost: float | None = Field(description="Of all replies in the folder, by the price list; null without a price.")
    tokens_in: int | None = Field(description="Tokens read for all replies in the folder; null where not told.")
    tokens_out: int | None = Field(description="Tokens written.")
    models: tuple[str, ...] = Field(description="What the servers called the model that answered.")
    seconds: float = Field(description="How long this run took.")
    notes: tuple[str, ...] = Field(description="What else should be known.")


@runtime_checkable
class VlmWithNotes(Protocol):
    """A VLM with something to say at the end: answers that moved, a model that changed its name."""

    def notes(self) -> list[str]:
        """Sentences for the report."""
        ...


def judge_study(
    study: Study,
    folder: Path | str,
    vlm: Vlm,
    settings: JudgeSettings,
    progress: JudgeCallback | None = None,
    *,
    overwrite: bool = False,
    unread: UnreadLimits | None = None,
    templates: Templates | None = None,
    pairs: Sequence[Pair] | None = None,
    points: Sequence[Point] = (),
    looks: bool = True,
    step: Step | None = None,
) -> JudgeRun:
    """Ask `vlm` about the study in `folder` and write STUDY/judges/NAME; the last five go to `plan_run`.

    A folder that the same judge left with other settings is only replaced with `overwrite`. TooManyUnread when more
    answers cannot be read than `unread` allows; the folder is then as it was.
    """
    plan = plan_run(study, folder, settings, templates=templates, pairs=pairs, points=points, looks=looks, step=step)
    return run_plan(plan, vlm, progress, overwrite=overwrite, unread=unread)


def run_plan(
    plan: JudgePlan,
    vlm: Vlm,
    progress: JudgeCallback | None = None,
    *,
    overwrite: bool = False,
    unread: UnreadLimits | None = None,
) -> JudgeRun:
    """As `judge_study`, for a plan that was made and checked before."""
    started = time.monotonic()
    target = judge_folder(plan.folder, vlm.name)
    check_may_replace(plan, vlm, overwrite=overwrite)
    foreseen = too_long_notes(plan, vlm)
    limits = unread or UnreadLimits()
    results, again = _ask_all(plan, vlm, progress or (lambda _: None), foreseen, limits)
    verdicts = [verdict for verdict_list, _ in results for verdict in verdict_list]
    repeated = [f"asked again, because the stored reply could not be read: {again:,}"] if again else []
    notes = (*foreseen, *plan.notes, *repeated, *(vlm.notes() if isinstance(vlm, VlmWithNotes) else ()))
    who, texts = _identity(plan, vlm)
    record = JudgeRecord(
        judge=vlm.name,
        signature=str(plan.signature(vlm.signature)),
        vlm=who,
        study=plan.study.name,
        data=plan.study.hash[:12],
        settings=plan.settings,
        templates=texts,
        questions=len(plan.questions),
        unparsed=sum(verdict.unparsed is not None for verdict in verdicts),
        failed=sum(verdict.failed is not None for verdict in verdicts),
        models=tuple(sorted({verdict.model for verdict in verdicts if verdict.model})),
        simulated=plan.study.simulated or vlm.signature.method.startswith("simulated"),
    )
    judged_study = build_judged_study(plan, vlm.name, verdicts, simulated=record.simulated)
    with written_inside(target):
        check_may_replace(plan, vlm, overwrite=overwrite)  # again: another run may have ended since this one began
        write_judge(target, judged_study, verdicts, record)
    return _run(record, plan, target, verdicts, sum(stored for _, stored in results), time.monotonic() - started, notes)


def readable_by(plan: JudgePlan, vlm: Vlm) -> Callable[[int, Reply | NoReply], bool]:
    """Whether every verdict of a reply, given with the index of its question, can be read."""
    reader = VerdictReader(plan.study, plan.settings, vlm.name)

    def is_readable(index: int, reply: Reply | NoReply) -> bool:
        return all(verdict.unparsed is None for verdict in reader.verdicts(plan.questions[index], reply))

    return is_readable


def too_long_notes(plan: JudgePlan, vlm: Vlm) -> tuple[str, ...]:
    """What to say before a run about questions over the context limit, of a VLM that can tell; BadValue where all are.

    They are asked all the same, get no reply and are counted; a run of nothing else is a mistake.
    """
    problems = list(vlm.too_long(plan.conversations())) if isinstance(vlm, VlmWithContextLimit) else []
    if not problems:
        return ()
    index, reason = problems[0]
    first = plan.questions[index]
    where = f"{' and '.join(first.items)} under {', '.join(first.criteria)}"
    if len(problems) == len(plan.questions):
        raise BadValue("questions must leave room for an answer", found=reason, where=where, remedy=SHORTER)
    count = f"{len(problems):,} of {len(plan.questions):,} questions are over the context limit and will get no reply"
    return (f"{count}; the first is {where}: {reason} ({SHORTER})",)


def _ask_all(
    plan: JudgePlan, vlm: Vlm, watch: JudgeCallback, notes: tuple[str, ...], limits: UnreadLimits
) -> tuple[list[tuple[list[JudgeVerdict], bool]], int]:
    """The verdicts of every question in order, and whether its reply was known already; how many were asked again."""
    reader = VerdictReader(plan.study, plan.settings, vlm.name)
    asked_of = len(plan.criteria) if plan.settings.together else 1
    simulated = expects_unread(vlm.signature.method)
    allowed = UnreadLimits(most_unread=1) if simulated else limits
    count = UnreadCount(vlm.name, plan.settings, asked_of * len(plan.questions), allowed)
    so_far = JudgeProgress(len(plan.questions), notes=notes)
    results: list[tuple[list[JudgeVerdict], bool]] = [([], False)] * len(plan.questions)
    again: set[int] = set()
    watch(so_far)
    for index, reply in _replies_read(plan, vlm, reader, again, keep=limits.keep_unread):
        verdicts = reader.verdicts(plan.questions[index], reply)
        stored = isinstance(reply, Reply) and reply.stored
        results[index] = (verdicts, stored)
        bought = None if stored or isinstance(reply, NoReply) else reply.cost
        so_far = replace(
            so_far,
            done=so_far.done + 1,
            stored=so_far.stored + stored,
            unparsed=so_far.unparsed + sum(verdict.unparsed is not None for verdict in verdicts),
            failed=so_far.failed + isinstance(reply, NoReply),
            cost=so_far.cost if bought is None else (so_far.cost or 0.0) + bought,
        )
        watch(so_far)
        count.add(verdicts)
    return results, len(again)


def _replies_read(
    plan: JudgePlan, vlm: Vlm, reader: VerdictReader, again: set[int], *, keep: bool
) -> Iterator[tuple[int, Reply | NoReply]]:
    """One reply for each question; a stored one that cannot be read is put aside and its question asked again.

    The indices of such questions are added to `again`.
    """
    for index, reply in _replies(plan, vlm, range(len(plan.questions))):
        stored = isinstance(reply, Reply) and reply.stored and isinstance(vlm, VlmWithStore) and not keep
        reasons = [verdict.unparsed for verdict in reader.verdicts(plan.questions[index], reply)] if stored else []
        if any(reasons) and isinstance(vlm, VlmWithStore):
            vlm.put_aside(plan.messages.conversation(plan.questions[index]), f"unread: {next(filter(None, reasons))}")
            again.add(index)
        else:
            yield index, reply
    if again:
        yield from _replies(plan, vlm, sorted(again))


def _replies(plan: JudgePlan, vlm: Vlm, indices: Sequence[int]) -> Iterator[tuple[int, Reply | NoReply]]:
    """Exactly one reply for each of these questions, also from a VLM that forgets one or answers twice."""
    owed = set(indices)
    replies = vlm.reply(plan.messages.conversation(plan.questions[index]) for index in indices)
    try:
        for place, reply in replies:
            index = indices[place] if 0 <= place < len(indices) else -1
            if index in owed:
                owed.discard(index)
                yield index, reply
    finally:
        if isinstance(replies, Generator):  # an interrupted run lets go of its connections at once
            replies.close()
    for index in sorted(owed):
        yield index, NoReply(kind="error", reason=f"{vlm.name} gave no reply")


def check_may_replace(plan: JudgePlan, vlm: Vlm, *, overwrite: bool = False) -> None:
    """The same judge may go on, with more pairs or after failures; another one must not take its place unasked."""
    target = judge_folder(plan.folder, vlm.name)
    if overwrite or not target.exists():
        return
    try:
        before = read_record(target)
    except InputError:
        before = None
    same = before and (before.vlm, before.templates) == _identity(plan, vlm)
    if (
        before
        and same
        and _answer_settings(before.settings) == _answer_settings(plan.settings)
        and before.questions <= len(plan.questions)
    ):
        return
    raise BadValue(
        "a judge's answers are only replaced by the same judge's, asked in the same way",
        found="another model, other settings or texts, or more questions" if before else "a folder no judge wrote",
        where=str(target),
        remedy="give this one a name of its own with --name, or replace the other with --overwrite",
    )


def _identity(plan: JudgePlan, vlm: Vlm) -> tuple[str, str]:
    return str(vlm.signature), f"{plan.templates.version}-{plan.templates.hash}"


def _answer_settings(settings: JudgeSettings) -> JudgeSettings:
    """What decides an answer: neither how many questions are asked nor about which pairs."""
    return settings.model_copy(update={"limit": None, "pairs": "judged"})


def _run(
    record: JudgeRecord,
    plan: JudgePlan,
    target: Path,
    verdicts: Sequence[JudgeVerdict],
    stored: int,
    seconds: float,
    notes: tuple[str, ...],
) -> JudgeRun:
    calls = len(plan.criteria) if plan.settings.together else 1
    failed = Counter(verdict.failed for verdict in verdicts if verdict.failed is not None)
    return JudgeRun(
        judge=record.judge,
        folder=str(target),
        signature=record.signature,
        criteria=plan.criteria,
        questions=record.questions,
        verdicts=len(verdicts),
        unparsed=record.unparsed,
        reasons=dict(Counter(verdict.unparsed for verdict in verdicts if verdict.unparsed is not None).most_common()),
        failed={kind: count // calls for kind, count in failed.most_common()},
        stored=stored,
        cost=_sum(verdict.cost for verdict in verdicts),
        tokens_in=_sum(verdict.tokens_in for verdict in verdicts),
        tokens_out=_sum(verdict.tokens_out for verdict in verdicts),
        models=record.models,
        seconds=round(seconds, 3),
        notes=notes,
    )


def _sum(values: Iterator[Any]) -> Any:
    numbers = [value for value in values if value is not None]
    return sum(numbers) if numbers else None
