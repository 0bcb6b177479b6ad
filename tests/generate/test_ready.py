"""Is a study ready to be shown: each thing that may be wrong with its pictures, alone."""

from __future__ import annotations

import pytest
from dots import Dots, png

from salon.generate import GenerateSettings, ReadySettings, check_ready, generate_items
from salon.store import save_study
from salon.study import FailedPicture, GeneratedPicture, Item, Prompt, Study

PROMPTS = [Prompt(id=id, text=f"about {id}") for id in ("sea", "jazz")]


@pytest.fixture
def folder(tmp_path):
    generate_items(PROMPTS, [Dots("one"), Dots("two")], GenerateSettings(), tmp_path / "s")
    return tmp_path / "s"


def problems(folder, **settings):
    report = check_ready(folder, ReadySettings(**settings))
    assert report.ready == (not report.problems)
    return [(problem.kind, problem.where) for problem in report.problems]


def replace_picture(folder, data, name="images/sea/one-0.png"):
    (folder / name).write_bytes(data)


def test_a_finished_run_is_ready(folder):
    report = check_ready(folder)
    assert report.ready
    assert (report.items, report.prompts, report.generators) == (4, 2, ("one", "two"))
    assert [(size.width, size.height, size.items) for size in report.sizes] == [(24, 32, 4)]


def test_pictures_that_are_gone_or_broken(folder):
    (folder / "images" / "sea" / "one-0.png").unlink()
    replace_picture(folder, png(200, 200)[:90], "images/jazz/two-0.png")
    assert problems(folder) == [("no picture", "sea/one/0"), ("broken picture", "jazz/two/0")]


@pytest.mark.parametrize(
    ("size", "tolerance", "ready"),
    [((48, 64), 0, True), ((24, 33), 0.01, False), ((24, 33), 0.05, True), ((32, 24), 0.05, False)],
)
def test_aspect_ratios_agree_within_a_prompt(folder, size, tolerance, ready):
    replace_picture(folder, png(*size))
    found = problems(folder, tolerance=tolerance)
    assert found == ([] if ready else [("aspect ratio", "sea")])


def test_prompts_may_differ_in_their_aspect_ratios(folder):
    for name in ("one", "two"):
        replace_picture(folder, png(90, 20, (len(name), ord(name[0]), 0)), f"images/sea/{name}-0.png")
    assert problems(folder) == []


def test_the_same_picture_twice_is_seen_within_a_prompt_only(folder):
    same = (folder / "images" / "sea" / "two-0.png").read_bytes()
    replace_picture(folder, same, "images/jazz/one-0.png")
    assert problems(folder) == []
    replace_picture(folder, same)
    assert problems(folder) == [("same picture twice", "sea")]


def test_failed_and_missing_items(tmp_path):
    def refuse(ask):
        return FailedPicture(reason="no", kind="refused") if ask.prompt.id == "sea" else None

    generate_items(PROMPTS, [Dots("one"), Dots("two", answer=refuse)], GenerateSettings(), tmp_path / "s")
    generate_items(PROMPTS[:1], [Dots("three")], GenerateSettings(), tmp_path / "s")
    assert problems(tmp_path / "s") == [("failed", "sea/two/0"), ("missing", "jazz")]
    assert problems(tmp_path / "s", partial=True) == [("failed", "sea/two/0")]


def test_a_failure_that_was_mended_is_no_failure(tmp_path):
    broken = Dots(answer=lambda _: GeneratedPicture(image=b"nothing"))
    generate_items(PROMPTS, [broken], GenerateSettings(), tmp_path / "s")
    assert [kind for kind, _ in problems(tmp_path / "s")] == ["failed", "failed", "nothing"]
    generate_items(PROMPTS, [Dots()], GenerateSettings(), tmp_path / "s")
    assert problems(tmp_path / "s") == []


def test_items_of_other_studies_may_have_no_picture_or_one_that_is_not_theirs(tmp_path):
    items = [Item(id="sushi"), Item(id="spy", image="../secret.png")]
    (tmp_path / "secret.png").write_bytes(png())
    save_study(Study.build("s", [], tables={"items": items}, compare_within="all"), tmp_path / "s")
    assert problems(tmp_path / "s") == [("no picture", "sushi"), ("no picture", "spy")]
