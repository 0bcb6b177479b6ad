"""Chains from beginning to end: what is drawn from what, what is kept, what is not done twice, what is refused."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest
from browser import chromium, page_faults
from cohp_example import PROMPTS, Lightness, Shader, chain, shaders
from loaded import run_loaded

from salon.collect import TrueQuality
from salon.errors import BadValue, SalonError
from salon.generate import house_generator
from salon.select import BestSettings, CohpSettings, chain_study, cohp_page
from salon.select.cohp_run import read_decisions
from salon.store import open_study
from salon.study import Ask, Prompt

__all__ = ["chromium"]

EXAMPLE = Path(__file__).parent.parent / "cohp_example.py"


def everything(chain):
    return [one for decision in chain.decisions for one in decision.seen if one.score is not None]


@pytest.mark.browser
def test_chains_end_with_the_best_of_everything_and_leave_a_study(chromium, tmp_path):
    makers = shaders()
    report = chain(tmp_path / "c", makers)
    assert report.is_complete
    assert report.asked == 3 * CohpSettings(tries=2, rounds=2, batch=2).pictures(2) == 24
    for one in report.chains:
        assert one.answer.score == max(seen.score for seen in everything(one))
        assert [decision.round for decision in one.decisions] == [0, 1, 2]
        assert one.decisions[0].generator == "fair"
    study = open_study(tmp_path / "c")
    assert study.counts["items"] == 24
    assert {item.generator for item in study.nouns("items")} == {"dim", "fair", "fair-round-1", "fair-round-2"}
    asked = [ask for maker in makers for ask in maker.asked]
    assert [strength for *_, strength in asked].count(0.8) == 3 * 2 * 2  # two rounds of two for three prompts
    assert read_decisions(tmp_path / "c")[0] == report.chains[0].decisions[0]
    levels = [level.so_far.value for level in report.levels]
    assert levels == sorted(levels)
    page = cohp_page(report, tmp_path / "c").html()
    assert "Filmstrips" in page
    assert page_faults(chromium, page, tmp_path) == []


def test_each_round_starts_from_the_best_picture_of_the_one_before(tmp_path):
    """A gray drawn from a picture lies between that picture's gray and its own: 0.2 and 0.8 of them."""
    report = chain(tmp_path / "c", [Shader("one", 80)], prompts=PROMPTS[:1])
    grays = {one.item: one.score for decision in report.chains[0].decisions for one in decision.seen}
    for before, after in zip(report.chains[0].decisions, report.chains[0].decisions[1:]):
        assert after.began == before.start
        start = grays[before.start]
        for one in after.seen:
            own = Shader("one", 80)._gray(_ask(one.item))
            assert one.score == round(0.2 * start + 0.8 * own)


def test_the_gain_is_the_answer_less_the_best_of_stage_1(tmp_path):
    report = chain(tmp_path / "c")
    by_hand = [one.answer.score - max(seen.score for seen in one.decisions[0].seen if seen.score is not None)
               for one in report.chains]  # fmt: skip
    assert report.gain.value == pytest.approx(sum(by_hand) / len(by_hand))
    assert report.gain.n == len(report.chains)
    assert min(by_hand) >= 0


def _ask(item):
    prompt, _, seed = item.rsplit("/", 2)
    from_text = next(one for one in PROMPTS if one.id == prompt)
    return Ask(prompt=from_text, seed=int(seed))


def test_the_same_seed_gives_the_same_and_another_another(tmp_path):
    seeds = (("a", 1), ("b", 1), ("c", 2))
    one, same, other = (chain(tmp_path / name, seed=seed, prompts=PROMPTS[:1]) for name, seed in seeds)
    assert one.chains == same.chains
    assert one.chains != other.chains


def test_going_on_draws_nothing_twice_and_more_rounds_may_follow(tmp_path):
    first = chain(tmp_path / "c", rounds=1)
    makers, scorer = shaders(), Lightness()
    again = chain(tmp_path / "c", makers, [scorer], rounds=1)
    assert again == first
    assert [maker.asked for maker in makers] == [[], []]
    more = chain(tmp_path / "c", makers, rounds=2)
    assert sum(len(maker.asked) for maker in makers) == 3 * 2
    whole = chain(tmp_path / "w", rounds=2)
    assert more.chains == whole.chains
    with pytest.raises(BadValue, match="batch it began with"):
        chain(tmp_path / "c", batch=3)
    with pytest.raises(BadValue, match="scorers it began with"):
        chain(tmp_path / "c", scorers=[Lightness(5)])


def test_scores_below_0_choose_as_those_above_and_the_released_rule_has_no_answer(tmp_path):
    above, below = chain(tmp_path / "a"), chain(tmp_path / "b", scorers=[Lightness(1000)])
    assert [one.answer.item for one in below.chains] == [one.answer.item for one in above.chains]
    assert all(one.answer.score < 0 for one in below.chains)
    released = chain(tmp_path / "r", scorers=[Lightness(1000)], variant="released", tries=None)
    assert released.settings.each == 2
    assert [one.answer.item for one in released.chains] == [None] * 3
    assert "no answer" in str(cohp_page(released, tmp_path / "r"))


