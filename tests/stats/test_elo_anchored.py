"""Anchored Elo: two passes by hand, the plain loop, plain Elo as its special case, planted ratings, the edges."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from salon.errors import BadValue, TooFew
from salon.stats import EloSettings, anchored_elo
from salon.stats.elo import elo_scores

PER_LEVEL = np.log(10)  # 400 points a level are ln 10 logits


def rng(seed=0):
    return np.random.default_rng(seed)


def judged(levels, comparisons, seed=0):
    """Comparisons of items whose true rating levels are planted, under Elo's own model."""
    chance = rng(seed)
    a = chance.integers(0, len(levels), comparisons)
    b = (a + chance.integers(1, len(levels), comparisons)) % len(levels)
    lost = chance.random(comparisons) > 1 / (1 + np.exp(PER_LEVEL * (levels[b] - levels[a])))
    return a, b, lost.astype(np.int64)


def test_by_hand():
    # 0 beats 1, and 0 is the rating anchor with target 1900.
    # Pass 1: K 6, expected 1/2: 1503 and 1497. Pull: 1503 + .15 (1900 - 1503) = 1562.55.
    run = {"anchors": [0], "targets": [1900.0]}
    one = anchored_elo([0], [1], [0], 3, rng=rng(), settings=EloSettings(passes=1), **run)
    np.testing.assert_allclose(one, [1562.55, 1497, 1500])
    # Pass 2: K 6 * .995 = 5.97, 65.55 points ahead: expected 1/(1 + 10^-.163875) = .593233, 5.97 * .406767 = 2.428397;
    # 1564.978397 and 1494.571603. Pull: 1564.978397 + .15 * 335.021603 = 1615.231637.
    two = anchored_elo([0], [1], [0], 3, rng=rng(), settings=EloSettings(passes=2), **run)
    np.testing.assert_allclose(two, [1615.231637, 1494.571603, 1500], atol=1e-5)
    # Without a rating anchor in the pair the step is 32: 1516 and 1484; the rating anchor is pulled all the same.
    other = anchored_elo([1], [2], [0], 3, rng=rng(), settings=EloSettings(passes=1), **run)
    np.testing.assert_allclose(other, [1560, 1516, 1484])


def test_plain_loop_gives_the_same():
    a, b, o = judged(np.linspace(1, 5, 7), 80, seed=1)
    o[::9] = 2
    held, target = [2, 5], [1250.0, 1820.0]
    s = EloSettings(passes=4, start=1400, k=20, k_anchor=3, decay=0.9, pull=0.2, tau=150)
    fast = anchored_elo(a, b, o, 7, anchors=held, targets=target, rng=rng(2), settings=s)
    again, q, k, k_anchor = rng(2), np.full(7, 1400.0), 20.0, 3.0
    for _ in range(4):
        for c in again.permutation(80):
            i, j = a[c], b[c]
            step = k_anchor if i in held or j in held else k
            change = step * ((1, 0, 0.5)[o[c]] - 1 / (1 + np.exp(-(q[i] - q[j]) / 150)))
            q[i] += change
            q[j] -= change
        for item, goal in zip(held, target):
            q[item] += 0.2 * (goal - q[item])
        k, k_anchor = k * 0.9, k_anchor * 0.9
    np.testing.assert_allclose(fast, q, rtol=0, atol=1e-9)


def test_without_rating_anchors_it_is_plain_elo():
    a, b, o = judged(np.linspace(2, 4, 10), 300, seed=3)
    points = np.array([1.0, 0.0])[o]
    np.testing.assert_array_equal(
        anchored_elo(a, b, o, 10, anchors=[], targets=[], rng=rng(4)), elo_scores(a, b, points, 10, rng=rng(4))
    )


def test_relabelled_turned_around_and_shifted():
    a, b, o = judged(np.linspace(1, 5, 8), 300, seed=5)
    held, target = np.array([1, 6]), np.array([1100.0, 1900.0])
    straight = anchored_elo(a, b, o, 8, anchors=held, targets=target, rng=rng(6))
    names = rng(7).permutation(8)
    renamed = anchored_elo(names[a], names[b], o, 8, anchors=names[held], targets=target, rng=rng(6))
    np.testing.assert_allclose(renamed[names], straight)
    turned = anchored_elo(b, a, 1 - o, 8, anchors=held, targets=target, rng=rng(6))
    np.testing.assert_allclose(turned, straight)
    higher = EloSettings(start=1800)
    moved = anchored_elo(a, b, o, 8, anchors=held, targets=target + 300, rng=rng(6), settings=higher)
    np.testing.assert_allclose(moved, straight + 300)
    unpulled = EloSettings(pull=0, k_anchor=32)
    freed = anchored_elo(a, b, o, 8, anchors=held, targets=target, rng=rng(6), settings=unpulled)
    np.testing.assert_array_equal(freed, anchored_elo(a, b, o, 8, anchors=[], targets=[], rng=rng(6)))


def test_planted_ratings_are_found_on_the_rating_scale():
    """Six rating anchors at their true places give the others their level, which plain Elo cannot know."""
    levels = rng(8).uniform(2.5, 5, 50)
    a, b, o = judged(levels, 3060, seed=9)
    held = np.argsort(levels)[[4, 12, 20, 28, 36, 44]]
    s = EloSettings()
    scores = anchored_elo(a, b, o, 50, anchors=held, targets=s.targets(levels[held]), rng=rng(42))
    found = 3 + (scores - s.start) / s.gap
    plain = 3 + (anchored_elo(a, b, o, 50, anchors=[], targets=[], rng=rng(42)) - s.start) / s.gap
    assert spearmanr(found, levels).statistic > 0.97
    assert np.abs(found - levels).mean() < 0.12
    assert np.abs(plain - levels).mean() > 0.5  # centred on 3 although the items are not


