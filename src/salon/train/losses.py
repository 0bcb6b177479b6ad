"""What a model is charged for the votes it did not expect: six laws of a vote between two items.

A law gives log P(first), log P(second) and, where it knows ties, log P(tie) from mu and log sigma of both items. With
m = mu1 - mu2, v² = sigma1² + sigma2², z ~ N(m, v²), s(x) = 1/(1 + e^-x):

| law | log P(first) | ties |
|---|---|---|
| quadrature | log E[s(z)]: HPSv3's, by 64 points in log space | half a win each |
| probit | log Phi(m / sqrt(1 + v²)) | half a win each |
| ranknet | log s(m): Bradley-Terry; sigma is not used | half a win each |
| davidson | m/2 - log(e^(m/2) + e^(-m/2) + nu), nu = e^tie; sigma is not used | log P = log nu - log(...) |
| rao-kupper | log s(m - log theta), theta = 1 + e^tie; sigma is not used | theta² - 1 times both |
| released | E[log s(z)]: what HPSv3's code minimises; not a probability: P(first) + P(second) < 1 | half a win each |

The loss of a pair is the cross-entropy between the votes and the law, w log P(first) + l log P(second) + t log P(tie)
with shares w + l + t = 1, and a pair's weight may be its number of votes: then it is the likelihood of the votes.

Why the released law cannot learn sigma: by Price's theorem dE[f(z)]/d(v²) = E[f''(z)]/2, and log s is concave, so its
loss falls whenever sigma does, whatever the votes. In the paper's law the sign is that of E[s''(z)], which is positive
where the likelier side lost: surprises widen sigma, confirmations narrow it.

Source: HPSv3 section 4.1; Burges et al. 2005 (RankNet); Davidson 1970; Rao & Kupper 1967. See docs/methods/losses.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, NamedTuple, get_args

from salon.errors import BadValue, MissingExtra
from salon.stats import LOGISTIC_VARIANCE, QUADRATURE_POINTS, WIDE, normal_points

try:
    import torch
    from torch import Tensor
    from torch.nn.functional import logsigmoid
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("train") from None

Law = Literal["quadrature", "probit", "ranknet", "davidson", "rao-kupper", "released"]
LAWS: tuple[Law, ...] = get_args(Law)
UNCERTAIN_LAWS: tuple[Law, ...] = ("quadrature", "probit", "released")
"""Those that use sigma."""
TIE_LAWS: tuple[Law, ...] = ("davidson", "rao-kupper")
"""Those that have a tie parameter to learn."""
_LOG_SIGMA = 10.0
"""Bound on |log sigma| inside a law: beyond it nothing changes but overflow."""


class LogChances(NamedTuple):
    """Log-probabilities of the answers to each pair; `tie` is None where the law counts a tie as half a win each."""

    first: Tensor
    second: Tensor
    tie: Tensor | None = None


def log_chances(
    law: Law,
    mu1: Tensor,
    mu2: Tensor,
    log_sigma1: Tensor | None = None,
    log_sigma2: Tensor | None = None,
    *,
    tie: Tensor | None = None,
) -> LogChances:
    """Log-probabilities of the answers under `law`, in float32 or better.

    `tie` is the learned number of a tie law (start it with `starting_tie`).
    """
    m = _float(mu1) - _float(mu2)
    if law in TIE_LAWS:
        if tie is None:
            raise BadValue(f"the law {law} learns a tie parameter", found="none", remedy="pass tie=starting_tie(...)")
        return _TIES[law](m, _float(tie))
    if law == "ranknet":
        return LogChances(logsigmoid(m), logsigmoid(-m))
    if law not in LAWS:
        raise BadValue(f"a law of a vote is one of {', '.join(LAWS)}", found=law)
    if log_sigma1 is None or log_sigma2 is None:
        raise BadValue(f"the law {law} needs log sigma of both items", found="none")
    v = spread(log_sigma1, log_sigma2)
    if law == "released":
        return _released(m, v)
    if law == "quadrature":
        return LogChances(_log_mean_chance(m, v), _log_mean_chance(-m, v))
    probit = m / torch.sqrt(1 + v**2)
    return LogChances(torch.special.log_ndtr(probit), torch.special.log_ndtr(-probit))


def win_losses(chances: LogChances, target: Tensor, *, ties: Tensor | None = None) -> Tensor:
    """The cross-entropy of each pair.

    `target`: the share of its votes for the first item, ties half, as in the labels' column `share`. `ties`: the share
    that are ties, needed by a law that knows ties and without effect in others.
    """
    target = _share(target.to(chances.first), "a target")
    if chances.tie is None:
        return -(target * chances.first + (1 - target) * chances.second)
    tied = _share(torch.zeros_like(target) if ties is None else ties.to(chances.first), "a share of ties")
    first, second = target - tied / 2, 1 - target - tied / 2
    if (torch.minimum(first, second) < -1e-6).any():
        raise BadValue("votes for the first, for the second and ties must make up the whole", found="more than 1")
    return -(first * chances.first + second * chances.second + tied * chances.tie)


def win_loss(
    law: Law,
    mu1: Tensor,
    mu2: Tensor,
    log_sigma1: Tensor | None,
    log_sigma2: Tensor | None,
    target: Tensor,
    *,
    ties: Tensor | None = None,
    weight: Tensor | None = None,
    tie: Tensor | None = None,
    prior: float = 0.0,
) -> Tensor:
    """The mean loss over pairs, or over votes where `weight` counts them: sum(w loss) / sum(w).

    With `prior`, what log sigma ~ N(0, 1) charges is added, (log sigma1² + log sigma2²)/2 on average over pairs. One
    over the number of votes an item gets makes it the prior itself; 1 if every picture is seen in one vote. Pairs of
    weight 0 are left out, and a batch without any other costs 0.
    """
    losses = win_losses(log_chances(law, mu1, mu2, log_sigma1, log_sigma2, tie=tie), target, ties=ties)
    loss = losses.mean()
    if weight is not None:
        weight = weight.to(losses)
        if not (weight >= 0).all():
            raise BadValue("weights must be 0 or more", found=weight[~(weight >= 0)][0].item())
        loss = (weight * losses).sum() / weight.sum().clamp_min(torch.finfo(losses.dtype).tiny)
    if prior and law in UNCERTAIN_LAWS:
        assert log_sigma1 is not None
        assert log_sigma2 is not None
        loss = loss + prior * (sigma_prior(log_sigma1) + sigma_prior(log_sigma2)).mean()
    return loss


def sigma_prior(log_sigma: Tensor) -> Tensor:
    """Minus the log density of log sigma ~ N(0, 1), without its constant."""
    return _float(log_sigma) ** 2 / 2


def spread(log_sigma1: Tensor, log_sigma2: Tensor) -> Tensor:
    """sqrt(sigma1² + sigma2²), with a gradient however small both are."""
    first, second = (2 * _float(each).clamp(-_LOG_SIGMA, _LOG_SIGMA) for each in (log_sigma1, log_sigma2))
    return torch.exp(torch.logaddexp(first, second) / 2)


def starting_tie(share: float) -> float:
    """The tie parameter at which a share of votes between equal items are ties, in either tie law.

    Davidson: P(tie) = nu/(2 + nu) at m = 0. Rao-Kupper: (theta - 1)/(theta + 1). Both are `share` at log(2s/(1 - s)).
    """
    if not 0 < share < 1:
        raise BadValue("a share of ties lies between 0 and 1", found=share, remedy="without ties use the law ranknet")
    return math.log(2 * share / (1 - share))


# -- laws ------------------------------------------------------------------------------------------------------------


def _log_mean_chance(m: Tensor, v: Tensor) -> Tensor:
    """log E[s(z)]; both branches stay finite so that neither spoils the other's gradient."""
    x, log_w = _points(m)
    narrow = torch.logsumexp(log_w + logsigmoid(m[..., None] + v.clamp(max=WIDE)[..., None] * x), dim=-1)
    wide = torch.special.log_ndtr(m / torch.sqrt(v**2 + LOGISTIC_VARIANCE))
    return torch.where(v > WIDE, wide, narrow)


