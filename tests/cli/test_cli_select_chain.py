"""salon select cohp and salon select refine at the terminal."""

from __future__ import annotations

import json
from pathlib import Path

import ran_salon

FAIR = 'A poster for a fair in teal and cream, "Small Press Fair"'


def salon(capsys, *arguments):
    """Exit code, and what was printed."""
    code, said = ran_salon.salon(capsys, "select", *arguments)
    return code, said.out, said.err


def test_a_chain_by_houses_ends_in_an_answer_a_record_and_a_page(capsys, tmp_path: Path) -> None:
    small = ("--size", "160x226", "--tries", "1", "--rounds", "1", "--batch", "2")
    chain = ("cohp", FAIR, "-g", "mirage", "-g", "carnival", "-s", "true-quality", "-o", tmp_path / "chain", *small)
    code, said, _ = salon(capsys, *chain)
    assert code == 0
    assert "1 of 1 prompts have an answer, the best of 4 pictures" in said
    assert "answer less the best of stage 1, true quality" in said
    page = (tmp_path / "chain" / "cohp" / "index.html").read_text()
    assert "Filmstrips" in page
    assert page.count("data:image/webp") >= 4
    code, said, _ = salon(capsys, *chain, "--json")
    assert code == 0
    report = json.loads(said)
    assert report["chains"][0]["answer"]["item"].startswith("prompt/")
    assert report["settings"]["batch"] == 2
    code, _, said = salon(capsys, *chain, "--strengths", "2")
    assert code == 2
    assert "--strengths" in said


def test_what_cannot_work_is_refused_before_anything_is_drawn(capsys, tmp_path: Path) -> None:
    out = tmp_path / "chain"
    code, _, said = salon(capsys, "cohp", FAIR, "-g", "mirage", "-o", out)
    assert code == 2
    assert "at least one scorer" in said
    code, _, said = salon(capsys, "cohp", FAIR, "-g", "mirage", "-s", "words", "-s", "palette", "-o", out)
    assert code == 2
    assert "frozen reference" in said
    assert not out.exists()


def test_refine_leaves_its_filmstrips_in_the_study(capsys, tmp_path: Path) -> None:
    small = ("--size", "200x283", "--rounds", "1", "--no-control")
    code, said, _ = salon(
        capsys, "refine", FAIR, "-g", "mirage", "-o", tmp_path / "loop", *small, "--measured", "layout"
    )
    assert code == 0
    assert "mirage drew 1 prompts, 1 rounds after the first" in said
    assert "Filmstrips" in (tmp_path / "loop" / "refine" / "index.html").read_text()
