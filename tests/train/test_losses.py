"""Laws of a vote as losses: by hand, by definition, by another tool, by property, by recovery, at the edge."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy.integrate import quad
from scipy.stats import norm, spearmanr
from torch.nn.functional import binary_cross_entropy_with_logits

from salon.errors import BadValue
from salon.stats import pair_probabilities, probit_win_chance, win_chance
from salon.stats.uncertain_scores import log_win_chance
from salon.train.losses import (
    LAWS,
    TIE_LAWS,
    UNCERTAIN_LAWS,
    Law,
    log_chances,
    sigma_prior,
    spread,
    starting_tie,
    win_loss,
    win_losses,
)

TIE = torch.tensor(starting_tie(0.2), dtype=torch.float64)


def numbers(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def random_pairs(count: int, seed: int = 0) -> list[torch.Tensor]:
    """mu1, mu2, log sigma1, log sigma2, share."""
    rng = np.random.default_rng(seed)
    scales = (2, 2, 0.7, 0.7)
    return [torch.tensor(rng.normal(0, s, count)) for s in scales] + [torch.tensor(rng.uniform(size=count))]


# -- by hand ---------------------------------------------------------------------------------------------------------


def test_by_hand() -> None:
    zero = numbers(0.0)
    # RankNet: m = log 3, three of four votes for the first: -(3/4 log 3/4 + 1/4 log 1/4) = .5623.
    loss = win_loss("ranknet", numbers(math.log(3)), zero, None, None, numbers(0.75))
    assert loss.item() == pytest.approx(0.562335, abs=1e-6)
    # Probit: v² = 1 + 2 = 3, Phi(1 / 2) = .691462, and -log of it is .368946.
    loss = win_loss("probit", numbers(1.0), zero, zero, numbers(math.log(2) / 2), numbers(1.0))
    assert loss.item() == pytest.approx(0.368946, abs=1e-6)
    # Davidson with nu = 1 and Rao-Kupper with theta = 2, equal items: each answer has 1/3.
    for law in TIE_LAWS:
        chances = log_chances(law, zero, zero, tie=numbers(0.0))
        assert [x.exp().item() for x in chances] == pytest.approx([1 / 3] * 3)  # type: ignore[union-attr]


def test_the_tie_parameter_starts_at_the_share_of_ties() -> None:
    for law in TIE_LAWS:
        chances = log_chances(law, numbers(0.0), numbers(0.0), tie=numbers(starting_tie(0.3)))
        assert chances.tie is not None
        assert chances.tie.exp().item() == pytest.approx(0.3)


# -- by definition ---------------------------------------------------------------------------------------------------


def test_the_papers_law_is_the_mean_chance() -> None:
    mu1, mu2, ls1, ls2, _ = random_pairs(50)
    chances = log_chances("quadrature", mu1, mu2, ls1, ls2)
    m, v = (mu1 - mu2).numpy(), np.hypot(ls1.exp().numpy(), ls2.exp().numpy())
    assert chances.first.numpy() == pytest.approx(log_win_chance(m, v), abs=1e-9)
    assert log_chances("probit", mu1, mu2, ls1, ls2).second.exp().numpy() == pytest.approx(probit_win_chance(-m, v))


@pytest.mark.parametrize(("m", "v"), [(-2.0, 0.5), (0.3, 3.0), (4.0, 7.0)])
def test_the_released_law_is_the_mean_log_chance(m: float, v: float) -> None:
    exact = quad(lambda z: -np.logaddexp(0, -z) * norm.pdf(z, m, v), m - 12 * v, m + 12 * v, points=[0, m])[0]
    side = numbers(math.log(v / math.sqrt(2)))
    chances = log_chances("released", numbers(m), numbers(0.0), side, side)
    assert chances.first.item() == pytest.approx(exact, rel=1e-4)
    assert chances.first.exp() + chances.second.exp() < 1


def test_the_released_law_by_its_thousand_draws() -> None:
    """As the released code averages: log chances of a thousand draws, in half precision."""
    mu1, mu2, log_sigma1, log_sigma2, share = sides = random_pairs(200)
    draws = torch.randn(1000, 200, generator=torch.Generator().manual_seed(1)).half().float()
    z = mu1 - mu2 + torch.hypot(log_sigma1.exp(), log_sigma2.exp()) * draws
    first, second = (torch.nn.functional.logsigmoid(each).mean(dim=0) for each in (z, -z))
    sampled = -(share * first + (1 - share) * second).mean()
    assert win_loss("released", *sides).item() == pytest.approx(sampled.item(), rel=0.01)


# -- by another tool -------------------------------------------------------------------------------------------------


def test_ranknet_is_torchs_cross_entropy() -> None:
    mu1, mu2, _, _, share = random_pairs(40)
    weight = torch.rand(40, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    theirs = (weight * binary_cross_entropy_with_logits(mu1 - mu2, share, reduction="none")).sum() / weight.sum()
    assert win_loss("ranknet", mu1, mu2, None, None, share, weight=weight).item() == pytest.approx(theirs.item())


@pytest.mark.parametrize("law", TIE_LAWS)
def test_tie_laws_are_those_of_the_fits(law: Law) -> None:
    m = torch.linspace(-5, 5, 21, dtype=torch.float64)
    tie = numbers(-0.4)
    parameter = math.exp(-0.4) if law == "davidson" else 1 + math.exp(-0.4)
    first, tied, second = pair_probabilities(law, m.numpy(), parameter)
    ours = log_chances(law, m, torch.zeros_like(m), tie=tie)
    for mine, theirs in zip(ours, (first, second, tied), strict=True):
        assert mine is not None
        assert mine.exp().numpy() == pytest.approx(theirs)


# -- by property -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("law", LAWS)
def test_slopes_are_those_of_finite_differences(law: Law) -> None:
    mu1, mu2, ls1, ls2, share = random_pairs(4)
    inputs = [x.requires_grad_() for x in (mu1, mu2, ls1, ls2)] + [TIE.clone().requires_grad_()]
    ties = torch.minimum(share, 1 - share)

    def losses(mu1, mu2, ls1, ls2, tie):
        return win_losses(log_chances(law, mu1, mu2, ls1, ls2, tie=tie), share, ties=ties)

    assert torch.autograd.gradcheck(losses, inputs, eps=1e-6, atol=1e-6)


def test_slopes_hold_where_the_spread_is_wide() -> None:
    inputs = [numbers(5.0, -20.0).requires_grad_(), numbers(3.0, 2.5).requires_grad_()]

    def losses(mu, log_sigma):
        return win_losses(log_chances("quadrature", mu, -mu, log_sigma, log_sigma), numbers(0.3, 1.0))

    assert torch.autograd.gradcheck(losses, inputs, eps=1e-6, atol=1e-6)


@pytest.mark.parametrize("law", LAWS)
def test_swapping_the_items_swaps_the_answer(law: Law) -> None:
    mu1, mu2, ls1, ls2, share = random_pairs(30)
    there = win_loss(law, mu1, mu2, ls1, ls2, share, tie=TIE)
    back = win_loss(law, mu2, mu1, ls2, ls1, 1 - share, tie=TIE)
    assert there.item() == pytest.approx(back.item(), rel=1e-12)


@pytest.mark.parametrize("law", LAWS)
def test_a_count_is_as_many_votes(law: Law) -> None:
    """Three votes for the first and one for the second, counted or one by one."""
    sides = [each[:1] for each in random_pairs(1)[:4]]
    counted = win_loss(law, *sides, numbers(0.75), weight=numbers(4.0), tie=TIE)
    single = win_loss(law, *(each.expand(4) for each in sides), numbers(1, 1, 0, 1), tie=TIE)
    assert counted.item() == pytest.approx(single.item())


@pytest.mark.parametrize("law", [law for law in LAWS if law != "released"])
def test_answers_have_probability_one(law: Law) -> None:
    mu1, mu2, ls1, ls2, _ = random_pairs(30)
    chances = log_chances(law, 5 * mu1, mu2, 2 * ls1, ls2, tie=TIE)
    total = sum(each.exp() for each in chances if each is not None)
    assert torch.as_tensor(total).numpy() == pytest.approx(np.ones(30), abs=1e-4)


def sigma_slope(law: Law, m: torch.Tensor) -> torch.Tensor:
    """Slope of the loss in log sigma when the first item won."""
    log_sigma = torch.zeros_like(m).requires_grad_()
    loss = win_loss(law, m, torch.zeros_like(m), log_sigma, log_sigma, torch.ones_like(m)) * len(m)
    return torch.autograd.grad(loss, log_sigma)[0]


def test_only_the_released_law_narrows_sigma_after_an_upset() -> None:
    m = torch.linspace(-6, 6, 25, dtype=torch.float64)
    assert (sigma_slope("released", m) > 0).all()
    for law in ("quadrature", "probit"):
        assert (sigma_slope(law, m)[m < -0.1] < 0).all(), "an upset widens sigma"
        assert (sigma_slope(law, m)[m > 0.1] > 0).all(), "an expected win narrows it"


def test_the_released_slope_is_prices() -> None:
    """d/d log sigma of both items is v² E[s'(z)] for the loss -E[log s(z)], since (log s)'' = -s'."""
    m, v = 0.7, math.sqrt(2)
    mean = quad(lambda z: math.exp(-z) / (1 + math.exp(-z)) ** 2 * norm.pdf(z, m, v), -20, 20)[0]
    assert sigma_slope("released", numbers(m)).item() == pytest.approx(v**2 * mean, rel=1e-6)


def test_one_vote_cannot_tell_sigma() -> None:
    """Every spread explains a share of 3/4 as well as any other, with a difference to match; the prior decides."""
    target, losses, charged = numbers(0.75), [], []
    for log_sigma in (-1.0, 0.0, 1.5):
        side = numbers(log_sigma)
        v = spread(side, side).item()
        grid = np.linspace(0, 12, 2_001)
        m = numbers(float(np.interp(0.75, win_chance(grid, v), grid)))
        losses.append(win_loss("quadrature", m, numbers(0.0), side, side, target).item())
        charged.append(win_loss("quadrature", m, numbers(0.0), side, side, target, prior=1.0).item())
    assert losses == pytest.approx([losses[0]] * 3, abs=1e-5)
    assert charged[1] == min(charged)


def test_the_prior_is_charged_once_for_each_item() -> None:
    """Four items in a ring, two pairs each, three votes a pair: 6 votes an item, so prior = 1/6."""
    log_sigma = numbers(0.3, -1.0, 0.5, 2.0)
    a, b = torch.arange(4), (torch.arange(4) + 1) % 4
    mu, share, votes = torch.zeros(4, dtype=torch.float64), numbers(1, 0, 1 / 3, 2 / 3), numbers(3, 3, 3, 3)
    sides = (mu[a], mu[b], log_sigma[a], log_sigma[b], share)
    with_prior, without = (win_loss("quadrature", *sides, weight=votes, prior=p).item() for p in (1 / 6, 0.0))
    assert 12 * (with_prior - without) == pytest.approx(sigma_prior(log_sigma).sum().item())
    assert win_loss("ranknet", *sides, prior=1.0).item() == win_loss("ranknet", *sides).item()


# -- by recovery -----------------------------------------------------------------------------------------------------


def fitted(law: Law, mu: np.ndarray, sigma: np.ndarray, per_item: int) -> tuple[np.ndarray, np.ndarray]:
    """mu and log sigma learned from voters who see N(mu, sigma²): all pairs, equally often, N(0, 1) on log sigma."""
    rng, count = np.random.default_rng(5), len(mu)
    a, b = np.triu_indices(count, 1)
    n = per_item // (count - 1)
    share = torch.tensor(rng.binomial(n, win_chance(mu[a] - mu[b], np.hypot(sigma[a], sigma[b]))) / n)
    free = torch.zeros(2, count, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([free], max_iter=50, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        optimizer.zero_grad()
        value = win_loss(law, free[0, a], free[0, b], free[1, a], free[1, b], share, prior=1 / (n * (count - 1)))
        value.backward()
        return value

    optimizer.step(loss)
    return free.detach().numpy()[0], free.detach().numpy()[1]


def test_sigma_tracks_the_noise_of_items_under_the_papers_law_only() -> None:
    rng = np.random.default_rng(4)
    mu, sigma = rng.normal(0, 2, 30), np.exp(rng.uniform(*np.log([0.3, 5]), 30))
    for law, low, high in (("quadrature", 0.8, 1.0), ("released", -1.0, 0.3)):
        found_mu, found_sigma = fitted(law, mu, sigma, 2000)
        assert low < spearmanr(found_sigma, sigma).statistic < high, law
        assert spearmanr(found_mu, mu).statistic > 0.95, law


@pytest.mark.parametrize("law", TIE_LAWS)
def test_the_tie_parameter_is_learned(law: Law) -> None:
    rng = np.random.default_rng(1)
    m = torch.tensor(rng.normal(0, 1.5, 400))
    first, tied, second = (np.array(p) for p in pair_probabilities(law, m.numpy(), 1.8))
    votes = np.array([rng.multinomial(50, p) for p in np.stack([first, tied, second], axis=1)]) / 50
    share, ties = torch.tensor(votes[:, 0] + votes[:, 1] / 2), torch.tensor(votes[:, 1])
    tie = torch.zeros((), dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([tie], line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        optimizer.zero_grad()
        value = win_loss(law, m, torch.zeros_like(m), None, None, share, ties=ties, tie=tie)
        value.backward()
        return value

    optimizer.step(loss)
    learned = tie.exp().item() + (law == "rao-kupper")
    assert learned == pytest.approx(1.8, rel=0.05)


# -- at the edge -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("law", LAWS)
def test_loss_and_slopes_stay_finite(law: Law, dtype: torch.dtype) -> None:
    mu = torch.tensor([-1e4, -50, 0, 3, 1e4], dtype=dtype, requires_grad=True)
    log_sigma = torch.tensor([-60, 8, 0, 40, 2], dtype=dtype, requires_grad=True)
    loss = win_loss(law, mu, -mu, log_sigma, log_sigma, torch.tensor([1, 0.5, 0, 1, 0]), tie=TIE.float(), prior=0.1)
    loss.backward()
    assert loss.isfinite()
    assert loss.dtype == torch.float32
    assert mu.grad is not None
    assert mu.grad.isfinite().all()
    if law in UNCERTAIN_LAWS:
        assert log_sigma.grad is not None
        assert log_sigma.grad.isfinite().all()


def test_weights_leave_out_and_an_empty_batch_costs_nothing() -> None:
    mu1, mu2, ls1, ls2, share = random_pairs(8)
    weight = torch.tensor([1.0, 0] * 4)
    kept = [each[::2] for each in (mu1, mu2, ls1, ls2, share)]
    assert win_loss("quadrature", mu1, mu2, ls1, ls2, share, weight=weight).item() == pytest.approx(
        win_loss("quadrature", *kept).item()
    )
    assert win_loss("quadrature", mu1, mu2, ls1, ls2, share, weight=0 * weight).item() == 0


@pytest.mark.parametrize(
    ("law", "change", "words"),
    [
        ("thurstone", {}, "a law of a vote is one of"),
        ("quadrature", {"log_sigma1": None}, "needs log sigma"),
        ("davidson", {}, "learns a tie parameter"),
        ("ranknet", {"target": torch.tensor([1.2])}, "between 0 and 1"),
        ("ranknet", {"target": torch.tensor([float("nan")])}, "between 0 and 1"),
        ("ranknet", {"weight": torch.tensor([-1.0])}, "0 or more"),
        ("rao-kupper", {"ties": torch.tensor([0.9]), "tie": torch.tensor(0.0)}, "make up the whole"),
    ],
)
def test_bad_input_has_a_name(law: Law, change: dict, words: str) -> None:
    one = torch.zeros(1)
    given = {"mu1": one, "mu2": one, "log_sigma1": one, "log_sigma2": one, "target": torch.tensor([0.8])} | change
    with pytest.raises(BadValue, match=words):
        win_loss(law, **given)


def test_without_ties_there_is_no_tie_law() -> None:
    with pytest.raises(BadValue, match="between 0 and 1"):
        starting_tie(0.0)
