"""Money: price lists by hand, and a budget that no interleaving exceeds."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from loops import awaited

from salon.calls import Budget, BudgetSpent, CallOrder, Prices
from salon.errors import BadFile, BadValue

LIST = """
currency = "EUR"
[models.writer]
input = 2.50
output = 10.00
call = 0.001
[models.painter]
image = 0.04
[models.counter]
input = 5.00
output = 40.00
image_tokens = 6000
[models."painter/2".images]
"1024x1024" = 0.04
"1024x1536" = { low = 0.016, high = 0.25 }
"""


@pytest.fixture
def prices(tmp_path: Path) -> Prices:
    (tmp_path / "prices.toml").write_text(LIST)
    return Prices.load(tmp_path / "prices.toml")


@pytest.mark.parametrize(
    ("order", "most"),
    [
        # 1,000 · 2.50/M + 400 · 10/M + 0.001
        ({"model": "writer", "input_tokens": 1000, "output_tokens": 400}, "0.0075"),
        ({"model": "painter", "images": 3}, "0.12"),
        ({"model": "painter/2", "images": 2, "size": "1024x1024"}, "0.08"),
        ({"model": "painter/2", "images": 1, "size": "1024x1536", "quality": "low"}, "0.016"),
        ({"model": "painter/2", "images": 1, "size": "1024x1536"}, "0.25"),  # the dearest of what it may be
        ({"model": "painter/2", "images": 1}, "0.25"),
        # 2 · 6,000 written · 40/M + (6,000 + 100) read · 5/M
        ({"model": "counter", "images": 2, "input_images": 1, "input_tokens": 100}, "0.5105"),
        ({"model": "unknown", "images": 1}, None),
    ],
)
def test_orders_by_hand(prices: Prices, order: dict, most: str | None) -> None:
    assert prices.most(CallOrder(**order)) == (None if most is None else Decimal(most))


def test_tokens_used_replace_tokens_ordered(prices: Prices) -> None:
    order = CallOrder(model="writer", input_tokens=1000, output_tokens=400)
    assert prices.cost(order, 1000, 40) == Decimal("0.0039")
    assert prices.cost(order, None, None) == prices.most(order)


def test_a_budget_needs_the_most_a_call_can_cost(prices: Prices) -> None:
    for model in ("painter", "counter"):
        prices.need(model, pictures=True)
    prices.need("writer")
    with pytest.raises(BadValue, match="image_tokens"):
        prices.need("writer", pictures=True)
    with pytest.raises(BadValue, match="'unknown'"):
        prices.need("unknown")


@pytest.mark.parametrize("text", ["models = 3", "[models.x]\ninput = -1", "[models.x]\nwhat = 1", "not toml"])
def test_broken_lists_are_refused_with_their_file(tmp_path: Path, text: str) -> None:
    (tmp_path / "prices.toml").write_text(text)
    with pytest.raises((BadFile, BadValue), match=r"prices\.toml"):
        Prices.load(tmp_path / "prices.toml")


def test_tenths_add_up() -> None:
    """Three times 0.1 fits into 0.3, which floating point denies."""

    async def run(budget: Budget) -> None:
        for _ in range(3):
            async with budget.reserve(Decimal("0.1")) as reservation:
                reservation.cost = Decimal("0.1")

    budget = Budget(0.3)
    awaited(run(budget))
    assert budget.spent == Decimal("0.3")


@pytest.mark.parametrize("seed", range(20))
def test_no_interleaving_exceeds_it(seed: int) -> None:
    """Requests of random cost at most what they reserved, some without an answer: never above, and nothing wasted."""
    rng = np.random.default_rng(seed)
    budget = Budget(1, calls=25)
    peak = []

    async def request() -> bool:
        most = Decimal(int(rng.integers(1, 20))) / 100
        try:
            async with budget.reserve(most) as reservation:
                await asyncio.sleep(float(rng.uniform(0, 0.002)))
                peak.append(budget.spent + budget.reserved)
                if rng.random() < 0.7:
                    reservation.cost = most * int(rng.integers(0, 3)) / 2
        except BudgetSpent:
            return False
        return True

    async def run() -> list[bool]:
        return await asyncio.gather(*(request() for _ in range(40)))

    done = awaited(run())
    assert max(*peak, budget.spent) <= 1
    assert sum(done) == budget.sent <= 25
    assert not all(done)
    assert budget.reserved == 0


def test_a_call_waits_for_money_that_others_may_give_back() -> None:
    async def run() -> Decimal:
        budget = Budget(1)

        async def cheap() -> None:
            async with budget.reserve(Decimal("0.9")) as reservation:
                await asyncio.sleep(0.05)
                reservation.cost = Decimal("0.1")

        first = asyncio.create_task(cheap())
        await asyncio.sleep(0.01)
        async with budget.reserve(Decimal("0.9")) as reservation:
            reservation.cost = Decimal("0.9")
        await first
        return budget.spent

    assert awaited(run()) == 1


@pytest.mark.parametrize(
    "bad", [{"money": -1}, {"money": "nan"}, {"money": "much"}, {"money": float("inf")}, {"calls": -1}]
)
def test_budgets_that_make_no_sense(bad: dict) -> None:
    with pytest.raises(BadValue):
        Budget(**bad)