def test_targets_of_levels():
    np.testing.assert_array_equal(EloSettings().targets([2, 3, 4]), [1100, 1500, 1900])
    np.testing.assert_array_equal(EloSettings(start=0, gap=100).targets([7.5], middle=5.5), [200])


@pytest.mark.parametrize(
    ("anchors", "targets", "words"),
    [
        ([3], [1500.0], "items 0 to 2"),
        ([-1], [1500.0], "items 0 to 2"),
        ([0, 0], [1500.0, 1600.0], "once"),
        ([0], [], "one target"),
        ([0], [np.nan], "finite"),
        ([0.5], [1500.0], "item numbers"),
    ],
)
def test_rating_anchors_that_are_refused(anchors, targets, words):
    with pytest.raises(BadValue, match=words):
        anchored_elo([0], [1], [0], 3, anchors=anchors, targets=targets, rng=rng())


def test_comparisons_that_are_refused():
    none = {"anchors": [], "targets": [], "rng": rng()}
    with pytest.raises(TooFew):
        anchored_elo([], [], [], 3, **none)
    for a, b, o in ([0], [3], [0]), ([1], [1], [0]), ([0], [1], [3]), ([0], [1], [0.5]):
        with pytest.raises(BadValue):
            anchored_elo(a, b, o, 3, **none)


@pytest.mark.parametrize(
    "bad",
    [{"tau": 0}, {"tau": np.nan}, {"passes": 0}, {"decay": 1.1}, {"pull": 1.5}, {"k_anchor": -6}, {"gap": np.inf}],
    ids=lambda bad: next(iter(bad)),
)
def test_settings_that_are_refused(bad):
    with pytest.raises(BadValue, match=next(iter(bad))):
        EloSettings(**bad)


def test_part_of_a_list_follows_the_shuffle_of_the_whole() -> None:
    """Leaving out comparisons of items 3 and 4 alone leaves the others' scores as they were, to the last digit."""
    rng = np.random.default_rng(5)
    a, b = rng.integers(0, 3, 60), rng.integers(0, 2, 60)
    b = np.where(b >= a, b + 1, b)
    first, second = np.append(a, [3, 4, 3]), np.append(b, [4, 3, 4])
    outcome = rng.integers(0, 3, 63)
    none = {"anchors": np.empty(0, int), "targets": np.empty(0)}
    whole = anchored_elo(first, second, outcome, 5, rng=np.random.default_rng(1), **none)
    kept = np.arange(60)
    part = anchored_elo(a, b, outcome[:60], 5, rng=np.random.default_rng(1), rows=kept, total=63, **none)
    alone = anchored_elo(a, b, outcome[:60], 5, rng=np.random.default_rng(1), **none)
    assert np.array_equal(part[:3], whole[:3])
    assert not np.array_equal(alone[:3], whole[:3])
    with pytest.raises(BadValue, match="needs its row"):
        anchored_elo(a, b, outcome[:60], 5, rng=rng, rows=kept[:5], total=63, **none)


def test_settled_by_hand():
    # Two passes: the second half is the second pass. Pass 1 as above: 1562.55 and 1497. Pass 2: 1564.978397 and
    # 1494.571603; the pull has fallen as K has: 1564.978397 + .15 * .995 * 335.021603 = 1614.980371.
    run = {"anchors": [0], "targets": [1900.0]}
    two = anchored_elo([0], [1], [0], 3, rng=rng(), settings=EloSettings(passes=2, settled=True), **run)
    np.testing.assert_allclose(two, [1614.980371, 1494.571603, 1500], atol=1e-5)
    # Three passes: the mean of passes 2 and 3, which a run of two and a difference give.
    three = anchored_elo([0], [1], [0], 3, rng=rng(), settings=EloSettings(passes=3, settled=True), **run)
    expected = 1 / (1 + 10 ** (-(two[0] - two[1]) / 400))
    step = 6 * 0.995**2 * (1 - expected)
    third = two[0] + step + 0.15 * 0.995**2 * (1900 - two[0] - step)
    np.testing.assert_allclose(three, [(two[0] + third) / 2, (2 * two[1] - step) / 2, 1500])


def test_settled_passes_and_orders_do_not_matter():
    """The last pass moves with the order and with the number of passes; the settled result hardly does."""
    levels = np.linspace(1.5, 4.5, 12)
    a, b, o = judged(levels, 600, seed=3)
    held, targets = [2, 6, 9], EloSettings().targets([3, 3, 3])  # two of the targets are a level off, on purpose

    def run(seed, passes, settled):
        how = EloSettings(passes=passes, settled=settled)
        return anchored_elo(a, b, o, 12, anchors=held, targets=targets, rng=rng(seed), settings=how)

    def moved(settled, one, other):
        return np.abs(run(*one, settled) - run(*other, settled)).mean()

    assert moved(True, (0, 150), (1, 150)) < moved(False, (0, 150), (1, 150)) / 3  # another order
    assert moved(True, (0, 150), (0, 600)) < moved(False, (0, 150), (0, 600)) / 3  # more passes
