"""Preference pairs of a study, written for DPO: from people's votes, from fused scores, or from a scorer.

Items are paired within a prompt (or what else the study compares within), each prompt in one split (`fuse.splits`).
The question of a pair is worded as `salon judge` words it.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pydantic import Field

from salon.errors import BadFile, BadValue, TooFew, UnknownReference
from salon.evaluate import people_only
from salon.fuse import LabelSettings, check_splits, item_prompts, make_labels, prompt_texts, split_items
from salon.judge import (
    SCORES_FOLDER,
    JudgeQuestion,
    JudgeSettings,
    Messages,
    Sight,
    Templates,
    choose_paraphrase,
    list_scores,
    read_score_run,
    read_scores,
    scores_file,
    wordings,
)
from salon.select.pairs import (
    DIFFUSERS,
    NO_PICTURE,
    TRL,
    PairCandidate,
    PreferencePairSettings,
    SelectedPairs,
    deal_sides,
    diffusers_rows,
    select_pairs,
    trl_rows,
    write_rows,
)
from salon.select.settings import PAIR_FORMATS, PairFormat
from salon.store import PictureKey, near_groups, picture_key, read_picture, read_plain, whole_folder, write_json
from salon.study import SPLITS, Noun, ScorerCard, Signature, Study, normalize_text


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


def picture_numbers(study: Study, folder: Path, items: Sequence[str], *, near: bool) -> dict[str, int]:
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
    candidates: Sequence[PairCandidate],
    settings: PreferencePairSettings | None = None,
    *,
    source: str,
    kinds: Sequence[PairFormat] = PAIR_FORMATS,
    overwrite: bool = False,
    on_progress: Callable[[str], None] = lambda step: None,
) -> PairReport:
    """Choose among `candidates` and write their files to the folder `out`."""
    settings = settings or PreferencePairSettings()
    _require_empty(out, overwrite)
    items = list(dict.fromkeys(item for row in candidates for item in (row.a, row.b)))
    on_progress(f"looking at {len(items):,} pictures")
    looks = picture_numbers(study, folder, items, near=settings.near)
    selected = select_pairs(candidates, looks, settings)
    _check_apart(selected.pairs, looks)
    images = {item.id: str(item.image) for item in study.nouns("items")}
    generators = {item.id: item.generator for item in study.nouns("items")}
    look = lambda item: read_picture(folder / images[item]).plain()[0]  # noqa: E731
    first = deal_sides(selected.pairs, settings.seed)
    report = _report(study, source, len(candidates), selected, first, settings)
    on_progress(f"writing {len(selected.pairs):,} pairs")
    with whole_folder(out) as stage:
        _require_empty(out, overwrite)  # again: another command may have written there meanwhile
        if "diffusers" in kinds:
            write_rows(stage / "diffusers", diffusers_rows(look, generators), DIFFUSERS, selected.pairs, first)
        if "trl" in kinds:
            write_rows(stage / "trl", trl_rows(look, _ask_pair(study, folder)), TRL, selected.pairs, first)
        line = {"signature_line": str(report.signature)}
        write_json(stage / "pairs.json", {**report.model_dump(mode="json"), **line})
    return report


def _require_empty(out: Path, overwrite: bool) -> None:
    if out.exists() and not (out.is_dir() and not any(out.iterdir())) and not overwrite:
        raise BadFile(
            "a folder is only replaced when asked to", found="one that is there already", where=str(out),
            remedy="choose another place, or add --overwrite",
        )  # fmt: skip


def _check_apart(pairs: Sequence[PairCandidate], looks: Mapping[str, int]) -> None:
    """Refuse what leaks from one split into another: a group, a text, an item, or a picture by its looks."""
    rows = [
        {"split": row.split, "group": row.group, "item_a": row.a, "item_b": row.b, "image_a": f"picture {looks[row.a]}",
         "image_b": f"picture {looks[row.b]}", "text": normalize_text(row.text) or None}
        for row in pairs
    ]  # fmt: skip
    schema = pa.schema([(name, pa.string()) for name in rows[0]])
    check_splits(pa.Table.from_pylist(rows, schema))


def _ask_pair(study: Study, folder: Path) -> Callable[[PairCandidate, bool], tuple[list[dict[str, Any]], str, str]]:
    """The question of a pair as `salon judge` puts it to a VLM, with the better answer and the worse one."""
    messages = Messages(study, folder, JudgeSettings(), Templates.builtin())
    prompts = {item.id: item.prompt for item in study.nouns("items")}
    criteria = {criterion.id: criterion for criterion in study.criteria}

    def talk(pair: PairCandidate, leads: bool) -> tuple[list[dict[str, Any]], str, str]:
        if pair.criterion not in criteria:
            raise UnknownReference(
                "a criterion of the study is needed to ask about", found=repr(pair.criterion),
                remedy="--format diffusers, which asks nothing",
            )  # fmt: skip
        a, b = sorted((pair.a, pair.b))
        prompt = prompts[a] if prompts[a] == prompts[b] else None
        left_item = pair.chosen if leads else pair.rejected
        wording = choose_paraphrase(len(wordings(criteria[pair.criterion])), prompt, a, b)
        question = JudgeQuestion(
            protocol="compare",
            criteria=(pair.criterion,),
            prompt=prompt,
            a=a,
            b=b,
            left="a" if left_item == a else "b",
            paraphrase=wording,
        )
        conversation = messages.conversation(question)
        system = [{"role": "system", "content": [_part(conversation.system)]}] if conversation.system else []
        answers = [json.dumps({"verdict": option}) for option in ("AB" if leads else "BA")]
        return (
            [*system, {"role": "user", "content": [_part(part) for part in conversation.parts]}],
            answers[0],
            answers[1],
        )

    return talk


def _part(part: str | Sight) -> dict[str, Any]:
    return {"type": "image", "text": None} if isinstance(part, Sight) else {"type": "text", "text": part}


def _report(
    study: Study,
    source: str,
    candidates: int,
    selected: SelectedPairs,
    first: Sequence[bool],
    settings: PreferencePairSettings,
) -> PairReport:
    splits: Counter[str] = Counter(row.split for row in selected.pairs)
    plain = settings.model_dump(exclude={"seed"}) | {"source": source}
    empty = [name for name, share in zip(SPLITS, settings.shares) if share > 0 and not splits.get(name)]
    split_notes = (f"no pairs fell to {' or '.join(empty)}",) if empty else ()
    return PairReport(
        study=study.name,
        simulated=study.simulated,
        source=source,
        candidates=candidates,
        pairs=len(selected.pairs),
        splits={name: splits[name] for name in SPLITS},
        criteria=dict(sorted(Counter(row.criterion for row in selected.pairs).items())),
        prompts=len({row.group for row in selected.pairs}),
        dropped=selected.dropped,
        first=sum(first) / len(first),
        notes=split_notes,
        signature=Signature(
            method="pairs", data=study.hash[:12], revision=study.revision, settings=plain, seed=settings.seed
        ),
    )


# -- where pairs come from ---------------------------------------------------------------------------------------------

MOST_CANDIDATES = 5_000_000
ScoredItems = dict[tuple[str, str], list[tuple[str, float, float | None]]]
"""By criterion and group: items with value and error."""


def vote_candidates(
    study: Study, settings: PreferencePairSettings, criteria: Sequence[str] = ()
) -> list[PairCandidate]:
    """The pairs that people judged, by the majority of their votes."""
    shares = dict(zip(SPLITS, settings.shares))
    labels = make_labels(
        people_only(study), LabelSettings(ties="keep", seed=settings.seed, **shares), criteria=criteria
    )
    return [
        PairCandidate(
            criterion=row["criterion"], group=row["group"], split=row["split"], a=row["item_a"], b=row["item_b"],
            gap=(row["for_a"] - row["for_b"]) / row["votes"], error=1 / math.sqrt(row["votes"]), votes=row["votes"],
            text=row["text"] or "",
        )
        for row in labels.table.to_pylist()
    ]  # fmt: skip


def fused_candidates(
    study: Study, settings: PreferencePairSettings, file: Path, criteria: Sequence[str] = ()
) -> list[PairCandidate]:
    """All pairs of items that `salon fuse` gave scores to, within a criterion and group."""
    item_ids = set(study.ids("items").to_pylist())
    rows: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in read_plain(file, "scores", ("criterion", "group", "item", "value")).to_pylist():
        if row["item"] not in item_ids:
            raise UnknownReference("scores of items of the study are needed", found=repr(row["item"]), where=str(file))
        if row["value"] is not None and (not criteria or row["criterion"] in criteria):
            rows.setdefault((str(row["criterion"]), str(row["group"])), []).append(row)
    scored = {
        key: [(row["item"], _direction(own) * row["value"], row.get("error")) for row in own]
        for key, own in rows.items()
    }
    return _all_pairs(study, settings, scored, where=str(file))


def _direction(rows: Sequence[Mapping[str, Any]]) -> float:
    """-1 where values fall as latent scores rise: on the raters' scale lower is better. Latent ones always rise."""
    if any(row.get("latent") is None for row in rows):
        return 1.0
    value, latent = np.array([(row["value"], row["latent"]) for row in rows], float).T
    return -1.0 if float((value - value.mean()) @ (latent - latent.mean())) < 0 else 1.0


