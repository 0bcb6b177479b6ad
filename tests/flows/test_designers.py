"""Simulated designers: they read the posters' defects, and say that they are simulated."""

from functools import cache

import numpy as np
import pytest
from scipy.stats import kendalltau

from salon.collect import DesignerSettings, designers_planted, designers_study, read_layout
from salon.errors import DesignError
from salon.fuse import FuseSettings, fuse_study
from salon.generate import GenerateSettings, generate_items, house_generator
from salon.generate.houses import HOUSES, expected_quality
from salon.render import Brief, brief_prompt
from salon.store import open_study, save_study
from salon.study import Item, Prompt, Study

FOUR = ("atelier", "carnival", "ledger", "mirage")
EXACT = DesignerSettings(taste=0, style_taste=0, noise=0, flags=False)


@pytest.fixture(scope="module")
def posters(tmp_path_factory):
    """Sixteen prompts drawn small by four houses."""
    folder = tmp_path_factory.mktemp("posters") / "study"
    asked = {"palette": ("navy", "coral"), "headline_at": "top", "align": "left", "subhead": "Street food and repairs"}
    briefs = [Brief(id=f"b{n}", headline="Night Market", when="Friday", cta="Come", **asked) for n in range(16)]
    settings = GenerateSettings(size="256x360")
    generate_items([brief_prompt(b) for b in briefs], [house_generator(h, 1) for h in FOUR], settings, folder)
    return folder


def qualities(folder, criterion):
    return {item.id: read_layout(folder, item).quality[criterion] for item in open_study(folder).nouns("items")}


def test_without_taste_and_noise_the_order_is_that_of_true_quality(posters):
    quality = {c: qualities(posters, c) for c in ("taste/color-accuracy", "taste/aesthetics-preference")}
    for ranking in designers_study(posters, EXACT).nouns("rankings"):
        if ranking.criterion in quality:
            found = [quality[ranking.criterion][item] for item in ranking.items]
            assert found == sorted(found, reverse=True)


def test_it_is_labelled_and_seeded_and_complete(posters):
    study = designers_study(posters)
    assert study.simulated
    assert "SIMULATED" in study.note
    assert study.hash == designers_study(posters).hash
    assert study.hash != designers_study(posters, DesignerSettings(seed=7)).hash
    assert study.counts["rankings"] == 16 * 5 * 9
    assert study.counts["ratings"] == 16 * 4 * 5


def test_the_agreement_told_is_the_agreement_found(posters):
    many = DesignerSettings(raters=40, flags=False)
    planted = {one.criterion: one.tau for one in designers_planted(posters, many)}
    orders = {}
    for r in designers_study(posters, many).nouns("rankings"):
        if r.criterion == "taste/aesthetics-typography":
            orders.setdefault(r.items[0].split("/")[0], []).append(tuple(np.argsort(r.items)))
    tau = cache(lambda one, other: kendalltau(one, other).statistic)  # four posters have few orders
    found = [tau(o[i], o[j]) for o in orders.values() for i in range(40) for j in range(i)]
    assert np.mean(found) == pytest.approx(planted["taste/aesthetics-typography"], abs=0.08)


def test_left_pictures_have_a_head_start(posters):
    leaning = DesignerSettings(protocol="comparisons", lean=0.5, flags=False)
    rows = list(designers_study(posters, leaning).nouns("comparisons"))
    assert np.mean([row.outcome == row.left for row in rows]) > 0.6
    fair = list(designers_study(posters, leaning.model_copy(update={"lean": 0.0})).nouns("comparisons"))
    assert abs(np.mean([row.outcome == row.left for row in fair]) - 0.5) < 0.05


def test_fused_scores_put_the_houses_in_their_known_order(posters):
    study = designers_study(posters, DesignerSettings(raters=7, flags=False))
    report = fuse_study(study, FuseSettings(by="generator"), criteria=["taste/aesthetics-typography"])
    scores = {one.generator: one.value for one in report.scores}
    expected = {name: expected_quality(HOUSES[name])["taste/aesthetics-typography"] for name in FOUR}
    assert min(scores, key=scores.get) == min(expected, key=expected.get) == "carnival"


def test_pictures_that_nobody_drew_cannot_be_judged(tmp_path):
    items = [Item(id="a", prompt="p", image="images/a.png"), Item(id="b", prompt="p", image="images/b.png")]
    save_study(Study.build("s", (), tables={"prompts": [Prompt(id="p", text="x")], "items": items}), tmp_path / "s")
    with pytest.raises(DesignError, match="layout JSON"):
        designers_study(tmp_path / "s")
