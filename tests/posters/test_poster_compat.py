"""The released scoring is reproduced with its faults, each worked by hand."""

from __future__ import annotations

import json

import pytest
from public_files import ALL, EFFECTS, made

from salon.bench import PosterFile, PosterScoreSettings, score_files, task_named, with_released
from salon.bench.posters.compat import k_norm, numbers, readings, refuse_option, released_scores
from salon.bench.posters.contestants import fill_responses
from salon.bench.posters.files import new_file

QUICK = PosterScoreSettings(draws=100)


def answers(name: str, said: list[str], **fields: list) -> PosterFile:
    return made(name, len(said)).edited({i: {"response": text} for i, text in enumerate(said)})


def released(*files: PosterFile, metric: str = "score") -> tuple[float | None, int]:
    found = released_scores(files)[files[0].task.name][metric]
    return found.value, found.n


def test_font_effect_2_cannot_be_answered_perfectly() -> None:
    """125 records with 156 effects, 83 of them with a space or a hyphen, one record without any: .419."""
    plain, spaced = "stone", "gold foil"
    sizes = [1] * 100 + [2] * 16 + [3] * 8
    matched = [1] * 37 + [0] * 63 + [2] * 11 + [1] * 5 + [2] * 1 + [1] * 7
    records = [
        {"task": "font effect 2", "name": f"{i}", "path": f"{i}.png", "prompt": "?", "subtask": "x",
         "gt": ["reddish-brown" if i == 0 else "red", *[plain] * hits, *[spaced] * (size - hits)]}
        for i, (size, hits) in enumerate(zip([*sizes, 0], [*matched, 0]))
    ]  # fmt: skip
    assert sum(sizes) - sum(matched) == 83
    file = fill_responses(new_file(task_named("font_effect_2"), records), "perfect")
    # shares: 37 singles, 27/2 of doubles, 9/3 of triples = 53.5 of 124; (48 * 53.5/124 - 1)/47 = .419
    assert released(file, metric="effect")[0] == pytest.approx(0.419, abs=5e-4)
    assert released(file, metric="color")[0] == pytest.approx((16 * 124 / 125 - 1) / 15)  # .991
    ours = {one.id: one.figure.value for one in score_files([file], QUICK).tasks[0].metrics if one.figure}
    assert ours == {"color": 1.0, "effect": 1.0}


def test_style_is_the_layout_comparison() -> None:
    style = fill_responses(made("style_understanding", 17), "perfect")
    layout = answers("layout_comparison", ["A", "A", "A", "A", "A", "B"])  # gt ABABAB: 4 of 6
    assert released(style, layout)[0] == pytest.approx(k_norm(4 / 6, 17))
    assert released(style) == (None, 0)
    told = with_released(score_files([style, layout], QUICK), [style, layout])
    assert told.tasks[0].metrics[0].released == pytest.approx(k_norm(4 / 6, 17))
    assert told.tasks[0].metrics[0].figure.value == 1.0  # type: ignore[union-attr]


def test_font_effect_1_is_scored_as_nine() -> None:
    # gt ABCD: a quarter right by always A; with k = 9 chance is worth (9/4 - 1)/8 = .156
    assert released(answers("font_effect", ["A"] * 4))[0] == pytest.approx(0.15625)


def test_letters_anywhere_count() -> None:
    assert released(answers("font_attributes", ["AB"] * 4)) == (1.0, 4)
    assert released(answers("font_effect", ["ABCD"] * 4)) == (1.0, 4)
    assert released(answers("alignment", ["left-aligned center-aligned right-aligned"] * 3))[0] == 1.0
    turns = "clockwise rotation, counterclockwise rotation, no rotation"
    assert released(answers("rotation", [turns] * 3))[0] == pytest.approx(0.5)  # only clockwise is caught: 2 of 3


def test_refusals_leave_the_denominator() -> None:
    assert [refuse_option(text) for text in ("", "idonotknow", "A", "AB", "AorBthen", "AandAorB")] == [
        True, True, False, False, True, False,
    ]  # fmt: skip
    # gt ABAB; two refused, one of the rest right
    assert released(answers("font_attributes", ["no idea", "none", "A", "A"])) == (0.0, 2)
    # halves of font matching, gt AB CD: a long answer is wrong, a refusal is dropped: (1/1 + 0/2)/2
    assert released(answers("font_matching", ["A", "?", "C" * 21, "A"])) == (pytest.approx(k_norm(0.5, 9)), 3)


