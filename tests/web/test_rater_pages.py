"""A rater's pages as plain forms: every screen, what each form saves, and that nothing leaks."""

from __future__ import annotations

import re
from typing import get_args

import pytest
from doors import BASE, make_folder
from page_words import placeholders
from rater_studio import FLAW, OVERALL, TYPE, close, open_studio, phase
from starlette.testclient import TestClient

from salon.collect import Outcome, languages
from salon.collect.panels import Fault
from salon.study import Study
from salon.web.app import create_app
from salon.web.rendering import _MORE, TEMPLATES, PageWords, markdown
from salon.web.settings import WebSettings


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """A folder of six plain pictures, and their study under three criteria."""
    folder = tmp_path_factory.mktemp("pages") / "study"
    study = make_folder(folder)
    tables = {kind: study.table(kind) for kind in ("prompts", "items")}
    return folder, Study.build("small", [OVERALL, TYPE, FLAW], tables=tables)


class Browser:
    """A rater's browser without JavaScript."""

    def __init__(self, studio):
        app = create_app(studio, WebSettings(folder=studio.folder))
        self.studio = studio
        self.invited = studio.invite("designers")[0]
        self.client = TestClient(app, base_url=BASE, follow_redirects=True)
        self.page = self.client.get(f"/enter/{self.invited.token}")

    @property
    def text(self):
        assert self.page.status_code == 200, self.page.text
        return self.page.text

    def look(self, address="/"):
        self.page = self.client.get(address)
        return self.text

    def send(self, where, **fields):
        """Post a form of the page, its hidden fields included."""
        form = re.search(rf'<form method="post" action="{where}".*?</form>', self.text, re.S)
        assert form, f"no form for {where} on the page"
        hidden = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', form[0]))
        self.page = self.client.post(re.search('action="([^"]+)"', form[0])[1], data=hidden | fields)
        return self.text

    def answer(self, **fields):
        return self.send(r"/tasks/\d+/answer", **fields)

    def study(self):
        return self.studio.database.read_study()


@pytest.fixture
def visit(pictures, tmp_path):
    """Open a studio with these phases as a rater."""
    opened = []

    def visited(*phases, **more):
        folder, study = pictures
        studio = open_studio(folder, study, tmp_path / f"{len(opened)}.db", *phases, **more)
        opened.append(studio)
        return Browser(studio)

    yield visited
    for studio in opened:
        close(studio)


def test_what_comes_first_comes_one_page_after_the_other(visit):
    asked = {"id": "job", "text": "Designer?", "options": ["Yes", "No"], "accept": ["Yes"]}
    rater = visit(
        phase("c", "compare"),
        consent={"text": "**Agree** <b>now</b>?"},
        screener=[asked],
        profile=["Years"],
        guidelines="# Look",
    )
    assert "<strong>Agree</strong> &lt;b&gt;now" in rater.text
    rater.send("/consent")
    assert "Designer?" in rater.text
    assert "answer every question" in rater.send("/screener")
    assert "Years" in rater.send("/screener", **{"question.job": "Yes"})
    assert "<h1>Look</h1>" in rater.send("/profile", **{"field.Years": "12"})
    assert "Which poster would you" in rater.send("/guidelines")
    assert rater.studio.database.profile(rater.invited.rater)["profile"] == {"Years": "12"}


@pytest.mark.parametrize(("language", "begin"), [("en", "Begin"), ("de", "Beginnen")])
def test_the_welcome_page_comes_once_and_before_everything(visit, language, begin):
    rater = visit(phase("c", "compare"), welcome=True, language=language, consent={"text": "Agree?"})
    assert f">{begin}</button>" in rater.text
    assert "<dd>6</dd>" in rater.text  # three pairs of each prompt
    assert OVERALL.title in rater.text
    assert "Agree?" not in rater.text
    assert rater.studio.database.tasks_of(rater.invited.rater) == []  # no clock runs before the rater begins
    assert "Agree?" in rater.send("/welcome")
    assert "Agree?" in rater.look(f"/enter/{rater.invited.token}")
    rater.send("/consent")
    assert f'<span class="kicker">{OVERALL.title}</span> <span class="asks">{OVERALL.question}</span>' in rater.text


