"""Diagnosing by rule: what is found in drawn posters, and that the answer is one a VLM could have given."""

from __future__ import annotations

from pathlib import Path

import pytest

from salon.generate import GenerateSettings, generate_items, house_generator
from salon.judge import NoReply, Reply, Vlm, diagnosis_question, read_diagnosis
from salon.judge.measuring_judge import layout_diagnosis, pixel_diagnosis
from salon.render import Brief, asked_against, brief_prompt, with_asks
from salon.study import Diagnosis

PROMPT = brief_prompt(
    Brief(id="fair", headline="Small Press Fair", subhead="Books by hand", when="3 May", where="Mill Lane 4",
          subject="book", style="Minimalist", palette=("teal", "cream"), headline_at="top")
)  # fmt: skip
FLAWS = "low-contrast@0.7", "misspelling@0.5", "wrong-color@0.9"


@pytest.fixture(scope="module")
def posters(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One clean poster, and one with each flaw."""
    home = tmp_path_factory.mktemp("posters") / "study"
    names = ["proof", *(f"proof+{flaw}" for flaw in FLAWS)]
    settings = GenerateSettings(seed=3, size="640x905")
    generate_items([PROMPT], [house_generator(name, 1) for name in names], settings, home)
    found = {path.stem: path for path in (home / "images").rglob("*.png")}
    return {flaw: next(path for name, path in found.items() if flaw.partition("@")[0] in name) for flaw in FLAWS} | {
        "clean": found["proof-3"]
    }


def answered(vlm: Vlm, path: Path, **shown: object) -> Diagnosis:
    ((_, reply),) = vlm.reply([diagnosis_question(PROMPT, "item", path, **shown)])  # type: ignore[arg-type]
    assert isinstance(reply, Reply)
    found = read_diagnosis(reply.text, PROMPT)
    assert isinstance(found, Diagnosis)
    return found


@pytest.mark.parametrize("make", [pixel_diagnosis, layout_diagnosis])
@pytest.mark.parametrize("flaw", FLAWS)
def test_a_planted_flaw_is_found_and_asked_away(posters: dict[str, Path], flaw: str, make) -> None:
    found = answered(make("measured"), posters[flaw])
    assert flaw.partition("@")[0] in asked_against(found.prompt)
    assert found.remarks


def test_of_a_clean_poster_the_record_says_nothing_and_pixels_nothing_about_its_text(posters: dict[str, Path]) -> None:
    told = answered(layout_diagnosis("layout"), posters["clean"])
    assert told.remarks == ()
    assert told.prompt == PROMPT
    seen = answered(pixel_diagnosis("pixels"), posters["clean"])
    assert not asked_against(seen.prompt) & {"low-contrast", "misspelling", "missing-text"}


def test_shown_the_prompt_it_was_drawn_from_it_keeps_its_asks(posters: dict[str, Path]) -> None:
    drawn = with_asks(PROMPT, ["crowding"])
    found = answered(layout_diagnosis("layout"), posters[FLAWS[0]], drawn=drawn)
    assert asked_against(found.prompt) == {"crowding", "low-contrast"}
    assert asked_against(answered(layout_diagnosis("layout"), posters[FLAWS[0]]).prompt) == {"low-contrast"}


@pytest.mark.parametrize("make", [pixel_diagnosis, layout_diagnosis])
def test_a_picture_that_is_not_there_gets_no_answer(tmp_path: Path, make) -> None:
    ((_, reply),) = make("measured").reply([diagnosis_question(PROMPT, "item", tmp_path / "images" / "x" / "no.png")])
    assert isinstance(reply, NoReply)
    assert reply.kind == "broken-image"
