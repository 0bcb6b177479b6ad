"""What does not fit in a suite is found, named and counted."""

from __future__ import annotations

from dataclasses import replace

import pytest
from suite_example import small_suite, with_reference

from salon.bench import Suite, check_suite, with_hashes
from salon.bench.suite import PreferenceRule, SuitePrompt, Tag, suite_faults
from salon.errors import BadValue
from salon.study import Point, Prompt, Route

GOOD = small_suite()


def prompt(id: str, text: str | None = "something else", tag: str = "color", **more: object) -> SuitePrompt:
    return SuitePrompt(prompt=Prompt(id=id, text=text), tag=tag, **more)


def with_prompt(one: SuitePrompt) -> Suite:
    return replace(GOOD, prompts=(*GOOD.prompts, one), points=(*GOOD.points, Point(id="more", prompt=one.prompt.id)))


def with_card(**changes: object) -> Suite:
    return replace(GOOD, card=GOOD.card.model_copy(update=changes))


def with_points(*points: Point) -> Suite:
    return replace(GOOD, points=(*GOOD.points, *points))


def with_routes(*routes: Route) -> Suite:
    return replace(GOOD, routes=routes)


@pytest.mark.parametrize(
    ("suite", "needed", "found"),
    [
        (replace(GOOD, prompts=(), points=()), "at least one prompt", "no prompt"),
        (with_prompt(prompt("P1")), "an id of its own", "p1 x2"),
        (with_prompt(prompt("a/b")), "names of files", "'a/b'"),
        (with_prompt(prompt("a__1")), "names of files", "'a__1'"),
        (with_prompt(prompt("p9", "Poster   NUMBER 1")), "stands once, whatever its id", "p1 = p9"),
        (with_prompt(prompt("p9", " ")), "has a text", "p9"),
        (with_prompt(prompt("p9", None, private=True)), "has the digest", "p9"),
        (with_prompt(prompt("p9", digest="a" * 64)), "only private prompts", "p9"),
        (with_prompt(prompt("p9", tag="colour")), "a tag of tags.toml", "p9: 'colour'"),
        (replace(GOOD, tags=(*GOOD.tags, Tag(id="x", group="g", name="n"))), "every tag has prompts", "x"),
        (replace(GOOD, tags=(*GOOD.tags, GOOD.tags[0])), "every tag has an id of its own", "color x2"),
        (with_points(Point(id="p0-red", prompt="p0")), "every point has an id of its own", "p0-red x2"),
        (with_points(Point(id="q", prompt="p77")), "about a prompt of the suite", "q: 'p77'"),
        (replace(GOOD, points=GOOD.points[2:]), "every prompt has a point", "p0"),
        (with_routes(Route(tag="text", judges=("eye",))), "every point has a route", "tag 'any'"),
        (with_routes(Route(tag="*", judges=("eye", "eye"))), "each judge once", "*"),
        (with_card(oracle="eye"), "on no route", "*"),
        (with_card(weights={"capability": 0.5, "eps": 0.4}), "sum to 1", "capability 0.5, eps 0.4"),
        (with_card(weights={"capability": 0.0, "eps": 0.0}), "sum to 1", "capability 0, eps 0"),
        (with_card(weights={"capability": 1.5, "eps": -0.5}), "at least 0", "capability 1.5, eps -0.5"),
        (with_card(weights={"capability": 1.0}), "capability and eps", "capability 1"),
        (with_card(size="big"), "WIDTHxHEIGHT", "big"),
        (with_card(preferences=(PreferenceRule(id="a"), PreferenceRule(id="b"))), "is the headline", "a"),
        (with_card(preferences=(PreferenceRule(id="a", headline=False),)), "is the headline", "none"),
        (with_card(metrics={"capability": 1, "eps": 2, "overall": 1}), "as this Salon does", "eps 2"),
    ],
)
def test_a_fault_is_named(suite: Suite, needed: str, found: str) -> None:
    told = [fault for fault in suite_faults(suite) if needed in fault.needed]
    assert [found in fault.places for fault in told] == [True], suite_faults(suite)
    with pytest.raises(BadValue):
        check_suite(suite, where="here")


def test_a_good_suite_has_none() -> None:
    assert suite_faults(GOOD) == []
    assert suite_faults(with_reference(GOOD)) == []


def test_faults_are_counted_and_the_first_is_told() -> None:
    suite = replace(with_card(size="big"), points=())
    with pytest.raises(BadValue, match="1 of 2 faults") as error:
        check_suite(suite, where="here")
    assert error.value.found == "4: p0, p1, p2, p3"
    assert str(suite_faults(suite)[0]) == "every prompt has a point: 4 found (p0, p1, p2 and 1 more)"


def test_a_reference_for_other_prompts() -> None:
    other = with_hashes(replace(GOOD, prompts=(*GOOD.prompts[:-1], prompt("p3", "another", tag="words"))))
    told = suite_faults(replace(other, reference=with_reference(GOOD).reference))
    assert [fault.needed for fault in told] == ["the reference is for these prompts"]
    assert GOOD.hashes["prompts.jsonl"][:16] in told[0].places[0]
    assert other.hashes["prompts.jsonl"][:16] in told[0].places[0]


@pytest.mark.parametrize(
    ("change", "needed"),
    [
        ({"field": ()}, "a field of entries"),
        ({"preferences": ()}, "every EPS column once"),
    ],
)
def test_a_reference_that_lacks_something(change: dict[str, object], needed: str) -> None:
    reference = with_reference(GOOD).reference.model_copy(update=change)
    assert any(needed in fault.needed for fault in suite_faults(replace(GOOD, reference=reference)))


def test_a_reference_that_misses_a_prompt_or_has_no_logits() -> None:
    whole = with_reference(GOOD).reference
    column = whole.preferences[0]
    short = column.model_copy(update={"points": column.points[1:]})
    loose = column.model_copy(update={"card": column.card.model_copy(update={"is_logit": False})})
    wild = column.model_copy(
        update={"points": (column.points[0].model_copy(update={"sigma": -1.0}), *column.points[1:])}
    )
    for changed, found in ((short, "eps: p0"), (loose, "eps"), (wild, "eps: p0")):
        told = suite_faults(replace(GOOD, reference=whole.model_copy(update={"preferences": (changed,)})))
        assert [fault.places for fault in told] == [(found,)]
