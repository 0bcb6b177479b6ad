"""The built-in criteria: complete, neutral to position, and in our own words."""

import os
import re
import tomllib
from collections import Counter
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

CRITERIA: list[dict[str, Any]] = tomllib.loads(
    files("salon.study").joinpath("criteria.toml").read_text(encoding="utf-8")
)["criterion"]

KEYS = {"id", "name", "family", "question", "rate_question", "rubric", "paraphrases", "view"}
SCALE_KEYS = {"kind", "low", "high", "step", "labels", "higher_is_better"}
FAMILIES = {"taste": 10, "ppaint": 5, "apdd": 3, "hps": 1}
OF_PAPERS = [c for c in CRITERIA if c["family"] in FAMILIES]
TASTE_VIEWS = {
    "taste/aesthetics-preference": ["intent", "aesthetics"],
    "taste/mood": ["intent", "aesthetics"],
    "taste/visual-hierarchy": ["intent", "aesthetics"],
    "taste/color-harmony": ["intent", "aesthetics"],
    "taste/aesthetics-typography": ["intent", "aesthetics"],
    "taste/descriptions-preference": ["intent", "description"],
    "taste/color-accuracy": ["intent", "description"],
    "taste/spatial-accuracy": ["intent", "description"],
    "taste/descriptions-typography": ["intent", "description"],
}

# A judge that leans towards a position must find no foothold in the text: no order, no side, no letter.
SIDES = r"left|right|first|second|former|latter|last|previous|next|top|bottom|upper|lower|above|below"
ORDER_WORDS = re.compile(rf"\b(?i:{SIDES})\b|\b(?i:image|option|design|item|painting|work) [ab]\b|\b[AB]\b|\d")

by_criterion = pytest.mark.parametrize("criterion", CRITERIA, ids=[c["id"] for c in CRITERIA])


def words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.lower())


def texts(criterion: dict[str, Any]) -> list[str]:
    own = [criterion[key] for key in ("question", "rate_question", "rubric")]
    return own + criterion["paraphrases"] + criterion.get("scale", {}).get("labels", [])


def shared_runs(text: str, known: set[tuple[str, ...]], length: int) -> list[str]:
    """Every run of `length` consecutive words of `text` that is also in `known`."""
    return [" ".join(run) for run in runs(text, length) if run in known]


def runs(text: str, length: int) -> list[tuple[str, ...]]:
    spoken = words(text)
    return [tuple(spoken[i : i + length]) for i in range(len(spoken) - length + 1)]


def test_ids_and_names_are_unique_and_the_papers_are_complete() -> None:
    assert len({c["id"] for c in CRITERIA}) == len({(c["family"], c["name"]) for c in CRITERIA}) == len(CRITERIA)
    assert Counter(c["family"] for c in OF_PAPERS) == FAMILIES


@by_criterion
def test_every_table_has_the_same_keys(criterion: dict[str, Any]) -> None:
    assert set(criterion) - {"scale"} == KEYS
    assert re.fullmatch(r"[a-z]+/[a-z]+(-[a-z]+)*", criterion["id"])
    assert criterion["id"].startswith(criterion["family"] + "/")
    for text in [criterion["name"], *texts(criterion)]:
        assert text == " ".join(text.split()), "stray white space"


@by_criterion
def test_eight_distinct_paraphrases(criterion: dict[str, Any]) -> None:
    wordings = [criterion["question"], *criterion["paraphrases"]]
    assert len(criterion["paraphrases"]) == 8
    assert len({tuple(words(w)) for w in wordings}) == 9


def test_no_wording_is_used_by_two_criteria() -> None:
    wordings = Counter(tuple(words(w)) for c in CRITERIA for w in [c["question"], *c["paraphrases"]])
    assert [" ".join(w) for w, n in wordings.items() if n > 1] == []


@by_criterion
def test_questions_are_single_questions(criterion: dict[str, Any]) -> None:
    for question in [criterion["question"], criterion["rate_question"], *criterion["paraphrases"]]:
        assert question.endswith("?")
        assert len(re.findall(r"[.!?]", question)) == 1


