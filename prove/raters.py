"""Do the flags of a running studio find the raters they should, and leave honest ones alone?

python -m prove.raters [studies]

Writes docs/evidence/rater-flags.md. Every simulated rater goes through the studio itself: its questions, sides,
repeats, gold and attention checks, one screen after the other.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.special import expit

from prove._page import table, wrapped
from salon.collect import RaterQuestion, RawAnswer, StudioSettings
from salon.collect.agreement import AnswerRecords, PairAnswerRow, ScreenRow, ValueRow, answer_rows
from salon.collect.assignment import AskedQuestion, AssignmentState, make_screen, next_question
from salon.collect.plan import StudioPlan, make_plan
from salon.collect.quality import QualitySettings, RaterFindings, rater_flags
from salon.collect.questions import RaterScreen, ScreenTimes, is_right, least_seconds, to_judgments
from salon.stats import wilson
from salon.study import Criterion, Item, Prompt, Scale, Study

OUT = Path(__file__).parents[1] / "docs/evidence/rater-flags.md"
STUDIES = 100
FIRST = 2000
"""Seed of the first study: none of them was looked at before the rules were settled."""
SPREAD, TASTE, NOISE = 1.2, 0.5, 0.6
"""Of true quality, of each rater's own taste, and of each look at an item: in logits and standard deviations."""
GOLD = 8
HONEST = 5
REASONS = ("too fast", "one side", "one value", "repeats", "gold", "attention", "intransitive", "panel", "at random")
RULE = QualitySettings()


@dataclass(frozen=True)
class Kind:
    """A kind of rater."""

    words: str
    right: tuple[str, ...]
    """Reasons that are right for it; none: it should not be flagged."""
    random: float = 0.0
    """Share of answers given by tossing a coin."""
    side: str | None = None
    """Always this side, and always the same value."""
    fast: bool = False
    sloppy: bool = False
    """Also misses instructions."""


CHANCE = ("repeats", "gold", "attention", "intransitive", "panel", "at random")
KINDS = {
    "honest": Kind("looks, has a taste of their own, leans a little to one side", ()),
    "always-left": Kind(
        "takes the left one, or the same value, whatever is shown", ("one side", "one value"), side="left"
    ),
    "too-fast": Kind(
        "answers as soon as the button works, half of it by tossing a coin", ("too fast",), 0.5, fast=True
    ),
    "random": Kind("tosses a coin, takes the usual time, obeys instructions", CHANCE, 1.0),
    "careless": Kind("tosses a coin in 7 of 10 answers, misses half of the instructions", CHANCE, 0.7, sloppy=True),
}
SHAPES = {
    "pairs": ("150 of the 300 pairs of 25 items, 30 repeats", "compare", 25, 1, 30),
    "prompts": ("20 prompts x 4 items, all pairs, 20 repeats", "compare", 4, 20, 20),
    "ratings": ("50 items on a scale of 1 to 5, 10 repeats", "rate", 50, 1, 10),
}


def main(studies: int) -> None:
    parts = [_head(studies)]
    for name in SHAPES:
        parts.append(_section(name, studies))
    OUT.write_text("\n".join(parts), encoding="utf-8")
    print(f"wrote {OUT.name}", flush=True)


def _head(studies: int) -> str:
    made = f"""
        {studies} simulated studies for each design. Each has five honest raters and one of another kind, who all go
        through the studio's own questions with {GOLD} gold questions and 4 attention checks. True quality has a
        standard deviation of {SPREAD}, every rater's own taste {TASTE}, every look at an item {NOISE}; honest raters
        take 25 s for a pair and 15 s for a rating (medians; at least 10 and 5 s are enforced), lean to one side by up
        to 0.3 logits and miss 1% of instructions. Gold lies 4 apart in a pair. No answer here was given by a
        person."""
    rule = f"""
        Flags at alpha = {RULE.alpha:g} for each reason: at most {len(REASONS) * RULE.alpha:.1%} of honest raters get
        any flag by design. *any flag*: raters with at least one. *right reason*: raters with a flag that names what is
        wrong with them. In brackets 95% intervals (Wilson). The studies are fresh: the limits for gold, attention and
        the panel were settled on seeds 0 to 3, the weighing in "at random" on seeds 1000 to 1099, and seeds {FIRST} to
        {FIRST + studies - 1} make this page. Other raters than these were not tried."""
    see = "Written by `make prove ONLY=raters`; see [collecting](../methods/collecting.md) for the tests."
    return "\n\n".join(["# Flags of simulated raters", see, wrapped(made), wrapped(rule)]) + "\n"


