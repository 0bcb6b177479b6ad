"""The HTML of a check: equal to its JSON number for number, whole for every kind of study, inert, legible."""

from __future__ import annotations

import json
import re
from functools import cache

import check_examples as examples
import pytest
from browser import OVERFLOW, OVERLAPS, SEEN, open_page, page_faults
from page_words import Page, numbers_of

from salon.check import check_page
from salon.check.report import SIMULATED
from salon.check.report_signal import with_distinct_names
from salon.report import brief, disagreements, without_shared_start
from salon.report.values import numbers_in

NAMES = sorted(examples.EXAMPLES)


@cache
def report(name):
    return examples.EXAMPLES[name]()


@cache
def html(name):
    return check_page(report(name)).html()


def document(name):
    return json.loads(report(name).model_dump_json())


@pytest.mark.parametrize("name", NAMES)
def test_html_and_json_agree_number_for_number(name):
    assert disagreements(html(name), document(name)) == []


def test_a_number_that_differs_is_found():
    changed = document("full")
    changed["criteria"][0]["statistics"]["intervals"]["mean_tau"]["low"] += 1e-15
    changed["raters"][3]["left_rate"]["value"] += 1e-15
    keys = {found.split(":")[0] for found in disagreements(html("full"), changed)}
    assert keys == {"criteria.0.statistics.intervals.mean_tau.low", "raters.3.left_rate.value"}


UNPRINTED = re.compile(
    r"""seconds$ | \.level$ | revision$ |
        \.shapes\.\d+\.(t_support|t_null|pmax_support|pmax_null|t_counts|pmax_counts)\.\d+$ |  # drawn
        \.raters\.(error|prompts)\.\d+\.\d+$ |                      # in the tooltip of each cell
        \.(alpha|mean_W|panel|cap|next_rater|oracle|leave_one_out\w*|left_rate|mean_tau|kappa|gap)\.n$ |
        \.(buckets\.[^.]+|shares\.\d+|comparisons|ratings|difference)\.n$ |
        \.left_out$ """,
    re.X,
)
"""What a page may leave to the JSON; everything else of a report must be on it."""


def test_no_number_of_the_report_is_missing_from_the_page():
    shown = {key for key, _ in numbers_in(html("full"))}
    missing = [path for path in numbers_of(document("full")) if path not in shown and not UNPRINTED.search(path)]
    assert missing == []
    assert len(shown) > 1200


def test_charts_carry_the_numbers_they_draw():
    drawings = "".join(re.findall(r"<svg.*?</svg>", html("full"), re.S))
    keys = {key for key, _ in numbers_in(drawings)}
    for key in (
        "criteria.0.statistics.mean_tau", "criteria.0.statistics.intervals.cycle_rate.high", "criteria.3.null.median_T",
        "criteria.2.raters.tau.0.4", "criteria.1.ceilings.buckets.5-0.value", "criteria.1.shapes.0.pmax_counts.2",
        "criteria.0.shapes.0.t_counts.3", "anchors.0.cycle_rate", "flags.0.shares.2.value",
    ):  # fmt: skip
        assert key in keys


@pytest.mark.parametrize("name", ["full", "minimal", "votes", "ragged"])
def test_every_printed_number_is_marked_or_quoted(name):
    """Digits stand in a `<data>` element, or come word for word from a string of the report."""
    quoted = " ".join(strings(document(name)))
    loose = re.findall(r"\d[\d.,]*\d|\d", " ".join(Page(html(name)).words).replace("×", " "))
    assert [words for words in loose if words not in quoted] == []


def strings(part):
    if isinstance(part, str):
        yield part
        yield brief(part)
    elif isinstance(part, dict):
        for key, below in part.items():
            yield key
            yield from strings(below)
    elif isinstance(part, list):
        for below in part:
            yield from strings(below)


def test_a_simulated_study_says_so_before_anything_else():
    assert f'role="note"><span class="glyph" aria-hidden="true"></span>{SIMULATED}</p>' in html("full")
    assert html("full").index(SIMULATED) < html("full").index("<h1>")
    assert SIMULATED not in html("ragged")
    warned = report("full").model_copy(update={"warnings": ("simulated study: no person gave these answers",)})
    assert "<strong>Warning." not in check_page(warned).html()


def test_the_full_report_has_every_section_and_a_votes_report_only_its_own():
    def titles(name):
        return re.findall(r"<h2>(.*?)</h2>", html(name))

    assert titles("full") == ["Verdicts", "Signal", "Distributions", "Cycles", "Raters", "Factions", "Ceilings",
                              "Flags", "Protocols", "Data", "Method"]  # fmt: skip
    assert titles("votes") == ["Verdicts", "Signal", "Raters", "Ceilings", "Data", "Method"]
    assert titles("minimal") == ["Verdicts", "Signal", "Raters", "Factions", "Data", "Method"]


