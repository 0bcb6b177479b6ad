"""Small studies and studios for the tests of collecting, and a rater who walks through one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from salon.collect import NoMoreQuestions, RaterQuestion, RawAnswer, Rest, StudioSettings
from salon.collect.agreement import PairAnswerRow, ValueRow, answer_rows
from salon.collect.assignment import AskedQuestion, AssignmentState, make_screen, next_question
from salon.collect.plan import StudioPlan, make_plan
from salon.collect.questions import RaterScreen, ScreenTimes, is_right, to_judgments
from salon.collect.tallies import CountedTallies
from salon.study import Criterion, Item, Prompt, Scale, Study

CRITERIA = (
    Criterion(id="overall", scale=Scale(low=1, high=5, step=1)),
    Criterion(id="type", scale=Scale(low=1, high=5, step=1)),
    Criterion(id="flaw", scale=Scale(kind="ordinal", low=0, high=2, step=1, higher_is_better=False)),
)
KNOWN = {criterion.id: criterion for criterion in CRITERIA}
SCREEN_MS = 20_000


def study(
    prompts: int = 3, items: int = 4, *, gold: int = 0, within: str = "prompt", criteria: Sequence[Criterion] = CRITERIA
) -> Study:
    """`prompts` prompts in categories c0 and c1 by turns, each with `items` items; gold items g0a, g0b, ... apart."""
    asked = [Prompt(id=f"p{p}", text="A poster", category=f"c{p % 2}") for p in range(prompts)]
    made = [Item(id=f"p{p}-{i}", prompt=f"p{p}", category=f"c{p % 2}") for p in range(prompts) for i in range(items)]
    known = [Item(id=f"g{g}{side}", prompt="p0", category="c0") for g in range(gold) for side in "ab"]
    return Study.build("small", criteria, tables={"prompts": asked, "items": [*made, *known]}, compare_within=within)


def studio(*phases: dict[str, Any], gold: int = 0, raters: int = 5, **more: Any) -> StudioSettings:
    """A studio of one cohort with these phases (default: compare everything, nothing planted)."""
    plain = {"id": "main", "protocol": "compare", "criteria": ["overall"], "checks": {"repeats": 0}}
    known = [{"criterion": "overall", "items": [f"g{g}a", f"g{g}b"], "better": f"g{g}a"} for g in range(gold)]
    cohort = {"id": "designers", "raters": raters, "phases": [plain | phase for phase in phases or ({},)]}
    return StudioSettings.model_validate({"cohorts": [cohort], "gold": known} | more)


Answer = Callable[[RaterScreen], dict[str, Any]]


def left(shown: RaterScreen) -> dict[str, Any]:
    """The first place, or the lowest value, always."""
    q = shown.question
    first = {"compare": "left", "choose": 0, "rank": [[k] for k in range(len(q.items))], "flag": 0, "rate": 1}
    return {"answers": dict.fromkeys(q.criteria, first.get(q.kind, [None] * len(q.points)))}


def right(shown: RaterScreen) -> dict[str, Any]:
    """What gold and attention want; else the first place."""
    q = shown.question
    if q.expected_value is not None:
        return {"answers": dict.fromkeys(q.criteria, q.expected_value)}
    if q.expected_item is None or q.kind != "compare":
        return left(shown)
    return {"answers": dict.fromkeys(q.criteria, ("left", "right")[shown.place(q.expected_item)])}


class Walker:
    """A rater who answers what comes, one screen after the other."""

    def __init__(
        self, plan: StudioPlan, rater: str = "r0", number: int = 0, tallies: CountedTallies | None = None
    ) -> None:
        self.plan, self.rater, self.number = plan, rater, number
        self.tallies = tallies or CountedTallies()
        self.now = 0
        self.asked: list[AskedQuestion] = []
        self.shown: list[RaterScreen] = []
        self.rows: list[list[PairAnswerRow | ValueRow]] = []

    def state(self) -> AssignmentState:
        return AssignmentState(
            self.rater, self.number, "designers", self.now, "active", tuple(self.asked), self.tallies
        )

    def step(self, answer: Answer = right) -> RaterQuestion | Rest | NoMoreQuestions:
        """Ask for the next question and answer it."""
        found = next_question(self.plan, self.state())
        if isinstance(found, RaterQuestion):
            shown = make_screen(self.plan, found, rater=self.rater, number=self.number, position=len(self.asked))
            self.tallies.ask(found, self.rater, self.now)
            self.now += SCREEN_MS
            given = RawAnswer.model_validate(answer(shown))
            moments = ScreenTimes(self.now - SCREEN_MS, self.now)
            made = to_judgments(shown, given, rater=self.rater, moments=moments, criteria=KNOWN)
            self.tallies.answer(found, self.rater, made)
            self.asked.append(AskedQuestion(found, self.now, is_right(shown, given)))
            self.rows.append(list(answer_rows(shown, made, len(self.shown))))
            self.shown.append(shown)
        return found

    def walk(self, answer: Answer = right, most: int = 100_000) -> RaterQuestion | Rest | NoMoreQuestions:
        """Until a rest, the end, or `most` questions."""
        for _ in range(most):
            found = self.step(answer)
            if not isinstance(found, RaterQuestion):
                return found
        return next_question(self.plan, self.state())

    @property
    def questions(self) -> list[RaterQuestion]:
        return [task.question for task in self.asked]


def walker(study: Study, settings: StudioSettings, **who: Any) -> Walker:
    """A rater in a new studio."""
    return Walker(make_plan(study, settings), **who)