def test_a_generator_that_fails_half_the_time_is_counted_and_the_chain_goes_on(tmp_path):
    makers = shaders(fails=lambda ask: ask.seed % 2 == 0)
    report = chain(tmp_path / "c", makers, tries=4, batch=2)
    assert report.is_complete
    assert report.failed == {"empty": report.asked // 2}
    assert all(mean.failed == 2 and mean.figure.n == 2 for one in report.chains for mean in one.decisions[0].means)
    again = shaders()
    assert chain(tmp_path / "c", again, tries=4, batch=2) == report  # what is decided is not tried again
    assert [maker.asked for maker in again] == [[], []]
    assert "empty" in str(cohp_page(report, tmp_path / "c"))


def test_rounds_without_a_picture_keep_the_start_and_prompts_without_any_wait(tmp_path):
    report = chain(tmp_path / "c", shaders(fails=lambda ask: ask.image is not None))
    assert report.is_complete
    assert report.empty_rounds == 6
    assert report.answers == {0: 3}
    assert {one.start for one in report.chains[0].decisions} == {report.chains[0].decisions[0].start}
    nothing = chain(tmp_path / "n", shaders(fails=lambda ask: True))
    assert nothing.waiting == {"a scored picture in stage 1": 3}
    assert not nothing.is_complete
    assert "Not done" in str(cohp_page(nothing, tmp_path / "n"))
    healed = chain(tmp_path / "n")
    assert healed.is_complete


def test_pictures_without_a_score_are_counted_and_never_chosen(tmp_path):
    report = chain(tmp_path / "c", scorers=[Lightness(gap=3)], tries=4)
    gaps = [one for c in report.chains for d in c.decisions for one in d.seen if one.made and one.score is None]
    assert report.unscored == len(gaps) > 0
    assert all("gave no number" in one.missing for one in gaps)
    assert not {one.item for one in gaps} & {chain.answer.item for chain in report.chains}
    none = chain(tmp_path / "n", scorers=[Lightness(gap=1)])
    assert none.waiting == {"a scored picture in stage 1": 3}


def test_generators_that_cannot_start_from_a_picture_are_refused_or_draw_anew(tmp_path):
    unable, edits = Shader("plain", image_to_image=False), Shader("edits", strength=False)
    for maker in (unable, edits):
        with pytest.raises(BadValue, match="starts from a picture") as refused:
            chain(tmp_path / "c", [maker])
        assert "--unable redraw" in refused.value.remedy
        assert not (tmp_path / "c").exists()
    report = chain(tmp_path / "c", [unable], unable="redraw")
    assert report.redrawn == ("plain",)
    assert {decision.strength for decision in report.chains[0].decisions} == {None}
    assert {strength for *_, strength in unable.asked} == {None}
    with pytest.raises(BadValue, match="from a prompt alone"):
        chain(tmp_path / "d", [Shader("mute", text_to_image=False)])


def test_scales_weights_and_scorers_are_checked_before_anything_is_drawn(tmp_path):
    makers = shaders()
    two = [Lightness(), Lightness(5, name="other")]
    cases = {
        "frozen reference": BestSettings(),
        "sum to a number": BestSettings(weights="lightness=0"),
        "criterion": BestSettings(weights="mood=1"),
    }
    for said, wish in cases.items():
        with pytest.raises(SalonError, match=said):
            chain_study(PROMPTS, makers, CohpSettings(), tmp_path / "c", (), wish, scorers=two)
    with pytest.raises(BadValue, match="at least one scorer"):
        chain_study(PROMPTS, makers, CohpSettings(), tmp_path / "c")
    assert not (tmp_path / "c").exists()
    assert [maker.asked for maker in makers] == [[], []]
    wish = BestSettings(weights="lightness=1,other=3", equal_scales=True)
    told = CohpSettings(tries=1, rounds=0)
    report = chain_study(PROMPTS[:1], makers, told, tmp_path / "c", (), wish, scorers=two)
    answer = report.chains[0].answer
    assert answer.score == pytest.approx(report.values[answer.item]["lightness"] - 0.75 * 5)


def test_killed_nothing_is_lost_and_nothing_drawn_twice(tmp_path):
    done = run_loaded(EXAMPLE, tmp_path, timeout=600)
    assert done.returncode == 0, done.stderr
    *dead, whole = json.loads(done.stdout).values()
    assert whole["ends"] == [0, 0]
    assert whole["again"] == 0
    for one in dead:
        assert one["ends"] == [-signal.SIGKILL, 0]
        assert one["again"] <= 1  # the picture that was under way
        assert one["report"] == whole["report"] | {"study": one["report"]["study"]}


def test_houses_get_better_by_true_quality(tmp_path):
    prompt = Prompt(
        id="jazz", text='A calm poster, "Late Tram", "Jazz in the depot", navy and gold, headline at the top'
    )
    houses = [house_generator(name, 1) for name in ("apprentice", "carnival")]
    settings = CohpSettings(tries=1, rounds=1, batch=2, size="160x224", strengths="0.5")
    report = chain_study([prompt], houses, settings, tmp_path / "c", scorers=[TrueQuality(shift=-5)])
    one = report.chains[0]
    assert one.answer.score == max(seen.score for seen in everything(one)) < 0
    assert report.truth[one.answer.item] == pytest.approx(one.answer.score + 5)
    assert report.true_gain.value == pytest.approx(report.gain.value)
    assert report.gain.value >= 0
    kept = json.loads(next((tmp_path / "c" / "layouts" / "jazz").glob("*round-1-*")).read_text())["kept"]
    assert kept
