"""The study says how it was collected, so that `salon check` applies the right laws."""

from __future__ import annotations

import pytest
import tomli_w

from salon.collect import RawAnswer, open_studio
from salon.store import open_place, save_study
from salon.study import Criterion, Design, Item, Prompt, Study

PAIRS = {"id": "main", "protocol": "compare", "criteria": ["overall"], "checks": {"repeats": 0}}
ADAPTIVE = PAIRS | {"design": {"kind": "adaptive"}, "stop": {"kind": "fixed", "raters_each": 3}}
RANKED = PAIRS | {"protocol": "rank"}


@pytest.fixture
def folder(tmp_path):
    items = [Item(id=f"i{n}", prompt="p") for n in range(4)]
    tables = {"prompts": [Prompt(id="p", text="A poster")], "items": items}
    save_study(Study.build("small", [Criterion(id="overall")], tables=tables, design=Design(note="of May")), tmp_path)
    return tmp_path


def collect(folder, *phases, answers=0):
    """Open the studio with these phases, let one rater give so many answers, and read the study."""
    settings = {"cohorts": [{"id": "c", "phases": phases}], "times": {"prompt": 0, "compare": 0}}
    (folder / "studio.toml").write_text(tomli_w.dumps(settings))
    with open_studio(folder) as studio:
        rater = studio.invite("c")[0].rater
        for n in range(answers):
            given = RawAnswer(answers={"overall": "left"})
            studio.submit(rater, studio.next(rater).id, given, key=f"{rater}-{n}")
    return open_place(folder)


@pytest.mark.parametrize(
    ("phase", "kind", "stop"),
    [
        (PAIRS, "complete", "fixed"),
        (RANKED, "merge_ranking", "fixed"),
        (ADAPTIVE, "adaptive", "fixed"),
        (PAIRS | {"stop": {"kind": "agreement"}}, "fraction", "until_confidence"),
    ],
)
def test_a_study_read_from_its_studio_names_the_design(folder, phase, kind, stop):
    design = collect(folder, phase).design
    assert (design.kind, design.stop, design.order_randomized, design.note) == (kind, stop, True, "of May")


def test_another_design_before_the_first_answer_is_all_that_is_said(folder):
    first = collect(folder, ADAPTIVE)
    again = collect(folder, PAIRS)
    assert again.design.kind == "complete"
    assert again.revision > first.revision


def test_adaptive_answers_stay_adaptive_when_the_settings_change(folder):
    collect(folder, ADAPTIVE, answers=2)
    assert collect(folder, PAIRS).design.kind == "adaptive"


def test_opening_again_changes_nothing(folder):
    with open_studio(folder) as studio:
        before = studio.database.revision()
    with open_studio(folder) as studio:
        assert studio.database.revision() == before
