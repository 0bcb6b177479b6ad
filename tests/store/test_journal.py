"""A journal goes on in the folder that stands in its place, however that folder came there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from salon.errors import BadFile
from salon.store import open_journal, read_journal, save_study
from salon.study import Criterion, Noun, Study


class Decided(Noun):
    what: str


TOLD = {"what": "a decision", "remedy": "remove the line"}


@pytest.mark.parametrize("links", [True, False], ids=["linked", "copied"])
def test_no_line_is_lost_when_the_study_around_it_is_saved(
    links: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise PermissionError("a file system without hard links")

    if not links:
        monkeypatch.setattr(os, "link", refused)
    study = Study.build("s", [Criterion(id="c")], tables={})
    save_study(study, tmp_path / "study")
    path = tmp_path / "study" / "loop" / "decisions.jsonl"
    path.parent.mkdir()
    with open_journal(path, Decided, **TOLD) as journal:
        for number in range(3):
            journal.add(Decided(what=str(number)))
            save_study(study, tmp_path / "study", overwrite=True)
        journal.add(Decided(what="last"))
        with pytest.raises(BadFile, match="one run at a time"), open_journal(path, Decided, **TOLD):
            pass
    assert [one.what for one in read_journal(path, Decided, **TOLD)[0]] == ["0", "1", "2", "last"]


@pytest.mark.parametrize("line", [b"3", b"[]", b'{"what": 3}', b'{"who": "x"}', b"{", b"[" * 100_000], ids=range(6))
def test_a_bad_line_is_named_with_what_to_do(line: bytes, tmp_path: Path) -> None:
    path = tmp_path / "decisions.jsonl"
    path.write_bytes(line + b"\n" + b'{"what": "good"}\n')
    with pytest.raises(BadFile, match=r"a decision is needed[\s\S]*jsonl:1[\s\S]*remove the line"):
        read_journal(path, Decided, **TOLD)


def test_a_pipe_is_no_journal(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "decisions.jsonl")
    with pytest.raises(BadFile, match="no file"), open_journal(tmp_path / "decisions.jsonl", Decided, **TOLD):
        pass
