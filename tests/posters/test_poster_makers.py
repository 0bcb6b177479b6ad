"""Made sets: the same bytes however they are drawn, nothing drawn over, truths dealt evenly, texts as set."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from salon.bench import GENERATION, GROUPS, TASKS, task_named
from salon.bench.posters.files import open_file
from salon.bench.posters.make import MADE, make_tasks, sheets
from salon.bench.posters.make.items import FAMILIES, WORDS, balanced_choice, line_of_letters
from salon.bench.posters.make.lettering import KINDS, photograph, textured_ground
from salon.bench.posters.make.sets import make_item
from salon.bench.posters.make.sheets import CONTRASTS, HARD_TEXTURES, TILTS, font_size_ocr, hard_ocr, simple_ocr
from salon.bench.posters.tasks import FONT_SIZES
from salon.cli.main import salon as command
from salon.errors import BadFile, BadValue
from salon.render import chance, to_rgb

DRAWN = tuple(name for name in MADE if task_named(name).side == "understanding")
ONE_OF_EACH = ("hard_ocr", "font_matching", "font_effect_2", "empty_space", "composition_understanding", "gen_dense")
QUICK = ("rotation", "alignment")


def test_every_task_can_be_made() -> None:
    assert set(MADE) == {task.name for task in TASKS}


@pytest.mark.parametrize("task", DRAWN)
def test_an_item_is_a_function_of_task_number_and_seed(task: str) -> None:
    one, again, other = make_item(task, 1, 5), make_item(task, 1, 5), make_item(task, 1, 6)
    assert one.pixels.tobytes() == again.pixels.tobytes()
    assert one.record("n", "p") == again.record("n", "p")
    assert one.pixels.tobytes() != other.pixels.tobytes()
    assert one.pixels.dtype == np.uint8
    assert one.pixels.shape[2] == 3


def test_workers_do_not_change_a_byte_and_a_larger_set_begins_with_the_smaller(tmp_path: Path) -> None:
    make_tasks(tmp_path / "two", ONE_OF_EACH, 2, 4, processes=2)
    make_tasks(tmp_path / "one", ONE_OF_EACH, 1, 4, processes=1)
    for task in ONE_OF_EACH:
        large, small = (open_file(tmp_path / name / task_named(task).place).records for name in ("two", "one"))
        assert large[:1] == small
    pictures = sorted(path.relative_to(tmp_path / "one") for path in (tmp_path / "one").rglob("*.png"))
    assert len(pictures) == len(ONE_OF_EACH) - 1  # prompts have none
    for path in pictures:
        assert (tmp_path / "one" / path).read_bytes() == (tmp_path / "two" / path).read_bytes()


# -- folders -------------------------------------------------------------------------------------------------------


def test_complete_tasks_are_refused_or_left_as_they_are(tmp_path: Path) -> None:
    place = tmp_path / task_named("rotation").place
    make_tasks(tmp_path, ["rotation"], 2, 1, processes=1)
    answered = open_file(place).edited({0: {"response": "clockwise"}})
    answered.write(place)
    with pytest.raises(BadFile, match="without this task's file"):
        make_tasks(tmp_path, QUICK, 2, 1, processes=1)
    seen: list[tuple[int, int]] = []
    files = make_tasks(tmp_path, QUICK, 2, 1, resume=True, progress=lambda *both: seen.append(both), processes=1)
    assert seen == [(1, 2), (2, 2)]
    assert [path.name for path in files] == ["rotation.json", "alignment.json"]
    assert open_file(place).records == answered.records


@pytest.mark.parametrize(("n", "seed"), [(3, 1), (2, 2)])
def test_another_set_is_not_resumed(n: int, seed: int, tmp_path: Path) -> None:
    make_tasks(tmp_path, ["rotation"], 2, 1, processes=1)
    with pytest.raises(BadFile, match="needed to resume"):
        make_tasks(tmp_path, ["rotation"], n, seed, resume=True, processes=1)


def test_nothing_is_drawn_into_a_folder_with_other_things(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(BadFile, match="new or empty folder"):
        make_tasks(tmp_path, QUICK, 1, 0, processes=1)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize(
    ("tasks", "n", "seed"), [([], 1, 0), (["rotation"], 0, 0), (["rotation"], 1, -1), (["handstand"], 1, 0)]
)
def test_bad_orders_draw_nothing(tasks: list[str], n: int, seed: int, tmp_path: Path) -> None:
    with pytest.raises(BadValue):
        make_tasks(tmp_path / "set", tasks, n, seed, processes=1)
    assert not (tmp_path / "set").exists()


def test_the_command_takes_groups_and_says_what_it_made(tmp_path: Path) -> None:
    order = ["bench", "posters", "make", str(tmp_path / "set"), "--task", "rating", "--task", "rotation", "-n", "1"]
    done = CliRunner().invoke(command, [*order, "--workers", "1", "--json"], catch_exceptions=False)
    assert '"tasks": [\n    "overall_rating",\n    "rotation"\n  ]' in done.output
    assert (tmp_path / "set/und_task/overall_rating.json").is_file()
    with pytest.raises(BadFile):
        CliRunner().invoke(command, [*order, "--workers", "1"], catch_exceptions=False)
    resumed = CliRunner().invoke(command, [*order, "--workers", "1", "--resume"], catch_exceptions=False)
    assert "2 tasks of 1 items" in resumed.output


def test_help_names_every_task_and_group() -> None:
    words = CliRunner().invoke(command, ["bench", "posters", "make", "--help"]).output.split()
    assert {*MADE, *GROUPS, GENERATION} <= set(words)


# -- balance -------------------------------------------------------------------------------------------------------


def test_cards_are_dealt_evenly_in_every_pack() -> None:
    for options in ("AB", "ABCD", "ABCDEFGHI"):
        cards = [balanced_choice(options, number, 3, "task") for number in range(20 * len(options))]
        for start in range(0, len(cards), len(options)):
            assert Counter(cards[start : start + len(options)]) == Counter(options)
        assert cards[: len(options)] * 20 != cards  # packs are shuffled anew


def test_cards_of_one_kind_do_not_tell_those_of_another() -> None:
    """Letter and effect of 1,800 items: a chi-square on 3 x 8 degrees of freedom stays below its 99.9% point, 51.2."""
    counts = np.zeros((4, 9))
    for number in range(1800):
        counts[
            balanced_choice(range(4), number, 0, "font_effect", "letter"),
            balanced_choice(range(9), number, 0, "font_effect", "effect"),
        ] += 1
    assert ((counts - 50) ** 2 / 50).sum() < 51.2


# -- reading -------------------------------------------------------------------------------------------------------


def bands(ink: np.ndarray, gap: int = 3) -> list[tuple[int, int]]:
    """First and last row of each stretch of rows with ink, apart by more than `gap` rows."""
    rows = np.flatnonzero(ink.any(axis=1))
    cuts = np.flatnonzero(np.diff(rows) > gap)
    return list(zip(rows[[0, *(cuts + 1)]].tolist(), rows[[*cuts, -1]].tolist()))


def ink_of(pixels: np.ndarray) -> np.ndarray:
    """Where the picture is not of the color of its upper left corner."""
    return (pixels != pixels[0, 0]).any(axis=2)


@pytest.mark.parametrize("number", [0, 1])
def test_plain_lines_are_as_many_as_the_truth_says(number: int) -> None:
    made = simple_ocr(number, 2)
    assert len(bands(ink_of(made.pixels), 12)) == len(made.truth["gt"]) == 5


def test_sizes_are_those_that_are_named() -> None:
    """Six lines at a leading of 1.3: the ink spans five leadings and about one size, and is never cut."""
    items = [font_size_ocr(number, 1) for number in range(14)]
    assert sorted(item.subtask for item in items) == list(FONT_SIZES)
    for item in items:
        rows = np.flatnonzero(ink_of(item.pixels).any(axis=1))
        size, high = item.subtask, rows[-1] - rows[0] + 1
        assert 5 * 1.3 * size + 0.5 * size < high < 5 * 1.3 * size + 1.3 * size, size
        assert rows[-1] < item.pixels.shape[0] - 10
        assert len(item.truth["gt"]) == 6


def test_knobs_of_hard_lines_are_what_they_say() -> None:
    items = [hard_ocr(number, 0) for number in range(8)]
    for name, options in (
        ("texture", HARD_TEXTURES),
        ("contrast", CONTRASTS),
        ("tilt", tuple({abs(t) for t in TILTS})),
    ):
        assert {item.difficulty[name] for item in items} == set(options)
    assert {item.truth["background"] for item in items} == set(KINDS)
    for item in items:
        assert len(item.truth["gt"]) == len(item.truth["text_color"]) == 5
        for text, face, ink in zip(item.truth["gt"], item.truth["font"], item.truth["text_color"]):
            assert text == text.upper() or not FAMILIES[face.split(":")[0]].caps
            assert (item.pixels == to_rgb(ink)).all(axis=2).sum() > 100


def test_no_hard_line_leaves_the_sheet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Turned as far as they are, all lines stand on the sheet: none of its edges is inked."""
    monkeypatch.setattr(sheets, "photograph", lambda width, height, *_: np.full((height, width, 3), 255.0))
    for number in range(10):
        ink = (hard_ocr(number, 1).pixels < 250).any(axis=2)
        assert not ink[[0, -1]].any()
        assert not ink[:, [0, -1]].any()


def test_grounds_are_textured_as_much_as_they_say() -> None:
    """The spread of light grows with the texture; none of it is one color only."""
    for kind in KINDS:
        spread = [float(photograph(300, 200, kind, texture, chance(0, kind)).std()) for texture in (0, *HARD_TEXTURES)]
        assert spread == sorted(spread)
        assert spread[-1] > 25
    plain, rough = (textured_ground(60, 40, "#336699", texture, chance(0, "ground")) for texture in (0.0, 0.4))
    assert (plain == (0x33, 0x66, 0x99)).all()
    assert rough.std(axis=(0, 1)).min() > 3


def test_letters_have_no_order_and_can_be_told_apart() -> None:
    rng = chance(0, "letters")
    lines = [line_of_letters(rng, 12, 20) for _ in range(300)]
    assert all(12 <= len(line) <= 20 for line in lines)
    text = "".join(lines).replace(" ", "")
    assert not set(text) & set("ilo1IOL0")
    counts = Counter(text.lower())
    assert len(counts) == 23
    assert max(counts.values()) < 3 * min(counts.values())
    words = {word.lower() for line in lines for word in line.split()}
    assert not words & set(WORDS)