def scorer_candidates(study: Study, settings: PreferencePairSettings, folder: Path, name: str) -> list[PairCandidate]:
    """All pairs of items of a group that a scorer gave numbers to, from its table in the study's folder."""
    file = scores_file(folder / SCORES_FOLDER, name)
    if not file.is_file():
        names_there = list_scores(folder)
        raise UnknownReference(
            "a table of scores of the study is needed", found=repr(name), where=str(folder / SCORES_FOLDER),
            remedy=f"salon score STUDY --scorer NAME writes one; there are {', '.join(names_there) or 'none'}",
        )  # fmt: skip
    run = read_score_run(file)
    card = ScorerCard() if run is None else run.card
    turn, criterion = 1.0 if card.higher_is_better else -1.0, card.criterion or name
    groups = dict(zip(study.ids("items").to_pylist(), study.item_groups.tolist()))
    names = study.ids("groups").to_pylist()
    scored: ScoredItems = {}
    for row in read_scores(file).to_pylist():
        group = groups.get(row["item"], -1)
        if row["value"] is not None and group >= 0:
            scored_item = (row["item"], turn * row["value"], row.get("sigma"))
            scored.setdefault((criterion, names[group]), []).append(scored_item)
    return _all_pairs(study, settings, scored, where=str(file))


