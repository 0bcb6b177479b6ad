"""Flags of raters: by hand, by definition, at their stated rate, and with the right reason."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import binom, binomtest, norm, pearsonr
from studios import SCREEN_MS, Walker, studio, study

from salon.collect import RawAnswer
from salon.collect.agreement import (
    AnswerRecords,
    PairAnswerRow,
    ScreenRow,
    ValueRow,
    answer_rows,
    panel_agreement,
    panel_correlation,
    repeat_agreement,
)
from salon.collect.assignment import make_screen
from salon.collect.plan import make_plan
from salon.collect.quality import (
    QualitySettings,
    circular_triples,
    combine_signs,
    correlation_sign,
    rater_flags,
    share_sign,
)
from salon.collect.questions import ScreenTimes, to_judgments

RULE = QualitySettings()


def pair(rater: str, screen: int, low: str, high: str, outcome: int, **more) -> PairAnswerRow:
    return PairAnswerRow(rater, screen, more.pop("why", "ordinary"), "overall", low, high, outcome, more.pop("left", 0))


def screens(n: int, *, why="ordinary", seconds: float = 30, right: bool | None = None) -> list[ScreenRow]:
    return [ScreenRow("r", k, why, seconds, 10, right) for k in range(n)]


def found(records: AnswerRecords, reason: str, rater: str = "r"):
    one = next(one for one in rater_flags(records) if one.rater == rater)
    return next((finding for finding in one.findings if finding.reason == reason), None)


def test_an_honest_share_of_fast_screens_is_no_flag_and_a_large_one_is() -> None:
    slow, fast = screens(15), screens(5, seconds=10.5)
    assert not found(AnswerRecords((*slow, *fast)), "too fast").flagged
    finding = found(AnswerRecords(tuple(screens(2) + screens(18, seconds=10.5))), "too fast")
    assert (finding.value, finding.n, finding.limit) == (0.9, 20, RULE.fast_share)
    assert finding.p == pytest.approx(binomtest(18, 20, 0.25, alternative="greater").pvalue)
    assert finding.flagged
    assert "90%" in finding.words


def test_one_side_counts_decided_screens_once() -> None:
    rows = [pair("r", n, "a", f"b{n}", 1, left=1) for n in range(20)]
    rows += [pair("r", n, "a", f"b{n}", 1, left=1) for n in range(20)]  # a second criterion on the same screens
    finding = found(AnswerRecords(tuple(screens(20)), tuple(rows)), "one side")
    assert (finding.value, finding.n) == (1.0, 20)
    assert finding.p == pytest.approx(0.6**20)
    assert finding.flagged
    mirrored = [pair("r", n, "a", f"b{n}", 1, left=-1) for n in range(20)]
    assert "right" in found(AnswerRecords(tuple(screens(20)), tuple(mirrored)), "one side").words


def test_gold_and_attention_by_hand() -> None:
    """Gold 4 of 8 right: P(X <= 4 | 8, .9) = .0050. Attention 2 of 4 missed: P(X >= 2 | 4, .02) = .0023."""
    gold = screens(4, why="gold", right=True) + screens(4, why="gold", right=False)
    assert found(AnswerRecords(tuple(gold)), "gold").p == pytest.approx(0.00502, abs=1e-5)
    missed = screens(2, why="attention", right=True) + screens(2, why="attention", right=False)
    finding = found(AnswerRecords(tuple(missed)), "attention")
    assert finding.p == pytest.approx(0.002336, abs=1e-5)
    assert finding.flagged


def test_repeats_are_corrected_for_chance() -> None:
    """10 pairs without ties: chance 1/2, so an honest rater has at worst .5 + .5 x .5 = .75 alike."""
    first = [pair("r", n, "a", f"b{n}", 1) for n in range(10)]
    again = [pair("r", 10 + n, "a", f"b{n}", 1 if n < 3 else -1, why="repeat") for n in range(10)]
    alike, chance = repeat_agreement(first + again, [])
    assert (sum(alike), len(alike), chance) == (3, 10, 0.5)
    finding = found(AnswerRecords(tuple(screens(20)), tuple(first + again)), "repeats")
    assert (finding.value, finding.limit) == (0.3, 0.75)
    assert finding.p == pytest.approx(binomtest(3, 10, 0.75, alternative="less").pvalue)
    assert finding.flagged


def test_values_are_alike_within_one_level_and_chance_knows_the_raters_own_values() -> None:
    """Values 1 and 5, half each: two draws are within one level in half of the cases."""
    first = [ValueRow("r", n, "ordinary", "overall", f"i{n}", 1 + 4 * (n % 2)) for n in range(4)]
    again = [ValueRow("r", 9, "repeat", "overall", "i0", 2), ValueRow("r", 10, "repeat", "overall", "i2", 3)]
    alike, _ = repeat_agreement([], first + again)
    assert alike == [1.0, 0.0]
    assert repeat_agreement([], first)[1] == 0.5


def test_circular_triples_by_hand_and_by_definition() -> None:
    circle = [pair("r", 0, "a", "b", 1), pair("r", 1, "b", "c", 1), pair("r", 2, "a", "c", -1)]
    assert circular_triples(circle) == (1, 1)
    assert circular_triples([*circle[:2], pair("r", 2, "a", "c", 1)]) == (0, 1)
    assert circular_triples([*circle[:2], pair("r", 2, "a", "c", 0)]) == (0, 0)


def test_coins_run_in_circles_in_a_quarter_of_triples_as_independent_as_stated() -> None:
    """Mean and variance of Binomial(n, 1/4), over 300 raters with all 66 pairs of 12 items."""
    rng = np.random.default_rng(1)
    pairs = [(f"i{a:02}", f"i{b:02}") for a, b in combinations(range(12), 2)]
    counts = []
    for _ in range(300):
        order = rng.permutation(len(pairs))
        rows = [pair("r", 0, *pairs[k], int(rng.choice([-1, 1]))) for k in order]
        counts.append(circular_triples(rows))
    hits, n = np.array(counts, float).T
    z = (hits - n / 4) / np.sqrt(n * 3 / 16)
    assert abs(z.mean()) < 4 / np.sqrt(300)
    assert 0.7 < z.var() < 1.35


def test_agreement_with_the_panel_leaves_the_rater_out() -> None:
    """a beats b for x and y; z says no. For x the others split 1-1: nothing to agree with."""
    rows = [pair("x", 0, "a", "b", 1), pair("y", 0, "a", "b", 1), pair("z", 0, "a", "b", -1)]
    assert panel_agreement(rows) == {"z": [0.0]}
    rows.append(pair("w", 0, "a", "b", 1))
    assert panel_agreement(rows) == {"x": [1.0], "y": [1.0], "z": [0.0], "w": [1.0]}


def test_correlation_with_the_others_is_pearsons() -> None:
    rng = np.random.default_rng(2)
    table = rng.integers(1, 6, (4, 9)).astype(float)
    rows = [ValueRow(f"r{r}", i, "ordinary", "overall", f"i{i}", table[r, i]) for r in range(4) for i in range(9)]
    mine = panel_correlation(rows)["r0"]
    assert mine.r == pytest.approx(pearsonr(table[0], table[1:].mean(axis=0))[0])
    assert mine.n == 9


def test_small_signs_are_weighed_by_definition() -> None:
    """Gold 4 of 7 right, attention 1 of 4 missed: the honest chance of all that speaks as much for coins."""
    gold = screens(4, why="gold", right=True) + screens(3, why="gold", right=False)
    missed = screens(3, why="attention", right=True) + screens(1, why="attention", right=False)
    finding = found(AnswerRecords(tuple(gold + missed)), "at random")

    def weight(right: int, missed: int) -> float:
        coin, honest = binom.pmf(right, 7, 0.5) * binom.pmf(missed, 4, 0.5), chance(right, missed)
        return float(np.log(coin / honest))

    def chance(right: int, missed: int) -> float:
        return float(binom.pmf(right, 7, RULE.gold_right) * binom.pmf(missed, 4, RULE.attention_missed))

    seen = weight(4, 1)
    as_much = sum(chance(r, m) for r in range(8) for m in range(5) if weight(r, m) >= seen - 1e-9)
    assert finding.value == pytest.approx(seen)
    assert finding.p == pytest.approx(as_much, rel=1e-6)
    assert finding.flagged == (finding.value >= finding.limit)


def test_the_weight_of_a_correlation_by_definition() -> None:
    """Coins have z ~ N(0, 1/28), honest raters at worst N(atanh .5, 1/28); the sum of one sign keeps that law."""
    sign = correlation_sign(0.1, 31, honest=0.5)
    error = 1 / np.sqrt(28)
    z, honest = np.arctanh([0.1, 0.5])
    assert sign.observed == pytest.approx(norm.logpdf(z, 0, error) - norm.logpdf(z, honest, error))
    assert combine_signs([sign], alpha=0.005).p == pytest.approx(norm.cdf((z - honest) / error), rel=0.02)


def test_signs_that_cannot_tell_coins_apart_say_nothing() -> None:
    assert share_sign(3, 5, honest=0.5, coin=0.5) is None
    assert share_sign(0, 0, honest=0.9, coin=0.5) is None
    assert share_sign(5, 5, honest=1.0, coin=1.0) is None
    assert correlation_sign(0.2, 9, honest=0.0) is None
    assert combine_signs([], alpha=0.005).p == 1.0


def test_nothing_to_look_at_is_no_finding() -> None:
    (one,) = rater_flags(AnswerRecords(tuple(screens(1))))
    assert [finding.reason for finding in one.findings] == ["too fast"]
    assert one.flags == ()
    assert rater_flags(AnswerRecords(())) == ()


def test_raters_at_the_edge_of_honesty_are_flagged_at_most_at_alpha() -> None:
    """800 raters whose gold answers are right with chance .9, the least an honest rater has: flags <= alpha."""
    rng = np.random.default_rng(3)
    rows = [
        ScreenRow(f"r{r}", k, "gold", 30, 10, bool(hit))
        for r in range(800)
        for k, hit in enumerate(rng.random(20) < 0.9)
    ]
    flagged = sum(any(flag.reason == "gold" for flag in one.flags) for one in rater_flags(AnswerRecords(tuple(rows))))
    assert 0 < flagged <= 800 * RULE.alpha + 3 * np.sqrt(800 * RULE.alpha)


# -- through the studio ------------------------------------------------------------------------------------------------


def answers(kind: str, worth: dict[str, float], rng: np.random.Generator):
    def given(shown):
        first, second = (worth[item] + 0.3 * rng.standard_normal() for item in shown.order)
        side = ("left", "right")[int(first < second)]
        if kind == "random":
            side = str(rng.choice(["left", "right"]))
        return {"answers": {"overall": "left" if kind == "left" else side}}

    return given


@pytest.mark.parametrize(
    ("kind", "reason"), [("honest", None), ("left", "one side"), ("random", "panel"), ("fast", "too fast")]
)
def test_through_the_studio_each_kind_has_its_reason(kind: str, reason: str | None) -> None:
    rng = np.random.default_rng(4)
    plan = make_plan(study(12), studio({"checks": {"repeats": 20}}))
    worth = {item: rng.standard_normal() for unit in plan.runs["designers"][0].units for item in unit.items}
    rows: dict[type, list] = {ScreenRow: [], PairAnswerRow: [], ValueRow: []}
    for number, behaves in enumerate(["honest"] * 4 + [kind]):
        rater = Walker(plan, f"r{number}", number)
        rater.walk(answers(behaves, worth, rng))
        for place, task in enumerate(rater.asked):
            seconds = 10.2 if behaves == "fast" else SCREEN_MS / 1000
            rows[ScreenRow].append(ScreenRow(rater.rater, place, task.question.why, seconds, 10))
            for row in rater.rows[place]:
                rows[type(row)].append(row)
    flags = rater_flags(AnswerRecords(tuple(rows[ScreenRow]), tuple(rows[PairAnswerRow])))
    assert [one.flags for one in flags[:4]] == [()] * 4
    assert (reason in {flag.reason for flag in flags[4].flags}) if reason else flags[4].flags == ()


def test_rankings_and_choices_become_pairs() -> None:
    for protocol, pairs in (("rank", 6), ("choose", 3)):
        plan = make_plan(study(1), studio({"protocol": protocol}))
        q = plan.runs["designers"][0].question(0)
        shown = make_screen(plan, q, rater="r", number=0, position=0)
        answer = [[0], [1], [2], [3]] if protocol == "rank" else 0
        made = to_judgments(
            shown, RawAnswer(answers={"overall": answer}), rater="r", moments=ScreenTimes(0, 1), criteria={}
        )
        rows = list(answer_rows(shown, made, 0))
        assert len(rows) == pairs
        best = shown.order[0]
        assert all((row.outcome > 0) == (row.low == best) for row in rows if best in (row.low, row.high))
        assert all(row.left is None for row in rows)
