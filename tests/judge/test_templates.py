"""What a judge is told: the prompt as people saw it, the criterion, its rubric, one wording; and a user's own texts."""

from __future__ import annotations

from pathlib import Path

import pytest
from judged_study import judged_study, text_of

from salon.errors import BadFile, BadValue, SalonError, UnknownReference
from salon.judge import JudgeQuestion, JudgeSettings, Messages, Reply, Templates, VerdictReader, plan_run
from salon.judge.messages import Template
from salon.study import Cohort, Comparison, Item, Prompt, Rater, Study

PAIR = JudgeQuestion(
    protocol="compare", criteria=("taste/mood",), prompt="p1", a="p1-a", b="p1-b", left="b", paraphrase=3
)


def conversation(question: JudgeQuestion = PAIR, study: Study | None = None, **settings):
    chosen = JudgeSettings(protocol=question.protocol, **settings)
    return Messages(study or judged_study(), Path("/s"), chosen, Templates.builtin()).conversation(question)


@pytest.mark.parametrize(
    ("protocol", "together"),
    [("compare", False), ("compare", True), ("rate", False), ("rate", True), ("checklist", False)],
)
def test_a_question_that_is_said_back_is_no_verdict(protocol: str, together: bool) -> None:
    """Small models repeat what they were asked; whichever option stands last was not chosen by anybody."""
    pair = {"b": "p1-b", "left": "b"} if protocol == "compare" else {}
    point = {"point": "title"} if protocol == "checklist" else {}
    criteria = ("type",) if protocol == "checklist" else ("taste/mood", "type") if together else ("taste/mood",)
    question = JudgeQuestion(protocol=protocol, criteria=criteria, prompt="p1", a="p1-a", **pair, **point)
    settings = JudgeSettings(protocol=protocol, together=together)
    text = text_of(Messages(judged_study(), Path("/s"), settings, Templates.builtin()).conversation(question))
    for said in (text, text.rpartition("\n")[2], text.rpartition(". ")[2]):
        verdicts = VerdictReader(judged_study(), settings, "parrot").verdicts(question, Reply(text=said))
        assert all(one.unparsed for one in verdicts), said
        assert all((one.outcome, one.value) == (None, None) for one in verdicts)


def test_a_comparison_has_its_four_parts_and_labels_before_the_pictures() -> None:
    asked = conversation()
    assert text_of(asked) == (
        "Compare two images under one criterion only.\n\n"
        "The prompt both were made for:\nA poster\n\nfor a {jazz} night\n\n"
        "Criterion: Mood and tone\n\n"
        "Look at the light, leave craft aside.\n\n"
        "Image A:\n[p1-b]\nImage B:\n[p1-a]\n\n"
        "Wording 3 of the mood?\n\n"
        'Answer with one JSON object and nothing else. It is {"verdict": "A"} or {"verdict": "B"}'
    )
    assert [sight.path for sight in asked.sights] == [Path("/s/images/p1-b.png"), Path("/s/images/p1-a.png")]
    assert (asked.options, asked.about, asked.decoding.temperature) == (("A", "B"), ("taste/mood",), 0)
    assert asked.shape["properties"] == {"verdict": {"type": "string", "enum": ["A", "B"]}}


def test_both_orders_differ_in_the_pictures_alone() -> None:
    one, other = (text_of(conversation(PAIR.model_copy(update={"left": left}))) for left in "ab")
    assert one != other
    assert one.replace("[p1-a]", "\0").replace("[p1-b]", "[p1-a]").replace("\0", "[p1-b]") == other


def test_a_tie_is_named_only_where_it_is_offered() -> None:
    assert "TIE" not in text_of(conversation())
    assert '{"verdict": "TIE"}' in text_of(conversation(ties=True))


def test_without_a_prompt_nothing_is_said_about_one() -> None:
    text = text_of(conversation(PAIR.model_copy(update={"prompt": None})))
    assert "prompt" not in text
    assert "\n\n\n" not in text


def test_a_rating_names_its_scale() -> None:
    asked = conversation(JudgeQuestion(protocol="rate", criteria=("taste/mood",), prompt="p2", a="p2-c"))
    text = text_of(asked)
    assert "The scale goes from 1 to 5." in text
    assert "1 poor; 2 weak; 3 fair; 4 good; 5 fine" in text
    assert asked.shape["properties"] == {"score": {"type": "number", "minimum": 1.0, "maximum": 5.0}}
    flag = conversation(JudgeQuestion(protocol="rate", criteria=("type",), prompt="p2", a="p2-c"))
    assert "one of 0, 1, 2" in text_of(flag)
    assert flag.shape["properties"]["score"]["enum"] == [0, 1, 2]


def test_several_criteria_are_described_each_with_its_key() -> None:
    both = PAIR.model_copy(update={"criteria": ("taste/mood", "type")})
    asked = conversation(both, together=True)
    text = text_of(asked)
    assert 'Criterion "taste/mood": Mood and tone\nLook at the light' in text
    assert '<answer>{"taste/mood": "A|B|TIE", "type": "A|B|TIE"}</answer>' in text
    assert text.index("Image B") < text.index("<think>") < text.index("<answer>")
    assert asked.shape is None  # reasoning comes first


# -- the view people had ---------------------------------------------------------------------------------------------


