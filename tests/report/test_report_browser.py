"""Pages in a real browser: both themes, desk and phone, with and without JavaScript, on paper."""

from __future__ import annotations

import pytest
from browser import open_page

pytestmark = pytest.mark.browser

WIDTHS = (1280, 390)
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture(scope="module")
def address(html, tmp_path_factory):
    target = tmp_path_factory.mktemp("page") / "check.html"
    target.write_text(html, encoding="utf-8")
    return target.as_uri()


@pytest.fixture(scope="module")
def hostile_address(hostile_html, tmp_path_factory):
    target = tmp_path_factory.mktemp("hostile") / "check.html"
    target.write_text(hostile_html, encoding="utf-8")
    return target.as_uri()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_no_error_and_no_sideways_scroll(chromium, address, width, theme):
    page = open_page(chromium, address, width=width, theme=theme)
    assert page.evaluate(OVERFLOW) == 0
    assert page.problems == []
    shade = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert shade == {"light": "rgb(251, 250, 246)", "dark": "rgb(22, 21, 18)"}[theme]
    page.context.close()


@pytest.mark.parametrize("width", WIDTHS)
def test_hostile_names_do_nothing(chromium, hostile_address, width):
    page = open_page(chromium, hostile_address, width=width)
    assert page.evaluate("window.pwned") is None
    assert page.evaluate(OVERFLOW) == 0
    assert page.problems == []
    page.context.close()


@pytest.mark.parametrize("width", WIDTHS)
def test_whole_without_javascript(chromium, address, width):
    page = open_page(chromium, address, width=width, java_script_enabled=False)
    assert page.locator("svg.chart:visible").count() >= 20
    assert page.locator("table:visible").count() == 3
    assert page.locator("button:visible").count() == 0
    page.context.close()


def test_one_version_of_each_figure_is_shown(chromium, address):
    for width in WIDTHS:
        page = open_page(chromium, address, width=width)
        figures = page.locator("figure:not(.table)")
        shown = [figures.nth(i).locator("svg.chart:visible").count() for i in range(figures.count())]
        assert set(shown) == {1}
        page.context.close()


def test_theme_toggle_and_sorting(chromium, address):
    page = open_page(chromium, address)
    page.click("#theme")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert page.inner_text("#theme").lower() == "light"
    table = page.locator("table.sortable").first
    taus = "rows => rows.map(r => Number(r.cells[3].dataset.sort))"
    table.locator("th button").nth(3).click()
    down = table.locator("tbody tr").evaluate_all(taus)
    assert down == sorted(down, reverse=True)
    table.locator("th button").nth(3).click()
    assert table.locator("tbody tr").evaluate_all(taus) == down[::-1]
    page.context.close()


def test_tooltip_tells_the_mark(chromium, address):
    page = open_page(chromium, address)
    row = page.locator(".for-wide svg.chart g.row").first
    row.hover()
    assert page.locator("#tip").inner_text() == row.get_attribute("data-tip")
    assert "Spatial Relations: 0." in page.locator("#tip").inner_text()
    page.context.close()


def test_prints_in_light_colours_without_buttons(chromium, address):
    page = open_page(chromium, address, width=720, theme="dark")
    page.click("#theme")
    page.click("#theme")
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(31, 29, 26)"
    assert page.locator("#theme").is_hidden()
    assert page.locator("th button").first.is_visible()
    assert page.evaluate(OVERFLOW) == 0
    page.context.close()
