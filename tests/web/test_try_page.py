"""The page to try a scoring service in a real browser: by keyboard, under axe, with hostile names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from browser import FINE, UNTOUCHABLE, axe_violations, chromium, open_page
from scoring_server import Served, png, serving

from salon.select import DecisionSettings, WatchedLog

__all__ = ["chromium"]

pytestmark = pytest.mark.browser

TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
HOSTILE = "<img src=x onerror=alert(1)>\"'.png"
SCRIPT = "<script>alert(1)</script><b>bold</b>"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    log = WatchedLog(DecisionSettings(folder=tmp_path_factory.mktemp("tried"), sync=False))
    options = {"decisions": log, "most_images": 6}
    with serving(tmp_path_factory.mktemp("scores"), ("sure", "wide", "dark"), **options) as made:
        yield made
    log.close()


def opened(chromium: Any, served: Served, token: bool = True, **options: Any) -> Any:
    page = open_page(chromium, f"{served.url}/", **options)
    if token:
        page.get_by_label("Token").fill(served.tokens["all"])
        page.get_by_label("Token").press("Tab")
        page.get_by_label("sure").wait_for()
    return page


def files(*grays: int, first: str = "") -> list[dict[str, Any]]:
    names = [first or f"{grays[0]}.png", *(f"{gray}.png" for gray in grays[1:])]
    return [{"name": name, "mimeType": "image/png", "buffer": png(gray)} for name, gray in zip(names, grays)]


def score(page: Any, *grays: int, first: str = "") -> None:
    page.locator("#files").set_input_files(files(*grays, first=first))
    page.get_by_role("button", name="Score", exact=True).click()
    page.locator("#status", has_text="Scored").wait_for()


def quiet(page: Any) -> list[str]:
    """What went wrong, but for refusals that a test asked for and the page's own pictures."""
    return [one for one in page.problems if not one.startswith(("request: blob:", "Failed to load resource"))]


def test_pictures_go_in_and_scores_the_pick_and_disagreement_come_out(chromium: Any, served: Served) -> None:
    page = opened(chromium, served)
    score(page, 40, 90, 60)
    assert page.locator("#verdict .won").inner_text() == "90.png"
    assert page.locator(".standings li.picked .file").inner_text() == "90.png"
    assert [one.inner_text() for one in page.locator(".standings .place").all()] == ["1st", "2nd", "3rd"]
    tied = page.locator(".standings li", has_text="tied")
    assert tied.count() == 2  # 0.8, 1.2 and 1.8 with an sd of .5 each cannot be told apart
    panel = page.get_by_role("table", name="sure")
    assert "[0.82, 2.78]" in panel.inner_text()  # as many digits after the point in all numbers of an axis
    totals = page.locator(".standings .total").all_inner_texts()
    assert totals == ["total 1.80 ± 0.50", "total 1.20 ± 0.50", "total 0.80 ± 0.50"]  # and in all totals
    assert panel.locator(".reach").count() == 3
    widths = [float(one.evaluate("bar => bar.getBoundingClientRect().width")) for one in panel.locator(".bar").all()]
    assert widths[1] / widths[0] == pytest.approx(90 / 40, rel=0.05)  # bars from 0 on one axis
    spread = page.locator("#spread .one")
    assert spread.count() == 3
    # by `wide` all three are equal: the middle place. 40 and 90 are one place off, 60 is in the middle for everybody
    assert "spread of 1 of 2 places: best for wide, worst for sure, dark" in spread.first.inner_text()
    assert "all scorers give it the same place" in spread.last.inner_text()
    assert "dark" in page.locator("#key").inner_text()
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    assert quiet(page) == []
    page.context.close()


def test_weights_move_the_pick_and_what_cannot_be_added_is_said(chromium: Any, served: Served) -> None:
    page = opened(chromium, served)
    wider = {"name": "40.png", "mimeType": "image/png", "buffer": png(40, (20, 8))}
    page.locator("#files").set_input_files([wider, *files(90)])
    page.get_by_role("button", name="Score", exact=True).click()
    page.locator("#verdict .won", has_text="90.png").wait_for()
    page.get_by_label("wide").focus()
    page.keyboard.press("ArrowRight")
    page.locator("#verdict .won", has_text="No pick").wait_for()
    assert "one scale" in page.locator("#verdict").inner_text()
    assert page.locator("#panels table").count() == 3  # the scores are there all the same
    page.get_by_label("sure").focus()
    for _ in range(2):
        page.keyboard.press("ArrowLeft")
    page.locator("#verdict .won", has_text="40.png").wait_for()  # the wider one
    assert quiet(page) == []
    page.context.close()


