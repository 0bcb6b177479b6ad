"""The owner and an adjudicator in a real Chromium, on a desk and on a phone: watch, invite, settle, change."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import rater_studio
from browser import FINE, OVERFLOW, UNTOUCHABLE, chromium, open_page, wait_in
from doors import Served, served
from owner_studio import answer_all, look, walk

__all__ = ["chromium"]

pytestmark = pytest.mark.browser

DECODED = """Promise.all([...document.images].map(one => {
    one.loading = "eager";
    return one.decode();
}))"""
"""Fails where a picture does."""
LOST = """[...document.querySelectorAll(".top nav a")]
    .filter(one => one.getBoundingClientRect().right > document.documentElement.clientWidth).length"""
"""Pages whose names are out of sight."""
RAGGED = """[...document.querySelectorAll("table :is(.number, .figure)")]
    .filter(one => !one.closest(".cards, .stacked") && getComputedStyle(one).textAlign !== "right").length"""
BARE = """[...document.querySelectorAll(".scroll")]
    .filter(one => getComputedStyle(one).backgroundImage === "none").length"""
"""Tables that may be scrolled, and nothing would say so."""
TOLD = """button => {
    window.told = [];
    new MutationObserver(() => window.told.push(button.textContent)).observe(button, { childList: true });
}"""
"""All that a button says from now on: some words stand there for a second only."""
PAGES = ("/owner", "/owner/raters", "/owner/gallery", "/owner/settings", "/owner/data", "/owner/audit", "/adjudicate")


@pytest.fixture(autouse=True)
def _closed(chromium: Any) -> Iterator[None]:
    """No page asks for fresh figures when its test is over."""
    yield
    for context in chromium.contexts:
        context.close()


@pytest.fixture(scope="module")
def open_door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, str]]:
    with served(tmp_path_factory.mktemp("browser")) as door:
        answer_all(door)
        look(door.studio)
        with rater_studio.served(door.studio) as address:
            yield door, address


def signed_in(chromium: Any, address: str, token: str, **options: Any) -> Any:
    page = open_page(chromium, f"{address}/enter/{token}", **options)
    page.address = address
    return page


def follow(page: Any, control: Any) -> None:
    """Press something, and come back when the page that follows is there: a click alone may return on the old one."""
    with page.expect_navigation():
        control.click()


def problems(page: Any) -> list[str]:
    return [one for one in page.problems if not one.startswith(f"request: {page.address}")]


@pytest.mark.parametrize(("width", "theme"), [(1280, "light"), (390, "dark")])
def test_every_page_fits_shows_its_pictures_and_says_nothing_in_the_console(
    chromium: Any, open_door: tuple[Served, str], width: int, theme: str
) -> None:
    door, address = open_door
    page = signed_in(chromium, address, door.owner, width=width, theme=theme)
    for path in PAGES:
        page.goto(address + path)
        page.evaluate(DECODED)
        assert page.evaluate(OVERFLOW) <= 0, path
        assert [page.evaluate(found) for found in (LOST, RAGGED, BARE)] == [0, 0, 0], path
        assert page.evaluate(FINE) == [], path
        assert width > 400 or page.evaluate(UNTOUCHABLE) == [], path
        assert page.locator("h1").count() == 1
        assert page.locator("nav [aria-current=page]").count() == 1, path
    page.emulate_media(media="print")
    assert (page.locator("nav").is_hidden(), page.locator("button:visible").count()) == (True, 0)
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(255, 255, 255)"
    assert problems(page) == []


def test_figures_come_by_themselves(chromium: Any, open_door: tuple[Served, str]) -> None:
    door, address = open_door
    page = signed_in(chromium, address, door.owner)
    page.clock.install()
    page.reload()
    shown = page.locator("[data-live=totals] strong").first
    before = int(shown.inner_text())
    rater = door.studio.invite("designers")[0].rater
    assert walk(door.studio, rater, most=2) == 2
    page.clock.fast_forward("00:06")
    page.locator("[data-live=totals] strong", has_text=re.compile(f"^{before + 2}$")).first.wait_for()
    assert problems(page) == []


def test_invite_by_keyboard_copy_and_pause(chromium: Any, open_door: tuple[Served, str]) -> None:
    door, address = open_door
    page = signed_in(chromium, address, door.owner, permissions=["clipboard-read", "clipboard-write"])
    page.goto(f"{address}/owner/raters")
    page.get_by_label("How many").fill("2")
    page.get_by_label("How many").press("Enter")
    copy = page.get_by_role("button", name="Copy", exact=True).first
    copy.evaluate(TOLD)
    copy.click()
    wait_in(page, "window.told.includes('Copied')")
    link = page.evaluate("navigator.clipboard.readText()")
    assert re.fullmatch(r"http://[^/]+/enter/[\w-]{43}", link)
    name = page.locator(".links label").first.inner_text()
    follow(page, page.get_by_role("button", name=f"Pause {name}"))
    assert f"{name} is paused" in page.locator("[role=status]").inner_text()
    rater = open_page(chromium, address + "/enter/" + link.rsplit("/", 1)[1])
    assert "paused" in rater.locator("h1").inner_text()
    assert problems(page) == []


@pytest.mark.parametrize("width", [1280, 390])
def test_an_adjudicator_settles_drops_and_takes_back(chromium: Any, open_door: tuple[Served, str], width: int) -> None:
    door, address = open_door
    page = signed_in(chromium, address, door.studio.invite_adjudicator().token, width=width)
    kicker = page.locator(".kicker")
    before = kicker.text_content()
    follow(page, page.locator(".cases a").first)
    page.evaluate(DECODED)
    assert page.evaluate(OVERFLOW) <= 0
    follow(page, page.get_by_role("button", name=re.compile("^Picture 1")))
    assert "key=" in page.url, "the next question follows"
    page.get_by_text("Or drop an item").click()
    follow(page, page.get_by_role("button", name="Drop Picture 2"))
    page.goto(f"{address}/adjudicate")
    for _ in range(2):
        follow(page, page.get_by_role("button", name="Take back").first)
    assert kicker.text_content() == before
    assert problems(page) == []


def test_without_javascript_the_page_is_whole(chromium: Any, open_door: tuple[Served, str]) -> None:
    door, address = open_door
    page = signed_in(chromium, address, door.owner, java_script_enabled=False)
    assert page.locator("h2").count() == 4
    page.goto(f"{address}/owner/settings")
    page.get_by_label("The whole of studio.toml").fill("nonsense = [")
    follow(page, page.get_by_role("button", name="Check and save"))
    assert "Nothing was changed" in page.locator("[role=alert]").inner_text()
    assert page.get_by_label("The whole of studio.toml").input_value().strip() == "nonsense = ["
