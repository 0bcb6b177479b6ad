"""A public arena in a real Chromium: an anonymous voter on a phone from consent to vote to reveal to board."""

from __future__ import annotations

import pytest
from arena_site import GENERATORS, draw_arena, fit, served_arena
from browser import FINE, OVERFLOW, UNTOUCHABLE, axe_violations, chromium, open_page, wait_in
from postgres import fresh_url

__all__ = ["chromium"]

pytestmark = pytest.mark.browser

LOADED = "[...document.images].every(image => image.complete && image.naturalWidth > 0)"
PHONE = {"width": 390, "theme": "dark", "has_touch": True, "is_mobile": True}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("arena") / "study"
    draw_arena(place)
    return place


@pytest.fixture
def serve(folder, tmp_path, monkeypatch):
    monkeypatch.setattr("salon.web.arena.state.BOARD_SECONDS", 0)
    running = []

    def serving(**options):
        context = served_arena(folder, fresh_url("sqlite", tmp_path), **options)
        running.append(context)
        return context.__enter__()

    yield serving
    for context in running:
        context.__exit__(None, None, None)


def problems(page, address):
    return [one for one in page.problems if not one.startswith(f"request: {address}")]


def faults(page, *, phone=True):
    """What a reader would stumble over on the page as it stands."""
    found = [(one["id"], one["nodes"][0]["html"][:120]) for one in axe_violations(page)]
    found += [("fine print", words) for words in page.evaluate(FINE)]
    found += [("too low", tag) for tag in page.evaluate(UNTOUCHABLE) if phone]
    found += [("scrolls sideways",)] if page.evaluate(OVERFLOW) > 0 else []
    return found


def test_a_stranger_on_a_phone_from_consent_to_the_board(chromium, serve):
    address, arena = serve(web={"difficulty": 8})
    page = open_page(chromium, address, bypass_csp=True, **PHONE)
    assert faults(page) == []
    with page.expect_navigation():
        page.tap("button.main")  # the puzzle is solved by the page
    wait_in(page, LOADED)
    assert faults(page) == []
    assert not [name for name in GENERATORS if name in page.content()]
    left, right = page.locator(".pictures img").all()
    assert left.bounding_box()["y"] < right.bounding_box()["y"]  # stacked
    left.tap()
    wait_in(page, "document.querySelector('dialog.zoom[open] .pane.current img')?.naturalWidth > 0")
    assert faults(page) == []
    page.locator("dialog.zoom .switch button").nth(1).tap()
    page.locator("dialog.zoom button[type=submit]").tap()
    with page.expect_navigation():
        page.tap("button.side-left")
    wait_in(page, LOADED)
    assert sum(name in page.content() for name in GENERATORS) == 2
    assert "You chose" in page.inner_text("h1")
    assert faults(page) == []
    page.go_back()  # and the same form again: nothing is counted twice
    page.goto(f"{address}/vote")
    for answer in ("side-right", "side-tie", "side-both_bad"):
        with page.expect_navigation():
            page.tap(f"button.{answer}")
        with page.expect_navigation():
            page.tap("a.main")
    assert arena.database.count_votes("best")[0] == 4
    fit(arena)
    with page.expect_navigation():
        page.tap(".ways a")
    assert page.inner_text("h1") == "Board"
    page.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true; })")
    assert faults(page) == []
    assert problems(page, address) == []
    page.context.close()


def test_by_keyboard_at_a_desk(chromium, serve):
    address, arena = serve(web={"difficulty": 8})
    page = open_page(chromium, address, bypass_csp=True)
    assert faults(page, phone=False) == []
    with page.expect_navigation():
        page.locator("button.main").press("Enter")
    for key in ("ArrowLeft", "ArrowRight", "ArrowDown", "b"):
        wait_in(page, LOADED)
        assert faults(page, phone=False) == []
        with page.expect_navigation():
            page.keyboard.press(key)
        with page.expect_navigation():
            page.keyboard.press("Enter")
    votes = [row[7] for part in arena.database.arena_votes("best") for row in part]
    assert votes == [0, 1, 2, 3]
    assert problems(page, address) == []
    page.context.close()


def test_four_pictures_in_an_order_chosen_one_after_the_other(chromium, serve):
    address, arena = serve(web={"difficulty": 0}, ballots="fours")
    page = open_page(chromium, address, bypass_csp=True, **PHONE)
    with page.expect_navigation():
        page.tap("button.main")
    wait_in(page, LOADED)
    assert not page.locator("button.send").is_visible()
    buttons = page.locator("figcaption .answer")
    for place in (2, 0, 3):
        buttons.nth(place).tap()
    assert [button.inner_text() for button in buttons.all()] == ["Place 2", "Choose", "Place 1", "Place 3"]
    assert faults(page) == []
    page.tap("button.again")
    for place in (1, 3):
        buttons.nth(place).tap()
    with page.expect_navigation():
        page.tap("button.send")
    assert sum(name in page.content() for name in GENERATORS) == 4
    assert faults(page) == []
    page.goto(f"{address}/vote")
    with page.expect_navigation():
        page.locator("button", has_text="All bad").tap()
    votes = [row[7] for part in arena.database.arena_votes("best") for row in part]
    assert votes == [24, 0]
    assert problems(page, address) == []
    page.context.close()
