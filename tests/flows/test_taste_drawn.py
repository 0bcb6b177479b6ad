"""The drawn study in the shape of TASTE, at a size that tests can draw."""

import tomllib
from importlib.resources import files

import pytest

from salon.collect import DesignerSettings
from salon.collect.simulate.designers import FLAG
from salon.collect.simulate.taste_drawn import draw_taste_briefs, draw_taste_study
from salon.errors import BadFile, BadValue
from salon.fuse import make_labels
from salon.store import open_study, save_study
from salon.study import Prompt, Study, normalize_text


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """One prompt a criterion, in pictures of an eighth of the usual size."""
    folder = tmp_path_factory.mktemp("drawn") / "study"
    return folder, *draw_taste_study(folder, prompts=1, scale=0.125, processes=1)


def test_the_whole_study_has_the_published_shape():
    briefs = draw_taste_briefs(seed=2026)
    assert [len(group) for group in briefs.values()] == [80] * 9
    every = [brief for group in briefs.values() for brief in group]
    assert len({brief.id for brief in every}) == 720
    looks = {normalize_text(f"{one.headline} {one.style} {one.mood} {one.palette} {one.headline_at}") for one in every}
    assert len(looks) == 720  # so that no two prompts are united by the split
    assert all(brief.palette and brief.headline_at for brief in every)
    for group in briefs.values():
        assert len({brief.headline for brief in group}) == 80


def test_criteria_have_prompts_and_designers_of_their_own(drawn):
    _, study, _ = drawn
    assert study.counts == {"prompts": 9, "items": 36, "raters": 10, "rankings": 45, "ratings": 40}
    prompts, cohorts = {}, {}
    for ranking in study.nouns("rankings"):
        prompts.setdefault(ranking.criterion, set()).add(ranking.items[0].split("/")[0])
        cohorts.setdefault(ranking.criterion, set()).add(ranking.rater.rsplit("-", 1)[0])
    assert all(len(own) == 1 for own in prompts.values())
    assert len(set.union(*prompts.values())) == 9
    assert cohorts["taste/mood"] == {"aesthetics"}
    assert cohorts["taste/color-accuracy"] == {"descriptions"}
    flagged = {rating.item.split("/")[0].rsplit("-", 1)[0] for rating in study.nouns("ratings")}
    assert flagged == {"aesthetics-preference", "descriptions-preference"}
    assert {one.id: one.view[:2] for one in study.cohorts} == {
        "aesthetics": ("intent", "aesthetics"),
        "descriptions": ("intent", "description"),
    }


def test_it_says_what_it_is_and_comes_out_the_same_again(drawn):
    folder, study, planted = drawn
    assert study.simulated
    assert open_study(folder).hash == study.hash
    assert draw_taste_study(folder, prompts=1, scale=0.125, processes=1)[0].hash == study.hash  # nothing is drawn twice
    assert {one.criterion for one in planted} == {one.id for one in study.criteria} - {FLAG}


def test_every_pair_becomes_a_label_with_its_pictures(drawn):
    folder, study, _ = drawn
    table = make_labels(study).table
    assert table.num_rows == 9 * 6
    assert all((folder / image).is_file() for image in table.column("image_a").to_pylist())


def test_the_settings_are_the_designers_own():
    plan = tomllib.loads((files("salon.collect.simulate") / "taste_drawn.toml").read_text(encoding="utf-8"))
    assert plan["seed"] == DesignerSettings().seed
    assert not {"taste", "style_taste", "noise", "lean"} & set(plan)


def test_it_is_not_drawn_into_another_study(tmp_path):
    save_study(Study.build("s", (), tables={"prompts": [Prompt(id="mine", text="x")]}), tmp_path / "s")
    with pytest.raises(BadFile, match="mine"):
        draw_taste_study(tmp_path / "s", prompts=1)


def test_there_are_only_so_many_briefs():
    with pytest.raises(BadValue, match="1 to 80"):
        draw_taste_briefs(81, seed=1)
