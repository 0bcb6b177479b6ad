"""Judges and scorers on the pictures of an entry: who is asked what, and what their answers become.

An answer that was given but cannot be read (a refusal, a text without a verdict, a picture the judge cannot open) is
*unread* and counts as a failure. A question that got no answer because of an outage stays open: the entry is
provisional, and the next run asks again. Answers in the call store are never bought twice.

Judges are named on the command line as ROLE=KIND:NAME.

    pixels=measured:pixels                    rules of points, answered from pixels alone
    layout=measured:layout                    the same from the records of the built-in generators: an oracle
    gpt=openai:gpt-4o                         a model that speaks the OpenAI chat protocol
    qwen=openai:qwen@http://localhost:8000/v1 the same at another server
    qwen=transformers:./Qwen3-VL-8B           a VLM in this process
    eye=scripted:answers.jsonl                answers from a file of JSON lines
    eye=plugin:NAME, eye=python:MODULE:NAME   a judge of another package, or of your own
    eye=simulated:accuracy=0.8                no judge at all: says PASS in this share of all cases, by chance

A role that has the name of a measuring judge needs no --judge. All calls of a run share one budget, and their answers
are kept beside the board.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from salon.bench.axes import require_logits
from salon.bench.entry import ANSWERS, LOGITS, Entry
from salon.bench.settings import JudgeTerms
from salon.bench.suite import Suite
from salon.calls import Budget, CallStore
from salon.errors import BadValue, DesignError, UnknownReference, shorten
from salon.judge import (
    HOW_TO_DECLARE,
    RATES,
    SCORE_COLUMNS,
    SCORES_FOLDER,
    JudgeCallback,
    JudgePlan,
    JudgeRun,
    JudgeSettings,
    JudgeSpec,
    ScriptedVlm,
    SimulatedVlm,
    TableScorer,
    UnreadLimits,
    Vlm,
    endpoint_vlm,
    judge_folder,
    judge_names,
    make_plugin_judge,
    open_judge,
    plan_run,
    read_rates,
    read_record,
    read_scores,
    read_verdicts,
    run_plan,
    score_row,
    score_study,
    scores_file,
    write_scores,
)
from salon.models import ResultCache
from salon.study import (
    Criterion,
    Item,
    Point,
    Scorer,
    ScorerCard,
    Study,
    builtin_criterion,
    majority_of_samples,
    points_for,
)

SETTINGS = JudgeSettings(protocol="checklist")
POINTS_CRITERION = Criterion(
    id="points",
    name="What was asked for",
    rubric="A statement about a thing that is not in the picture is false. Left and right are as the viewer sees them.",
)
"""The criterion of points that belong to none: what every judge is told before the point."""
FINAL_FAILURES = ("refused", "too-long", "broken-image")
"""Kinds of no reply that asking again would not change; all others are outages."""
LAYOUTS = "layouts"
"""Folder of the records that built-in generators leave; the oracle reads them."""
_LONGEST = 400
_WHY = ("why", "reason", "reasoning", "explanation")


@dataclass(frozen=True)
class SuiteJudge:
    """How a judge is opened: for the study in a folder and the points it will be asked, while the block lasts."""

    open: Callable[[Study, Path, Sequence[Point]], AbstractContextManager[Vlm]]
    paid: bool = False
    """Whether its answers are bought: then a plan looks up which of them are in its store."""


def open_for_any_study(vlm: Vlm) -> SuiteJudge:
    """A judge that is open already and asks nothing about the study."""
    return SuiteJudge(lambda study, folder, points: nullcontext(vlm))


# -- who is asked what -------------------------------------------------------------------------------------------------


def suite_roles(suite: Suite) -> dict[str, list[Point]]:
    """Every judge of the suite's routes with the points it answers; last the oracle, with all that have a rule."""
    names = dict.fromkeys(name for route in suite.routes for name in route.judges)
    points_by_judge = {name: points_for(name, suite.points, suite.routes) for name in names}
    if suite.card.oracle is not None:
        points_by_judge.setdefault(suite.card.oracle, [point for point in suite.points if point.rule is not None])
    return {name: points for name, points in points_by_judge.items() if points}


def is_asked(role: str, suite: Suite, folder: Path) -> bool:
    """Whether a role has anything to say about the entry: an oracle needs the records of how pictures were made."""
    return role != suite.card.oracle or (folder / LAYOUTS).is_dir()


