"""Plans: the report repeats the power kernels, says what cannot be tested, and is reproducible."""

from __future__ import annotations

import numpy as np
import pytest
from pydantic import ValidationError

from salon.check import PlanReport, PlanSettings, plan
from salon.errors import InputError
from salon.stats import RankingLaw, expected_tau, fit_tau, power, power_signal
from salon.store import null_for

SMALL = PlanSettings(prompts=40, tau=0.1, sims=200)


def planned(settings: PlanSettings = SMALL) -> PlanReport:
    return plan(settings, null_for)


@pytest.fixture(scope="module", autouse=True)
def _small_pools():
    """The kernel's own tests prove its pools large enough; here plan and kernel only have to agree."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(power, "_POOL", 5_000)
        patch.setattr(power, "_POOL_PER_PROMPT", 50)
        yield


@pytest.fixture(scope="module")
def report(_small_pools) -> PlanReport:
    return planned()


def test_every_test_has_its_power(report: PlanReport) -> None:
    """The kernel at the same seed gives the same figures: the plan adds nothing of its own."""
    law = fit_tau(RankingLaw("mallows"), 0.1, 5, 4)
    rng = np.random.default_rng(0)
    kernel = power_signal(null_for(4, 5), law, 40, alpha=0.05, criteria=1, sims=200, rng=rng)
    assert [one.test for one in report.power] == ["T", "p_max", "cycle"]
    for one, name in zip(report.power, ("T", "p_max", "cycles")):
        assert one.alone.value == kernel.plain[name].value
        assert one.holm.value == kernel.holm[name].value
        assert one.holm.value <= one.alone.value
    assert report.any_test.value == kernel.any_holm.value
    assert report.mean_tau == pytest.approx(0.1, abs=1e-6)


def test_power_grows_along_the_curve_and_the_smallest_design_stands_on_it(report: PlanReport) -> None:
    curve = [one.value for one in report.curve.power]
    assert list(report.curve.prompts) == sorted(report.curve.prompts)
    assert curve[-1] > 0.95 > 0.6 > curve[0]
    by = {(one.of, one.target): one.value for one in report.smallest}
    assert 10 < by["prompts", 0.8] <= by["prompts", 0.9] < 120
    below = [p for n, p in zip(report.curve.prompts, curve) if n < 0.7 * by["prompts", 0.8]]
    assert all(p < 0.8 for p in below)
    assert 3 <= by["raters", 0.8] <= by["raters", 0.9] <= 15


def test_two_effects_are_refused() -> None:
    with pytest.raises(InputError, match="one effect"):
        planned(PlanSettings(theta=0.4, tau=0.1))
    with pytest.raises(InputError, match="one effect"):
        planned(PlanSettings(theta=0.4, model="thurstone"))


EVEN = PlanSettings(prompts=20, raters=4, theta=0.4, sims=100)


def test_even_panels_and_seeds() -> None:
    report = planned(EVEN)
    assert report.parameter == 0.4
    assert report.mean_tau == pytest.approx(expected_tau(RankingLaw("mallows", 0.4), 4, 4))
    assert report.power[2].alone is None  # four raters cannot cycle
    assert report.power[2].holm is None
    assert report.power[0].alone is not None
    assert planned(EVEN) == report
    assert "theta:0.4" in report.signature_line
    assert "seed:0" in report.signature_line


@pytest.mark.parametrize("wrong", [{"seed": -1}, {"tau": 0}, {"tau": 1}, {"raters": 1}, {"items": 1}, {"sims": 1}])
def test_settings_out_of_range(wrong: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        PlanSettings(**wrong)
