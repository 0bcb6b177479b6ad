"""Check reports with realistic numbers, for tests of what is made of a report: full, minimal, hostile, votes, large.

Run as a script: `python tests/check/check_examples.py full check.html`.
"""

from __future__ import annotations

import sys

import numpy as np
from check_figures import ceilings, criterion, estimate, flag, protocol, protocol_rater, rater_row, report

from salon.check import AnchorFigures, CheckReport, CriterionFigures, Interval, RaterSummary
from salon.check.results import FactionFigures, Statistics, TestFigures

HOSTILE = (
    "<script>window.pwned=1</script>",
    '"><img src=x onerror="window.pwned=2">',
    "]]></title></svg><b>{{ 7 * 7 }} {0} %s",
    "nul\x00bell\x07 & 'quote' `tick` a.b\\c",
    "\u202eright to left " + "long " * 60,
)
"""Names nobody has and somebody will try."""
COHORTS = {
    "aesthetics": {"Preference": 1.5, "Mood": 1.6, "Visual hierarchy": 1.8, "Color harmony": 2.0, "Typography": 1.8},
    "descriptions": {"Preference": 1.5, "Color accuracy": 1.6, "Spatial accuracy": 1.4, "Typography": 1.2},
}
"""Criteria and their noise, in the shape of a published designer study."""
ANCHORS = (
    AnchorFigures(
        name="Sushi",
        items=4,
        raters=5,
        median_T=0.133,
        mean_tau=0.144,
        mean_pmax=0.739,
        cycle_rate=0.107,
        source="ten kinds of sushi ranked by 5,000 people",
    ),
    AnchorFigures(
        name="HPSv2 top-4",
        items=4,
        raters=5,
        median_T=0.267,
        mean_tau=0.302,
        mean_pmax=0.790,
        cycle_rate=0.060,
        source="images ranked by ten raters each",
    ),
    AnchorFigures(
        name="Films",
        items=5,
        raters=7,
        median_T=0.05,
        mean_tau=0.07,
        mean_pmax=0.66,
        cycle_rate=0.31,
        source="star ratings, ties broken at random",
    ),
)


def full() -> CheckReport:
    """Nine criteria in two cohorts, a random one and one of two factions; flags, anchors and protocols."""
    rng = np.random.default_rng(7)
    criteria = [
        criterion(name, noise, rng, cohort=cohort, raters=_raters(cohort))
        for cohort, members in COHORTS.items()
        for name, noise in members.items()
    ]
    lost = criterion("Lettering, random control", None, rng, cohort="aesthetics", raters=_raters("aesthetics"))
    mixed = criterion("Humour", 1.7, rng, cohort="descriptions", raters=_raters("descriptions"), verdict="camps")
    criteria += [lost, mixed]
    names = [name for cohort in COHORTS for name in _raters(cohort)]
    flags = (
        ("agrees least in 5 of 5 criteria", "very fast (median 1.4 s)"),
        (),
        (),
        ("prefers the left side (61% left)",),
    )
    return report(
        sorted(criteria, key=lambda c: -c.statistics.mean_tau),
        tuple(rater_row(name, i, rng, flags[i] if i < len(flags) else ()) for i, name in enumerate(names)),
        simulated=True,
        anchors=ANCHORS,
        flags=(flag("Hallucination", names, rng),),
        protocols=(protocol(),),
        protocols_together=protocol(None),
        protocol_raters=(protocol_rater("aesthetics-A"),),
        warnings=(
            "ties=stable breaks ties alike for every rater and manufactures agreement: shuffled answers give 0.140",
        ),
    )


def minimal() -> CheckReport:
    """One criterion with too little data: almost everything is None."""
    empty = Interval(low=None, high=None)
    names = ("median_T", "mean_tau", "mean_pmax", "cycle_rate")
    lone = CriterionFigures(
        criterion="overall",
        name="Overall",
        protocol="rankings",
        agree="cannot tell",
        sentence="One prompt with one rater: nothing can be compared.",
        prompts=1,
        judgments=1,
        statistics=Statistics(
            median_T=None, mean_tau=None, mean_pmax=None, cycle_rate=None, intervals=dict.fromkeys(names, empty)
        ),
        null=None,
        tests=tuple(TestFigures(name=n, refused="at least 2 raters are needed") for n in ("agreement", "cycle")),
        shapes=(),
        alpha=None,
        mean_W=None,
        ceilings=None,
        raters=None,
        factions=FactionFigures(refused="at least 4 raters are needed"),
        tie_rate=0.0,
        policies=(),
    )
    return report([lone], (RaterSummary(rater="Ada", kind="person", cohort=None, judgments=1),), study="one")