def entry_study(suite: Suite, entry: Entry, points: Sequence[Point] = ()) -> Study:
    """An entry's pictures as a study, with the suite's prompts and the criteria of the points."""
    ids = dict.fromkeys(point.criterion or POINTS_CRITERION.id for point in points)
    prompts = [part.prompt for part in suite.prompts]
    items = [
        Item(id=part.item, prompt=part.prompt, generator=entry.name, image=part.image)
        for part in entry.pictures
        if part.image is not None
    ]
    return Study.build(entry.name, [_criterion(id) for id in ids], tables={"prompts": prompts, "items": items})


def _criterion(id: str) -> Criterion:
    if id == POINTS_CRITERION.id:
        return POINTS_CRITERION
    try:
        return builtin_criterion(id)
    except UnknownReference:
        return Criterion(id=id)


def plan_role(study: Study, folder: Path, points: Sequence[Point]) -> JudgePlan | None:
    """Every question to one judge about an entry; None where there is nothing to ask about."""
    prompts = {item.prompt for item in study.nouns("items")}
    mine = [
        point if point.criterion else point.model_copy(update={"criterion": POINTS_CRITERION.id})
        for point in points
        if (point.prompt is None and prompts) or point.prompt in prompts
    ]
    return plan_run(study, folder, SETTINGS, points=mine, looks=False) if mine else None


# -- asking ------------------------------------------------------------------------------------------------------------


def judge_entry(
    suite: Suite,
    entry: Entry,
    folder: Path,
    role: str,
    judge: SuiteJudge,
    watch: JudgeCallback | None = None,
    *,
    check: Callable[[Vlm], None] = lambda vlm: None,
    unread: UnreadLimits | None = None,
) -> JudgeRun | None:
    """Ask one judge everything it is to say about an entry, and leave ENTRY/judges/ROLE; None where that is nothing.

    `check` may refuse the judge before it is asked. What it answered before is found in its store, not asked again.
    """
    points = suite_roles(suite)[role]
    study = entry_study(suite, entry, points)
    plan = plan_role(study, folder, points)
    if plan is None:
        return None
    with judge.open(study, folder, points) as vlm:
        if vlm.name != role:
            raise BadValue("a judge is named as its role in the routes", found=repr(vlm.name), where=f"role {role!r}")
        check(vlm)
        return run_plan(plan, vlm, watch, overwrite=True, unread=unread)


def check_same_judge(role: str, vlm: Vlm, published: Mapping[str, Path]) -> None:
    """One judge has a role for all entries of a board, else their numbers could not be compared."""
    for name, folder in published.items():
        home = judge_folder(folder, role)
        if home.name not in judge_names(folder):
            continue
        before = read_record(home).vlm
        if before != str(vlm.signature):
            raise BadValue(
                f"one judge answers as {role!r} for all entries of a board",
                found=f"{vlm.signature}; the entry {name!r} was judged by {before}",
                remedy="name the judge that answered before, or start another board",
            )


# -- answers -----------------------------------------------------------------------------------------------------------


def role_answers(folder: Path, role: str, entry: Entry, points: Sequence[Point]) -> pa.Table:
    """What ENTRY/judges/ROLE says of the entry's pictures, as rows of answers.parquet."""
    items = {picture.item: picture.prompt for picture in entry.pictures if picture.image is not None}
    point_keys = {(point.prompt, point.id) for point in points}
    samples_by_point: dict[tuple[str, str], list[dict[str, Any]]] = {}
    table = read_verdicts(judge_folder(folder, role))
    for row in table.select(("a", "point", "value", "unparsed", "failed", "text")).to_pylist():
        item, point = row["a"], row["point"]
        if item in items and ((items[item], point) in point_keys or (None, point) in point_keys):
            samples_by_point.setdefault((item, point), []).append(row)
    rows = [
        {"item": item, "point": point, "judge": role, "said": verdict, "why": _why(samples, verdict)}
        for (item, point), samples in samples_by_point.items()
        if (verdict := _settle_samples(samples)) is not None
    ]
    return pa.Table.from_pylist(rows, ANSWERS)


def _settle_samples(samples: Sequence[dict[str, Any]]) -> str | None:
    """pass, fail or unread; None while an outage leaves it open."""
    if any(row["failed"] is not None and row["failed"] not in FINAL_FAILURES for row in samples):
        return None
    settled = majority_of_samples([row["value"] for row in samples])
    return "unread" if settled is None else "pass" if settled else "fail"


def _why(samples: Sequence[dict[str, Any]], verdict: str) -> str:
    """The judge's reason where it gave one; of an answer that cannot be read, what is wrong with it."""
    first = samples[0]
    text = first["text"] or ""
    if verdict == "unread":
        problem = first["failed"] or first["unparsed"] or "no majority"
        return shorten(f"{problem}: {text}" if text else problem, _LONGEST)
    return shorten(_stated_reason(text), _LONGEST)


