"""The HTML of a fusion: equal to its JSON number for number, whole for every size, inert, legible."""

from __future__ import annotations

import json
import re
from functools import cache

import fuse_example as examples
import pytest
from browser import OPEN_ALL, OVERFLOW, OVERLAPS, SEEN, chromium, open_page, page_faults
from page_words import Page, numbers_of

from salon.fuse import fuse_page
from salon.report import brief, disagreements, distinct_names
from salon.report.values import numbers_in

__all__ = ["chromium"]

NAMES = sorted(examples.EXAMPLES)


@cache
def report(name):
    return examples.EXAMPLES[name]()


@cache
def html(name):
    return fuse_page(report(name)).html()


def document(name):
    return json.loads(report(name).model_dump_json())


@pytest.mark.parametrize("name", NAMES)
def test_html_and_json_agree_number_for_number(name):
    assert disagreements(html(name), document(name)) == []


def test_a_number_that_differs_is_found():
    changed = document("full")
    changed["scores"][3]["low"] += 1e-15
    changed["compare"]["gaps"][1]["agreement"]["mae"] += 1e-15
    keys = {found.split(":")[0] for found in disagreements(html("full"), changed)}
    assert keys == {"scores.3.low", "compare.gaps.1.agreement.mae"}


UNPRINTED = re.compile(
    r"""seconds$ | scale_(low|high)$ | signature\.settings | revision$ |
        ^scores\.\d+\.(error|latent|latent_error)$ | \.gradient$ |
        ^groups\.\d+\.(rating_anchors|rankings|missing_levels\.0)$ | \.graph\.compared$ |
        ^compare\.(by_group|gaps)\..*(ks_pass|groups|srcc_low)$ """,
    re.X,
)
"""What a page may leave to the JSON; everything else of a small report must be on it."""


def test_no_number_of_the_report_is_missing_from_the_page():
    shown = {key for key, _ in numbers_in(html("full"))}
    missing = [path for path in numbers_of(document("full")) if path not in shown and not UNPRINTED.search(path)]
    assert missing == []
    assert len(shown) > 700


def test_charts_carry_the_numbers_they_draw():
    drawings = "".join(re.findall(r"<svg.*?</svg>", html("full"), re.S))
    keys = {key for key, _ in numbers_in(drawings)}
    assert {"scores.0.value", "scores.0.low", "scores.0.high", "scores.0.tier", "rating_anchors.0.latent",
            "rating_anchors.0.target", "compare.gaps.0.agreement.mae"} <= keys  # fmt: skip


@pytest.mark.parametrize("name", ["full", "prompts", "no errors"])
def test_every_printed_number_is_marked_or_quoted(name):
    """Digits stand in a `<data>` element, or come word for word from a string of the report."""
    quoted = " ".join(re.findall(r'"((?:[^"\\]|\\.)*)"', report(name).model_dump_json()))
    loose = re.findall(r"\d[\d.,]*\d|\d", " ".join(Page(html(name)).words).replace("Tier 1 holds", ""))
    assert [words for words in loose if words not in quoted and words not in ("1", ".05")] == []


def test_a_simulated_study_says_so_once_and_warnings_follow():
    text = html("full")
    assert text.index("no person gave these answers") < text.index("<h1>") < text.index("Warning.")
    assert text.count('class="note tone-alert"') == 1
    real = fuse_page(report("full").model_copy(update={"simulated": False, "warnings": ()})).html()
    assert "no person" not in real
    assert "Warning." not in real


def cards(text):
    return re.findall(r'class="card-value">(.*?)</div>', re.sub(r"</?(data|span)[^>]*>", "", text))


def test_the_cards_tell_method_size_winner_and_width():
    assert cards(html("full"))[:3] == ["anchored-davidson", "24 × 2", "0 of 4"]
    assert cards(html("one"))[1:3] == ["1\u202f000 × 1", "no clear winner"]
    assert cards(html("no errors"))[2:] == ["–", "–"]


def test_a_winner_alone_in_its_tier_is_named():
    one = examples.fusion(("Mood",), ("posters",), 6)
    rows = sorted(one.scores, key=lambda row: row.rank)
    alone = [rows[0], *(row.model_copy(update={"tier": 2}) for row in rows[1:])]
    assert cards(fuse_page(one.model_copy(update={"scores": tuple(alone)})).html())[2] == rows[0].item


def test_the_first_screen_answers_and_says_what_to_do():
    text = re.sub(r"<[^>]+>", "", html("full")[html("full").index('class="answer') : html("full").index('id="scores"')])
    assert "None of 4 groups has a clear winner." in text
    assert "Read the warnings first." in text
    assert "salon plan budget" in text
    assert "without errors nobody knows whether it is best" in html("no errors")


def sections(name):
    return re.findall(r"<h2>(.*?)</h2>", html(name))


def test_sections_stand_in_order_and_only_where_there_is_something_to_say():
    whole = ["Scores", "Alike", "Calibration", "Comparison graph", "Methods", "Residuals", "Data"]
    assert sections("full") == whole
    assert sections("one") == ["Scores", "Alike", "Comparison graph", "Residuals", "Data"]
    assert sections("empty") == ["Scores", "Calibration", "Data"]
    assert "No item could be scored." in html("empty")


