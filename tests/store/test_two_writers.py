"""Two writers at one place: both results are kept, or one is refused in words and nothing of the other is lost."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pytest

from salon.errors import BadFile
from salon.store import (
    atomic_files as atomic,
    is_study,
    open_study,
    plain_files as plain_table,
    save_study,
    whole_folder,
    write_plain,
)
from salon.study import Item, Study


def study(name: str) -> Study:
    return Study.build(name, [], tables={"items": [Item(id="x")]})


def test_a_folder_that_appeared_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    place = tmp_path / "study"
    with pytest.raises(BadFile, match="another process put there meanwhile"), whole_folder(place):
        save_study(study("first"), place)
    assert open_study(place).name == "first"
    assert os.listdir(tmp_path) == ["study"]


def test_an_empty_folder_is_filled_by_one_of_two(tmp_path: Path) -> None:
    place = tmp_path / "study"
    place.mkdir()
    with whole_folder(place) as new:
        (new / "mine").write_text("first")
        with pytest.raises(BadFile, match="another command is writing now"):
            save_study(study("second"), place)
    assert os.listdir(place) == ["mine"]


def test_a_folder_that_is_being_replaced_is_replaced_by_one_of_two(tmp_path: Path) -> None:
    place = tmp_path / "study"
    save_study(study("old"), place)
    with whole_folder(place) as new:
        (new / "mine").write_text("first")
        with pytest.raises(BadFile, match="another command is writing now"):
            save_study(study("second"), place, overwrite=True)
        assert open_study(place).name == "old"
    assert os.listdir(place) == ["mine"]
    assert os.listdir(tmp_path) == ["study"]


def test_what_a_living_writer_moved_aside_is_not_put_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place, rename = tmp_path / "study", os.rename
    save_study(study("old"), place)
    monkeypatch.setattr(atomic, "_exchange", lambda one, other: False)

    def seen_half_way(source: Path, target: Path) -> None:
        if target == place:  # the old one stands aside, the new one is about to come
            monkeypatch.setattr(os, "rename", rename)
            with pytest.raises(BadFile, match="another command is writing now"), whole_folder(place):
                pass
        rename(source, target)

    monkeypatch.setattr(os, "rename", seen_half_way)
    with whole_folder(place) as new:
        (new / "mine").write_text("first")
    assert os.listdir(place) == ["mine"]
    assert os.listdir(tmp_path) == ["study"]


def test_a_file_that_appeared_meanwhile_is_only_replaced_when_asked_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, table = tmp_path / "scores.csv", pa.table({"item": ["x"]})

    def overtaken(*args: object) -> None:
        file.write_text("first")

    monkeypatch.setattr(plain_table.pa.csv, "write_csv", overtaken)  # while the second writes
    with pytest.raises(BadFile, match="another process put there meanwhile"):
        write_plain(table, file)
    assert file.read_text() == "first"
    write_plain(table, file, overwrite=True)
    assert file.read_text() == ""
    assert os.listdir(tmp_path) == ["scores.csv"]


def test_where_files_cannot_be_linked_they_are_written_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*args: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "link", refused)
    write_plain(pa.table({"item": ["x"]}), tmp_path / "scores.csv")
    assert os.listdir(tmp_path) == ["scores.csv"]


def test_the_root_of_the_file_system_is_no_study() -> None:
    assert not is_study("/")  # asked of every folder above one that is written to


def test_who_holds_a_place_for_good_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(atomic, "_MOST_WAIT_S", 0.1)
    with atomic.wait_turn(tmp_path):
        with pytest.raises(BadFile, match="another process has held") as refused, atomic.wait_turn(tmp_path):
            pytest.fail("two at once")
        assert str(tmp_path) in str(refused.value)
    with atomic.wait_turn(tmp_path):
        pass  # free again
