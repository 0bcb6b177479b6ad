"""Pages: whole, alone, escaped, and equal to their document."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
import report_example as example
from markupsafe import Markup

from salon.report import (
    Badge,
    Card,
    Chart,
    Note,
    Page,
    Prose,
    Section,
    VerdictLine,
    Verdicts,
    anchors,
    breakable,
    charts,
    disagreements,
    value,
)
from salon.report.values import numbers_in

VOID = {"meta", "link", "br", "img", "hr", "input"}


class Balance(HTMLParser):
    """Every element closed in order; ids and tags gathered."""

    def __init__(self, html):
        super().__init__()
        self.open, self.ids, self.tags, self.attributes = [], [], [], []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        self.ids += [v for k, v in attrs if k == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_page_is_well_formed_with_unique_ids(html):
    parsed = Balance(html)
    assert parsed.open == []
    assert len(parsed.ids) == len(set(parsed.ids))
    for name in (v for k, v in parsed.attributes if k == "aria-labelledby"):
        assert set(name.split()) <= set(parsed.ids)


def test_page_agrees_with_its_document_number_for_number(html, document):
    through_json = json.loads(json.dumps(document))
    assert len(numbers_in(html)) > 80
    assert disagreements(html, through_json) == []
    through_json["criteria"]["Mood"]["mean_tau"]["low"] += 1e-15
    assert len(disagreements(html, through_json)) == 1


def test_page_names_no_other_file_or_address(html, hostile_html):
    for text in (html, hostile_html):
        words = re.sub(r"sha256-[\w+/=]+", "", text)  # a hash may hold two slashes
        assert not re.search(r"(?:https?:)?//[\w.]", words.replace("/*", ""))
        assert "url(" not in text
        assert "@import" not in text
        links = [v for k, v in Balance(text).attributes if k in ("href", "src", "action", "srcset")]
        assert all(link.startswith(("#", "data:")) for link in links)


def test_hostile_names_are_inert(html, hostile_html):
    calm, hostile = Balance(html), Balance(hostile_html)
    assert hostile.tags.count("script") == 1
    assert set(hostile.tags) == set(calm.tags)
    assert not [k for k, _ in hostile.attributes if k.startswith("on")]
    assert "49" not in re.findall(r"<b>(\d+)", hostile_html)
    assert "&lt;script&gt;window.pwned=1" in hostile_html


def test_policy_lets_only_the_own_script_run(html):
    script = re.search(r"<script>(.*?)</script>", html, re.S).group(1)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src &#39;sha256-{digest}&#39;" in html
    assert "default-src &#39;none&#39;" in html


def test_page_is_reproducible_and_written_whole(tmp_path, document, html):
    page = example.report(document)
    target = page.write(tmp_path / "new" / "check.html")
    assert target.read_text(encoding="utf-8") == html == page.html()
    assert [p.name for p in target.parent.iterdir()] == ["check.html"]


def test_a_failing_page_leaves_the_old_one(tmp_path):
    target = tmp_path / "check.html"
    old = Page("t", "s", []).html()
    target.write_text(old)
    with pytest.raises(ZeroDivisionError):
        Page("t", "s", [Section("x", [_Failing()])]).write(target)
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("check.html", old)]


class _Failing(Note):
    def __init__(self):
        super().__init__("")

    def __html__(self):
        raise ZeroDivisionError


def test_surrogates_in_a_name_can_be_written(tmp_path):
    assert Page("a\ud800b", "s", []).write(tmp_path / "p.html").stat().st_size > 1000


def test_contents_point_to_sections():
    assert anchors(["Cycles", "Cycles", "色", "<b>"]) == ["cycles", "cycles--2", "section", "b"]
    html = Page("t", "s", [Section("One", []), Section("Two", ["text <i>"])]).html()
    assert '<a href="#two">Two</a>' in html
    assert '<section id="two">' in html
    assert '<p class="prose">text &lt;i&gt;</p>' in html


def test_prose_keeps_numbers_and_escapes_the_rest():
    prose = Prose.of("τ of <{name}> is {tau}.\n\nNext.", name="<b>", tau=value(0.1, "a.b", "0.100"))
    assert isinstance(prose.words, Markup)
    html = prose.__html__()
    assert html.count("<p ") == 2
    assert "&lt;&lt;b&gt;&gt;" in html
    assert numbers_in(html) == [("a.b", "0.1")]


def test_blocks_show_what_they_are_given():
    verdicts = Verdicts(
        [VerdictLine("A", Badge("factions", "split"), "Two camps.", "G"), VerdictLine("B", Badge("x"), "S", "G")]
    )
    assert verdicts.__html__().count("verdict-group") == 1
    assert "tone-split" in verdicts.__html__()
    assert "card tone-none" in Card("l", "v", "n", "none").__html__()
    assert "<strong>Mind.</strong> words" in Note("words", "alert", "Mind.").__html__()


def test_a_wide_figure_has_a_narrow_twin_and_a_small_one_has_not():
    rows = [("a", 0.1, 0.0, 0.2, "g")]
    assert "for-narrow" in Chart(charts.dot_intervals(rows)).__html__()
    assert "for-narrow" not in Chart(charts.dot_intervals(rows, width=264)).__html__()
    assert "for-narrow" not in Chart(Markup("<svg></svg>")).__html__()
    assert "&lt;svg" in Chart("<svg></svg>").__html__()


def test_the_page_stays_small(html):
    assert len(html.encode()) < 400_000


def test_the_example_of_the_design_page_runs(tmp_path, monkeypatch):
    guide = Path(__file__).parents[2] / "docs" / "design" / "report.md"
    code = re.search(r"```python\n(.*?)```", guide.read_text(encoding="utf-8"), re.S).group(1)
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    exec(code, names)
    assert disagreements((tmp_path / "check.html").read_text(encoding="utf-8"), names["document"]) == []


def test_a_name_breaks_before_what_is_added_and_is_escaped() -> None:
    assert breakable("proof+misalignment@0.4") == "proof<wbr>+misalignment<wbr>@0.4"
    assert breakable("<b>+1") == "&lt;b&gt;<wbr>+1"
    assert breakable("plain") == "plain"
