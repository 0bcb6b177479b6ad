"""Several workers of one studio, each with connections and a memory of its own: one design, and no answer twice."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from postgres import KINDS, fresh_url
from sqlalchemy import select

from salon.collect import NoMoreQuestions, RawAnswer, ShownTask, Studio, StudioSettings
from salon.collect.settings import Stop
from salon.collect.tallies import HOLD_MS
from salon.store import AlreadyAnswered, StoredTally, open_database
from salon.store.database import tables
from salon.study import Criterion, Item, Prompt, Study

LEFT = RawAnswer(answers={"overall": "left"})
FIXED = {"stop": {"kind": "fixed", "raters_each": 3}}
AGREED = {"stop": {"kind": "agreement", "least": 2, "most": 4}}
ADAPTIVE = {"design": {"kind": "adaptive", "fraction": 0.5}, "stop": {"kind": "fixed", "raters_each": 2}}


def small_study(prompts: int = 2, items: int = 4) -> Study:
    asked = [Prompt(id=f"p{p}", text=f"Poster {p}") for p in range(prompts)]
    made = [Item(id=f"p{p}-{i}", prompt=f"p{p}") for p in range(prompts) for i in range(items)]
    return Study.build("small", [Criterion(id="overall")], tables={"prompts": asked, "items": made})


class Workers:
    """Two studios on one database, as two processes would have them."""

    def __init__(self, url: str, folder: Path, phase: dict, study: Study | None = None, raters: int = 10) -> None:
        plain = {"id": "main", "protocol": "compare", "criteria": ["overall"], "checks": {"repeats": 0}}
        cohort = {"id": "designers", "raters": raters, "phases": [plain | phase]}
        self.settings = StudioSettings.model_validate({"cohorts": [cohort], "times": {"prompt": 0}, "welcome": False})
        self.databases = [open_database(url) for _ in range(2)]
        self.databases[0].put_study(study or small_study())
        self.studios = [Studio(database, self.settings, folder) for database in self.databases]
        self.raters = [person.rater for person in self.studios[0].invite("designers", raters)]

    @property
    def units(self) -> int:
        return len(self.studios[0].plan.runs["designers"][0].units)

    def close(self) -> None:
        for studio in self.studios:
            studio.close()
            studio.database.close()

    def dealt(self) -> Counter[str]:
        """How many raters were asked each question."""
        with self.databases[0].reading() as connection:
            return Counter(connection.scalars(select(tables.tasks.c.about)).all())

    def check_tallies(self) -> None:
        """What was counted along with the answers is what a new count gives."""
        database, tallied = self.databases[0], self.studios[0].tallied
        before, _ = database.changed_tallies(0)
        assert not database.sync_tallies(tallied.group_of, tallied.name)
        with database.writing() as connection:
            connection.execute(tables.shared_state.update().values(value="other"))
        assert database.sync_tallies(tallied.group_of, tallied.name)
        after, _ = database.changed_tallies(0)
        assert _figures(before) == _figures(after)


def _figures(tallies: list[StoredTally]) -> dict[str, tuple]:
    return {row.key: (row.answers, row.skipped, _some(row.votes), set(row.pending)) for row in tallies}


def _some(votes: dict[str, dict[str, int]]) -> dict[tuple[str, str], int]:
    return {(criterion, word): n for criterion, words in votes.items() for word, n in words.items() if n}


@pytest.fixture(params=KINDS)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return fresh_url(request.param, tmp_path)


@pytest.fixture
def workers(url: str, tmp_path: Path) -> Iterator[Workers]:
    made = Workers(url, tmp_path, FIXED)
    yield made
    made.close()


def work(workers: Workers, rater: str, most: int = 1000, *, steady: bool = False) -> None:
    """A rater who comes to either worker by chance; unless `steady`, takes back answers and skips questions too."""
    rng = random.Random(f"{rater} {steady}")
    step = workers.studios[0].next(rater)
    for number in range(most):
        if not isinstance(step, ShownTask):
            assert step == NoMoreQuestions("done") or step == NoMoreQuestions("enough answers")
            return
        answer = LEFT if steady or rng.random() < 0.9 else RawAnswer(skipped="broken image")
        key = f"{rater} {steady} {number}"
        _, step = rng.choice(workers.studios).answer(rater, step.id, answer, key=key)
        if answer is LEFT and not steady and rng.random() < 0.1:  # a skip taken back comes on top of the design
            rng.choice(workers.studios).undo(rater)
            step = rng.choice(workers.studios).next(rater)


@pytest.mark.parametrize("phase", [FIXED, AGREED, ADAPTIVE], ids=["fixed", "agreement", "adaptive"])
def test_raters_at_two_workers_get_the_design_and_nothing_more(url: str, tmp_path: Path, phase: dict) -> None:
    workers = Workers(url, tmp_path, phase)
    try:
        with ThreadPoolExecutor(10) as pool:
            list(pool.map(lambda rater: work(workers, rater), workers.raters))
        for rater in workers.raters:  # what somebody skipped or took back when all others had left
            work(workers, rater, steady=True)
        workers.check_tallies()
        found, _ = workers.databases[0].changed_tallies(0)
        assert not any(tally.pending for tally in found)
        answers = {tally.key: tally.answers for tally in found}
        if phase is FIXED:
            assert [answers[key] for key in workers.studios[0].plan.runs["designers"][0].keys] == [3] * workers.units
        elif phase is AGREED:
            assert all(2 <= count <= 4 for count in answers.values())
        else:
            by_group = Counter()
            for key, count in answers.items():
                by_group[workers.studios[0].tallied.group_of(key)] += count
            assert set(by_group.values()) == {6}  # 3 of 6 pairs, 2 raters each
    finally:
        workers.close()


def test_the_last_place_of_a_question_goes_to_one_of_all_who_ask_at_once(workers: Workers) -> None:
    for _ in range(3):
        with ThreadPoolExecutor(10) as pool:
            steps = list(pool.map(lambda n: workers.studios[n % 2].next(workers.raters[n]), range(10)))
        for rater, step in zip(workers.raters, steps):
            if isinstance(step, ShownTask):
                workers.studios[0].submit(rater, step.id, LEFT, key=f"key {step.id}")
    dealt = workers.dealt()
    assert max(dealt.values()) <= 3
    assert max(dealt.values()) - min(dealt[key] for key in workers.studios[0].plan.runs["designers"][0].keys) <= 1
    workers.check_tallies()


def test_one_form_sent_to_two_workers_is_one_answer(workers: Workers) -> None:
    rater = workers.raters[0]

    def send(studio: Studio, task: int, key: str) -> tuple:
        return studio.answer(rater, task, LEFT, key=key)

    for number in range(5):
        step = workers.studios[0].next(rater)
        again = workers.studios[1].next(rater)
        assert step.id == again.id
        with ThreadPoolExecutor(2) as pool:
            saved = list(pool.map(send, workers.studios, [step.id] * 2, [f"k{number}"] * 2))
        assert saved[0][0].ids == saved[1][0].ids
        assert {one.repeated for one, _ in saved} == {True, False}
        assert saved[0][1].id == saved[1][1].id  # what comes next is the same for both
        with pytest.raises(AlreadyAnswered):
            workers.studios[number % 2].submit(rater, step.id, LEFT, key="another")
    workers.check_tallies()


def test_an_answer_taken_back_at_one_worker_is_open_at_the_other(workers: Workers) -> None:
    rater, (first, second) = workers.raters[0], workers.studios
    step = first.next(rater)
    _, following = first.answer(rater, step.id, LEFT, key="a")
    assert second.next(rater).id == following.id
    assert second.undo(rater) == step.id
    assert first.next(rater).id == step.id
    with pytest.raises(AlreadyAnswered):
        first.answer(rater, step.id, LEFT, key="b") and second.submit(rater, step.id, LEFT, key="c")
    assert second.next(rater).id == following.id
    workers.check_tallies()


def test_ready_at_one_worker_is_ready_at_the_other(url: str, tmp_path: Path) -> None:
    workers = Workers(url, tmp_path, {})
    try:
        times = workers.settings.times.model_copy(update={"prompt": 60})
        patient = workers.settings.model_copy(update={"times": times})
        first, second = (Studio(database, patient, tmp_path) for database in workers.databases)
        step = first.next(workers.raters[0])
        assert (step.stage, second.next(workers.raters[0]).stage) == ("prompt", "prompt")
        first.ready(workers.raters[0], step.id)
        assert second.next(workers.raters[0]).stage == "question"
        first.close(), second.close()
    finally:
        workers.close()


@pytest.mark.parametrize("leave", ["remove", "erase", "withdraw"])
def test_who_leaves_at_one_worker_makes_room_at_the_other(workers: Workers, leave: str) -> None:
    first, second = workers.studios
    leaver, others = workers.raters[0], workers.raters[1:]
    for rater in workers.raters[:3]:
        work(workers, rater, steady=True)
    assert second.next(others[3]) == NoMoreQuestions("enough answers")
    getattr(first, leave)(leaver)
    workers.check_tallies()
    assert isinstance(second.next(others[3]), ShownTask)
    if leave == "remove":
        first.reinvite(leaver)
        workers.check_tallies()
        found, _ = workers.databases[1].changed_tallies(0)
        assert {tally.answers for tally in found} == {3}


def test_a_question_that_was_left_lying_goes_to_somebody_else(workers: Workers) -> None:
    first, second = workers.studios
    now = 1_000_000_000_000
    step = first.next(workers.raters[0], now=now)
    for rater in workers.raters[1:3]:
        while isinstance(task := second.next(rater, now=now), ShownTask):
            second.submit(rater, task.id, LEFT, key=f"{rater} {task.id}", now=now)
    key = step.shown.question.key
    third, fourth = workers.raters[3:5]
    while isinstance(task := first.next(third, now=now), ShownTask):
        assert task.shown.question.key != key
        first.submit(third, task.id, LEFT, key=f"{third} {task.id}", now=now)
    later = now + HOLD_MS
    assert second.next(fourth, now=later).shown.question.key == key
    first.submit(workers.raters[0], step.id, LEFT, key="late", now=later)  # late, and counted all the same
    second.submit(fourth, second.next(fourth, now=later).id, LEFT, key="in time", now=later)
    assert {tally.key: tally.answers for tally in workers.databases[0].changed_tallies(0)[0]}[key] == 4
    workers.check_tallies()


def test_answers_counted_by_nobody_are_counted_when_a_studio_opens(url: str, tmp_path: Path) -> None:
    """As after an upgrade from a Salon that kept tallies in memory, or a restore."""
    workers = Workers(url, tmp_path, {})  # everyone answers everything: nothing is tallied
    try:
        for rater in workers.raters[:3]:
            work(workers, rater, 5, steady=True)
        assert workers.databases[0].changed_tallies(0)[0] == []
        phase = workers.settings.cohorts[0].phases[0].model_copy(update={"stop": Stop(kind="fixed", raters_each=3)})
        cohort = workers.settings.cohorts[0].model_copy(update={"phases": (phase,)})
        limited = workers.settings.model_copy(update={"cohorts": (cohort,)})
        workers.studios[0] = Studio(workers.databases[0], limited, tmp_path)
        workers.check_tallies()
        found, _ = workers.databases[0].changed_tallies(0)
        assert sum(len(tally.pending) for tally in found) == 3
    finally:
        workers.close()
