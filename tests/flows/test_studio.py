"""A studio without HTTP: from the link to the end, in the right order, at the right time, exactly once."""

from __future__ import annotations

import shutil
from itertools import count

import pytest

from salon.collect import EntryStep, NoMoreQuestions, RawAnswer, Rest, ShownTask, Studio, StudioSettings, TooEarly
from salon.collect.studio.figures import compute_figures
from salon.collect.studio.figures_worker import FiguresWorker
from salon.errors import BadValue, DesignError
from salon.store import AlreadyAnswered, BadLink, NothingToUndo, NotYours, open_database, open_study
from salon.study import Criterion, Item, Prompt, Scale, Study

HOUR = 3_600_000
PLAIN = {"id": "main", "protocol": "compare", "criteria": ["overall"], "checks": {"repeats": 0}}


def small_study(prompts=2, items=3, gold=0):
    asked = [Prompt(id=f"p{p}", text=f"Poster {p}") for p in range(prompts)]
    made = [Item(id=f"p{p}-{i}", prompt=f"p{p}") for p in range(prompts) for i in range(items)]
    known = [Item(id=f"g{g}{side}", prompt="p0") for g in range(gold) for side in "ab"]
    scale = Scale(low=1, high=5, step=1)
    criteria = [Criterion(id="overall", scale=scale), Criterion(id="type", scale=scale)]
    return Study.build("small", criteria, tables={"prompts": asked, "items": made + known})


@pytest.fixture(scope="module")
def empty(tmp_path_factory):
    """A database without a study, to be copied: making its tables takes longer than a test."""
    place = tmp_path_factory.mktemp("empty") / "studio.db"
    open_database(f"sqlite:///{place}", create=True).close()
    return place


@pytest.fixture
def make(tmp_path, empty):
    """A studio of one cohort, in a database of its own."""
    opened = []
    numbers = count()

    def made(*phases, study=None, **more):
        cohort = {"id": "designers", "phases": [PLAIN | phase for phase in phases or ({},)]}
        settings = StudioSettings.model_validate({"cohorts": [cohort]} | more)
        place = shutil.copy(empty, tmp_path / f"{next(numbers)}.db")
        database = open_database(f"sqlite:///{place}")
        database.put_study(study or small_study())
        studio = Studio(database, settings, tmp_path)
        opened.append(studio)
        return studio

    yield made
    for studio in opened:
        studio.close()
        studio.database.close()


class Visitor:
    """A rater with a clock: looks as long as needed, then answers."""

    def __init__(self, studio, now=1_000_000):
        self.studio, self.now = studio, now
        self.rater = studio.invite("designers")[0].rater
        self.keys = (f"{self.rater}-{n}" for n in count())
        self.seen = []

    def next(self):
        return self.studio.next(self.rater, now=self.now)

    def answer(self, task, choice="left", **more):
        self.now += round(1000 * (task.prompt_left + least(task)))
        given = RawAnswer.model_validate({"answers": dict.fromkeys(task.shown.question.criteria, choice)} | more)
        return self.studio.submit(self.rater, task.id, given, key=next(self.keys), now=self.now)

    def walk(self, choose=lambda task: "left", most=1000):
        for _ in range(most):
            step = self.next()
            if not isinstance(step, ShownTask):
                return step
            self.seen.append(step)
            self.answer(step, choose(step))
        return step


def least(task):
    return 10 if task.shown.question.kind == "compare" else 5


def test_a_rater_goes_from_the_link_to_the_end_and_the_study_holds_every_answer(make):
    studio = make({}, {"id": "rate", "protocol": "rate"}, completion_code="DONE")
    token = studio.invite("designers")[0].token
    assert studio.enter(token).role == "rater"
    visitor = Visitor(studio)
    end = visitor.walk(lambda task: "right" if task.shown.question.kind == "compare" else 4)
    assert end == NoMoreQuestions("done")
    assert studio.database.rater(visitor.rater).status == "done"
    study = studio.database.read_study()
    assert study.counts["comparisons"] == 2 * 3
    assert study.counts["ratings"] == 2 * 3
    assert [(task.done, task.total) for task in visitor.seen] == [(n, 12) for n in range(12)]
    # "right" was answered on the screen: the study names the item that stood there
    row = study.table("comparisons").to_pylist()[0]
    assert row["outcome"] != row["left"]
    assert row[row["outcome"]] == visitor.seen[0].shown.order[1]


