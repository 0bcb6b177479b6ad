"""Preference pairs of a study, written for DPO.

Composes `fuse` (the check of splits), `judge` (the words a judge is asked with), `store` (near copies) and `select`
(which pairs stay, and their files). Where pairs come from: `pair_sources`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
from pydantic import Field

from salon.errors import BadFile, UnknownReference
from salon.fuse.splits import check_splits
from salon.judge.messages import Messages
from salon.judge.question import Question, paraphrase, wordings
from salon.judge.settings import JudgeSettings
from salon.judge.templates import Templates
from salon.judge.vlm import Sight
from salon.select.pair_files import DIFFUSERS, TRL, diffusers_rows, trl_rows, write_rows
from salon.select.pairs import NO_PICTURE, Candidate, KeptPairs, PairSettings, keep_pairs, sides
from salon.store.atomic import whole_folder, write_json
from salon.store.near_pictures import PictureKey, near_groups, picture_key
from salon.store.pictures import read_picture
from salon.study import Signature, Study
from salon.study.noun import Noun
from salon.study.prompt import normalized
from salon.study.split import SPLITS

Kind = Literal["diffusers", "trl"]
KINDS: tuple[Kind, ...] = ("diffusers", "trl")


class PairReport(Noun):
    """What was written, and what was not."""

    study: str
    simulated: bool = Field(description="True when no person gave the answers.")
    source: str = Field(description="Where the order of two items comes from.")
    candidates: int
    pairs: int
    splits: dict[str, int]
    criteria: dict[str, int]
    prompts: int = Field(description="Prompts (or what else items are compared within) that have a pair.")
    dropped: dict[str, int] = Field(description="Candidates that were left out, by the first reason that held.")
    first: float = Field(description="Share of pairs whose better picture stands first.")
    notes: tuple[str, ...]
    signature: Signature


# -- pictures ----------------------------------------------------------------------------------------------------------


def looks_of(study: Study, folder: Path, items: Sequence[str], *, near: bool) -> dict[str, int]:
    """A number for each item's picture: equal and, if asked, near ones share it; NO_PICTURE where none can be read."""
    images = {item.id: item.image for item in study.nouns("items")}
    keys: dict[str, PictureKey] = {}
    for item in items:
        image = images[item]
        try:
            key = picture_key(folder / image) if image else None
        except BadFile:
            key = None
        if key is not None:
            keys[item] = key if near else key._replace(near="")
    numbers = dict(zip(keys, near_groups(list(keys.values())).tolist()))
    return {item: numbers.get(item, NO_PICTURE) for item in items}


# -- the export --------------------------------------------------------------------------------------------------------


def write_pairs(
    study: Study,
    folder: Path,
    out: Path,
    candidates: Sequence[Candidate],
    settings: PairSettings | None = None,
    *,
    source: str,
    kinds: Sequence[Kind] = KINDS,
    overwrite: bool = False,
    told: Callable[[str], None] = lambda step: None,
) -> PairReport:
    """Choose among `candidates` and write their files to the folder `out`."""
    settings = settings or PairSettings()
    _free(out, overwrite)
    items = list(dict.fromkeys(item for row in candidates for item in (row.a, row.b)))
    told(f"looking at {len(items):,} pictures")
    looks = looks_of(study, folder, items, near=settings.near)
    kept = keep_pairs(candidates, looks, settings)
    _check_apart(kept.pairs, looks)
    images = {item.id: str(item.image) for item in study.nouns("items")}
    generators = {item.id: item.generator for item in study.nouns("items")}
    look = lambda item: read_picture(folder / images[item]).plain()[0]  # noqa: E731
    first = sides(kept.pairs, settings.seed)
    report = _report(study, source, len(candidates), kept, first, settings)
    told(f"writing {len(kept.pairs):,} pairs")
    with whole_folder(out) as stage:
        _free(out, overwrite)  # again: another command may have written there meanwhile
        if "diffusers" in kinds:
            write_rows(stage / "diffusers", diffusers_rows(look, generators), DIFFUSERS, kept.pairs, first)
        if "trl" in kinds:
            write_rows(stage / "trl", trl_rows(look, _talker(study, folder)), TRL, kept.pairs, first)
        line = {"signature_line": str(report.signature)}
        write_json(stage / "pairs.json", {**report.model_dump(mode="json"), **line})
    return report


