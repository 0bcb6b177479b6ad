"""Routes in use: who draws which prompt, and what came back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from salon.errors import BadFile, BadValue
from salon.select.route import Choice, Explore, Feedback, Routes, choose_route, read_routes
from salon.study import Prompt


def choices(
    routes: Routes,
    prompts: Sequence[Prompt],
    *,
    weights: str | None = None,
    explore: Explore = "no",
    c: float = 1.0,
    seed: int = 0,
) -> list[Choice]:
    """Who is called for each prompt."""
    return [
        choose_route(routes, one.id, category=one.category, weights=weights, explore=explore, c=c, seed=seed)
        for one in prompts
    ]


def routed(
    path: Path, prompts: Sequence[Prompt], weights: str | None, seed: int, explore: Explore = "no"
) -> tuple[dict[str, Choice], tuple[str, ...]]:
    """Who draws each prompt by a file of routes, and what has to be said of it."""
    made = choices(read_routes(path), prompts, weights=weights, explore=explore, seed=seed)
    fallen = sum(one.asked is not None and one.asked != one.category for one in made)
    tied = sum(bool(one.tied) for one in made)
    said = [f"routes: {len({one.generator for one in made})} generators for {len(made)} prompts ({made[0].job})"]
    if tied:
        said.append(f"routes: for {tied} prompts the best generator cannot be told from another")
    if fallen:
        said.append(f"routes: {fallen} prompts are of a category without a route; all categories together decided")
    if explore != "no":
        said.append(f"routes: explored by {explore}, seed {seed}")
    return {one.prompt: one for one in made}, tuple(said)


def read_feedback(path: Path) -> list[Feedback]:
    """Comparisons of generators, one JSON object a line."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise BadFile("a file of feedback is needed", found=error.strerror, where=str(path)) from None
    found = []
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
        found.append(Feedback.parse(record, where=where))
    if not found:
        raise BadValue("feedback is needed", found="an empty file", where=str(path))
    return found