def test_a_rater_who_answered_before_or_was_paused_is_not_welcomed(visit):
    rater = visit(phase("c", "compare"), welcome=True)
    rater.studio.next(rater.invited.rater)  # a studio that was opened before it had such a page
    assert "Begin" not in rater.look()
    rater.studio.database.set_status(rater.invited.rater, "paused", by=None)
    assert "paused" in rater.look()


def test_compare_saves_the_side_that_was_chosen(visit):
    rater = visit(phase("c", "compare", ties=True, both_bad=True))
    task = rater.studio.next(rater.invited.rater)
    rater.answer(answer0="right")
    row = rater.study().table("comparisons").to_pylist()[0]
    assert row[row["outcome"]] == task.shown.order[1]
    rater.answer(answer0="both_bad")
    assert rater.study().table("comparisons").to_pylist()[1]["outcome"] == "both_bad"
    assert "2 of 6" in rater.text


def test_several_criteria_a_reason_and_a_missing_answer(visit):
    rater = visit(phase("c", "compare", "overall", "type", together=True, rationale="required"))
    assert "not accepted" in rater.answer(answer0="left", rationale="calm")
    assert "not accepted" in rater.answer(answer0="left", answer1="right")
    rater.answer(answer0="left", answer1="right", rationale="calm")
    rows = rater.study().table("comparisons").to_pylist()
    assert [(row["criterion"], row["rationale"]) for row in rows] == [("overall", "calm"), ("type", "calm")]


@pytest.mark.parametrize(("kind", "criterion", "value"), [("rate", "overall", 4), ("flag", "flaw", 2)])
def test_rate_and_flag_save_the_level(visit, kind, criterion, value):
    rater = visit(phase("c", kind, criterion))
    assert ("Deliver it" if kind == "rate" else "Major") in rater.text
    rater.answer(answer0=str(value))
    assert rater.study().table("ratings").to_pylist()[0]["value"] == value
    assert "not accepted" in rater.answer(answer0="9")


def test_choose_checklist_regions_and_text(visit):
    chooser = visit(phase("c", "choose"))
    order = chooser.studio.next(chooser.invited.rater).shown.order
    chooser.answer(answer0="2")
    assert chooser.study().table("choices").to_pylist()[0]["chosen"] == order[2]
    lister = visit(phase("c", "checklist", "flaw", points=["sharp", "whole"]))
    lister.answer(**{"point0.0": "yes", "point0.1": "unclear"})
    assert lister.study().table("checklists").to_pylist()[0]["answers"] == [True, None]
    marker = visit(phase("c", "regions", "flaw", grid=[2, 2]))
    marker.answer(cell0=["1", "2"])
    assert marker.study().table("checklists").to_pylist()[0]["answers"] == [False, True, True, False]
    writer = visit(phase("c", "text"))
    writer.answer(answer0="calm\nclear")
    assert writer.study().table("checklists").to_pylist()[0]["points"] == ["calm", "clear"]


def test_ranking_pair_by_pair_settles_an_order(visit):
    rater = visit(phase("c", "rank"))
    task = rater.studio.next(rater.invited.rater)
    want = sorted(task.shown.order)
    names = dict(zip(task.shown.code_names, task.shown.order))
    for _ in range(3):
        shown = [names[name] for name in re.findall("<figcaption>([A-Z]{3})</figcaption>", rater.text)]
        if not shown:
            break
        side = "left" if shown[0] < shown[1] else "right"
        rater.send(r"/tasks/\d+/pair", pair=re.search(rf'side-{side}" name="pair" value="(\w)"', rater.text)[1])
    ranks = re.findall(r'name="(rank0\.\d)".*?<option selected>(\d)</option>', rater.text, re.S)
    rater.answer(**dict(ranks))
    assert rater.study().table("rankings").to_pylist()[0]["items"] == want


