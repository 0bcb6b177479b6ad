"""What the page of `prove.distill_policy` says beside its tables."""

from __future__ import annotations

from prove._page import wrapped

_HEAD = (
    """Written by `make prove ONLY=distill_policy`; the methods: [pseudo-scores](../methods/distill.md#pseudo-scores),
    [the bridge](../methods/bridge.md). Everything here is simulated: nobody, and no VLM, gave these answers.""",
    """**The world** (`prove/_distill_world.py`). 3,000 items to learn from and 1,000 held out, five criteria. An item
    has 256 features; its true score is a direction of them, on a scale of 1 to 5, mean 2.95. A judge's comparisons
    follow the truth with the correlation that gives SRCC .638 to all pairs asked without end, its numbers with SRCC
    .504, both as PPaint's Table 3 has them; its numbers lie around 4.48, in steps of a quarter. Half of the error of
    its comparisons is a taste of its own that features explain, half a whim about each item. Its answers are as sharp
    as in [the bridge's table](bridge.md) (spread 3.9 logits), tie one in five of equals, name the first picture
    in 15% of the questions whatever is shown, and half of their noise comes again when the same pair is asked again.
    What the paper tells of untrained models fixed these numbers, and halves where it tells nothing.""",
    """**What was tried before.** One seed with 64 features, with all noise new at each vote and a constant step size:
    bridge and majority came out level, SRCC about .70. Then 256 features, repeated noise and a falling step size were
    set, and seed 0 was looked at once with steps of .01 and .03; the runs on this page came after. The row with 64
    features at the end shows that the lead of the bridge over majority votes hangs on this.""",
    """**The policy** (`prove/_distill_numeric.py`). No language: a number for each criterion, drawn from a normal
    distribution around a logistic function of the features. It starts as the judge asked for a number: high and
    narrow. Each step shows 64 items and samples six answers for each; the reward is
    `salon.stats.score_rewards` less .5 for
    an answer off the scale; the update is GRPO's, ten epochs, gradient clipped at 1, Adam with a step that falls from
    .01 to nothing.""",
    """Intervals: 95% over five seeds (Student's t), each seed with items, judge, labels and training of its own.
    Differences are paired by seed; *yes* means that the interval of the difference lies on the side of the claim. SRCC,
    mean and spread are means over criteria; the truth has mean 2.95 and spread 1.07.""",
)
HEAD = "# A policy without language, taught by four sources\n\n" + "\n\n".join(wrapped(part) for part in _HEAD) + "\n"

WORDS = {
    "the paper's reward, held to the start": """Rank reward and range penalty, beta .04 (VisualQuality-R1's; the paper
    gives none). The order is the paper's: bridge, majority, pointwise. The scale is not: every policy stays about where
    it began, high and narrow, the bridge's too. An order is all that this reward asks for, and the divergence holds
    the rest. So MAE does not follow the order: it follows how far the middle sank and how wide the scores are, a
    matter of hundredths here, and by that the bridge is last.""",
    "the paper's reward, free": """The same with beta 0, TRL's default. Now all policies leave the start and spread
    downwards, because the scale ends at 5 and an answer beyond it is penalised: also with labels that lie around 4.4.
    Their means and spreads are alike, so it is not the labels' scale that is learned; what MAE gains comes of the ends
    of the scale, and bridge and majority differ in it by less than can be told. In order majority votes lose more
    than the bridge: every item has two partners with a label, not 63.""",
    "with the absolute term": """The first reward plus `--absolute-weight 1`. Now the labels' scale is learned,
    whichever it is: the bridge's, which fills the range (on its way there: the divergence still pulls), or that of
    pointwise numbers, which is high and narrow. Majority votes have no values; the term does not exist for them and
    their row is that of the first table. SRCC and MAE now both have the paper's order, and the predicted means its
    pattern (Table 22: 2.84, 4.27 and 4.25). In this simulation the reward that the paper prints does not make that
    pattern by itself; what did in the paper's runs cannot be told from it.""",
    "weights": """Bridge labels; the weights of pairs change, nothing else. By gap: Eq. 7 with tau .5. By posterior: how
    sure the errors of two labels make their order. *Eight parts*: the 64 items of a step are compared within eight
    parts of eight only, as processes do that do not gather. In order, weighting cannot be told from none in any row
    (the paper: SRCC .709 against .660). It does widen the scores, and so lowers MAE a little: surely so held and free.
    Why so little: what near ties say wrongly, they say in both directions, and a policy with fewer weights than items
    averages it out, whether an item meets 63 partners or seven. The largest difference, not certain with three seeds,
    is that of 1,024 features, where the policy can learn labels by heart.""",
    "equal": """About 30,725 calls each, the first reward. Majority: ten votes on each of 3,000 pairs, which do about
    as well as 32. Pointwise: ten answers for each item. Elo: 30,725 pairs spread evenly over all items, fitted
    at once; it is level with the bridge. A placement tells about one item, a pair of two items about both, so the even
    design has twice the answers for each item. What the bridge has for it: items are placed one by one, later ones
    too, each with an error of its own.""",
    "worlds": """Bridge and majority at the paper's budgets under the first reward, in worlds that differ in one thing;
    the first three seeds. With 64 features 3,000 pairs are enough and the two are level. With 1,024 the same steps are
    too long for the data: every policy ends below the start (.51), the bridge's least.""",
}
