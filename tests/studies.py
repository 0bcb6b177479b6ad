"""Studies for tests: one of every kind of record, and hypothesis strategies that draw small valid studies."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from hypothesis import strategies as st

from salon.study import (
    Checklist,
    Choice,
    Cohort,
    Comparison,
    Criterion,
    Design,
    Item,
    Prompt,
    Ranking,
    Rater,
    Rating,
    Revision,
    Scale,
    Study,
)

AWKWARD = (
    "",
    " ",
    "a,b",
    '"',
    "'",
    "\n",
    "\r\n",
    "x\ry",
    "=1+1",
    "null",
    "NULL",
    "nan",
    "[]",
    "{}",
    "\\",
    "\t",
    "\x00",
)
AWKWARD += ("\ufeff", "\u2028", "é", "e\u0301", "漢字", "🎨", "0", "1e5", "true", "2024-01-01", "#", "N/A", "-", "\x7f")
texts = st.sampled_from(AWKWARD) | st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
labels = texts.filter(lambda text: bool(text.strip()) and text.strip("\x00\ufeff") != "")
numbers = st.floats(allow_nan=False, allow_infinity=False)
maybe = st.none()

facts = st.fixed_dictionaries(
    {},
    optional={
        "rationale": texts,
        "confidence": numbers,
        "seconds": st.floats(0, 1e6),
        "at": st.sampled_from(["2026-03-01T09:30:00Z", "2026-03-01"]),
    },
)
skips = st.sampled_from(["broken image", "cannot judge"])


def example(**changes: Any) -> Study:
    """A study with every table and most optional fields."""
    tables: dict[str, Any] = {
        "prompts": [
            Prompt(id="p1", intent="A poster", description="for a jazz night", aesthetics="in blue", category="poster"),
            Prompt(id="p2", text='A "mug",\nsmall', category="product"),
        ],
        "items": [
            *(Item(id=f"p1-{k}", prompt="p1", generator=f"gen-{k}", tier="high", source="generated") for k in "abcd"),
            Item(id="p2-a", prompt="p2", image="images/p2-a.png"),
            Item(id="p2-b", prompt="p2", category="mug", source="photograph"),
        ],
        "raters": [
            Rater(id="ann", cohort="designers"),
            Rater(id="bob", cohort="designers"),
            Rater(id="vlm", kind="model"),
            Rater(id="arena", kind="crowd"),
        ],
        "comparisons": [
            Comparison(criterion="overall", rater="ann", a="p1-a", b="p1-b", outcome="a", left="b", seconds=2.5),
            Comparison(criterion="overall", rater="ann", a="p1-b", b="p1-a", outcome="a", repeat=1),
            Comparison(criterion="overall", rater="bob", a="p1-a", b="p1-c", outcome="tie", rationale="", left="a"),
            Comparison(criterion="overall", rater="bob", a="p2-b", b="p2-a", skipped="broken image"),
            Comparison(criterion="overall", rater="arena", a="p2-b", b="p2-a", outcome="both_bad"),
            Comparison(criterion="overall", rater="arena", a="p2-b", b="p2-a", outcome="both_bad"),
        ],
        "rankings": [
            Ranking(criterion="overall", rater="ann", items=("p1-c", "p1-a", "p1-b"), ranks=(1, 2, 2)),
            Ranking(criterion="overall", rater="bob", items=(), ranks=(), skipped="cannot judge"),
            Ranking(criterion="overall", rater="vlm", items=("p1-d", "p1-a"), ranks=(1, 2), confidence=0.9),
        ],
        "ratings": [
            Rating(criterion="color", rater="ann", item="p1-a", value=4.5, at="2026-03-01T09:30:00Z"),
            Rating(criterion="color", rater="bob", item="p1-a", skipped="cannot judge"),
        ],
        "checklists": [
            Checklist(criterion="overall", rater="vlm", item="p2-a", points=("legible", "a, b"), answers=(True, None))
        ],
        "choices": [Choice(criterion="overall", rater="ann", items=("p2-a", "p2-b"), chosen="p2-b")],
    }
    metadata: dict[str, Any] = {
        "cohorts": (Cohort(id="designers", protocol="compare", view=("intent", "description"), note="paid"),),
        "design": Design(kind="fraction", fraction=0.5, order_randomized=True),
        "revisions": (Revision(number=1, reason="first"), Revision(number=2, reason="late answers", at="2026-03-02")),
        "simulated": True,
        "note": "Made by hand.",
    }
    criteria = (
        Criterion(id="overall", name="Overall", question="Which is better?", paraphrases=("Which do you prefer?",)),
        Criterion(id="color", rate_question="How good is its color?", scale=Scale(low=1, high=5, step=0.5)),
    )
    tables |= changes.pop("tables", {})
    return Study.build("example", changes.pop("criteria", criteria), tables=tables, **(metadata | changes))


@st.composite
def studies(draw: st.DrawFn, awkward: bool = True) -> Study:
    """A small valid study; with `awkward`, its labels and texts are the worst a file may hold."""
    names = labels if awkward else st.text("abcdefgh", min_size=1, max_size=3)
    ids = [draw(st.lists(names, min_size=low, max_size=4, unique=True)) for low in (1, 2, 1, 1, 0)]
    prompts, items, raters, criteria, cohorts = ids
    within = draw(st.sampled_from(["prompt", "category", "all"]))
    made = [
        Item(
            id=id,
            prompt=draw(st.sampled_from(prompts)),
            category=draw(st.sampled_from(["x", "y"])),
            image=draw(maybe | texts),
        )
        for id in items
    ]
    groups: dict[str, list[str]] = {}
    for item in made:
        groups.setdefault("" if within == "all" else str(getattr(item, within)), []).append(item.id)
    cohort = st.sampled_from(cohorts) if cohorts else maybe
    kinds = st.sampled_from(["person", "model", "crowd"])
    return Study.build(
        draw(names),
        [Criterion(id=id, question=draw(maybe | texts)) for id in criteria],
        cohorts=tuple(Cohort(id=id, note=draw(maybe | texts)) for id in cohorts),
        compare_within=within,
        simulated=draw(st.booleans()),
        note=draw(maybe | texts),
        tables={
            "prompts": [Prompt(id=id, text=draw(maybe | texts)) for id in prompts],
            "items": made,
            "raters": [Rater(id=id, kind=draw(kinds), cohort=draw(maybe | cohort)) for id in raters],
            "comparisons": draw(_comparisons(criteria, raters, groups)),
            "rankings": draw(_rankings(criteria, raters, groups)),
            "ratings": draw(_ratings(criteria, raters, items)),
            "checklists": draw(_checklists(criteria, raters, items)),
            "choices": draw(_choices(criteria, raters, groups)),
        },
    )


def _some(questions: list[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.sampled_from(questions), max_size=5, unique=True) if questions else st.just([])


@st.composite
def _comparisons(
    draw: st.DrawFn, criteria: list[str], raters: list[str], groups: dict[str, list[str]]
) -> list[Comparison]:
    pairs = [pair for group in groups.values() for pair in combinations(group, 2)]
    asked = draw(_some([(c, r, p, n) for c in criteria for r in raters for p in pairs for n in (0, 1)]))
    made = []
    for criterion, rater, pair, repeat in asked:
        a, b = draw(st.permutations(pair))
        answer = {"outcome": draw(st.sampled_from(["a", "b", "tie", "both_bad"]))}
        answer = draw(st.just(answer) | st.fixed_dictionaries({"skipped": skips}))
        left = draw(st.sampled_from(["a", "b", "unknown"]))
        made.append(
            Comparison(criterion=criterion, rater=rater, a=a, b=b, repeat=repeat, left=left, **answer, **draw(facts))
        )
    return made


@st.composite
def _rankings(draw: st.DrawFn, criteria: list[str], raters: list[str], groups: dict[str, list[str]]) -> list[Ranking]:
    asked = draw(_some([(c, r, g, n) for c in criteria for r in raters for g in groups for n in (0, 1)]))
    made = []
    for criterion, rater, group, repeat in asked:
        order = draw(st.permutations(groups[group]))
        kept = order[: draw(st.integers(1, len(order)))]
        ranks = sorted(draw(st.lists(st.integers(1, 4), min_size=len(kept), max_size=len(kept))))
        answer = draw(
            st.just({"items": kept, "ranks": ranks}) | st.just({"items": (), "ranks": (), "skipped": "cannot judge"})
        )
        made.append(Ranking(criterion=criterion, rater=rater, repeat=repeat, **answer, **draw(facts)))
    return made


@st.composite
def _ratings(draw: st.DrawFn, criteria: list[str], raters: list[str], items: list[str]) -> list[Rating]:
    asked = draw(_some([(c, r, i, n) for c in criteria for r in raters for i in items for n in (0, 1)]))
    answers = st.fixed_dictionaries({"value": numbers}) | st.fixed_dictionaries({"skipped": skips})
    return [
        Rating(criterion=criterion, rater=rater, item=item, repeat=repeat, **draw(answers), **draw(facts))
        for criterion, rater, item, repeat in asked
    ]


@st.composite
def _checklists(draw: st.DrawFn, criteria: list[str], raters: list[str], items: list[str]) -> list[Checklist]:
    asked = draw(_some([(c, r, i) for c in criteria for r in raters for i in items]))
    made = []
    for criterion, rater, item in asked:
        points = draw(st.lists(texts, min_size=1, max_size=3, unique=True))
        answers = [draw(st.sampled_from([True, False, None])) for _ in points]
        made.append(
            Checklist(criterion=criterion, rater=rater, item=item, points=points, answers=answers, **draw(facts))
        )
    return made


@st.composite
def _choices(draw: st.DrawFn, criteria: list[str], raters: list[str], groups: dict[str, list[str]]) -> list[Choice]:
    wide = [group for group in groups if len(groups[group]) > 1]
    asked = draw(_some([(c, r, g) for c in criteria for r in raters for g in wide]))
    made = []
    for criterion, rater, group in asked:
        items = draw(st.permutations(groups[group]))
        answer = draw(
            st.fixed_dictionaries({"chosen": st.sampled_from(items)}) | st.fixed_dictionaries({"skipped": skips})
        )
        made.append(Choice(criterion=criterion, rater=rater, items=items, **answer, **draw(facts)))
    return made
