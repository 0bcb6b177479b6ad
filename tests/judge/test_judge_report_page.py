"""The HTML of a judge report: equal to its JSON number for number, inert, legible; pictures in the gallery."""

from __future__ import annotations

import json
import re
from functools import cache

import numpy as np
import pytest
from browser import OPEN_ALL, OVERFLOW, SEEN, chromium, open_page, page_faults
from drawn_studies import Drawn, shared_ranks
from judge_report_example import both, full_report, judged, people, report, simulated_judge
from PIL import Image
from tick_example import full_ticks, tick, tick_reported, ticked, ticking

from salon.evaluate import evaluation_page
from salon.evaluate.judge_figures import thumbnails
from salon.report import disagreements
from salon.report.values import numbers_in
from salon.study import Item

__all__ = ["chromium"]

HOSTILE = '<script>window.pwned=1</script>"&\u202eevil'


@cache
def hostile_report():
    study = people(8, ("color",))
    rng = np.random.default_rng(0)
    judges = [simulated_judge(study, 0.7, 0.3, rng, name) for name in (HOSTILE, "x" * 300, "", "a\nb")]
    return report(study, *judges)


@cache
def hostile_ticks():
    """Judges, points and words that are no friends of a page."""
    study = ticked([[[(3, 0), (0, 3)]] * 4], points=(HOSTILE, "y" * 300))
    said = [tick(f"i{n:03}", point, n % 2, text=HOSTILE) for n in range(4) for point in (HOSTILE, "y" * 300)]
    return tick_reported(study, *(ticking(study, said, name) for name in (HOSTILE, "x" * 300, "a\nb")))


REPORTS = {"full": full_report, "hostile": hostile_report, "ticks": full_ticks, "hostile ticks": hostile_ticks}


@cache
def html(name):
    return evaluation_page(REPORTS[name]()).html()


@pytest.mark.parametrize("name", REPORTS)
def test_html_and_json_agree_number_for_number(name):
    assert disagreements(html(name), json.loads(REPORTS[name]().model_dump_json())) == []


def test_a_number_that_differs_is_found():
    changed = json.loads(full_report().model_dump_json())
    changed["judges"][1]["macro"]["position_bias"]["low"] += 1e-15
    changed["panel"][0]["ceilings"]["next_rater"]["value"] += 1e-15
    keys = {found.split(":")[0] for found in disagreements(html("full"), changed)}
    assert keys == {"judges.1.macro.position_bias.low", "panel.0.ceilings.next_rater.value"}


def test_every_figure_of_a_judge_is_on_the_page():
    keys = {key for key, _ in numbers_in(html("full"))}
    for name in ("accuracy", "parsed_only", "conditional", "position_bias", "tie_rate", "unseen"):
        assert f"judges.0.macro.{name}.value" in keys
        assert f"judges.0.criteria.1.figures.{name}.value" in keys
    shown = {"judges.0.wordings.sd", "judges.0.with_ties.low", "agreement.0.agreement.value", "correlations.0.value",
             "panel.1.ceilings.oracle.high", "judges.0.buckets.0.accuracy.value", "judges.1.to_best.value"}  # fmt: skip
    assert shown <= keys
    assert "judges.0.to_best.value" not in keys


def test_sections_stand_in_order_and_only_where_there_is_something_to_say():
    shown = re.findall(r"<h2>(.*?)</h2>", html("full"))
    assert shown == ["Verdicts", "Accuracy", "Bias and perception", "By criterion", "The panel",
                     "Between judges", "Steadiness", "Sensitivity", "Worst disagreements", "Policies"]  # fmt: skip
    study = people(6, ("color",))
    words = [v for q in range(6) for v in both(f"q{q}.0", f"q{q}.1", "a", "a")[:1]]
    alone = evaluation_page(
        report(study, judged(study, [v.model_copy(update={"criterion": "color"}) for v in words]))
    ).html()
    assert "Bias and perception" not in alone
    assert "No position bias can be given" in alone


def test_simulated_judges_and_people_without_signal_are_said_at_the_top():
    text = html("full")
    assert "Some judges are simulated." in text[: text.index("<h1>")]
    assert "no more than by chance" in text[: text.index('id="accuracy"')]


def test_the_first_screen_answers_and_says_what_to_do():
    text = html("full")
    words = re.sub(r"<[^>]+>", "", text[text.index('class="answer') : text.index('id="verdicts"')])
    assert "has the highest accuracy of 5 judges: it agrees with people on" in words
    assert "Better than chance: " in words
    assert "Read the warnings first." in words
    assert "Ask every pair in both orders: leaning follows the position" in words


@pytest.mark.parametrize("name", ["hostile", "hostile ticks"])
def test_hostile_names_are_inert(name):
    text = html(name)
    assert text.count("<script>") == 1
    assert "&lt;script&gt;window.pwned=1" in text
    assert "\u202e" not in text


def test_the_same_report_gives_the_same_bytes():
    assert evaluation_page(full_report()).html() == html("full")


@pytest.fixture
def pictured(tmp_path):
    """Two items with pictures, one whose file is broken, one that points out of the folder."""
    for number, color in enumerate(("red", "blue")):
        Image.new("RGB", (80, 600), color).save(tmp_path / f"{number}.png")
    (tmp_path / "2.png").write_bytes(b"no picture")
    images = ["0.png", "1.png", "2.png", "../out.png"]
    items = [Item(id=f"q0.{i}", prompt="q0", image=image) for i, image in enumerate(images)]
    Image.new("RGB", (8, 8)).save(tmp_path.parent / "out.png")
    ranks = shared_ranks(1, 5, 4, 0.01, np.random.default_rng(0))
    return Drawn(1, 4).rank(ranks).study(tables={"items": items}), tmp_path


def test_the_gallery_shows_both_pictures_or_says_that_there_is_none(pictured):
    study, folder = pictured
    found = thumbnails(study, folder, [f"q0.{i}" for i in range(4)])
    assert set(found) == {"q0.0", "q0.1"}
    assert thumbnails(study, None, ["q0.0"]) == {}
    made = report(study, simulated_judge(study, 0.0, 0.0, np.random.default_rng(0)))
    assert len(made.judges[0].worst) == 3
    text = evaluation_page(made, found).html()
    shown = [item for case in made.judges[0].worst for item in (case.panel_choice, case.judge_choice)]
    assert text.count("data:image/webp") == sum(item in found for item in shown)
    assert text.count("no picture") == sum(item not in found for item in shown) > 0


@pytest.mark.browser
@pytest.mark.parametrize(("width", "theme"), SEEN)
def test_in_a_browser(chromium, tmp_path, width, theme):
    """No console error, no request, no sideways scroll, nothing run from a name."""
    for name in REPORTS:
        target = tmp_path / f"{name.replace(' ', '-')}.html"
        target.write_text(html(name), encoding="utf-8")
        page = open_page(chromium, target.as_uri(), width=width, theme=theme)
        page.evaluate(OPEN_ALL)
        assert page.evaluate(OVERFLOW) == 0, name
        assert page.problems == [], name
        assert page.evaluate("window.pwned") is None
        page.context.close()


@pytest.mark.browser
@pytest.mark.parametrize("name", ["full", "ticks"])
def test_nothing_is_wrong_under_axe(chromium, tmp_path, name):
    assert page_faults(chromium, html(name), tmp_path) == []