def test_a_score_without_an_interval_is_printed_alone_with_the_reason():
    first = document("no errors")["scores"][0]
    assert f'data-value="{first["value"]!r}"' in html("no errors")
    assert "no error can be given" in html("no errors")
    assert 'class="interval"' not in html("no errors")
    assert "tier-band" not in re.sub(r"<style>.*?</style>", "", html("no errors"), flags=re.S)


@pytest.mark.parametrize(
    ("name", "kilobytes", "said"),
    [
        ("ppaint", 2000, "26</data> scores between them not"),
        ("one", 2000, "940</data> scores between them not"),
        ("prompts", 2000, "80</data> groups"),
        ("huge", 2000, "3\u202f000</data> scores between them in the JSON"),
        ("many", 2050, "64</data> more groups in the JSON"),
    ],
)
def test_large_fusions_are_cut_and_say_so(name, kilobytes, said):
    assert said in html(name)
    assert len(html(name)) < 1000 * kilobytes


def test_750_scores_are_all_in_tables():
    """Three categories of 50 items under five criteria: every rank is printed."""
    keys = {key for key, _ in numbers_in(html("ppaint"))}
    assert {f"scores.{i}.rank" for i in range(750)} <= keys


def test_best_and_worst_are_drawn():
    rows = sorted(report("huge").scores, key=lambda row: row.rank)
    drawings = "".join(re.findall(r"<svg.*?</svg>", html("huge"), re.S))
    for row, drawn in ((rows[0], True), (rows[29], True), (rows[30], False), (rows[-30], True), (rows[-31], False)):
        index = report("huge").scores.index(row)
        assert (f'"scores.{index}.value"' in drawings) is drawn


def test_curves_of_groups_stand_side_by_side():
    assert html("by group").count("<title id") > html("full").count("<title id")
    drawn = re.findall(r"Calibration curve: ([^<]*)<", html("by group"))
    assert len(drawn) == 12, "and three more in the JSON"
    assert "3</data> more groups in the JSON" in html("by group")


def test_hostile_names_are_inert_and_told_apart():
    calm, hostile = Page(html("full")), Page(html("hostile"))
    assert hostile.tags.count("script") == 1
    assert set(hostile.tags) <= set(calm.tags)
    assert not [name for name, _ in hostile.attributes if name.startswith("on")]
    assert "&lt;script&gt;window.pwned=1" in html("hostile")
    assert "\u202e" not in html("hostile"), "it would turn the words after it"
    assert max(map(len, hostile.words)) < 1000, "a long name must not fill the page"


def test_names_that_read_alike_are_numbered():
    middle = "x" * 200
    shown = distinct_names([f"a{middle}z", f"a{middle}x{middle}z", "b"])
    assert len(set(shown.values())) == 3
    assert shown["b"] == "b"
    assert max(map(len, shown.values())) <= len(brief(middle)) + 5


def test_a_prompt_is_named_by_its_words():
    told = {"prompt-000": "A jazz night\nin an old  boathouse", "prompt-001": "prompt-001"}
    page = fuse_page(report("prompts"), told).html()
    assert "Scores: prompt-000: A jazz night in an old boathouse<" in page
    assert "prompt-001: " not in page, "words that are the id itself are not said twice"
    assert "A jazz night" not in html("prompts")


def test_the_same_report_gives_the_same_bytes():
    assert fuse_page(report("full")).html() == html("full")


@pytest.mark.browser
@pytest.mark.parametrize(("width", "theme"), SEEN)
def test_in_a_browser(chromium, tmp_path, width, theme):
    """No console error, no request, no sideways scroll, nothing run from a name; labels apart, with all parts open."""
    texts = dict.fromkeys(examples.PROMPTS, "A poster for a night of Baltic folk songs, " * 9)
    pages = {name: html(name) for name in ("full", "criteria", "hostile", "no errors")}
    for name, text in (pages | {"long prompts": fuse_page(report("prompts"), texts).html()}).items():
        target = tmp_path / f"{name}.html"
        target.write_text(text, encoding="utf-8")
        page = open_page(chromium, target.as_uri(), width=width, theme=theme)
        page.evaluate(OPEN_ALL)
        assert page.evaluate(OVERFLOW) == 0, name
        assert page.problems == [], name
        assert page.evaluate("window.pwned") is None
        assert page.evaluate(OVERLAPS) == [], name
        page.context.close()


@pytest.mark.browser
def test_on_paper_every_part_is_open_and_tables_fit(chromium, tmp_path):
    """A4 less its margins is 688 px; a table wider than that would be cut off."""
    target = tmp_path / "fuse.html"
    target.write_text(html("by group"), encoding="utf-8")
    page = open_page(chromium, target.as_uri(), width=688)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert page.locator("details:not([open])").count() == 0
    wide = "[...document.querySelectorAll('table')].filter(t => t.scrollWidth > t.parentNode.clientWidth + 1).length"
    assert page.evaluate(wide) == 0
    page.context.close()


"""Pairs of labels of a chart that touch, and labels that leave their drawing."""


@pytest.mark.browser
def test_nothing_is_wrong_under_axe(chromium, tmp_path):
    assert page_faults(chromium, html("full"), tmp_path) == []
