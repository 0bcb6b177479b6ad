"""Routes: who is called, what is tied, how exploring and feedback move it."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from salon.errors import BadFile, BadValue, UnknownReference
from salon.select import Routes, apply_feedback, write_sealed
from salon.select.route import Arm, GeneratorRoute, RouteFeedback, choose_route, read_routes
from salon.study import Signature

ARMS = (
    Arm(generator="ada", score=0.6, sd=0.2, best=True),
    Arm(generator="bo", score=0.5, sd=0.3, best=True),
    Arm(generator="cy", score=-1.1, sd=0.2),
)
SURE = (Arm(generator="bo", score=1.0, sd=0.1, best=True), Arm(generator="ada", score=-1.0, sd=0.1))
ROUTES = Routes(
    source="arena of s",
    routes=(
        GeneratorRoute(job="alike", weights={"x/type": 0.5, "x/mood": 0.5}, arms=ARMS),
        GeneratorRoute(job="alike", weights={"x/type": 0.5, "x/mood": 0.5}, category="menus", arms=SURE),
        GeneratorRoute(job="type", weights={"x/type": 1.0}, arms=SURE),
        GeneratorRoute(job="mood", weights={"x/mood": 1.0}, reason="no answers"),
    ),
    signature=Signature(method="select-route"),
)


def test_the_highest_score_is_called_and_ties_are_named() -> None:
    found = choose_route(ROUTES, "p1")
    assert (found.generator, found.tied, found.category) == ("ada", ("bo",), None)
    assert "1 does not differ significantly from ada" in found.why
    assert choose_route(ROUTES, "p1", category="menus").generator == "bo"
    assert choose_route(ROUTES, "p1", weights="type=2").generator == "bo"
    assert choose_route(ROUTES, "p1", weights="type=3,mood=3").generator == "ada"


def test_an_unknown_category_falls_back_and_says_so() -> None:
    found = choose_route(ROUTES, "p1", category="flags")
    assert (found.generator, found.category, found.asked) == ("ada", None, "flags")
    assert "nothing is known of category 'flags'" in found.why


@pytest.mark.parametrize(
    ("weights", "said"), [("mood=1", "no answers"), ("type=3,mood=1", "routes for these weights"), ("hue=1", "'hue'")]
)
def test_jobs_without_an_answer_are_refused(weights: str, said: str) -> None:
    with pytest.raises(UnknownReference, match=said):
        choose_route(ROUTES, "p1", weights=weights)


def test_thompson_calls_each_arm_as_often_as_it_may_be_the_best() -> None:
    called = Counter(choose_route(ROUTES, f"p{n}", explore="thompson", seed=3).generator for n in range(3000))
    # P(ada > bo) = Phi(.1 / sqrt(.2² + .3²)); cy is 1.7 behind
    share = 0.5 * (1 + math.erf(0.1 / math.hypot(0.2, 0.3) / math.sqrt(2)))
    assert called["ada"] / 3000 == pytest.approx(share, abs=4 * math.sqrt(share * (1 - share) / 3000))
    assert called["cy"] < 10
    again = choose_route(ROUTES, "p7", explore="thompson", seed=3)
    assert again == choose_route(ROUTES, "p7", explore="thompson", seed=3)
    assert set(again.drawn) == {"ada", "bo", "cy"}


def test_an_upper_bound_calls_the_one_that_may_be_best() -> None:
    found = choose_route(ROUTES, "p", explore="ucb", c=2.0)  # 1.0, 1.1, -.7
    assert found.generator == "bo"
    assert "highest score is ada's" in found.why
    assert choose_route(ROUTES, "p", explore="ucb", c=0.0).generator == "ada"
    with pytest.raises(BadValue):
        choose_route(ROUTES, "p", explore="ucb", c=math.nan)


def test_one_comparison_by_hand() -> None:
    moved = apply_feedback(ROUTES, [RouteFeedback(winner="bo", loser="ada", category="flags")])
    v = 0.04 + 0.09
    k = 1 / math.sqrt(1 + math.pi * v / 8)
    p = 1 / (1 + math.exp(-k * (0.5 - 0.6)))
    i = k * k * p * (1 - p)
    arms = {arm.generator: arm for arm in moved.routes[0].arms}
    assert arms["bo"].score == pytest.approx(0.5 + 0.09 * k * (1 - p) / (1 + i * v))
    assert arms["ada"].score == pytest.approx(0.6 - 0.04 * k * (1 - p) / (1 + i * v))
    assert arms["bo"].sd == pytest.approx(0.3 * math.sqrt(1 - 0.09 * i / (1 + i * v)))
    level = {
        arm.generator: arm
        for arm in apply_feedback(ROUTES, [RouteFeedback(winner="bo", loser="ada", tie=True)]).routes[0].arms
    }
    assert level["bo"].score == pytest.approx(0.5 + 0.09 * k * (0.5 - p) / (1 + i * v))  # a tie draws them together
    assert level["ada"].score == pytest.approx(0.6 - 0.04 * k * (0.5 - p) / (1 + i * v))
    assert level["bo"].sd == arms["bo"].sd  # and tells as much
    assert moved.routes[1] == ROUTES.routes[1]  # another category
    assert moved.routes[2] == ROUTES.routes[2]  # one criterion alone
    assert moved.heard == 1
    far = Routes(source="s", signature=ROUTES.signature, routes=(GeneratorRoute(job="j", weights={"type": 1.0}, arms=(
        Arm(generator="ada", score=900.0, sd=0.5), Arm(generator="bo", score=0.0, sd=0.5))),))  # fmt: skip
    k = 1 / math.sqrt(1 + math.pi * 0.5 / 8)
    assert apply_feedback(far, [RouteFeedback(winner="bo", loser="ada")]).routes[0].arms[0].score == pytest.approx(
        900 - 0.25 * k
    )
    only = apply_feedback(ROUTES, [RouteFeedback(winner="ada", loser="bo", criterion="type")])
    assert only.routes[0] == ROUTES.routes[0]
    assert only.routes[2] != ROUTES.routes[2]


def test_feedback_finds_the_best_with_less_regret_than_calling_at_random() -> None:
    """True strengths differ from the scores at the start; thompson learns them from comparisons with another arm."""
    truth = {"ada": 0.0, "bo": 1.0, "cy": -0.5}
    routes = ROUTES.model_copy(
        update={"routes": (GeneratorRoute(job="all", weights={"x": 1.0}, arms=tuple(
            Arm(generator=name, score=0.0, sd=1.0) for name in truth)),)}
    )  # fmt: skip
    rng = np.random.default_rng(8)
    called = []
    for n in range(150):
        choice = choose_route(routes, f"p{n}", explore="thompson", seed=1)
        other = str(rng.choice([name for name in truth if name != choice.generator]))
        wins = rng.random() < 1 / (1 + math.exp(truth[other] - truth[choice.generator]))
        pair = (choice.generator, other) if wins else (other, choice.generator)
        routes = apply_feedback(routes, [RouteFeedback(winner=pair[0], loser=pair[1])])
        called.append(choice.generator)
    assert called[-50:].count("bo") > 40
    assert routes.routes[0].arms[0].generator == "bo"
    assert routes.heard == 150


def test_feedback_about_strangers_is_refused() -> None:
    for one in (RouteFeedback(winner="ada", loser="zoe"), RouteFeedback(winner="ada", loser="ada")):
        with pytest.raises(UnknownReference, match="that have a route"):
            apply_feedback(ROUTES, [one])


def test_the_file_is_read_back_and_a_changed_one_refused(tmp_path: Path) -> None:
    path = tmp_path / "routes.json"
    write_sealed(ROUTES, path)
    assert read_routes(path) == ROUTES
    path.write_text(path.read_text().replace("ada", "eva", 1))
    with pytest.raises(BadFile, match="as it was written"):
        read_routes(path)
    path.write_text("{}")
    with pytest.raises(BadFile, match="format"):
        read_routes(path)
    path.write_text("-")
    with pytest.raises(BadFile, match="JSON"):
        read_routes(path)
    with pytest.raises(BadFile):
        read_routes(tmp_path / "absent.json")