def test_by_keyboard_alone_and_a_choice_goes_to_the_log(chromium: Any, served: Served) -> None:
    page = opened(chromium, served)
    page.locator("#files").set_input_files(files(40, 90))
    page.get_by_role("button", name="Remove 40.png").focus()
    page.keyboard.press("Enter")
    assert page.get_by_role("button", name="Remove 90.png").evaluate("one => one === document.activeElement")
    page.locator("#files").set_input_files(files(50))
    page.get_by_label("Prompt").focus()
    page.keyboard.type("A jazz night")
    page.keyboard.press("Control+Enter")
    page.locator("#status", has_text="Scored 2 pictures").wait_for()
    page.get_by_role("button", name="I would pick 50.png").press("Enter")
    assert "A name is needed" in page.locator("#kept").inner_text()
    page.keyboard.type("ana")
    page.get_by_role("button", name="I would pick 50.png").press("Enter")
    page.locator("#kept", has_text="The service had picked another").wait_for()
    assert served.app.state.decisions.said()[-1].rater == "ana"
    page.context.close()


def test_names_and_prompts_are_only_ever_text(chromium: Any, served: Served) -> None:
    page = opened(chromium, served)
    page.get_by_label("Prompt").fill(SCRIPT)
    score(page, 90, 40, first=HOSTILE)
    assert page.locator("#verdict .won").inner_text() == HOSTILE
    assert page.locator("#spread", has_text=HOSTILE).count() == 1
    assert page.locator("main script, main b").count() == 0
    assert page.locator("main img[src=x]").count() == 0
    assert quiet(page) == []  # no dialog, nothing that the policy of the page had to stop
    page.context.close()


def test_errors_are_sentences(chromium: Any, served: Served) -> None:
    page = opened(chromium, served, token=False)
    page.get_by_label("Token").fill("wrong")
    page.get_by_label("Token").press("Tab")
    page.get_by_role("alert").get_by_text("A token that is known is needed.").wait_for()
    page.get_by_label("Token").fill(served.tokens["all"])
    page.get_by_label("Token").press("Tab")
    page.get_by_label("sure").wait_for()
    page.get_by_role("button", name="Score", exact=True).click()
    assert page.locator("#status").inner_text() == "Choose a picture first."
    page.locator("#files").set_input_files([{"name": "a.png", "mimeType": "image/png", "buffer": b"no picture"}])
    page.get_by_role("button", name="Score", exact=True).click()
    page.get_by_role("alert").get_by_text("a.png: A picture as").wait_for()
    page.locator("#files").set_input_files(
        [*files(*range(40, 48)), {"name": "t", "mimeType": "text/x", "buffer": b"t"}]
    )
    assert "at most 6 at once" in page.locator("#status").inner_text()
    assert "1 file left out: no picture" in page.locator("#status").inner_text()
    assert quiet(page) == []
    page.context.close()


def test_the_token_stays_in_the_tab(chromium: Any, served: Served) -> None:
    page = opened(chromium, served)
    page.reload()
    assert page.get_by_label("Token").input_value() == served.tokens["all"]
    page.get_by_label("sure").wait_for()
    assert page.evaluate("localStorage.length") == 0
    assert page.context.cookies() == []
    other = page.context.new_page()
    other.goto(f"{served.url}/")
    assert other.get_by_label("Token").input_value() == ""
    page.context.close()


def test_pasted_and_dropped_pictures_are_taken(chromium: Any, served: Served) -> None:
    page = opened(chromium, served)
    for kind, held in (("paste", "clipboardData"), ("drop", "dataTransfer")):
        page.evaluate(
            """([kind, held, bytes]) => {
              const given = new DataTransfer();
              given.items.add(new File([new Uint8Array(bytes)], kind + ".png", { type: "image/png" }));
              const event = new Event(kind, { bubbles: true, cancelable: true });
              Object.defineProperty(event, held, { value: given });
              document.body.dispatchEvent(event);
            }""",
            [kind, held, list(png(70))],
        )
    assert [one.inner_text() for one in page.locator("#chosen span").all()] == ["paste.png", "drop.png"]
    page.context.close()


def test_nothing_serious_under_axe_at_a_desk_and_on_a_phone(chromium: Any, served: Served) -> None:
    page = opened(chromium, served, bypass_csp=True)
    found = []
    for filled, looks in ((False, ((390, "light"),)), (True, ((1280, "light"), (390, "dark")))):
        if filled:
            score(page, 40, 90, 60)
        for width, theme in looks:
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(color_scheme=theme, reduced_motion="reduce")
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert (page.evaluate(FINE), page.evaluate(UNTOUCHABLE) if width < 400 else []) == ([], [])
            for broken in axe_violations(page, runOnly=TAGS):
                if broken["impact"] in ("serious", "critical"):
                    found.append((theme, width, broken["id"], [node["html"][:120] for node in broken["nodes"][:3]]))
    assert found == []
    page.context.close()


def test_the_frame_tells_nothing_and_is_under_a_strict_policy(served: Served) -> None:
    with served.client(None) as client:
        answer = client.get("/")
    policy = answer.headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy
    assert "sure" not in answer.text
    assert " style=" not in answer.text
    assert "<script>" not in answer.text


def test_a_page_that_is_not_there_speaks_of_the_service(served: Served) -> None:
    with served.client(None) as client:
        answer = client.get("/nowhere")
    assert (answer.status_code, "<h1>Nothing here</h1>" in answer.text) == (404, True)
    assert "A route of this service is needed. See /v1/openapi.json." in answer.text
    assert "studio" not in answer.text
    assert "link again" not in answer.text