@by_criterion
def test_no_text_names_an_order_or_a_side(criterion: dict[str, Any]) -> None:
    for question in [criterion["question"], criterion["rate_question"], *criterion["paraphrases"]]:
        assert not ORDER_WORDS.search(question), question
    for text in texts(criterion):
        assert not re.search(rf"\b({SIDES})\b", text.lower()), text


@pytest.mark.parametrize("leaning", ["Is the left one better?", "Image B or not?", "Is A better?", "Is design b?"])
def test_the_order_words_are_recognised(leaning: str) -> None:
    assert ORDER_WORDS.search(leaning)


@by_criterion
def test_rubrics_have_three_to_six_sentences(criterion: dict[str, Any]) -> None:
    sentences = re.findall(r"[^.]+\.", criterion["rubric"])
    assert 3 <= len(sentences) <= 6
    assert "".join(sentences) == criterion["rubric"], "a rubric ends with its last sentence"
    assert "Leave aside" in criterion["rubric"] or criterion["family"] == "hps"


@by_criterion
def test_scales_are_complete(criterion: dict[str, Any]) -> None:
    scale = criterion.get("scale")
    if scale is None:
        return
    assert set(scale) == SCALE_KEYS
    levels = range(scale["low"], scale["high"] + 1, scale["step"])
    assert len(scale["labels"]) == len(levels) == len(set(scale["labels"]))
    assert all(label.endswith(".") for label in scale["labels"])


def test_scales_are_those_of_the_papers() -> None:
    scales = {c["id"]: c["scale"] for c in OF_PAPERS if "scale" in c}
    assert scales.keys() == {c["id"] for c in OF_PAPERS} - TASTE_VIEWS.keys() - {"hps/overall"}, "the rest only compare"
    flag = scales.pop("taste/hallucination")
    assert (flag["kind"], flag["low"], flag["high"], flag["higher_is_better"]) == ("ordinal", 0, 2, False)
    for name, scale in scales.items():
        assert (scale["low"], scale["high"]) == ((1, 5) if name.startswith("ppaint/") else (1, 10))
        assert scale["kind"] == "interval"
        assert scale["higher_is_better"] is True


def test_views_are_those_of_the_papers() -> None:
    views = {c["id"]: c["view"] for c in OF_PAPERS}
    for name, view in TASTE_VIEWS.items():
        assert views.pop(name) == view
    whole = ["intent", "description", "aesthetics"]
    assert views.pop("taste/hallucination") == views.pop("hps/overall") == whole
    assert set(map(tuple, views.values())) == {()}, "paintings have no prompt"


def paper_texts() -> list[Path]:
    """The papers' texts, kept in a folder `seeds` beside the data folder."""
    repository = Path(__file__).resolve().parents[2]
    data = Path(os.environ.get("SALON_DATA") or repository.parent / "shared" / "data")
    return sorted((data.parent / "seeds").glob("*.txt"))


@pytest.mark.data
def test_no_eight_words_in_a_row_come_from_a_paper() -> None:
    papers = paper_texts()
    if not papers:
        pytest.skip("the papers' texts are not here: put them in a folder `seeds` beside SALON_DATA")
    known = {run for paper in papers for run in runs(paper.read_text(encoding="utf-8"), 8)}
    assert len(known) > 10_000, "these are not the papers"
    copied = {c["id"]: [s for t in texts(c) for s in shared_runs(t, known, 8)] for c in CRITERIA}
    assert {name: found for name, found in copied.items() if found} == {}


def test_a_copied_sentence_would_be_found() -> None:
    known = set(runs("One two three four five six seven eight nine.", 8))
    assert shared_runs("He said: two three four five six seven, eight nine!", known, 8) == [
        "two three four five six seven eight nine"
    ]
    assert shared_runs("two three four five six seven eight ten", known, 8) == []