def _all_pairs(
    study: Study,
    settings: PreferencePairSettings,
    scored: Mapping[tuple[str, str], list[tuple[str, float, float | None]]],
    *,
    where: str,
) -> list[PairCandidate]:
    count = sum(len(rows) * (len(rows) - 1) // 2 for rows in scored.values())
    if not count:
        raise TooFew("two scored items of one prompt are needed", found="none", where=where)
    if count > MOST_CANDIDATES:
        raise BadValue(
            f"at most {MOST_CANDIDATES:,} candidates are looked at", found=f"{count:,}", where=where,
            remedy="a study that compares within prompts, or scores of fewer items",
        )  # fmt: skip
    split = split_items(study, study.item_groups, study.ids("groups"), settings.shares, seed=settings.seed)
    of_item = dict(zip(study.ids("items").to_pylist(), split.of_item.tolist()))
    prompt_list = [*prompt_texts(study).to_pylist(), None]
    prompts = zip(study.ids("items").to_pylist(), item_prompts(study).tolist())
    texts = {item: prompt_list[n] or "" for item, n in prompts}
    return [
        PairCandidate(
            criterion=criterion,
            group=group,
            split=SPLITS[of_item[a]],
            a=a,
            b=b,
            gap=x - y,
            error=None if e is None or f is None else math.hypot(e, f),
            text=texts[a] if texts[a] == texts[b] else "",
        )
        for (criterion, group), rows in scored.items()
        for (a, x, e), (b, y, f) in combinations(rows, 2)
    ]
