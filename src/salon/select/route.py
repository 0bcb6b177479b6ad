"""Routes: which generator is called for a job, and how much it pays to try another.

A job is a weighting of criteria in one category, or in all. Its arms are generators with a score q_g and its standard
error, in logits. Unless asked to explore, the arm with the highest score is called; those that cannot be told from it
are named. Exploring:

    thompson   draw one number from N(q_g, sd_g²) for every arm, call the highest (Thompson 1933)
    ucb        call the arm with the highest q_g + c sd_g

Arms are drawn independently; an arm without an error is taken at its score. Every choice is seeded by the prompt, so it
does not depend on which prompts came before.

Feedback is a comparison of two generators. With d = q_a - q_b, v = sd_a² + sd_b², k = 1 / sqrt(1 + pi v / 8), p the
logistic function of k d, i = k² p (1 - p), and y = 1, 0 or 1/2 for a tie (Glickman 1999, in logits; v shared out):

    q_a += sd_a² k (y - p) / (1 + i v)        q_b -= sd_b² k (y - p) / (1 + i v)
    sd² -> sd² (1 - sd² i / (1 + i v))

Edges. A category without routes of its own falls back on all categories together, and the choice says so; weights that
no route has are an error, since scores of one job say nothing about another.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from pydantic import Field
from scipy.special import expit

from salon.errors import BadFile, BadValue, UnknownReference
from salon.select.settings import Explore
from salon.select.weights import SealedRecord, full_id, read_sealed, read_weights
from salon.study import Noun, Prompt, Signature

ROUTES_FORMAT: Final = "salon.routes/1"
LOGIT = "logit"


class Arm(Noun):
    """One generator for a job."""

    generator: str
    score: float
    sd: float | None = Field(None, ge=0, description="Standard error; null where the data gave none.")
    best: bool = Field(False, description="Does not differ significantly from the highest score.")


class GeneratorRoute(Noun):
    """Who may be called for one job."""

    job: str
    weights: dict[str, float] = Field(description="By criterion; they sum to 1.")
    category: str | None = Field(None, description="Null: all categories together.")
    scale: str = Field(LOGIT, description="What scores are measured in; only logits are moved by feedback.")
    arms: tuple[Arm, ...] = Field((), description="Best first; empty where the job has no answer.")
    reason: str | None = Field(None, description="Why there is no answer.")


class RouteChoice(Noun):
    """Who was called for a prompt, and why."""

    prompt: str = Field(description="Id.")
    generator: str = Field(description="Who was called.")
    job: str = Field(description="Name of the weights.")
    category: str | None = Field(description="Of the route that was taken.")
    asked: str | None = Field(description="The prompt's own category.")
    how: Explore = Field(description="How others were tried, or no.")
    tied: tuple[str, ...] = Field(description="Others that do not differ significantly from the best score.")
    drawn: dict[str, float] = Field(default_factory=dict, description="What exploring compared, by generator.")
    why: str = Field(description="One sentence.")


class RouteFeedback(Noun):
    """A later comparison of two generators."""

    winner: str
    loser: str
    tie: bool = False
    criterion: str | None = Field(None, description="Null: the answer was about the whole, not about one criterion.")
    category: str | None = None


class Routes(SealedRecord):
    """All jobs that are known, and how much was heard since."""

    format: Literal["salon.routes/1"] = ROUTES_FORMAT
    source: str
    simulated: bool = False
    routes: tuple[GeneratorRoute, ...] = Field(min_length=1)
    heard: int = Field(0, ge=0, description="Comparisons that came back and moved the scores.")
    policies: tuple[str, ...] = ()
    signature: Signature

    @property
    def criteria(self) -> tuple[str, ...]:
        """All criteria of all jobs."""
        return tuple(dict.fromkeys(id for route in self.routes for id in route.weights))

    def route(self, weights: str | None = None, category: str | None = None) -> GeneratorRoute:
        """The route of a job, in `category` where there is one, else in all together."""
        shares = self._shares(weights)
        fits = [
            entry
            for entry in self.routes
            if all(
                math.isclose(entry.weights.get(id, 0), shares.get(id, 0), abs_tol=1e-9)
                for id in {*entry.weights, *shares}
            )
        ]
        if not fits:
            answers = "; ".join(dict.fromkeys(_weights_words(entry.weights) for entry in self.routes))
            raise UnknownReference(
                "routes for these weights are needed", found=_weights_words(shares), where=self.source,
                remedy=f"make them with salon select route --weights; there are routes for {answers}",
            )  # fmt: skip
        route = next((entry for entry in fits if entry.category == category and entry.arms), None)
        route = route or next((entry for entry in fits if entry.category is None and entry.arms), None)
        if route is None:
            why = next((entry.reason for entry in fits if entry.reason), "no scores")
            answers = ", ".join(str(entry.category or "all together") for entry in fits if entry.arms) or "none"
            raise UnknownReference(
                "a route with generators is needed", found=f"none for category {category!r} ({why})",
                where=self.source, remedy=f"categories with an answer: {answers}",
            )  # fmt: skip
        return route

    def _shares(self, weights: str | None) -> dict[str, float]:
        if weights is None:
            several = [route.weights for route in self.routes if len(route.weights) > 1]
            return dict(several[0] if several else self.routes[0].weights)
        numbers = read_weights(weights, self.criteria)
        whole = sum(numbers.values())
        return {id: weight / whole for id, weight in numbers.items() if weight}


def _weights_words(weights: Mapping[str, float]) -> str:
    return ",".join(f"{id}={share:.3g}" for id, share in weights.items() if share > 0)


# -- choosing ----------------------------------------------------------------------------------------------------------


def choose_route(
    routes: Routes,
    prompt: str,
    *,
    category: str | None = None,
    weights: str | None = None,
    explore: Explore = "no",
    c: float = 1.0,
    seed: int = 0,
) -> RouteChoice:
    """The generator to call for a prompt."""
    route = routes.route(weights, category)
    scores = _explore_scores(route.arms, explore, c, seed, prompt)
    top = max(route.arms, key=lambda arm: scores.get(arm.generator, arm.score))
    best = max(route.arms, key=lambda arm: arm.score)
    tied = tuple(arm.generator for arm in route.arms if arm.best and arm is not best)
    how = {"no": "highest score", "thompson": "highest draw", "ucb": "highest upper bound"}[explore]
    why = f"{top.generator} has the {how} for {route.job} in {route.category or 'all categories together'}"
    why += f" (the highest score is {best.generator}'s)" if top is not best else ""
    verb = "does" if len(tied) == 1 else "do"
    why += f"; {len(tied)} {verb} not differ significantly from {best.generator}" if tied else ""
    why += f"; nothing is known of category {category!r}" if category not in (None, route.category) else ""
    return RouteChoice(
        prompt=prompt, generator=top.generator, job=route.job, category=route.category, asked=category, how=explore,
        tied=tied, drawn=scores, why=f"{why}.",
    )  # fmt: skip


def _explore_scores(arms: Sequence[Arm], explore: Explore, c: float, seed: int, prompt: str) -> dict[str, float]:
    if explore == "no":
        return {}
    if not (math.isfinite(c) and c >= 0):
        raise BadValue("a number of standard deviations from 0 up is needed", found=c)
    if explore == "ucb":
        return {arm.generator: arm.score + c * (arm.sd or 0.0) for arm in arms}
    words = int.from_bytes(hashlib.sha256(prompt.encode()).digest()[:8], "big")
    noise = np.random.default_rng([seed, words]).standard_normal(len(arms))
    by_name = sorted(range(len(arms)), key=lambda number: arms[number].generator)  # ranks may change, draws do not
    return {arms[i].generator: arms[i].score + (arms[i].sd or 0.0) * float(z) for i, z in zip(by_name, noise)}


# -- feedback ----------------------------------------------------------------------------------------------------------


def apply_feedback(routes: Routes, feedback: Sequence[RouteFeedback]) -> Routes:
    """The routes after more comparisons; those of their category and those of all categories move."""
    updated = list(routes.routes)
    for comparison in feedback:
        fitting = [n for n, route in enumerate(updated) if _about(route, comparison, routes)]
        if not fitting:
            raise UnknownReference(
                "feedback about generators and a job that have a route in logits is needed",
                found=f"{comparison.winner} against {comparison.loser}, {comparison.criterion or 'the whole'}",
                where=routes.source,
                remedy="there are routes for "
                + "; ".join(dict.fromkeys(_weights_words(route.weights) for route in updated)),
            )
        for n in fitting:
            updated[n] = _update_route(updated[n], comparison)
    return routes.model_copy(update={"routes": tuple(updated), "heard": routes.heard + len(feedback)})


def _about(route: GeneratorRoute, comparison: RouteFeedback, routes: Routes) -> bool:
    names = {arm.generator for arm in route.arms}
    if (
        route.scale != LOGIT
        or comparison.winner not in names
        or comparison.loser not in names
        or comparison.winner == comparison.loser
    ):
        return False
    if route.category is not None and route.category != comparison.category:
        return False
    used = [id for id, share in route.weights.items() if share > 0]
    if comparison.criterion is None:
        return len(used) > 1 or len(routes.criteria) == 1
    return used == [full_id(comparison.criterion, routes.criteria)]


def _update_route(route: GeneratorRoute, comparison: RouteFeedback) -> GeneratorRoute:
    arms = {arm.generator: arm for arm in route.arms}
    a, b = arms[comparison.winner], arms[comparison.loser]
    va, vb = (a.sd or 0.0) ** 2, (b.sd or 0.0) ** 2
    v = va + vb
    k = 1 / math.sqrt(1 + math.pi * v / 8)
    p = float(expit(k * (a.score - b.score)))
    i = k * k * p * (1 - p)
    step = k * ((0.5 if comparison.tie else 1.0) - p) / (1 + i * v)
    arms[a.generator] = a.model_copy(update={"score": a.score + va * step, "sd": _updated_sd(a.sd, i, v)})
    arms[b.generator] = b.model_copy(update={"score": b.score - vb * step, "sd": _updated_sd(b.sd, i, v)})
    ordered = sorted(arms.values(), key=lambda arm: -arm.score)
    return route.model_copy(update={"arms": tuple(mark_best(ordered))})


def _updated_sd(sd: float | None, i: float, v: float) -> float | None:
    return None if sd is None else sd * math.sqrt(1 - sd * sd * i / (1 + i * v))


def mark_best(ordered: Sequence[Arm]) -> list[Arm]:
    """Arms, best first, with who cannot be told from the highest score, at 95%, errors independent."""
    top = ordered[0]
    return [
        arm.model_copy(update={"best": top.score - arm.score <= 1.96 * math.hypot(top.sd or 0, arm.sd or 0)})
        for arm in ordered
    ]


# -- files -------------------------------------------------------------------------------------------------------------


def read_routes(path: Path) -> Routes:
    """The routes in a file; BadFile where it is none, or was changed by hand."""
    return read_sealed(
        Routes, path, name="routes", make="make them with salon select route STUDY -o routes.json",
        changed="make them again, or move them with --feedback",
    )  # fmt: skip


# -- routes in use -----------------------------------------------------------------------------------------------------


def choose_routes(
    routes: Routes,
    prompts: Sequence[Prompt],
    *,
    weights: str | None = None,
    explore: Explore = "no",
    c: float = 1.0,
    seed: int = 0,
) -> list[RouteChoice]:
    """Who is called for each prompt."""
    return [
        choose_route(routes, prompt.id, category=prompt.category, weights=weights, explore=explore, c=c, seed=seed)
        for prompt in prompts
    ]


def route_prompts(
    path: Path, prompts: Sequence[Prompt], weights: str | None, seed: int, explore: Explore = "no"
) -> tuple[dict[str, RouteChoice], tuple[str, ...]]:
    """Who draws each prompt by a file of routes, and what has to be said of it."""
    choices = choose_routes(read_routes(path), prompts, weights=weights, explore=explore, seed=seed)
    fallen = sum(choice.asked is not None and choice.asked != choice.category for choice in choices)
    tied = sum(bool(choice.tied) for choice in choices)
    names = {choice.generator for choice in choices}
    notes = [f"routes: {len(names)} generators for {len(choices)} prompts ({choices[0].job})"]
    if tied:
        notes.append(f"routes: for {tied} prompts another generator does not differ significantly from the best")
    if fallen:
        notes.append(f"routes: {fallen} prompts are of a category without a route; all categories together decided")
    if explore != "no":
        notes.append(f"routes: explored by {explore}, seed {seed}")
    return {choice.prompt: choice for choice in choices}, tuple(notes)


def read_feedback(path: Path) -> list[RouteFeedback]:
    """Comparisons of generators, one JSON object a line."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise BadFile("a file of feedback is needed", found=error.strerror, where=str(path)) from None
    feedback = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        try:
            record: Any = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise BadFile("feedback is one JSON object a line", found=str(error), where=where) from None
        if not isinstance(record, dict):
            raise BadFile("feedback is one JSON object a line", found=type(record).__name__, where=where)
        feedback.append(RouteFeedback.parse(record, where=where))
    if not feedback:
        raise BadValue("feedback is needed", found="an empty file", where=str(path))
    return feedback
