"""Pages in a real browser: both themes, desk and phone, with and without JavaScript, on paper."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from browser import OVERFLOW, OVERLAPS, open_page, page_faults
from markupsafe import Markup
from PIL import Image

from salon.report import SMALL, Badge, Card, Chart, Column, FilmFrame, Filmstrip, Page, Section, Table, charts

pytestmark = pytest.mark.browser

WIDTHS = (1280, 390)


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


def test_nothing_is_wrong_for_those_who_hear_or_enlarge_the_page(chromium, html, tmp_path):
    assert page_faults(chromium, html, tmp_path) == []


def test_one_pale_word_among_many_that_look_alike_is_found(chromium, tmp_path):
    """Contrast is measured for each look of words, not for each word."""
    rows = [f"<tr><td>row {n}<td>words" for n in range(20)]
    rows[7] = '<tr><td>row 7<td style="color: #bbb; background: #fff">words'
    html = f"<!doctype html><html lang=en><title>Rows</title><main><h1>Rows</h1><table>{''.join(rows)}</table></main>"
    found = {(width, rule) for width, rule, *_ in page_faults(chromium, html, tmp_path) if rule == "color-contrast"}
    assert found == {(width, "color-contrast") for width in WIDTHS}


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
    assert page.locator("button:visible:not(.term)").count() == 0
    page.context.close()


def test_one_version_of_each_figure_is_shown(chromium, address):
    for width in WIDTHS:
        page = open_page(chromium, address, width=width)
        figures = page.locator("figure:not(.table)")
        shown = [figures.nth(i).locator("svg.chart:visible").count() for i in range(figures.count())]
        assert set(shown) == {1}
        page.context.close()


def crowded_page() -> Page:
    """Charts with more, longer and closer labels than they have room for."""
    names = [f"annotator-{i:02d}@studio-north" for i in range(24)]
    dots = [
        (f"Typographic hierarchy and rhythm of the whole sheet {i}", 0.02 * i, 0.0, 0.3, f"cohort {i % 4}")
        for i in range(9)
    ]
    references = [("Sushi", 0.144), ("MovieLens", 0.146), ("HPSv2, the four best generators", 0.15), ("x", 0.149)]
    splits = [f"{10 - i}–{i}" for i in range(6)]
    drawings = [
        charts.dot_intervals(dots, 0.14, references, x_label="a long label for this axis " * 9),
        charts.heat_map([[0.1] * 24] * 24, names, names, n=[[1_000_000] * 24] * 24),
        charts.pmax_bars(splits, [10, 20, 20, 10, 5, 1], [0.25, 0.4, 0.2, 0.1, 0.04, 0.01], width=SMALL),
        charts.bucket_bar([(dots[0][0], [1, 90, 2, 3, 1, 60])], splits, [1, 1, 1, 1, 1, 1]),
        charts.line_curves([charts.Curve(f"a series with a long name {i}", [1, 2], [0.1, 0.2]) for i in range(6)]),
        charts.line_curves([charts.Curve(f"s {i}", [1, 2], [0.1, 0.2]) for i in range(6)]),
        charts.bar_list([(row[0], row[1] - 0.1) for row in dots]),
        charts.caterpillar(
            [charts.ScoreMark(row[0], *row[1:4], tier=100 + i // 2, special=i == 3) for i, row in enumerate(dots)],
            left_out=(4, "and many more that have no place here"), special_label="a rating anchor " * 9,
        ),
    ]  # fmt: skip
    return Page("Crowded", "", [Section("Charts", [Chart(drawing) for drawing in drawings])])


@pytest.mark.parametrize("width", WIDTHS)
def test_labels_never_overlap_or_leave_their_drawing(chromium, address, tmp_path, width):
    crowded = crowded_page().write(tmp_path / "crowded.html").as_uri()
    for target in (address, crowded):
        page = open_page(chromium, target, width=width)
        assert page.evaluate(OVERLAPS) == []
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


def test_the_theme_button_follows_the_system(chromium, address):
    page = open_page(chromium, address, theme="light")
    assert page.inner_text("#theme").lower() == "dark"
    page.emulate_media(color_scheme="dark")
    page.locator("#theme", has_text="Light").wait_for()
    page.context.close()


def wide_page() -> Page:
    """Seven cards; a table of eight intervals and one of narrow badges."""
    rows = [{"name": f"judge {n}", **{str(k): (0.5, 0.401, 0.6) for k in range(8)}} for n in range(3)]
    wide = Table([Column("name", "Judge"), *(Column(str(k), f"Figure {k}", "estimate", 3) for k in range(8))], rows)
    told = [{"a": "good less flat", "b": (0.1, 0.0, 0.2), "c": (0.1, 0.0, 0.2), "d": Badge("no", "open")}]
    names = (("a", "First less second", "text"), ("b", "SRCC", "estimate"), ("c", "MAE", "estimate"))
    badges = Table([*(Column(*one) for one in names), Column("d", "Told apart", "badge")], told)
    return Page("Wide", "", [Section("Wide", [wide, badges])], cards=[Card(f"Card {n}", f"{n}") for n in range(7)])


def test_what_is_wide_stands_in_rows_and_reaches_into_the_margin(chromium, tmp_path):
    page = open_page(chromium, wide_page().write(tmp_path / "wide.html").as_uri())
    starts = page.locator(".card-label").evaluate_all("all => all.map(one => one.getBoundingClientRect().left)")
    tops = page.locator(".card").evaluate_all("all => all.map(one => one.getBoundingClientRect().top)")
    assert len(set(tops)) == 2
    assert {starts[tops.index(top)] for top in tops} == {page.locator("h1").bounding_box()["x"]}  # of both rows
    assert page.evaluate(OVERFLOW) == 0
    scrolls = "all => all.map(one => one.scrollWidth - one.clientWidth)"
    assert page.locator(".scroll").evaluate_all(scrolls) == [0, 0]
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate(OVERFLOW) == 0
    assert page.locator("td .badge").bounding_box()["height"] < 26  # its shape and its word on one line
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


def test_on_paper_heads_of_tables_hold_words_alone(chromium, address):
    """A browser repeats a table's head on every sheet only where no button is in it."""
    page = open_page(chromium, address)
    heads = page.locator("table.sortable th").all_text_contents()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("thead button").count() == 0
    assert page.locator("table.sortable th").all_text_contents() == heads
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("thead button").count() == len(heads)
    page.locator("th button").nth(3).click()
    assert page.locator("th[aria-sort]").count() == 1
    page.context.close()


