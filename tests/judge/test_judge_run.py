"""A run from questions to the judge's folder: what is refused before, what happens on the way, what is written."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings, strategies as st
from judged_study import MOOD, TYPE, judged_study, saved, shown
from studies import studies

from salon.errors import BadFile, BadValue, SalonError
from salon.judge import (
    JudgeProgress,
    JudgeRun,
    JudgeSettings,
    NoReply,
    Reply,
    ScriptedVlm,
    SimulatedVlm,
    UnreadLimits,
    Vlm,
    check_budget,
    judge_folder,
    judge_names,
    judge_study,
    panel_truth,
    plan_run,
    read_rates,
    read_record,
    read_verdicts,
)
from salon.judge.folder import VERDICT_SCHEMA
from salon.judge.protocol import JudgeVerdict, all_pairs
from salon.judge.reply_storage import CachedVlm
from salon.store import open_study
from salon.study import Comparison, Ranking, Rating, Study, merge


def better(asked) -> str:
    """The item with the earlier letter, as all people say."""
    first, second = shown(asked)
    return json.dumps({"verdict": "A" if first < second else "B"})


def run(folder: Path, vlm: Vlm | None = None, study: Study | None = None, **more) -> JudgeRun:
    chosen = JudgeSettings(**more.pop("settings", {}))
    if not (folder / "study.toml").exists():
        saved(folder, study)
    return judge_study(open_study(folder), folder, vlm or ScriptedVlm("judge", better), chosen, **more)


ANY = UnreadLimits(most_unread=1)


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


# -- what is written -------------------------------------------------------------------------------------------------


def test_both_orders_of_every_pair_are_in_the_verdicts(tmp_path: Path) -> None:
    report = run(tmp_path / "s")
    assert (report.questions, report.verdicts, report.unparsed, report.failed) == (24, 24, 0, {})
    rows = read_verdicts(tmp_path / "s/judges/judge").to_pylist()
    assert Counter((row["criterion"], row["a"], row["b"]) for row in rows).most_common()[-1][1] == 2
    assert Counter(row["left"] for row in rows) == {"a": 12, "b": 12}
    assert {row["outcome"] for row in rows} == {"a"}
    assert {row["paraphrase"] for row in rows if row["criterion"] == "type"} == {None}
    wordings = {}
    for row in rows:
        wordings.setdefault((row["criterion"], row["a"], row["b"]), set()).add(row["paraphrase"])
    assert all(len(used) == 1 for used in wordings.values())


def test_a_judge_is_a_rater_like_any_other(tmp_path: Path) -> None:
    run(tmp_path / "s")
    own = open_study(tmp_path / "s/judges/judge")
    assert own.counts == {"prompts": 2, "items": 6, "raters": 1, "comparisons": 12}
    assert [(rater.id, rater.kind) for rater in own.nouns("raters")] == [("judge", "model")]
    both = merge([open_study(tmp_path / "s"), own], name="both")
    assert both.counts["comparisons"] == 24 + 12


def test_orders_that_disagree_are_a_tie_and_unread_ones_are_skipped(tmp_path: Path) -> None:
    said = {("p1-a", "p1-b"): "A", ("p1-b", "p1-a"): "A", ("p1-a", "p1-c"): "A", ("p1-c", "p1-a"): "neither"}
    judge = ScriptedVlm("j", lambda asked: said.get(shown(asked)) or better(asked))
    report = run(tmp_path / "s", judge, settings={"criterion": ("type",)})
    assert report.reasons == {"no verdict": 1}
    found = {(one.a, one.b): one for one in open_study(tmp_path / "s/judges/j").nouns("comparisons")}
    assert found["p1-a", "p1-b"].outcome == "tie"
    assert (found["p1-a", "p1-c"].outcome, found["p1-a", "p1-c"].skipped) == (None, "cannot judge")
    assert found["p1-b", "p1-c"].outcome == "a"


def test_the_record_says_who_was_asked_and_how(tmp_path: Path) -> None:
    report = run(tmp_path / "s", settings={"ties": True})
    record = read_record(tmp_path / "s/judges/judge")
    assert record.signature == report.signature
    assert record.settings == JudgeSettings(ties=True)
    assert record.data == open_study(tmp_path / "s").hash[:12]
    assert "ties:yes" in record.signature
    assert f"template:{record.templates}" in record.signature
    assert not record.simulated
    assert judge_names(tmp_path / "s") == ["judge"]


def test_the_columns_are_the_fields_of_a_verdict() -> None:
    assert VERDICT_SCHEMA.names == list(JudgeVerdict.model_fields)


def test_samples_are_kept_apart_and_settled_in_the_tables(tmp_path: Path) -> None:
    judge = ScriptedVlm("j", lambda asked: better(asked) if asked.sample < 2 else '{"verdict": "B"}')
    report = run(tmp_path / "s", judge, settings={"samples": 3, "temperature": 1.0, "limit": 1, "criterion": ("type",)})
    assert report.questions == 6
    assert [row["sample"] for row in read_verdicts(tmp_path / "s/judges/j").to_pylist()] == [0, 1, 2] * 2
    (judgment,) = open_study(tmp_path / "s/judges/j").nouns("comparisons")
    assert judgment.outcome == "a"


def test_ratings_of_a_judge_may_have_decimals(tmp_path: Path) -> None:
    judge = ScriptedVlm("j", lambda asked: '{"score": 4.25}')
    run(tmp_path / "s", judge, settings={"protocol": "rate", "criterion": ("taste/mood",)})
    own = open_study(tmp_path / "s/judges/j")
    assert {one.value for one in own.nouns("ratings")} == {4.25}
    assert own.criterion("taste/mood").scale.step is None


def test_a_simulation_is_marked_and_recovered(tmp_path: Path) -> None:
    study = saved(tmp_path / "s")
    judge = SimulatedVlm("sim", panel_truth(study), accuracy=1.0)
    run(tmp_path / "s", judge, looks=False)
    own = open_study(tmp_path / "s/judges/sim")
    assert own.simulated
    assert {one.outcome for one in own.nouns("comparisons")} == {"a"}


def test_the_truth_of_a_simulation_is_what_people_said() -> None:
    flags = TYPE.model_copy(update={"scale": TYPE.scale.model_copy(update={"higher_is_better": False})})
    said = {("ann", "p1-a"): 0, ("ann", "p1-b"): 2, ("bob", "p1-a"): 1, ("bob", "p1-b"): 1, ("vlm", "p1-b"): 0}
    ratings = [Rating(criterion="type", rater=r, item=i, value=v) for (r, i), v in said.items()]
    compared = Comparison(criterion="taste/mood", rater="ann", a="p1-b", b="p1-a", outcome="a")
    ranked = Ranking(criterion="taste/mood", rater="ann", items=("p1-a", "p1-b", "p1-c"), ranks=(1, 2, 3))
    tables = {"comparisons": [compared], "rankings": [ranked], "ratings": ratings}
    truth = panel_truth(judged_study((MOOD, flags), tables=tables))
    assert truth("taste/mood", ("p1-a", "p1-b")) == -1  # what was compared goes before what was ranked
    assert truth("taste/mood", ("p1-c", "p1-b")) == -1
    assert truth("type", ("p1-a", "p1-b")) == 1  # ann saw fewer flaws in a, bob as many; a model has no say
    assert truth("type", ("p1-b",)) == 1.5
    assert truth("has a title", ("p1-a",)) == 0.5
    assert truth("type", ("p2-a", "p2-b")) == 0


def test_names_of_models_become_names_of_folders() -> None:
    assert judge_folder("s", "org/Model-7B:free") == Path("s/judges/org-Model-7B-free")
    assert judge_folder("s", "../../x").parent == Path("s/judges")
    with pytest.raises(BadValue):
        judge_folder("s", "../..")


# -- on the way ------------------------------------------------------------------------------------------------------


class Unruly:
    """Answers in any order, one question twice and one never."""

    name, signature = "unruly", ScriptedVlm("x", []).signature

    def reply(self, conversations):
        asked = list(conversations)
        order = np.random.default_rng(3).permutation(len(asked) - 1)
        for index in [*order, order[0]]:
            yield int(index), Reply(text=better(asked[index]))


def test_replies_in_any_order_twice_or_never(tmp_path: Path) -> None:
    report = run(tmp_path / "s", Unruly())
    assert (report.verdicts, report.failed, report.unparsed) == (24, {"error": 1}, 1)
    rows = read_verdicts(tmp_path / "s/judges/unruly").to_pylist()
    run(tmp_path / "t")
    orderly = read_verdicts(tmp_path / "t/judges/judge").to_pylist()
    assert [row["outcome"] for row in rows[:-1]] == [row["outcome"] for row in orderly[:-1]]
    assert (rows[-1]["failed"], rows[-1]["outcome"]) == ("error", None)


def test_progress_counts_what_was_stored_unread_failed_and_spent(tmp_path: Path) -> None:
    replies = [Reply(text="A", cost=0.5), Reply(text="A", cost=9.0, stored=True), Reply(text="?", cost=0.25)]
    seen: list[JudgeProgress] = []
    report = run(
        tmp_path / "s",
        ScriptedVlm("j", [*replies, NoReply(kind="timeout", reason="late")]),
        settings={"limit": 2, "criterion": ("type",)},
        progress=seen.append,
        unread=ANY,
    )
    assert seen[-1] == JudgeProgress(4, done=4, stored=1, unparsed=2, failed=1, cost=0.75)
    assert [one.done for one in seen] == [0, 1, 2, 3, 4]
    assert (report.cost, report.stored, report.failed) == (9.75, 1, {"timeout": 1})


def test_a_run_that_breaks_leaves_the_folder_as_it_was(tmp_path: Path) -> None:
    run(tmp_path / "s", settings={"limit": 3})
    before = files(tmp_path / "s/judges/judge")

    def breaks(asked):
        if shown(asked) == ("p2-c", "p2-b"):
            raise KeyboardInterrupt
        return better(asked)

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "s", ScriptedVlm("judge", breaks), overwrite=True)
    assert files(tmp_path / "s/judges/judge") == before
    assert [path.name for path in (tmp_path / "s/judges").iterdir()] == ["judge"]


def test_the_same_answers_make_the_same_bytes(tmp_path: Path) -> None:
    run(tmp_path / "s")
    before = files(tmp_path / "s/judges/judge")
    run(tmp_path / "s")
    assert files(tmp_path / "s/judges/judge") == before


@settings(max_examples=15, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
@given(studies(), st.booleans(), st.sampled_from(["A", "B", "TIE", "?"]))
def test_studies_with_the_worst_labels(tmp_path: Path, study: Study, together: bool, said: str) -> None:
    """Labels with line breaks, quotes, braces and look-alikes go through a run and come back."""
    chosen = JudgeSettings(pairs="all", together=together and len(study.criteria) > 1)
    answer = json.dumps({one.id: said for one in study.criteria} if chosen.together else {"verdict": said})
    if not all_pairs(study):
        return
    with TemporaryDirectory(dir=tmp_path) as folder:
        report = judge_study(study, folder, ScriptedVlm("j", lambda _: answer), chosen, looks=False, unread=ANY)
        rows = read_verdicts(report.folder).to_pylist()
        own = open_study(report.folder)
    asked = {(one.id, *pair) for one in study.criteria for pair in all_pairs(study)}
    assert Counter((row["criterion"], row["a"], row["b"]) for row in rows) == dict.fromkeys(asked, 2)
    expected = {"A": {"a", "b"}, "B": {"a", "b"}, "TIE": {"tie"} if chosen.together else {None}, "?": {None}}
    assert {row["outcome"] for row in rows} == expected[said]
    assert own.counts["comparisons"] == len(asked)


def test_another_judge_does_not_take_its_place_unasked(tmp_path: Path) -> None:
    run(tmp_path / "s", settings={"limit": 2})
    run(tmp_path / "s", settings={"limit": 4})  # more of the same is welcome
    for vlm, chosen in [(None, {"limit": 3}), (None, {"ties": True}), (ScriptedVlm("judge", ["A"]), {"limit": 4})]:
        with pytest.raises(BadValue, match="--overwrite"):
            run(tmp_path / "s", vlm, settings=chosen)
    assert run(tmp_path / "s", settings={"limit": 3}, overwrite=True).questions == 12


def test_a_model_in_this_process_goes_on_where_it_was_killed(tmp_path: Path) -> None:
    asked = Counter()

    def counted(conversation):
        asked[shown(conversation), conversation.about] += 1
        if sum(asked.values()) == 10:
            raise KeyboardInterrupt
        return better(conversation)

    memory = tmp_path / "replies.jsonl"
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "s", CachedVlm(ScriptedVlm("judge", counted), memory))
    memory.write_bytes(memory.read_bytes()[:-20])  # the last line broke off
    report = run(tmp_path / "s", CachedVlm(ScriptedVlm("judge", counted), memory))
    assert report.stored == 8
    assert sum(asked.values()) == 10 + 16
    run(tmp_path / "t")
    undisturbed = files(tmp_path / "t/judges/judge")
    assert files(tmp_path / "s/judges/judge")["verdicts.parquet"] == undisturbed["verdicts.parquet"]
    (tmp_path / "s/images/p1-a.png").write_bytes((tmp_path / "s/images/p2-c.png").read_bytes())
    changed = run(tmp_path / "s", CachedVlm(ScriptedVlm("judge", counted), memory))
    assert changed.stored == 24 - 8  # another picture is another question: two pairs, two orders, two criteria


class Short(Unruly):
    """Cannot take questions about some items, and knows it."""

    def __init__(self, *items: str) -> None:
        self.items = set(items)

    def reply(self, conversations):
        for index, asked in enumerate(conversations):
            yield index, Reply(text=better(asked), at=f"2026-01-01T00:00:{index:02}+00:00")

    def too_long(self, conversations):
        for index, asked in enumerate(conversations):
            if self.items & set(shown(asked)):
                yield index, "9 tokens; the model takes 8"


def test_questions_over_the_limit_are_told_before_the_first_is_asked(tmp_path: Path) -> None:
    """p1-a stands in two pairs, in two orders under two criteria: 8 of 24."""
    seen: list[JudgeProgress] = []
    report = run(tmp_path / "s", Short("p1-a"), progress=seen.append)
    assert seen[0].done == 0
    [note] = seen[0].notes
    assert note in report.notes
    assert note.startswith("8 of 24 questions are over the context limit and will get no reply; the first is p1-a and ")
    assert "the model takes 8 (show smaller pictures with --pixels" in note
    memory = tmp_path / "replies.jsonl"
    run(tmp_path / "t", CachedVlm(Short(), memory), settings={"criterion": ("type",)})
    again = run(tmp_path / "t", CachedVlm(Short("p1-a"), memory), settings={"criterion": ("type",)})
    assert (again.stored, again.notes) == (12, ())  # what was answered was not too long
    with pytest.raises(BadValue, match="room for an answer"):
        run(tmp_path / "u", Short(*(f"p{p}-{k}" for p in "12" for k in "abc")))
    assert not (tmp_path / "u/judges").exists()


def test_the_time_of_an_answer_is_kept_when_the_run_goes_on(tmp_path: Path) -> None:
    memory = tmp_path / "replies.jsonl"
    run(tmp_path / "s", CachedVlm(Short(), memory))
    before = files(tmp_path / "s/judges/unruly")
    given = read_verdicts(tmp_path / "s/judges/unruly").column("at").to_pylist()
    assert given == [f"2026-01-01T00:00:{index:02}+00:00" for index in range(24)]
    assert run(tmp_path / "s", CachedVlm(Short(), memory)).stored == 24
    assert files(tmp_path / "s/judges/unruly") == before


# -- refused before anything is spent --------------------------------------------------------------------------------


def never(asked):
    raise AssertionError("nothing may be asked")


def refused(folder: Path, study: Study | None = None, **more) -> SalonError:
    with pytest.raises(SalonError) as told:
        run(folder, ScriptedVlm("j", never), study, **more)
    assert not (folder / "judges").exists()
    return told.value


@pytest.mark.parametrize(
    ("criterion", "chosen", "lacks"),
    [
        (MOOD.model_copy(update={"rubric": None}), {}, "rubric"),
        (MOOD.model_copy(update={"rubric": " "}), {"protocol": "rate"}, "rubric"),
        (TYPE.model_copy(update={"question": None}), {}, "question"),
        (TYPE.model_copy(update={"rate_question": None}), {"protocol": "rate"}, "rate_question"),
        (TYPE.model_copy(update={"scale": None}), {"protocol": "rate"}, "scale"),
        (TYPE, {"together": True}, "two criteria"),
        (TYPE, {"criterion": ("beauty",)}, "beauty"),
        (TYPE, {"cohort": "nobody"}, "nobody"),
        (TYPE, {"protocol": "checklist", "criterion": ("type",)}, "question"),
    ],
)
def test_criteria_that_say_too_little(tmp_path: Path, criterion, chosen: dict, lacks: str) -> None:
    tables = {"checklists": []} if chosen.get("protocol") == "checklist" else {}
    assert lacks in refused(tmp_path / "s", judged_study((criterion,), tables=tables), settings=chosen).message()


def test_pictures_that_are_missing_broken_or_elsewhere(tmp_path: Path) -> None:
    saved(tmp_path / "s")
    image = tmp_path / "s/images/p2-b.png"
    whole = image.read_bytes()
    for spoil in (image.unlink, lambda: image.write_bytes(whole[:40]), lambda: image.write_bytes(b"")):
        spoil()
        error = refused(tmp_path / "s")
        assert isinstance(error, BadFile)
        assert "p2-b" in error.message()
    image.unlink()
    image.symlink_to(tmp_path / "elsewhere.png")
    (tmp_path / "elsewhere.png").write_bytes(whole)
    assert "inside" in refused(tmp_path / "s").message()


def test_a_prompt_without_the_part_people_saw(tmp_path: Path) -> None:
    study = judged_study()
    bare = [prompt.model_copy(update={"description": None}) for prompt in study.nouns("prompts")]
    assert "description" in refused(tmp_path / "s", judged_study(tables={"prompts": bare})).message()


def test_nothing_to_ask(tmp_path: Path) -> None:
    empty = judged_study(tables={"comparisons": []})
    assert "--pairs all" in refused(tmp_path / "s", empty).message()


def test_a_plan_counts_before_anything_is_asked(tmp_path: Path) -> None:
    saved(tmp_path / "s")
    plan = plan_run(open_study(tmp_path / "s"), tmp_path / "s", JudgeSettings(max_tokens=10))
    size = plan.estimate()
    texts = sum(len(part) for asked in plan.conversations() for part in asked.parts if isinstance(part, str))
    assert (size.calls, size.pictures, size.answer_tokens) == (24, 48, 240)
    assert size.text_tokens == -(-texts // 4)


@pytest.mark.parametrize(
    ("budget", "cost", "told"), [(None, 5, None), (5, 5, None), (4.9, 5, "may end before"), (0.4, 5, "at least one")]
)
def test_a_budget_is_held_against_the_questions(budget, cost, told) -> None:
    """Ten questions of at most .5 each."""
    if told == "at least one":
        with pytest.raises(BadValue, match=told):
            check_budget(budget, cost, 10)
    else:
        found = check_budget(budget, cost, 10)
        assert found is None if told is None else told in found


def test_rates_of_a_simulation() -> None:
    assert read_rates("accuracy=.7, bias=0.2") == {"accuracy": 0.7, "bias": 0.2}
    for bad in ("", "bias=.2", "accuracy=high", "accuracy=.7,luck=1", "accuracy"):
        with pytest.raises(BadValue, match="accuracy"):
            read_rates(bad)
