"""Texts are scored by what the prompt asked for: plain words without punctuation, or the text exactly as it stands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from public_files import made

from salon.bench import PosterFile, PosterScoreSettings, find_files, score_files, task_named
from salon.bench.posters.answers_text import is_exact, match_texts
from salon.bench.posters.compat import clean
from salon.bench.posters.contestants import fill_responses
from salon.bench.posters.files import new_file
from salon.bench.posters.make.sets import make_item

QUICK = PosterScoreSettings(draws=100)
PLAIN = "Read the picture; give the words only, without punctuation or symbols."
EXACT = "Write down the text exactly as it stands, with capitals and punctuation."
OCR = ("logo_ocr", "poster_ocr", "simple_ocr", "hard_ocr", "font_size_ocr")
TEXTS = ["# Late Supper", "3. 09. 2017", "- QUIET PIER -", "slow\rmornings", "slow", "25$", "&", "--------", "ON/OFF",
         "on/off", "A", "BC", "ABC", "  \tO'ER  ", "7", ">>> GO"]  # fmt: skip


def asked(name: str, prompt: str, n: int = 14) -> PosterFile:
    records = [record | {"prompt": prompt} for record in made(name, n).records]
    if name == "poster_ocr":
        records = [record | {"texts": TEXTS} for record in records]
    return new_file(task_named(name), records)


def figure(file: PosterFile) -> float:
    metric = score_files([file], QUICK).tasks[0].metrics[0]
    assert metric.figure is not None
    return metric.figure.value


def said(file: PosterFile, change: object) -> PosterFile:
    """The perfect answers, changed."""
    perfect = fill_responses(file, "perfect")
    return file.edited({item.number: {"response": change(item.response)} for item in perfect.items})  # type: ignore[operator]


@pytest.mark.parametrize("prompt", [PLAIN, EXACT, "Read it."])
@pytest.mark.parametrize("name", OCR)
def test_perfect_is_one_under_any_prompt(name: str, prompt: str) -> None:
    file = asked(name, prompt)
    assert figure(fill_responses(file, "perfect")) == 1
    if name != "logo_ocr":
        assert figure(said(file, lambda text: json.dumps(text.split("\n")))) == 1


@pytest.mark.parametrize("name", OCR)
def test_who_leaves_out_punctuation_as_asked_loses_nothing(name: str) -> None:
    def obey(text: str) -> str:
        return "\n".join(" ".join(word for part in line.split() if (word := clean(part))) for line in text.split("\n"))

    file = asked(name, PLAIN)
    letters = [record | {"gt": "Brand 1 & Sons!"} for record in file.records] if name == "logo_ocr" else file.records
    file = new_file(task_named(name), letters)
    assert figure(said(file, obey)) == 1
    if name in ("logo_ocr", "poster_ocr"):
        assert figure(said(file, lambda text: obey(text).lower())) == 1  # nothing was said of capitals
    strict = new_file(task_named(name), [record | {"prompt": EXACT} for record in file.records])
    assert figure(said(strict, obey)) < 1 or name not in ("logo_ocr", "poster_ocr")


def test_our_own_prompts_ask_for_the_text_as_it_stands() -> None:
    for name in OCR:
        assert is_exact(make_item(name, 0, 1).record("a", "a.png")["prompt"]), name
    assert not is_exact("Extract exactly the words, leaving out all punctuation marks and symbols.")


def test_plain_texts_are_still_whole_words_that_serve_once() -> None:
    assert match_texts(["A", "7"], ["SALE 17"], exact=False) == [False, False]
    assert match_texts(["Sale!", "SALE"], ["sale"], exact=False) == [True, False]
    assert match_texts(["3. 09. 2017", "NEW-YORK"], ["3092017 new york"], exact=False) == [True, True]
    assert match_texts(["限时特价"], ["限时，特价"], exact=False) == [True]


@pytest.mark.data
def test_perfect_and_obedient_are_one_on_the_miniature_of_the_public_files(salon_peers: Path) -> None:
    home = salon_peers / "posteriq"
    perfect = [fill_responses(file, "perfect") for file in find_files([home])]
    for files in (perfect, find_files([home / "answers" / f"perfect_{kind}.json" for kind in ("bench", "score")])):
        for task in score_files(files, QUICK).tasks:
            assert (task.missing, task.unread, task.owed) == (0, {}, 0), task.task
            for metric in task.metrics:
                assert metric.figure is not None
                ideal = 0 if metric.better == "low" else 1
                assert metric.figure.value == pytest.approx(ideal, abs=1e-9 if files is perfect else 1e-4), metric.id
    obedient = {
        task.task: task for task in score_files(find_files([home / "answers/obedient_bench.json"]), QUICK).tasks
    }
    for name in OCR:
        assert obedient[name].metrics[0].figure.value == 1, name  # type: ignore[union-attr]
