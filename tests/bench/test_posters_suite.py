"""The built-in posters suite: briefs of its own that houses draw, and points that a clean poster passes."""

from __future__ import annotations

import pytest

from salon.bench import open_suite
from salon.generate import builtin_briefs
from salon.generate.houses import HOUSES, poster_seed
from salon.judge import answer_from_layout, read_rule
from salon.render import brief_prompt, draw_poster, read_brief


@pytest.fixture(scope="module")
def suite():
    return open_suite("posters")


def test_its_shape(suite) -> None:
    assert (len(suite.prompts), len(suite.tags), len({tag.group for tag in suite.tags})) == (24, 8, 4)
    points = [sum(point.prompt == one.prompt.id for point in suite.points) for one in suite.prompts]
    assert 3 <= min(points) <= max(points) <= 6
    assert [tag.id for tag in suite.tags if not tag.eps] == ["many-words", "figures"]
    assert (suite.card.oracle, suite.routes[0].judges) == ("layout", ("pixels",))


def test_its_briefs_are_read_as_written_and_are_new(suite) -> None:
    known = {text for brief in builtin_briefs() for text in (brief.id, brief.headline.casefold())}
    for one in suite.prompts:
        brief = read_brief(one.prompt)
        assert brief_prompt(brief) == one.prompt
        assert not {brief.id, brief.headline.casefold()} & known


def test_a_clean_poster_passes_every_point(suite) -> None:
    width, height = map(int, suite.card.size.split("x"))
    proof = HOUSES["proof"].habits
    for one in suite.prompts:
        seed = poster_seed("proof", one.prompt.id, 0)
        layout = draw_poster(read_brief(one.prompt), proof, seed=seed, width=width, height=height).layout
        for point in suite.points:
            if point.prompt == one.prompt.id:
                found = answer_from_layout(read_rule(point.rule, where=point.id), layout)
                assert found.holds, f"{point.id}: {found.why}"