def test_posters_with_little_text_are_dropped() -> None:
    # texts: SUMMER SALE, from N July, a Chinese one that is cleaned to nothing and always counts, 7
    whole = "xxsummersalexx from 10 july 17"
    assert released(answers("poster_ocr", [whole, ""]), metric="share") == (pytest.approx((1 + 0.25) / 2), 2)
    records = [record | {"texts": ["SUMMER SALE", "7"]} for record in made("poster_ocr", 2).records]
    file = new_file(task_named("poster_ocr"), records).edited({0: {"response": "7"}, 1: {"response": ""}})
    assert released(file, metric="share") == (0.5, 1)


def test_word_recall_and_logos_forget_marks_and_case() -> None:
    assert released(answers("logo_ocr", ["brand 0 and söhne", "BRAND 1 sHNE"]), metric="accuracy") == (0.5, 2)
    assert released(fill_responses(made("simple_ocr"), "perfect"), metric="wr") == (1.0, 12)
    assert released(fill_responses(made("font_size_ocr", 28), "perfect"), metric="sd") == (0.0, 28)


def test_boxes_take_the_best_of_four_readings() -> None:
    assert numbers("[0, 0.5, 10.25, 1] 0.1 0.2 0.3") == [[0.5, 10.25, 0.1, 0.2]]
    assert readings([512.0, 102.4, 1024.0, 512.0], (2048, 1024))[2] == (0.5, 0.1, 1.0, 0.5)
    file = made("text_localization", 1)
    for scale in (1, 400, 1024, 1000):
        said = json.dumps([[float(f"{n * scale:.6f}") + 1e-7 for n in box] for box in file.items[0].truth[:2]])
        found = released_scores([file.edited({0: {"response": said}})])["text_localization"]
        assert found["top1"].value == pytest.approx(1, abs=1e-3)
        assert (found["mean"].n, found["recall"].value) == (2, 0.5)  # two boxes not given cost no overlap
    file = made("layout_generation", 4)
    far = file.edited({i: {"response": "" if i else "0.0 0.0 0.00001 0.00001"} for i in range(4)})
    found = released_scores([far])["layout_generation"]
    assert (found["area"].n, found["recall"].value) == (1, 0.25)


def test_a_judges_error_is_a_no_and_a_poster_not_made_is_skipped() -> None:
    file = made("intention_understanding", 2).edited({0: {"judge": ["Yes", "Error"]}, 1: {"judge": ["Yes", "Yes"]}})
    assert released(file, metric="share") == (0.75, 2)
    made_ones = made("gen_dense", 3).edited({0: {"judge": ["yes", "Yes", "yes."]}})
    assert released(made_ones, metric="share") == (pytest.approx(2 / 3), 1)
    styles = made("gen_style", 2).edited({0: {"judge": "acid graphics"}, 1: {"judge": "Cinema 4D Style."}})
    assert released(styles, metric="accuracy") == (0.5, 2)
    fonts = made("gen_font", 2).edited({0: {"judge": "serif and thin"}, 1: {"judge": "sans-serif"}})
    assert released(fonts, metric="richness") == (pytest.approx((1 + 0.5) / 37), 2)
    assert released_scores([fonts.edited({0: {"judge": ["serif"]}})])["gen_font"]["richness"].crash == "AttributeError"


def test_ratings_that_are_not_found_are_dropped() -> None:
    # gt 2, 5.5, 3, 6.5: the first number from 0 to 10 counts, also one that is no rating
    file = answers("overall_rating", ["2024: score: 2", "I cannot", "3/10", "6.5 of 8.5"])
    assert released(file, metric="pearson") == (pytest.approx(1.0), 3)


def test_patches_count_with_their_repetitions() -> None:
    file = answers("empty_space", ["[9] then [0, 1, 2, 2]"])
    assert released(file, metric="iou")[0] == pytest.approx(3 / 4)
    assert released(file, metric="match")[0] == 1.0


def test_the_whole_benchmark_in_one_report() -> None:
    files = [fill_responses(made(name, 14 if name == "font_size_ocr" else 12), "perfect") for name in ALL]
    told = with_released(score_files(files, QUICK), files)
    layout = next(one for one in told.groups if one.group == "Layout")
    assert layout.released == pytest.approx(1.0, abs=1e-6)
    font = next(one for one in told.groups if one.group == "Font")
    assert font.released < 1  # type: ignore[operator]
    assert told.overall_released < told.overall.value  # type: ignore[operator, union-attr]
    empty = [fill_responses(made(name), "empty") for name in ALL]
    assert with_released(score_files(empty, QUICK), empty).compat == "released"
    assert any("-" in one or " " in one for one in EFFECTS)
