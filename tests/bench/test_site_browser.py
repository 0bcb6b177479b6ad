"""The site in a real browser: it sorts, filters, remembers in its address, walks by keys, asks nobody for anything."""

from __future__ import annotations

from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import unquote

import pytest
from board_example import make_board, make_suite
from browser import FINE, OVERFLOW, UNTOUCHABLE, axe_violations, chromium, open_page, wait_in
from snapshot_example import make_arena, make_raters

from salon.bench import build_site, open_board, publish_snapshot, retract

__all__ = ["chromium"]
pytestmark = pytest.mark.browser

HOSTILE = '<img src=x onerror="window.pwned=1">\'\u202e'
PAGES = (
    "index.html", "generators/atlas.html", "generators/gone.html", "prompts/p001.html", "prompts/p012.html",
    "prompts/index.html", "tags.html", "arena.html", "arena/mood--posters.html", "raters.html", "method.html",
    "data/index.html",
)  # fmt: skip
"""One of each kind: a published entry and a retracted one, a public prompt and a private one."""
SEEN = "[...document.images].slice(0, 3).every(one => one.complete && one.naturalWidth > 0)"


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> str:
    """Four published entries, one provisional, one retracted; the address of its site on disk, with a space in it."""
    place = tmp_path_factory.mktemp("site") / "board"
    entries = {
        "atlas": {"skill": 0.97, "taste": 0.9, "by": "Lab A"},
        "birch": {"skill": 0.6, "taste": 0.2, "by": "Lab B"},
        "cedar": {"skill": 0.9, "taste": -1.5, "by": "Lab B"},
        HOSTILE: {"skill": 0.3, "taste": -0.4, "missing": 2, "by": "a" * 90, "title": f"{'long ' * 18}{HOSTILE}"},
        "later": {"unanswered": 4},
        "gone": {},
    }
    board, _ = make_board(place, make_suite(12), entries)
    retract(board, "gone", HOSTILE)
    publish_snapshot(place / "arena", make_arena(["atlas", HOSTILE, "cedar"]))
    publish_snapshot(place / "raters", make_raters(["aesthetic", HOSTILE, "ocr"]))
    out = place.parent / "my site"
    build_site(open_board(place), out)
    return out.as_uri()


def shown(browser: Any, root: str, path: str, **options: Any) -> Any:
    """A page of the site; its own files are no problem."""
    page = open_page(browser, f"{root}/{path}", **options)
    page.wait_for_load_state("load")
    return page


def faults(page: Any, root: str) -> list[str]:
    return [one for one in page.problems if not one.startswith(f"request: {root}/")]


def names(page: Any) -> list[str]:
    return page.eval_on_selector_all(".board tbody tr:not([hidden]) .name a", "all => all.map(one => one.textContent)")


@pytest.mark.parametrize(
    ("width", "theme"),
    [
        pytest.param(1280, "dark", id="desk-dark"),
        pytest.param(390, "light", id="phone-light"),
        pytest.param(1280, "light", id="desk-light", marks=pytest.mark.slow),
        pytest.param(390, "dark", id="phone-dark", marks=pytest.mark.slow),
    ],
)
def test_every_page_is_sound_accessible_and_asks_for_nothing(chromium, root, width, theme):
    page = shown(chromium, root, PAGES[0], width=width, theme=theme)
    for path in PAGES:
        page.goto(f"{root}/{path}")
        assert page.evaluate(OVERFLOW) <= 0, path
        assert page.evaluate(FINE) == [], path
        assert width > 400 or page.evaluate(UNTOUCHABLE) == [], path
        assert page.evaluate("window.pwned") is None, path
        assert [(one["id"], one["nodes"][0]["html"]) for one in axe_violations(page)] == [], path
    assert faults(page, root) == []
    page.context.close()