def _section(name: str, studies: int) -> str:
    title = SHAPES[name][0]
    found: dict[str, list[RaterFindings]] = defaultdict(list)
    with ProcessPoolExecutor(2) as pool:
        for seed, one in enumerate(pool.map(_study, [name] * studies, range(FIRST, FIRST + studies))):
            for rater, findings in one.items():
                found[rater.split()[0]].append(findings)
            if seed % 10 == 9:
                print(f"{name}: {seed + 1} studies", flush=True)
    rows = [_row(kind, found[kind]) for kind in KINDS]
    head = ["rater", "raters", "any flag", "right reason", *REASONS]
    words = "; ".join(f"*{kind}* {one.words}" for kind, one in KINDS.items()) + "."
    return f"## {title}\n\n{wrapped(words)}\n\n{table(head, rows)}"


def _row(kind: str, found: Sequence[RaterFindings]) -> list[str]:
    flagged = Counter(flag.reason for one in found for flag in one.flags)
    looked = {finding.reason for one in found for finding in one.findings}
    right = sum(any(flag.reason in KINDS[kind].right for flag in one.flags) for one in found)
    return [
        kind,
        str(len(found)),
        _share(sum(bool(one.flags) for one in found), len(found)),
        _share(right, len(found)) if KINDS[kind].right else "",
        *(f"{flagged[reason] / len(found):.1%}" if reason in looked else "" for reason in REASONS),
    ]


def _share(hits: int, n: int) -> str:
    estimate = wilson(hits, n)
    return f"{estimate.value:.1%} ({estimate.low:.1%} to {estimate.high:.1%})"


# -- one study -------------------------------------------------------------------------------------------------------


def _study(name: str, seed: int) -> dict[str, RaterFindings]:
    rng = np.random.default_rng([seed, sorted(SHAPES).index(name)])
    study, settings = _made(name, seed)
    plan = make_plan(study, settings)
    worth = {item.id: SPREAD * rng.standard_normal() for item in study.nouns("items")}
    for gold in settings.gold:
        worth |= {gold.items[0]: 2.0} | ({gold.items[1]: -2.0} if len(gold.items) > 1 else {})
    names = [f"honest {n}" for n in range(HONEST)] + [kind for kind in KINDS if kind != "honest"]
    walked = [
        _walk(plan, rater, number, _answers(KINDS[rater.split()[0]], worth, rng), study)
        for number, rater in enumerate(names)
    ]
    found: dict[str, RaterFindings] = {}
    for guest in walked[HONEST:]:  # each joins the honest ones alone, so that the panel is a panel
        found |= {one.rater: one for one in rater_flags(_together([*walked[:HONEST], guest]), RULE)}
    return found


def _together(parts: Sequence[AnswerRecords]) -> AnswerRecords:
    return AnswerRecords(
        tuple(row for part in parts for row in part.screens),
        tuple(row for part in parts for row in part.pairs),
        tuple(row for part in parts for row in part.values),
    )


