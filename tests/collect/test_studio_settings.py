"""studio.toml: what it may say, and errors that name the key."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from studios import studio, study

from salon.collect import StudioSettings
from salon.collect.plan import make_plan, study_design
from salon.collect.settings import PairDesign, Phase, read_settings
from salon.errors import BadFile, BadValue, DesignError, SalonError, UnknownReference

PPAINT = """
seed = 7
[[cohorts]]
id = "painters"
[[cohorts.phases]]
id = "ratings"
protocol = "rate"
criteria = ["overall", "type"]
together = true
[[cohorts.phases]]
id = "pairs"
protocol = "compare"
criteria = ["overall", "type"]
together = true
ties = true
rest_hours = 48
[cohorts.phases.design]
kind = "fraction"
pairs = 612
"""


def test_a_file_is_read_with_the_papers_defaults() -> None:
    settings = read_settings(PPAINT)
    ratings, pairs = settings.cohorts[0].phases
    assert (ratings.repeats, ratings.gap, pairs.repeats, pairs.gap) == (10, 5, 30, 10)
    times = settings.times
    assert (times.prompt, times.compare, times.rate, times.guidelines) == (20, 0, 0, 0), (
        "nobody waits unless the owner says so"
    )
    assert pairs.design.pairs_of(50) == 612
    assert pairs.screens == (("overall", "type"),)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (PPAINT.replace('"rate"', '"stare"'), "cohorts[0].phases[0].protocol"),
        (PPAINT.replace("612", "0"), "cohorts[0].phases[1].design.pairs"),
        (PPAINT.replace("ties = true", "tyes = true"), "cohorts[0].phases[1].tyes"),
        (PPAINT + "[times]\nrate = -1", "times.rate"),
        (PPAINT + "[qualification]\nright = 30", "qualification: right (30)"),
        (PPAINT + "[qualification]", "needs as many [[gold]], found 0"),
        (PPAINT.replace('id = "pairs"', 'id = "ratings"'), "two phases of one cohort have the id 'ratings'"),
        ("seed = 1", "cohorts: Field required"),
    ],
)
def test_a_mistake_is_named_by_its_key(text: str, key: str) -> None:
    with pytest.raises(BadValue) as error:
        read_settings(text)
    assert key in error.value.needed
    assert error.value.where == "studio.toml"


def test_what_is_not_toml_is_a_bad_file() -> None:
    with pytest.raises(BadFile):
        read_settings("cohorts = [")


@pytest.mark.parametrize(
    "phase",
    [
        {"protocol": "checklist"},
        {"protocol": "rate", "design": {"kind": "adaptive"}},
        {"protocol": "rate", "stop": {"kind": "agreement"}},
        {"protocol": "compare", "design": {"kind": "adaptive"}},
        {"protocol": "compare", "stop": {"least": 5, "most": 3}},
        {"protocol": "regions", "grid": [0, 3]},
        {"protocol": "rate", "criteria": ["a", "a"]},
    ],
)
def test_phases_that_make_no_sense_are_refused(phase: dict) -> None:
    with pytest.raises(BadValue):
        Phase.parse({"id": "x", "criteria": ["a"]} | phase)


def test_a_fraction_always_connects_and_never_exceeds_all_pairs() -> None:
    assert PairDesign(kind="fraction", fraction=0.01).pairs_of(10) == 9
    assert PairDesign(kind="fraction", pairs=1000).pairs_of(10) == 45
    assert PairDesign().pairs_of(4) == 6


@pytest.mark.parametrize(
    ("settings", "error", "key"),
    [
        (studio({"criteria": ["beauty"]}), UnknownReference, "cohorts[0].phases[0].criteria"),
        (studio(gold=1), UnknownReference, "gold[0].items"),
        (studio({"prompts": {"number": 9}}), DesignError, "prompts.number"),
    ],
)
def test_settings_that_do_not_fit_the_study_are_named(
    settings: StudioSettings, error: type[SalonError], key: str
) -> None:
    with pytest.raises(error) as found:
        make_plan(study(), settings)
    assert key in found.value.needed


def test_a_phase_with_nothing_to_ask_is_refused() -> None:
    with pytest.raises(DesignError, match="something to ask"):
        make_plan(study(prompts=2, items=1), studio())


@pytest.mark.parametrize(
    ("phase", "kind", "stop"),
    [
        ({}, "complete", "fixed"),
        ({"design": {"kind": "fraction"}}, "fraction", "fixed"),
        ({"questions_each": 3}, "fraction", "fixed"),
        ({"stop": {"kind": "fixed"}}, "fraction", "fixed"),
        ({"stop": {"kind": "agreement"}}, "fraction", "until_confidence"),
        ({"design": {"kind": "adaptive"}, "stop": {"kind": "fixed"}}, "adaptive", "fixed"),
        ({"protocol": "rank"}, "merge_ranking", "fixed"),
        ({"protocol": "rank", "ranking": "drag"}, "complete", "fixed"),
    ],
)
def test_the_study_says_how_it_was_collected(phase: dict, kind: str, stop: str) -> None:
    design = study_design(studio(phase))
    assert (design.kind, design.stop, design.order_randomized) == (kind, stop, True)


def test_the_example_in_the_docs_is_read() -> None:
    page = Path(__file__).parents[2] / "docs/methods/collecting.md"
    (example,) = re.findall(r"^```toml\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    settings = read_settings(example)
    assert settings.cohorts[0].phases[1].rest_hours == 48
    with pytest.raises(BadValue, match=r"cohorts\[0\]\.phases\[1\]\.design\.pairs: Input should be greater"):
        read_settings(example.replace("612", "0"))


def test_every_field_is_described() -> None:
    seen, waiting = set(), [StudioSettings]
    while waiting:
        model = waiting.pop()
        for name, field in model.model_fields.items():
            assert field.description, f"{model.__name__}.{name}"
            for part in (field.annotation, *getattr(field.annotation, "__args__", ())):
                if hasattr(part, "model_fields") and part not in seen:
                    seen.add(part)
                    waiting.append(part)
    assert Phase in {Phase, *seen}