def test_on_paper_a_picture_stays_with_its_words(chromium, tmp_path):
    """Rows of a subgrid were torn between sheets, and then lay over each other."""
    strip = Filmstrip(
        [FilmFrame(f"Round {n}", numbers=[("score", Markup("{} ± {}").format("1.0", "0.1"))]) for n in range(3)]
    )
    address = Page("Strip", "", [Section("Strip", [strip])]).write(tmp_path / "strip.html").as_uri()
    page = open_page(chromium, address)
    gap = "[...document.querySelectorAll('.frame-number')].map(one => one.children[1].offsetWidth)"
    assert max(page.evaluate(gap)) < 100  # a number and its error stand together
    page.emulate_media(media="print")
    styled = "frames => frames.map(one => getComputedStyle(one)).map(s => [s.display, s.breakInside])"
    assert page.locator(".frame").evaluate_all(styled) == [["block", "avoid"]] * 3
    page.context.close()


@pytest.mark.parametrize(("width", "theme"), [(1280, "dark"), (390, "light")])
def test_a_chart_is_saved_as_svg_png_and_csv(chromium, address, tmp_path, width, theme):
    """Offline, from the file itself: light colours on white in both themes, as wide as it was asked for."""
    page = open_page(chromium, address, width=width, theme=theme, accept_downloads=True)
    figure = page.locator("figure.saveable").first
    figure.get_by_role("button", name="Save chart").click()
    files = {}
    for words in ("SVG 85 mm", "PNG 178 mm", "CSV"):
        with page.expect_download() as saving:
            figure.get_by_role("button", name=words, exact=True).click()
        files[words] = tmp_path / saving.value.suggested_filename
        saving.value.save_as(files[words])
    root = ElementTree.parse(files["SVG 85 mm"]).getroot()
    assert root.get("width") == "85mm"
    assert not [node for node in root.iter() if "class" in node.attrib]
    assert {"rgb(31, 29, 26)"} <= {node.get("fill") for node in root.iter()}  # ink of the light theme
    with Image.open(files["PNG 178 mm"]) as image:
        assert image.width == round(178 / 25.4 * 300)
        assert image.convert("RGB").getpixel((0, 0)) == (255, 255, 255)
        assert len(image.convert("RGB").getcolors(1 << 22)) > 8
    assert files["CSV"].read_text().startswith("mark,label,value,low,high")
    assert page.problems == []
    assert page.evaluate("document.documentElement.dataset.theme ?? ''") == ""
    page.context.close()