def _stated_reason(text: str) -> str:
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    if not isinstance(parsed, dict):
        return ""
    return next((str(parsed[key]) for key in _WHY if parsed.get(key)), "")


# -- judges from the command line --------------------------------------------------------------------------------------

MEASURED = ("pixels", "layout")
KINDS = {
    "measured": "measured:pixels or measured:layout",
    "openai": "openai:MODEL[@URL]",
    "transformers": "transformers:FOLDER",
    "scripted": "scripted:FILE",
    "simulated": "simulated:accuracy=0.8",
    "plugin": "plugin:NAME",
    "python": "python:MODULE:NAME",
}


def read_roles(texts: Sequence[str], suite: Suite) -> dict[str, str]:
    """KIND:NAME by role, as given; roles that are called as a judge that measures are that judge unless given."""
    roles = suite_roles(suite)
    defaults = {name: f"measured:{name}" for name in roles if name in MEASURED}
    chosen: dict[str, str] = {}
    for text in texts:
        role, mark, kind = text.partition("=")
        if not mark or kind.partition(":")[0] not in KINDS or not kind.partition(":")[2]:
            raise BadValue("a judge as ROLE=KIND:NAME is needed", found=repr(text), where="--judge",
                           remedy=f"KIND:NAME is {'; '.join(KINDS.values())}")  # fmt: skip
        if role in chosen:
            raise BadValue("every role has one judge", found=f"{role!r} twice", where="--judge")
        chosen[role] = kind
    return defaults | chosen


@contextmanager
def open_judges(roles: Mapping[str, str], terms: JudgeTerms, board: Path) -> Iterator[dict[str, SuiteJudge]]:
    """The judges, for as long as the block lasts. Each is loaded when it is first asked, and stays for all entries."""
    with ExitStack() as stack:
        opened = _OpenJudges(terms, board.resolve(), stack)
        yield {role: opened.judge(role, *text.split(":", 1)) for role, text in roles.items()}


class _OpenJudges:
    """What the judges of a run share: the purse, the store, and who closes them."""

    def __init__(self, terms: JudgeTerms, board: Path, stack: ExitStack) -> None:
        self.terms, self.board, self.stack = terms, board, stack
        self._purse = Budget(terms.budget)
        self._store: CallStore | None = None

    def judge(self, role: str, kind: str, name: str) -> SuiteJudge:
        """The judge that answers as `role`."""
        if kind == "measured":
            if name not in MEASURED:
                raise BadValue(
                    "a judge that measures is needed",
                    found=repr(name),
                    where=f"--judge {role}=measured:{name}",
                    remedy=f"one of {', '.join(MEASURED)}",
                )

            def opened(study: Study, folder: Path, points: Sequence[Any]) -> AbstractContextManager[Vlm]:
                from salon.judge import measuring_judge as measuring

                if name == "pixels":
                    return nullcontext(measuring.pixel_judge(role, study, points))
                return nullcontext(measuring.layout_judge(role, study, folder, points))

            return SuiteJudge(opened)
        if kind == "scripted":
            return open_for_any_study(ScriptedVlm(role, Path(name)))
        if kind == "simulated":
            rates = {RATES[rate]: value for rate, value in read_rates(name).items()}
            return open_for_any_study(SimulatedVlm(role, lambda topic, items: 1.0, seed=0, **rates))
        if kind in ("plugin", "python"):
            return open_for_any_study(make_plugin_judge(role, name if kind == "plugin" else f"python:{name}"))
        if kind == "openai":
            return self._once(lambda: self._endpoint(role, name), paid=True)
        return self._once(lambda: self._local(role, name))

    def _once(self, open: Callable[[], AbstractContextManager[Vlm]], *, paid: bool = False) -> SuiteJudge:
        loaded: list[Vlm] = []

        def opened(study: Study, folder: Path, points: object) -> AbstractContextManager[Vlm]:
            if not loaded:
                loaded.append(self.stack.enter_context(open()))
            return nullcontext(loaded[0])

        return SuiteJudge(opened, paid)

    def _endpoint(self, role: str, name: str) -> AbstractContextManager[Vlm]:
        options = JudgeSpec(**self.terms.model_dump(), model=name, name=role)
        return endpoint_vlm(options, options.model or name, self._calls(), self._purse)

    def _calls(self) -> CallStore:
        if self._store is None:
            file = self.terms.calls or self._beside("calls.sqlite")
            self._store = self.stack.enter_context(CallStore(file))
        return self._store

    def _local(self, role: str, name: str) -> AbstractContextManager[Vlm]:
        values = self.terms.model_dump() | {"calls": self._beside(f"{role}.replies.jsonl")}
        options = JudgeSpec(**values, transformers=name, name=role)
        return open_judge(options, Study.build(role, [], tables={}), self.board)

    def _beside(self, ending: str) -> Path:
        """Beside the board, so that a copy of the board does not carry along what was bought."""
        return self.board.with_name(f"{self.board.name}.{ending}")