def test_what_comes_before_the_first_question_comes_in_order(make):
    question = {"id": "job", "text": "Are you a designer?", "options": ["yes", "no"], "accept": ["yes"]}
    studio = make(consent={"text": "Agree?"}, screener=[question], profile=["years"], guidelines="Look closely.",
                  times={"guidelines": 10})  # fmt: skip
    visitor = Visitor(studio)
    assert visitor.next() == EntryStep("consent")
    with pytest.raises(BadValue, match="newest version"):
        studio.consent(visitor.rater, "0")
    studio.consent(visitor.rater, "1")
    assert visitor.next() == EntryStep("screener")
    with pytest.raises(BadValue, match="yes, no"):
        studio.screener(visitor.rater, {"job": "perhaps"})
    assert studio.screener(visitor.rater, {"job": "yes"})
    assert visitor.next() == EntryStep("profile")
    studio.profile(visitor.rater, {"years": "12", "unasked": "x"})
    assert visitor.next() == EntryStep("guidelines", 10)
    visitor.now += 9_000
    assert visitor.next() == EntryStep("guidelines", 1)
    with pytest.raises(TooEarly):
        studio.read_guidelines(visitor.rater, now=visitor.now)
    visitor.now += 1_000
    studio.read_guidelines(visitor.rater, now=visitor.now)
    assert isinstance(visitor.next(), ShownTask)
    assert studio.database.profile(visitor.rater)["profile"] == {"years": "12"}


def test_who_does_not_fit_the_screener_gets_no_question_and_cannot_answer_it_again(make):
    studio = make(screener=[{"id": "job", "text": "?", "options": ["yes", "no"], "accept": ["yes"]}])
    visitor = Visitor(studio)
    assert not studio.screener(visitor.rater, {"job": "no"})
    assert not studio.screener(visitor.rater, {"job": "yes"})
    assert visitor.next() == NoMoreQuestions("not qualified")


def test_a_new_consent_text_is_asked_for_again(make):
    studio = make(consent={"text": "Agree?", "version": "2"})
    visitor = Visitor(studio)
    studio.database.consent(visitor.rater, "1")
    assert visitor.next() == EntryStep("consent", again=True)


def test_the_prompt_comes_first_once_and_its_clock_is_the_servers(make):
    studio = make(times={"prompt": 20, "ready_after": 3, "compare": 10})
    visitor = Visitor(studio)
    first = visitor.next()
    assert (first.stage, first.prompt_left, first.ready_left, first.wait) == ("prompt", 20, 3, 10)
    with pytest.raises(TooEarly):
        studio.ready(visitor.rater, first.id, now=visitor.now + 2_900)
    visitor.now += 4_000
    studio.ready(visitor.rater, first.id, now=visitor.now)
    again = visitor.next()
    assert (again.id, again.stage, again.wait) == (first.id, "question", 10)
    with pytest.raises(TooEarly) as early:
        studio.submit(visitor.rater, first.id, RawAnswer(answers={"overall": "left"}), key="k", now=visitor.now + 9_000)
    assert early.value.seconds_left == 1
    visitor.answer(again)
    assert studio.database.given(visitor.rater)[0].record["seconds"] == 10
    second = visitor.next()
    assert second.shown.question.prompt == first.shown.question.prompt
    assert second.stage == "question"  # the prompt is known by now


def test_the_countdown_ends_by_itself(make):
    studio = make()
    visitor = Visitor(studio)
    assert visitor.next().stage == "prompt"
    visitor.now += 20_000
    assert visitor.next().stage == "question"


def test_a_clock_set_back_by_hours_locks_no_open_question(make):
    """As after a machine whose clock was ahead has asked a time server; the answer took 0 s as far as is known."""
    studio = make(times={"prompt": 20, "ready_after": 3, "compare": 10})
    visitor = Visitor(studio)
    visitor.now += 6 * 3_600_000
    before = visitor.next()
    visitor.now -= 5 * 3_600_000
    again = visitor.next()
    assert (again.id, again.stage, again.wait, again.prompt_left) == (before.id, "question", 0, 0)
    studio.submit(visitor.rater, again.id, RawAnswer(answers={"overall": "left"}), key="back", now=visitor.now)
    assert studio.database.given(visitor.rater)[0].record["seconds"] == 0
    following = visitor.next()
    assert following.id != before.id
    with pytest.raises(TooEarly):
        studio.submit(
            visitor.rater, following.id, RawAnswer(answers={"overall": "left"}), key="on", now=visitor.now + 9_000
        )


