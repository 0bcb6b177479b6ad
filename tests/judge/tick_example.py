"""People who tick and judges whose worth on checklists is known, for tests of the judge report."""

from __future__ import annotations

from functools import cache

import numpy as np

from salon.evaluate import ReportSettings
from salon.evaluate.checklists import verdict_ticks
from salon.evaluate.judges import judge_report
from salon.judge.folder import verdict_table
from salon.judge.protocol import JudgeVerdict
from salon.study import Checklist, Criterion, Item, Prompt, Rater, Study

QUICK = ReportSettings(draws=100, deals=99, worst=3)
POINTS = ("legible", "on brief", "title spelled", "two cups")


def ticked(votes, *, points=("p",), criteria=("c",), per=1, items=None, raters=(), extra=()):
    """People's yes and no: `votes[criterion][item][point]` is (yes, no); `per` items make a prompt."""
    votes = np.asarray(votes)
    if votes.ndim == 2:
        votes = votes[None, :, None]
    size = int(votes.sum(axis=-1).max())
    items = items or [Item(id=f"i{n:03}", prompt=f"q{n // per:02}") for n in range(votes.shape[1])]
    lists = []
    for c, i, r in np.ndindex(*votes.shape[:2], size):
        answers = tuple(_answer(*pair, r) for pair in votes[c, i])
        if set(answers) != {None}:
            facts = {"criterion": criteria[c], "rater": f"r{r}", "item": items[i].id}
            lists.append(Checklist(**facts, points=points, answers=answers))
    tables = {
        "prompts": [Prompt(id=id, text="") for id in dict.fromkeys(item.prompt for item in items)],
        "items": items,
        "raters": [*(Rater(id=f"r{r}") for r in range(size)), *raters],
        "checklists": [*lists, *extra],
    }
    return Study.build("ticked", [Criterion(id=id) for id in criteria], tables=tables)


def _answer(yes, no, rater):
    """The first people say yes, the next no, the others nothing."""
    return True if rater < yes else False if rater < yes + no else None


def tick(item, point, value, judge="j", **more):
    """One answer to a point of an item."""
    facts = {"judge": judge, "protocol": "checklist", "criterion": "c", "a": item, "point": point, "value": value}
    return JudgeVerdict(**facts | ({"unparsed": "no verdict"} if value is None else {}) | more)


def ticking(study, verdicts, name="j", **facts):
    return verdict_ticks(name, verdict_table(verdicts), study, **facts)


def tick_reported(study, *judges, settings=QUICK, **more):
    return judge_report(study, (), settings, ticks=judges, **more)


def drawn_ticks(study, rng, name, *, right=0.8, yes=0.0, unread=0.0):
    """A judge that says what most people say with chance `right`, yes without looking with chance `yes`."""
    said = []
    for criterion, item, point, met in majorities(study):
        answer = met if rng.random() < right else not met
        answer = True if rng.random() < yes else answer
        value = None if rng.random() < unread else float(answer)
        said.append(tick(item, point, value, name, criterion=criterion, text=f"I see that it is {answer}."))
    return ticking(study, said, name, simulated=True)


def majorities(study):
    """(criterion, item, point, is it met?) of all ticks, by a plain count."""
    votes = {}
    for noun in study.nouns("checklists"):
        for point, answer in zip(noun.points, noun.answers):
            votes.setdefault((noun.criterion, noun.item, point), []).append(answer)
    return [(*key, sum(a is True for a in some) * 2 > len(some)) for key, some in votes.items()]


@cache
def people_who_tick(prompts=20, per=3, criteria=("c", "d"), seed=0):
    """Five people, four points of every item, of which people pass about two thirds."""
    rng = np.random.default_rng(seed)
    p = rng.beta(1.2, 0.6, (len(criteria), prompts * per, len(POINTS)))
    yes = rng.binomial(5, p)
    return ticked(np.stack([yes, 5 - yes], axis=-1), points=POINTS, criteria=criteria, per=per)


@cache
def full_ticks():
    """Three judges on two criteria: keen, kind to everything, hard to read."""
    study, rng = people_who_tick(), np.random.default_rng(1)
    judges = [
        drawn_ticks(study, rng, "keen", right=0.85, unread=0.02),
        drawn_ticks(study, rng, "kind", right=0.8, yes=0.7),
        drawn_ticks(study, rng, "mumbling", right=0.7, unread=0.3),
    ]
    return tick_reported(study, *judges)
