"""What moved between two boards, by how much, and why: on boards small enough to check by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from salon.bench import BoardDiff, BoardSide, EntryResult, Suite, board_diff
from salon.bench.diff import EntryDiff
from salon.bench.entry import AxisResult, Coverage, Entry, EntryPicture, PictureResult, PromptResult, Retraction
from salon.bench.suite import (
    PreferenceReference,
    PreferenceRule,
    Reference,
    ReferencePoint,
    SuiteCard,
    SuitePrompt,
    Tag,
)
from salon.stats import Estimate
from salon.study import Point, Prompt, Route, ScorerCard, Signature

IDS = ("a", "b", "c", "d")


def suite(**changes: object) -> Suite:
    reference = PreferenceReference(
        id="eps", scorer="taste", signature="taste-1", card=ScorerCard(is_logit=True),
        points=tuple(ReferencePoint(prompt=id, value=0.0, n=3) for id in IDS),
    )  # fmt: skip
    made = Suite(
        card=SuiteCard(name="tiny", title="Tiny", preferences=(PreferenceRule(id="eps"),)),
        tags=(Tag(id="t", group="g", name="T"),),
        prompts=tuple(SuitePrompt(prompt=Prompt(id=id, text=id), tag="t") for id in IDS),
        points=tuple(Point(id="red", prompt=id) for id in IDS),
        routes=(Route(tag="*", judges=("eye",)),),
        reference=Reference(prompts="p", field=(), preferences=(reference,)),
        hash="one",
    )
    return replace(made, **changes) if changes else made


def figure(value: float) -> AxisResult:
    shown = Estimate(value=value, low=value - 5, high=value + 5, n=4, unit="prompts", level=0.95, method="score")
    none = Coverage(wanted=4, made=4, asked=4, given=4, unread=0, open=0)
    return AxisResult(figure=shown, at_best=value, coverage=none)


def side(label: str = "v1", of: Suite | None = None, **entries: dict[str, tuple[str, str, float]]) -> BoardSide:
    """Entries as prompt -> (hash of the picture, what the judge said, win chance)."""
    made, results, cards = of or suite(), {}, {}
    for name, prompts in entries.items():
        cards[name] = Entry(
            name=name,
            suite="p",
            pictures=tuple(
                EntryPicture(prompt=id, seed=0, item=id, sha256=hash) for id, (hash, _, _) in prompts.items()
            ),
        )
        rows = [_prompt(id, *told) for id, told in prompts.items()]
        capability = 100 * sum(row.passed for row in rows) / len(rows)
        eps = 100 * sum(row.eps["eps"] for row in rows) / len(rows)
        results[name] = EntryResult(
            entry=name, suite="tiny/1", suite_hash=made.hash, status="complete", capability=figure(capability),
            points=figure(capability), eps={"eps": figure(eps)}, overall=figure((capability + eps) / 2), groups=(),
            prompts=tuple(rows), digest="", policies=(), signature=Signature(method="m"), signature_line="m",
        )  # fmt: skip
    return BoardSide(label, made, cards, results)


def _prompt(id: str, hash: str, said: str, win: float) -> PromptResult:
    passed = float(said == "pass")
    picture = PictureResult(
        item=id, seed=0, image=None, passed=passed, passed_at_best=passed, points={"red": said},
        said={"red": {"eye": said}}, logits={"eps": win}, wins={"eps": win},
    )  # fmt: skip
    return PromptResult(
        prompt=id, tag="t", passed=passed, passed_at_best=passed, eps={"eps": win}, eps_at_best={"eps": win},
        pictures=(picture,),
    )  # fmt: skip


BASE = {id: (f"{id}0", "pass", 0.5) for id in IDS}


def found(diff: BoardDiff, name: str = "x") -> EntryDiff:
    return next(entry for entry in diff.entries if entry.entry == name)


def axes(entry: EntryDiff) -> dict[str, tuple[float | None, dict[str, float]]]:
    return {
        move.axis: (
            move.change and pytest.approx(move.change),
            {cause: pytest.approx(v) for cause, v in move.by_cause.items()},
        )
        for move in entry.axes
    }


def test_entries_that_did_not_move_are_said_to_be_identical() -> None:
    later = side("v2", x=BASE, z=BASE)
    diff = board_diff(side(x=BASE, y=BASE), later)
    assert {entry.entry: entry.what for entry in diff.entries} == {"x": "identical", "y": "removed", "z": "added"}
    assert diff.suite == ()


def test_an_answer_that_changed_is_named_with_judge_and_point() -> None:
    moved = found(board_diff(side(x=BASE), side(x=BASE | {"b": ("b0", "fail", 0.5)})))
    assert moved.what == "moved"
    # one of four prompts: 25 points of Capability, half of that in Overall
    assert axes(moved)["capability"] == (-25.0, {"answers": -25.0})
    assert axes(moved)["eps"] == (0.0, {})
    assert axes(moved)["overall"] == (-12.5, {"answers": -12.5})
    (prompt,) = moved.axes[0].prompts
    assert (prompt.prompt, prompt.reasons[0].told) == ("b", "eye on red, seed 0: pass became fail")


def test_another_picture_is_the_cause_of_what_follows_from_it() -> None:
    moved = found(board_diff(side(x=BASE), side(x=BASE | {"c": ("c9", "fail", 0.9)})))
    assert axes(moved)["capability"] == (-25.0, {"picture": -25.0})
    assert axes(moved)["eps"] == (10.0, {"picture": 10.0})
    assert moved.axes[0].prompts[0].reasons[0].told == "another picture of seed 0: c0 became c9"


def test_a_changed_reference_moves_eps_alone_and_says_from_where() -> None:
    old = suite()
    points = [ReferencePoint(prompt=id, value=1.0 if id == "d" else 0.0, n=3) for id in IDS]
    preference = old.reference.preferences[0].model_copy(update={"points": tuple(points)})
    new = suite(reference=old.reference.model_copy(update={"preferences": (preference,)}), hash="two")
    diff = board_diff(side(x=BASE), side("v2", new, x=BASE | {"d": ("d0", "pass", 0.3)}))
    moved = found(diff)
    assert axes(moved)["capability"] == (0.0, {})
    assert "reference" in next(iter(moved.axes[1].by_cause))
    assert "the reference moved from 0.0000 to 1.0000" in [r.told for r in moved.axes[1].prompts[0].reasons]
    assert [reason.told for reason in diff.suite] == ["eps: another reference for 1 prompts"]


@pytest.mark.parametrize(
    ("changes", "cause", "told"),
    [
        ({"routes": (Route(tag="*", judges=("ear",)),)}, "routes", "the point red goes to ear (majority), before to"),
        ({"points": tuple(Point(id="red", text="Red?", prompt=id) for id in IDS)}, "points", "is asked otherwise"),
        ({"prompts": tuple(SuitePrompt(prompt=Prompt(id=id, text="new"), tag="t") for id in IDS)}, "prompt", "reads"),
        ({"card": suite().card.model_copy(update={"metrics": {"capability": 2}})}, "rule", "computed by version 2"),
    ],
)
def test_what_changed_in_the_suite_is_the_cause(changes: dict, cause: str, told: str) -> None:
    after = side("v2", suite(**changes, hash="two"), x=BASE | {"a": ("a0", "fail", 0.5)})
    diff = board_diff(side(x=BASE), after)
    (prompt,) = found(diff).axes[0].prompts
    assert [reason.cause for reason in prompt.reasons if told in reason.told] == [cause]
    assert diff.suite


def test_a_new_scorer_is_the_cause_of_other_scores() -> None:
    old = suite()
    preference = old.reference.preferences[0].model_copy(update={"signature": "taste-2"})
    new = suite(reference=old.reference.model_copy(update={"preferences": (preference,)}), hash="two")
    moved = found(board_diff(side(x=BASE), side("v2", new, x=BASE | {"a": ("a0", "pass", 0.7)})))
    assert "scorer" in next(iter(moved.axes[1].by_cause))


def test_the_parts_sum_to_the_change_also_when_prompts_come_and_go() -> None:
    fewer = {id: BASE[id] for id in ("a", "b")} | {"c": ("c1", "fail", 0.1)}
    moved = found(board_diff(side(x=BASE | {"d": ("d0", "fail", 0.9)}), side("v2", suite(hash="two"), x=fewer)))
    for move in moved.axes[:2]:
        assert sum(move.by_cause.values()) == pytest.approx(move.change)
        assert "prompts" in move.by_cause


def test_the_same_numbers_from_other_pictures_are_unmoved_but_not_identical() -> None:
    before, after = side(x=BASE), side(x=BASE)
    later = after.results["x"].model_copy(update={"digest": "other"})
    assert found(board_diff(before, replace(after, results={"x": later}))).what == "unmoved"


def test_a_retraction_is_told_with_its_reason() -> None:
    before, after = side(x=BASE), side(x=BASE)
    card = after.entries["x"].model_copy(update={"retracted": Retraction(reason="wrong prompts", at="2026-01-01")})
    told = found(board_diff(before, replace(after, entries={"x": card})))
    assert (told.before, told.after, told.retracted) == ("complete", "retracted", "wrong prompts")
    assert told.what == "identical"