def test_the_same_screen_until_it_is_answered_and_an_answer_once(make):
    studio = make()
    visitor, other = Visitor(studio), Visitor(studio)
    task = visitor.next()
    assert visitor.next() == task
    given = RawAnswer(answers={"overall": "left"})
    late = visitor.now + 40_000
    with pytest.raises(NotYours):
        studio.submit(other.rater, task.id, given, key="k", now=late)
    saved = studio.submit(visitor.rater, task.id, given, key="k", now=late)
    assert not saved.repeated
    assert studio.submit(visitor.rater, task.id, given, key="k", now=late + 5).ids == saved.ids
    with pytest.raises(AlreadyAnswered):
        studio.submit(visitor.rater, task.id, given, key="another", now=late)
    assert studio.database.read_study().counts["comparisons"] == 1


def test_an_answer_the_screen_did_not_offer_is_refused(make):
    studio = make({"ties": False})
    visitor = Visitor(studio)
    task = visitor.next()
    with pytest.raises(BadValue, match="left, right"):
        visitor.answer(task, "tie")
    assert visitor.next().id == task.id


def test_undo_opens_the_last_answer_again_within_the_visit(make):
    studio = make()
    visitor = Visitor(studio)
    with pytest.raises(NothingToUndo):
        studio.undo(visitor.rater, now=visitor.now)
    first = visitor.next()
    assert not first.can_undo
    visitor.answer(first)
    assert visitor.next().can_undo
    assert studio.undo(visitor.rater, now=visitor.now) == first.id
    assert visitor.next().id == first.id
    visitor.answer(first, "right")
    history = studio.database.given(visitor.rater)
    assert [one.undone for one in history] == [True, False]
    visitor.now += HOUR  # another visit
    assert not visitor.next().can_undo
    with pytest.raises(NothingToUndo):
        studio.undo(visitor.rater, now=visitor.now)


def test_a_phase_after_a_rest(make):
    studio = make({"questions_each": 1}, {"id": "later", "criteria": ["type"], "rest_hours": 48, "questions_each": 1})
    visitor = Visitor(studio)
    rest = visitor.walk()
    assert rest == Rest(visitor.now + 48 * HOUR, "later")
    visitor.now = rest.until
    assert visitor.next().phase.id == "later"


def test_answers_wanted_from_two_are_not_asked_of_a_third_even_after_a_restart(make):
    studio = make({"stop": {"kind": "fixed", "raters_each": 2}})
    for _ in range(2):
        assert Visitor(studio).walk() == NoMoreQuestions("done")
    again = Studio(studio.database, studio.settings, studio.folder)
    third = Visitor(again)
    assert third.next() == NoMoreQuestions("enough answers")
    leaver = again.progress()[0].rater
    again.withdraw(leaver)  # whose answers are wanted anew
    assert isinstance(third.next(), ShownTask)
    again.close()


def test_two_raters_are_never_given_the_last_place_both(make):
    studio = make({"stop": {"kind": "fixed", "raters_each": 1}}, study=small_study(prompts=1, items=2))
    assert isinstance(Visitor(studio).next(), ShownTask)
    assert Visitor(studio).next() == NoMoreQuestions("enough answers")


def test_the_qualification_lets_in_who_knows_and_its_answers_are_not_in_the_study(make):
    gold = [{"criterion": "overall", "items": [f"g{g}a", f"g{g}b"], "better": f"g{g}a"} for g in range(4)]
    test = {"questions": 2, "right": 2, "attempts": 2}
    studio = make(study=small_study(gold=4), gold=gold, qualification=test)

    def wrong(task):
        q = task.shown.question
        return "left" if q.expected_item is None or task.shown.place(q.expected_item) else "right"

    def right(task):
        return {"left": "right", "right": "left"}[wrong(task)]

    failing, learning = Visitor(studio), Visitor(studio)
    assert failing.walk(wrong) == NoMoreQuestions("not qualified")
    assert [task.trial.attempt for task in failing.seen] == [1, 1, 2, 2]
    assert [task.trial.before for task in failing.seen] == [None, None, 0, 0]
    learning.walk(wrong, most=2)
    assert learning.walk(right) == NoMoreQuestions("done")
    assert studio.database.read_study().counts["comparisons"] == 6