def with_cohorts(*cohorts: Cohort) -> Study:
    raters = [Rater(id="ann", cohort="one"), Rater(id="bob", cohort="two")]
    tables = {
        "raters": raters,
        "comparisons": [
            Comparison(criterion="taste/mood", rater="ann", a="p1-a", b="p1-b", outcome="a"),
            Comparison(criterion="type", rater="bob", a="p1-a", b="p1-b", outcome="a"),
        ],
        "checklists": [],
    }
    return judged_study(cohorts=cohorts, tables=tables)


def test_the_prompt_is_shown_as_the_raters_of_the_criterion_saw_it() -> None:
    study = with_cohorts(Cohort(id="one", view=("intent",)), Cohort(id="two", view=("aesthetics",)))
    assert "The prompt both were made for:\nA poster\n\nCriterion" in text_of(conversation(study=study))
    of_type = PAIR.model_copy(update={"criteria": ("type",), "paraphrase": None})
    assert "made for:\nin blue\n\nCriterion" in text_of(conversation(of_type, study))
    assert "made for:\nin blue\n\nCriterion" in text_of(conversation(study=study, cohort="two"))


def test_views_that_differ_need_a_word_from_the_user() -> None:
    study = with_cohorts(Cohort(id="one", view=("intent",)), Cohort(id="two", view=("aesthetics",)))
    both = PAIR.model_copy(update={"criteria": ("taste/mood", "type")})
    with pytest.raises(BadValue, match="--cohort"):
        conversation(both, study, together=True)
    with pytest.raises(UnknownReference, match="'three'"):
        conversation(study=study, cohort="three")


def test_where_cohorts_of_one_criterion_differ_the_criterion_decides_and_the_run_says_so(tmp_path: Path) -> None:
    cohorts = (Cohort(id="one", view=("intent",)), Cohort(id="two", view=("aesthetics",)))
    pair = {"criterion": "taste/mood", "a": "p1-a", "b": "p1-b", "outcome": "a"}
    raters = [Rater(id="ann", cohort="one"), Rater(id="bob", cohort="two")]
    both = [Comparison(rater=rater.id, **pair) for rater in raters]
    tables = {"raters": raters, "comparisons": both, "checklists": []}
    torn = judged_study((judged_study().criterion("taste/mood"),), cohorts=cohorts, tables=tables)
    with pytest.raises(BadValue, match="--cohort"):
        conversation(study=torn)
    own = torn.criterion("taste/mood").model_copy(update={"view": ("description",)})
    study = judged_study((own,), cohorts=cohorts, tables=tables)
    plan = plan_run(study, tmp_path, JudgeSettings(), looks=False)
    assert "for a {jazz} night\n\nCriterion" in text_of(next(plan.conversations()))
    assert "different parts of the prompt" in plan.notes[0]
    assert not plan_run(study, tmp_path, JudgeSettings(cohort="two"), looks=False).notes


def test_without_a_view_of_a_cohort_the_criterion_says_what_is_shown() -> None:
    study = judged_study(cohorts=())
    own = study.criterion("taste/mood").model_copy(update={"view": ("aesthetics",)})
    study = judged_study((own, study.criterion("type")), cohorts=())
    assert "made for:\nin blue\n\nCriterion" in text_of(conversation(study=study))


# -- a user's own texts ----------------------------------------------------------------------------------------------

OWN = '[compare]\nsystem = "Be brief."\ntext = """{image_a} {image_b} {prompt}?\n\n{question}"""\n'


def test_a_users_text_replaces_one_way_of_asking_and_the_hash_tells(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text('version = "mine"\n' + OWN)
    own = Templates.load(file)
    assert own.version == "mine"
    assert own.hash != Templates.builtin().hash
    assert own["rate"] == Templates.builtin()["rate"]
    asked = Messages(judged_study(), Path("/s"), JudgeSettings(), own).conversation(PAIR)
    assert asked.system == "Be brief."
    assert text_of(asked) == "[p1-b] [p1-a] A poster\n\nfor a {jazz} night?\n\nWording 3 of the mood?"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("not toml", BadFile),
        ('[compare]\ntext = "{image_a} {question}"', BadFile),
        ('[compare]\ntext = "{image_a} {image_b} {question} {colour}"', BadValue),
        ('[compare]\nwords = "x"', BadValue),
        ("compare = 1", BadValue),
        ('[contrast]\ntext = "x"', UnknownReference),
    ],
)
def test_bad_templates_are_told_before_anything_is_asked(tmp_path: Path, text: str, error: type[SalonError]) -> None:
    file = tmp_path / "own.toml"
    file.write_text(text)
    with pytest.raises(error, match=r"own\.toml"):
        Templates.load(file)
    with pytest.raises(BadFile):
        Templates.load(tmp_path / "none.toml")


def test_braces_in_a_value_are_only_text() -> None:
    template = Template(text="{prompt}\n\n{question}")
    assert template.filled({"prompt": "{question} {image_a}", "question": "why?"}, {}) == (
        "{question} {image_a}\n\nwhy?",
    )


def test_items_of_different_prompts_share_none() -> None:
    tables = {
        "prompts": [Prompt(id="p1", text="one"), Prompt(id="p2", text="two")],
        "items": [Item(id="x", prompt="p1", category="c"), Item(id="y", prompt="p2", category="c")],
        "raters": [Rater(id="ann")],
        "comparisons": [Comparison(criterion="type", rater="ann", a="x", b="y", outcome="a")],
        "checklists": [],
    }
    study = judged_study((judged_study().criterion("type"),), compare_within="category", tables=tables)
    asked = JudgeQuestion(protocol="compare", criteria=("type",), a="x", b="y", left="a")
    assert "prompt" not in text_of(conversation(asked, study))
