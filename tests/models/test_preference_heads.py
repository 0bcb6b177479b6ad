"""Preference heads: features by hand, exact signs, gradients by finite differences."""

from __future__ import annotations

import pytest
import torch

from salon.errors import UnknownReference
from salon.models.encoder import EncoderPart
from salon.models.preference_heads import HeadShape, PreferenceHeads, one_features, two_features

SEEN, IMAGE = EncoderPart("seen", 3, True), EncoderPart("image", 5, False)


def heads(form: str, **more: object) -> PreferenceHeads:
    given = {"parts": (SEEN, IMAGE), "text_width": 3, "criteria": ("mood", "color"), "width": 4, **more}
    torch.manual_seed(1)
    return PreferenceHeads(HeadShape(form=form, **given))


def rows(n: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> tuple[torch.Tensor, ...]:
    drawn = torch.Generator().manual_seed(seed)
    return tuple(torch.randn(n, width, generator=drawn, dtype=dtype) for width in (3, 8, 8))


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
    there, back = network.logits(t, a, b, 1), network.logits(t, b, a, 1)
    assert torch.equal(there, -back)
    assert there.abs().min() > 0


def test_the_pairwise_form_does_depend_on_the_order() -> None:
    network = heads("pairwise").eval()
    t, a, b = rows(7)
    assert not torch.allclose(network.logits(t, a, b, 0), -network.logits(t, b, a, 0), atol=1e-3)


@pytest.mark.parametrize("form", ["scalar", "pairwise", "antisymmetric"])
def test_gradients_are_those_of_finite_differences(form: str) -> None:
    network = heads(form, flag="flag").double().eval()
    t, a, b = rows(3, dtype=torch.float64)
    names, weights = zip(*network.named_parameters())

    def logits(*values: torch.Tensor) -> torch.Tensor:
        given = dict(zip(names, values))
        asked = torch.func.functional_call(_Called(network), {f"network.{n}": v for n, v in given.items()}, (t, a, b))
        return asked

    assert torch.autograd.gradcheck(logits, weights, eps=1e-6, atol=1e-7)


class _Called(torch.nn.Module):
    """Both criteria and the flag head behind one forward."""

    def __init__(self, network: PreferenceHeads) -> None:
        super().__init__()
        self.network = network

    def forward(self, t: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        both = [self.network.logits(t, a, b, number) for number in (0, 1)]
        return torch.cat([*both, self.network.flag_logits(t, a)])


def test_features_are_standardized_over_both_orders_and_constants_vanish() -> None:
    network = heads("antisymmetric")
    t, a, b = rows(5000)
    a[:, 0] = b[:, 0] = 4.0
    network.fit_scale(t, a, b)
    both = torch.cat([two_features(t, a, b, (SEEN, IMAGE)), two_features(t, b, a, (SEEN, IMAGE))])
    made = network.scale(both)
    torch.testing.assert_close(made.mean(0), torch.zeros(made.shape[1]), atol=1e-5, rtol=0)
    spread = made.std(0, correction=0)
    constant = both.std(0) == 0
    assert constant.sum() == 5  # 4 twice, their difference, its size, and its product with the text
    torch.testing.assert_close(spread[~constant], torch.ones(int((~constant).sum())), atol=1e-4, rtol=0)
    assert (made[:, constant] == 0).all()


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


def test_a_criterion_it_does_not_know() -> None:
    with pytest.raises(UnknownReference, match="mood, color"):
        heads("scalar").number("typography")