# -- scorers: logits for the columns of EPS ----------------------------------------------------------------------------


def check_scorers(suite: Suite, scorers: Mapping[str, Scorer]) -> None:
    """Refuse, before anything is spent, what EPS cannot be made of: no logits, less is better, another scorer."""
    columns = [rule.id for rule in suite.card.preferences]
    frozen = (
        {column_reference.id: column_reference.signature for column_reference in suite.reference.preferences}
        if suite.reference
        else {}
    )
    for column, scorer in scorers.items():
        where = f"--scorer {column}"
        if column not in columns:
            remedy = f"one of {', '.join(columns)}" if columns else "name a preference in suite.toml"
            raise BadValue("a column of the suite is needed", found=repr(column), where=where, remedy=remedy)
        card = scorer_card(scorer)
        if isinstance(scorer, TableScorer) and not card.is_logit:
            raise DesignError(
                "EPS needs a table that declares its numbers as logits",
                found=f"{scorer.file}: is_logit {card.is_logit}",
                where=where,
                remedy=HOW_TO_DECLARE.format(card=scorer.file.with_suffix(".toml").name),
            )
        require_logits(scorer.name, card)
        if not card.higher_is_better:
            raise DesignError("EPS needs a scorer on which more is better", found=scorer.name, where=where)
        if column in frozen and frozen[column] != str(scorer.signature):
            raise DesignError(
                f"the scorer that the reference was frozen with is needed: {frozen[column]}",
                found=str(scorer.signature),
                where=where,
                remedy="name that one; another scorer needs a reference, and so a suite, of its own"
                + (
                    "; tables of one scorer say the same `scorer` on their cards"
                    if isinstance(scorer, TableScorer)
                    else ""
                ),
            )


def scorer_card(scorer: Scorer) -> ScorerCard:
    """The card of a scorer; an empty one where it has none."""
    card: ScorerCard = getattr(scorer, "card", ScorerCard())
    return card


def score_column(
    suite: Suite,
    entry: Entry,
    folder: Path,
    column: str,
    scorer: Scorer,
    watch: Callable[[str, int, int], None] = lambda doing, completed, total: None,
    cache: ResultCache | None = None,
) -> pa.Table:
    """Score every picture of an entry; rows of scores.parquet. The scorer's own table stays in ENTRY/scores."""
    study = entry_study(suite, entry)
    if isinstance(scorer, TableScorer):
        rows = table_logits(entry, column, scorer)
        if rows.num_rows:
            file = scores_file(folder / SCORES_FOLDER, scorer.name)
            write_scores(file, scorer, rows.select(SCORE_COLUMNS.names), reused=0, data=study.hash[:12])
        return rows
    if not study.counts.get("items"):
        return LOGITS.empty_table()

    def told(completed: int, total: int) -> None:
        watch(f"{entry.name}: {scorer.name}", completed, total)

    score_study(study, folder, scorer, progress=told, cache=cache)
    scored = read_scores(scores_file(folder / SCORES_FOLDER, scorer.name)).to_pylist()
    more = {"preference": column, "scorer": str(scorer.signature)}
    return pa.Table.from_pylist([row | more for row in scored], LOGITS)


def table_logits(entry: Entry, column: str, table: TableScorer) -> pa.Table:
    """Rows of scores.parquet from a table: none where it knows no picture of the entry, BadValue where only some."""
    items = [Item(id=picture.item) for picture in entry.pictures if picture.image is not None]
    lacking = [item.id for item in items if not table.knows(item.id)]
    if lacking and len(lacking) < len(items):
        raise BadValue(
            "a table with a value for every picture of an entry is needed",
            found=f"none for {len(lacking):,} of {len(items):,}, the first {lacking[0]!r}",
            where=f"{table.file}, entry {entry.name!r}",
            remedy="score those pictures too; a picture that was not made needs none",
        )
    results = [] if lacking else table.results(items, [None] * len(items))
    more = {"preference": column, "scorer": str(table.signature)}
    return pa.Table.from_pylist([score_row(item.id, result) | more for item, result in zip(items, results)], LOGITS)
