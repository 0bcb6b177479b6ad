"""Decisions and later choices: what is kept, what never is, whose they are, and the way to `salon check`."""

from __future__ import annotations

import hashlib
import json
import threading

import pytest
from click.testing import CliRunner

from salon.cli.check import check
from salon.cli.lazy_commands import select
from salon.errors import BadValue, ConflictingJudgment, TooFew, UnknownReference
from salon.select import Decision, DecisionLog, DecisionSettings, Feedback, feedback_study, save_feedback
from salon.select.service.decisions import PictureNotInDecision, decision_lines
from salon.store import open_study

A, B, C = (hashlib.sha256(name).hexdigest() for name in (b"a", b"b", b"c"))


@pytest.fixture
def log(tmp_path):
    opened = DecisionLog(DecisionSettings(folder=tmp_path / "log"))
    yield opened
    opened.close()


def decision(*pictures, owner="team", prompt="A jazz night", chosen=0, **more):
    return Decision(
        endpoint="pick", owner=owner, model="taste@1", pictures=pictures or (A, B, C), prompt=prompt, chosen=chosen,
        values={"overall": tuple(float(n) for n in range(len(pictures or (A, B, C))))}, why="the highest bound", **more,
    )  # fmt: skip


def said(id, chosen=B, rater="ana", **more):
    return Feedback(decision=id, chosen=chosen, rater=rater, criterion="overall", **more)


def written(log):
    return (log.settings.folder / "decisions-000001.jsonl").read_text()


def test_a_decision_comes_back_to_whoever_asked_for_it(log):
    id = log.record(decision(ties=(1,), weights={"overall": 1.0}))
    found = log.find(id, "team")
    assert (found.id, found.pictures, found.chosen, found.ties) == (id, (A, B, C), 0, (1,))
    assert found.at.endswith("+00:00")
    for other, owner in ((id, "somebody else"), (id, ""), (id[:-1] + "x", "team"), ("../../etc/passwd", "team")):
        with pytest.raises(UnknownReference, match="one of your decisions"):
            log.find(other, owner)


@pytest.mark.parametrize(
    ("keep", "text", "digest"), [("text", True, True), ("hash", False, True), ("none", False, False)]
)
def test_of_a_prompt_only_what_the_setting_says_is_kept(tmp_path, keep, text, digest):
    log = DecisionLog(DecisionSettings(folder=tmp_path, keep_prompt=keep))
    log.record(decision())
    log.close()
    lines = written(log)
    assert ("A jazz night" in lines) is text
    assert (hashlib.sha256(b"A jazz night").hexdigest() in lines) is digest


def test_a_later_choice_by_place_or_hash_is_kept_once(log):
    id = log.record(decision())
    first, new = log.feedback(said(id, 1, reason="the type"), owner="team")
    assert new
    assert first.chosen == B
    again, new = log.feedback(said(id, B), owner="team")
    assert (again.id, new, len(log.said())) == (first.id, False, 1)
    with pytest.raises(ConflictingJudgment):
        log.feedback(said(id, C), owner="team")
    assert written(log).count('"kind":"feedback"') == 1


def test_what_people_said_stays_on_the_disk(log):
    """One token may send 200 reasons of 10,000 letters a second, for years: in memory they are a few bytes each."""
    id = log.record(decision())
    first, _ = log.feedback(said(id, 1, reason="y" * 10_000), owner="team")
    assert len(repr(log._said)) < 200
    assert log.said() == (first,)
    again, new = log.feedback(said(id, 1), owner="team")
    assert (again, new) == (first, False)


def test_what_is_not_theirs_nobody_reads_or_writes(log):
    id = log.record(decision())
    kept, _ = log.feedback(said(id), owner="team")
    for other in (said(id), said("000001-0000000000-000000000000"), said(kept.id)):
        with pytest.raises(UnknownReference, match="one of your decisions"):
            log.feedback(other, owner="foreign")
    with pytest.raises(UnknownReference):
        log.feedback(said(kept.id), owner="team")  # a choice is no decision