def test_ranking_by_hand_takes_the_numbers_and_refuses_ties(visit):
    rater = visit(phase("c", "rank", ranking="drag", ties=False))
    order = rater.studio.next(rater.invited.rater).shown.order
    assert "not accepted" in rater.answer(**{"rank0.0": "1", "rank0.1": "1", "rank0.2": "2"})
    rater.answer(**{"rank0.0": "3", "rank0.1": "1", "rank0.2": "2"})
    assert rater.study().table("rankings").to_pylist()[0]["items"] == [order[1], order[2], order[0]]


def test_skipping_needs_no_answer(visit):
    rater = visit(phase("c", "compare", rationale="required"))
    rater.answer(skip="broken image")
    assert rater.study().table("comparisons").to_pylist()[0]["skipped"] == "broken image"


def test_the_prompt_first_and_the_server_keeps_the_time(visit):
    rater = visit(phase("c", "compare"), times={"prompt": 20, "ready_after": 0, "compare": 10})
    assert "I&#39;m ready" in rater.text
    assert "<img" not in rater.text
    rater.send(r"/tasks/\d+/ready")
    assert rater.text.count("<img") == 2
    assert "look a little longer: 10 s" in rater.answer(answer0="left")
    assert rater.study().counts.get("comparisons", 0) == 0


def test_the_same_form_twice_is_one_answer_and_undo_brings_it_back(visit):
    rater = visit(phase("c", "compare"))
    first = rater.page
    assert 'class="quiet" data-key="u" disabled' in rater.text
    after = rater.answer(answer0="left")
    rater.page = first
    assert task_of(rater.answer(answer0="left")) == task_of(after)
    assert rater.study().counts["comparisons"] == 1
    assert "was taken back" in rater.send("/undo")
    assert task_of(rater.text) == task_of(first.text)
    assert rater.study().counts.get("comparisons", 0) == 0


def test_the_end_tells_code_and_pay_and_a_rest_when_to_come_back(visit):
    rater = visit(phase("c", "rate", questions_each=1), completion_code="XYZ-1", pay={"flat": 25})
    page = rater.answer(answer0="3")
    assert "XYZ-1" in page
    assert "25.00 USD" in page
    rested = visit(phase("c", "rate", questions_each=1), phase("d", "compare", rest_hours=48))
    assert "Time for a rest" in rested.answer(answer0="3")


def test_withdrawing_is_asked_twice_and_ends_the_link(visit):
    rater = visit(phase("c", "rate"))
    rater.answer(answer0="3")
    rater.look("/withdraw")
    assert rater.study().counts["ratings"] == 1
    assert "no longer used" in rater.send("/withdraw")
    assert rater.study().counts.get("ratings", 0) == 0
    assert rater.client.get("/").status_code == 401


def test_stopping_signs_out_here_and_the_link_goes_on(visit):
    rater = visit(phase("c", "rate"))
    rater.answer(answer0="3")
    assert "signed out on this device" in rater.send("/leave")
    assert rater.client.get("/").status_code == 401
    assert "1 of 6" in rater.look(f"/enter/{rater.invited.token}")


def test_a_pair_of_a_ranking_is_skipped_with_the_ranking_and_undone_alone(visit):
    rater = visit(phase("c", "rank", ties=False))
    assert "Question 2 of at most 3" in rater.send(r"/tasks/\d+/pair", pair="1")
    assert "Question 1 of at most 3" in rater.send("/undo")
    assert "not accepted" in rater.send(r"/tasks/\d+/pair", pair="t")
    where = re.search(r'value="cannot judge" formaction="([^"]+)"', rater.text)[1]
    form = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', rater.text))
    rater.page = rater.client.post(where, data=form | {"skip": "cannot judge"})
    assert rater.study().table("rankings").to_pylist()[0]["skipped"] == "cannot judge"


def test_a_script_is_told_where_to_go(visit):
    rater = visit(phase("c", "compare"))
    form = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', rater.text))
    where = re.search(r'action="(/tasks/\d+/answer)"', rater.text)[1]
    for answer, there in (("nothing", "/?note=not_accepted"), ("left", "/")):
        said = rater.client.post(where, data=form | {"answer0": answer}, headers={"X-Salon-Script": "1"})
        assert (said.status_code, said.headers["x-next"]) == (204, there)


