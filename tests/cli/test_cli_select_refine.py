"""salon select refine at the terminal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from salon.cli.main import run


def salon(capsys, *arguments):
    """Exit code, and what was printed."""
    with pytest.raises(SystemExit) as left:
        run(["select", "refine", *(str(argument) for argument in arguments)])
    said = capsys.readouterr()
    return left.value.code, said.out, said.err


FAIR = 'A poster for a fair in teal and cream, "Small Press Fair"'
SMALL = ("--size", "200x283", "--rounds", "1")


def test_one_prompt_by_a_house_ends_in_tables_and_a_page(capsys, tmp_path: Path) -> None:
    out, page = tmp_path / "loop", tmp_path / "loop.html"
    common = (FAIR, "-g", "mirage", "-o", out, *SMALL, "--measured", "layout")
    code, said, _ = salon(capsys, *common, "-s", "palette", "--html", page)
    assert code == 0
    assert "mirage drew 1 prompts, 1 rounds after the first" in said
    assert "Less this" in said
    assert "best of rounds by palette" in said
    assert "true-quality" in said
    assert "Filmstrips" in page.read_text()
    code, said, _ = salon(capsys, *common, "--json")
    assert code == 0
    report = json.loads(said)
    assert report["replies"] == {"revised": 1}
    assert report["pick"] is None


def test_points_are_answered_from_the_record(capsys, tmp_path: Path) -> None:
    points = tmp_path / "points.toml"
    points.write_text('[[point]]\nid = "title"\nrule = {kind = "text", text = "Small Press Fair"}\n'
                      '[[point]]\nid = "never"\nrule = {kind = "contrast", least = 21}\n')  # fmt: skip
    prompts = tmp_path / "prompts.txt"
    prompts.write_text('A poster for a fair, "Small Press Fair"\n')
    code, said, _ = salon(
        capsys, prompts, "-g", "proof", "-o", tmp_path / "loop", *SMALL, "--measured", "layout", "--points", points,
        "--points-by", "layout", "--json",
    )  # fmt: skip
    assert code == 0
    report = json.loads(said)
    assert report["pick"] == "points"
    levels = next(one for one in report["scores"] if one["scorer"] == "points")["levels"]
    assert [one["figure"]["value"] for one in levels] == [0.5, 0.5, 0.5]


def test_a_script_without_an_answer_leaves_prompts_waiting(capsys, tmp_path: Path) -> None:
    script = tmp_path / "critic.jsonl"
    script.write_text('{"none": "timeout", "text": "gone"}\n')
    code, said, _ = salon(capsys, "a poster for a fair", "-g", "proof", "-o", tmp_path / "loop", *SMALL,
                          "--script", script)  # fmt: skip
    assert code == 1
    assert "1 prompts wait for an answer: the same command goes on" in said


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--simulated", "accuracy=0.7"), "look at a picture and write a prompt"),
        ((), "one of --model"),
        (("--measured", "layout", "--pick", "mood"), "to pick by"),
        (("--measured", "layout", "--rounds", "0"), "--rounds"),
        (("--measured", "layout", "-s", "wrds"), "the name of a scorer"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_drawn(capsys, tmp_path: Path, flags, words) -> None:
    code, _, said = salon(capsys, "a poster for a fair", "-g", "proof", "-o", tmp_path / "loop", *flags)
    assert code == 2
    assert words in said
    assert not (tmp_path / "loop").exists()
