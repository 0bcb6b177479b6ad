"""Weights of raters: by hand, and by the formula of the crowd model."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest
import torch

from salon.train.head_data import Reliability, agreement_weights


def votes(*rows: tuple[str, str, str], split: str = "train") -> list[dict[str, str]]:
    return [
        {"criterion": "c", "item_a": pair, "item_b": "z", "rater": rater, "label": label, "split": split}
        for pair, rater, label in rows
    ]


def test_agreement_by_hand() -> None:
    """Ann and Bob always agree, Cid never; Dee said nothing but ties.

    Ann: the others (b and c) are tied on both pairs, so nothing is known: q = 1/2, w = 0. With Eve, who joins Ann and
    Bob, the others of Ann are 2 to 1 on both pairs: h = n = 2, q = 3/4, w = 1/2. Cid: h = 0, q = 1/4, w = 0.
    """
    said = [(pair, who, "a") for pair in ("p", "q") for who in ("ann", "bob", "eve")]
    said += [(pair, "cid", "b") for pair in ("p", "q")] + [("p", "dee", "tie")]
    found = agreement_weights([pa.Table.from_pylist(votes(*said))])
    assert found == pytest.approx({"ann": 0.5, "bob": 0.5, "eve": 0.5, "cid": 0.0, "dee": 0.0})


def test_answers_of_the_test_side_do_not_count() -> None:
    train = votes(("p", "ann", "a"), ("p", "bob", "a"))
    test = votes(*[(f"t{n}", who, "ab"[who == "bob"]) for n in range(50) for who in ("ann", "bob")], split="test")
    assert agreement_weights([pa.Table.from_pylist(part) for part in (train, test)]) == agreement_weights(
        [pa.Table.from_pylist(train)]
    )


def test_the_likelihood_is_that_of_the_crowd_model() -> None:
    model = Reliability(2)
    with torch.no_grad():
        model.u.copy_(torch.tensor([math.log(0.9 / 0.1), math.log(0.3 / 0.7)]))
    z, share, rater = torch.tensor([1.0, 1.0, -2.0]), torch.tensor([1.0, 0.0, 0.5]), torch.tensor([0, 1, 1])
    s = torch.sigmoid(z)
    says_a = torch.tensor([0.9, 0.3, 0.3]) * s + torch.tensor([0.1, 0.7, 0.7]) * (1 - s)
    expected = -(share * says_a.log() + (1 - share) * (1 - says_a).log())
    torch.testing.assert_close(model.log_loss(z, share, rater), expected, atol=1e-6, rtol=1e-5)
    assert bool(torch.isfinite(model.log_loss(torch.tensor([800.0]), torch.tensor([0.0]), torch.tensor([0]))).all())


def test_the_prior_peaks_at_nine_in_ten() -> None:
    model = Reliability(1)
    model.log_prior().backward()
    assert model.eta.item() == pytest.approx(0.9)
    assert model.u.grad.item() == pytest.approx(0, abs=1e-6)
