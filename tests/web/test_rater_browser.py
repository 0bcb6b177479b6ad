"""A rater in a real Chromium: from the link to the end by keyboard alone, off line and on again, on a phone."""

from __future__ import annotations

import pytest
from browser import FINE, OVERFLOW, UNTOUCHABLE, chromium, open_page, wait_in
from rater_studio import close, draw_posters, open_studio, phase, served

from salon.collect import RawAnswer

__all__ = ["chromium"]

pytestmark = pytest.mark.browser

FREE = "form[data-wait]:not(.held)"
LOADED = "[...document.images].every(image => image.complete && image.naturalWidth > 0)"


@pytest.fixture(scope="module")
def posters(tmp_path_factory):
    folder = tmp_path_factory.mktemp("posters") / "study"
    return folder, draw_posters(folder, prompts=1)


@pytest.fixture
def serve(posters, tmp_path):
    """Serve a studio with these phases; its address and a rater's link."""
    running = []

    def serving(*phases, **more):
        studio = open_studio(*posters, tmp_path / f"{len(running)}.db", *phases, **more)
        server = served(studio)
        running.append((studio, server))
        address = server.__enter__()
        invited = studio.invite("designers")[0]
        return studio, f"{address}/enter/{invited.token}", invited.rater

    yield serving
    for studio, server in running:
        server.__exit__(None, None, None)
        close(studio)


def opened(chromium, link, **options):
    """A page on the link; addresses of the studio itself are no strangers."""
    page = open_page(chromium, link, **options)
    page.problems[:] = [one for one in page.problems if not one.startswith(f"request: {origin(link)}")]
    return page


def problems(page, link):
    return [one for one in page.problems if not one.startswith(f"request: {origin(link)}")]


def origin(link):
    return link.rsplit("/enter/", 1)[0]


def press(page, key):
    """A key, and the page that follows."""
    with page.expect_navigation():
        page.keyboard.press(key)


def test_from_the_link_to_the_end_by_keyboard(chromium, serve):
    studio, link, _ = serve(
        phase("pairs", "compare", "overall", "type", ties=True),
        phase("levels", "rate", "overall", "type", together=True),
        consent={"text": "You may stop at any time."},
        guidelines="Look closely.",
        times={"guidelines": 0.1, "prompt": 600, "compare": 0.1, "rate": 0},
        completion_code="SEA-1",
    )
    page = opened(chromium, link)
    for key in ("Tab", "Enter", "Tab"):  # skip to the task
        page.keyboard.press(key)
    press(page, "Enter")
    page.wait_for_selector(FREE)
    press(page, "Enter")
    assert page.locator("img").count() == 0  # the prompt alone
    press(page, "Enter")
    for key in ("ArrowLeft", "ArrowDown"):
        page.wait_for_selector(FREE)
        wait_in(page, LOADED)
        press(page, key)
    for first, second in (("4", "2"), ("5", "1")):
        page.keyboard.press(first)
        page.keyboard.press(second)
        assert page.locator(":focus").inner_text() == "Save and go on"
        press(page, "Enter")
    assert page.locator("output").inner_text() == "SEA-1"
    assert problems(page, link) == []
    study = studio.database.read_study()
    assert study.table("comparisons").to_pylist()[1]["outcome"] == "tie"
    assert [row["value"] for row in study.table("ratings").to_pylist()] == [4, 2, 5, 1]
    page.context.close()


def test_before_the_least_time_is_over_a_key_does_nothing_but_say_so(chromium, serve):
    studio, link, rater = serve(phase("pairs", "compare"), times={"prompt": 0, "compare": 600})
    page = opened(chromium, link)
    page.keyboard.press("ArrowLeft")
    page.locator("button.side-right").click()
    assert "Please look a little longer" in page.locator(".waiting").inner_text()
    assert studio.database.given(rater) == []
    assert problems(page, link) == []
    page.context.close()


def test_zoom_shows_both_and_undo_goes_back(chromium, serve):
    _, link, _ = serve(phase("pairs", "compare", "overall", "type"))
    page = opened(chromium, link)
    page.keyboard.press("z")
    assert page.locator("dialog[open] .pane img").count() == 2
    page.keyboard.press("ArrowLeft")  # no answer while looking closer
    page.keyboard.press("Escape")
    assert page.locator("dialog[open]").count() == 0
    first = page.locator("form.answering").get_attribute("action")
    press(page, "ArrowRight")
    assert page.locator("form.answering").get_attribute("action") != first
    press(page, "u")
    assert page.locator("form.answering").get_attribute("action") == first
    assert "taken back" in page.locator(".said").inner_text()
    assert problems(page, link) == []
    page.context.close()


def test_an_answer_given_off_line_is_sent_when_the_line_is_back_and_once(chromium, serve):
    studio, link, rater = serve(phase("pairs", "compare", "overall", "type"))
    page = opened(chromium, link)
    page.context.set_offline(True)
    page.locator("button.side-left").dblclick()
    wait_in(page, "document.querySelector('.waiting').textContent.includes('offline')")
    assert studio.database.given(rater) == []
    page.context.set_offline(False)
    page.wait_for_selector("text=1 of 2")
    assert len(studio.database.given(rater)) == 1
    page.context.close()


def test_another_device_sees_the_same_question_and_one_answer_counts(chromium, serve):
    studio, link, rater = serve(phase("pairs", "compare", "overall", "type"))
    desk, phone = opened(chromium, link), opened(chromium, link, width=390)
    assert phone.locator("form.answering").get_attribute("action") == desk.locator("form.answering").get_attribute(
        "action"
    )
    press(desk, "ArrowLeft")
    press(phone, "ArrowRight")  # the same question: too late, on to the next
    assert phone.locator("form.answering").get_attribute("action") == desk.locator("form.answering").get_attribute(
        "action"
    )
    assert len(studio.database.given(rater)) == 1
    desk.context.close()
    phone.context.close()


def test_an_order_by_hand(chromium, serve):
    studio, link, rater = serve(phase("order", "rank", ranking="drag"))
    shown = studio.next(rater).shown
    page = opened(chromium, link)
    page.locator("[data-move='1']").first.click()  # the first picture moves one place down
    with page.expect_navigation():
        page.get_by_text("Keep this order").click()
    assert studio.database.given(rater)[0].record["items"] == [shown.order[1], shown.order[0]]
    assert problems(page, link) == []
    page.context.close()


def test_every_screen_fits_a_phone_in_longer_words(chromium, serve):
    screens = [
        phase("a", "compare", ties=True, both_bad=True),
        phase("b", "rate", "overall", "type", "flaw", together=True, rationale="optional", questions_each=1),
        phase("c", "choose"),
        phase("d", "rank"),
        phase("e", "checklist", "flaw", points=["Everything can be read"], questions_each=1),
        phase("f", "regions", "type", questions_each=1),
        phase("g", "text", "overall", questions_each=1),
    ]
    studio, link, rater = serve(*screens, language="de")
    page = opened(chromium, link, width=390)
    for screen in screens:
        step = studio.next(rater)
        assert step.phase.id == screen["id"]
        page.goto(origin(link))
        for theme in ("light", "dark"):
            page.emulate_media(color_scheme=theme)
            assert page.evaluate(OVERFLOW) == 0, screen["protocol"]
        assert (page.evaluate(FINE), page.evaluate(UNTOUCHABLE)) == ([], []), screen["protocol"]
        studio.submit(rater, step.id, RawAnswer(skipped="cannot judge"), key=f"key-{screen['id']}")
    assert problems(page, link) == []
    page.context.close()
