"""Drafts of suites: a copy of another suite or prompts with a first point each, and making prompts private."""

from __future__ import annotations

import json
import os
import re
import shutil
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from salon.bench.suite import ID, PreferenceRule, Suite, SuiteCard, SuitePrompt, Tag, check_suite
from salon.bench.suite_folder import (
    POINTS,
    PROMPTS,
    PrivateText,
    hide,
    open_suite,
    read_private_texts,
    read_text,
    save_suite,
    suite_texts,
    with_hashes,
)
from salon.errors import BadFile
from salon.store import whole_file, whole_folder
from salon.study import Point, Prompt, Route, normalize_text

JUDGE = "judge"
"""Name of the one judge in the routes of a new suite."""
FIRST_POINT = "The picture shows everything that the prompt asks for, and nothing that contradicts it."
EXAMPLE = (
    Prompt(id="red-kite", text="A red kite over a green hill.", category="Color"),
    Prompt(id="three-cups", text="Exactly three cups on a wooden table.", category="Counting"),
)
"""What a suite starts with that is made from nothing: two prompts to replace."""
_EXAMPLE_POINTS = (
    Point(id="red-kite.red", prompt="red-kite", text="The kite is red.", tag="color"),
    Point(id="red-kite.hill", prompt="red-kite", text="The hill is green.", tag="color"),
    Point(id="three-cups.three", prompt="three-cups", text="There are exactly three cups.", tag="counting"),
)


def copy_suite(suite: Suite, name: str) -> Suite:
    """A draft with everything of `suite` but its reference: that belongs to what was frozen."""
    title = name if suite.card.title == suite.card.name else suite.card.title
    card = suite.card.model_copy(update={"name": suite_name(name), "version": 1, "title": title})
    return with_hashes(replace(suite, card=card, reference=None, frozen=False))


def example_suite(name: str) -> Suite:
    """The smallest suite that shows what one is made of."""
    return replace(suite_from_prompts(EXAMPLE, name), points=_EXAMPLE_POINTS)


def suite_from_prompts(prompts: Sequence[Prompt], name: str) -> Suite:
    """A suite of these prompts: tags from their categories, and one point each that says: what was asked for.

    Ids that are no names of files are changed to such; a prompt that stands twice is taken once.
    """
    # every text once, every id a name of a file that no other prompt has
    distinct: list[Prompt] = []
    texts: set[str] = set()
    ids: set[str] = set()
    for prompt in prompts:
        text = normalize_text(prompt.view())
        if text in texts:
            continue
        texts.add(text)
        id = prompt.id if ID.fullmatch(prompt.id) else _slug(prompt.id) or "prompt"
        if id.casefold() in ids:
            id = next(f"{id}-{n}" for n in range(2, len(prompts) + 2) if f"{id}-{n}".casefold() not in ids)
        ids.add(id.casefold())
        distinct.append(prompt.model_copy(update={"id": id}))
    tags = {category: _slug(category) for prompt in distinct if (category := prompt.category)}
    plain = _slug("all prompts")
    title = name.encode("utf-8", "replace").decode()  # a folder may have a name that is no text
    rest = plain if any(not prompt.category for prompt in distinct) else None
    category_tags = [Tag(id=id, group="Categories", name=category) for category, id in tags.items()]
    suite_tags = (*category_tags, *([Tag(id=rest, group="Others", name="All prompts")] if rest else []))
    return with_hashes(
        Suite(
            card=SuiteCard(name=suite_name(name), title=title, preferences=(PreferenceRule(id="eps"),)),
            tags=suite_tags,
            prompts=tuple(
                SuitePrompt(prompt=prompt, tag=tags.get(prompt.category or "", plain)) for prompt in distinct
            ),
            points=tuple(
                Point(id=f"{prompt.id}.shown", prompt=prompt.id, text=FIRST_POINT, tag="scene") for prompt in distinct
            ),
            routes=(Route(tag="*", judges=(JUDGE,)),),
        )
    )


def write_draft(suite: Suite, folder: Path) -> Suite:
    """The draft as a new folder."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        place = "one with files in it" if folder.is_dir() else "a file"
        raise BadFile("a new folder is needed for a suite", found=place, where=str(folder),
                      remedy="choose another name: what is there stays as it is")  # fmt: skip
    check_suite(suite, where=str(folder))
    return save_suite(suite, folder)


def suite_name(text: str) -> str:
    """`text` as the name of a suite."""
    return _slug(text) or "suite"


def _slug(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:60].strip("-")


# -- private prompts: their texts and points leave the folder for the keeper's file ------------------------------------


def hide_prompts(folder: Path, prompts: Iterable[str], keeper: Path) -> Suite:
    """Hide prompts of the draft in `folder`; `keeper` is added to before the folder forgets them.

    Killed in between, the texts stand in both places, and the same call goes on with the salts that are kept.
    """
    suite = open_suite(folder)
    if suite.frozen:
        raise BadFile("a suite that is not frozen is needed", found="a frozen one", where=str(folder),
                      remedy=f"salon bench new COPY --from {folder}, and hide them there")  # fmt: skip
    if keeper.resolve().is_relative_to(folder.resolve()):
        raise BadFile("a file outside the suite's folder is needed for what nobody may see", found=str(keeper),
                      remedy=f"name it {folder.name}.private.jsonl, beside the folder")  # fmt: skip
    before = read_private_texts(keeper) if keeper.exists() else {}
    hidden, private_texts = hide(suite, prompts, before)
    _keep([text for text in private_texts if text.id not in before], keeper)
    _rewrite(with_hashes(hidden), folder)
    return with_hashes(hidden)


def _keep(texts: Iterable[PrivateText], path: Path) -> None:
    before = read_text(path) if path.exists() else ""
    before += "" if before.endswith("\n") or not before else "\n"
    lines = [json.dumps(text.record(), ensure_ascii=False) + "\n" for text in texts]
    with whole_file(path) as file:
        os.chmod(file.name, 0o600)  # before there is a word in it
        file.write((before + "".join(lines)).encode())


def _rewrite(suite: Suite, folder: Path) -> None:
    """Both files at once; everything else in the folder, comments too, stays as it was written."""
    texts = suite_texts(suite)
    with whole_folder(folder.resolve()) as new:
        shutil.copytree(folder, new, dirs_exist_ok=True)
        for name in (PROMPTS, POINTS):
            with whole_file(new / name) as file:
                file.write(texts[name].encode())