def test_verdicts_policies_warnings_and_signature_are_printed():
    text = html("full")
    for c in report("full").criteria:
        assert c.sentence in text
    assert text.count('class="badge tone-clear"') == 9 + 2  # each in a fold, and many of one verdict in one line
    assert "Strict rankings: no tie was allowed." in text
    assert "<strong>Warning.</strong> Ties=stable breaks ties alike" in text
    assert str(report("full").signature).replace("'", "&#39;") in text


def test_the_naive_p_is_marked_as_the_wrong_law():
    assert "naive p (wrong law)" in html("full")
    keys = {key for key, _ in numbers_in(html("full"))}
    assert "criteria.0.tests.2.p_naive" in keys


def test_a_dash_tells_its_reason():
    text = html("ragged")
    even = next(i for i, c in enumerate(report("ragged").criteria) if c.name == "Even panel")
    reason = report("ragged").criteria[even].tests[3].refused
    assert text.count(f'title="{reason}"') == 2
    words = re.sub(r"<[^>]+>", "", text)
    assert f"Even panel (Cycles): {reason}." in words
    assert f"Even panel: no cycle rate; {reason}." in words


def test_what_a_shared_tie_break_makes_is_printed():
    first, *rest = report("full").criteria
    stable = report("full").model_copy(update={"criteria": (first.model_copy(update={"tie_control": 0.14}), *rest)})
    assert ("criteria.0.tie_control", "0.14") in numbers_in(check_page(stable).html())
    assert "Made by tie-break" in check_page(stable).html()
    assert "Made by tie-break" not in html("full")


def test_other_shapes_are_listed_and_the_largest_is_drawn():
    words = re.sub(r"<[^>]+>", "", html("ragged"))
    assert "60 prompts of 4 items × 5 raters. Null: exact. Not drawn: 12 prompts of 4 items × 4 raters" in words
    assert "40 prompts of 8 items × 6 raters. Null: Monte Carlo, n=20,000." in words
    ragged = next(i for i, c in enumerate(report("ragged").criteria) if c.name == "Ragged")
    drawn = {key for key, _ in numbers_in(html("ragged")) if f"criteria.{ragged}.shapes" in key and "t_counts" in key}
    assert {key.split(".")[3] for key in drawn} == {"0"}


def test_buckets_of_every_panel_size_are_listed():
    ragged = next(i for i, c in enumerate(report("ragged").criteria) if c.name == "Ragged")
    keys = {key for key, _ in numbers_in(html("ragged"))}
    buckets = report("ragged").criteria[ragged].ceilings.buckets
    assert {"4-1 of 5", "3-1 of 4", "2-1 of 3"} <= set(buckets)
    assert {f"criteria.{ragged}.ceilings.buckets.{name}.value" for name in buckets} <= keys


def test_an_anchor_of_another_shape_is_named_but_not_drawn():
    drawings = "".join(re.findall(r"<svg.*?</svg>", html("full"), re.S))
    assert "Sushi 0.144" in drawings
    assert "Films" not in drawings
    assert "because no criterion has their shape: Films." in html("full")


def test_a_study_without_anchors_draws_none():
    bare = check_page(report("full").model_copy(update={"anchors": ()})).html()
    assert "reference dashed" not in bare
    assert "anchor" not in " ".join(Page(bare).words)


def test_too_much_to_draw_is_said_and_not_hidden():
    text = html("many")
    assert "Not drawn, to keep the page light: " in text
    assert text.count("Agreement of raters on ") >= 2
    assert len(text) < 3_000_000


def test_the_first_screen_answers_and_says_what_to_do():
    text = re.sub(
        r"<[^>]+>", "", html("full")[html("full").index('class="answer') : html("full").index('id="verdicts"')]
    )
    assert "Raters agree more than chance on 10 of 11 criteria: as one taste on 9 and in camps on 1." in text
    assert "No agreement on Lettering, random control." in text
    for step in ("Read the warnings first.", "Do not score or train on Lettering, random control",
                 "Score each camp on Humour by itself", "Look at 2 flagged raters"):  # fmt: skip
        assert step in text
    assert "Criteria ordered by mean tau" in text


def test_hundreds_of_criteria_make_a_light_page():
    first, *_ = report("full").criteria
    criteria = tuple(first.model_copy(update={"name": f"Criterion {i}", "criterion": f"c{i}"}) for i in range(200))
    text = check_page(report("full").model_copy(update={"criteria": criteria, "together": None})).html()
    assert len(text) < 3_000_000
    assert "100</data> more criteria in the JSON" in text
    assert "170</data> weaker criteria not drawn" in text