def votes() -> CheckReport:
    """Single votes of a crowd: no complete orders, no shapes, agreement on pairs instead."""
    rng = np.random.default_rng(3)
    none = Statistics(median_T=None, mean_tau=None, mean_pmax=None, cycle_rate=None, intervals={})
    criteria = [
        CriterionFigures(
            criterion=name.lower(),
            name=name,
            protocol="votes",
            agree="yes",
            taste="cannot tell",
            sentence="Two voters agree on a pair more often than chance.",
            prompts=300,
            judgments=4_812,
            statistics=none,
            null=None,
            shapes=(),
            alpha=estimate(0.18, 0.04),
            mean_W=None,
            pair_agreement=estimate(tau, 0.05, 300, "pairs"),
            tests=(
                TestFigures(
                    name="pairs",
                    statistic=tau,
                    p=0.0005,
                    p_holm=0.001,
                    law="sign flips of whole answers, exact, one-sided",
                    n=300,
                    unit="pairs",
                ),
            ),
            ceilings=ceilings({"3-0": 0.4, "2-1": 0.6}, rng),
            raters=None,
            factions=None,
            tie_rate=0.12,
            policies=("Ties count as no vote.",),
        )
        for name, tau in (("Overall", 0.21), ("Alignment", 0.34))
    ]
    return report(criteria, (), study="arena votes", design="unknown")


def ragged() -> CheckReport:
    """Several shapes in a criterion, an even number of raters in another, a Monte Carlo null in a third."""
    rng = np.random.default_rng(11)
    mixed = criterion("Ragged", 1.4, rng, shapes=((4, 5, 60), (4, 4, 12), (3, 5, 7), (4, 3, 2)))
    even = criterion("Even panel", 1.4, rng, shapes=((4, 4, 80),))
    large = criterion("Many items", 1.6, rng, shapes=((8, 6, 40),))
    crowd = criterion("Large panel", 2.5, rng, shapes=((3, 20, 40),))
    criteria = sorted([mixed, even, large, crowd], key=lambda c: -c.statistics.mean_tau)
    return report(criteria, tuple(rater_row(f"r{i:02d}", i, rng) for i in range(20)), anchors=ANCHORS, study="ragged")


def hostile() -> CheckReport:
    """Every label is an attack, a very long line or both."""
    rng = np.random.default_rng(5)
    criteria = [
        criterion(name, 1.6, rng, cohort=HOSTILE[i % 2], raters=HOSTILE, sentence=f"Beware: {name}", policies=HOSTILE)
        for i, name in enumerate((*HOSTILE, HOSTILE[0], "x" * 5000))
    ]
    anchor = ANCHORS[0].model_copy(update={"name": HOSTILE[0], "source": HOSTILE[1]})
    return report(
        criteria,
        tuple(rater_row(name, i, rng, (name,)) for i, name in enumerate(HOSTILE)),
        study=HOSTILE[0],
        design=HOSTILE[1],
        warnings=HOSTILE,
        anchors=(anchor,),
        flags=(flag(HOSTILE[2], HOSTILE, rng),),
        protocols=(protocol(HOSTILE[3]),),
        protocol_raters=(protocol_rater(HOSTILE[3]),),
        line="|".join(HOSTILE),
    )


def many() -> CheckReport:
    """Fifty criteria in six cohorts judged by twenty raters."""
    rng = np.random.default_rng(13)
    raters = tuple(f"designer-{i:02d}@studio-north" for i in range(20))
    criteria = [
        criterion(
            f"Criterion number {i:02d} of the long questionnaire",
            1 + 0.1 * i,
            rng,
            cohort=f"cohort {i % 6}",
            raters=raters,
            shapes=((3, 20, 30),),
        )
        for i in range(50)
    ]
    criteria.sort(key=lambda c: -c.statistics.mean_tau)
    return report(criteria, tuple(rater_row(name, i, rng) for i, name in enumerate(raters)), study="large")


EXAMPLES = {"full": full, "minimal": minimal, "votes": votes, "ragged": ragged, "hostile": hostile, "many": many}


def _raters(cohort: str) -> tuple[str, ...]:
    return tuple(f"{cohort}-{letter}" for letter in "ABCDE")


if __name__ == "__main__":
    from salon.check import check_page

    check_page(EXAMPLES[sys.argv[1]]()).write(sys.argv[2])
