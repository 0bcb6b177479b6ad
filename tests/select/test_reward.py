"""A reward: the formula by hand, every kind of picture, no number where there is none, and nothing by company."""

from __future__ import annotations

import io
import math
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from reward_scorers import Company, Gap, Value, blue, red, reference, swatch

from salon.errors import BadValue, UnknownReference
from salon.select.reward_source import Reward
from salon.study import Item, Prompt


def test_the_formula_by_hand() -> None:
    """Red 255 of 255 and blue 51 of 255: z = (1 - .5) / .25 = 2 and (.2 - .5) / .25 = -1.2; 3 x 2 - 1.2 over 4."""
    both = {"red": red(), "blue": blue()}
    reward = Reward(both, weights="red=3,blue=1", reference=reference(*both.values()))
    judged = reward.judged([swatch(255, 9, 51)])
    assert judged.rewards == pytest.approx([(3 * 2 - 1.2) / 4])
    assert {name: of[0] for name, of in judged.parts.items()} == pytest.approx({"red": 1.5, "blue": -0.3})
    assert {name: of[0] for name, of in judged.scores.items()} == pytest.approx({"red": 1.0, "blue": 0.2})
    assert sum(of[0] or 0 for of in judged.parts.values()) == pytest.approx(judged.rewards[0])


def test_lower_is_better_turns_the_sign_and_clipping_bounds_each_criterion() -> None:
    both = {"red": red(), "blue": blue(higher_is_better=False)}
    frozen = reference(*both.values())
    plain = Reward(both, reference=frozen)([swatch(255, 0, 51)])
    clipped = Reward(both, reference=frozen, clip=1.5)([swatch(255, 0, 51)])
    assert plain == pytest.approx([(2 + 1.2) / 2])
    assert clipped == pytest.approx([(1.5 + 1.2) / 2])


def test_one_scorer_alone_is_taken_as_it_stands() -> None:
    assert Reward(red())([swatch(51, 0, 0), swatch(102, 0, 0)]) == pytest.approx([0.2, 0.4])


def test_a_picture_without_a_number_has_no_reward_and_a_reason() -> None:
    both = {"red": red(), "blue": blue()}
    judged = Reward(both, reference=reference(*both.values())).judged([swatch(9, 0, 0), swatch(9, 0, 9)])
    assert judged.rewards[0] is None
    assert judged.rewards[1] is not None
    assert judged.reasons == ["blue: the scorer gave no number", None]
    assert (judged.parts["red"][0], judged.parts["blue"][0]) == (pytest.approx((9 / 255 - 0.5) / 0.5), None)
    assert judged.missing == 1


def test_a_criterion_without_weight_is_reported_and_decides_nothing() -> None:
    reward = Reward({"red": red(), "blue": blue()}, weights={"red": 1})
    judged = reward.judged([swatch(51, 0, 0), swatch(51, 0, 51)])
    assert judged.rewards == pytest.approx([0.2, 0.2])
    assert judged.scores["blue"] == [None, pytest.approx(0.2)]


# -- pictures ----------------------------------------------------------------------------------------------------------


def _kinds(folder: Path) -> dict[str, Any]:
    """One picture in every form that a trainer has it in."""
    rng = np.random.default_rng(0)
    hwc = rng.integers(1, 256, (6, 5, 3), dtype=np.uint8)
    image = Image.fromarray(hwc)
    image.save(folder / "one.png")
    data = (folder / "one.png").read_bytes()
    chw = np.ascontiguousarray(hwc.transpose(2, 0, 1))
    return {
        "path": folder / "one.png", "text": str(folder / "one.png"), "bytes": data, "image": image,
        "record": {"bytes": data, "path": None}, "record of a path": {"bytes": None, "path": str(folder / "one.png")},
        "hwc": hwc, "chw": chw, "floats": chw / 255, "half": (hwc / 255).astype(np.float16).astype(np.float32),
        "tensor": torch.from_numpy(chw), "float tensor": torch.from_numpy(chw / 255),
        "bfloat": torch.from_numpy(chw).float().div(255), "rgba": image.convert("RGBA"),
        "graph": torch.from_numpy(chw / 255).requires_grad_(),
    }  # fmt: skip


