"""The site as files: what is in it, what never is, that it is the same every time and replaces nothing of a user's."""

from __future__ import annotations

import csv
import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from board_example import ASKED, make_board, make_suite
from click.testing import CliRunner
from snapshot_example import make_arena, make_raters

from salon.bench import Board, build_site, entry_folder, open_board, publish_snapshot, read_result, retract
from salon.bench.site.arena_pages import ArenaPages
from salon.bench.site.frame import SiteHead, code_line, mark_code, opening_words
from salon.bench.site.site_data import page_names, web_link
from salon.cli.bench_boards import site as command
from salon.errors import BadFile
from salon.report import disagreements

HOSTILE = '</script><img src=x onerror="window.pwned=1">\'\u202e=1+1'
ENTRIES = {
    "atlas": {"skill": 0.97, "taste": 0.6, "by": HOSTILE, "about": HOSTILE},
    HOSTILE[:60]: {"skill": 0.9, "taste": 0.3, "title": HOSTILE, "licence": HOSTILE, "generator": HOSTILE},
    "con": {"skill": 0.7, "missing": 2, "link": "https://example.org/?a=<b>&c", "title": "=cmd()"},
    "later": {"unanswered": 4},
    "gone": {},
}


@pytest.fixture(scope="module")
def board(tmp_path_factory) -> Board:
    """Three published entries, a provisional one, a retracted one; one private prompt; both kinds of snapshots."""
    place = tmp_path_factory.mktemp("site") / "board"
    made, _ = make_board(place, make_suite(12), ENTRIES)
    retract(made, "gone", f"It was trained on the prompts {HOSTILE}")
    publish_snapshot(place / "arena", make_arena(["atlas", HOSTILE, "con"]))
    publish_snapshot(place / "raters", make_raters(["aesthetic", HOSTILE, "ocr"]))
    broken = sorted((place / "entries" / "atlas" / "images").iterdir())[3]
    broken.write_bytes(broken.read_bytes()[:60])
    return open_board(place)