def test_hundreds_of_raters_are_cut_with_the_flagged_kept():
    base = report("full")
    row = base.raters[1]
    crowd = [row.model_copy(update={"rater": f"extra {i}", "flags": ()}) for i in range(300)]
    last = row.model_copy(update={"rater": "the last one", "judgments": 1, "flags": ("very fast",)})
    text = check_page(base.model_copy(update={"raters": (*crowd, last)})).html()
    assert "the last one" in text
    assert "extra 198" in text
    assert "extra 199" not in text
    assert "101</data> raters more in the JSON" in text


def test_hostile_names_are_inert():
    calm, hostile = Page(html("full")), Page(html("hostile"))
    assert hostile.tags.count("script") == 1
    assert set(hostile.tags) <= set(calm.tags)
    assert not [name for name, _ in hostile.attributes if name.startswith("on")]
    assert "&lt;script&gt;window.pwned=1" in html("hostile")
    shown = re.sub(r'data-key="[^"]*"', "", html("hostile"))
    assert "\u202e" not in shown, "it would turn the words after it"
    assert max(map(len, hostile.words)) < 1000, "a long name must not fill the page"


def test_names_are_told_apart():
    names = [c.name for c in with_distinct_names(report("full")).criteria]
    assert {"Typography (aesthetics)", "Typography (descriptions)", "Mood"} <= set(names)
    hostile = [c.name for c in with_distinct_names(report("hostile")).criteria]
    assert len(set(hostile)) == len(hostile) == 7
    assert max(map(len, hostile)) < 110


@pytest.mark.parametrize(
    ("names", "short", "start"),
    [
        (["designer-A", "designer-B"], ["A", "B"], "designer-"),
        (["anna", "annika"], ["anna", "annika"], ""),  # no separator to cut at
        (["r-1", "r-2"], ["r-1", "r-2"], ""),  # two letters are not worth a legend
        (["studio-", "studio-B"], ["studio-", "studio-B"], ""),  # nothing would remain of the first
        (["lone-rater"], ["lone-rater"], ""),
    ],
)
def test_shared_starts_of_names(names, short, start):
    assert without_shared_start(names) == (short, start)


def test_brief_keeps_both_ends():
    assert brief("a" * 50 + "b" * 50, 30) == "a" * 20 + "…" + "b" * 10
    assert brief(" a \n b ") == "a b"
    assert brief("") == "(no name)"


def test_the_same_report_gives_the_same_bytes():
    assert check_page(report("full")).html() == html("full")


@pytest.mark.browser
@pytest.mark.parametrize(("width", "theme"), SEEN)
def test_in_a_browser(chromium, tmp_path, width, theme):
    """No console error, no request, no sideways scroll, nothing run from a name; charts shown once, labels apart."""
    for name in ("full", "ragged", "hostile", "votes", "minimal"):
        target = tmp_path / f"{name}.html"
        target.write_text(html(name), encoding="utf-8")
        page = open_page(chromium, target.as_uri(), width=width, theme=theme)
        assert page.evaluate(OVERFLOW) == 0, name
        assert page.problems == [], name
        assert page.evaluate("window.pwned") is None
        assert page.evaluate(OVERLAPS) == [], name
        page.context.close()


@pytest.mark.browser
def test_tables_fit_a_sheet_of_paper(chromium, tmp_path):
    """A4 less its margins is 688 px; a table wider than that would be cut off."""
    wide = "[...document.querySelectorAll('table')].filter(t => t.scrollWidth > t.parentNode.clientWidth + 1).length"
    for name in ("full", "ragged", "votes"):
        target = tmp_path / f"{name}.html"
        target.write_text(html(name), encoding="utf-8")
        page = open_page(chromium, target.as_uri(), width=688)
        page.emulate_media(media="print")
        assert page.evaluate(wide) == 0, name
        page.context.close()


"""Pairs of labels of a chart that touch, and labels that leave their drawing."""


@pytest.mark.browser
def test_nothing_is_wrong_under_axe(chromium, tmp_path):
    assert page_faults(chromium, html("full"), tmp_path) == []


TASTE_LIMITS = {1280: 6000, 390: 10_000}
VISIBLE_WORDS = "document.body.innerText.split(/\\s+/).filter(Boolean).length"


@pytest.mark.browser
@pytest.mark.parametrize(("width", "theme"), SEEN)
def test_a_page_is_short_before_anything_is_opened(chromium, tmp_path, width, theme):
    """Eleven criteria with flags, protocols, ceilings and warnings."""
    target = tmp_path / "page.html"
    target.write_text(html("full"), encoding="utf-8")
    page = open_page(chromium, target.as_uri(), width=width, theme=theme)
    assert page.evaluate("document.documentElement.scrollHeight") <= TASTE_LIMITS[width]
    assert page.evaluate(VISIBLE_WORDS) <= 1500
    page.context.close()
