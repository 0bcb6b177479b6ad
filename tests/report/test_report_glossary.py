"""Terms are explained where they stand: once a section, by a popover that needs no script."""

from __future__ import annotations

import re

import pytest
from browser import open_page

from salon.report import Answer, Chart, Column, Page, Prose, Section, Table, charts, fold, paper_figures
from salon.report.glossary import GLOSSARY, explain_terms

CHART = Chart(charts.dot_intervals([("a", 0.3, 0.2, 0.4, "")], 0.0, title="Criteria by tau"))
PAGE = Page(
    "A page",
    "of two sections",
    [
        Section("First", [Prose("The oracle is a ceiling; the oracle again.")]),
        Section("Second", [Prose("An oracle.")]),
    ],
    answer=Answer(["Raters agree.", "Mean τ is high."], CHART, ["Run the next command."]),
)


def test_the_glossary_is_short_and_plain():
    assert len(GLOSSARY) <= 40
    assert len({term.anchor for term in GLOSSARY}) == len(GLOSSARY)
    phrases = [phrase for term in GLOSSARY for phrase in term.phrases]
    assert len(set(phrases)) == len(phrases)
    for term in GLOSSARY:
        assert re.fullmatch(r"[^\d.]+\.", term.sentence), "one sentence, no digits"


def test_a_term_is_marked_once_a_section_and_explained_once_a_page():
    text = PAGE.html()
    assert text.count('popovertarget="term-oracle"') == 2
    assert text.count('id="term-oracle"') == 1
    assert 'title="A predictor that knows the true odds' in text


def test_tables_headings_links_and_names_in_tags_are_left_alone():
    html = '<h2>Oracle</h2><table><td>oracle</td></table><p><a href="#x">oracle</a> <data>oracle</data></p>'
    assert explain_terms(html) == (html, "")
    assert "term-" not in explain_terms("<p>Oracles and pre-oracle</p>")[0]
    assert "&lt;b&gt;" in explain_terms("<p>&lt;b&gt; oracle</p>")[0]


def test_the_chart_of_the_first_screen_is_a_figure_for_papers_too():
    assert [figure.name for figure in paper_figures(PAGE.parts)] == ["criteria-by-tau"]
    assert 'data-name="criteria-by-tau"' in PAGE.html()


def test_nothing_is_folded_where_there_is_nothing():
    assert fold("Nothing", None, None) == []
    assert [len(block.blocks) for block in fold("Something", None, Prose("words"))] == [1]


def test_a_long_table_says_where_its_rows_are():
    table = Table([Column("n", "Number", "count")], [{"n": i} for i in range(5)], "Numbers.")
    assert table.capped(5, "row") is table
    assert len(table.capped(2, "row").rows) == 2
    assert "more rows in the JSON" in table.capped(2, "row").caption


@pytest.mark.browser
def test_a_term_opens_without_a_script(chromium, tmp_path):
    target = tmp_path / "page.html"
    target.write_text(PAGE.html(), encoding="utf-8")
    page = open_page(chromium, target.as_uri(), width=390, theme="dark", java_script_enabled=False)
    assert not page.locator("#term-oracle").is_visible()
    page.locator("[popovertarget=term-oracle]").first.click()
    assert page.locator("#term-oracle").is_visible()
    page.context.close()