def test_a_click_sorts_and_the_address_brings_it_back(chromium, root):
    page = shown(chromium, root, "index.html")
    first = names(page)
    assert first[0] == "atlas"
    page.click("th[data-column=eps] button")
    by_eps = names(page)
    values = page.eval_on_selector_all(".board tbody tr", "all => all.map(one => Number(one.cells[4].dataset.sort))")
    assert values == sorted(values, reverse=True)
    assert by_eps[:2] == ["atlas", "birch"]
    assert page.get_attribute("th[data-column=eps]", "aria-sort") == "descending"
    ranks = page.eval_on_selector_all(".board td.place b", "all => all.map(one => one.textContent)")
    assert ranks == ["1", "2", "3", "4"], "ranks are those of the axis that it is sorted by"
    page.click("th[data-column=eps] button")
    assert names(page) == by_eps[::-1]
    again = shown(chromium, root, page.url.removeprefix(f"{root}/"))
    assert "#sort=eps" in again.url
    assert names(again) == by_eps[::-1]
    assert faults(page, root) + faults(again, root) == []


def test_keys_alone_sort_and_the_rank_says_of_which_axis_it_is(chromium, root):
    page = shown(chromium, root, "index.html")
    page.focus("th[data-column=overall] button")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Capability"
    page.keyboard.press("Enter")
    values = page.eval_on_selector_all(".board tbody tr", "all => all.map(one => Number(one.cells[3].dataset.sort))")
    assert values == sorted(values, reverse=True)
    assert page.text_content("th.place .under") == "Capability"
    assert page.text_content("td.place .visually-hidden").startswith(", tie group 1, ranks")
    page.keyboard.press("Space")
    again = page.eval_on_selector_all(".board tbody tr", "all => all.map(one => Number(one.cells[3].dataset.sort))")
    assert again == sorted(values)
    page.click("th[data-column=name] button")
    assert names(page)[:3] == ["atlas", "birch", "cedar"]
    assert page.text_content("th.place .under") == "Capability", "a name has no rank: the last one stays"
    assert page.locator(".board tr.starts").count() == 0, "nor have names tie groups"
    assert faults(page, root) == []


def test_a_long_list_loses_no_row_however_fast_it_is_sorted(chromium, tmp_path):
    board, _ = make_board(tmp_path / "board", make_suite(130), {})
    build_site(board, tmp_path / "site")
    address = (tmp_path / "site").as_uri()
    page = shown(chromium, address, "prompts/index.html#sort=-name&q=p06")
    listed = "document.querySelector('.listing').tBodies[0].rows.length"
    for _ in range(3):
        page.evaluate("document.querySelector('th[data-column=name] button').click()")
    assert every_prompt(page) == [f"p{number:03}" for number in range(60, 70)]
    page.fill(".filter input", "")
    wait_in(page, f"{listed} >= 45")
    page.wait_for_timeout(100)
    assert page.evaluate(listed) < 130, "further rows wait until the reader nears them"
    wait_in(page, f"(scrollTo(0, document.body.scrollHeight), {listed} === 130)")
    assert every_prompt(page) == [f"p{number:03}" for number in range(1, 131)]
    page.set_viewport_size({"width": 1280, "height": 300})
    page.evaluate("scrollTo(0, 0)")
    wait_in(page, f"{listed} < 130")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert every_prompt(page) == [f"p{number:03}" for number in range(1, 131)], "rows that had gone come back in order"
    page.evaluate("scrollTo(0, 9)")
    page.wait_for_timeout(100)
    assert page.evaluate(listed) == 130, "and stay until the sheets are out"
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    page.evaluate("document.querySelector('th[data-column=name] button').click()")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert every_prompt(page) == [f"p{number:03}" for number in range(130, 0, -1)], "all of them are printed"
    assert faults(page, address) == []


def every_prompt(page) -> list[str]:
    return page.eval_on_selector_all(".listing tbody tr .name a", "all => all.map(one => one.textContent)")


def test_words_and_makers_filter_and_stay_in_the_address(chromium, root):
    page = shown(chromium, root, "index.html")
    page.keyboard.press("/")
    page.keyboard.type("LAB cedar")
    assert names(page) == ["cedar"]
    assert page.text_content(".filter output") == "1 of 4"
    page.fill(".filter input", "")
    page.select_option(".filter select", "lab b")
    assert sorted(names(page)) == ["birch", "cedar"]
    again = shown(chromium, root, page.url.removeprefix(f"{root}/"))
    assert sorted(names(again)) == ["birch", "cedar"]
    assert faults(page, root) + faults(again, root) == []


