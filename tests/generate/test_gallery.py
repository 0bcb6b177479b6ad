"""The gallery: what it shows, that nothing a user wrote does anything, and how it behaves in a browser."""

from __future__ import annotations

import io
import re

import pytest
from browser import OVERFLOW, chromium, open_page, page_faults, wait_in
from dots import Dots, png
from PIL import Image

from salon.errors import BadFile, UnknownReference
from salon.generate import GenerateSettings, gallery, generate_items, study_sheet, write_gallery
from salon.generate.gallery import contact_sheet, sheet_items
from salon.store import save_study
from salon.study import FailedPicture, Item, Prompt, Study

__all__ = ["chromium"]

HOSTILE = '<script>window.pwned=1</script><img src=x onerror="window.pwned=1">\u202e\'"&'
PROMPTS = [
    Prompt(id="sea", text="a poster of the sea", category="posters"),
    Prompt(id="jazz", intent="a jazz night " * 40, description="blue notes", category="flyers"),
    Prompt(id=HOSTILE, text=HOSTILE, category=HOSTILE),
]


def refuse_jazz(ask):
    return FailedPicture(reason=f"not allowed {HOSTILE}", kind="refused") if ask.prompt.id == "jazz" else None


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three prompts, two generators, two seeds; one generator refuses one prompt, a third knows only one."""
    place = tmp_path_factory.mktemp("gallery") / "s"
    both = [Dots("one"), Dots(HOSTILE, answer=refuse_jazz)]
    generate_items(PROMPTS, both, GenerateSettings(seeds=2, size="600x800"), place)
    generate_items(PROMPTS[:1], [Dots("three")], GenerateSettings(size="800x600"), place)
    return place


@pytest.fixture(scope="module")
def page(folder):
    write_gallery(folder, folder.parent / "gallery.html")
    return folder.parent / "gallery.html"


def missing(page):
    """Thumbnails that a page shows and nobody has."""
    names = re.findall(r'src="([^"]+\.webp)"', page.read_text())
    assert names
    return [name for name in names if not (page.parent / name).is_file()]


# -- what it shows ---------------------------------------------------------------------------------------------------


def test_every_item_stands_in_its_row_and_column_and_failures_too(folder, tmp_path):
    made = write_gallery(folder, tmp_path / "g.html")
    assert made.generators == ["one", HOSTILE, "three"]
    assert (made.pictures, made.failed) == (11, 2)
    jazz = made.rows[1]
    assert [len(cell.tiles) for cell in jazz.cells] == [2, 2, 0]
    assert {tile.kind for tile in jazz.cells[1].tiles} == {"refused"}
    assert "not allowed" in jazz.cells[1].tiles[0].reason
    assert (jazz.start[-2:], jazz.rest[0][:2], jazz.rest[-1]) == (" …", "… ", "blue notes")
    assert jazz.start[:-2] + jazz.rest[0][1:] == ("a jazz night " * 40).strip()
    text = (tmp_path / "g.html").read_text(encoding="utf-8")
    assert text.count("<article") == 3
    assert text.count("not made") == 2
    assert "photograph" not in text


def test_thumbnails_are_small_files_made_once_and_swept_when_unused(folder, tmp_path):
    write_gallery(folder, tmp_path / "g.html", width=96)
    files = sorted((tmp_path / "g_files").iterdir())
    assert len(files) == 11
    with Image.open(files[0]) as small:
        assert (small.format, small.width) == ("WEBP", 96)
    (tmp_path / "g_files" / "mine.txt").write_text("mine")
    stamps = {path.name: path.stat().st_mtime_ns for path in files}
    write_gallery(folder, tmp_path / "g.html", width=96)
    assert {path.name: path.stat().st_mtime_ns for path in files} == stamps
    write_gallery(folder, tmp_path / "g.html", width=64)
    names = {path.name for path in (tmp_path / "g_files").iterdir()}
    assert "mine.txt" in names
    assert not names & set(stamps)


def test_links_lead_to_the_pictures_from_wherever_the_page_is(folder, tmp_path):
    (tmp_path / "deep er").mkdir()
    write_gallery(folder, tmp_path / "deep er" / "g.html")
    text = (tmp_path / "deep er" / "g.html").read_text(encoding="utf-8")
    links = re.findall(r'<a href="([^"]+\.png)"', text)
    assert len(links) == 11
    assert all((tmp_path / "deep er" / link).is_file() for link in links)


def test_an_embedded_gallery_needs_no_other_file(folder, tmp_path):
    write_gallery(folder, tmp_path / "g.html", embed=True, width=64)
    text = (tmp_path / "g.html").read_text(encoding="utf-8")
    assert [path.name for path in tmp_path.iterdir()] == ["g.html"]
    assert len(re.findall(r'src="data:image/webp;base64,', text)) == 11
    assert "images/" not in text


def test_broken_lost_and_foreign_pictures_are_tiles_with_a_reason(tmp_path):
    items = [
        Item(id="none", prompt="p"),
        Item(id="lost", prompt="p", image="images/lost.png"),
        Item(id="out", image="../secret.png", generator="x"),
        Item(id="broken", prompt="p", image="images/broken.png"),
    ]
    save_study(Study.build("s", [], tables={"items": items, "prompts": [Prompt(id="p")]}), tmp_path / "s")
    (tmp_path / "secret.png").write_bytes(png())
    (tmp_path / "s" / "images").mkdir()
    (tmp_path / "s" / "images" / "broken.png").write_bytes(png(90, 90)[:70])
    made = write_gallery(tmp_path / "s", tmp_path / "g.html")
    assert (made.pictures, made.failed) == (0, 4)
    assert [row.name for row in made.rows] == ["p", "(no prompt)"]


def test_only_an_earlier_page_is_replaced(folder, tmp_path):
    (tmp_path / "g.html").write_text("my own page")
    with pytest.raises(BadFile, match="new file"):
        write_gallery(folder, tmp_path / "g.html")
    assert (tmp_path / "g.html").read_text() == "my own page"


# -- in a browser ----------------------------------------------------------------------------------------------------

SHOWN = "[...document.images].filter(image => image.src && !(image.complete && image.naturalWidth)).length"


def opened(browser, page, **options):
    """The page, and its problems but for the requests to its own pictures."""
    tab = open_page(browser, page.as_uri(), **options)
    near = page.parent.as_uri()
    return tab, lambda: [told for told in tab.problems if not told.startswith(f"request: {near}")]


@pytest.mark.browser
@pytest.mark.parametrize(("width", "theme"), [(1280, "light"), (390, "dark")])
def test_no_error_no_sideways_scroll_and_nobody_s_script_runs(chromium, page, width, theme):
    tab, problems = opened(chromium, page, width=width, theme=theme)
    tab.evaluate("document.querySelectorAll('img').forEach(image => { image.loading = 'eager'; })")
    wait_in(tab, f"{SHOWN} === 0")
    assert tab.evaluate(OVERFLOW) == 0
    assert tab.evaluate("window.pwned") is None
    assert problems() == []
    across = (
        tab.locator(".row").first.locator(".cell").evaluate_all("cells => new Set(cells.map(c => c.offsetLeft)).size")
    )
    assert across == (3 if width == 1280 else 2)
    tab.context.close()


@pytest.mark.browser
def test_nothing_is_wrong_under_axe(chromium, folder, tmp_path):
    write_gallery(folder, tmp_path / "g.html", embed=True, width=64)
    assert page_faults(chromium, (tmp_path / "g.html").read_text(encoding="utf-8"), tmp_path) == []


@pytest.mark.browser
def test_filters_hide_prompts_and_generators(chromium, page):
    tab, problems = opened(chromium, page)
    tab.select_option("#category", "flyers")
    assert tab.locator(".row:visible h2").all_inner_texts() == ["jazz"]
    tab.select_option("#category", "")
    tab.fill("#find", "POSTER sea")
    assert tab.locator(".row:visible h2").all_inner_texts() == ["sea"]
    assert tab.inner_text("#count") == "1 of 3 prompts"
    tab.locator(".chip").nth(1).click()
    assert tab.locator(".row:visible .cell:visible .by").all_inner_texts() == ["one", "three"]
    tab.fill("#find", "nothing like it")
    assert tab.locator("#nothing").is_visible()
    assert problems() == []
    tab.context.close()


@pytest.mark.browser
@pytest.mark.parametrize("embed", [False, True])
def test_a_click_opens_the_picture_and_arrows_go_on(chromium, folder, tmp_path, embed):
    write_gallery(folder, tmp_path / "g.html", embed=embed, width=120)
    tab = open_page(chromium, (tmp_path / "g.html").as_uri())
    tab.locator(".tile a").first.click()
    wait_in(tab, "document.querySelector('#view img').naturalWidth > 0")
    assert tab.evaluate("document.querySelector('#view img').naturalWidth") == (120 if embed else 600)
    tab.keyboard.press("ArrowLeft")
    tab.keyboard.press("ArrowRight")
    assert tab.inner_text("#view p") == "sea · one"
    tab.keyboard.press("Escape")
    assert not tab.locator("#view").is_visible()
    tab.context.close()


@pytest.mark.browser
def test_whole_without_javascript(chromium, page):
    tab, _ = opened(chromium, page, java_script_enabled=False)
    assert tab.locator(".tile img:visible").count() == 11
    assert tab.locator("#filter").is_hidden()
    tab.context.close()


# -- the sheet -------------------------------------------------------------------------------------------------------


def test_rows_of_a_sheet_fill_its_width_at_one_height():
    tall, wide = Image.new("RGB", (300, 400), "red"), Image.new("RGB", (800, 400), "blue")
    sheet = Image.open(io.BytesIO(contact_sheet([tall, wide, tall, wide, tall], 2, 600)))
    # gap 10; a row is 0.75 h + 2 h wide: h = (600 - 30) / 2.75 = 207; the last, unfinished row is not taller
    assert sheet.size == (600, 10 + 3 * 217)
    line = [sheet.getpixel((x, 100)) for x in range(600)]
    paper = sheet.getpixel((0, 0))
    assert [line[x] != paper for x in (9, 10, 164, 166, 174, 175, 588, 591)] == [
        False, True, True, False, False, True, True, False,
    ]  # fmt: skip


def test_a_sheet_is_spread_over_prompts_and_generators():
    items = [Item(id=f"{p}{g}", prompt=f"p{p}", generator=f"g{g}", image="x") for p in range(8) for g in range(2)]
    chosen = sheet_items(items, 4)
    assert len({item.prompt for item in chosen}) == 4
    assert len(sheet_items(items, 16)) == 16
    assert len({item.prompt for item in sheet_items(items, 8)}) == 8
    assert {item.generator for item in sheet_items(items, 8)} == {"g0", "g1"}
    assert sheet_items([Item(id="sushi")], 4) == []


def test_named_items_in_their_order(folder):
    data = study_sheet(folder, items=["sea/three/0", "sea/one/1"], columns=2, width=400)
    sheet = Image.open(io.BytesIO(data))
    with Image.open(folder / "images" / "sea" / "three-0.png") as first:
        assert sheet.getpixel((30, 30)) == first.getpixel((0, 0))
    with pytest.raises(UnknownReference, match="sea/none/0"):
        study_sheet(folder, items=["sea/none/0"])


# -- killed, or two at once ------------------------------------------------------------------------------------------


def test_a_page_that_stands_keeps_its_thumbnails_until_the_next_one_does(folder, tmp_path, monkeypatch):
    page = tmp_path / "g.html"
    write_gallery(folder, page, width=100)

    def killed(path):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(gallery, "whole_file", killed)
        with pytest.raises(KeyboardInterrupt):
            write_gallery(folder, page, width=120)
    assert missing(page) == []
    write_gallery(folder, page, width=120)
    assert missing(page) == []
    assert not list((tmp_path / "g_files").glob("*-100.webp"))


def test_two_galleries_at_one_place_do_not_remove_each_others_thumbnails(folder, tmp_path, monkeypatch):
    page, draw = tmp_path / "g.html", gallery.make_thumbs

    def meanwhile(*args):
        drawn = draw(*args)
        with pytest.raises(BadFile, match="another command is writing now"):
            write_gallery(folder, page, width=120)
        return drawn

    monkeypatch.setattr(gallery, "make_thumbs", meanwhile)
    write_gallery(folder, page, width=100)
    assert missing(page) == []
