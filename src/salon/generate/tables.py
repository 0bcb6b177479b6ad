"""From the record of a run to the tables of the study: prompts and items, added to what is there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from salon.errors import BadFile, BadValue
from salon.generate.matrix import judged_items
from salon.generate.record import Generation, locked
from salon.store.folder import is_study, name_after, open_study, save_study
from salon.study import Item, Prompt, Study
from salon.study.tables import conform, table_from_nouns


def start_study(folder: Path, prompts: Sequence[Prompt]) -> Study:
    """The study in `folder` with these prompts in it; a new or empty folder becomes one.

    Prompts are saved before the first picture is made: a line of the record never names one that nobody has.
    """
    if is_study(folder):
        with locked(folder):  # nobody's run is disturbed by a study that is saved under it
            return _with_prompts(folder, prompts)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BadFile(
            "a new folder, an empty one or a study is needed to write to",
            found="a folder with other files" if folder.is_dir() else "a file",
            where=str(folder),
            remedy="choose another -o; nothing was changed",
        )
    study = Study.build(name_after(folder), [], tables={"prompts": list(prompts)})
    save_study(study, folder)
    return study


def _with_prompts(folder: Path, prompts: Sequence[Prompt]) -> Study:
    study = open_study(folder)
    _check_prompts(study, prompts)
    table = _prompt_table(study, prompts)
    if table != study.table("prompts"):
        study = replace(study, tables=dict(study.tables) | {"prompts": table})
        save_study(study, folder, overwrite=True)
    return study


def _prompt_table(study: Study, prompts: Sequence[Prompt]) -> pa.Table:
    """The study's prompts, with those of the same id replaced and new ones at the end; a known category stays."""
    texts = {prompt.id: prompt for prompt in study.nouns("prompts")}
    for prompt in prompts:
        category = prompt.category or (texts[prompt.id].category if prompt.id in texts else None)
        texts[prompt.id] = prompt.model_copy(update={"category": category})
    return conform("prompts", table_from_nouns("prompts", texts.values()))


def _check_prompts(study: Study, prompts: Sequence[Prompt]) -> None:
    """A prompt whose items were judged may not become another one under the same id."""
    held = {prompt.id: prompt for prompt in study.nouns("prompts")}
    changed = {prompt.id for prompt in prompts if prompt.id in held and not _same(prompt, held[prompt.id])}
    if not changed:
        return
    judged = judged_items(study)
    bound = [item.prompt for item in study.nouns("items") if item.prompt in changed and item.id in judged]
    if bound:
        raise BadValue(
            "a prompt whose items were judged must stay as it was",
            found=f"another text for {bound[0]!r}",
            where=f"study {study.name!r}",
            remedy="give the new prompt an id of its own, or choose another study folder",
        )


def _same(one: Prompt, other: Prompt) -> bool:
    return one.model_copy(update={"category": None}) == other.model_copy(update={"category": None})


def add_to_study(folder: Path, asked: Mapping[str, str], known: Mapping[str, Generation]) -> None:
    """Save the study with an item for every picture of the record that is there.

    The study is read anew: judgments may have come in while the pictures were made. Items stand in the order of
    `asked` (item id: digest of its ask), after those of earlier runs, so a run that was interrupted and resumed gives
    the same study as one that was not.
    """
    study = open_study(folder)
    items = _items(folder, study, asked, known)
    table = conform("items", table_from_nouns("items", items))
    if table == study.table("items"):
        return
    tables = dict(study.tables) | {"items": table}
    added = len(items) - study.table("items").num_rows
    before = study.counts.get("items", 0)
    changed = study.revised(f"generated items: {added:+d}", tables=tables) if before else replace(study, tables=tables)
    save_study(changed, folder, overwrite=True)


def _items(folder: Path, study: Study, asked: Mapping[str, str], known: Mapping[str, Generation]) -> list[Item]:
    held = {item.id: item for item in study.nouns("items")}
    prompts = {prompt.id: prompt for prompt in study.nouns("prompts")}
    judged = judged_items(study)
    found: dict[str, Item] = {}
    for id in dict.fromkeys([*(id for id in held if id not in asked), *asked, *known]):
        line, before = known.get(id), held.get(id)
        if before is not None and (line is None or id in judged):
            found[id] = before
        elif line is not None and line.prompt in prompts and _is_current(line, asked, folder):
            found[id] = _item(line, prompts[line.prompt], before)
    return list(found.values())


def _is_current(line: Generation, asked: Mapping[str, str], folder: Path) -> bool:
    """Is the picture there, and was it made for what is asked now? A reworded prompt has no picture at first."""
    if not line.ok or line.image is None or line.ask != asked.get(line.item, line.ask):
        return False
    return (folder / line.image).is_file()


def _item(line: Generation, prompt: Prompt, before: Item | None) -> Item:
    return Item(
        id=line.item,
        prompt=line.prompt,
        generator=line.generator,
        image=line.image,
        category=prompt.category or (before.category if before else None),
        tier=before.tier if before else None,
        source=line.source,
    )
