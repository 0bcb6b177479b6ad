"""One VLM in several workers: the same verdicts as in one, kept, and asked again only where nothing was said."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from judged_study import saved

from salon.engine.work import EngineSettings
from salon.errors import BadValue
from salon.judge.folder import read_verdicts
from salon.judge.named import Named
from salon.judge.run import judge_study
from salon.judge.settings import JudgeSettings
from salon.judge.spread import Spread
from salon.judge.vlm import Conversation, NoReply, Reply, Sight
from salon.store import open_study
from salon.study.signature import Signature


class Lettered:
    """Prefers the earlier letter; says nothing about, or dies of, what a file in `home` names, as often as it says."""

    signature = Signature(method="lettered")

    def __init__(self, home: Path) -> None:
        self.name, self.home = "lettered", home

    def reply(self, conversations: Iterable[Conversation]) -> Iterator[tuple[int, Reply | NoReply]]:
        for index, asked in enumerate(conversations):
            items = [part.item for part in asked.parts if isinstance(part, Sight)]
            pair = "-".join(items)
            if self._once("dies", pair):
                os.kill(os.getpid(), signal.SIGKILL)
            if self._once("silent", pair):
                yield index, NoReply(kind="error", reason="silent")
                continue
            with open(self.home / "asked", "a") as file:
                file.write(f"{pair}\n")
            yield index, Reply(text=json.dumps({"verdict": "A" if items[0] < items[1] else "B"}))

    def _once(self, what: str, pair: str) -> bool:
        mark = self.home / f"{what}-{pair}"
        if mark.exists():
            mark.unlink()
            return True
        return False


def judged(folder: Path, vlm: object) -> list[dict]:
    judge_study(open_study(folder), folder, vlm, JudgeSettings(), overwrite=True)
    rows = read_verdicts(folder / "judges/lettered").to_pylist()
    return [{name: row[name] for name in ("criterion", "a", "b", "left", "outcome", "failed")} for row in rows]


def test_a_pool_gives_the_verdicts_of_one_process_though_workers_die_and_asks_only_what_is_open(tmp_path: Path) -> None:
    study, home = tmp_path / "s", tmp_path / "home"
    home.mkdir()
    saved(study)
    alone = judged(study, Lettered(home))
    pairs = (home / "asked").read_text().split()
    (home / "asked").unlink()
    (home / f"dies-{pairs[0]}").touch()
    (home / f"silent-{pairs[-1]}").touch()
    spread = Spread(Lettered(home), tmp_path / "kept", EngineSettings(engine="pool", workers=2, batch=3))
    first = judged(study, spread)
    assert sum(row["failed"] is not None for row in first) >= 1
    (home / "asked").unlink()
    assert judged(study, spread) == alone
    assert set((home / "asked").read_text().split()) == {pairs[-1]}, "only the silent one is asked again"
    (home / "asked").unlink()
    assert judged(study, spread) == alone
    assert not (home / "asked").exists()


def test_an_endpoint_is_not_spread() -> None:
    with pytest.raises(BadValue, match="--engine"):
        Named(model="m", engine="pool").check()