@pytest.mark.parametrize("chosen", [3, -1, "0" * 64, ""])
def test_a_picture_that_was_not_shown_is_refused(log, chosen):
    id = log.record(decision())
    with pytest.raises(PictureNotInDecision, match="one of the pictures"):
        log.feedback(said(id, chosen), owner="team")


def test_a_choice_among_one_picture_says_nothing(log):
    id = log.record(decision(A, A))
    with pytest.raises(BadValue, match="two different pictures"):
        log.feedback(said(id, A), owner="team")


def test_choices_are_known_after_a_restart(tmp_path):
    settings = DecisionSettings(folder=tmp_path)
    log = DecisionLog(settings)
    id = log.record(decision())
    log.feedback(said(id), owner="team")
    log.close()
    again = DecisionLog(settings)
    assert again.feedback(said(id), owner="team")[1] is False
    again.close()


def test_two_threads_with_the_same_choice_keep_one(log):
    id = log.record(decision())
    told = []
    threads = [threading.Thread(target=lambda: told.append(log.feedback(said(id), owner="team")[1])) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(told) == [False] * 7 + [True]


def test_a_log_becomes_a_study_of_comparisons(log, tmp_path):
    first = log.record(decision(A, B, C))
    pair = log.record(decision(B, A, prompt=None))
    log.feedback(said(first, C, reason="calm"), owner="team")
    log.feedback(said(first, A, rater="ben"), owner="team")
    log.feedback(said(pair, B), owner="team")
    made = feedback_study(log.settings.folder)
    assert (made.choices, made.comparisons, made.agreed, made.decided, made.lost) == (3, 5, 2, 3, 0)
    rows = [
        (one.rater, one.a[-16:], one.b[-16:], one.outcome, one.rationale) for one in made.study.nouns("comparisons")
    ]
    assert rows[:2] == [("ana", C[:16], A[:16], "a", "calm"), ("ana", C[:16], B[:16], "a", "calm")]
    assert len(set(made.study.ids("prompts").to_pylist())) == 2
    assert next(made.study.nouns("items")).image is None


def test_pictures_are_found_by_their_hashes(log, tmp_path):
    id = log.record(decision(A, B))
    log.feedback(said(id, A), owner="team")
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "one.PNG").write_bytes(b"a")
    made = feedback_study(log.settings.folder, pictures=tmp_path / "kept")
    save_feedback(made, tmp_path / "study")
    images = [item.image for item in open_study(tmp_path / "study").nouns("items")]
    assert images == [f"images/{A}.png", None]
    assert (tmp_path / "study" / images[0]).read_bytes() == b"a"


def test_the_same_pair_again_is_a_repeat(log):
    for _ in range(2):
        log.feedback(said(log.record(decision(A, B)), A), owner="team")
    assert [one.repeat for one in feedback_study(log.settings.folder).study.nouns("comparisons")] == [0, 1]


def test_an_empty_log_is_too_few(log):
    log.record(decision())
    with pytest.raises(TooFew, match="later choice"):
        feedback_study(log.settings.folder)
    with pytest.raises(UnknownReference, match="decision log"):
        feedback_study(log.settings.folder.parent / "nowhere")


def test_all_the_way_to_salon_check(log, tmp_path):
    """Twenty pairs, three people who mostly like the first: the command, then `salon check` on what it wrote."""
    for number in range(20):
        pictures = tuple(hashlib.sha256(f"{number}{side}".encode()).hexdigest() for side in "ab")
        id = log.record(decision(*pictures, prompt=f"poster {number}"))
        for rater in ("ana", "ben", "cleo"):
            chosen = int(number % 7 == 0 and rater != "cleo")
            log.feedback(said(id, chosen, rater=rater), owner="team")
    assert len(list(decision_lines(log.settings.folder))) == 20
    run = CliRunner().invoke
    made = run(select, ["feedback", str(log.settings.folder), "-o", str(tmp_path / "later"), "--json"])
    assert made.exit_code == 0, made.output
    assert json.loads(made.output)["agreement"]["value"] == pytest.approx(54 / 60)
    checked = run(check, [str(tmp_path / "later"), "--json"])
    assert checked.exit_code == 0, checked.output
    assert '"overall"' in checked.output
