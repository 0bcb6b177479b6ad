"""One VLM in several workers: the same verdicts as in one, kept, and asked again only where nothing was said."""

from __future__ import annotations

from pathlib import Path

import pytest
from judged_study import saved
from lettered import Lettered

from salon.engine import EngineSettings
from salon.errors import BadValue
from salon.judge import JudgeSettings, JudgeSpec, judge_study, read_verdicts
from salon.judge.reply_storage import DistributedVlm
from salon.store import open_study


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
    spread = DistributedVlm(Lettered(home), tmp_path / "kept", EngineSettings(engine="pool", workers=2, batch=3))
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
        JudgeSpec(model="m", engine="pool").check()
