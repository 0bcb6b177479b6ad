"""Others write while a judge or a scorer does: a study that is saved, the same judge, another scorer of that name."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from beside import Beside
from judged_study import saved, shown

from salon import store
from salon.errors import BadValue
from salon.judge import (
    SCORE_COLUMNS,
    JudgeSettings,
    ScriptedVlm,
    judge_names,
    judge_study,
    read_record,
    read_scores,
    write_scores,
)
from salon.judge.reply_storage import CachedVlm
from salon.store import folder as study_folder, open_study, save_study, write_json
from salon.study import Signature


class Plain:
    """A scorer as far as a table of its scores needs one."""

    def __init__(self, name: str, method: str) -> None:
        self.name, self.signature = name, Signature(method=method)


def better(asked) -> str:
    return json.dumps({"verdict": "A" if shown(asked)[0] < shown(asked)[1] else "B"})


def judge(folder: Path, vlm=None, limit: int | None = None) -> None:
    judge_study(open_study(folder), folder, vlm or ScriptedVlm("judge", better), JudgeSettings(limit=limit))


def table(value: float) -> pa.Table:
    return pa.table({"item": ["x"], "value": [value], "sigma": [None], "unscored": [None]}, SCORE_COLUMNS)


def remembered(folder: Path) -> None:
    judge(folder, CachedVlm(ScriptedVlm("slow", better), folder / "judges/slow.replies.jsonl"))


def scored(folder: Path) -> None:
    write_scores(folder / "scores/one.parquet", Plain("one", "a"), table(1.0), reused=0, data="")


@pytest.mark.parametrize(
    ("act", "left"),
    [
        (judge, ("judges/judge/judge.json", "judges/judge/verdicts.parquet")),
        (remembered, ("judges/slow.replies.jsonl", "judges/slow/judge.json")),
        (scored, ("scores/one.parquet", "scores/one.json")),
    ],
)
def test_what_is_written_while_the_study_is_saved_stays(
    act: Callable[[Path], None], left: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, keep = tmp_path / "s", study_folder._add_tree
    study = saved(home)
    other = Beside(lambda: act(home), monkeypatch)

    def copied(old: Path, new: Path, **options: Any) -> None:
        keep(old, new, **options)
        other.begin()  # everything is copied, and the new folder not yet in its place

    monkeypatch.setattr(study_folder, "_add_tree", copied)
    save_study(study, home, overwrite=True)
    other.end()
    assert [name for name in left if not (home / name).stat().st_size] == []
    assert open_study(home).hash == study.hash


def test_a_judge_that_ends_later_with_fewer_questions_is_refused(tmp_path: Path) -> None:
    home = tmp_path / "s"
    saved(home)

    def overtaken(asked) -> str:
        if "judge" not in judge_names(home):
            judge(home)
        return better(asked)

    with pytest.raises(BadValue, match="more questions"):
        judge(home, ScriptedVlm("judge", overtaken), limit=2)
    assert read_record(home / "judges/judge").questions == 24


def test_two_scorers_of_one_name_never_mix_table_and_card(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "same.parquet"
    other = Beside(lambda: write_scores(file, Plain("same", "b"), table(2.0), reused=0, data=""), monkeypatch)

    def told(path: Path, record: object) -> None:
        write_json(path, record)
        if threading.current_thread() is not other.thread:
            other.begin()  # the first one's card is there, its table not yet

    monkeypatch.setattr(store, "write_json", told)
    write_scores(file, Plain("same", "a"), table(1.0), reused=0, data="")
    other.end()
    assert read_scores(file).column("value").to_pylist() == [2.0]
    assert "b" in json.loads(file.with_suffix(".json").read_text())["signature"]
