"""The built-in suite `broad`: its shape, and that every point can be decided and follows from its prompt."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from itertools import combinations
from pathlib import Path

import pytest

from salon.bench import Suite, builtin_suites, open_suite
from salon.study import Point, find_route

PAGE = Path(__file__).parents[2] / "docs" / "methods" / "broad-suite.md"
TEXT = "Words in pictures"
QUOTED = re.compile(r'"([^"]+)"')


def words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.casefold())


COLORS = words(
    """amber black blue brown coral cream gold golden gray green honey indigo mint mustard navy ocher orange pink purple
    red rust sand silver teal turquoise violet white yellow"""
)
VAGUE = words(
    """appropriate attractive beautiful believable correct good interesting maybe nice perhaps plausible pleasing
    proper properly realistic should somehow suitable well"""
)
NAMES = words(
    """adidas barbie batman caravaggio coca cola dali disney einstein ferrari ghibli gogh google hokusai ikea instagram
    iphone kahlo lego magritte marvel matisse mcdonald mickey microsoft minecraft monet mucha netflix nike nintendo
    picasso pixar pokemon polaroid porsche rembrandt simpsons starbucks tesla trump vermeer vespa warhol youtube"""
)
SMALL = words("a an and are as at by for from in into is it its of on one or that the their them to two with")


@pytest.fixture(scope="module")
def suite() -> Suite:
    return open_suite("broad")


@pytest.fixture(scope="module")
def texts(suite: Suite) -> dict[str, str]:
    return {one.prompt.id: one.prompt.view() for one in suite.prompts}


@pytest.fixture(scope="module")
def points(suite: Suite) -> dict[str, list[Point]]:
    found = defaultdict(list)
    for point in suite.points:
        found[point.prompt].append(point)
    return found


# -- shape ---------------------------------------------------------------------------------------------------------


def test_sixty_four_tags_of_three_prompts(suite: Suite) -> None:
    assert "broad" in builtin_suites()
    assert len(suite.tags) == 64
    assert len({tag.group for tag in suite.tags}) == 11
    assert len({(tag.group, tag.name) for tag in suite.tags}) == 64
    wanted = [f"{tag.id}-{level}" for tag in suite.tags for level in (1, 2, 3)]
    assert [one.prompt.id for one in suite.prompts] == wanted  # 192
    assert all(one.prompt.id.startswith(one.tag + "-") for one in suite.prompts)


def test_preference_counts_for_fifty_five_tags(suite: Suite) -> None:
    out = {tag.id for tag in suite.tags if not tag.eps}
    assert out == {tag.id for tag in suite.tags if tag.group == TEXT} | {"layout", "charts"}
    assert len(out) == 9
    assert sum(suite.tag_of(one.prompt.id).eps for one in suite.prompts) == 165
    assert {tag.id for tag in suite.tags if tag.why} == out


def test_the_card_says_what_imagebench_does(suite: Suite) -> None:
    card = suite.card
    assert (card.licence, card.image_licences, card.images, card.passes) == ("CC0-1.0", (), 1, "all")
    assert card.weights == {"capability": 0.5, "eps": 0.5}
    assert [(rule.id, rule.title, rule.criterion, rule.headline) for rule in card.preferences] == [
        ("eps", "EPS", "overall preference", True)
    ]


def test_every_kind_of_point_has_its_own_route(suite: Suite) -> None:
    assert {route.tag for route in suite.routes} == {point.tag for point in suite.points}
    for route in suite.routes:
        asked = (
            ({"reader", "general"}, "unanimous")
            if route.tag == "text"
            else ({"general", "second", "third"}, "majority")
        )
        assert (set(route.judges), route.rule) == asked


# -- prompts -------------------------------------------------------------------------------------------------------


def test_prompts_have_8_to_80_words_and_harder_ones_more(suite: Suite, texts: dict[str, str]) -> None:
    length = {id: len(text.split()) for id, text in texts.items()}
    assert {id: n for id, n in length.items() if not 8 <= n <= 80} == {}
    flat = [t.id for t in suite.tags if not length[f"{t.id}-1"] < length[f"{t.id}-2"] < length[f"{t.id}-3"]]
    assert flat == []


def test_no_prompt_is_much_like_another(texts: dict[str, str]) -> None:
    tokens = {id: set(words(text)) - set(SMALL) for id, text in texts.items()}
    near = [(a, b) for a, b in combinations(tokens, 2) if len(tokens[a] & tokens[b]) > len(tokens[a] | tokens[b]) / 4]
    assert near == []


def test_no_brands_no_artists_no_living_people(suite: Suite, texts: dict[str, str]) -> None:
    everything = [*texts.values(), *(point.text or "" for point in suite.points)]
    assert set(words(" ".join(everything))) & set(NAMES) == set()


# -- points --------------------------------------------------------------------------------------------------------


def test_two_to_five_points_numbered_under_their_prompt(texts: dict[str, str], points: dict[str, list[Point]]) -> None:
    assert points.keys() == texts.keys()
    for id, mine in points.items():
        assert 2 <= len(mine) <= 5, id
        assert [point.id for point in mine] == [f"{id}-{number}" for number in range(1, len(mine) + 1)]
        assert len({point.text for point in mine}) == len(mine), id


def test_points_are_single_plain_statements(suite: Suite) -> None:
    """Yes is a pass, so none is a question; one sentence, short, with no word two judges would weigh differently."""
    plain = re.compile(r'["A-Z][^?!;]*[^.?!;]\.')
    assert [point.text for point in suite.points if not plain.fullmatch(point.text or "")] == []
    assert [point.text for point in suite.points if len(QUOTED.sub("x", point.text or "").split()) > 18] == []
    assert [point.text for point in suite.points if set(words(QUOTED.sub("", point.text or ""))) & set(VAGUE)] == []


def test_quoted_texts_are_read_and_no_others(texts: dict[str, str], points: dict[str, list[Point]]) -> None:
    for id, text in texts.items():
        read = {quote for point in points[id] if point.tag == "text" for quote in QUOTED.findall(point.text or "")}
        assert read == set(QUOTED.findall(text)), id


def test_text_tags_are_about_text(suite: Suite, points: dict[str, list[Point]]) -> None:
    for one in suite.prompts:
        if suite.tag_of(one.prompt.id).group == TEXT:
            assert "text" in {point.tag for point in points[one.prompt.id]}, one.prompt.id


def test_points_ask_for_no_color_their_prompt_does_not_name(
    texts: dict[str, str], points: dict[str, list[Point]]
) -> None:
    """Only what a riddle describes has a color that its prompt does not name."""
    asked = {
        (id, color)
        for id, mine in points.items()
        for point in mine
        for color in set(words(point.text or "")) & set(COLORS) - set(words(texts[id]))
    }
    assert asked == {("riddles-3", "green")}


# -- the page ------------------------------------------------------------------------------------------------------


def test_the_page_counts_what_is_there(suite: Suite) -> None:
    asked = Counter(suite.tag_of(point.prompt or "").id for point in suite.points)
    page = PAGE.read_text(encoding="utf-8")
    rows = [f"| {tag.name} | `{tag.id}` | 3 | {asked[tag.id]} | {'yes' if tag.eps else 'no'} |" for tag in suite.tags]
    assert [row for row in rows if row not in page] == []
    assert f"64 tags, 192 prompts, {len(suite.points)} points" in page
    kinds = Counter(point.tag for point in suite.points)
    assert [kind for kind, n in kinds.items() if f"| `{kind}` | {n} |" not in page] == []
    answers = sum(len(find_route(point, suite.routes).judges) for point in suite.points)
    assert f"One entry costs {answers:,} answers" in page