def test_an_attention_check_says_what_to_choose(visit):
    rater = visit(phase("c", "rate", checks={"repeats": 0, "attention": 1}))
    for _ in range(7):
        told = re.search(r"This is a check. Please choose (\d)", rater.text)
        rater.answer(answer0=told[1] if told else "3")
        if told:
            break
    assert told
    tasks = rater.studio.database.tasks_of(rater.invited.rater)
    answered = sum(task.answered_at is not None for task in tasks)
    assert rater.study().counts["ratings"] == answered - 1  # the check tells about the rater, not about the picture


def test_the_qualification_says_what_is_needed_and_a_long_visit_suggests_a_break(visit):
    gold = [{"criterion": "overall", "items": ["p0-0", "p0-1"], "better": "p0-0"}]
    test = {"questions": 1, "right": 1, "attempts": 2}
    rater = visit(phase("c", "rate"), gold=gold, qualification=test, break_minutes=1e-6)
    assert "1 questions come first; 1 right answers are needed" in rater.text
    shown = rater.studio.next(rater.invited.rater).shown
    again = rater.answer(answer0="right" if shown.order[0] == "p0-0" else "left")
    assert "0 of 1 were right" in again
    assert "A short break?" in again
    side = rater.studio.next(rater.invited.rater).shown.order.index("p0-0")
    assert "How ready is this poster" in rater.answer(answer0=("left", "right")[side])
    assert rater.study().counts.get("comparisons", 0) == 0


def test_pages_name_no_item_no_generator_and_no_file(visit):
    rater = visit(phase("c", "compare"), phase("d", "rank"))
    for _ in range(6):
        assert not re.search(r"secret-generator|p\d-\d|\.png\"(?<!full\.png\")", rater.text)
        rater.answer(answer0="left")
    assert not re.search(r"secret-generator|p\d-\d", rater.text)


def test_pages_hold_no_script_or_style_of_their_own(visit):
    rater = visit(phase("c", "compare", ties=True), guidelines="")
    assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]+src=\"/static/)", rater.text)
    for template in TEMPLATES.rglob("*.html"):
        assert not re.search(r"<style|\sstyle=|\son\w+=|\|\s*safe", template.read_text()), template


def test_a_page_in_german(visit):
    rater = visit(phase("c", "compare"), language="de")
    assert 'lang="de"' in rater.text
    assert "Rückgängig" in rater.text or "zurücknehmen" in rater.text


def test_every_language_has_the_same_sentences_with_the_same_names():
    assert set(_MORE) == set(languages())
    english = _MORE["en"]
    for language, sentences in _MORE.items():
        assert {key: placeholders(text) for key, text in sentences.items()} == {
            key: placeholders(text) for key, text in english.items()
        }, language
    used = {key for file in TEMPLATES.rglob("*.html") for key in re.findall(r'\bt\("([a-z_.]+)"', file.read_text())}
    assert len(used) > 50
    for language in languages():
        words = PageWords(language)
        assert used <= set(words._sentences)


def test_no_sentence_is_kept_that_no_page_says():
    files = [*TEMPLATES.rglob("*.html"), *TEMPLATES.parent.rglob("*.py")]
    said = "".join(file.read_text() for file in files)
    faults = {f"panel.{fault}_{part}" for fault in get_args(Fault) for part in ("title", "words")}
    spoken = faults | {f"panel.{outcome}" for outcome in get_args(Outcome)}
    unsaid = [key for key in _MORE["en"] if f'"{key}"' not in said and not key.startswith("status.")]
    assert [key for key in unsaid if key not in spoken] == []


def test_markdown_of_the_owner_holds_no_html_and_no_script():
    made = markdown('<script>x</script> [a](javascript:alert(1)) ![b](data:text/html,x) "c"')
    assert "<script" not in made
    assert "<a" not in made
    assert "<img" not in made


def task_of(page):
    """Which task a page is about."""
    return re.search(r"/tasks/(\d+)/answer", page)[1]