@pytest.fixture(scope="module")
def folder(board, tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("site") / "out"
    made = build_site(board, place, title=f"Board {HOSTILE}")
    assert (made.pages, made.pictures, made.broken) == (5 + 2 + 2 + 5 + 12, 41, 1)
    return place


def test_names_on_cards_are_escaped_once(folder):
    text = (folder / "index.html").read_text(encoding="utf-8")
    assert "no clear difference to &lt;/script&gt;" in text
    assert "&amp;lt;" not in text


class Reader(HTMLParser):
    """Addresses, elements and attributes of a page."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[str] = []
        self.links: list[str] = []
        self.ids: list[str] = []
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        for name, value in attrs:
            self.attributes.append(name)
            if name in ("href", "src"):
                self.links.append(value)
            if name == "id":
                self.ids.append(value)


def pages(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.html"))


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_every_link_leads_to_a_file_of_the_site_or_to_the_web(folder):
    for page in pages(folder):
        for link in Reader(page).links:
            if link.startswith(("https://example.org/", "data:,", "#")):
                continue
            assert (page.parent / link).resolve().is_file(), (page.name, link)
            assert (page.parent / link).resolve().is_relative_to(folder.resolve())


def test_nobody_writes_markup(folder):
    for page in pages(folder):
        read = Reader(page)
        assert not [name for name in read.attributes if name.startswith("on") or name == "style"], page.name
        assert read.tags.count("script") == 2
        assert not any(link.startswith("javascript:") for link in read.links)
        assert len(set(read.ids)) == len(read.ids), page.name
        text = page.read_text(encoding="utf-8")
        assert "\u202e" not in text
        assert "unsafe-inline" not in text
        assert "https://example.org/?a=&lt;b&gt;&amp;c" in text or "example.org" not in text


def test_numbers_of_the_front_page_are_those_of_the_download(folder):
    document = json.loads((folder / "data" / "board.json").read_text(encoding="utf-8"))
    page = (folder / "index.html").read_text(encoding="utf-8")
    assert page.count("data-key=") >= 3 * 5 * 3
    assert disagreements(page, document) == []
    assert [len(document[part]) for part in ("entries", "provisional", "retracted")] == [3, 1, 1]
    first = document["entries"][0]["axes"]["overall"]
    assert first["rank_low"] <= first["rank"] <= first["rank_high"]
    rows = list(csv.DictReader(io.StringIO((folder / "data" / "board.csv").read_text(encoding="utf-8"))))
    assert float(rows[0]["overall"]) == first["value"]
    assert {row["title"] for row in rows} >= {"'=cmd()"}, "a spreadsheet runs nothing"


def test_who_is_not_on_the_board_stands_beside_it_with_the_reason(folder):
    text = (folder / "index.html").read_text(encoding="utf-8")
    board = re.search(r'<table class="ranked board".*?</table>', text, re.DOTALL)[0]
    assert ">later<" not in board
    assert ">gone<" not in board
    assert "not on the board" in board, "the oracle says that it is not"
    assert "Not published yet" in text
    assert re.search(r"\d to \d", text), "bounds of the provisional entry"
    assert "It was trained on the prompts" in text
    assert not re.search(r'<td class="axis oracle"[^>]*data-rank', text)


def test_nothing_of_a_private_prompt_is_anywhere(board, folder):
    private = next(one for one in board.suite.prompts if one.private)
    points = [point for point in board.suite.points if point.prompt == private.prompt.id]
    page = (folder / "prompts" / f"{private.prompt.id}.html").read_text(encoding="utf-8")
    assert private.digest in page
    assert "<img" not in page
    assert not any(words in page for words in (*ASKED, *(point.id for point in points)))
    for path in (folder / "data" / "results").iterdir():
        [found] = [p for p in json.loads(path.read_text())["prompts"] if p["prompt"] == private.prompt.id]
        assert not any(one["points"] or one["said"] or one["image"] or one["missing"] for one in found["pictures"])
    assert all(point.id not in path.read_text() for point in points for path in (folder / "data").glob("*.*"))


def test_pictures_that_are_missing_or_broken_say_why(folder):
    text = (folder / "prompts" / "p001.html").read_text(encoding="utf-8")
    assert text.count("the generator refused it") == 1
    assert text.count("<img") == 3
    assert (folder / "prompts" / "p004.html").read_text(encoding="utf-8").count("cannot be read") == 1


def test_best_and_worst_are_of_prompts_where_preference_counts(board, folder):
    text = (folder / "generators" / "atlas.html").read_text(encoding="utf-8")
    shown = text[text.index("Its best pictures</h2>") : text.index("Where it comes from</h2>")]
    linked = set(re.findall(r'href="../prompts/(\w+).html"', shown))
    eligible = {one.prompt.id for one in board.suite.prompts if board.suite.tag_of(one.prompt.id).eps}
    assert linked
    assert linked <= eligible


def test_the_spread_of_an_entry_is_that_of_its_prompts(board, folder):
    result = read_result(entry_folder(board, "atlas"))
    chances = [100 * prompt.eps["eps"] for prompt in result.prompts if "eps" in prompt.eps]
    told = f"{len(chances)} prompts; this entry median {np.median(chances):.1f}, all entries median"
    assert told in (folder / "generators" / "atlas.html").read_text(encoding="utf-8")


def test_code_breaks_after_its_parts_and_texts_end_with_a_word():
    assert mark_code("counts as `at_best` <here>") == "counts as <code>at_best</code> &lt;here&gt;"
    assert mark_code("one ` alone") == "one ` alone"
    assert code_line("suite:a|<b>") == '<code class="line">suite:a|<wbr>&lt;b&gt;</code>'
    assert opening_words("Jump in, towels are free", 12) == "Jump in…"
    assert opening_words("Jump\nin", 12) == "Jump in"
    assert opening_words("x" * 20, 12) == "x" * 11 + "…"


def test_the_same_board_gives_the_same_bytes_and_draws_no_picture_twice(board, folder, tmp_path):
    build_site(board, tmp_path / "again", title=f"Board {HOSTILE}")
    first = files(tmp_path / "again")
    assert first == files(folder)
    stamps = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "again" / "images").iterdir()}
    told = []
    build_site(board, tmp_path / "again", title=f"Board {HOSTILE}", progress=lambda *counts: told.append(counts))
    assert files(tmp_path / "again") == first
    assert {path.name: path.stat().st_mtime_ns for path in (tmp_path / "again" / "images").iterdir()} == stamps
    assert told[-1][0] == told[-1][1] == len(told)


def test_only_an_earlier_site_is_replaced(board, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("mine")
    with pytest.raises(BadFile, match="earlier site"):
        build_site(board, tmp_path / "mine")
    (tmp_path / "index.html").write_text("mine too")
    with pytest.raises(BadFile, match="earlier site"):
        build_site(board, tmp_path / "index.html")
    assert [path.name for path in sorted(tmp_path.rglob("*.*"))] == ["index.html", "thesis.txt"]


@pytest.mark.parametrize(
    "entries", [{}, {"alone": {}}, {"open": {"unanswered": 3}}], ids=["none", "one", "provisional"]
)
def test_small_boards_have_sites_too(tmp_path, entries):
    board, _ = make_board(tmp_path / "b", make_suite(6, images=2), entries)
    made = build_site(board, tmp_path / "s")
    assert made.pictures == len(entries) * 5 * 2
    assert made.pages == 5 + len(entries) + 6


LARGEST = 500 * 1024
MANY = {f"criterion-{n}": f"Criterion {n}" for n in range(10)}


def arena_pages(generators: int, categories: int) -> ArenaPages:
    names = [f"a-generator-of-a-long-name-{n:02}" for n in range(generators)]
    made = make_arena(names, categories=tuple(f"category {n}" for n in range(categories)), criteria=MANY)
    return ArenaPages(SimpleNamespace(arenas=[made], head=SiteHead("Board", ())))


def test_boards_of_categories_have_pages_of_their_own():
    """A hundred boards, one below the other, were a page of 2.4 MB."""
    arena = arena_pages(4, 9)
    made = list(arena.pages())
    assert [arena.count, len(made), len({page.path for page in made})] == [91, 91, 91]
    html = made[0].html()
    assert len(html) < LARGEST
    assert html.count("Win matrix: ") == 2 * 10  # of all categories together, for a desk and a phone
    assert all(f'href="{page.path}"' in html for page in made[1:])
    board = next(page for page in made if page.title == "Criterion 3\u00a0· category 5")
    assert "Win matrix: Criterion 3 · category 5" in board.html()
    assert "Nobody answered &lt;b&gt;here&lt;/b&gt;." in made[-1].html()


def test_large_boards_have_pages_of_their_own():
    arena = arena_pages(40, 0)
    pages = arena.pages()
    first, board = next(pages).html(), next(pages).html()
    assert max(len(first), len(board)) < LARGEST
    assert "Win matrix" not in first
    assert 'href="arena/criterion-0.html"' in first
    assert "Win matrix: Criterion 0" in board
    assert 'href="../arena.html"' in board


def test_names_become_safe_file_names_and_only_web_links_are_links():
    found = page_names(["atlas", "Atlas", "../up", "con", "index", "ü/ü", "x" * 100, ""])
    assert found["atlas"] == "atlas"
    assert len({name.lower() for name in found.values()}) == 8
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,80}", name) for name in found.values())
    assert web_link(" HTTPS://example.org/a ") == "HTTPS://example.org/a"
    bad = ["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "//example.org", "http:", "http://[", ""]
    assert [web_link(one) for one in bad] == [None] * len(bad)


def test_charts_of_a_site_are_written_as_figures_page_by_page(board, tmp_path):
    result = CliRunner().invoke(
        command, [str(board.folder), "-o", str(tmp_path / "site"), "--figures", str(tmp_path / "figures"), "--json"]
    )
    assert result.exit_code == 0, result.output
    charts = {
        page.relative_to(tmp_path / "site").with_suffix("").as_posix(): page.read_text().count("saveable")
        for page in (tmp_path / "site").rglob("*.html")
    }
    assert sum(count > 0 for count in charts.values()) > 1
    for path, count in charts.items():
        folder = tmp_path / "figures" / (path if path != "index" else "")
        assert len(list(folder.glob("*.csv"))) == count, path
        assert len(list(folder.glob("*.pdf"))) == 2 * count, path


def test_the_command_says_what_it_wrote(board, tmp_path):
    done = CliRunner().invoke(command, [str(board.folder), "-o", str(tmp_path / "s"), "--json", "--width", "64"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.output) == {"site": str(tmp_path / "s"), "pages": 26, "pictures": 41, "broken": 1}
