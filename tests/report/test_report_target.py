"""A page never lands on something that is not a page."""

from __future__ import annotations

from pathlib import Path

import pytest

from salon.errors import BadFile
from salon.report import GENERATOR, Page


def page() -> Page:
    return Page(title="t", subtitle="s", sections=[])


def test_a_page_says_who_made_it() -> None:
    assert GENERATOR in page().html().encode()[:2000]


def test_new_files_and_earlier_pages_are_written(tmp_path: Path) -> None:
    target = tmp_path / "new" / "page.html"
    page().write(target)
    page().write(target)
    link = tmp_path / "link.html"
    link.symlink_to(target)
    page().write(link)
    assert link.is_symlink()


@pytest.mark.parametrize("content", ["prompt,left,right\n", "", "<html><title>mine</title></html>"])
def test_other_files_are_left_alone(tmp_path: Path, content: str) -> None:
    target = tmp_path / "votes.csv"
    target.write_text(content)
    with pytest.raises(BadFile, match="over an earlier page"):
        page().write(target)
    assert target.read_text() == content


def test_folders_and_devices_are_no_target(tmp_path: Path) -> None:
    for target in (tmp_path, Path("/dev/null")):
        with pytest.raises(BadFile):
            page().write(target)
