"""Which prompts and items enter a study: categories by rule, and the best share of every category by a scorer.

HPDv3 (section 3.1) keeps the tenth of its photographs that an aesthetic scorer puts highest *in each category*. Some
categories, such as products, score lower as a whole and would vanish under one threshold for all.

    study = categorize(study, by_keywords({"flyers": ["flyer", "handbill"], "logo": ["logo", "mark"]})).study
    best = keep_top(study, scorer, 0.1)
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from salon.errors import BadValue, DesignError
from salon.generate.prompts import read_prompts, read_table_rows
from salon.generate.run import judged_items
from salon.study import Item, Prompt, Scorer, Study, conform, table_from_nouns

Classifier = Callable[[Prompt], str | None]
"""Gives a prompt its category, or None where it cannot tell. Any function will do: a rule, a table, a model."""


# -- categories ------------------------------------------------------------------------------------------------------


def by_keywords(rules: Mapping[str, Sequence[str]]) -> Classifier:
    """The first category one of whose words stands in the prompt's text, as a whole word, in large or small letters.

    A word may end in `*` for any ending: `invit*` is in "invitation".
    """
    patterns: dict[str, re.Pattern[str]] = {}
    for category, words in rules.items():
        stems = [(re.escape(word.strip().removesuffix("*")), word.strip().endswith("*")) for word in words]
        parts = [rf"(?<!\w){stem}" + ("" if any_ending else r"(?!\w)") for stem, any_ending in stems]
        patterns[category] = re.compile("|".join(parts), re.IGNORECASE)
    empty = [category for category, words in rules.items() if not any(word.strip(" *") for word in words)]
    if empty:
        raise BadValue("each category needs at least one word", found=f"none for {empty[0]!r}")
    return lambda prompt: next((name for name, pattern in patterns.items() if pattern.search(prompt.view())), None)


def by_table(path: Path | str) -> Classifier:
    """The category that a CSV or JSONL table with the columns prompt (an id) and category gives."""
    categories: dict[str, str] = {}
    for line, row in read_table_rows(Path(path), ("prompt", "category")):
        prompt, category = str(row["prompt"]), str(row["category"])
        if categories.setdefault(prompt, category) != category:
            both = f"{categories[prompt]!r} and {category!r} for {prompt!r}"
            raise BadValue("each prompt may have one category", found=both, where=f"{path}:{line}")
    return lambda prompt: categories.get(prompt.id)


@dataclass(frozen=True)
class CategorizedStudy:
    """A study whose prompts and items have categories."""

    study: Study
    counts: dict[str, int]
    """Prompts in each category, the largest first."""
    without: tuple[str, ...]
    """Prompts that have none."""


def categorize(study: Study, classify: Classifier, *, again: bool = False) -> CategorizedStudy:
    """`study` with a category for every prompt that has none (or for all, `again`), and the same for its items."""
    prompts = [
        prompt
        if prompt.category and not again
        else prompt.model_copy(update={"category": classify(prompt) or prompt.category})
        for prompt in study.nouns("prompts")
    ]
    categories = {prompt.id: prompt.category for prompt in prompts}
    items = [
        item.model_copy(update={"category": categories.get(item.prompt or "") or item.category})
        for item in study.nouns("items")
    ]
    counts = Counter(category for category in categories.values() if category)
    return CategorizedStudy(
        study=_with_nouns(study, prompts=prompts, items=items),
        counts=dict(counts.most_common()),
        without=tuple(id for id, category in categories.items() if not category),
    )


def take_category_turns(prompts: Sequence[Prompt], limit: int) -> list[Prompt]:
    """`limit` of the prompts, in their order: the first of every category before any second one, and so on.

    A larger limit only adds prompts, so a study can grow by it.
    """
    counts: Counter[str | None] = Counter()
    turns = []
    for place, prompt in enumerate(prompts):
        turns.append((counts[prompt.category], place))
        counts[prompt.category] += 1
    return [prompts[place] for place in sorted(place for _, place in sorted(turns)[:limit])]


# -- the best share --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TopShareSelection:
    """What a top-share filter left, and what it took away."""

    study: Study
    kept: tuple[str, ...]
    dropped: tuple[str, ...]
    unscored: tuple[str, ...]
    """Items the scorer gave no number: dropped too, and counted apart from the share."""
    lowest: dict[str, float]
    """The lowest score that was kept in each category; '' stands for items without one."""
    signature: str


def keep_top(study: Study, scorer: Scorer, share: float) -> TopShareSelection:
    """The items of `study` that `scorer` puts in the best `share` of their category.

    Of n scored items the best ceil(share n) stay, so no category vanishes; where scores are equal, the earlier item.
    A judged item is never dropped: curate before you ask people.
    """
    if not 0 < share <= 1:
        raise BadValue("a share above 0 and up to 1 is needed", found=share)
    items = list(study.nouns("items"))
    prompts = {prompt.id: prompt for prompt in study.nouns("prompts")}
    scores = list(scorer.score(items, [prompts.get(item.prompt or "") for item in items]))
    if len(scores) != len(items):
        raise BadValue(f"one score for each of {len(items)} items is needed", found=len(scores), where=scorer.name)
    for item, score in zip(items, scores):
        if score is not None and not math.isfinite(score):
            raise BadValue("a score must be a finite number or None", found=score, where=f"{scorer.name}, {item.id}")
    best_items: set[str] = set()
    lowest: dict[str, float] = {}
    groups: dict[str, list[tuple[float, Item]]] = defaultdict(list)
    for item, score in zip(items, scores):
        if score is not None:
            groups[item.category or ""].append((score, item))
    for category, group in groups.items():
        best = sorted(group, key=lambda pair: -pair[0])[: math.ceil(share * len(group) - 1e-9)]
        best_items |= {item.id for _, item in best}
        lowest[category] = best[-1][0]
    dropped = [item.id for item in items if item.id not in best_items]
    judged_ids = sorted(judged_items(study).intersection(dropped))
    if judged_ids:
        raise DesignError(
            "items that were judged may not be dropped",
            found=f"{len(judged_ids)} of them, first {judged_ids[0]!r}",
            where=f"study {study.name!r}",
            remedy="filter before collecting judgments, or in another study",
        )
    name = f"the best {share:g} of every category by {scorer.name}"
    left = _with_nouns(study, items=[item for item in items if item.id in best_items])
    return TopShareSelection(
        study=left.revised(name) if dropped else left,
        kept=tuple(item.id for item in items if item.id in best_items),
        dropped=tuple(dropped),
        unscored=tuple(item.id for item, score in zip(items, scores) if score is None),
        lowest=lowest,
        signature=f"keep-top|share:{share:g}|{scorer.signature}",
    )


def _with_nouns(study: Study, **nouns: Sequence[Prompt] | Sequence[Item]) -> Study:
    tables = {kind: conform(kind, table_from_nouns(kind, rows)) for kind, rows in nouns.items()}
    return replace(study, tables=dict(study.tables) | tables)


# -- prompts named on the command line ---------------------------------------------------------------------------------

TYPED_PROMPT = "prompt"
"""Id of a prompt that was typed instead of a file."""


def read_prompt_argument(text: str, limit: int | None = None) -> list[Prompt]:
    """The prompts of a file, at most `limit`, categories in turns; words that name no file are a prompt themselves."""
    if not Path(text).exists() and " " in text.strip():
        return [Prompt(id=TYPED_PROMPT, text=text)]
    prompts = read_prompts(text)
    return prompts if limit is None else take_category_turns(prompts, limit)
