"""A suite as a folder: what is written is read again, and what is frozen cannot change unseen."""

from __future__ import annotations

from pathlib import Path

import pytest
from beside import Beside
from suite_example import small_suite, with_reference

from salon.bench import lock_suite, open_suite, save_suite, suite_folder
from salon.bench.suite_folder import FILES, hide
from salon.errors import BadFile, BadValue, UnknownReference


@pytest.fixture
def frozen(tmp_path: Path) -> Path:
    save_suite(with_reference(small_suite()), tmp_path / "suite")
    lock_suite(tmp_path / "suite")
    return tmp_path / "suite"


def test_what_is_written_is_read(frozen: Path) -> None:
    suite = small_suite()
    found = open_suite(frozen)
    assert (found.card, found.tags, found.prompts, found.points, found.routes) == (
        suite.card, suite.tags, suite.prompts, suite.points, suite.routes,
    )  # fmt: skip
    assert found.reference == with_reference(suite).reference
    assert found.frozen
    assert set(found.hashes) == set(FILES)


def test_line_ends_order_of_keys_and_spelled_out_defaults_do_not_matter(frozen: Path) -> None:
    before = open_suite(frozen).hash
    for path in frozen.glob("*.*"):
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    lines = (frozen / "tags.toml").read_text().splitlines()
    (frozen / "tags.toml").write_text("\n".join(line for line in lines if line not in ("eps = true", 'why = ""')))
    first = '{"tag": "color", "private": false, "text": "poster number 0", "id": "p0"}'
    rest = (frozen / "prompts.jsonl").read_text().splitlines()[1:]
    (frozen / "prompts.jsonl").write_text("\n".join([first, *rest]) + "\n\n")
    assert open_suite(frozen).hash == before


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("suite.toml", "images = 1", "images = 2"),
        ("tags.toml", "Color", "Colour"),
        ("prompts.jsonl", "number 0", "number zero"),
        ("points.jsonl", "is it red?", "is it green?"),
        ("routes.toml", "eye", "ear"),
        ("reference.json", '"value": 0.0', '"value": 0.1'),
    ],
)
def test_a_frozen_suite_refuses_any_change_with_both_hashes(frozen: Path, file: str, old: str, new: str) -> None:
    expected = open_suite(frozen).hashes[file]
    text = (frozen / file).read_text()
    assert old in text
    (frozen / file).write_text(text.replace(old, new, 1))
    with pytest.raises(BadFile, match="frozen suite stays as it was") as error:
        open_suite(frozen)
    assert expected[:16] in error.value.needed
    assert len(error.value.found or "") == 16
    assert error.value.found != expected[:16]


def test_two_that_freeze_with_different_references_leave_a_suite_that_opens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_suite(small_suite(), tmp_path / "suite")
    one, two = (with_reference(small_suite(), [value] * len(small_suite().prompts)).reference for value in (0.5, 1.5))
    refused: list[BadFile] = []

    def second() -> None:
        try:
            lock_suite(tmp_path / "suite", two)
        except BadFile as error:
            refused.append(error)

    other, write = Beside(second, monkeypatch), suite_folder._write

    def written(path: Path, text: str) -> None:
        if path.name == suite_folder.LOCK and not other.thread.ident:
            other.begin()  # the first one's reference is there, its lock not yet
        write(path, text)

    monkeypatch.setattr(suite_folder, "_write", written)
    lock_suite(tmp_path / "suite", one)
    other.end()
    assert open_suite(tmp_path / "suite").reference == one
    assert "not frozen is needed" in str(refused[0])


def test_a_frozen_suite_misses_its_reference(frozen: Path) -> None:
    (frozen / "reference.json").unlink()
    with pytest.raises(BadFile, match=r"reference.json"):
        open_suite(frozen)


def test_a_frozen_suite_is_not_written_over(frozen: Path) -> None:
    before = open_suite(frozen)
    with pytest.raises(BadFile, match="new folder"):
        save_suite(small_suite(images=3), frozen)
    save_suite(before, frozen)
    assert open_suite(frozen) == before


# -- private prompts ---------------------------------------------------------------------------------------------------


@pytest.fixture
def kept(tmp_path: Path) -> tuple[Path, Path]:
    """A suite whose first prompt is private, and its keeper's file."""
    suite = small_suite()
    suite, texts = hide(suite, ["p0"])
    save_suite(suite, tmp_path / "suite")
    keeper = tmp_path / "private.jsonl"
    keeper.write_text(texts[0].model_dump_json(exclude_none=True) + "\n")
    return tmp_path / "suite", keeper


def test_a_private_text_is_in_no_file_and_comes_back_with_the_keepers(kept: tuple[Path, Path]) -> None:
    folder, keeper = kept
    assert not any("poster number 0" in path.read_text() for path in folder.iterdir())
    without, filled = open_suite(folder), open_suite(folder, private=keeper)
    assert without.closed == without.private == filled.private == {"p0"}
    assert not filled.closed
    assert filled.prompts[0].prompt.view() == "poster number 0"
    assert [point.text for point in without.points[:3]] == [None, None, "is it red?"]
    assert filled.points == small_suite().points
    assert filled.hash == without.hash


def test_another_text_than_the_digests_is_refused(kept: tuple[Path, Path]) -> None:
    folder, keeper = kept
    whole = keeper.read_text()
    keeper.write_text(whole.replace("number 0", "number nought"))
    with pytest.raises(BadValue, match="with the digest"):
        open_suite(folder, private=keeper)
    keeper.write_text(whole.replace("is it large?", "is it small?"))
    with pytest.raises(BadValue, match="with the digest"):
        open_suite(folder, private=keeper)
    keeper.write_text(whole.replace('"p0"', '"p1"'))
    with pytest.raises(UnknownReference, match="private prompts"):
        open_suite(folder, private=keeper)
    keeper.write_text("")
    with pytest.raises(BadFile, match="text of private prompt 'p0'"):
        open_suite(folder, private=keeper)


@pytest.mark.parametrize(("file", "told"), [("prompts.jsonl", '"text": "shown"'), ("points.jsonl", '"text": "shown"')])
def test_a_private_text_in_a_public_file_is_refused(kept: tuple[Path, Path], file: str, told: str) -> None:
    path = kept[0] / file
    path.write_text(path.read_text().replace("}", f", {told}}}", 1))
    with pytest.raises(BadValue, match="only in the keeper's file"):
        open_suite(kept[0])


def test_an_unknown_place_names_the_built_in_suites(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="suite is needed"):
        open_suite(tmp_path)
    with pytest.raises(BadFile, match="nothing there"):
        open_suite("no-such-suite")
