"""The watch over a service: what counts, what is left out, alarms, files, and the command."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pytest
from click.testing import CliRunner

from salon.cli.lazy_commands import select
from salon.errors import BadFile
from salon.select import (
    Decision,
    DecisionLog,
    DecisionSettings,
    DriftMonitor,
    DriftSettings,
    Feedback,
    WatchedLog,
    read_drift_reference,
    write_drift_reference,
)
from salon.select.service.drift import DriftReference

SMALL = DriftSettings(window=40, reference_size=100, choices=30)


def decisions(rng, count, *, shift=0.0, model="m@1", pictures=3, start=0):
    for number in range(start, start + count):
        hashes = tuple(hashlib.sha256(f"{number}/{one}".encode()).hexdigest() for one in range(pictures))
        values = {name: tuple(map(float, rng.normal(size=pictures) + shift)) for name in ("type", "mood")}
        yield Decision(
            id=str(number), endpoint="pick", owner="team", model=model, pictures=hashes, values=values, chosen=0
        )


def watch(shift, rng, monitor=None):
    monitor = monitor or DriftMonitor(SMALL)
    for one in decisions(rng, 100 + 5 * 40):
        monitor.see(one)
    for one in decisions(rng, 5 * 40, shift=shift, start=1000):
        monitor.see(one)
    return monitor.report()


def test_a_shift_alarms_and_no_shift_does_not():
    quiet, loud = watch(0.0, np.random.default_rng(1)), watch(1.2, np.random.default_rng(2))
    assert [one.status for one in quiet.criteria] == ["as the reference"] * 2
    assert not quiet.alarm
    assert loud.alarm
    assert all(one.first_alarm > 5 and one.shift > 0.6 and one.psi > one.psi_expected for one in loud.criteria)
    assert {one.looks for one in loud.criteria} == {10}
    # two criteria and agreement share the level, and the tenth look has 1/110 of a share
    assert [one.level for one in quiet.criteria] == pytest.approx([SMALL.level / 3 / 110] * 2)


def test_a_decision_counts_by_one_picture_that_its_score_does_not_choose():
    monitor = DriftMonitor(SMALL)
    rng = np.random.default_rng(3)
    made = list(decisions(rng, 100))
    for one in made:
        monitor.see(one)
    firsts = [one.values["type"][one.pictures.index(min(one.pictures))] for one in made]
    assert list(monitor.frozen().values["type"]) == firsts


def test_the_same_picture_counts_once_in_a_window_and_gaps_are_counted():
    monitor = DriftMonitor(SMALL)
    one = next(decisions(np.random.default_rng(4), 1))
    for _ in range(500):
        monitor.see(one)
    monitor.see(one.model_copy(update={"values": {"type": (None, None, None)}}))
    found = {part.criterion: part for part in monitor.report().criteria}
    assert (found["type"].reference, found["type"].missing, found["type"].status) == (1, 1, "gathering a reference")


def test_another_model_is_not_drift():
    monitor = DriftMonitor(SMALL)
    for one in decisions(np.random.default_rng(5), 150):
        monitor.see(one)
    held = DriftMonitor(SMALL, monitor.frozen())
    for one in decisions(np.random.default_rng(6), 80, shift=9, model="m@2", start=500):
        monitor.see(one)
        held.see(one)
    report = monitor.report()  # a watch of its own for the model that decides now
    assert (report.model, report.other_models, report.alarm, report.decisions) == ("m@2", 150, False, 80)
    assert report.criteria[0].status == "gathering a reference"
    report = held.report()  # a reference stays with its model
    assert (report.model, report.other_models, report.alarm, report.decisions) == ("m@1", 80, False, 0)
    for one in decisions(np.random.default_rng(7), 1, start=900):
        monitor.see(one)  # rolled back: the first watch goes on
    assert (monitor.report().model, monitor.report().decisions) == ("m@1", 151)


def test_criteria_that_come_late_are_named_and_not_watched():
    reference = DriftReference(model="m@1", values={"type": tuple(range(30))})
    monitor = DriftMonitor(SMALL, reference)
    for one in decisions(np.random.default_rng(7), 3):
        monitor.see(one)
    assert monitor.report().unwatched == ("mood",)


@pytest.mark.parametrize(("after", "status"), [(0.8, "as the reference"), (0.1, "falling")])
def test_agreement_with_people(after, status):
    monitor = DriftMonitor(SMALL)
    rng = np.random.default_rng(8)
    for number, one in enumerate(decisions(rng, 150)):
        agrees = rng.random() < (0.8 if number < 30 else after)
        chosen = one.pictures[0 if agrees else 1]
        monitor.said(one, Feedback(decision=one.id, chosen=chosen, rater="ana", criterion="type"))
    found = monitor.report().agreement
    assert found.status == status
    assert found.chance == pytest.approx(1 / 3)
    copied = DriftMonitor(SMALL)
    copies = one.model_copy(update={"pictures": (one.pictures[0], one.pictures[0], one.pictures[1])})
    copied.said(copies, Feedback(decision=one.id, chosen=one.pictures[1], rater="ana", criterion="type"))
    assert copied.report().agreement.chance == pytest.approx(1 / 2)  # two pictures to choose from, one of them twice
    assert found.overall.low < found.overall.value < found.overall.high
    assert monitor.report().alarm is (status == "falling")


def test_a_reference_in_a_file(tmp_path):
    reference = DriftReference(model="m@1", values={"type": (1.0, 2.5)}, agreed=3, choices=7)
    write_drift_reference(reference, tmp_path / "r.json")
    assert read_drift_reference(tmp_path / "r.json") == reference
    (tmp_path / "bad.json").write_text("[1]")
    with pytest.raises(BadFile, match=r"salon\.drift"):
        read_drift_reference(tmp_path / "bad.json")


def test_the_command_says_what_a_running_watch_would(tmp_path):
    settings = ["--window", "40", "--reference-size", "100"]
    log = DecisionLog(DecisionSettings(folder=tmp_path / "log", sync=False))
    rng = np.random.default_rng(9)
    kept = []
    for shift, count in ((0.0, 180), (1.5, 80)):
        for one in decisions(rng, count, shift=shift, start=len(kept)):
            kept.append(log.record(one.model_copy(update={"id": None})))
    log.feedback(Feedback(decision=kept[0], chosen=1, rater="ana", criterion="type"), owner="team")
    log.close()
    run = CliRunner().invoke
    frozen = run(select, ["drift", str(tmp_path / "log"), "--freeze", str(tmp_path / "r.json"), *settings])
    assert frozen.exit_code == 1, frozen.output
    assert "drift, first in window" in frozen.output
    assert "agreement with 1 later choices: 0%" in frozen.output
    again = run(select, ["drift", str(tmp_path / "log"), "--reference", str(tmp_path / "r.json"), *settings, "--json"])
    report = json.loads(again.output)
    assert report["alarm"] is True
    assert [one["reference"] for one in report["criteria"]] == [100, 100]


def test_a_watch_goes_on_after_a_restart(tmp_path):
    settings, rng = DecisionSettings(folder=tmp_path, sync=False), np.random.default_rng(10)
    made = [one.model_copy(update={"id": None}) for one in decisions(rng, 190)]
    whole = DriftMonitor(SMALL)
    for start in (0, 110):  # the service is stopped in the middle of a window
        log = WatchedLog(settings, SMALL)
        ids = [log.record(one) for one in made[start : start + 110]]
        log.feedback(Feedback(decision=ids[0], chosen=0, rater="ana", criterion="type"), owner="team")
        log.close()
    for one in made:
        whole.see(one)
    assert log.monitor.report().criteria == whole.report().criteria
    assert log.monitor.report().criteria[0].looks == 2
    assert (log.monitor.report().agreement.overall.n, len(log.said())) == (2, 2)