def _released(m: Tensor, v: Tensor) -> LogChances:
    """E[log s(z)] and E[log s(-z)], by quadrature; the released code draws a thousand z.

    -log s(z) = max(-z, 0) + log(1 + e^-|z|). Where z is wide, the points miss the bend at 0: the first part is exact,
    the second only sees the density f at 0 and its curvature: pi²/6 f(0) + 7 pi⁴/360 f''(0).
    """
    x, log_w = _points(m)
    z = m[..., None] + v.clamp(max=WIDE)[..., None] * x
    narrow = (logsigmoid(z) @ log_w.exp(), logsigmoid(-z) @ log_w.exp())
    wide_v = v.clamp(min=WIDE)
    ratio = m / wide_v
    density = torch.exp(-(ratio**2) / 2) / (math.sqrt(2 * math.pi) * wide_v)
    bend = density * (math.pi**2 / 6 + 7 * math.pi**4 / 360 * (ratio**2 - 1) / wide_v**2)
    wide = [-(wide_v**2 * density - side * m * torch.special.ndtr(-side * ratio) + bend) for side in (1, -1)]
    return LogChances(*(torch.where(v > WIDE, far, near) for far, near in zip(wide, narrow, strict=True)))


def _davidson(m: Tensor, tie: Tensor) -> LogChances:
    tied = tie.expand_as(m)
    log_z = torch.logsumexp(torch.stack([m / 2, -m / 2, tied]), dim=0)
    return LogChances(m / 2 - log_z, -m / 2 - log_z, tied - log_z)


def _rao_kupper(m: Tensor, tie: Tensor) -> LogChances:
    """theta = 1 + e^tie, so theta² - 1 = e^tie (2 + e^tie)."""
    log_theta = torch.logaddexp(torch.zeros_like(tie), tie)
    first, second = logsigmoid(m - log_theta), logsigmoid(-m - log_theta)
    return LogChances(first, second, first + second + tie + torch.logaddexp(torch.full_like(tie, math.log(2)), tie))


_TIES: dict[Law, Callable[[Tensor, Tensor], LogChances]] = {"davidson": _davidson, "rao-kupper": _rao_kupper}


# -- numbers ---------------------------------------------------------------------------------------------------------


def _points(like: Tensor) -> tuple[Tensor, Tensor]:
    x, log_w = normal_points(QUADRATURE_POINTS)
    return torch.tensor(x).to(like), torch.tensor(log_w).to(like)


def _float(value: Tensor) -> Tensor:
    """Half precision is too coarse for a difference of logs."""
    return value.float() if value.dtype in (torch.float16, torch.bfloat16) else value


def _share(value: Tensor, what: str) -> Tensor:
    if not ((value >= 0) & (value <= 1)).all():
        raise BadValue(f"{what} lies between 0 and 1", found=value[~((value >= 0) & (value <= 1))][0].item())
    return value
