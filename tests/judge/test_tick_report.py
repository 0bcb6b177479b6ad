"""Judges of checklists against people: by hand, by recovery, from every kind of record, together, at the edge."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from judge_report_example import both, judged, people, report
from tick_example import full_ticks, majorities, people_who_tick, tick, tick_reported, ticked, ticking

from salon.cli.judge_report import report as command
from salon.errors import TooFew, UnknownReference
from salon.evaluate import ReportSettings, Routing, evaluation_page, report_judges
from salon.evaluate.checklists import rater_ticks, tick_panel
from salon.judge import JudgeSettings, SimulatedVlm, judge_study, panel_truth
from salon.report import disagreements
from salon.report.values import numbers_in
from salon.store import save_study
from salon.study import Checklist, Point, Rater, Route


def values(figures, *names):
    return [None if getattr(figures, name) is None else getattr(figures, name).value for name in names]


def test_by_hand():
    """Six items, one point. Yes 3-0, 3-0, 2-1, no 0-3, 1-2, and one split 1-1 that is out.

    The judge says yes, no, unread, no, yes: right 2 of 5, of the four read 2; people pass 3 of 5, always yes has .6;
    it passes 2 of the 4 it was read on, people 2 of those: lean 0; on yes 1/2, on no 1/2.
    """
    study = ticked([(3, 0), (3, 0), (2, 1), (0, 3), (1, 2), (1, 1)])
    said = [1.0, 0.0, None, 0.0, 1.0, 1.0]
    made = tick_reported(study, ticking(study, [tick(f"i{n:03}", "p", value) for n, value in enumerate(said)]))
    one = made.ticks.judges[0]
    names = ("accuracy", "parsed_only", "constant", "pass_rate", "lean", "on_yes", "on_no", "unread")
    assert values(one.pooled, *names) == [0.4, 0.5, 0.6, 0.5, 0, 0.5, 0.5, 0.2]
    part = one.criteria[0]
    assert (part.asked, part.decided, part.panel_ticks, part.unvoted) == (6, 5, 5, 0)
    assert {split.split: (split.accuracy.value, split.ticks) for split in one.splits} == {
        "3-0": (pytest.approx(2 / 3), 3), "2-1": (0, 2)}  # fmt: skip
    point = one.points[0]
    assert (point.point, point.ticks, point.people_yes, point.judge_yes, point.unread) == ("p", 5, 3, 2, 1)
    panel = made.ticks.panel[0]
    assert (panel.ticks, panel.tied, panel.raters, panel.pass_rate.value) == (6, 1, "2 to 3", 0.6)
    assert made.judges == ()
    worst = [(case.item, case.people, case.votes) for case in one.worst]
    assert (worst, one.worst_of) == ([("i001", True, (3, 0)), ("i004", False, (2, 1))], 2)


def test_a_run_s_own_folder_is_read_and_its_worth_recovered(tmp_path):
    study = people_who_tick(40, 3, ("c",), seed=2)
    save_study(study, tmp_path)
    judge = SimulatedVlm("sim", panel_truth(study), accuracy=0.75, unparsed_rate=0.05)
    judge_study(study, tmp_path, judge, JudgeSettings(protocol="checklist"), looks=False)
    made = report_judges(study, tmp_path, ReportSettings(draws=300), check=False)
    one = made.ticks.judges[0]
    assert (one.name, one.kind, one.simulated, one.usage.answers) == ("sim", "checklist", True, 480)
    assert one.usage.unread == sum(one.usage.reasons.values()) > 0
    assert one.macro.parsed_only.low < 0.75 < one.macro.parsed_only.high
    assert one.macro.accuracy.value == pytest.approx((1 - one.macro.unread.value) * one.macro.parsed_only.value)
    assert made.warnings == ()


def test_pairs_and_checklists_stand_in_one_report(tmp_path):
    """A judge of points that nobody ticked is named; beside a judge of pairs it no longer vanishes where they did."""
    study = people(6, ("color",))
    pairs = judged(study, [v.model_copy(update={"criterion": "color"}) for v in both("q0.0", "q0.1", "a", "a")])
    lost = ticking(study, [tick("q0.0", "legible", 1.0, criterion="color")], "points")
    made = report(study, pairs, ticks=[lost])
    assert made.ticks is None
    assert "left out, without an answer on a pair or a point with a majority: points" in made.warnings
    lists = [Checklist(criterion="color", rater="r0", item="q0.0", points=("legible",), answers=(True,))]
    tables = {kind: study.table(kind) for kind in study.counts} | {"checklists": lists}
    both_kinds = type(study).build(study.name, study.criteria, tables=tables)
    made = report(both_kinds, pairs, ticks=[lost])
    assert [one.name for one in (*made.judges, *made.ticks.judges)] == ["j", "points"]
    text = evaluation_page(made).html()
    assert disagreements(text, json.loads(made.model_dump_json())) == []
    assert text.index('id="accuracy"') < text.index('id="checklists"')


def test_raters_that_are_models_and_answers_they_lack():
    """No answer to a point counts as unread, or with not-asked is left out; people are asked once."""
    vlm = Checklist(criterion="c", rater="vlm", item="i000", points=("p",), answers=(True,))
    again = Checklist(criterion="c", rater="r0", item="i000", points=("p",), answers=(False,), repeat=1)
    study = ticked([(3, 0), (3, 0)], raters=[Rater(id="vlm", kind="model")], extra=[vlm, again])
    assert (tick_panel(study).yes.tolist(), tick_panel(study).no.tolist()) == ([3, 3], [0, 0])
    for everywhere, expected in ((True, (0.5, 2)), (False, (1.0, 1))):
        one = tick_reported(study, *rater_ticks(study, everywhere=everywhere)).ticks.judges[0]
        assert (one.kind, one.pooled.accuracy.value, one.pooled.ticks) == ("rater", *expected)


def test_samples_are_settled_by_more_than_half():
    study = ticked([(3, 0)] * 3)
    said = {"i000": (1.0, 1.0, 0.0), "i001": (1.0, 0.0, None), "i002": (0.0, 0.0, None)}
    verdicts = [tick(item, "p", value, sample=k) for item, three in said.items() for k, value in enumerate(three)]
    one = tick_reported(study, ticking(study, verdicts)).ticks.judges[0]
    assert values(one.pooled, "accuracy", "parsed_only", "unread") == pytest.approx([1 / 3, 1 / 2, 1 / 3])
    assert one.samples == 3
    assert one.self_agreement.value == pytest.approx((1 / 3 + 0 + 1) / 3)


def two_minds():
    """Three judges on four items that people all pass: 3 yes; 2 yes and a no; a yes, a no, unread; 2 yes, unread."""
    study = ticked([(3, 0)] * 4)
    told = {"x": (1.0, 1.0, 1.0, 1.0), "y": (1.0, 1.0, 0.0, 1.0), "z": (1.0, 0.0, None, None)}
    judges = [
        ticking(study, [tick(f"i{n:03}", "p", value, name) for n, value in enumerate(said)], name)
        for name, said in told.items()
    ]
    return study, judges


def test_several_judges_as_one_by_hand():
    """Majority: yes, yes, open, yes. Unanimous: yes, no, no, open. Disputed: the second and the third."""
    study, judges = two_minds()
    ticks = tick_reported(study, *judges).ticks
    found = {one.rule: one for one in ticks.together}
    assert values(found["majority"].macro, "accuracy", "parsed_only", "unread") == [0.75, 1.0, 0.25]
    assert values(found["unanimous"].macro, "accuracy", "unread") == [0.25, 0.25]
    assert values(found["majority"], "disputed", "settled_accuracy", "disputed_accuracy") == [0.5, 1.0, 0.5]
    assert [(one.point, one.disputed, one.ticks) for one in ticks.disputed] == [("p", 2, 4)]
    same = {(one.first, one.second): (one.agreement.value, one.ticks) for one in ticks.agreement}
    assert same == {("x", "y"): (0.75, 4), ("x", "z"): (0.5, 2), ("y", "z"): (0.5, 2)}


def test_routes_send_points_to_their_judges():
    study, judges = two_minds()
    points = [Point(id="p", tag="text")]
    routed = Routing(points, [Route(tag="text", judges=("y",)), Route(tag="*", judges=("x", "z"))])
    with pytest.raises(UnknownReference, match="gone"):
        tick_reported(study, *judges, routing=Routing(points, [Route(tag="*", judges=("gone",))]))
    made = tick_reported(study, *judges, routing=routed)
    assert [(one.rule, one.macro.accuracy.value) for one in made.ticks.together] == [("routes", 0.75)]
    assert made.signature != tick_reported(study, *judges).signature


def test_a_judge_s_figures_do_not_hang_on_its_neighbours():
    study, judges = two_minds()
    alone, beside = tick_reported(study, judges[1]).ticks, tick_reported(study, *judges).ticks
    assert next(one for one in beside.judges if one.name == "y").macro == alone.judges[0].macro


def test_page_and_json_agree_and_all_figures_are_shown():
    made = full_ticks()
    text = evaluation_page(made).html()
    keys = {key for key, _ in numbers_in(text)}
    for name in ("accuracy", "parsed_only", "balanced", "kappa", "on_yes", "on_no", "pass_rate", "lean", "unread"):
        assert f"ticks.judges.0.macro.{name}.value" in keys
        assert f"ticks.judges.1.criteria.1.figures.{name}.value" in keys
    assert {"ticks.panel.1.ceilings.next_rater.low", "ticks.together.0.macro.accuracy.value",
            "ticks.agreement.0.kappa.value", "ticks.judges.2.points.0.accuracy.value",
            "ticks.judges.1.to_best.high"} <= keys  # fmt: skip
    assert "Bias and perception" not in text
    assert "tells yes from no" in text


def test_at_the_terminal(tmp_path):
    study = people_who_tick(6, 2, ("c",))
    save_study(study, tmp_path)
    judge = SimulatedVlm("sim", panel_truth(study), accuracy=0.9)
    judge_study(study, tmp_path, judge, JudgeSettings(protocol="checklist"), looks=False)
    routes = tmp_path / "routes.toml"
    routes.write_text('[[route]]\ntag = "*"\njudges = ["sim"]\n')
    ran = CliRunner().invoke(command, [str(tmp_path), "--draws", "100", "--routes", str(routes)])
    assert ran.exit_code == 0, ran.output
    for words in ("Checklists against people", "Several judges as one", "hardest first", "Next rater"):
        assert words in ran.output


def test_what_cannot_be_reported_is_named():
    study = ticked([(1, 1)])
    with pytest.raises(TooFew, match="majority"):
        tick_reported(study, ticking(study, [tick("i000", "p", 1.0)]))
    study = ticked([(3, 0)])
    with pytest.raises(TooFew, match="none by j"):
        tick_reported(study, ticking(study, [tick("i000", "another", 1.0)]))
    with pytest.raises(UnknownReference, match="item of the study"):
        ticking(study, [tick("i009", "p", 1.0)])
    with pytest.raises(UnknownReference, match="criterion of the study"):
        ticking(study, [tick("i000", "p", 1.0, criterion="taste")])
    alone = tick_reported(ticked([(1, 0)]), ticking(study, [tick("i000", "p", None)]))
    assert (alone.ticks.panel[0].ceilings, alone.ticks.judges[0].macro.parsed_only) == (None, None)
    assert "ceilings need two answers" in evaluation_page(alone).html()


def test_people_are_counted_as_a_plain_count_does():
    study = people_who_tick()
    panel = tick_panel(study)
    found = {(*tick, bool(answer)) for tick, answer in zip(panel.ticks, panel.majority)}
    assert found == set(majorities(study))
    assert set(panel.raters.tolist()) == {5}
