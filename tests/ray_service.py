"""Run by test_scoring_on_ray: a scoring service whose replicas are on Ray, asked, killed, swapped and ended."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import signal
import sys
from pathlib import Path

from plain_scorers import GATE
from scoring_server import png
from waiting import until

from salon.select import LoadFailed, LoadOrder, ScoringService, SentPicture, ServiceSettings
from salon.study import Prompt

GRAY, WORDS, GATED = (f"python:plain_scorers:{name}" for name in ("gray", "words", "gated"))


def sent(*grays: int) -> list[SentPicture]:
    pictures = [png(gray) for gray in grays]
    prompt = Prompt(id="p", text="four")
    return [SentPicture(data, hashlib.sha256(data).hexdigest(), 64, prompt) for data in pictures]


async def values(service: ScoringService, criterion: str, *grays: int) -> list[float]:
    answer = await service.ask(sent(*grays))
    return [looked.results[criterion].value for looked in answer.looked]


async def play(folder: Path) -> dict:
    gate = folder / "closed"
    os.environ[GATE] = str(gate)
    told: dict = {}
    for name, more in (("here", {}), ("ray", {"ray": "local", "replicas": 2})):
        service = ScoringService(ServiceSettings(batch=4, cache=0, deadline=300, **more))
        await asyncio.to_thread(service.open, LoadOrder(scorers=(GRAY, WORDS)))
        told[name] = {id: await values(service, id, *range(40)) for id in ("gray", "words")}
        if name == "here":
            await service.close()
    status = service.active.batcher.looker.status
    pids = [one.pid for one in status() if one.pid]
    told["pids"] = len(pids)
    asked = asyncio.create_task(values(service, "gray", *range(100, 112)))
    os.kill(pids[0], signal.SIGKILL)
    told["after_deaths"] = await asked
    until(lambda: sum(one.state == "ready" for one in status()) == 2, "two replicas that run")
    gray = 0
    while pids[0] in {one.pid for one in status()} or not all(one.pid for one in status()):
        gray += 1  # until the new one answered something
        await values(service, "gray", *range(gray % 200, gray % 200 + 8))
    told["deaths"] = sum(one.deaths for one in status())
    told["ready"] = {"ready": service.ready, "replicas": len(status())}
    other = await service.load(LoadOrder(scorers=(WORDS,)))
    service.activate(other.version)
    told["swapped"] = await values(service, "words", 1)
    service.rollback()
    told["rolled_back"] = await values(service, "gray", 50)
    try:
        await service.load(LoadOrder(scorers=("python:plain_scorers:nosuch",)))
    except LoadFailed as error:
        told["refused"] = str(error)
    await service.close()
    return told


if __name__ == "__main__":
    print(json.dumps(asyncio.run(play(Path(sys.argv[1])))))