def test_every_kind_of_picture_has_the_same_reward(tmp_path: Path) -> None:
    kinds = _kinds(tmp_path)
    found = dict(zip(kinds, Reward(red())(list(kinds.values()))))
    assert set(found.values()) == {found["path"]}
    chw = kinds["chw"]
    assert Reward(red())(np.stack([chw, chw])) == Reward(red())(torch.from_numpy(np.stack([chw, chw]) / 255))


def test_both_ends_could_be_channels() -> None:
    """torch has channels first, numpy last."""
    square = np.zeros((3, 3, 3), np.uint8)
    square[0], square[:, :, 0] = 255, np.maximum(square[:, :, 0], 51)
    assert Reward(red())([square]) == pytest.approx([square[..., 0].mean() / 255])
    assert Reward(red())([torch.from_numpy(square)]) == pytest.approx([square[0].mean() / 255])


def test_pictures_that_cannot_be_scored_are_gaps_not_errors(tmp_path: Path) -> None:
    overflowed = np.full((3, 4, 4), np.nan, np.float32)
    judged = Reward(red()).judged([overflowed, tmp_path / "none.png", b"no picture", None, "", swatch(51, 0, 0)])
    assert judged.rewards == [None] * 5 + [pytest.approx(0.2)]
    told = [str(one) for one in judged.reasons]
    assert "finite" in told[0]
    assert "no picture" in told[3]
    assert told[5] == "None"


@pytest.mark.parametrize(
    ("picture", "words"),
    [
        (7, "int"),
        ({"file": "a.png"}, "'file'"),
        (np.zeros((5, 6, 7), np.uint8), "without 1, 3 or 4 channels"),
        (np.zeros((3, 4, 4), np.int64), "int64"),
        (np.zeros((2, 3, 4, 4), np.uint8), "shape"),
        (torch.zeros(3, 4, 4) - 1, "-1 to -1"),
        (np.full((3, 4, 4), 200.0), "200 to 200"),
    ],
)
def test_what_is_no_picture_is_refused_with_its_place(picture: Any, words: str) -> None:
    with pytest.raises(BadValue) as told:
        Reward(red())([swatch(1, 2, 3), picture])
    assert words in str(told.value)
    assert "picture 1" in str(told.value)


@pytest.mark.parametrize("pictures", ["one.png", b"bytes", Image.new("RGB", (2, 2)), np.zeros((3, 4, 4)), 5])
def test_a_list_of_pictures_is_needed(pictures: Any) -> None:
    with pytest.raises(BadValue, match=r"list of pictures|four axes"):
        Reward(red())(pictures)


# -- prompts -----------------------------------------------------------------------------------------------------------


def test_texts_become_prompts_and_prompts_stay() -> None:
    scorer = red()
    own = Prompt(id="p", intent="a fair", description="by the sea")
    Reward(scorer)([swatch(9, 9, 9)] * 3, ["a jazz night", own, None])
    first, second, third = scorer.prompts
    assert first is not None
    assert (first.view(), first.view(("intent",))) == ("a jazz night", "a jazz night")
    assert (second, third) == (own, None)


@pytest.mark.parametrize("prompts", ["a jazz night", ["one"], [3, 4]])
def test_prompts_that_do_not_fit_are_refused(prompts: Any) -> None:
    with pytest.raises(BadValue, match="prompt"):
        Reward(red())([swatch(9, 9, 9)] * 2, prompts)


# -- company, threads, scorers -----------------------------------------------------------------------------------------


def test_the_reward_does_not_hang_on_company() -> None:
    """A scorer whose last digits do: asked about one picture at a time they cannot."""
    rng = np.random.default_rng(1)
    pictures = list(rng.integers(1, 256, (70, 4, 4, 3), dtype=np.uint8))
    scorer = Company(0, "red")
    alone, together = Reward(scorer), Reward(scorer, alone=False)
    whole = alone(pictures)
    for shares in (2, 4):
        dealt = [alone(pictures[n::shares]) for n in range(shares)]
        assert [dealt[n % shares][n // shares] for n in range(len(pictures))] == whole
    assert together(pictures) != whole
    assert together(pictures) == pytest.approx(whole, abs=1e-6)
    assert scorer.asked[-2:] == [64, 6]  # no more files at once than that
    assert str(alone.signature) != str(together.signature)


def test_threads_share_a_reward() -> None:
    """A scorer that must not be called twice at a time; answers go to whoever asked."""
    busy = threading.Lock()

    class Single(Company):
        def score(self, items: Sequence[Item], prompts: Sequence[Prompt | None]) -> list[float | None]:
            assert busy.acquire(blocking=False), "two calls at a time"
            try:
                return super().score(items, prompts)
            finally:
                busy.release()

    reward = Reward(Single(0, "red"))
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda n: reward([swatch(n, 0, 0), swatch(255 - n, 0, 0)]), range(1, 50)))
    assert found == [[pytest.approx(n / 255, abs=1e-6), pytest.approx(1 - n / 255, abs=1e-6)] for n in range(1, 50)]