def _free(out: Path, overwrite: bool) -> None:
    if out.exists() and not (out.is_dir() and not any(out.iterdir())) and not overwrite:
        raise BadFile(
            "a folder is only replaced when asked to", found="one that is there already", where=str(out),
            remedy="choose another place, or add --overwrite",
        )  # fmt: skip


def _check_apart(pairs: Sequence[Candidate], looks: Mapping[str, int]) -> None:
    """Refuse what leaks from one split into another: a group, a text, an item, or a picture by its looks."""
    rows = [
        {"split": row.split, "group": row.group, "item_a": row.a, "item_b": row.b, "image_a": f"picture {looks[row.a]}",
         "image_b": f"picture {looks[row.b]}", "text": normalized(row.text) or None}
        for row in pairs
    ]  # fmt: skip
    schema = pa.schema([(name, pa.string()) for name in rows[0]])
    check_splits(pa.Table.from_pylist(rows, schema))


def _talker(study: Study, folder: Path) -> Callable[[Candidate, bool], tuple[list[dict[str, Any]], str, str]]:
    """The question of a pair as `salon judge` puts it to a VLM, with the better answer and the worse one."""
    messages = Messages(study, folder, JudgeSettings(), Templates.builtin())
    prompts = {item.id: item.prompt for item in study.nouns("items")}
    known = {criterion.id: criterion for criterion in study.criteria}

    def talk(pair: Candidate, leads: bool) -> tuple[list[dict[str, Any]], str, str]:
        if pair.criterion not in known:
            raise UnknownReference(
                "a criterion of the study is needed to ask about", found=repr(pair.criterion),
                remedy="--format diffusers, which asks nothing",
            )  # fmt: skip
        a, b = sorted((pair.a, pair.b))
        prompt = prompts[a] if prompts[a] == prompts[b] else None
        shown = pair.chosen if leads else pair.rejected
        wording = paraphrase(len(wordings(known[pair.criterion])), prompt, a, b)
        question = Question(
            protocol="compare", criteria=(pair.criterion,), prompt=prompt, a=a, b=b, left="a" if shown == a else "b",
            paraphrase=wording,
        )  # fmt: skip
        asked = messages.conversation(question)
        system = [{"role": "system", "content": [_part(asked.system)]}] if asked.system else []
        answers = [json.dumps({"verdict": option}) for option in ("AB" if leads else "BA")]
        return [*system, {"role": "user", "content": [_part(one) for one in asked.parts]}], answers[0], answers[1]

    return talk


def _part(part: str | Sight) -> dict[str, Any]:
    return {"type": "image", "text": None} if isinstance(part, Sight) else {"type": "text", "text": part}


def _report(
    study: Study, source: str, candidates: int, kept: KeptPairs, first: Sequence[bool], settings: PairSettings
) -> PairReport:
    splits: Counter[str] = Counter(row.split for row in kept.pairs)
    plain = settings.model_dump(exclude={"seed"}) | {"source": source}
    return PairReport(
        study=study.name,
        simulated=study.simulated,
        source=source,
        candidates=candidates,
        pairs=len(kept.pairs),
        splits={name: splits[name] for name in SPLITS},
        criteria=dict(sorted(Counter(row.criterion for row in kept.pairs).items())),
        prompts=len({row.group for row in kept.pairs}),
        dropped=kept.dropped,
        first=sum(first) / len(first),
        notes=_notes(splits, settings),
        signature=Signature(
            method="pairs", data=study.hash[:12], revision=study.revision, settings=plain, seed=settings.seed
        ),
    )


def _notes(splits: Mapping[str, int], settings: PairSettings) -> tuple[str, ...]:
    empty = [name for name, share in zip(SPLITS, settings.shares) if share > 0 and not splits.get(name)]
    return (f"no pairs fell to {' or '.join(empty)}",) if empty else ()