def _made(name: str, seed: int) -> tuple[Study, StudioSettings]:
    _, protocol, items, prompts, repeats = SHAPES[name]
    made = [Item(id=f"p{p}-{i}", prompt=f"p{p}") for p in range(prompts) for i in range(items)]
    known = [Item(id=f"g{g}-{i}", prompt="p0") for g in range(GOLD) for i in range(2)]
    study = Study.build(
        name,
        [Criterion(id="overall", scale=Scale(low=1, high=5, step=1))],
        tables={"prompts": [Prompt(id=f"p{p}", text="x") for p in range(prompts)], "items": [*made, *known]},
        simulated=True,
    )
    gold = [{"criterion": "overall", "items": [f"g{g}-0", f"g{g}-1"], "better": f"g{g}-0"} for g in range(GOLD)]
    if protocol == "rate":
        gold = [
            {"protocol": "rate", "criterion": "overall", "items": [f"g{g}-0"], "value": 4.5, "within": 1}
            for g in range(GOLD)
        ]
    phase = {
        "id": "main",
        "protocol": protocol,
        "criteria": ["overall"],
        "checks": {"repeats": repeats, "gold": GOLD, "attention": 4},
    }
    if name == "pairs":
        phase["design"] = {"kind": "fraction", "pairs": 150}
    cohort = {"id": "all", "raters": 9, "phases": [phase]}
    return study, StudioSettings.model_validate({"seed": seed, "cohorts": [cohort], "gold": gold})


Answers = Callable[[RaterScreen], tuple[object, float]]


def _answers(kind: Kind, worth: dict[str, float], rng: np.random.Generator) -> Answers:
    """What a rater of this kind answers, and how long it takes."""
    taste = {item: value + TASTE * rng.standard_normal() for item, value in worth.items()}
    lean = rng.uniform(-0.3, 0.3)
    shift = 0.3 * rng.standard_normal()

    def answer(shown: RaterScreen) -> tuple[object, float]:
        q = shown.question
        least, usual = (10, 25) if q.kind == "compare" else (5, 15)
        seconds = least + (rng.exponential(0.3) if kind.fast else (usual - least) * rng.lognormal(0, 0.5))
        return _said(kind, shown, taste, lean, shift, rng), seconds

    return answer


def _said(  # a rater's answer on one screen
    kind: Kind, shown: RaterScreen, taste: dict[str, float], lean: float, shift: float, rng: np.random.Generator
) -> object:
    q = shown.question
    if q.why == "attention" and kind.side is None and rng.random() > (0.5 if kind.sloppy else 0.01):
        return q.expected_value if q.kind == "rate" else ("left", "right")[shown.place(str(q.expected_item))]
    tossed = rng.random() < kind.random
    if q.kind == "rate":
        if kind.side:
            return 3
        seen = 3.3 + shift + taste[q.items[0]] * 0.8 + NOISE * rng.standard_normal()
        return int(rng.integers(1, 6)) if tossed else int(np.clip(round(seen), 1, 5))
    if kind.side:
        return kind.side
    left, right = (taste[item] + NOISE * rng.standard_normal() for item in shown.order)
    chance = 0.5 if tossed else expit(3 * (left - right) + lean)
    return "left" if rng.random() < chance else "right"


def _walk(plan: StudioPlan, rater: str, number: int, answers: Answers, study: Study) -> AnswerRecords:
    criteria = {criterion.id: criterion for criterion in study.criteria}
    asked: list[AskedQuestion] = []
    screens, pairs, values = [], [], []
    while isinstance(q := next_question(plan, AssignmentState(rater, number, "all", 0, asked=asked)), RaterQuestion):
        shown = make_screen(plan, q, rater=rater, number=number, position=len(asked))
        said, seconds = answers(shown)
        given = RawAnswer(answers={"overall": said})
        moments = ScreenTimes(0, round(1000 * seconds))
        hit = is_right(shown, given)
        made = to_judgments(shown, given, rater=rater, moments=moments, criteria=criteria)
        least = least_seconds(q.kind, plan.settings.times)
        screens.append(ScreenRow(rater, len(asked), q.why, seconds, least, hit))
        for row in answer_rows(shown, made, len(asked)):
            (pairs if isinstance(row, PairAnswerRow) else values).append(row)
        asked.append(AskedQuestion(q, 1, hit))
    return AnswerRecords(tuple(screens), tuple(pairs), tuple(one for one in values if isinstance(one, ValueRow)))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else STUDIES)
