"""The reward of one-pass answers: its terms, what has no reward, and the same numbers for any number of processes."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from salon.errors import BadColumns, BadValue, UnknownReference
from salon.evaluate import PseudoPairs, PseudoScores
from salon.judge import OnePass
from salon.stats import fidelity_rewards, targets_from_scores
from salon.study import Criterion, Scale
from salon.train.distill_settings import (
    DistillReward,
    RewardTerms,
    swift_reward,
    trl_reward,
    verl_reward,
    visualquality_reward,
)

ASKED = OnePass(criteria=tuple(Criterion(id=id, scale=Scale(low=1, high=5)) for id in ("mood", "color")), think=False)
VALUES = np.array([[4.0, 3.0], [1.5, 3.2], [2.5, 1.0]])
LABELS = PseudoScores(("a", "b", "c"), ASKED.ids, VALUES, np.full((3, 2), 0.3), 1, 5, "bridge")
ITEMS = ["a", "a", "b", "b", "c", "c", "c"]
SCORES = [(4.0, 3.0), (3.0, 2.0), (1.0, 3.0), (2.0, 4.0), (2.0, 2.0), (3.0, 1.0)]
TEXTS = [ASKED.answer(scores) for scores in SCORES] + ["no idea"]


def test_total_is_rank_less_penalties() -> None:
    found = DistillReward(LABELS, ASKED.read, RewardTerms(rank_weight=2, format_penalty=1, range_penalty=0.25))(
        [*TEXTS, ASKED.answer((9, 3))], [*ITEMS, "a"]
    )
    wins, weights = targets_from_scores(VALUES, 0.5)
    rank = fidelity_rewards(SCORES, [0, 0, 1, 1, 2, 2], wins, weights).rank
    assert found.rewards == pytest.approx([*2 * rank, -1, -0.25])
    assert found.rank[:6] == pytest.approx(rank)
    assert np.isnan(found.rank[6:]).all()
    assert (found.answers, found.images, found.unread, found.out_of_range, found.unranked) == (8, 3, 1, 1, 0)
    assert found.problems == {"no answer": 1, "out of range": 1}
    assert found.figures["read"] == 6 / 8
    assert found.figures["score_mean"] == pytest.approx(np.mean(SCORES))
    assert found.figures["score_sd"] == pytest.approx(np.std(SCORES, axis=0).mean())  # within criteria


def test_weights_of_pairs_and_a_missing_thought() -> None:
    posterior = DistillReward(LABELS, ASKED.read, RewardTerms(weigh="posterior"))(TEXTS, ITEMS)
    wins, weights = targets_from_scores(VALUES, sd=LABELS.sd, weigh="posterior")
    assert posterior.rank[:6] == pytest.approx(fidelity_rewards(SCORES, [0, 0, 1, 1, 2, 2], wins, weights).rank)
    thoughtless = DistillReward(LABELS, ASKED.read, think=True)(TEXTS, ITEMS)
    plain = DistillReward(LABELS, ASKED.read)(TEXTS, ITEMS)
    assert thoughtless.rewards[:6] == pytest.approx(plain.rewards[:6] - 1)
    assert thoughtless.rewards[6] == plain.rewards[6] == -1  # one penalty of form, not two
    assert thoughtless.thoughtless == 6


def test_majority_votes_are_targets_without_magnitude() -> None:
    pairs = PseudoPairs(*(np.array(c) for c in ([0, 1], [1, 2], [0, 0])), np.array([1.0, 0.5]), np.array([5, 5]))
    labels = PseudoScores(
        LABELS.items, ASKED.ids, np.full((3, 2), np.nan), np.full((3, 2), np.nan), 1, 5, "majority", pairs
    )
    found = DistillReward(labels, ASKED.read)(TEXTS, ITEMS)
    even = np.full((3, 3, 1), 0.5)
    even[0, 1], even[1, 0] = 1, 0
    asked = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])[:, :, None]
    expected = fidelity_rewards([[s[0]] for s in SCORES], [0, 0, 1, 1, 2, 2], even, asked).rank
    assert found.rank[:6] == pytest.approx(expected)  # the second criterion was never asked about


def test_an_image_alone_has_no_rank_reward_for_any_answer() -> None:
    found = DistillReward(LABELS, ASKED.read)([TEXTS[0], TEXTS[1], "?"], ["a"] * 3)
    assert found.rewards.tolist() == [0, 0, -1]
    assert found.unranked == 2


def test_bad_input_is_named() -> None:
    reward = DistillReward(LABELS, ASKED.read)
    with pytest.raises(UnknownReference, match="items with labels"):
        reward(["?"], ["z"])
    with pytest.raises(BadValue, match="its item"):
        reward(["?"], [])
    bare = PseudoScores(("a", "b"), ("mood",), np.ones((2, 1)), np.full((2, 1), np.nan), 1, 5, "pointwise")
    with pytest.raises(BadValue, match="errors"):
        DistillReward(bare, ASKED.read, RewardTerms(weigh="posterior"))


# -- processes -------------------------------------------------------------------------------------------------------


@dataclass
class _Told:
    """One of several processes that are played one after the other: all rows are known beforehand."""

    number: int
    everyone: list[Any]

    def gather(self, mine: Any) -> list[Any]:
        assert self.everyone[self.number] == mine
        return self.everyone


def _many() -> tuple[list[str], list[str]]:
    rng = np.random.default_rng(3)
    items = [str(item) for item in np.repeat(["a", "b", "c"], 8)]
    texts = [ASKED.answer(row) for row in rng.uniform(1, 5, (24, 2))]
    texts[3], texts[17] = "?", ASKED.answer((0, 3))
    return texts, items


@pytest.mark.parametrize("dealt", ["in blocks", "in turn"])
@pytest.mark.parametrize("world", [2, 4])
def test_the_same_reward_to_the_last_bit_for_any_number_of_processes(world: int, dealt: str) -> None:
    texts, items = _many()
    alone = DistillReward(LABELS, ASKED.read)(texts, items)
    # groups of 8 answers go across processes of 6; in turn, they are also gathered in another order than by one alone
    cut = (
        np.array_split(np.arange(24), world)
        if dealt == "in blocks"
        else [np.arange(n, 24, world) for n in range(world)]
    )
    noted: list[Any] = []
    for part in cut:
        reward = DistillReward(LABELS, ASKED.read, processes=_Noting(noted))
        reward([texts[n] for n in part], [items[n] for n in part])
    together = np.empty(24)
    for number, part in enumerate(cut):
        reward = DistillReward(LABELS, ASKED.read, processes=_Told(number, noted))
        found = reward([texts[n] for n in part], [items[n] for n in part])
        assert (found.answers, found.unread, found.out_of_range) == (24, 1, 1)
        assert found.figures == (alone.figures if dealt == "in blocks" else pytest.approx(alone.figures))
        together[part] = found.rewards
    assert together.tolist() == alone.rewards.tolist()


@dataclass
class _Noting:
    noted: list[Any]
    number: int = 0

    def gather(self, mine: Any) -> list[Any]:
        self.noted.append(mine)
        return [mine]


def test_one_image_in_each_process_is_compared_with_the_others() -> None:
    rows = [[(0, (4.0, 3.0), None, True, True)], [(1, (1.0, 3.0), None, True, True)]]
    found = DistillReward(LABELS, ASKED.read, processes=_Told(1, rows))([ASKED.answer((1, 3))], ["b"])
    assert found.unranked == 0
    assert found.rank[0] == pytest.approx((1 + 0.5**0.5) / 2)  # sure of the one order, level in the other


# -- trainers --------------------------------------------------------------------------------------------------------

EXPECTED = DistillReward(LABELS, ASKED.read)(TEXTS, ITEMS).rewards.tolist()
CHATS = [[{"role": "assistant", "content": text}] for text in TEXTS]


def test_trl_calls_it_by_keyword_with_its_columns() -> None:
    noted = []
    reward = trl_reward(DistillReward(LABELS, ASKED.read), noted.append)
    found = reward(
        prompts=[[]] * 7, completions=CHATS, completion_ids=[[1]] * 7, item=ITEMS, images=[None] * 7,
        trainer_state=None, log_extra=None, log_metric=None,
    )  # fmt: skip
    assert found == EXPECTED
    assert noted[0].answers == 7
    assert reward.__name__ == "one_pass_fidelity"  # TRL logs under it
    with pytest.raises(BadColumns, match="item"):
        reward(prompts=[], completions=CHATS, completion_ids=[], id=ITEMS)


def test_verl_calls_it_for_the_whole_batch() -> None:
    reward = verl_reward(DistillReward(LABELS, ASKED.read))
    assert list(inspect.signature(reward).parameters)[:4] == [
        "data_sources", "solution_strs", "ground_truths", "extra_infos"
    ]  # fmt: skip
    called = {"data_sources": np.array(["salon"] * 7), "solution_strs": TEXTS}
    assert reward(**called, ground_truths=ITEMS, extra_infos=[None] * 7) == EXPECTED
    extra = [{"item": item, "index": 1} for item in ITEMS]
    assert reward(**called, ground_truths=[None] * 7, extra_infos=extra) == EXPECTED
    assert all(type(value) is float for value in reward(**called, ground_truths=ITEMS, extra_infos=[None] * 7))


def test_ms_swift_makes_an_object_of_a_class_and_calls_it_with_texts_and_columns() -> None:
    """As in its GRPO trainer: arguments that the class names and the trainer has, or args= alone; then the call."""

    class Orm:
        def __init__(self, args: Any = None, **kwargs: Any) -> None:
            raise AssertionError("a reward without settings of its own does not need it")

    orms = {"fidelity": swift_reward(DistillReward(LABELS, ASKED.read), base=Orm)}
    named = list(inspect.signature(orms["fidelity"].__init__).parameters)
    assert set(named) <= {"self", "args", "kwargs"}  # all others the trainer looks up among its own arguments
    assert issubclass(orms["fidelity"], Orm)
    for made in (orms["fidelity"](), orms["fidelity"](args=object())):
        assert made(TEXTS, item=ITEMS, messages=[[]] * 7, images=[[]] * 7, trainer_state=None) == EXPECTED


def test_visualquality_r1_calls_it_with_solutions_and_paths() -> None:
    paths = [f"pictures/{item}.png" for item in ITEMS]
    reward = visualquality_reward(DistillReward(LABELS, ASKED.read), dict(zip(paths, ITEMS)))
    solution = ["<answer> 3.2 </answer>"] * 7
    called = {"device": "cpu", "num_generations": 2, "problem": [""] * 7}
    assert reward(CHATS, solution, image_path=paths, **called) == EXPECTED
    assert reward(prompts=[""] * 7, completions=CHATS, solution=solution, image_path=paths, **called) == EXPECTED
    assert reward(CHATS, solution, image_path=[[path] for path in paths], **called) == EXPECTED
    assert reward(completions=CHATS, solution=solution, item=ITEMS, **called) == EXPECTED
    with pytest.raises(BadValue, match="image_path"):
        reward(CHATS, solution, image_path=["other.png"] * 7)
