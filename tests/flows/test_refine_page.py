"""The page of a loop: what is on it, that all of it is text, and how a browser takes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from browser import chromium, page_faults
from refine_example import PROMPTS, Painter, critic, loop, revised

from salon.judge import Conversation, NoReply
from salon.judge.simulation import ScriptAnswer
from salon.report import FilmFrame, Filmstrip, disagreements
from salon.report.filmstrip import mark_changes
from salon.select import refine_page
from salon.select.refine_scores import RefineReport
from salon.study import Ask

__all__ = ["chromium"]
HOSTILE = '</style><script>window.pwned=1</script><img src=x onerror="window.pwned=1">\u202e“&amp;”'


def says(asked: Conversation) -> ScriptAnswer:
    """A good answer, an unread one, a hostile one, and none."""
    item = asked.sights[0].item
    told: dict[str, ScriptAnswer] = {"p1": "no", "p2": revised(f"{HOSTILE} {'long' * 60}", HOSTILE)}
    if item.startswith("p3/painter-round-1"):
        return NoReply(kind="timeout", reason="gone")
    return told.get(item.partition("/")[0]) or critic(asked)


def fails(ask: Ask) -> bool:
    return ask.prompt.id == "p0" and ask.seed == 2


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[RefineReport, Path]:
    folder = tmp_path_factory.mktemp("page") / "loop"
    return loop(folder, Painter(fails), says, rounds=2), folder


@pytest.fixture(scope="module")
def html(made: tuple[RefineReport, Path]) -> str:
    return refine_page(*made).html()


def test_every_number_on_the_page_is_that_of_the_report(made: tuple[RefineReport, Path], html: str) -> None:
    assert "data-key" in html
    assert disagreements(html, made[0].model_dump(mode="json")) == []


def test_the_page_tells_what_was_not_read_what_failed_and_what_waits(html: str) -> None:
    assert "The answer was not read (no answer): the next round keeps this prompt." in html
    assert "not made: error: out of paint" in html
    assert "provisional" in html
    assert "waits for the round before" in html
    assert html.count("Round 0") == len(PROMPTS)
    assert html.count("Control 1") == len(PROMPTS)


def test_words_of_a_model_are_text_and_nothing_else(html: str) -> None:
    assert "<script>window" not in html
    assert "&lt;script&gt;window.pwned=1" in html
    assert "\u202e" not in html


def test_the_same_report_gives_the_same_page(made: tuple[RefineReport, Path], html: str) -> None:
    assert refine_page(*made).html() == html


def test_pictures_that_are_gone_leave_a_word(made: tuple[RefineReport, Path], tmp_path: Path) -> None:
    assert "no picture yet" in refine_page(made[0], tmp_path).html()


def test_only_so_many_prompts_are_shown_and_that_is_said(made: tuple[RefineReport, Path]) -> None:
    page = refine_page(*made, most=2).html()
    assert "The first 2 of 4 prompts are shown." in page
    assert page.count("Round 0") == 2


# -- changes -----------------------------------------------------------------------------------------------------------


def test_changes_are_marked_word_by_word() -> None:
    found = str(mark_changes("a bold poster for cats", "a calm poster for cats & dogs"))
    assert "<del" in found
    assert found.index("bold") < found.index("calm")
    assert found.count("<ins") == 2
    assert "&amp; dogs</ins>" in found


@pytest.mark.parametrize("before", [None, "one two three"])
def test_without_a_change_nothing_is_marked(before: str | None) -> None:
    assert str(mark_changes(before, "one two three")) == "one two three"


def test_long_stretches_without_a_change_are_cut() -> None:
    words = [f"w{number}" for number in range(200)]
    found = str(mark_changes(" ".join(words), " ".join([*words[:100], "new", *words[100:]])))
    assert "w92 w93" in found
    assert "w50" not in found
    assert found.startswith("… ")
    assert found.endswith(" …")


def test_a_frame_leaves_out_what_it_has_not() -> None:
    html = Filmstrip([FilmFrame("Round 0")]).__html__()
    assert "no picture" in html
    assert "what was said" not in html


# -- in a browser ------------------------------------------------------------------------------------------------------


@pytest.mark.browser
def test_a_browser_finds_nothing_wrong_and_asks_for_nothing(chromium: Any, html: str, tmp_path: Path) -> None:
    assert page_faults(chromium, html, tmp_path) == []
