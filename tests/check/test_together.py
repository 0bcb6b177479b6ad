"""The row of a whole study: pooled by hand, prompts that criteria share, and where there is none."""

from __future__ import annotations

import numpy as np
import pytest
from drawn_studies import Drawn, shared_ranks

from salon.check import CheckSettings, check_page, check_study
from salon.report import disagreements
from salon.study import Study

RNG = np.random.default_rng
QUICK = CheckSettings(draws=200)


def two_criteria(second: int = 12) -> Study:
    """Five raters rank four items under c on 20 prompts, and under d on the first `second` of them."""
    drawn = Drawn(20, 4).rank(shared_ranks(20, 5, 4, 1.5, RNG(1)))
    return drawn.rank(shared_ranks(second, 5, 4, 0.7, RNG(2)), criterion="d").study()


def test_the_whole_study_by_hand() -> None:
    """LOO is max(v)/5 over pairs, cap 1 for 5-0 and 4-1 and a half for 3-2; the mean LOO is over criteria."""
    report = check_study(two_criteria(), QUICK)
    one = report.together
    assert one is not None
    pairs = {c.criterion: c.ceilings.pairs for c in report.criteria}
    assert pairs == {"c": 120, "d": 72}
    shares = {
        name: sum(c.ceilings.buckets[name].value * pairs[c.criterion] for c in report.criteria) / 192
        for name in ("5-0", "4-1", "3-2")
    }
    assert {name: share.value for name, share in one.pooled.buckets.items()} == pytest.approx(shares)
    assert one.pooled.pairs == 192
    assert one.pooled.panel.value == pytest.approx(shares["5-0"] + 0.8 * shares["4-1"] + 0.6 * shares["3-2"])
    assert one.pooled.cap.value == pytest.approx(shares["5-0"] + shares["4-1"] + 0.5 * shares["3-2"])
    panels = {c.criterion: c.ceilings.panel.value for c in report.criteria}
    assert one.mean_panel == pytest.approx(np.mean(list(panels.values())))
    assert (one.lowest, one.highest) == ("c", "d")
    assert one.pooled.panel.n == 20  # prompts: those of d are among those of c
    html = check_page(report).html()
    assert "The whole study" in html
    assert disagreements(html, report.model_dump(mode="json")) == []


def test_one_criterion_has_no_such_row() -> None:
    report = check_study(Drawn(20, 4).rank(shared_ranks(20, 5, 4, 1.5, RNG(1))).study(), QUICK)
    assert report.together is None
    assert "The whole study" not in check_page(report).html()


def test_medians_of_anchors_stand_on_the_histograms() -> None:
    """Published anchors are of four items and five raters; at another shape there are none."""
    html = check_page(check_study(two_criteria(), QUICK)).html()
    assert html.count("Sushi: median 0.133") == html.count("HPSv2 top-4: median 0.267") >= 2
    other = check_study(Drawn(20, 3).rank(shared_ranks(20, 5, 3, 1.5, RNG(1))).study(), QUICK)
    assert "Sushi: median" not in check_page(other).html()
