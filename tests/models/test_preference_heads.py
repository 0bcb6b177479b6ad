"""Preference heads: features by hand, exact signs, gradients by finite differences."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from salon.errors import UnknownReference
from salon.models import EncoderPart, HeadShape, PreferenceHeads
from salon.models.preference_heads import PrincipalAxes, one_blocks, two_blocks

SEEN, IMAGE = EncoderPart("seen", 3, True), EncoderPart("image", 5, False)


def heads(form: str, **more: object) -> PreferenceHeads:
    given = {"parts": (SEEN, IMAGE), "text_width": 3, "criteria": ("mood", "color"), "width": 4, **more}
    torch.manual_seed(1)
    return PreferenceHeads(HeadShape(form=form, **given))


def rows(n: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> tuple[torch.Tensor, ...]:
    drawn = torch.Generator().manual_seed(seed)
    return tuple(torch.randn(n, width, generator=drawn, dtype=dtype) for width in (3, 8, 8))


def one_features(*given: object) -> torch.Tensor:
    return torch.cat(one_blocks(*given), dim=-1)


def two_features(*given: object) -> torch.Tensor:
    return torch.cat(two_blocks(*given), dim=-1)


def test_features_by_hand() -> None:
    t, a, b = torch.tensor([[2.0]]), torch.tensor([[3.0]]), torch.tensor([[5.0]])
    aligned, free = (EncoderPart("p", 1, True),), (EncoderPart("p", 1, False),)
    assert one_features(t, a, aligned).tolist() == [[2, 3, 6, 1]]  # the seed's t, i, t*i, |t-i|
    assert two_features(t, a, b, aligned).tolist() == [[2, 3, 5, -2, 2, -4]]  # t, ia, ib, ia-ib, |ia-ib|, t*(ia-ib)
    assert one_features(t, a, free).tolist() == [[3]]
    assert two_features(t, a, b, free).tolist() == [[3, 5, -2, 2]]


def test_a_second_part_adds_its_own_features_and_the_text_stands_once() -> None:
    t, x, _ = rows(1)
    made = one_features(t, x, (SEEN, IMAGE))
    assert made.shape == (1, 4 * 3 + 5)
    assert torch.equal(made, torch.cat([one_features(t, x[:, :3], (SEEN,)), x[:, 3:]], dim=1))


@pytest.mark.parametrize("form", ["scalar", "antisymmetric"])
@pytest.mark.parametrize("trunk", ["own", "shared"])
@pytest.mark.parametrize("n", [1, 7, 300])
def test_swapping_the_pictures_flips_the_sign_to_the_last_bit(form: str, trunk: str, n: int) -> None:
    network = heads(form, trunk=trunk, width=33).eval()
    t, a, b = rows(n)
    network.fit_scale(t, a, b)
    t, a, b = network.reduce_texts(t), network.reduce_pictures(a), network.reduce_pictures(b)
    there, back = network.logits(t, a, b, 1), network.logits(t, b, a, 1)
    assert torch.equal(there, -back)
    assert there.abs().min() > 0


def test_the_pairwise_form_does_depend_on_the_order() -> None:
    network = heads("pairwise").eval()
    t, a, b = rows(7)
    assert not torch.allclose(network.logits(t, a, b, 0), -network.logits(t, b, a, 0), atol=1e-3)


@pytest.mark.parametrize("form", ["scalar", "pairwise", "antisymmetric"])
@pytest.mark.parametrize("trunk", ["own", "shared"])
def test_slopes_are_those_of_finite_differences(form: str, trunk: str) -> None:
    network = heads(form, flag="flag", trunk=trunk).double().eval()
    t, a, b = rows(3, dtype=torch.float64)
    weights = list(network.parameters())

    def value() -> torch.Tensor:
        both = [network.logits(t, a, b, number).square().sum() for number in (0, 1)]
        return both[0] + 2 * both[1] + network.flag_logits(t, a).square().sum()

    slopes = torch.autograd.grad(value(), weights)
    for weight, slope in zip(weights, slopes):
        way, step = torch.randn_like(weight), 1e-6
        with torch.no_grad():
            up = value_at(value, weight, step * way)
            down = value_at(value, weight, -step * way)
        assert float((up - down) / (2 * step)) == pytest.approx(float((slope * way).sum()), rel=1e-6, abs=1e-6)


def value_at(value: Callable[[], torch.Tensor], weight: torch.Tensor, shift: torch.Tensor) -> torch.Tensor:
    weight += shift
    found = value()
    weight -= shift
    return found


def test_features_are_scaled_block_by_block_over_both_orders() -> None:
    network = heads("antisymmetric", parts=(SEEN,))
    t, a, b = rows(3000)
    a, b = (x[:, :3] * torch.tensor([1.0, 1.0, 5.0]) + 9 for x in (a, b))
    network.fit_scale(t, a, b)
    both = torch.cat([two_features(t, a, b, (SEEN,)), two_features(t, b, a, (SEEN,))])
    made = network.scale(both)
    torch.testing.assert_close(made.mean(0), torch.zeros(made.shape[1]), atol=1e-4, rtol=0)
    blocks = made.square().mean(0).reshape(6, 3)
    torch.testing.assert_close(blocks.mean(1), torch.ones(6), atol=1e-4, rtol=0)
    assert (blocks[3, 2] / blocks[3, 0]).item() == pytest.approx(25, rel=0.1)  # what varies more stays larger


def test_a_block_that_never_varies_vanishes() -> None:
    network = heads("scalar", parts=(IMAGE,))
    t, x = torch.zeros(4, 3), torch.ones(4, 5)
    network.fit_scale(t, x, x)
    assert (network.scale(x) == 0).all()


def test_axes_are_those_of_scipy_and_keep_inner_products() -> None:
    rows_ = torch.randn(50, 6, generator=torch.Generator().manual_seed(2)) @ torch.diag(torch.arange(1.0, 7.0))
    turn = PrincipalAxes(6, 6)
    turn.fit(rows_)
    torch.testing.assert_close(turn(rows_) @ turn(rows_).T, rows_ @ rows_.T, atol=1e-3, rtol=1e-4)
    _, _, basis = np.linalg.svd((rows_ - rows_.mean(0)).numpy())
    np.testing.assert_allclose(np.abs(turn.axes.numpy().T), np.abs(basis), atol=1e-4)
    few = PrincipalAxes(6, 2)
    few.fit(rows_)
    torch.testing.assert_close(few.axes, turn.axes[:, :2])


def test_texts_and_aligned_parts_are_turned_alike() -> None:
    network = heads("scalar", axes=2)
    t, x, _ = rows(40)
    network.fit_axes(t, x)
    turned = network.reduce_pictures(x)
    assert turned.shape == (40, 4)
    torch.testing.assert_close(turned[:, :2], network.reduce_texts(x[:, :3]))


def test_scores_of_the_scalar_form_differ_by_the_logit() -> None:
    network = heads("scalar").eval()
    network.log_tau.data = torch.tensor([0.0, 0.7])
    t, a, b = rows(5)
    difference = network.scores(t, a, 1) - network.scores(t, b, 1)
    torch.testing.assert_close(difference, network.logits(t, a, b, 1))


@pytest.mark.parametrize("form", ["pairwise", "antisymmetric"])
def test_scores_of_a_comparing_form_are_mean_logits_against_the_kept_pictures(form: str) -> None:
    network = heads(form).eval()
    t, x, kept = rows(2, seed=3)
    network.keep_references(kept)
    one_by_one = [(network.logits(t, x, k.expand_as(x), 0) - network.logits(t, k.expand_as(x), x, 0)) / 2 for k in kept]
    torch.testing.assert_close(network.scores(t, x, 0), torch.stack(one_by_one).mean(0))


@pytest.mark.parametrize("trunk", ["own", "shared"])
def test_heads_can_be_freed_of_opinions(trunk: str) -> None:
    network = heads("pairwise", trunk=trunk, flag="flag").without_opinion()
    t, a, b = rows(5)
    assert not torch.cat([network.logits(t, a, b, 1), network.flag_logits(t, a)]).any()


def test_a_criterion_it_does_not_know() -> None:
    with pytest.raises(UnknownReference, match="mood, color"):
        heads("scalar").number("typography")
