"""The interface speaks every language in full."""

from __future__ import annotations

import pytest
from page_words import placeholders

from salon.collect import Sentences, languages
from salon.collect.questions import sentences
from salon.errors import UnknownReference


@pytest.mark.parametrize("language", languages())
def test_every_sentence_is_there_with_the_same_names_in_braces(language: str) -> None:
    english, other = sentences("en"), sentences(language)
    assert set(other) == set(english)
    for key, sentence in english.items():
        assert placeholders(other[key]) == placeholders(sentence), key
        assert other[key].strip(), key


def test_two_languages_and_they_differ() -> None:
    assert languages() == ("de", "en")
    same = [key for key, sentence in sentences("en").items() if sentences("de")[key] == sentence]
    assert same == ["page.title"]


def test_sentences_are_filled_in() -> None:
    assert Sentences("en")("page.progress", done=3, total=9) == "3 of 9"
    assert Sentences("de")("page.progress", done=3, total=9) == "3 von 9"


def test_unknown_languages_and_keys_are_named() -> None:
    with pytest.raises(UnknownReference, match="xx"):
        Sentences("xx")
    with pytest.raises(UnknownReference, match=r"no\.such"):
        Sentences("en")("no.such")
