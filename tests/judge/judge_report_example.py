"""People and judges whose figures are known, for tests of the judge report."""

from __future__ import annotations

from functools import cache

import numpy as np
from drawn_studies import Drawn, shared_ranks

from salon.evaluate import ItemOrder, ReportSettings, study_pairs
from salon.evaluate.answers import ItemValues, PairJudge, PairVerdicts, verdict_judge
from salon.evaluate.judges import judge_report
from salon.judge.folder import verdict_table
from salon.judge.protocol import JudgeVerdict

QUICK = ReportSettings(draws=100, deals=99, worst=3)


def verdict(a, b, outcome, left, **more):
    """One answer on a pair, under criterion c."""
    facts = {"judge": "j", "protocol": "compare", "criterion": "c", "outcome": outcome, "left": left}
    unparsed = {"unparsed": "no verdict"} if outcome is None else {}
    return JudgeVerdict(**(facts | unparsed | more), a=a, b=b)


def both(a, b, first, second, **more):
    """A pair in both orders: the outcome with a first, then with b first."""
    return [verdict(a, b, first, "a", **more), verdict(a, b, second, "b", **more)]


def judged(study, verdicts, name="j", **facts):
    return verdict_judge(name, verdict_table(verdicts), study, ItemOrder(study), **facts)


def report(study, *judges, settings=QUICK, **more):
    return judge_report(study, judges, settings, **more)


def simulated_judge(study, c, b, rng, name="sim", t=0.0, u=0.0):
    """A judge of known worth on all pairs of the people: as `salon.judge.simulation` draws it, in arrays."""
    pairs = study_pairs(study, ItemOrder(study))
    parts = []
    for place, number in enumerate(pairs.numbers):
        rows = pairs.on(place)
        n, keys = len(rows), pairs.keys[rows]
        chance = rng.random(n)
        better = np.where((pairs.winner[rows] > 0) == (rng.random(n) < c), 0, 1)
        for side in (0, 1):
            outcome = np.where(chance < b, side, np.where(chance < b + t, 2, better))
            outcome = np.where(rng.random(n) < u, 3, outcome)
            parts.append((np.full(n, number), keys, outcome, np.full(n, side), keys * 7 // 5 % 8))
    return PairJudge(name, "pairs", PairVerdicts(*(np.concatenate(part) for part in zip(*parts))), simulated=True)


def scorer(study, values, name="scorer"):
    """One number an item, for all criteria."""
    return PairJudge(name, "scorer", ItemValues(ItemOrder(study), dict.fromkeys(range(len(study.criteria)), values)))


@cache
def people(prompts=30, criteria=("color", "mood"), noise=1.0, seed=0):
    """Five people rank the four items of each prompt under every criterion."""
    rng = np.random.default_rng(seed)
    drawn = Drawn(prompts, 4)
    for criterion in criteria:
        drawn.rank(shared_ranks(prompts, 5, 4, noise, rng), criterion=criterion)
    return drawn.study()


@cache
def full_report():
    """Four judges and a scorer on two criteria: everything a page can show but pictures."""
    study, rng = people(), np.random.default_rng(1)
    worth = {"keen": (0.8, 0.1, 0.0, 0.02), "leaning": (0.75, 0.6, 0.0, 0.0), "shy": (0.6, 0.2, 0.3, 0.0),
             "coin": (0.5, 0.3, 0.0, 0.0)}  # fmt: skip
    judges = [simulated_judge(study, c, b, rng, name, t, u) for name, (c, b, t, u) in worth.items()]
    judges.append(scorer(study, np.append(rng.normal(size=len(study.ids("items")) - 3), [np.nan] * 3), "numbers"))
    signals = {"color": ("yes, one taste", "People agree."), "mood": ("no", "Coins.")}
    return report(study, *judges, signals=signals)
