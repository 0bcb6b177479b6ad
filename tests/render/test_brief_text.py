"""Briefs as prompts: back again character for character, and free prompts by stated rules."""

import pytest
from hypothesis import given, strategies as st

from salon.errors import BadValue
from salon.render import CATEGORIES, STYLES, SUBJECTS, Brief, brief_prompt, read_brief
from salon.render.brief import FORMATS, MOODS
from salon.study import Prompt

words = st.text(st.characters(exclude_categories=["Cs", "Cc"], include_characters='\n“”\\"'), max_size=60)
some = st.none() | words


@given(
    st.builds(
        Brief,
        id=st.just("b"),
        category=st.sampled_from(CATEGORIES),
        format=st.sampled_from(FORMATS),
        intent=words,
        headline=words.filter(len),
        subhead=some, body=some, cta=some, when=some, where=some, brand=some,
        subject=st.sampled_from(SUBJECTS),
        style=st.none() | st.sampled_from(STYLES),
        mood=st.sampled_from(MOODS),
        palette=st.lists(st.sampled_from(["navy", "coral", "#0a1b2c"]), max_size=5).map(tuple),
        headline_at=st.sampled_from([None, "top", "middle", "bottom"]),
        align=st.sampled_from([None, "left", "center", "right"]),
        aesthetics=words,
    )
)  # fmt: skip
def test_a_written_brief_is_read_back_to_the_letter(brief):
    assert read_brief(brief_prompt(brief)) == brief


def test_a_person_can_read_it():
    brief = Brief(
        id="fish", headline="Night Market", where="Harbour 4", subject="fish", palette=("navy",), align="left"
    )
    assert brief_prompt(brief).view() == (
        "A poster; picture: fish.\nHeadline: “Night Market”\nPlace: “Harbour 4”\n\n"
        "mood: bold; colors: navy; aligned left."
    )


def free(text, **given):
    return read_brief(Prompt(id="p", text=text, **given))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A poster for a jazz festival in deep blue and gold",
         {"headline": "Jazz festival", "subject": "music", "palette": ("blue", "gold"), "format": "poster"}),
        ('Flat flyer: "Night Market", "Every Friday", title at the bottom',
         {"headline": "Night Market", "subhead": "Every Friday", "style": "Flat Design", "headline_at": "bottom",
          "format": "flyer", "category": "flyers"}),
        ("Design a minimalist logo for a bakery called 'Rye & Son'",
         {"headline": "Rye & Son", "subject": "bread", "style": "Minimalist", "format": "logo", "category": "logo"}),
        ("it's nobody's fault", {"headline": "It's nobody's fault"}),  # apostrophes are no quotation marks
        ("left-aligned calm slide, #AABBCC",
         {"align": "left", "mood": "calm", "format": "slide", "palette": ("#aabbcc",)}),
    ],
)  # fmt: skip
def test_free_prompts_by_rule(text, expected):
    found = free(text)
    assert {name: getattr(found, name) for name in expected} == expected


def test_the_category_given_wins_over_words():
    assert free("A poster of the sea", category="cards & invitations").category == "cards & invitations"


def test_edges():
    with pytest.raises(BadValue, match="words in it"):
        free("  \n ")
    with pytest.raises(BadValue, match=r"Brief\.headline"):
        free(f'A poster, "{"x" * 5000}"')
    assert free("“”  ").headline  # nothing inside the quotation marks: still something to set