def test_the_theme_is_chosen_kept_and_shared_by_address(chromium, root):
    ground = "getComputedStyle(document.documentElement).backgroundColor"
    page = shown(chromium, root, "index.html")
    light = page.evaluate(ground)
    page.click("#theme")
    assert page.evaluate(ground) != light
    assert "theme=dark" in page.url
    other = shown(chromium, root, "prompts/p001.html#theme=dark")
    assert other.evaluate(ground) == page.evaluate(ground)
    assert other.text_content("#theme") == "Light"
    other.keyboard.press("ArrowRight")
    other.wait_for_url("**/p002.html#theme=dark")
    assert other.evaluate(ground) == page.evaluate(ground)


def test_arrows_walk_through_prompts_and_pictures_are_loaded(chromium, root):
    page = shown(chromium, root, "prompts/p002.html")
    wait_in(page, SEEN)
    page.keyboard.press("ArrowRight")
    page.wait_for_url("**/p003.html")
    page.keyboard.press("ArrowLeft")
    page.wait_for_url("**/p002.html")
    page.keyboard.press("ArrowLeft")
    page.wait_for_url("**/p001.html")
    page.keyboard.press("ArrowLeft")
    assert page.url.endswith("/p001.html"), "there is none before the first"
    assert page.locator(".unseen").count() == 1
    assert faults(page, root) == []


def test_a_picture_opens_large_and_arrows_go_from_entry_to_entry(chromium, root):
    page = shown(chromium, root, "prompts/p002.html")
    page.click("a.seen >> nth=1")
    alts = page.eval_on_selector_all("a.seen img", "all => all.map(one => one.alt)")
    told = [page.text_content("#view p")]
    for _ in range(2):
        page.keyboard.press("ArrowLeft")
        told.append(page.text_content("#view p"))
    assert told == [alts[1], alts[0], alts[-1]]
    page.keyboard.press("Escape")
    assert not page.locator("#view").is_visible()
    assert page.url.endswith("/p002.html")
    assert faults(page, root) == []


def test_without_scripts_everything_can_be_read_and_on_paper_too(chromium, root):
    page = shown(chromium, root, "index.html", java_script_enabled=False)
    assert page.locator(".board tbody tr").count() == 4
    assert page.locator(".filter").is_hidden()
    assert page.locator(".board .place b").first.text_content() == "1"
    page.emulate_media(media="print")
    assert page.locator(".site-nav").is_hidden()
    assert page.locator(".board").is_visible()
    kept = "(one, part) => getComputedStyle(one, part).getPropertyValue('-webkit-print-color-adjust')"
    assert page.locator("td.place").first.evaluate(kept, "::before") == "exact", "the line of a tie group"
    page.goto(f"{root}/tags.html")
    assert page.locator("td.s10").first.evaluate(kept) == "exact", "heat"
    sheet = "() => getComputedStyle(document.body).page"
    assert page.evaluate(sheet) == "auto"
    page.locator(".grid tr").first.evaluate("row => { for (let n = 0; n < 14; n++) row.insertCell(); }")
    assert page.evaluate(sheet) == "broad", "many entries are printed across"


class Silent(SimpleHTTPRequestHandler):
    """Serves files and says nothing."""

    def log_message(self, *words: object) -> None: ...


def test_a_web_server_serves_it_below_any_path(chromium, root):
    folder = Path(unquote(root.removeprefix("file://")))
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Silent, directory=str(folder.parent))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        served = f"http://127.0.0.1:{server.server_port}/{folder.name.replace(' ', '%20')}"
        page = shown(chromium, served, "prompts/p002.html#theme=dark")
        wait_in(page, SEEN)
        with page.expect_navigation():
            page.click("text=Board")
        page.click("th[data-column=eps] button")
        assert names(page)[:2] == ["atlas", "birch"]
        page.fill(".filter input", "cedar")
        assert names(page) == ["cedar"]
        assert faults(page, served) == []
        page.context.close()
        server.shutdown()


def test_files_of_the_site_are_small(root):
    folder = Path(unquote(root.removeprefix("file://")))
    assert max(path.stat().st_size for path in folder.rglob("*.html")) < 500 * 1024
    assert sum(path.stat().st_size for path in (folder / "assets").iterdir()) < 60 * 1024
