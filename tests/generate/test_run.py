"""The matrix runner: what it makes, what it does not make again, what it says, and what survives."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from dots import Dots, png

from salon.errors import BadFile, BadValue, InputError, SalonError
from salon.generate import GenerateSettings, generate_items, item_id, read_generations
from salon.generate.record import FILE, StartPicture, open_record, slug
from salon.store import open_study, save_study
from salon.study import Comparison, Criterion, FailedPicture, GeneratedPicture, Item, Prompt, Rater, table_from_nouns

PROMPTS = [
    Prompt(id="sea", text="a poster of the sea", category="posters"),
    Prompt(id="jazz", text="a jazz night flyer"),
    Prompt(id="tea", text="a card for a tea house"),
]
ONCE = GenerateSettings()


def run(folder, *generators, prompts=PROMPTS, settings=ONCE, **rest):
    return generate_items(prompts, generators or [Dots()], settings, folder, **rest)


def lines(folder):
    return [json.loads(line) for line in (folder / FILE).read_text().splitlines()]


# -- what is made ----------------------------------------------------------------------------------------------------


def test_every_prompt_by_every_generator_and_seed_becomes_an_item(tmp_path):
    report = run(tmp_path / "s", Dots("one"), Dots("two"), settings=GenerateSettings(seeds=2, size="40x30"))
    assert (report.wanted, report.made, report.reused, report.failed) == (12, 12, 0, 0)
    assert report.cost == pytest.approx(0.12)
    study = open_study(tmp_path / "s")
    items = list(study.nouns("items"))
    assert [item.id for item in items[:4]] == ["sea/one/0", "sea/one/1", "sea/two/0", "sea/two/1"]
    assert items[0] == Item(id="sea/one/0", prompt="sea", generator="one", image="images/sea/one-0.png",
                            category="posters", source="generated")  # fmt: skip
    assert [prompt.id for prompt in study.nouns("prompts")] == ["sea", "jazz", "tea"]
    line = read_generations(tmp_path / "s")[0]["tea/two/1"]
    assert (line.width, line.height, line.layout) == (40, 30, "layouts/tea/two-1.json")
    assert line.bytes == (tmp_path / "s" / line.image).stat().st_size


def test_a_second_run_makes_nothing_again(tmp_path):
    run(tmp_path / "s", settings=GenerateSettings(seeds=3))
    before = open_study(tmp_path / "s").hash
    again = Dots()
    report = run(tmp_path / "s", again, settings=GenerateSettings(seeds=3))
    assert (report.made, report.reused, again.asked) == (0, 9, [])
    assert open_study(tmp_path / "s").hash == before
    assert len(lines(tmp_path / "s")) == 9


def test_more_prompts_generators_and_seeds_extend_a_study(tmp_path):
    run(tmp_path / "s", prompts=PROMPTS[:1])
    second = [Dots(), Dots("other")]
    report = run(tmp_path / "s", *second, settings=GenerateSettings(seeds=2))
    assert (report.made, report.reused) == (11, 1)
    assert "sea/dots/0" not in second[0].asked
    study = open_study(tmp_path / "s")
    assert study.counts == {"prompts": 3, "items": 12}
    assert study.label("items", 0) == "sea/dots/0"
    assert study.revisions[-1].reason == "generated items: +11"


@pytest.mark.parametrize(
    "change", ["picture lost", "layout lost", "picture changed", "prompt reworded", "generator changed", "size"]
)
def test_what_is_not_the_same_any_more_is_made_again(tmp_path, change):
    run(tmp_path / "s")
    prompts, settings, version = list(PROMPTS), ONCE, 1
    if change == "picture lost":
        (tmp_path / "s" / "images" / "sea" / "dots-0.png").unlink()
    if change == "layout lost":
        (tmp_path / "s" / "layouts" / "sea" / "dots-0.json").write_bytes(b"")
    if change == "picture changed":
        place = tmp_path / "s" / "images" / "sea" / "dots-0.png"
        place.write_bytes(place.read_bytes()[:-1] + b"?")
    if change == "prompt reworded":
        prompts[0] = Prompt(id="sea", text="the sea at night")
    if change == "generator changed":
        version = 2
    if change == "size":
        settings = GenerateSettings(size="64x64")
    again = Dots(version=version)
    run(tmp_path / "s", again, prompts=prompts, settings=settings)
    everything = {"generator changed", "size"}
    assert again.asked == (["tea/dots/0", "jazz/dots/0", "sea/dots/0"] if change in everything else ["sea/dots/0"])
    assert next(open_study(tmp_path / "s").nouns("prompts")).category == "posters"


def test_a_study_may_have_any_names(tmp_path):
    odd = ["a/b", "A", "a", "../../etc", "   x", "prompt " * 40, "日本", "nul", "x\ty"]
    run(tmp_path / "s", Dots("org/model:v1.0"), Dots("org"), prompts=[Prompt(id=id, text="t") for id in odd])
    items = list(open_study(tmp_path / "s").nouns("items"))
    assert len({item.id for item in items}) == len({item.image.lower() for item in items}) == 2 * len(odd)
    assert max(len(item.id) for item in items) < 200
    root = (tmp_path / "s").resolve()
    assert all((root / item.image).resolve().is_relative_to(root / "images") for item in items)
    assert item_id("a/b", "c", 0) != item_id("a", "b/c", 0)
    assert slug("sea") == "sea"


# -- what fails ------------------------------------------------------------------------------------------------------


def test_failures_are_recorded_with_their_reason_and_tried_again(tmp_path):
    refuse = Dots(
        answer=lambda ask: FailedPicture(reason="not allowed", kind="refused") if ask.prompt.id == "jazz" else None
    )
    report = run(tmp_path / "s", refuse)
    assert (report.made, report.failed, report.is_complete) == (2, 1, False)
    assert [(f.item, f.kind, f.reason) for f in report.failures] == [("jazz/dots/0", "refused", "not allowed")]
    assert open_study(tmp_path / "s").counts == {"prompts": 3, "items": 2}
    unasked = Dots()
    left = run(tmp_path / "s", unasked, settings=GenerateSettings(retry=False))
    assert (unasked.asked, left.failed, left.failures) == ([], 1, report.failures)
    fine = Dots()
    assert run(tmp_path / "s", fine).is_complete
    assert fine.asked == ["jazz/dots/0"]
    assert open_study(tmp_path / "s").counts["items"] == 3


@pytest.mark.parametrize("data", [b"", b"<html>busy</html>", png()[:40], png()[:12] + b"\0" * 40])
def test_what_is_no_picture_is_a_failure(tmp_path, data):
    report = run(
        tmp_path / "s", Dots(answer=lambda ask: GeneratedPicture(image=data), offline=False), prompts=PROMPTS[:1]
    )
    assert [failure.kind for failure in report.failures] == ["broken-image"]
    assert not list((tmp_path / "s").rglob("*.png"))


def test_an_answer_of_another_kind_is_a_failure(tmp_path):
    report = run(tmp_path / "s", Dots(answer=lambda _: "a picture"), prompts=PROMPTS[:1])
    assert "gave str" in report.failures[0].reason


class Forgetful(Dots):
    """Answers its first ask three times, an ask nobody made, and no other."""

    def make(self, asks):
        yield from [(0, self._drawn(asks[0]))] * 3
        yield 99, self._drawn(asks[0])


def test_a_generator_that_forgets_and_repeats_itself_loses_nothing(tmp_path):
    report = run(tmp_path / "s", Forgetful())
    assert (report.made, report.failed) == (1, 2)
    assert {failure.kind for failure in report.failures} == {"missing"}


@pytest.mark.parametrize("ending", [KeyboardInterrupt, SalonError("a valid key is needed"), OSError("disk full")])
def test_what_was_made_before_the_run_was_stopped_is_in_the_study(tmp_path, ending):
    def stop_at_sea(ask):
        if ask.prompt.id == "sea":
            raise ending

    with pytest.raises(ending if isinstance(ending, type) else type(ending)):
        run(tmp_path / "s", Dots(answer=stop_at_sea))
    study = open_study(tmp_path / "s")
    assert [item.id for item in study.nouns("items")] == ["jazz/dots/0", "tea/dots/0"]
    after = Dots()
    assert run(tmp_path / "s", after).is_complete
    assert after.asked == ["sea/dots/0"]


def test_an_interrupted_and_resumed_run_gives_the_same_study(tmp_path):
    run(tmp_path / "whole", Dots(), Dots("two"))

    def stop(ask):
        if ask.prompt.id == "jazz":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "cut", Dots(), Dots("two", answer=stop))
    run(tmp_path / "cut", Dots(), Dots("two"))
    assert open_study(tmp_path / "whole").hash == open_study(tmp_path / "cut").hash


# -- the record ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tail", [b'{"item": "sea/do', b'{"item": \n', b"\0" * 50])
def test_a_torn_last_line_is_said_and_made_again(tmp_path, tail):
    run(tmp_path / "s")
    path = tmp_path / "s" / FILE
    first, second, _ = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + second + tail)
    again = Dots()
    report = run(tmp_path / "s", again)
    assert again.asked == ["sea/dots/0"]
    assert any("torn" in note for note in report.notes)
    assert len(lines(tmp_path / "s")) == 3


def test_a_record_cut_off_at_any_byte_can_be_read(tmp_path):
    run(tmp_path / "s")
    data = (tmp_path / "s" / FILE).read_bytes()
    whole = read_generations(tmp_path / "s")[0]
    (tmp_path / "cut").mkdir()
    for end in range(len(data)):
        (tmp_path / "cut" / FILE).write_bytes(data[:end])
        known, note = read_generations(tmp_path / "cut")
        assert list(known.items()) == list(whole.items())[: data[:end].count(b"\n")]
        assert (note is None) == (end == 0 or data[end - 1 : end] == b"\n")


def test_a_damaged_line_in_the_middle_is_named(tmp_path):
    run(tmp_path / "s")
    path = tmp_path / "s" / FILE
    path.write_bytes(b'{"item": 3}\n' + path.read_bytes())
    with pytest.raises(BadFile, match=r"generations\.jsonl:1"):
        run(tmp_path / "s")


def test_two_runs_do_not_share_a_folder(tmp_path):
    run(tmp_path / "s", prompts=PROMPTS[:1])
    with open_record(tmp_path / "s"), pytest.raises(BadFile, match="one run at a time"):
        run(tmp_path / "s")
    assert open_study(tmp_path / "s").counts["prompts"] == 1  # the second run has changed nothing
    assert run(tmp_path / "s").reused == 1


# -- judged studies --------------------------------------------------------------------------------------------------


@pytest.fixture
def judged(tmp_path):
    """A study of three prompts and two generators in which the sea was judged."""
    folder = tmp_path / "s"
    run(folder, Dots(), Dots("two"))
    study = open_study(folder)
    answer = Comparison(criterion="c", rater="r", a="sea/dots/0", b="sea/two/0", outcome="a")
    tables = dict(study.tables) | {
        "raters": table_from_nouns("raters", [Rater(id="r")]),
        "comparisons": table_from_nouns("comparisons", [answer]),
    }
    save_study(replace(study, criteria=(Criterion(id="c"),), tables=tables), folder, overwrite=True)
    return folder


def test_judgments_stay_when_a_study_grows(judged):
    run(judged, Dots(), Dots("three"), settings=GenerateSettings(seeds=2))
    study = open_study(judged)
    assert study.counts == {"prompts": 3, "items": 15, "raters": 1, "comparisons": 1}


def test_what_others_add_while_pictures_are_made_stays(tmp_path):
    def somebody_adds_a_criterion(progress):
        if progress.made == 1:
            study = open_study(tmp_path / "s")
            save_study(replace(study, criteria=(Criterion(id="c"),)), tmp_path / "s", overwrite=True)

    report = run(tmp_path / "s", progress=somebody_adds_a_criterion)
    study = open_study(tmp_path / "s")
    assert (report.made, study.counts["items"], study.criteria[0].id) == (3, 3, "c")
    assert len(lines(tmp_path / "s")) == 3


def test_a_judged_item_keeps_its_picture(judged):
    before = (judged / "images" / "sea" / "dots-0.png").read_bytes()
    newer = Dots(version=2)
    report = run(judged, newer)
    assert newer.asked == ["tea/dots/0", "jazz/dots/0"]
    assert (judged / "images" / "sea" / "dots-0.png").read_bytes() == before
    assert any("1 judged items keep" in note for note in report.notes)


def test_a_judged_picture_that_is_gone_comes_back_only_as_itself(judged):
    place = judged / "images" / "sea" / "dots-0.png"
    before = place.read_bytes()
    place.unlink()
    report = run(judged, Dots(version=2), prompts=PROMPTS[:1])
    assert [failure.kind for failure in report.failures] == ["gone"]
    assert not place.exists()
    assert run(judged, Dots(), prompts=PROMPTS[:1]).made == 1
    assert place.read_bytes() == before
    assert open_study(judged).counts["items"] == 6


def test_a_judged_prompt_may_not_be_reworded(judged):
    with pytest.raises(BadValue, match="must stay as it was"):
        run(judged, prompts=[Prompt(id="sea", text="something else")])


# -- what is refused before anything is spent ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("generator", "settings", "image", "said"),
    [
        (Dots(sizes=((512, 512), (1024, 1024))), GenerateSettings(size="100x100"), None, "512x512, 1024x1024"),
        (Dots(), ONCE, b"picture", "starts from a picture"),
        (Dots(text_to_image=False, image_to_image=True), ONCE, None, "--image"),
        (Dots(), GenerateSettings(strength=0.5), None, "--strength"),
    ],
)
def test_abilities_are_checked_first(tmp_path, generator, settings, image, said):
    starts = image and {prompt.id: StartPicture(image=image) for prompt in PROMPTS}
    with pytest.raises(BadValue, match=said):
        run(tmp_path / "s", Dots("able", image_to_image=True), generator, settings=settings, starts=starts)
    assert not (tmp_path / "s").exists()


def test_names_must_differ_and_something_must_be_asked(tmp_path):
    with pytest.raises(BadValue, match="each prompt may stand once"):
        run(tmp_path / "s", prompts=[*PROMPTS, PROMPTS[0]])
    with pytest.raises(BadValue, match="each generator may stand once"):
        run(tmp_path / "s", Dots(), Dots())
    with pytest.raises(InputError, match="at least one prompt"):
        run(tmp_path / "s", prompts=[])


def test_other_peoples_folders_and_items_are_left_alone(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "diary.txt").write_text("private")
    with pytest.raises(BadFile, match="other files"):
        run(tmp_path / "mine")
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["diary.txt"]
    run(tmp_path / "s", prompts=PROMPTS[:1])
    study = open_study(tmp_path / "s")
    foreign = [*study.nouns("items"), Item(id="jazz/dots/0")]
    save_study(replace(study, tables=dict(study.tables) | {"items": table_from_nouns("items", foreign)}),
               tmp_path / "s", overwrite=True)  # fmt: skip
    with pytest.raises(BadValue, match="ids of their own"):
        run(tmp_path / "s")


@pytest.mark.parametrize("size", ["big", "10x10", "1024", "99999x100", "1024x-5", "1024x1024x3", ""])
def test_sizes_that_make_no_sense_are_refused(size):
    with pytest.raises(ValueError, match="size"):
        GenerateSettings(size=size)