def test_what_a_scorer_raises_is_raised_with_its_name() -> None:
    class Broken(Company):
        def score(self, items: Sequence[Item], prompts: Sequence[Prompt | None]) -> list[float | None]:
            raise MemoryError("no room")

    with pytest.raises(MemoryError, match="no room") as told:
        Reward(Broken(0, "red"))([swatch(1, 1, 1)])
    assert "scorer 'red'" in told.value.__notes__[0]


def test_results_with_reasons_are_read_and_numbers_that_are_none_are_gaps() -> None:
    class Telling(Company):
        def results(self, items: Sequence[Item], prompts: Sequence[Prompt | None]) -> list[Any]:
            return [[Value(0.5), Gap("too small"), Value(math.nan)][int(item.id)] for item in items]

    judged = Reward(Telling(0, "red"), alone=False).judged([swatch(1, 1, 1)] * 3)
    assert judged.rewards == [0.5, None, None]
    assert judged.reasons == [None, "red: too small", "red: the scorer gave nan"]


def test_a_scorer_that_gives_too_few_is_refused() -> None:
    class Short(Company):
        def score(self, items: Sequence[Item], prompts: Sequence[Prompt | None]) -> list[float | None]:
            return []

    with pytest.raises(BadValue, match="one number for each picture"):
        Reward(Short(0, "red"))([swatch(1, 1, 1)])


def test_no_pictures_no_rewards() -> None:
    assert Reward(red())([]) == []


# -- what is refused before anything is scored -------------------------------------------------------------------------


def test_scales_are_declared_never_invented() -> None:
    both = {"red": red(), "blue": blue()}
    with pytest.raises(BadValue, match="frozen reference"):
        Reward(both)
    assert Reward(both, equal=True)([swatch(51, 0, 153)]) == pytest.approx([0.4])
    with pytest.raises(BadValue, match="standard deviations of a reference"):
        Reward(red(), clip=3)
    with pytest.raises(BadValue, match="above 0"):
        Reward(red(), clip=-1, reference=reference(red()))
    with pytest.raises(BadValue, match="at least one scorer"):
        Reward({})


def test_a_reference_of_another_scorer_is_refused() -> None:
    other = red()
    other.signature = other.signature.model_copy(update={"settings": {"channel": 1}})
    with pytest.raises(BadValue, match="same scorer"):
        Reward(red(), reference=reference(other))
    with pytest.raises(UnknownReference, match="blue"):
        Reward({"red": red(), "blue": blue()}, reference=reference(red()))


@pytest.mark.parametrize("weights", [{"red": 0.0}, {"green": 1.0}, "red=0,blue=0", {"red": -1.0}, {"red": math.nan}])
def test_weights_that_weigh_nothing_are_refused(weights: Any) -> None:
    with pytest.raises((BadValue, UnknownReference)):
        Reward({"red": red(), "blue": blue()}, weights=weights, equal=True)


def test_the_signature_hangs_on_weights_reference_scorers_and_clipping() -> None:
    both = {"red": red(), "blue": blue()}
    frozen = reference(*both.values())
    lines = {
        str(Reward(both, reference=frozen).signature),
        str(Reward(both, reference=frozen, weights="red=2,blue=1").signature),
        str(Reward(both, reference=frozen, clip=3).signature),
        str(Reward(both, reference=reference(*both.values(), mean=0.4)).signature),
        str(Reward({"red": red(), "blue": red()}, equal=True).signature),
    }
    assert len(lines) == 5
    assert f"reference:{frozen.hash}" in str(Reward(both, reference=frozen).signature)


def test_a_jpeg_in_bytes_is_read() -> None:
    target = io.BytesIO()
    Image.new("RGB", (8, 8), (200, 0, 0)).save(target, "JPEG", quality=95)
    assert Reward(red())([target.getvalue(), memoryview(target.getvalue())]) == pytest.approx([200 / 255] * 2, abs=0.02)
