"""How many requests at a time: growth, halving, pauses and the rate."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine

from loops import awaited

from salon.calls import Limits
from salon.calls.transport import Pace


def run(coroutine: Coroutine) -> object:
    async def timed() -> object:
        return await asyncio.wait_for(coroutine, 20)

    return awaited(timed())


async def one(pace: Pace, *, overloaded: bool = False) -> None:
    async with pace.slot() as slot:
        await asyncio.sleep(0)
        if overloaded:
            slot.overloaded()
        else:
            slot.fine()


def test_capacity_by_hand() -> None:
    async def body() -> list[float]:
        pace = Pace(Limits(start=2, concurrency=8))
        capacities = []
        for overloaded in (False, False, True, False, False, True, True, True):
            await one(pace, overloaded=overloaded)
            capacities.append(round(pace.capacity, 3))
        return capacities

    # 2 +1 +1, halved, + 1/2, + 1/2.5, halved three times down to the floor
    assert run(body()) == [3, 4, 2, 2.5, 2.9, 1.45, 1, 1]


def test_requests_that_fail_together_halve_once() -> None:
    async def body() -> float:
        pace = Pace(Limits(start=8, concurrency=8))
        await asyncio.gather(*(one(pace, overloaded=True) for _ in range(8)))
        return pace.capacity

    assert run(body()) == 4


def test_never_more_in_flight_than_capacity_nor_a_lost_wakeup() -> None:
    async def body() -> int:
        pace = Pace(Limits(start=1, concurrency=3))
        peak = 0

        async def request(number: int) -> None:
            nonlocal peak
            async with pace.slot() as slot:
                peak = max(peak, pace.in_flight)
                await asyncio.sleep(0.001)
                slot.overloaded() if number % 7 == 0 else slot.fine()

        tasks = [asyncio.create_task(request(number)) for number in range(200)]
        await asyncio.sleep(0.01)
        for task in tasks[50:150:3]:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert pace.in_flight == 0
        return peak

    assert run(body()) == 3


def test_a_pause_holds_back_everyone() -> None:
    async def body() -> float:
        pace = Pace(Limits(start=4))
        loop = asyncio.get_running_loop()
        async with pace.slot() as slot:
            slot.overloaded(0.1)
        began = loop.time()
        await asyncio.gather(one(pace), one(pace))
        return loop.time() - began

    assert run(body()) >= 0.099


def test_the_rate_is_even() -> None:
    async def body() -> float:
        pace = Pace(Limits(start=32, per_minute=3000))  # one in 20 ms
        loop = asyncio.get_running_loop()
        began = loop.time()
        await asyncio.gather(*(one(pace) for _ in range(6)))
        return loop.time() - began

    assert run(body()) >= 5 * 0.02 - 0.002
