"""Rewards of groups from a judge of pairs: the planted order comes back, bias and gaps do not become numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from chat_server import ChatServer
from group_judges import BiasedJudge, group_pictures
from PIL import Image
from scipy.stats import kendalltau

from salon.errors import BadValue, TooFew
from salon.judge import Conversation, JudgeSpec, Reply
from salon.select import GroupScores, flow_factory_group_reward, group_reward
from salon.study import Signature

QUALITY = np.array([0.0, 2.0, -2.0, 4.0, 1.0, -4.0])


def tau(scores: GroupScores, quality: np.ndarray) -> float:
    return float(kendalltau(np.array(scores.scores, float), quality).statistic)


@pytest.mark.parametrize(("bias", "least"), [(0.0, 0.99), (0.5, 0.6), (0.8, 0.0)])
def test_the_planted_order_comes_back_under_bias(bias: float, least: float) -> None:
    judge = BiasedJudge(bias, sharp=True)
    result = group_reward(judge).judged(group_pictures(QUALITY), "a fox")
    assert (result.calls, result.pairs, result.unread) == (30, 15, 0)
    assert len(judge.asked) == 30
    assert Counter(judge.asked) == Counter((b, a) for a, b in judge.asked)  # both orders of every pair
    assert tau(result, QUALITY) > least
    assert sum(result.scores) == pytest.approx(0, abs=1e-6)  # type: ignore[arg-type]
    assert (result.ties > 0) == (bias > 0)


def test_a_judge_of_positions_alone_gives_equal_scores() -> None:
    result = group_reward(BiasedJudge(bias=1.0)).judged(group_pictures(QUALITY), "a fox")
    assert result.scores == pytest.approx([0.0] * 6, abs=1e-9)
    assert (result.ties, result.tie_parameter) == (15, None)
    assert all(error is not None and error > 0 for error in result.errors)


def test_the_order_of_the_group_does_not_matter() -> None:
    turned = np.array([3, 1, 5, 0, 2, 4])
    for pairs in (None, 8):
        reward = group_reward(BiasedJudge(0.3), pairs=pairs)
        plain, other = reward(group_pictures(QUALITY), "x"), reward(group_pictures(QUALITY[turned]), "x")
        assert [plain[n] for n in turned] == pytest.approx(other)


def test_pairs_limit_the_calls_and_no_pair_is_asked_twice() -> None:
    for design in ("active", "random"):
        judge = BiasedJudge(0.2, seed=4)
        result = group_reward(judge, pairs=9, design=design).judged(group_pictures(QUALITY), "x")
        assert (result.pairs, result.calls, len(judge.asked), len(set(judge.asked))) == (9, 18, 18, 18)
        assert result.missing == 0
    assert group_reward(judge, pairs=100).judged(group_pictures(QUALITY), "x").pairs == 15


def test_calls_against_accuracy_is_a_rising_curve_and_active_pairs_are_no_worse() -> None:
    """40 groups of 8, a judge that takes the first picture in 2 of 10 calls: mean Kendall tau with the truth."""
    rng = np.random.default_rng(1)
    groups = [np.round(rng.normal(0, 2, 8), 2) for _ in range(40)]

    def mean_tau(pairs: int | None, design: Any) -> float:
        reward = [group_reward(BiasedJudge(0.2, seed=n), pairs=pairs, design=design) for n in range(len(groups))]
        results = [each.judged(group_pictures(group, n), str(n)) for n, (each, group) in enumerate(zip(reward, groups))]
        return float(np.mean([tau(result, group) for result, group in zip(results, groups)]))

    few, half, every = mean_tau(8, "active"), mean_tau(14, "active"), mean_tau(None, "active")
    assert few < half < every + 0.02
    assert every > 0.65
    assert half > mean_tau(14, "random") - 0.03


def test_errors_cover_the_planted_differences() -> None:
    """Under the model itself (a judge without bias) the score of each picture lies within 1.96 errors 95 % of the time.

    The judge draws each order anew, so a pair is a win, a loss or, where the draws differ, a tie: Davidson with nu = 2,
    on a scale twice that of one answer.
    """
    rng = np.random.default_rng(3)
    inside = []
    for n in range(60):
        quality = np.round(rng.normal(0, 0.7, 8), 2)
        result = group_reward(BiasedJudge(seed=n)).judged(group_pictures(quality, n), str(n))
        truth = 2 * (quality - quality.mean())
        z = (np.array(result.scores, float) - truth) / np.array(result.errors, float)
        inside += (np.abs(z) < 1.96).tolist()
    assert 0.91 < np.mean(inside) < 0.985


def test_what_cannot_be_read_does_not_count() -> None:
    result = group_reward(BiasedJudge(unread=0.3, sharp=True, seed=2)).judged(group_pictures(QUALITY), "x")
    assert result.unread > 0
    assert tau(result, QUALITY) > 0.8
    nothing = group_reward(BiasedJudge(unread=1.0)).judged(group_pictures(QUALITY), "x")
    assert nothing.scores == [None] * 6
    assert set(nothing.reasons) == {"no comparison of the picture could be read"}
    assert nothing.unread == 15


def test_broken_and_lonely_pictures_have_no_score(tmp_path: Path) -> None:
    (tmp_path / "broken.png").write_bytes(b"no picture")
    pictures = [*group_pictures(QUALITY[:3]), None, str(tmp_path / "broken.png"), str(tmp_path / "gone.png")]
    result = group_reward(BiasedJudge(sharp=True)).judged(pictures, "x")
    assert [score is None for score in result.scores] == [False] * 3 + [True] * 3
    assert result.reasons[3] == "there is no picture"
    assert "cannot be read" in str(result.reasons[4])
    alone = group_reward(BiasedJudge()).judged(group_pictures(QUALITY[:1]), "x")
    assert (alone.scores, alone.calls) == ([None], 0)
    assert group_reward(BiasedJudge()).judged([], "x").scores == []


def test_pictures_that_no_chain_of_pairs_links_have_no_score() -> None:
    class Picky:
        name, signature = "picky", Signature(method="picky")

        def reply(self, conversations: Iterable[Conversation]) -> Iterator[tuple[int, Reply]]:
            for index, asked in enumerate(conversations):
                shown = {sight.item for sight in asked.sights}
                readable = shown <= {"0000", "0001", "0002"} or shown <= {"0003", "0004"}
                first = min(shown) == asked.sights[0].item
                yield index, Reply(text='{"verdict": "%s"}' % ("A" if first else "B") if readable else "?")

    result = group_reward(Picky()).judged(group_pictures(QUALITY[:5]), "x")
    assert sum(score is None for score in result.scores) == 2
    assert {reason for reason in result.reasons if reason} == {
        "no chain of comparisons links the picture to most of the group"
    }


def test_identical_pictures_and_duplicated_wins() -> None:
    result = group_reward(BiasedJudge(sharp=True)).judged(group_pictures(np.array([1.0, 1.0, 1.0])), None)
    assert result.scores == pytest.approx([0, 0, 0], abs=1e-6)


def test_an_endpoint_is_asked_once_for_each_question(tmp_path: Path) -> None:
    with ChatServer(lambda _: '{"verdict": "A"}') as server:
        spec = JudgeSpec(model=f"openai:tiny@{server.url}", calls=tmp_path / "calls.sqlite")
        reward = group_reward(spec)
        assert reward(group_pictures(QUALITY[:3]), "a {brace}") == pytest.approx([0, 0, 0], abs=1e-9)
        assert len(server.seen) == 6
        reward(group_pictures(QUALITY[:3]), "a {brace}")
        assert (len(server.seen), reward.calls) == (6, 12)
        assert reward.signature != group_reward(spec, pairs=2).signature


def test_flow_factory_calls_it_with_a_group() -> None:
    class GroupwiseRewardModel:
        def __init__(self, config: Any, accelerator: Any) -> None:
            self.config = config

    class RewardModelOutput(dict[str, Any]):
        pass

    taste = flow_factory_group_reward(
        group_reward(BiasedJudge(sharp=True), name="taste"), GroupwiseRewardModel, RewardModelOutput
    )
    model = taste({}, None)
    output = model(prompt=["a fox"] * 6, image=group_pictures(QUALITY), group_id=3)
    assert np.argsort(output["rewards"]).tolist() == np.argsort(QUALITY).tolist()
    assert (output["extra_info"]["calls"], taste.__name__) == (30, "taste")
    with pytest.raises(BadValue, match="one prompt"):
        model(prompt=["a", "b"], image=group_pictures(QUALITY[:2]))
    with pytest.raises(TooFew, match="every picture needs a reward"):
        model(prompt=["a"] * 3, image=[*group_pictures(QUALITY[:2]), None])
    filled = flow_factory_group_reward(
        group_reward(BiasedJudge(sharp=True)), GroupwiseRewardModel, RewardModelOutput, missing=-3.0
    )({}, None)
    assert filled(prompt=["a"] * 3, image=[*group_pictures(QUALITY[:2]), None])["rewards"][2] == -3.0


def test_bad_settings() -> None:
    with pytest.raises(BadValue, match="at least one pair"):
        group_reward(BiasedJudge(), pairs=0)
    with pytest.raises(BadValue, match="list of pictures"):
        group_reward(BiasedJudge())(Image.new("RGB", (2, 2)), "x")
