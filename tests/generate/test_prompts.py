"""Prompts from files, studies and the built-in set; a bad row is named."""

import json

import pytest

from salon.errors import SalonError
from salon.generate import read_prompts
from salon.render import read_brief
from salon.store import save_study
from salon.study import Prompt, Study


def written(tmp_path, name, text):
    (tmp_path / name).write_text(text, encoding="utf-8")
    return str(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.txt", "A jazz night\n\n  A book fair \n"),
        ("a.csv", "prompt,category\nA jazz night,posters\nA book fair,flyers\n"),
        ("a.csv", "\ufeffPrompt;category\r\nA jazz night;posters\r\nA book fair;flyers\r\n"),
        ("a.tsv", "text\tcategory\nA jazz night\tposters\nA book fair\tflyers\n"),
        ("a.jsonl", '{"text": "A jazz night"}\n\n{"caption": "A book fair"}\n'),
        ("a.toml", '[[prompt]]\ntext = "A jazz night"\n[[prompt]]\ntext = "A book fair"\n'),
    ],
)
def test_every_form(tmp_path, name, text):
    found = read_prompts(written(tmp_path, name, text))
    assert [(prompt.id, prompt.text) for prompt in found] == [("p1", "A jazz night"), ("p2", "A book fair")]


def test_numbers_are_as_wide_as_the_last(tmp_path):
    assert read_prompts(written(tmp_path, "a.txt", "one\n" * 12))[0].id == "p01"


def test_briefs_in_files_become_prompts(tmp_path):
    (one,) = read_prompts(
        written(tmp_path, "b.toml", '[[brief]]\nid = "x"\nheadline = "Hold On"\nsubject = "mountain"\n')
    )
    assert read_brief(one).headline == "Hold On"
    (two,) = read_prompts(written(tmp_path, "b.jsonl", json.dumps({"headline": "Hold On", "palette": ["navy"]})))
    assert read_brief(two).palette == ("navy",)
    (three,) = read_prompts(written(tmp_path, "b.csv", 'headline,palette\nHold On,"navy, coral"\n'))
    assert read_brief(three).palette == ("navy", "coral")


def test_the_prompts_of_a_study(tmp_path):
    prompts = [Prompt(id="a", text="A cat"), Prompt(id="b", intent="For a fair", description="Red.")]
    save_study(Study.build("s", (), tables={"prompts": prompts}), tmp_path / "s")
    assert read_prompts(str(tmp_path / "s")) == prompts


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.txt", "\n \n", "at least one prompt"),
        ("a.md", "A cat", "one of .txt"),
        ("a.csv", "text,id\nA cat,1\nA dog,1\n", "id of its own"),
        ("a.csv", "title\nA cat\n", r"a column text, prompt or caption\n  found: columns 'title'\n"),
        ("a.csv", "text\nA cat, a dog\n", "cells that hold the separator in quotes"),
        ("a.jsonl", '{"text": "A cat"}\n{"text": ', "line 2"),
        ("a.jsonl", "[1]\n", "JSON object"),
        ("a.jsonl", "[" * 100_000, "JSON object"),
        ("a.toml", "[[brief]]\n", "brief 1"),
        ("a.toml", "= 3", "TOML"),
        ("a.toml", '[[brief]]\nheadline = "x"\nstyle = "Baroque"\n', "brief 1"),
    ],
)
def test_bad_files_are_told_where(tmp_path, name, text, said):
    with pytest.raises(SalonError, match=said):
        read_prompts(written(tmp_path, name, text))


def test_nothing_there_and_not_text(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"\xff\xfe\x00A")
    with pytest.raises(SalonError, match="UTF-8"):
        read_prompts(str(tmp_path / "a.txt"))
    with pytest.raises(SalonError, match="nothing there"):
        read_prompts(str(tmp_path / "b.txt"))
    with pytest.raises(SalonError, match="posters"):
        read_prompts("briefs:paintings")