def test_the_qualification_shows_a_prompt_whole_that_lacks_the_parts_of_its_criterion(make):
    plain = small_study(gold=1)
    overall = plain.criterion("overall").model_copy(update={"view": ("intent",)})
    gold = [{"criterion": "overall", "items": ["g0a", "g0b"], "better": "g0a"}]
    test = {"questions": 1, "right": 1, "attempts": 1}
    study = plain.revised("a view", criteria=(overall, *(one for one in plain.criteria if one.id != "overall")))
    studio = make({"view": []}, study=study, gold=gold, qualification=test)
    first = Visitor(studio).next()
    assert first.trial is not None
    assert studio.prompt_text(first.shown.question) == studio.prompts[first.shown.question.prompt].text


def test_withdrawn_answers_leave_the_study_and_the_link_ends(make):
    studio = make()
    visitor = Visitor(studio)
    token = studio.reinvite(visitor.rater).token
    visitor.walk()
    before = studio.database.read_study().revision
    studio.withdraw(visitor.rater)
    study = studio.database.read_study()
    assert (study.counts.get("comparisons", 0), study.revision > before) == (0, True)
    assert visitor.next() == NoMoreQuestions("withdrawn")
    with pytest.raises(BadLink):
        studio.enter(token)
    with pytest.raises(BadValue, match="withdrawn"):
        studio.reinvite(visitor.rater)


def test_a_paused_rater_waits_until_invited_again(make):
    studio = make()
    visitor = Visitor(studio)
    task = visitor.next()
    studio.pause(visitor.rater)
    assert visitor.next() == NoMoreQuestions("paused")
    token = studio.reinvite(visitor.rater).token
    assert studio.enter(token).rater == visitor.rater
    assert visitor.next().id == task.id


def test_a_break_is_suggested_after_long_work(make):
    studio = make(break_minutes=2, times={"prompt": 0})
    visitor = Visitor(studio)
    visitor.walk(most=3)
    assert visitor.next().worked_minutes is None
    for _ in range(4):
        visitor.now += 29_000  # at work: not long enough a silence for a break
        visitor.next()
    assert visitor.next().worked_minutes == 2


def test_the_owner_sees_progress_hours_pay_flags_and_the_live_check(make):
    studio = make(study=small_study(prompts=8), pay={"per_hour": 90})
    steady = [Visitor(studio) for _ in range(3)]
    for visitor in steady:  # the item with the lowest number is always the best: perfect agreement
        visitor.walk(lambda task: "left" if task.shown.order[0] < task.shown.order[1] else "right")
    lefty = Visitor(studio)
    lefty.walk(most=20)
    rows = {row.rater: row for row in studio.progress()}
    assert (rows[lefty.rater].answered, rows[lefty.rater].total) == (20, 24)
    assert rows[lefty.rater].judgments == {"overall": 20}
    assert rows[lefty.rater].hours > 0.04
    earned = studio.earned(steady[0].rater)
    assert float(earned.amount) == pytest.approx(90 * earned.hours, abs=0.01)
    flagged = {one.rater: {flag.reason for flag in one.flags} for one in studio.flags()}
    assert "one side" in flagged[lefty.rater]
    assert all("one side" not in flagged[visitor.rater] for visitor in steady)
    live = studio.live_check(wait=True)
    assert live.report is not None
    assert studio.live_check(wait=True) is live  # nothing new: the same figures
    lefty.walk(most=1)
    assert studio.live_check().revision == live.revision  # nobody waits for the newer ones
    assert studio.live_check(wait=True).revision > live.revision


def test_too_few_answers_are_told_and_no_error(make, monkeypatch):
    # That a worker finds what this process does is shown in test_studio_owner_live.py, on a study without answers.
    monkeypatch.setattr(FiguresWorker, "ask", lambda self, *asked: compute_figures(*asked))
    live = make().live_check(wait=True)
    assert live.report is None
    assert live.words


def test_exported_is_what_was_collected(make, tmp_path):
    studio = make()
    Visitor(studio).walk()
    studio.export(tmp_path / "out")
    assert open_study(tmp_path / "out").hash == studio.database.read_study().hash


def test_a_view_that_prompts_lack_is_told_when_the_studio_opens(make):
    with pytest.raises(DesignError, match="aesthetics"):
        make({"view": ["aesthetics"]})
